//! Regular languages of byte strings, closed under and, or and not.

mod byte_set;
mod languages;

pub use byte_set::ByteSet;
pub use languages::{Language, Languages, Row};
