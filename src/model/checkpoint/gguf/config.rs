//! The shape and the constants of a model in the metadata of a GGUF file, as a `config.json`.
//!
//! The result goes through the reader of `config.json`, which refuses what it does not know. Here a key of
//! the architecture that is neither read nor known to be harmless is refused, so that none is dropped.

use std::borrow::Cow;
use std::cell::RefCell;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value, json};

use super::super::stored_tensor::EncodedNumbers;
use super::architectures::Architecture;
use super::directory::{Directory, TensorData};
use super::metadata::Metadata;
use crate::error::{Error, ErrorKind, Result};

/// Keys of an architecture that change nothing of what is computed.
const HARMLESS: [&str; 3] = ["vocab_size", "tensor_data_layout", "rope.scaling.finetuned"];

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
        let key = self.key(name);
        self.metadata.size_of_layers(&key)?.filter(|number| *number > 0).ok_or_else(|| {
            let message = format!("the metadata have no `{key}`, or it is 0");
            Error::new(ErrorKind::Model, message)
                .with_help("get a complete copy of the file, or convert the model again")
        })
    }

    fn number(&self, name: &str) -> Result<Option<f64>> {
        self.metadata.number(&self.key(name))
    }

    fn text(&self, name: &str) -> Result<Option<&str>> {
        self.metadata.text(&self.key(name))
    }

    /// The error for a key whose value is not supported.
    fn refused(&self, name: &str, reason: &str) -> Error {
        let message = format!("the metadata `{}.{name}` {reason}", self.prefix);
        Error::new(ErrorKind::Model, message)
            .with_help("a model that says this computes something else: load it from safetensors")
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
    file: &[u8],
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
    set("model_type", json!(architecture.model_type));
    set("vocab_size", json!(vocab));
    set("hidden_size", json!(hidden));
    set("num_hidden_layers", json!(layers));
    set("num_attention_heads", json!(heads));
    set("num_key_value_heads", json!(keys.size("attention.head_count_kv")?.unwrap_or(heads)));
    set("intermediate_size", json!(keys.required("feed_forward_length")?));
    set("max_position_embeddings", json!(keys.required("context_length")?));
    let head_width = keys.size("attention.key_length")?.unwrap_or(hidden / heads);
    if keys.size("attention.value_length")?.is_some_and(|width| width != head_width) {
        return Err(keys.refused("attention.value_length", "differs from `attention.key_length`"));
    }
    set("head_dim", json!(head_width));
    if let Some(eps) = keys.number("attention.layer_norm_rms_epsilon")? {
        set("rms_norm_eps", json!(eps));
    }
    set("rope_theta", json!(keys.number("rope.freq_base")?.unwrap_or(10_000.0)));
    let rotated = keys.size("rope.dimension_count")?.unwrap_or(head_width);
    if rotated != head_width {
        set("partial_rotary_factor", json!(rotated as f64 / head_width as f64));
    }
    set("tie_word_embeddings", json!(directory.find("output.weight").is_none()));
    let has_bias = |stem: &str| directory.find(&format!("blk.0.{stem}.bias")).is_some();
    match architecture.model_type {
        "llama" | "granite" | "smollm3" => {
            set("attention_bias", json!(has_bias("attn_q") || has_bias("attn_output")));
            set("mlp_bias", json!(has_bias("ffn_down")));
        }
        "qwen3" | "qwen3_moe" | "olmo2" | "gemma2" | "gemma3_text" | "glm4" => {
            set("attention_bias", json!(has_bias("attn_q")));
        }
        _ => {}
    }
    for (own, name) in architecture.numbers {
        if let Some(number) = keys.number(own)? {
            set(name, json!(number));
        }
    }
    for (key, name) in [("bos", "bos_token_id"), ("eos", "eos_token_id")] {
        if let Some(id) = metadata.size(&format!("tokenizer.ggml.{key}_token_id"))? {
            set(name, json!(id));
        }
    }
    experts(&keys, architecture, &mut set)?;
    window(&keys, architecture, &mut set)?;
    gemma(&keys, architecture, (layers, hidden / heads, head_width), &mut set)?;
    if let Some(scaling) = rope_scaling(&keys, directory, file)? {
        set("rope_scaling", scaling);
    }
    keys.refuse_others()?;
    Ok(Value::Object(config))
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
            set("norm_topk_prob", json!(true));
        }
        _ if count.unwrap_or(0) > 0 => return Err(keys.refused("expert_count", "is not 0")),
        _ => {}
    }
    Ok(())
}

fn window(
    keys: &ArchitectureKeys<'_>,
    architecture: &Architecture,
    set: &mut impl FnMut(&str, Value),
) -> Result<()> {
    let window = keys.size("attention.sliding_window")?.filter(|window| *window > 0);
    match (architecture.model_type, window) {
        ("llama", Some(window)) => {
            // Llama's own layers have none: the layers are Mistral's.
            set("model_type", json!("mistral"));
            set("sliding_window", json!(window));
        }
        ("qwen2" | "qwen3" | "qwen3_moe", Some(_)) => {
            return Err(keys.refused("attention.sliding_window", "is not known of this family"));
        }
        (_, Some(window)) => set("sliding_window", json!(window)),
        ("mixtral" | "phi3", None) => set("sliding_window", Value::Null),
        (_, None) => {}
    }
    Ok(())
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
    if !architecture.adds_one_to_norms {
        return Ok(());
    }
    let is_27b = LAYERS_OF_27B.contains(&(architecture.model_type, layers));
    let scalar = if is_27b { width_of_heads } else { head_width };
    set("query_pre_attn_scalar", json!(scalar));
    set("hidden_activation", json!("gelu_pytorch_tanh"));
    if architecture.model_type == "gemma3_text" {
        let theta = keys.number("rope.freq_base_swa")?.unwrap_or(10_000.0);
        set("rope_local_base_freq", json!(theta));
        let pattern = keys.size("attention.sliding_window_pattern")?.unwrap_or(6);
        set("sliding_window_pattern", json!(pattern));
    }
    Ok(())
}

/// `rope_scaling` of a `config.json`.
fn rope_scaling(
    keys: &ArchitectureKeys<'_>,
    directory: &Directory,
    file: &[u8],
) -> Result<Option<Value>> {
    const KIND: &str = "rope.scaling.type";
    let kind = keys.text(KIND)?.unwrap_or("none");
    // Older files have a factor of linear scaling without its type.
    let linear = keys.number("rope.scale_linear")?;
    let factor = keys.number("rope.scaling.factor")?.or(linear).filter(|factor| *factor != 0.0);
    let original = keys.size("rope.scaling.original_context_length")?;
    let attention = keys.number("rope.scaling.attn_factor")?;
    let log_multiplier = keys.number("rope.scaling.yarn_log_multiplier")?;
    if log_multiplier.is_some_and(|number| number != 0.0) {
        return Err(keys.refused("rope.scaling.yarn_log_multiplier", "is not 0"));
    }
    let numbers = |name: &str| directory.find(name).map(|tensor| tensor_numbers(tensor, file));
    if let Some(factors) = numbers("rope_freqs.weight") {
        return llama3_scaling(keys, &factors).map(Some);
    }
    let long = numbers("rope_factors_long.weight");
    if let (Some(long), Some(short)) = (long, numbers("rope_factors_short.weight")) {
        let mut scaling =
            json!({"rope_type": "longrope", "long_factor": long, "short_factor": short});
        if let Some(original) = original {
            scaling["original_max_position_embeddings"] = json!(original);
        }
        if let Some(attention) = attention {
            scaling["attention_factor"] = json!(attention);
        }
        return Ok(Some(scaling));
    }
    match (kind, factor) {
        ("none", None | Some(1.0)) | ("linear", None | Some(1.0)) => Ok(None),
        ("linear", Some(factor)) | ("none", Some(factor)) => {
            Ok(Some(json!({"rope_type": "linear", "factor": factor})))
        }
        ("yarn", Some(factor)) => {
            let mut scaling = json!({"rope_type": "yarn", "factor": factor});
            if let Some(original) = original {
                scaling["original_max_position_embeddings"] = json!(original);
            }
            if let Some(attention) = attention.filter(|factor| *factor != 1.0) {
                scaling["attention_factor"] = json!(attention);
            }
            Ok(Some(scaling))
        }
        _ => Err(keys.refused(KIND, &format!("is `{kind}`"))),
    }
}

fn tensor_numbers(tensor: &TensorData, file: &[u8]) -> Vec<f32> {
    EncodedNumbers::new(tensor.kind, Cow::Borrowed(&file[tensor.bytes.clone()])).to_f32()
}

/// Llama 3's scaling, of which the file holds the divisor of each frequency alone: found by trying the
/// settings of the models that have one.
fn llama3_scaling(keys: &ArchitectureKeys<'_>, factors: &[f32]) -> Result<Value> {
    const LOW: f64 = 1.0;
    const HIGH: f64 = 4.0;
    const ORIGINAL: f64 = 8192.0;
    /// Rounding of single-precision factors.
    const NEAR: f64 = 1e-5;
    let theta = keys.number("rope.freq_base")?.unwrap_or(10_000.0);
    let width = factors.len() as f64 * 2.0;
    let greatest = factors.iter().copied().fold(1.0, f32::max);
    let factor = f64::from(greatest);
    let is_near = |(index, found): (usize, &f32)| {
        let turn = std::f64::consts::TAU * theta.powf(2.0 * index as f64 / width);
        let expected = if turn < ORIGINAL / HIGH {
            1.0
        } else if turn > ORIGINAL / LOW {
            factor
        } else {
            let smooth = (ORIGINAL / turn - LOW) / (HIGH - LOW);
            1.0 / ((1.0 - smooth) / factor + smooth)
        };
        (f64::from(*found) / expected - 1.0).abs() < NEAR
    };
    if !factors.iter().enumerate().all(is_near) {
        let message = "the factors in `rope_freqs.weight` are not those of a known scaling";
        return Err(Error::new(ErrorKind::Model, message)
            .with_help("load the model from safetensors, whose config.json names the scaling"));
    }
    Ok(json!({
        "rope_type": "llama3", "factor": factor, "low_freq_factor": LOW, "high_freq_factor": HIGH,
        "original_max_position_embeddings": ORIGINAL as u64,
    }))
}
