//! Answers as OpenAI's objects: `chat.completion`, and the chunks of a stream.

mod custom_input;
mod document;
mod event_stream;
mod held_tokens;
mod json_string;
mod prompt_logprobs;
mod stream;
mod typed_writer;

pub(super) use custom_input::InputReader;
pub(super) use event_stream::{EventStream, EventWriter};
pub(super) use held_tokens::HeldTokens;
pub(super) use prompt_logprobs::{prompt_logprobs, token_text};
pub(super) use stream::ChunkWriter;
pub(super) use typed_writer::{TypedEvent, TypedWriter, WholeWriter};

use std::hash::{BuildHasher as _, RandomState};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use crate::engine::{FinishReason, Protocol, Response, Step, StopReason, Usage};
use crate::tools::{AssistantMessage, MessagePart, MessageReader, ToolCall, ToolCalls};
use crate::vocabulary::Vocabulary;

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An id that nobody can guess: a count under a hash whose keys the system draws at random.
pub(super) fn unique_id(prefix: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static KEYS: OnceLock<[RandomState; 2]> = OnceLock::new();
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let [high, low] = KEYS.get_or_init(|| [RandomState::new(), RandomState::new()]);
    let (high, low) = (high.hash_one(count), low.hash_one((count, now())));
    format!("{prefix}{high:016x}{low:016x}")
}

/// Members that all chunks of one answer share.
#[derive(Clone, Debug)]
pub(super) struct CompletionHead {
    id: String,
    created: u64,
    model: String,
    /// Names of tools that take a text instead of arguments.
    custom: Vec<String>,
}

impl CompletionHead {
    pub(super) fn new(model: &str, protocol: &Protocol) -> Self {
        let (created, id) = (now(), unique_id("chatcmpl-"));
        let calls = protocol.calls().into_iter();
        let custom = calls.flat_map(ToolCalls::custom_names).map(str::to_owned).collect();
        Self { id, created, model: model.to_owned(), custom }
    }

    /// Whether a tool takes a text instead of arguments.
    fn is_custom(&self, tool: &str) -> bool {
        self.custom.iter().any(|name| name == tool)
    }

    /// A whole answer. Each choice comes with the log-probabilities of its tokens.
    pub(super) fn completion(
        &self,
        choices: impl IntoIterator<Item = (Choice, Vec<Box<RawValue>>)>,
        usage: &Usage,
        prompt_logprobs: Option<Value>,
    ) -> ChatCompletionObject {
        let choices = choices.into_iter().enumerate().map(|(index, (choice, tokens))| {
            let content = (!tokens.is_empty()).then_some(tokens);
            ChoiceObject {
                index,
                message: self.message(&choice.reply),
                logprobs: content.map(|content| LogprobsObject { content, refusal: () }),
                finish_reason: choice.finish_reason(),
                stop_reason: choice.stop_reason,
                complete: choice.complete,
                optional: choice.optional,
            }
        });
        ChatCompletionObject {
            id: self.id.clone(),
            object: "chat.completion",
            created: self.created,
            model: self.model.clone(),
            choices: choices.collect(),
            usage: usage_object(usage),
            prompt_logprobs,
        }
    }

    fn message(&self, reply: &AssistantMessage) -> Value {
        let mut message = json!({ "role": "assistant", "content": reply.text, "refusal": null });
        if !reply.reasoning.is_empty() {
            message["reasoning_content"] = json!(reply.reasoning);
        }
        if !reply.calls.is_empty() {
            // Line ends between calls are no text for the user.
            if reply.text.trim().is_empty() {
                message["content"] = Value::Null;
            }
            let call = |call: &ToolCall| {
                let id = call.id.clone().unwrap_or_else(call_id);
                if self.is_custom(&call.name) {
                    let input = InputReader::default().read(&call.arguments);
                    let custom = json!({ "name": call.name, "input": input });
                    return json!({ "id": id, "type": "custom", "custom": custom });
                }
                json!({
                    "id": id,
                    "type": "function",
                    "function": { "name": call.name, "arguments": call.arguments },
                })
            };
            message["tool_calls"] = reply.calls.iter().map(call).collect();
        }
        message
    }

    /// The first piece of a streamed choice: who speaks. Where a call comes `first` there is no
    /// content, which clients would keep as an empty text beside the call.
    pub(super) fn role_chunk(&self, index: usize, first: Option<&MessagePart>) -> Value {
        let content = match first {
            Some(MessagePart::Call { .. } | MessagePart::Arguments(_)) => Value::Null,
            Some(MessagePart::Text(_) | MessagePart::Reasoning(_)) | None => json!(""),
        };
        let delta = json!({ "role": "assistant", "content": content, "refusal": null });
        self.chunk(index, delta, Value::Null)
    }

    /// A chunk with a part of the message. `calls` is the number of calls begun so far, with this part;
    /// `input` is the text that the part brings of a custom tool's, if its call is of one.
    pub(super) fn part_chunk(
        &self,
        index: usize,
        part: &MessagePart,
        (calls, input): (usize, Option<String>),
        tokens: Vec<Value>,
    ) -> Value {
        let call = calls.saturating_sub(1);
        let delta = match part {
            MessagePart::Text(text) => json!({ "content": text }),
            MessagePart::Reasoning(text) => json!({ "reasoning_content": text }),
            MessagePart::Call { name, id } if input.is_some() => json!({ "tool_calls": [{
                "index": call,
                "id": id.clone().unwrap_or_else(call_id),
                "type": "custom",
                "custom": { "name": name, "input": "" },
            }]}),
            MessagePart::Arguments(_) if input.is_some() => json!({ "tool_calls": [{
                "index": call,
                "custom": { "input": input },
            }]}),
            MessagePart::Call { name, id } => json!({ "tool_calls": [{
                "index": call,
                "id": id.clone().unwrap_or_else(call_id),
                "type": "function",
                "function": { "name": name, "arguments": "" },
            }]}),
            MessagePart::Arguments(text) => json!({ "tool_calls": [{
                "index": call,
                "function": { "arguments": text },
            }]}),
        };
        let mut chunk = self.chunk(index, delta, Value::Null);
        chunk["choices"][0]["logprobs"] = logprobs(tokens);
        chunk
    }

    /// The last piece of a choice: why it ended.
    pub(super) fn finish_chunk(&self, index: usize, choice: &Choice) -> Value {
        let mut chunk = self.chunk(index, json!({}), choice.finish_reason().into());
        chunk["choices"][0]["stop_reason"] = choice.stop_reason.clone();
        chunk["choices"][0]["complete"] = json!(choice.complete);
        extend(&mut chunk["choices"][0], &choice.optional);
        chunk["choices"][0]["logprobs"] = choice.logprobs.clone();
        chunk
    }

    /// The piece after the last, where usage was asked for.
    pub(super) fn usage_chunk(&self, usage: &Usage) -> Value {
        let mut chunk = self.chunk(0, Value::Null, Value::Null);
        chunk["choices"] = json!([]);
        chunk["usage"] = usage_object(usage);
        chunk
    }

    fn chunk(&self, index: usize, delta: Value, finish: Value) -> Value {
        json!({
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "choices": [{
                "index": index,
                "delta": delta,
                "logprobs": null,
                "finish_reason": finish,
            }],
        })
    }
}

/// A whole answer, as it is written. Log-probabilities are JSON text already: as trees of values they would take
/// forty times the memory.
#[derive(Debug, Serialize)]
pub(super) struct ChatCompletionObject {
    id: String,
    object: &'static str,
    created: u64,
    model: String,
    choices: Vec<ChoiceObject>,
    usage: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_logprobs: Option<Value>,
}

/// One choice of a whole answer.
#[derive(Debug, Serialize)]
struct ChoiceObject {
    index: usize,
    message: Value,
    logprobs: Option<LogprobsObject>,
    finish_reason: &'static str,
    stop_reason: Value,
    complete: bool,
    #[serde(flatten)]
    optional: Map<String, Value>,
}

/// The log-probabilities of a choice.
#[derive(Debug, Serialize)]
struct LogprobsObject {
    content: Vec<Box<RawValue>>,
    /// Always null: no refusals are written.
    refusal: (),
}

/// One answer to a request.
#[derive(Clone, Debug)]
pub(super) struct Choice {
    reply: AssistantMessage,
    finish: FinishReason,
    /// The stop string or token that ended it, as vLLM reports it.
    stop_reason: Value,
    /// Whether the text satisfies the constraint.
    complete: bool,
    /// See [`optional_members`].
    optional: Map<String, Value>,
    logprobs: Value,
}

/// The members of an answer that only some requests ask for: the parts of its text that the constraint names, the
/// steps at which a ban yielded to the constraint, statistics of draws without masks, a beam's log-probability
/// by its length, statistics of the mask's effect. `content` is what clients get of the text: captures tell
/// where they stand in it, if they do.
pub(super) fn optional_members(response: &Response, content: &str) -> Map<String, Value> {
    let captures = match &response.captures {
        Some(none) if none.is_empty() => Value::Null,
        _ => response.captures_json(content),
    };
    let rejection = response.rejection.as_ref();
    let rejection = rejection
        .map_or(Value::Null, |r| json!({ "checks": r.checks, "log_weight": r.log_weight }));
    let yielded = match response.yielded {
        0 => Value::Null,
        steps => json!(steps),
    };
    let members = [
        ("yielded", yielded),
        ("captures", captures),
        ("rejection", rejection),
        ("score", json!(response.score)),
        ("faithfulness", response.faithfulness()),
    ];
    let told = members.into_iter().filter(|(_, value)| !value.is_null());
    told.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The object that holds the log-probabilities of tokens; null where there are none.
pub(super) fn logprobs(tokens: Vec<Value>) -> Value {
    if tokens.is_empty() { Value::Null } else { json!({ "content": tokens, "refusal": null }) }
}

/// One token's log-probabilities, as OpenAI reports them, among what the constraint allowed;
/// `raw_logprob` is the one before the mask, `allowed_mass` the probability that the mask left,
/// `argmax_masked` whether it forbade the model's first choice, `forced` whether it left no other
/// text. Of a traced step also the token's id, how many tokens were allowed, and the tokens that the
/// model held most probable, `wanted`. `None` for an end token, which is not in the text. Nor are tokens
/// that a stop string cut off, which are not reported either, as in llama.cpp: so the tokens are those of
/// the content.
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
    if !step.wanted.is_empty() {
        let wanted = step.wanted.iter().map(|wanted| {
            let mut one = one(wanted.token, wanted.probability.ln());
            one["token_id"] = json!(wanted.token);
            one["allowed"] = json!(wanted.allowed);
            one
        });
        entry["wanted"] = wanted.collect();
        entry["token_id"] = json!(step.token);
        entry["allowed"] = json!(step.allowed);
    }
    let top = step.top_logprobs.iter().map(|&(token, logprob)| one(token, logprob));
    entry["top_logprobs"] = top.collect();
    entry["raw_logprob"] = json!(step.raw_logprob);
    entry["allowed_mass"] = json!(step.allowed_mass);
    entry["argmax_masked"] = json!(step.argmax_masked);
    entry["forced"] = json!(step.forced);
    Some(entry)
}

/// Adds members to an object.
pub(super) fn extend(object: &mut Value, members: &Map<String, Value>) {
    if let Value::Object(object) = object {
        object.extend(members.clone());
    }
}

impl Choice {
    pub(super) fn new(response: Response, reply: AssistantMessage, tokens: Vec<Value>) -> Self {
        let optional = optional_members(&response, &reply.text);
        let Response { finish, complete, ref stop_reason, .. } = response;
        let stop_reason = match stop_reason {
            None => Value::Null,
            Some(StopReason::Text(text)) => json!(text),
            Some(StopReason::Token(token)) => json!(token),
        };
        let logprobs = logprobs(tokens);
        Self { reply, finish, stop_reason, complete, optional, logprobs }
    }

    /// OpenAI's `finish_reason`.
    fn finish_reason(&self) -> &'static str {
        match self.finish {
            FinishReason::Length => "length",
            FinishReason::Stop | FinishReason::StopToken if !self.reply.calls.is_empty() => {
                "tool_calls"
            }
            FinishReason::Stop
            | FinishReason::StopString
            | FinishReason::StopToken
            | FinishReason::Cancelled => "stop",
        }
    }
}

/// The tokens of all choices; the prompt is counted once.
pub(super) fn add_usage(sum: &mut Usage, one: &Usage) {
    // Choices after the first find what that has read.
    let is_first = sum.prompt_tokens == 0;
    sum.cached_tokens =
        if is_first { one.cached_tokens } else { sum.cached_tokens.min(one.cached_tokens) };
    sum.prompt_tokens = one.prompt_tokens;
    sum.completion_tokens += one.completion_tokens;
    sum.reasoning_tokens += one.reasoning_tokens;
}

pub(super) fn usage_object(usage: &Usage) -> Value {
    json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "prompt_tokens_details": { "cached_tokens": usage.cached_tokens },
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
    })
}

/// Builder of the message of one choice, while it is written.
pub(super) struct MessageBuilder {
    reader: MessageReader,
    reply: AssistantMessage,
}

impl MessageBuilder {
    pub(super) fn new(protocol: &Protocol) -> Self {
        Self { reader: protocol.reader(), reply: AssistantMessage::default() }
    }

    pub(super) fn text(&mut self, text: &str) {
        let parts = self.reader.text(text);
        parts.iter().for_each(|part| self.reply.add(part));
    }

    pub(super) fn special(&mut self, name: &str) {
        let parts = self.reader.special(name);
        parts.iter().for_each(|part| self.reply.add(part));
    }

    pub(super) fn finish(self) -> AssistantMessage {
        let Self { reader, mut reply } = self;
        reader.finish().iter().for_each(|part| reply.add(part));
        reply
    }
}

/// The id of a call: nine letters and digits, which the strictest chat templates ask for; unique
/// within this server by a count, and across restarts by the time.
pub(super) fn call_id() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let mut number = (now() << 15).wrapping_add(COUNT.fetch_add(1, Ordering::Relaxed));
    let mut id = String::with_capacity(9);
    for _ in 0..9 {
        let digit = u32::try_from(number % 36).unwrap_or(0);
        id.extend(char::from_digit(digit, 36));
        number /= 36;
    }
    id
}
