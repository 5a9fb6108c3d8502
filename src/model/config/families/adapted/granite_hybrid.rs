//! Granite 4 without Mamba layers and without experts.

use serde_json::{Value, json};

use super::settings::{
    AttentionModel, read_attention, require, require_default, require_heads_of_stream, with,
};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::families::plain::Defaults;
use crate::model::config::fields::ConfigFields;

/// Keys of Mamba layers, which no layer is, and of a mixture without experts.
const IGNORED: [&str; 11] = [
    "mamba_chunk_size",
    "mamba_conv_bias",
    "mamba_d_conv",
    "mamba_d_head",
    "mamba_d_state",
    "mamba_expand",
    "mamba_n_groups",
    "mamba_n_heads",
    "mamba_proj_bias",
    "num_experts_per_tok",
    "time_step_limit",
];

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    // First the kinds of layers, which tell the models apart.
    let layers = fields.required("num_hidden_layers", 1)?;
    require_attention(fields, layers)?;
    require(fields, "num_local_experts", &json!(8), &json!(0))?;
    require(fields, "position_embedding_type", &Value::Null, &json!("rope"))?;
    require_default(
        fields,
        [
            ("attention_bias", json!(false)),
            ("hidden_act", json!("silu")),
            ("normalization_function", json!("rmsnorm")),
        ],
    )?;
    fields.ignore(&IGNORED);
    let inner = fields.size("intermediate_size")?.unwrap_or(11_008);
    let model = read_attention(fields, &Defaults::LLAMA, inner)?;
    require_heads_of_stream(fields, &model)?;
    let AttentionModel { config, values, .. } = model;
    let factor = |key: &str| fields.positive(key).map(|factor| factor.unwrap_or(1.0));
    let values = with(
        values,
        json!({
            "shared_intermediate_size": fields.size("shared_intermediate_size")?.unwrap_or(1024),
            "attention_multiplier": factor("attention_multiplier")?,
            "embedding_multiplier": factor("embedding_multiplier")?,
            "residual_multiplier": factor("residual_multiplier")?,
            "logits_scaling": factor("logits_scaling")?,
            // Of attention all.
            "layer_types": [],
        }),
    );
    Ok(Config { adapted: Some(values), ..config })
}

/// Errors unless `layer_types` names as many layers of attention, and no others.
fn require_attention(fields: &ConfigFields<'_>, layers: usize) -> Result<()> {
    let is_attention = |kind: &Value| matches!(kind.as_str(), Some("attention" | "full_attention"));
    let types = fields.list("layer_types")?;
    if types.is_some_and(|types| types.len() == layers && types.iter().all(is_attention)) {
        return Ok(());
    }
    let wanted = format!(
        "candle-transformers computes with {layers} layers of attention, and none of mamba"
    );
    Err(fields.wrong("layer_types", &wanted))
}
