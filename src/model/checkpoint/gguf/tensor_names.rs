//! Hugging Face's name of each tensor of a GGUF file, and what is to be undone to its data.

use std::ops::Range;

use rustc_hash::FxHashMap;

use super::architectures::Architecture;
use super::directory::TensorData;
use super::expert_names::{EXPERTS, GATE_UP};
use super::metadata::Metadata;
use crate::error::Result;

/// Where a tensor of Hugging Face's name lies.
#[derive(Debug)]
pub(super) struct TensorPlace {
    /// Index in the directory.
    pub(super) tensor: usize,
    pub(super) extent: TensorExtent,
    /// The number of heads whose rows are to be ordered by halves.
    pub(super) interleaved_heads: Option<usize>,
    /// Whether 1 is to be subtracted.
    pub(super) is_one_more: bool,
}

/// The part of a tensor in the file that is meant.
#[derive(Debug)]
pub(super) enum TensorExtent {
    Whole,
    /// A vector that is a matrix of one row.
    Row,
    /// One of the matrices or vectors of a stack.
    Expert(usize),
    /// Some rows.
    Rows(Range<usize>),
}

/// The tensors of a layer.
const OF_LAYER: [(&str, &str); 11] = [
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
    let heads = metadata.sizes(&format!("{prefix}.attention.head_count"))?;
    let kv_heads = metadata.sizes(&format!("{prefix}.attention.head_count_kv"))?;
    let names = TensorNameMap { architecture, heads, kv_heads };
    let mut places = FxHashMap::default();
    for (index, tensor) in tensors.iter().enumerate() {
        if READ_BY_CONFIG.contains(&tensor.name.as_str()) {
            continue;
        }
        let found = match parts(&tensor.name) {
            Some(name) => names.in_layer(index, tensor, name),
            None => names.outside(index, tensor),
        };
        if found.is_empty() {
            places.insert(tensor.name.clone(), whole(index));
        }
        places.extend(found);
    }
    Ok(places)
}

/// A tensor as it lies in the file.
fn whole(tensor: usize) -> TensorPlace {
    TensorPlace { tensor, extent: TensorExtent::Whole, interleaved_heads: None, is_one_more: false }
}

/// Hugging Face's names of an architecture.
struct TensorNameMap<'a> {
    architecture: &'a Architecture,
    /// Heads of queries of the layers, and of keys.
    heads: Option<Vec<usize>>,
    kv_heads: Option<Vec<usize>>,
}

impl TensorNameMap<'_> {
    fn outside(&self, index: usize, tensor: &TensorData) -> Vec<(String, TensorPlace)> {
        let Some((stem, kind)) = tensor.name.rsplit_once('.') else { return Vec::new() };
        let names = self.architecture.outside.tensors;
        let Some((_, name)) = names.iter().find(|(own, _)| *own == stem) else { return Vec::new() };
        let is_one_more = self.architecture.adds_one_to_norms && stem.ends_with("norm");
        vec![(format!("{name}.{kind}"), TensorPlace { is_one_more, ..whole(index) })]
    }

    fn in_layer(
        &self,
        index: usize,
        tensor: &TensorData,
        (layer, stem, kind): (usize, &str, &str),
    ) -> Vec<(String, TensorPlace)> {
        let architecture = self.architecture;
        let inside = |name: &str| format!("{}.{layer}.{name}", architecture.outside.layers);
        let own = format!("{stem}.{kind}");
        if let Some((_, name)) = architecture.whole_names.iter().find(|(name, _)| *name == own) {
            // The one whose Hugging Face's tensor is a matrix.
            let is_row = name.contains("moe_statics") && tensor.shape.len() == 1;
            let extent = if is_row { TensorExtent::Row } else { TensorExtent::Whole };
            return vec![(inside(name), TensorPlace { extent, ..whole(index) })];
        }
        if let Some(experts) = expert_names(architecture, stem, kind, tensor) {
            let place =
                |expert| TensorPlace { extent: TensorExtent::Expert(expert), ..whole(index) };
            let experts = experts.iter().enumerate();
            return experts.map(|(expert, name)| (inside(name), place(expert))).collect();
        }
        let of = |names: &[(&'static str, &'static str)]| {
            names.iter().find(|(own, _)| *own == stem).map(|(_, name)| *name)
        };
        let router = architecture.experts.filter(|_| stem == "ffn_gate_inp").map(|names| names.0);
        let Some(name) = of(architecture.layer_names).or(of(&OF_LAYER)).or(router) else {
            return match stem {
                "attn_qkv" => self.fused(index, tensor, layer, kind),
                _ => Vec::new(),
            };
        };
        let extent = match tensor.shape.len() {
            // Older files have it as a vector.
            1 if stem == "ffn_gate_inp_shexp" => TensorExtent::Row,
            _ => TensorExtent::Whole,
        };
        let heads = match stem {
            "attn_q" => self.heads_of(layer).map(|(heads, _)| heads),
            "attn_k" => self.heads_of(layer).map(|(_, kv_heads)| kv_heads),
            _ => None,
        };
        let rows = tensor.shape.first().copied().unwrap_or(0);
        let place = TensorPlace {
            extent,
            interleaved_heads: heads.and_then(|heads| self.interleaved(heads, rows)),
            is_one_more: architecture.adds_one_to_norms && stem.ends_with("norm"),
            ..whole(index)
        };
        vec![(inside(&format!("{name}.{kind}")), place)]
    }

    /// Queries, keys and values of a tensor that holds all three.
    fn fused(
        &self,
        index: usize,
        tensor: &TensorData,
        layer: usize,
        kind: &str,
    ) -> Vec<(String, TensorPlace)> {
        let Some((heads, kv_heads)) = self.heads_of(layer) else { return Vec::new() };
        let rows = tensor.shape.first().copied().unwrap_or(0);
        let all = heads + 2 * kv_heads;
        if all == 0 || !rows.is_multiple_of(all) {
            return Vec::new();
        }
        let width = rows / all;
        let mut from = 0;
        let mut found = Vec::new();
        for (name, heads, turns) in
            [("q_proj", heads, true), ("k_proj", kv_heads, true), ("v_proj", kv_heads, false)]
        {
            let rows = from..from + heads * width;
            from = rows.end;
            let interleaved = self.interleaved(heads, rows.len()).filter(|_| turns);
            let place = TensorPlace {
                extent: TensorExtent::Rows(rows),
                interleaved_heads: interleaved,
                ..whole(index)
            };
            let layers = self.architecture.outside.layers;
            found.push((format!("{layers}.{layer}.self_attn.{name}.{kind}"), place));
        }
        found
    }

    /// Heads of queries and of keys of a layer.
    fn heads_of(&self, layer: usize) -> Option<(usize, usize)> {
        let at = |sizes: &Option<Vec<usize>>| {
            let sizes = sizes.as_deref()?;
            if sizes.len() == 1 { sizes.first() } else { sizes.get(layer) }.copied()
        };
        let heads = at(&self.heads)?;
        Some((heads, at(&self.kv_heads).unwrap_or(heads)))
    }

    /// The heads whose rows are to be ordered.
    fn interleaved(&self, heads: usize, rows: usize) -> Option<usize> {
        let divides = heads > 0 && rows.is_multiple_of(2 * heads);
        (self.architecture.has_interleaved_heads && divides).then_some(heads)
    }
}

/// The layer, the name without it, and the kind (`weight`, `bias`) of a tensor `blk.N.….kind`.
fn parts(name: &str) -> Option<(usize, &str, &str)> {
    let (layer, rest) = name.strip_prefix("blk.")?.split_once('.')?;
    let (stem, kind) = rest.rsplit_once('.').unwrap_or((rest, "weight"));
    Some((layer.parse().ok()?, stem, kind))
}

/// The names, inside a layer, of the matrices or biases in a stack of experts.
fn expert_names(
    architecture: &Architecture,
    stem: &str,
    kind: &str,
    tensor: &TensorData,
) -> Option<Vec<String>> {
    let (_, experts, [gate, up, down]) = architecture.experts?;
    let name = match stem {
        "ffn_gate_exps" => gate,
        "ffn_up_exps" => up,
        "ffn_down_exps" => down,
        "ffn_gate_up_exps" if experts == EXPERTS => GATE_UP,
        _ => return None,
    };
    let dimensions = if kind == "bias" { 2 } else { 3 };
    let count = *tensor.shape.first().filter(|_| tensor.shape.len() == dimensions)?;
    Some((0..count).map(|expert| format!("{experts}.{expert}.{name}.{kind}")).collect())
}
