//! Prompts as tokens: conversations by the chat template, and plain texts. Names of special tokens in
//! content are text, unless a caller says otherwise.

use super::Model;
use super::chat_template::{self, Message};
use super::tokenization::{DisguisedConversation, StandIns};
use crate::error::{Error, ErrorKind, Result};

/// The reading of names of special tokens in the content of a prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SpecialNames {
    /// As text, whoever wrote them: only the chat template writes special tokens.
    #[default]
    AsText,
    /// As these tokens. Whoever writes the content can then end a turn, and begin another one.
    AsTokens,
}

/// A part of what stands in a prompt after the text of the chat template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptPart {
    /// Text as the template would write it, in which names of special tokens are these tokens.
    Template(String),
    /// Content, in which they are text, unless [`SpecialNames`] says otherwise.
    Content(String),
}

impl PromptPart {
    /// The text.
    pub fn text(&self) -> &str {
        match self {
            Self::Template(text) | Self::Content(text) => text,
        }
    }
}

impl Model {
    /// The tokens of a conversation, as the chat template writes it, ending where the assistant is
    /// to speak. `tools` is a list of OpenAI's tool objects.
    ///
    /// Special tokens are those that the template writes. Messages and tools are content, in which
    /// the names of special tokens are text, unless `names` says otherwise; a template that looks
    /// for such a name in content does not find it.
    ///
    /// Errors if there is no template or it refuses the conversation, and, before anything is
    /// tokenised, if the prompt is too long for the context by its bytes alone.
    pub fn encode_chat(
        &self,
        messages: &[Message],
        tools: Option<&serde_json::Value>,
        names: SpecialNames,
    ) -> Result<Vec<u32>> {
        self.encode_chat_with(messages, tools, &serde_json::Map::new(), names)
    }

    /// [`encode_chat`](Self::encode_chat) with more variables for the template
    /// ([`ChatTemplate::render_with`](super::ChatTemplate::render_with)).
    pub fn encode_chat_with(
        &self,
        messages: &[Message],
        tools: Option<&serde_json::Value>,
        variables: &serde_json::Map<String, serde_json::Value>,
        names: SpecialNames,
    ) -> Result<Vec<u32>> {
        self.encode_begun_chat(messages, tools, variables, names, &[])
    }

    /// [`encode_chat_with`](Self::encode_chat_with), and the beginning of the answer.
    pub(crate) fn encode_begun_chat(
        &self,
        messages: &[Message],
        tools: Option<&serde_json::Value>,
        variables: &serde_json::Map<String, serde_json::Value>,
        names: SpecialNames,
        begun: &[PromptPart],
    ) -> Result<Vec<u32>> {
        let template = self.chat_template()?;
        let mut prompt = template.render_with(messages, true, tools, variables)?;
        prompt.extend(begun.iter().map(PromptPart::text));
        self.check_length(&prompt)?;
        if names == SpecialNames::AsTokens {
            return self.tokenizer.encode_prompt(&prompt, false);
        }
        // Names in the beginning of the answer are text as in the messages.
        let mut messages = chat_template::with_parsed_arguments(messages)?;
        let count = messages.len();
        messages.extend(begun.iter().filter_map(|part| match part {
            PromptPart::Template(_) => None,
            PromptPart::Content(text) => Some(Message::new("assistant", text)),
        }));
        match self.control_tokens.disguise(&messages, tools, variables, template.text())? {
            Some(DisguisedConversation { mut messages, tools, variables, stand_ins }) => {
                let mut contents = messages.split_off(count).into_iter();
                let mut prompt =
                    template.render_with(&messages, true, tools.as_ref(), &variables)?;
                for part in begun {
                    match part {
                        PromptPart::Template(text) => prompt.push_str(text),
                        PromptPart::Content(_) => {
                            prompt.extend(contents.next().map(|message| message.content));
                        }
                    }
                }
                self.encode_as_text(&prompt, Some(&stand_ins), false)
            }
            None => self.encode_as_text(&prompt, None, false),
        }
    }

    /// The tokens of a text without a template, with the special tokens that the tokenizer puts
    /// before and after a text.
    ///
    /// Errors, before anything is tokenised, if it is too long for the context by its bytes alone.
    pub fn encode_text(&self, text: &str, names: SpecialNames) -> Result<Vec<u32>> {
        self.check_length(text)?;
        if names == SpecialNames::AsTokens {
            return self.tokenizer.encode_prompt(text, true);
        }
        match self.control_tokens.disguise_text(text)? {
            Some((text, stand_ins)) => self.encode_as_text(&text, Some(&stand_ins), true),
            None => self.encode_as_text(text, None, true),
        }
    }

    /// The tokens of a prompt in which stand-ins disguise names, where it has any.
    fn encode_as_text(
        &self,
        prompt: &str,
        stand_ins: Option<&StandIns>,
        add_special_tokens: bool,
    ) -> Result<Vec<u32>> {
        let control = &self.control_tokens;
        let none = StandIns::default();
        match stand_ins {
            None if !control.are_normalized() => {
                self.tokenizer.encode_prompt(prompt, add_special_tokens)
            }
            some => {
                let stand_ins = some.unwrap_or(&none);
                self.tokenizer.encode_disguised(prompt, stand_ins, control, add_special_tokens)
            }
        }
    }

    /// Errors if the tokens of a prompt leave no room for an answer in the context.
    pub fn check_room(&self, prompt: &[u32]) -> Result<()> {
        if prompt.len() < self.context_length() {
            Ok(())
        } else {
            Err(self.too_long(&prompt.len().to_string()))
        }
    }

    /// Errors if no tokenisation of the text is short enough.
    fn check_length(&self, text: &str) -> Result<()> {
        let Some(bound) = &self.token_bound else { return Ok(()) };
        match bound.at_least(text) {
            least if least < self.context_length() => Ok(()),
            least => Err(self.too_long(&format!("at least {least}"))),
        }
    }

    /// The error for a prompt that is too long, in the words that clients of OpenAI's API know.
    fn too_long(&self, tokens: &str) -> Error {
        let context = self.context_length();
        let message = format!(
            "This model's maximum context length is {context} tokens, and a prompt of {tokens} \
             leaves no room for an answer (context_length_exceeded)"
        );
        let help = format!("shorten it to at most {} tokens", context.saturating_sub(1));
        Error::new(ErrorKind::Context, message).with_help(help)
    }
}
