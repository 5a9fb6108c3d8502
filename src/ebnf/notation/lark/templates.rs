//! Templates: rules that are instantiated for the arguments that they are used with.
//!
//! `sep{item, sign}: item (sign item)*` used as `sep{NUMBER, ","}` becomes a rule of that name with
//! the body `NUMBER ("," NUMBER)*`. A rule with a parameter is a template whose argument is a
//! number.

use rustc_hash::FxHashMap;

use super::ast::{LarkDefinition, LarkExpr, LarkExprKind, is_terminal};
use super::modules::{LinkedDefinition, LinkedGrammar};
use crate::ebnf::grammar_text::GrammarText;
use crate::error::Result;
use crate::grammar::parameter::ParameterFunction;

/// The templates of a grammar, by name.
///
/// Errors if a terminal is one.
pub(super) fn collect<'f>(
    text: &GrammarText<'_>,
    grammar: &'f LinkedGrammar,
) -> Result<FxHashMap<&'f str, &'f LinkedDefinition>> {
    let mut templates: FxHashMap<&str, &LinkedDefinition> = FxHashMap::default();
    for linked in grammar.definitions.iter().filter(|linked| linked.definition.is_template()) {
        let definition = &linked.definition;
        let LarkDefinition { at, name, .. } = definition;
        if is_terminal(name) {
            return Err(text
                .error(*at, "a terminal takes no parameters")
                .with_help("write the name of a template in small letters"));
        }
        if definition.is_parametric && !definition.parameters.is_empty() {
            return Err(text
                .error(*at, format!("`{name}` has arguments and a parameter of bits"))
                .with_help("let a template call a rule with a parameter"));
        }
        templates.insert(name, linked);
    }
    Ok(templates)
}

/// The values of the parameters in one use of a template.
#[derive(Default)]
pub(super) struct TemplateBindings<'s> {
    /// By name of a parameter: the argument.
    pub(super) exprs: FxHashMap<&'s str, &'s LarkExpr>,
    /// The parameter of 64 bits.
    pub(super) value: Option<u64>,
}

impl TemplateBindings<'_> {
    /// The expression with arguments in the place of parameters, and with the alternatives whose
    /// conditions hold.
    pub(super) fn substitute(&self, expr: &LarkExpr) -> LarkExpr {
        let all = |exprs: &[LarkExpr]| exprs.iter().map(|expr| self.substitute(expr)).collect();
        let kind = match (&expr.kind, self.value) {
            (LarkExprKind::Name(name), _) => match self.exprs.get(name.as_str()) {
                Some(&argument) => return argument.clone(),
                None => expr.kind.clone(),
            },
            (LarkExprKind::Parametric(name, function), Some(value)) => LarkExprKind::Parametric(
                name.clone(),
                ParameterFunction::Constant(function.apply(value)),
            ),
            (LarkExprKind::If(inner, condition), Some(value)) => {
                if condition.holds(value) {
                    return self.substitute(inner);
                }
                // The empty language.
                LarkExprKind::Choice(Vec::new())
            }
            (LarkExprKind::Template(name, arguments), _) => {
                // A template may be the argument of another one.
                let name = match self.exprs.get(name.as_str()).map(|argument| &argument.kind) {
                    Some(LarkExprKind::Name(argument)) => argument,
                    _ => name,
                };
                LarkExprKind::Template(name.clone(), all(arguments))
            }
            (LarkExprKind::Sequence(parts), _) => LarkExprKind::Sequence(all(parts)),
            (LarkExprKind::Choice(parts), _) => LarkExprKind::Choice(all(parts)),
            (LarkExprKind::And(parts), _) => LarkExprKind::And(all(parts)),
            (LarkExprKind::Not(inner), _) => LarkExprKind::Not(Box::new(self.substitute(inner))),
            (LarkExprKind::Repeat(inner, min, max), _) => {
                LarkExprKind::Repeat(Box::new(self.substitute(inner)), *min, *max)
            }
            (other, _) => other.clone(),
        };
        LarkExpr { at: expr.at, kind }
    }
}

/// The arguments of one use of a template.
pub(super) enum TemplateArguments {
    Exprs(Vec<LarkExpr>),
    Value(u64),
    /// The value is known when a text enters the rule.
    Entered,
}

impl TemplateArguments {
    /// The arguments by the names of the template's parameters.
    pub(super) fn bindings<'a>(&'a self, template: &'a LarkDefinition) -> TemplateBindings<'a> {
        let mut bindings = TemplateBindings::default();
        match self {
            Self::Exprs(exprs) => {
                let parameters = template.parameters.iter().map(String::as_str);
                bindings.exprs = parameters.zip(exprs).collect();
            }
            Self::Value(value) => bindings.value = Some(*value),
            Self::Entered => {}
        }
        bindings
    }

    /// Whether the instance has a parameter to pass on.
    pub(super) fn pass_parameter(&self) -> bool {
        match self {
            Self::Exprs(exprs) => exprs.iter().any(passes_on),
            Self::Value(_) => false,
            Self::Entered => true,
        }
    }
}

/// Whether an argument of a template has a part that depends on the parameter of the caller.
pub(super) fn passes_on(argument: &LarkExpr) -> bool {
    let mut found = false;
    argument.visit(&mut |expr| {
        found |= match &expr.kind {
            LarkExprKind::Parametric(_, function) => !function.is_constant(),
            LarkExprKind::If(..) => true,
            _ => false,
        };
    });
    found
}
