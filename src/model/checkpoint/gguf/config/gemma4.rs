//! Gemma 4: heads of other widths and rotary positions in full-attention layers, shared keys and
//! values, per-layer embeddings.

use serde_json::{Map, Value, json};

use super::gguf_model::{GgufModel, Members, ratio};
use super::rope;
use crate::error::Result;

/// Sets the keys of this family. `width` is that of the heads of full-attention layers.
pub(super) fn set(
    source: &GgufModel<'_>,
    (layers, width): (usize, usize),
    config: &mut Members,
) -> Result<()> {
    const SWA_WIDTHS: [&str; 2] = ["attention.key_length_swa", "attention.value_length_swa"];
    let GgufModel { keys, directory, .. } = source;
    let [own, values] = SWA_WIDTHS.map(|name| keys.size(name));
    let (own, values) = (own?.ok_or_else(|| keys.missing(SWA_WIDTHS[0]))?, values?);
    if values.is_some_and(|values| values != own) {
        return Err(keys.refused(SWA_WIDTHS[1], "differs from `attention.key_length_swa`"));
    }
    let kv_heads = keys.sizes("attention.head_count_kv", layers)?;
    let kv_heads = kv_heads.ok_or_else(|| keys.missing("attention.head_count_kv"))?;
    let is_full = full_layers(config);
    let of_layer = |layer: usize| {
        let width = if is_full[layer] { width } else { own };
        let heads = json!({"head_dim": width, "num_key_value_heads": kv_heads[layer]});
        (layer.to_string(), heads)
    };
    let of_layers: Map<String, Value> = (0..layers).map(of_layer).collect();
    config.set("per_layer_config", Value::Object(of_layers));
    config.set("num_key_value_heads", json!(kv_heads[0]));
    config.set("head_dim", json!(own));
    config.set("hidden_activation", json!("gelu_pytorch_tanh"));
    let shared = keys.size("attention.shared_kv_layers")?.unwrap_or(0);
    config.set("num_kv_shared_layers", json!(shared));
    // Without values of their own such layers take the keys.
    let mut with_keys =
        (0..layers.saturating_sub(shared)).filter(|layer| is_full.get(*layer) == Some(&true));
    let has_values = |layer| {
        ["attn_v", "attn_qkv"]
            .iter()
            .any(|name| directory.find(&format!("blk.{layer}.{name}.weight")).is_some())
    };
    config.set("attention_k_eq_v", json!(with_keys.any(|layer| !has_values(layer))));
    feed_forward(source, (layers, shared), config)?;
    let width_per_layer = keys.size("embedding_length_per_layer_input")?.unwrap_or(0);
    config.set("hidden_size_per_layer_input", json!(width_per_layer));
    let table = directory.find("per_layer_token_embd.weight");
    if let Some(tokens) = table.and_then(|table| table.shape.first()) {
        config.set("vocab_size_per_layer_input", json!(tokens));
    }
    rotary(source, width, own, config)
}

/// For each layer whether it has full attention. The last one has, whatever a file says.
fn full_layers(config: &Members) -> Vec<bool> {
    let types = config.0.get("layer_types").and_then(Value::as_array);
    let mut is_full: Vec<bool> =
        types.into_iter().flatten().map(|layer| layer == "full_attention").collect();
    if let Some(last) = is_full.last_mut() {
        *last = true;
    }
    is_full
}

/// The width inside feed-forward parts, which layers that share keys and values may have doubled.
fn feed_forward(
    GgufModel { keys, .. }: &GgufModel<'_>,
    (layers, shared): (usize, usize),
    config: &mut Members,
) -> Result<()> {
    const WIDTH: &str = "feed_forward_length";
    let widths = keys.sizes(WIDTH, layers)?.ok_or_else(|| keys.missing(WIDTH))?;
    let widths = &widths[..layers];
    let (own, sharing) = widths.split_at(layers.saturating_sub(shared));
    let first = widths[0];
    let is_doubled = !sharing.is_empty() && sharing.iter().all(|width| *width == 2 * first);
    let is_same = sharing.iter().all(|width| *width == first);
    if own.iter().any(|width| *width != first) || !(is_doubled || is_same) {
        let reason = "is neither one width nor twice of it where keys and values are shared";
        return Err(keys.refused(WIDTH, reason));
    }
    config.set("intermediate_size", json!(first));
    config.set("use_double_wide_mlp", json!(is_doubled));
    Ok(())
}

/// Rotary positions of full-attention layers, whose slowest pairs are not rotated, and of the others.
fn rotary(source: &GgufModel<'_>, width: usize, own: usize, config: &mut Members) -> Result<()> {
    /// From this divisor of its frequency on a pair is not rotated; the converter writes 10³⁰.
    const STILL: f32 = 1e20;
    const FACTORS: &str = "rope_freqs.weight";
    let GgufModel { keys, directory, parts, .. } = source;
    let theta = keys.number("rope.freq_base")?.unwrap_or(10_000.0);
    let windowed = keys.number("rope.freq_base_swa")?.unwrap_or(theta);
    for (name, width) in [("rope.dimension_count", width), ("rope.dimension_count_swa", own)] {
        if keys.size(name)?.is_some_and(|rotary_dim| rotary_dim > width) {
            return Err(keys.refused(name, "is more than the width of a head"));
        }
    }
    if keys.size("rope.dimension_count")?.is_some_and(|rotary_dim| rotary_dim != width) {
        return Err(keys.refused("rope.dimension_count", "is not the width of a head"));
    }
    let rotary_dim = keys.size("rope.dimension_count_swa")?.unwrap_or(own);
    let factors = directory.find(FACTORS).map(|tensor| parts.numbers(tensor));
    let factors = factors.unwrap_or_else(|| vec![1.0; width / 2]);
    let moving = factors.iter().take_while(|factor| **factor == 1.0).count();
    if factors.len() != width / 2 || factors[moving..].iter().any(|factor| *factor < STILL) {
        return Err(keys.tensor_refused(FACTORS, "is not ones before numbers beyond 10²⁰"));
    }
    if moving == 0 {
        return Err(keys.tensor_refused(FACTORS, "lets no pair turn"));
    }
    // Scaling of all layers alike is not of this family.
    if rope::scaling(source, None)?.is_some() {
        return Err(keys.refused("rope.scaling.type", "is not known of this architecture"));
    }
    let full = json!({
        "rope_type": "proportional", "rope_theta": theta,
        "partial_rotary_factor": ratio(moving, width / 2),
    });
    let sliding = json!({
        "rope_type": "default", "rope_theta": windowed,
        "partial_rotary_factor": ratio(rotary_dim, own),
    });
    config.set("rope_parameters", json!({"full_attention": full, "sliding_attention": sliding}));
    Ok(())
}
