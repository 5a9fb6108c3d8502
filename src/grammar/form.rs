//! The data of the intermediate form: [`Grammar`], its rules and nodes.
//!
//! Nodes and rules live in two vectors and refer to each other by index. *Invariant:* the parts of
//! a node have smaller indices than the node itself, except through a call, so one ascending pass
//! over the nodes sees every part before the whole.

use std::sync::Arc;

use smallvec::SmallVec;

use super::hole::Hole;
use crate::error::{Error, ErrorKind, Result};
use crate::regular::{Language, Languages};

/// Index of a node in its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub(super) u32);

/// Index of a rule in its grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RuleId(pub(super) u32);

impl NodeId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl RuleId {
    /// The rule of this index.
    pub(crate) fn new(index: usize) -> Self {
        // Rules are limited as nodes are, far below u32::MAX.
        Self(index as u32)
    }

    /// The id of this rule once its grammar is appended to one of `rules` rules.
    pub(crate) fn after(self, rules: usize) -> Self {
        // Rules are limited as nodes are, far below u32::MAX.
        Self(self.0 + rules as u32)
    }

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One token, special or ordinary, by the name or the id that it has in the vocabulary.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SpecialToken {
    /// By its text in the tokenizer file, such as `<|im_end|>`; of an ordinary token, its bytes.
    Name(String),
    /// By its id.
    Id(u32),
}

/// A set of tokens, of which one is read whole: an ordinary token of the set is matched by itself,
/// not by other tokens that spell its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TokenSet {
    /// These tokens; none at all is the empty language.
    OneOf(Box<[SpecialToken]>),
    /// Every token of the vocabulary but these and the end tokens.
    Except(Box<[SpecialToken]>),
}

impl From<SpecialToken> for TokenSet {
    fn from(token: SpecialToken) -> Self {
        Self::OneOf([token].into())
    }
}

impl TokenSet {
    /// The tokens that the set lists.
    pub(crate) fn listed(&self) -> &[SpecialToken] {
        match self {
            Self::OneOf(tokens) | Self::Except(tokens) => tokens,
        }
    }
}

/// A source's own number of a key choice ([`Node::KeyChoice`]) or of a capture ([`Node::Capture`],
/// [`Node::Scope`]). Choices and captures are numbered apart from each other, each from 0.
pub(crate) type SourceTag = u32;

/// A sampling temperature of a part of a grammar: finite and not negative.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Temperature(u32);

impl Temperature {
    /// Errors if it is negative or not finite.
    pub fn new(temperature: f32) -> Result<Self> {
        if temperature.is_finite() && temperature >= 0.0 {
            // Zero has one sign, so that equal temperatures are equal.
            Ok(Self((temperature + 0.0).to_bits()))
        } else {
            let message = format!("a temperature of {temperature}");
            Err(Error::new(ErrorKind::Grammar, message)
                .with_help("give a number from 0 on; 0 takes the most probable token"))
        }
    }

    /// The number.
    pub fn get(self) -> f32 {
        f32::from_bits(self.0)
    }
}

/// An attribute of a part of a grammar. It changes nothing about the bytes of its texts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Attribute {
    /// At most so many tokens spell the text, those that also spell text around it counted; see
    /// [`GrammarBuilder::budget`](super::GrammarBuilder::budget).
    MaxTokens(u32),
    /// The temperature at which its tokens are sampled; see
    /// [`GrammarBuilder::temperature`](super::GrammarBuilder::temperature).
    Temperature(Temperature),
    /// Reports the text as a capture of this name; see
    /// [`GrammarBuilder::capture`](super::GrammarBuilder::capture).
    Capture(Arc<str>),
    /// The text is cut off the end of an enclosing capture's text (ignored text such as blanks).
    Ignored,
    /// Captures are found by parsing the text with this node, which has the same language, instead of the
    /// attributed one.
    CaptureFrom(NodeId),
}

impl Attribute {
    /// Whether it only affects which captures are reported, not which texts and tokens are allowed.
    pub(crate) fn affects_captures_only(&self) -> bool {
        match self {
            Self::Capture(_) | Self::Ignored | Self::CaptureFrom(_) => true,
            Self::MaxTokens(_) | Self::Temperature(_) => false,
        }
    }

    /// The same for a copy of the grammar in which nodes have other ids.
    pub(crate) fn with_nodes(&self, copy: impl FnOnce(NodeId) -> NodeId) -> Self {
        match self {
            Self::CaptureFrom(parts) => Self::CaptureFrom(copy(*parts)),
            other => other.clone(),
        }
    }
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
        /// The repeated node.
        node: NodeId,
        /// The least number of times.
        min: u32,
        /// The greatest number of times.
        max: Option<u32>,
    },
    /// The language of a rule.
    Call(RuleId),
    /// A text of the node to which an attribute applies.
    Attributed {
        /// The node.
        node: NodeId,
        /// The attribute of its text.
        attribute: Attribute,
    },
    /// Exactly one token of a set.
    Special(TokenSet),
    /// A part whose rules are made while a text is read, such as the values that a JSON Schema
    /// accepts: an index into the grammar's holes. Never nullable.
    #[doc(hidden)]
    Hole(u32),
    /// A regular terminal that is the content of a JSON string, its characters spelled as JSON
    /// spells them. The language is the same as that of `Regular`; the kind is a hint that the
    /// engine knows token splits of such strings already.
    #[doc(hidden)]
    JsonString(Language),
    /// One of some object keys, then the node that the source makes for that key. Only in grammars
    /// of a source; the number is the tag of the key choice.
    #[doc(hidden)]
    KeyChoice(u32),
    /// A string of the language, then the node that the source makes for that string. Only in
    /// grammars of a source; the number is the tag of the capture.
    #[doc(hidden)]
    Capture(Language, u32),
    /// A node, then the node that the source makes for the text that the first one has read. Only
    /// in grammars of a source; the number is the tag of the capture.
    #[doc(hidden)]
    Scope(NodeId, u32),
}

impl Node {
    /// Whether its text is captured.
    pub(crate) fn is_capture(&self) -> bool {
        matches!(self, Self::Attributed { attribute: Attribute::Capture(_), .. })
    }

    /// Whether it bounds the tokens of its text.
    pub(crate) fn is_budget(&self) -> bool {
        matches!(self, Self::Attributed { attribute: Attribute::MaxTokens(_), .. })
    }
}

/// The place in the front end's input that a node or rule comes from, for explanations.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Origin {
    /// The front end's own words: a JSON pointer, or rule, line and column.
    Text(Arc<str>),
    /// A kind of part that stands nowhere in a constraint's text, such as any value.
    Kind(Arc<str>),
    /// Numbers of places that a source turns into words on request
    /// ([`Source::places`](super::source::Source::places)).
    Places(SmallVec<[u32; 2]>),
}

impl Origin {
    /// The words; empty for numbered places.
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
    pub(super) name: Origin,
    pub(super) body: Option<NodeId>,
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
    pub(super) languages: Languages,
    pub(super) nodes: Vec<Node>,
    pub(super) origins: Vec<Option<Origin>>,
    pub(super) rules: Vec<Rule>,
    /// The parts that [`Node::Hole`] refers to by index.
    pub(super) holes: Vec<Arc<dyn Hole>>,
    pub(super) start: RuleId,
}

impl Grammar {
    /// The parts whose rules are made while a text is read.
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

    /// The place that a node comes from, in words of its front end (a JSON pointer, a line and
    /// column).
    pub fn source(&self, id: NodeId) -> Option<&str> {
        self.origins[id.index()].as_ref().map(Origin::text)
    }

    pub(crate) fn origin(&self, id: NodeId) -> Option<&Origin> {
        self.origins[id.index()].as_ref()
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
