//! From the scores of a row to its weights.

use pulp::{Simd, WithSimd};

use crate::exponential::{exp, tanh};

/// Turns the scores of the first positions of a row into weights, the others into 0, and adds the
/// weights up.
pub(super) struct Softmax<'a> {
    pub(super) row: &'a mut [f32],
    /// The number of positions up to and including the row's own.
    pub(super) visible: usize,
    pub(super) soft_cap: Option<f32>,
    /// A score that has a weight and no position.
    pub(super) sink: Option<f32>,
}

impl WithSimd for Softmax<'_> {
    type Output = f32;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> f32 {
        let (seen, unseen) = self.row.split_at_mut(self.visible);
        unseen.fill(0.0);
        if let Some(cap) = self.soft_cap {
            for score in seen.iter_mut() {
                // −∞ hides a position; the cap would make it finite.
                let capped = tanh(*score / cap) * cap;
                *score = if *score == f32::NEG_INFINITY { *score } else { capped };
            }
        }
        let greatest = self.sink.map_or(greatest(seen), |sink| greatest(seen).max(sink));
        for score in seen.iter_mut() {
            *score = exp(*score - greatest);
        }
        // In ascending order, not in lanes: a node of a tree has zeros between its ancestors, which
        // would move them to other lanes than those of the path alone.
        let sum: f32 = seen.iter().sum();
        sum + self.sink.map_or(0.0, |sink| exp(sink - greatest))
    }
}

/// The greatest of some numbers, found in lanes: the order of comparisons does not matter.
#[inline(always)]
fn greatest(numbers: &[f32]) -> f32 {
    let greater = |a: f32, b: f32| if a > b { a } else { b };
    let mut lanes = [f32::NEG_INFINITY; 16];
    let chunks = numbers.chunks_exact(16);
    let rest = chunks.remainder();
    for chunk in chunks {
        for (lane, number) in lanes.iter_mut().zip(chunk) {
            *lane = greater(*lane, *number);
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::NEG_INFINITY, greater)
}
