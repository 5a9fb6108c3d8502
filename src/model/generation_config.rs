//! `generation_config.json`: the settings of generation that a model's maker recommends.
//!
//! vLLM and the `transformers` library take what a request does not say from there, and so do the
//! command line and the server here. A key is one of these:
//!
//! | keys | |
//! |---|---|
//! | `temperature`, `top_k`, `top_p`, `min_p`, `typical_p`, `repetition_penalty`, `do_sample` | defaults of sampling |
//! | `max_new_tokens` | the tokens that are written at most, where a request does not say |
//! | `eos_token_id` | the end tokens, which the vocabulary has already |
//! | ids, versions, how a cache is laid out, what is returned | harmless |
//! | all others, where they differ from "off" | [named](GenerationConfig::not_honoured), for a warning |

use std::ops::RangeInclusive;
use std::path::Path;

use serde_json::{Map, Value};

use super::checkpoint::ModelFiles;
use crate::error::{Error, ErrorKind, Result};
use crate::sampling::SamplingParams;

/// The file's name.
const FILE: &str = "generation_config.json";

/// Keys that bear on no text that is written here.
const HARMLESS: [&str; 17] = [
    "_from_model_config",
    "bos_token_id",
    "cache_config",
    "cache_implementation",
    "chat_format",
    "decoder_start_token_id",
    "eos_token_id",
    "max_length",
    "max_matching_ngram_size",
    "max_window_size",
    "output_attentions",
    "output_hidden_states",
    "output_scores",
    "pad_token_id",
    "return_dict_in_generate",
    "transformers_version",
    "use_cache",
];

/// Keys with the value at which each does nothing.
const OFF: [(&str, f64); 10] = [
    ("diversity_penalty", 0.0),
    ("encoder_no_repeat_ngram_size", 0.0),
    ("encoder_repetition_penalty", 1.0),
    ("epsilon_cutoff", 0.0),
    ("eta_cutoff", 0.0),
    ("no_repeat_ngram_size", 0.0),
    ("num_beam_groups", 1.0),
    ("num_beams", 1.0),
    ("num_return_sequences", 1.0),
    ("penalty_alpha", 0.0),
];

/// The settings of generation that a model comes with.
///
/// ```no_run
/// use maskwright::engine::{Engine, Request};
/// use maskwright::model::ModelOptions;
/// let engine = Engine::load(&ModelOptions { source: "models/qwen".parse()?, ..Default::default() })?;
/// let recommended = engine.model().generation_config()?;
/// let request = Request { sampling: recommended.sampling(), ..Request::text("Once upon a time") };
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct GenerationConfig {
    /// Whether tokens are drawn; `false` takes the most probable one.
    pub do_sample: Option<bool>,
    /// [`SamplingParams::temperature`].
    pub temperature: Option<f32>,
    /// [`SamplingParams::top_k`]; 0 keeps all tokens.
    pub top_k: Option<usize>,
    /// [`SamplingParams::top_p`].
    pub top_p: Option<f32>,
    /// [`SamplingParams::min_p`].
    pub min_p: Option<f32>,
    /// [`SamplingParams::typical_p`].
    pub typical_p: Option<f32>,
    /// [`SamplingParams::repetition_penalty`].
    pub repetition_penalty: Option<f32>,
    /// Tokens that are written at most.
    pub max_new_tokens: Option<usize>,
    /// [`SamplingParams::banned_token_ids`].
    pub suppress_tokens: Vec<u32>,
    not_honoured: Vec<String>,
}

impl GenerationConfig {
    /// Reads the file in a folder.
    ///
    /// Errors if there is none, and on values that are out of range.
    pub fn from_folder(folder: impl AsRef<Path>) -> Result<Self> {
        let files = ModelFiles::folder(folder.as_ref())?;
        files.require(FILE)?;
        Self::read(&files)
    }

    /// The settings of a model's folder; none where it has no such file.
    pub(super) fn read(files: &ModelFiles) -> Result<Self> {
        let at = |error: Error| error.in_file(files.path(FILE));
        match files.json(FILE)? {
            None => Ok(Self::default()),
            Some(Value::Object(map)) => Self::of_keys(map).map_err(at),
            Some(_) => Err(at(Error::new(ErrorKind::Model, "not an object of settings")
                .with_help("copy the model's file again, or take it out of the folder"))),
        }
    }

    fn of_keys(map: Map<String, Value>) -> Result<Self> {
        // A key with `null` is as if it were absent.
        let mut keys = Keys(map.into_iter().filter(|(_, value)| !value.is_null()).collect());
        let top = f64::from(f32::MAX);
        let mut config = Self {
            do_sample: keys.read("do_sample", "true or false", Value::as_bool)?,
            temperature: keys.number("temperature", 0.0..=top)?,
            top_k: keys.count("top_k")?,
            top_p: keys.number("top_p", 0.0..=1.0)?,
            min_p: keys.number("min_p", 0.0..=1.0)?,
            typical_p: keys.number("typical_p", 0.0..=1.0)?,
            repetition_penalty: keys.number("repetition_penalty", f64::MIN_POSITIVE..=top)?,
            max_new_tokens: keys.count("max_new_tokens")?.filter(|&most| most > 0),
            suppress_tokens: keys
                .read("suppress_tokens", "a list of token ids", token_ids)?
                .unwrap_or_default(),
            not_honoured: Vec::new(),
        };
        let is_honoured = |name: &str, value: &Value| {
            let off = OFF.iter().find(|(key, _)| *key == name).map(|(_, off)| *off);
            HARMLESS.contains(&name)
                || off.is_some_and(|off| value.as_f64() == Some(off))
                || *value == false
                || value.as_array().is_some_and(Vec::is_empty)
        };
        let others = keys.0.iter().filter(|(name, value)| !is_honoured(name, value));
        config.not_honoured = others.map(|(name, _)| name.clone()).collect();
        Ok(config)
    }

    /// The settings without tokens that a vocabulary of this width does not have.
    #[must_use]
    pub fn for_width(mut self, width: usize) -> Self {
        self.suppress_tokens.retain(|&token| (token as usize) < width);
        self
    }

    /// The settings as those of a request that says nothing else.
    pub fn sampling(&self) -> SamplingParams {
        let off = SamplingParams::default();
        let greedy = self.do_sample == Some(false);
        SamplingParams {
            temperature: if greedy { 0.0 } else { self.temperature.unwrap_or(off.temperature) },
            top_k: self.top_k.or(off.top_k),
            top_p: self.top_p.unwrap_or(off.top_p),
            min_p: self.min_p.unwrap_or(off.min_p),
            typical_p: self.typical_p.unwrap_or(off.typical_p),
            repetition_penalty: self.repetition_penalty.unwrap_or(off.repetition_penalty),
            banned_token_ids: self.suppress_tokens.clone(),
            ..off
        }
    }

    /// Whether the settings ask for draws, as opposed to saying nothing of them.
    pub fn draws(&self) -> bool {
        let says = [self.temperature, self.top_p, self.min_p, self.typical_p];
        let asks = self.do_sample.is_some() || self.top_k.is_some();
        self.do_sample != Some(false) && (asks || says.iter().any(Option::is_some))
    }

    /// The keys that would change a text elsewhere, and do not here.
    pub fn not_honoured(&self) -> &[String] {
        &self.not_honoured
    }
}

fn token_ids(value: &Value) -> Option<Vec<u32>> {
    let id = |id: &Value| u32::try_from(id.as_u64()?).ok();
    value.as_array()?.iter().map(id).collect()
}

/// The keys of the file that were not read yet.
struct Keys(Map<String, Value>);

impl Keys {
    fn read<T>(
        &mut self,
        name: &str,
        wanted: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>> {
        let Some(value) = self.0.shift_remove(name) else { return Ok(None) };
        read(&value).map(Some).ok_or_else(|| {
            Error::new(ErrorKind::Model, format!("`{name}` must be {wanted}"))
                .at_pointer(format!("/{name}"))
                .with_help("mend the file, or take it out of the folder")
        })
    }

    fn number(&mut self, name: &str, range: RangeInclusive<f64>) -> Result<Option<f32>> {
        let wanted = if *range.end() > 1.0 {
            "a number that is not negative"
        } else {
            "a number from 0 to 1"
        };
        self.read(name, wanted, |value| {
            value.as_f64().filter(|number| range.contains(number)).map(|number| number as f32)
        })
    }

    fn count(&mut self, name: &str) -> Result<Option<usize>> {
        self.read(name, "a whole number from 0 up", |value| {
            // -1 is all of them elsewhere.
            let number = if value.as_i64() == Some(-1) { Some(0) } else { value.as_u64() };
            usize::try_from(number?).ok()
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(keys: Value) -> Result<GenerationConfig> {
        GenerationConfig::of_keys(keys.as_object().unwrap().clone())
    }

    #[test]
    fn settings_of_a_public_model_are_read() {
        // Qwen2.5's.
        let qwen = config(json!({
            "bos_token_id": 151643, "pad_token_id": 151643, "do_sample": true,
            "eos_token_id": [151645, 151643], "repetition_penalty": 1.05, "temperature": 0.7,
            "top_p": 0.8, "top_k": 20, "transformers_version": "4.37.0"
        }))
        .unwrap();
        let sampling = qwen.sampling();
        assert_eq!((sampling.temperature, sampling.top_p, sampling.top_k), (0.7, 0.8, Some(20)));
        assert_eq!(sampling.repetition_penalty, 1.05);
        assert!(qwen.draws() && qwen.not_honoured().is_empty());
        assert_eq!(config(json!({})).unwrap().sampling(), SamplingParams::default());
        assert!(!config(json!({ "max_new_tokens": 5, "repetition_penalty": 2 })).unwrap().draws());
    }

    #[test]
    fn greedy_settings_draw_nothing() {
        let greedy = config(json!({ "do_sample": false, "temperature": 0.6 })).unwrap();
        assert_eq!(greedy.sampling().temperature, 0.0);
        assert!(!greedy.draws());
        assert!(config(json!({ "do_sample": true })).unwrap().draws());
    }

    #[test]
    fn what_would_change_a_text_is_named() {
        let others = config(json!({
            "num_beams": 4, "no_repeat_ngram_size": 3, "num_beam_groups": 1, "penalty_alpha": null,
            "suppress_tokens": [7], "bad_words_ids": [[5]], "remove_invalid_values": false
        }))
        .unwrap();
        assert_eq!(others.sampling().banned_token_ids, [7]);
        let mut named = others.not_honoured().to_vec();
        named.sort_unstable();
        assert_eq!(named, ["bad_words_ids", "no_repeat_ngram_size", "num_beams"]);
    }

    #[test]
    fn values_out_of_range_are_refused_by_name() {
        for (keys, name) in [
            (json!({ "temperature": "hot" }), "temperature"),
            (json!({ "temperature": -1 }), "temperature"),
            (json!({ "top_p": 1.5 }), "top_p"),
            (json!({ "top_k": 2.5 }), "top_k"),
            (json!({ "repetition_penalty": 0 }), "repetition_penalty"),
            (json!({ "do_sample": 1 }), "do_sample"),
            (json!({ "suppress_tokens": [-1] }), "suppress_tokens"),
        ] {
            let error = config(keys).unwrap_err();
            assert_eq!(error.place().pointer.as_deref(), Some(&*format!("/{name}")), "{error}");
        }
    }
}
