//! StarCoder 2: LayerNorm and biases, a feed-forward part without a gate.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{Config, NormKind, TensorNames};
use crate::model::config::errors::refused;
use crate::model::config::fields::ConfigFields;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(2),
    max_position_embeddings: 4096,
    eps_key: "norm_epsilon",
    eps: 1e-5,
    is_tied: true,
    activation: Activation::GeluTanh,
    norm: NormKind::LayerWithBias,
    ..Defaults::LLAMA
};

const NAMES: TensorNames = TensorNames { up: "mlp.c_fc", down: "mlp.c_proj", ..TensorNames::LLAMA };

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    fields.must_be([("scale_attn_weights", true.into())])?;
    let bias = fields.flag("use_bias")?.unwrap_or(true);
    let window = fields.size("sliding_window")?;
    config.decoder.names = NAMES;
    plain::remove_gates(&mut config, bias);
    plain::for_attention(&mut config, |attention| {
        (attention.qkv_bias, attention.output_bias) = (bias, bias);
        attention.window = window;
    });
    // Of weights that were trained with other norms.
    if let Some(kind) = fields.text("norm_type")?.filter(|kind| *kind != "layer_norm") {
        let kind = kind.into();
        return Err(refused("norm_type", &kind, "is not supported"));
    }
    if let Some(kind) = fields.text("mlp_type")?.filter(|kind| *kind != "default") {
        let kind = kind.into();
        return Err(refused("mlp_type", &kind, "is not supported"));
    }
    Ok(config)
}
