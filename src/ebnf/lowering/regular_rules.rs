//! The regular rules of a grammar, and the languages of regular expressions over them.
//!
//! Rules are visited in topological order, callees first; a rule that is never ready reaches a
//! cycle. A small regular rule is *inlined*: its language becomes part of the terminals
//! that use it. And, not, difference and laziness have a meaning for regular languages only.

use super::parsed_rules::{LoweringOptions, ParsedRules, RuleLayout};
use crate::ebnf::expression::{RuleAttribute, RuleExpr, RuleExprKind};
use crate::error::Result;
use crate::regular::{self, ByteSet, Language, Languages, Utf8};

/// Leaves of a regular rule that is inlined at most: copying a larger one into every terminal that
/// uses it could make terminals with too many states.
const MAX_INLINED_LEAVES: usize = 600;

/// Whether a repeat needs a counter.
pub(super) fn is_counted_repeat(min: u32, max: Option<u32>) -> bool {
    min > 1 || max.is_some_and(|max| max > 1)
}

/// Facts about one rule.
#[derive(Clone, Copy, Default)]
struct RuleFacts {
    /// Its language, if it is regular and was needed.
    language: Option<Language>,
    /// Whether it becomes part of the terminals that use it.
    is_inlined: bool,
    /// Whether it has a counted repeat, rules that it calls included.
    has_counter: bool,
    /// Whether it is one terminal for lazy precedence.
    is_terminal: bool,
    /// Whether a contextual terminal is part of it as a terminal of its own.
    has_contextual: bool,
}

/// The facts about all rules of a grammar.
pub(super) struct RegularRules<'a> {
    rules: &'a ParsedRules<'a>,
    facts: Vec<RuleFacts>,
    /// Rules that reach no cycle, each after the rules that it calls.
    callees_first: Vec<usize>,
    /// Whether lazy terminals take precedence.
    lazy_precedence: bool,
    /// Whether terminals see the text around them: in grammars that are written out.
    supports_lookaround: bool,
}

impl<'a> RegularRules<'a> {
    /// Finds the rules that reach no cycle, and the languages of those that are inlined.
    pub(super) fn find(
        rules: &'a ParsedRules<'a>,
        options: LoweringOptions,
        languages: &mut Languages,
    ) -> Result<Self> {
        let count = rules.bodies.len();
        let mut is_written_out = true;
        for body in &rules.bodies {
            body.visit(|expr| is_written_out &= !matches!(expr.kind, RuleExprKind::Parameter(_)));
        }
        let mut found = Self {
            rules,
            facts: vec![RuleFacts::default(); count],
            callees_first: Vec::new(),
            lazy_precedence: options.lazy_precedence,
            supports_lookaround: is_written_out,
        };
        if options.lazy_precedence {
            rules.terminals.iter().for_each(|&(rule, _)| found.facts[rule].is_terminal = true);
        }
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); count];
        // Callees that are not visited yet.
        let mut waiting = vec![0usize; count];
        for (rule, body) in rules.bodies.iter().enumerate() {
            let mut calls = callees(body);
            calls.sort_unstable();
            calls.dedup();
            waiting[rule] = calls.len();
            calls.iter().for_each(|&callee| callers[callee].push(rule));
        }
        let mut ready: Vec<usize> = (0..count).filter(|&rule| waiting[rule] == 0).collect();
        let mut leaves = vec![usize::MAX; count];
        while let Some(rule) = ready.pop() {
            let body = &rules.bodies[rule];
            found.callees_first.push(rule);
            found.facts[rule].has_counter = found.has_counter(body);
            found.facts[rule].has_contextual = found.holds_contextual(rule);
            // Contextual terminals stay apart: their texts depend on where they begin and end.
            leaves[rule] = if found.facts[rule].has_contextual {
                usize::MAX
            } else {
                found.count_leaves(body, &leaves)
            };
            if leaves[rule] <= MAX_INLINED_LEAVES && options.layout == RuleLayout::Merged {
                found.facts[rule].language = Some(found.expression(languages, body)?);
                found.facts[rule].is_inlined = true;
            }
            for &caller in &callers[rule] {
                waiting[caller] -= 1;
                if waiting[caller] == 0 {
                    ready.push(caller);
                }
            }
        }
        Ok(found)
    }

    /// The number of terminals that an inlined expression is made of; `usize::MAX` if it cannot be
    /// inlined. `leaves` has those of the rules that it calls.
    fn count_leaves(&self, body: &RuleExpr, leaves: &[usize]) -> usize {
        let mut size = 0usize;
        body.visit(|expr| {
            let more = match &expr.kind {
                // Counters in counters are left to the engine.
                RuleExprKind::Repeat(inner, min, max)
                    if is_counted_repeat(*min, *max) && self.has_counter(inner) =>
                {
                    usize::MAX
                }
                RuleExprKind::Regular(_) | RuleExprKind::Lookaround(..) => 1,
                RuleExprKind::Rule(callee) => leaves[*callee],
                RuleExprKind::Special(_)
                | RuleExprKind::Embedded(_)
                | RuleExprKind::Parameter(_)
                | RuleExprKind::Attributed(..) => usize::MAX,
                _ => 0,
            };
            size = size.saturating_add(more);
        });
        size
    }

    /// The language of a rule, if it is known.
    pub(super) fn language(&self, rule: usize) -> Option<Language> {
        self.facts[rule].language
    }

    pub(super) fn is_inlined(&self, rule: usize) -> bool {
        self.facts[rule].is_inlined
    }

    pub(super) fn is_terminal(&self, rule: usize) -> bool {
        self.facts[rule].is_terminal
    }

    pub(super) fn has_contextual(&self, rule: usize) -> bool {
        self.facts[rule].has_contextual
    }

    /// Whether terminals see the text around them.
    pub(super) fn supports_lookaround(&self) -> bool {
        self.supports_lookaround
    }

    /// Whether an expression is a terminal that looks at the text around it, or a choice in which one is.
    pub(super) fn is_lookaround(&self, expr: &RuleExpr) -> bool {
        match &expr.kind {
            RuleExprKind::Lookaround(..) => self.supports_lookaround,
            // A rule with a contextual terminal was visited after all rules that it calls, so the
            // recursion ends.
            &RuleExprKind::Rule(rule) => {
                self.has_contextual(rule) && self.is_lookaround(&self.rules.bodies[rule])
            }
            RuleExprKind::Choice(parts) => parts.iter().any(|part| self.is_lookaround(part)),
            _ => false,
        }
    }

    /// Whether an expression has a counted repeat, rules that it calls included as far as they were
    /// visited.
    pub(super) fn has_counter(&self, expr: &RuleExpr) -> bool {
        let mut found = false;
        expr.visit(|expr| {
            found |= match expr.kind {
                RuleExprKind::Repeat(_, min, max) => is_counted_repeat(min, max),
                RuleExprKind::Rule(rule) => self.facts[rule].has_counter,
                _ => false,
            };
        });
        found
    }

    /// Whether a contextual terminal is part of a rule as a terminal of its own, rules that it calls
    /// included as far as they were visited.
    fn holds_contextual(&self, rule: usize) -> bool {
        let body = &self.rules.bodies[rule];
        let is_lazy =
            |expr: &RuleExpr| self.lazy_precedence && matches!(expr.kind, RuleExprKind::Lazy(_));
        if self.is_terminal(rule) && is_lazy(body) {
            return true;
        }
        let mut todo = vec![body];
        while let Some(expr) = todo.pop() {
            match &expr.kind {
                RuleExprKind::Lazy(_) if is_lazy(expr) && !self.is_terminal(rule) => return true,
                RuleExprKind::Lookaround(..) if self.supports_lookaround => return true,
                RuleExprKind::Except(inner, _) if self.is_lookaround(inner) => return true,
                RuleExprKind::Rule(callee) if self.has_contextual(*callee) => return true,
                RuleExprKind::Sequence(parts) | RuleExprKind::Choice(parts) => todo.extend(parts),
                RuleExprKind::Repeat(inner, ..) | RuleExprKind::Attributed(inner, _) => {
                    todo.push(inner);
                }
                _ => {}
            }
        }
        false
    }

    /// Whether a sequence of regular parts is made of terminals between which a text may end.
    pub(super) fn has_inner_end(&self, languages: &Languages, parts: &[&RuleExpr]) -> bool {
        let mut is_rest_nullable = true;
        for (i, part) in parts.iter().enumerate().rev() {
            let is_last = i + 1 == parts.len();
            if is_rest_nullable && (self.has_end_inside(languages, part) || !is_last) {
                return true;
            }
            is_rest_nullable &= self.is_perhaps_nullable(languages, part);
        }
        false
    }

    fn has_end_inside(&self, languages: &Languages, expr: &RuleExpr) -> bool {
        match &expr.kind {
            RuleExprKind::Repeat(inner, _, max) => {
                *max != Some(1) || self.has_end_inside(languages, inner)
            }
            RuleExprKind::Sequence(parts) => {
                self.has_inner_end(languages, &parts.iter().collect::<Vec<_>>())
            }
            RuleExprKind::Choice(parts) => {
                parts.iter().any(|part| self.has_end_inside(languages, part))
            }
            &RuleExprKind::Rule(rule) if !self.is_terminal(rule) => {
                !self.is_inlined(rule) || self.has_end_inside(languages, &self.rules.bodies[rule])
            }
            _ => false,
        }
    }

    /// Whether an expression is nullable, or that is not known by structure.
    fn is_perhaps_nullable(&self, languages: &Languages, expr: &RuleExpr) -> bool {
        match &expr.kind {
            RuleExprKind::Regular(language) => languages.is_nullable(*language),
            &RuleExprKind::Rule(rule) => {
                self.language(rule).is_none_or(|language| languages.is_nullable(language))
            }
            RuleExprKind::Sequence(parts) => {
                parts.iter().all(|part| self.is_perhaps_nullable(languages, part))
            }
            RuleExprKind::Choice(parts) => {
                parts.iter().any(|part| self.is_perhaps_nullable(languages, part))
            }
            RuleExprKind::Repeat(inner, min, _) => {
                *min == 0 || self.is_perhaps_nullable(languages, inner)
            }
            _ => true,
        }
    }

    /// The language of an expression that must be regular; an error if it is not.
    pub(super) fn expression(
        &mut self,
        languages: &mut Languages,
        expr: &RuleExpr,
    ) -> Result<Language> {
        let text = self.rules.text;
        Ok(match &expr.kind {
            RuleExprKind::Regular(language) | RuleExprKind::Lookaround(_, language) => *language,
            &RuleExprKind::Rule(rule) => self.rule(languages, rule, expr.at)?,
            RuleExprKind::Special(_) => {
                return Err(text
                    .error(expr.at, "a special token is no text, and this part must be regular")
                    .with_help("move the token out of it"));
            }
            RuleExprKind::Parameter(_) => {
                return Err(text
                    .error(expr.at, "a parameter is used where the text must be regular")
                    .with_help("move it out of the terminal"));
            }
            RuleExprKind::Embedded(_) => {
                return Err(text
                    .error(expr.at, "an embedded grammar stands where the text must be regular")
                    .with_help("move it out of the terminal"));
            }
            RuleExprKind::Attributed(inner, attribute) => {
                let (message, help) = match attribute {
                    RuleAttribute::Ignored | RuleAttribute::CaptureFrom(_) => {
                        return self.expression(languages, inner);
                    }
                    RuleAttribute::MaxTokens(_) => (
                        "tokens are counted where the text must be regular",
                        "bound its characters: `max_chars`, or a repeat such as `{0,9}`",
                    ),
                    RuleAttribute::Temperature(_) => (
                        "a temperature stands where the text must be regular",
                        "give it to the rule around this part",
                    ),
                    RuleAttribute::Capture(_) => (
                        "a capture stands where the text must be regular",
                        "capture the rule around this part",
                    ),
                };
                return Err(text.error(expr.at, message).with_help(help));
            }
            RuleExprKind::Sequence(parts) => {
                let parts = self.expressions(languages, parts)?;
                languages.concat(parts)
            }
            RuleExprKind::Choice(parts) => {
                let parts = self.expressions(languages, parts)?;
                languages.union(parts)
            }
            RuleExprKind::And(parts) => {
                let parts = self.expressions(languages, parts)?;
                languages.intersect(parts)
            }
            RuleExprKind::Repeat(inner, min, max) => {
                let inner = self.expression(languages, inner)?;
                languages.repeat(inner, *min, *max)
            }
            RuleExprKind::Not(inner) => {
                let inner = self.expression(languages, inner)?;
                let any = regular::any_text(languages, &Utf8);
                languages.difference(any, inner)
            }
            RuleExprKind::Except(a, b) => {
                let (a, b) = (self.expression(languages, a)?, self.expression(languages, b)?);
                languages.difference(a, b)
            }
            RuleExprKind::Lazy(inner) => {
                let inner = self.expression(languages, inner)?;
                let byte = languages.byte_set(ByteSet::ALL);
                let more = languages.repeat(byte, 1, None);
                let longer = languages.concat([inner, more]);
                languages.difference(inner, longer)
            }
        })
    }

    fn expressions(
        &mut self,
        languages: &mut Languages,
        exprs: &[RuleExpr],
    ) -> Result<Vec<Language>> {
        exprs.iter().map(|expr| self.expression(languages, expr)).collect()
    }

    /// The language of a rule that must be regular, from those of the rules that it calls; `at` is
    /// the byte offset of the use that demands it.
    pub(super) fn rule(
        &mut self,
        languages: &mut Languages,
        rule: usize,
        at: usize,
    ) -> Result<Language> {
        if let Some(language) = self.language(rule) {
            return Ok(language);
        }
        let rules = self.rules;
        let mut is_needed = vec![false; rules.bodies.len()];
        let mut todo = vec![rule];
        while let Some(rule) = todo.pop() {
            if std::mem::replace(&mut is_needed[rule], true) || self.language(rule).is_some() {
                continue;
            }
            todo.extend(callees(&rules.bodies[rule]));
        }
        // Callees first, so that no call goes deeper than one body.
        for i in 0..self.callees_first.len() {
            let callee = self.callees_first[i];
            if is_needed[callee] && self.language(callee).is_none() {
                let language = self.expression(languages, &rules.bodies[callee])?;
                self.facts[callee].language = Some(language);
            }
        }
        self.language(rule).ok_or_else(|| {
            let name = &rules.names[rule];
            rules
                .text
                .error(at, format!("`{name}` calls itself where the text must be regular"))
                .with_help("and, not, exceptions and terminals take no recursive rules")
        })
    }
}

/// The rules that an expression calls.
fn callees(expr: &RuleExpr) -> Vec<usize> {
    let mut calls = Vec::new();
    expr.visit(|expr| {
        if let RuleExprKind::Rule(callee) = expr.kind {
            calls.push(callee);
        }
    });
    calls
}
