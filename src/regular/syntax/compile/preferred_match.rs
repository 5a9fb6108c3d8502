//! The texts that are their own preferred match, as a backtracking engine finds it at the start of a text.
//!
//! Such an engine tries the ways of matching in an order: the first alternative before the second, one more
//! iteration of a greedy repeat before none, none of a lazy one before one more. It takes the first way that
//! succeeds, wherever that ends. So `a.*?b` finds `ab` in `abab`, and `abab` is not its own match though
//! the pattern can match it.
//!
//! A pattern is compiled from right to left. Of what follows a part two languages are known:
//!
//! - `any`: the rests on which some way of matching what follows succeeds, wherever it ends,
//! - `whole`: the rests on which the first such way ends at the end of the text.
//!
//! At the end of the pattern `any` is everything and `whole` the empty string. Of the alternatives `A|B`,
//! B is tried where no way through A succeeds: `whole` is `wholeA | (wholeB - anyA)`. A repeat is the
//! alternatives `x·repeat | rest`, or for a lazy one `rest | x·repeat`. An iteration that consumes nothing
//! is the last one. Hence two continuations are carried, `idle` where the iteration has consumed nothing
//! and `moved` after its first character.

use super::{ByContext, ContextScope, LeftContexts, LoweredPattern, PatternCompiler};
use crate::error::Result;
use crate::regular::encoding::CodePoints;
use crate::regular::syntax::pattern::Pattern;
use crate::regular::{Language, Languages, variables};

/// The language of the texts that are their own preferred match.
pub(crate) fn compile_preferred(
    languages: &mut Languages,
    pattern: &Pattern,
    spelling: &dyn CodePoints,
) -> Result<Language> {
    let mut compiler = PatternCompiler::new(languages, spelling, true);
    let text = compiler.text;
    let mut prefixes = Vec::new();
    let part = compiler.lower(pattern, &mut prefixes)?;
    let contexts = LeftContexts::new(compiler.languages, &prefixes, text)?;
    let count = contexts.len();
    let end =
        PreferredRest { whole: vec![Language::EPSILON; count], any: vec![Language::ALL; count] };
    let mut scope = ContextScope { compiler: &mut compiler, contexts, variables: Vec::new() };
    let start = scope.preferred(&part, &RestsByProgress { idle: end.clone(), moved: end })?;
    let ContextScope { contexts, variables, .. } = scope;
    let language = compiler.finish(&contexts, variables, start.idle.whole[0])?;
    let language = compiler.languages.intersect([language, text]);
    compiler.languages.note_within(language, text);
    Ok(language)
}

/// The rests on which what follows succeeds.
#[derive(Clone)]
pub(super) struct PreferredRest {
    /// Its first way of succeeding ends at the end of the text.
    pub(super) whole: ByContext,
    /// It succeeds in some way.
    pub(super) any: ByContext,
}

/// The rests that may follow, by whether the iteration of the innermost repeat has consumed a character.
#[derive(Clone)]
pub(super) struct RestsByProgress {
    pub(super) idle: PreferredRest,
    pub(super) moved: PreferredRest,
}

impl RestsByProgress {
    fn same(rest: PreferredRest) -> Self {
        Self { idle: rest.clone(), moved: rest }
    }
}

impl ContextScope<'_, '_> {
    /// A match of the part, then what follows.
    pub(super) fn preferred(
        &mut self,
        part: &LoweredPattern,
        rests: &RestsByProgress,
    ) -> Result<RestsByProgress> {
        self.count()?;
        match part {
            LoweredPattern::Plain(Language::EPSILON) => Ok(rests.clone()),
            // Classes and fixed numbers of them: one way to match, which consumes something. Atomic groups are
            // refused before this.
            LoweredPattern::Plain(_) | LoweredPattern::Atomic { .. } => {
                let PreferredRest { whole, any } = &rests.moved;
                let (whole, any) = (self.matches_then(part, whole)?, self.matches_then(part, any)?);
                Ok(RestsByProgress::same(PreferredRest { whole, any }))
            }
            LoweredPattern::Concat(parts) => parts
                .iter()
                .rev()
                .try_fold(rests.clone(), |rests, part| self.preferred(part, &rests)),
            LoweredPattern::Alternate(parts) => {
                let none =
                    PreferredRest { whole: self.empty_by_context(), any: self.empty_by_context() };
                parts.iter().try_fold(RestsByProgress::same(none), |first, part| {
                    let then = self.preferred(part, rests)?;
                    Ok(RestsByProgress {
                        idle: self.in_order(&first.idle, &then.idle),
                        moved: self.in_order(&first.moved, &then.moved),
                    })
                })
            }
            &LoweredPattern::Repeat { ref body, min, max, greedy } => {
                let idle =
                    self.preferred_repeat(body, (min, max), greedy, &rests.idle, &rests.moved)?;
                let moved =
                    self.preferred_repeat(body, (min, max), greedy, &rests.moved, &rests.moved)?;
                Ok(RestsByProgress { idle, moved })
            }
            LoweredPattern::End
            | LoweredPattern::TextEnd
            | LoweredPattern::Ahead { .. }
            | LoweredPattern::Behind { .. } => {
                let condition = self.empty_match_condition(part)?;
                let mut under = |rest: &PreferredRest| PreferredRest {
                    whole: self.intersect(&condition, &rest.whole),
                    any: self.intersect(&condition, &rest.any),
                };
                Ok(RestsByProgress { idle: under(&rests.idle), moved: under(&rests.moved) })
            }
        }
    }

    /// The first alternative, or the second where no way through the first succeeds.
    fn in_order(&mut self, first: &PreferredRest, second: &PreferredRest) -> PreferredRest {
        let l = self.languages();
        let failed = |l: &mut Languages, (&second, &any): (&Language, &Language)| {
            if second == Language::EMPTY { second } else { l.difference(second, any) }
        };
        let later: ByContext =
            second.whole.iter().zip(&first.any).map(|pair| failed(l, pair)).collect();
        PreferredRest {
            whole: self.unite(&first.whole, &later),
            any: self.unite(&first.any, &second.any),
        }
    }

    /// One iteration more and then `again`, or what follows the repeat.
    fn iteration(
        &mut self,
        again: &PreferredRest,
        rest: &PreferredRest,
        greedy: bool,
    ) -> PreferredRest {
        if greedy { self.in_order(again, rest) } else { self.in_order(rest, again) }
    }

    /// A repeat, then what follows: `idle` if nothing was consumed, before it or in it, and `moved` otherwise.
    fn preferred_repeat(
        &mut self,
        body: &LoweredPattern,
        (min, max): (u32, Option<u32>),
        greedy: bool,
        idle: &PreferredRest,
        moved: &PreferredRest,
    ) -> Result<PreferredRest> {
        // The rests after the iterations that were read, by whether they consumed anything.
        let mut after = match max {
            Some(_) => RestsByProgress { idle: idle.clone(), moved: moved.clone() },
            None => {
                let loops = self.preferred_star(body, greedy, moved)?;
                let once = RestsByProgress { idle: idle.clone(), moved: loops.clone() };
                let again = self.preferred(body, &once)?.idle;
                RestsByProgress { idle: self.iteration(&again, idle, greedy), moved: loops }
            }
        };
        for iteration in (0..max.unwrap_or(min)).rev() {
            let is_optional = iteration >= min;
            let one = |idle: &PreferredRest,
                       rests: &RestsByProgress,
                       scope: &mut Self|
             -> Result<PreferredRest> {
                if !is_optional {
                    return Ok(scope.preferred(body, rests)?.idle);
                }
                let once = RestsByProgress { idle: idle.clone(), moved: rests.moved.clone() };
                let again = scope.preferred(body, &once)?.idle;
                Ok(scope.iteration(&again, idle, greedy))
            };
            let moved_rests =
                RestsByProgress { idle: after.moved.clone(), moved: after.moved.clone() };
            let begun = one(moved, &moved_rests, self)?;
            after = RestsByProgress { idle: one(idle, &after, self)?, moved: begun };
        }
        Ok(after.idle)
    }

    /// Any number of iterations after a character, then `rest`.
    fn preferred_star(
        &mut self,
        body: &LoweredPattern,
        greedy: bool,
        rest: &PreferredRest,
    ) -> Result<PreferredRest> {
        let (any, _) = self.star(body, &rest.any)?;
        // The variable has the empty string where the rest has it: on the empty string each iteration
        // consumes nothing, and so leads to the rest.
        let nullable: Vec<bool> =
            rest.whole.iter().map(|&x| self.languages().is_nullable(x)).collect();
        let whole: ByContext =
            nullable.iter().map(|&n| variables::new_variable(self.languages(), n)).collect();
        let loops = PreferredRest { whole: whole.clone(), any };
        let once = RestsByProgress { idle: rest.clone(), moved: loops.clone() };
        let again = self.preferred(body, &once)?.idle;
        let iteration = self.iteration(&again, rest, greedy);
        for (&variable, &body) in whole.iter().zip(&iteration.whole) {
            variables::define(self.languages(), variable, body);
        }
        self.variables.extend(whole);
        Ok(loops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular::Utf8;
    use crate::regular::syntax::{python, rust};

    /// A random pattern over `a` and `b`.
    fn random_pattern(next: &mut impl FnMut(usize) -> usize, depth: usize) -> String {
        if depth == 0 || next(4) == 0 {
            return ["a", "b", "ab", "[ab]", "a|ab", "", "b|"][next(7)]
                .replace("a|ab", "(?:a|ab)")
                .replace("b|", "(?:b|)");
        }
        let mut part = || random_pattern(next, depth - 1);
        let (first, second) = (part(), part());
        match next(3) {
            0 => format!("{first}{second}"),
            1 => format!("(?:{first}|{second})"),
            _ => {
                let quantifier = ["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}"][next(7)];
                // The oracle takes iterations that consume nothing otherwise than backtracking engines do.
                format!("(?:{first}b){quantifier}{}", ["", "?"][next(2)])
            }
        }
    }

    #[test]
    fn an_atomic_group_is_refused() {
        for pattern in ["a*+.*?b", "(?:(?>a|ab)c)*?"] {
            let tree = python::parse(pattern).unwrap();
            let error = compile_preferred(&mut Languages::new(), &tree, &Utf8).unwrap_err();
            assert!(error.to_string().contains("beside a lazy quantifier"), "{error}");
        }
    }

    #[test]
    fn texts_are_those_that_a_backtracking_engine_matches_whole() {
        let mut state = 7_u64;
        let mut next = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let mut texts = vec![String::new()];
        for at in 0..63 {
            let text: String = texts[at].clone();
            texts.extend(["a", "b"].map(|c| format!("{text}{c}")));
        }
        let mut patterns: Vec<String> =
            ["a.*?b", "(?s:a.*?b)*?", "(a|b)*?a\\b", "^(?:ab?\\B)*?"].map(str::to_owned).to_vec();
        patterns.extend((0..400).map(|_| random_pattern(&mut next, 4)));
        for pattern in patterns {
            let tree = rust::parse(&pattern).unwrap();
            let mut l = Languages::new();
            let language = compile_preferred(&mut l, &tree, &Utf8).unwrap();
            let oracle = regex::Regex::new(&format!("\\A(?:{pattern})")).unwrap();
            for text in &texts {
                let whole = oracle.find(text).is_some_and(|found| found.end() == text.len());
                assert_eq!(
                    l.matches(language, text.as_bytes()).unwrap(),
                    whole,
                    "{pattern:?} on {text:?}"
                );
            }
        }
    }
}
