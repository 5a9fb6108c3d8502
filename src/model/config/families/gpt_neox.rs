//! GPT-NeoX and Pythia: LayerNorm and biases, parallel parts with a norm each, queries, keys and values head
//! by head in one matrix, no gates.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{
    Config, NormKind, NormPlaces, Prefixes, ProjectionLayout, TensorNames,
};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    eps_key: "layer_norm_eps",
    eps: 1e-5,
    activation: Activation::Gelu,
    norm: NormKind::LayerWithBias,
    rope: RopeDefaults {
        theta_key: "rotary_emb_base",
        partial: 0.25,
        reads_partial: true,
        ..RopeDefaults::LLAMA
    },
    ..Defaults::LLAMA
};

const NAMES: TensorNames = TensorNames {
    embedding: "embed_in",
    norm: "final_layer_norm",
    head: "embed_out",
    fused: "attention.query_key_value",
    attention_output: "attention.dense",
    up: "mlp.dense_h_to_4h",
    down: "mlp.dense_4h_to_h",
    ..TensorNames::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    // Some versions of the library wrote each of these under two names.
    for (name, other) in
        [("partial_rotary_factor", "rotary_pct"), ("rotary_emb_base", "rope_theta")]
    {
        if let Some(value) = fields.get(name) {
            fields.must_be([(other, value.clone())])?;
        }
    }
    // The class reads this key alone inside `rope_parameters`.
    if !fields.has("rotary_pct") {
        fields.must_be([("partial_rotary_factor", 0.25.into())])?;
    }
    let own = fields.with_aliases(&[("partial_rotary_factor", "rotary_pct")]);
    // The class knows no other number of heads of keys and values.
    own.must_be([("num_key_value_heads", own.required("num_attention_heads", 1)?.into())])?;
    let mut config = plain::read(&own, &DEFAULTS)?;
    let bias = own.flag("attention_bias")?.unwrap_or(true);
    let is_parallel = own.flag("use_parallel_residual")?.unwrap_or(true);
    config.decoder.names = NAMES;
    config.decoder.prefixes = &[Prefixes { decoder: "gpt_neox.", head: "" }];
    plain::remove_gates(&mut config, true);
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces { is_parallel, ..NormPlaces::PRE };
        layer.attention.projections = ProjectionLayout::FusedByHead;
        (layer.attention.qkv_bias, layer.attention.output_bias) = (bias, bias);
    }
    fields.join(&own);
    Ok(config)
}
