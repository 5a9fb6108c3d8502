//! Fields that clients send and that cannot change a text.

use serde_json::Value;

use super::fields::Fields;
use crate::server::api_error::ApiError;

/// Accepts the fields that cannot change a text, at any endpoint that writes one.
pub(crate) fn ignore_harmless(fields: &mut Fields) -> Result<(), ApiError> {
    // Bookkeeping of the caller, and hints to a scheduler or a cache.
    for field in [
        "cache_prompt",
        "cache_salt",
        "metadata",
        "prediction",
        "priority",
        "prompt_cache_key",
        "prompt_cache_retention",
        "request_id",
        "safety_identifier",
        "service_tier",
        "store",
        "timings_per_token",
        "user",
    ] {
        fields.ignore(field);
    }
    // What is done anyway, and what clients of vLLM often say.
    fields.only("skip_special_tokens", |value| value == true, "special tokens are no text")?;
    let as_is = "words of special tokens are not in the text";
    fields.only("spaces_between_special_tokens", Value::is_boolean, as_is)?;
    fields.only("use_beam_search", |value| value == false, "write `num_beams`")?;
    let none = "leave it out";
    fields.only("return_token_ids", |value| value == false, none)?;
    fields.only("prompt_logprobs", |value| value == false, none)
}
