//! What a Lark grammar says, before names mean anything.

use std::fmt;

/// All of a text.
#[derive(Default)]
pub(super) struct File {
    pub(super) definitions: Vec<Definition>,
    pub(super) ignored: Vec<Expr>,
    pub(super) imports: Vec<Import>,
}

/// A rule or terminal.
pub(super) struct Definition {
    pub(super) at: usize,
    pub(super) name: String,
    /// Of a template.
    pub(super) parameters: Vec<String>,
    pub(super) lazy: bool,
    pub(super) suffix: Option<Expr>,
    pub(super) body: Expr,
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
}

/// Is it the name of a terminal? Underscores do not tell.
pub(super) fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(|c: char| c.is_uppercase())
}
