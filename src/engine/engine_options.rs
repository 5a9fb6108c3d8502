//! The settings of an engine, and the figures of its loop.

use std::time::Duration;

/// The number of requests that an engine works on at a time, and the memory of their keys and values.
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
    /// Texts that are worked on at a time; others wait. Each takes a row of a forward pass. A model that
    /// candle-transformers computes writes one at a time, whatever this says.
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
    /// begin earlier, fewer keep the time between tokens even. `None` chooses: on the CPU 32, or one
    /// for each request that runs or waits, up to `max_running`, if those are more; on a GPU as many as `prefill_tokens`, since they cost little
    /// beside the weights.
    pub prefill_tokens_beside_decode: Option<usize>,
    /// Keeps keys and values of texts that have ended, as long as there is room, for prompts that begin
    /// alike.
    pub prefix_cache: bool,
    /// Time for which the draws after a forward pass wait for masks that are not ready. Beyond, a text
    /// keeps its logits and sits out passes until its mask is: the most that a slow constraint costs other
    /// texts a pass, and only in that in which it becomes slow. Texts do not depend on it.
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
    /// Texts that are worked on.
    pub running: usize,
    /// Texts that wait for their turn, or for blocks of the KV cache.
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
    /// Times that a text sat out forward passes because its mask was not ready.
    pub late_masks: u64,
    /// Times that a text lost its blocks to an older one.
    pub preemptions: u64,
    /// Tokens that were looked up among those that had been read.
    pub prefix_lookups: u64,
    /// Tokens of them that need not be read again.
    pub prefix_hits: u64,
}
