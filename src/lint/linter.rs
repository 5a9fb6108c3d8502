//! [`Linter`]: the walk over all schemas of a document.

use std::rc::Rc;

use rustc_hash::FxHashSet;

use super::effects;
use super::finding::{Finding, FindingKind};
use crate::json_schema::document::draft::{SubschemaPosition, subschema_position};
use crate::json_schema::document::references::References;
use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::options::Options;
use crate::json_schema::set::Sets;

/// Keywords whose schemas refine the schema around them, which says the type.
pub(super) const REFINING_KEYWORDS: &[&str] =
    &["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];

/// A walk over the schemas of a document, which collects findings.
pub(super) struct Linter<'d> {
    pub(super) document: &'d Document,
    pub(super) options: &'d Options,
    pub(super) sets: Sets<'d>,
    pub(super) references: References,
    pub(super) findings: Vec<Finding>,
    /// Schemas that were visited.
    visited: FxHashSet<ValueId>,
    /// The number of impossible schemas so far.
    pub(super) impossible_schemas: usize,
    /// The schemas that are parts of objects ([`Linter::object_parts`]), once computed.
    pub(super) object_parts: Option<Rc<FxHashSet<ValueId>>>,
}

impl<'d> Linter<'d> {
    pub(super) fn new(document: &'d Document, options: &'d Options) -> Self {
        Self {
            document,
            options,
            sets: Sets::new(document, options),
            references: References::new(options.draft),
            findings: Vec::new(),
            visited: FxHashSet::default(),
            impossible_schemas: 0,
            object_parts: None,
        }
    }

    /// Whether a schema has a keyword.
    pub(super) fn has(&self, schema: ValueId, keyword: &str) -> bool {
        self.document.get(schema, keyword).is_some()
    }

    /// The type names of the keyword `type`, if a schema has it.
    pub(super) fn types(&self, schema: ValueId) -> Option<Vec<&'d str>> {
        let at = self.document.get(schema, "type")?;
        match self.document.value(at) {
            Value::Array(names) => names.iter().map(|&name| self.document.string(name)).collect(),
            _ => Some(vec![self.document.string(at)?]),
        }
    }

    /// Adds a finding about the value `at`.
    pub(super) fn find(&mut self, at: ValueId, kind: FindingKind, message: impl Into<String>) {
        let (pointer, line_column) = (self.document.pointer(at), self.document.line_column(at));
        self.findings.push(Finding { pointer, line_column, kind, message: message.into() });
    }

    /// Visits a schema and those inside it; `role` is the keyword that holds the schema.
    pub(super) fn schema(&mut self, schema: ValueId, role: &str) {
        let document = self.document;
        let Some(members) = document.members(schema) else { return };
        if !self.visited.insert(schema) {
            return;
        }
        let Ok(dialect) = self.references.dialect(document, schema) else { return };
        let hidden = dialect.reference_stands_alone() && members.get("$ref").is_some();
        let mut ignored = FxHashSet::default();
        for (keyword, value) in members.iter() {
            if hidden && effects::is_hidden_by_reference(keyword) {
                let message = format!(
                    "`{keyword}` stands beside `$ref`, which hides other keywords in this draft"
                );
                self.find(value, FindingKind::Ignored, message);
                ignored.insert(keyword);
            } else if !self.keyword(schema, keyword, value, dialect) {
                ignored.insert(keyword);
            }
        }
        if !hidden {
            self.member_order(schema);
            self.mistakes(schema, role, dialect);
        }
        for (keyword, value) in members.iter().filter(|(keyword, _)| !ignored.contains(keyword)) {
            match (subschema_position(keyword), document.value(value)) {
                (Some(SubschemaPosition::Map), Value::Object(map)) => {
                    map.iter().for_each(|(_, child)| self.schema(child, keyword));
                }
                (
                    Some(SubschemaPosition::List | SubschemaPosition::SchemaOrList),
                    Value::Array(items),
                ) => {
                    items.iter().for_each(|&child| self.schema(child, keyword));
                }
                (Some(SubschemaPosition::Schema | SubschemaPosition::SchemaOrList), _) => {
                    self.schema(value, keyword)
                }
                _ => {}
            }
        }
    }
}
