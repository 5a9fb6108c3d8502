//! The rules that uses of templates, and values of parameters, stand for.

use super::{LarkContext, LarkLowering, ParameterMode};
use crate::ebnf::expression::{ParameterExpr, RuleExpr, RuleExprKind};
use crate::ebnf::notation::lark::ast::{LarkExpr, written};
use crate::ebnf::notation::lark::templates::{TemplateArguments, passes_on};
use crate::ebnf::similar_name::most_similar;
use crate::error::{Error, Result};
use crate::grammar::parameter::ParameterFunction;

/// Uses of templates in a grammar, equal ones counted once. A template that calls itself with new arguments
/// each time reaches it.
const MAX_INSTANCES: usize = 2_000;
/// Bytes of the arguments of a template, printed.
const MAX_ARGUMENT_BYTES: usize = 10_000;

impl LarkLowering<'_> {
    pub(super) fn wrong_count(&self, at: usize, name: &str, given: usize) -> Error {
        let wanted = self.templates.get(name).map_or(0, |known| known.definition.parameters.len());
        self.text.error(at, format!("`{name}` takes {wanted} arguments, {given} are given"))
    }

    /// The rule of one use of a template.
    pub(super) fn instance(
        &mut self,
        at: usize,
        name: &str,
        arguments: &[LarkExpr],
        context: LarkContext,
    ) -> Result<RuleExpr> {
        if context == LarkContext::Terminal {
            return Err(self.text.error(at, "a template is a rule, and a terminal holds no rules"));
        }
        let template = self.templates.get(name).filter(|known| !known.definition.is_parametric);
        let Some(&template) = template else {
            let error = self.text.error(at, format!("there is no template `{name}`"));
            return Err(match most_similar(name, self.templates.keys().copied()) {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error.with_help(format!("define it as `{name}{{item}}: …`")),
            });
        };
        if template.definition.parameters.len() != arguments.len() {
            return Err(self.wrong_count(at, name, arguments.len()));
        }
        let printed = format!("{name}{{{}}}", written(arguments, ", "));
        let known = self.rules.is_known(&printed);
        self.instances += usize::from(!known);
        if printed.len() > MAX_ARGUMENT_BYTES || self.instances > MAX_INSTANCES {
            let message = if self.instances > MAX_INSTANCES {
                format!("templates are used with more than {MAX_INSTANCES} different arguments")
            } else {
                format!(
                    "arguments of the template `{name}` have more than {MAX_ARGUMENT_BYTES} bytes"
                )
            };
            return Err(self.text.error(at, message).with_help(
                "let a template that calls itself pass on its own arguments, not new ones",
            ));
        }
        let mut item = self.rules.call(&printed, at);
        if arguments.iter().any(passes_on) {
            let call = ParameterExpr::Call(self.rules.id(&printed, at), ParameterFunction::Same);
            item = RuleExpr::new(at, RuleExprKind::Parameter(call));
        }
        if !known {
            self.todo.push((printed, template, TemplateArguments::Exprs(arguments.to_vec())));
        }
        Ok(item)
    }

    /// The rule of one value of a parameter.
    pub(super) fn value(
        &mut self,
        at: usize,
        name: &str,
        function: ParameterFunction,
        context: LarkContext,
    ) -> Result<RuleExpr> {
        if context == LarkContext::Terminal {
            let message = "a rule with a parameter is no part of a terminal";
            return Err(self.text.error(at, message));
        }
        let Some(&template) =
            self.templates.get(name).filter(|known| known.definition.is_parametric)
        else {
            return Err(self
                .text
                .error(at, format!("there is no rule `{name}` with a parameter"))
                .with_help(format!("define it as `{name}::_: …`")));
        };
        if self.mode == ParameterMode::Entered && (self.has_parameter || function.is_constant()) {
            let written = format!("{name}::_");
            if !self.rules.is_known(&written) {
                self.todo.push((written.clone(), template, TemplateArguments::Entered));
            }
            let call = ParameterExpr::Call(self.rules.id(&written, at), function);
            return Ok(RuleExpr::new(at, RuleExprKind::Parameter(call)));
        }
        let ParameterFunction::Constant(value) = function else {
            return Err(self
                .text
                .error(at, "the rule that this stands in has no parameter to pass on")
                .with_help(format!("begin with a number, such as `{name}::0x0`")));
        };
        let written = format!("{name}::{value:#x}");
        if !self.rules.is_known(&written) {
            self.values += 1;
            if self.values > self.max_values {
                let most = self.max_values;
                let message = format!("calls reach more than {most} values of parameters");
                return Err(self.text.error(at, message).with_help(
                    "use fewer bits, or have no lazy rules: they need all values at once",
                ));
            }
            self.todo.push((written.clone(), template, TemplateArguments::Value(value)));
        }
        Ok(self.rules.call(&written, at))
    }
}
