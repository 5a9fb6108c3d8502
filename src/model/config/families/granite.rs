//! Granite: factors of embeddings, scores, residuals and logits; also with experts.

use super::experts::chosen;
use super::plain::{self, Defaults};
use crate::error::Result;
use crate::model::config::decoder::{
    Config, ExpertStorage, ExpertWeighting, ExpertsConfig, MlpConfig, SharedExpert, StackedExperts,
};
use crate::model::config::fields::ConfigFields;

/// A feed-forward part in each layer.
pub(super) fn read_granite(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = read(fields)?;
    plain::read_mlp_bias(&mut config, fields)?;
    Ok(config)
}

/// Experts in each layer.
pub(super) fn read_granitemoe(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = read(fields)?;
    add_experts(&mut config, fields, None)?;
    Ok(config)
}

/// Experts in each layer, and one that every token has.
pub(super) fn read_granitemoeshared(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = read(fields)?;
    let inner = fields.integer("shared_intermediate_size", 0)?.unwrap_or(0);
    let shared = (inner > 0).then_some(SharedExpert {
        inner,
        bias: false,
        projections: ["", "", "shared_mlp.output_linear"],
        fused: Some("shared_mlp.input_linear"),
        gate: None,
    });
    add_experts(&mut config, fields, shared)?;
    Ok(config)
}

/// Reads the keys that all have in common.
fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    fields.must_be([("normalization_function", "rmsnorm".into())])?;
    let mut config = plain::read(fields, &Defaults::LLAMA)?;
    plain::read_attention_bias(&mut config, fields)?;
    let scale = fields.positive("attention_multiplier")?.unwrap_or(1.0);
    let residual_scale = fields.positive("residual_multiplier")?.unwrap_or(1.0);
    config.decoder.embedding_scale = fields.positive("embedding_multiplier")?.unwrap_or(1.0);
    config.decoder.logit_scale = 1.0 / fields.positive("logits_scaling")?.unwrap_or(1.0);
    for layer in &mut config.decoder.layers {
        layer.attention.scale = scale;
        layer.residual_scale = residual_scale;
    }
    Ok(config)
}

fn add_experts(
    config: &mut Config,
    fields: &ConfigFields<'_>,
    shared: Option<SharedExpert>,
) -> Result<()> {
    let count = fields.size("num_local_experts")?.unwrap_or(8);
    let chosen = chosen(fields, count, 2)?;
    for layer in &mut config.decoder.layers {
        if let MlpConfig::Gated(expert) = layer.mlp {
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting: ExpertWeighting::OfChosen,
                expert,
                router: "block_sparse_moe.router.layer",
                router_bias: false,
                storage: ExpertStorage::Stacked(StackedExperts {
                    gate_up: "block_sparse_moe.input_linear.weight",
                    down: "block_sparse_moe.output_linear.weight",
                    is_interleaved: false,
                    is_mxfp4: false,
                }),
                shared,
            });
        }
    }
    Ok(())
}
