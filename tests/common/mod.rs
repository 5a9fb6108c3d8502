//! Shared parts of several tests: a slow matcher written from the definition, and JSON text as
//! `json.dumps` writes it.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

pub(crate) mod suite;

use std::collections::{HashMap, HashSet};

use maskwright::Constraint;
use maskwright::grammar::{Grammar, Node, NodeId};
use maskwright::regular::{Language, Languages};
use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Item {
    Node(NodeId),
    Repeat(NodeId, u32, Option<u32>),
}

/// A stack by its index; 0 is the empty one.
type Stack = u32;

/// Follows every way of reading a text, byte by byte. Grammars must not be left-recursive.
pub(crate) struct Naive<'g> {
    grammar: &'g Grammar,
    languages: Languages,
    stacks: Vec<(Item, Stack)>,
    ids: HashMap<(Item, Stack), Stack>,
    start: Stack,
    /// A limit of the languages was reached; what was read since means nothing.
    pub(crate) over_limit: bool,
}

/// The ways that are open after some text: a terminal's state and what follows it.
#[derive(Clone)]
pub(crate) struct Open(HashSet<(Language, Stack)>, bool);

impl Open {
    pub(crate) fn is_dead(&self) -> bool {
        self.0.is_empty() && !self.1
    }
}

/// Asserts that the grammar of a schema accepts exactly those of the texts.
pub(crate) fn check(grammar: &Grammar, schema: &str, accepted: &[&str], rejected: &[&str]) {
    let mut matcher = Naive::new(grammar);
    for text in accepted {
        assert_eq!(matcher.rejected_at(text), None, "{schema} must accept {text}");
    }
    for text in rejected {
        assert!(!matcher.accepts(text), "{schema} must reject {text}");
    }
}

impl<'g> Naive<'g> {
    pub(crate) fn new(grammar: &'g Grammar) -> Self {
        let body = grammar.rule(grammar.start()).body();
        let mut this = Self {
            grammar,
            languages: grammar.languages().clone(),
            stacks: vec![(Item::Node(body), 0)],
            ids: HashMap::new(),
            start: 0,
            over_limit: false,
        };
        this.start = this.push(Item::Node(body), 0);
        this
    }

    fn push(&mut self, item: Item, below: Stack) -> Stack {
        let stacks = &mut self.stacks;
        *self.ids.entry((item, below)).or_insert_with(|| {
            stacks.push((item, below));
            stacks.len() as u32 - 1
        })
    }

    pub(crate) fn open(&mut self) -> Open {
        let start = self.start;
        self.close([start])
    }

    fn close(&mut self, stacks: impl IntoIterator<Item = Stack>) -> Open {
        let mut todo: Vec<Stack> = stacks.into_iter().collect();
        let mut seen: HashSet<Stack> = HashSet::new();
        let mut open = Open(HashSet::new(), false);
        while let Some(stack) = todo.pop() {
            if !seen.insert(stack) {
                continue;
            }
            if stack == 0 {
                open.1 = true;
                continue;
            }
            let (item, below) = self.stacks[stack as usize];
            match item {
                Item::Repeat(node, min, max) => {
                    if min == 0 {
                        todo.push(below);
                    }
                    if max != Some(0) {
                        let more = Item::Repeat(node, min.saturating_sub(1), max.map(|m| m - 1));
                        let more = self.push(more, below);
                        todo.push(self.push(Item::Node(node), more));
                    }
                }
                Item::Node(node) => match self.grammar.node(node) {
                    &Node::Regular(language) => {
                        if self.languages.is_nullable(language) {
                            todo.push(below);
                        }
                        open.0.insert((language, below));
                    }
                    Node::Sequence(parts) => {
                        let parts = parts.iter().rev();
                        todo.push(parts.fold(below, |b, &part| self.push(Item::Node(part), b)));
                    }
                    Node::Choice(parts) => {
                        for &part in parts {
                            todo.push(self.push(Item::Node(part), below));
                        }
                    }
                    &Node::Repeat { node, min, max } => {
                        todo.push(self.push(Item::Repeat(node, min, max), below));
                    }
                    &Node::Call(rule) => {
                        let body = self.grammar.rule(rule).body();
                        todo.push(self.push(Item::Node(body), below));
                    }
                    // Special tokens are no text; the others occur in no grammar that is whole.
                    _ => {}
                },
            }
        }
        open
    }

    pub(crate) fn step(&mut self, open: &Open, byte: u8) -> Open {
        let mut next = HashSet::new();
        let mut ended = HashSet::new();
        for &(language, below) in &open.0 {
            let Ok(after) = self.languages.step(language, byte) else {
                self.over_limit = true;
                continue;
            };
            if after == Language::EMPTY {
                continue;
            }
            if self.languages.is_nullable(after) {
                ended.insert(below);
            }
            if after != Language::EPSILON {
                next.insert((after, below));
            }
        }
        let mut open = self.close(ended);
        open.0.extend(next);
        open
    }

    /// Bytes that may come next.
    pub(crate) fn next_bytes(&mut self, open: &Open) -> Vec<u8> {
        let mut bytes: Vec<u8> = Vec::new();
        for &(language, _) in &open.0 {
            bytes.extend(self.languages.first_bytes(language).unwrap().iter());
        }
        bytes.sort_unstable();
        bytes.dedup();
        bytes
    }

    pub(crate) fn is_accepting(open: &Open) -> bool {
        open.1
    }

    pub(crate) fn accepts(&mut self, text: &str) -> bool {
        self.rejected_at(text).is_none()
    }

    /// The offset of the first byte that cannot be read; the length if the text only ends early.
    pub(crate) fn rejected_at(&mut self, text: &str) -> Option<usize> {
        let mut open = self.open();
        for (i, byte) in text.bytes().enumerate() {
            open = self.step(&open, byte);
            if open.is_dead() {
                return Some(i);
            }
        }
        (!open.1).then_some(text.len())
    }
}

/// Whether a text is accepted. It is read byte by byte; before each, the mask equals the tokens
/// that are accepted, and
/// something is, unless the text is complete.
pub(crate) fn accepts_by_masks(constraint: &Constraint, text: &str) -> bool {
    let mut matcher = constraint.matcher();
    for &byte in text.as_bytes() {
        let mask = matcher.mask().unwrap().clone();
        assert!(!mask.is_empty() || matcher.is_accepting(), "a dead end before {byte} of {text}");
        for token in 0..constraint.vocabulary().len() as u32 {
            let accepted = matcher.clone().accept(token).is_ok();
            assert_eq!(mask.contains(token), accepted, "token {token} before {byte} of {text}");
        }
        if matcher.accept_bytes(&[byte]).is_err() {
            return false;
        }
    }
    matcher.is_accepting()
}

/// As Python's `json.dumps(value, ensure_ascii=False)` writes it.
pub(crate) fn dumps(value: &Value) -> String {
    let mut out = String::new();
    dump(value, &mut out);
    out
}

fn dump(value: &Value, out: &mut String) {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (None, None, Some(f)) => *out += &python_float(f),
            _ => *out += &number.to_string(),
        },
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                *out += if i > 0 { ", " } else { "" };
                dump(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            out.push('{');
            for (i, (key, value)) in members.iter().enumerate() {
                *out += if i > 0 { ", " } else { "" };
                *out += &Value::String(key.clone()).to_string();
                *out += ": ";
                dump(value, out);
            }
            out.push('}');
        }
        scalar => *out += &scalar.to_string(),
    }
}

/// `repr(float)`: shortest digits, an exponent below 1e-4 and from 1e16 on.
fn python_float(f: f64) -> String {
    let text = format!("{f:e}");
    let (mantissa, power) = text.split_once('e').unwrap();
    let power: i32 = power.parse().unwrap();
    if (-4..16).contains(&power) || f == 0.0 {
        let fixed = format!("{f}");
        return if fixed.contains('.') { fixed } else { fixed + ".0" };
    }
    format!("{mantissa}e{power:+03}")
}
