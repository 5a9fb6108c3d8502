//! Lists of texts by name, for the keyword `x-choices-from` of all schemas of a compiler.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::regular::ChoiceList;
use crate::regular::automaton::{Automaton, AutomatonState};
use crate::regular::table_automaton::table_start;

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
pub struct ChoiceLists(Arc<BTreeMap<String, NamedTexts>>);

/// Texts that have a name.
#[derive(Clone, Debug)]
pub(crate) enum NamedTexts {
    List(ChoiceList),
    /// The texts of a table, which are UTF-8.
    Table(Arc<dyn Automaton>),
}

impl NamedTexts {
    /// The automaton of the texts, and its start.
    pub(crate) fn automaton(&self) -> (Arc<dyn Automaton>, AutomatonState) {
        match self {
            Self::List(list) => list.automaton(),
            Self::Table(table) => (Arc::clone(table), table_start()),
        }
    }
}

impl ChoiceLists {
    /// The same with another list.
    ///
    /// Errors if the name is empty, or another list's, too.
    pub fn with(mut self, name: &str, list: ChoiceList) -> Result<Self> {
        if name.is_empty() {
            return Err(Error::new(ErrorKind::Request, "a list of choices has an empty name")
                .with_help("give it a name"));
        }
        if Arc::make_mut(&mut self.0).insert(name.to_owned(), NamedTexts::List(list)).is_some() {
            let message = format!("two lists of choices have the name `{name}`");
            return Err(Error::new(ErrorKind::Request, message).with_help("rename one of them"));
        }
        Ok(self)
    }

    /// The same with the texts of a table, in the place of others of the name.
    pub(crate) fn with_texts(mut self, name: &str, table: Arc<dyn Automaton>) -> Self {
        Arc::make_mut(&mut self.0).insert(name.to_owned(), NamedTexts::Table(table));
        self
    }

    /// The list of a name.
    pub fn get(&self, name: &str) -> Option<&ChoiceList> {
        match self.0.get(name)? {
            NamedTexts::List(list) => Some(list),
            NamedTexts::Table(_) => None,
        }
    }

    /// The texts of a name.
    pub(crate) fn texts(&self, name: &str) -> Option<&NamedTexts> {
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
