//! What comes back: events while the text grows, and the response at its end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::sampling::Summary;

/// What [`Engine::generate`](super::Engine::generate) tells while it works.
#[derive(Clone, Debug)]
pub enum Event<'a> {
    /// More text: whole characters, never empty, and never part of a stop string. All chunks in a
    /// row are the response's text.
    Text(&'a str),
    /// A special token was written, which is no text; where the request asks.
    Special(u32),
    /// A token was drawn; comes before the text that it completes.
    Step(&'a Step),
    /// A step was done of texts that are told later: of beams, or of several texts of which the best
    /// are told. To break ends the search.
    Working,
    /// The text is finished: its last event.
    Ended(&'a Response),
}

/// How one token was chosen.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The token.
    pub token: u32,
    /// What it writes: its bytes as text (stray bytes as U+FFFD), or a special token's name.
    pub text: String,
    /// Its probability in the distribution that it was drawn from; 1 if greedy.
    pub probability: f64,
    /// Natural logarithm of its probability among the allowed tokens by the model alone.
    pub logprob: f64,
    /// Natural logarithm of its probability among all tokens by the model alone.
    pub raw_logprob: f64,
    /// How many tokens were allowed.
    pub allowed: usize,
    /// How many of them the truncations left.
    pub nucleus: usize,
    /// The share of the model's probability that lay on allowed tokens.
    pub allowed_mass: f64,
    /// Did the mask forbid the token that the model held most probable?
    pub argmax_masked: bool,
    /// Did the constraint leave no choice about the text of this token?
    pub forced: bool,
    /// Did a ban, the least number of tokens or `ignore_eos` yield to the constraint?
    pub yielded: bool,
    /// The most probable tokens before the mask, best first; with [`trace`](super::Request::trace).
    pub wanted: Vec<Wanted>,
    /// The most probable allowed tokens, best first, with the natural logarithm of their
    /// probability among the allowed ones; as many as
    /// [`top_logprobs`](super::Request::top_logprobs).
    pub top_logprobs: Vec<(u32, f64)>,
    /// Time to compute the mask, in microseconds; 0 without a constraint.
    pub mask_us: f64,
}

/// A token that the model would have liked to write.
#[derive(Clone, Debug, PartialEq)]
pub struct Wanted {
    /// The token.
    pub token: u32,
    /// What it writes, as in [`Step::text`].
    pub text: String,
    /// Its probability by the model alone, before the mask.
    pub probability: f64,
    /// Did the mask allow it?
    pub allowed: bool,
}

/// Why a text ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishReason {
    /// The model ended it, or the constraint did: it was complete at the limit, or allowed nothing
    /// more.
    Stop,
    /// `max_tokens` or the model's context was used up.
    Length,
    /// A stop string came.
    StopString,
    /// One of the request's stop tokens came.
    StopToken,
    /// The receiver of the events asked for it.
    Cancelled,
}

/// What ended a text, where the request named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// This stop string.
    Text(String),
    /// This stop token.
    Token(u32),
}

/// How often the model was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passes {
    /// Forward passes, the prompt's as one; less that one where another text had the same prompt
    /// read ([`Engine::generate_each`](super::Engine::generate_each)).
    pub model: usize,
    /// Tokens that were guessed and read.
    pub drafted: usize,
    /// Tokens that were guessed right.
    pub accepted: usize,
}

/// What draws without masks took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rejection {
    /// Tokens that the constraint was asked about.
    pub checks: usize,
    /// The natural logarithm of the product of the steps' estimated masses; 0 unless the request
    /// asks for `faithfulness`. The product is an unbiased weight: texts drawn from the model step
    /// by step under the constraint, weighted by it, are texts of the model that satisfy the
    /// constraint.
    pub log_weight: f64,
}

/// Tokens read and written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the text; the end token is not counted.
    pub completion_tokens: usize,
    /// Those of them that are reasoning, with its tags.
    pub reasoning_tokens: usize,
}

/// How long it took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Reading the prompt; nothing where another text had it read.
    pub prefill: Duration,
    /// Everything after.
    pub decode: Duration,
}

/// A finished text.
#[derive(Clone, Debug, PartialEq)]
pub struct Response {
    /// The text, up to a stop string where one came. Bytes that are no UTF-8 (only where a limit
    /// cut a character) are U+FFFD.
    pub text: String,
    /// The tokens that were written, without an end token.
    pub tokens: Vec<u32>,
    /// How many of them, from the first on, have a part in the text: all, unless a stop string has
    /// cut some off.
    pub text_tokens: usize,
    /// Why it ended.
    pub finish: FinishReason,
    /// Which stop string or token it was.
    pub stop_reason: Option<StopReason>,
    /// Does the text satisfy the constraint? True without one.
    pub complete: bool,
    /// Steps at which a ban, the least number of tokens or `ignore_eos` yielded to the constraint,
    /// which allowed nothing else.
    pub yielded: usize,
    /// How hard the constraint pressed, where the request asks or steps are sent.
    pub summary: Option<Summary>,
    /// What draws without masks took, where the request asks for them.
    pub rejection: Option<Rejection>,
    /// The score of a beam.
    pub score: Option<f64>,
    /// What it cost in tokens.
    pub usage: Usage,
    /// What it cost in time.
    pub timing: Timing,
    /// What it cost in passes of the model.
    pub passes: Passes,
    /// The seed that gives this text again.
    pub seed: u64,
}

impl Response {
    /// The summary as command line and server tell it; null where there is none.
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
