//! The grammar as a recursive transition network: a small automaton a rule, whose edges read
//! terminals and tokens or call rules (Woods, "Transition Network Grammars", 1970).
//!
//! Parts with an attribute become rules of their own, and so do choices and repeats within sequences.
//! Then every fact of a parse is of one kind (a rule reads the text from one position to another), and so
//! is every decision between parses (the position at which a rule's text ends).
//!
//! Example: `list: item ("," item)*` with `item` captured
//!
//! ```text
//! rule 0 (list)        Call 1 → Call 2 → End
//! rule 1 (item)        Read item → End           a capture
//! rule 2 (repeat)      Iteration 3
//! rule 3 (iteration)   Read "," → Call 1 → End
//! ```

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::grammar::normal::components::strongly_connected;
use crate::grammar::{Attribute, Grammar, Node, NodeId, RuleId, SpecialToken, TokenSet};
use crate::regular::{Language, Languages};

pub(super) type StateId = u32;
pub(super) type NetworkRuleId = u32;

/// A terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Terminal {
    Regular(Language),
    /// A part whose rules are made while a text is read, by its index.
    Hole(u32),
}

/// A state of a rule's automaton, with its edges.
#[derive(Clone, Debug)]
pub(super) enum NetworkState {
    /// Goes on at any of these; the first counts where several lead to the end.
    Fork(Box<[StateId]>),
    Read {
        terminal: Terminal,
        next: StateId,
    },
    Token {
        tokens: TokenIds,
        next: StateId,
    },
    Call {
        rule: NetworkRuleId,
        next: StateId,
    },
    /// Another iteration of a counted repeat, or its end.
    Iteration {
        body: NetworkRuleId,
        min: u32,
        max: Option<u32>,
    },
    End,
}

/// A set of tokens, ascending.
#[derive(Clone, Debug)]
pub(super) enum TokenIds {
    OneOf(Box<[u32]>),
    Except(Box<[u32]>),
}

impl TokenIds {
    pub(super) fn contains(&self, token: u32) -> bool {
        match self {
            Self::OneOf(ids) => ids.binary_search(&token).is_ok(),
            Self::Except(ids) => ids.binary_search(&token).is_err(),
        }
    }
}

/// The condition on the text of a rule, or the name under which it is reported.
#[derive(Clone, Debug)]
pub(super) enum RuleKind {
    Plain,
    Capture(Arc<str>),
    /// Text that does not count as the end of a capture.
    Ignored,
    /// At most so many tokens.
    MaxTokens(u32),
    /// The text must also be one of this terminal.
    Whole(Terminal),
}

/// A rule of the network.
#[derive(Clone, Debug)]
pub(super) struct NetworkRule {
    pub(super) start: StateId,
    pub(super) kind: RuleKind,
    /// The strongly connected component of the calls between rules that it belongs to.
    pub(super) component: u32,
}

/// A grammar as automata.
#[derive(Debug, Default)]
pub(super) struct Network {
    pub(super) states: Vec<NetworkState>,
    /// By state: the rule that it belongs to.
    pub(super) rule_of: Vec<NetworkRuleId>,
    pub(super) rules: Vec<NetworkRule>,
    /// The number of rules that are the grammar's; those of parts come after them.
    pub(super) named: usize,
    pub(super) start: NetworkRuleId,
}

impl Network {
    /// The network of a grammar whose sets of tokens are given by ids; the arena of its terminals
    /// comes back beside it.
    pub(super) fn new(grammar: Grammar) -> Result<(Self, Languages)> {
        let plain = |_| NetworkRule { start: 0, kind: RuleKind::Plain, component: 0 };
        let mut compiler = NetworkCompiler {
            network: Self {
                rules: grammar.rules().iter().map(plain).collect(),
                named: grammar.rules().len(),
                start: grammar.start().index() as u32,
                ..Self::default()
            },
            grammar,
            todo: Vec::new(),
            parts: FxHashMap::default(),
            rule: 0,
        };
        for rule in 0..compiler.network.rules.len() {
            let body = compiler.grammar.rule(RuleId::new(rule)).body();
            compiler.rule = rule as NetworkRuleId;
            let end = compiler.push(NetworkState::End);
            compiler.network.rules[rule].start = compiler.compile(body, end)?;
        }
        while let Some((rule, node, part)) = compiler.todo.pop() {
            compiler.rule = rule;
            compiler.network.rules[rule as usize].start = compiler.part_body(node, part)?;
        }
        let NetworkCompiler { mut network, grammar, .. } = compiler;
        let mut calls: Vec<Vec<RuleId>> = vec![Vec::new(); network.rules.len()];
        for (state, &rule) in network.states.iter().zip(&network.rule_of) {
            if let NetworkState::Call { rule: callee, .. }
            | NetworkState::Iteration { body: callee, .. } = state
            {
                calls[rule as usize].push(RuleId::new(*callee as usize));
            }
        }
        for (rule, component) in network.rules.iter_mut().zip(strongly_connected(&calls)) {
            rule.component = component;
        }
        Ok((network, grammar.into_languages()))
    }
}

/// The part of a node that a rule is made for.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum CompiledPart {
    /// The node itself: a choice or a repeat within a sequence.
    Whole,
    /// The node that it repeats, or that its attribute applies to.
    Inner,
}

struct NetworkCompiler {
    grammar: Grammar,
    network: Network,
    /// Rules of parts that are not compiled yet.
    todo: Vec<(NetworkRuleId, NodeId, CompiledPart)>,
    /// The rules of parts.
    parts: FxHashMap<(NodeId, CompiledPart), NetworkRuleId>,
    /// The rule that is being compiled.
    rule: NetworkRuleId,
}

impl NetworkCompiler {
    fn push(&mut self, state: NetworkState) -> StateId {
        self.network.states.push(state);
        self.network.rule_of.push(self.rule);
        self.network.states.len() as StateId - 1
    }

    /// The rule of a part.
    fn part(&mut self, node: NodeId, part: CompiledPart, kind: RuleKind) -> NetworkRuleId {
        if let Some(&known) = self.parts.get(&(node, part)) {
            return known;
        }
        let rule = self.network.rules.len() as NetworkRuleId;
        self.network.rules.push(NetworkRule { start: 0, kind, component: 0 });
        self.parts.insert((node, part), rule);
        self.todo.push((rule, node, part));
        rule
    }

    /// The first state of the rule of a part.
    fn part_body(&mut self, id: NodeId, part: CompiledPart) -> Result<StateId> {
        let end = self.push(NetworkState::End);
        let node = match (self.grammar.node(id), part) {
            (_, CompiledPart::Whole) => id,
            (
                &Node::Attributed { attribute: Attribute::CaptureFrom(parts), .. },
                CompiledPart::Inner,
            ) => parts,
            (&(Node::Repeat { node, .. } | Node::Attributed { node, .. }), CompiledPart::Inner) => {
                node
            }
            // Only these have an inner part.
            _ => id,
        };
        self.compile(node, end)
    }

    fn is_end(&self, state: StateId) -> bool {
        matches!(self.network.states[state as usize], NetworkState::End)
    }

    /// The state that reads `node` and goes on at `next`.
    fn compile(&mut self, id: NodeId, next: StateId) -> Result<StateId> {
        Ok(match self.grammar.node(id).clone() {
            Node::Regular(Language::EPSILON) => next,
            Node::Regular(language) | Node::JsonString(language) => {
                self.push(NetworkState::Read { terminal: Terminal::Regular(language), next })
            }
            Node::Hole(hole) => {
                self.push(NetworkState::Read { terminal: Terminal::Hole(hole), next })
            }
            Node::Special(tokens) => {
                let tokens = token_ids(&tokens);
                self.push(NetworkState::Token { tokens, next })
            }
            Node::Call(rule) => self.push(NetworkState::Call { rule: rule.index() as u32, next }),
            Node::Sequence(parts) => {
                let mut next = next;
                for &part in parts.iter().rev() {
                    next = self.compile(part, next)?;
                }
                next
            }
            // At the end of a rule its own text is given; elsewhere it takes a rule to say that the
            // longest text counts, whichever alternative or number of iterations reads it.
            Node::Choice(parts) if self.is_end(next) => {
                let mut branches = Vec::with_capacity(parts.len());
                for &part in &parts {
                    branches.push(self.compile(part, next)?);
                }
                self.push(NetworkState::Fork(branches.into()))
            }
            Node::Repeat { node, min, max } if self.is_end(next) => {
                let body = match *self.grammar.node(node) {
                    Node::Call(rule) => rule.index() as u32,
                    _ => self.part(id, CompiledPart::Inner, RuleKind::Plain),
                };
                self.push(NetworkState::Iteration { body, min, max })
            }
            Node::Choice(_) | Node::Repeat { .. } => {
                let rule = self.part(id, CompiledPart::Whole, RuleKind::Plain);
                self.push(NetworkState::Call { rule, next })
            }
            Node::Attributed { node, attribute } => {
                let kind = match attribute {
                    Attribute::Temperature(_) => return self.compile(node, next),
                    Attribute::MaxTokens(most) => RuleKind::MaxTokens(most),
                    Attribute::Capture(name) => RuleKind::Capture(name),
                    Attribute::Ignored => RuleKind::Ignored,
                    Attribute::CaptureFrom(_) => {
                        RuleKind::Whole(Terminal::Regular(self.language(node)?))
                    }
                };
                let rule = self.part(id, CompiledPart::Inner, kind);
                self.push(NetworkState::Call { rule, next })
            }
            Node::KeyChoice(_) | Node::Capture(..) | Node::Scope(..) => {
                return Err(made_on_demand());
            }
        })
    }

    /// The language of a node that calls no rule.
    fn language(&mut self, id: NodeId) -> Result<Language> {
        match self.grammar.node(id).clone() {
            Node::Regular(language) | Node::JsonString(language) => Ok(language),
            Node::Sequence(parts) => {
                let parts: Result<Vec<Language>> =
                    parts.iter().map(|&part| self.language(part)).collect();
                Ok(self.grammar.languages_mut().concat(parts?))
            }
            Node::Choice(parts) => {
                let parts: Result<Vec<Language>> =
                    parts.iter().map(|&part| self.language(part)).collect();
                Ok(self.grammar.languages_mut().union(parts?))
            }
            Node::Attributed { node, .. } => self.language(node),
            _ => Err(made_on_demand()),
        }
    }
}

/// The error that a part cannot be looked for captures in.
fn made_on_demand() -> Error {
    Error::new(ErrorKind::Grammar, "a captured text depends on rules made while a text is read")
        .with_help("capture a part around it, or leave the capture out")
}

/// The ids of a set; names are resolved before.
fn token_ids(tokens: &TokenSet) -> TokenIds {
    let id = |token: &SpecialToken| match token {
        SpecialToken::Id(id) => Some(*id),
        SpecialToken::Name(_) => None,
    };
    let mut ids: Vec<u32> = tokens.listed().iter().filter_map(id).collect();
    ids.sort_unstable();
    match tokens {
        TokenSet::OneOf(_) => TokenIds::OneOf(ids.into()),
        TokenSet::Except(_) => TokenIds::Except(ids.into()),
    }
}
