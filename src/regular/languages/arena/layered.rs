//! A vector whose first values are shared by all clones.

use std::ops::Index;
use std::sync::Arc;

/// A vector whose first values are shared by all clones made after it was frozen.
#[derive(Clone, Debug)]
pub(super) struct Layered<T> {
    pub(super) shared: Arc<Vec<T>>,
    pub(super) own: Vec<T>,
}

impl<T> Default for Layered<T> {
    fn default() -> Self {
        Self { shared: Arc::default(), own: Vec::new() }
    }
}

impl<T> Layered<T> {
    pub(super) fn len(&self) -> usize {
        self.shared.len() + self.own.len()
    }

    pub(super) fn push(&mut self, value: T) -> u32 {
        self.own.push(value);
        self.len() as u32 - 1
    }
}

impl<T: Clone> Layered<T> {
    pub(super) fn freeze(&mut self) {
        let own = std::mem::take(&mut self.own);
        self.shared = Arc::new(self.shared.iter().cloned().chain(own).collect());
    }
}

impl<T> Index<usize> for Layered<T> {
    type Output = T;

    #[inline]
    fn index(&self, index: usize) -> &T {
        match index.checked_sub(self.shared.len()) {
            Some(own) => &self.own[own],
            None => &self.shared[index],
        }
    }
}
