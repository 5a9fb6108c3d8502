//! Rotary positions: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position
//! Embedding".

use crate::model::config::decoder::{LayerConfig, RopeConfig};
use crate::model::kv_cache::RotaryFactors;

/// The rotary positions of all layers. Layers with the same ones share their cosines and sines.
///
/// Angles are computed when they are needed: a position costs half a head of them, which is nothing
/// beside one layer, and no table has to be as long as the context. They are products of `f32`, as in
/// the `transformers` library: far from the beginning their rounding is what the model was trained with.
#[derive(Clone, Debug)]
pub(super) struct RotaryTables {
    kinds: Vec<RopeConfig>,
    /// The kind of each layer.
    layers: Vec<Option<usize>>,
}

/// Cosines and sines of some positions: (positions, pairs) each.
pub(super) struct Angles {
    pub(super) cosines: Vec<f32>,
    pub(super) sines: Vec<f32>,
}

impl RotaryTables {
    pub(super) fn new(layers: &[LayerConfig]) -> Self {
        let mut kinds: Vec<RopeConfig> = Vec::new();
        let mut kind_of = |rope: &RopeConfig| {
            kinds.iter().position(|kind| kind == rope).unwrap_or_else(|| {
                kinds.push(rope.clone());
                kinds.len() - 1
            })
        };
        let layers =
            layers.iter().map(|layer| layer.attention.rope.as_ref().map(&mut kind_of)).collect();
        Self { kinds, layers }
    }

    /// The index among [`angles`](Self::angles) of what a layer uses, and its kind.
    pub(super) fn of_layer(&self, layer: usize) -> Option<(usize, &RopeConfig)> {
        let kind = (*self.layers.get(layer)?)?;
        Some((kind, self.kinds.get(kind)?))
    }

    /// The cosines and sines of some positions, each with the factors of its sequence, for each kind.
    pub(super) fn angles(&self, positions: &[(usize, RotaryFactors)]) -> Vec<Angles> {
        let table = |rope: &RopeConfig, f: fn(f64) -> f64| {
            let row = |&(p, factors): &(usize, RotaryFactors)| {
                let frequencies = match (&rope.long_frequencies, factors) {
                    (Some(long), RotaryFactors::Long) => long,
                    _ => &rope.frequencies,
                };
                frequencies.iter().map(move |&w| f64::from(p as f32 * w as f32))
            };
            let angles = positions.iter().flat_map(row);
            angles.map(|angle| (f(angle) * rope.attention_factor) as f32).collect()
        };
        let of = |rope: &RopeConfig| Angles {
            cosines: table(rope, f64::cos),
            sines: table(rope, f64::sin),
        };
        self.kinds.iter().map(of).collect()
    }
}
