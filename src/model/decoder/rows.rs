//! The rows of a packed batch: which belong together, and where they stand in their sequences.

use crate::model::batch::Chunk;
use crate::model::kv_cache::RotaryFactors;
use crate::model::logit_rows::LogitRows;

/// The rows of a forward pass and their positions, the same in every layer.
pub(super) struct Rows {
    /// The first row of each chunk, and the number of all rows.
    starts: Vec<usize>,
    /// The position of each row in its sequence.
    pub(super) positions: Vec<usize>,
}

impl Rows {
    /// A row for each token of the chunks.
    pub(super) fn new(chunks: &[Chunk<'_>]) -> Self {
        let (mut starts, mut positions) = (vec![0], Vec::new());
        for chunk in chunks {
            let first = positions.len();
            positions.push(chunk.cache.len());
            for row in 1..chunk.tokens.len() {
                let parent = chunk.parents.get(row - 1).copied().unwrap_or(row - 1);
                positions.push(positions[first + parent] + 1);
            }
            starts.push(positions.len());
        }
        Self { starts, positions }
    }

    /// The position of each row and the factors of its sequence.
    pub(super) fn turns(&self, chunks: &[Chunk<'_>]) -> Vec<(usize, RotaryFactors)> {
        let factors = chunks.iter().zip(self.bounds()).flat_map(|(chunk, (from, to))| {
            std::iter::repeat_n(chunk.cache.rotary_factors(), to - from)
        });
        self.positions.iter().copied().zip(factors).collect()
    }

    /// The number of rows.
    pub(super) fn len(&self) -> usize {
        self.positions.len()
    }

    /// The rows of each chunk: from, to.
    pub(super) fn bounds(&self) -> impl Iterator<Item = (usize, usize)> {
        self.starts.windows(2).map(|bounds| (bounds[0], bounds[1]))
    }

    /// The rows after which logits are wanted.
    pub(super) fn with_logits(&self, chunks: &[Chunk<'_>]) -> Vec<usize> {
        let rows = chunks.iter().zip(self.bounds()).flat_map(|(chunk, (from, to))| {
            let from = match chunk.logits {
                LogitRows::None => to,
                LogitRows::Last => to - 1,
                LogitRows::All => from,
            };
            from..to
        });
        rows.collect()
    }
}
