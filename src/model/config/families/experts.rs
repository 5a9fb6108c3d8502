//! Mixtures of experts: Mixtral, Qwen2-MoE, Qwen3-MoE, OLMoE.

use super::plain::{self, Defaults};
use super::qwen::{add_head_norms, stay_within_chunk, switched_window};
use crate::error::Result;
use crate::model::config::decoder::{
    Config, ExpertStorage, ExpertWeighting, ExpertsConfig, GatedConfig, HeadNormExtent, MlpConfig,
    SharedExpert,
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
const QWEN2: Defaults =
    Defaults { kv_heads: Some(16), max_position_embeddings: 32_768, ..Defaults::LLAMA };
const QWEN3: Defaults = Defaults { kv_heads: Some(4), ..QWEN2 };
const OLMOE: Defaults = Defaults { max_position_embeddings: 4096, eps: 1e-5, ..Defaults::LLAMA };

/// The tensors of Qwen and OLMoE.
pub(super) const IN_MLP: ExpertStorage = ExpertStorage::Separate {
    experts: "mlp.experts",
    projections: ["gate_proj", "up_proj", "down_proj"],
};

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
                router: "block_sparse_moe.gate",
                router_bias: false,
                storage: ExpertStorage::Separate {
                    experts: "block_sparse_moe.experts",
                    projections: ["w1", "w3", "w2"],
                },
                shared: None,
            });
        }
    }
    Ok(config)
}

/// Qwen2 with experts in layers that a step and a list choose, and one that every token has.
pub(super) fn read_qwen2_moe(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &QWEN2)?;
    let bias = fields.flag("qkv_bias")?.unwrap_or(true);
    plain::for_attention(&mut config, |attention| attention.qkv_bias = bias);
    let window = switched_window(fields)?;
    let to = fields.integer("max_window_layers", 0)?.unwrap_or(28);
    plain::read_windows(&mut config, fields, window, |layer| {
        window.is_some() && layer % 2 == 0 && layer < to
    })?;
    let experts = qwen_experts(fields, (60, 4), 1408)?;
    let inner = fields.size("shared_expert_intermediate_size")?.unwrap_or(5632);
    let shared = SharedExpert {
        inner,
        bias: false,
        projections: [
            "mlp.shared_expert.gate_proj",
            "mlp.shared_expert.up_proj",
            "mlp.shared_expert.down_proj",
        ],
        fused: None,
        gate: Some("mlp.shared_expert_gate"),
    };
    put_into_layers(&mut config, fields, |expert| ExpertsConfig {
        shared: Some(shared),
        ..experts(expert)
    })?;
    Ok(config)
}

/// Qwen3 with experts in layers that a step and a list choose.
pub(super) fn read_qwen3_moe(fields: &ConfigFields<'_>) -> Result<Config> {
    // As in Qwen3-Coder's file; the class has the norms, and no shared expert, whatever it says.
    fields
        .must_be([("use_qk_norm", true.into()), ("shared_expert_intermediate_size", 0.into())])?;
    let mut config = plain::read(fields, &QWEN3)?;
    plain::read_attention_bias(&mut config, fields)?;
    add_head_norms(&mut config, HeadNormExtent::Head);
    let window = switched_window(fields)?;
    plain::for_attention(&mut config, |attention| attention.window = window);
    stay_within_chunk(&mut config, fields)?;
    let experts = qwen_experts(fields, (128, 8), 768)?;
    put_into_layers(&mut config, fields, experts)?;
    Ok(config)
}

/// Experts in each layer, norms over all heads of queries and keys, perhaps bounds.
pub(super) fn read_olmoe(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &OLMOE)?;
    plain::read_attention_bias(&mut config, fields)?;
    add_head_norms(&mut config, HeadNormExtent::AllHeads);
    let clip_qkv = fields.positive("clip_qkv")?;
    plain::for_attention(&mut config, |attention| attention.clip_qkv = clip_qkv);
    let inner = fields.required("intermediate_size", 1)?;
    let experts = qwen_experts(fields, (64, 8), inner)?;
    for layer in &mut config.decoder.layers {
        if let MlpConfig::Gated(mlp) = layer.mlp {
            layer.mlp = MlpConfig::Experts(experts(mlp));
        }
    }
    Ok(config)
}

/// A mixture with the keys of Qwen, of experts like a gated part. The defaults are of the number of experts
/// and of those of a token, and of the width inside an expert.
fn qwen_experts(
    fields: &ConfigFields<'_>,
    (count, of_token): (usize, usize),
    inner: usize,
) -> Result<impl Fn(GatedConfig) -> ExpertsConfig> {
    let count = match (fields.size("num_experts")?, fields.size("num_local_experts")?) {
        (Some(one), Some(other)) if one != other => {
            return Err(fields.wrong("num_local_experts", "`num_experts` says otherwise"));
        }
        (one, other) => one.or(other).unwrap_or(count),
    };
    let chosen = chosen(fields, count, of_token)?;
    let inner = fields.size("moe_intermediate_size")?.unwrap_or(inner);
    let weighting = if fields.flag("norm_topk_prob")?.unwrap_or(false) {
        ExpertWeighting::OfChosen
    } else {
        ExpertWeighting::OfAll
    };
    Ok(move |mlp| ExpertsConfig {
        count,
        chosen,
        weighting,
        expert: GatedConfig { inner, ..mlp },
        router: "mlp.gate",
        router_bias: false,
        storage: IN_MLP,
        shared: None,
    })
}

/// Puts mixtures into the layers that `decoder_sparse_step` and `mlp_only_layers` choose.
fn put_into_layers(
    config: &mut Config,
    fields: &ConfigFields<'_>,
    experts: impl Fn(GatedConfig) -> ExpertsConfig,
) -> Result<()> {
    let step = fields.size("decoder_sparse_step")?.unwrap_or(1);
    let without = fields.list("mlp_only_layers")?;
    for (index, layer) in config.decoder.layers.iter_mut().enumerate() {
        let is_excluded = without.is_some_and(|list| list.contains(&index.into()));
        if let MlpConfig::Gated(mlp) = layer.mlp
            && !is_excluded
            && (index + 1).is_multiple_of(step)
        {
            layer.mlp = MlpConfig::Experts(experts(mlp));
        }
    }
    Ok(())
}

/// The number of experts of a token.
pub(super) fn chosen(fields: &ConfigFields<'_>, count: usize, default: usize) -> Result<usize> {
    let chosen = fields.size("num_experts_per_tok")?.unwrap_or(default);
    refuse_too_many("num_experts_per_tok", chosen, count)?;
    Ok(chosen)
}

/// Errors if a key gives a token more experts than there are.
pub(super) fn refuse_too_many(key: &str, chosen: usize, count: usize) -> Result<()> {
    if chosen <= count {
        return Ok(());
    }
    Err(refused(key, &chosen.into(), &format!("is more than the {count} experts")))
}
