//! Requests to the engine.

use serde_json::Value;

use crate::constraint::{Constraint, Matcher};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Message, PromptPart};
use crate::sampling::SamplingParams;

use super::decision::Labels;
use super::reasoning_budget::Thinking;

/// The text or conversation that the model reads before it writes.
#[derive(Clone, Debug, PartialEq)]
pub enum Prompt {
    /// A text. Where the model has a chat template it becomes the message of a user, unless the
    /// request is [`raw`](Request::raw).
    Text(String),
    /// A conversation, for the model's chat template; an error where it has none.
    Chat(Vec<Message>),
    /// Tokens, which the model reads as they are. Ids must be below the vocabulary's length.
    Tokens(Vec<u32>),
}

/// A request for one text, or for the best of several. All fields but the prompt have defaults:
/// `Request { max_tokens: 64, ..Request::text("Hello") }`.
///
/// The struct is flat and has many fields, as the requests of OpenAI's API and of vLLM have; their
/// names are kept where they exist there. Lengths are in tokens.
///
/// More than 12 fields: one a setting of the caller, each with a default.
#[derive(Clone, Debug)]
pub struct Request {
    /// The prompt.
    pub prompt: Prompt,
    /// Gives the prompt's text to the model without the chat template; names of special tokens in
    /// it become these tokens.
    pub raw: bool,
    /// The beginning of the answer, which stands at the prompt's end and is no part of the text: the model goes on from
    /// it, and so does the constraint, whose text it begins. Empty for none.
    pub prefill: String,
    /// Text between the chat template's and [`prefill`](Self::prefill), which the constraint does not read: the
    /// tags of reasoning that is begun or closed, and the reasoning itself
    /// ([`MessageFormats::begin`](super::MessageFormats::begin)).
    pub begun: Vec<PromptPart>,
    /// Reads names of special tokens in the content of the prompt (messages, tools, a text that is
    /// not [`raw`](Self::raw)) as these tokens. Off by default: then they are text, and only the
    /// chat template writes special tokens, so that content cannot end a turn.
    pub parse_special: bool,
    /// OpenAI's list of tool objects, for the chat template to describe to the model.
    pub tools: Option<Value>,
    /// More variables for the chat template, such as `enable_thinking`
    /// ([`ChatTemplate::render_with`](crate::model::ChatTemplate::render_with)) or the schema of the answer
    /// ([`ChatTemplate::tell_schema`](crate::model::ChatTemplate::tell_schema)).
    pub template_variables: serde_json::Map<String, Value>,
    /// The constraint that the text satisfies, compiled for the engine's vocabulary; `None` for
    /// free text.
    pub constraint: Option<Constraint>,
    /// The tags and the budget of the reasoning before the answer.
    pub thinking: Option<Thinking>,
    /// Sends an [`Event::Special`](super::Event::Special) for each special token but end tokens.
    pub special_tokens: bool,
    /// The settings of the sampler.
    pub sampling: SamplingParams,
    /// Greatest number of tokens of the text, at least 1 (0 beside
    /// [`prompt_logprobs`](Self::prompt_logprobs)); the end token is not counted.
    pub max_tokens: usize,
    /// Whether a constrained text is guaranteed to be complete within `max_tokens` and the model's
    /// context: only tokens are written after which it can still be completed there (see
    /// [`Matcher::mask_within`](crate::Matcher::mask_within)); too few for any text is an error
    /// that says how many it takes. Without, a text may end incomplete. On by default.
    pub budget: bool,
    /// Least number of tokens of the text: until then end tokens and `stop_token_ids` are banned,
    /// unless the constraint allows nothing else, and stop strings are ignored.
    pub min_tokens: usize,
    /// Bans the end tokens but those of `stop_token_ids`, unless the constraint allows nothing else.
    pub ignore_eos: bool,
    /// Stop strings: the text ends before the first that it would contain. Tokens that this cuts
    /// off are in the response all the same
    /// ([`Response::text_tokens`](super::Response::text_tokens)).
    pub stop: Vec<String>,
    /// Stop regexes, in the syntax of Rust's `regex` crate: the text ends before the first match that
    /// it would contain. Of all stops that one counts which ends first; of those that end there, the
    /// longest, and then the first, stop strings before regexes. So `a+` ends with its first `a`. A
    /// regex matches a character at least, and does not look at what follows it (`$`, `\b`).
    pub stop_regex: Vec<String>,
    /// Lets the text end with the stop string or the match of a stop regex instead of before it.
    pub include_stop_str_in_output: bool,
    /// Tokens that end the text as the model's end tokens do, and are not part of it. Under a
    /// constraint they can come only where it allows them.
    pub stop_token_ids: Vec<u32>,
    /// Number of texts that are written, with seeds that count up from the first one's. The
    /// response is the one with the greatest log-probability per token by the model alone, complete
    /// texts before others; [`Engine::generate_best`](super::Engine::generate_best) returns
    /// several. At least 1.
    pub best_of: usize,
    /// Beam search instead of draws; temperature and truncations are ignored then.
    pub beam: Option<BeamSearch>,
    /// Labels whose probabilities are read instead of writing a text
    /// ([`Engine::decide`](super::Engine::decide)). They are those of the model alone: settings of the
    /// sampler have no part in them.
    pub labels: Option<Labels>,
    /// Token healing: takes tokens off the prompt's end that may be the beginning of longer ones,
    /// and makes the text begin with their bytes. The response's tokens include these bytes, its
    /// text and the constraint do not.
    pub token_healing: bool,
    /// Rejection sampling: draws first and asks the constraint about the drawn token, instead of
    /// computing masks ([`Sampler::draw_checked`](crate::sampling::Sampler::draw_checked)). The
    /// distribution is the same; where a grammar's temperature makes a truncation matter that the request's
    /// temperature 0 does not, tokens are drawn under masks. [`Response::rejection`](super::Response::rejection) has the number
    /// of checks and, with `faithfulness` (which makes no summary then), an estimate of the mass of
    /// allowed texts.
    pub rejection: bool,
    /// Writes only tokens that the tokenizer itself would write for the text
    /// ([`Canonical`](crate::model::Canonical)), as long as the constraint allows one. Other tokens
    /// are rejected when they are drawn, so truncations count them.
    pub canonical: bool,
    /// Speculative decoding, for fewer forward passes of the model.
    pub speculate: Speculation,
    /// Measures the pressure of the constraint: [`Response::summary`](super::Response::summary).
    pub faithfulness: bool,
    /// Sends an [`Event::Step`](super::Event::Step) for each token, with the tokens that the model
    /// held most probable.
    pub trace: bool,
    /// Sends an [`Event::Step`](super::Event::Step) for each token.
    pub logprobs: bool,
    /// Number of most probable allowed tokens in each step; above 0 steps are sent.
    pub top_logprobs: usize,
    /// Measures how probable the model held each token of the prompt, with so many alternatives
    /// ([`Response::prompt_logprobs`](super::Response::prompt_logprobs)). The prompt is read from its
    /// beginning, also where it is in the prefix cache. [`max_tokens`](Self::max_tokens) may be 0 then:
    /// nothing is written.
    pub prompt_logprobs: Option<usize>,
}

/// The settings of beam search; names and meanings are Hugging Face's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BeamSearch {
    /// Number of beams, and greatest number of texts that come back. At least 1.
    pub width: usize,
    /// Scores are log-probabilities divided by the length to this power: above 0 favours long
    /// texts, below 0 short ones.
    pub length_penalty: f32,
    /// The condition to stop.
    pub early_stopping: EarlyStopping,
}

/// The condition under which beam search stops, once it has as many finished texts as beams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EarlyStopping {
    /// It stops at once.
    Yes,
    /// It stops when no growing text would be better if it ended now.
    #[default]
    No,
    /// It stops when no growing text can become better.
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

/// The source of guesses for speculative decoding. The distribution of the text is the same for each source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Speculation {
    /// None: one forward pass for each token.
    #[default]
    Off,
    /// The constraint: text that it forces.
    Forced,
    /// The constraint: text that it forces, and trees over few choices.
    Grammar,
    /// Prompt and text: the tokens that followed an earlier occurrence of the last ones.
    Ngram,
    /// A smaller model: [`Engine::with_draft`](super::Engine::with_draft).
    Draft,
}

impl Request {
    /// Checks that some text of the constraint fits into `max_tokens` and into the model's context
    /// of `context_length` tokens, without regard to the prompt. [`Engine`](super::Engine) checks
    /// the same with the prompt, once that is tokenised.
    ///
    /// Errors if none does, with the number of tokens that it takes.
    pub fn check_budget(&self, context_length: usize) -> Result<()> {
        match &self.constraint {
            Some(constraint) if self.budget => {
                let room = self.max_tokens.min(context_length);
                let mut matcher = self.matcher_of(constraint)?;
                matcher.check_budget(u32::try_from(room).unwrap_or(u32::MAX))
            }
            _ => Ok(()),
        }
    }

    /// Everything that stands in the prompt after the chat template's text.
    pub(crate) fn beginning(&self) -> Vec<PromptPart> {
        let prefill = Some(&self.prefill).filter(|prefill| !prefill.is_empty());
        let prefill = prefill.map(|prefill| PromptPart::Content(prefill.clone()));
        self.begun.iter().cloned().chain(prefill).collect()
    }

    /// A matcher of the constraint that has read the beginning of the answer.
    ///
    /// Errors if the constraint has no text that begins with it.
    pub(crate) fn matcher_of(&self, constraint: &Constraint) -> Result<Matcher> {
        let mut matcher = constraint.matcher();
        if self.prefill.is_empty() {
            return Ok(matcher);
        }
        matcher.accept_bytes(self.prefill.as_bytes()).map_err(|error| match error.kind() {
            ErrorKind::Rejected => {
                let message = "no text that the constraint accepts begins as the answer does";
                Error::new(ErrorKind::Request, message)
                    .with_help("begin it otherwise, or not at all")
                    .with_source(error)
                    .at_field("prefill")
            }
            _ => error,
        })?;
        Ok(matcher)
    }

    /// The default of [`max_tokens`](Self::max_tokens).
    pub const DEFAULT_MAX_TOKENS: usize = 256;

    /// A request with this prompt, without a constraint and with all other fields at their
    /// defaults.
    pub fn new(prompt: Prompt) -> Self {
        Self {
            prompt,
            raw: false,
            prefill: String::new(),
            begun: Vec::new(),
            parse_special: false,
            tools: None,
            template_variables: serde_json::Map::new(),
            constraint: None,
            thinking: None,
            special_tokens: false,
            sampling: SamplingParams::default(),
            max_tokens: Self::DEFAULT_MAX_TOKENS,
            budget: true,
            min_tokens: 0,
            ignore_eos: false,
            stop: Vec::new(),
            stop_regex: Vec::new(),
            include_stop_str_in_output: false,
            stop_token_ids: Vec::new(),
            best_of: 1,
            beam: None,
            labels: None,
            token_healing: false,
            rejection: false,
            canonical: false,
            speculate: Speculation::Off,
            faithfulness: false,
            trace: false,
            logprobs: false,
            top_logprobs: 0,
            prompt_logprobs: None,
        }
    }

    /// A request with a text as its prompt.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Prompt::Text(text.into()))
    }

    /// A request with a conversation as its prompt.
    pub fn chat(messages: Vec<Message>) -> Self {
        Self::new(Prompt::Chat(messages))
    }

    /// `n` copies of the request with seeds that count up from its own, if it has one, for `n`
    /// different texts. [`Engine::generate_each`](super::Engine::generate_each) writes them.
    #[must_use]
    pub fn times(&self, n: usize) -> Vec<Self> {
        let seeded = |index: usize| {
            let mut request = self.clone();
            request.sampling.seed = self.sampling.seed.map(|seed| seed.wrapping_add(index as u64));
            request
        };
        (0..n).map(seeded).collect()
    }

    /// The number of texts that are written.
    pub(crate) fn texts(&self) -> usize {
        self.beam.as_ref().map_or(self.best_of, |beam| beam.width)
    }

    /// Whether several texts are written and the best returned.
    pub(crate) fn is_ranked(&self) -> bool {
        self.beam.is_some() || self.best_of > 1
    }

    /// Whether steps are sent.
    pub(crate) fn is_traced(&self) -> bool {
        self.trace || self.logprobs || self.top_logprobs > 0
    }

    /// Whether the pressure of the constraint is measured.
    pub(crate) fn is_measured(&self) -> bool {
        self.faithfulness || self.is_traced()
    }

    /// The stop of an index: stop strings first, then stop regexes.
    pub(crate) fn stop_of(&self, index: usize) -> Option<&str> {
        self.stop.iter().chain(&self.stop_regex).nth(index).map(String::as_str)
    }

    /// Errors, naming the field, on values out of range and on fields that exclude each other.
    pub(crate) fn validate(&self) -> Result<()> {
        let error = |message: &str, help| Error::new(ErrorKind::Request, message).with_help(help);
        if self.max_tokens == 0 && self.prompt_logprobs.is_none() {
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
        if self.prompt_logprobs.is_some() && (self.beam.is_some() || self.token_healing) {
            return Err(error(
                "`prompt_logprobs` goes with neither beams nor `token_healing`",
                "leave one of them out",
            )
            .at_field("prompt_logprobs"));
        }
        if let Some(labels) = &self.labels {
            labels.validate()?;
            let writes = [
                ("constraint", self.constraint.is_some()),
                ("thinking", self.thinking.is_some()),
                ("best_of", self.best_of > 1),
                ("beam", self.beam.is_some()),
                ("speculate", self.speculate != Speculation::Off),
                ("token_healing", self.token_healing),
                ("canonical", self.canonical),
                ("rejection", self.rejection),
                ("stop", !self.stop.is_empty() || !self.stop_regex.is_empty()),
                ("logprobs", self.is_traced()),
                ("faithfulness", self.faithfulness),
                ("prompt_logprobs", self.prompt_logprobs.is_some()),
            ];
            if let Some((field, _)) = writes.into_iter().find(|(_, is_set)| *is_set) {
                let message = format!("`{field}` is for a text, and labels are read without one");
                return Err(error(&message, "leave it out, or the labels").at_field(field));
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
            let truncation = self.sampling.first_truncation();
            if let Some(step) = truncation.filter(|_| self.sampling.temperature != 0.0) {
                let message =
                    format!("`rejection` cannot know which tokens `{step}` would have to compare");
                let help = "leave out every step that removes tokens";
                return Err(error(&message, help).at_field("rejection"));
            }
        }
        self.sampling.validate()
    }
}
