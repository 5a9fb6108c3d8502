//! Templates: rules that are instantiated for the arguments that they are used with.
//!
//! `sep{item, sign}: item (sign item)*` used as `sep{NUMBER, ","}` becomes a rule of that name with
//! the body `NUMBER ("," NUMBER)*`. A rule with a parameter is a template whose argument is a
//! number.

use rustc_hash::FxHashMap;

use super::ast::{LarkDefinition, LarkExpr, LarkExprKind, LarkFile, is_terminal};
use super::parameter::ParameterFunction;
use crate::ebnf::grammar_text::GrammarText;
use crate::ebnf::rule_table::defined_twice;
use crate::error::Result;

/// The templates of a grammar, by name; errors if one has the name of another definition.
pub(super) fn collect<'f>(
    text: &GrammarText<'_>,
    file: &'f LarkFile,
) -> Result<FxHashMap<&'f str, &'f LarkDefinition>> {
    let mut templates: FxHashMap<&str, &LarkDefinition> = FxHashMap::default();
    for definition in file.definitions.iter().filter(|definition| definition.is_template()) {
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
        templates.insert(name, definition);
    }
    for definition in &file.definitions {
        let known = templates.get(definition.name.as_str());
        if known.is_some_and(|known| known.at != definition.at) {
            return Err(defined_twice(text, definition.at, &definition.name));
        }
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
