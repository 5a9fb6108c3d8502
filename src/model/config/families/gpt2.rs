//! GPT-2: learned positions, LayerNorm and biases, matrices that lie as (in, out), no gates.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{
    Config, LearnedPositions, NormKind, NormPlaces, Prefixes, ProjectionLayout, TensorNames,
};
use crate::model::config::fields::ConfigFields;

const DEFAULTS: Defaults = Defaults {
    max_position_embeddings: 1024,
    eps_key: "layer_norm_epsilon",
    eps: 1e-5,
    is_tied: true,
    activation_key: "activation_function",
    activation: Activation::GeluTanh,
    norm: NormKind::LayerWithBias,
    ..Defaults::LLAMA
};

const NAMES: TensorNames = TensorNames {
    embedding: "wte",
    layers: "h",
    norm: "ln_f",
    fused: "attn.c_attn",
    attention_output: "attn.c_proj",
    up: "mlp.c_fc",
    down: "mlp.c_proj",
    ..TensorNames::LLAMA
};

const NORMS: NormPlaces =
    NormPlaces { before_attention: Some("ln_1"), before_mlp: Some("ln_2"), ..NormPlaces::PRE };

/// The usual names of keys, and GPT-2's.
const ALIASES: &[(&str, &str)] = &[
    ("hidden_size", "n_embd"),
    ("num_hidden_layers", "n_layer"),
    ("num_attention_heads", "n_head"),
    ("max_position_embeddings", "n_positions"),
    ("intermediate_size", "n_inner"),
];

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let own = fields.with_aliases(ALIASES);
    let inner = match own.size("intermediate_size")? {
        Some(inner) => inner,
        None => 4 * own.required("hidden_size", 1)?,
    };
    let mut config = plain::read_with_inner(&own, &DEFAULTS, inner)?;
    config.decoder.names = NAMES;
    config.decoder.has_transposed_matrices = true;
    // The published files have no beginning.
    config.decoder.prefixes =
        &[Prefixes { decoder: "transformer.", head: "" }, Prefixes { decoder: "", head: "" }];
    config.decoder.learned_positions =
        Some(LearnedPositions { name: "wpe", count: config.max_position_embeddings });
    let is_scaled = own.flag("scale_attn_weights")?.unwrap_or(true);
    let falls = own.flag("scale_attn_by_inverse_layer_idx")?.unwrap_or(false);
    // The order of operations, in numbers of another width.
    fields.ignore(&["reorder_and_upcast_attn"]);
    plain::remove_gates(&mut config, true);
    for (index, layer) in config.decoder.layers.iter_mut().enumerate() {
        layer.norms = NORMS;
        let attention = &mut layer.attention;
        attention.projections = ProjectionLayout::Fused;
        (attention.qkv_bias, attention.output_bias) = (true, true);
        let scale = if is_scaled { attention.scale } else { 1.0 };
        attention.scale = if falls { scale / (index + 1) as f64 } else { scale };
    }
    fields.join(&own);
    Ok(config)
}
