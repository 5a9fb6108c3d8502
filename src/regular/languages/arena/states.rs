//! The small mutable record of each expression, copied on write in chunks.

use std::ops::{Index, IndexMut};
use std::sync::Arc;

use crate::regular::languages::properties::Properties;

/// The mutable record of an expression: small, since all of them are copied with an arena.
#[derive(Clone, Copy, Debug)]
pub(super) struct ExpressionState {
    pub(super) properties: Properties,
    /// Whether each entry of the row without strings is
    /// [`Language::EMPTY`](crate::regular::Language::EMPTY).
    pub(super) clean: bool,
    /// Number of steps taken without a row.
    pub(super) steps: u8,
    /// Indices of the row and the first bytes, or [`NOT_STORED`].
    pub(super) row: u32,
    pub(super) first: u32,
}

/// The index of a row, a set of first bytes or a copy that does not exist.
pub(super) const NOT_STORED: u32 = u32::MAX;

/// Capacity reserved in a clone: most constraints add no more expressions than this.
pub(super) const CLONE_HEADROOM: usize = 500;

/// Expressions per copy-on-write chunk.
pub(super) const STATES_PER_CHUNK: usize = 16;

/// The states of all expressions. Of the shared ones, an arena copies the chunks that it changes.
#[derive(Debug, Default)]
pub(super) struct ExpressionStates {
    pub(super) shared: Arc<Vec<ExpressionState>>,
    /// By shared chunk: where its copy begins in `copies`, or [`NOT_STORED`].
    pub(super) moved: Vec<u32>,
    pub(super) copies: Vec<ExpressionState>,
    pub(super) own: Vec<ExpressionState>,
}

impl ExpressionStates {
    pub(super) fn len(&self) -> usize {
        self.shared.len() + self.own.len()
    }

    pub(super) fn freeze(&mut self) {
        let all = (0..self.len()).map(|i| self[i]).collect();
        *self = Self { shared: Arc::new(all), ..Self::default() };
        self.moved = vec![NOT_STORED; self.shared.len().div_ceil(STATES_PER_CHUNK)];
    }

    /// All states that are not shared.
    pub(super) fn changed(&mut self) -> impl Iterator<Item = &mut ExpressionState> {
        self.copies.iter_mut().chain(&mut self.own)
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.copies.capacity() + self.own.capacity()) * size_of::<ExpressionState>()
            + size_of_val(&*self.moved)
    }
}

impl Clone for ExpressionStates {
    fn clone(&self) -> Self {
        // Clones grow soon.
        let mut own = Vec::with_capacity(self.own.len() + CLONE_HEADROOM);
        own.extend_from_slice(&self.own);
        let (shared, moved) = (Arc::clone(&self.shared), self.moved.clone());
        Self { shared, moved, copies: self.copies.clone(), own }
    }
}

impl Index<usize> for ExpressionStates {
    type Output = ExpressionState;

    #[inline]
    fn index(&self, index: usize) -> &ExpressionState {
        match index.checked_sub(self.shared.len()) {
            Some(own) => &self.own[own],
            None => match self.moved[index / STATES_PER_CHUNK] {
                NOT_STORED => &self.shared[index],
                at => &self.copies[at as usize + index % STATES_PER_CHUNK],
            },
        }
    }
}

impl IndexMut<usize> for ExpressionStates {
    #[inline]
    fn index_mut(&mut self, index: usize) -> &mut ExpressionState {
        match index.checked_sub(self.shared.len()) {
            Some(own) => &mut self.own[own],
            None => {
                let at = &mut self.moved[index / STATES_PER_CHUNK];
                if *at == NOT_STORED {
                    *at = self.copies.len() as u32;
                    let start = index / STATES_PER_CHUNK * STATES_PER_CHUNK;
                    let end = self.shared.len().min(start + STATES_PER_CHUNK);
                    self.copies.extend_from_slice(&self.shared[start..end]);
                }
                &mut self.copies[*at as usize + index % STATES_PER_CHUNK]
            }
        }
    }
}
