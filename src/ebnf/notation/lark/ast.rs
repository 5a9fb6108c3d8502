//! The abstract syntax of a Lark grammar, before names are resolved.

use std::fmt;
use std::sync::Arc;

use crate::grammar::Temperature;
use crate::grammar::parameter::{ParameterCondition, ParameterFunction};

/// The sign between a module and a name in it; no name of a grammar has one.
pub(super) const MODULE_SEPARATOR: char = '.';

/// A whole grammar.
#[derive(Default)]
pub(super) struct LarkFile {
    pub(super) definitions: Vec<LarkDefinition>,
    /// The patterns of `%ignore`.
    pub(super) ignored: Vec<LarkExpr>,
    pub(super) imports: Vec<LarkImport>,
    /// The names of `%declare`.
    pub(super) declared: Vec<(usize, String)>,
    pub(super) options: LarkOptions,
}

/// The options that `%llguidance {…}` sets.
#[derive(Clone, Copy, Default)]
pub(super) struct LarkOptions {
    /// Whether the patterns of `%ignore` match at most once between two terminals.
    pub(super) ignored_once: bool,
    /// Whether nothing is ignored before the first terminal.
    pub(super) begins_with_text: bool,
}

/// The relation of a definition to another one of the same name.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinitionKind {
    /// There is no other one.
    New,
    /// `%override`: it takes the place of the other one.
    Override,
    /// `%extend`: its alternatives are added to those of the other one.
    Extend,
}

/// The definition of a rule or terminal.
#[derive(Clone)]
pub(super) struct LarkDefinition {
    pub(super) at: usize,
    pub(super) kind: DefinitionKind,
    pub(super) name: String,
    /// The names of the parameters, if it is a template.
    pub(super) parameters: Vec<String>,
    /// Whether it has a parameter of 64 bits, `name::_`.
    pub(super) is_parametric: bool,
    pub(super) attributes: RuleAttributes,
    pub(super) body: LarkExpr,
}

/// The attributes in brackets after the name of a rule.
#[derive(Clone, Default)]
pub(super) struct RuleAttributes {
    /// From `lazy`, and from `suffix`.
    pub(super) is_lazy: bool,
    /// The terminal that ends the rule, from `suffix=…`.
    pub(super) suffix: Option<LarkExpr>,
    /// The terminal that its text goes up to, from `stop=…`.
    pub(super) stop: Option<LarkExpr>,
    /// The most tokens that spell its text.
    pub(super) max_tokens: Option<u32>,
    /// The most characters of its text.
    pub(super) max_chars: Option<u32>,
    /// The temperature of its tokens.
    pub(super) temperature: Option<Temperature>,
    /// The name that its text is captured by.
    pub(super) capture: Option<Arc<str>>,
    /// The name that the text of `suffix` is captured by.
    pub(super) stop_capture: Option<Arc<str>>,
}

impl RuleAttributes {
    /// Whether one of them is for rules alone.
    pub(super) fn are_of_rules(&self) -> bool {
        self.max_tokens.is_some()
            || self.temperature.is_some()
            || self.capture.is_some()
            || self.stop_capture.is_some()
    }

    /// Whether they bound the text itself, whatever its tokens.
    pub(super) fn bound_text(&self) -> bool {
        self.max_chars.is_some() || self.stop.is_some()
    }
}

impl LarkDefinition {
    /// Whether it is instantiated for each list of arguments that it is used with.
    pub(super) fn is_template(&self) -> bool {
        self.is_parametric || !self.parameters.is_empty()
    }
}

/// `%import .folder.file.name -> alias`, or `%import library (NAME, NAME)`.
pub(super) struct LarkImport {
    pub(super) at: usize,
    /// Whether it is the path of a file beside this one: it begins with a point.
    pub(super) is_relative: bool,
    /// The names of the library, or of folders and file.
    pub(super) path: Vec<String>,
    pub(super) names: Vec<ImportedName>,
}

/// A rule or terminal that is imported.
pub(super) struct ImportedName {
    pub(super) at: usize,
    pub(super) name: String,
    /// Its name in the grammar that imports it.
    pub(super) alias: String,
}

/// A node of a right-hand side, with its byte offset.
#[derive(Clone)]
pub(super) struct LarkExpr {
    pub(super) at: usize,
    pub(super) kind: LarkExprKind,
}

impl LarkExpr {
    /// Shows the expression and all its parts to `see`, the whole before its parts.
    pub(super) fn visit(&self, see: &mut impl FnMut(&Self)) {
        see(self);
        match &self.kind {
            LarkExprKind::Template(_, parts)
            | LarkExprKind::Sequence(parts)
            | LarkExprKind::Choice(parts)
            | LarkExprKind::And(parts) => parts.iter().for_each(|part| part.visit(see)),
            LarkExprKind::Not(inner)
            | LarkExprKind::Repeat(inner, ..)
            | LarkExprKind::If(inner, _) => inner.visit(see),
            _ => {}
        }
    }

    /// Lets `change` change the expression and all its parts, the whole before its parts.
    pub(super) fn visit_mut(&mut self, change: &mut impl FnMut(&mut Self)) {
        change(self);
        match &mut self.kind {
            LarkExprKind::Template(_, parts)
            | LarkExprKind::Sequence(parts)
            | LarkExprKind::Choice(parts)
            | LarkExprKind::And(parts) => parts.iter_mut().for_each(|part| part.visit_mut(change)),
            LarkExprKind::Not(inner)
            | LarkExprKind::Repeat(inner, ..)
            | LarkExprKind::If(inner, _) => inner.visit_mut(change),
            _ => {}
        }
    }
}

/// As it may be written: arguments of a template that print alike are the same, wherever they stand.
impl fmt::Debug for LarkExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            LarkExprKind::Name(name) => f.write_str(name),
            LarkExprKind::Template(name, arguments) => {
                write!(f, "{name}{{{}}}", written(arguments, ", "))
            }
            LarkExprKind::Text { text, caseless } => {
                write!(f, "{text:?}{}", if *caseless { "i" } else { "" })
            }
            LarkExprKind::Range(first, last) => {
                write!(f, "{:?}..{:?}", first.to_string(), last.to_string())
            }
            LarkExprKind::Pattern(pattern) => write!(f, "/{pattern}/"),
            LarkExprKind::Sequence(parts) => write!(f, "({})", written(parts, " ")),
            // An empty choice, unlike an empty sequence, is no text at all.
            LarkExprKind::Choice(parts) if parts.is_empty() => f.write_str("(~())"),
            LarkExprKind::Choice(parts) => write!(f, "({})", written(parts, " | ")),
            LarkExprKind::And(parts) => write!(f, "({})", written(parts, " & ")),
            LarkExprKind::Not(inner) => write!(f, "~{inner:?}"),
            LarkExprKind::Repeat(inner, min, None) => write!(f, "{inner:?}{{{min},}}"),
            LarkExprKind::Repeat(inner, min, Some(max)) => write!(f, "{inner:?}{{{min},{max}}}"),
            kind => kind.fmt(f),
        }
    }
}

/// Expressions as they may be written, with a sign between them.
pub(super) fn written(exprs: &[LarkExpr], between: &str) -> String {
    let exprs: Vec<String> = exprs.iter().map(|expr| format!("{expr:?}")).collect();
    exprs.join(between)
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
    /// Another grammar, by its name; the linked name of its start if it is in this notation.
    Grammar(String),
    Sequence(Vec<LarkExpr>),
    Choice(Vec<LarkExpr>),
    And(Vec<LarkExpr>),
    Not(Box<LarkExpr>),
    Repeat(Box<LarkExpr>, u32, Option<u32>),
    /// Spaces and tabs that make up the columns of the parameter, less so many; from `layout`.
    Blanks {
        tab: u64,
        less: u64,
    },
    /// An alternative for some values of the parameter.
    If(Box<LarkExpr>, ParameterCondition),
}

impl LarkExpr {
    /// Whether it is made of terminals alone.
    pub(super) fn is_of_terminals(&self) -> bool {
        let all = |parts: &[Self]| parts.iter().all(Self::is_of_terminals);
        match &self.kind {
            LarkExprKind::Name(name) => is_terminal(name),
            LarkExprKind::Text { .. }
            | LarkExprKind::Range(..)
            | LarkExprKind::Pattern(_)
            | LarkExprKind::Regex(_)
            | LarkExprKind::And(_)
            | LarkExprKind::Not(_) => true,
            LarkExprKind::Sequence(parts) | LarkExprKind::Choice(parts) => all(parts),
            LarkExprKind::Repeat(inner, ..) => inner.is_of_terminals(),
            _ => false,
        }
    }
}

/// Whether a name is that of a terminal: its first letter is a capital. Leading underscores are
/// skipped, and so is the module of a linked name.
pub(super) fn is_terminal(name: &str) -> bool {
    let name = name.rsplit(MODULE_SEPARATOR).next().unwrap_or(name);
    name.trim_start_matches('_').starts_with(|c: char| c.is_uppercase())
}
