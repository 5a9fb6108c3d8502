//! `prompt_logprobs` as vLLM writes them: of each token of the prompt an object by token ids.

use serde_json::{Map, Value, json};

use crate::engine::PromptToken;
use crate::vocabulary::Vocabulary;

/// The list: null for the first token, which nothing comes before; of every other the token itself, and
/// the `top` most probable ones in its place.
pub(in crate::server) fn prompt_logprobs(
    vocabulary: &Vocabulary,
    tokens: &[PromptToken],
    top: usize,
) -> Value {
    let entry = |token: &PromptToken| {
        let (Some(logprob), Some(rank)) = (token.logprob, token.rank) else { return Value::Null };
        let object = |id: u32, logprob: f64, rank: usize| {
            let text = token_text(vocabulary, id);
            json!({ "logprob": logprob, "rank": rank, "decoded_token": text })
        };
        let mut members = Map::new();
        members.insert(token.token.to_string(), object(token.token, logprob, rank));
        for (index, &(id, logprob)) in token.top_logprobs.iter().take(top).enumerate() {
            let entry = members.entry(id.to_string());
            entry.or_insert_with(|| object(id, logprob, index + 1));
        }
        Value::Object(members)
    };
    tokens.iter().map(entry).collect()
}

/// The text of a token: its bytes with U+FFFD for stray ones, or a special token's name.
pub(in crate::server) fn token_text(vocabulary: &Vocabulary, token: u32) -> String {
    match vocabulary.token_bytes(token) {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => vocabulary.token_name(token).into_owned(),
    }
}
