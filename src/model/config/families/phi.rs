//! Phi-1 to Phi-2: LayerNorm and biases, parallel parts, half of each head rotated, no gates.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{Config, NormKind, NormPlaces, TensorNames};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    eps_key: "layer_norm_eps",
    eps: 1e-5,
    activation: Activation::GeluTanh,
    norm: NormKind::LayerWithBias,
    rope: RopeDefaults { partial: 0.5, reads_partial: true, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

const NAMES: TensorNames = TensorNames {
    norm: "final_layernorm",
    attention_output: "self_attn.dense",
    up: "mlp.fc1",
    down: "mlp.fc2",
    ..TensorNames::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    config.decoder.names = NAMES;
    config.decoder.head_bias = true;
    plain::remove_gates(&mut config, true);
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::PARALLEL;
        (layer.attention.qkv_bias, layer.attention.output_bias) = (true, true);
    }
    Ok(config)
}
