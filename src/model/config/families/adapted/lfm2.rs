//! LFM2: layers of attention and of short convolutions.

use serde_json::{Value, json};

use super::settings::{
    AttentionModel, read_attention, require_default, require_heads_of_stream, with,
};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::families::plain::Defaults;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(8),
    max_position_embeddings: 128_000,
    eps_key: "norm_eps",
    eps: 1e-5,
    is_tied: true,
    rope: RopeDefaults { theta: 1_000_000.0, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

/// Keys of published files that the `transformers` library does not read.
const IGNORED: [&str; 11] = [
    "block_dim",
    "block_mlp_init_scale",
    "block_norm_eps",
    "block_out_init_scale",
    "block_use_swiglu",
    "block_use_xavier_init",
    "conv_dim",
    "conv_dim_out",
    "conv_use_xavier_init",
    "num_heads",
    "use_pos_enc",
];

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let inner = inner(fields)?;
    let model = read_attention(fields, &DEFAULTS, inner)?;
    require_heads_of_stream(fields, &model)?;
    let AttentionModel { mut config, values, .. } = model;
    require_default(fields, [("conv_bias", json!(false)), ("hidden_act", json!("silu"))])?;
    // An older name, which counts where both are there.
    if let Some(is_tied) = fields.flag("tie_embedding")? {
        config.tie_word_embeddings = is_tied;
    }
    fields.ignore(&IGNORED);
    let values = with(
        values,
        json!({
            "norm_eps": config.decoder.norm.eps,
            "conv_L_cache": fields.integer("conv_L_cache", 2)?.unwrap_or(3),
            "layer_types": layer_types(fields, config.num_hidden_layers)?,
            "tie_embedding": config.tie_word_embeddings,
        }),
    );
    Ok(Config { adapted: Some(values), ..config })
}

/// The width inside feed-forward parts.
fn inner(fields: &ConfigFields<'_>) -> Result<usize> {
    // An older name, which counts where both are there.
    let newer = fields.size("intermediate_size")?;
    let stated = fields.size("block_ff_dim")?.or(newer).unwrap_or(12_288);
    let multiple = fields.size("block_multiple_of")?.unwrap_or(256);
    let is_multiplied =
        fields.has("block_ffn_dim_multiplier") && fields.get("block_ffn_dim_multiplier").is_none();
    let multiplier = fields.positive("block_ffn_dim_multiplier")?.unwrap_or(1.0);
    if !fields.flag("block_auto_adjust_ff_dim")?.unwrap_or(true) {
        return Ok(stated);
    }
    let two_thirds = 2 * stated / 3;
    if is_multiplied {
        return Ok(two_thirds);
    }
    Ok(((multiplier * two_thirds as f64) as usize).div_ceil(multiple) * multiple)
}

/// The kind of each layer: stated, or attention in the layers that an older key lists, or in all.
fn layer_types(fields: &ConfigFields<'_>, layers: usize) -> Result<Vec<Value>> {
    let listed = fields.list("full_attn_idxs")?;
    if let Some(types) = fields.list("layer_types")? {
        let is_kind = |kind: &Value| matches!(kind.as_str(), Some("conv" | "full_attention"));
        if types.len() != layers || !types.iter().all(is_kind) {
            let wanted = format!("{layers} layers of full_attention and conv are supported");
            return Err(fields.wrong("layer_types", &wanted));
        }
        return Ok(types.clone());
    }
    let is_attention = |layer: usize| listed.is_none_or(|all| all.contains(&json!(layer)));
    let kind = |layer| json!(if is_attention(layer) { "full_attention" } else { "conv" });
    Ok((0..layers).map(kind).collect())
}
