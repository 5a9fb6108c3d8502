//! Mixtures that route by scores with a bias for each expert, as in DeepSeek-V3: GLM-4.5, Solar Open,
//! dots.llm1, MiniMax-M2.

use super::experts::{IN_MLP, chosen};
use super::plain::{self, Defaults};
use super::qwen::add_head_norms;
use crate::error::Result;
use crate::model::config::decoder::{
    BiasedRouting, Config, ExpertGroups, ExpertScores, ExpertStorage, ExpertWeighting,
    ExpertsConfig, GatedConfig, HeadNormExtent, MlpConfig, SharedExpert,
};
use crate::model::config::errors::refused;
use crate::model::config::fields::ConfigFields;
use crate::model::config::rope::RopeDefaults;

const GLM: Defaults = Defaults {
    kv_heads: Some(8),
    max_position_embeddings: 131_072,
    eps: 1e-5,
    rope: RopeDefaults { partial: 0.5, reads_partial: true, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};
const SOLAR: Defaults = Defaults {
    head_dim: Some(128),
    rope: RopeDefaults { theta: 1_000_000.0, reads_partial: true, ..RopeDefaults::LLAMA },
    ..GLM
};
const DOTS: Defaults = Defaults { kv_heads: Some(32), ..Defaults::LLAMA };
const MINIMAX: Defaults = Defaults {
    kv_heads: Some(8),
    head_dim: Some(128),
    max_position_embeddings: 196_608,
    rope: RopeDefaults { theta: 5_000_000.0, reads_partial: true, ..RopeDefaults::LLAMA },
    ..Defaults::LLAMA
};

/// GLM-4.5 to 4.7: half of each head rotated, one feed-forward part in the first layers.
pub(super) fn read_glm4_moe(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &GLM)?;
    let bias = fields.flag("attention_bias")?.unwrap_or(false);
    plain::for_attention(&mut config, |attention| attention.qkv_bias = bias);
    if fields.flag("use_qk_norm")?.unwrap_or(false) {
        add_head_norms(&mut config, HeadNormExtent::Head);
    }
    // The class's name of it, and that of files.
    let mtp_layers = fields.integer("num_nextn_predict_layers", 0)?;
    let mtp_layers = mtp_layers.or(fields.integer("num_mtp_layers", 0)?);
    config.decoder.mtp_layers = mtp_layers.unwrap_or(1);
    let dense = fields.integer("first_k_dense_replace", 0)?.unwrap_or(1);
    add_experts(&mut config, fields, &RouterDefaults::GLM, dense)?;
    Ok(config)
}

/// Solar Open: GLM-4.5 with experts in every layer (no dense ones) and without QK-norm.
pub(super) fn read_solar_open(fields: &ConfigFields<'_>) -> Result<Config> {
    let inner = fields.size("intermediate_size")?.unwrap_or(1);
    let mut config = plain::read_with_inner(fields, &SOLAR, inner)?;
    plain::set_rope(&mut config, fields, &SOLAR.rope, |_| true)?;
    let bias = fields.flag("attention_bias")?.unwrap_or(false);
    plain::for_attention(&mut config, |attention| attention.qkv_bias = bias);
    // Of GLM-4.5, whose class this one is made of.
    fields.ignore(&["first_k_dense_replace", "use_qk_norm"]);
    let defaults = RouterDefaults { inner: Some(1280), ..RouterDefaults::GLM };
    add_experts(&mut config, fields, &defaults, 0)?;
    Ok(config)
}

/// dots.llm1: norms of heads, perhaps windows from some layer on.
pub(super) fn read_dots1(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read(fields, &DOTS)?;
    plain::read_attention_bias(&mut config, fields)?;
    add_head_norms(&mut config, HeadNormExtent::Head);
    let stated = fields.size("sliding_window")?;
    let window = if fields.has("sliding_window") { stated } else { Some(4096) };
    let from = fields.integer("max_window_layers", 0)?.unwrap_or(62);
    plain::read_windows(&mut config, fields, window, |layer| window.is_some() && layer >= from)?;
    let dense = fields.integer("first_k_dense_replace", 0)?.unwrap_or(0);
    add_experts(&mut config, fields, &RouterDefaults::DOTS, dense)?;
    Ok(config)
}

/// MiniMax-M2: experts in each layer, norms over all heads, a part of each head rotated.
pub(super) fn read_minimax_m2(fields: &ConfigFields<'_>) -> Result<Config> {
    let mut config = plain::read_without_rope(fields, &MINIMAX)?;
    fields.must_be([
        ("use_qk_norm", true.into()),
        ("qk_norm_type", "per_layer".into()),
        ("use_routing_bias", true.into()),
        ("scoring_func", "sigmoid".into()),
        ("shared_intermediate_size", 0.into()),
        // Of MiniMax-01, whose layers are of two kinds.
        ("attn_type_list", vec![1; config.num_hidden_layers].into()),
        ("layernorm_full_attention_beta", 1.into()),
        ("layernorm_linear_attention_beta", 1.into()),
        ("layernorm_mlp_beta", 1.into()),
    ])?;
    fields.ignore(&["shared_moe_mode"]);
    let width = config.head_width;
    let rotary_dim = fields.size("rotary_dim")?.unwrap_or(width);
    if rotary_dim > width {
        let why = format!("is more than the {width} dimensions of a head");
        return Err(refused("rotary_dim", &rotary_dim.into(), &why));
    }
    let rope = RopeDefaults { partial: rotary_dim as f64 / width as f64, ..MINIMAX.rope };
    plain::set_rope(&mut config, fields, &rope, |_| true)?;
    add_head_norms(&mut config, HeadNormExtent::AllHeads);
    let count = fields.size("num_local_experts")?.unwrap_or(256);
    let chosen = chosen(fields, count, 8)?;
    for layer in &mut config.decoder.layers {
        if let MlpConfig::Gated(expert) = layer.mlp {
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting: ExpertWeighting::BiasedTopK(BiasedRouting {
                    scores: ExpertScores::Sigmoid,
                    score_bias: "block_sparse_moe.e_score_correction_bias",
                    is_score_bias_row: false,
                    groups: None,
                    min_weight_sum: Some(MIN_WEIGHT_SUM),
                    scaling_factor: 1.0,
                }),
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

/// Transformers adds this to the sum of the weights against division by 0. Sums are far greater, so that a
/// lower bound has the same effect.
pub(super) const MIN_WEIGHT_SUM: f64 = 1e-20;

/// Some experts that every token has, as one.
pub(super) const SHARED_EXPERTS: SharedExpert = SharedExpert {
    inner: 0,
    bias: false,
    projections: [
        "mlp.shared_experts.gate_proj",
        "mlp.shared_experts.up_proj",
        "mlp.shared_experts.down_proj",
    ],
    fused: None,
    gate: None,
};

/// Values of a router's keys that a file leaves out; `None` where it must state them.
#[derive(Clone, Copy)]
struct RouterDefaults {
    count: Option<usize>,
    chosen: Option<usize>,
    inner: Option<usize>,
    shared: Option<usize>,
    is_normed: bool,
}

impl RouterDefaults {
    const GLM: Self = Self {
        count: Some(128),
        chosen: Some(8),
        inner: Some(1408),
        shared: Some(1),
        is_normed: true,
    };
    const DOTS: Self =
        Self { count: None, chosen: None, shared: None, is_normed: false, ..Self::GLM };
}

/// Puts mixtures with DeepSeek-V3's keys into the layers from `dense` on.
fn add_experts(
    config: &mut Config,
    fields: &ConfigFields<'_>,
    defaults: &RouterDefaults,
    dense: usize,
) -> Result<()> {
    if let Some(function) = fields.text("scoring_func")?
        && !["sigmoid", "noaux_tc"].contains(&function)
    {
        return Err(refused("scoring_func", &function.into(), "is not supported"));
    }
    fields.must_be([("topk_method", "noaux_tc".into()), ("moe_layer_freq", 1.into())])?;
    let size = |name: &str, default: Option<usize>| match default {
        Some(default) => Ok(fields.size(name)?.unwrap_or(default)),
        None => fields.required(name, 1),
    };
    let count = size("n_routed_experts", defaults.count)?;
    let of_token = size("num_experts_per_tok", defaults.chosen)?;
    let chosen = chosen(fields, count, of_token)?;
    let inner = size("moe_intermediate_size", defaults.inner)?;
    let shared = size("n_shared_experts", defaults.shared)?;
    let is_normed = fields.flag("norm_topk_prob")?.unwrap_or(defaults.is_normed);
    let routing = BiasedRouting {
        scores: ExpertScores::Sigmoid,
        score_bias: "mlp.gate.e_score_correction_bias",
        is_score_bias_row: false,
        groups: groups(fields, count, chosen)?,
        min_weight_sum: is_normed.then_some(MIN_WEIGHT_SUM),
        scaling_factor: fields.positive("routed_scaling_factor")?.unwrap_or(1.0),
    };
    let shared = SharedExpert { inner: inner * shared, ..SHARED_EXPERTS };
    for layer in config.decoder.layers.iter_mut().skip(dense) {
        if let MlpConfig::Gated(mlp) = layer.mlp {
            layer.mlp = MlpConfig::Experts(ExpertsConfig {
                count,
                chosen,
                weighting: ExpertWeighting::BiasedTopK(routing),
                expert: GatedConfig { inner, ..mlp },
                router: "mlp.gate",
                router_bias: false,
                storage: IN_MLP,
                shared: Some(shared),
            });
        }
    }
    Ok(())
}

/// `n_group` and `topk_group`: the groups of experts, and those of a token.
pub(super) fn groups(
    fields: &ConfigFields<'_>,
    count: usize,
    of_token: usize,
) -> Result<Option<ExpertGroups>> {
    let groups = fields.size("n_group")?.unwrap_or(1);
    let chosen = fields.size("topk_group")?.unwrap_or(1);
    if groups > 1 && (!count.is_multiple_of(groups) || count / groups < 2) {
        let why = format!("does not divide {count} experts into groups of two or more");
        return Err(refused("n_group", &groups.into(), &why));
    }
    if chosen > groups || of_token > chosen * (count / groups) {
        let why = format!("does not go with {groups} groups and {of_token} experts of a token");
        return Err(refused("topk_group", &chosen.into(), &why));
    }
    Ok((chosen < groups).then_some(ExpertGroups { count: groups, chosen }))
}
