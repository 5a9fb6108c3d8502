//! Default size of the KV cache: what the texts can fill, and at most a share of the memory that the
//! machine, or the GPU of the model, has to spare.
//!
//! Blocks are taken as texts need them, and the prefix cache keeps those of texts that have ended. So a
//! bound that texts never reach is memory that old prompts fill: a small model would grow to gigabytes
//! for nothing. Example: 64 texts of 2,048 tokens in a model of 2.5 KiB a token take 330 MiB.

use sysinfo::{MemoryRefreshKind, RefreshKind, System};

use super::engine_options::EngineOptions;
use crate::model::{KvBlocks, Model};

/// Divisor of the available memory: the KV cache may take at most a quarter of it.
const PARTS: usize = 4;

/// Divisor of the free memory of a GPU, on which nothing else runs: half of it is left because a tensor of the
/// cache is copied when it grows, and is then in memory twice.
const PARTS_OF_DEVICE: usize = 2;

/// Bytes where the system does not report its memory.
const BYTES_OF_UNKNOWN_MEMORY: usize = 2 << 30;

/// Blocks that are kept free of a text's greatest length: for guesses beyond it, and for the block
/// that is copied where texts part.
pub(super) const SPARE_BLOCKS: usize = 4;

/// The options with a size of the KV cache. A model of candle-transformers has no blocks that would bound the
/// memory of its texts: it writes one at a time.
pub(super) fn sized(model: &Model, options: EngineOptions) -> EngineOptions {
    let max_running = if model.is_adapted() { 1 } else { options.max_running };
    let options = EngineOptions { max_running, ..options };
    let chosen = || {
        let texts = (options.max_running.max(1), model.context_length());
        let memory = model.free_device_memory();
        let memory = memory.map_or_else(share_of_memory, |free| free / PARTS_OF_DEVICE);
        chosen_bytes(model.kv_blocks()?, texts, memory)
    };
    EngineOptions { kv_cache_bytes: options.kv_cache_bytes.or_else(chosen), ..options }
}

/// Bytes for so many texts of so many tokens in so much memory; `None` for a model that keeps nothing of a
/// text, as one without layers, which needs no bound.
fn chosen_bytes(blocks: KvBlocks, (texts, tokens): (usize, usize), memory: usize) -> Option<usize> {
    let all = bytes_of_texts(blocks, texts, tokens);
    (blocks.bytes_per_block > 0).then(|| all.min(memory))
}

/// Bytes of so many texts of so many tokens, with the blocks that each keeps free.
fn bytes_of_texts(blocks: KvBlocks, texts: usize, tokens: usize) -> usize {
    let each = tokens.div_ceil(blocks.positions_per_block) + SPARE_BLOCKS + 1;
    texts.saturating_mul(each).saturating_mul(blocks.bytes_per_block)
}

/// The share of the memory that is available now, and at most of what the control group may have. (Its
/// free memory says nothing: the files that the system keeps in memory count as taken there.)
fn share_of_memory() -> usize {
    let memory = RefreshKind::nothing().with_memory(MemoryRefreshKind::nothing().with_ram());
    let system = System::new_with_specifics(memory);
    let group = system.cgroup_limits().map_or(u64::MAX, |limits| limits.total_memory);
    match system.available_memory().min(group) {
        0 => BYTES_OF_UNKNOWN_MEMORY,
        available => usize::try_from(available).unwrap_or(usize::MAX) / PARTS,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_take_whole_blocks_and_spare_ones() {
        let blocks = KvBlocks { in_use: 0, free: 0, bytes_per_block: 100, positions_per_block: 16 };
        assert_eq!(bytes_of_texts(blocks, 3, 33), 3 * (3 + 5) * 100);
        assert_eq!(bytes_of_texts(blocks, usize::MAX, 33), usize::MAX);
    }

    #[test]
    fn a_model_without_layers_has_no_bound() {
        let blocks = KvBlocks { in_use: 0, free: 0, bytes_per_block: 0, positions_per_block: 16 };
        assert_eq!(chosen_bytes(blocks, (64, 2048), 1 << 30), None);
        let blocks = KvBlocks { bytes_per_block: 1 << 10, ..blocks };
        assert_eq!(chosen_bytes(blocks, (1, 16), 1 << 30), Some(6 << 10));
        assert_eq!(chosen_bytes(blocks, (1, 16), 99), Some(99));
    }

    #[test]
    fn a_machine_has_memory() {
        let share = share_of_memory();
        assert!((1 << 20..1 << 50).contains(&share), "{share}");
    }
}
