//! Gemma 2 and 3: norms around each part with weights 1 + w, scaled embeddings, windows in most layers.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{Config, HeadNormExtent, NormKind, NormPlaces, Prefixes};
use crate::model::config::errors::{config_error, refused};
use crate::model::config::fields::ConfigFields;
use crate::model::config::keys;
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
const GEMMA3: Defaults = Defaults { max_position_embeddings: 131_072, ..GEMMA2 };

/// The rotary positions of Gemma 3's layers that see everything, and of those with a window.
const FULL: RopeDefaults =
    RopeDefaults { theta: 1_000_000.0, layer_type: Some("full_attention"), ..RopeDefaults::LLAMA };
const WINDOWED: RopeDefaults = RopeDefaults {
    theta_key: "rope_local_base_freq",
    layer_type: Some("sliding_attention"),
    ..RopeDefaults::LLAMA
};

/// The names of a model that reads images, too: as the library writes them, and as older files do.
const WITH_IMAGES: &[Prefixes] = &[
    Prefixes { decoder: "model.language_model.", head: "" },
    Prefixes { decoder: "language_model.model.", head: "language_model." },
];

/// A window in every other layer; scores and logits are bounded.
pub(super) fn read_gemma2(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &GEMMA2)?;
    read_common(&mut config, fields, (Some(50.0), Some(30.0)), |layer| layer % 2 == 0)?;
    Ok(config)
}

/// Norms of queries and keys; other rotary positions in layers with a window.
pub(super) fn read_gemma3(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read_without_rope(fields, &GEMMA3)?;
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

/// The text part of a model that reads images, too.
pub(super) fn read_gemma3_with_images(fields: &ConfigFields<'_>) -> Result<Config> {
    let Some(text) = fields.object("text_config")? else {
        return Err(config_error("`text_config` is missing")
            .at_pointer("/text_config")
            .with_help("a model of type gemma3_text has its keys at the top"));
    };
    let inner = ConfigFields::new(text, "/text_config");
    let mut config = read_gemma3(&inner)?;
    keys::refuse_unread(&inner)?;
    config.decoder.prefixes = WITH_IMAGES;
    config.decoder.other_parts = &[
        "model.vision_tower.",
        "model.multi_modal_projector.",
        "vision_tower.",
        "multi_modal_projector.",
    ];
    // The end tokens of the whole come first.
    let end = fields.token_ids("eos_token_id")?;
    if !end.is_empty() {
        config.eos_token_ids = end;
    }
    config.bos_token_id =
        fields.token_ids("bos_token_id")?.first().copied().or(config.bos_token_id);
    if let Some(tied) = fields.flag("tie_word_embeddings")? {
        config.tie_word_embeddings = tied;
    }
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
