//! A JSON Schema as a part of a grammar that is filled in while a text is read.

use std::sync::Arc;

use crate::error::{Error, Result};
use crate::grammar::{Grammar, GrammarBuilder};
use crate::json_schema::options::Options;
use crate::json_schema::schema::Schema;

/// The values of a schema, written as the options say: the only
/// [`Hole`](crate::grammar::hole::Hole) there is. Each has a
/// document of its own, so identifiers of one schema are unknown to all others.
#[derive(Clone, Debug)]
pub(crate) struct SchemaHole {
    pub(super) schema: Schema,
    pub(super) options: Options,
    /// The tool or answer that the schema is of, for messages.
    name: Option<String>,
}

impl SchemaHole {
    /// A schema that may refer to the options' documents, and what messages call it.
    ///
    /// Errors if it supplies a document under a URI that the options have, too.
    pub(crate) fn new(schema: Schema, options: &Options, name: Option<&str>) -> Result<Self> {
        let schema = schema.with_resources(&options.resources)?;
        Ok(Self { schema, options: options.clone(), name: name.map(str::to_owned) })
    }

    /// A grammar that is this and nothing else.
    pub(crate) fn grammar(self) -> Result<Grammar> {
        let mut builder = GrammarBuilder::new();
        let body = builder.hole(Arc::new(self));
        let start = builder.rule("start", body);
        builder.finish(start)
    }

    /// An error in it, with its name.
    pub(super) fn named(&self, error: Error) -> Error {
        match &self.name {
            Some(name) => named(name, &error),
            None => error,
        }
    }
}

/// An error in a schema, with the name of what it is the schema of.
pub(crate) fn named(name: &str, error: &Error) -> Error {
    let mut named = Error::new(error.kind(), format!("{name}: {}", error.message()));
    if let Some(pointer) = &error.place().pointer {
        named = named.at_pointer(pointer.as_str());
    }
    named.wrapping(error)
}
