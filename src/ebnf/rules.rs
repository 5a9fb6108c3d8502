//! The rules of a grammar as every dialect reads them.
//!
//! A dialect's parser makes an [`Item`] of each right-hand side; names may be used before they are
//! defined. [`Rules::finish`] sees to it that all are, and makes a grammar of them (`lowering`).

use std::collections::VecDeque;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};
use rustc_hash::FxHashMap;

use super::environment::Environment;
use super::lowering::Lowering;
use super::text::{Text, nearest};
use crate::error::{Error, Result};
use crate::grammar::{Grammar, GrammarBuilder, RuleId, SpecialToken};
use crate::regular;
use crate::regular::{CodePoints as _, Language, Utf8};

/// One node of a right-hand side and its byte offset.
pub(super) struct Item {
    pub(super) at: usize,
    pub(super) kind: Kind,
}

pub(super) enum Kind {
    Regular(Language),
    /// Index into the rules.
    Rule(usize),
    /// One of these special tokens.
    Special(Vec<SpecialToken>),
    /// Another grammar, already built.
    Embedded(RuleId),
    Sequence(Vec<Item>),
    Choice(Vec<Item>),
    Repeat(Box<Item>, u32, Option<u32>),
    /// In all of these.
    And(Vec<Item>),
    /// Any text that is not in it.
    Not(Box<Item>),
    /// In the first and not in the second.
    Except(Box<Item>, Box<Item>),
    /// The strings no proper prefix of which is in it.
    Lazy(Box<Item>),
}

impl Item {
    pub(super) fn new(at: usize, kind: Kind) -> Self {
        Self { at, kind }
    }

    pub(super) fn repeat(self, min: u32, max: Option<u32>) -> Self {
        Self { at: self.at, kind: Kind::Repeat(Box::new(self), min, max) }
    }

    /// A sequence, unless it is one item.
    pub(super) fn sequence(at: usize, mut items: Vec<Self>) -> Self {
        match items.len() {
            1 => items.swap_remove(0),
            _ => Self::new(at, Kind::Sequence(items)),
        }
    }

    /// A choice, unless it is one item.
    pub(super) fn choice(at: usize, mut items: Vec<Self>) -> Self {
        match items.len() {
            1 => items.swap_remove(0),
            _ => Self::new(at, Kind::Choice(items)),
        }
    }

    /// The item in writing, without places: equal for items that mean the same by the same parts.
    pub(super) fn outline(&self) -> String {
        let all = |items: &[Self]| items.iter().map(Self::outline).collect::<Vec<_>>().join(",");
        match &self.kind {
            Kind::Regular(language) => format!("{language:?}"),
            Kind::Rule(rule) => format!("rule {rule}"),
            Kind::Special(tokens) => format!("{tokens:?}"),
            Kind::Embedded(rule) => format!("{rule:?}"),
            Kind::Sequence(items) => format!("({})", all(items)),
            Kind::Choice(items) => format!("[{}]", all(items)),
            Kind::And(items) => format!("&({})", all(items)),
            Kind::Repeat(inner, min, max) => format!("{}{{{min},{max:?}}}", inner.outline()),
            Kind::Not(inner) => format!("~{}", inner.outline()),
            Kind::Lazy(inner) => format!("?{}", inner.outline()),
            Kind::Except(a, b) => format!("{}-{}", a.outline(), b.outline()),
        }
    }

    /// The same with alternatives that begin with the same items chosen between behind these.
    pub(super) fn factored(self) -> Self {
        let at = self.at;
        match self.kind {
            Kind::Sequence(items) => {
                Self::sequence(at, items.into_iter().map(Self::factored).collect())
            }
            Kind::Repeat(inner, min, max) => inner.factored().repeat(min, max),
            Kind::Choice(items) => {
                let ways = items.into_iter().map(Self::factored).flat_map(Self::alternatives);
                let ways = ways.map(|item| (item.at, item.parts()));
                Self::factored_choice(at, ways.collect())
            }
            kind => Self::new(at, kind),
        }
    }

    /// Whether a lazy item stands anywhere in it.
    pub(super) fn holds_lazy(&self) -> bool {
        let mut found = false;
        self.visit(|item| found |= matches!(item.kind, Kind::Lazy(_)));
        found
    }

    /// The items that it is the choice of.
    fn alternatives(self) -> Vec<Self> {
        match self.kind {
            Kind::Choice(items) => items.into_iter().flat_map(Self::alternatives).collect(),
            kind => vec![Self::new(self.at, kind)],
        }
    }

    /// The items that it is the sequence of.
    fn parts(self) -> VecDeque<Self> {
        match self.kind {
            Kind::Sequence(items) => items.into_iter().flat_map(Self::parts).collect(),
            kind => VecDeque::from([Self::new(self.at, kind)]),
        }
    }

    fn factored_choice(at: usize, ways: Vec<Way>) -> Self {
        let mut groups: Vec<(usize, Option<Self>, Vec<Way>)> = Vec::new();
        let mut by_head: FxHashMap<String, usize> = FxHashMap::default();
        for (at, mut way) in ways {
            let head = way.pop_front();
            let outline = head.as_ref().map_or(String::new(), Self::outline);
            match by_head.get(&outline) {
                Some(&group) => groups[group].2.push((at, way)),
                None => {
                    by_head.insert(outline, groups.len());
                    groups.push((at, head, vec![(at, way)]));
                }
            }
        }
        let mut choice = Vec::with_capacity(groups.len());
        for (at, head, mut rests) in groups {
            let Some(head) = head else {
                choice.push(Self::new(at, Kind::Sequence(Vec::new())));
                continue;
            };
            let mut parts = vec![head];
            if rests.len() > 1 {
                parts.push(Self::factored_choice(at, rests));
            } else if let Some((_, rest)) = rests.pop() {
                parts.extend(rest);
            }
            choice.push(Self::sequence(at, parts));
        }
        Self::choice(at, choice)
    }

    /// All items, this one and what it is made of, in no order.
    pub(super) fn visit<'i>(&'i self, mut see: impl FnMut(&'i Self)) {
        let mut todo = vec![self];
        while let Some(item) = todo.pop() {
            see(item);
            match &item.kind {
                Kind::Regular(_) | Kind::Rule(_) | Kind::Special(_) | Kind::Embedded(_) => {}
                Kind::Sequence(items) | Kind::Choice(items) | Kind::And(items) => {
                    todo.extend(items);
                }
                Kind::Repeat(item, ..) | Kind::Not(item) | Kind::Lazy(item) => todo.push(item),
                Kind::Except(a, b) => todo.extend([&**a, &**b]),
            }
        }
    }
}

/// An alternative: its place, and the items that it is the sequence of.
type Way = (usize, VecDeque<Item>);

struct Rule {
    /// As the text writes it.
    name: String,
    first_use: usize,
    body: Option<Item>,
}

pub(super) fn defined_twice(text: &Text<'_>, at: usize, name: &str) -> Error {
    text.error(at, format!("rule `{name}` is defined twice"))
        .with_help("join the two into one rule of alternatives")
}

/// Names and right-hand sides, as far as they have been read.
pub(super) struct Rules<'e> {
    pub(super) builder: GrammarBuilder,
    pub(super) environment: &'e dyn Environment,
    rules: Vec<Rule>,
    names: FxHashMap<String, usize>,
    /// May names differ in case alone? Not where this is set (RFC 5234, section 2.1).
    caseless: bool,
    /// Do lazy rules take precedence over what else may begin where they do?
    lazy_first: bool,
    /// How a rule is defined, for messages.
    sign: &'static str,
    /// Rules that must be regular.
    terminals: Vec<usize>,
    /// Patterns that were read: a keyword stands in a grammar more than once.
    patterns: FxHashMap<String, Language>,
}

impl<'e> Rules<'e> {
    /// No rules; `sign` is what stands between a name and its right-hand side.
    pub(super) fn new(sign: &'static str, environment: &'e dyn Environment) -> Self {
        Self {
            builder: GrammarBuilder::new(),
            environment,
            rules: Vec::new(),
            names: FxHashMap::default(),
            caseless: false,
            lazy_first: false,
            sign,
            terminals: Vec::new(),
            patterns: FxHashMap::default(),
        }
    }

    pub(super) fn caseless(self) -> Self {
        Self { caseless: true, ..self }
    }

    pub(super) fn lazy_first(self) -> Self {
        Self { lazy_first: true, ..self }
    }

    /// The rule of a name, defined or not.
    pub(super) fn id(&mut self, name: &str, at: usize) -> usize {
        let key = if self.caseless { name.to_ascii_lowercase() } else { name.to_owned() };
        *self.names.entry(key).or_insert_with(|| {
            self.rules.push(Rule { name: name.to_owned(), first_use: at, body: None });
            self.rules.len() - 1
        })
    }

    /// A call of a rule.
    pub(super) fn call(&mut self, name: &str, at: usize) -> Item {
        Item::new(at, Kind::Rule(self.id(name, at)))
    }

    /// Has this name been used or defined?
    pub(super) fn is_known(&self, name: &str) -> bool {
        self.names.contains_key(name)
    }

    pub(super) fn is_defined(&self, name: &str) -> bool {
        let key = if self.caseless { name.to_ascii_lowercase() } else { name.to_owned() };
        self.names.get(&key).is_some_and(|&id| self.rules[id].body.is_some())
    }

    /// Defines a rule; an error if it is defined already.
    pub(super) fn define(
        &mut self,
        text: &Text<'_>,
        name: &str,
        at: usize,
        body: Item,
    ) -> Result<()> {
        let id = self.id(name, at);
        match self.rules[id].body.replace(body) {
            None => Ok(()),
            Some(_) => Err(defined_twice(text, at, name)),
        }
    }

    /// Asks that a rule is regular.
    pub(super) fn require_regular(&mut self, name: &str, at: usize) {
        let id = self.id(name, at);
        self.terminals.push(id);
    }

    /// Adds alternatives to a rule; false if it was not defined.
    pub(super) fn extend(&mut self, name: &str, at: usize, more: Item) -> bool {
        let id = self.id(name, at);
        let Some(body) = self.rules[id].body.take() else { return false };
        self.rules[id].body = Some(Item::new(body.at, Kind::Choice(vec![body, more])));
        true
    }

    /// Code points of a set, in UTF-8.
    pub(super) fn class(&mut self, at: usize, ranges: &[(u32, u32)]) -> Item {
        Item::new(at, Kind::Regular(Utf8.class(self.builder.languages(), ranges)))
    }

    /// Exactly this text.
    pub(super) fn literal(&mut self, at: usize, text: &str) -> Item {
        Item::new(at, Kind::Regular(self.builder.languages().literal(text.as_bytes())))
    }

    /// This text, its letters in either case: ASCII's alone, or by Unicode's simple case folding.
    pub(super) fn caseless_literal(&mut self, at: usize, text: &str, unicode: bool) -> Item {
        let mut parts = Vec::new();
        for c in text.chars() {
            let mut class = ClassUnicode::new([ClassUnicodeRange::new(c, c)]);
            if unicode {
                // Without the tables a character stands for itself alone.
                let _ = class.try_case_fold_simple();
            } else if c.is_ascii_alphabetic() {
                let other = char::from(c as u8 ^ 0x20);
                class.push(ClassUnicodeRange::new(other, other));
            }
            let ranges: Vec<(u32, u32)> =
                class.iter().map(|range| (range.start().into(), range.end().into())).collect();
            parts.push(Utf8.class(self.builder.languages(), &ranges));
        }
        Item::new(at, Kind::Regular(self.builder.languages().concat(parts)))
    }

    /// A pattern in the syntax of Rust's `regex` crate with look-around, whole.
    pub(super) fn pattern(&mut self, text: &Text<'_>, at: usize, pattern: &str) -> Result<Item> {
        if let Some(&known) = self.patterns.get(pattern) {
            return Ok(Item::new(at, Kind::Regular(known)));
        }
        let options = regular::Options::default();
        let language = regular::parse(self.builder.languages(), pattern, options, &Utf8)
            .map_err(|error| text.embed(at, &error))?;
        self.patterns.insert(pattern.to_owned(), language);
        Ok(Item::new(at, Kind::Regular(language)))
    }

    /// By rule: whether the rule `start` calls it, directly or through others.
    pub(super) fn reached(&mut self, start: &str) -> Vec<bool> {
        let mut todo = vec![self.id(start, 0)];
        let mut reached = vec![false; self.rules.len()];
        while let Some(rule) = todo.pop() {
            if std::mem::replace(&mut reached[rule], true) {
                continue;
            }
            if let Some(body) = &self.rules[rule].body {
                body.visit(|item| {
                    if let Kind::Rule(callee) = item.kind {
                        todo.push(callee);
                    }
                });
            }
        }
        reached
    }

    /// Nothing at all.
    pub(super) fn empty(at: usize) -> Item {
        Item::new(at, Kind::Sequence(Vec::new()))
    }

    /// Puts another grammar here.
    pub(super) fn embed(
        &mut self,
        text: &Text<'_>,
        at: usize,
        grammar: Result<Grammar>,
    ) -> Result<Item> {
        let embedded = grammar.and_then(|grammar| self.builder.embed(&grammar));
        match embedded {
            Ok(rule) => Ok(Item::new(at, Kind::Embedded(rule))),
            Err(error) => Err(text.embed(at, &error)),
        }
    }

    /// The grammar whose texts are those of the rule `start`.
    ///
    /// Errors if a rule is used but not defined, or if what must be regular is not.
    pub(super) fn finish(self, text: &Text<'_>, start: &str) -> Result<Grammar> {
        let key = if self.caseless { start.to_ascii_lowercase() } else { start.to_owned() };
        let start = self.names.get(&key).copied().filter(|&id| self.rules[id].body.is_some());
        let undefined = self.rules.iter().filter(|rule| rule.body.is_none());
        if let Some(rule) = undefined.min_by_key(|rule| rule.first_use) {
            return Err(self.undefined(text, rule));
        }
        let Some(start) = start else {
            return Err(text
                .error(0, format!("the grammar has no rule `{key}`"))
                .with_help(format!("name the rule that derives the whole text `{key}`")));
        };
        let Self { builder, rules, terminals, environment, lazy_first, .. } = self;
        let terminals: Vec<_> = terminals.iter().map(|&id| (id, rules[id].first_use)).collect();
        let mut names = Vec::with_capacity(rules.len());
        let mut bodies = Vec::with_capacity(rules.len());
        for Rule { name, body, .. } in rules {
            // All are defined.
            bodies.push(body.unwrap_or_else(|| Self::empty(0)));
            names.push(name);
        }
        let lazy_first = lazy_first && bodies.iter().any(Item::holds_lazy);
        if lazy_first {
            bodies = bodies.into_iter().map(Item::factored).collect();
        }
        let by_rules = environment.keeps_rules();
        let regular: Vec<usize> = terminals.iter().map(|&(id, _)| id).collect();
        let mut lowering = Lowering::new(text, builder, &names, &bodies, by_rules);
        if lazy_first {
            lowering = lowering.with_lazy_first(&regular);
        }
        lowering.regular_rules()?;
        for (terminal, first_use) in terminals {
            lowering.rule_language(terminal, first_use)?;
        }
        lowering.grammar(start)
    }

    fn undefined(&self, text: &Text<'_>, rule: &Rule) -> Error {
        let name = &rule.name;
        let defined = self.rules.iter().filter(|rule| rule.body.is_some());
        let near = nearest(name, defined.map(|rule| rule.name.as_str()));
        let help = match near {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("define it as `{name} {} …`", self.sign),
        };
        text.error(rule.first_use, format!("rule `{name}` is used but never defined"))
            .with_help(help)
    }
}
