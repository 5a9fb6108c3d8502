//! [`Environment`]: the names that a grammar may use without defining them.

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::grammar::Grammar;
use crate::regular;
use crate::regular::ChoiceList;

use super::dialect::Dialect;

/// A grammar that others may refer to by a name.
#[derive(Clone, Debug)]
pub enum NamedGrammar {
    /// The text of a grammar.
    Text {
        /// Its text.
        text: Arc<str>,
        /// Its notation.
        dialect: Dialect,
        /// The file that it is from, for messages.
        file: Option<String>,
    },
    /// The text of a JSON Schema.
    JsonSchema(Arc<str>),
    /// One of the texts of a list.
    Choices(ChoiceList),
}

impl NamedGrammar {
    /// The text of a grammar.
    pub fn new(text: impl Into<Arc<str>>, dialect: Dialect) -> Self {
        Self::Text { text: text.into(), dialect, file: None }
    }
}

/// The names that a grammar may use without defining them: other grammars, JSON Schemas, and the
/// special tokens of a vocabulary. [`Compiler`](crate::Compiler) is one; the unit type `()` has
/// none of them.
pub trait Environment {
    /// The id of a token, given by name or id, if it is one that no text spells; `None` if it is
    /// ordinary text.
    ///
    /// Errors where there is no vocabulary, or no such token.
    fn is_special(&self, _token: &crate::grammar::SpecialToken) -> Result<Option<u32>> {
        Err(unknown("a set of special tokens needs a vocabulary"))
    }

    /// Whether all rules and alternatives stay apart, even where they could be one terminal. The
    /// language is the same; masks are slower, and a text can be followed through each of them.
    fn keeps_rules(&self) -> bool {
        false
    }

    /// The rule whose texts are the language, if it is not the one that the notation begins with.
    fn start_rule(&self) -> Option<&str> {
        None
    }

    /// The dialect of the regular expressions in a grammar, if it is not that of the notation.
    fn regex_dialect(&self) -> Option<regular::Dialect> {
        None
    }

    /// The states of regular languages that reading a grammar may make; `None` for the default of
    /// [`Limits::language_states`](crate::Limits::language_states).
    fn language_states(&self) -> Option<usize> {
        None
    }

    /// The grammar of a JSON Schema, from its text.
    ///
    /// Errors if the schema is not usable, or schemas are not known here.
    fn json_schema(&self, _schema: &str) -> Result<Grammar> {
        Err(unknown("a JSON Schema cannot be embedded here"))
    }

    /// The text of another grammar, by its name (`@name` in Lark's notation), or by its path (in
    /// `%import .folder.file.rule` it is `folder/file`).
    ///
    /// Errors if there is none of this name.
    fn named_grammar(&self, name: &str) -> Result<NamedGrammar> {
        Err(Error::new(ErrorKind::Grammar, format!("there is no grammar `{name}` here"))
            .with_help("compile it with a `Compiler` that knows it"))
    }
}

impl Environment for () {}

/// The names of an environment, for a grammar within another one: the start rule and the dialect
/// that were chosen are those of the outer one.
pub(super) struct WithoutOptions<'a>(pub(super) &'a dyn Environment);

impl Environment for WithoutOptions<'_> {
    fn is_special(&self, token: &crate::grammar::SpecialToken) -> Result<Option<u32>> {
        self.0.is_special(token)
    }

    fn keeps_rules(&self) -> bool {
        self.0.keeps_rules()
    }

    fn language_states(&self) -> Option<usize> {
        self.0.language_states()
    }

    fn json_schema(&self, schema: &str) -> Result<Grammar> {
        self.0.json_schema(schema)
    }

    fn named_grammar(&self, name: &str) -> Result<NamedGrammar> {
        self.0.named_grammar(name)
    }
}

fn unknown(message: &str) -> Error {
    Error::new(ErrorKind::Grammar, message).with_help("compile it with `Compiler::grammar`")
}
