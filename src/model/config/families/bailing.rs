//! Ling and Ring (Bailing): queries, keys and values in one matrix; experts by a softmax (Ling 1), or by
//! biased sigmoids in groups, with half of each head rotated (Ling 2).

use super::experts::{IN_MLP, chosen};
use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use super::routed::{MIN_WEIGHT_SUM, SHARED_EXPERTS, groups};
use crate::error::Result;
use crate::model::config::decoder::{
    BiasedRouting, Config, ExpertScores, ExpertWeighting, ExpertsConfig, GatedConfig,
    HeadNormExtent, MlpConfig, ProjectionLayout, SharedExpert, TensorNames,
};
use crate::model::config::errors::refused;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const DEFAULTS: Defaults =
    Defaults { max_position_embeddings: 16_384, eps: 1e-5, ..Defaults::LLAMA };

const NAMES: TensorNames = TensorNames {
    embedding: "word_embeddings",
    fused: "attention.query_key_value",
    attention_output: "attention.dense",
    query_norm: "attention.query_layernorm",
    key_norm: "attention.key_layernorm",
    ..TensorNames::LLAMA
};

pub(super) fn read(fields: &ConfigFields<'_>) -> Result<Config> {
    fields.must_be([
        ("use_rmsnorm", true.into()),
        // Weights of the logits that are normed when the model is loaded.
        ("norm_head", false.into()),
        ("use_sliding_window", false.into()),
        ("moe_router_enable_routed_scaling", true.into()),
        ("router_type", "topN".into()),
        ("topk_method", "noaux_tc".into()),
    ])?;
    // `sliding_window` has no effect without its switch; the others are settings of training and of implementations.
    fields.ignore(&["sliding_window", "norm_softmax", "router_dtype", "mtp_loss_scaling_factor"]);
    let mut config = plain::read_without_rope(fields, &DEFAULTS)?;
    let scores = scores(fields)?;
    read_rope(&mut config, fields, scores)?;
    let bias = fields.flag("use_bias")?.unwrap_or(false);
    let qkv_bias = fields.flag("use_qkv_bias")?.unwrap_or(false);
    config.decoder.names = NAMES;
    plain::for_attention(&mut config, |attention| {
        attention.projections = ProjectionLayout::Fused;
        attention.qkv_bias = qkv_bias;
        attention.output_bias = bias;
    });
    if fields.flag("use_qk_norm")?.unwrap_or(false) {
        add_head_norms(&mut config, HeadNormExtent::Head);
    }
    config.decoder.mtp_layers = fields.integer("num_nextn_predict_layers", 0)?.unwrap_or(0);
    add_experts(&mut config, fields, scores, bias)?;
    Ok(config)
}

/// The function of scores, under either name.
fn scores(fields: &ConfigFields<'_>) -> Result<ExpertScores> {
    let of = |name: &str| match fields.text(name)? {
        None => Ok(None),
        Some("softmax") => Ok(Some(ExpertScores::Softmax)),
        Some("sigmoid") => Ok(Some(ExpertScores::Sigmoid)),
        Some(other) => Err(refused(name, &other.into(), "is not supported")),
    };
    match (of("score_function")?, of("scoring_func")?) {
        (Some(one), Some(other)) if one != other => {
            Err(fields.wrong("scoring_func", "`score_function` says otherwise"))
        }
        (one, other) => Ok(one.or(other).unwrap_or(ExpertScores::Softmax)),
    }
}

/// The part of a head that is rotated: of Ling 1 the whole, of Ling 2 as the file says.
fn read_rope(config: &mut Config, fields: &ConfigFields<'_>, scores: ExpertScores) -> Result<()> {
    let width = config.head_width;
    let dimensions = fields.size("rotary_dim")?;
    if let Some(rotary_dim) = dimensions.filter(|rotary_dim| *rotary_dim > width) {
        let why = format!("is more than the {width} dimensions of a head");
        return Err(refused("rotary_dim", &rotary_dim.into(), &why));
    }
    let part = fields.positive("partial_rotary_factor")?;
    if let (Some(part), Some(rotary_dim)) = (part, dimensions)
        && (width as f64 * part) as usize != rotary_dim
    {
        return Err(fields.wrong("rotary_dim", "`partial_rotary_factor` says otherwise"));
    }
    if scores == ExpertScores::Sigmoid && part.is_none() && dimensions.is_none() {
        return Err(fields.wrong("partial_rotary_factor", "a model with a sigmoid router needs it"));
    }
    let partial = dimensions.map_or(1.0, |rotary_dim| rotary_dim as f64 / width as f64);
    plain::set_rope(
        config,
        fields,
        &RopeDefaults { partial, reads_partial: true, ..DEFAULTS.rope },
        |_| true,
    )
}

fn add_experts(
    config: &mut Config,
    fields: &ConfigFields<'_>,
    scores: ExpertScores,
    bias: bool,
) -> Result<()> {
    let count = fields.required("num_experts", 1)?;
    let chosen = chosen(fields, count, 2)?;
    let inner = fields.required("moe_intermediate_size", 1)?;
    let shared = fields.integer("num_shared_experts", 0)?.unwrap_or(0);
    let shared_inner = fields.size("moe_shared_expert_intermediate_size")?.unwrap_or(inner);
    let has_shared = fields.flag("moe_router_enable_shared_expert")?.unwrap_or(true) && shared > 0;
    let dense = fields.integer("first_k_dense_replace", 0)?.unwrap_or(0);
    let has_score_bias = fields.flag("moe_router_enable_expert_bias")?.unwrap_or(false);
    let scaling_factor = fields.positive("routed_scaling_factor")?.unwrap_or(1.0);
    let is_normed = fields.flag("norm_topk_prob")?;
    let group_count = fields.size("n_group")?;
    let groups = match group_count {
        Some(count_of_groups) if count_of_groups > 1 => groups(fields, count, chosen)?,
        // Of one group all are chosen, whatever the file says.
        _ => {
            fields.ignore(&["topk_group"]);
            None
        }
    };
    let weighting = match (scores, has_score_bias) {
        (ExpertScores::Sigmoid, false) => {
            let key = "moe_router_enable_expert_bias";
            return Err(fields.wrong(key, "a sigmoid router without a bias is not supported"));
        }
        (ExpertScores::Sigmoid, true) if group_count.is_none() => {
            return Err(fields.wrong("n_group", "a model with a sigmoid router needs it"));
        }
        // Its weights are divided by their sum whatever the file says.
        (ExpertScores::Sigmoid, true) if is_normed == Some(false) => {
            return Err(fields.wrong("norm_topk_prob", "a sigmoid router is normed"));
        }
        (ExpertScores::Softmax, false) if scaling_factor != 1.0 || groups.is_some() => {
            let key = if groups.is_some() { "n_group" } else { "routed_scaling_factor" };
            return Err(fields.wrong(key, "a softmax router without a bias has none"));
        }
        (ExpertScores::Softmax, false) => {
            if is_normed.unwrap_or(false) && chosen > 1 {
                ExpertWeighting::OfChosen
            } else {
                ExpertWeighting::OfAll
            }
        }
        (_, true) => {
            let is_normed = is_normed.unwrap_or(scores == ExpertScores::Sigmoid) && chosen > 1;
            ExpertWeighting::BiasedTopK(BiasedRouting {
                scores,
                score_bias: "mlp.gate.expert_bias",
                is_score_bias_row: false,
                groups,
                min_weight_sum: is_normed.then_some(MIN_WEIGHT_SUM),
                scaling_factor,
            })
        }
    };
    let shared = SharedExpert { inner: shared_inner * shared, bias, ..SHARED_EXPERTS };
    for (index, layer) in config.decoder.layers.iter_mut().enumerate() {
        let MlpConfig::Gated(mlp) = &mut layer.mlp else { continue };
        mlp.bias = bias;
        if index >= dense {
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting,
                expert: GatedConfig { inner, ..*mlp },
                router: "mlp.gate",
                router_bias: false,
                storage: IN_MLP,
                shared: has_shared.then_some(shared),
            });
        }
    }
    Ok(())
}
