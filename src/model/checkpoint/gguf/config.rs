//! The shape and the constants of a model in the metadata of a GGUF file, as a `config.json`.
//!
//! The result goes through the reader of `config.json`, which refuses what it does not know. Here a key of
//! the architecture that is neither read nor known to be harmless is refused, so that none is dropped.

mod rope;

use std::cell::RefCell;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value, json};

use super::architectures::{Architecture, Windows};
use super::directory::Directory;
use super::metadata::Metadata;
use super::parts::Parts;
use crate::error::{Error, ErrorKind, Result};

/// Keys of an architecture that change nothing of what is computed.
const HARMLESS: [&str; 2] = ["vocab_size", "tensor_data_layout"];

/// The keys of an architecture, and which of them were read.
struct ArchitectureKeys<'a> {
    metadata: &'a Metadata<'a>,
    prefix: &'static str,
    read: RefCell<FxHashSet<String>>,
}

impl ArchitectureKeys<'_> {
    fn key(&self, name: &str) -> String {
        let key = format!("{}.{name}", self.prefix);
        self.read.borrow_mut().insert(key.clone());
        key
    }

    fn size(&self, name: &str) -> Result<Option<usize>> {
        self.metadata.size_of_layers(&self.key(name))
    }

    fn required(&self, name: &str) -> Result<usize> {
        self.size(name)?.filter(|number| *number > 0).ok_or_else(|| self.missing(name))
    }

    fn required_number(&self, name: &str) -> Result<f64> {
        self.number(name)?.ok_or_else(|| self.missing(name))
    }

    fn missing(&self, name: &str) -> Error {
        let message = format!("the metadata have no `{}`, or it is 0", self.key(name));
        Error::new(ErrorKind::Model, message)
            .with_help("get a complete copy of the file, or convert the model again")
    }

    fn number(&self, name: &str) -> Result<Option<f64>> {
        self.metadata.number(&self.key(name))
    }

    fn text(&self, name: &str) -> Result<Option<&str>> {
        self.metadata.text(&self.key(name))
    }

    fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.metadata.flag(&self.key(name))
    }

    /// The error for a key whose value is not supported.
    fn refused(&self, name: &str, reason: &str) -> Error {
        let message = format!("the metadata `{}.{name}` {reason}", self.prefix);
        Error::new(ErrorKind::Model, message)
            .with_help("a model that says this computes something else: load it from safetensors")
    }

    /// The error for a key that contradicts the rest of the file.
    fn damaged(&self, name: &str, reason: &str) -> Error {
        Error::new(ErrorKind::Model, format!("the metadata `{}.{name}` {reason}", self.prefix))
            .with_help("get a complete copy of the file")
    }

    /// Errors on a key that nobody has read.
    fn refuse_others(&self) -> Result<()> {
        let read = self.read.borrow();
        let prefix = format!("{}.", self.prefix);
        for (key, value) in self.metadata.0.entries() {
            let Ok(key) = std::str::from_utf8(key) else { continue };
            let Some(name) = key.strip_prefix(&prefix) else { continue };
            if !read.contains(key) && !HARMLESS.contains(&name) {
                let message = format!("the metadata `{key}` ({value:?}) is not known");
                return Err(Error::new(ErrorKind::Model, message).with_help(
                    "it may change what the model computes: load the model from safetensors",
                ));
            }
        }
        Ok(())
    }
}

/// The object of a `config.json`.
pub(super) fn config_json(
    metadata: &Metadata<'_>,
    architecture: &Architecture,
    directory: &Directory,
    parts: &Parts,
) -> Result<Value> {
    let keys =
        ArchitectureKeys { metadata, prefix: architecture.prefix(), read: RefCell::default() };
    let Some(vocab) = directory.find("token_embd.weight").and_then(|t| t.shape.first()) else {
        return Err(Error::new(ErrorKind::Model, "there is no tensor `token_embd.weight`")
            .with_help("the file may hold a vocabulary alone, or be cut short"));
    };
    let mut config = Map::new();
    let mut set = |key: &str, value: Value| {
        config.insert(key.to_owned(), value);
    };
    let (hidden, heads) =
        (keys.required("embedding_length")?, keys.required("attention.head_count")?);
    let layers = keys.required("block_count")?;
    if layers > directory.tensors.len() {
        let reason = format!("is {layers}: more layers than the file has tensors");
        return Err(keys.damaged("block_count", &reason));
    }
    set("model_type", json!(architecture.model_type));
    set("vocab_size", json!(vocab));
    set("hidden_size", json!(hidden));
    set("num_hidden_layers", json!(layers));
    set("num_attention_heads", json!(heads));
    set("num_key_value_heads", json!(keys.size("attention.head_count_kv")?.unwrap_or(heads)));
    set("intermediate_size", json!(keys.required("feed_forward_length")?));
    let context = keys.required("context_length")?;
    set("max_position_embeddings", json!(context));
    let head_width = keys.size("attention.key_length")?.unwrap_or(hidden / heads);
    for (name, size) in [("embedding_length", hidden), ("attention.key_length", head_width)] {
        if size > directory.greatest_dimension() {
            return Err(keys.damaged(name, &format!("is {size}: no tensor is so wide")));
        }
    }
    if keys.size("attention.value_length")?.is_some_and(|width| width != head_width) {
        return Err(keys.refused("attention.value_length", "differs from `attention.key_length`"));
    }
    set("head_dim", json!(head_width));
    let (own, name) = architecture.eps;
    set(name, json!(keys.required_number(own)?));
    set("rope_theta", json!(keys.number("rope.freq_base")?.unwrap_or(10_000.0)));
    let rotated = keys.size("rope.dimension_count")?.unwrap_or(head_width);
    if rotated > head_width {
        return Err(keys.refused("rope.dimension_count", "is more than the width of a head"));
    }
    set("partial_rotary_factor", json!(ratio(rotated, head_width)));
    set("tie_word_embeddings", json!(directory.find("output.weight").is_none()));
    let has_bias = |stem: &&str| directory.find(&format!("blk.0.{stem}.bias")).is_some();
    for (name, stems) in architecture.biases {
        set(name, json!(stems.iter().any(has_bias)));
    }
    for number in architecture.numbers {
        match keys.number(number.own)? {
            Some(value) => set(number.name, json!(value)),
            None if number.is_required => return Err(keys.missing(number.own)),
            None => {}
        }
    }
    if let Some(id) = metadata.size("tokenizer.ggml.bos_token_id")? {
        set("bos_token_id", json!(id));
    }
    // Ends of a text, of a turn, of a message.
    let ends = ["eos", "eot", "eom"].map(|key| format!("tokenizer.ggml.{key}_token_id"));
    let ends: Vec<Option<usize>> =
        ends.iter().map(|key| metadata.size(key)).collect::<Result<_>>()?;
    let mut ends: Vec<usize> = ends.into_iter().flatten().collect();
    ends.dedup();
    set("eos_token_id", json!(ends));
    experts(&keys, architecture, &mut set)?;
    windows(&keys, architecture, layers, &mut set)?;
    match architecture.model_type {
        "gemma2" | "gemma3_text" => {
            gemma(&keys, architecture, (layers, hidden / heads, head_width), &mut set)?;
        }
        "granite" => granite(&keys, head_width, &mut set)?,
        _ => {}
    }
    if let Some(scaling) = rope::scaling(&keys, directory, parts, context)? {
        set("rope_scaling", scaling);
    }
    keys.refuse_others()?;
    Ok(Value::Object(config))
}

/// A factor of `whole` whose product, rounded down, is `part`.
fn ratio(part: usize, whole: usize) -> f64 {
    let ratio = part as f64 / whole as f64;
    if (whole as f64 * ratio) as usize == part { ratio } else { ratio.next_up() }
}

fn experts(
    keys: &ArchitectureKeys<'_>,
    architecture: &Architecture,
    set: &mut impl FnMut(&str, Value),
) -> Result<()> {
    let (count, used) = (keys.size("expert_count")?, keys.size("expert_used_count")?);
    let width = keys.size("expert_feed_forward_length")?;
    match architecture.model_type {
        "mixtral" => {
            set("num_local_experts", json!(count));
            set("num_experts_per_tok", json!(used));
        }
        "qwen3_moe" => {
            set("num_experts", json!(count));
            set("num_experts_per_tok", json!(used));
            set("moe_intermediate_size", json!(width));
            // The file does not say so; llama.cpp does it for all.
            set("norm_topk_prob", json!(true));
        }
        _ if count.unwrap_or(0) > 0 => return Err(keys.refused("expert_count", "is not 0")),
        _ => {}
    }
    Ok(())
}

fn windows(
    keys: &ArchitectureKeys<'_>,
    architecture: &Architecture,
    layers: usize,
    set: &mut impl FnMut(&str, Value),
) -> Result<()> {
    /// The window of Gemma 2, which its first files do not state.
    const OF_GEMMA2: usize = 4096;
    const WINDOW: &str = "attention.sliding_window";
    let window = keys.size(WINDOW)?.filter(|window| *window > 0);
    match (&architecture.windows, window) {
        (Windows::Never, Some(_)) => Err(keys.refused(WINDOW, "is not known of this architecture")),
        (Windows::Never, None) => Ok(()),
        (Windows::All, window) => {
            if architecture.model_type == "llama" && window.is_some() {
                // Llama's own layers have none: the layers are Mistral's.
                set("model_type", json!("mistral"));
            }
            if architecture.model_type != "llama" || window.is_some() {
                set("sliding_window", json!(window));
            }
            Ok(())
        }
        (Windows::AllButEvery(period), mut window) => {
            match architecture.model_type {
                "gemma2" => window = window.or(Some(OF_GEMMA2)),
                // Layers with a window alone have rotary positions.
                "cohere2" if window.is_none() => return Err(keys.missing(WINDOW)),
                _ => {}
            }
            let types = layer_types(keys, layers, *period, window)?;
            set("sliding_window", json!(window));
            set("layer_types", json!(types));
            Ok(())
        }
    }
}

/// `layer_types` of a `config.json`.
fn layer_types(
    keys: &ArchitectureKeys<'_>,
    layers: usize,
    period: usize,
    window: Option<usize>,
) -> Result<Vec<&'static str>> {
    const PATTERN: &str = "attention.sliding_window_pattern";
    let key = keys.key(PATTERN);
    let windowed: Vec<bool> = match keys.metadata.flags(&key) {
        Ok(Some(flags)) => flags,
        // An integer is another period; 0 stands for all layers.
        Ok(None) | Err(_) => {
            let period = keys.size(PATTERN)?.unwrap_or(period);
            (0..layers).map(|layer| period == 0 || (layer + 1) % period != 0).collect()
        }
    };
    if windowed.len() < layers {
        return Err(keys.refused(PATTERN, &format!("does not say it of all {layers} layers")));
    }
    let type_of = |windowed: &bool| match *windowed && window.is_some() {
        true => "sliding_attention",
        false => "full_attention",
    };
    Ok(windowed[..layers].iter().map(type_of).collect())
}

/// Constants that llama.cpp chooses by the size of a Gemma model.
fn gemma(
    keys: &ArchitectureKeys<'_>,
    architecture: &Architecture,
    (layers, width_of_heads, head_width): (usize, usize, usize),
    set: &mut impl FnMut(&str, Value),
) -> Result<()> {
    /// The layers of Gemma 2 27B and of Gemma 3 27B, whose scale is that of the width divided by heads.
    const LAYERS_OF_27B: [(&str, usize); 2] = [("gemma2", 46), ("gemma3_text", 62)];
    let is_27b = LAYERS_OF_27B.contains(&(architecture.model_type, layers));
    let scalar = if is_27b { width_of_heads } else { head_width };
    set("query_pre_attn_scalar", json!(scalar));
    set("hidden_activation", json!("gelu_pytorch_tanh"));
    if architecture.model_type == "gemma3_text" {
        let theta = keys.number("rope.freq_base_swa")?.unwrap_or(10_000.0);
        set("rope_local_base_freq", json!(theta));
    }
    Ok(())
}

/// A scale that files leave out, and a switch of rotary positions.
fn granite(
    keys: &ArchitectureKeys<'_>,
    head_width: usize,
    set: &mut impl FnMut(&str, Value),
) -> Result<()> {
    const ROPE: &str = "rope.scaling.finetuned";
    if keys.flag(ROPE)? == Some(false) {
        return Err(keys.refused(ROPE, "is false: the model has no rotary positions"));
    }
    if keys.number("attention.scale")?.is_none() {
        set("attention_multiplier", json!(1.0 / (head_width as f64).sqrt()));
    }
    Ok(())
}
