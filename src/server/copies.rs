//! A bound on the memory of the texts of one request: each has a copy of its prompt and of its lists, so a body
//! of a few megabytes with hundreds of texts would be gigabytes.

use serde_json::{Map, Value};

use super::api_error::ApiError;
use crate::engine::{Prompt, Request};
use crate::model::Message;

/// The copies of one request may take so many times the memory of the largest body.
const MAX_BODIES: usize = 16;

/// Memory of an entry of a map or a list of texts, beside the text.
const ENTRY_BYTES: usize = 64;

/// Errors if requests, each with the number of its copies, are together larger than the bound, where a body has at
/// most `max_body_bytes`.
pub(super) fn check<'a>(
    requests: impl Iterator<Item = (&'a Request, usize)>,
    max_body_bytes: usize,
) -> Result<(), ApiError> {
    let most = max_body_bytes.saturating_mul(MAX_BODIES);
    let copied = requests.filter(|&(_, copies)| copies > 1);
    let bytes = copied.fold(0, |sum: usize, (request, copies)| {
        sum.saturating_add(size_of_request(request).saturating_mul(copies))
    });
    if bytes > most { Err(ApiError::copies_too_large(bytes, most)) } else { Ok(()) }
}

/// Approximate bytes of the parts of a request that a client can make large.
fn size_of_request(request: &Request) -> usize {
    let prompt = match &request.prompt {
        Prompt::Text(text) => text.len(),
        Prompt::Tokens(tokens) => size_of_val(&tokens[..]),
        Prompt::Chat(messages) => messages.iter().map(size_of_message).sum(),
    };
    let sampling = &request.sampling;
    let ids = [&sampling.allowed_token_ids, &sampling.banned_token_ids, &request.stop_token_ids];
    let texts = [&request.stop, &request.stop_regex, &sampling.dry_sequence_breakers];
    let labels = request.labels.iter().flat_map(|labels| &labels.labels);
    let spellings = labels.flat_map(|label| &label.spellings);
    let texts = texts.into_iter().flatten().chain(spellings);
    prompt
        + request.prefill.len()
        + request.begun.iter().map(|part| part.text().len()).sum::<usize>()
        + request.tools.as_ref().map_or(0, size_of_value)
        + size_of_map(&request.template_variables)
        + ids.iter().map(|ids| size_of_val(&ids[..])).sum::<usize>()
        + sampling.logit_bias.len() * ENTRY_BYTES
        + texts.map(|text| ENTRY_BYTES + text.len()).sum::<usize>()
}

fn size_of_message(message: &Message) -> usize {
    ENTRY_BYTES + message.content.len() + size_of_map(&message.more)
}

fn size_of_map(map: &Map<String, Value>) -> usize {
    map.iter().map(|(name, value)| ENTRY_BYTES + name.len() + size_of_value(value)).sum()
}

fn size_of_value(value: &Value) -> usize {
    match value {
        Value::String(text) => ENTRY_BYTES + text.len(),
        Value::Array(list) => ENTRY_BYTES + list.iter().map(size_of_value).sum::<usize>(),
        Value::Object(map) => ENTRY_BYTES + size_of_map(map),
        Value::Null | Value::Bool(_) | Value::Number(_) => ENTRY_BYTES,
    }
}
