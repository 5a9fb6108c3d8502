//! What a set holds of each JSON type, and the algebra on that: and, or, not of whole sets.

use std::sync::Arc;

use crate::json_schema::document::ValueId;
use crate::json_schema::number::NumberSet;
use crate::json_schema::set::Sources;
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::object_set::ObjectSet;
use crate::regular::Language;

/// A set unfolded: what it holds of each type.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) null: bool,
    /// `false`, `true`.
    pub(crate) booleans: [bool; 2],
    pub(crate) numbers: NumberSet,
    /// Texts in canonical spelling, without quotes.
    pub(crate) strings: Language,
    /// Any of these.
    pub(crate) arrays: Vec<ArraySet>,
    /// Any of these.
    pub(crate) objects: Vec<ObjectSet>,
    /// The same objects as one object set, where many complements meet.
    pub(crate) folded: Option<Arc<ObjectSet>>,
    /// Arrays and objects that a schema lists, each as it is written there.
    pub(crate) listed: Vec<ValueId>,
    /// A format among the strings that is beyond what is enforced: there is no complement.
    pub(crate) open_format: Option<ValueId>,
    /// Where the null, boolean, number and string parts come from.
    pub(crate) sources: Sources,
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
            sources: Sources::default(),
        }
    }
}
