//! Answers, as OpenAI's clients read them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::generation::{FinishReason, Response, Step, StopReason, Usage};
use crate::vocab::Vocabulary;

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// What all pieces of one answer share.
#[derive(Clone, Debug)]
pub(super) struct Head {
    id: String,
    created: u64,
    model: String,
}

impl Head {
    pub(super) fn new(model: &str) -> Self {
        // Unique within this server by the count, and across restarts by the time.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (created, count) = (now(), COUNT.fetch_add(1, Ordering::Relaxed));
        let id = format!("chatcmpl-{created:x}-{count:x}");
        Self { id, created, model: model.to_owned() }
    }

    /// A whole answer.
    pub(super) fn completion(&self, choices: &[Choice], usage: &Usage) -> Value {
        let choices: Vec<Value> = choices
            .iter()
            .enumerate()
            .map(|(index, choice)| {
                let mut object = json!({
                    "index": index,
                    "message": { "role": "assistant", "content": choice.text, "refusal": null },
                    "logprobs": choice.logprobs,
                    "finish_reason": finish_reason(choice.finish),
                    "stop_reason": choice.stop_reason,
                    "complete": choice.complete,
                });
                choice.tell_more(&mut object);
                object
            })
            .collect();
        json!({
            "id": self.id,
            "object": "chat.completion",
            "created": self.created,
            "model": self.model,
            "choices": choices,
            "usage": usage_object(usage),
        })
    }

    /// The first piece of a streamed choice: who speaks.
    pub(super) fn role_chunk(&self, index: usize) -> Value {
        self.chunk(index, json!({ "role": "assistant", "content": "", "refusal": null }), None)
    }

    /// A piece of text.
    pub(super) fn text_chunk(&self, index: usize, text: &str, tokens: Vec<Value>) -> Value {
        let mut chunk = self.chunk(index, json!({ "content": text }), None);
        chunk["choices"][0]["logprobs"] = logprobs(tokens);
        chunk
    }

    /// The last piece of a choice: why it ended.
    pub(super) fn finish_chunk(&self, index: usize, choice: &Choice) -> Value {
        let mut chunk = self.chunk(index, json!({}), Some(choice.finish));
        chunk["choices"][0]["stop_reason"] = choice.stop_reason.clone();
        chunk["choices"][0]["complete"] = json!(choice.complete);
        choice.tell_more(&mut chunk["choices"][0]);
        chunk["choices"][0]["logprobs"] = choice.logprobs.clone();
        chunk
    }

    /// The piece after the last, where usage was asked for.
    pub(super) fn usage_chunk(&self, usage: &Usage) -> Value {
        let mut chunk = self.chunk(0, Value::Null, None);
        chunk["choices"] = json!([]);
        chunk["usage"] = usage_object(usage);
        chunk
    }

    fn chunk(&self, index: usize, delta: Value, finish: Option<FinishReason>) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{
                "index": index,
                "delta": delta,
                "logprobs": null,
                "finish_reason": finish.map(finish_reason),
            }],
        })
    }
}

/// One answer to a request.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    pub(super) text: String,
    pub(super) finish: FinishReason,
    /// The stop string or token that ended it, as vLLM tells it.
    stop_reason: Value,
    /// Does it satisfy the constraint?
    complete: bool,
    /// Steps at which a ban yielded to the constraint.
    yielded: usize,
    /// What draws without masks took; null where they were not asked for.
    rejection: Value,
    logprobs: Value,
}

/// The object that holds the log-probabilities of tokens; null where there are none.
pub(super) fn logprobs(tokens: Vec<Value>) -> Value {
    match tokens.is_empty() {
        true => Value::Null,
        false => json!({ "content": tokens, "refusal": null }),
    }
}

/// One token's log-probabilities, as OpenAI tells them, among what the constraint allowed;
/// `raw_logprob` is the one before the mask. `None` for an end token, which is not in the text.
pub(super) fn logprob(vocabulary: &Vocabulary, step: &Step) -> Option<Value> {
    if vocabulary.end_tokens().contains(&step.token) {
        return None;
    }
    let one = |token: u32, logprob: f64| match vocabulary.token_bytes(token) {
        Some(bytes) => json!({
            "token": String::from_utf8_lossy(bytes), "logprob": logprob, "bytes": bytes,
        }),
        None => json!({
            "token": vocabulary.token_name(token), "logprob": logprob, "bytes": null,
        }),
    };
    let mut entry = one(step.token, step.logprob);
    let top = step.top_logprobs.iter().map(|&(token, logprob)| one(token, logprob));
    entry["top_logprobs"] = top.collect();
    entry["raw_logprob"] = json!(step.raw_logprob);
    Some(entry)
}

impl Choice {
    pub(super) fn new(response: Response, tokens: Vec<Value>) -> Self {
        let Response { text, finish, complete, yielded, rejection, ref stop_reason, .. } = response;
        let rejection = rejection
            .map_or(Value::Null, |r| json!({ "checks": r.checks, "log_weight": r.log_weight }));
        let stop_reason = match stop_reason {
            None => Value::Null,
            Some(StopReason::Text(text)) => json!(text),
            Some(StopReason::Token(token)) => json!(token),
        };
        let logprobs = logprobs(tokens);
        Self { text, finish, stop_reason, complete, yielded, rejection, logprobs }
    }

    /// Adds what there is only for some requests.
    fn tell_more(&self, object: &mut Value) {
        if self.yielded > 0 {
            object["yielded"] = json!(self.yielded);
        }
        if !self.rejection.is_null() {
            object["rejection"] = self.rejection.clone();
        }
    }
}

/// The tokens of all choices; the prompt is counted once.
pub(super) fn add_usage(sum: &mut Usage, one: &Usage) {
    sum.prompt_tokens = one.prompt_tokens;
    sum.completion_tokens += one.completion_tokens;
}

fn usage_object(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    })
}

/// OpenAI has two words for the ways in which a text without tools ends.
fn finish_reason(finish: FinishReason) -> &'static str {
    match finish {
        FinishReason::Length => "length",
        FinishReason::Stop
        | FinishReason::StopString
        | FinishReason::StopToken
        | FinishReason::Cancelled => "stop",
    }
}
