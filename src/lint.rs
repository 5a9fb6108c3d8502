//! What a schema does to generation, keyword by keyword, and what its author probably meant.
//!
//! ```
//! use maskwright::json_schema::{FindingKind, Options, Schema};
//! let schema = Schema::from_text(r#"{"type": "object", "properties": {"name": {"type": "string",
//!     "maxLenght": 5}}, "required": ["nmae"]}"#)?;
//! let lint = schema.lint(&Options::default());
//! let hints: Vec<&str> = lint.findings.iter().filter(|f| f.kind == FindingKind::Hint)
//!     .map(|f| f.message.as_str()).collect();
//! assert!(hints.iter().any(|hint| hint.contains("did you mean `maxLength`?")));
//! assert!(hints.iter().any(|hint| hint.contains("did you mean `name`?")));
//! # Ok::<(), maskwright::Error>(())
//! ```

mod effects;
mod foreign;
mod members;
mod mistakes;
mod patterns;
mod size;
mod values;

use std::fmt;
use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::json_schema::Schema;
use crate::constraint::Compiler;
use crate::error::Error;
use crate::json_schema::document::draft::{Dialect, Draft, Holds, holds};
use crate::json_schema::document::hints::{TYPES, nearest};
use crate::json_schema::document::references::References;
use crate::json_schema::document::resources::Resources;
use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::options::{Options, PropertyOrder};
use crate::json_schema::satisfiability::unsat_core::schemas;
use crate::json_schema::set::Sets;
use crate::limits::Limits;
use crate::vocabulary::Vocabulary;

/// Under these a schema refines another, which says the type.
const REFINING: &[&str] =
    &["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];

/// What a finding is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FindingKind {
    /// The keyword is enforced: no text that breaks it is ever written.
    Enforced,
    /// The keyword says something to people; nothing is enforced.
    Annotation,
    /// The keyword has no effect where it stands.
    Ignored,
    /// In which order members are written.
    Order,
    /// The author probably meant something else.
    Hint,
    /// Why generation would be slow, or compiling fail on other schemas of the kind.
    Cost,
    /// The schema is refused for this.
    Error,
}

impl FindingKind {
    /// One lower-case word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Annotation => "annotation",
            Self::Ignored => "ignored",
            Self::Order => "order",
            Self::Hint => "hint",
            Self::Cost => "cost",
            Self::Error => "error",
        }
    }
}

/// One thing worth knowing about a place in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// JSON pointer of the keyword or schema; the root is the empty string.
    pub pointer: String,
    /// Line and column, both from 1, if the schema was given as text.
    pub line_column: Option<(usize, usize)>,
    /// What it is about.
    pub kind: FindingKind,
    /// In words, without a final full stop.
    pub message: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((line, column)) = self.line_column {
            write!(f, "{line}:{column}: ")?;
        }
        let pointer = if self.pointer.is_empty() { "the root" } else { &self.pointer };
        write!(f, "{pointer}: {}: {}", self.kind.name(), self.message)
    }
}

/// What is to be said about a schema.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Lint {
    /// In the order of the document.
    pub findings: Vec<Finding>,
    /// No accepted text has fewer bytes (without white space). `None` if there is no text.
    pub least_bytes: Option<u64>,
    /// No accepted text has more bytes (without white space). `None` if there is no such bound, or
    /// none that is soon found.
    pub most_bytes: Option<u64>,
    /// Why the schema is refused, if it is.
    pub error: Option<Error>,
}

impl Schema {
    /// Says for each keyword what it does to generation under these options, in which order
    /// members are written, how long the text is at least and at most, what would be slow, and
    /// what the author probably meant where a common mistake is seen.
    pub fn lint(&self, options: &Options) -> Lint {
        self.lint_within(options, &Limits::default())
    }

    /// What in it is not enforced although it looks so: formats, if formats are enforced under these
    /// options (unknown ones, `idn-hostname`, and `regex` beside other conditions on the string),
    /// and a `$schema` that names no draft that is known. Linear in the schema.
    ///
    /// ```
    /// use maskwright::json_schema::{Options, Schema};
    /// let schema = Schema::from_text(r#"{"properties": {"host": {"format": "idn-hostname"}}}"#)?;
    /// let left_out = schema.not_enforced(&Options::default());
    /// assert_eq!(left_out[0].pointer, "/properties/host/format");
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn not_enforced(&self, options: &Options) -> Vec<Finding> {
        let supplied = self.clone().with_resources(&options.resources);
        let document = supplied.as_ref().map_or(&self.document, |schema| &schema.document);
        let mut linter = Linter::new(document, options);
        for schema in schemas(document, document.root()) {
            if let Some(at) = document.get(schema, "$schema")
                && let Some(message) = linter.unknown_draft(at)
            {
                linter.find(at, FindingKind::Hint, message);
            }
            let Some(at) = document.get(schema, "format") else { continue };
            let Ok(dialect) = linter.references.dialect(document, schema) else { continue };
            if options.formats || dialect.asserts_formats() {
                linter.format(schema, at, "", dialect);
            }
        }
        let mut findings = linter.findings;
        findings.retain(|finding| finding.kind != FindingKind::Enforced);
        findings.sort_by_key(|finding| finding.line_column);
        findings
    }

    /// The same for a compiler with these limits.
    pub fn lint_within(&self, options: &Options, limits: &Limits) -> Lint {
        match self.clone().with_resources(&options.resources) {
            Ok(supplied) => supplied.lint_supplied(options, limits),
            Err(error) => Lint { error: Some(error), ..self.lint_supplied(options, limits) },
        }
    }

    /// The same where all documents are supplied.
    fn lint_supplied(&self, options: &Options, limits: &Limits) -> Lint {
        let document = &self.document;
        let mut linter = Linter::new(document, options);
        let root = document.root();
        if let Some(schema) = foreign::wrapped(document, root) {
            let message = format!(
                "this is what OpenAI's and other APIs wrap around a schema, and says nothing of the \
                 text: did you mean what stands at `{}` alone?",
                document.pointer(schema)
            );
            linter.find(root, FindingKind::Hint, message);
        }
        // What is not found out within that time is not said.
        let _ = limits.compiling(|| {
            linter.schema(root, "");
            Ok(())
        });
        let error = self.refused(options, limits);
        let (least_bytes, most_bytes) = match &error {
            Some(_) => (None, None),
            None => limits.compiling(|| Ok(linter.sizes(root))).unwrap_or_default(),
        };
        let mut findings = linter.findings;
        let malformed = linter.sets.malformed_everywhere(root);
        let mut refusals: Vec<Finding> = malformed.iter().map(refusal).collect();
        refusals.extend(error.as_ref().map(refusal).filter(|first| !refusals.contains(first)));
        findings.extend(refusals);
        // All that is said of a place stands together.
        findings.sort_by_key(|finding| finding.line_column);
        Lint { findings, least_bytes, most_bytes, error }
    }
}

impl Schema {
    /// Why a compiler with these limits takes no text of the schema, if it does not: by its first
    /// mask, if no sooner.
    fn refused(&self, options: &Options, limits: &Limits) -> Option<Error> {
        let bytes = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
        let compile = |vocabulary| {
            let compiler = Compiler::new(vocabulary)
                .with_limits(limits.clone())
                // They are supplied with the schema.
                .with_json_options(Options { resources: Resources::default(), ..options.clone() });
            compiler.schema(self.clone())?.matcher().mask().map(drop)
        };
        Vocabulary::from_tokens(bytes, &[], &[]).and_then(compile).err()
    }
}

/// What a schema is refused for.
fn refusal(error: &Error) -> Finding {
    Finding {
        pointer: error.place().pointer.clone().unwrap_or_default(),
        line_column: error.place().line_column,
        kind: FindingKind::Error,
        message: match error.help() {
            Some(help) => format!("{}; {help}", error.message()),
            None => error.message().to_owned(),
        },
    }
}

/// A walk over the schemas of a document.
struct Linter<'d> {
    document: &'d Document,
    options: &'d Options,
    sets: Sets<'d>,
    references: References,
    findings: Vec<Finding>,
    seen: FxHashSet<ValueId>,
    /// Schemas without a value so far.
    diagnosed: usize,
    /// Parts of objects, once looked for.
    bases: Option<Rc<FxHashSet<ValueId>>>,
}

impl<'d> Linter<'d> {
    fn new(document: &'d Document, options: &'d Options) -> Self {
        Self {
            document,
            options,
            sets: Sets::new(document, options),
            references: References::new(options.draft),
            findings: Vec::new(),
            seen: FxHashSet::default(),
            diagnosed: 0,
            bases: None,
        }
    }

    fn has(&self, schema: ValueId, keyword: &str) -> bool {
        self.document.get(schema, keyword).is_some()
    }

    /// The names that `type` has, if it is there.
    fn types(&self, schema: ValueId) -> Option<Vec<&'d str>> {
        let at = self.document.get(schema, "type")?;
        match self.document.value(at) {
            Value::Array(names) => names.iter().map(|&name| self.document.string(name)).collect(),
            _ => Some(vec![self.document.string(at)?]),
        }
    }

    fn find(&mut self, at: ValueId, kind: FindingKind, message: impl Into<String>) {
        let (pointer, line_column) = (self.document.pointer(at), self.document.line_column(at));
        self.findings.push(Finding { pointer, line_column, kind, message: message.into() });
    }

    /// One schema and those inside it; `role` is the keyword that it stands under.
    fn schema(&mut self, schema: ValueId, role: &str) {
        let document = self.document;
        let Some(members) = document.members(schema) else { return };
        if !self.seen.insert(schema) {
            return;
        }
        let Ok(dialect) = self.references.dialect(document, schema) else { return };
        let hidden = dialect.reference_stands_alone() && members.get("$ref").is_some();
        for (keyword, value) in members.iter() {
            if hidden && keyword != "$ref" && effects::effect(keyword).is_some() {
                let message = format!(
                    "`{keyword}` stands beside `$ref`, which hides all other keywords in this draft"
                );
                self.find(value, FindingKind::Ignored, message);
            } else {
                self.keyword(schema, keyword, value, dialect);
            }
        }
        if !hidden {
            self.order(schema);
            self.mistakes(schema, role, dialect);
        }
        for (keyword, value) in members.iter() {
            match (holds(keyword), document.value(value)) {
                (Some(Holds::Map), Value::Object(map)) => {
                    map.iter().for_each(|(_, child)| self.schema(child, keyword));
                }
                (Some(Holds::List | Holds::SchemaOrList), Value::Array(items)) => {
                    items.iter().for_each(|&child| self.schema(child, keyword));
                }
                (Some(Holds::Schema | Holds::SchemaOrList), _) => self.schema(value, keyword),
                _ => {}
            }
        }
    }

    /// Which draft `$schema` names, if it names one.
    fn draft(&mut self, at: ValueId) {
        match self.unknown_draft(at) {
            Some(message) => self.find(at, FindingKind::Hint, message),
            None => {
                let message = "`$schema` names the draft that the schema is read by";
                self.find(at, FindingKind::Annotation, message);
            }
        }
    }

    fn unknown_draft(&self, at: ValueId) -> Option<String> {
        let document = self.document;
        let uri = document.string(at).unwrap_or_default();
        let supplied = |uri: &str| document.supplied().any(|(supplied, _)| supplied == uri);
        if Draft::from_uri(uri).is_some() || supplied(uri.trim_end_matches('#')) {
            return None;
        }
        let message = format!(
            "`$schema` is `{uri}`, which is no draft from 4 to 2020-12 and no metaschema that is \
             supplied, so the schema is read as if it named none"
        );
        Some(match nearest(uri, Draft::URIS.into_iter()) {
            Some(near) => format!("{message}: did you mean `{near}`?"),
            None => message,
        })
    }

    /// In which order the members of an object are written.
    fn order(&mut self, schema: ValueId) {
        let Some(at) = self.document.get(schema, "properties") else { return };
        let Some(properties) = self.document.members(at).filter(|p| p.len() > 1) else { return };
        if self.options.property_order == PropertyOrder::Any {
            return;
        }
        let names: Vec<&str> = properties.iter().map(|(key, _)| key).collect();
        let listed = mistakes::listed(&names);
        let message = match self.is_closed(schema) {
            true => format!("members are written in the order of the schema: {listed}"),
            false => format!(
                "members are written in the order of the schema: {listed}; then others that are \
                 required, then the rest"
            ),
        };
        self.find(at, FindingKind::Order, message);
    }

    /// A keyword that no draft has.
    fn no_keyword(&mut self, schema: ValueId, keyword: &str, value: ValueId) {
        let document = self.document;
        let message = format!("`{keyword}` is a keyword of no draft, and has no effect");
        if let Some(words) = foreign::instead(keyword) {
            return self.find(value, FindingKind::Hint, format!("{message}; {words}"));
        }
        let known = effects::KEYWORDS.iter().map(|(known, _)| *known);
        if let Some(near) = nearest(keyword, known) {
            let message = format!("{message}: did you mean `{near}`?");
            return self.find(value, FindingKind::Hint, message);
        }
        // What references lead into may be called anything.
        let led_into = |text: &str| {
            let rest = text.strip_prefix("#/").and_then(|pointer| pointer.strip_prefix(keyword));
            rest.is_some_and(|rest| rest.starts_with('/') || rest.is_empty())
        };
        let root = schema == document.root();
        if root && document.strings().any(led_into) {
            let message = format!("`{keyword}` is a keyword of no draft; references lead into it");
            return self.find(value, FindingKind::Annotation, message);
        }
        if foreign::looks_like_a_schema(document, value) && !keyword.starts_with("x-") {
            let message = format!("{message}: did you mean to put it into `properties`?");
            return self.find(value, FindingKind::Hint, message);
        }
        self.find(value, FindingKind::Ignored, message);
    }

    /// A keyword for values of a type that `type` beside it does not allow, in words.
    fn of_another_type(&self, schema: ValueId, keyword: &str) -> Option<String> {
        let wanted = effects::looks_at(keyword)?;
        let types = self.types(schema)?;
        if types.is_empty()
            || types.iter().any(|name| !TYPES.contains(name))
            || types.iter().any(|name| *name == wanted || (wanted, *name) == ("number", "integer"))
        {
            return None;
        }
        let names: Vec<String> = types.iter().map(|name| format!("`{name}`")).collect();
        let message = format!(
            "`{keyword}` looks at values of the type `{wanted}` alone, and `type` is {}: it has no \
             effect",
            names.join(" or ")
        );
        Some(match (wanted, &types[..]) {
            ("object", ["array"]) => format!("{message}; did you mean to put it into `items`?"),
            ("number" | "array", ["string"]) if keyword.starts_with("min") => {
                format!("{message}; did you mean `minLength`?")
            }
            ("number" | "array", ["string"]) if keyword.starts_with("max") => {
                format!("{message}; did you mean `maxLength`?")
            }
            ("number" | "string", ["array"]) if keyword.starts_with("min") => {
                format!("{message}; did you mean `minItems`?")
            }
            ("number" | "string", ["array"]) if keyword.starts_with("max") => {
                format!("{message}; did you mean `maxItems`?")
            }
            ("string", ["integer" | "number"]) if keyword == "minLength" => {
                format!("{message}; did you mean `minimum`?")
            }
            ("string", ["integer" | "number"]) if keyword == "maxLength" => {
                format!("{message}; did you mean `maximum`?")
            }
            ("array", ["object"]) => format!("{message}; did you mean `\"type\": \"array\"`?"),
            _ => message,
        })
    }

    /// What draft 2020-12 has for a keyword that only older ones have, or have with such a value.
    fn older(&self, keyword: &str, value: ValueId) -> Option<&'static str> {
        Some(match (keyword, self.document.value(value)) {
            ("id", _) => "it is `$id`",
            ("definitions", _) => "it is `$defs`",
            ("dependencies", _) => "it is `dependentRequired` or `dependentSchemas`",
            ("additionalItems", _) => "it is `items` beside `prefixItems`",
            ("items", Value::Array(_)) => "a list of schemas for the first items is `prefixItems`",
            ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => "it is the bound itself",
            _ => return None,
        })
    }

    /// What one keyword does.
    fn keyword(&mut self, schema: ValueId, keyword: &str, value: ValueId, dialect: Dialect) {
        let Some(effect) = effects::effect(keyword) else {
            return self.no_keyword(schema, keyword, value);
        };
        if !dialect.knows(keyword) {
            let message = format!("`{keyword}` is not a keyword of the schema's draft");
            self.find(value, FindingKind::Ignored, message);
            return;
        }
        if let Some(message) = self.of_another_type(schema, keyword) {
            return self.find(value, FindingKind::Hint, message);
        }
        let has = |other: &str| self.document.get(schema, other).is_some();
        let lonely = match keyword {
            "then" | "else" if !has("if") => Some("`if`"),
            "if" if !has("then") && !has("else") => Some("`then` or `else`"),
            "minContains" | "maxContains" if !has("contains") => Some("`contains`"),
            "additionalItems" => {
                let tuple = self.document.get(schema, "items");
                let tuple =
                    tuple.is_some_and(|at| matches!(self.document.value(at), Value::Array(_)));
                (!tuple).then_some("an array of `items`")
            }
            _ => None,
        };
        if let Some(other) = lonely {
            let message = format!("`{keyword}` has no effect without {other}");
            self.find(value, FindingKind::Ignored, message);
            return;
        }
        if keyword == "$schema" {
            self.draft(value);
            return;
        }
        match effect {
            effects::Effect::Says(words) => {
                self.find(value, FindingKind::Annotation, format!("`{keyword}` {words}"));
            }
            effects::Effect::Enforces(words) if keyword == "format" => {
                self.format(schema, value, words, dialect);
            }
            effects::Effect::Enforces(words) => {
                self.find(value, FindingKind::Enforced, format!("`{keyword}` {words}"));
            }
        }
        // Later drafts ask that nobody give it another meaning (2020-12 metaschema).
        let kept = keyword == "dependencies" && dialect.draft >= Draft::Draft201909;
        if (!dialect.declared || kept)
            && let Some(today) = self.older(keyword, value)
        {
            let since = match dialect.declared {
                true => "",
                false => ", since the schema names no draft in `$schema`",
            };
            let message = format!(
                "`{keyword}` is of an older draft and keeps its old meaning{since}; in 2020-12 \
                 {today}"
            );
            self.find(value, FindingKind::Hint, message);
        }
        if let Some(words) = self.cost(keyword, value) {
            self.find(value, FindingKind::Cost, words);
        }
    }
}
