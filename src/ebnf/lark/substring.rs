//! `%regex {"substring_…": …}`: runs of the chunks of a given text (llguidance's
//! `docs/syntax.md`, "Substring").

use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::regex::{Language, Languages};

/// The chunks that a JSON object names: `substring_chunks` as they are, `substring_words` cut
/// around words, `substring_chars` into characters.
pub(super) fn chunks(json: &str) -> Result<Vec<String>> {
    let bad = |message: String| {
        Error::new(ErrorKind::Grammar, message)
            .with_help("write {\"substring_chars\": \"…\"}, {\"substring_words\": \"…\"} or {\"substring_chunks\": [\"…\"]}")
    };
    let value: Value =
        serde_json::from_str(json).map_err(|error| bad(format!("this is no JSON: {error}")))?;
    let object = value.as_object().filter(|object| object.len() == 1);
    let Some((key, value)) = object.and_then(|object| object.iter().next()) else {
        return Err(bad("expected an object with one member".into()));
    };
    match (key.as_str(), value) {
        ("substring_chars", Value::String(text)) => Ok(text.chars().map(String::from).collect()),
        ("substring_words", Value::String(text)) => Ok(words(text)),
        ("substring_chunks", Value::Array(chunks)) => chunks
            .iter()
            .map(|chunk| chunk.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| bad("chunks are strings".into())),
        _ => Err(bad(format!("`{key}` has no meaning here"))),
    }
}

/// Words of letters, digits and `_`, and every other character by itself.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut in_word = false;
    for c in text.chars() {
        let is_word = c.is_alphanumeric() || c == '_';
        match words.last_mut() {
            Some(last) if is_word && in_word => last.push(c),
            _ => words.push(c.into()),
        }
        in_word = is_word;
    }
    words
}

/// Any run of these chunks, the empty one included. Linear in their number.
pub(super) fn language(languages: &mut Languages, chunks: &[String]) -> Language {
    let mut from_here = Language::EPSILON;
    let mut all = vec![from_here];
    for chunk in chunks.iter().rev() {
        let chunk = languages.literal(chunk.as_bytes());
        let more = languages.concat([chunk, from_here]);
        from_here = languages.union([Language::EPSILON, more]);
        all.push(from_here);
    }
    languages.union(all)
}
