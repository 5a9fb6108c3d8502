//! What a Lark grammar says, before names mean anything.

use std::fmt;

use super::parameter::{Condition, Function};

/// All of a text.
#[derive(Default)]
pub(super) struct File {
    pub(super) definitions: Vec<Definition>,
    pub(super) ignored: Vec<Expr>,
    pub(super) imports: Vec<Import>,
    pub(super) options: Options,
}

/// What `%llguidance {…}` sets.
#[derive(Default)]
pub(super) struct Options {
    /// Does a pattern of `%ignore` describe all that is ignored in one place?
    pub(super) ignored_once: bool,
    /// Is nothing ignored before the first terminal?
    pub(super) begins_with_text: bool,
}

/// A rule or terminal.
pub(super) struct Definition {
    pub(super) at: usize,
    pub(super) name: String,
    /// Of a template.
    pub(super) parameters: Vec<String>,
    /// Has it a parameter of bits, `name::_`?
    pub(super) parametric: bool,
    pub(super) lazy: bool,
    pub(super) suffix: Option<Expr>,
    pub(super) body: Expr,
}

impl Definition {
    /// Is it written out for what it is used with?
    pub(super) fn is_template(&self) -> bool {
        self.parametric || !self.parameters.is_empty()
    }
}

/// `%import common.NAME -> ALIAS`.
pub(super) struct Import {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) alias: String,
}

#[derive(Clone)]
pub(super) struct Expr {
    pub(super) at: usize,
    pub(super) kind: ExprKind,
}

/// Without places: two arguments of a template that print alike are the same.
impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

#[derive(Clone, Debug)]
pub(super) enum ExprKind {
    /// A rule, a terminal or a parameter of a template.
    Name(String),
    Template(String, Vec<Expr>),
    /// A rule with a parameter, `name::incr(_)`.
    Parametric(String, Function),
    Text {
        text: String,
        caseless: bool,
    },
    Range(char, char),
    /// With its flags as a group's prefix.
    Pattern(String),
    Special(String),
    Json(String),
    Lark(String),
    Regex(String),
    Grammar(String),
    Sequence(Vec<Expr>),
    Choice(Vec<Expr>),
    And(Vec<Expr>),
    Not(Box<Expr>),
    Repeat(Box<Expr>, u32, Option<u32>),
    /// An alternative for some values of the parameter.
    If(Box<Expr>, Condition),
}

/// Is it the name of a terminal? Underscores do not tell.
pub(super) fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(|c: char| c.is_uppercase())
}
