//! The architectures of llama.cpp that are read, as data.
//!
//! Names and transformations are those of llama.cpp's converter (`conversion/` and `gguf-py/` in
//! ggml-org/llama.cpp), constants those of its loader (`src/models/`): with the files that the converter
//! makes of small models of each, llama.cpp and this crate compute the same logits.

use super::metadata::Metadata;
use crate::error::{Error, ErrorKind, Result};

/// An architecture: `general.architecture`.
#[derive(Debug)]
pub(super) struct Architecture {
    /// llama.cpp's name, which keys of the metadata begin with.
    pub(super) name: &'static str,
    /// Hugging Face's `model_type`.
    pub(super) model_type: &'static str,
    /// Whether rows of queries and keys have the two dimensions of a rotary pair side by side, where
    /// Hugging Face's have the first of all pairs before the second.
    pub(super) has_interleaved_heads: bool,
    /// Whether weights of norms are stored with 1 added.
    pub(super) adds_one_to_norms: bool,
    /// The names of the tensors of a layer that differ from the usual ones: llama.cpp's, Hugging Face's.
    pub(super) layer_names: &'static [(&'static str, &'static str)],
    /// Hugging Face's names of the router, and of the gate, up and down projections of an expert.
    pub(super) experts: Option<(&'static str, &'static str, [&'static str; 3])>,
    /// The key of the ε of norms: llama.cpp's, `config.json`'s.
    pub(super) eps: (&'static str, &'static str),
    /// Keys of `config.json` that say whether there are biases, and the tensors that show it.
    pub(super) biases: &'static [(&'static str, &'static [&'static str])],
    /// Keys that this architecture has beyond the usual ones.
    pub(super) numbers: &'static [Number],
    pub(super) windows: Windows,
}

/// A number in the metadata.
#[derive(Debug)]
pub(super) struct Number {
    /// llama.cpp's key.
    pub(super) own: &'static str,
    /// The key of `config.json`.
    pub(super) name: &'static str,
    pub(super) is_required: bool,
}

/// The layers whose attention has a window.
#[derive(Debug)]
pub(super) enum Windows {
    /// None; a file that gives a window is refused.
    Never,
    /// All, if the file gives a window.
    All,
    /// All but the last of every so many, unless the file says which; without a window none.
    AllButEvery(usize),
}

const fn required(own: &'static str, name: &'static str) -> Number {
    Number { own, name, is_required: true }
}

const fn optional(own: &'static str, name: &'static str) -> Number {
    Number { own, name, is_required: false }
}

/// Architectures without a peculiarity.
const PLAIN: Architecture = Architecture {
    name: "",
    model_type: "",
    has_interleaved_heads: false,
    adds_one_to_norms: false,
    layer_names: &[],
    experts: None,
    eps: ("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
    biases: &[],
    numbers: &[],
    windows: Windows::Never,
};

const ATTENTION_BIAS: (&str, &[&str]) = ("attention_bias", &["attn_q", "attn_output"]);
const MLP_BIAS: (&str, &[&str]) = ("mlp_bias", &["ffn_down"]);

const GEMMA_NAMES: &[(&str, &str)] = &[
    ("post_attention_norm", "post_attention_layernorm"),
    ("ffn_norm", "pre_feedforward_layernorm"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
];

/// The names of norms after each part.
const POST_NORMS: &[(&str, &str)] = &[
    ("post_attention_norm", "post_attention_layernorm"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
];

const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "llama",
        model_type: "llama",
        has_interleaved_heads: true,
        biases: &[ATTENTION_BIAS, MLP_BIAS],
        windows: Windows::All,
        ..PLAIN
    },
    Architecture {
        // `llama` with experts.
        name: "mixtral",
        model_type: "mixtral",
        has_interleaved_heads: true,
        experts: Some(("block_sparse_moe.gate", "block_sparse_moe.experts", ["w1", "w3", "w2"])),
        windows: Windows::All,
        ..PLAIN
    },
    Architecture {
        name: "arcee",
        model_type: "arcee",
        has_interleaved_heads: true,
        biases: &[ATTENTION_BIAS, MLP_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "cohere2",
        model_type: "cohere2",
        eps: ("attention.layer_norm_epsilon", "layer_norm_eps"),
        numbers: &[required("logit_scale", "logit_scale")],
        windows: Windows::AllButEvery(4),
        ..PLAIN
    },
    Architecture {
        name: "ernie4_5",
        model_type: "ernie4_5",
        biases: &[("use_bias", &["attn_q", "ffn_down"])],
        ..PLAIN
    },
    Architecture {
        name: "exaone4",
        model_type: "exaone4",
        layer_names: POST_NORMS,
        windows: Windows::AllButEvery(4),
        ..PLAIN
    },
    Architecture {
        name: "gemma2",
        model_type: "gemma2",
        adds_one_to_norms: true,
        layer_names: GEMMA_NAMES,
        biases: &[ATTENTION_BIAS],
        numbers: &[
            optional("attn_logit_softcapping", "attn_logit_softcapping"),
            optional("final_logit_softcapping", "final_logit_softcapping"),
        ],
        windows: Windows::AllButEvery(2),
        ..PLAIN
    },
    Architecture {
        name: "gemma3",
        model_type: "gemma3_text",
        adds_one_to_norms: true,
        layer_names: GEMMA_NAMES,
        biases: &[ATTENTION_BIAS],
        numbers: &[optional("final_logit_softcapping", "final_logit_softcapping")],
        windows: Windows::AllButEvery(6),
        ..PLAIN
    },
    Architecture {
        name: "glm4",
        model_type: "glm4",
        layer_names: &[
            ("ffn_up", "mlp.gate_up_proj"),
            ("post_attention_norm", "post_self_attn_layernorm"),
            ("ffn_norm", "post_attention_layernorm"),
            ("post_ffw_norm", "post_mlp_layernorm"),
        ],
        biases: &[("attention_bias", &["attn_q"])],
        ..PLAIN
    },
    Architecture {
        name: "granite",
        model_type: "granite",
        has_interleaved_heads: true,
        biases: &[ATTENTION_BIAS, MLP_BIAS],
        numbers: &[
            required("logit_scale", "logits_scaling"),
            optional("residual_scale", "residual_multiplier"),
            optional("embedding_scale", "embedding_multiplier"),
            optional("attention.scale", "attention_multiplier"),
        ],
        ..PLAIN
    },
    Architecture {
        name: "olmo2",
        model_type: "olmo2",
        layer_names: POST_NORMS,
        biases: &[ATTENTION_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "phi3",
        model_type: "phi3",
        layer_names: &[("attn_qkv", "self_attn.qkv_proj"), ("ffn_up", "mlp.gate_up_proj")],
        windows: Windows::All,
        ..PLAIN
    },
    Architecture { name: "qwen2", model_type: "qwen2", ..PLAIN },
    Architecture { name: "qwen3", model_type: "qwen3", biases: &[ATTENTION_BIAS], ..PLAIN },
    Architecture {
        name: "qwen3moe",
        model_type: "qwen3_moe",
        experts: Some(("mlp.gate", "mlp.experts", ["gate_proj", "up_proj", "down_proj"])),
        biases: &[ATTENTION_BIAS],
        ..PLAIN
    },
    Architecture {
        name: "seed_oss",
        model_type: "seed_oss",
        layer_names: &[("post_attention_norm", "post_attention_layernorm")],
        biases: &[
            ("attention_bias", &["attn_q"]),
            ("attention_out_bias", &["attn_output"]),
            MLP_BIAS,
        ],
        ..PLAIN
    },
    Architecture {
        name: "smollm3",
        model_type: "smollm3",
        has_interleaved_heads: true,
        biases: &[ATTENTION_BIAS, MLP_BIAS],
        ..PLAIN
    },
];

impl Architecture {
    /// The architecture of a file. Errors on others, by name.
    pub(super) fn of(metadata: &Metadata<'_>) -> Result<&'static Self> {
        const KEY: &str = "general.architecture";
        let name = metadata.text(KEY)?.unwrap_or_default();
        let has_experts = metadata.size("llama.expert_count")?.unwrap_or(0) > 0;
        let wanted = if name == "llama" && has_experts { "mixtral" } else { name };
        let is_own = |other: &&Self| other.name == wanted && name != "mixtral";
        ARCHITECTURES.iter().find(is_own).ok_or_else(|| {
            let message = format!("the architecture `{name}` (`{KEY}`) is not read from GGUF");
            let names: Vec<&str> = ARCHITECTURES.iter().map(|other| other.name).collect();
            Error::new(ErrorKind::Model, message).with_help(format!(
                "{} are; other models may load from safetensors",
                names.join(", ")
            ))
        })
    }

    /// The beginning of its keys in the metadata.
    pub(super) fn prefix(&self) -> &'static str {
        if self.name == "mixtral" { "llama" } else { self.name }
    }
}
