//! The settings of an engine, and the figures of its loop.

use std::time::Duration;

/// The number of tasks that an engine runs at a time, and the memory of their keys and values.
///
/// ```no_run
/// use maskwright::engine::{Engine, EngineOptions};
/// use maskwright::model::{Model, ModelOptions};
/// let model = Model::load(&ModelOptions::default())?;
/// let options = EngineOptions { max_running: 16, ..EngineOptions::default() };
/// let engine = Engine::new(model).with_options(options);
/// # let _ = engine;
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineOptions {
    /// Tasks that run at a time; others wait. A task is one sampled text (each one of `best_of` by itself),
    /// all beams of one search, or one decision. In a decoding pass a sampled text takes one row (and one for
    /// each guess), a search one for each beam, and a decision reads up to 12 contexts of a few tokens. A
    /// model that candle-transformers computes runs one at a time, whatever this says.
    pub max_running: usize,
    /// Greatest number of bytes of the KV cache. Taken as they are needed; texts are preempted when they
    /// are used up, and read again later. Bounds the length of a text, too. `None` chooses: as many as
    /// `max_running` texts of the model's whole context take, and at most a quarter of the memory that
    /// is available when the engine gets its options, or half of the memory that a GPU has free then
    /// ([`Engine::kv_cache_bytes`](super::Engine::kv_cache_bytes)).
    pub kv_cache_bytes: Option<usize>,
    /// Tokens of prompts that one forward pass reads while no text grows.
    pub prefill_tokens: usize,
    /// Tokens of prompts that one forward pass reads beside growing texts: more of them let new requests
    /// begin earlier, fewer keep the time between tokens even. `None` chooses: on the CPU 32, or one for each
    /// task that runs or waits, up to `max_running`, if those are more; on a GPU as many as `prefill_tokens`,
    /// since they cost little beside the weights.
    pub prefill_tokens_beside_decode: Option<usize>,
    /// Keeps keys and values of texts that have ended, as long as there is room, for prompts that begin
    /// alike.
    pub prefix_cache: bool,
    /// Longest time that the draws after a forward pass wait for a mask that is not ready. Then the others go
    /// on, and the late text keeps its logits and skips passes until its mask is there. So a slow constraint
    /// delays other texts by at most this, once each time it becomes slow. The texts are the same whatever it
    /// is.
    pub mask_patience: Duration,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            max_running: 64,
            kv_cache_bytes: None,
            prefill_tokens: 512,
            prefill_tokens_beside_decode: None,
            prefix_cache: true,
            mask_patience: Duration::from_millis(2),
        }
    }
}

/// Figures of an engine's loop: counts since it began, and its state now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineStats {
    /// Tasks that run ([`EngineOptions::max_running`]).
    pub running: usize,
    /// Tasks that wait for their turn, or for blocks of the KV cache.
    pub waiting: usize,
    /// Blocks of the KV cache that there may be, of 16 positions each.
    pub kv_blocks: usize,
    /// Blocks that texts hold.
    pub kv_blocks_held: usize,
    /// Blocks that are kept for prompts that begin alike, held by a text or not.
    pub kv_blocks_cached: usize,
    /// Forward passes.
    pub steps: u64,
    /// Tokens that they have read.
    pub tokens_read: u64,
    /// Tokens that were drawn, end tokens included.
    pub tokens_drawn: u64,
    /// Times that a text skipped forward passes because its mask was not ready.
    pub late_masks: u64,
    /// Times that a task lost its blocks to an older one.
    pub preemptions: u64,
    /// Tokens that were looked up in the prefix cache.
    pub prefix_lookups: u64,
    /// Tokens of them that need not be read again.
    pub prefix_hits: u64,
}
