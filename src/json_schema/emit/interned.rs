//! Values by a small number, each kept once.

use std::hash::Hash;

use rustc_hash::FxHashMap;

/// Values by index; 0 is the default.
#[derive(Debug)]
pub(super) struct Interned<T> {
    values: Vec<T>,
    ids: FxHashMap<T, u32>,
}

impl<T: Default + Clone + Eq + Hash> Default for Interned<T> {
    fn default() -> Self {
        let mut this = Self { values: Vec::new(), ids: FxHashMap::default() };
        this.id(T::default());
        this
    }
}

impl<T: Clone + Eq + Hash> Interned<T> {
    pub(super) fn id(&mut self, value: T) -> u32 {
        *self.ids.entry(value).or_insert_with_key(|value| {
            self.values.push(value.clone());
            self.values.len() as u32 - 1
        })
    }

    pub(super) fn get(&self, id: u32) -> &T {
        &self.values[id as usize]
    }
}
