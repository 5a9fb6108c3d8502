//! Rotary positions of a `config.json`, from `rope.scaling.…` and the tensors with factors of frequencies.

use serde_json::{Value, json};

use super::super::metadata::shortest_decimal;
use super::gguf_model::{ArchitectureKeys, GgufModel, Members, ratio};
use crate::error::Result;

/// Sets base, part of a head and scaling of rotary positions.
pub(super) fn set(source: &GgufModel<'_>, head_width: usize, config: &mut Members) -> Result<()> {
    const ORIGINAL: &str = "original_max_position_embeddings";
    let GgufModel { keys, architecture, .. } = source;
    let model_type = config.0.get("model_type").and_then(Value::as_str).unwrap_or_default();
    let model_type = model_type.to_owned();
    if model_type == "gpt2" {
        return Ok(());
    }
    let theta = keys.number("rope.freq_base")?.unwrap_or(10_000.0);
    let rotated = keys.size("rope.dimension_count")?.unwrap_or(head_width);
    if rotated > head_width {
        return Err(keys.refused("rope.dimension_count", "is more than the width of a head"));
    }
    let partial_key = if model_type == "gpt_neox" { "rotary_pct" } else { "partial_rotary_factor" };
    config.set(partial_key, json!(ratio(rotated, head_width)));
    let mut scaling = scaling(source, Some(source.context()?))?;
    // Of Phi-3 the member beside the object counts.
    let original = scaling.as_ref().and_then(|object| object.get(ORIGINAL)).cloned();
    if let Some(original) = original.filter(|_| model_type == "phi3") {
        config.set(ORIGINAL, original);
    }
    match architecture.model_type {
        "hunyuan_v1_dense" | "hunyuan_v1_moe" => {
            return hunyuan(source, (theta, rotated), scaling, config);
        }
        "ministral3" => scaling = ministral3(source, scaling, config)?,
        // Without an object the family's own scaling would be meant.
        "gpt_oss" => {
            let mut object = scaling.unwrap_or_else(|| json!({"rope_type": "default"}));
            if object["rope_type"] == "yarn" {
                // As the model was trained. llama.cpp rounds the borders of YaRN, in which it differs.
                object["truncate"] = json!(false);
            }
            scaling = Some(object);
        }
        _ => {}
    }
    if model_type == "olmo3" {
        // Layers with a window are not scaled.
        let windowed = keys.number("rope.freq_base_swa")?.unwrap_or(theta);
        let mut full = scaling.unwrap_or_else(|| json!({"rope_type": "default"}));
        full["rope_theta"] = json!(theta);
        let windowed = json!({"rope_type": "default", "rope_theta": windowed});
        let both = json!({"full_attention": full, "sliding_attention": windowed});
        config.set("rope_parameters", both);
        return Ok(());
    }
    let theta_key = if model_type == "gpt_neox" { "rotary_emb_base" } else { "rope_theta" };
    config.set(theta_key, json!(theta));
    if let Some(scaling) = scaling {
        config.set("rope_scaling", scaling);
    }
    Ok(())
}

/// The base of Hunyuan, which the converter has made longer by a factor of the configuration (`alpha`). Where
/// it is found again, frequencies follow from it without rounding.
fn hunyuan(
    GgufModel { keys, .. }: &GgufModel<'_>,
    (theta, rotated): (f64, usize),
    scaling: Option<Value>,
    config: &mut Members,
) -> Result<()> {
    const BASE: f64 = 10_000.0;
    const GREATEST: f64 = 1e6;
    if scaling.is_some() {
        return Err(keys.refused("rope.scaling.type", "is not known of this architecture"));
    }
    let width = rotated as f64;
    let power = width / (width - 2.0);
    let alpha = (theta / BASE).powf(power.recip()).round();
    let is_found =
        (2.0..GREATEST).contains(&alpha) && (BASE * alpha.powf(power)) as f32 == theta as f32;
    if is_found {
        config.set("rope_theta", json!(BASE));
        let scaling = json!({"rope_type": "dynamic", "alpha": alpha, "factor": 1.0});
        config.set("rope_scaling", scaling);
    } else {
        config.set("rope_theta", json!(theta));
    }
    Ok(())
}

/// The attention temperature tuning of Ministral 3. Files without it are of Mistral Small 3.
fn ministral3(
    GgufModel { keys, .. }: &GgufModel<'_>,
    scaling: Option<Value>,
    config: &mut Members,
) -> Result<Option<Value>> {
    const ORIGINAL: &str = "rope.scaling.original_context_length";
    let beta = keys.number("attention.temperature_scale")?.filter(|beta| *beta != 0.0);
    let Some(beta) = beta else {
        config.set("model_type", json!("mistral"));
        config.set("sliding_window", Value::Null);
        return Ok(scaling);
    };
    let original = keys.required(ORIGINAL)?;
    let mut object = scaling.unwrap_or_else(|| json!({"rope_type": "default"}));
    object["llama_4_scaling_beta"] = json!(beta);
    object["original_max_position_embeddings"] = json!(original);
    Ok(Some(object))
}

/// The scaling of rotary positions, or `None`. `context` is the greatest length where factors of single
/// frequencies are scaling.
pub(super) fn scaling(source: &GgufModel<'_>, context: Option<usize>) -> Result<Option<Value>> {
    let GgufModel { keys, architecture, directory, parts } = source;
    const KIND: &str = "rope.scaling.type";
    const LOG_MULTIPLIER: &str = "rope.scaling.yarn_log_multiplier";
    // A note; of Granite a switch, which was read before.
    keys.flag("rope.scaling.finetuned")?;
    // llama.cpp's default: older files have a factor without a type.
    let kind = keys.text(KIND)?.unwrap_or("linear");
    let linear = keys.number("rope.scale_linear")?;
    let factor = keys.number("rope.scaling.factor")?.or(linear).filter(|factor| *factor != 0.0);
    let original = keys.size("rope.scaling.original_context_length")?;
    let attention = keys.number("rope.scaling.attn_factor")?;
    let multiplier = keys.number(LOG_MULTIPLIER)?.filter(|number| *number != 0.0);
    if multiplier.is_some() && architecture.model_type != "ministral3" {
        return Err(keys.refused(LOG_MULTIPLIER, "is not 0"));
    }
    let yarn = yarn_options(keys, factor, attention)?;
    let numbers = |name: &str| directory.find(name).map(|tensor| parts.numbers(tensor));
    if let (Some(factors), Some(context)) = (numbers("rope_freqs.weight"), context) {
        return Ok(Some(factors_of_llama3(keys, &factors, context)?));
    }
    let long = numbers("rope_factors_long.weight");
    let short = numbers("rope_factors_short.weight");
    if let (Some(long), Some(short), Some(context)) = (long, short, context) {
        let mut scaling = json!({
            "rope_type": "longrope",
            "long_factor": shortest_decimals(&long), "short_factor": shortest_decimals(&short),
        });
        if let Some(original) = original {
            scaling["original_max_position_embeddings"] = json!(original);
        }
        // A factor that follows from the lengths is left out; files state it in single precision.
        let is_usual = |stated: f64| {
            original.is_some_and(|original| {
                let (factor, original) = (context as f64 / original as f64, original as f64);
                let usual = (1.0 + factor.max(1.0).ln() / original.ln()).sqrt();
                usual as f32 == stated as f32
            })
        };
        if let Some(attention) = attention.filter(|stated| !is_usual(*stated)) {
            scaling["attention_factor"] = json!(attention);
        }
        return Ok(Some(scaling));
    }
    match (kind, factor) {
        ("none", _) | ("linear" | "yarn", None) | ("linear", Some(1.0)) => Ok(None),
        ("linear", Some(factor)) => Ok(Some(json!({"rope_type": "linear", "factor": factor}))),
        ("yarn", Some(factor)) => {
            let mut scaling = json!({"rope_type": "yarn", "factor": factor});
            if let Some(original) = original {
                scaling["original_max_position_embeddings"] = json!(original);
            }
            for (name, value) in yarn {
                scaling[name] = json!(value);
            }
            if let Some(multiplier) = multiplier {
                // Files do not state `mscale`; llama.cpp, too, takes 1.
                scaling["mscale"] = json!(1.0);
                scaling["mscale_all_dim"] = json!(multiplier);
            }
            Ok(Some(scaling))
        }
        _ => Err(keys.refused(KIND, &format!("is `{kind}`"))),
    }
}

/// The settings of YaRN beside its factor, by the keys of `config.json`.
fn yarn_options(
    keys: &ArchitectureKeys<'_>,
    factor: Option<f64>,
    attention: Option<f64>,
) -> Result<Vec<(&'static str, f64)>> {
    const EXTRAPOLATION: &str = "rope.scaling.yarn_ext_factor";
    let mut options = Vec::new();
    if keys.number(EXTRAPOLATION)?.is_some_and(|number| number != 1.0) {
        return Err(keys.refused(EXTRAPOLATION, "is not 1"));
    }
    for (own, name) in [("yarn_beta_fast", "beta_fast"), ("yarn_beta_slow", "beta_slow")] {
        if let Some(number) = keys.number(&format!("rope.scaling.{own}"))? {
            options.push((name, number));
        }
    }
    let usual = factor.map_or(1.0, |factor| 0.1 * factor.max(1.0).ln() + 1.0);
    // The converter writes the `attention_factor` of a configuration here, or its `attn_factor`: the inverse of
    // the usual factor, which the `transformers` library ignores.
    let is_inverse = |stated: &f64| (stated * usual - 1.0).abs() < 1e-6;
    let stated = keys.number("rope.scaling.yarn_attn_factor")?.filter(|stated| !is_inverse(stated));
    // llama.cpp multiplies it with the usual factor.
    let beside = attention.filter(|attention| *attention != 1.0);
    if stated.is_some() || beside.is_some() {
        options.push(("attention_factor", stated.unwrap_or(usual) * beside.unwrap_or(1.0)));
    }
    Ok(options)
}

fn shortest_decimals(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().copied().map(shortest_decimal).collect()
}

/// Llama 3's scaling, of which the file holds the divisor of each frequency alone. The original contexts
/// of models that have one are tried, because they give the frequencies without rounding; else the
/// divisors are taken as they are.
fn factors_of_llama3(
    keys: &ArchitectureKeys<'_>,
    factors: &[f32],
    context: usize,
) -> Result<Value> {
    const LOW: f64 = 1.0;
    const HIGH: f64 = 4.0;
    /// Powers of two; the usual one first.
    const ORIGINALS: [u32; 9] = [8192, 64, 1024, 2048, 4096, 16_384, 32_768, 65_536, 131_072];
    /// Rounding of single-precision factors.
    const NEAR: f64 = 1e-5;
    let theta = keys.number("rope.freq_base")?.unwrap_or(10_000.0);
    let width = factors.len() as f64 * 2.0;
    let greatest = factors.iter().copied().fold(1.0, f32::max);
    let factor = shortest_decimal(greatest);
    let expected = |index: usize, original: f64| {
        let turn = std::f64::consts::TAU * theta.powf(2.0 * index as f64 / width);
        if turn < original / HIGH {
            1.0
        } else if turn > original / LOW {
            factor
        } else {
            let smooth = (original / turn - LOW) / (HIGH - LOW);
            1.0 / ((1.0 - smooth) / factor + smooth)
        }
    };
    let fits = |original: &&u32| {
        let is_near = |(index, found): (usize, &f32)| {
            (f64::from(*found) / expected(index, f64::from(**original)) - 1.0).abs() < NEAR
        };
        factors.iter().enumerate().all(is_near)
    };
    if let Some(original) = ORIGINALS.iter().find(fits) {
        return Ok(json!({
            "rope_type": "llama3", "factor": factor, "low_freq_factor": LOW,
            "high_freq_factor": HIGH, "original_max_position_embeddings": original,
        }));
    }
    let factors = shortest_decimals(factors);
    Ok(json!({
        "rope_type": "longrope", "short_factor": factors, "long_factor": factors,
        "attention_factor": 1.0, "original_max_position_embeddings": context,
    }))
}
