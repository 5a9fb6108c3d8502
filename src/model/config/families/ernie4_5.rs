//! Ernie 4.5: neighbouring pairs rotated, one switch for all biases; also with experts.

use maskwright_kernels::RotaryPairs;

use super::experts::{IN_MLP, refuse_too_many};
use super::plain::{self, Defaults};
use super::routed::SHARED_EXPERTS;
use crate::error::Result;
use crate::model::config::decoder::{
    BiasedRouting, Config, ExpertScores, ExpertWeighting, ExpertsConfig, GatedConfig, MlpConfig,
    SharedExpert,
};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    kv_heads: Some(2),
    head_dim: Some(128),
    max_position_embeddings: 131_072,
    eps: 1e-5,
    is_tied: true,
    rope: RopeDefaults { theta: 500_000.0, pairs: RotaryPairs::Neighbours, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};
const WITH_EXPERTS: Defaults = Defaults { kv_heads: Some(4), head_dim: None, ..DEFAULTS };

/// Settings of training, which files have beside those of the model.
const OF_TRAINING: &[&str] = &[
    "moe_all_to_all_dropout",
    "moe_aux_loss_lambda",
    "moe_capacity",
    "moe_gate",
    "moe_group",
    "moe_group_experts",
    "moe_group_orthogonal_loss",
    "moe_multimodal_dispatch_use_allgather",
    "moe_orthogonal_loss_lambda",
    "moe_use_aux_free",
    "moe_z_loss_lambda",
];

/// Ernie 4.5 without experts.
pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    read_with(fields, &DEFAULTS)
}

/// Ernie 4.5 with experts in some layers, chosen by biased probabilities.
pub(super) fn read_moe(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = read_with(fields, &WITH_EXPERTS)?;
    let bias = fields.flag("use_bias")?.unwrap_or(false);
    config.decoder.head_bias = bias;
    fields.ignore(OF_TRAINING);
    // Multi-token-prediction (MTP) layers, which the decoder leaves out.
    config.decoder.other_parts = &["model.mtp_"];
    let count = fields.size("moe_num_experts")?.unwrap_or(64);
    let chosen = fields.size("moe_k")?.unwrap_or(6);
    refuse_too_many("moe_k", chosen, count)?;
    // The library's other name of it.
    fields.must_be([("num_experts_per_tok", chosen.into())])?;
    let inner = fields.size("moe_intermediate_size")?.unwrap_or(1536);
    let shared = fields.integer("moe_num_shared_experts", 0)?.unwrap_or(2);
    let from = fields.integer("moe_layer_start_index", 0)?.unwrap_or(1);
    let is_to_the_end = fields.get("moe_layer_end_index").is_none_or(|index| *index == -1);
    let to = if is_to_the_end {
        config.num_hidden_layers
    } else {
        fields.integer("moe_layer_end_index", 0)?.map_or(0, |last| last + 1)
    };
    let step = fields.size("moe_layer_interval")?.unwrap_or(1);
    let routing = BiasedRouting {
        scores: ExpertScores::Softmax,
        score_bias: "mlp.moe_statics.e_score_correction_bias",
        is_score_bias_row: true,
        groups: None,
        min_weight_sum: Some(fields.positive("moe_norm_min")?.unwrap_or(1e-12)),
        scaling_factor: 1.0,
    };
    let shared = SharedExpert { inner: inner * shared, bias, ..SHARED_EXPERTS };
    for (index, layer) in config.decoder.layers.iter_mut().enumerate() {
        if let MlpConfig::Gated(mlp) = layer.mlp
            && (from..to).contains(&index)
            && (index + 1).is_multiple_of(step)
        {
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting: ExpertWeighting::BiasedTopK(routing),
                expert: GatedConfig { inner, bias: false, ..mlp },
                router: "mlp.gate",
                router_bias: false,
                storage: IN_MLP,
                shared: (shared.inner > 0).then_some(shared),
            });
        }
    }
    Ok(config)
}

/// The parts that both have in common.
fn read_with(fields: &ConfigFields<'_>, defaults: &Defaults) -> Result<Config> {
    fields.must_be([("use_rmsnorm", true.into())])?;
    // Of a head with biases, and of PaddlePaddle's kernels.
    fields.ignore(&["weight_share_add_bias", "fuse_rms_norm", "fuse_rope"]);
    let mut config = plain::read(fields, defaults)?;
    let bias = fields.flag("use_bias")?.unwrap_or(false);
    for layer in &mut config.decoder.layers {
        layer.attention.qkv_bias = bias;
        layer.attention.output_bias = bias;
        if let MlpConfig::Gated(mlp) = &mut layer.mlp {
            mlp.bias = bias;
        }
    }
    Ok(config)
}
