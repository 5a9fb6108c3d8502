//! Mixtures of experts.

use serde_json::{Value, json};

use super::gguf_model::{GgufModel, Members};
use crate::error::Result;

/// Sets the keys of a mixture. Errors on experts of architectures that have none.
pub(super) fn set(source: &GgufModel<'_>, config: &mut Members) -> Result<()> {
    const COUNT: &str = "expert_count";
    const USED: &str = "expert_used_count";
    let GgufModel { keys, architecture, .. } = source;
    let (count, used) = (keys.size(COUNT)?, keys.size(USED)?);
    let is_mixture = count.unwrap_or(0) > 0;
    match architecture.experts {
        None if is_mixture => return Err(keys.refused(COUNT, "is not 0")),
        None => return Ok(()),
        // The same architecture is also without.
        Some(_) if !is_mixture && architecture.model_type == "gemma4_text" => return Ok(()),
        Some(_) if !is_mixture => return Err(keys.missing(COUNT)),
        Some(_) => {}
    }
    let used = used.ok_or_else(|| keys.missing(USED))?;
    let stated = keys.size("expert_feed_forward_length")?;
    let width = stated.or(inner(source, "ffn_down_exps.weight"));
    let stated = keys.size("expert_shared_feed_forward_length")?;
    let shared = stated.or(inner(source, "ffn_down_shexp.weight")).filter(|width| *width > 0);
    let mut set = |key: &str, value: Value| config.set(key, value);
    match architecture.model_type {
        "gemma4_text" => {
            set("enable_moe_block", json!(true));
            set("num_experts", json!(count));
            set("top_k_experts", json!(used));
            set("moe_intermediate_size", json!(width));
        }
        "gpt_oss" | "granitemoe" | "mixtral" => {
            set("num_local_experts", json!(count));
            set("num_experts_per_tok", json!(used));
            set("intermediate_size", json!(width));
        }
        _ => {
            set("num_experts", json!(count));
            set("num_experts_per_tok", json!(used));
            set("moe_intermediate_size", json!(width));
            // Files do not say so; llama.cpp divides by the sum of the chosen weights in Qwen3 alone.
            set("norm_topk_prob", json!(architecture.model_type == "qwen3_moe"));
        }
    }
    match (architecture.model_type, shared) {
        (_, None) => {}
        ("qwen2_moe", Some(width)) => set("shared_expert_intermediate_size", json!(width)),
        ("granitemoe", Some(width)) => {
            set("model_type", json!("granitemoeshared"));
            set("shared_intermediate_size", json!(width));
        }
        _ => {
            let reason = "is not known of this architecture";
            return Err(keys.refused("expert_shared_feed_forward_length", reason));
        }
    }
    Ok(())
}

/// The width that a projection of the first layer reads.
fn inner(source: &GgufModel<'_>, name: &str) -> Option<usize> {
    source.directory.find(&format!("blk.0.{name}"))?.shape.last().copied()
}
