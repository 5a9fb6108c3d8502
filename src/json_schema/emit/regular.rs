//! A schema as a regular language, where its values nest to a bound.
//!
//! Where constraints are joined by and, or negated, all of them must be regular. The rules of a
//! schema are made one after the other, as they are for texts, and each calls others at its end
//! (what an object's state goes on with) or inside (a value). Calls at the end make a system of
//! linear equations, one for each rule,
//!
//! ```text
//! after "{"      = "}" | '"a":' after "a"
//! after "a"      = "1" after member
//! after member   = "}" | ',"x":' again
//! again          = "1" after member
//! ```
//!
//! which is solved by elimination, with Arden's rule `X = A X | B  =>  X = A* B`. Calls inside must
//! have ended: a rule that calls itself there is not regular.
//!
//! Keys without a name of their own may repeat in such a language; that is all that it leaves out.

use std::any::Any;

use rustc_hash::FxHashMap;

use super::hole::SchemaHole;
use super::object::SpelledKey;
use super::source::SchemaSource;
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::hole::Hole;
use crate::grammar::source::Source;
use crate::grammar::{GrammarBuilder, Node, NodeId, RuleId};
use crate::json_schema::set::Shared;
use crate::limits::Limits;
use crate::regular::arena_copy;
use crate::regular::{Language, Languages};

/// Rules that one language may be made of.
const MAX_RULES: usize = 20_000;

impl Hole for SchemaHole {
    fn language(&self, languages: &mut Languages) -> Result<Language> {
        language(self, languages)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The texts of a schema.
///
/// Errors if they are not regular: if values nest without bound, or if what may come depends on
/// what was written in a way that cannot be left out of account.
fn language(hole: &SchemaHole, languages: &mut Languages) -> Result<Language> {
    if hole.options.style.notation().is_some() {
        // Its signs may be special tokens of the vocabulary.
        let style = hole.options.style.name();
        return Err(not_regular(&format!("holds a JSON Schema in the style `{style}`")));
    }
    let grammar = hole.clone().grammar()?;
    let (source, start) = SchemaSource::new(&grammar, &Limits::default(), &Shared::default())?;
    let mut reader =
        Reader { source, languages: Languages::new(), rules: FxHashMap::default(), made: 0 };
    std::mem::swap(&mut reader.languages, reader.source.languages());
    let language = reader.rule(start)?;
    arena_copy::copy(&reader.languages, language, languages, &mut FxHashMap::default())
}

/// The end of the rules that are read together.
const END: Option<RuleId> = None;

/// Texts, by what follows them.
type Equation = FxHashMap<Option<RuleId>, Language>;

struct Reader {
    source: SchemaSource,
    languages: Languages,
    /// Rules that were called inside others; `None` while they are looked at.
    rules: FxHashMap<RuleId, Option<Language>>,
    made: usize,
}

fn not_regular(what: &str) -> Error {
    Error::new(ErrorKind::Grammar, what)
}

impl Reader {
    fn node(&self, id: NodeId) -> Node {
        let mut node = None;
        self.source
            .with_builder(&mut |builder: &GrammarBuilder| node = Some(builder.node(id).clone()));
        node.unwrap_or(Node::Choice(Box::default()))
    }

    /// Lends the terminals to the source while it is asked for something.
    fn ask<T>(&mut self, ask: impl FnOnce(&mut SchemaSource) -> Result<T>) -> Result<T> {
        deadline::check()?;
        self.source.exchange(&mut self.languages);
        let made = ask(&mut self.source);
        self.source.exchange(&mut self.languages);
        made
    }

    /// The language of a rule that is called inside another.
    fn rule(&mut self, rule: RuleId) -> Result<Language> {
        match self.rules.get(&rule) {
            Some(Some(known)) => return Ok(*known),
            Some(None) => {
                return Err(not_regular("holds a JSON Schema whose values nest without bound"));
            }
            None => {}
        }
        self.rules.insert(rule, None);
        let mut order = vec![rule];
        let mut indices: FxHashMap<RuleId, usize> = FxHashMap::from_iter([(rule, 0)]);
        let mut equations: Vec<Equation> = Vec::new();
        while let Some(&next) = order.get(equations.len()) {
            self.made += 1;
            if self.made > MAX_RULES {
                let message =
                    format!("a schema needs more than {MAX_RULES} rules as a regular language");
                return Err(Error::new(ErrorKind::Limit, message)
                    .with_help("join smaller constraints by and, or negate them"));
            }
            let body = self.ask(|source| source.body(next))?;
            let mut equation = Equation::default();
            self.tail(body, Language::EPSILON, &mut equation)?;
            for &called in equation.keys().flatten() {
                indices.entry(called).or_insert_with(|| {
                    order.push(called);
                    order.len() - 1
                });
            }
            equations.push(equation);
        }
        let language = self.solve(equations, &order, &indices)?;
        self.rules.insert(rule, Some(language));
        Ok(language)
    }

    /// Solves the equations for the first of these rules.
    fn solve(
        &mut self,
        mut equations: Vec<Equation>,
        order: &[RuleId],
        indices: &FxHashMap<RuleId, usize>,
    ) -> Result<Language> {
        let mut callers: Vec<Vec<usize>> = vec![Vec::new(); order.len()];
        for (at, equation) in equations.iter().enumerate() {
            equation.keys().flatten().for_each(|called| callers[indices[called]].push(at));
        }
        for at in (0..order.len()).rev() {
            deadline::check()?;
            let mut equation = std::mem::take(&mut equations[at]);
            if let Some(again) = equation.remove(&Some(order[at])) {
                let again = self.languages.repeat(again, 0, None);
                for text in equation.values_mut() {
                    *text = self.languages.concat([again, *text]);
                }
            }
            for caller in std::mem::take(&mut callers[at]) {
                if caller >= at {
                    continue;
                }
                let Some(before) = equations[caller].remove(&Some(order[at])) else { continue };
                for (&target, &text) in &equation {
                    let text = self.languages.concat([before, text]);
                    self.add(&mut equations[caller], target, text);
                    if let Some(target) = target {
                        callers[indices[&target]].push(caller);
                    }
                }
            }
            equations[at] = equation;
        }
        Ok(equations[0].get(&END).copied().unwrap_or(Language::EMPTY))
    }

    fn add(&mut self, equation: &mut Equation, target: Option<RuleId>, text: Language) {
        let known = equation.entry(target).or_insert(Language::EMPTY);
        *known = self.languages.union([*known, text]);
    }

    /// Adds what a node at the end of a rule stands for, after some text.
    fn tail(&mut self, id: NodeId, before: Language, equation: &mut Equation) -> Result<()> {
        match self.node(id) {
            Node::Sequence(parts) => {
                let Some((&last, parts)) = parts.split_last() else {
                    self.add(equation, END, before);
                    return Ok(());
                };
                let mut texts = vec![before];
                for &part in parts {
                    texts.push(self.inside(part)?);
                }
                let before = self.languages.concat(texts);
                self.tail(last, before, equation)
            }
            Node::Choice(parts) => {
                parts.iter().try_for_each(|&part| self.tail(part, before, equation))
            }
            Node::Call(rule) => {
                self.add(equation, Some(rule), before);
                Ok(())
            }
            Node::KeyChoice(tag) => {
                let names = self.source.of(tag, |emitter| emitter.choice_keys(tag));
                for (rank, name) in names {
                    let name = self.languages.literal(&name);
                    let before = self.languages.concat([before, name]);
                    let further = self.ask(|source| source.after_key(tag, rank))?;
                    self.tail(further, before, equation)?;
                }
                Ok(())
            }
            Node::Capture(keys, tag) => {
                let names =
                    self.ask(|source| Ok(source.of(tag, |emitter| emitter.spelled_keys(tag))))?;
                if let Some(names) = names {
                    for SpelledKey { choice, rank, spelled } in names {
                        let before = self.languages.concat([before, spelled]);
                        let further = self.ask(|source| source.after_key(choice, rank))?;
                        self.tail(further, before, equation)?;
                    }
                    return Ok(());
                }
                if self.source.is_item(tag) {
                    return Err(not_regular("holds a JSON Schema with `uniqueItems`"));
                }
                if self.source.of(tag, |emitter| emitter.counts_keys(tag)) {
                    return Err(not_regular("holds a JSON Schema that counts keys without a name"));
                }
                let before = self.languages.concat([before, keys]);
                match self.ask(|source| source.after_capture(tag, None))? {
                    Some(further) => self.tail(further, before, equation),
                    None => Ok(()),
                }
            }
            Node::Scope(..) => Err(not_regular("holds a JSON Schema with `uniqueItems`")),
            _ => {
                let text = self.inside(id)?;
                let text = self.languages.concat([before, text]);
                self.add(equation, END, text);
                Ok(())
            }
        }
    }

    /// The language of a node with others after it.
    fn inside(&mut self, id: NodeId) -> Result<Language> {
        Ok(match self.node(id) {
            Node::Regular(language) | Node::JsonString(language) => language,
            Node::Call(rule) => self.rule(rule)?,
            Node::Sequence(parts) => {
                let parts: Result<Vec<Language>> =
                    parts.iter().map(|&part| self.inside(part)).collect();
                self.languages.concat(parts?)
            }
            Node::Choice(parts) => {
                let parts: Result<Vec<Language>> =
                    parts.iter().map(|&part| self.inside(part)).collect();
                self.languages.union(parts?)
            }
            Node::Repeat { node, min, max } => {
                let part = self.inside(node)?;
                self.languages.repeat(part, min, max)
            }
            // Names and captured texts have nothing after them.
            _ => return Err(not_regular("holds a JSON Schema that depends on what was read")),
        })
    }
}
