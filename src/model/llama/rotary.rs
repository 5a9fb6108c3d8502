//! Rotary positions: Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position
//! Embedding".

use std::f64::consts::TAU;

use candle_core::{DType, Device, Result, Tensor};

use crate::model::config::{Config, Llama3Rope};

/// The angles by which the pairs of a head's dimensions turn from one position to the next. Angles
/// are computed in `f64` when they are needed: a position costs half a head of them, which is
/// nothing beside one block, and no table has to be as long as the context.
#[derive(Clone, Debug)]
pub(crate) struct RotaryFrequencies {
    frequencies: Vec<f64>,
}

impl RotaryFrequencies {
    pub(crate) fn new(config: &Config) -> Self {
        let width = config.head_dim as f64;
        let frequency = |pair: usize| config.rope_theta.powf(-2.0 * pair as f64 / width);
        let stretch = |frequency| match &config.rope_scaling {
            None => frequency,
            Some(scaling) => stretched(frequency, scaling),
        };
        Self { frequencies: (0..config.head_dim / 2).map(|i| stretch(frequency(i))).collect() }
    }

    /// Cosines and sines of some positions, each (positions, head width / 2).
    pub(crate) fn numbers(&self, positions: &[usize]) -> (Vec<f32>, Vec<f32>) {
        let table = |f: fn(f64) -> f64| {
            let angles =
                positions.iter().flat_map(|&p| self.frequencies.iter().map(move |w| p as f64 * w));
            angles.map(|angle| f(angle) as f32).collect()
        };
        (table(f64::cos), table(f64::sin))
    }

    /// The same as tensors on a device.
    pub(crate) fn at(
        &self,
        positions: &[usize],
        dtype: DType,
        device: &Device,
    ) -> Result<(Tensor, Tensor)> {
        let tensor = |numbers: Vec<f32>| {
            let shape = (positions.len(), self.frequencies.len());
            Tensor::from_vec(numbers, shape, device)?.to_dtype(dtype)
        };
        let (cosines, sines) = self.numbers(positions);
        Ok((tensor(cosines)?, tensor(sines)?))
    }
}

/// Llama 3.1's rule, as in Hugging Face's `_compute_llama3_parameters`.
fn stretched(frequency: f64, scaling: &Llama3Rope) -> f64 {
    let Llama3Rope { factor, low_freq_factor: low, high_freq_factor: high, .. } = *scaling;
    // How often this frequency turns within the original context.
    let turns = scaling.original_max_position_embeddings as f64 * frequency / TAU;
    if turns < low {
        frequency / factor
    } else if turns > high {
        frequency
    } else {
        let smooth = (turns - low) / (high - low);
        (1.0 - smooth) * frequency / factor + smooth * frequency
    }
}
