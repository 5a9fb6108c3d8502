//! The weights of attention.

use candle_core::Tensor;
use maskwright_kernels::{BlockLayout, RotaryPairs};

use super::linear::{Linear, Vector};
use super::norm::Norm;
use crate::error;
use crate::model::candle_error::candle_error;
use crate::model::checkpoint::Weights;
use crate::model::config::decoder::{
    AttentionConfig, DecoderConfig, HeadNorm, HeadNormExtent, ProjectionLayout,
};

/// Grouped-query attention.
#[derive(Clone, Debug)]
pub(super) struct Attention {
    pub(super) projections: Projections,
    pub(super) query_norm: Option<Norm>,
    /// `None` also where another layer's keys are used.
    pub(super) key_norm: Option<Norm>,
    pub(super) value_norm: Option<Norm>,
    /// Attention sinks (heads): logits that take part in the softmax and have no value.
    pub(super) sinks: Option<Vector>,
    pub(super) output: Linear,
    /// The keys and values in the blocks of a cache: the layer's own, or another layer's.
    pub(super) kv: BlockLayout,
}

/// The layers that make queries, keys and values.
#[derive(Clone, Debug)]
pub(super) enum Projections {
    /// One each; the values are the keys if they have none.
    Separate { queries: Linear, keys: Linear, values: Option<Linear> },
    /// One with all of them side by side.
    Fused(Linear),
    /// Queries; keys and values are another layer's.
    Queries(Linear),
}

impl Attention {
    pub(super) fn load(
        config: &AttentionConfig,
        decoder: &DecoderConfig,
        hidden: usize,
        weights: &Weights,
        layer: &str,
        kv: BlockLayout,
    ) -> error::Result<Self> {
        let AttentionConfig { heads, kv_heads, width, qkv_bias, .. } = *config;
        let (all, some) = (heads * width, kv_heads * width);
        let names = &decoder.names;
        let linear = |name: &str, shape, bias| {
            let name = format!("{layer}.{name}");
            if decoder.has_transposed_matrices {
                Linear::load_transposed(weights, &name, shape, bias)
            } else {
                Linear::load(weights, &name, shape, bias)
            }
        };
        let queries = || linear(names.queries, (all, hidden), qkv_bias);
        let keys = || linear(names.keys, (some, hidden), qkv_bias);
        let values = || linear(names.values, (some, hidden), qkv_bias);
        let separate = || -> error::Result<Projections> {
            let (queries, keys, values) = (queries()?, keys()?, Some(values()?));
            Ok(Projections::Separate { queries, keys, values })
        };
        let projections = match config.projections {
            _ if config.kv_of_layer.is_some() => Projections::Queries(queries()?),
            ProjectionLayout::Separate => separate()?,
            ProjectionLayout::FusedByHead if weights.is_gguf() => separate()?,
            // Converters take some of them apart.
            ProjectionLayout::Fused
                if weights.is_gguf()
                    && !weights.has(&format!("{layer}.{}.weight", names.fused)) =>
            {
                separate()?
            }
            ProjectionLayout::ValuesAreKeys => {
                Projections::Separate { queries: queries()?, keys: keys()?, values: None }
            }
            ProjectionLayout::Fused => {
                Projections::Fused(linear(names.fused, (all + 2 * some, hidden), qkv_bias)?)
            }
            ProjectionLayout::FusedByHead => {
                by_head(weights, &format!("{layer}.{}", names.fused), heads, width, config)?
            }
        };
        let norm = |name: &str, heads: usize| {
            let load = |norm: HeadNorm| {
                let len = match norm.extent {
                    HeadNormExtent::Head => width,
                    HeadNormExtent::AllHeads => heads * width,
                };
                Norm::load(norm.norm, weights, &format!("{layer}.{name}"), len)
            };
            config.head_norm.map(load).transpose()
        };
        let is_shared = config.kv_of_layer.is_some();
        let value_norm = config.value_norm.filter(|_| !is_shared);
        let sinks = |name: &str| Vector::load(weights, &format!("{layer}.{name}"), heads);
        Ok(Self {
            projections,
            query_norm: norm(names.query_norm, heads)?,
            key_norm: if is_shared { None } else { norm(names.key_norm, kv_heads)? },
            value_norm: value_norm.map(|norm| Norm::with_weights(norm, vec![1.0; width])),
            sinks: config.sinks.map(sinks).transpose()?,
            output: linear(names.attention_output, (hidden, all), config.output_bias)?,
            kv,
        })
    }
}

/// Takes queries, keys and values apart that lie head by head in one matrix.
fn by_head(
    weights: &Weights,
    name: &str,
    heads: usize,
    width: usize,
    config: &AttentionConfig,
) -> error::Result<Projections> {
    let rows = 3 * heads * width;
    let hidden = heads * width;
    let weight = weights.get(&format!("{name}.weight"), &[rows, hidden])?;
    let bias = || weights.get(&format!("{name}.bias"), &[rows]);
    let bias = config.qkv_bias.then(bias).transpose()?;
    let part = |index: usize| {
        // (heads, 3, width, …), of which the second dimension is queries, keys, values.
        let of = |tensor: &Tensor, shape: &[usize]| -> candle_core::Result<Tensor> {
            let all = tensor.reshape([&[heads, 3, width], shape].concat())?;
            all.narrow(1, index, 1)?.contiguous()?.reshape([&[heads * width], shape].concat())
        };
        let bias = bias.as_ref().map(|bias| of(bias, &[])).transpose().map_err(candle_error)?;
        Linear::of_tensors(of(&weight, &[hidden]).map_err(candle_error)?, bias)
    };
    Ok(Projections::Separate { queries: part(0)?, keys: part(1)?, values: Some(part(2)?) })
}

/// Whether neighbouring dimensions are rotated together.
pub(super) fn are_neighbours(pairs: RotaryPairs) -> bool {
    pairs == RotaryPairs::Neighbours
}
