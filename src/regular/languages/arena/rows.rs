//! Rows of successors, in blocks of sixteen.

use std::sync::Arc;

use crate::regular::ByteSet;
use crate::regular::languages::Row;

/// A row, with the bytes whose entries may differ from the entry before.
pub(super) type StoredRow = (Row, ByteSet);

/// Rows in one allocation. A single row is just larger than the size classes of allocators.
pub(super) const BLOCK: usize = 16;

/// Rows by index, the first of which are shared by all clones.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    pub(super) shared: Arc<Vec<StoredRow>>,
    /// Blocks, all full but the last.
    pub(super) own: Vec<Vec<StoredRow>>,
}

impl Clone for Rows {
    fn clone(&self) -> Self {
        let mut clone = Self { shared: Arc::clone(&self.shared), own: Vec::new() };
        self.own.iter().flatten().for_each(|&entry| _ = clone.push(entry));
        clone
    }
}

impl Rows {
    pub(crate) fn len(&self) -> usize {
        self.shared.len() + self.owned()
    }

    /// Number of shared rows.
    pub(crate) fn shared(&self) -> usize {
        self.shared.len()
    }

    /// Number of rows of this arena alone.
    pub(crate) fn owned(&self) -> usize {
        match self.own.last() {
            Some(last) => (self.own.len() - 1) * BLOCK + last.len(),
            None => 0,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.own.len() * (BLOCK * size_of::<StoredRow>() + size_of::<Vec<StoredRow>>())
    }

    #[inline]
    pub(crate) fn get(&self, number: u32) -> &StoredRow {
        match (number as usize).checked_sub(self.shared.len()) {
            Some(own) => &self.own[own / BLOCK][own % BLOCK],
            None => &self.shared[number as usize],
        }
    }

    /// A row that is not shared.
    pub(crate) fn get_mut(&mut self, number: u32) -> Option<&mut StoredRow> {
        let own = (number as usize).checked_sub(self.shared.len())?;
        self.own.get_mut(own / BLOCK)?.get_mut(own % BLOCK)
    }

    pub(crate) fn push(&mut self, entry: StoredRow) -> u32 {
        match self.own.last_mut() {
            Some(last) if last.len() < BLOCK => last.push(entry),
            _ => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(entry);
                self.own.push(block);
            }
        }
        self.len() as u32 - 1
    }

    /// Drops the rows from `len` on, but no shared ones.
    pub(crate) fn truncate(&mut self, len: usize) {
        let own = len.saturating_sub(self.shared.len());
        self.own.truncate(own.div_ceil(BLOCK));
        if let Some(last) = self.own.get_mut(own / BLOCK) {
            last.truncate(own % BLOCK);
        }
    }

    pub(crate) fn freeze(&mut self) {
        let own = std::mem::take(&mut self.own);
        self.shared =
            Arc::new(self.shared.iter().copied().chain(own.into_iter().flatten()).collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::regular::Language;

    #[test]
    fn rows_by_number() {
        let entry = |n: u32| ([Language::from_number(n); 256], ByteSet::single(n as u8));
        let mut rows = Rows::default();
        assert_eq!((rows.len(), rows.owned()), (0, 0));
        for frozen in [0, 21] {
            for n in frozen..frozen + 40 {
                assert_eq!(rows.push(entry(n)), n);
            }
            for len in [39, 33, 32, 31, 21] {
                rows.truncate(frozen as usize + len);
                let clone = rows.clone();
                for rows in [&rows, &clone] {
                    assert_eq!((rows.len(), rows.owned()), (frozen as usize + len, len));
                    (0..rows.len() as u32).for_each(|n| assert_eq!(*rows.get(n), entry(n)));
                }
            }
            let last = rows.len() as u32 - 1;
            *rows.get_mut(last).unwrap() = entry(7);
            assert_eq!(*rows.get(last), entry(7));
            *rows.get_mut(last).unwrap() = entry(last);
            assert_eq!(rows.get_mut(last + 1), None);
            rows.freeze();
            assert_eq!(
                (rows.len(), rows.shared(), rows.owned()),
                (last as usize + 1, last as usize + 1, 0)
            );
            assert_eq!(rows.get_mut(last), None);
        }
    }
}
