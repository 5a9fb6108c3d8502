//! `%regex {"substring_…": …}`: runs of the chunks of a given text (llguidance's
//! `docs/syntax.md`, "Substring").

use serde_json::Value;

use crate::error::{Error, ErrorKind, Result};
use crate::regular::{Language, Languages, QuoteBy, quotation};

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
        ("substring_chars", Value::String(text)) => Ok(cut(text, QuoteBy::Characters)),
        ("substring_words", Value::String(text)) => Ok(cut(text, QuoteBy::Words)),
        ("substring_chunks", Value::Array(chunks)) => chunks
            .iter()
            .map(|chunk| chunk.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| bad("chunks are strings".into())),
        _ => Err(bad(format!("`{key}` has no meaning here"))),
    }
}

fn cut(text: &str, by: QuoteBy) -> Vec<String> {
    by.units(text).into_iter().map(str::to_owned).collect()
}

/// Any run of these chunks, the empty one included.
pub(super) fn language(languages: &mut Languages, chunks: &[String]) -> Result<Language> {
    let runs = quotation(languages, chunks)?;
    Ok(languages.union([Language::EPSILON, runs]))
}
