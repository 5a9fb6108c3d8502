//! The optimizer: Muon for the layers' matrices, AdamW for the rest. Its state is in the open, so
//! that training can resume exactly.

use std::collections::HashMap;

use candle_core::{Device, Result, Tensor, Var};

use xtask::tiny_ops::{orthogonal, with_slice};

const BETA_1: f32 = 0.9;
const BETA_2: f32 = 0.97;
const EPSILON: f32 = 1e-8;
/// The longest step's gradient: longer ones are shortened to it.
const CLIP: f32 = 1.0;
/// Share of the last momentum that Muon keeps.
const MOMENTUM: f32 = 0.95;
/// Root mean square of a Muon step of rate 1: that of AdamW's, so that both share a rate
/// (Liu et al. 2025, "Muon is scalable for LLM training").
const STEP_RMS: f32 = 0.2;

/// The optimizer's memory of one weight.
enum State {
    /// AdamW (Loshchilov and Hutter 2019): running means of gradients and of their squares.
    AdamW { mean: Vec<f32>, square: Vec<f32> },
    /// Muon (Jordan 2024): a running sum of gradients, of which each step takes the direction.
    Muon { momentum: Vec<f32> },
}

impl State {
    fn new(name: &str, var: &Var) -> Self {
        let zeros = || vec![0.0; var.elem_count()];
        if var.rank() == 2 && name != "embedding" {
            Self::Muon { momentum: zeros() }
        } else {
            Self::AdamW { mean: zeros(), square: zeros() }
        }
    }

    /// The state's parts under the names that checkpoints give them.
    fn parts(&mut self) -> Vec<(&'static str, &mut Vec<f32>)> {
        match self {
            Self::AdamW { mean, square } => vec![("mean", mean), ("square", square)],
            Self::Muon { momentum } => vec![("momentum", momentum)],
        }
    }
}

/// The optimizer's state, in the order of the weights.
pub struct Optimizer {
    states: Vec<State>,
    /// Taken off matrices, in proportion, at each step of rate 1.
    decay: f32,
}

impl Optimizer {
    pub fn new(weights: &[(String, &Var)], decay: f32) -> Self {
        let states = weights.iter().map(|(name, var)| State::new(name, var)).collect();
        Self { states, decay }
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
        for (((_, var), grad), state) in weights.iter().zip(grads).zip(&mut self.states) {
            let decay = if var.rank() == 2 { 1.0 - rate * self.decay } else { 1.0 };
            let mut data = with_slice(var, <[f32]>::to_vec)?;
            match state {
                State::AdamW { mean, square } => {
                    let state = mean.iter_mut().zip(square);
                    for ((x, g), (mean, square)) in data.iter_mut().zip(grad).zip(state) {
                        let g = g * clip;
                        *mean = BETA_1 * *mean + (1.0 - BETA_1) * g;
                        *square = BETA_2 * *square + (1.0 - BETA_2) * g * g;
                        let change = (*mean / fix_1) / ((*square / fix_2).sqrt() + EPSILON);
                        *x = *x * decay - rate * change;
                    }
                }
                State::Muon { momentum } => {
                    // Nesterov's look ahead: the gradient counts once more.
                    let ahead = momentum.iter_mut().zip(grad).map(|(momentum, g)| {
                        *momentum = MOMENTUM * *momentum + g;
                        MOMENTUM * *momentum + g
                    });
                    let ahead = Tensor::from_vec(ahead.collect(), var.shape(), &Device::Cpu)?;
                    let (rows, columns) = var.dims2()?;
                    let scale = rate * STEP_RMS * (rows.max(columns) as f32).sqrt();
                    with_slice(&orthogonal(&ahead)?, |direction| {
                        for (x, direction) in data.iter_mut().zip(direction) {
                            *x = *x * decay - scale * direction;
                        }
                    })?;
                }
            }
            var.set(&Tensor::from_vec(data, var.shape(), &Device::Cpu)?)?;
        }
        Ok(length)
    }

    /// The state as tensors, to be saved.
    pub fn save(
        &mut self,
        weights: &[(String, &Var)],
        to: &mut HashMap<String, Tensor>,
    ) -> Result<()> {
        for ((name, var), state) in weights.iter().zip(&mut self.states) {
            for (part, data) in state.parts() {
                let tensor = Tensor::from_vec(data.clone(), var.shape(), &Device::Cpu)?;
                to.insert(format!("{part}.{name}"), tensor);
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
        for ((name, _), state) in weights.iter().zip(&mut self.states) {
            for (part, data) in state.parts() {
                match from.get(&format!("{part}.{name}")) {
                    Some(tensor) => *data = tensor.flatten_all()?.to_vec1()?,
                    None => candle_core::bail!("the checkpoint has no {part}.{name}"),
                }
            }
        }
        Ok(())
    }
}
