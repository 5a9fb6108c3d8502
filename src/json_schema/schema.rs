//! A schema document with the documents that its references may lead to.

use super::document::Document;
use super::document::resources::{ResourceContent, Resources, twice};
use crate::error::{Error, ErrorKind, Result};

/// A schema document.
#[derive(Clone, Debug)]
pub struct Schema {
    pub(crate) document: Document,
}

impl Schema {
    /// Reads a schema's text; errors know line and column, numbers stay as they are written.
    pub fn from_text(text: &str) -> Result<Self> {
        Ok(Self { document: Document::parse(text)? })
    }

    /// Takes a schema that is a value already.
    pub fn from_value(value: &serde_json::Value) -> Result<Self> {
        Ok(Self { document: Document::from_value(value)? })
    }

    /// Sets the URI of the schema itself: relative references, and a relative `$id`, are relative to it.
    ///
    /// Errors if it is not absolute or has a fragment.
    ///
    /// ```
    /// use maskwright::json_schema::{Options, Schema};
    /// let schema = Schema::from_text(r#"{"items": {"$ref": "word.json"}}"#)?
    ///     .with_base("file:///schemas/words.json")?
    ///     .with_document("file:///schemas/word.json", r#"{"type": "string"}"#)?;
    /// assert!(schema.grammar(&Options::default()).is_ok());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn with_base(mut self, uri: &str) -> Result<Self> {
        if !uri.contains(':') || uri.contains('#') {
            let message = format!("`{uri}` is not the URI of a whole document");
            return Err(Error::new(ErrorKind::Schema, message)
                .with_help("write an absolute URI without a fragment"));
        }
        self.document.set_base(uri);
        Ok(self)
    }

    /// Supplies a document that references may lead to, under the URI that they lead to; its own
    /// `$id`s count too. Nothing is ever fetched: a reference to a document that is not supplied
    /// is an error. The metaschemas of all drafts need not be supplied.
    ///
    /// ```
    /// use maskwright::json_schema::{Options, Schema};
    /// let schema = Schema::from_text(r#"{"items": {"$ref": "https://example.org/defs.json#/$defs/n"}}"#)?
    ///     .with_document("https://example.org/defs.json", r#"{"$defs": {"n": {"type": "null"}}}"#)?;
    /// assert!(schema.grammar(&Options::default()).is_ok());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn with_document(mut self, uri: &str, text: &str) -> Result<Self> {
        if self.document.supplied().any(|(known, _)| known == uri) {
            return Err(twice(uri));
        }
        self.document.supply(uri, text)?;
        Ok(self)
    }

    /// The same with these documents supplied, besides those that are supplied with it already.
    ///
    /// Errors if a text is not JSON, or if a URI is one of those that are supplied already.
    pub(crate) fn with_resources(mut self, resources: &Resources) -> Result<Self> {
        for (uri, content) in resources.0.iter() {
            if self.document.supplied().any(|(known, _)| known == uri) {
                return Err(twice(uri));
            }
            match content {
                ResourceContent::Text(text) => self.document.supply(uri, text)?,
                ResourceContent::Value(value) => {
                    let supplied = self.document.supply_value(uri, value);
                    supplied.map_err(|error| error.in_file(uri.as_str()))?;
                }
            }
        }
        Ok(self)
    }
}

impl std::str::FromStr for Schema {
    type Err = crate::Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::from_text(text)
    }
}
