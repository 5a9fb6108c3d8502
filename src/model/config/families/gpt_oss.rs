//! gpt-oss: attention sinks, a window in every other layer, experts with biases and bounded gates, also in
//! 4-bit numbers.

use maskwright_kernels::Activation;

use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{
    Config, ExpertStorage, ExpertWeighting, ExpertsConfig, GatedConfig, MlpConfig, StackedExperts,
};
use crate::model::config::errors::{config_error, refused, shown};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(8),
    head_dim: Some(64),
    max_position_embeddings: 131_072,
    eps: 1e-5,
    rope: RopeDefaults {
        theta: 150_000.0,
        object: Some(
            r#"{"rope_type": "yarn", "factor": 32.0, "beta_fast": 32.0, "beta_slow": 1.0,
                "truncate": false, "original_max_position_embeddings": 4096}"#,
        ),
        ..RopeDefaults::LLAMA
    },
    ..Defaults::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    let stated = fields.size("sliding_window")?;
    let window = if fields.has("sliding_window") { stated } else { Some(128) };
    plain::read_windows(&mut config, fields, window, |layer| layer % 2 == 0)?;
    let bias = fields.flag("attention_bias")?.unwrap_or(true);
    plain::for_attention(&mut config, |attention| {
        (attention.qkv_bias, attention.output_bias) = (bias, bias);
        attention.sinks = Some("self_attn.sinks");
    });
    let count = fields.size("num_local_experts")?.unwrap_or(128);
    let chosen = fields.size("num_experts_per_tok")?.unwrap_or(4);
    // The same once more, in the published files.
    if fields.size("experts_per_token")?.is_some_and(|other| other != chosen) {
        return Err(fields.wrong("experts_per_token", "`num_experts_per_tok` says otherwise"));
    }
    if chosen > count {
        let why = format!("is more than the {count} experts");
        return Err(refused("num_experts_per_tok", &chosen.into(), &why));
    }
    let activation = Activation::ClampedSwish {
        limit: fields.positive("swiglu_limit")?.unwrap_or(7.0) as f32,
        slope: fields.positive("swiglu_alpha")?.unwrap_or(1.702) as f32,
    };
    let is_mxfp4 = is_mxfp4(fields, &config)?;
    for layer in &mut config.decoder.layers {
        if let MlpConfig::Gated(GatedConfig { inner, .. }) = layer.mlp {
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting: ExpertWeighting::OfChosen,
                expert: GatedConfig { inner, activation, bias: true, is_fused: false },
                router: "mlp.router",
                router_bias: true,
                storage: ExpertStorage::Stacked(StackedExperts {
                    gate_up: "mlp.experts.gate_up_proj",
                    down: "mlp.experts.down_proj",
                    is_interleaved: true,
                    is_mxfp4,
                }),
                shared: None,
            });
        }
    }
    Ok(config)
}

/// Whether the experts are blocks of 4-bit numbers. Errors on other quantisations.
fn is_mxfp4(fields: &ConfigFields<'_>, config: &Config) -> Result<bool> {
    /// The tensors that are not quantised in the published files.
    const PLAIN: [&str; 4] =
        ["model.layers.*.self_attn", "model.layers.*.mlp.router", "model.embed_tokens", "lm_head"];
    let Some(object) = fields.object("quantization_config")?.filter(|object| !object.is_empty())
    else {
        return Ok(false);
    };
    let quantisation = ConfigFields::new(object, "/quantization_config");
    let method = quantisation.text("quant_method")?.unwrap_or_default();
    if method != "mxfp4" {
        let message = format!("weights quantised by {} are not supported", shown(&method.into()));
        return Err(config_error(&message)
            .at_pointer("/quantization_config/quant_method")
            .with_help("mxfp4 is supported, and weights in F32, F16 or BF16"));
    }
    if quantisation.flag("dequantize")? == Some(true) {
        return Ok(false);
    }
    let listed = quantisation.list("modules_to_not_convert")?;
    let is_plain = |value: &serde_json::Value| {
        value.as_str().is_some_and(|name| PLAIN.iter().any(|plain| name.starts_with(plain)))
    };
    if !listed.into_iter().flatten().all(is_plain) {
        let wanted = "all experts must be quantised, and nothing else";
        return Err(quantisation.wrong("modules_to_not_convert", wanted));
    }
    let known = ["quant_method", "modules_to_not_convert", "dequantize"];
    if let Some(key) = object.keys().find(|key| !known.contains(&key.as_str())) {
        return Err(quantisation.wrong(key, "this key of mxfp4 is not known"));
    }
    if !config.hidden_size.is_multiple_of(32) || !inner(config).is_multiple_of(32) {
        let message = "4-bit numbers lie in blocks of 32";
        return Err(config_error(message)
            .at_pointer("/hidden_size")
            .with_help("`hidden_size` and `intermediate_size` must be multiples of 32"));
    }
    Ok(true)
}

/// The width inside feed-forward parts.
fn inner(config: &Config) -> usize {
    match config.decoder.layers.first().map(|layer| &layer.mlp) {
        Some(MlpConfig::Gated(mlp)) => mlp.inner,
        _ => 0,
    }
}
