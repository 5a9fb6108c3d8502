//! The settings of generation in the metadata of a GGUF file, as a `generation_config.json`.
//!
//! Converters copy there what a model's makers recommend (`general.sampling.…`), and llama.cpp takes them as
//! defaults.

use serde_json::{Map, Value, json};

use super::metadata::Metadata;
use crate::error::{Error, ErrorKind, Result};

/// Settings by their names there, and in a `generation_config.json`.
const NUMBERS: [(&str, &str); 4] = [
    ("temp", "temperature"),
    ("top_p", "top_p"),
    ("min_p", "min_p"),
    ("penalty_repeat", "repetition_penalty"),
];

/// Settings that a `generation_config.json` does not have, and the value at which each does nothing. The others of
/// llama.cpp matter beside these alone.
const OTHERS: [(&str, f64); 2] = [("xtc_probability", 0.0), ("mirostat", 0.0)];

/// The content of a `generation_config.json`; `None` where the file says nothing.
pub(super) fn generation_config_json(metadata: &Metadata<'_>) -> Result<Option<Vec<u8>>> {
    let mut config = Map::new();
    for (own, name) in NUMBERS {
        let number = metadata.number(&format!("general.sampling.{own}"))?;
        config.extend(number.map(|number| (name.to_owned(), json!(number))));
    }
    if let Some(most) = metadata.number("general.sampling.top_k")? {
        config.insert("top_k".to_owned(), json!(most.max(0.0) as u64));
    }
    if let Some(tokens) = metadata.integers("tokenizer.ggml.suppress_tokens")? {
        config.insert("suppress_tokens".to_owned(), json!(tokens));
    }
    for (own, off) in OTHERS {
        let number = metadata.number(&format!("general.sampling.{own}"))?;
        let number = number.filter(|number| *number != off);
        config.extend(number.map(|number| (format!("general.sampling.{own}"), json!(number))));
    }
    if let Some(order) = metadata.text("general.sampling.sequence")? {
        config.insert("general.sampling.sequence".to_owned(), json!(order));
    }
    if config.is_empty() {
        return Ok(None);
    }
    let json = serde_json::to_vec(&Value::Object(config));
    json.map(Some).map_err(|error| Error::new(ErrorKind::Model, error.to_string()))
}
