//! Documents that references of schemas may lead to, for all schemas of a compiler.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};

/// Documents by URI that references may lead to. Nothing is ever fetched: a reference to a document
/// that is neither here nor [supplied with the schema](crate::json_schema::Schema::with_document) is an error. The
/// metaschemas of all drafts are always known.
///
/// ```
/// use maskwright::json_schema::{Options, Resources, Schema};
/// let mut options = Options::default();
/// options.resources = Resources::default()
///     .with_text("https://example.org/defs.json", r#"{"$defs": {"n": {"type": "null"}}}"#)?;
/// let schema = Schema::from_text(r##"{"$ref": "https://example.org/defs.json#/$defs/n"}"##)?;
/// assert!(schema.grammar(&options).is_ok());
/// assert!(schema.grammar(&Options::default()).is_err());
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Resources(pub(crate) Arc<Vec<(String, ResourceContent)>>);

#[derive(Clone, Debug)]
pub(crate) enum ResourceContent {
    /// Errors within it know line and column.
    Text(String),
    Value(serde_json::Value),
}

impl Resources {
    /// The same with another document, as JSON text.
    ///
    /// Errors if the URI has a fragment, or is another document's, too. Whether the text is JSON is
    /// found out when a schema is compiled.
    pub fn with_text(self, uri: &str, text: impl Into<String>) -> Result<Self> {
        self.with(uri, ResourceContent::Text(text.into()))
    }

    /// The same with another document that is a value already.
    ///
    /// Errors if the URI has a fragment, or is another document's, too.
    pub fn with_value(self, uri: &str, value: serde_json::Value) -> Result<Self> {
        self.with(uri, ResourceContent::Value(value))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn with(mut self, uri: &str, content: ResourceContent) -> Result<Self> {
        let known = uri.strip_suffix('#').unwrap_or(uri);
        if known.is_empty() || known.contains('#') {
            let message = format!("`{uri}` is not the URI of a whole document");
            return Err(Error::new(ErrorKind::Schema, message)
                .with_help("write an absolute URI without a fragment"));
        }
        if self.0.iter().any(|(other, _)| other == known) {
            return Err(twice(known));
        }
        Arc::make_mut(&mut self.0).push((known.to_owned(), content));
        Ok(self)
    }
}

/// Two documents have the same URI.
pub(crate) fn twice(uri: &str) -> Error {
    let message = format!("the document `{uri}` is supplied twice");
    Error::new(ErrorKind::Schema, message).with_help("supply it once")
}
