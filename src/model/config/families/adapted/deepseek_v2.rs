//! DeepSeek-V2: keys and values from a vector of few dimensions, and experts.

use serde_json::{Map, Value, json};

use super::settings::{require, require_default};
use crate::error::Result;
use crate::model::config::decoder::Config;
use crate::model::config::errors::config_error;
use crate::model::config::families::plain::{self, Defaults};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope;

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let config = plain::read_without_rope(fields, &Defaults::LLAMA)?;
    let heads = fields.required("num_attention_heads", 1)?;
    let kv_heads = json!(heads);
    require(fields, "num_key_value_heads", &kv_heads, &kv_heads)?;
    require_default(
        fields,
        [
            // The norms inside attention have this one in any case.
            ("rms_norm_eps", json!(1e-6)),
            ("hidden_act", json!("silu")),
            ("mlp_bias", json!(false)),
            ("moe_layer_freq", json!(1)),
            ("norm_topk_prob", json!(false)),
            ("scoring_func", json!("softmax")),
            ("topk_method", json!("greedy")),
        ],
    )?;
    // Groups of experts, which `greedy` does not use; the width of a head, which other keys state.
    fields.ignore(&["n_group", "topk_group", "head_dim", "qk_head_dim"]);
    let rotary_dim = fields.required("qk_rope_head_dim", 2)?;
    let chosen = fields.required("num_experts_per_tok", 1)?;
    let experts = fields.required("n_routed_experts", 1)?;
    if chosen > experts {
        let wanted = format!("a token cannot have more than the {experts} experts that there are");
        return Err(fields.wrong("num_experts_per_tok", &wanted));
    }
    let (theta, scaling) = read_rope(fields, rotary_dim, config.max_position_embeddings)?;
    let values = json!({
        "vocab_size": config.vocab_size,
        "hidden_size": config.hidden_size,
        "intermediate_size": fields.required("intermediate_size", 1)?,
        "moe_intermediate_size": fields.required("moe_intermediate_size", 1)?,
        "num_hidden_layers": config.num_hidden_layers,
        "num_attention_heads": heads,
        "n_shared_experts": fields.required("n_shared_experts", 1)?,
        "n_routed_experts": experts,
        "routed_scaling_factor": fields.positive("routed_scaling_factor")?.unwrap_or(1.0),
        "num_experts_per_tok": chosen,
        "first_k_dense_replace": fields.integer("first_k_dense_replace", 0)?.unwrap_or(0),
        "max_position_embeddings": config.max_position_embeddings,
        "rms_norm_eps": config.decoder.norm.eps,
        "tie_word_embeddings": config.tie_word_embeddings,
        "rope_theta": theta,
        "rope_scaling": scaling,
        "attention_bias": fields.flag("attention_bias")?.unwrap_or(false),
        "q_lora_rank": fields.size("q_lora_rank")?,
        "qk_rope_head_dim": rotary_dim,
        "kv_lora_rank": fields.required("kv_lora_rank", 1)?,
        "v_head_dim": fields.required("v_head_dim", 1)?,
        "qk_nope_head_dim": fields.required("qk_nope_head_dim", 1)?,
        "n_group": 1,
        "topk_group": 1,
    });
    Ok(Config { adapted: Some(values), ..config })
}

/// The base of rotary positions, and their scaling: none or YaRN.
fn read_rope(fields: &ConfigFields<'_>, rotary_dim: usize, context: usize) -> Result<(f64, Value)> {
    let defaults = Defaults::LLAMA.rope;
    let rope = rope::read(fields, &defaults, rotary_dim, context)?;
    if let Some(theta) = rope.unscaled_base {
        return Ok((theta, Value::Null));
    }
    let name =
        ["rope_parameters", "rope_scaling"].into_iter().find(|name| fields.get(name).is_some());
    let (at, empty) = (format!("/{}", name.unwrap_or_default()), Map::new());
    let object = name.map(|name| fields.object(name)).transpose()?.flatten().unwrap_or(&empty);
    let object = ConfigFields::new(object, &at);
    let newer = object.text("rope_type")?;
    let kind = newer.or(object.text("type")?);
    let scales = (object.positive("mscale")?, object.positive("mscale_all_dim")?);
    let is_supported = kind == Some("yarn")
        && scales.0.is_some() == scales.1.is_some()
        && object.get("attention_factor").is_none()
        && object.flag("truncate")? != Some(false);
    if !is_supported {
        let message = "rotary positions of this kind are not supported for this model type";
        return Err(config_error(message).at_pointer(at.clone()).with_help(
            "candle-transformers computes with the types default, and yarn with `mscale` and `mscale_all_dim`, \
             or with neither",
        ));
    }
    let original = object.size("original_max_position_embeddings")?;
    let original = original.or(fields.size("original_max_position_embeddings")?).unwrap_or(context);
    let theta = object.positive("rope_theta")?.or(fields.positive("rope_theta")?);
    let factor = object.positive("factor")?.unwrap_or(context as f64 / original as f64);
    let scaling = json!({
        "type": "yarn",
        "original_max_position_embeddings": original,
        "beta_fast": object.positive("beta_fast")?.unwrap_or(32.0),
        "beta_slow": object.positive("beta_slow")?.unwrap_or(1.0),
        "factor": factor,
        "mscale": scales.0.unwrap_or(1.0),
        // Of which nothing is computed.
        "mscale_all_dim": scales.1.unwrap_or(0.0),
    });
    Ok((theta.unwrap_or(defaults.theta), scaling))
}
