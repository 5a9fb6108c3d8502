//! The abstract syntax of a Lark grammar, before names are resolved.

use std::fmt;

use super::parameter::{ParameterCondition, ParameterFunction};

/// A whole grammar.
#[derive(Default)]
pub(super) struct LarkFile {
    pub(super) definitions: Vec<LarkDefinition>,
    /// The patterns of `%ignore`.
    pub(super) ignored: Vec<LarkExpr>,
    pub(super) imports: Vec<LarkImport>,
    pub(super) options: LarkOptions,
}

/// The options that `%llguidance {…}` sets.
#[derive(Default)]
pub(super) struct LarkOptions {
    /// Whether the patterns of `%ignore` match at most once between two terminals.
    pub(super) ignored_once: bool,
    /// Whether nothing is ignored before the first terminal.
    pub(super) begins_with_text: bool,
}

/// The definition of a rule or terminal.
pub(super) struct LarkDefinition {
    pub(super) at: usize,
    pub(super) name: String,
    /// The names of the parameters, if it is a template.
    pub(super) parameters: Vec<String>,
    /// Whether it has a parameter of 64 bits, `name::_`.
    pub(super) is_parametric: bool,
    pub(super) is_lazy: bool,
    /// The terminal that ends it, from `[suffix=…]`.
    pub(super) suffix: Option<LarkExpr>,
    pub(super) body: LarkExpr,
}

impl LarkDefinition {
    /// Whether it is instantiated for each list of arguments that it is used with.
    pub(super) fn is_template(&self) -> bool {
        self.is_parametric || !self.parameters.is_empty()
    }
}

/// `%import common.NAME -> ALIAS`.
pub(super) struct LarkImport {
    pub(super) at: usize,
    pub(super) name: String,
    pub(super) alias: String,
}

/// A node of a right-hand side, with its byte offset.
#[derive(Clone)]
pub(super) struct LarkExpr {
    pub(super) at: usize,
    pub(super) kind: LarkExprKind,
}

/// Without byte offsets: arguments of a template that print alike are the same.
impl fmt::Debug for LarkExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

#[derive(Clone, Debug)]
pub(super) enum LarkExprKind {
    /// A rule, a terminal or a parameter of a template.
    Name(String),
    Template(String, Vec<LarkExpr>),
    /// A call of a rule with a parameter, `name::incr(_)`.
    Parametric(String, ParameterFunction),
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
    Sequence(Vec<LarkExpr>),
    Choice(Vec<LarkExpr>),
    And(Vec<LarkExpr>),
    Not(Box<LarkExpr>),
    Repeat(Box<LarkExpr>, u32, Option<u32>),
    /// An alternative for some values of the parameter.
    If(Box<LarkExpr>, ParameterCondition),
}

/// Whether a name is that of a terminal: its first letter is a capital. Leading underscores are
/// skipped.
pub(super) fn is_terminal(name: &str) -> bool {
    name.trim_start_matches('_').starts_with(|c: char| c.is_uppercase())
}
