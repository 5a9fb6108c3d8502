//! `rope_scaling` of a `config.json`, from `rope.scaling.…` and the tensors with factors of frequencies.

use serde_json::{Value, json};

use super::super::directory::Directory;
use super::super::metadata::shortest_decimal;
use super::super::parts::Parts;
use super::ArchitectureKeys;
use crate::error::Result;

/// The scaling of rotary positions, or `None`.
pub(super) fn scaling(
    keys: &ArchitectureKeys<'_>,
    directory: &Directory,
    parts: &Parts,
    context: usize,
) -> Result<Option<Value>> {
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
    if keys.number(LOG_MULTIPLIER)?.is_some_and(|number| number != 0.0) {
        return Err(keys.refused(LOG_MULTIPLIER, "is not 0"));
    }
    let yarn = yarn_options(keys, factor, attention)?;
    let numbers = |name: &str| directory.find(name).map(|tensor| parts.numbers(tensor));
    if let Some(factors) = numbers("rope_freqs.weight") {
        return Ok(Some(factors_of_llama3(keys, &factors, context)?));
    }
    let long = numbers("rope_factors_long.weight");
    if let (Some(long), Some(short)) = (long, numbers("rope_factors_short.weight")) {
        let mut scaling = json!({
            "rope_type": "longrope",
            "long_factor": shortest_decimals(&long), "short_factor": shortest_decimals(&short),
        });
        if let Some(original) = original {
            scaling["original_max_position_embeddings"] = json!(original);
        }
        // In single precision: left out where it says what follows from the lengths.
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
    // As the converter writes it: the factor of a configuration.
    let stated = keys.number("rope.scaling.yarn_attn_factor")?;
    // As llama.cpp reads it: beside the usual one.
    let beside = attention.filter(|attention| *attention != 1.0);
    let usual = factor.map_or(1.0, |factor| 0.1 * factor.max(1.0).ln() + 1.0);
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
