//! Formats of reasoning, as data: free text in a model's thinking tags, before the constrained
//! answer.

use std::sync::LazyLock;

use serde::Deserialize;

use super::pieces::{self, Slots};
use super::tool_format::Piece;
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder};
use crate::regular::{ByteSet, Language, Utf8, any_text};
use crate::vocabulary::{SpecialTokenNames, Vocabulary};

/// Format in which a family of models writes its reasoning.
///
/// ```
/// use maskwright::tools::{AfterReasoning, ReasoningFormat, ReasoningStart};
/// use maskwright::{Compiler, Vocabulary};
/// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
/// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
/// let reasoning = ReasoningFormat::named("think")?;
/// let (start, after) = (ReasoningStart::Message, AfterReasoning::Answer);
/// let prefix = reasoning.grammar(&vocabulary, start, after)?;
/// let yes_or_no = Compiler::new(vocabulary).with_prefix(&prefix)?.choice(&["yes", "no"])?;
/// let mut matcher = yes_or_no.matcher();
/// matcher.accept_bytes(b"<think>The sky? Maybe.</think>\n\nyes")?;
/// assert!(matcher.is_accepting());
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReasoningFormat {
    name: String,
    aliases: Vec<String>,
    /// The document that it is taken from.
    #[allow(dead_code, reason = "for readers of the description")]
    source: String,
    /// A text by which a chat template of the family is known.
    mark: String,
    /// Pieces that may stand before those that open it.
    #[serde(default)]
    lead: Vec<Piece>,
    open: Vec<Piece>,
    /// One tag or token; the text before it holds none.
    close: Piece,
    #[serde(default)]
    after: Vec<Piece>,
    /// Pieces before an answer, where no format of tool calls has its own.
    #[serde(default)]
    answer: Vec<Piece>,
}

/// Beginning of the reasoning of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReasoningStart {
    /// The message begins with the opening tag.
    #[default]
    Message,
    /// The prompt ends in the opening tag, so that the message begins inside of it.
    Prompt,
    /// The message begins with the opening tag if the model reasons, which it may leave out.
    Optional,
    /// The message has no reasoning, only what the format has before an answer.
    Absent,
}

/// The part of a message after the reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterReasoning {
    /// An answer, after the pieces that the format of the reasoning has before it.
    Answer,
    /// A message of a [`ToolFormat`](super::ToolFormat), which has its own pieces before an answer.
    ToolFormat,
}

/// Spelling of a tag in a vocabulary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marker {
    /// Bytes, in any tokens.
    Bytes(Vec<u8>),
    /// A special token.
    Token(u32),
}

/// Descriptions of the known formats.
const REASONING_FORMATS: [&str; 9] = [
    include_str!("reasoning_formats/command.json"),
    include_str!("reasoning_formats/gemma4.json"),
    include_str!("reasoning_formats/glm-4.5.json"),
    include_str!("reasoning_formats/gpt-oss.json"),
    include_str!("reasoning_formats/kimi-k3.json"),
    include_str!("reasoning_formats/minimax-m3.json"),
    include_str!("reasoning_formats/mistral.json"),
    include_str!("reasoning_formats/seed-oss.json"),
    include_str!("reasoning_formats/think.json"),
];

/// The known formats, read once: every request for a conversation asks for that of the chat template.
static KNOWN: LazyLock<Vec<ReasoningFormat>> = LazyLock::new(|| {
    REASONING_FORMATS.iter().filter_map(|text| ReasoningFormat::read(text).ok()).collect()
});

/// The text that ends the reasoning.
#[cfg(feature = "model")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClosingText {
    /// The closing tag.
    pub(crate) tag: String,
    /// The text after it and before the answer: optional line breaks, and tags of the answer.
    pub(crate) after: String,
}

impl ReasoningFormat {
    /// A known format by its name (`think`, `mistral`, `gpt-oss`) or by an alias: that of vLLM's or
    /// SGLang's parser (`qwen3`, `deepseek_r1`).
    ///
    /// Errors for any other name, with the names of all formats.
    pub fn named(name: &str) -> Result<Self> {
        let mut names = Vec::new();
        for text in REASONING_FORMATS {
            let reasoning = Self::read(text)?;
            if reasoning.name == name || reasoning.aliases.iter().any(|alias| alias == name) {
                return Ok(reasoning);
            }
            names.push(reasoning.name);
        }
        Err(Error::new(ErrorKind::Request, format!("`{name}` is no format of reasoning"))
            .with_help(format!("known are {}", names.join(", "))))
    }

    /// A format from its description: a JSON object with `name`, `aliases`, `source`, `mark` (a text
    /// of the family's chat templates), `lead`, `open`, `close`, `after` and `answer`, whose pieces are those
    /// of a [`ToolFormat`](super::ToolFormat).
    pub fn read(description: &str) -> Result<Self> {
        let reasoning: Self = serde_json::from_str(description).map_err(|error| {
            Error::new(ErrorKind::Request, format!("the description of reasoning: {error}"))
                .with_help("write it as those that come with the crate are written")
        })?;
        let is_tag = |piece: &Piece| matches!(piece, Piece::Tag { .. } | Piece::Token { .. });
        let is_fixed = |piece: &Piece| is_tag(piece) || matches!(piece, Piece::Text(_));
        let begin = reasoning.begin_pieces();
        if !begin.is_empty() && begin.iter().all(is_fixed) && is_tag(&reasoning.close) {
            Ok(reasoning)
        } else {
            Err(Error::new(ErrorKind::Request, "reasoning stands between two tags").with_help(
                "let `open` be texts up to its last tag or token, and `close` a tag or token",
            ))
        }
    }

    /// The format whose mark a chat template holds, or else the text that opens it; `None` if it holds
    /// none.
    pub fn of_template(template: &str) -> Option<Self> {
        let marked = KNOWN.iter().find(|reasoning| template.contains(&reasoning.mark));
        // Some templates only open the reasoning. A format with another's tags is known by its mark.
        let opens = |reasoning: &&Self| {
            let is_known_by_tags =
                spelled(std::slice::from_ref(&reasoning.close)).as_ref() == Some(&reasoning.mark);
            let opening = reasoning.opening_text().filter(|_| is_known_by_tags);
            opening.is_some_and(|opening| template.contains(&opening))
        };
        marked.or_else(|| KNOWN.iter().find(opens)).cloned()
    }

    /// Name of the format.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a prompt ends in the opening tag, so that the message begins inside of it.
    pub fn is_open_after(&self, prompt: &str) -> bool {
        self.opening_text().is_some_and(|opening| prompt.trim_end().ends_with(opening.trim_end()))
    }

    /// The text that opens the reasoning; `None` if the format does not fix it.
    pub(crate) fn opening_text(&self) -> Option<String> {
        spelled(&self.open)
    }

    /// The text that ends the reasoning, before what comes after it; `None` if the format does not fix it.
    #[cfg(feature = "model")]
    pub(crate) fn closing_text(&self, next: AfterReasoning) -> Option<ClosingText> {
        let tag = spelled(std::slice::from_ref(&self.close))?;
        let mut after = spelled(&self.after)?;
        if next == AfterReasoning::Answer {
            after += &spelled(&self.answer)?;
        }
        Some(ClosingText { tag, after })
    }

    /// Grammar of the prefix of a message: reasoning in its tags.
    ///
    /// Errors if the vocabulary lacks a special token that has no spelling as text.
    pub fn grammar(
        &self,
        vocabulary: &Vocabulary,
        start: ReasoningStart,
        after: AfterReasoning,
    ) -> Result<Grammar> {
        let mut builder = GrammarBuilder::new();
        let names = SpecialTokenNames::new(vocabulary);
        let slots = Slots::of(vocabulary, &names);
        let mut parts = Vec::new();
        if start == ReasoningStart::Absent {
            if after == AfterReasoning::Answer {
                parts.push(pieces::nodes(&mut builder, &self.answer, &slots));
            }
            let body = builder.sequence(parts);
            let start = builder.rule("reasoning", body);
            return builder.finish(start);
        }
        if start != ReasoningStart::Prompt {
            if !self.lead.is_empty() {
                let lead = pieces::nodes(&mut builder, &self.lead, &slots);
                parts.push(builder.repeat(lead, 0, Some(1)));
            }
            parts.push(pieces::nodes(&mut builder, &self.open, &slots));
        }
        let languages = builder.languages();
        let text = any_text(languages, &Utf8);
        match self.end(vocabulary)? {
            Marker::Bytes(tag) => {
                let tag = languages.literal(&tag);
                // Text that ends in the tag, and holds none before.
                let byte = languages.byte_set(ByteSet::ALL);
                let ends = languages.concat([text, tag]);
                let longer = languages.concat([ends, byte, Language::ALL]);
                let closed = languages.difference(ends, longer);
                let node = builder.regular(closed);
                parts.push(builder.mark(node, "reasoning"));
            }
            Marker::Token(_) => {
                let node = builder.regular(text);
                parts.push(builder.mark(node, "reasoning"));
                parts.push(pieces::node(&mut builder, &self.close, &slots));
            }
        }
        parts.push(pieces::nodes(&mut builder, &self.after, &slots));
        let mut body = builder.sequence(parts);
        if start == ReasoningStart::Optional {
            body = builder.repeat(body, 0, Some(1));
        }
        if after == AfterReasoning::Answer {
            let answer = pieces::nodes(&mut builder, &self.answer, &slots);
            body = builder.sequence([body, answer]);
        }
        let start = builder.rule("reasoning", body);
        builder.finish(start)
    }

    /// The tag that ends the reasoning.
    pub fn end(&self, vocabulary: &Vocabulary) -> Result<Marker> {
        marker(&self.close, vocabulary)
    }

    /// The pieces up to the last tag that opens the reasoning; none if there is no tag.
    fn begin_pieces(&self) -> &[Piece] {
        let is_tag = |piece: &Piece| matches!(piece, Piece::Tag { .. } | Piece::Token { .. });
        let end = self.open.iter().rposition(is_tag).map_or(0, |last| last + 1);
        &self.open[..end]
    }

    /// The tags and texts with which a message that has reasoning begins.
    pub fn begin(&self, vocabulary: &Vocabulary) -> Result<Vec<Marker>> {
        let mut markers: Vec<Marker> = Vec::new();
        for piece in self.begin_pieces() {
            match (marker(piece, vocabulary)?, markers.last_mut()) {
                (Marker::Bytes(text), Some(Marker::Bytes(before))) => before.extend(text),
                (marker, _) => markers.push(marker),
            }
        }
        Ok(markers)
    }

    pub(super) fn lead(&self) -> &[Piece] {
        &self.lead
    }

    pub(super) fn open(&self) -> &[Piece] {
        &self.open
    }

    pub(super) fn close(&self) -> &Piece {
        &self.close
    }

    pub(super) fn after(&self) -> &[Piece] {
        &self.after
    }

    pub(super) fn answer(&self) -> &[Piece] {
        &self.answer
    }

    /// Whether pieces of the format stand before an answer that a prompt leaves to the model.
    #[cfg(feature = "model")]
    pub(crate) fn has_pieces_before_answer(
        &self,
        prompt: impl FnOnce() -> Result<String>,
    ) -> Result<bool> {
        Ok(match spelled(&self.answer) {
            Some(text) if text.is_empty() => false,
            Some(text) => !prompt()?.trim_end().ends_with(&text),
            None => true,
        })
    }
}

/// The text of pieces, optional ones included; `None` if one stands for several texts.
fn spelled(pieces: &[Piece]) -> Option<String> {
    let mut text = String::new();
    for piece in pieces {
        match piece {
            Piece::Text(name) | Piece::Tag { tag: name } | Piece::Token { token: name } => {
                text.push_str(name);
            }
            Piece::Optional { optional } => text.push_str(&spelled(optional)?),
            _ => return None,
        }
    }
    Some(text)
}

fn marker(piece: &Piece, vocabulary: &Vocabulary) -> Result<Marker> {
    match (pieces::text(piece, vocabulary), pieces::special_token(piece, vocabulary), piece) {
        (Some(text), ..) => Ok(Marker::Bytes(text.into())),
        (_, Some(token), _) => Ok(Marker::Token(token)),
        (_, _, Piece::Token { token }) => {
            let message = format!("the vocabulary has no special token `{token}`");
            Err(Error::new(ErrorKind::Request, message)
                .with_help("choose the format of reasoning that the model was trained with"))
        }
        // `read` lets no other piece be a marker.
        _ => Ok(Marker::Bytes(Vec::new())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_descriptions_are_read() {
        for text in REASONING_FORMATS {
            let reasoning = ReasoningFormat::read(text).unwrap();
            assert_eq!(ReasoningFormat::named(reasoning.name()).unwrap().name(), reasoning.name());
        }
        assert_eq!(ReasoningFormat::named("deepseek-r1").unwrap().name(), "think");
        assert!(ReasoningFormat::named("none").unwrap_err().to_string().contains("mistral"));
        let think = ReasoningFormat::of_template("{{ '<think>' }} … split('</think>')").unwrap();
        assert_eq!(think.name(), "think");
        assert!(think.is_open_after("<|assistant|><think>\n") && !think.is_open_after("<think>x"));
        let opened = ReasoningFormat::of_template("{{ '<|assistant|><think>' }}").unwrap();
        assert_eq!(opened.name(), "think");
        let glm = ReasoningFormat::of_template("{{ '/nothink' }}{{ '<think></think>' }}").unwrap();
        assert_eq!(glm.name(), "glm-4.5");
        assert!(ReasoningFormat::of_template("no tags").is_none());
        let kimi = ReasoningFormat::named("kimi_k3").unwrap();
        assert!(kimi.is_open_after("<|open|>think<|sep|>") && !kimi.is_open_after("<|sep|>"));
        let bad =
            r#"{"name": "x", "aliases": [], "source": "", "mark": "", "open": [], "close": "y"}"#;
        assert!(ReasoningFormat::read(bad).unwrap_err().to_string().contains("two tags"));
    }
}
