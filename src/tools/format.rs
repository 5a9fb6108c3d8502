//! How a family of models writes a tool call, as data.

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};

/// How a family of models writes text and tool calls.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Format {
    name: String,
    aliases: Vec<String>,
    /// The document that it is taken from.
    #[allow(dead_code, reason = "for readers of the description")]
    source: String,
    pub(super) text: Place,
    /// What free text must not hold (`around`) or begin with (`instead`): it begins a call.
    #[serde(default)]
    pub(super) trigger: Option<String>,
    /// Does a message hold one call at most?
    #[serde(default)]
    pub(super) single: bool,
    /// What may come before all else, any number of times.
    #[serde(default)]
    pub(super) preamble: Vec<Piece>,
    /// A message without calls, where it is not just text.
    #[serde(default)]
    pub(super) answer: Vec<Piece>,
    /// Before the first call.
    #[serde(default)]
    pub(super) open: Vec<Piece>,
    /// One call.
    pub(super) call: Vec<Piece>,
    /// Between two calls.
    #[serde(default)]
    pub(super) between: Vec<Piece>,
    /// After the last call.
    #[serde(default)]
    pub(super) close: Vec<Piece>,
}

/// Where free text may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Place {
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
    /// What differs from call to call.
    Slot { slot: Slot },
    /// All of these or none.
    Optional { optional: Vec<Piece> },
    /// One of these.
    Either { either: Vec<Vec<Piece>> },
}

/// What differs from call to call.
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

const FORMATS: [&str; 6] = [
    include_str!("formats/deepseek.json"),
    include_str!("formats/gpt-oss.json"),
    include_str!("formats/json.json"),
    include_str!("formats/llama3.json"),
    include_str!("formats/mistral.json"),
    include_str!("formats/qwen.json"),
];

impl Format {
    /// A known format: `deepseek`, `gpt-oss`, `json`, `llama3`, `mistral` or `qwen` (also
    /// `hermes`).
    ///
    /// Errors for any other name.
    pub fn named(name: &str) -> Result<Self> {
        let mut names = Vec::new();
        for text in FORMATS {
            let format = Self::read(text)?;
            if format.name == name || format.aliases.iter().any(|alias| alias == name) {
                return Ok(format);
            }
            names.push(format.name);
        }
        Err(Error::new(ErrorKind::Request, format!("`{name}` is no format of tool calls"))
            .with_help(format!("known are {}", names.join(", "))))
    }

    /// A format from its description: an object with the members that `formats/` shows.
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
        if !fits || (format.text == Place::Around && format.trigger.is_none()) {
            return Err(Error::new(ErrorKind::Request, "the trigger of the format begins no call")
                .with_help("let the first text of a call begin with `trigger`"));
        }
        Ok(format)
    }

    /// The format that a chat template writes, by the marks in it; none if it shows none of them.
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

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_descriptions_are_read() {
        for text in FORMATS {
            let format = Format::read(text).unwrap();
            assert!(!format.source.is_empty());
            assert_eq!(Format::named(format.name()).unwrap().name(), format.name());
        }
        assert_eq!(Format::named("hermes").unwrap().name(), "qwen");
        assert!(Format::named("none").unwrap_err().to_string().contains("mistral"));
        assert_eq!(Format::of_template("… '<tool_call>' …").unwrap().name(), "qwen");
    }
}
