//! [`RuleTable`]: the symbol table of a grammar that is being parsed.
//!
//! A notation's parser makes a [`RuleExpr`] of each right-hand side, by the table's constructors;
//! names may be used before they are defined. [`RuleTable::finish`] checks that all names are
//! defined, suggests a similar name where one is not, and lowers the rules to a [`Grammar`].

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use rustc_hash::FxHashMap;

use super::environment::Environment;
use super::expression::{RuleExpr, RuleExprKind};
use super::grammar_text::GrammarText;
use super::lowering::{self, LoweringOptions, ParsedRules, RuleLayout};
use super::similar_name::most_similar;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder};
use crate::regular;
use crate::regular::shared_conditions::{EdgesOfAnyText, SharedConditions};
use crate::regular::{CodePoints as _, EdgeConditions, Language, Utf8};

/// The letters that a literal in either case stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CaseFolding {
    /// ASCII letters have two cases, other characters one.
    Ascii,
    /// Unicode's simple case folding.
    Unicode,
}

/// A rule that was used or defined.
struct NamedRule {
    /// The name as the text writes it.
    name: String,
    /// The byte offset of its first occurrence.
    first_use: usize,
    /// The byte offset of its definition, if it has one.
    defined_at: Option<usize>,
    body: Option<RuleExpr>,
}

/// Names that a message lists before it says that there are more.
const MAX_LISTED_RULES: usize = 8;

pub(super) fn defined_twice(text: &GrammarText<'_>, at: usize, name: &str) -> Error {
    text.error(at, format!("rule `{name}` is defined twice"))
        .with_help(
            "join the two into one rule of alternatives; or rename one, where they are two things, as in documents put \
             together (in ABNF names that differ in case alone are one name)",
        )
}

/// The rules of a grammar that is being parsed.
pub(super) struct RuleTable<'e> {
    pub(super) builder: GrammarBuilder,
    pub(super) environment: &'e dyn Environment,
    rules: Vec<NamedRule>,
    names: FxHashMap<String, usize>,
    /// Whether names that differ in case alone are the same (RFC 5234, section 2.1).
    caseless: bool,
    /// Whether lazy rules take precedence over what else may begin where they do.
    lazy_first: bool,
    /// Whether names that the start does not reach may lack a definition.
    is_excerpt: bool,
    /// The sign between a name and its right-hand side, for messages.
    definition_sign: &'static str,
    /// Rules that must be regular.
    terminals: Vec<usize>,
    /// Patterns that were parsed before; many a keyword occurs more than once.
    patterns: FxHashMap<(regular::Dialect, String), Language>,
    /// Conditions on the text around terminals.
    shared_conditions: SharedConditions,
}

impl<'e> RuleTable<'e> {
    /// An empty table; `definition_sign` is the sign between a name and its right-hand side.
    pub(super) fn new(definition_sign: &'static str, environment: &'e dyn Environment) -> Self {
        let mut builder = GrammarBuilder::new();
        if let Some(states) = environment.language_states() {
            builder.languages().set_limit(states);
        }
        Self {
            builder,
            environment,
            rules: Vec::new(),
            names: FxHashMap::default(),
            caseless: false,
            lazy_first: false,
            is_excerpt: false,
            definition_sign,
            terminals: Vec::new(),
            patterns: FxHashMap::default(),
            shared_conditions: SharedConditions::default(),
        }
    }

    /// The same table, in which names do not distinguish case.
    pub(super) fn caseless(self) -> Self {
        Self { caseless: true, ..self }
    }

    /// The same table, for a text that may speak of rules of other documents: a name lacks a definition only
    /// where the start reaches it.
    pub(super) fn excerpt(self) -> Self {
        Self { is_excerpt: true, ..self }
    }

    /// The same table, in which lazy rules take precedence.
    pub(super) fn lazy_first(self) -> Self {
        Self { lazy_first: true, ..self }
    }

    /// The key of a name in `names`.
    fn key(&self, name: &str) -> String {
        if self.caseless { name.to_ascii_lowercase() } else { name.to_owned() }
    }

    /// The rule of a name, defined or not.
    pub(super) fn id(&mut self, name: &str, at: usize) -> usize {
        let key = self.key(name);
        *self.names.entry(key).or_insert_with(|| {
            self.rules.push(NamedRule {
                name: name.to_owned(),
                first_use: at,
                defined_at: None,
                body: None,
            });
            self.rules.len() - 1
        })
    }

    /// A call of a rule.
    pub(super) fn call(&mut self, name: &str, at: usize) -> RuleExpr {
        RuleExpr::new(at, RuleExprKind::Rule(self.id(name, at)))
    }

    /// Whether a name has been used or defined.
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    /// Whether a name has been defined.
    pub(super) fn is_defined(&self, name: &str) -> bool {
        let key = self.key(name);
        self.names.get(&key).is_some_and(|&id| self.rules[id].body.is_some())
    }

    /// Defines a rule; an error if it is defined already.
    pub(super) fn define(
        &mut self,
        text: &GrammarText<'_>,
        name: &str,
        at: usize,
        body: RuleExpr,
    ) -> Result<()> {
        let id = self.id(name, at);
        self.rules[id].defined_at.get_or_insert(at);
        match self.rules[id].body.replace(body) {
            None => Ok(()),
            Some(_) => Err(defined_twice(text, at, name)),
        }
    }

    /// The conditions at the edges of a terminal, of any text between them.
    ///
    /// Errors as [`SharedConditions::of`].
    pub(super) fn edges_of_any_text(&mut self, edges: &EdgeConditions) -> Result<EdgesOfAnyText> {
        self.shared_conditions.of(self.builder.languages(), edges)
    }

    /// Demands that a rule is regular.
    pub(super) fn require_regular(&mut self, name: &str, at: usize) {
        let id = self.id(name, at);
        self.terminals.push(id);
    }

    /// Adds alternatives to a rule; false if it is not defined yet.
    pub(super) fn extend(&mut self, name: &str, at: usize, more: RuleExpr) -> bool {
        let id = self.id(name, at);
        let Some(body) = self.rules[id].body.take() else { return false };
        // One list, however often a rule is extended: expressions are read recursively.
        let (at, mut items) = match body.kind {
            RuleExprKind::Choice(items) => (body.at, items),
            kind => (body.at, vec![RuleExpr::new(body.at, kind)]),
        };
        items.push(more);
        self.rules[id].body = Some(RuleExpr::new(at, RuleExprKind::Choice(items)));
        true
    }

    /// One character of these ranges of code points, in UTF-8.
    pub(super) fn class(&mut self, at: usize, ranges: &[(u32, u32)]) -> RuleExpr {
        RuleExpr::new(at, RuleExprKind::Regular(Utf8.class(self.builder.languages(), ranges)))
    }

    /// Exactly this text.
    pub(super) fn literal(&mut self, at: usize, text: &str) -> RuleExpr {
        RuleExpr::new(at, RuleExprKind::Regular(self.builder.languages().literal(text.as_bytes())))
    }

    /// This text, its letters in either case.
    pub(super) fn caseless_literal(
        &mut self,
        at: usize,
        text: &str,
        folding: CaseFolding,
    ) -> RuleExpr {
        let mut parts = Vec::new();
        for c in text.chars() {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
            match folding {
                CaseFolding::Unicode => {
                    // Without the tables a character stands for itself alone.
                    let _ = class.try_case_fold_simple();
                }
                CaseFolding::Ascii if c.is_ascii_alphabetic() => {
                    let other = char::from(c as u8 ^ 0x20);
                    class.push(ClassUnicodeRange::new(other, other));
                }
                CaseFolding::Ascii => {}
            }
            let ranges: Vec<(u32, u32)> =
                class.iter().map(|range| (range.start().into(), range.end().into())).collect();
            parts.push(Utf8.class(self.builder.languages(), &ranges));
        }
        RuleExpr::new(at, RuleExprKind::Regular(self.builder.languages().concat(parts)))
    }

    /// The texts that a pattern matches as a whole, in a dialect.
    pub(super) fn pattern(
        &mut self,
        text: &GrammarText<'_>,
        at: usize,
        pattern: &str,
        dialect: regular::Dialect,
    ) -> Result<RuleExpr> {
        let key = (dialect, pattern.to_owned());
        if let Some(&known) = self.patterns.get(&key) {
            return Ok(RuleExpr::new(at, RuleExprKind::Regular(known)));
        }
        let options = regular::Options { dialect, ..regular::Options::default() };
        let language = regular::parse(self.builder.languages(), pattern, options, &Utf8)
            .map_err(|error| text.embed(at, &error))
            .map_err(|error| self.with_other_dialect(error, pattern, dialect))?;
        self.patterns.insert(key, language);
        Ok(RuleExpr::new(at, RuleExprKind::Regular(language)))
    }

    /// The error of a pattern with the dialect that reads it, where nobody has chosen one.
    fn with_other_dialect(
        &mut self,
        error: Error,
        pattern: &str,
        dialect: regular::Dialect,
    ) -> Error {
        let other = regular::Dialect::Python;
        if self.environment.regex_dialect().is_some()
            || dialect == other
            || error.kind() == ErrorKind::Limit
        {
            return error;
        }
        let options = regular::Options { dialect: other, ..regular::Options::default() };
        match regular::parse(self.builder.languages(), pattern, options, &Utf8) {
            Ok(_) => error.with_help(
                "Python's `re`, for which Lark's grammars are written, reads it: choose that dialect \
                 (--regex-dialect python; over HTTP `regex_dialect`)",
            ),
            Err(_) => error,
        }
    }

    /// The dialect of the patterns that a grammar's text contains: the one that was chosen, or that
    /// of the notation.
    pub(super) fn pattern_dialect(&self, of_notation: regular::Dialect) -> regular::Dialect {
        self.environment.regex_dialect().unwrap_or(of_notation)
    }

    /// By rule, whether the rule `start` calls it, directly or through others.
    pub(super) fn reached(&self, start: &str) -> Vec<bool> {
        let mut todo: Vec<usize> = self.names.get(&self.key(start)).copied().into_iter().collect();
        let mut reached = vec![false; self.rules.len()];
        while let Some(rule) = todo.pop() {
            if std::mem::replace(&mut reached[rule], true) {
                continue;
            }
            if let Some(body) = &self.rules[rule].body {
                body.visit(|item| {
                    if let RuleExprKind::Rule(callee) = item.kind {
                        todo.push(callee);
                    }
                });
            }
        }
        reached
    }

    /// The empty string.
    pub(super) fn empty(at: usize) -> RuleExpr {
        RuleExpr::new(at, RuleExprKind::Sequence(Vec::new()))
    }

    /// Copies another grammar into this one, and calls it.
    pub(super) fn embed(
        &mut self,
        text: &GrammarText<'_>,
        at: usize,
        grammar: Result<Grammar>,
    ) -> Result<RuleExpr> {
        let embedded = grammar.and_then(|grammar| self.builder.embed(&grammar));
        match embedded {
            Ok(rule) => Ok(RuleExpr::new(at, RuleExprKind::Embedded(rule))),
            Err(error) => Err(text.embed(at, &error)),
        }
    }

    /// The name of the start rule: the one that was chosen, or that of the notation.
    pub(super) fn start_rule<'n>(&self, of_notation: &'n str) -> &'n str
    where
        'e: 'n,
    {
        self.environment.start_rule().unwrap_or(of_notation)
    }

    /// The grammar whose texts are those of the rule `start`.
    ///
    /// Errors if a rule is used but not defined, or if a part must be regular and is not.
    pub(super) fn finish(self, text: &GrammarText<'_>, start: &str) -> Result<Grammar> {
        let key = self.key(start);
        let id = self.names.get(&key).copied().filter(|&id| self.rules[id].body.is_some());
        let reached = if self.is_excerpt && id.is_some() {
            self.reached(start)
        } else {
            vec![true; self.rules.len()]
        };
        let undefined = self.rules.iter().zip(reached);
        let undefined = undefined.filter(|(rule, reached)| *reached && rule.body.is_none());
        if let Some((rule, _)) = undefined.min_by_key(|(rule, _)| rule.first_use) {
            return Err(self.undefined(text, rule));
        }
        let Some(start) = id else { return Err(self.no_start(text, start)) };
        let Self { builder, rules, terminals, environment, lazy_first, .. } = self;
        let terminals = terminals.iter().map(|&id| (id, rules[id].first_use)).collect();
        let mut names = Vec::with_capacity(rules.len());
        let mut bodies = Vec::with_capacity(rules.len());
        for NamedRule { name, body, .. } in rules {
            // Those that are called are defined.
            bodies.push(body.unwrap_or_else(|| Self::empty(0)));
            names.push(name);
        }
        let lazy_first = lazy_first && bodies.iter().any(RuleExpr::has_lazy);
        if lazy_first {
            bodies = bodies.into_iter().map(RuleExpr::left_factored).collect();
        }
        let rules = ParsedRules { text, names, bodies, terminals };
        let options = LoweringOptions {
            layout: if environment.keeps_rules() { RuleLayout::Apart } else { RuleLayout::Merged },
            lazy_precedence: lazy_first,
        };
        lowering::lower(builder, &rules, options, start)
    }

    fn no_start(&self, text: &GrammarText<'_>, start: &str) -> Error {
        // Names of rules that were made here have signs that no notation's names have.
        let is_own = |name: &&str| !name.contains(['@', '%', ' ', '[', '{']);
        let mut defined: Vec<_> = self.rules.iter().filter(|rule| rule.body.is_some()).collect();
        defined.sort_by_key(|rule| rule.defined_at);
        let mut names = defined.into_iter().map(|rule| rule.name.as_str()).filter(is_own);
        let help = if self.environment.start_rule().is_none() {
            let is_rule = |name: &&str| name.starts_with(char::is_lowercase);
            let first = names.clone().find(is_rule).or_else(|| names.next()).unwrap_or("name");
            format!(
                "name the rule that derives the whole text `{start}`, or choose another one \
                 (`--start {first}`; over HTTP and in the library `start`)"
            )
        } else {
            match most_similar(start, names.clone()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let some: Vec<&str> = names.by_ref().take(MAX_LISTED_RULES).collect();
                    let more = if names.next().is_some() { ", …" } else { "" };
                    format!("its rules are {}{more}", some.join(", "))
                }
            }
        };
        text.error(0, format!("the grammar has no rule `{start}`")).with_help(help)
    }

    fn undefined(&self, text: &GrammarText<'_>, rule: &NamedRule) -> Error {
        let name = &rule.name;
        let defined = self.rules.iter().filter(|rule| rule.body.is_some());
        let near = most_similar(name, defined.map(|rule| rule.name.as_str()));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("define it as `{name} {} …`", self.definition_sign),
        };
        text.error(rule.first_use, format!("rule `{name}` is used but never defined"))
            .with_help(help)
    }
}
