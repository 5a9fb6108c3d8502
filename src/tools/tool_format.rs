//! Formats of tool calls, as data: one JSON description for each family of models.
//!
//! ```text
//! qwen:  text  <tool_call>\n{"name": "NAME", "arguments": ARGUMENTS}\n</tool_call>  text …
//!        {"text": "around", "marks": ["<tool_call>"],
//!         "call": [{"tag": "<tool_call>"}, "\n{\"name\": \"", {"slot": "name"},
//!                  "\", \"arguments\": ", {"slot": "arguments"}, "}\n</tool_call>"]}
//! ```
//!
//! Calls come in blocks, `open call (between call)* close`. A block's first piece, its trigger, is
//! what free text does not hold (or, `instead` of calls, does not begin with), unless it is a special
//! token, which no text is.

use serde::{Deserialize, Deserializer};

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::Style;

/// Format in which a family of models writes text and tool calls.
///
/// Members of a description: `name`, `aliases` (names that other engines have for it), `source` (the
/// document that it is taken from), `marks` (texts that chat templates of the family hold, all of them),
/// `other_marks` (those that others of its templates hold instead), `text`
/// (`around`, `before` or `instead` of calls), `single` (at most one call), and lists of pieces:
/// `preamble`, `answer`, `lead`, `open`, `call`, `between`, `close`. A piece is a text (in which names
/// of special tokens are those tokens), `{"token": …}`, `{"tag": …}`, `{"slot": …}`, `{"id": […]}`
/// (the pieces that make up the call's id), `{"optional": […]}`
/// or `{"either": [[…], …]}`; a slot is `name`, `arguments` (JSON, or in the `style` beside it),
/// `alphanumerics`, `number`, `text` or `reasoning`.
///
/// More than 12 fields: one a member of the description.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFormat {
    name: String,
    aliases: Vec<String>,
    /// The document that it is taken from.
    #[allow(dead_code, reason = "for readers of the description")]
    source: String,
    /// Texts that a chat template of the family holds, all of them; none if no template shows it.
    marks: Vec<String>,
    /// Those that others of its templates hold instead.
    #[serde(default)]
    other_marks: Vec<String>,
    pub(super) text: TextPlacement,
    /// Whether a message holds one call at most.
    #[serde(default)]
    pub(super) single: bool,
    /// Pieces that may come first, any number of times.
    #[serde(default)]
    pub(super) preamble: Vec<Piece>,
    /// A message without calls, where it is not just text.
    #[serde(default)]
    pub(super) answer: Vec<Piece>,
    /// Pieces that may stand before calls where no text does.
    #[serde(default)]
    pub(super) lead: Vec<Piece>,
    /// Pieces before the first call of a block.
    #[serde(default)]
    pub(super) open: Vec<Piece>,
    /// One call.
    pub(super) call: Vec<Piece>,
    /// Pieces between two calls of a block.
    #[serde(default)]
    pub(super) between: Vec<Piece>,
    /// Pieces after the last call of a block.
    #[serde(default)]
    pub(super) close: Vec<Piece>,
}

/// Position of free text in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextPlacement {
    /// Before, between and after blocks of calls.
    Around,
    /// Before the first call only.
    Before,
    /// Only where there is no call.
    Instead,
}

/// A piece of a message.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(super) enum Piece {
    /// Text, in which names of special tokens of the vocabulary are those tokens.
    Text(String),
    /// An added token of the vocabulary, which must have it.
    Token { token: String },
    /// An added token where the vocabulary has one of this name, else the name as text.
    Tag { tag: String },
    /// A part that differs from call to call; arguments in this style.
    Slot {
        slot: Slot,
        #[serde(default, deserialize_with = "style")]
        style: Style,
    },
    /// The id of a call.
    Id { id: Vec<Piece> },
    /// All of these or none.
    Optional { optional: Vec<Piece> },
    /// One of these.
    Either { either: Vec<Vec<Piece>> },
}

/// A part of a message that differs from call to call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Slot {
    /// The tool's name.
    Name,
    /// Its arguments, an object: JSON, or in a style.
    Arguments,
    /// Nine letters and digits.
    Alphanumerics,
    /// A number of one to four digits, such as a call's in the conversation.
    Number,
    /// Any text.
    Text,
    /// Any text that is not for the user.
    Reasoning,
}

macro_rules! descriptions {
    ($($name:literal),* $(,)?) => {
        [$(include_str!(concat!("tool_formats/", $name, ".json"))),*]
    };
}

/// Descriptions of the known formats.
const TOOL_FORMATS: &[&str] = &descriptions![
    "apertus",
    "command",
    "command-xml",
    "deepseek",
    "deepseek-v3.1",
    "deepseek-v3.2",
    "deepseek-v4",
    "deepseek-v4.1",
    "exaone4",
    "functools",
    "gemma4",
    "glm-4.5",
    "glm-4.7",
    "gpt-oss",
    "granite",
    "granite-20b-fc",
    "hunyuan",
    "json",
    "kimi-k2",
    "kimi-k3",
    "lfm2",
    "llama3",
    "llama4",
    "longcat",
    "mimo",
    "minimax-m2",
    "minimax-m3",
    "mistral",
    "mistral-args",
    "nemotron",
    "olmo3",
    "phi4-mini",
    "pythonic",
    "qwen",
    "qwen-coder",
    "seed-oss",
];

impl ToolFormat {
    /// A known format by its name or by an alias: that of vLLM's or SGLang's parser
    /// (`qwen3_coder`, `deepseekv31`) or of XGrammar's structural tag (`qwen_3_5`).
    ///
    /// Errors for any other name, with the names of all formats.
    ///
    /// ```
    /// use maskwright::tools::ToolFormat;
    /// assert_eq!(ToolFormat::named("hermes")?.name(), "qwen");
    /// assert!(ToolFormat::named("xml").unwrap_err().to_string().contains("known are"));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn named(name: &str) -> Result<Self> {
        let mut names = Vec::new();
        for format in Self::known()? {
            if format.name == name || format.aliases.iter().any(|alias| alias == name) {
                return Ok(format);
            }
            names.push(format.name);
        }
        Err(Error::new(ErrorKind::Request, format!("`{name}` is no format of tool calls"))
            .with_help(format!("known are {}", names.join(", "))))
    }

    /// All known formats, by name.
    pub fn known() -> Result<Vec<Self>> {
        TOOL_FORMATS.iter().map(|text| Self::read(text)).collect()
    }

    /// A format from its description: an object with the members that are listed at the [type](Self).
    ///
    /// Errors if it is no such object, or if free text beside calls could not be distinguished from them.
    pub fn read(description: &str) -> Result<Self> {
        let format: Self = serde_json::from_str(description).map_err(|error| {
            Error::new(ErrorKind::Request, format!("the description of the format: {error}"))
                .with_help("write it as those that come with the crate are written")
        })?;
        let begins = match format.trigger() {
            Some(Piece::Text(name) | Piece::Token { token: name } | Piece::Tag { tag: name }) => {
                !name.is_empty()
            }
            _ => format.text == TextPlacement::Instead && !format.answer.is_empty(),
        };
        if !begins {
            let message = "the first piece of a block of calls is no text, tag or token";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("begin `open` (or `call`) with what free text does not hold"));
        }
        Ok(format)
    }

    /// The format that a chat template writes: the one whose marks it holds, all of them; of several,
    /// the one whose marks are longest together. `None` if it shows none.
    pub fn of_template(template: &str) -> Option<Self> {
        let shown = |marks: &&Vec<String>| {
            !marks.is_empty() && marks.iter().all(|mark| template.contains(mark))
        };
        let length = |format: &Self| {
            let shown = [&format.marks, &format.other_marks].into_iter().filter(shown);
            shown.map(|marks| marks.iter().map(String::len).sum::<usize>()).max()
        };
        let known = Self::known().ok()?.into_iter();
        let shown = known.filter_map(|format| length(&format).map(|length| (length, format)));
        shown.max_by_key(|(length, _)| *length).map(|(_, format)| format)
    }

    /// Name of the format.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Names that other engines have for it.
    pub fn aliases(&self) -> impl Iterator<Item = &str> {
        self.aliases.iter().map(String::as_str)
    }

    /// The first piece of a block of calls.
    pub(super) fn trigger(&self) -> Option<&Piece> {
        self.open.first().or(self.call.first())
    }

    /// Whether reasoning may stand before calls and answers.
    #[cfg(feature = "model")]
    pub(super) fn may_reason(&self) -> bool {
        has_reasoning(&self.preamble)
    }

    /// The same without reasoning before calls and answers.
    #[cfg(feature = "model")]
    pub(super) fn without_reasoning(mut self) -> Self {
        for piece in &mut self.preamble {
            if let Piece::Either { either } = piece {
                either.retain(|pieces| !has_reasoning(pieces));
            }
        }
        let is_nothing =
            |piece: &Piece| matches!(piece, Piece::Either { either } if either.is_empty());
        if self.may_reason() || self.preamble.iter().any(is_nothing) {
            self.preamble.clear();
        }
        self
    }

    /// The style of arguments.
    pub(super) fn style(&self) -> Style {
        style_of(&self.call).cloned().unwrap_or_default()
    }

    /// Whether each call is a line of Python, whose values hold no line breaks.
    pub(super) fn is_of_lines(&self) -> bool {
        let is_line_break = |piece: &Piece| matches!(piece, Piece::Text(text) if text == "\n");
        self.style().notation().is_some_and(|style| style.is_python())
            && self.between.iter().any(is_line_break)
    }

    /// Whether a block holds nothing but calls, so that text beside it may stand between any two.
    pub(super) fn has_bare_calls(&self) -> bool {
        self.open.is_empty() && self.close.is_empty()
    }
}

/// Reads the name of a style.
fn style<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Style, D::Error> {
    let name = String::deserialize(deserializer)?;
    Style::named(&name).map_err(serde::de::Error::custom)
}

/// Whether pieces have a slot of reasoning.
#[cfg(feature = "model")]
fn has_reasoning(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| match piece {
        Piece::Slot { slot, .. } => *slot == Slot::Reasoning,
        Piece::Optional { optional: pieces } | Piece::Id { id: pieces } => has_reasoning(pieces),
        Piece::Either { either } => either.iter().any(|pieces| has_reasoning(pieces)),
        Piece::Text(_) | Piece::Token { .. } | Piece::Tag { .. } => false,
    })
}

/// The style of the arguments among pieces.
fn style_of(pieces: &[Piece]) -> Option<&Style> {
    pieces.iter().find_map(|piece| match piece {
        Piece::Slot { slot: Slot::Arguments, style } => Some(style),
        Piece::Optional { optional: pieces } | Piece::Id { id: pieces } => style_of(pieces),
        Piece::Either { either } => either.iter().find_map(|pieces| style_of(pieces)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_descriptions_are_read() {
        let mut names = std::collections::HashSet::new();
        for format in ToolFormat::known().unwrap() {
            assert!(!format.source.is_empty());
            for name in format.aliases().chain([format.name()]) {
                assert!(names.insert(name.to_owned()), "two formats are called {name}");
                assert_eq!(ToolFormat::named(name).unwrap().name(), format.name());
            }
        }
        assert!(ToolFormat::named("none").unwrap_err().to_string().contains("mistral"));
        assert_eq!(ToolFormat::of_template("… '<tool_call>' …").unwrap().name(), "qwen");
        assert!(ToolFormat::of_template("no calls").is_none());
        let bad = r#"{"name": "x", "aliases": [], "source": "", "marks": [], "text": "around", "call": [{"slot": "name"}]}"#;
        assert!(ToolFormat::read(bad).unwrap_err().to_string().contains("first piece"));
        let misspelt = bad.replace("\"slot\": \"name\"", "\"slot\": \"name\", \"stile\": \"x\"");
        assert!(ToolFormat::read(&misspelt).unwrap_err().to_string().contains("description"));
    }
}
