//! The shape of a set: what it holds of each JSON type.

use std::sync::Arc;

use crate::json_schema::document::ValueId;
use crate::json_schema::number::NumberSet;
use crate::json_schema::set::KeywordOrigins;
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::object_set::ObjectSet;
use crate::regular::Language;

/// The part of a set in each JSON type, where the children of arrays and objects are sets again.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) null: bool,
    /// Whether it holds `false`, and `true`.
    pub(crate) booleans: [bool; 2],
    pub(crate) numbers: NumberSet,
    /// Texts in canonical spelling, without quotes.
    pub(crate) strings: Language,
    /// The alternatives for arrays.
    pub(crate) arrays: Vec<ArraySet>,
    /// The alternatives for objects.
    pub(crate) objects: Vec<ObjectSet>,
    /// All object sets as one with a formula, where many complements meet.
    pub(crate) folded: Option<Arc<ObjectSet>>,
    /// Listed arrays and objects.
    pub(crate) listed: Vec<ValueId>,
    /// A format of the strings that is not enforced, so that they have no complement.
    pub(crate) open_format: Option<ValueId>,
    /// The keywords that the null, boolean, number and string parts come from.
    pub(crate) origins: KeywordOrigins,
}

impl Shape {
    pub(crate) fn never() -> Self {
        Self {
            null: false,
            booleans: [false; 2],
            numbers: NumberSet::NONE,
            strings: Language::EMPTY,
            arrays: Vec::new(),
            objects: Vec::new(),
            folded: None,
            listed: Vec::new(),
            open_format: None,
            origins: KeywordOrigins::default(),
        }
    }
}
