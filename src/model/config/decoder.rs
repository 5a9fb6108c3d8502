//! The description of a decoder: what each layer computes, as data.
//!
//! A model family is a function from `config.json` to this description ([`families`](super::families)).
//! Parts that a family lacks are absent (`None`), not switched off; tensors are named as in Hugging
//! Face's checkpoints.

use maskwright_kernels::{Activation, RotaryPairs};
use serde_json::Value;

/// Shape and constants of a model, with Hugging Face's names.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The family.
    pub model_type: String,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the logits; the tokenizer may know fewer tokens.
    pub vocab_size: usize,
    /// Decoder layers.
    pub num_hidden_layers: usize,
    /// The longest sequence, in tokens, that the file names.
    pub max_position_embeddings: usize,
    /// Whether the logits use the embedding's weights.
    pub tie_word_embeddings: bool,
    /// The token that begins every text, if one does.
    pub bos_token_id: Option<u32>,
    /// The tokens that end a text.
    pub eos_token_ids: Vec<u32>,
    /// With LongRoPE the longest sequence that the short factors hold for.
    pub(super) short_context: Option<usize>,
    /// Width of a head.
    pub(super) head_width: usize,
    /// The settings of a model that candle-transformers computes, in the form that it reads; the description
    /// of the decoder says nothing then.
    pub(in crate::model) adapted: Option<Value>,
    pub(in crate::model) decoder: DecoderConfig,
}

impl Config {
    /// The greatest length of a sequence in tokens.
    pub fn context_length(&self) -> usize {
        self.max_position_embeddings
    }

    /// With LongRoPE (Phi-3) the greatest length of a sequence whose positions are rotated with the short
    /// factors; those of longer ones are rotated with the long factors from their first token on.
    pub fn short_context(&self) -> Option<usize> {
        self.short_context
    }
}

/// A decoder: embedding, layers, norm, logits.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct DecoderConfig {
    pub(in crate::model) names: TensorNames,
    /// Whether matrices inside layers lie as (in, out), and not as (out, in).
    pub(in crate::model) has_transposed_matrices: bool,
    /// A vector of each position, added to embeddings; `None` where rotary positions do without.
    pub(in crate::model) learned_positions: Option<LearnedPositions>,
    /// Per-layer embeddings (Gemma 4).
    pub(in crate::model) per_layer_embeddings: Option<PerLayerEmbeddingsConfig>,
    /// Whether the file does not say that embedding and logits share weights: they do unless it holds both.
    pub(in crate::model) is_tie_assumed: bool,
    /// A bias on the logits.
    pub(in crate::model) head_bias: bool,
    /// The possible prefixes of tensor names; a checkpoint uses one of them.
    pub(in crate::model) prefixes: &'static [Prefixes],
    /// Multi-token-prediction (MTP) layers after the last one, for speculation: their tensors are left out.
    pub(in crate::model) mtp_layers: usize,
    /// The name prefixes of tensors of other parts, such as an encoder of images.
    pub(in crate::model) other_parts: &'static [&'static str],
    /// The factor of embeddings.
    pub(in crate::model) embedding_scale: f64,
    pub(in crate::model) layers: Vec<LayerConfig>,
    /// The norm before the logits.
    pub(in crate::model) norm: NormConfig,
    /// The factor of logits.
    pub(in crate::model) logit_scale: f64,
    /// The bound c in c · tanh(logit / c).
    pub(in crate::model) logit_soft_cap: Option<f64>,
}

/// The prefixes of tensor names: of the decoder, and of `lm_head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Prefixes {
    pub(in crate::model) decoder: &'static str,
    pub(in crate::model) head: &'static str,
}

/// The names of the tensors of a decoder, without `.weight` and `.bias`: outside layers after the beginning
/// of all names, inside layers after the layer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct TensorNames {
    pub(in crate::model) embedding: &'static str,
    pub(in crate::model) layers: &'static str,
    pub(in crate::model) norm: &'static str,
    pub(in crate::model) head: &'static str,
    pub(in crate::model) queries: &'static str,
    pub(in crate::model) keys: &'static str,
    pub(in crate::model) values: &'static str,
    /// Queries, keys and values as one matrix.
    pub(in crate::model) fused: &'static str,
    pub(in crate::model) attention_output: &'static str,
    pub(in crate::model) query_norm: &'static str,
    pub(in crate::model) key_norm: &'static str,
    pub(in crate::model) gate: &'static str,
    pub(in crate::model) up: &'static str,
    pub(in crate::model) down: &'static str,
    /// Gate and up as one matrix.
    pub(in crate::model) gate_up: &'static str,
}

impl TensorNames {
    /// Those of Llama and most others.
    pub(super) const LLAMA: Self = Self {
        embedding: "embed_tokens",
        layers: "layers",
        norm: "norm",
        head: "lm_head",
        queries: "self_attn.q_proj",
        keys: "self_attn.k_proj",
        values: "self_attn.v_proj",
        fused: "self_attn.qkv_proj",
        attention_output: "self_attn.o_proj",
        query_norm: "self_attn.q_norm",
        key_norm: "self_attn.k_norm",
        gate: "mlp.gate_proj",
        up: "mlp.up_proj",
        down: "mlp.down_proj",
        gate_up: "mlp.gate_up_proj",
    };
}

/// Learned positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct LearnedPositions {
    /// The tensor, after the beginning of all names.
    pub(in crate::model) name: &'static str,
    pub(in crate::model) count: usize,
}

/// Per-layer embeddings: a vector of each token for each layer, from a table, mixed with a projection of the
/// token's embedding. The layer adds it to the stream through a gate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct PerLayerEmbeddingsConfig {
    /// The tokens that the table holds.
    pub(in crate::model) tokens: usize,
    /// Numbers of a token for one layer.
    pub(in crate::model) width: usize,
    /// The function of the gate.
    pub(in crate::model) activation: Activation,
}

/// Attention and a feed-forward part, each added to the stream.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct LayerConfig {
    pub(in crate::model) norms: NormPlaces,
    pub(in crate::model) norm: NormConfig,
    pub(in crate::model) attention: AttentionConfig,
    pub(in crate::model) mlp: MlpConfig,
    /// The factor of what attention and the feed-forward part add to the stream.
    pub(in crate::model) residual_scale: f64,
    /// The tensor of a number that the stream is multiplied with at the end.
    pub(in crate::model) scalar: Option<&'static str>,
}

/// The tensors of a layer's norms, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct NormPlaces {
    pub(in crate::model) before_attention: Option<&'static str>,
    pub(in crate::model) after_attention: Option<&'static str>,
    /// `None` in a parallel layer where the feed-forward part reads what attention read.
    pub(in crate::model) before_mlp: Option<&'static str>,
    pub(in crate::model) after_mlp: Option<&'static str>,
    /// Whether attention and the feed-forward part read the same stream.
    pub(in crate::model) is_parallel: bool,
}

impl NormPlaces {
    /// A norm before each part, as in Llama.
    pub(super) const PRE: Self = Self {
        before_attention: Some("input_layernorm"),
        after_attention: None,
        before_mlp: Some("post_attention_layernorm"),
        after_mlp: None,
        is_parallel: false,
    };

    /// One norm before both parts, which read the same stream (Cohere, Phi-2).
    pub(super) const PARALLEL: Self = Self {
        before_attention: Some("input_layernorm"),
        after_attention: None,
        before_mlp: None,
        after_mlp: None,
        is_parallel: true,
    };

    /// A norm after each part, before it is added to the stream (OLMo 2).
    pub(super) const POST: Self = Self {
        before_attention: None,
        after_attention: Some("post_attention_layernorm"),
        before_mlp: None,
        after_mlp: Some("post_feedforward_layernorm"),
        is_parallel: false,
    };

    /// Norms before and after each part (Gemma 2).
    pub(super) const AROUND: Self = Self {
        before_attention: Some("input_layernorm"),
        after_attention: Some("post_attention_layernorm"),
        before_mlp: Some("pre_feedforward_layernorm"),
        after_mlp: Some("post_feedforward_layernorm"),
        is_parallel: false,
    };
}

/// A norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct NormConfig {
    pub(in crate::model) kind: NormKind,
    /// Added to the mean square or the variance.
    pub(in crate::model) eps: f64,
}

/// The formula of a norm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum NormKind {
    /// RMSNorm.
    Rms,
    /// RMSNorm with weights 1 + w (Gemma).
    RmsPlusOne,
    /// LayerNorm without bias.
    Layer,
    /// LayerNorm with bias.
    LayerWithBias,
}

/// Grouped-query attention.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct AttentionConfig {
    /// Heads of the queries.
    pub(in crate::model) heads: usize,
    /// Heads of keys and values.
    pub(in crate::model) kv_heads: usize,
    /// Width of a head.
    pub(in crate::model) width: usize,
    /// Biases on the projections to queries, keys and values.
    pub(in crate::model) qkv_bias: bool,
    /// Bias on the projection out of attention.
    pub(in crate::model) output_bias: bool,
    pub(in crate::model) projections: ProjectionLayout,
    /// The layer whose keys and values are used; `None` for its own.
    pub(in crate::model) kv_of_layer: Option<usize>,
    /// Norms of queries and keys.
    pub(in crate::model) head_norm: Option<HeadNorm>,
    /// A norm of each head of the values, without weights.
    pub(in crate::model) value_norm: Option<NormConfig>,
    /// The bound of queries, keys and values (`clip_qkv`), on both sides, before rotary positions.
    pub(in crate::model) clip_qkv: Option<f64>,
    /// Rotary positions; `None` for a layer that knows no positions.
    pub(in crate::model) rope: Option<RopeConfig>,
    /// The number of last positions that a token sees; `None` for all.
    pub(in crate::model) window: Option<usize>,
    /// The bound c in c · tanh(score / c).
    pub(in crate::model) soft_cap: Option<f64>,
    /// The factor of products of queries and keys.
    pub(in crate::model) scale: f64,
    /// Attention temperature tuning: a factor of queries that grows with the position.
    pub(in crate::model) temperature_tuning: Option<AttentionTemperature>,
    /// The tensor (heads) of attention sinks: logits that take part in the softmax and have no value
    /// (gpt-oss).
    pub(in crate::model) sinks: Option<&'static str>,
}

/// The matrices of queries, keys and values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum ProjectionLayout {
    /// One each.
    Separate,
    /// One for queries and one for keys, whose output, before norm and rotation, is also the values
    /// (`attention_k_eq_v`).
    ValuesAreKeys,
    /// One with the rows of queries, of keys, of values.
    Fused,
    /// One with the rows of query, key and value of the first head, of the second head, and so on.
    FusedByHead,
}

/// Attention temperature tuning: queries are scaled by 1 + beta · ln(1 + ⌊position / original⌋) (Llama 4,
/// Ministral 3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct AttentionTemperature {
    pub(in crate::model) beta: f64,
    pub(in crate::model) original: usize,
}

/// A norm of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct HeadNorm {
    /// Whether queries and keys are rotated before it.
    pub(in crate::model) is_after_rope: bool,
    pub(in crate::model) norm: NormConfig,
    pub(in crate::model) extent: HeadNormExtent,
}

/// The numbers that a norm of queries or keys takes together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum HeadNormExtent {
    /// Those of one head, all heads with the same weights.
    Head,
    /// Those of all heads.
    AllHeads,
}

/// Rotary positions: the pairs of the first dimensions of a head are rotated by position · frequency.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct RopeConfig {
    pub(in crate::model) pairs: RotaryPairs,
    /// The angle of each pair from one position to the next.
    pub(in crate::model) frequencies: Vec<f64>,
    /// The same for a sequence beyond the original context (LongRoPE).
    pub(in crate::model) long_frequencies: Option<Vec<f64>>,
    /// The factor of rotated queries and keys (YaRN, LongRoPE).
    pub(in crate::model) attention_factor: f64,
}

/// The feed-forward part.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) enum MlpConfig {
    /// down(activation(gate · x) * (up · x)).
    Gated(GatedConfig),
    /// down(activation(up · x)).
    Plain { inner: usize, activation: Activation, bias: bool },
    /// Several gated parts, of which a router chooses some for each token.
    Experts(ExpertsConfig),
    /// A gated part and a mixture beside each other, each with norms of its own (Gemma 4).
    GatedBesideExperts(GatedConfig, ExpertsConfig),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct GatedConfig {
    pub(in crate::model) inner: usize,
    pub(in crate::model) activation: Activation,
    pub(in crate::model) bias: bool,
    /// Whether gate and up are one matrix.
    pub(in crate::model) is_fused: bool,
}

/// A mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct ExpertsConfig {
    /// The number of experts.
    pub(in crate::model) count: usize,
    /// Experts per token (`num_experts_per_tok`).
    pub(in crate::model) chosen: usize,
    pub(in crate::model) weighting: ExpertWeighting,
    pub(in crate::model) expert: GatedConfig,
    /// The layer that scores the experts, after the decoder layer's name.
    pub(in crate::model) router: &'static str,
    pub(in crate::model) router_bias: bool,
    pub(in crate::model) storage: ExpertStorage,
    /// An expert that every token has.
    pub(in crate::model) shared: Option<SharedExpert>,
}

/// The weights of the chosen experts of a token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) enum ExpertWeighting {
    /// The softmax over all experts; its greatest are the chosen ones.
    OfAll,
    /// The softmax over all experts, divided by the sum of the chosen ones. The same as a softmax over the
    /// chosen ones.
    OfChosen,
    /// Top-k by score + a per-expert bias that balances load; the weights are the scores without the bias.
    BiasedTopK(BiasedRouting),
}

/// Top-k routing with a bias that balances load: DeepSeek-V3 (DeepSeek-AI 2024, section 2.1.2).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct BiasedRouting {
    pub(in crate::model) scores: ExpertScores,
    /// The tensor (experts) of that bias (`e_score_correction_bias`), after the decoder layer's name.
    pub(in crate::model) score_bias: &'static str,
    /// Whether this tensor is a matrix of one row.
    pub(in crate::model) is_score_bias_row: bool,
    /// Groups that limit the choice; `None` for a choice among all experts.
    pub(in crate::model) groups: Option<ExpertGroups>,
    /// Weights are divided by max(their sum, this) (`norm_topk_prob`); `None`: not normalised.
    pub(in crate::model) min_weight_sum: Option<f64>,
    /// The factor of the weights (`routed_scaling_factor`).
    pub(in crate::model) scaling_factor: f64,
}

/// The function from the output of a router to scores of experts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum ExpertScores {
    Softmax,
    Sigmoid,
}

/// Equal groups of neighbouring experts (`n_group`). A token routes only to the groups with the greatest sums
/// of their two best biased scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct ExpertGroups {
    pub(in crate::model) count: usize,
    /// Groups per token (`topk_group`).
    pub(in crate::model) chosen: usize,
}

/// The tensors of the experts of a mixture, named after the decoder layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum ExpertStorage {
    /// Matrices of their own: `experts.INDEX.PROJECTION.weight`, with the projections gate, up, down.
    Separate { experts: &'static str, projections: [&'static str; 3] },
    /// Two stacks of matrices.
    Stacked(StackedExperts),
}

/// Two tensors (experts, …) with the matrices of all experts: gate and up, and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct StackedExperts {
    pub(in crate::model) gate_up: &'static str,
    pub(in crate::model) down: &'static str,
    /// Whether the matrices lie as (in, out), with alternating rows of gate and up, and biases have the
    /// names of the matrices and `_bias` (gpt-oss). Otherwise they lie as (out, in), first gate.
    pub(in crate::model) is_interleaved: bool,
    /// Whether the file holds blocks of 4-bit numbers in their place: `…_blocks` and `…_scales`.
    pub(in crate::model) is_mxfp4: bool,
}

/// An expert that every token has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct SharedExpert {
    pub(in crate::model) inner: usize,
    pub(in crate::model) bias: bool,
    /// Gate, up and down.
    pub(in crate::model) projections: [&'static str; 3],
    /// Gate and up as one matrix, if they are.
    pub(in crate::model) fused: Option<&'static str>,
    /// The layer whose one output, from 0 to 1 by a sigmoid, is the expert's weight; `None` for 1.
    pub(in crate::model) gate: Option<&'static str>,
}
