//! The description of a decoder: what each layer computes, as data.
//!
//! A model family is a function from `config.json` to this description ([`families`](super::families)).
//! Parts that a family lacks are absent (`None`), not switched off; tensors are named as in Hugging
//! Face's checkpoints.

use maskwright_kernels::{Activation, RotaryPairs};

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
    /// The longest sequence that the rotary positions hold for.
    pub(super) context_length: usize,
    /// Width of a head.
    pub(super) head_width: usize,
    pub(in crate::model) decoder: DecoderConfig,
}

impl Config {
    /// The greatest length of a sequence in tokens: `max_position_embeddings`, or with LongRoPE (Phi-3)
    /// the original context, whose short factors are used.
    pub fn context_length(&self) -> usize {
        self.context_length
    }
}

/// A decoder: embedding, layers, norm, logits.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct DecoderConfig {
    /// The beginnings of tensor names, of which a checkpoint has one.
    pub(in crate::model) prefixes: &'static [Prefixes],
    /// The beginnings of the names of tensors of other parts, such as an encoder of images.
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

/// The beginnings of tensor names: of the layers, and of `lm_head`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct Prefixes {
    pub(in crate::model) decoder: &'static str,
    pub(in crate::model) head: &'static str,
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
}

/// The tensors of a layer's norms, by their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct NormPlaces {
    pub(in crate::model) before_attention: Option<&'static str>,
    pub(in crate::model) after_attention: Option<&'static str>,
    /// `None` in a parallel layer: the feed-forward part then reads what attention read.
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
    /// Whether queries, keys and values are one matrix, `qkv_proj`.
    pub(in crate::model) is_fused: bool,
    /// Norms of queries and keys, before they turn.
    pub(in crate::model) head_norm: Option<HeadNorm>,
    /// Rotary positions; `None` for a layer that knows no positions.
    pub(in crate::model) rope: Option<RopeConfig>,
    /// The number of last positions that a token sees; `None` for all.
    pub(in crate::model) window: Option<usize>,
    /// The bound c in c · tanh(score / c).
    pub(in crate::model) soft_cap: Option<f64>,
    /// The factor of products of queries and keys.
    pub(in crate::model) scale: f64,
}

/// A norm of queries and keys, `q_norm` and `k_norm`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct HeadNorm {
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

/// Rotary positions: the pairs of the first dimensions of a head turn by position · frequency.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::model) struct RopeConfig {
    pub(in crate::model) pairs: RotaryPairs,
    /// The angle of each pair from one position to the next.
    pub(in crate::model) frequencies: Vec<f64>,
    /// The factor of what has turned.
    pub(in crate::model) magnitude: f64,
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
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct GatedConfig {
    pub(in crate::model) inner: usize,
    pub(in crate::model) activation: Activation,
    pub(in crate::model) bias: bool,
    /// Whether gate and up are one matrix, `gate_up_proj`.
    pub(in crate::model) is_fused: bool,
}

/// A mixture of experts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::model) struct ExpertsConfig {
    /// The number of experts.
    pub(in crate::model) count: usize,
    /// The experts of a token.
    pub(in crate::model) chosen: usize,
    pub(in crate::model) weighting: ExpertWeighting,
    pub(in crate::model) expert: GatedConfig,
    pub(in crate::model) names: ExpertNames,
}

/// The weights of the chosen experts of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) enum ExpertWeighting {
    /// The softmax over all experts; its greatest are the chosen ones.
    OfAll,
    /// The softmax over all experts, divided by the sum of the chosen ones. The same as a softmax over the
    /// chosen ones.
    OfChosen,
}

/// The names of the tensors of a mixture, after the layer's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::model) struct ExpertNames {
    pub(in crate::model) router: &'static str,
    pub(in crate::model) experts: &'static str,
    /// Gate, up and down, after the expert's number.
    pub(in crate::model) projections: [&'static str; 3],
}
