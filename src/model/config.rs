//! What `config.json` says of a Llama-family model, and what of it is not supported.

use serde::Deserialize;
use serde_json::Value;

use super::files::ModelFiles;
use crate::error::{Error, ErrorKind, Result};

const FILE: &str = "config.json";

/// No size of a model is beyond this; the product of two fits every integer.
const MOST: usize = 1 << 30;

/// Shape and constants of a decoder of the Llama family; the names are Hugging Face's.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width inside the feed-forward block.
    pub intermediate_size: usize,
    /// Width of the logits; the tokenizer may know fewer tokens.
    pub vocab_size: usize,
    /// Decoder blocks.
    pub num_hidden_layers: usize,
    /// Heads of the queries.
    pub num_attention_heads: usize,
    /// Heads of keys and values, each shared by as many query heads as the division gives.
    pub num_key_value_heads: usize,
    /// Width of one head.
    pub head_dim: usize,
    /// Added to the mean square in RMSNorm.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Llama 3's stretching of the rotary frequencies.
    pub rope_scaling: Option<Llama3Rope>,
    /// The longest sequence, in tokens.
    pub max_position_embeddings: usize,
    /// Do the logits use the embedding's weights?
    pub tie_word_embeddings: bool,
    /// Biases on the projections to queries, keys and values.
    pub qkv_bias: bool,
    /// Bias on the projection out of attention.
    pub output_bias: bool,
    /// Biases in the feed-forward block.
    pub mlp_bias: bool,
    /// The token that begins every text, if one does.
    pub bos_token_id: Option<u32>,
    /// The tokens that end a text.
    pub eos_token_ids: Vec<u32>,
}

/// Llama 3.1's rotary scaling: long wavelengths are slowed by `factor`, short ones kept, those in
/// between blended.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct Llama3Rope {
    /// By how much long wavelengths are slowed.
    pub factor: f64,
    /// Wavelengths above the original context divided by this are long.
    pub low_freq_factor: f64,
    /// Wavelengths below the original context divided by this are short.
    pub high_freq_factor: f64,
    /// The context that the model was first trained on.
    pub original_max_position_embeddings: usize,
}

/// `config.json` as it stands; further fields are looked at by `refuse_unsupported`.
#[derive(Deserialize)]
struct Raw {
    model_type: String,
    hidden_size: usize,
    intermediate_size: usize,
    vocab_size: usize,
    num_hidden_layers: usize,
    num_attention_heads: usize,
    num_key_value_heads: Option<usize>,
    head_dim: Option<usize>,
    rms_norm_eps: f64,
    rope_theta: Option<f64>,
    rope_scaling: Option<Value>,
    /// The newer name of `rope_scaling`, with `rope_theta` in it.
    rope_parameters: Option<Value>,
    max_position_embeddings: usize,
    tie_word_embeddings: Option<bool>,
    attention_bias: Option<bool>,
    mlp_bias: Option<bool>,
    bos_token_id: Option<TokenIds>,
    eos_token_id: Option<TokenIds>,
}

/// One id or several.
#[derive(Deserialize)]
#[serde(untagged)]
enum TokenIds {
    One(u32),
    Many(Vec<u32>),
}

impl From<TokenIds> for Vec<u32> {
    fn from(ids: TokenIds) -> Self {
        match ids {
            TokenIds::One(id) => vec![id],
            TokenIds::Many(ids) => ids,
        }
    }
}

impl Config {
    /// Reads `config.json`.
    ///
    /// Errors on other architectures and on features that would change the model's text if they
    /// were left out.
    pub(super) fn read(files: &ModelFiles) -> Result<Self> {
        files.require(FILE)?;
        let value = files.json(FILE)?.unwrap_or_default();
        Self::from_json(&value).map_err(|error| error.in_file(files.path(FILE)))
    }

    fn from_json(value: &Value) -> Result<Self> {
        refuse_unsupported(value)?;
        let raw = Raw::deserialize(value).map_err(|reason| {
            error(&reason.to_string()).with_help("it must describe a Llama-family model")
        })?;
        let rope = raw.rope_parameters.or(raw.rope_scaling).filter(|rope| !rope.is_null());
        let rope_theta = rope.as_ref().and_then(|rope| rope.get("rope_theta")?.as_f64());
        let heads = raw.num_attention_heads;
        let biases = raw.attention_bias.unwrap_or(false);
        let config = Self {
            hidden_size: raw.hidden_size,
            intermediate_size: raw.intermediate_size,
            vocab_size: raw.vocab_size,
            num_hidden_layers: raw.num_hidden_layers,
            num_attention_heads: heads,
            num_key_value_heads: raw.num_key_value_heads.unwrap_or(heads),
            head_dim: raw.head_dim.unwrap_or(raw.hidden_size / heads.max(1)),
            rms_norm_eps: raw.rms_norm_eps,
            rope_theta: raw.rope_theta.or(rope_theta).unwrap_or(10_000.0),
            rope_scaling: rope.as_ref().map(rope_scaling).transpose()?.flatten(),
            max_position_embeddings: raw.max_position_embeddings,
            tie_word_embeddings: raw.tie_word_embeddings.unwrap_or(false),
            // Qwen2 always has biases on queries, keys and values, and says so nowhere.
            qkv_bias: biases || raw.model_type == "qwen2",
            output_bias: biases,
            mlp_bias: raw.mlp_bias.unwrap_or(false),
            bos_token_id: raw.bos_token_id.and_then(|ids| Vec::from(ids).first().copied()),
            eos_token_ids: raw.eos_token_id.map(Vec::from).unwrap_or_default(),
        };
        config.check_shape()?;
        Ok(config)
    }

    fn check_shape(&self) -> Result<()> {
        let sizes = [
            ("hidden_size", self.hidden_size),
            ("intermediate_size", self.intermediate_size),
            ("vocab_size", self.vocab_size),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("head_dim", self.head_dim),
            ("max_position_embeddings", self.max_position_embeddings),
        ];
        if let Some((name, size)) = sizes.iter().find(|size| !(1..=MOST).contains(&size.1)) {
            return Err(error(&format!("`{name}` is {size}"))
                .at_pointer(format!("/{name}"))
                .with_help(format!("it must be a number from 1 to {MOST}")));
        }
        if !(self.rope_theta > 0.0 && self.rope_theta.is_finite()) {
            return Err(error(&format!("`rope_theta` is {}", self.rope_theta))
                .at_pointer("/rope_theta")
                .with_help("it must be a number above 0"));
        }
        let (heads, kv_heads) = (self.num_attention_heads, self.num_key_value_heads);
        if !heads.is_multiple_of(kv_heads) {
            let message =
                format!("{heads} attention heads cannot share {kv_heads} key-value heads");
            return Err(error(&message)
                .at_pointer("/num_key_value_heads")
                .with_help("the first must be a multiple of the second"));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Err(error(&format!("a head width of {} is odd", self.head_dim))
                .at_pointer("/head_dim")
                .with_help("rotary positions need an even one"));
        }
        Ok(())
    }
}

fn error(message: &str) -> Error {
    Error::new(ErrorKind::Model, message)
}

const SUPPORTED: &str = "models of type llama, mistral and qwen2 without such extras are supported";

/// Errors if the model is of another architecture, or has something that this one lacks.
fn refuse_unsupported(config: &Value) -> Result<()> {
    let model_type = config.get("model_type").and_then(Value::as_str).unwrap_or("unknown");
    if !["llama", "mistral", "qwen2"].contains(&model_type) {
        return Err(error(&format!("a model of type `{model_type}` is not supported"))
            .at_pointer("/model_type")
            .with_help(SUPPORTED));
    }
    // (field, is it on?): absent and null are off.
    let on = |field: &str, off: &[Value]| {
        config.get(field).is_some_and(|value| !value.is_null() && !off.contains(value))
    };
    // Qwen2 states the window's width even where it is off; Mistral has no such switch.
    let windowed = match config.get("use_sliding_window").and_then(Value::as_bool) {
        Some(used) => used,
        None => on("sliding_window", &[]),
    };
    let extras = [
        ("sliding_window", windowed),
        ("hidden_act", on("hidden_act", &["silu".into()])),
        ("quantization_config", on("quantization_config", &[])),
        ("num_local_experts", on("num_local_experts", &[0.into(), 1.into()])),
        ("num_experts", on("num_experts", &[0.into(), 1.into()])),
        ("partial_rotary_factor", on("partial_rotary_factor", &[1.into(), 1.0.into()])),
        ("logit_scale", on("logit_scale", &[1.into(), 1.0.into()])),
    ];
    match extras.iter().find(|extra| extra.1) {
        None => Ok(()),
        Some((field, _)) => {
            let message = format!("`{field}`: {} is not supported", config[field]);
            Err(error(&message).at_pointer(format!("/{field}")).with_help(SUPPORTED))
        }
    }
}

fn rope_scaling(rope: &Value) -> Result<Option<Llama3Rope>> {
    let kind = rope.get("rope_type").or(rope.get("type")).and_then(Value::as_str);
    match kind {
        None | Some("default") => Ok(None),
        Some("llama3") => Llama3Rope::deserialize(rope).map(Some).map_err(|reason| {
            error(&reason.to_string()).at_pointer("/rope_scaling").with_help(
                "`llama3` needs factor, low_freq_factor, high_freq_factor and \
                 original_max_position_embeddings",
            )
        }),
        Some(kind) => Err(error(&format!("rotary scaling of type `{kind}` is not supported"))
            .at_pointer("/rope_scaling/rope_type")
            .with_help("`default` and `llama3` are supported")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn base() -> Value {
        json!({
            "model_type": "llama", "hidden_size": 64, "intermediate_size": 172, "vocab_size": 512,
            "num_hidden_layers": 5, "num_attention_heads": 8, "rms_norm_eps": 1e-5,
            "max_position_embeddings": 512
        })
    }

    fn with(fields: Value) -> Result<Config> {
        let mut config = base();
        if let (Value::Object(config), Value::Object(fields)) = (&mut config, fields) {
            config.extend(fields);
        }
        Config::from_json(&config)
    }

    #[test]
    fn what_is_not_said_has_the_default_of_the_family() -> Result<()> {
        let config = with(json!({}))?;
        assert_eq!((config.num_key_value_heads, config.head_dim), (8, 8));
        assert_eq!((config.rope_theta, config.rope_scaling), (10_000.0, None));
        assert!(!config.tie_word_embeddings && !config.qkv_bias && !config.mlp_bias);
        assert_eq!((config.bos_token_id, config.eos_token_ids), (None, vec![]));
        let config = with(json!({
            "model_type": "qwen2", "eos_token_id": [3, 4], "bos_token_id": 2, "head_dim": 16,
            "use_sliding_window": false, "sliding_window": 4096, "rope_theta": 1e6
        }))?;
        assert!(config.qkv_bias && !config.output_bias);
        assert_eq!((config.bos_token_id, config.eos_token_ids), (Some(2), vec![3, 4]));
        assert_eq!((config.head_dim, config.rope_theta), (16, 1e6));
        let config = with(json!({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}))?;
        assert_eq!(config.rope_theta, 5e5);
        let rope = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0, "original_max_position_embeddings": 8192});
        let scaling = with(json!({"rope_scaling": rope}))?.rope_scaling;
        assert_eq!(scaling.map(|s| s.factor), Some(8.0));
        Ok(())
    }

    #[test]
    fn what_would_change_the_text_is_refused_by_name() {
        for (fields, expected) in [
            (json!({"model_type": "gemma2"}), "at /model_type: a model of type `gemma2`"),
            (json!({"sliding_window": 4096}), "at /sliding_window: `sliding_window`: 4096 is not"),
            (json!({"hidden_act": "gelu"}), "at /hidden_act: `hidden_act`: \"gelu\" is not"),
            (json!({"num_local_experts": 8}), "at /num_local_experts: "),
            (json!({"quantization_config": {"bits": 4}}), "at /quantization_config: "),
            (
                json!({"rope_scaling": {"type": "yarn"}}),
                "at /rope_scaling/rope_type: rotary scaling of type `yarn` is not supported",
            ),
            (json!({"rope_scaling": {"type": "llama3"}}), "at /rope_scaling: missing field"),
            (json!({"hidden_size": "64"}), "invalid type: string \"64\""),
            (json!({"num_attention_heads": 0}), "at /num_attention_heads: "),
            (json!({"head_dim": 1u64 << 40}), "at /head_dim: `head_dim` is 1099511627776; it must"),
            (json!({"rope_theta": -1.0}), "at /rope_theta: `rope_theta` is -1"),
            (json!({"num_key_value_heads": 3}), "8 attention heads cannot share 3"),
            (json!({"head_dim": 7}), "at /head_dim: a head width of 7 is odd"),
        ] {
            let error = with(fields).map_err(|e| e.to_string());
            assert!(
                matches!(&error, Err(e) if e.starts_with(expected)
                || e.contains(expected)),
                "{error:?} lacks {expected}"
            );
        }
    }
}
