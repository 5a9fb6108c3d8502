//! Parts of a grammar whose rules are made while a text is read.
//!
//! The values of a JSON Schema have no finished grammar: an object that remembers its keys would need
//! a rule for each set of keys. Such a part is a *hole*: one opaque leaf, carried along wherever its
//! grammar is embedded, that is known never to hold the empty string. When the grammar is compiled,
//! a [`Source`](super::source::Source) makes the rules of its holes as a text enters them.

use std::any::Any;
use std::fmt;

use crate::error::Result;
use crate::regular::{Language, Languages};

/// A part of a grammar that is filled in while a text is read. It holds no empty string, and some
/// text at least.
pub(crate) trait Hole: Any + fmt::Debug + Send + Sync {
    /// Its texts as a regular language. What depends on texts that were read is left out of account
    /// where that only allows more (a key may come twice).
    ///
    /// Errors if it is not regular.
    fn language(&self, languages: &mut Languages) -> Result<Language>;

    /// The front end's own type.
    fn as_any(&self) -> &dyn Any;
}
