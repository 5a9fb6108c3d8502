//! `config.json` of the Llama family: shape and constants, and the refusal of what is not
//! supported.
//!
//! A key that is overlooked gives wrong text without an error. So every key is read, known to be
//! harmless, or refused ([`keys`]). The default of an absent key is that of the model's own type in
//! the `transformers` library ([`FAMILIES`]).

mod errors;
mod fields;
mod keys;
mod rope;

use serde_json::{Map, Value};

use super::checkpoint::ModelFiles;
use crate::error::Result;
use errors::{SUPPORTED, config_error, refused, shown};
use fields::ConfigFields;
pub use rope::Llama3Rope;

/// The file's name in a model folder.
const FILE: &str = "config.json";

/// Shape and constants of a decoder of the Llama family. A flat record of `config.json`, with
/// Hugging Face's names.
///
/// More than 12 fields: one a key of `config.json`.
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
    /// Attention window of some layers, in tokens. Sequences are no longer than that here, so every
    /// layer sees all of them.
    pub sliding_window: Option<usize>,
    /// Whether the logits use the embedding's weights.
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

/// Defaults of a model type for keys that `config.json` leaves out.
struct Family {
    name: &'static str,
    /// Heads of keys and values; `None`: as many as there are attention heads.
    kv_heads: Option<usize>,
    max_position_embeddings: usize,
    sliding_window: SlidingWindow,
    /// Biases on queries, keys and values that no key speaks of.
    qkv_bias: bool,
}

/// The layers of a model type that have an attention window.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SlidingWindow {
    /// None, unless the keys say so.
    Never,
    /// All, unless `sliding_window` is `null`.
    Always,
    /// Those from `max_window_layers` on, if `use_sliding_window` says so.
    Switched,
}

const FAMILIES: [Family; 3] = [
    Family {
        name: "llama",
        kv_heads: None,
        max_position_embeddings: 2048,
        sliding_window: SlidingWindow::Never,
        qkv_bias: false,
    },
    Family {
        name: "mistral",
        kv_heads: Some(8),
        max_position_embeddings: 4096 * 32,
        sliding_window: SlidingWindow::Always,
        qkv_bias: false,
    },
    Family {
        name: "qwen2",
        kv_heads: Some(32),
        max_position_embeddings: 32_768,
        sliding_window: SlidingWindow::Switched,
        qkv_bias: true,
    },
];

const DEFAULT_EPS: f64 = 1e-6;
const DEFAULT_WINDOW: usize = 4096;
const DEFAULT_WINDOW_LAYERS: usize = 28;

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

    /// The greatest length of a sequence in tokens: the model's context or its attention window.
    pub fn context_length(&self) -> usize {
        let most = self.max_position_embeddings;
        self.sliding_window.map_or(most, |window| window.min(most))
    }

    fn from_json(value: &Value) -> Result<Self> {
        let Value::Object(object) = value else {
            return Err(
                config_error("not an object").with_help("it must describe a Llama-family model")
            );
        };
        let fields = ConfigFields::new(object, "");
        let family = family(object)?;
        keys::check(object)?;
        only_causal_decoders(&fields)?;
        let heads = fields.required("num_attention_heads", 1)?;
        let hidden_size = fields.required("hidden_size", 1)?;
        let kv_heads = match family.kv_heads {
            Some(default) if !fields.has("num_key_value_heads") => default,
            _ => fields.size("num_key_value_heads")?.unwrap_or(heads),
        };
        let num_hidden_layers = fields.required("num_hidden_layers", 0)?;
        let max_position_embeddings =
            fields.size("max_position_embeddings")?.unwrap_or(family.max_position_embeddings);
        let (rope_theta, rope_scaling) = rope::read(&fields, max_position_embeddings)?;
        let at_least_0 = "it must be a number from 0";
        let eps = fields.number("rms_norm_eps", at_least_0, |eps| eps >= 0.0)?;
        let biases = fields.flag("attention_bias")?.unwrap_or(false);
        let config = Self {
            hidden_size,
            intermediate_size: fields.required("intermediate_size", 1)?,
            vocab_size: fields.required("vocab_size", 1)?,
            num_hidden_layers,
            num_attention_heads: heads,
            num_key_value_heads: kv_heads,
            head_dim: fields.size("head_dim")?.unwrap_or(hidden_size / heads),
            rms_norm_eps: eps.unwrap_or(DEFAULT_EPS),
            rope_theta,
            rope_scaling,
            max_position_embeddings,
            sliding_window: attention_window(&fields, family.sliding_window, num_hidden_layers)?,
            tie_word_embeddings: fields.flag("tie_word_embeddings")?.unwrap_or(false),
            qkv_bias: biases || family.qkv_bias,
            output_bias: biases,
            mlp_bias: fields.flag("mlp_bias")?.unwrap_or(false),
            bos_token_id: fields.token_ids("bos_token_id")?.first().copied(),
            eos_token_ids: fields.token_ids("eos_token_id")?,
        };
        config.check_shape()?;
        Ok(config)
    }

    fn check_shape(&self) -> Result<()> {
        let (heads, kv_heads) = (self.num_attention_heads, self.num_key_value_heads);
        if !heads.is_multiple_of(kv_heads) {
            let message =
                format!("{heads} attention heads cannot share {kv_heads} key-value heads");
            return Err(config_error(&message)
                .at_pointer("/num_key_value_heads")
                .with_help("the first must be a multiple of the second"));
        }
        if self.head_dim == 0 || !self.head_dim.is_multiple_of(2) {
            return Err(config_error(&format!("a head width of {} is not even", self.head_dim))
                .at_pointer("/head_dim")
                .with_help("rotary positions need an even one from 2"));
        }
        Ok(())
    }
}

fn family(config: &Map<String, Value>) -> Result<&'static Family> {
    let name = config.get("model_type").and_then(Value::as_str).unwrap_or("unknown");
    FAMILIES.iter().find(|family| family.name == name).ok_or_else(|| {
        let name = shown(&name.into());
        config_error(&format!("a model of type `{}` is not supported", name.trim_matches('"')))
            .at_pointer("/model_type")
            .with_help(SUPPORTED)
    })
}

/// Errors on models that are no causal decoders with SiLU and rotary positions.
fn only_causal_decoders(fields: &ConfigFields<'_>) -> Result<()> {
    let refused = |key: &str| match fields.object.get(key) {
        Some(value) => Err(refused(key, value, "is not supported")),
        None => Ok(()),
    };
    // Two names of one function.
    if !matches!(fields.text("hidden_act")?, None | Some("silu" | "swish")) {
        return refused("hidden_act");
    }
    if fields.flag("is_causal")? == Some(false) {
        return refused("is_causal");
    }
    if fields.flag("is_encoder_decoder")? == Some(true) {
        return refused("is_encoder_decoder");
    }
    // What earlier versions wrote for every model.
    if !matches!(fields.text("position_embedding_type")?, None | Some("absolute" | "rope")) {
        return refused("position_embedding_type");
    }
    Ok(())
}

/// The attention window, if some layer has one.
fn attention_window(
    fields: &ConfigFields<'_>,
    kind: SlidingWindow,
    layers: usize,
) -> Result<Option<usize>> {
    let stated = fields.size("sliding_window")?;
    let default = if fields.has("sliding_window") { stated } else { Some(DEFAULT_WINDOW) };
    let is_switched_on = fields.flag("use_sliding_window")?.unwrap_or(false);
    let full_layers = fields.integer("max_window_layers", 0)?.unwrap_or(DEFAULT_WINDOW_LAYERS);
    let mut by_type = false;
    let types = fields.list("layer_types")?;
    for layer in types.into_iter().flatten() {
        by_type |= match layer.as_str() {
            Some("full_attention") => false,
            Some("sliding_attention") => true,
            _ => {
                let wanted = "layers of full_attention and sliding_attention are supported";
                return Err(fields.wrong("layer_types", wanted));
            }
        };
    }
    let (window, is_used) = match kind {
        SlidingWindow::Never => (stated, true),
        SlidingWindow::Always => (default, true),
        SlidingWindow::Switched => {
            let window = default.filter(|_| is_switched_on);
            (window, types.map_or(layers > full_layers, |_| by_type))
        }
    };
    if by_type && window.is_none() {
        return Err(fields.wrong("layer_types", "a layer of sliding_attention needs a window"));
    }
    Ok(window.filter(|_| is_used))
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

    fn without(field: &str, fields: Value) -> Result<Config> {
        let mut config = base();
        if let (Value::Object(config), Value::Object(fields)) = (&mut config, fields) {
            config.remove(field);
            config.extend(fields);
        }
        Config::from_json(&config)
    }

    fn llama3(fields: Value) -> Value {
        let mut rope = json!({"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
            "high_freq_factor": 4.0});
        if let (Value::Object(rope), Value::Object(fields)) = (&mut rope, fields) {
            rope.extend(fields);
        }
        rope
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
            "use_sliding_window": false, "sliding_window": 4096, "rope_theta": 1e6,
            "num_key_value_heads": 2
        }))?;
        assert!(config.qkv_bias && !config.output_bias);
        assert_eq!((config.bos_token_id, config.eos_token_ids), (Some(2), vec![3, 4]));
        assert_eq!((config.head_dim, config.rope_theta), (16, 1e6));
        let config = with(json!({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5}}))?;
        assert_eq!(config.rope_theta, 5e5);
        let rope = llama3(json!({"original_max_position_embeddings": 8192}));
        let scaling = with(json!({"rope_scaling": rope}))?.rope_scaling;
        assert_eq!(scaling.map(|s| s.factor), Some(8.0));

        assert_eq!(without("rms_norm_eps", json!({}))?.rms_norm_eps, 1e-6);
        let context = |fields| {
            without("max_position_embeddings", fields).map(|config| config.max_position_embeddings)
        };
        assert_eq!(context(json!({}))?, 2048);
        let mistral = json!({"model_type": "mistral", "num_attention_heads": 16});
        assert_eq!(context(mistral.clone())?, 131_072);
        let qwen2 = json!({"model_type": "qwen2", "num_attention_heads": 32});
        assert_eq!(context(qwen2.clone())?, 32_768);
        assert_eq!(with(mistral)?.num_key_value_heads, 8);
        assert_eq!(with(qwen2)?.num_key_value_heads, 32);
        Ok(())
    }

    #[test]
    fn what_says_the_same_in_other_words_is_taken() -> Result<()> {
        assert!(with(json!({"hidden_act": "swish"})).is_ok());
        // Twice, and the same; other programs write both.
        let rope = llama3(json!({"type": "llama3", "rope_theta": 5e5}));
        let both = json!({"rope_scaling": rope, "rope_parameters": rope, "rope_theta": 5e5,
            "original_max_position_embeddings": 100});
        let config = with(both)?;
        assert_eq!(config.rope_theta, 5e5);
        let original = |config: &Config| {
            config.rope_scaling.map(|scaling| scaling.original_max_position_embeddings)
        };
        assert_eq!(original(&config), Some(100));
        // The context, where nothing else is said.
        let config = with(json!({"rope_scaling": llama3(json!({}))}))?;
        assert_eq!(original(&config), Some(512));
        Ok(())
    }

    #[test]
    fn a_window_is_a_bound_on_the_context() -> Result<()> {
        let mistral = |fields: Value| {
            let mut all = json!({"model_type": "mistral", "num_key_value_heads": 8,
                "max_position_embeddings": 32768});
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            with(all).map(|config| config.context_length())
        };
        assert_eq!(mistral(json!({}))?, 4096);
        assert_eq!(mistral(json!({"sliding_window": null}))?, 32768);
        assert_eq!(mistral(json!({"sliding_window": 100}))?, 100);
        assert_eq!(mistral(json!({"sliding_window": 40000}))?, 32768);
        // Mistral has no such switch.
        assert_eq!(mistral(json!({"sliding_window": 100, "use_sliding_window": false}))?, 100);
        let qwen2 = |fields: Value| {
            let mut all = json!({"model_type": "qwen2"});
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            mistral(all)
        };
        assert_eq!(qwen2(json!({"sliding_window": 100}))?, 32768);
        let on = |fields: Value| {
            let mut all = json!({"use_sliding_window": true, "sliding_window": 100});
            if let (Value::Object(all), Value::Object(fields)) = (&mut all, fields) {
                all.extend(fields);
            }
            qwen2(all)
        };
        // There are 5 layers.
        assert_eq!(on(json!({}))?, 32768);
        assert_eq!(on(json!({"max_window_layers": 5}))?, 32768);
        assert_eq!(on(json!({"max_window_layers": 4}))?, 100);
        assert_eq!(on(json!({"layer_types": ["full_attention"], "max_window_layers": 0}))?, 32768);
        assert_eq!(on(json!({"layer_types": ["full_attention", "sliding_attention"]}))?, 100);
        Ok(())
    }

    #[test]
    fn keys_of_real_models_that_change_nothing_are_read_over() -> Result<()> {
        with(json!({
            "_name_or_path": "x", "_attn_implementation_autoset": true, "architectures": ["A"],
            "attention_dropout": 0.1, "auto_map": {"AutoConfig": "x"}, "dtype": "bfloat16",
            "hidden_dropout": 0.0, "id2label": {"0": "a"}, "initializer_range": 0.02,
            "is_causal": true, "is_decoder": true, "keys_to_ignore_at_inference": ["x"],
            "layer_norm_eps": 1e-5, "max_length": 20, "max_window_layers": 28,
            "model_max_length": 4096, "num_experts": 1, "output_attentions": false,
            "pad_token_id": 0, "partial_rotary_factor": 1.0, "position_embedding_type": "absolute",
            "pretraining_tp": 2, "quantization_config": null, "rope_interleaved": false,
            "rope_scaling": null, "rope_parameters": {}, "tokenizer_class": "T", "top_p": 0.9,
            "torch_dtype": "float16", "transformers.js_config": {"dtype": "q4"},
            "transformers_version": "5.0", "unsloth_fixed": true, "use_bfloat16": true,
            "use_cache": true, "use_mrope": false
        }))
        .map(|_| ())
    }

    #[test]
    fn what_would_change_the_text_is_refused_by_name() {
        for (fields, expected) in [
            (json!({"model_type": "gemma2"}), "at /model_type: a model of type `gemma2`"),
            (json!({"hidden_act": "gelu"}), "at /hidden_act: `hidden_act`: \"gelu\" is not"),
            (json!({"num_local_experts": 8}), "at /num_local_experts: "),
            (json!({"quantization_config": {"bits": 4}}), "at /quantization_config: "),
            (json!({"is_causal": false}), "at /is_causal: `is_causal`: false is not supported"),
            (json!({"logits_scaling": 8}), "at /logits_scaling: `logits_scaling`: 8 is not"),
            (json!({"per_layer_config": {"0": {"head_dim": 4}}}), "at /per_layer_config: "),
            (json!({"final_logit_softcapping": 30.0}), "this key is not known; take it out"),
            (json!({"use_qk_norm": true}), "at /use_qk_norm: "),
            (json!({"attention_multiplier": 0.1}), "at /attention_multiplier: "),
            (json!({"layer_types": ["chunked_attention"]}), "at /layer_types: `layer_types` is"),
            (
                json!({"layer_types": ["sliding_attention"]}),
                "at /layer_types: `layer_types` is [\"sliding_attention\"]; a layer of",
            ),
            (json!({"partial_rotary_factor": 0.5}), "at /partial_rotary_factor: "),
            // Rotary positions.
            (
                json!({"rope_scaling": {"type": "yarn"}}),
                "at /rope_scaling/type: rotary scaling of type `yarn` is not supported",
            ),
            (
                json!({"rope_parameters": {"rope_type": "linear", "factor": 2}}),
                "at /rope_parameters/rope_type: rotary scaling of type `linear` is not supported",
            ),
            (
                json!({"rope_scaling": {"type": "llama3"}}),
                "at /rope_scaling/factor: `factor` is missing; `llama3` needs factor, low_freq_f",
            ),
            (json!({"rope_scaling": "linear"}), "at /rope_scaling: `rope_scaling` is \"linear\""),
            (json!({"rope_scaling": []}), "at /rope_scaling: `rope_scaling` is []; it must be an"),
            (json!({"rope_scaling": {"type": 5}}), "at /rope_scaling/type: `type` is 5; it must"),
            (
                json!({"rope_scaling": {"type": "default", "rope_type": "llama3"}}),
                "at /rope_scaling/rope_type: `rope_type` is \"llama3\", and `type` is \"default\"",
            ),
            (
                json!({"rope_scaling": {"factor": 8.0}}),
                "at /rope_scaling/factor: `factor`: 8.0: rotary scaling of type `default` has none",
            ),
            (
                json!({"rope_parameters": {"full_attention": {"rope_theta": 1e4}}}),
                "at /rope_parameters/full_attention: ",
            ),
            (
                json!({"rope_scaling": llama3(json!({"factor": 0}))}),
                "at /rope_scaling/factor: `factor` is 0; it must be a number above 0",
            ),
            (json!({"rope_scaling": llama3(json!({"factor": -8.0}))}), "`factor` is -8.0"),
            (
                json!({"rope_scaling": llama3(json!({"low_freq_factor": 4.0}))}),
                "`high_freq_factor` is 4.0; it must be above `low_freq_factor`",
            ),
            (
                json!({"rope_theta": 1e4, "rope_parameters": {"rope_theta": 1e6}}),
                "at /rope_parameters/rope_theta: it is 1000000 here, and 10000 at /rope_theta; leave",
            ),
            (
                json!({"rope_scaling": llama3(json!({})), "rope_parameters": {"rope_type": "default"}}),
                "at /rope_scaling: `rope_scaling` says otherwise than `rope_parameters`; leave one",
            ),
            (
                json!({"original_max_position_embeddings": 100, "rope_parameters":
                    llama3(json!({"original_max_position_embeddings": 200}))}),
                "it is 200 here, and 100 at /original_max_position_embeddings",
            ),
            // Values that are out of range or of another type.
            (json!({"hidden_size": "64"}), "at /hidden_size: `hidden_size` is \"64\"; it must be"),
            (json!({"num_attention_heads": 0}), "at /num_attention_heads: "),
            (json!({"head_dim": 1u64 << 40}), "at /head_dim: `head_dim` is 1099511627776; it must"),
            (json!({"rope_theta": -1.0}), "at /rope_theta: `rope_theta` is -1"),
            (json!({"num_key_value_heads": 3}), "8 attention heads cannot share 3"),
            (json!({"head_dim": 7}), "at /head_dim: a head width of 7 is not even"),
            (json!({"rms_norm_eps": "x"}), "at /rms_norm_eps: `rms_norm_eps` is \"x\"; it must be"),
            (json!({"rms_norm_eps": -1}), "at /rms_norm_eps: `rms_norm_eps` is -1; it must be"),
            (json!({"eos_token_id": -1}), "at /eos_token_id: `eos_token_id` is -1; it must be"),
            (json!({"tie_word_embeddings": "yes"}), "at /tie_word_embeddings: "),
            (json!({"sliding_window": 0}), "at /sliding_window: `sliding_window` is 0; it must be"),
        ] {
            let shown = fields.to_string();
            let error = with(fields).map_err(|e| e.to_string());
            assert!(
                matches!(&error, Err(e) if e.contains(expected)),
                "{shown}: {error:?} lacks {expected}"
            );
        }
        let error = without("vocab_size", json!({})).map_err(|e| e.to_string());
        let expected =
            "at /vocab_size: `vocab_size` is missing; it must describe a Llama-family model";
        assert_eq!(error.err().as_deref(), Some(expected));
    }
}
