//! Hugging Face's name of each tensor of a GGUF file, and what is to be undone to its data.

use rustc_hash::FxHashMap;

use super::architectures::Architecture;
use super::directory::TensorData;
use super::metadata::Metadata;
use crate::error::Result;

/// Where a tensor of Hugging Face's name lies.
#[derive(Debug)]
pub(super) struct TensorPlace {
    /// Index in the directory.
    pub(super) tensor: usize,
    pub(super) extent: Extent,
    /// The number of heads whose rows are to be ordered by halves.
    pub(super) interleaved_heads: Option<usize>,
    /// Whether 1 is to be subtracted.
    pub(super) is_one_more: bool,
}

/// The part of a tensor in the file that is meant.
#[derive(Debug)]
pub(super) enum Extent {
    Whole,
    /// One of the matrices of a stack.
    Expert(usize),
}

/// The tensors outside layers.
const GLOBAL: [(&str, &str); 3] =
    [("token_embd", "model.embed_tokens"), ("output_norm", "model.norm"), ("output", "lm_head")];

/// The tensors of a layer.
const OF_LAYER: [(&str, &str); 12] = [
    ("attn_norm", "input_layernorm"),
    ("attn_q", "self_attn.q_proj"),
    ("attn_k", "self_attn.k_proj"),
    ("attn_v", "self_attn.v_proj"),
    ("attn_output", "self_attn.o_proj"),
    ("attn_q_norm", "self_attn.q_norm"),
    ("attn_k_norm", "self_attn.k_norm"),
    ("ffn_norm", "post_attention_layernorm"),
    ("ffn_gate", "mlp.gate_proj"),
    ("ffn_up", "mlp.up_proj"),
    ("ffn_down", "mlp.down_proj"),
    ("attn_sinks", "self_attn.sinks"),
];

/// Tensors that [`config`](super::config) has read.
pub(super) const READ_BY_CONFIG: [&str; 3] =
    ["rope_freqs.weight", "rope_factors_long.weight", "rope_factors_short.weight"];

/// The place of each tensor by Hugging Face's name. Tensors without one keep their own, so that no model
/// takes them.
pub(super) fn places(
    metadata: &Metadata<'_>,
    architecture: &Architecture,
    tensors: &[TensorData],
) -> Result<FxHashMap<String, TensorPlace>> {
    let prefix = architecture.prefix();
    let heads = metadata.size_of_layers(&format!("{prefix}.attention.head_count"))?;
    let kv_heads = metadata.size_of_layers(&format!("{prefix}.attention.head_count_kv"))?;
    let mut places = FxHashMap::default();
    for (index, tensor) in tensors.iter().enumerate() {
        if READ_BY_CONFIG.contains(&tensor.name.as_str()) {
            continue;
        }
        let whole = |interleaved_heads, is_one_more| TensorPlace {
            tensor: index,
            extent: Extent::Whole,
            interleaved_heads,
            is_one_more,
        };
        let Some((layer, stem, kind)) = parts(&tensor.name) else {
            let global = tensor.name.rsplit_once('.').and_then(|(stem, kind)| {
                let (_, name) = GLOBAL.iter().find(|(own, _)| *own == stem)?;
                Some((format!("{name}.{kind}"), stem.ends_with("norm")))
            });
            let (name, is_norm) = global.unwrap_or_else(|| (tensor.name.clone(), false));
            places.insert(name, whole(None, is_norm && architecture.adds_one_to_norms));
            continue;
        };
        if let Some(experts) = expert_names(architecture, layer, stem, kind, tensor) {
            for (expert, name) in experts.into_iter().enumerate() {
                places.insert(
                    name,
                    TensorPlace { extent: Extent::Expert(expert), ..whole(None, false) },
                );
            }
            continue;
        }
        let of = |names: &[(&'static str, &'static str)]| {
            names.iter().find(|(own, _)| *own == stem).map(|(_, name)| *name)
        };
        let router = architecture.experts.filter(|_| stem == "ffn_gate_inp").map(|names| names.0);
        let Some(name) = of(architecture.layer_names).or(of(&OF_LAYER)).or(router) else {
            places.insert(tensor.name.clone(), whole(None, false));
            continue;
        };
        let heads = match stem {
            "attn_q" => heads,
            "attn_k" => kv_heads.or(heads),
            _ => None,
        };
        let divides = |heads: &usize| {
            *heads > 0 && tensor.shape.first().is_some_and(|rows| rows.is_multiple_of(2 * heads))
        };
        let interleaved = heads.filter(|_| architecture.has_interleaved_heads).filter(divides);
        let is_one_more = architecture.adds_one_to_norms && stem.ends_with("norm");
        places
            .insert(format!("model.layers.{layer}.{name}.{kind}"), whole(interleaved, is_one_more));
    }
    Ok(places)
}

/// The layer, the name without it, and the kind (`weight`, `bias`) of a tensor `blk.N.….kind`.
fn parts(name: &str) -> Option<(usize, &str, &str)> {
    let (layer, rest) = name.strip_prefix("blk.")?.split_once('.')?;
    let (stem, kind) = rest.rsplit_once('.').unwrap_or((rest, "weight"));
    Some((layer.parse().ok()?, stem, kind))
}

/// The names of the matrices in a stack of experts.
fn expert_names(
    architecture: &Architecture,
    layer: usize,
    stem: &str,
    kind: &str,
    tensor: &TensorData,
) -> Option<Vec<String>> {
    let (_, experts, names) = architecture.experts?;
    let stems = ["ffn_gate_exps", "ffn_up_exps", "ffn_down_exps"];
    let name = names[stems.iter().position(|own| *own == stem)?];
    let [count, _, _] = tensor.shape[..] else { return None };
    let name = |expert| format!("model.layers.{layer}.{experts}.{expert}.{name}.{kind}");
    Some((0..count).map(name).collect())
}
