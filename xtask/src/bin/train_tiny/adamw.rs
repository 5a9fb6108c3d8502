//! AdamW (Loshchilov and Hutter 2019) with its state in the open, so that training can resume
//! exactly; candle's own keeps it private.

use std::collections::HashMap;

use candle_core::{Device, Result, Tensor, Var};

use xtask::tiny_ops::with_slice;

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.97;
const EPSILON: f32 = 1e-8;
/// The longest step's gradient: longer ones are shortened to it.
const CLIP: f32 = 1.0;

/// One weight's running mean of gradients and of their squares.
struct Moments {
    mean: Vec<f32>,
    square: Vec<f32>,
}

/// The optimizer's state, in the order of the weights.
pub struct AdamW {
    moments: Vec<Moments>,
    /// Taken off matrices, in proportion, at each step of rate 1.
    decay: f32,
}

impl AdamW {
    pub fn new(weights: &[(String, &Var)], decay: f32) -> Self {
        let zeros = |var: &Var| vec![0.0; var.elem_count()];
        let moments = weights
            .iter()
            .map(|(_, var)| Moments { mean: zeros(var), square: zeros(var) })
            .collect();
        Self { moments, decay }
    }

    /// Step number `step` (from 0) with learning rate `rate`. Returns the gradient's length.
    pub fn step(
        &mut self,
        weights: &[(String, &Var)],
        grads: &[Vec<f32>],
        rate: f32,
        step: u64,
    ) -> Result<f32> {
        let square: f64 = grads.iter().flatten().map(|g| f64::from(*g) * f64::from(*g)).sum();
        let length = square.sqrt() as f32;
        let clip = if length > CLIP { CLIP / length } else { 1.0 };
        let at = (step + 1) as f32;
        let (fix_1, fix_2) = (1.0 - BETA_1.powf(at), 1.0 - BETA_2.powf(at));
        for (((_, var), grad), moments) in weights.iter().zip(grads).zip(&mut self.moments) {
            let decay = if var.rank() == 2 { 1.0 - rate * self.decay } else { 1.0 };
            let mut data = with_slice(var, <[f32]>::to_vec)?;
            let state = moments.mean.iter_mut().zip(&mut moments.square);
            for ((x, g), (mean, square)) in data.iter_mut().zip(grad).zip(state) {
                let g = g * clip;
                *mean = BETA_1 * *mean + (1.0 - BETA_1) * g;
                *square = BETA_2 * *square + (1.0 - BETA_2) * g * g;
                *x = *x * decay - rate * (*mean / fix_1) / ((*square / fix_2).sqrt() + EPSILON);
            }
            var.set(&Tensor::from_vec(data, var.shape(), &Device::Cpu)?)?;
        }
        Ok(length)
    }

    /// The state as tensors, to be saved.
    pub fn save(&self, weights: &[(String, &Var)], to: &mut HashMap<String, Tensor>) -> Result<()> {
        for ((name, var), moments) in weights.iter().zip(&self.moments) {
            for (kind, data) in [("mean", &moments.mean), ("square", &moments.square)] {
                let tensor = Tensor::from_vec(data.clone(), var.shape(), &Device::Cpu)?;
                to.insert(format!("{kind}.{name}"), tensor);
            }
        }
        Ok(())
    }

    /// Takes the state out of what [`Self::save`] saved.
    pub fn load(
        &mut self,
        weights: &[(String, &Var)],
        from: &HashMap<String, Tensor>,
    ) -> Result<()> {
        for ((name, _), moments) in weights.iter().zip(&mut self.moments) {
            for (kind, data) in [("mean", &mut moments.mean), ("square", &mut moments.square)] {
                match from.get(&format!("{kind}.{name}")) {
                    Some(tensor) => *data = tensor.flatten_all()?.to_vec1()?,
                    None => candle_core::bail!("the checkpoint has no {kind}.{name}"),
                }
            }
        }
        Ok(())
    }
}
