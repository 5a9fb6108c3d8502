//! Tokens that a tokenizer.json lacks, and that the files beside it add: the `transformers` library loads them, too.
//!
//! `tokenizer_config.json` has them under `added_tokens_decoder`, by their ids; older folders have
//! `added_tokens.json`, with an id for each text.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::json_error::json_error;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::infinities::read_with_infinities;

const CONFIG: &str = "tokenizer_config.json";
const ADDED: &str = "added_tokens.json";
const SPECIAL: &str = "special_tokens_map.json";

/// The texts of the added tokens of a tokenizer.json.
#[derive(Deserialize)]
struct AddedTexts {
    #[serde(default)]
    added_tokens: Option<Vec<AddedText>>,
}

#[derive(Deserialize)]
struct AddedText {
    content: String,
}

/// The content of a tokenizer.json with the tokens that the files beside it add. A token stays out where a
/// tokenizer that reads this file would give it another id than they say.
///
/// Errors if one of the files cannot be read. A tokenizer.json that is damaged is left to its readers.
pub(crate) fn completed(tokenizer: Vec<u8>, folder: &Path) -> Result<Vec<u8>> {
    let beside = tokens_beside(folder)?;
    if beside.is_empty() {
        return Ok(tokenizer);
    }
    let Ok(AddedTexts { added_tokens }) = serde_json::from_slice(&tokenizer) else {
        return Ok(tokenizer);
    };
    let known: HashSet<String> =
        added_tokens.into_iter().flatten().map(|token| token.content).collect();
    let is_missing =
        |token: &Value| token["content"].as_str().is_some_and(|text| !known.contains(text));
    let missing: Vec<(u64, Value)> =
        beside.into_iter().filter(|(_, token)| is_missing(token)).collect();
    if missing.is_empty() {
        return Ok(tokenizer);
    }
    let Ok(mut whole) = serde_json::from_slice::<Value>(&tokenizer) else { return Ok(tokenizer) };
    let mut ids = ids_of(&whole);
    let Some(added) = whole.get_mut("added_tokens").and_then(Value::as_array_mut) else {
        return Ok(tokenizer);
    };
    for (id, token) in missing {
        let Some(text) = token["content"].as_str() else { continue };
        let next = ids.values().max().map_or(0, |last| last + 1);
        // A tokenizer gives a text the id that it has, or the next one.
        if ids.get(text).copied().unwrap_or(next) == id {
            ids.insert(text.to_owned(), id);
            added.push(token);
        }
    }
    serde_json::to_vec(&whole).map_err(|error| Error::new(ErrorKind::Vocabulary, error.to_string()))
}

/// The ids of a tokenizer.json, by the texts of their tokens.
fn ids_of(tokenizer: &Value) -> HashMap<String, u64> {
    let vocabulary = &tokenizer["model"]["vocab"];
    let by_text = vocabulary.as_object().into_iter().flatten();
    let by_text = by_text.filter_map(|(text, id)| Some((text.clone(), id.as_u64()?)));
    // Unigram's are in the order of their ids, each with a score.
    let in_order = (0u64..).zip(vocabulary.as_array().into_iter().flatten());
    let in_order = in_order.filter_map(|(id, piece)| Some((piece[0].as_str()?.to_owned(), id)));
    let added = tokenizer["added_tokens"].as_array().into_iter().flatten();
    let added = added
        .filter_map(|token| Some((token["content"].as_str()?.to_owned(), token["id"].as_u64()?)));
    by_text.chain(in_order).chain(added).collect()
}

/// The added tokens that the files of a folder name, by their ids, as a tokenizer.json has them.
fn tokens_beside(folder: &Path) -> Result<BTreeMap<u64, Value>> {
    let config = object(&folder.join(CONFIG))?.unwrap_or_default();
    if let Some(Value::Object(decoder)) = config.get("added_tokens_decoder") {
        let tokens = decoder.iter().filter_map(|(id, token)| {
            let id = id.parse().ok()?;
            Some((id, added_token(id, token["content"].as_str()?, token)))
        });
        return Ok(tokens.collect());
    }
    let Some(added) = object(&folder.join(ADDED))? else { return Ok(BTreeMap::new()) };
    let map = object(&folder.join(SPECIAL))?.unwrap_or_default();
    let special: HashSet<&str> = special_texts(&config).chain(special_texts(&map)).collect();
    let tokens = added.iter().filter_map(|(text, id)| {
        let (id, is_special) = (id.as_u64()?, special.contains(text.as_str()));
        Some((
            id,
            added_token(id, text, &json!({ "special": is_special, "normalized": !is_special })),
        ))
    });
    Ok(tokens.collect())
}

/// An added token; what is not said of it is false.
fn added_token(id: u64, text: &str, said: &Value) -> Value {
    let mut token = Map::new();
    token.insert("id".to_owned(), json!(id));
    token.insert("content".to_owned(), json!(text));
    for flag in ["single_word", "lstrip", "rstrip", "normalized", "special"] {
        token.insert(flag.to_owned(), json!(said[flag] == true));
    }
    Value::Object(token)
}

/// The texts of special tokens that a `tokenizer_config.json` or a `special_tokens_map.json` names.
fn special_texts(config: &Map<String, Value>) -> impl Iterator<Item = &str> {
    let named = config.iter().filter(|(key, _)| key.ends_with("_token")).map(|(_, token)| token);
    let lists = ["additional_special_tokens", "extra_special_tokens"];
    let more = lists.into_iter().filter_map(|list| config.get(list));
    // A list, or an object with a name for each.
    let more = more.flat_map(|list| {
        let named = list.as_object().into_iter().flatten().map(|(_, token)| token);
        list.as_array().into_iter().flatten().chain(named)
    });
    named.chain(more).filter_map(|token| token.as_str().or_else(|| token.get("content")?.as_str()))
}

/// The object in a file; `None` where there is no such file.
fn object(path: &Path) -> Result<Option<Map<String, Value>>> {
    match fs::read(path) {
        Ok(bytes) => {
            read_with_infinities(&bytes).map(Some).map_err(|error| json_error(&error).in_file(path))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => {
            Err(Error::new(ErrorKind::Io, error.to_string()).in_file(path).with_source(error))
        }
    }
}
