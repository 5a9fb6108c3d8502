//! The architectures of llama.cpp that are read, as data.
//!
//! Names and transformations are those of llama.cpp's converter (`conversion/` and `gguf-py/` in
//! ggml-org/llama.cpp), constants those of its loader (`src/models/`): with the files that the converter
//! makes of small models of each, llama.cpp and this crate compute the same logits.

mod table;

use super::metadata::Metadata;
use crate::error::{Error, ErrorKind, Result};
use table::ARCHITECTURES;

/// An architecture: `general.architecture`.
#[derive(Debug)]
pub(super) struct Architecture {
    /// llama.cpp's name, which keys of the metadata begin with.
    pub(super) name: &'static str,
    /// Hugging Face's `model_type`.
    pub(super) model_type: &'static str,
    /// Hugging Face's names of the tensors outside layers, and of the layers.
    pub(super) outside: &'static OutsideNames,
    /// Whether rows of queries and keys have the two dimensions of a rotary pair side by side, where
    /// Hugging Face's have the first of all pairs before the second.
    pub(super) has_interleaved_heads: bool,
    /// Whether weights of norms are stored with 1 added.
    pub(super) adds_one_to_norms: bool,
    /// The names of the tensors of a layer that differ from the usual ones: llama.cpp's, Hugging Face's.
    pub(super) layer_names: &'static [(&'static str, &'static str)],
    /// The same of tensors whose whole name differs, of the others the part before `.weight` or `.bias`.
    pub(super) whole_names: &'static [(&'static str, &'static str)],
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

/// Hugging Face's names of the tensors outside layers.
#[derive(Debug)]
pub(super) struct OutsideNames {
    /// The beginning of the names of layers, before the number.
    pub(super) layers: &'static str,
    /// llama.cpp's names, and Hugging Face's.
    pub(super) tensors: &'static [(&'static str, &'static str)],
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
