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
//! A prefix cache holds blocks beside the tables. It counts those that no table holds, which it could give
//! up, without a look at each: a block tells the counter when the first table takes it and when the last one
//! lets go ([`SharedBlock::count_idle_in`]).
//!
//! On the CPU a block has memory of its own, and the kernels say what lies where in it: [`BlockLayout`]. On
//! other devices a block is an index into tensors of all blocks: [`DeviceBlocks`].

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use candle_core::{DType, Device, Error, Result};
use maskwright_kernels::{BLOCK_POSITIONS, BlockLayout};

use super::device_blocks::DeviceBlocks;
use super::{CacheShape, RotaryFactors};

/// The blocks of all sequences of a model.
#[derive(Debug)]
pub(in crate::model) struct BlockPool {
    shape: CacheShape,
    bytes_per_number: usize,
    memory: Mutex<PoolMemory>,
    /// The tensors of all blocks, on devices other than the CPU.
    device: Option<Mutex<DeviceBlocks>>,
}

#[derive(Debug)]
struct PoolMemory {
    /// The memory of blocks that nobody holds.
    free: Vec<BlockMemory>,
    /// The greatest number of them.
    max_free: usize,
    in_use: usize,
}

/// The blocks of a model's KV caches: see [`Model::kv_blocks`](crate::model::Model::kv_blocks).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KvBlocks {
    /// Blocks that a cache or a [`SharedBlock`] holds, each counted once.
    pub in_use: usize,
    /// Blocks that nobody holds, and whose memory is kept for the next one that is needed.
    pub free: usize,
    /// The memory of one block.
    pub bytes_per_block: usize,
    /// The positions (tokens) of one block.
    pub positions_per_block: usize,
}

/// Where the numbers of a block are.
#[derive(Debug)]
enum BlockMemory {
    /// Here, on the CPU.
    Own(Box<[f32]>),
    /// At this index of the tensors of all blocks.
    Index(u32),
}

/// The memory of one block, which returns to its pool at the end.
#[derive(Debug)]
struct Block {
    pool: Arc<BlockPool>,
    memory: BlockMemory,
    /// The tables that hold it.
    tables: AtomicUsize,
    /// Counts it while no table holds it.
    idle: OnceLock<Arc<AtomicUsize>>,
}

/// The hold of one table on a block.
#[derive(Debug)]
struct TableBlock(Arc<Block>);

/// A full block of a sequence's [`KvCache`](super::KvCache), held beside it: what a prefix cache
/// keeps. Nobody can write to it as long as it is held; clones are one more holder of the same memory.
#[derive(Clone, Debug)]
pub struct SharedBlock {
    block: Arc<Block>,
    factors: RotaryFactors,
}

impl SharedBlock {
    /// The factors with which its keys have been rotated.
    pub(super) fn rotary_factors(&self) -> RotaryFactors {
        self.factors
    }

    /// Whether no cache and no clone holds the block: dropping it makes room.
    pub fn is_only_holder(&self) -> bool {
        Arc::strong_count(&self.block) == 1
    }

    /// Counts the block in `counter` while no cache holds it, from now on and until its end. The first call
    /// decides. No other thread may take the block into a cache, or drop such a cache, during the call.
    pub(crate) fn count_idle_in(&self, counter: &Arc<AtomicUsize>) {
        let is_new = self.block.idle.set(Arc::clone(counter)).is_ok();
        if is_new && self.block.tables.load(Ordering::Acquire) == 0 {
            counter.fetch_add(1, Ordering::AcqRel);
        }
    }
}

impl TableBlock {
    /// One more table's hold on a block.
    fn hold(block: &Arc<Block>) -> Self {
        if block.tables.fetch_add(1, Ordering::AcqRel) == 0
            && let Some(idle) = block.idle.get()
        {
            idle.fetch_sub(1, Ordering::AcqRel);
        }
        Self(Arc::clone(block))
    }

    /// The block to write to: a copy, if anyone else holds this one.
    fn make_mut(&mut self) -> Result<&mut Block> {
        if Arc::strong_count(&self.0) > 1 {
            *self = Self(Arc::new(self.0.copy()?));
        }
        Arc::get_mut(&mut self.0).ok_or_else(|| Error::msg("a block of a KV cache has two writers"))
    }
}

impl Clone for TableBlock {
    fn clone(&self) -> Self {
        Self::hold(&self.0)
    }
}

impl Drop for TableBlock {
    fn drop(&mut self) {
        if self.0.tables.fetch_sub(1, Ordering::AcqRel) == 1
            && let Some(idle) = self.0.idle.get()
        {
            idle.fetch_add(1, Ordering::AcqRel);
        }
    }
}

/// The blocks of one sequence, in order.
#[derive(Clone, Debug)]
pub(in crate::model) struct BlockTable {
    pool: Arc<BlockPool>,
    blocks: Vec<TableBlock>,
}

impl BlockPool {
    /// A pool on a device. On the CPU blocks are `f32`, elsewhere of the dtype.
    pub(in crate::model) fn new(shape: CacheShape, dtype: DType, device: &Device) -> Arc<Self> {
        let memory = PoolMemory { free: Vec::new(), max_free: usize::MAX, in_use: 0 };
        let blocks = || Mutex::new(DeviceBlocks::new(&shape, dtype, device));
        let device = (!device.is_cpu()).then(blocks);
        let bytes_per_number = device.as_ref().map_or(size_of::<f32>(), |_| dtype.size_in_bytes());
        Arc::new(Self { shape, bytes_per_number, memory: Mutex::new(memory), device })
    }

    /// The tensors of all blocks, with room for those that were ever taken. `None` on the CPU.
    pub(in crate::model) fn device_blocks(&self) -> Result<Option<MutexGuard<'_, DeviceBlocks>>> {
        let Some(device) = &self.device else { return Ok(None) };
        let mut blocks = device.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = {
            let memory = self.memory();
            memory.in_use + memory.free.len()
        };
        blocks.grow(taken)?;
        Ok(Some(blocks))
    }

    /// The numbers of blocks.
    pub(in crate::model) fn counts(&self) -> KvBlocks {
        let memory = self.memory();
        KvBlocks {
            in_use: memory.in_use,
            free: memory.free.len(),
            bytes_per_block: self.numbers_per_block() * self.bytes_per_number,
            positions_per_block: BLOCK_POSITIONS,
        }
    }

    /// Keeps the memory of at most so many free blocks, from now on. On devices other than the CPU blocks
    /// share tensors, which stay.
    pub(in crate::model) fn limit_free(&self, blocks: usize) {
        if self.device.is_some() {
            return;
        }
        let excess = {
            let mut memory = self.memory();
            memory.max_free = blocks;
            let kept = memory.free.len().min(blocks);
            let excess = memory.free.split_off(kept);
            memory.free.shrink_to(blocks);
            excess
        };
        // Outside of the lock: large pieces go back to the system.
        drop(excess);
    }

    /// A block that one table holds.
    fn take(self: &Arc<Self>) -> Block {
        let (free, next) = {
            let mut memory = self.memory();
            let next = memory.in_use;
            memory.in_use += 1;
            (memory.free.pop(), next)
        };
        let new = || match &self.device {
            None => BlockMemory::Own(vec![0.0; self.numbers_per_block()].into()),
            // All blocks before it are in use. Blocks are far fewer than u32::MAX.
            Some(_) => BlockMemory::Index(next as u32),
        };
        let memory = free.unwrap_or_else(new);
        let (tables, idle) = (AtomicUsize::new(1), OnceLock::new());
        Block { pool: Arc::clone(self), memory, tables, idle }
    }

    fn memory(&self) -> MutexGuard<'_, PoolMemory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn numbers_per_block(&self) -> usize {
        self.shape.numbers_per_block()
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        let memory = std::mem::replace(&mut self.memory, BlockMemory::Own(Box::default()));
        let mut pool = self.pool.memory();
        pool.in_use -= 1;
        if pool.free.len() < pool.max_free {
            pool.free.push(memory);
        }
    }
}

impl Block {
    /// The numbers, on the CPU.
    fn numbers(&self) -> &[f32] {
        match &self.memory {
            BlockMemory::Own(numbers) => numbers,
            BlockMemory::Index(_) => &[],
        }
    }

    /// The numbers, on the CPU.
    fn numbers_mut(&mut self) -> &mut [f32] {
        match &mut self.memory {
            BlockMemory::Own(numbers) => numbers,
            BlockMemory::Index(_) => &mut [],
        }
    }

    /// The index among the tensors of all blocks; 0 on the CPU.
    fn index(&self) -> u32 {
        match &self.memory {
            BlockMemory::Own(_) => 0,
            BlockMemory::Index(index) => *index,
        }
    }

    /// A copy that one table holds.
    fn copy(&self) -> Result<Self> {
        let mut copy = self.pool.take();
        copy.numbers_mut().copy_from_slice(self.numbers());
        if let Some(blocks) = self.pool.device_blocks()? {
            let slots = |block: &Self| (0..BLOCK_POSITIONS).map(|at| slot(block, at)).collect();
            let (from, to): (Vec<u32>, Vec<u32>) = (slots(self), slots(&copy));
            blocks.copy(&from, &to)?;
        }
        Ok(copy)
    }
}

/// The slot of a position of a block on a device: see [`paged_attention`](crate::model::paged_attention).
fn slot(block: &Block, position: usize) -> u32 {
    block.index() * BLOCK_POSITIONS as u32 + position as u32
}

impl BlockTable {
    pub(super) fn new(pool: &Arc<BlockPool>) -> Self {
        Self { pool: Arc::clone(pool), blocks: Vec::new() }
    }

    /// The table that begins with these blocks. `None` if one is of another pool.
    pub(super) fn of(pool: &Arc<BlockPool>, blocks: &[SharedBlock]) -> Option<Self> {
        let is_ours = |shared: &SharedBlock| Arc::ptr_eq(&shared.block.pool, pool);
        let blocks =
            blocks.iter().map(|shared| is_ours(shared).then(|| TableBlock::hold(&shared.block)));
        Some(Self { pool: Arc::clone(pool), blocks: blocks.collect::<Option<_>>()? })
    }

    /// One more holder of the block of this index, whose keys have been rotated with these factors.
    pub(super) fn share(&self, index: usize, factors: RotaryFactors) -> Option<SharedBlock> {
        self.blocks.get(index).map(|held| SharedBlock { block: Arc::clone(&held.0), factors })
    }

    /// The greatest number of blocks that [`reserve`](Self::reserve) takes out of the pool.
    pub(super) fn blocks_to_reserve(&self, from: usize, to: usize) -> usize {
        let is_shared = |held: &&TableBlock| Arc::strong_count(&held.0) > 1;
        let copies = self.blocks.iter().skip(from / BLOCK_POSITIONS).filter(is_shared).count();
        copies + to.div_ceil(BLOCK_POSITIONS).saturating_sub(self.blocks.len())
    }

    /// The numbers of the blocks, in order, on the CPU.
    pub(super) fn blocks(&self) -> impl Iterator<Item = &[f32]> {
        self.blocks.iter().map(|held| held.0.numbers())
    }

    /// The indices of the blocks, in order, on devices other than the CPU.
    pub(in crate::model) fn indices(&self) -> impl Iterator<Item = u32> {
        self.blocks.iter().map(|held| held.0.index())
    }

    /// The slot of a position on devices other than the CPU.
    pub(in crate::model) fn slot(&self, position: usize) -> u32 {
        slot(&self.blocks[position / BLOCK_POSITIONS].0, position % BLOCK_POSITIONS)
    }

    /// Makes room for the positions from `from` to `to`, in blocks that no other sequence holds.
    pub(in crate::model) fn reserve(&mut self, from: usize, to: usize) -> Result<()> {
        for block in self.blocks.iter_mut().skip(from / BLOCK_POSITIONS) {
            block.make_mut()?;
        }
        while self.blocks.len() * BLOCK_POSITIONS < to {
            self.blocks.push(TableBlock(Arc::new(self.pool.take())));
        }
        Ok(())
    }

    /// Writes keys and values, each (positions, heads, width), of the layer of a layout at positions from
    /// `at` on, for which there is [room](Self::reserve), on the CPU.
    pub(in crate::model) fn write(
        &mut self,
        layout: BlockLayout,
        at: usize,
        keys: &[f32],
        values: &[f32],
    ) -> Result<()> {
        let row_len = layout.kv_heads * layout.width;
        let rows = keys.chunks_exact(row_len).zip(values.chunks_exact(row_len));
        for (position, (keys, values)) in (at..).zip(rows) {
            let block = self.blocks[position / BLOCK_POSITIONS].make_mut()?;
            layout.write(block.numbers_mut(), position % BLOCK_POSITIONS, keys, values);
        }
        Ok(())
    }

    /// Lets go of the blocks beyond the first `len` positions.
    pub(super) fn truncate(&mut self, len: usize) {
        self.blocks.truncate(len.div_ceil(BLOCK_POSITIONS));
    }

    /// Moves these of the positions from `from` on (counted from there, ascending) together, and lets
    /// go of the others.
    pub(super) fn keep(&mut self, from: usize, positions: &[usize]) -> Result<()> {
        let moves = positions.iter().enumerate().filter(|(to, position)| to != *position);
        let moves: Vec<(usize, usize)> =
            moves.map(|(to, position)| (from + position, from + to)).collect();
        for (_, to) in &moves {
            self.blocks[to / BLOCK_POSITIONS].make_mut()?;
        }
        if let Some(blocks) = self.pool.device_blocks()? {
            let (from, to): (Vec<u32>, Vec<u32>) =
                moves.iter().map(|(from, to)| (self.slot(*from), self.slot(*to))).unzip();
            blocks.copy(&from, &to)?;
        } else {
            for (from, to) in moves {
                self.copy_position(from, to)?;
            }
        }
        self.truncate(from + positions.len());
        Ok(())
    }

    /// Copies a position to another one, on the CPU.
    fn copy_position(&mut self, from: usize, to: usize) -> Result<()> {
        let layers = self.pool.shape.layers().to_vec();
        let indices = |position: usize| {
            layers.iter().flat_map(move |layout| layout.position(position % BLOCK_POSITIONS))
        };
        let source = self.blocks[from / BLOCK_POSITIONS].0.numbers();
        let numbers: Vec<f32> = indices(from).map(|index| source[index]).collect();
        let target = self.blocks[to / BLOCK_POSITIONS].make_mut()?.numbers_mut();
        for (index, number) in indices(to).zip(numbers) {
            target[index] = number;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layers that differ in the number and the width of their heads.
    fn shape() -> CacheShape {
        CacheShape::new([(2, 3), (3, 2)])
    }

    /// Writes a number for each position, from which those of layers, heads and dimensions differ.
    fn write(table: &mut BlockTable, at: usize, numbers: &[f32]) {
        table.reserve(at, at + numbers.len()).unwrap();
        for (layer, layout) in shape().layers().iter().enumerate() {
            let row = |n: &f32| (0..6).map(|i| n + (layer * 6 + i) as f32 / 16.0).collect();
            let keys: Vec<f32> = numbers.iter().flat_map(|n| -> Vec<f32> { row(n) }).collect();
            let values: Vec<f32> = keys.iter().map(|number| -number).collect();
            table.write(*layout, at, &keys, &values).unwrap();
        }
    }

    /// The number at each position, after a check of all that stands there.
    fn numbers(table: &BlockTable, len: usize) -> Vec<f32> {
        let number = |position: usize| {
            let (block, at) = (position / BLOCK_POSITIONS, position % BLOCK_POSITIONS);
            let (shape, block) = (shape(), table.blocks[block].0.numbers());
            let first = block[shape.layers()[0].keys(0)][at];
            for (layer, layout) in shape.layers().iter().enumerate() {
                for index in 0..6 {
                    let (head, dimension) = (index / layout.width, index % layout.width);
                    let expected = first + (layer * 6 + index) as f32 / 16.0;
                    let keys = &block[layout.keys(head)];
                    assert_eq!(keys[dimension * BLOCK_POSITIONS + at], expected);
                    let values = &block[layout.values(head)];
                    assert_eq!(values[at * layout.width + dimension], -expected);
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
        let pool = BlockPool::new(shape(), DType::F32, &Device::Cpu);
        let mut table = BlockTable::new(&pool);
        write(&mut table, 0, &count(0, 20));
        write(&mut table, 20, &count(20, 21));
        let mut fork = table.clone();
        assert!(Arc::ptr_eq(&table.blocks[1].0, &fork.blocks[1].0));
        write(&mut fork, 21, &count(121, 140));
        assert!(Arc::ptr_eq(&table.blocks[0].0, &fork.blocks[0].0));
        assert!(!Arc::ptr_eq(&table.blocks[1].0, &fork.blocks[1].0));
        write(&mut table, 21, &count(21, 23));
        assert_eq!(numbers(&table, 23), count(0, 23));
        assert_eq!(numbers(&fork, 40), [count(0, 21), count(121, 140)].concat());
    }

    #[test]
    fn branches_are_dropped_and_blocks_return_to_the_pool() {
        let pool = BlockPool::new(shape(), DType::F32, &Device::Cpu);
        let free = |pool: &BlockPool| pool.counts().free;
        let mut table = BlockTable::new(&pool);
        write(&mut table, 0, &count(0, 40));
        let other = table.clone();
        table.keep(10, &[0, 1, 5, 20, 25]).unwrap();
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

    #[test]
    fn the_pool_keeps_no_more_free_blocks_than_it_is_told() {
        let pool = BlockPool::new(shape(), DType::F32, &Device::Cpu);
        let counts = |pool: &BlockPool| (pool.counts().in_use, pool.counts().free);
        let mut table = BlockTable::new(&pool);
        write(&mut table, 0, &count(0, 80));
        let fork = table.clone();
        assert_eq!(counts(&pool), (5, 0));
        table.truncate(0);
        assert_eq!(counts(&pool), (5, 0));
        drop(fork);
        assert_eq!(counts(&pool), (0, 5));
        pool.limit_free(2);
        assert_eq!(counts(&pool), (0, 2));
        write(&mut table, 0, &count(0, 80));
        assert_eq!(counts(&pool), (5, 0));
        drop(table);
        assert_eq!(counts(&pool), (0, 2));
        let bytes = 2 * 6 * 16 * 2 * 4;
        assert_eq!(pool.counts().bytes_per_block, bytes);
    }

    #[test]
    fn idle_blocks_are_counted_as_tables_take_them_and_let_go() {
        let pool = BlockPool::new(shape(), DType::F32, &Device::Cpu);
        let counter = Arc::new(AtomicUsize::new(0));
        let idle = || counter.load(Ordering::Acquire);
        let mut table = BlockTable::new(&pool);
        write(&mut table, 0, &count(0, 48));
        let share = |table: &BlockTable, index| table.share(index, RotaryFactors::Short).unwrap();
        let shared: Vec<SharedBlock> = (0..3).map(|index| share(&table, index)).collect();
        shared.iter().for_each(|block| block.count_idle_in(&counter));
        assert_eq!(idle(), 0);
        // A second call counts nothing twice.
        shared[0].count_idle_in(&counter);
        let mut fork = table.clone();
        drop(table);
        assert_eq!(idle(), 0);
        // Its copy of the last block is not the one that is shared.
        fork.truncate(40);
        write(&mut fork, 40, &count(40, 41));
        assert_eq!(idle(), 1);
        fork.truncate(16);
        assert_eq!(idle(), 2);
        let again = BlockTable::of(&pool, &shared).unwrap();
        assert_eq!(idle(), 0);
        drop((fork, again));
        assert_eq!(idle(), 3);
        // One that is shared when no table holds it any more is counted at once.
        let mut table = BlockTable::new(&pool);
        write(&mut table, 0, &count(0, 16));
        let other = share(&table, 0);
        drop(table);
        other.count_idle_in(&counter);
        assert_eq!(idle(), 4);
    }

    #[test]
    fn blocks_to_reserve_are_the_blocks_that_are_taken() {
        let pool = BlockPool::new(shape(), DType::F32, &Device::Cpu);
        for len in [0, 1, 15, 16, 17, 32, 40] {
            for more in [1, 2, 15, 16, 17, 33] {
                let mut table = BlockTable::new(&pool);
                write(&mut table, 0, &count(0, len));
                let forks = [None, Some(table.clone())];
                for fork in forks {
                    let before = pool.counts().in_use;
                    let expected = table.blocks_to_reserve(len, len + more);
                    table.reserve(len, len + more).unwrap();
                    assert_eq!(pool.counts().in_use - before, expected, "{len} and {more}");
                    table.truncate(len);
                    drop(fork);
                }
            }
        }
    }
}
