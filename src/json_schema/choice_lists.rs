//! Lists of texts by name, for the keyword `x-choices-from` of all schemas of a compiler.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::regular::ChoiceList;

/// Lists of texts by the names that schemas (`"x-choices-from": "places"`) and Lark grammars (`@name`)
/// call them by. A schema names a list, never a file.
///
/// ```
/// use maskwright::json_schema::{ChoiceLists, Options, Schema};
/// use maskwright::regular::ChoiceList;
/// let mut options = Options::default();
/// let places = ChoiceList::from_texts(["Rome", "Paris"])?;
/// options.choices = ChoiceLists::default().with("places", places)?;
/// let schema = Schema::from_text(r#"{"type": "string", "x-choices-from": "places"}"#)?;
/// assert!(schema.grammar(&options).is_ok());
/// assert!(schema.grammar(&Options::default()).is_err());
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct ChoiceLists(Arc<BTreeMap<String, ChoiceList>>);

impl ChoiceLists {
    /// The same with another list.
    ///
    /// Errors if the name is empty, or another list's, too.
    pub fn with(mut self, name: &str, list: ChoiceList) -> Result<Self> {
        if name.is_empty() {
            return Err(Error::new(ErrorKind::Request, "a list of choices has an empty name")
                .with_help("give it a name"));
        }
        if Arc::make_mut(&mut self.0).insert(name.to_owned(), list).is_some() {
            let message = format!("two lists of choices have the name `{name}`");
            return Err(Error::new(ErrorKind::Request, message).with_help("rename one of them"));
        }
        Ok(self)
    }

    /// The list of a name.
    pub fn get(&self, name: &str) -> Option<&ChoiceList> {
        self.0.get(name)
    }

    /// The names, in order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
