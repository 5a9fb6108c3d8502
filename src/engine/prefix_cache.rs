//! Blocks of the KV cache that texts with the same beginning share.
//!
//! A full block is found by its tokens and the block before it, as in vLLM's automatic prefix
//! caching:
//!
//! ```text
//! tokens      t0 … t15      t16 … t31     t32 … t40
//! key         h(root, t0…)  h(key, t16…)  not full: not shared
//! ```
//!
//! Blocks stay when their text has ended, until the memory is needed: then those are evicted first that
//! were used least recently, and of one text the last ones. *Idle* blocks, which no text holds, are counted
//! as texts take blocks and let go of them, since the scheduler asks in every step: at 64 texts of a small
//! model a look at every block took 4% of a step. A lookup is O(blocks) and compares all tokens, so that
//! equal hashes of unequal texts do no harm.

use std::collections::{BTreeSet, HashMap};
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::scheduler::KV_BLOCK_SIZE;
use crate::model::{RotaryFactors, SharedBlock};

/// The hash of a block's tokens and of the key before it. The block before the first has a reserved key, one
/// for each kind of rotary factors ([`root`]).
pub(crate) type BlockKey = u64;

/// A block that texts share.
#[derive(Debug)]
struct CachedBlock {
    before: BlockKey,
    tokens: [u32; KV_BLOCK_SIZE],
    block: SharedBlock,
    eviction_key: EvictionKey,
}

/// Orders blocks by when they are evicted: by the time of their last use, then from the last block of a text
/// to its first.
type EvictionKey = (u64, std::cmp::Reverse<usize>, BlockKey);

/// All blocks that texts share.
#[derive(Debug, Default)]
pub(crate) struct PrefixCache {
    hasher: RandomState,
    blocks: HashMap<BlockKey, CachedBlock>,
    eviction_order: BTreeSet<EvictionKey>,
    /// Counts lookups and insertions.
    time: u64,
    /// The number of idle blocks; the blocks themselves keep it up to date.
    idle: Arc<AtomicUsize>,
}

/// The key that stands for the block before the first one.
fn root(factors: RotaryFactors) -> BlockKey {
    match factors {
        RotaryFactors::Short => 0,
        RotaryFactors::Long => BlockKey::MAX,
    }
}

impl PrefixCache {
    /// The keys of the full blocks of a text whose positions are rotated with these factors.
    pub(crate) fn keys(&self, tokens: &[u32], factors: RotaryFactors) -> Vec<BlockKey> {
        let mut before = root(factors);
        let blocks = tokens.chunks_exact(KV_BLOCK_SIZE);
        blocks
            .map(|tokens| {
                before = self.hasher.hash_one((before, tokens)).max(1);
                before
            })
            .collect()
    }

    /// The blocks, from the first on, that hold the beginning of a text.
    pub(crate) fn find(&mut self, tokens: &[u32], factors: RotaryFactors) -> Vec<SharedBlock> {
        self.time += 1;
        let (mut found, mut before) = (Vec::new(), root(factors));
        for (key, tokens) in
            self.keys(tokens, factors).into_iter().zip(tokens.chunks_exact(KV_BLOCK_SIZE))
        {
            let Some(cached) = self.blocks.get_mut(&key) else { break };
            if cached.before != before || cached.tokens != tokens {
                break;
            }
            self.eviction_order.remove(&cached.eviction_key);
            cached.eviction_key.0 = self.time;
            self.eviction_order.insert(cached.eviction_key);
            found.push(cached.block.clone());
            before = key;
        }
        found
    }

    /// Makes the blocks of a text the last that were used.
    pub(crate) fn touch(&mut self, tokens: &[u32], factors: RotaryFactors) {
        self.find(tokens, factors);
    }

    /// Whether a block is there.
    pub(crate) fn contains(&self, key: BlockKey) -> bool {
        self.blocks.contains_key(&key)
    }

    /// Adds the blocks of a text from index `from` on, which are full; those that are there stay.
    pub(crate) fn insert(
        &mut self,
        (tokens, factors): (&[u32], RotaryFactors),
        from: usize,
        block: impl Fn(usize) -> Option<SharedBlock>,
    ) {
        self.time += 1;
        let keys = self.keys(tokens, factors);
        for (index, content) in tokens.chunks_exact(KV_BLOCK_SIZE).enumerate().skip(from) {
            let key = keys[index];
            let before = index.checked_sub(1).map_or(root(factors), |index| keys[index]);
            let (false, Some(block)) = (self.contains(key), block(index)) else { continue };
            let Ok(content) = content.try_into() else { continue };
            // Blocks come as a text grows: none may be newer than the one before it, or that would be evicted first.
            let time = self.blocks.get(&before).map_or(self.time, |before| before.eviction_key.0);
            let eviction_key = (time, std::cmp::Reverse(index), key);
            self.eviction_order.insert(eviction_key);
            block.count_idle_in(&self.idle);
            let cached = CachedBlock { before, tokens: content, block, eviction_key };
            self.blocks.insert(key, cached);
        }
    }

    /// The number of idle blocks.
    pub(crate) fn idle_blocks(&self) -> usize {
        let idle = self.idle.load(Ordering::Acquire);
        let is_idle = |cached: &&CachedBlock| cached.block.is_only_holder();
        debug_assert_eq!(idle, self.blocks.values().filter(is_idle).count());
        idle
    }

    /// The number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.blocks.len()
    }

    /// Lets go of up to `count` idle blocks.
    pub(crate) fn evict(&mut self, count: usize) {
        let idle = self.eviction_order.iter().filter(|(.., key)| {
            self.blocks.get(key).is_some_and(|cached| cached.block.is_only_holder())
        });
        let evicted: Vec<EvictionKey> = idle.take(count).copied().collect();
        self.idle.fetch_sub(evicted.len(), Ordering::AcqRel);
        for eviction_key in evicted {
            self.eviction_order.remove(&eviction_key);
            self.blocks.remove(&eviction_key.2);
        }
    }
}
