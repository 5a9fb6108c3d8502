//! The whole texts in which a pattern matches at a marked place, its look-around conditions included.
//!
//! The pattern is compiled between two [marks](crate::regular::marked_text), with any text on both sides. What
//! it matches holds no marks; what its conditions look at may hold any, as if they were not there. `^` and `$`
//! are the marks themselves: the edges of the terminal, as in llguidance; within a condition (`(?=[^a-z]|$)`) they
//! are those of the whole text.

use super::preferred_match::{PreferredRest, RestsByProgress};
use super::{ContextScope, LeftContexts, LoweredPattern, PatternCompiler, PatternRegion};
use crate::error::Result;
use crate::regular::encoding::CodePoints;
use crate::regular::marked_text::MarkedText;
use crate::regular::syntax::pattern::Pattern;
use crate::regular::{Language, Languages};

/// The texts in which a match stands between the marks. `is_preferred`: the one that a backtracking engine
/// finds, of all within the marks.
pub(crate) fn compile_with_context(
    languages: &mut Languages,
    pattern: &Pattern,
    is_preferred: bool,
    spelling: &dyn CodePoints,
) -> Result<Language> {
    let marks = MarkedText::new(languages);
    let mut compiler = PatternCompiler::new(languages, spelling, is_preferred);
    let character = spelling.class(compiler.languages, &[(0, 0x10_FFFF)]);
    let unit = compiler.languages.union([character, marks.mark]);
    compiler.text = compiler.languages.repeat(unit, 0, None);
    compiler.marks = Some((marks, PatternRegion::Match));
    let mut prefixes = Vec::new();
    let part = compiler.lower(pattern, &mut prefixes)?;
    let text = compiler.text;
    let contexts = LeftContexts::new(compiler.languages, &prefixes, text)?;
    let after = compiler.after_match();
    let rest = vec![after; contexts.len()];
    let mut scope = ContextScope { compiler: &mut compiler, contexts, variables: Vec::new() };
    let matches = if is_preferred {
        let any = vec![Language::ALL; rest.len()];
        let end = PreferredRest { whole: rest, any };
        scope.preferred(&part, &RestsByProgress { idle: end.clone(), moved: end })?.idle.whole
    } else {
        scope.matches_then(&part, &rest)?
    };
    let before = [marks.around, marks.begin].map(LoweredPattern::Plain).into();
    let marked_texts = scope.matches_then(&LoweredPattern::Concat(before), &matches)?;
    let ContextScope { contexts, variables, .. } = scope;
    compiler.finish(&contexts, variables, marked_texts[0])
}

impl PatternCompiler<'_> {
    /// A class in the part of the pattern that is being lowered.
    pub(super) fn among_marks(&mut self, class: Language) -> Language {
        let Some((marks, part)) = self.marks else { return class };
        let any = self.languages.repeat(marks.mark, 0, None);
        match part {
            PatternRegion::Match => class,
            PatternRegion::Ahead => self.languages.concat([any, class]),
            PatternRegion::Behind => self.languages.concat([class, any]),
        }
    }

    /// Begins another part; returns the one around.
    pub(super) fn enter(&mut self, part: PatternRegion) -> Option<(MarkedText, PatternRegion)> {
        let outer = self.marks;
        self.marks = outer.map(|(marks, _)| (marks, part));
        outer
    }

    pub(super) fn leave(&mut self, outer: Option<(MarkedText, PatternRegion)>) {
        self.marks = outer;
    }

    /// The text before a match that begins here; in what a condition looks at, the text before all others.
    pub(super) fn before_match(&mut self) -> Language {
        match self.marks {
            None => Language::EPSILON,
            Some((marks, PatternRegion::Match)) => {
                self.languages.concat([marks.around, marks.begin])
            }
            Some((_, PatternRegion::Ahead | PatternRegion::Behind)) => self.only_marks(),
        }
    }

    /// A text without characters.
    pub(super) fn only_marks(&mut self) -> Language {
        match self.marks {
            None => Language::EPSILON,
            Some((marks, _)) => self.languages.repeat(marks.mark, 0, None),
        }
    }

    /// The text after a match that ends here.
    pub(super) fn after_match(&mut self) -> Language {
        match self.marks {
            None => Language::EPSILON,
            Some((marks, _)) => self.languages.concat([marks.end, marks.around]),
        }
    }
}
