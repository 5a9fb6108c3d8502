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
        "client_metadata",
        "id_slot",
        "metadata",
        "prediction",
        "priority",
        "prompt_cache_key",
        "prompt_cache_options",
        "prompt_cache_retention",
        "request_id",
        "rid",
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
    for field in [
        "return_token_ids",
        "prompt_logprobs",
        "return_hidden_states",
        "return_progress",
        "return_tokens",
        "return_tokens_as_token_ids",
    ] {
        fields.only(field, |value| value == false, none)?;
    }
    // llama.cpp's, as its clients write what they do not want.
    for field in ["dynatemp_range", "min_keep", "n_keep", "n_probs"] {
        fields.only(field, |value| value.as_f64() == Some(0.0), none)?;
    }
    // What the documents and clients of vLLM, SGLang and llama.cpp say besides.
    let apart = "reasoning is always told apart from the answer";
    for field in ["separate_reasoning", "stream_reasoning", "include_reasoning"] {
        fields.only(field, |value| value == true, apart)?;
    }
    let reasoning = |value: &Value| matches!(value.as_str(), Some("auto" | "deepseek"));
    fields.only("reasoning_format", reasoning, apart)?;
    fields.only("parse_tool_calls", |value| value == true, "calls are always read")?;
    let stops = "write `include_stop_str_in_output`";
    fields.only("no_stop_trim", |value| value == false, stops)?;
    let is_empty = |value: &Value| value.as_array().is_some_and(Vec::is_empty);
    fields.only("bad_words", is_empty, "write `banned_token_ids`, or a constraint")?;
    fields.only("lora", is_empty, "one model is served")
}
