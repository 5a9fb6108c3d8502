//! End tokens of a tokenizer.json, which does not name them itself.
//!
//! Sources, in order:
//!
//! 1. `tokenizer_config.json` (else `special_tokens_map.json`) names one token;
//! 2. `generation_config.json` and `config.json` list ids. Only `generation_config.json` is
//!    complete, and it may list ordinary text tokens;
//! 3. without it, special tokens that end a text or a turn in public models are added by name. Chat
//!    models end a turn with another token than the one that their tokenizer's configuration names
//!    (Phi-3: `<|end|>`), and a mask that forbade it would leave them no way to stop.

use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::json_error::json_error;
use crate::error::{Error, ErrorKind, Result, shortened};
use crate::vocabulary::infinities::read_with_infinities;

/// Names of tokens that end a text or a turn in public models.
const WELL_KNOWN: [&str; 28] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|eom_id|>",
    "<|eot|>",
    "<|eom|>",
    "<end_of_turn>",
    "<eos>",
    "<|return|>",
    "<|call|>",
    "<|end|>",
    "<|endoftext|>",
    "</s>",
    "<｜end▁of▁sentence｜>",
    "<|END_OF_TURN_TOKEN|>",
    "<|END_RESPONSE|>",
    "<end_of_utterance>",
    "<|eos|>",
    "[EOS]",
    "[|endofturn|]",
    "<EOS>",
    "<turn|>",
    "<|flush|>",
    "<|calls|>",
    "<|tool_response>",
    "[e~[",
    "<EOT>",
    "[EOT]",
];

/// End tokens that the files beside a tokenizer.json name.
#[derive(Default)]
pub(crate) struct ConfiguredEndTokens {
    /// `eos_token` of tokenizer_config.json, or of special_tokens_map.json.
    pub(crate) name: Option<String>,
    /// `eos_token_id` of generation_config.json: if there are any, they are all.
    pub(crate) generation: Vec<u32>,
    /// `eos_token_id` of config.json.
    pub(crate) config: Vec<u32>,
}

/// The fields of a configuration file that name end tokens.
#[derive(Deserialize)]
struct EosFields {
    #[serde(default)]
    eos_token: Value,
    #[serde(default)]
    eos_token_id: Value,
}

impl ConfiguredEndTokens {
    /// The settings as text that enters an index's key. It must not change: an index written before
    /// would no longer be found.
    pub(crate) fn key_text(&self) -> String {
        let Self { name, generation, config } = self;
        format!("Configured {{ name: {name:?}, generation: {generation:?}, config: {config:?} }}")
    }

    /// Reads the files in a folder; missing ones name nothing.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let mut found = Self::default();
        for file in ["tokenizer_config.json", "special_tokens_map.json"] {
            if found.name.is_none()
                && let Some(file) = read_config(&folder.join(file))?
            {
                // A string, or an added token with its text under `content`.
                let name = file.eos_token.get("content").unwrap_or(&file.eos_token);
                found.name = name.as_str().map(str::to_owned);
            }
        }
        if let Some(file) = read_config(&folder.join("generation_config.json"))? {
            found.generation = ids(&file.eos_token_id)
                .map_err(|error| error.in_file(folder.join("generation_config.json")))?;
        }
        if let Some(file) = read_config(&folder.join("config.json"))? {
            found.config = ids(&file.eos_token_id)
                .map_err(|error| error.in_file(folder.join("config.json")))?;
        }
        Ok(found)
    }
}

fn read_config(path: &Path) -> Result<Option<EosFields>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(e) => {
            return Err(Error::new(ErrorKind::Io, e.to_string()).in_file(path).with_source(e));
        }
    };
    let file = read_with_infinities(&bytes).map_err(|e| json_error(&e).in_file(path))?;
    Ok(Some(file))
}

/// A single id or a list of ids; none where there is no value.
fn ids(value: &Value) -> Result<Vec<u32>> {
    let one = std::slice::from_ref(value);
    let list = match value {
        Value::Null => &[],
        Value::Array(list) => list.as_slice(),
        _ => one,
    };
    let id = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
    let ids: Option<Vec<u32>> = list.iter().map(id).collect();
    ids.ok_or_else(|| {
        let shown = value.to_string();
        let message = format!("`eos_token_id` is {}", shortened(&shown));
        Error::new(ErrorKind::Vocabulary, message)
            .at_pointer("/eos_token_id")
            .with_help("it must be a token id from 0 or a list of such ids")
    })
}

/// Whether a token of this name ends a text or a turn in public models.
pub(crate) fn is_well_known_end(name: &str) -> bool {
    WELL_KNOWN.contains(&name)
}

/// The well-known end tokens that `find` has an id for.
pub(crate) fn well_known(find: impl Fn(&str) -> Option<u32>) -> impl Iterator<Item = u32> {
    // Where `<|return|>`, or `<|flush|>` and `<|calls|>`, end the text, `<|end|>` only ends one of its messages.
    let ends_messages = find("<|return|>").is_some()
        || (find("<|flush|>").is_some() && find("<|calls|>").is_some());
    WELL_KNOWN
        .into_iter()
        .filter(move |&name| !(ends_messages && name == "<|end|>"))
        .filter_map(find)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ids_are_one_or_many() {
        assert_eq!(ids(&json!(7)), Ok(vec![7]));
        assert_eq!(ids(&json!([1, 106])), Ok(vec![1, 106]));
        assert_eq!(ids(&json!(null)), Ok(vec![]));
        for other in [json!(-1), json!("2"), json!([1, 1u64 << 40]), json!(2.0), json!([[1]])] {
            let error = ids(&other).map_err(|error| error.to_string());
            assert!(error.is_err_and(|error| error.starts_with("at /eos_token_id: ")), "{other}");
        }
    }

    #[test]
    fn a_message_end_is_no_text_end() {
        let find = |names: &'static [&'static str]| {
            well_known(|name| names.iter().position(|&n| n == name).map(|i| i as u32))
                .collect::<Vec<_>>()
        };
        assert_eq!(find(&["<|end|>", "<|endoftext|>"]), [0, 1]);
        assert_eq!(find(&["<|end|>", "<|return|>"]), [1]);
        assert_eq!(find(&["<|end|>", "<|flush|>", "<|calls|>"]), [1, 2]);
        assert!(find(&[]).is_empty());
    }
}
