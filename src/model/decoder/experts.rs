//! Mixtures of experts: Shazeer et al. 2017, "Outrageously Large Neural Networks", with the routing of
//! Mixtral (Jiang et al. 2024).
//!
//! On the CPU each expert computes the rows that chose it, together. A row adds up its experts in
//! ascending order, so that it does not matter which rows are beside it.

use std::path::PathBuf;
use std::sync::Arc;

use candle_core::Tensor;
use maskwright_kernels::{BlockFormat, PackedWeights, WeightSlice};

use super::biased_routing;
use super::gated::Gated;
use super::linear::{Linear, Matrix, Vector};
use super::mxfp4;
use crate::error::{self, Error, ErrorKind};
use crate::model::candle_error::candle_error;
use crate::model::checkpoint::{EXPERTS, GATE_UP, GATED, SHARED_EXPERT, Weights};
use crate::model::config::decoder::{
    BiasedRouting, ExpertStorage, ExpertWeighting, ExpertsConfig, GatedConfig, SharedExpert,
    StackedExperts,
};

/// Some gated parts and the router that chooses among them.
#[derive(Clone, Debug)]
pub(super) struct Experts {
    pub(super) config: ExpertsConfig,
    pub(super) router: Linear,
    pub(super) experts: Vec<Gated>,
    /// The expert that every row has, and the layer whose sigmoid is its weight.
    pub(super) shared: Option<(Gated, Option<Linear>)>,
    /// A factor of the weight of each expert.
    pub(super) scales: Option<Vec<f32>>,
    /// The bias of each expert's score for the choice: see [`BiasedRouting`].
    pub(super) score_bias: Option<Vec<f32>>,
}

impl Experts {
    pub(super) fn load(
        config: ExpertsConfig,
        hidden: usize,
        weights: &Weights,
        layer: &str,
    ) -> error::Result<Self> {
        let router = format!("{layer}.{}", config.router);
        let router = Linear::load(weights, &router, (config.count, hidden), config.router_bias)?;
        let experts = match config.storage {
            ExpertStorage::Separate { experts, projections } => {
                let expert = |index: usize| {
                    let name = |projection| format!("{layer}.{experts}.{index}.{projection}");
                    Gated::load(config.expert, hidden, weights, &projections.map(name), "")
                };
                (0..config.count).map(expert).collect::<error::Result<_>>()?
            }
            ExpertStorage::Stacked(_) if weights.is_gguf() => {
                load_apart(&config, hidden, weights, layer)?
            }
            ExpertStorage::Stacked(stacked) if stacked.is_mxfp4 => {
                load_mxfp4(&config, &stacked, hidden, weights, layer)?
            }
            ExpertStorage::Stacked(stacked) => {
                load_stacked(&config, &stacked, hidden, weights, layer)?
            }
        };
        let shared =
            config.shared.map(|shared| load_shared(&config, shared, hidden, weights, layer));
        let score_bias = match &config.weighting {
            ExpertWeighting::BiasedTopK(routing) => {
                Some(load_score_bias(routing, config.count, weights, layer)?)
            }
            ExpertWeighting::OfAll | ExpertWeighting::OfChosen => None,
        };
        let shared = shared.transpose()?;
        Ok(Self { config, router, experts, shared, scales: None, score_bias })
    }

    /// The chosen experts of a row by its scores, in ascending order, and their weights.
    pub(super) fn choose(&self, scores: &[f32]) -> Vec<(usize, f32)> {
        if let (ExpertWeighting::BiasedTopK(routing), Some(score_bias)) =
            (&self.config.weighting, &self.score_bias)
        {
            return biased_routing::choose(routing, score_bias, scores, self.config.chosen);
        }
        let mut order: Vec<usize> = (0..scores.len()).collect();
        // Of equal scores the first.
        order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
        let greatest = order.first().map_or(0.0, |&first| scores[first]);
        let power = |expert: usize| (scores[expert] - greatest).exp();
        let chosen = &order[..self.config.chosen.min(order.len())];
        let sum: f32 = match self.config.weighting {
            ExpertWeighting::OfAll => order.iter().map(|&expert| power(expert)).sum(),
            ExpertWeighting::OfChosen | ExpertWeighting::BiasedTopK(_) => {
                chosen.iter().map(|&expert| power(expert)).sum()
            }
        };
        let scale = |expert: usize| self.scales.as_ref().map_or(1.0, |scales| scales[expert]);
        let weight = |&expert: &usize| (expert, power(expert) / sum * scale(expert));
        let mut chosen: Vec<(usize, f32)> = chosen.iter().map(weight).collect();
        chosen.sort_unstable_by_key(|(expert, _)| *expert);
        chosen
    }
}

/// Loads the biases of scores for the choice. They are added to scores that differ little: in 16 bits most of them
/// would be the same, and other experts chosen.
fn load_score_bias(
    routing: &BiasedRouting,
    count: usize,
    weights: &Weights,
    layer: &str,
) -> error::Result<Vec<f32>> {
    let name = format!("{layer}.{}", routing.score_bias);
    let shape: &[usize] = if routing.is_score_bias_row { &[1, count] } else { &[count] };
    weights.numbers(&name, shape)
}

/// Loads the expert that every row has.
fn load_shared(
    config: &ExpertsConfig,
    shared: SharedExpert,
    hidden: usize,
    weights: &Weights,
    layer: &str,
) -> error::Result<(Gated, Option<Linear>)> {
    let SharedExpert { inner, bias, projections, fused, gate } = shared;
    let name = |projection: &str| format!("{layer}.{projection}");
    let is_apart = fused.is_some() && weights.is_gguf();
    let is_fused = fused.is_some() && !is_apart;
    let gated = GatedConfig { inner, bias, is_fused, ..config.expert };
    let fused = name(fused.unwrap_or_default());
    let projections = if is_apart {
        GATED.map(|projection| name(&format!("{SHARED_EXPERT}.{projection}")))
    } else {
        projections.map(name)
    };
    let gated = Gated::load(gated, hidden, weights, &projections, &fused)?;
    let load = |gate: &str| Linear::load(weights, &name(gate), (1, hidden), false);
    Ok((gated, gate.map(load).transpose()?))
}

/// Loads the experts of a GGUF file, which has a tensor for each projection of all experts, or one for gate
/// and up.
fn load_apart(
    config: &ExpertsConfig,
    hidden: usize,
    weights: &Weights,
    layer: &str,
) -> error::Result<Vec<Gated>> {
    let name = |index: usize, part: &str| format!("{layer}.{EXPERTS}.{index}.{part}");
    let is_fused = weights.has(&format!("{}.weight", name(0, GATE_UP)));
    let expert = |index: usize| {
        let gated = GatedConfig { is_fused, ..config.expert };
        let projections = GATED.map(|part| name(index, part));
        Gated::load(gated, hidden, weights, &projections, &name(index, GATE_UP))
    };
    (0..config.count).map(expert).collect()
}

/// Loads the experts of two stacks of plain numbers.
fn load_stacked(
    config: &ExpertsConfig,
    stacked: &StackedExperts,
    hidden: usize,
    weights: &Weights,
    layer: &str,
) -> error::Result<Vec<Gated>> {
    let (count, inner) = (config.count, config.expert.inner);
    let name = |tensor: &str| format!("{layer}.{tensor}");
    let (gate_up_shape, down_shape) = if stacked.is_interleaved {
        ([count, hidden, 2 * inner], [count, inner, hidden])
    } else {
        ([count, 2 * inner, hidden], [count, hidden, inner])
    };
    let gate_up = weights.get(&name(stacked.gate_up), &gate_up_shape)?;
    let down = weights.get(&name(stacked.down), &down_shape)?;
    let biases = Biases::load(config, stacked, hidden, weights, layer)?;
    let expert = |index: usize| -> error::Result<Gated> {
        let [gate_bias, up_bias, down_bias] = biases.of_expert(index).map_err(candle_error)?;
        let (gate_up, down) = (of(&gate_up, index)?, of(&down, index)?);
        if !stacked.is_interleaved {
            let config = GatedConfig { is_fused: true, ..config.expert };
            let inputs = vec![Linear::of_tensors(gate_up, None)?];
            return Ok(Gated { config, inputs, down: Linear::of_tensors(down, None)? });
        }
        let part = |which: usize| {
            let pairs = gate_up.reshape((hidden, inner, 2))?;
            pairs.narrow(2, which, 1)?.squeeze(2)?.t()?.contiguous()
        };
        let (gate, up) = (part(0).map_err(candle_error)?, part(1).map_err(candle_error)?);
        let down = down.t().map_err(candle_error)?;
        Ok(Gated {
            config: config.expert,
            inputs: vec![Linear::of_tensors(gate, gate_bias)?, Linear::of_tensors(up, up_bias)?],
            down: Linear::of_tensors(down, down_bias)?,
        })
    };
    (0..count).map(expert).collect()
}

/// Loads the experts of two stacks of 4-bit numbers: rows of gate and up alternate.
fn load_mxfp4(
    config: &ExpertsConfig,
    stacked: &StackedExperts,
    hidden: usize,
    weights: &Weights,
    layer: &str,
) -> error::Result<Vec<Gated>> {
    let (count, inner) = (config.count, config.expert.inner);
    let stack = |tensor: &str, rows: usize, columns: usize| {
        let (name, blocks) = (format!("{layer}.{tensor}"), columns / mxfp4::BLOCK);
        let shape = [count, rows, blocks, mxfp4::CODE_BYTES];
        let codes = weights.bytes(&format!("{name}_blocks"), &shape)?;
        let name = format!("{name}_scales");
        let scales = weights.bytes(&name, &shape[..3])?;
        let file = weights.file_of(&name);
        Ok::<_, Error>(Stack { codes, scales, rows, columns, name, file })
    };
    let gate_up = stack(stacked.gate_up, 2 * inner, hidden)?;
    let down = stack(stacked.down, hidden, inner)?;
    let biases = Biases::load(config, stacked, hidden, weights, layer)?;
    let expert = |index: usize| {
        let [gate_bias, up_bias, down_bias] = biases.of_expert(index).map_err(candle_error)?;
        let linear = |stack: &Stack<'_>, first, step, bias: Option<Tensor>| {
            let bias = bias.map(Vector::new).transpose().map_err(candle_error)?;
            Ok::<_, Error>(Linear { weight: stack.matrix(index, first, step)?, bias })
        };
        Ok(Gated {
            config: config.expert,
            inputs: vec![linear(&gate_up, 0, 2, gate_bias)?, linear(&gate_up, 1, 2, up_bias)?],
            down: linear(&down, 0, 1, down_bias)?,
        })
    };
    (0..count).map(expert).collect()
}

/// The matrices of all experts in 4-bit numbers, (experts, rows, columns).
struct Stack<'a> {
    codes: &'a [u8],
    scales: &'a [u8],
    rows: usize,
    columns: usize,
    /// The tensor of scales, and its file.
    name: String,
    file: PathBuf,
}

impl Stack<'_> {
    /// Every so many rows of an expert, from the row `first` on. Errors on scales with which numbers are
    /// infinite.
    fn matrix(&self, expert: usize, first: usize, step: usize) -> error::Result<Matrix> {
        const FORMAT: BlockFormat = BlockFormat::MXFP4;
        let blocks = self.columns / mxfp4::BLOCK;
        let mut packed = Vec::new();
        for row in (first..self.rows).step_by(step) {
            let from = (expert * self.rows + row) * blocks;
            let codes = from * mxfp4::CODE_BYTES..(from + blocks) * mxfp4::CODE_BYTES;
            packed.extend(mxfp4::to_blocks(&self.codes[codes], &self.scales[from..from + blocks]));
        }
        if let Some(block) = FORMAT.first_damaged(&packed) {
            let (row, block) = (first + block / blocks * step, block % blocks);
            let message = format!(
                "tensor `{}` is damaged: [{expert}, {row}, {block}] is no finite scale",
                self.name
            );
            return Err(Error::new(ErrorKind::Model, message)
                .in_file(&self.file)
                .with_help("get a complete copy of the file"));
        }
        let packed = PackedWeights::new(WeightSlice::Blocks(FORMAT, &packed), self.columns);
        Ok(Matrix::Packed(Arc::new(packed)))
    }
}

/// The biases of stacked experts: (experts, …).
struct Biases {
    gate_up_and_down: Option<(Tensor, Tensor)>,
    inner: usize,
}

impl Biases {
    fn load(
        config: &ExpertsConfig,
        stacked: &StackedExperts,
        hidden: usize,
        weights: &Weights,
        layer: &str,
    ) -> error::Result<Self> {
        let (count, inner) = (config.count, config.expert.inner);
        let load = |tensor: &str, len: usize| {
            weights.get(&format!("{layer}.{tensor}_bias"), &[count, len])
        };
        let gate_up_and_down = if config.expert.bias {
            Some((load(stacked.gate_up, 2 * inner)?, load(stacked.down, hidden)?))
        } else {
            None
        };
        Ok(Self { gate_up_and_down, inner })
    }

    /// Those of gate, up and down of an expert. Gate and up alternate.
    fn of_expert(&self, expert: usize) -> candle_core::Result<[Option<Tensor>; 3]> {
        let Some((gate_up, down)) = &self.gate_up_and_down else { return Ok([None, None, None]) };
        let pairs = gate_up.get(expert)?.reshape((self.inner, 2))?;
        let part = |which: usize| pairs.narrow(1, which, 1)?.squeeze(1)?.contiguous();
        Ok([Some(part(0)?), Some(part(1)?), Some(down.get(expert)?)])
    }
}

/// The matrix of an expert in a stack.
fn of(stack: &Tensor, expert: usize) -> error::Result<Tensor> {
    stack.get(expert).map_err(candle_error)
}
