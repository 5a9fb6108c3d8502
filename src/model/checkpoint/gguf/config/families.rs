//! Constants that files leave out, and keys of single architectures.

use serde_json::json;

use super::gguf_model::{GgufModel, Members};
use crate::error::Result;

/// Sets what an architecture has beyond the usual. `widths` are the number of layers, the width of the
/// stream by the number of heads, and the width of a head.
pub(super) fn set(
    source: &GgufModel<'_>,
    widths: (usize, usize, usize),
    config: &mut Members,
) -> Result<()> {
    match source.architecture.model_type {
        "gemma2" | "gemma3_text" => gemma(source, widths, config),
        "granite" | "granitemoe" => granite(source, widths.2, config),
        "stablelm" => {
            // A note of the converter, which writes it where a configuration says nothing, too: layers
            // without a second norm are parallel.
            source.keys.flag("use_parallel_residual")?;
            config.set("use_parallel_residual", json!(!source.has_in_layer("ffn_norm.weight")));
            Ok(())
        }
        "gpt_neox" => gpt_neox(source, widths.0, config),
        _ => Ok(()),
    }
}

/// Constants that llama.cpp chooses by the size of a Gemma model.
fn gemma(
    GgufModel { keys, architecture, .. }: &GgufModel<'_>,
    (layers, width_of_heads, head_width): (usize, usize, usize),
    config: &mut Members,
) -> Result<()> {
    /// The layers of Gemma 2 27B and of Gemma 3 27B, whose scale is that of the width divided by heads.
    const LAYERS_OF_27B: [(&str, usize); 2] = [("gemma2", 46), ("gemma3_text", 62)];
    let is_27b = LAYERS_OF_27B.contains(&(architecture.model_type, layers));
    let scalar = if is_27b { width_of_heads } else { head_width };
    config.set("query_pre_attn_scalar", json!(scalar));
    config.set("hidden_activation", json!("gelu_pytorch_tanh"));
    if architecture.model_type == "gemma3_text" {
        let theta = keys.number("rope.freq_base_swa")?.unwrap_or(10_000.0);
        config.set("rope_local_base_freq", json!(theta));
    }
    Ok(())
}

/// A scale that files leave out, and a switch of rotary positions.
fn granite(
    GgufModel { keys, .. }: &GgufModel<'_>,
    head_width: usize,
    config: &mut Members,
) -> Result<()> {
    const ROPE: &str = "rope.scaling.finetuned";
    if keys.flag(ROPE)? == Some(false) {
        return Err(keys.refused(ROPE, "is false: the model has no rotary positions"));
    }
    if keys.number("attention.scale")?.is_none() {
        config.set("attention_multiplier", json!(1.0 / (head_width as f64).sqrt()));
    }
    Ok(())
}

/// Whether the parts are parallel, and the function between matrices, which files do not name.
fn gpt_neox(
    GgufModel { keys, .. }: &GgufModel<'_>,
    layers: usize,
    config: &mut Members,
) -> Result<()> {
    /// Of GPT-NeoX 20B, whose configuration says `gelu_fast`; those of Pythia say `gelu`.
    const LAYERS_OF_20B: usize = 44;
    const PARALLEL: &str = "use_parallel_residual";
    let is_parallel = keys.flag(PARALLEL)?.ok_or_else(|| keys.missing(PARALLEL))?;
    config.set(PARALLEL, json!(is_parallel));
    let activation = if layers == LAYERS_OF_20B { "gelu_fast" } else { "gelu" };
    config.set("hidden_act", json!(activation));
    Ok(())
}
