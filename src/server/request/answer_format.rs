//! The constraint on the answer: OpenAI's `response_format`, and the fields in which clients of vLLM,
//! SGLang and llama.cpp write it. At most one of them may be sent.

mod constraint_fields;
mod ecma_patterns;
mod field_values;
mod grammar_constraint;

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::constraint::{ConstraintCache, Formula, GrammarLayout};
use crate::error::{Error, LimitName};
use crate::grammar::Grammar;
use crate::json_schema::Resources;
use crate::{Compiler, Constraint, tools};

use super::constraint_options;
use super::fields::Fields;
use super::model_name::check_model;
use crate::server::api_error::{ApiError, with_cure};
use constraint_fields::{guided, llama_cpp, response_format, structured_outputs};
use field_values::{JsonFields, ResourceDocument, resources};
use grammar_constraint::{GrammarConstraint, GrammarFields};

pub(super) use field_values::strictness;

/// The constraint on the answer, and the field that it was read from.
pub(crate) struct AnswerFormat {
    field: String,
    constraint: AnswerConstraint,
    json: JsonFields,
    /// `constraint_options`.
    settings: Option<Value>,
    /// The way in which rules of a grammar become terminals.
    layout: GrammarLayout,
    /// Documents that references of the request's schemas may lead to, those of tools among them.
    resources: Vec<ResourceDocument>,
    /// Constraints of requests before, and a text of all that this one says of its constraint.
    cache: Option<(Arc<ConstraintCache>, String)>,
}

/// Kind of a constraint on the answer.
#[derive(PartialEq)]
enum AnswerConstraint {
    Text,
    JsonObject,
    Schema(Value),
    /// A formula, as [`Formula::read`] reads it.
    Formula(Value),
    Grammar(GrammarConstraint),
    StructuralTag(Value),
}

impl AnswerFormat {
    /// The same constraint with every rule of a grammar kept apart, for messages that name the
    /// innermost.
    pub(crate) fn by_rules(self) -> Self {
        Self { layout: GrammarLayout::ByRules, ..self }
    }

    /// The schema, where the constraint is one.
    pub(crate) fn schema(&self) -> Option<Cow<'_, Value>> {
        match &self.constraint {
            AnswerConstraint::Schema(schema) => Some(Cow::Borrowed(schema)),
            AnswerConstraint::JsonObject => Some(Cow::Owned(json!({ "type": "object" }))),
            _ => None,
        }
    }

    /// Whether the text is JSON by a schema, which options of JSON change.
    pub(crate) fn is_json(&self) -> bool {
        matches!(self.constraint, AnswerConstraint::Schema(_) | AnswerConstraint::JsonObject)
    }

    /// The field that the constraint was read from.
    pub(crate) fn field(&self) -> &str {
        &self.field
    }

    /// A compiler with the `constraint_options` of the request, whose schemas may refer to the
    /// request's documents.
    ///
    /// Errors if there is no such option, if a URI is not one of a whole document, or if two documents
    /// have the same.
    pub(crate) fn configure(&mut self, compiler: &Compiler) -> Result<Compiler, ApiError> {
        let configured = match &self.settings {
            Some(settings) => constraint_options::apply(compiler, settings)?,
            None => compiler.clone(),
        };
        let compiler = &configured;
        if self.resources.is_empty() {
            return Ok(configured);
        }
        let mut options = compiler.json_options().clone();
        let mut resources: Resources = options.resources;
        for ResourceDocument { field, uri, content } in std::mem::take(&mut self.resources) {
            let added = resources.with_value(&uri, content);
            resources = added.map_err(|error| ApiError::field(field, error))?;
        }
        options.resources = resources;
        Ok(compiler.clone().with_json_options(options))
    }

    /// Compiles the constraint; `None` for free text.
    pub(crate) fn compile(&self, compiler: &Compiler) -> Result<Option<Constraint>, ApiError> {
        let compiled = self.compiled(compiler).transpose();
        compiled.map_err(|error| self.error(error))
    }

    /// The same with the error that the compiler gives.
    pub(crate) fn compiled(&self, compiler: &Compiler) -> Option<crate::Result<Constraint>> {
        let compiler = &self.configured(compiler);
        Some(match &self.constraint {
            AnswerConstraint::Text => return None,
            AnswerConstraint::JsonObject => compiler.json_object(),
            AnswerConstraint::Schema(schema) => compiler.json_schema(schema),
            AnswerConstraint::Formula(_)
            | AnswerConstraint::Grammar(_)
            | AnswerConstraint::StructuralTag(_) => {
                self.grammar(compiler).and_then(|grammar| compiler.compile(grammar))
            }
        })
    }

    /// The same format, whose constraint is looked up among those of requests before it. The key is a
    /// text of all that the request says of its constraint.
    pub(crate) fn with_cache(self, cache: Arc<ConstraintCache>, key: String) -> Self {
        Self { cache: Some((cache, key)), ..self }
    }

    /// A constraint of the request, compiled unless a request before it had the same. `beside` is the part of the
    /// cache key that does not follow from the request's fields.
    pub(crate) fn looked_up(
        &self,
        beside: &str,
        mut compile: impl FnMut() -> crate::Result<Constraint>,
    ) -> crate::Result<Constraint> {
        match &self.cache {
            Some((cache, key)) => cache.get(&format!("{beside}{key}"), compile),
            None => compile(),
        }
    }

    /// Adds the constraint to tool calls, for messages without calls.
    pub(crate) fn add_to_calls(
        &self,
        calls: tools::ToolCalls,
        compiler: &Compiler,
    ) -> Result<tools::ToolCalls, ApiError> {
        let as_compiled = self.json.is_empty();
        Ok(match &self.constraint {
            AnswerConstraint::Text => calls,
            AnswerConstraint::JsonObject if as_compiled => {
                calls.with_answer_schema(json!({ "type": "object" }))
            }
            AnswerConstraint::Schema(schema) if as_compiled => {
                calls.with_answer_schema(schema.clone())
            }
            _ => {
                let grammar = self.grammar(&self.configured(compiler));
                calls.with_answer(grammar.map_err(|error| self.error(error))?)
            }
        })
    }

    /// The compiler with the options of JSON that stand beside the constraint.
    pub(crate) fn configured(&self, compiler: &Compiler) -> Compiler {
        if self.json.is_empty() {
            return compiler.clone();
        }
        let JsonFields { whitespace, strictness, style, .. } = &self.json;
        let mut options = compiler.json_options().clone();
        if let Some(style) = style {
            options.style = style.clone();
        }
        if let Some(whitespace) = whitespace {
            options.whitespace = whitespace.clone();
        }
        options.strictness = strictness.unwrap_or(options.strictness);
        compiler.clone().with_json_options(options)
    }

    fn grammar(&self, compiler: &Compiler) -> crate::Result<Grammar> {
        let formula = |formula: &Value| Formula::read(formula, compiler)?.grammar();
        match &self.constraint {
            // `compile` and `add_to_calls` have their own arm for it.
            AnswerConstraint::Text => formula(&json!({ "allOf": [] })),
            AnswerConstraint::JsonObject => formula(&json!({ "schema": { "type": "object" } })),
            AnswerConstraint::Schema(schema) => formula(&json!({ "schema": schema })),
            AnswerConstraint::Formula(value) => formula(value),
            AnswerConstraint::StructuralTag(tag) => tools::structural_tag(tag, compiler),
            AnswerConstraint::Grammar(constraint) => constraint.grammar(compiler, self.layout),
        }
    }

    /// Whether there is nothing to compile.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.constraint, AnswerConstraint::Text)
    }

    /// An error of the constraint.
    pub(crate) fn error(&self, error: Error) -> ApiError {
        self.error_at(&self.field, &error)
    }

    /// An error of what a field says; where the request has lowered the limit that was reached, of that limit.
    pub(crate) fn error_at(&self, field: &str, error: &Error) -> ApiError {
        let limit = error.limit().map(LimitName::as_str);
        let lowered = limit.and_then(|limit| {
            let limits = self.settings.as_ref()?.get("limits")?;
            limits.get(limit).and(Some(format!("constraint_options.limits.{limit}")))
        });
        match lowered {
            Some(field) => ApiError::field(field, error),
            None => ApiError::field(field, with_cure(error)),
        }
    }
}

/// Reads all fields that constrain the answer.
///
/// Errors if more than one is sent.
pub(crate) fn read(fields: &mut Fields) -> Result<AnswerFormat, ApiError> {
    let mut found: Vec<(String, AnswerConstraint)> = Vec::new();
    let mut documents = resources(fields)?;
    let settings = constraint_options::read(fields)?;
    let mut json = JsonFields::default();
    found.extend(response_format(fields, &mut documents, &mut json)?);
    if let Some(value) = fields.value("structured_outputs") {
        found.push(structured_outputs(value, &mut documents, &mut json)?);
    }
    let options = GrammarFields::read(fields)?;
    let in_structured_outputs = !found.is_empty();
    found.extend(guided(fields, &options, &mut json)?);
    found.extend(llama_cpp(fields, &options)?);
    match (found.first(), options.sent.first()) {
        (None, Some(option)) => {
            let message = "needs a grammar or a regular expression beside it";
            return Err(ApiError::field(option, message));
        }
        (Some((field, _)), Some(option)) if in_structured_outputs => {
            let message = format!("does not apply to `{field}`; write it beside its constraint");
            return Err(ApiError::field(option, message));
        }
        (Some((field, constraint)), _) => options.check(field, constraint)?,
        (None, None) => {}
    }
    if let Some(option) = json.whitespace_field {
        let of_text = ["guided_regex", "guided_choice", "regex"];
        if found.first().is_none_or(|(field, _)| of_text.contains(&field.as_str())) {
            return Err(ApiError::field(option, "needs a constraint on JSON beside it"));
        }
    }
    let has_gaps =
        |settings: &Value| settings.get("whitespace").or(settings.get("max_whitespace")).is_some();
    if json.whitespace.is_some() && settings.as_ref().is_some_and(has_gaps) {
        let message = "says what whitespace there may be, and so does a field beside the constraint; \
                       write one of them";
        return Err(ApiError::field("constraint_options", message));
    }
    // Clients of several versions of vLLM write one constraint by its old name and by its new one.
    let mut found = found.into_iter();
    let Some((field, constraint)) = found.next() else {
        let (field, constraint) = (String::new(), AnswerConstraint::Text);
        return Ok(AnswerFormat {
            field,
            constraint,
            json: JsonFields::default(),
            settings,
            layout: GrammarLayout::Merged,
            resources: documents,
            cache: None,
        });
    };
    if let Some((second, _)) = found.find(|(_, second)| *second != constraint) {
        let message = format!(
            "says what the answer must be, and so does `{field}`; write one of them, or both in \
             {{\"structured_outputs\": {{\"allOf\": […]}}}}"
        );
        return Err(ApiError::conflict(second, &field, message));
    }
    let layout = GrammarLayout::Merged;
    Ok(AnswerFormat {
        field,
        constraint,
        json,
        settings,
        layout,
        resources: documents,
        cache: None,
    })
}

/// The constraint of a request that asks for no answer of the model.
///
/// Errors if there is none.
pub(crate) fn read_constraint(
    fields: &mut Fields,
    models: &[String],
) -> Result<AnswerFormat, ApiError> {
    check_model(fields, models)?;
    let format = read(fields)?;
    if format.is_text() {
        fields.refuse_client_parameter()?;
        let message =
            "there is no constraint; write one, such as {\"json_schema\": {\"type\": \"object\"}}";
        return Err(ApiError::bad(message));
    }
    Ok(format)
}
