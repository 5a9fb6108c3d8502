//! Gemma 4: full-attention layers have wider heads, keys that are values, and rotary positions of their
//! own; the last layers use the keys and values of earlier ones; per-layer embeddings; a mixture of experts
//! beside the feed-forward part.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{
    Config, ExpertStorage, ExpertWeighting, ExpertsConfig, GatedConfig, HeadNormExtent, MlpConfig,
    NormPlaces, PerLayerEmbeddingsConfig, ProjectionLayout, StackedExperts,
};
use crate::model::config::errors::{config_error, refused};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(4),
    head_dim: Some(256),
    max_position_embeddings: 131_072,
    is_tied: true,
    activation_key: "hidden_activation",
    activation: Activation::GeluTanh,
    ..Defaults::LLAMA
};

/// The rotary positions of a file that states none.
const ROPE: &str = r#"{
    "full_attention":
        {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1000000.0},
    "sliding_attention": {"rope_type": "default", "rope_theta": 10000.0}
}"#;
const FULL: RopeDefaults = RopeDefaults {
    layer_type: Some("full_attention"),
    object: Some(ROPE),
    reads_partial: true,
    ..RopeDefaults::LLAMA
};
const WINDOWED: RopeDefaults = RopeDefaults { layer_type: Some("sliding_attention"), ..FULL };

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    if let Some(text @ "all") = fields.text("use_bidirectional_attention")? {
        return Err(refused("use_bidirectional_attention", &text.into(), "is not supported"));
    }
    let mut config = plain::read_without_rope(fields, &DEFAULTS)?;
    plain::read_attention_bias(&mut config, fields)?;
    let window = fields.size("sliding_window")?.unwrap_or(512);
    plain::read_windows(&mut config, fields, Some(window), |layer| !(layer + 1).is_multiple_of(6))?;
    // The last layer has full attention, whatever the file says.
    if let Some(last) = config.decoder.layers.last_mut() {
        last.attention.window = None;
    }
    add_head_norms(&mut config, HeadNormExtent::Head);
    let root = (config.hidden_size as f64).sqrt();
    config.decoder.embedding_scale = root;
    config.decoder.logit_soft_cap = fields.positive("final_logit_softcapping")?;
    for layer in &mut config.decoder.layers {
        layer.norms = NormPlaces::AROUND;
        layer.scalar = Some("layer_scalar");
        layer.attention.scale = 1.0;
        layer.attention.value_norm = Some(layer.norm);
    }
    read_heads(&mut config, fields)?;
    share_keys_and_values(&mut config, fields)?;
    read_per_layer_embeddings(&mut config, fields)?;
    add_experts(&mut config, fields)?;
    let windowed: Vec<bool> =
        config.decoder.layers.iter().map(|layer| layer.attention.window.is_some()).collect();
    plain::set_rope(&mut config, fields, &FULL, |layer| !windowed[layer])?;
    plain::set_rope(&mut config, fields, &WINDOWED, |layer| windowed[layer])?;
    Ok(config)
}

/// The heads of full-attention layers, and what the file says of single layers.
fn read_heads(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    let are_values_keys = fields.flag("attention_k_eq_v")?.unwrap_or(false);
    let width = fields.size("global_head_dim")?.unwrap_or(512);
    let kv_heads = fields.size("num_global_key_value_heads")?.filter(|_| are_values_keys);
    let of_layers = fields.object("per_layer_config")?;
    let count = config.decoder.layers.len();
    let is_layer = |key: &&String| key.parse::<usize>().is_ok_and(|index| index < count);
    if let Some(key) = of_layers.and_then(|all| all.keys().find(|key| !is_layer(key))) {
        return Err(config_error(&format!("`{key}` is no layer"))
            .at_pointer(format!("/per_layer_config/{key}"))
            .with_help(format!("the model has {count} layers, the first of which is 0")));
    }
    for (index, layer) in config.decoder.layers.iter_mut().enumerate() {
        let is_full = layer.attention.window.is_none();
        let attention = &mut layer.attention;
        if is_full && are_values_keys {
            attention.projections = ProjectionLayout::ValuesAreKeys;
        }
        match of_layers {
            None if is_full => {
                attention.width = width;
                attention.kv_heads = kv_heads.unwrap_or(attention.kv_heads);
            }
            None => {}
            Some(of_layers) => {
                // The library writes as many digits as the greatest index has: "05" beside "11".
                let is_own = |(name, _): &(&String, &serde_json::Value)| name.parse() == Ok(index);
                let Some((name, value)) = of_layers.iter().find(is_own) else { continue };
                let at = format!("/per_layer_config/{name}");
                let object = value.as_object().ok_or_else(|| {
                    refused("per_layer_config", value, "is no object").at_pointer(&at)
                })?;
                let own = ConfigFields::new(object, &at);
                attention.width = own.size("head_dim")?.unwrap_or(attention.width);
                attention.kv_heads = own.size("num_key_value_heads")?.unwrap_or(attention.kv_heads);
                let known = ["head_dim", "num_key_value_heads"];
                if let Some(key) = object.keys().find(|key| !known.contains(&key.as_str())) {
                    return Err(own.wrong(key, "head_dim and num_key_value_heads are supported"));
                }
            }
        }
        if !attention.heads.is_multiple_of(attention.kv_heads) {
            let (heads, kv_heads) = (attention.heads, attention.kv_heads);
            let message =
                format!("{heads} attention heads cannot share {kv_heads} key-value heads");
            return Err(config_error(&message)
                .at_pointer("/num_global_key_value_heads")
                .with_help("the first must be a multiple of the second"));
        }
    }
    Ok(())
}

/// The last layers use the keys and values of the last layer before them that sees as much.
fn share_keys_and_values(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    let shared = fields.integer("num_kv_shared_layers", 0)?.unwrap_or(0);
    let doubles = fields.flag("use_double_wide_mlp")?.unwrap_or(false);
    let layers = &mut config.decoder.layers;
    let own = layers.len().saturating_sub(shared);
    for index in own..layers.len() {
        let has_window = layers[index].attention.window.is_some();
        let is_alike = |source: &usize| layers[*source].attention.window.is_some() == has_window;
        let Some(source) = (0..own).rev().find(is_alike) else {
            let wanted = "each type of layer must occur before the layers that share";
            return Err(fields.wrong("num_kv_shared_layers", wanted));
        };
        let heads = |index: usize| {
            let attention = &layers[index].attention;
            (attention.kv_heads, attention.width)
        };
        if heads(source) != heads(index) {
            let wanted = "layers that share must have heads of the same number and width";
            return Err(fields.wrong("num_kv_shared_layers", wanted));
        }
        layers[index].attention.kv_of_layer = Some(source);
        if let MlpConfig::Gated(mlp) = &mut layers[index].mlp
            && doubles
        {
            mlp.inner *= 2;
        }
    }
    Ok(())
}

/// Reads the sizes of per-layer embeddings.
fn read_per_layer_embeddings(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    let width = fields.integer("hidden_size_per_layer_input", 0)?;
    let width = if fields.has("hidden_size_per_layer_input") { width } else { Some(256) };
    let tokens = fields.size("vocab_size_per_layer_input")?.unwrap_or(262_144);
    let Some(width) = width.filter(|width| *width > 0) else { return Ok(()) };
    if tokens < config.vocab_size {
        let wanted = "it must be at least `vocab_size`";
        return Err(fields.wrong("vocab_size_per_layer_input", wanted));
    }
    let activation = match config.decoder.layers.first().map(|layer| &layer.mlp) {
        Some(MlpConfig::Gated(mlp)) => mlp.activation,
        _ => Activation::GeluTanh,
    };
    config.decoder.per_layer_embeddings =
        Some(PerLayerEmbeddingsConfig { tokens, width, activation });
    Ok(())
}

/// Mixtures beside the feed-forward parts.
fn add_experts(config: &mut Config, fields: &ConfigFields<'_>) -> Result<()> {
    let is_switched_on = fields.flag("enable_moe_block")?.unwrap_or(false);
    let (count, chosen) = (fields.size("num_experts")?, fields.size("top_k_experts")?);
    let inner = fields.size("moe_intermediate_size")?;
    if !is_switched_on {
        return Ok(());
    }
    let missing = |key| fields.wrong(key, "a mixture of experts needs it");
    let count = count.ok_or_else(|| missing("num_experts"))?;
    let chosen = chosen.ok_or_else(|| missing("top_k_experts"))?;
    let inner = inner.ok_or_else(|| missing("moe_intermediate_size"))?;
    if chosen > count {
        let why = format!("is more than the {count} experts");
        return Err(refused("top_k_experts", &chosen.into(), &why));
    }
    for layer in &mut config.decoder.layers {
        if let MlpConfig::Gated(mlp) = layer.mlp {
            let experts = ExpertsConfig {
                count,
                chosen,
                weighting: ExpertWeighting::OfChosen,
                expert: GatedConfig { inner, ..mlp },
                router: "router.proj",
                router_bias: false,
                storage: ExpertStorage::Stacked(StackedExperts {
                    gate_up: "experts.gate_up_proj",
                    down: "experts.down_proj",
                    is_interleaved: false,
                    is_mxfp4: false,
                }),
                shared: None,
            };
            layer.mlp = MlpConfig::GatedBesideExperts(mlp, experts);
        }
    }
    Ok(())
}
