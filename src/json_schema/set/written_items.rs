//! The items that an array holds already, as persistent sets of canonical texts.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::Set;
use crate::json_schema::number::scientific::NumberFormula;
use crate::regular::{Language, TextSet, TextSets};

/// A value as a canonical text.
pub(crate) type Text = Arc<str>;

/// A value, and how it is spelled.
pub(crate) type ShortItem = (Text, Box<[u8]>);

/// Sets of items that were written.
#[derive(Debug)]
pub(crate) struct WrittenItems {
    pub(crate) texts: Arc<TextSets>,
    /// By set: one that lacks an item of it, and that item.
    pub(crate) added: FxHashMap<TextSet, (TextSet, Text)>,
    /// By candidate set and written set: the candidates no longer allowed.
    pub(crate) excluded: FxHashMap<(Set, TextSet), ExcludedItems>,
    /// Whether each number of a set is spelled in one way.
    pub(crate) spelled_once: FxHashMap<Set, bool>,
    /// Whether a language has more texts than an array has items.
    pub(crate) inexhaustible: FxHashMap<Language, bool>,
    /// By set: the number of items that was asked for, and the shortest items.
    pub(crate) short: FxHashMap<Set, (usize, Arc<[ShortItem]>)>,
    /// Whether every text can be spelled in tokens, byte by byte. If not, texts are not counted.
    pub(crate) every_byte: bool,
}

/// The items that an array holds already, by the way in which they are excluded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExcludedItems {
    /// Spelled items that are looked up: a further item must not end as one of them.
    pub(crate) refused_texts: TextSet,
    /// Strings that the language of items must lack, as they are spelled between quotes.
    pub(crate) strings: TextSet,
    /// The literals of numbers that the language of items must lack.
    pub(crate) numbers: TextSet,
    /// The same numbers as a formula.
    pub(crate) formula: NumberFormula,
}

impl ExcludedItems {
    pub(crate) const NOTHING: Self = Self {
        refused_texts: TextSet::EMPTY,
        strings: TextSet::EMPTY,
        numbers: TextSet::EMPTY,
        formula: NumberFormula::NONE,
    };
}

impl Default for WrittenItems {
    fn default() -> Self {
        Self {
            texts: TextSets::new(),
            added: FxHashMap::default(),
            excluded: FxHashMap::default(),
            spelled_once: FxHashMap::default(),
            inexhaustible: FxHashMap::default(),
            short: FxHashMap::default(),
            every_byte: false,
        }
    }
}

impl WrittenItems {
    /// The items of a set and one more.
    pub(crate) fn with(&mut self, set: TextSet, item: &str) -> TextSet {
        let new = self.texts.with(set, item.as_bytes());
        if new != set {
            self.added.entry(new).or_insert_with(|| (set, item.into()));
        }
        new
    }

    pub(crate) fn contains(&self, set: TextSet, item: &str) -> bool {
        self.texts.contains(set, item.as_bytes())
    }

    pub(crate) fn len(&self, set: TextSet) -> usize {
        self.texts.len(set) as usize
    }

    /// The values that are not written.
    pub(crate) fn others(&self, set: TextSet, values: &[Text]) -> Vec<Text> {
        values.iter().filter(|value| !self.contains(set, value)).cloned().collect()
    }

    /// All items of a set.
    pub(crate) fn values(&self, mut set: TextSet) -> Vec<Text> {
        let mut values = Vec::new();
        while let Some((before, item)) = self.added.get(&set) {
            values.push(item.clone());
            set = *before;
        }
        values
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.texts.memory_bytes() + self.added.len() * 64 + self.excluded.len() * 48
    }
}
