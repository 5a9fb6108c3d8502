//! Mixtures of experts.

use serde_json::{Value, json};

use super::gguf_model::{GgufModel, Members};
use crate::error::Result;

/// Sets the keys of a mixture. Errors on experts of architectures that have none. `mtp_layers` is the
/// number of multi-token-prediction (MTP) layers at the end.
pub(super) fn set(source: &GgufModel<'_>, mtp_layers: usize, config: &mut Members) -> Result<()> {
    const COUNT: &str = "expert_count";
    const USED: &str = "expert_used_count";
    let GgufModel { keys, architecture, .. } = source;
    let (count, used) = (keys.size(COUNT)?, keys.size(USED)?);
    let is_mixture = count.unwrap_or(0) > 0;
    match architecture.experts {
        None if is_mixture => return Err(keys.refused(COUNT, "is not 0")),
        None => {
            // Granite 4 without experts states it. Tensors of a shared expert are refused.
            keys.size("expert_shared_feed_forward_length")?;
            return Ok(());
        }
        // Gemma 4 without experts has the same architecture.
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
        "gpt_oss" | "granitemoe" | "minimax_m2" | "mixtral" => {
            set("num_local_experts", json!(count));
            set("num_experts_per_tok", json!(used));
            set("intermediate_size", json!(width));
        }
        "dots1" | "glm4_moe" => {
            set("n_routed_experts", json!(count));
            set("num_experts_per_tok", json!(used));
            set("moe_intermediate_size", json!(width));
            set("num_nextn_predict_layers", json!(mtp_layers));
        }
        "ernie4_5_moe" => {
            set("moe_num_experts", json!(count));
            set("moe_k", json!(used));
            set("moe_intermediate_size", json!(width));
        }
        "hunyuan_v1_moe" => {
            set("num_experts", json!(count));
            set("moe_topk", json!(used));
            set("moe_intermediate_size", json!(width));
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
        ("dots1" | "glm4_moe", _) => routed(source, config),
        ("bailing_moe" | "bailing_moe_v2", _) => bailing(source, (width, mtp_layers), config),
        ("ernie4_5_moe", _) => ernie4_5(source, config),
        ("hunyuan_v1_moe", _) => hunyuan(source, config),
        ("minimax_m2", None) => must_score(source, SIGMOID),
        (_, None) => Ok(()),
        ("qwen2_moe", Some(width)) => {
            set("shared_expert_intermediate_size", json!(width));
            Ok(())
        }
        ("granitemoe", Some(width)) => {
            set("model_type", json!("granitemoeshared"));
            set("shared_intermediate_size", json!(width));
            Ok(())
        }
        _ => {
            let reason = "is not known of this architecture";
            Err(keys.refused("expert_shared_feed_forward_length", reason))
        }
    }
}

/// llama.cpp's numbers of functions from the outputs of a router to scores.
const SOFTMAX: usize = 1;
const SIGMOID: usize = 2;

/// Errors on another function of scores than an architecture has. Files may leave it out.
fn must_score(GgufModel { keys, .. }: &GgufModel<'_>, function: usize) -> Result<()> {
    const FUNCTION: &str = "expert_gating_func";
    match keys.size(FUNCTION)? {
        Some(stated) if stated != 0 && stated != function => {
            Err(keys.refused(FUNCTION, &format!("is {stated}: {function} is supported")))
        }
        _ => Ok(()),
    }
}

/// The number of experts that every token has, as one.
fn shared_count(GgufModel { keys, .. }: &GgufModel<'_>) -> Result<usize> {
    Ok(keys.size("expert_shared_count")?.unwrap_or(0))
}

/// The keys of a router with biased scores: groups, weights, layers without experts.
fn routed(source: &GgufModel<'_>, config: &mut Members) -> Result<()> {
    must_score(source, SIGMOID)?;
    let GgufModel { architecture, .. } = source;
    config.set("n_shared_experts", json!(shared_count(source)?));
    set_router(source, config)?;
    if architecture.model_type == "glm4_moe" {
        config.set("use_qk_norm", json!(source.has_in_layer("attn_q_norm.weight")));
    } else {
        // llama.cpp has no windows of these.
        config.set("sliding_window", Value::Null);
    }
    Ok(())
}

/// Layers without experts, weights and groups.
fn set_router(GgufModel { keys, .. }: &GgufModel<'_>, config: &mut Members) -> Result<()> {
    let dense = keys.size("leading_dense_block_count")?.unwrap_or(0);
    config.set("first_k_dense_replace", json!(dense));
    let is_normed = keys.flag("expert_weights_norm")?.unwrap_or(false);
    config.set("norm_topk_prob", json!(is_normed));
    let scale = keys.number("expert_weights_scale")?.filter(|scale| *scale != 0.0);
    config.set("routed_scaling_factor", json!(scale.unwrap_or(1.0)));
    for (own, name) in
        [("expert_group_count", "n_group"), ("expert_group_used_count", "topk_group")]
    {
        if let Some(count) = keys.size(own)?.filter(|count| *count > 0) {
            config.set(name, json!(count));
        }
    }
    Ok(())
}

/// The routers of Ling, and the layers that have them.
fn bailing(
    source: &GgufModel<'_>,
    (width, mtp_layers): (Option<usize>, usize),
    config: &mut Members,
) -> Result<()> {
    let GgufModel { architecture, directory, .. } = source;
    let is_first = architecture.model_type == "bailing_moe";
    must_score(source, if is_first { SOFTMAX } else { SIGMOID })?;
    config.set("score_function", json!(if is_first { "softmax" } else { "sigmoid" }));
    let has_score_bias = directory.tensors.iter().any(|t| t.name.ends_with(".exp_probs_b.bias"));
    config.set("moe_router_enable_expert_bias", json!(has_score_bias));
    config.set("use_qk_norm", json!(source.has_in_layer("attn_q_norm.weight")));
    let shared = shared_count(source)?;
    config.set("num_shared_experts", json!(shared));
    // The tensor has the width of all shared experts together, whatever width a file states.
    let together = inner(source, "ffn_down_shexp.weight");
    let of_one = together.and_then(|together| together.checked_div(shared)).or(width);
    config.set("moe_shared_expert_intermediate_size", json!(of_one));
    config.set("num_nextn_predict_layers", json!(mtp_layers));
    set_router(source, config)?;
    if !is_first && !config.0.contains_key("n_group") {
        config.set("n_group", json!(1));
    }
    Ok(())
}

/// The layers of Ernie 4.5 with experts, and those that every token has.
fn ernie4_5(source: &GgufModel<'_>, config: &mut Members) -> Result<()> {
    must_score(source, SOFTMAX)?;
    let keys = &source.keys;
    let step = keys.size("interleave_moe_layer_step")?.filter(|step| *step > 0);
    config.set("moe_layer_interval", json!(step.unwrap_or(1)));
    let dense = keys.size("leading_dense_block_count")?.unwrap_or(0);
    config.set("moe_layer_start_index", json!(dense));
    // The length that files state beside the number comes from other settings: tensors have that of experts.
    config.set("moe_num_shared_experts", json!(shared_count(source)?));
    Ok(())
}

/// The expert of Hunyuan that every token has.
fn hunyuan(source: &GgufModel<'_>, config: &mut Members) -> Result<()> {
    config.set("num_shared_expert", json!(shared_count(source)?.max(1)));
    Ok(())
}

/// The width that a projection reads in the first layer that has it.
fn inner(source: &GgufModel<'_>, name: &str) -> Option<usize> {
    let end = format!(".{name}");
    let tensor = source.directory.tensors.iter().find(|tensor| tensor.name.ends_with(&end))?;
    tensor.shape.last().copied()
}
