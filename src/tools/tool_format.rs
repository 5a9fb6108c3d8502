//! Formats of tool calls, as data: one JSON description for each family of models.
//!
//! ```text
//! qwen:  text  <tool_call>\n{"name": "NAME", "arguments": ARGUMENTS}\n</tool_call>  text …
//!        {"text": "around", "trigger": "<tool_call>",
//!         "call": ["<tool_call>\n{\"name\": \"", {"slot": "name"}, "\", \"arguments\": ",
//!                  {"slot": "arguments"}, "}\n</tool_call>"]}
//! ```

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// Format in which a family of models writes text and tool calls.
///
/// Members of a description: `name`, `aliases`, `source` (the document that it is taken from), `text`
/// (`around`, `before` or `instead` of calls), `trigger` (the text that begins a call, which free
/// text must not hold), `single` (at most one call), and lists of pieces: `preamble`, `answer`,
/// `open`, `call`, `between`, `close`. A piece is a text, `{"token": …}`, `{"tag": …}`,
/// `{"slot": …}`, `{"optional": […]}` or `{"either": [[…], …]}`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolFormat {
    name: String,
    aliases: Vec<String>,
    /// The document that it is taken from.
    #[allow(dead_code, reason = "for readers of the description")]
    source: String,
    pub(super) text: TextPlacement,
    /// Text that begins a call: free text must not hold it (`around`) or begin with it (`instead`).
    #[serde(default)]
    pub(super) trigger: Option<String>,
    /// Whether a message holds one call at most.
    #[serde(default)]
    pub(super) single: bool,
    /// Pieces that may come first, any number of times.
    #[serde(default)]
    pub(super) preamble: Vec<Piece>,
    /// A message without calls, where it is not just text.
    #[serde(default)]
    pub(super) answer: Vec<Piece>,
    /// Pieces before the first call.
    #[serde(default)]
    pub(super) open: Vec<Piece>,
    /// One call.
    pub(super) call: Vec<Piece>,
    /// Pieces between two calls.
    #[serde(default)]
    pub(super) between: Vec<Piece>,
    /// Pieces after the last call.
    #[serde(default)]
    pub(super) close: Vec<Piece>,
}

/// Position of free text in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum TextPlacement {
    /// Before, between and after calls.
    Around,
    /// Before the first call only.
    Before,
    /// Only where there is no call.
    Instead,
}

/// A piece of a message.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Piece {
    /// Text as it is.
    Text(String),
    /// A special token.
    Token { token: String },
    /// A special token where the vocabulary has one of this name, else the name as text.
    Tag { tag: String },
    /// A part that differs from call to call.
    Slot { slot: Slot },
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
    /// Its arguments, as a JSON object.
    Arguments,
    /// Nine letters and digits.
    Id,
    /// Any text.
    Text,
    /// Any text that is not for the user.
    Reasoning,
}

/// Descriptions of the known formats.
const TOOL_FORMATS: [&str; 6] = [
    include_str!("tool_formats/deepseek.json"),
    include_str!("tool_formats/gpt-oss.json"),
    include_str!("tool_formats/json.json"),
    include_str!("tool_formats/llama3.json"),
    include_str!("tool_formats/mistral.json"),
    include_str!("tool_formats/qwen.json"),
];

impl ToolFormat {
    /// A known format: `deepseek`, `gpt-oss`, `json`, `llama3`, `mistral` or `qwen` (also
    /// `hermes`).
    ///
    /// Errors for any other name.
    pub fn named(name: &str) -> Result<Self> {
        let mut names = Vec::new();
        for text in TOOL_FORMATS {
            let format = Self::read(text)?;
            if format.name == name || format.aliases.iter().any(|alias| alias == name) {
                return Ok(format);
            }
            names.push(format.name);
        }
        Err(Error::new(ErrorKind::Request, format!("`{name}` is no format of tool calls"))
            .with_help(format!("known are {}", names.join(", "))))
    }

    /// A format from its description: an object with the members that are listed at the [type](Self).
    ///
    /// Errors if it is no such object.
    pub fn read(description: &str) -> Result<Self> {
        let format: Self = serde_json::from_str(description).map_err(|error| {
            Error::new(ErrorKind::Request, format!("the description of the format: {error}"))
                .with_help("write it as those that come with the crate are written")
        })?;
        let fits = format.trigger.as_ref().is_none_or(|trigger| {
            let first = format.open.first().or(format.call.first());
            matches!(first, Some(Piece::Text(text)) if text.starts_with(trigger.as_str()))
        });
        if !fits || (format.text == TextPlacement::Around && format.trigger.is_none()) {
            return Err(Error::new(ErrorKind::Request, "the trigger of the format begins no call")
                .with_help("let the first text of a call begin with `trigger`"));
        }
        Ok(format)
    }

    /// The format that a chat template writes, by the marks in it; `None` if it shows none of them.
    pub fn of_template(template: &str) -> Option<Self> {
        let marks = [
            ("<|channel|>", "gpt-oss"),
            ("<｜tool▁calls▁begin｜>", "deepseek"),
            ("[TOOL_CALLS]", "mistral"),
            ("<tool_call>", "qwen"),
            ("<|python_tag|>", "llama3"),
        ];
        let (_, name) = marks.into_iter().find(|(mark, _)| template.contains(mark))?;
        Self::named(name).ok()
    }

    /// Name of the format.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_descriptions_are_read() {
        for text in TOOL_FORMATS {
            let format = ToolFormat::read(text).unwrap();
            assert!(!format.source.is_empty());
            assert_eq!(ToolFormat::named(format.name()).unwrap().name(), format.name());
        }
        assert_eq!(ToolFormat::named("hermes").unwrap().name(), "qwen");
        assert!(ToolFormat::named("none").unwrap_err().to_string().contains("mistral"));
        assert_eq!(ToolFormat::of_template("… '<tool_call>' …").unwrap().name(), "qwen");
    }
}
