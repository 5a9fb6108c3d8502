//! Hunyuan: norms of queries and keys after their rotation, a greater base of rotary positions; also with
//! experts.

use serde_json::Value;

use super::experts::refuse_too_many;
use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{
    Config, ExpertStorage, ExpertWeighting, ExpertsConfig, GatedConfig, HeadNormExtent, MlpConfig,
    SharedExpert, TensorNames,
};
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults = Defaults {
    eps: 1e-5,
    rope: RopeDefaults {
        // Beside `alpha` the library reads none of them.
        more_keys: &["alpha", "beta_fast", "beta_slow", "mscale", "mscale_all_dim"],
        ..RopeDefaults::LLAMA
    },
    ..Defaults::LLAMA
};

const NAMES: TensorNames = TensorNames {
    query_norm: "self_attn.query_layernorm",
    key_norm: "self_attn.key_layernorm",
    ..TensorNames::LLAMA
};

/// Hunyuan without experts.
pub(super) fn read_dense(fields: &ConfigFields<'_>) -> Result<Config> {
    // Of relatives with experts.
    fields.ignore(&["num_shared_expert", "moe_topk", "moe_layer_num_skipped"]);
    read(fields)
}

/// Hunyuan with experts in all layers, and one that every token has.
pub(super) fn read_moe(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = read(fields)?;
    let layers = config.num_hidden_layers;
    fields.must_be([
        // Layers at the beginning without experts.
        ("moe_layer_num_skipped", 0.into()),
        ("use_mixed_mlp_moe", true.into()),
        ("norm_topk_prob", true.into()),
        // Cross-layer attention and multi-head latent attention.
        ("use_cla", false.into()),
        ("use_mla", false.into()),
    ])?;
    fields.ignore(&["moe_drop_tokens", "moe_random_routing_dropped_token"]);
    let of_layers = |key: &str| same_in_all_layers(fields, key, layers);
    let count = of_layers("num_experts")?.unwrap_or(1);
    let chosen = of_layers("moe_topk")?.unwrap_or(1);
    refuse_too_many("moe_topk", chosen, count)?;
    // The library's other name of it.
    fields.must_be([("num_experts_per_tok", chosen.into())])?;
    let inner = of_layers("moe_intermediate_size")?;
    let shared = of_layers("num_shared_expert")?.unwrap_or(1);
    for layer in &mut config.decoder.layers {
        if let MlpConfig::Gated(mlp) = layer.mlp {
            let inner = inner.unwrap_or(mlp.inner);
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting: ExpertWeighting::OfChosen,
                expert: GatedConfig { inner, ..mlp },
                router: "mlp.gate.wg",
                router_bias: false,
                storage: ExpertStorage::Separate {
                    experts: "mlp.experts",
                    projections: ["gate_proj", "up_proj", "down_proj"],
                },
                shared: Some(SharedExpert {
                    inner: inner * shared,
                    bias: false,
                    projections: [
                        "mlp.shared_mlp.gate_proj",
                        "mlp.shared_mlp.up_proj",
                        "mlp.shared_mlp.down_proj",
                    ],
                    fused: None,
                    gate: None,
                }),
            });
        }
    }
    Ok(config)
}

/// The parts that both have in common.
fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DEFAULTS)?;
    plain::read_attention_bias(&mut config, fields)?;
    fields.must_be([("use_qk_norm", true.into())])?;
    // Of programs of the family's authors.
    fields.ignore(&[
        "norm_type",
        "routed_scaling_factor",
        "use_rotary_pos_emb",
        "attention_head_dim",
    ]);
    add_head_norms(&mut config, HeadNormExtent::Head);
    config.decoder.names = NAMES;
    plain::for_attention(&mut config, |attention| {
        if let Some(norm) = &mut attention.head_norm {
            norm.is_after_rope = true;
        }
    });
    Ok(config)
}

/// A size that is stated once or for each layer.
fn same_in_all_layers(
    fields: &ConfigFields<'_>,
    key: &str,
    layers: usize,
) -> Result<Option<usize>> {
    let Some(Value::Array(sizes)) = fields.get(key) else { return fields.size(key) };
    let wanted = "it must be a number from 1, or one for each layer, and the same in all";
    let first = sizes.first().and_then(Value::as_u64).and_then(|size| usize::try_from(size).ok());
    let is_same = sizes.len() >= layers && sizes.iter().all(|size| Some(size) == sizes.first());
    let size = first.filter(|size| is_same && *size > 0);
    size.map(Some).ok_or_else(|| fields.wrong(key, wanted))
}
