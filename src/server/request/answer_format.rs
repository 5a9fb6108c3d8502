//! The constraint on the answer: OpenAI's `response_format`, and the fields in which clients of vLLM,
//! SGLang and llama.cpp write it. At most one of them may be sent.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::constraint::{ConstraintCache, Formula, GrammarLayout, GrammarOptions};
use crate::ebnf::{self, Dialect};
use crate::error::Error;
use crate::grammar::Grammar;
use crate::json_schema::{Resources, Strictness, Style, Whitespace};
use crate::{Compiler, Constraint, regular, strict_json, tools};

use super::constraint_options;
use super::fields::{Fields, wrong};
use crate::server::api_error::{ApiError, with_cure};

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

/// Options of JSON, where the request chooses them.
#[derive(Default)]
struct JsonFields {
    whitespace: Option<Whitespace>,
    strictness: Option<Strictness>,
    style: Option<Style>,
}

impl JsonFields {
    fn is_empty(&self) -> bool {
        let Self { whitespace, strictness, style } = self;
        whitespace.is_none() && strictness.is_none() && style.is_none()
    }
}

/// A document that the request brings with it.
struct ResourceDocument {
    /// The field that it was read from.
    field: String,
    uri: String,
    content: Value,
}

/// Kind of a constraint on the answer.
enum AnswerConstraint {
    Text,
    JsonObject,
    Schema(Value),
    /// A formula, as [`Formula::read`] reads it.
    Formula(Value),
    Grammar(GrammarConstraint),
    StructuralTag(Value),
}

/// A grammar, or the name of a ready one.
struct GrammarConstraint {
    text: String,
    /// Its notation; without one the notation that it looks like.
    dialect: Option<Dialect>,
    start: Option<String>,
    regex_dialect: Option<regular::Dialect>,
}

/// The fields beside a grammar or a pattern: its start rule, and the dialect of its regular expressions.
#[derive(Default)]
struct GrammarFields {
    start: Option<String>,
    regex_dialect: Option<regular::Dialect>,
    /// The fields that were sent.
    sent: Vec<String>,
}

impl GrammarFields {
    fn read(fields: &mut Fields) -> Result<Self, ApiError> {
        let mut sent = Vec::new();
        let start = fields.string("start")?;
        sent.extend(start.as_ref().map(|_| fields.name("start")));
        let name = fields.name("regex_dialect");
        let dialect = fields.string("regex_dialect")?.map(|name| name.parse::<regular::Dialect>());
        let regex_dialect =
            dialect.transpose().map_err(|error| ApiError::field(&name, with_cure(&error)))?;
        sent.extend(regex_dialect.map(|_| name));
        Ok(Self { start, regex_dialect, sent })
    }

    fn grammar(&self, text: String, dialect: Option<Dialect>) -> AnswerConstraint {
        let (start, regex_dialect) = (self.start.clone(), self.regex_dialect);
        AnswerConstraint::Grammar(GrammarConstraint { text, dialect, start, regex_dialect })
    }

    /// A formula of one member, which a start rule and a dialect stand beside.
    fn formula(&self, field: &str, key: &str, value: Value) -> Result<AnswerConstraint, ApiError> {
        let mut formula = Map::from_iter([(key.to_owned(), value)]);
        if let Some(start) = &self.start {
            formula.insert("start".to_owned(), json!(start));
        }
        if let Some(dialect) = self.regex_dialect {
            formula.insert("regex_dialect".to_owned(), json!(dialect.name()));
        }
        let formula = without_nulls(Value::Object(formula));
        Ok(AnswerConstraint::Formula(in_ecma(field, formula)?))
    }

    /// Errors if something was sent that says nothing of the constraint that `field` has.
    fn check(&self, field: &str, constraint: &AnswerConstraint) -> Result<(), ApiError> {
        let applies =
            matches!(constraint, AnswerConstraint::Grammar(_) | AnswerConstraint::Formula(_));
        match self.sent.first() {
            Some(option) if !applies => Err(ApiError::field(
                option,
                format!("says nothing of `{field}`; it is for a grammar or a regular expression"),
            )),
            _ => Ok(()),
        }
    }
}

impl GrammarConstraint {
    fn grammar(&self, compiler: &Compiler, layout: GrammarLayout) -> crate::Result<Grammar> {
        let Self { text, dialect, start, regex_dialect } = self;
        let options = GrammarOptions { start: start.clone(), layout };
        if let Some(ready) = ebnf::builtin(text).filter(|_| dialect.is_none()) {
            if regex_dialect.is_some() {
                let message = "the dialect of a ready grammar's regular expressions is known";
                return Err(Error::new(crate::ErrorKind::Grammar, message)
                    .with_help("leave out `regex_dialect`"));
            }
            return compiler.parse_grammar_with_options(ready.text, ready.dialect, &options);
        }
        let guess = || Dialect::guess_with_reason(text);
        let Some((read_as, reason)) = dialect.map(|dialect| (dialect, "")).or_else(guess) else {
            let names: Vec<_> = ebnf::GRAMMARS.iter().map(|ready| ready.name).collect();
            let message = "this is no grammar, and the name of none that is here";
            return Err(Error::new(crate::ErrorKind::Grammar, message)
                .with_help(format!("write its rules; or one of {}", names.join(", "))));
        };
        let other = regex_dialect.map(|dialect| compiler.clone().with_regex_dialect(dialect));
        let compiler = other.as_ref().unwrap_or(compiler);
        let grammar = compiler.parse_grammar_with_options(text, read_as, &options);
        grammar.map_err(|error| match (dialect, error.help()) {
            (None, None) => error.with_help(format!(
                "it was read as {read_as}, for {reason}; {{\"structured_outputs\": {{\"{}\": …}}}} says which \
                 notation it is",
                read_as.name()
            )),
            _ => error,
        })
    }
}

impl AnswerFormat {
    /// The same constraint with every rule of a grammar kept apart, for messages that name the
    /// innermost.
    pub(crate) fn by_rules(self) -> Self {
        Self { layout: GrammarLayout::ByRules, ..self }
    }

    /// The schema, where the constraint is one.
    pub(crate) fn schema(&self) -> Option<Value> {
        match &self.constraint {
            AnswerConstraint::Schema(schema) => Some(schema.clone()),
            AnswerConstraint::JsonObject => Some(json!({ "type": "object" })),
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

    /// A constraint of the request, compiled unless a request before it had the same. `beside` is what
    /// bears on it beside the request's fields.
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

    /// The compiler with the options of the request.
    fn configured(&self, compiler: &Compiler) -> Compiler {
        if self.json.is_empty() {
            return compiler.clone();
        }
        let JsonFields { whitespace, strictness, style } = &self.json;
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

    pub(crate) fn error(&self, error: Error) -> ApiError {
        ApiError::field(&self.field, with_cure(&error))
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
            let message = "says nothing without a grammar or a regular expression beside it";
            return Err(ApiError::field(option, message));
        }
        (Some((field, _)), Some(option)) if in_structured_outputs => {
            let message = format!("says nothing of `{field}`; write it beside its constraint");
            return Err(ApiError::field(option, message));
        }
        (Some((field, constraint)), _) => options.check(field, constraint)?,
        (None, None) => {}
    }
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
    if let Some((second, _)) = found.next() {
        let message = format!(
            "says what the answer must be, and so does `{field}`; write one of them, or both in \
             {{\"structured_outputs\": {{\"allOf\": […]}}}}"
        );
        return Err(ApiError::field(second, message));
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

/// vLLM's `structured_outputs`: one constraint, and options of JSON. Members of formulas are
/// accepted beside its own.
fn structured_outputs(
    value: Value,
    documents: &mut Vec<ResourceDocument>,
    json: &mut JsonFields,
) -> Result<(String, AnswerConstraint), ApiError> {
    let mut fields = Fields::new("structured_outputs", value)?;
    documents.extend(resources(&mut fields)?);
    let mut found = Vec::new();
    if let Some(schema) = schema(&mut fields, "json")? {
        found.push((fields.name("json"), AnswerConstraint::Schema(schema)));
    }
    if fields.flag("json_object")?.unwrap_or(false) {
        found.push((fields.name("json_object"), AnswerConstraint::JsonObject));
    }
    let options = GrammarFields::read(&mut fields)?;
    if let Some(text) = fields.string("grammar")? {
        found.push((fields.name("grammar"), options.grammar(text, None)));
    }
    if let Some(tag) = json_or_text(&mut fields, "structural_tag")? {
        found.push((
            fields.name("structural_tag"),
            AnswerConstraint::StructuralTag(without_nulls(tag)),
        ));
    }
    let dialects = Dialect::ALL.map(Dialect::name);
    let own = ["regex", "choice", "search", "quote", "schema", "allOf", "anyOf", "not"];
    for key in own.into_iter().chain(dialects) {
        if let Some(value) = fields.value(key) {
            let name = fields.name(key);
            let formula = options.formula(&name, key, value)?;
            found.push((name, formula));
        }
    }
    json.whitespace = whitespace(&mut fields, "whitespace_pattern", "disable_any_whitespace")?;
    if fields.flag("disable_additional_properties")?.unwrap_or(false) {
        json.strictness = Some(Strictness::Closed);
    }
    let style_name = fields.string("style")?;
    if let Some(name) = &style_name {
        let style = Style::named(name);
        let style = style.map_err(|error| ApiError::field(fields.name("style"), with_cure(&error)));
        json.style = Some(style?);
    }
    // It lets another engine step in; there is one here.
    fields.ignore("disable_fallback");
    fields.finish()?;
    let mut found = found.into_iter();
    match (found.next(), found.next()) {
        (Some((of, constraint)), None)
            if style_name.is_some()
                && !matches!(
                    constraint,
                    AnswerConstraint::Schema(_) | AnswerConstraint::JsonObject
                ) =>
        {
            let message = format!("says nothing of `{of}`; it is for json and json_object");
            Err(ApiError::field("structured_outputs.style", message))
        }
        (Some((of, constraint)), None) => {
            options.check(&of, &constraint)?;
            Ok((of, constraint))
        }
        (Some((first, _)), Some((second, _))) => {
            let message = format!(
                "stands beside `{first}`; write one of them, or both as a list of `allOf` or `anyOf`"
            );
            Err(ApiError::field(second, message))
        }
        (None, _) => Err(ApiError::field(
            "structured_outputs",
            "has no constraint; write json, json_object, regex, choice, grammar, structural_tag, \
             or allOf, anyOf, not around such",
        )),
    }
}

/// vLLM's older fields, `guided_*`.
fn guided(
    fields: &mut Fields,
    options: &GrammarFields,
    json: &mut JsonFields,
) -> Result<Vec<(String, AnswerConstraint)>, ApiError> {
    let mut found = Vec::new();
    if let Some(schema) = schema(fields, "guided_json")? {
        found.push(("guided_json".to_owned(), AnswerConstraint::Schema(schema)));
    }
    if fields.flag("guided_json_object")?.unwrap_or(false) {
        found.push(("guided_json_object".to_owned(), AnswerConstraint::JsonObject));
    }
    for (field, key) in [("guided_regex", "regex"), ("guided_choice", "choice")] {
        if let Some(value) = fields.value(field) {
            found.push((field.to_owned(), options.formula(field, key, value)?));
        }
    }
    if let Some(text) = fields.string("guided_grammar")? {
        found.push(("guided_grammar".to_owned(), options.grammar(text, None)));
    }
    if let Some(tag) = json_or_text(fields, "structural_tag")? {
        let tag = AnswerConstraint::StructuralTag(without_nulls(tag));
        found.push(("structural_tag".to_owned(), tag));
    }
    fields.ignore("guided_decoding_backend");
    let given = whitespace(fields, "guided_whitespace_pattern", "guided_disable_any_whitespace")?;
    json.whitespace = json.whitespace.take().or(given);
    Ok(found)
}

/// llama.cpp's `grammar` (GBNF) and `json_schema`, SGLang's `regex` and `ebnf` (GBNF, too).
fn llama_cpp(
    fields: &mut Fields,
    options: &GrammarFields,
) -> Result<Vec<(String, AnswerConstraint)>, ApiError> {
    let mut found = Vec::new();
    for field in ["grammar", "ebnf"] {
        // llama.cpp's clients send an empty one for none.
        if let Some(text) = fields.string(field)?.filter(|text| !text.is_empty()) {
            let ready = ebnf::builtin(&text).is_some();
            let dialect = if ready { None } else { Some(Dialect::Gbnf) };
            found.push((field.to_owned(), options.grammar(text, dialect)));
        }
    }
    if let Some(schema) = schema(fields, "json_schema")? {
        found.push(("json_schema".to_owned(), AnswerConstraint::Schema(schema)));
    }
    if let Some(pattern) = fields.string("regex")? {
        found.push(("regex".to_owned(), options.formula("regex", "regex", json!(pattern))?));
    }
    Ok(found)
}

/// OpenAI's, with llama.cpp's schema beside `json_object` and vLLM's structural tags.
fn response_format(
    fields: &mut Fields,
    documents: &mut Vec<ResourceDocument>,
    json: &mut JsonFields,
) -> Result<Option<(String, AnswerConstraint)>, ApiError> {
    let Some(value) = fields.value("response_format") else { return Ok(None) };
    if value["type"] == "structural_tag" {
        let tag = AnswerConstraint::StructuralTag(without_nulls(value));
        return Ok(Some(("response_format".to_owned(), tag)));
    }
    let mut format = Fields::new("response_format", value)?;
    let wanted = "\"text\", \"json_object\", \"json_schema\" or \"structural_tag\"";
    let Some(kind) = format.value("type") else {
        return Err(ApiError::field("response_format.type", format!("is missing; write {wanted}")));
    };
    let mut field = "response_format".to_owned();
    let constraint = match kind.as_str() {
        Some("text") => None,
        Some("json_object") => Some(match schema(&mut format, "schema")? {
            Some(schema) => {
                field = format.name("schema");
                AnswerConstraint::Schema(schema)
            }
            None => AnswerConstraint::JsonObject,
        }),
        Some("json_schema") => {
            field = "response_format.json_schema.schema".to_owned();
            Some(AnswerConstraint::Schema(json_schema(&mut format, documents, json)?))
        }
        _ => return Err(wrong("response_format.type", wanted, &kind)),
    };
    documents.extend(resources(&mut format)?);
    format.finish()?;
    Ok(constraint.map(|constraint| (field, constraint)))
}

fn json_schema(
    format: &mut Fields,
    documents: &mut Vec<ResourceDocument>,
    json: &mut JsonFields,
) -> Result<Value, ApiError> {
    let name = format.name("json_schema");
    let Some(value) = format.value("json_schema") else {
        return Err(ApiError::field(name, "is missing; write an object with `name` and `schema`"));
    };
    let mut fields = Fields::new(name, value)?;
    let schema = fields.value("schema");
    // Neither is text that the model reads.
    fields.string("name")?;
    fields.string("description")?;
    json.strictness = strictness(&mut fields)?;
    documents.extend(resources(&mut fields)?);
    let missing = fields.name("schema");
    fields.finish()?;
    schema.ok_or_else(|| ApiError::field(missing, "is missing; write the JSON Schema"))
}

/// OpenAI's `strict`. Every schema is enforced, strict or not.
pub(super) fn strictness(fields: &mut Fields) -> Result<Option<Strictness>, ApiError> {
    Ok(fields.flag("strict")?.map(|strict| match strict {
        true => Strictness::Closed,
        false => Strictness::AsWritten,
    }))
}

/// `resources`: documents by URI that references of schemas may lead to.
fn resources(fields: &mut Fields) -> Result<Vec<ResourceDocument>, ApiError> {
    let name = fields.name("resources");
    let documents = match fields.value("resources") {
        None => return Ok(Vec::new()),
        Some(Value::Object(documents)) => documents,
        Some(value) => return Err(wrong(&name, "an object from URIs to JSON Schemas", &value)),
    };
    let read = |(uri, content): (String, Value)| {
        if content.is_object() || content.is_boolean() {
            Ok(ResourceDocument { field: name.clone(), uri, content })
        } else {
            Err(wrong(&format!("{name}.{uri}"), "a JSON Schema", &content))
        }
    };
    documents.into_iter().map(read).collect()
}

/// A formula whose regular expressions are ECMA-262's where it does not say otherwise, as in XGrammar,
/// the usual engine of vLLM and SGLang.
///
/// Errors if a pattern whose dialect is not named has in a class what is characters in ECMA-262 and more in
/// Rust's dialect, since a client of another engine may mean either.
fn in_ecma(field: &str, formula: Value) -> Result<Value, ApiError> {
    let Value::Object(mut members) = formula else { return Ok(formula) };
    for key in ["allOf", "anyOf"] {
        if let Some(Value::Array(parts)) = members.get_mut(key) {
            for part in parts {
                *part = in_ecma(field, part.take())?;
            }
        }
    }
    if let Some(part) = members.get_mut("not") {
        *part = in_ecma(field, part.take())?;
    }
    let pattern = ["regex", "search"].iter().find_map(|key| members.get(*key));
    if let Some(pattern) = pattern.filter(|_| !members.contains_key("regex_dialect")) {
        if let Some(operator) = pattern.as_str().and_then(class_operator) {
            let message = format!(
                "has `{operator}` in a class, which is no more than its characters in ECMA-262; name the \
                 `regex_dialect`: \"rust\", whose classes have it, or \"ecma\""
            );
            return Err(ApiError::field(field, message));
        }
        members.insert("regex_dialect".to_owned(), json!("ecma"));
    }
    Ok(Value::Object(members))
}

/// The first operator or named class of Rust's character classes that stands in a class of a pattern, but
/// `--`, which as characters would be a range that counts down or one of no use.
fn class_operator(pattern: &str) -> Option<&str> {
    let (mut in_class, mut at) = (false, 0);
    while let Some(c) = pattern[at..].chars().next() {
        let rest = &pattern[at..];
        match c {
            '\\' => at += rest.chars().nth(1).map_or(0, char::len_utf8),
            '[' if in_class => {
                let name = rest.strip_prefix("[:").and_then(|rest| rest.split_once(":]"));
                match name {
                    Some((name, _))
                        if name.bytes().all(|b| b.is_ascii_lowercase() || b == b'^') =>
                    {
                        return Some(&rest[..name.len() + 4]);
                    }
                    _ => {}
                }
            }
            '[' => in_class = true,
            ']' => in_class = false,
            _ if in_class && (rest.starts_with("&&") || rest.starts_with("~~")) => {
                return Some(&rest[..2]);
            }
            _ => {}
        }
        at += c.len_utf8();
    }
    None
}

/// A value without null members, which count as absent in all fields of a request. In schemas null
/// has a meaning, so they stay as they are.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, value)| !value.is_null());
            let kept = kept.map(|(key, value)| match key.as_str() {
                "schema" | "json_schema" => (key, value),
                _ => (key, without_nulls(value)),
            });
            Value::Object(kept.collect())
        }
        Value::Array(items) => items.into_iter().map(without_nulls).collect(),
        value => value,
    }
}

/// A schema, as JSON or as its text.
fn schema(fields: &mut Fields, field: &str) -> Result<Option<Value>, ApiError> {
    let Some(value) = json_or_text(fields, field)? else { return Ok(None) };
    match value.is_object() || value.is_boolean() {
        true => Ok(Some(value)),
        false => Err(wrong(&fields.name(field), "a JSON Schema", &value)),
    }
}

fn json_or_text(fields: &mut Fields, field: &str) -> Result<Option<Value>, ApiError> {
    match fields.value(field) {
        Some(Value::String(text)) => match strict_json::parse(&text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => Err(ApiError::json(Some(&fields.name(field)), &error)),
        },
        value => Ok(value),
    }
}

fn whitespace(
    fields: &mut Fields,
    pattern: &str,
    none: &str,
) -> Result<Option<Whitespace>, ApiError> {
    let none = fields.flag(none)?.unwrap_or(false);
    let pattern = fields.string(pattern)?.map(Whitespace::Pattern);
    Ok(if none { Some(Whitespace::Compact) } else { pattern })
}
