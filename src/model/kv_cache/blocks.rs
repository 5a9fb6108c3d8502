//! Paged storage: a pool of blocks, and the table of the blocks of one sequence.
//!
//! A block holds the keys and values of 16 positions in every layer. Its holders are counted; a block
//! that nobody holds returns to the pool, which gives it out again.
//!
//! ```text
//! sequence A   [0] [1] [2]          16 positions each; A and B share [0] and [1],
//! sequence B   [0] [1] [3]          B copied [2] to [3] before it wrote into it
//! ```
//!
//! The kernels say what lies where within a block: [`BlockLayout`].

use std::sync::{Arc, Mutex, PoisonError};

use maskwright_kernels::{BLOCK_POSITIONS, BlockLayout};

use super::CacheShape;

/// The blocks of all sequences of a model.
#[derive(Debug)]
pub(in crate::model) struct BlockPool {
    shape: CacheShape,
    /// Memory that nobody holds.
    free: Mutex<Vec<Box<[f32]>>>,
}

/// The memory of one block, which returns to its pool at the end.
#[derive(Debug)]
struct Block {
    pool: Arc<BlockPool>,
    numbers: Box<[f32]>,
}

/// The blocks of one sequence, in order.
#[derive(Clone, Debug, Default)]
pub(in crate::model) struct BlockTable {
    /// Absent in a table without a model, which holds nothing.
    pool: Option<Arc<BlockPool>>,
    blocks: Vec<Arc<Block>>,
}

impl BlockPool {
    pub(in crate::model) fn new(shape: CacheShape) -> Arc<Self> {
        Arc::new(Self { shape, free: Mutex::default() })
    }

    fn take(self: &Arc<Self>) -> Block {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let numbers =
            free.unwrap_or_else(|| vec![0.0; self.layout().len(self.shape.layers)].into());
        Block { pool: Arc::clone(self), numbers }
    }

    fn layout(&self) -> BlockLayout {
        self.shape.layout()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let numbers = std::mem::take(&mut self.numbers);
        self.pool.free.lock().unwrap_or_else(PoisonError::into_inner).push(numbers);
    }
}

impl Clone for Block {
    fn clone(&self) -> Self {
        let mut copy = self.pool.take();
        copy.numbers.copy_from_slice(&self.numbers);
        copy
    }
}

impl BlockTable {
    pub(super) fn new(pool: &Arc<BlockPool>) -> Self {
        Self { pool: Some(Arc::clone(pool)), blocks: Vec::new() }
    }

    /// The numbers of the blocks, in order.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[f32]> {
        self.blocks.iter().map(|block| &*block.numbers)
    }

    /// Makes room for the positions from `from` to `to`, in blocks that no other sequence holds.
    pub(in crate::model) fn reserve(&mut self, from: usize, to: usize) {
        let Some(pool) = &self.pool else { return };
        for block in self.blocks.iter_mut().skip(from / BLOCK_POSITIONS) {
            Arc::make_mut(block);
        }
        while self.blocks.len() * BLOCK_POSITIONS < to {
            self.blocks.push(Arc::new(pool.take()));
        }
    }

    /// Writes keys and values, each (positions, heads, width), of one layer at positions from `at` on,
    /// for which there is [room](Self::reserve).
    pub(in crate::model) fn write(
        &mut self,
        layer: usize,
        at: usize,
        keys: &[f32],
        values: &[f32],
    ) {
        let Some(pool) = &self.pool else { return };
        let layout = pool.layout();
        let row_len = layout.kv_heads * layout.width;
        let rows = keys.chunks_exact(row_len).zip(values.chunks_exact(row_len));
        for (position, (keys, values)) in (at..).zip(rows) {
            let block = Arc::make_mut(&mut self.blocks[position / BLOCK_POSITIONS]);
            layout.write(&mut block.numbers, layer, position % BLOCK_POSITIONS, keys, values);
        }
    }

    /// Lets go of the blocks behind the first `len` positions.
    pub(super) fn truncate(&mut self, len: usize) {
        self.blocks.truncate(len.div_ceil(BLOCK_POSITIONS));
    }

    /// Moves these of the positions from `from` on (counted from there, ascending) together, and lets
    /// go of the others.
    pub(super) fn keep(&mut self, from: usize, positions: &[usize]) {
        let Some(pool) = self.pool.clone() else { return };
        let moves = positions.iter().enumerate().filter(|(to, position)| to != *position);
        for (to, position) in moves {
            self.copy_position(&pool, from + position, from + to);
        }
        self.truncate(from + positions.len());
    }

    fn copy_position(&mut self, pool: &BlockPool, from: usize, to: usize) {
        let indices =
            |position| pool.layout().position(pool.shape.layers, position % BLOCK_POSITIONS);
        let source = &self.blocks[from / BLOCK_POSITIONS].numbers;
        let numbers: Vec<f32> = indices(from).map(|index| source[index]).collect();
        let target = Arc::make_mut(&mut self.blocks[to / BLOCK_POSITIONS]);
        for (index, number) in indices(to).zip(numbers) {
            target.numbers[index] = number;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: CacheShape = CacheShape { layers: 2, heads: 2, width: 3 };

    /// Writes a number for each position, from which those of layers, heads and dimensions differ.
    fn write(table: &mut BlockTable, at: usize, numbers: &[f32]) {
        table.reserve(at, at + numbers.len());
        for layer in 0..SHAPE.layers {
            let row = |n: &f32| (0..6).map(|i| n + (layer * 6 + i) as f32 / 16.0).collect();
            let keys: Vec<f32> = numbers.iter().flat_map(|n| -> Vec<f32> { row(n) }).collect();
            let values: Vec<f32> = keys.iter().map(|number| -number).collect();
            table.write(layer, at, &keys, &values);
        }
    }

    /// The number at each position, after a check of all that stands there.
    fn numbers(table: &BlockTable, len: usize) -> Vec<f32> {
        let number = |position: usize| {
            let (block, at) = (position / BLOCK_POSITIONS, position % BLOCK_POSITIONS);
            let (layout, block) = (SHAPE.layout(), &table.blocks[block].numbers);
            let first = block[layout.keys(0, 0)][at];
            for (layer, head) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
                for dimension in 0..3 {
                    let expected = first + (layer * 6 + head * 3 + dimension) as f32 / 16.0;
                    let keys = &block[layout.keys(layer, head)];
                    assert_eq!(keys[dimension * BLOCK_POSITIONS + at], expected);
                    let values = &block[layout.values(layer, head)];
                    assert_eq!(values[at * 3 + dimension], -expected);
                }
            }
            first
        };
        (0..len).map(number).collect()
    }

    fn count(from: usize, to: usize) -> Vec<f32> {
        (from..to).map(|number| number as f32).collect()
    }

    #[test]
    fn forks_share_blocks_until_they_write() {
        let pool = BlockPool::new(SHAPE);
        let mut table = BlockTable::new(&pool);
        write(&mut table, 0, &count(0, 20));
        write(&mut table, 20, &count(20, 21));
        let mut fork = table.clone();
        assert!(Arc::ptr_eq(&table.blocks[1], &fork.blocks[1]));
        write(&mut fork, 21, &count(121, 140));
        assert!(Arc::ptr_eq(&table.blocks[0], &fork.blocks[0]));
        assert!(!Arc::ptr_eq(&table.blocks[1], &fork.blocks[1]));
        write(&mut table, 21, &count(21, 23));
        assert_eq!(numbers(&table, 23), count(0, 23));
        assert_eq!(numbers(&fork, 40), [count(0, 21), count(121, 140)].concat());
    }

    #[test]
    fn branches_are_dropped_and_blocks_return_to_the_pool() {
        let pool = BlockPool::new(SHAPE);
        let free = |pool: &BlockPool| pool.free.lock().unwrap().len();
        let mut table = BlockTable::new(&pool);
        write(&mut table, 0, &count(0, 40));
        let other = table.clone();
        table.keep(10, &[0, 1, 5, 20, 25]);
        let kept = [count(0, 12), vec![15.0, 30.0, 35.0]].concat();
        assert_eq!(numbers(&table, 15), kept);
        assert_eq!(numbers(&other, 40), count(0, 40));
        // The first block was copied, the others are the fork's.
        assert_eq!((table.blocks.len(), free(&pool)), (1, 0));
        drop(other);
        assert_eq!(free(&pool), 3);
        table.truncate(0);
        assert_eq!(free(&pool), 4);
        write(&mut table, 0, &count(7, 8));
        assert_eq!((numbers(&table, 1), free(&pool)), (vec![7.0], 3));
    }
}
