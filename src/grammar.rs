//! The one intermediate form that every front end produces.
//!
//! A [`Grammar`] is a set of rules over byte-level regular terminals ([`Language`]), sequence,
//! choice, bounded repeat, rule calls and special tokens. Its meaning is a language of byte
//! strings and special tokens: no hidden lexer, no longest match, no priority. Left recursion,
//! ambiguity and empty rules are all allowed.
//!
//! ```
//! use maskwright::grammar::GrammarBuilder;
//! // value = [0-9]+ | "(" value ")"
//! let mut g = GrammarBuilder::new();
//! let digit = g.languages().byte_range(b'0', b'9');
//! let digits = g.languages().repeat(digit, 1, None);
//! let value = g.declare("value");
//! let (open, call, close) = (g.literal(b"("), g.call(value), g.literal(b")"));
//! let nested = g.sequence([open, call, close]);
//! let number = g.regular(digits);
//! let body = g.choice([number, nested]);
//! g.define(value, body);
//! let grammar = g.finish(value).unwrap();
//! assert_eq!(grammar.rules().len(), 1);
//! ```

pub(crate) mod analysis;
mod embed;
pub(crate) mod hole;
mod lazy;
pub(crate) mod names;
pub(crate) mod normal;
mod regular;
pub(crate) mod source;

pub(crate) use lazy::prefer_lazy;

use std::sync::Arc;

use rustc_hash::FxHashSet;
use smallvec::SmallVec;

use crate::error::{Error, ErrorKind, Result};
use crate::regular::{Language, Languages};
use hole::Hole;

/// Index of a node in its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u32);

/// Index of a rule in its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl RuleId {
    /// The rule of this place behind so many others.
    pub(crate) fn after(self, rules: usize) -> Self {
        // Rules are limited as nodes are, far below u32::MAX.
        Self(self.0 + rules as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A special token, by the name or the id that it has in the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SpecialToken {
    /// By its text in the tokenizer file, such as `<|im_end|>`.
    Name(String),
    /// By its id.
    Id(u32),
}

/// One node of a grammar.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Node {
    /// A regular language of byte strings, in the arena of the grammar.
    Regular(Language),
    /// One after the other; none at all is the empty string.
    Sequence(Box<[NodeId]>),
    /// Any one of these; none at all is the empty language.
    Choice(Box<[NodeId]>),
    /// `min` to `max` times, `max` inclusive, `None` for no bound; `min <= max`, and `max >= 1`.
    Repeat {
        /// What is repeated.
        node: NodeId,
        /// The least number of times.
        min: u32,
        /// The greatest number of times.
        max: Option<u32>,
    },
    /// The language of a rule.
    Call(RuleId),
    /// Exactly this special token.
    Special(SpecialToken),
    /// A part that is made while a text is read, such as what a JSON Schema accepts: an index into
    /// the grammar's holes. Never empty.
    #[doc(hidden)]
    Hole(u32),
    /// The same as a regular terminal: a JSON string whose characters are spelled as JSON does.
    #[doc(hidden)]
    Text(Language),
    /// One of some names, and what follows it: only in grammars that are made as they are read.
    #[doc(hidden)]
    Names(u32),
    /// A JSON string, and what follows it: only in grammars that are made as they are read.
    #[doc(hidden)]
    Capture(Language, u32),
    /// A node, and what follows the text that it reads: only in grammars that are made as they are
    /// read.
    #[doc(hidden)]
    Scope(NodeId, u32),
}

/// Where a part of a grammar comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// In words of its front end.
    Text(Arc<str>),
    /// A kind of part that stands nowhere in a constraint's text, such as any value.
    Kind(Arc<str>),
    /// Places that its front end can put in words: only in grammars that are made as they are read.
    Places(SmallVec<[u32; 2]>),
}

impl Origin {
    /// As far as it is in words.
    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) | Self::Kind(text) => text,
            Self::Places(_) => "",
        }
    }
}

/// A named rule.
#[derive(Clone, Debug)]
pub struct Rule {
    name: Origin,
    body: Option<NodeId>,
}

impl Rule {
    /// The name given by the front end; for messages only.
    pub fn name(&self) -> &str {
        self.name.text()
    }

    /// The rule's body.
    pub fn body(&self) -> NodeId {
        // `GrammarBuilder::finish` refuses a grammar with an undefined rule.
        self.body.unwrap_or(NodeId(u32::MAX))
    }
}

/// A finished grammar: every rule that is called is defined.
#[derive(Clone, Debug)]
pub struct Grammar {
    languages: Languages,
    nodes: Vec<Node>,
    sources: Vec<Option<Origin>>,
    rules: Vec<Rule>,
    /// What [`Node::Hole`] stands for, by its index.
    holes: Vec<Arc<dyn Hole>>,
    start: RuleId,
}

impl Grammar {
    /// The parts that are made while a text is read.
    pub(crate) fn holes(&self) -> &[Arc<dyn Hole>] {
        &self.holes
    }

    /// The arena of its regular terminals.
    pub fn languages(&self) -> &Languages {
        &self.languages
    }

    pub(crate) fn languages_mut(&mut self) -> &mut Languages {
        &mut self.languages
    }

    pub(crate) fn nodes_with_ids(&self) -> impl Iterator<Item = (NodeId, &Node)> {
        self.nodes.iter().enumerate().map(|(i, node)| (NodeId(i as u32), node))
    }

    pub(crate) fn into_languages(self) -> Languages {
        self.languages
    }

    /// One node.
    pub fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    /// All nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Where a node comes from, in words of its front end (a JSON pointer, a line and column).
    pub fn source(&self, id: NodeId) -> Option<&str> {
        self.sources[id.index()].as_ref().map(Origin::text)
    }

    pub(crate) fn origin(&self, id: NodeId) -> Option<&Origin> {
        self.sources[id.index()].as_ref()
    }

    /// All rules.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// One rule.
    pub fn rule(&self, id: RuleId) -> &Rule {
        &self.rules[id.index()]
    }

    /// The rule whose language is the grammar's.
    pub fn start(&self) -> RuleId {
        self.start
    }
}

/// Builds a [`Grammar`] from the leaves up; rules may be called before they are defined.
#[derive(Clone, Debug, Default)]
pub struct GrammarBuilder {
    languages: Languages,
    nodes: Vec<Node>,
    sources: Vec<Option<Origin>>,
    rules: Vec<Rule>,
    /// What [`Node::Hole`] stands for, by its index.
    holes: Vec<Arc<dyn Hole>>,
    /// Choices of which the first part holds a shortest text.
    shortest_first: FxHashSet<NodeId>,
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

    fn push(&mut self, node: Node) -> NodeId {
        // Nodes are limited by `Limits::grammar_size`, far below u32::MAX.
        let id = NodeId(self.nodes.len() as u32);
        self.nodes.push(node);
        self.sources.push(None);
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

    /// The language of a rule.
    pub fn call(&mut self, rule: RuleId) -> NodeId {
        self.push(Node::Call(rule))
    }

    /// Exactly this special token.
    pub fn special(&mut self, token: SpecialToken) -> NodeId {
        self.push(Node::Special(token))
    }

    /// A part that is made while a text is read.
    pub(crate) fn hole(&mut self, hole: Arc<dyn Hole>) -> NodeId {
        let index = self.holes.len() as u32;
        self.holes.push(hole);
        self.push(Node::Hole(index))
    }

    /// The empty string.
    pub fn empty(&mut self) -> NodeId {
        self.sequence([])
    }

    /// Says where a node comes from; shown by explanations.
    pub fn mark(&mut self, node: NodeId, source: impl Into<Arc<str>>) -> NodeId {
        self.mark_from(node, Origin::Text(source.into()))
    }

    pub(crate) fn mark_from(&mut self, node: NodeId, origin: Origin) -> NodeId {
        self.sources[node.index()] = Some(origin);
        node
    }

    /// A rule to be defined later.
    pub fn declare(&mut self, name: impl Into<String>) -> RuleId {
        self.declare_from(Origin::Text(name.into().into()))
    }

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

    /// What [`mark`](Self::mark) said of a node.
    pub(crate) fn origin(&self, id: NodeId) -> Option<&Origin> {
        self.sources[id.index()].as_ref()
    }

    /// The body of a rule; the empty choice if it has none yet.
    pub(crate) fn body(&mut self, rule: RuleId) -> NodeId {
        match self.rules[rule.index()].body {
            Some(body) => body,
            None => self.choice([]),
        }
    }

    pub(crate) fn rule_origin(&self, id: RuleId) -> &Origin {
        &self.rules[id.index()].name
    }

    pub(crate) fn add(&mut self, node: Node) -> NodeId {
        self.push(node)
    }

    /// A choice of which no part holds a shorter text than the first, whatever stands around it: a
    /// search for the shortest end of a text needs to look at no other.
    pub(crate) fn choice_by_length(&mut self, nodes: impl IntoIterator<Item = NodeId>) -> NodeId {
        let nodes: Vec<NodeId> = nodes.into_iter().collect();
        let parts = nodes.len();
        let choice = self.choice(nodes);
        if parts > 1 {
            self.shortest_first.insert(choice);
        }
        choice
    }

    /// Whether a node was made by [`choice_by_length`](Self::choice_by_length).
    pub(crate) fn is_by_length(&self, choice: NodeId) -> bool {
        self.shortest_first.contains(&choice)
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
        let Self { languages, nodes, sources, rules, holes, .. } = self;
        Ok(Grammar { languages, nodes, sources, rules, holes, start })
    }
}
