//! Gemma, Gemma 2 and 3: from the second on norms around each part with weights 1 + w, scaled embeddings, windows in most layers.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{Config, HeadNormExtent, MlpConfig, NormKind, NormPlaces};
use crate::model::config::errors::refused;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const GEMMA2: Defaults = Defaults {
    kv_heads: Some(4),
    head_dim: Some(256),
    max_position_embeddings: 8192,
    is_tied: true,
    activation_key: "hidden_activation",
    activation: Activation::GeluTanh,
    norm: NormKind::RmsPlusOne,
    ..Defaults::LLAMA
};
/// Published files leave out sizes that equal the defaults of the library's class, even those of heads and vocabulary.
const GEMMA3: Defaults = Defaults {
    max_position_embeddings: 131_072,
    sizes: &[
        ("vocab_size", 262_208),
        ("hidden_size", 2304),
        ("intermediate_size", 9216),
        ("num_hidden_layers", 26),
        ("num_attention_heads", 8),
    ],
    ..GEMMA2
};

/// The rotary positions of Gemma 3's full-attention layers, and of those with a window.
const FULL: RopeDefaults =
    RopeDefaults { theta: 1_000_000.0, layer_type: Some("full_attention"), ..RopeDefaults::LLAMA };
const WINDOWED: RopeDefaults = RopeDefaults {
    theta_key: "rope_local_base_freq",
    layer_type: Some("sliding_attention"),
    ..RopeDefaults::LLAMA
};

const GEMMA1: Defaults = Defaults { kv_heads: Some(16), activation_key: "hidden_act", ..GEMMA2 };

/// Scaled embeddings and norms with weights 1 + w, otherwise as Llama.
pub(super) fn read_gemma(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &GEMMA1)?;
    plain::read_attention_bias(&mut config, fields)?;
    for layer in &mut config.decoder.layers {
        // The first files say `gelu`, and mean its approximation.
        if let MlpConfig::Gated(mlp) = &mut layer.mlp
            && mlp.activation == Activation::Gelu
        {
            mlp.activation = Activation::GeluTanh;
        }
    }
    config.decoder.embedding_scale = (config.hidden_size as f64).sqrt();
    Ok(config)
}

/// A window in every other layer; scores and logits are bounded.
pub(super) fn read_gemma2(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &GEMMA2)?;
    read_common(&mut config, fields, (Some(50.0), Some(30.0)), |layer| layer % 2 == 0)?;
    Ok(config)
}

/// Norms of queries and keys; other rotary positions in layers with a window.
pub(super) fn read_gemma3(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read_without_rope(fields, &GEMMA3)?;
    // The class has the key, and its layers do not bound scores.
    fields.must_be([("attn_logit_softcapping", serde_json::Value::Null)])?;
    let mut pattern = fields.size("sliding_window_pattern")?;
    if let Some(other) = fields.size("_sliding_window_pattern")? {
        pattern = pattern.or(Some(other));
    }
    let pattern = pattern.unwrap_or(6);
    read_common(&mut config, fields, (None, None), |layer| (layer + 1) % pattern != 0)?;
    add_head_norms(&mut config, HeadNormExtent::Head);
    let windowed: Vec<bool> =
        config.decoder.layers.iter().map(|layer| layer.attention.window.is_some()).collect();
    plain::set_rope(&mut config, fields, &FULL, |layer| !windowed[layer])?;
    plain::set_rope(&mut config, fields, &WINDOWED, |layer| windowed[layer])?;
    Ok(config)
}

/// The keys that all versions have. `caps` are the default bounds of scores and of logits.
fn read_common(
    config: &mut Config,
    fields: &ConfigFields<'_>,
    caps: (Option<f64>, Option<f64>),
    has_window: impl Fn(usize) -> bool,
) -> Result<()> {
    // An older name, which the library reads over.
    if let Some(other) = fields.text("hidden_act")?.filter(|name| !name.starts_with("gelu")) {
        return Err(refused("hidden_act", &other.into(), "is not supported"));
    }
    plain::read_attention_bias(config, fields)?;
    let stated = fields.size("sliding_window")?;
    let window = if fields.has("sliding_window") { stated } else { Some(4096) };
    // A second name for it in files of Gemma 2.
    fields.must_be([("sliding_window_size", serde_json::json!(window))])?;
    plain::read_windows(config, fields, window, has_window)?;
    let cap = |key: &str, default| {
        let stated = fields.positive(key)?;
        Ok::<_, crate::error::Error>(if fields.has(key) { stated } else { default })
    };
    let soft_cap = cap("attn_logit_softcapping", caps.0)?;
    config.decoder.logit_soft_cap = cap("final_logit_softcapping", caps.1)?;
    let scalar = fields.positive("query_pre_attn_scalar")?.unwrap_or(256.0);
    config.decoder.embedding_scale = (config.hidden_size as f64).sqrt();
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::AROUND;
        layer.attention.soft_cap = soft_cap;
        layer.attention.scale = scalar.powf(-0.5);
    }
    Ok(())
}
