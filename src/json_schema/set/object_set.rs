//! Sets of objects.

use crate::json_schema::set::keys::{KeyClass, NamedKey};
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::{KeywordOrigins, Set};
use crate::regular::Language;

/// Objects whose members have values in the set of their key. Two sets are equal only if they name
/// their keys in the same order, which is the order of writing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectSet {
    pub(crate) named: Vec<NamedKey>,
    /// Disjoint classes that together hold every key.
    pub(crate) classes: Vec<KeyClass>,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    /// A formula over several members; every key in it is named.
    pub(crate) formula: MemberFormula,
    pub(crate) origins: KeywordOrigins,
}

impl ObjectSet {
    /// Every object; `keys` is every text.
    pub(crate) fn any(keys: Language) -> Self {
        Self {
            named: Vec::new(),
            classes: vec![KeyClass { keys, set: Set::ANY }],
            min: 0,
            max: None,
            formula: MemberFormula::HOLDS,
            origins: KeywordOrigins::default(),
        }
    }

    /// By key, its index among the named ones.
    pub(crate) fn positions(&self) -> FxHashMap<Arc<str>, usize> {
        self.named.iter().enumerate().map(|(i, named)| (named.key.clone(), i)).collect()
    }

    /// The number of required keys.
    pub(crate) fn required(&self) -> usize {
        self.named.iter().filter(|named| named.required).count()
    }
}
