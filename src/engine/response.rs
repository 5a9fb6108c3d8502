//! Events while a text grows, and the response at its end.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::{Value, json};

use super::decision::Decision;
use super::prompt_logprobs::PromptToken;
use crate::constraint::Capture;
use crate::sampling::Summary;

/// An event while [`Engine::generate`](super::Engine::generate) works.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// More text: whole characters, never empty, and never part of a stop string. The concatenation
    /// of all chunks is the response's text.
    Text(&'a str),
    /// A special token was written, if the request asks for
    /// [`special_tokens`](super::Request::special_tokens).
    Special(u32),
    /// A token was drawn; comes before the text that it completes.
    Step(&'a Step),
    /// The engine's loop went round, mostly with a forward pass, without news of this request: it waits
    /// for its turn, its prompt is read, or its texts are sent later (beams, the best of several).
    Working,
    /// The text is finished: its last event.
    Ended(&'a Response),
}

/// Receives the events of one text. `Break` ends the text.
pub(crate) type EventSink<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// An [`Event`] that owns its text: on its way from the step of a text to those who listen.
#[derive(Clone, Debug)]
pub(crate) enum TextEvent {
    Text(String),
    Special(u32),
    Step(Box<Step>),
    Working,
    Ended(Box<Response>),
}

impl TextEvent {
    pub(crate) fn step(step: Step) -> Self {
        Self::Step(Box::new(step))
    }

    pub(crate) fn new(event: &Event<'_>) -> Self {
        match *event {
            Event::Text(text) => Self::Text(text.to_owned()),
            Event::Special(token) => Self::Special(token),
            Event::Step(step) => Self::step(step.clone()),
            Event::Working => Self::Working,
            Event::Ended(response) => Self::Ended(Box::new(response.clone())),
        }
    }

    pub(crate) fn as_event(&self) -> Event<'_> {
        match self {
            Self::Text(text) => Event::Text(text),
            Self::Special(token) => Event::Special(*token),
            Self::Step(step) => Event::Step(step),
            Self::Working => Event::Working,
            Self::Ended(response) => Event::Ended(response),
        }
    }
}

/// The report of one token's draw. Flat, as a line of a trace is.
///
/// More than 12 fields: everything that is reported about one token.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The token.
    pub token: u32,
    /// Its text: its bytes (stray bytes as U+FFFD), or a special token's name.
    pub text: String,
    /// Its probability in the distribution that it was drawn from; 1 if greedy.
    pub probability: f64,
    /// Natural logarithm of its probability among the allowed tokens by the model alone.
    pub logprob: f64,
    /// Natural logarithm of its probability among all tokens by the model alone.
    pub raw_logprob: f64,
    /// The number of allowed tokens.
    pub allowed: usize,
    /// The number of them that the truncations left.
    pub nucleus: usize,
    /// The share of the model's probability that lay on allowed tokens.
    pub allowed_mass: f64,
    /// Whether the mask forbade the token that the model held most probable.
    pub argmax_masked: bool,
    /// Whether the constraint left no choice about the text of this token.
    pub forced: bool,
    /// Whether a ban, the least number of tokens or `ignore_eos` yielded to the constraint.
    pub yielded: bool,
    /// The most probable tokens before the mask, best first: five, or as many as
    /// [`top_logprobs`](super::Request::top_logprobs) if that is more; with
    /// [`trace`](super::Request::trace) alone.
    pub wanted: Vec<Wanted>,
    /// The most probable allowed tokens, best first, with the natural logarithm of their
    /// probability among the allowed ones; as many as
    /// [`top_logprobs`](super::Request::top_logprobs).
    pub top_logprobs: Vec<(u32, f64)>,
    /// The length of the text before it, in bytes, less the beginning of a character at its end.
    pub text_start: usize,
    /// Time to compute the mask, in microseconds; 0 without a constraint.
    pub mask_us: f64,
}

/// A token that the model held probable, before the mask.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The token.
    pub token: u32,
    /// Its text, as in [`Step::text`].
    pub text: String,
    /// Its probability by the model alone, before the mask.
    pub probability: f64,
    /// Whether the mask allowed it.
    pub allowed: bool,
}

/// The reason why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended it, or the constraint did: it was complete at the limit, or allowed nothing
    /// more.
    Stop,
    /// `max_tokens` or the model's context was used up: the text is not complete, or it was cut off where the
    /// constraint leaves the text free (beside tools, while the model thinks, in `.*`).
    Length,
    /// A stop string was written.
    StopString,
    /// One of the request's stop tokens was drawn.
    StopToken,
    /// The receiver of the events returned `Break`.
    Cancelled,
}

/// The stop string or stop token that ended a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// This stop string, or stop regex as it was given.
    Text(String),
    /// This stop token.
    Token(u32),
}

/// Numbers of forward passes and guesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Forward passes that read tokens of this text or its prompt, alone or among others.
    pub model: usize,
    /// Guessed tokens that were read.
    pub drafted: usize,
    /// Guessed tokens that came true.
    pub accepted: usize,
}

/// Statistics of rejection sampling.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rejection {
    /// Number of tokens that the constraint was asked about.
    pub checks: usize,
    /// The natural logarithm of the product of the steps' estimated masses; 0 unless the request
    /// asks for `faithfulness`. The product is an unbiased weight: texts drawn from the model step
    /// by step under the constraint, weighted by it, are texts of the model that satisfy the
    /// constraint.
    pub log_weight: f64,
}

/// Numbers of tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the text; the end token is not counted.
    pub completion_tokens: usize,
    /// Tokens of the text that are reasoning, tags included.
    pub reasoning_tokens: usize,
    /// Tokens of the prompt that were not read, because another text that began with them had been
    /// read before.
    pub cached_tokens: usize,
}

/// Durations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Waiting for a place among the tasks that run.
    pub queued: Duration,
    /// Prefill: reading the prompt, beside what else is worked on.
    pub prefill: Duration,
    /// Decode: everything after the prefill.
    pub decode: Duration,
}

/// A finished text, with what it cost.
///
/// More than 12 fields: the text, and everything that is reported about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The text, up to a stop string if one ended it. Bytes that are no UTF-8 (only where a limit
    /// cut a character) are U+FFFD.
    pub text: String,
    /// The tokens that were written, without an end token.
    pub tokens: Vec<u32>,
    /// The special tokens among them, where the request asks for [them](super::Request::special_tokens), each with the
    /// byte of the text before which it stands.
    pub special_tokens: Vec<(usize, u32)>,
    /// The number of tokens, from the first on, that have a part in the text: all, unless a stop
    /// string has cut some off.
    pub text_tokens: usize,
    /// Why it ended.
    pub finish: FinishReason,
    /// The stop string or token that ended it, if one did.
    pub stop_reason: Option<StopReason>,
    /// Whether the text satisfies the constraint; true without one.
    pub complete: bool,
    /// The parts of the text that the constraint's grammar names; `None` where a limit was reached
    /// while they were looked for. Offsets are those of the text that the constraint accepted.
    pub captures: Option<Vec<Capture>>,
    /// Steps at which a ban, the least number of tokens or `ignore_eos` yielded to the constraint,
    /// which allowed nothing else.
    pub yielded: usize,
    /// The pressure of the constraint, if the request asks for it or for steps.
    pub summary: Option<Summary>,
    /// Statistics of rejection sampling, if the request asks for it.
    pub rejection: Option<Rejection>,
    /// The score of a beam: log-probability divided by a power of the length.
    pub score: Option<f64>,
    /// The probabilities of the request's [labels](super::Request::labels); the text is then the name of
    /// the most probable one, and nothing was written.
    pub decision: Option<Decision>,
    /// The tokens of the prompt, and how probable the model held them, if the request asks for
    /// [`prompt_logprobs`](super::Request::prompt_logprobs).
    pub prompt_logprobs: Option<Vec<PromptToken>>,
    /// Numbers of tokens.
    pub usage: Usage,
    /// Durations.
    pub timing: Timing,
    /// Numbers of forward passes and guesses.
    pub passes: Passes,
    /// The seed that gives this text again.
    pub seed: u64,
}

impl Response {
    /// The captures as JSON, for command line and server; null if there are none. `content` is what a client gets
    /// of the text, without the reasoning before it: offsets count from its beginning.
    pub fn captures_json(&self, content: &str) -> Value {
        let all = |captures: &Vec<Capture>| captures.iter().map(Capture::to_json).collect();
        let mut captures: Value = self.captures.as_ref().map_or(Value::Null, all);
        let before = if !content.is_empty() && self.text.ends_with(content) {
            self.text.len() - content.len()
        } else {
            0
        };
        for capture in captures.as_array_mut().into_iter().flatten() {
            for name in ["start", "end"] {
                let offset = capture[name].as_u64().unwrap_or_default();
                capture[name] = json!(offset.saturating_sub(before as u64));
            }
        }
        captures
    }

    /// The summary as JSON, for command line and server; null if there is none.
    pub fn faithfulness(&self) -> Value {
        self.summary.as_ref().map_or(Value::Null, |summary| {
            json!({
                "steps": summary.steps,
                "forced": summary.forced,
                "argmax_masked": summary.argmax_masked,
                "logprob": summary.logprob,
                "raw_logprob": summary.raw_logprob,
                "mean_allowed_mass": summary.mean_mass(),
                "least_allowed_mass": summary.least_mass,
            })
        })
    }
}
