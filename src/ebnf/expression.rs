//! Right-hand sides of rules, in the form that all notations are parsed into.
//!
//! An expression still has names by rule number, operators that have a meaning for regular
//! languages only, and byte offsets for error messages. `lowering` turns it into nodes of a
//! grammar.

use std::sync::Arc;

use crate::grammar::parameter::{ParameterCondition, ParameterFunction};
use crate::grammar::{RuleId, Temperature, TokenSet};
use crate::regular::Language;
use crate::regular::marked_text::LookaroundTerminal;

/// A node of a right-hand side, with its byte offset in the grammar's text.
pub(super) struct RuleExpr {
    pub(super) at: usize,
    pub(super) kind: RuleExprKind,
}

/// The kinds of nodes; every notation is made of these.
pub(super) enum RuleExprKind {
    /// A terminal.
    Regular(Language),
    /// A call, by the index of the rule in its [`RuleTable`](super::rule_table::RuleTable).
    Rule(usize),
    /// One token of a set.
    Special(TokenSet),
    /// Another grammar, already built.
    Embedded(RuleId),
    /// A part that depends on the parameter of its rule.
    Parameter(ParameterExpr),
    Sequence(Vec<RuleExpr>),
    Choice(Vec<RuleExpr>),
    Repeat(Box<RuleExpr>, u32, Option<u32>),
    /// The texts that all of these have in common.
    And(Vec<RuleExpr>),
    /// The texts that are not in it.
    Not(Box<RuleExpr>),
    /// The texts of the first that are not in the second.
    Except(Box<RuleExpr>, Box<RuleExpr>),
    /// Its texts, to which an attribute applies.
    Attributed(Box<RuleExpr>, RuleAttribute),
    /// A terminal that looks at the text around it, and its language where that is all there is.
    Lookaround(LookaroundTerminal, Language),
    /// The shortest matches: its texts of which no proper prefix is another.
    Lazy(Box<RuleExpr>),
}

/// An attribute of the texts of an expression; see [`Attribute`](crate::grammar::Attribute).
pub(super) enum RuleAttribute {
    MaxTokens(u32),
    Temperature(Temperature),
    Capture(Arc<str>),
    Ignored,
    CaptureFrom(Box<RuleExpr>),
}

/// A part that depends on the parameter of a rule.
#[derive(Clone, Debug)]
pub(super) enum ParameterExpr {
    /// A call of a rule, by its index, with a parameter that is a function of the caller's.
    Call(usize, ParameterFunction),
    /// The empty string if the parameter satisfies a condition, else nothing.
    If(ParameterCondition),
    /// Spaces and tabs that make up the columns of the parameter, less so many.
    Blanks {
        /// The columns of a tab.
        tab: u64,
        /// The columns to leave out.
        less: u64,
    },
}

impl RuleExpr {
    pub(super) fn new(at: usize, kind: RuleExprKind) -> Self {
        Self { at, kind }
    }

    pub(super) fn repeat(self, min: u32, max: Option<u32>) -> Self {
        Self { at: self.at, kind: RuleExprKind::Repeat(Box::new(self), min, max) }
    }

    /// The same with an attribute, if it has one.
    pub(super) fn with(self, attribute: Option<RuleAttribute>) -> Self {
        match attribute {
            Some(attribute) => {
                Self { at: self.at, kind: RuleExprKind::Attributed(Box::new(self), attribute) }
            }
            None => self,
        }
    }

    /// Whether a part of it is captured; calls are not followed.
    pub(super) fn has_capture(&self) -> bool {
        let mut found = false;
        self.visit(|item| {
            found |= matches!(item.kind, RuleExprKind::Attributed(_, RuleAttribute::Capture(_)));
        });
        found
    }

    /// The sequence of some parts; a single part stays as it is.
    pub(super) fn sequence(at: usize, mut items: Vec<Self>) -> Self {
        match items.len() {
            1 => items.swap_remove(0),
            _ => Self::new(at, RuleExprKind::Sequence(items)),
        }
    }

    /// The choice of some parts; a single part stays as it is.
    pub(super) fn choice(at: usize, mut items: Vec<Self>) -> Self {
        match items.len() {
            1 => items.swap_remove(0),
            _ => Self::new(at, RuleExprKind::Choice(items)),
        }
    }

    /// A key without offsets: equal for expressions of the same structure.
    pub(super) fn structure_key(&self) -> String {
        let all =
            |items: &[Self]| items.iter().map(Self::structure_key).collect::<Vec<_>>().join(",");
        match &self.kind {
            RuleExprKind::Regular(language) => format!("{language:?}"),
            RuleExprKind::Lookaround(terminal, alone) => format!("{terminal:?} {alone:?}"),
            RuleExprKind::Rule(rule) => format!("rule {rule}"),
            RuleExprKind::Special(tokens) => format!("{tokens:?}"),
            RuleExprKind::Embedded(rule) => format!("{rule:?}"),
            RuleExprKind::Parameter(part) => format!("{part:?}"),
            RuleExprKind::Sequence(items) => format!("({})", all(items)),
            RuleExprKind::Choice(items) => format!("[{}]", all(items)),
            RuleExprKind::And(items) => format!("&({})", all(items)),
            RuleExprKind::Repeat(inner, min, max) => {
                format!("{}{{{min},{max:?}}}", inner.structure_key())
            }
            RuleExprKind::Attributed(inner, attribute) => {
                let attribute = match attribute {
                    RuleAttribute::MaxTokens(most) => format!("{most}"),
                    RuleAttribute::Temperature(temperature) => format!("{temperature:?}"),
                    RuleAttribute::Capture(name) => format!("{name:?}"),
                    RuleAttribute::Ignored => String::new(),
                    RuleAttribute::CaptureFrom(parts) => parts.structure_key(),
                };
                format!("<{attribute}:{}>", inner.structure_key())
            }
            RuleExprKind::Not(inner) => format!("~{}", inner.structure_key()),
            RuleExprKind::Lazy(inner) => format!("?{}", inner.structure_key()),
            RuleExprKind::Except(a, b) => format!("{}-{}", a.structure_key(), b.structure_key()),
        }
    }

    /// Whether a lazy expression is part of it.
    pub(super) fn has_lazy(&self) -> bool {
        let mut found = false;
        self.visit(|item| found |= matches!(item.kind, RuleExprKind::Lazy(_)));
        found
    }

    /// Shows all nodes of the expression to `see`, in no particular order. Calls are not followed.
    pub(super) fn visit<'i>(&'i self, mut see: impl FnMut(&'i Self)) {
        let mut todo = vec![self];
        while let Some(item) = todo.pop() {
            see(item);
            match &item.kind {
                RuleExprKind::Regular(_)
                | RuleExprKind::Lookaround(..)
                | RuleExprKind::Rule(_)
                | RuleExprKind::Special(_)
                | RuleExprKind::Embedded(_)
                | RuleExprKind::Parameter(_) => {}
                RuleExprKind::Sequence(items)
                | RuleExprKind::Choice(items)
                | RuleExprKind::And(items) => {
                    todo.extend(items);
                }
                RuleExprKind::Attributed(item, RuleAttribute::CaptureFrom(parts)) => {
                    todo.extend([&**item, &**parts]);
                }
                RuleExprKind::Repeat(item, ..)
                | RuleExprKind::Attributed(item, _)
                | RuleExprKind::Not(item)
                | RuleExprKind::Lazy(item) => todo.push(item),
                RuleExprKind::Except(a, b) => todo.extend([&**a, &**b]),
            }
        }
    }
}
