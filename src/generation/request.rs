//! What is asked of the engine.

use serde_json::Value;

use crate::constraint::Constraint;
use crate::error::{Error, ErrorKind, Result};
use crate::model::Message;
use crate::sampling::SamplingParams;

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
    /// Feeds a text to the model as it is, without the chat template.
    pub raw: bool,
    /// OpenAI's list of tool objects, for the chat template to describe to the model.
    pub tools: Option<Value>,
    /// What the text must satisfy; compiled for the engine's vocabulary. Free text without.
    pub constraint: Option<Constraint>,
    /// How tokens are drawn.
    pub sampling: SamplingParams,
    /// The most tokens to write, at least 1; the end token is not counted.
    pub max_tokens: usize,
    /// The text ends before the first of these that it would contain.
    pub stop: Vec<String>,
    /// Sends an [`Event::Step`](super::Event::Step) for each token, with what the model wanted.
    pub trace: bool,
    /// As many of the most probable allowed tokens go with each step; above 0 it turns steps on.
    pub top_logprobs: usize,
}

impl Request {
    /// As many tokens as a request may write if it does not say.
    pub const DEFAULT_MAX_TOKENS: usize = 256;

    /// A request for a prompt, free and with every setting at its default.
    pub fn new(prompt: Prompt) -> Self {
        Self {
            prompt,
            raw: false,
            tools: None,
            constraint: None,
            sampling: SamplingParams::default(),
            max_tokens: Self::DEFAULT_MAX_TOKENS,
            stop: Vec::new(),
            trace: false,
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

    /// Errors, naming the field, on what no model could do.
    pub(super) fn validate(&self) -> Result<()> {
        let error =
            |message: &str, help| Err(Error::new(ErrorKind::Request, message).with_help(help));
        if self.max_tokens == 0 {
            return error("`max_tokens` is 0", "write a number from 1");
        }
        if self.stop.iter().any(String::is_empty) {
            return error("`stop` holds an empty text", "a stop string has at least one character");
        }
        self.sampling.validate()
    }
}
