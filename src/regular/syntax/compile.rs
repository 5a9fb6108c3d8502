//! Compilation of a pattern with assertions to its language.
//!
//! The matches of a part depend on the text around it. The text *after* it is known by compiling
//! from right to left: each part is compiled with the language of what may follow, so that
//! `x(?=y)z` is `x·(y·ALL & z)`. Of the text *before* it only finitely much matters, its
//! [context](LeftContexts): every language is computed once for each context. A repeat of parts
//! with assertions becomes a system of right-linear equations, with one variable for each context.

mod lookbehind;
mod preferred_match;
mod with_context;

use rustc_hash::FxHashMap;

use self::lookbehind::LeftContexts;
pub(crate) use self::preferred_match::compile_preferred;
pub(crate) use self::with_context::compile_with_context;
use super::options::Anchoring;
use super::pattern::{Assertion, AssertionSource, Pattern};
use super::pattern_error::error_at;
use crate::error::Result;
use crate::regular::encoding::CodePoints;
use crate::regular::marked_text::MarkedText;
use crate::regular::{Language, Languages, variables};

/// Steps of unrolling counted repeats whose bodies contain assertions.
const UNROLL_LIMIT: usize = 100_000;

/// The language of the texts that match a pattern.
pub(crate) fn compile(
    languages: &mut Languages,
    pattern: &Pattern,
    anchoring: Anchoring,
    spelling: &dyn CodePoints,
) -> Result<Language> {
    let mut compiler = PatternCompiler::new(languages, spelling, false);
    let text = compiler.text;
    let language = match anchoring {
        Anchoring::Whole => compiler.language(pattern, None, Language::EPSILON)?,
        Anchoring::Search => {
            // `ALL` absorbs whatever else the search could still find, so states after a match are
            // one. It also holds byte strings that are no texts, hence the intersection.
            let exact = compiler.language(pattern, Some(text), text)?;
            let open = compiler.language(pattern, Some(text), Language::ALL)?;
            if open == exact { exact } else { compiler.languages.intersect([text, open]) }
        }
    };
    languages.note_within(language, text);
    Ok(language)
}

/// The compilation of one pattern.
struct PatternCompiler<'a> {
    languages: &'a mut Languages,
    spelling: &'a dyn CodePoints,
    /// Every text.
    text: Language,
    classes: FxHashMap<Vec<(u32, u32)>, Language>,
    unrolled: usize,
    /// Whether alternatives and repeats are kept in their order of preference.
    is_ordered: bool,
    /// Languages that must be empty; otherwise an atomic group changes what is matched.
    atomic_obligations: Vec<(Language, AssertionSource)>,
    /// Where the pattern is compiled within a text: its marks, and the part that is being lowered.
    marks: Option<(MarkedText, PatternRegion)>,
}

/// The part of a pattern that characters stand in: conditions read text with marks in it.
#[derive(Clone, Copy)]
enum PatternRegion {
    Match,
    Ahead,
    Behind,
}

/// A pattern whose parts without assertions are languages.
enum LoweredPattern {
    Plain(Language),
    Concat(Vec<LoweredPattern>),
    Alternate(Vec<LoweredPattern>),
    Repeat {
        body: Box<LoweredPattern>,
        min: u32,
        max: Option<u32>,
        greedy: bool,
    },
    End,
    /// The end of the text, in what a condition looks at: marks alone may follow.
    TextEnd,
    Ahead {
        body: Box<LoweredPattern>,
        negated: bool,
    },
    /// The index of the language that the text before must be in, or must not be in.
    Behind {
        prefix: usize,
        negated: bool,
    },
    Atomic {
        language: Language,
        atomic: AtomicChoice,
        at: AssertionSource,
    },
}

/// The match of its body that an atomic group takes.
#[derive(Clone, Copy)]
enum AtomicChoice {
    /// The only one: no match is a prefix of another.
    Only,
    /// As many characters of a class as there are, within bounds.
    Longest { class: Language, min: u32, max: Option<u32> },
}

/// One language for each left context.
type ByContext = Vec<Language>;

impl<'a> PatternCompiler<'a> {
    fn new(
        languages: &'a mut Languages,
        spelling: &'a dyn CodePoints,
        is_ordered: bool,
    ) -> PatternCompiler<'a> {
        let any = spelling.class(languages, &[(0, 0x10_FFFF)]);
        let text = languages.repeat(any, 0, None);
        let (classes, atomic_obligations) = (FxHashMap::default(), Vec::new());
        Self {
            languages,
            spelling,
            text,
            classes,
            unrolled: 0,
            is_ordered,
            atomic_obligations,
            marks: None,
        }
    }
}

impl PatternCompiler<'_> {
    /// The texts that consist of a string of `before`, a match, and a string of `after`.
    fn language(
        &mut self,
        pattern: &Pattern,
        before: Option<Language>,
        after: Language,
    ) -> Result<Language> {
        let mut prefixes = Vec::new();
        let part = self.lower(pattern, &mut prefixes)?;
        let mut parts: Vec<LoweredPattern> =
            before.map(LoweredPattern::Plain).into_iter().collect();
        parts.push(part);
        let contexts = LeftContexts::new(self.languages, &prefixes, self.text)?;
        let rest = vec![after; contexts.len()];
        let mut scope = ContextScope { compiler: self, contexts, variables: Vec::new() };
        let all = scope.matches_then(&LoweredPattern::Concat(parts), &rest)?;
        let ContextScope { contexts, variables, .. } = scope;
        self.finish(&contexts, variables, all[0])
    }

    /// The language at the start of the text, once nothing more is defined.
    fn finish(
        &mut self,
        contexts: &LeftContexts,
        mut variables: Vec<Language>,
        language: Language,
    ) -> Result<Language> {
        variables.extend_from_slice(contexts.variables());
        let settled = variables::settle(self.languages, &variables, language);
        for (changed, at) in std::mem::take(&mut self.atomic_obligations) {
            if self.languages.is_live(changed)? {
                return Err(error_at(at.byte, format!("{} changes what is matched here", at.name))
                    .with_help("let what follows begin with other characters, or write it as an ordinary group"));
            }
        }
        Ok(settled)
    }

    /// The pattern with parts without assertions compiled. `prefixes` collects the languages of its
    /// lookbehinds.
    fn lower(&mut self, pattern: &Pattern, prefixes: &mut Vec<Language>) -> Result<LoweredPattern> {
        Ok(match pattern {
            Pattern::Class(class) => {
                let ranges: Vec<(u32, u32)> =
                    class.iter().map(|r| (r.start().into(), r.end().into())).collect();
                let Self { languages, spelling, .. } = self;
                let known = self.classes.entry(ranges);
                let class = *known.or_insert_with_key(|ranges| spelling.class(languages, ranges));
                LoweredPattern::Plain(self.among_marks(class))
            }
            Pattern::Concat(patterns) => {
                let mut parts: Vec<LoweredPattern> = Vec::new();
                let mut run = Vec::new();
                for pattern in patterns {
                    match self.lower(pattern, prefixes)? {
                        LoweredPattern::Plain(language) => run.push(language),
                        part => {
                            if !run.is_empty() {
                                parts.push(LoweredPattern::Plain(
                                    self.languages.concat(run.drain(..)),
                                ));
                            }
                            parts.push(part);
                        }
                    }
                }
                if parts.is_empty() || !run.is_empty() {
                    parts.push(LoweredPattern::Plain(self.languages.concat(run)));
                }
                if parts.len() == 1 { parts.swap_remove(0) } else { LoweredPattern::Concat(parts) }
            }
            Pattern::Alternate(patterns) => {
                let mut plain = Vec::new();
                let mut parts = Vec::new();
                for pattern in patterns {
                    match self.lower(pattern, prefixes)? {
                        LoweredPattern::Plain(language) if !self.is_ordered => plain.push(language),
                        part => parts.push(part),
                    }
                }
                if parts.is_empty() || !plain.is_empty() {
                    parts.push(LoweredPattern::Plain(self.languages.union(plain)));
                }
                if parts.len() == 1 {
                    parts.swap_remove(0)
                } else {
                    LoweredPattern::Alternate(parts)
                }
            }
            Pattern::Repeat { body, min, max, greedy } => match self.lower(body, prefixes)? {
                LoweredPattern::Plain(body) if !self.is_ordered || Some(*min) == *max => {
                    LoweredPattern::Plain(self.languages.repeat(body, *min, *max))
                }
                body => {
                    let (body, greedy) = (Box::new(body), *greedy);
                    LoweredPattern::Repeat { body, min: *min, max: *max, greedy }
                }
            },
            Pattern::Atomic { at, .. } if self.is_ordered => {
                let message = format!("{} beside a lazy quantifier is not supported", at.name);
                return Err(error_at(at.byte, message)
                    .with_help("leave the `?` of the lazy one out, or write the other as usual"));
            }
            Pattern::Atomic { body, greedy, at } => {
                let lowered = self.lower(body, prefixes)?;
                let LoweredPattern::Plain(language) = lowered else {
                    let message = format!("{} with assertions in it is not supported", at.name);
                    return Err(
                        error_at(at.byte, message).with_help("write it as an ordinary group")
                    );
                };
                let atomic = self.atomic(body, language, *greedy, *at, prefixes)?;
                LoweredPattern::Atomic { language, atomic, at: *at }
            }
            Pattern::Look { look, .. } => match look {
                Assertion::Start => {
                    let start = self.before_match();
                    behind(prefixes, start, false)
                }
                Assertion::End => match self.marks {
                    Some((_, PatternRegion::Ahead | PatternRegion::Behind)) => {
                        LoweredPattern::TextEnd
                    }
                    _ => LoweredPattern::End,
                },
                Assertion::Ahead { body, negated } => {
                    let outer = self.enter(PatternRegion::Ahead);
                    let body = Box::new(self.lower(body, prefixes)?);
                    self.leave(outer);
                    LoweredPattern::Ahead { body, negated: *negated }
                }
                Assertion::Behind { body, negated } => {
                    if let Some(at) = looks_ahead(body) {
                        let message = format!("{} inside a lookbehind is not supported", at.name);
                        return Err(
                            error_at(at.byte, message).with_help("move it after the lookbehind")
                        );
                    }
                    let text = self.text;
                    let outer = self.enter(PatternRegion::Behind);
                    let prefix = self.language(body, Some(text), Language::EPSILON)?;
                    self.leave(outer);
                    behind(prefixes, prefix, *negated)
                }
            },
        })
    }
}

impl PatternCompiler<'_> {
    /// The choice of an atomic group; an error where it is neither of the simple ones.
    fn atomic(
        &mut self,
        body: &Pattern,
        language: Language,
        greedy: bool,
        at: AssertionSource,
        prefixes: &mut Vec<Language>,
    ) -> Result<AtomicChoice> {
        // A match that is a proper prefix of another match.
        let byte = self.languages.byte_set(crate::regular::ByteSet::ALL);
        let some = self.languages.repeat(byte, 1, None);
        let longer = self.languages.concat([language, some]);
        let both = self.languages.intersect([language, longer]);
        if !self.languages.is_live(both)? {
            return Ok(AtomicChoice::Only);
        }
        if let Pattern::Repeat { body, min, max, .. } = body
            && greedy
            && let Some(class) = one_character(body)
            && let LoweredPattern::Plain(class) = self.lower(&class, prefixes)?
        {
            return Ok(AtomicChoice::Longest { class, min: *min, max: *max });
        }
        Err(error_at(at.byte, format!("{} may change what is matched here", at.name))
            .with_help("only repeats of one character, and bodies no match of which begins another, may be atomic"))
    }
}

/// The class of a pattern that matches exactly one character.
fn one_character(pattern: &Pattern) -> Option<Pattern> {
    match pattern {
        Pattern::Class(_) => Some(pattern.clone()),
        Pattern::Concat(parts) => match &parts[..] {
            [one] => one_character(one),
            _ => None,
        },
        _ => None,
    }
}

/// A condition on the text before, by the index of its language.
fn behind(prefixes: &mut Vec<Language>, prefix: Language, negated: bool) -> LoweredPattern {
    let known = prefixes.iter().position(|&p| p == prefix);
    let prefix = known.unwrap_or_else(|| {
        prefixes.push(prefix);
        prefixes.len() - 1
    });
    LoweredPattern::Behind { prefix, negated }
}

/// The first assertion of a pattern about the text after it.
fn looks_ahead(pattern: &Pattern) -> Option<AssertionSource> {
    match pattern {
        Pattern::Class(_) => None,
        Pattern::Concat(parts) | Pattern::Alternate(parts) => parts.iter().find_map(looks_ahead),
        Pattern::Repeat { body, .. } | Pattern::Atomic { body, .. } => looks_ahead(body),
        Pattern::Look { look: Assertion::End | Assertion::Ahead { .. }, at } => Some(*at),
        Pattern::Look { look: Assertion::Start, .. } => None,
        Pattern::Look { look: Assertion::Behind { body, .. }, .. } => looks_ahead(body),
    }
}

/// The compilation of a pattern (the whole or a lookbehind) in its left contexts.
struct ContextScope<'a, 'b> {
    compiler: &'a mut PatternCompiler<'b>,
    contexts: LeftContexts,
    /// The variables of its repeats, all of them defined.
    variables: Vec<Language>,
}

impl ContextScope<'_, '_> {
    fn languages(&mut self) -> &mut Languages {
        self.compiler.languages
    }

    /// Counts a step of unrolling.
    fn count(&mut self) -> Result<()> {
        self.compiler.unrolled += 1;
        if self.compiler.unrolled <= UNROLL_LIMIT {
            return Ok(());
        }
        let (what, cure) = if self.compiler.is_ordered {
            (
                "beside lazy quantifiers",
                "lower its count, or write the pattern without lazy quantifiers",
            )
        } else {
            ("of assertions", "move the assertions out of the repeat, or lower its count")
        };
        let message =
            format!("a counted repeat {what} unrolls into more than {UNROLL_LIMIT} steps");
        Err(error_at(0, message).with_help(cure))
    }

    /// The union, context by context.
    fn unite(&mut self, a: &[Language], b: &[Language]) -> ByContext {
        a.iter().zip(b).map(|(&a, &b)| self.languages().union([a, b])).collect()
    }

    /// The intersection, context by context.
    fn intersect(&mut self, a: &[Language], b: &[Language]) -> ByContext {
        a.iter().zip(b).map(|(&a, &b)| self.languages().intersect([a, b])).collect()
    }

    /// The empty language in each context.
    fn empty_by_context(&self) -> ByContext {
        vec![Language::EMPTY; self.contexts.len()]
    }

    /// A match of the part, then `rest`.
    fn matches_then(&mut self, part: &LoweredPattern, rest: &[Language]) -> Result<ByContext> {
        self.count()?;
        match part {
            LoweredPattern::Plain(language) => {
                if rest.iter().all(|&r| r == rest[0]) {
                    return Ok(vec![self.languages().concat([*language, rest[0]]); rest.len()]);
                }
                let nonempty = self.nonempty_matches_then(part, rest)?;
                if self.languages().is_nullable(*language) {
                    return Ok(self.unite(&nonempty, rest));
                }
                Ok(nonempty)
            }
            LoweredPattern::Concat(parts) => parts
                .iter()
                .rev()
                .try_fold(rest.to_vec(), |rest, part| self.matches_then(part, &rest)),
            LoweredPattern::Alternate(parts) => {
                parts.iter().try_fold(self.empty_by_context(), |all, part| {
                    let one = self.matches_then(part, rest)?;
                    Ok(self.unite(&all, &one))
                })
            }
            LoweredPattern::Repeat { body, min, max, .. } => {
                Ok(self.repeat(body, *min, *max, rest)?.0)
            }
            LoweredPattern::Atomic { language, atomic, at } => {
                self.require_same_as_ordinary(*atomic, *at, rest)?;
                self.matches_then(&LoweredPattern::Plain(*language), rest)
            }
            LoweredPattern::End
            | LoweredPattern::TextEnd
            | LoweredPattern::Ahead { .. }
            | LoweredPattern::Behind { .. } => {
                let condition = self.empty_match_condition(part)?;
                Ok(self.intersect(&condition, rest))
            }
        }
    }

    /// A match of at least one character, then `rest`.
    fn nonempty_matches_then(
        &mut self,
        part: &LoweredPattern,
        rest: &[Language],
    ) -> Result<ByContext> {
        self.count()?;
        match part {
            LoweredPattern::Plain(language) => {
                let piece = self.languages().without_epsilon(*language);
                let Self { compiler, contexts, .. } = self;
                Ok(contexts.then(compiler.languages, piece, rest))
            }
            LoweredPattern::Concat(parts) => {
                // Of what follows in the sequence: matches that consume something, and all.
                let (mut nonempty, mut full) = (self.empty_by_context(), rest.to_vec());
                for part in parts.iter().rev() {
                    let here = self.nonempty_matches_then(part, &full)?;
                    let condition = self.empty_match_condition(part)?;
                    let later = self.intersect(&condition, &nonempty);
                    nonempty = self.unite(&here, &later);
                    full = self.matches_then(part, &full)?;
                }
                Ok(nonempty)
            }
            LoweredPattern::Alternate(parts) => {
                parts.iter().try_fold(self.empty_by_context(), |all, part| {
                    let one = self.nonempty_matches_then(part, rest)?;
                    Ok(self.unite(&all, &one))
                })
            }
            LoweredPattern::Repeat { body, min, max, .. } => {
                Ok(self.repeat(body, *min, *max, rest)?.1)
            }
            LoweredPattern::Atomic { language, atomic, at } => {
                self.require_same_as_ordinary(*atomic, *at, rest)?;
                self.nonempty_matches_then(&LoweredPattern::Plain(*language), rest)
            }
            LoweredPattern::End
            | LoweredPattern::TextEnd
            | LoweredPattern::Ahead { .. }
            | LoweredPattern::Behind { .. } => Ok(self.empty_by_context()),
        }
    }

    /// Requires that an atomic group before `rest` matches what an ordinary group does.
    fn require_same_as_ordinary(
        &mut self,
        atomic: AtomicChoice,
        at: AssertionSource,
        rest: &[Language],
    ) -> Result<()> {
        let AtomicChoice::Longest { class, min, max } = atomic else { return Ok(()) };
        let first = rest[0];
        if rest.iter().any(|&r| r != first) {
            let message = format!("{} beside a lookbehind is not supported", at.name);
            return Err(error_at(at.byte, message).with_help("write it as an ordinary group"));
        }
        let languages = self.languages();
        let any = languages.repeat(class, min, max);
        let ordinary = languages.concat([any, first]);
        // Either the greatest number, or another character follows.
        let goes_on = languages.concat([class, Language::ALL]);
        let other = languages.difference(first, goes_on);
        let fewer = languages.repeat(class, min, max.map(|max| max.saturating_sub(1)));
        let stopped = match max {
            Some(max) if max == min => Language::EMPTY,
            _ => languages.concat([fewer, other]),
        };
        let most = match max {
            Some(max) => {
                let most = languages.repeat(class, max, Some(max));
                languages.concat([most, first])
            }
            None => Language::EMPTY,
        };
        let longest = languages.union([stopped, most]);
        let changed = languages.difference(ordinary, longest);
        self.compiler.atomic_obligations.push((changed, at));
        Ok(())
    }

    /// The condition on the rest, context by context, under which the part matches the empty string.
    fn empty_match_condition(&mut self, part: &LoweredPattern) -> Result<ByContext> {
        self.count()?;
        let count = self.contexts.len();
        let all_or_nothing = |yes| if yes { Language::ALL } else { Language::EMPTY };
        Ok(match part {
            LoweredPattern::Plain(language) | LoweredPattern::Atomic { language, .. } => {
                vec![all_or_nothing(self.languages().is_nullable(*language)); count]
            }
            LoweredPattern::Concat(parts) => {
                parts.iter().try_fold(vec![Language::ALL; count], |all, part| {
                    let one = self.empty_match_condition(part)?;
                    Ok(self.intersect(&all, &one))
                })?
            }
            LoweredPattern::Alternate(parts) => {
                parts.iter().try_fold(self.empty_by_context(), |all, part| {
                    let one = self.empty_match_condition(part)?;
                    Ok(self.unite(&all, &one))
                })?
            }
            LoweredPattern::Repeat { min: 0, .. } => vec![Language::ALL; count],
            LoweredPattern::Repeat { body, .. } => self.empty_match_condition(body)?,
            LoweredPattern::TextEnd => {
                let end = self.compiler.only_marks();
                vec![end; count]
            }
            LoweredPattern::End => {
                let end = self.compiler.after_match();
                vec![end; count]
            }
            LoweredPattern::Ahead { body, negated } => {
                let mut found = self.matches_then(body, &vec![Language::ALL; count])?;
                if *negated {
                    for language in &mut found {
                        *language = self.languages().complement(*language);
                    }
                }
                found
            }
            LoweredPattern::Behind { prefix, negated } => (0..count)
                .map(|context| all_or_nothing(self.contexts.holds(context, *prefix) != *negated))
                .collect(),
        })
    }

    /// A repeat of a body with assertions, then `rest`: all matches, and those that consume
    /// something. Iterations that consume nothing only add conditions, so that they matter only
    /// where `min` asks for them.
    fn repeat(
        &mut self,
        body: &LoweredPattern,
        min: u32,
        max: Option<u32>,
        rest: &[Language],
    ) -> Result<(ByContext, ByContext)> {
        let (mut full, mut nonempty) = match max {
            Some(_) => (rest.to_vec(), self.empty_by_context()),
            None => self.star(body, rest)?,
        };
        let condition = self.empty_match_condition(body)?;
        // From the last iteration to the first.
        for iteration in (0..max.unwrap_or(min)).rev() {
            let here = self.nonempty_matches_then(body, &full)?;
            (full, nonempty) = if iteration < min {
                let (idle_full, idle_nonempty) =
                    (self.intersect(&condition, &full), self.intersect(&condition, &nonempty));
                (self.unite(&here, &idle_full), self.unite(&here, &idle_nonempty))
            } else {
                (self.unite(&here, rest), here)
            };
        }
        Ok((full, nonempty))
    }

    /// An unbounded repeat of a body with assertions, then `rest`: all matches, and those that
    /// consume something.
    fn star(&mut self, body: &LoweredPattern, rest: &[Language]) -> Result<(ByContext, ByContext)> {
        let variables: Vec<_> = rest
            .iter()
            .map(|&rest| {
                let nullable = self.languages().is_nullable(rest);
                variables::new_variable(self.languages(), nullable)
            })
            .collect();
        let nonempty = self.nonempty_matches_then(body, &variables)?;
        let full = self.unite(&nonempty, rest);
        for (&variable, &full) in variables.iter().zip(&full) {
            variables::define(self.languages(), variable, full);
        }
        self.variables.extend(variables);
        Ok((full, nonempty))
    }
}
