//! RecurrentGemma: gated linear recurrences, and attention within a window.

use maskwright_kernels::Activation;
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
    eps: 1e-6,
    is_tied: true,
    activation_key: "hidden_activation",
    activation: Activation::GeluTanh,
    rope: RopeDefaults { partial: 0.5, reads_partial: true, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let inner = fields.required("intermediate_size", 2)?;
    let model = read_attention(fields, &DEFAULTS, inner)?;
    require_heads_of_stream(fields, &model)?;
    let AttentionModel { mut config, attention, rotary_dim, values } = model;
    if 2 * rotary_dim != attention.width {
        let wanted = "candle-transformers computes with 0.5";
        return Err(fields.wrong("partial_rotary_factor", wanted));
    }
    require_default(fields, [("embeddings_scale_by_sqrt_dim", json!(true))])?;
    let lru_width = fields.size("lru_width")?.unwrap_or(config.hidden_size);
    if !lru_width.is_multiple_of(attention.heads) {
        return Err(fields.wrong("lru_width", "the heads must divide it"));
    }
    // Attention sees everything in candle-transformers, which is right as long as the window holds it.
    let window = fields.size("attention_window_size")?.unwrap_or(2048);
    let stated = fields.size("max_position_embeddings")?.unwrap_or(window);
    config.max_position_embeddings = window.min(stated);
    // Initial values.
    fields.ignore(&["final_w_init_variance_scale", "w_init_variance_scale"]);
    let values = with(
        values,
        json!({
            "lru_width": lru_width,
            "attention_window_size": window,
            "conv1d_width": fields.integer("conv1d_width", 2)?.unwrap_or(4),
            "logits_soft_cap": fields.positive("logits_soft_cap")?.unwrap_or(30.0),
            "hidden_activation": super::settings::activation(fields, &DEFAULTS)?,
            "partial_rotary_factor": 0.5,
            "block_types": block_types(fields)?,
            "attention_bias": fields.flag("attention_bias")?.unwrap_or(false),
            "max_seq_len": config.max_position_embeddings,
        }),
    );
    Ok(Config { adapted: Some(values), ..config })
}

/// The kinds of layers, which repeat. Both names are of one key.
fn block_types(fields: &ConfigFields<'_>) -> Result<Vec<Value>> {
    let default = || ["recurrent", "recurrent", "attention"].map(|kind| json!(kind)).to_vec();
    let older = fields.list("_block_types")?;
    let types = fields.list("block_types")?.or(older).cloned().unwrap_or_else(default);
    let is_kind = |kind: &Value| matches!(kind.as_str(), Some("recurrent" | "attention"));
    if types.is_empty() || !types.iter().all(is_kind) {
        return Err(fields.wrong("block_types", "blocks of recurrent and attention are supported"));
    }
    Ok(types)
}
