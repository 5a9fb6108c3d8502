//! What is asked of the engine.

use serde_json::Value;

use crate::constraint::Constraint;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Message;
use crate::sampling::SamplingParams;

use super::thinking::Thinking;

/// What the model reads before it writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompt {
    /// A text. Where the model has a chat template it becomes the message of a user, unless the
    /// request is [`raw`](Request::raw).
    Text(String),
    /// A conversation, for the model's chat template; an error where it has none.
    Chat(Vec<Message>),
}

/// One request. The fields beyond the prompt have defaults:
/// `Request { max_tokens: 64, ..Request::text("Hello") }`.
#[derive(Clone, Debug)]
pub struct Request {
    /// What the model reads.
    pub prompt: Prompt,
    /// Feeds a text to the model as it is, without the chat template; names of special tokens in it
    /// are these tokens.
    pub raw: bool,
    /// Takes names of special tokens in the content of the prompt (messages, tools, a text that is
    /// not [`raw`](Self::raw)) for these tokens. Off by default: then they are text, and only the
    /// chat template writes special tokens, so that nobody ends a turn who merely writes in it.
    pub parse_special: bool,
    /// OpenAI's list of tool objects, for the chat template to describe to the model.
    pub tools: Option<Value>,
    /// What the text must satisfy; compiled for the engine's vocabulary. Free text without.
    pub constraint: Option<Constraint>,
    /// How long the model may think before it answers.
    pub thinking: Option<Thinking>,
    /// Sends an [`Event::Special`](super::Event::Special) for each special token but end tokens.
    pub special_tokens: bool,
    /// How tokens are drawn.
    pub sampling: SamplingParams,
    /// The most tokens to write, at least 1; the end token is not counted.
    pub max_tokens: usize,
    /// Under a constraint only tokens are written after which the text can still be completed
    /// within `max_tokens` and the model's context, so that it is never cut off (see
    /// [`Matcher::mask_within`](crate::Matcher::mask_within)); too few for any text is an error
    /// that says how many it takes. Without, a text may end incomplete. On by default.
    pub budget: bool,
    /// As many tokens must be written before the text may end: until then end tokens and
    /// `stop_token_ids` are banned, as far as the constraint leaves something else, and no stop
    /// string is looked for.
    pub min_tokens: usize,
    /// Bans the end tokens, as far as the constraint leaves something else.
    pub ignore_eos: bool,
    /// The text ends before the first of these that it would contain. Tokens that this cuts off
    /// are told all the same ([`Response::text_tokens`](super::Response::text_tokens)).
    pub stop: Vec<String>,
    /// The text ends with the stop string, not before it.
    pub include_stop_str_in_output: bool,
    /// Tokens that end the text as the model's end tokens do, and are not part of it. Under a
    /// constraint they can come only where it allows them.
    pub stop_token_ids: Vec<u32>,
    /// Writes as many texts, with seeds that count up from the first one's, and returns the one to
    /// which the model alone gives the greatest log-probability per token, or several of them
    /// ([`Engine::generate_best`](super::Engine::generate_best)); complete ones before others. At
    /// least 1.
    pub best_of: usize,
    /// Searches instead of drawing; temperature and truncations then say nothing.
    pub beam: Option<BeamSearch>,
    /// Takes tokens at the prompt's end back where they may be the beginning of longer ones, and
    /// writes them anew: what the response has written then begins with their bytes, which its text
    /// leaves out. The constraint counts from the prompt's end all the same.
    pub token_healing: bool,
    /// Draws first and asks the constraint about the drawn token, instead of computing masks
    /// ([`Sampler::draw_checked`](crate::sampling::Sampler::draw_checked)): the distribution is the
    /// same, and [`Response::rejection`](super::Response::rejection) tells what it took; with
    /// `faithfulness`, which here sends no summary, an estimate of the mass of allowed texts, too.
    pub rejection: bool,
    /// Writes only tokens that the tokenizer itself would write for the text, as far as the
    /// constraint leaves one ([`Canonical`](crate::model::Canonical) says what that is). A token
    /// that is not is taken out when it was drawn, and another one is drawn: truncations see it.
    pub canonical: bool,
    /// Guesses tokens ahead, to need fewer passes of the model.
    pub speculate: Speculation,
    /// Measures how hard the constraint pressed: [`Response::summary`](super::Response::summary).
    pub faithfulness: bool,
    /// Sends an [`Event::Step`](super::Event::Step) for each token, with what the model wanted.
    pub trace: bool,
    /// Sends a step for each token, without what the model wanted.
    pub logprobs: bool,
    /// As many of the most probable allowed tokens go with each step; above 0 it turns steps on.
    pub top_logprobs: usize,
}

/// How beam search goes about it; names and meanings are Hugging Face's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamSearch {
    /// Texts that are followed at once, and that come back. At least 1.
    pub width: usize,
    /// Scores are log-probabilities divided by the length to this power: above 0 favours long
    /// texts, below 0 short ones.
    pub length_penalty: f32,
    /// When to stop.
    pub early_stopping: EarlyStopping,
}

/// When beam search stops, once it has as many finished texts as beams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyStopping {
    /// At once.
    Yes,
    /// When no growing text could be better if it ended now.
    #[default]
    No,
    /// When no growing text could become better.
    Never,
}

impl BeamSearch {
    /// With this many beams, a length penalty of 1 and no early stopping.
    pub fn new(width: usize) -> Self {
        Self { width, length_penalty: 1.0, early_stopping: EarlyStopping::No }
    }

    /// The score of a text of so many tokens.
    pub(crate) fn score(&self, logprob: f64, length: usize) -> f64 {
        logprob / (length.max(1) as f64).powf(f64::from(self.length_penalty))
    }
}

/// Who guesses what the model will write next. None of them changes the distribution of the text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speculation {
    /// Nobody: one pass of the model for each token.
    #[default]
    Off,
    /// The constraint: text that it forces.
    Forced,
    /// The constraint: text that it forces, and trees over few choices.
    Grammar,
    /// Prompt and text: what followed the last tokens before.
    Ngram,
    /// A smaller model: [`Engine::with_draft`](super::Engine::with_draft).
    Draft,
}

impl Request {
    /// Checks that a text that satisfies the constraint fits into `max_tokens` and into the model's
    /// context, in tokens, whatever the prompt takes of it. [`Engine`](super::Engine) checks it
    /// again, less the prompt; here it is known before the prompt is tokenised.
    ///
    /// Errors if it does not, and says how many tokens it takes.
    pub fn check_budget(&self, context_length: usize) -> Result<()> {
        match &self.constraint {
            Some(constraint) if self.budget => {
                let room = self.max_tokens.min(context_length);
                constraint.matcher().check_budget(u32::try_from(room).unwrap_or(u32::MAX))
            }
            _ => Ok(()),
        }
    }

    /// As many tokens as a request may write if it does not say.
    pub const DEFAULT_MAX_TOKENS: usize = 256;

    /// A request for a prompt, free and with every setting at its default.
    pub fn new(prompt: Prompt) -> Self {
        Self {
            prompt,
            raw: false,
            parse_special: false,
            tools: None,
            constraint: None,
            thinking: None,
            special_tokens: false,
            sampling: SamplingParams::default(),
            max_tokens: Self::DEFAULT_MAX_TOKENS,
            budget: true,
            min_tokens: 0,
            ignore_eos: false,
            stop: Vec::new(),
            include_stop_str_in_output: false,
            stop_token_ids: Vec::new(),
            best_of: 1,
            beam: None,
            token_healing: false,
            rejection: false,
            canonical: false,
            speculate: Speculation::Off,
            faithfulness: false,
            trace: false,
            logprobs: false,
            top_logprobs: 0,
        }
    }

    /// A request for a text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Prompt::Text(text.into()))
    }

    /// A request for a conversation.
    pub fn chat(messages: Vec<Message>) -> Self {
        Self::new(Prompt::Chat(messages))
    }

    /// The same request `n` times, with seeds that count up from its own, where it has one: as many
    /// texts that differ. [`Engine::generate_each`](super::Engine::generate_each) writes them.
    #[must_use]
    pub fn times(&self, n: usize) -> Vec<Self> {
        let seeded = |index: usize| {
            let mut request = self.clone();
            request.sampling.seed = self.sampling.seed.map(|seed| seed.wrapping_add(index as u64));
            request
        };
        (0..n).map(seeded).collect()
    }

    /// Are texts written of which the best are told?
    pub(crate) fn is_ranked(&self) -> bool {
        self.beam.is_some() || self.best_of > 1
    }

    /// Are steps told?
    pub(crate) fn is_traced(&self) -> bool {
        self.trace || self.logprobs || self.top_logprobs > 0
    }

    /// Is it measured how hard the constraint presses?
    pub(crate) fn is_measured(&self) -> bool {
        self.faithfulness || self.is_traced()
    }

    /// Errors, naming the field, on what no model could do.
    pub(crate) fn validate(&self) -> Result<()> {
        let error = |message: &str, help| Error::new(ErrorKind::Request, message).with_help(help);
        if self.max_tokens == 0 {
            return Err(error("`max_tokens` is 0", "write a number from 1").at_field("max_tokens"));
        }
        if self.stop.iter().any(String::is_empty) {
            let help = "a stop string has at least one character";
            return Err(error("`stop` holds an empty text", help).at_field("stop"));
        }
        if self.min_tokens > self.max_tokens {
            return Err(error(
                "`min_tokens` is above `max_tokens`",
                "write a number up to `max_tokens`",
            )
            .at_field("min_tokens"));
        }
        if self.best_of == 0 {
            return Err(error("`best_of` is 0", "write a number from 1").at_field("best_of"));
        }
        if let Some(beam) = &self.beam {
            if beam.width == 0 || !beam.length_penalty.is_finite() {
                return Err(error(
                    "a beam search has a width from 1 and a finite length penalty",
                    "write such numbers",
                ));
            }
            if self.best_of > 1 || self.speculate != Speculation::Off {
                return Err(error(
                    "beam search goes with neither `best_of` nor `speculate`",
                    "leave one of them out",
                ));
            }
        }
        if self.canonical && (self.beam.is_some() || self.speculate == Speculation::Draft) {
            return Err(error(
                "`canonical` goes with neither beams nor a draft model",
                "leave one of them out",
            )
            .at_field("canonical"));
        }
        if self.rejection {
            let alone = self.beam.is_none() && self.best_of == 1;
            if !alone || self.speculate == Speculation::Draft {
                return Err(error(
                    "`rejection` goes with neither beams, `best_of` nor a draft model",
                    "leave one of them out",
                )
                .at_field("rejection"));
            }
            if self.is_traced() {
                return Err(error(
                    "`rejection` computes no masks, of which a trace would tell",
                    "leave out the trace and log-probabilities, or `rejection`",
                )
                .at_field("rejection"));
            }
            if let Some(step) = self.sampling.first_truncation() {
                let message =
                    format!("`rejection` cannot know which tokens `{step}` would have to compare");
                let help = "leave out every step that removes tokens";
                return Err(error(&message, help).at_field("rejection"));
            }
        }
        self.sampling.validate()
    }
}
