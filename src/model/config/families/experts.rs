//! Mixtures of experts: Mixtral, and Qwen3-MoE.

use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{
    Config, ExpertNames, ExpertWeighting, ExpertsConfig, GatedConfig, HeadNormExtent, MlpConfig,
};
use crate::model::config::errors::refused;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const MIXTRAL: Defaults = Defaults {
    kv_heads: Some(8),
    max_position_embeddings: 4096 * 32,
    eps: 1e-5,
    rope: RopeDefaults { theta: 1_000_000.0, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};
const QWEN3: Defaults =
    Defaults { kv_heads: Some(4), max_position_embeddings: 32_768, ..Defaults::LLAMA };

/// Experts in each layer, weighted among the chosen ones.
pub(super) fn read_mixtral(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &MIXTRAL)?;
    let window = fields.size("sliding_window")?;
    let count = fields.size("num_local_experts")?.unwrap_or(8);
    let chosen = chosen(fields, count, 2)?;
    for layer in &mut config.decoder.layers {
        layer.attention.window = window;
        if let MlpConfig::Gated(expert) = layer.mlp {
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting: ExpertWeighting::OfChosen,
                expert,
                names: ExpertNames {
                    router: "block_sparse_moe.gate",
                    experts: "block_sparse_moe.experts",
                    projections: ["w1", "w3", "w2"],
                },
            });
        }
    }
    Ok(config)
}

/// Qwen3 with experts in layers that a step and a list choose.
pub(super) fn read_qwen3_moe(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &QWEN3)?;
    plain::read_attention_bias(&mut config, fields)?;
    add_head_norms(&mut config, HeadNormExtent::Head);
    let window = fields.size("sliding_window")?;
    let window = if fields.has("sliding_window") { window } else { Some(4096) };
    let is_switched_on = fields.flag("use_sliding_window")?.unwrap_or(false);
    let count = match (fields.size("num_experts")?, fields.size("num_local_experts")?) {
        (Some(one), Some(other)) if one != other => {
            return Err(fields.wrong("num_local_experts", "`num_experts` says otherwise"));
        }
        (one, other) => one.or(other).unwrap_or(128),
    };
    let chosen = chosen(fields, count, 8)?;
    let inner = fields.size("moe_intermediate_size")?.unwrap_or(768);
    let weighting = match fields.flag("norm_topk_prob")?.unwrap_or(false) {
        true => ExpertWeighting::OfChosen,
        false => ExpertWeighting::OfAll,
    };
    let step = fields.size("decoder_sparse_step")?.unwrap_or(1);
    let without = fields.list("mlp_only_layers")?;
    for (index, layer) in config.decoder.layers.iter_mut().enumerate() {
        layer.attention.window = window.filter(|_| is_switched_on);
        let is_excluded = without.is_some_and(|list| list.contains(&index.into()));
        if let MlpConfig::Gated(mlp) = layer.mlp
            && !is_excluded
            && (index + 1).is_multiple_of(step)
        {
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting,
                expert: GatedConfig { inner, ..mlp },
                names: ExpertNames {
                    router: "mlp.gate",
                    experts: "mlp.experts",
                    projections: ["gate_proj", "up_proj", "down_proj"],
                },
            });
        }
    }
    Ok(config)
}

/// The number of experts of a token.
fn chosen(fields: &ConfigFields<'_>, count: usize, default: usize) -> Result<usize> {
    let chosen = fields.size("num_experts_per_tok")?.unwrap_or(default);
    if chosen > count {
        let why = format!("is more than the {count} experts");
        return Err(refused("num_experts_per_tok", &chosen.into(), &why));
    }
    Ok(chosen)
}
