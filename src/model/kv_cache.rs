//! The KV cache: keys and values that attention keeps of a sequence.
//!
//! It is paged: blocks of 16 positions, counted by their holders, so that forks (beams, texts with one
//! prompt) share what they have in common and copy one block when they part ([`BlockTable`]). On the CPU
//! each block has memory of its own; on other devices blocks are parts of tensors (`device_blocks`). Models
//! of candle-transformers keep a state of their own (`adapted`).

#[cfg(feature = "candle-transformers")]
mod adapted;
mod blocks;
mod device_blocks;

use std::sync::Arc;

use candle_core::Result;
use maskwright_kernels::{BLOCK_POSITIONS, BlockLayout};

#[cfg(feature = "candle-transformers")]
pub(super) use adapted::{AdaptedCache, AdaptedModel, AdaptedSequence, Stride};
pub(super) use blocks::BlockPool;
use blocks::BlockTable;
pub use blocks::{KvBlocks, SharedBlock};
pub(super) use device_blocks::{DeviceBlocks, DeviceLayer};

/// The sizes of a model's cache: the place of each layer that has keys and values of its own in a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CacheShape {
    layers: Vec<BlockLayout>,
}

impl CacheShape {
    /// The shape of layers with these numbers and widths of heads.
    pub(super) fn new(heads: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let mut start = 0;
        let layer = |(kv_heads, width)| {
            let layout = BlockLayout { start, kv_heads, width };
            start = layout.end();
            layout
        };
        Self { layers: heads.into_iter().map(layer).collect() }
    }

    /// The layers' places.
    pub(super) fn layers(&self) -> &[BlockLayout] {
        &self.layers
    }

    /// The numbers of a block.
    fn numbers_per_block(&self) -> usize {
        self.layers.last().map_or(0, |layer| layer.end())
    }
}

/// Keys and values of one sequence in every layer. Positions are appended by the model's forward
/// pass and dropped from the end by [`truncate`](Self::truncate).
///
/// ```no_run
/// use maskwright::model::{Model, ModelOptions};
/// let model = Model::load(&ModelOptions::default())?;
/// let mut prompt = model.new_cache()?;
/// model.forward(&[1, 2, 3], &mut prompt)?;
/// // Two continuations that share the prompt's prefill.
/// let (mut one, mut other) = (prompt.fork(), prompt.fork());
/// model.forward(&[4], &mut one)?;
/// model.forward(&[5], &mut other)?;
/// assert_eq!((one.len(), other.len()), (4, 4));
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Debug)]
pub struct KvCache {
    storage: Storage,
    len: usize,
    factors: RotaryFactors,
}

/// The factors with which the positions of a sequence are rotated, in a model with LongRoPE (Ding et al.
/// 2024, "LongRoPE: Extending LLM Context Window Beyond 2 Million Tokens"). The keys of a cache have been
/// rotated with one of the two, so that a sequence keeps them from its first token to its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum RotaryFactors {
    /// Those of sequences within the original context; the only ones of other models.
    #[default]
    Short,
    /// Those of longer sequences.
    Long,
}

/// Where the numbers are.
#[derive(Clone, Debug)]
enum Storage {
    Paged(BlockTable),
    #[cfg(feature = "candle-transformers")]
    Adapted(AdaptedCache),
}

impl KvCache {
    /// An empty cache of blocks of a pool.
    pub(super) fn paged(pool: &Arc<BlockPool>) -> Self {
        let factors = RotaryFactors::default();
        Self { storage: Storage::Paged(BlockTable::new(pool)), len: 0, factors }
    }

    /// A cache of blocks that others hold, too. `None` if one is of another pool, or of other factors than the
    /// first.
    pub(super) fn of(pool: &Arc<BlockPool>, blocks: &[SharedBlock]) -> Option<Self> {
        let storage = Storage::Paged(BlockTable::of(pool, blocks)?);
        let mut all = blocks.iter().map(SharedBlock::rotary_factors);
        let factors = all.next().unwrap_or_default();
        let len = blocks.len() * BLOCK_POSITIONS;
        all.all(|other| other == factors).then_some(Self { storage, len, factors })
    }

    /// An empty cache of a model of candle-transformers.
    #[cfg(feature = "candle-transformers")]
    pub(super) fn adapted(model: &Arc<dyn AdaptedModel>) -> Self {
        let storage = Storage::Adapted(AdaptedCache::new(model));
        Self { storage, len: 0, factors: RotaryFactors::default() }
    }

    /// The same empty cache for keys that are rotated with these factors.
    pub(super) fn with_factors(self, factors: RotaryFactors) -> Self {
        Self { factors, ..self }
    }

    /// The factors with which its keys have been rotated.
    pub fn rotary_factors(&self) -> RotaryFactors {
        self.factors
    }

    /// The number of positions (tokens) in the cache.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops all positions from `len` on, if there are any. Their blocks are free for other sequences.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
        match &mut self.storage {
            Storage::Paged(table) => table.truncate(self.len),
            #[cfg(feature = "candle-transformers")]
            Storage::Adapted(cache) => cache.truncate(self.len),
        }
    }

    /// The cache of another sequence with the same beginning. Copied on write: both share their
    /// memory until one of them reads on.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { storage: self.storage.clone(), len: self.len, factors: self.factors }
    }

    /// The greatest number of blocks that the model takes out of its pool to read so many more tokens:
    /// new ones, and the copy of a last block that another holder shares. 0 for models of
    /// candle-transformers, which have no blocks.
    pub fn blocks_for(&self, additional_positions: usize) -> usize {
        match &self.storage {
            Storage::Paged(_) if additional_positions == 0 => 0,
            Storage::Paged(table) => {
                table.blocks_to_reserve(self.len, self.len.saturating_add(additional_positions))
            }
            #[cfg(feature = "candle-transformers")]
            Storage::Adapted(_) => 0,
        }
    }

    /// The block of an index, whose 16 positions begin at 16 times the index, to be held beside the
    /// cache: [`Model::cache_of`](crate::model::Model::cache_of) begins other sequences with it.
    ///
    /// `None` if not all of its positions were read, and for models of candle-transformers, which have
    /// no blocks.
    pub fn block(&self, index: usize) -> Option<SharedBlock> {
        match &self.storage {
            Storage::Paged(table) if index < self.len / BLOCK_POSITIONS => {
                table.share(index, self.factors)
            }
            _ => None,
        }
    }

    /// Keeps only these of the positions from `from` on (counted from there, ascending), moved
    /// together.
    pub(super) fn keep(&mut self, from: usize, positions: &[usize]) -> Result<()> {
        match &mut self.storage {
            Storage::Paged(table) => table.keep(from, positions)?,
            #[cfg(feature = "candle-transformers")]
            Storage::Adapted(cache) => cache.keep(from, positions),
        }
        self.len = from + positions.len();
        Ok(())
    }

    /// The blocks, on the CPU.
    pub(super) fn blocks(&self) -> Vec<&[f32]> {
        match &self.storage {
            Storage::Paged(table) => table.blocks().collect(),
            #[cfg(feature = "candle-transformers")]
            Storage::Adapted(_) => Vec::new(),
        }
    }

    /// The table of its blocks. Errors on a cache of a model that has none.
    pub(super) fn table(&mut self) -> Result<&mut BlockTable> {
        match &mut self.storage {
            Storage::Paged(table) => Ok(table),
            #[cfg(feature = "candle-transformers")]
            Storage::Adapted(_) => candle_core::bail!("the cache is another model's"),
        }
    }

    /// The state of a model of candle-transformers. Errors on a cache of another one.
    #[cfg(feature = "candle-transformers")]
    pub(super) fn adapted_state(&mut self) -> Result<&mut AdaptedCache> {
        match &mut self.storage {
            Storage::Adapted(cache) => Ok(cache),
            Storage::Paged(_) => candle_core::bail!("the cache is another model's"),
        }
    }

    /// Counts `n` more positions, after every layer has written them.
    pub(super) fn advance(&mut self, n: usize) {
        self.len += n;
    }
}
