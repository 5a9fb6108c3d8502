//! Access to the keywords of one schema, as its dialect knows them.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::json_schema::document::draft::SchemaDialect;
use crate::json_schema::document::{Document, Members, ValueId};
use crate::json_schema::set::{KeywordOrigins, Sets};

/// The keywords of one schema object.
#[derive(Clone)]
pub(crate) struct KeywordReader<'d> {
    pub(crate) schema: ValueId,
    document: &'d Document,
    members: &'d Members,
    pub(crate) dialect: SchemaDialect,
    ignored: Arc<FxHashSet<ValueId>>,
}

impl KeywordReader<'_> {
    /// A `$ref` that hides the keywords beside it.
    pub(crate) fn lone_reference(&self) -> Option<ValueId> {
        self.get("$ref").filter(|_| self.dialect.reference_stands_alone())
    }

    /// The value of a keyword, if the dialect knows it.
    pub(crate) fn get(&self, keyword: &str) -> Option<ValueId> {
        let at = self.members.get(keyword)?;
        let known = self.dialect.knows(keyword) || self.document.is_added(at);
        (known && !self.ignored.contains(&at)).then_some(at)
    }

    /// The keywords present among these, or the schema if none is.
    pub(crate) fn origins(&self, keywords: &[&str]) -> KeywordOrigins {
        let mut origins = KeywordOrigins::default();
        keywords.iter().filter_map(|k| self.get(k)).for_each(|at| origins.add(at));
        if origins.0.is_empty() {
            origins.add(self.schema);
        }
        origins
    }
}

/// The keywords of a schema object.
pub(crate) fn read_keywords<'d>(sets: &mut Sets<'d>, schema: ValueId) -> Result<KeywordReader<'d>> {
    let document = sets.document;
    // `Sets::schema` names objects only.
    let members = document.members(schema).unwrap_or(Members::none());
    let dialect = sets.references.dialect(document, schema)?;
    Ok(KeywordReader { schema, document, members, dialect, ignored: sets.ignored.clone() })
}
