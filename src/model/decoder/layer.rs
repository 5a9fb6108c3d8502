//! A decoder layer: its norms, attention and feed-forward part, and their weights.

use maskwright_kernels::{BlockLayout, RotaryPairs};

use super::experts::Experts;
use super::gated::Gated;
use super::linear::{Linear, Vector};
use crate::error::{self, Error, ErrorKind};
use crate::model::checkpoint::Weights;
use crate::model::config::decoder::{
    AttentionConfig, HeadNorm, HeadNormExtent, LayerConfig, MlpConfig, NormConfig, NormKind,
};

/// Attention and a feed-forward part, each with its norms.
#[derive(Clone, Debug)]
pub(super) struct DecoderLayer {
    pub(super) config: LayerConfig,
    pub(super) before_attention: Option<Norm>,
    pub(super) attention: Attention,
    pub(super) after_attention: Option<Norm>,
    pub(super) before_mlp: Option<Norm>,
    pub(super) mlp: Mlp,
    pub(super) after_mlp: Option<Norm>,
}

impl DecoderLayer {
    pub(super) fn load(
        config: &LayerConfig,
        hidden: usize,
        weights: &Weights,
        name: &str,
    ) -> error::Result<Self> {
        let norm = |tensor: Option<&str>| {
            let load =
                |tensor| Norm::load(config.norm, weights, &format!("{name}.{tensor}"), hidden);
            tensor.map(load).transpose()
        };
        Ok(Self {
            before_attention: norm(config.norms.before_attention)?,
            attention: Attention::load(
                &config.attention,
                hidden,
                weights,
                &format!("{name}.self_attn"),
            )?,
            after_attention: norm(config.norms.after_attention)?,
            before_mlp: norm(config.norms.before_mlp)?,
            mlp: Mlp::load(&config.mlp, hidden, weights, name)?,
            after_mlp: norm(config.norms.after_mlp)?,
            config: config.clone(),
        })
    }
}

/// Grouped-query attention.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    /// Queries, keys and values, in this order: three layers, or one with all of them side by side.
    pub(super) projections: Vec<Linear>,
    pub(super) query_norm: Option<Norm>,
    pub(super) key_norm: Option<Norm>,
    pub(super) output: Linear,
    pub(super) kv: BlockLayout,
}

impl Attention {
    fn load(
        config: &AttentionConfig,
        hidden: usize,
        weights: &Weights,
        name: &str,
    ) -> error::Result<Self> {
        let AttentionConfig { heads, kv_heads, width, qkv_bias, .. } = *config;
        let (all, kv) = (heads * width, kv_heads * width);
        let linear = |projection: &str, shape, bias| {
            Linear::load(weights, &format!("{name}.{projection}"), shape, bias)
        };
        let projections = if config.is_fused {
            vec![linear("qkv_proj", (all + 2 * kv, hidden), qkv_bias)?]
        } else {
            vec![
                linear("q_proj", (all, hidden), qkv_bias)?,
                linear("k_proj", (kv, hidden), qkv_bias)?,
                linear("v_proj", (kv, hidden), qkv_bias)?,
            ]
        };
        let norm = |tensor: &str, heads: usize| {
            let load = |norm: HeadNorm| {
                let len = match norm.extent {
                    HeadNormExtent::Head => width,
                    HeadNormExtent::AllHeads => heads * width,
                };
                Norm::load(norm.norm, weights, &format!("{name}.{tensor}"), len)
            };
            config.head_norm.map(load).transpose()
        };
        Ok(Self {
            projections,
            query_norm: norm("q_norm", heads)?,
            key_norm: norm("k_norm", kv_heads)?,
            output: linear("o_proj", (hidden, all), config.output_bias)?,
            kv: BlockLayout { kv_heads, width },
        })
    }
}

/// The feed-forward part.
#[derive(Clone, Debug)]
pub(super) enum Mlp {
    Gated(Gated),
    Plain { up: Linear, down: Linear, activation: maskwright_kernels::Activation },
    Experts(Experts),
}

impl Mlp {
    fn load(
        config: &MlpConfig,
        hidden: usize,
        weights: &Weights,
        layer: &str,
    ) -> error::Result<Self> {
        let name = |projection: &str| format!("{layer}.mlp.{projection}");
        match *config {
            MlpConfig::Gated(config) => {
                let names = ["gate_proj", "up_proj", "down_proj"].map(name);
                let fused = name("gate_up_proj");
                Gated::load(config, hidden, weights, &names, &fused).map(Self::Gated)
            }
            MlpConfig::Plain { inner, activation, bias } => Ok(Self::Plain {
                up: Linear::load(weights, &name("up_proj"), (inner, hidden), bias)?,
                down: Linear::load(weights, &name("down_proj"), (hidden, inner), bias)?,
                activation,
            }),
            MlpConfig::Experts(config) if weights.device().is_cpu() => {
                Experts::load(config, hidden, weights, layer).map(Self::Experts)
            }
            MlpConfig::Experts(_) => {
                let message = "mixtures of experts are computed on the CPU alone";
                Err(Error::new(ErrorKind::Model, message).with_help("use `--device cpu`"))
            }
        }
    }
}

/// A norm: Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"; Ba et al. 2016, "Layer
/// Normalization".
#[derive(Clone, Debug)]
pub(super) struct Norm {
    /// The weights, 1 added where the formula says so.
    pub(super) weight: Vector,
    pub(super) kind: NormKind,
    pub(super) eps: f32,
}

impl Norm {
    pub(super) fn load(
        config: NormConfig,
        weights: &Weights,
        name: &str,
        len: usize,
    ) -> error::Result<Self> {
        let mut weight = Vector::load(weights, &format!("{name}.weight"), len)?;
        if config.kind == NormKind::RmsPlusOne {
            weight = weight.plus_one()?;
        }
        Ok(Self { weight, kind: config.kind, eps: config.eps as f32 })
    }
}

/// Whether neighbouring dimensions turn together.
pub(super) fn are_neighbours(pairs: RotaryPairs) -> bool {
    pairs == RotaryPairs::Neighbours
}
