//! A text of the fields that bear on a constraint, by which it is found again.

use serde_json::{Value, json};

/// Fields that say nothing of the constraint. All others are part of its key, those that nobody knows
/// among them.
const BESIDE_CONSTRAINT: [&str; 27] = [
    "messages",
    "prompt",
    "suffix",
    "echo",
    "model",
    "temperature",
    "top_p",
    "top_k",
    "min_p",
    "seed",
    "random_seed",
    "max_tokens",
    "max_completion_tokens",
    "n_predict",
    "n",
    "stream",
    "stream_options",
    "stop",
    "user",
    "metadata",
    "store",
    "logprobs",
    "top_logprobs",
    "frequency_penalty",
    "presence_penalty",
    "prompt_cache_key",
    "safety_identifier",
];

/// A text of all fields of a body that may bear on its constraint.
pub(crate) fn constraint_key(body: &Value) -> String {
    let fields = body.as_object().into_iter().flatten();
    let bearing = fields.filter(|(name, _)| !BESIDE_CONSTRAINT.contains(&name.as_str()));
    let mut key = String::new();
    for (name, value) in bearing {
        key.push_str(&json!(name).to_string());
        key.push(':');
        key.push_str(&value.to_string());
        key.push(',');
    }
    key
}
