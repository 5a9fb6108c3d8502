//! From the rules of a notation to a [`Grammar`].
//!
//! A rule that reaches no cycle, no special token and no embedded grammar is a regular language.
//! Such rules become part of the terminals that use them, so that a string or a number is one
//! terminal however many rules it is written in: token masks are cut from whole terminals.
//!
//! ```text
//! root ::= "[" number ("," number)* "]"     number ::= digit+     digit ::= [0-9]
//! regular rules, callees first: digit, number, root
//! grammar: root = one terminal  \[[0-9]+(,[0-9]+)*\]
//! ```
//!
//! Where lazy rules take precedence, a position between two of the merged terminals may be one at
//! which a lazy terminal begins. So each merged terminal comes with the nodes that it was merged
//! from ([`ContextualTerminals`]), which the rewriting of [`resolve_contextual`] falls back to.

mod parsed_rules;
mod regular_rules;

pub(super) use parsed_rules::{LoweringOptions, ParsedRules, RuleLayout};

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::expression::{ParameterExpr, RuleAttribute, RuleExpr, RuleExprKind};
use crate::error::{ErrorKind, Result};
use crate::grammar::family::{FamilyLeaf, RuleFamily};
use crate::grammar::{
    Attribute, ContextualTerminals, Grammar, GrammarBuilder, NodeId, RuleId, resolve_contextual,
};
use crate::regular::Language;
use regular_rules::{RegularRules, is_counted_repeat};

/// Regular alternatives of a choice that stay apart under [`RuleLayout::Apart`]; more of them are
/// followed in parallel, and would exceed the limit on parallel states.
const MAX_APART_ALTERNATIVES: usize = 1_000;

/// Rules with their parameters that are looked at to find out whether there is a text at all.
const MAX_SEARCHED_INSTANCES: usize = 1 << 20;

/// The grammar whose texts are those of the rule `start`.
///
/// Errors if a rule that must be regular is not, or if a limit is exceeded.
pub(super) fn lower(
    mut builder: GrammarBuilder,
    rules: &ParsedRules<'_>,
    options: LoweringOptions,
    start: usize,
) -> Result<Grammar> {
    let mut regular = RegularRules::find(rules, options, builder.languages())?;
    for &(terminal, first_use) in &rules.terminals {
        regular.rule(builder.languages(), terminal, first_use)?;
    }
    let keeps_order = builder.has_captures() || rules.bodies.iter().any(RuleExpr::has_capture);
    let lowering = RuleLowering {
        rules,
        options,
        builder,
        regular,
        ids: vec![None; rules.bodies.len()],
        todo: Vec::new(),
        current_rule: 0,
        contextual: ContextualTerminals::default(),
        without: FxHashMap::default(),
        first_contextual: None,
        has_parameter: false,
        keeps_order,
    };
    lowering.grammar(start)
}

/// The name of a rule as its text has it: one of several copies says after `@` which it is.
fn shown(name: &str) -> &str {
    name.split_once('@').map_or(name, |(rule, _)| if rule.is_empty() { name } else { rule })
}

/// A lowered expression: while it is regular, one terminal grows.
#[derive(Clone, Copy)]
enum Lowered {
    Regular(Language),
    Node(NodeId),
}

struct RuleLowering<'a> {
    rules: &'a ParsedRules<'a>,
    options: LoweringOptions,
    builder: GrammarBuilder,
    regular: RegularRules<'a>,
    /// By rule, its id in the grammar if it has one.
    ids: Vec<Option<RuleId>>,
    /// Rules that have an id and no body yet.
    todo: Vec<usize>,
    /// The rule that is being lowered.
    current_rule: usize,
    contextual: ContextualTerminals,
    /// By terminal that looks at the text around it and strings that it lacks: its rule.
    without: FxHashMap<(usize, Language), RuleId>,
    /// Byte offset of the first contextual terminal.
    first_contextual: Option<usize>,
    /// Whether a part depends on the parameter of a rule.
    has_parameter: bool,
    /// Whether the order of alternatives decides which of several parses the captures come from.
    keeps_order: bool,
}

impl RuleLowering<'_> {
    fn grammar(mut self, start: usize) -> Result<Grammar> {
        let rules = self.rules;
        let id = self.id(start);
        while let Some(rule) = self.todo.pop() {
            self.current_rule = rule;
            let body = &rules.bodies[rule];
            let may_merge =
                self.options.layout == RuleLayout::Merged && !self.regular.has_contextual(rule);
            let lowered = match self.regular.language(rule) {
                Some(language) if may_merge => Lowered::Regular(language),
                _ => self.expression(body)?,
            };
            let node = self.terminal(lowered, &[body]);
            if let Some(id) = self.ids[rule] {
                self.builder.define(id, node);
            }
        }
        let grammar = self.builder.finish(id)?;
        if self.has_parameter {
            if grammar.has_captures() {
                let captured = rules.bodies.iter().find(|body| body.has_capture());
                let at = captured.map_or(0, |body| body.at);
                let message = "a capture stands among rules with a parameter (or indentation) that \
                               are made when a text enters them";
                return Err(rules
                    .text
                    .error(at, message)
                    .with_help("use fewer values of the parameter, or leave the capture out"));
            }
            return RuleFamily::grammar(grammar, MAX_SEARCHED_INSTANCES);
        }
        let Some(at) = self.first_contextual else { return Ok(grammar) };
        let looks_around = !self.contextual.lookaround.is_empty();
        resolve_contextual(grammar, self.contextual).map_err(|error| match error.kind() {
            ErrorKind::Grammar => rules.text.embed(at, &error),
            ErrorKind::Limit if looks_around => error.with_help(
                "let patterns look less far at the text around them, or write them as \
                 `/…/ & /(?s:.*)/`, where they see their own text alone",
            ),
            _ => error,
        })
    }

    /// The id of a rule, declared if it has none.
    fn id(&mut self, rule: usize) -> RuleId {
        if let Some(id) = self.ids[rule] {
            return id;
        }
        let id = self.builder.declare(format!("rule `{}`", shown(&self.rules.names[rule])));
        self.ids[rule] = Some(id);
        self.todo.push(rule);
        id
    }

    /// A byte offset in words, for explanations.
    fn origin(&self, at: usize) -> String {
        let (line, column) = self.rules.text.line_column(at);
        format!("rule `{}` ({line}:{column})", shown(&self.rules.names[self.current_rule]))
    }

    fn node(&mut self, lowered: Lowered, at: usize) -> NodeId {
        match lowered {
            Lowered::Node(node) => node,
            Lowered::Regular(language) => {
                let origin = self.origin(at);
                let node = self.builder.regular(language);
                self.builder.mark(node, origin)
            }
        }
    }

    /// The node of the sequence of some parts.
    fn terminal(&mut self, lowered: Lowered, parts: &[&RuleExpr]) -> NodeId {
        let at = parts.first().map_or(0, |part| part.at);
        let node = self.node(lowered, at);
        if self.options.lazy_precedence
            && matches!(lowered, Lowered::Regular(_))
            && self.regular.has_inner_end(self.builder.languages(), parts)
        {
            let unmerged: Vec<NodeId> = parts.iter().map(|part| self.unmerged(part)).collect();
            let unmerged = self.builder.sequence(unmerged);
            self.contextual.unmerged.insert(node, unmerged);
        }
        node
    }

    /// A regular expression as nodes, in which the terminals of rules are nodes of their own.
    fn unmerged(&mut self, expr: &RuleExpr) -> NodeId {
        let rules = self.rules;
        match &expr.kind {
            &RuleExprKind::Rule(rule) if !self.regular.is_terminal(rule) => {
                if self.regular.is_inlined(rule) {
                    self.unmerged(&rules.bodies[rule])
                } else {
                    let rule = self.id(rule);
                    self.builder.call(rule)
                }
            }
            RuleExprKind::Sequence(parts) => {
                let parts: Vec<NodeId> = parts.iter().map(|part| self.unmerged(part)).collect();
                self.builder.sequence(parts)
            }
            RuleExprKind::Choice(parts) => {
                let parts: Vec<NodeId> = parts.iter().map(|part| self.unmerged(part)).collect();
                self.builder.choice(parts)
            }
            RuleExprKind::Repeat(inner, min, max) => {
                let inner = self.unmerged(inner);
                self.builder.repeat(inner, *min, *max)
            }
            _ => {
                // It was made a language before, so there is one.
                let language = self.regular.expression(self.builder.languages(), expr);
                let language = language.unwrap_or(Language::EMPTY);
                self.node(Lowered::Regular(language), expr.at)
            }
        }
    }

    fn expression(&mut self, expr: &RuleExpr) -> Result<Lowered> {
        Ok(match &expr.kind {
            RuleExprKind::Regular(language) => Lowered::Regular(*language),
            &RuleExprKind::Rule(rule) => match self.regular.language(rule) {
                Some(language) if self.regular.is_inlined(rule) => Lowered::Regular(language),
                _ => {
                    let id = self.id(rule);
                    let call = self.builder.call(id);
                    if self.options.layout == RuleLayout::Apart {
                        let origin = self.origin(expr.at);
                        self.builder.mark(call, origin);
                    }
                    Lowered::Node(call)
                }
            },
            RuleExprKind::Special(tokens) => {
                let origin = self.origin(expr.at);
                let node = self.builder.special(tokens.clone());
                Lowered::Node(self.builder.mark(node, origin))
            }
            RuleExprKind::Embedded(rule) => Lowered::Node(self.builder.call(*rule)),
            RuleExprKind::Parameter(part) => {
                self.has_parameter = true;
                let leaf = match part {
                    ParameterExpr::Call(rule, function) => {
                        FamilyLeaf::Call(self.id(*rule), *function)
                    }
                    ParameterExpr::If(condition) => FamilyLeaf::If(condition.clone()),
                    &ParameterExpr::Blanks { tab, less } => FamilyLeaf::Blanks { tab, less },
                };
                let origin = self.origin(expr.at);
                let node = self.builder.hole(Arc::new(leaf));
                Lowered::Node(self.builder.mark(node, origin))
            }
            RuleExprKind::Sequence(parts) => self.sequence(&parts.iter().collect::<Vec<_>>())?,
            RuleExprKind::Choice(parts) => self.choice(parts, expr.at)?,
            RuleExprKind::Repeat(inner, min, max) => match self.expression(inner)? {
                Lowered::Regular(language)
                    if is_counted_repeat(*min, *max) && self.regular.has_counter(inner) =>
                {
                    let node = self.terminal(Lowered::Regular(language), &[inner]);
                    Lowered::Node(self.builder.repeat(node, *min, *max))
                }
                Lowered::Regular(language) => {
                    Lowered::Regular(self.builder.languages().repeat(language, *min, *max))
                }
                Lowered::Node(node) => Lowered::Node(self.builder.repeat(node, *min, *max)),
            },
            RuleExprKind::Attributed(inner, attribute) => {
                let lowered = self.expression(inner)?;
                let node = self.terminal(lowered, &[inner]);
                let attribute = match attribute {
                    RuleAttribute::MaxTokens(most) => Attribute::MaxTokens(*most),
                    RuleAttribute::Temperature(temperature) => Attribute::Temperature(*temperature),
                    RuleAttribute::Capture(name) => Attribute::Capture(Arc::clone(name)),
                    RuleAttribute::Ignored => Attribute::Ignored,
                    RuleAttribute::CaptureFrom(parts) => {
                        let lowered = self.expression(parts)?;
                        Attribute::CaptureFrom(self.node(lowered, parts.at))
                    }
                };
                Lowered::Node(self.builder.attributed(node, attribute))
            }
            RuleExprKind::Lazy(_) if self.options.lazy_precedence => {
                let language = self.regular.expression(self.builder.languages(), expr)?;
                let node = self.node(Lowered::Regular(language), expr.at);
                self.contextual.lazy.push(node);
                self.first_contextual.get_or_insert(expr.at);
                Lowered::Node(node)
            }
            RuleExprKind::Lookaround(..) if self.regular.supports_lookaround() => {
                Lowered::Node(self.lookaround_without(expr, Language::EMPTY)?)
            }
            RuleExprKind::Except(inner, less) if self.regular.is_lookaround(inner) => {
                let less = self.regular.expression(self.builder.languages(), less)?;
                Lowered::Node(self.lookaround_without(inner, less)?)
            }
            RuleExprKind::And(_)
            | RuleExprKind::Not(_)
            | RuleExprKind::Except(..)
            | RuleExprKind::Lookaround(..)
            | RuleExprKind::Lazy(_) => {
                Lowered::Regular(self.regular.expression(self.builder.languages(), expr)?)
            }
        })
    }

    /// The texts of a terminal, or of a choice of terminals, that looks at the text around it, but those in
    /// `less`.
    fn lookaround_without(&mut self, expr: &RuleExpr, less: Language) -> Result<NodeId> {
        let rules = self.rules;
        match &expr.kind {
            RuleExprKind::Lookaround(terminal, _) => {
                let languages = self.builder.languages();
                if languages.is_nullable(terminal.strings) {
                    let message = "a terminal that looks at the text around it may read nothing";
                    return Err(rules.text.error(expr.at, message).with_help(
                        "let it read a character at least, as Lark demands of all terminals",
                    ));
                }
                let strings = languages.difference(terminal.strings, less);
                let node = self.node(Lowered::Regular(strings), expr.at);
                self.contextual.lookaround.push((node, *terminal));
                self.first_contextual.get_or_insert(expr.at);
                Ok(node)
            }
            &RuleExprKind::Rule(rule) if self.regular.is_lookaround(expr) => {
                // A rule of its own, so that terminals that name each other twice are written once.
                let id = match self.without.get(&(rule, less)) {
                    Some(&id) => id,
                    None => {
                        let name = format!("rule `{}`", shown(&rules.names[rule]));
                        let id = self.builder.declare(name);
                        self.without.insert((rule, less), id);
                        let body = self.lookaround_without(&rules.bodies[rule], less)?;
                        self.builder.define(id, body);
                        id
                    }
                };
                Ok(self.builder.call(id))
            }
            RuleExprKind::Choice(parts) if self.regular.is_lookaround(expr) => {
                let parts: Result<Vec<NodeId>> =
                    parts.iter().map(|part| self.lookaround_without(part, less)).collect();
                Ok(self.builder.choice(parts?))
            }
            _ => {
                let languages = self.builder.languages();
                let all = self.regular.expression(languages, expr)?;
                let others = languages.difference(all, less);
                Ok(self.node(Lowered::Regular(others), expr.at))
            }
        }
    }

    /// A sequence; adjacent regular parts become one terminal.
    fn sequence(&mut self, parts: &[&RuleExpr]) -> Result<Lowered> {
        let (mut nodes, mut run) = (Vec::new(), Vec::new());
        let mut run_start = 0;
        for (i, part) in parts.iter().enumerate() {
            match self.expression(part)? {
                Lowered::Regular(language) => {
                    if run.is_empty() {
                        run_start = i;
                    }
                    run.push(language);
                }
                Lowered::Node(node) => {
                    if !run.is_empty() {
                        let run = self.builder.languages().concat(run.drain(..));
                        nodes.push(self.terminal(Lowered::Regular(run), &parts[run_start..i]));
                    }
                    nodes.push(node);
                }
            }
        }
        // At once, not one by one: a concatenation is made from its end.
        let has_rest = !run.is_empty();
        let run = self.builder.languages().concat(run);
        if nodes.is_empty() {
            return Ok(Lowered::Regular(run));
        }
        if has_rest {
            nodes.push(self.terminal(Lowered::Regular(run), &parts[run_start..]));
        }
        Ok(Lowered::Node(self.builder.sequence(nodes)))
    }

    /// A choice; its regular alternatives become one terminal.
    fn choice(&mut self, parts: &[RuleExpr], at: usize) -> Result<Lowered> {
        let keeps_apart =
            self.options.layout == RuleLayout::Apart && parts.len() <= MAX_APART_ALTERNATIVES;
        let (mut regular, mut nodes, mut merged) = (Vec::new(), Vec::new(), Vec::new());
        for part in parts {
            match self.expression(part)? {
                lowered @ Lowered::Regular(_) if keeps_apart => {
                    nodes.push(self.terminal(lowered, &[part]));
                }
                Lowered::Regular(language) => {
                    regular.push(language);
                    merged.push(part);
                }
                Lowered::Node(node) => {
                    if self.keeps_order && !regular.is_empty() {
                        nodes.push(self.merged_alternatives(regular, &merged, at));
                        (regular, merged) = (Vec::new(), Vec::new());
                    }
                    nodes.push(node);
                }
            }
        }
        if nodes.is_empty() {
            return Ok(Lowered::Regular(self.builder.languages().union(regular)));
        }
        if !regular.is_empty() {
            nodes.push(self.merged_alternatives(regular, &merged, at));
        }
        Ok(Lowered::Node(self.builder.choice(nodes)))
    }

    /// One terminal of regular alternatives beside others.
    fn merged_alternatives(
        &mut self,
        regular: Vec<Language>,
        merged: &[&RuleExpr],
        at: usize,
    ) -> NodeId {
        let union = self.builder.languages().union(regular);
        let node = self.node(Lowered::Regular(union), at);
        if self.options.lazy_precedence
            && merged
                .iter()
                .any(|part| self.regular.has_inner_end(self.builder.languages(), &[*part]))
        {
            let unmerged: Vec<NodeId> = merged.iter().map(|part| self.unmerged(part)).collect();
            let unmerged = self.builder.choice(unmerged);
            self.contextual.unmerged.insert(node, unmerged);
        }
        node
    }
}
