//! Ignored text that goes on as long as it can.
//!
//! A text is cut into terminals in every way, but a comment that ends before its line would let code stand in
//! it: after `# a (` a bracket would be open. So ignored text that could go on is followed by what does not
//! continue it, as in all parsers of Lark, whose ignored terminals are longest matches:
//!
//! ```text
//! %ignore /#[^\n]*/          open: whatever may follow a match, [^\n]+ makes it longer
//! %ignore /[\s,]+/           closed: whatever makes a match longer is blank, or a sign that is ignored text itself, so
//!                            it may be cut anywhere
//!
//! %ignore:  (blanks | comment (blanks but those that [^\n]+ begins))*
//! NEWLINE:  NEWLINE %ignore | comment (NEWLINE but …) %ignore
//! start:    %ignore start comment?
//! ```
//!
//! Only terminals that may begin with what ends a comment have a second form, so other grammars stay as they
//! are. Ignored text of which two ends go on in different ways, ignored texts that may follow each other and go
//! on in different ways, and those before grammars in other notations may still end early.

use super::ast::LarkExpr;
use super::terminal_languages::TerminalLanguages;
use crate::ebnf::expression::{RuleAttribute, RuleExpr, RuleExprKind};
use crate::ebnf::rule_table::RuleTable;
use crate::error::Result;
use crate::regular::marked_text::LookaroundTerminal;
use crate::regular::{Dialect, Language, Languages};

/// States of ignored text that are looked at for what makes it longer.
const MAX_STATES: usize = 200;

/// Ignored text that could go on.
#[derive(Clone, Copy)]
pub(super) struct OpenText {
    matches: Language,
    /// The same where it looks at the text around it.
    lookaround: Option<LookaroundTerminal>,
    /// The texts that begin with what makes a match longer.
    longer: Language,
    /// Whether it is marked as ignored, for captures to leave it out.
    is_marked: bool,
}

impl OpenText {
    /// The same, marked as ignored.
    pub(super) fn marked(self) -> Self {
        Self { is_marked: true, ..self }
    }

    fn expr(&self, at: usize) -> RuleExpr {
        let kind = match self.lookaround {
            Some(terminal) => RuleExprKind::Lookaround(terminal, self.matches),
            None => RuleExprKind::Regular(self.matches),
        };
        RuleExpr::new(at, kind).with(self.is_marked.then_some(RuleAttribute::Ignored))
    }
}

/// The ignored text of a group of definitions that could go on, and the rest.
pub(super) struct IgnoredText {
    pub(super) open: Vec<OpenText>,
    pub(super) closed: Vec<LarkExpr>,
}

impl IgnoredText {
    /// Text none of which is looked at.
    pub(super) fn closed(ignored: &[LarkExpr]) -> Self {
        Self { open: Vec::new(), closed: ignored.to_vec() }
    }

    /// Finds the ignored text that could go on. If one may follow another that goes on in other ways, none is
    /// treated as open.
    pub(super) fn split(
        terminals: TerminalLanguages<'_>,
        rules: &mut RuleTable<'_>,
        ignored: &[LarkExpr],
        group: usize,
    ) -> Result<Self> {
        let (mut open, mut closed) = (Vec::new(), Vec::new());
        for expr in ignored {
            let found = terminals.language(rules, expr, group)?;
            let more = match found {
                Some(found) => goes_on_with(terminals, rules, found)?,
                None => None,
            };
            // Of several terminals that look at different texts around them, each stays by itself.
            let lookaround = match more {
                Some(_) => match &terminals.lookaround(rules, expr, group)?[..] {
                    &[one] => Some(one),
                    several => several.iter().all(Option::is_none).then_some(None),
                },
                None => None,
            };
            match (found, more, lookaround) {
                (Some(matches), Some(more), Some(lookaround)) => {
                    let longer = rules.builder.languages().concat([more, Language::ALL]);
                    open.push(OpenText { matches, lookaround, longer, is_marked: false });
                }
                _ => closed.push(expr.clone()),
            }
        }
        let open = runs(rules.builder.languages(), open)?;
        let l = rules.builder.languages();
        for (i, text) in open.iter().enumerate() {
            for (j, next) in open.iter().enumerate() {
                if i == j && text.lookaround.is_none() {
                    continue;
                }
                let apart = l.difference(next.matches, text.longer);
                if l.is_live(apart)? {
                    return Ok(Self::closed(ignored));
                }
            }
        }
        Ok(Self { open, closed })
    }

    /// The ways of one stretch of ignored text that goes on as long as it can, before anything that may
    /// follow. `read` makes the expressions of `closed`.
    pub(super) fn ways(
        &self,
        at: usize,
        mut read: impl FnMut(&[LarkExpr]) -> Result<Vec<RuleExpr>>,
    ) -> Result<Vec<RuleExpr>> {
        let mut ways = read(&self.closed)?;
        for open in &self.open {
            let next = read(&self.closed)?;
            let next: Vec<RuleExpr> =
                next.into_iter().map(|expr| without(expr, open.longer)).collect();
            if !next.is_empty() {
                ways.push(RuleExpr::sequence(at, vec![open.expr(at), RuleExpr::choice(at, next)]));
            }
        }
        Ok(ways)
    }
}

/// The same with runs of texts that are made longer by the same texts as one: `A (A but those that make A
/// longer)*`. So `\s*#[^\n]*` may follow itself from the next line on.
fn runs(l: &mut Languages, open: Vec<OpenText>) -> Result<Vec<OpenText>> {
    let mut all: Vec<OpenText> = Vec::new();
    for text in open {
        let is_alike = |other: &&mut OpenText| {
            text.lookaround.is_none() && other.lookaround.is_none() && other.longer == text.longer
        };
        match all.iter_mut().find(is_alike) {
            Some(other) => other.matches = l.union([other.matches, text.matches]),
            None => all.push(text),
        }
    }
    for text in all.iter_mut().filter(|text| text.lookaround.is_none()) {
        let next = l.difference(text.matches, text.longer);
        let next = l.without_epsilon(next);
        if l.is_live(next)? {
            let more = l.repeat(next, 0, None);
            text.matches = l.concat([text.matches, more]);
        }
    }
    Ok(all)
}

/// The texts that make every match of a language longer, if all its ends go on alike; blanks and ignored
/// signs alone make nothing longer.
fn goes_on_with(
    terminals: TerminalLanguages<'_>,
    rules: &mut RuleTable<'_>,
    x: Language,
) -> Result<Option<Language>> {
    let [blanks, signs] = [r"[\s\x1c-\x1f\u{feff}]*", r"\W*"].map(|pattern| {
        rules.pattern(terminals.text, 0, pattern, Dialect::Rust).map(|pattern| match pattern.kind {
            RuleExprKind::Regular(language) => language,
            _ => Language::EMPTY,
        })
    });
    let (blanks, signs) = (blanks?, signs?);
    let l = rules.builder.languages();
    let (mut states, mut at, mut end) = (vec![x], 0, None);
    while let Some(&state) = states.get(at) {
        at += 1;
        if l.is_nullable(state) && *end.get_or_insert(state) != state {
            return Ok(None);
        }
        for next in l.row(state)?.to_vec() {
            if next != Language::EMPTY && !states.contains(&next) {
                states.push(next);
            }
        }
        if states.len() > MAX_STATES {
            return Ok(None);
        }
    }
    let Some(end) = end else { return Ok(None) };
    let more = l.difference(end, Language::EPSILON);
    let ignored_signs = l.intersect([x, signs]);
    let invisible = l.union([blanks, ignored_signs]);
    let visible = l.difference(more, invisible);
    Ok(l.is_live(visible)?.then_some(more))
}

/// The texts of an expression but the empty one, and those that begin so.
fn without(expr: RuleExpr, longer: Language) -> RuleExpr {
    let at = expr.at;
    let empty = RuleExpr::new(at, RuleExprKind::Regular(Language::EPSILON));
    let longer = RuleExpr::new(at, RuleExprKind::Regular(longer));
    let not = RuleExpr::choice(at, vec![empty, longer]);
    RuleExpr::new(at, RuleExprKind::Except(Box::new(expr), Box::new(not)))
}

/// A whole text, which may end in ignored text that could go on.
pub(super) fn before_end(item: RuleExpr, open: &[OpenText]) -> RuleExpr {
    if open.is_empty() {
        return item;
    }
    let at = item.at;
    let last = RuleExpr::choice(at, open.iter().map(|text| text.expr(at)).collect());
    RuleExpr::sequence(at, vec![item, last.repeat(0, Some(1))])
}

/// A terminal of a rule, perhaps after ignored text that it does not continue. `found` is its language, if it
/// has one; of its expression there is one copy more than there are open texts.
pub(super) fn after_open(
    rules: &mut RuleTable<'_>,
    (at, found): (usize, Option<Language>),
    open: &[OpenText],
    mut items: Vec<RuleExpr>,
) -> Result<RuleExpr> {
    let mut ways: Vec<RuleExpr> = items.pop().into_iter().collect();
    for (text, mut item) in open.iter().zip(items) {
        if let Some(found) = found {
            let l = rules.builder.languages();
            let apart = l.difference(found, text.longer);
            let apart = l.difference(apart, Language::EPSILON);
            if !l.is_live(apart)? {
                continue;
            }
            item = without(item, text.longer);
        }
        ways.push(RuleExpr::sequence(at, vec![text.expr(at), item]));
    }
    Ok(RuleExpr::choice(at, ways))
}
