//! [`GrammarBuilder`]: makes a [`Grammar`] node by node.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use super::form::{Attribute, Grammar, Node, NodeId, Origin, Rule, RuleId, Temperature, TokenSet};
use super::hole::Hole;
use crate::error::{Error, ErrorKind, Result};
use crate::regular::{Language, Languages};

/// Builds a [`Grammar`] from the leaves up; rules may be called before they are defined.
#[derive(Clone, Debug, Default)]
pub struct GrammarBuilder {
    pub(super) languages: Languages,
    pub(super) nodes: Vec<Node>,
    pub(super) origins: Vec<Option<Origin>>,
    pub(super) rules: Vec<Rule>,
    /// The parts that [`Node::Hole`] refers to by index.
    pub(super) holes: Vec<Arc<dyn Hole>>,
    /// Choices whose first part holds a shortest text.
    pub(super) shortest_first: FxHashSet<NodeId>,
}

impl GrammarBuilder {
    /// An empty builder.
    pub fn new() -> Self {
        Self::default()
    }

    /// The arena in which the regular terminals are made.
    pub fn languages(&mut self) -> &mut Languages {
        &mut self.languages
    }

    pub(super) fn push(&mut self, node: Node) -> NodeId {
        // Nodes are limited by `Limits::grammar_size`, far below u32::MAX.
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        self.origins.push(None);
        id
    }

    /// A regular terminal.
    pub fn regular(&mut self, language: Language) -> NodeId {
        self.push(Node::Regular(language))
    }

    /// Exactly these bytes.
    pub fn literal(&mut self, bytes: &[u8]) -> NodeId {
        let language = self.languages.literal(bytes);
        self.regular(language)
    }

    /// One after the other.
    pub fn sequence(&mut self, nodes: impl IntoIterator<Item = NodeId>) -> NodeId {
        let nodes: Vec<NodeId> = nodes.into_iter().collect();
        match nodes[..] {
            [one] => one,
            _ => self.push(Node::Sequence(nodes.into())),
        }
    }

    /// Any one of these.
    pub fn choice(&mut self, nodes: impl IntoIterator<Item = NodeId>) -> NodeId {
        let nodes: Vec<NodeId> = nodes.into_iter().collect();
        match nodes[..] {
            [one] => one,
            _ => self.push(Node::Choice(nodes.into())),
        }
    }

    /// `min` to `max` times (inclusive; `None` for no bound); the empty language if `min > max`.
    pub fn repeat(&mut self, node: NodeId, min: u32, max: Option<u32>) -> NodeId {
        match max {
            Some(max) if min > max => self.choice([]),
            Some(0) => self.empty(),
            _ => self.push(Node::Repeat { node, min, max }),
        }
    }

    /// A text of `node` that at most `max_tokens` tokens spell. Each token that holds at least one
    /// byte of the text counts, also one that began before the text or goes on after it; a special
    /// token counts as one. The empty text takes no token.
    ///
    /// A constraint with budgets is a language of token sequences: a token is allowed if the text can
    /// be completed after it within all budgets. Text that is accepted as bytes takes no token.
    ///
    /// ```
    /// use maskwright::{Compiler, Vocabulary, grammar::GrammarBuilder};
    /// # let mut tokens: Vec<_> = (0..=255).map(|byte| Some(vec![byte])).collect();
    /// tokens.push(Some(b"aaa".to_vec()));
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let mut g = GrammarBuilder::new();
    /// let a = g.literal(b"a");
    /// let some = g.repeat(a, 0, None);
    /// let (some, end) = (g.budget(some, 2), g.literal(b"."));
    /// let body = g.sequence([some, end]);
    /// let start = g.rule("start", body);
    /// let mut matcher = Compiler::new(vocabulary).compile(g.finish(start)?)?.matcher();
    /// matcher.accept(256)?; // "aaa"
    /// matcher.accept(97)?; // "a"
    /// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [46]); // "."
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn budget(&mut self, node: NodeId, max_tokens: u32) -> NodeId {
        self.attributed(node, Attribute::MaxTokens(max_tokens))
    }

    /// A text of `node` whose tokens are sampled at a temperature of its own, in the place of the
    /// request's; of parts within each other the innermost counts.
    /// [`Matcher::temperature`](crate::Matcher::temperature) returns it.
    pub fn temperature(&mut self, node: NodeId, temperature: Temperature) -> NodeId {
        self.attributed(node, Attribute::Temperature(temperature))
    }

    /// A text of `node` that [`Matcher::captures`](crate::Matcher::captures) reports under a name, each
    /// time that it occurs. Several nodes may have one name.
    ///
    /// ```
    /// use maskwright::{Compiler, Vocabulary, grammar::GrammarBuilder};
    /// # let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let mut g = GrammarBuilder::new();
    /// let digit = g.languages().byte_range(b'0', b'9');
    /// let digits = g.languages().repeat(digit, 1, None);
    /// let (hours, minutes) = (g.regular(digits), g.regular(digits));
    /// let hours = g.capture(hours, "hours");
    /// let (colon, minutes) = (g.literal(b":"), g.capture(minutes, "minutes"));
    /// let body = g.sequence([hours, colon, minutes]);
    /// let time = g.rule("time", body);
    /// let mut matcher = Compiler::new(vocabulary).compile(g.finish(time)?)?.matcher();
    /// matcher.accept_bytes(b"12:30")?;
    /// let captures = matcher.captures()?;
    /// assert_eq!((&*captures[0].name, &captures[0].bytes[..]), ("hours", &b"12"[..]));
    /// assert_eq!((&*captures[1].name, captures[1].range.clone()), ("minutes", 3..5));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn capture(&mut self, node: NodeId, name: impl Into<Arc<str>>) -> NodeId {
        self.attributed(node, Attribute::Capture(name.into()))
    }

    /// A node to whose text an attribute applies.
    pub(crate) fn attributed(&mut self, node: NodeId, attribute: Attribute) -> NodeId {
        self.push(Node::Attributed { node, attribute })
    }

    /// The language of a rule.
    pub fn call(&mut self, rule: RuleId) -> NodeId {
        self.push(Node::Call(rule))
    }

    /// Exactly this token, or one token of a set.
    pub fn special(&mut self, tokens: impl Into<TokenSet>) -> NodeId {
        self.push(Node::Special(tokens.into()))
    }

    /// A part whose rules are made while a text is read.
    pub(crate) fn hole(&mut self, hole: Arc<dyn Hole>) -> NodeId {
        let index = self.holes.len() as u32;
        self.holes.push(hole);
        self.push(Node::Hole(index))
    }

    /// The empty string.
    pub fn empty(&mut self) -> NodeId {
        self.sequence([])
    }

    /// Records the place that a node comes from, for explanations.
    pub fn mark(&mut self, node: NodeId, source: impl Into<Arc<str>>) -> NodeId {
        self.mark_from(node, Origin::Text(source.into()))
    }

    /// Records the place that a node comes from.
    pub(crate) fn mark_from(&mut self, node: NodeId, origin: Origin) -> NodeId {
        self.origins[node.index()] = Some(origin);
        node
    }

    /// A rule to be defined later.
    pub fn declare(&mut self, name: impl Into<String>) -> RuleId {
        self.declare_from(Origin::Text(name.into().into()))
    }

    /// A rule to be defined later, named by the place that it comes from.
    pub(crate) fn declare_from(&mut self, name: Origin) -> RuleId {
        let id = RuleId(self.rules.len() as u32);
        self.rules.push(Rule { name, body: None });
        id
    }

    /// Gives a rule its body, replacing an earlier one.
    pub fn define(&mut self, rule: RuleId, body: NodeId) {
        self.rules[rule.index()].body = Some(body);
    }

    /// Declares and defines in one step.
    pub fn rule(&mut self, name: impl Into<String>, body: NodeId) -> RuleId {
        let rule = self.declare(name);
        self.define(rule, body);
        rule
    }

    /// The rule that will be declared next.
    pub(crate) fn next_rule(&self) -> RuleId {
        RuleId(self.rules.len() as u32)
    }

    /// A node made so far.
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// The place that [`mark`](Self::mark) recorded for a node.
    pub(crate) fn origin(&self, id: NodeId) -> Option<&Origin> {
        self.origins[id.index()].as_ref()
    }

    /// The body of a rule; the empty choice if it has none yet.
    pub(crate) fn body(&mut self, rule: RuleId) -> NodeId {
        match self.rules[rule.index()].body {
            Some(body) => body,
            None => self.choice([]),
        }
    }

    /// The name of a rule, or the places that it comes from.
    pub(crate) fn rule_origin(&self, id: RuleId) -> &Origin {
        &self.rules[id.index()].name
    }

    /// Adds a node of any kind.
    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        self.push(node)
    }

    /// A choice whose first part holds a shortest text in every context, so that a search for the
    /// shortest completion skips the others.
    pub(crate) fn choice_by_length(&mut self, nodes: impl IntoIterator<Item = NodeId>) -> NodeId {
        let nodes: Vec<NodeId> = nodes.into_iter().collect();
        let parts = nodes.len();
        let choice = self.choice(nodes);
        if parts > 1 {
            self.shortest_first.insert(choice);
        }
        choice
    }

    /// Whether a choice was made by [`choice_by_length`](Self::choice_by_length).
    pub(crate) fn is_by_length(&self, choice: NodeId) -> bool {
        self.shortest_first.contains(&choice)
    }

    /// Whether a part of it is captured.
    pub(crate) fn has_captures(&self) -> bool {
        self.nodes.iter().any(Node::is_capture)
    }

    /// Whether a budget of tokens is part of it.
    pub(crate) fn has_budgets(&self) -> bool {
        self.nodes.iter().any(Node::is_budget)
    }

    /// The number of nodes so far.
    pub fn size(&self) -> usize {
        self.nodes.len()
    }

    /// The finished grammar. Errors if a declared rule was never defined.
    pub fn finish(self, start: RuleId) -> Result<Grammar> {
        if let Some(rule) = self.rules.iter().find(|rule| rule.body.is_none()) {
            let message = format!("rule `{}` is used but never defined", rule.name());
            return Err(Error::new(ErrorKind::Grammar, message));
        }
        Ok(self.finish_defined(start))
    }

    /// The finished grammar, of which every declared rule is defined.
    pub(crate) fn finish_defined(self, start: RuleId) -> Grammar {
        let Self { languages, nodes, origins, rules, holes, .. } = self;
        Grammar { languages, nodes, origins, rules, holes, start }
    }
}
