//! JSON Schema: documents, references, the algebra of typed sets, emission into a grammar.
//!
//! A schema is not translated keyword by keyword. It is read as a set of JSON values (`set`), and
//! keywords that apply to the same value intersect: siblings of `$ref` and `anyOf`, the members of
//! `allOf`, an `enum` beside a `pattern`. What results is written down as a [`Grammar`] (`emit`).
//!
//! Each keyword is enforced exactly or refused by name and JSON pointer. A
//! [`Compiler`](crate::Compiler) makes the rules of a schema as a text enters them (`emit`). The
//! rules know what was written: no key comes twice, items differ where they must. The [`Grammar`]
//! of a schema holds one hole in place of these rules, until it is compiled.
//!
//! ```
//! use maskwright::json_schema::{Options, Schema};
//! let schema = Schema::from_text(
//!     r#"{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}"#,
//! )?;
//! let grammar = schema.grammar(&Options::default())?;
//! assert!(!grammar.rules().is_empty());
//! # Ok::<(), maskwright::Error>(())
//! ```

pub(crate) mod algebra;
pub(crate) mod choice_lists;
#[cfg(test)]
mod corpora;
pub(crate) mod document;
mod emit;
pub(crate) mod excluded_items;
mod guidance;
mod keywords;
pub(crate) mod layout;
pub(crate) mod number;
pub(crate) mod options;
pub(crate) mod punctuation;
pub(crate) mod read;
pub(crate) mod satisfiability;
mod schema;
pub(crate) mod set;
pub(crate) mod string;
pub(crate) mod style;
mod unfold;

pub use choice_lists::ChoiceLists;
pub use document::draft::Draft;
pub use document::resources::Resources;
pub(crate) use emit::hole::{SchemaHole, named};
pub(crate) use emit::source::SchemaSource;
pub use options::{Gaps, OneOf, Options, PropertyOrder, Spelling, Strictness, Whitespace};
pub use schema::Schema;
pub(crate) use set::Shared;
pub use style::Style;

use crate::error::Result;
use crate::grammar::Grammar;
use crate::limits::Limits;

impl Schema {
    /// The grammar of the values that the schema accepts, for other grammars to embed; embedding
    /// does not change which values are accepted. The schema's rules are made when a text enters
    /// them, so [`Grammar::rules`] shows a hole in their place.
    ///
    /// Errors if the schema is malformed, if it uses a keyword that cannot be enforced, if nothing
    /// satisfies it, or if a limit of the options is reached.
    pub fn grammar(&self, options: &Options) -> Result<Grammar> {
        let grammar = SchemaHole::new(self.clone(), options, None)?.grammar()?;
        check_schemas(&grammar)?;
        Ok(grammar)
    }

    /// The grammar for a part of a structural tag: as [`grammar`](Self::grammar), with a gap before the first and
    /// after the last member in a style that has no signs there.
    pub(crate) fn tag_grammar(&self, options: &Options) -> Result<Grammar> {
        let grammar = SchemaHole::new(self.clone(), options, None)?.tag_grammar()?;
        check_schemas(&grammar)?;
        Ok(grammar)
    }
}

/// Finds the errors in a grammar's schemas that compiling it would find.
pub(crate) fn check_schemas(grammar: &Grammar) -> Result<()> {
    SchemaSource::new(grammar, &Limits::default(), &Shared::default()).map(drop)
}
