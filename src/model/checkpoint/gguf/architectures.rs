//! The architectures of llama.cpp that are read, as data.

use super::metadata::Metadata;
use crate::error::{Error, ErrorKind, Result};

/// An architecture: `general.architecture`.
#[derive(Debug)]
pub(super) struct Architecture {
    /// llama.cpp's name, which keys of the metadata begin with.
    pub(super) name: &'static str,
    /// Hugging Face's `model_type`.
    pub(super) model_type: &'static str,
    /// Whether rows of queries and keys have the two dimensions of a rotary pair side by side.
    pub(super) has_interleaved_heads: bool,
    /// Whether weights of norms are stored with 1 added.
    pub(super) adds_one_to_norms: bool,
    /// The names of the tensors of a layer that differ from the usual ones: llama.cpp's, Hugging Face's.
    pub(super) layer_names: &'static [(&'static str, &'static str)],
    /// Hugging Face's names of the router, and of the gate, up and down projections of an expert.
    pub(super) experts: Option<(&'static str, &'static str, [&'static str; 3])>,
    /// Keys that this architecture has beyond the usual ones: llama.cpp's, `config.json`'s.
    pub(super) numbers: &'static [(&'static str, &'static str)],
}

/// Architectures without a peculiarity.
const PLAIN: Architecture = Architecture {
    name: "",
    model_type: "",
    has_interleaved_heads: false,
    adds_one_to_norms: false,
    layer_names: &[],
    experts: None,
    numbers: &[],
};

const GEMMA_NAMES: &[(&str, &str)] = &[
    ("post_attention_norm", "post_attention_layernorm"),
    ("ffn_norm", "pre_feedforward_layernorm"),
    ("post_ffw_norm", "post_feedforward_layernorm"),
];

const ARCHITECTURES: [Architecture; 12] = [
    Architecture { name: "llama", model_type: "llama", has_interleaved_heads: true, ..PLAIN },
    Architecture {
        // `llama` with experts.
        name: "mixtral",
        model_type: "mixtral",
        has_interleaved_heads: true,
        experts: Some(("block_sparse_moe.gate", "block_sparse_moe.experts", ["w1", "w3", "w2"])),
        ..PLAIN
    },
    Architecture { name: "qwen2", model_type: "qwen2", ..PLAIN },
    Architecture { name: "qwen3", model_type: "qwen3", ..PLAIN },
    Architecture {
        name: "qwen3moe",
        model_type: "qwen3_moe",
        experts: Some(("mlp.gate", "mlp.experts", ["gate_proj", "up_proj", "down_proj"])),
        ..PLAIN
    },
    Architecture { name: "smollm3", model_type: "smollm3", has_interleaved_heads: true, ..PLAIN },
    Architecture {
        name: "phi3",
        model_type: "phi3",
        layer_names: &[("attn_qkv", "self_attn.qkv_proj"), ("ffn_up", "mlp.gate_up_proj")],
        ..PLAIN
    },
    Architecture {
        name: "gemma2",
        model_type: "gemma2",
        adds_one_to_norms: true,
        layer_names: GEMMA_NAMES,
        numbers: &[
            ("attn_logit_softcapping", "attn_logit_softcapping"),
            ("final_logit_softcapping", "final_logit_softcapping"),
        ],
        ..PLAIN
    },
    Architecture {
        name: "gemma3",
        model_type: "gemma3_text",
        adds_one_to_norms: true,
        layer_names: GEMMA_NAMES,
        ..PLAIN
    },
    Architecture {
        name: "granite",
        model_type: "granite",
        has_interleaved_heads: true,
        numbers: &[
            ("logit_scale", "logits_scaling"),
            ("residual_scale", "residual_multiplier"),
            ("embedding_scale", "embedding_multiplier"),
            ("attention.scale", "attention_multiplier"),
        ],
        ..PLAIN
    },
    Architecture {
        name: "olmo2",
        model_type: "olmo2",
        layer_names: &[
            ("post_attention_norm", "post_attention_layernorm"),
            ("post_ffw_norm", "post_feedforward_layernorm"),
        ],
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
