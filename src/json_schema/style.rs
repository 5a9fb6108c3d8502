//! Styles: how a model family writes the arguments of a tool, where that is not JSON.
//!
//! A style writes the object of arguments between tags, strings as they are, and other values as
//! JSON or in the same way again. With the schema `{"properties": {"city": {"type": "string"},
//! "days": {"type": "integer"}}}`:
//!
//! ```text
//! JSON       {"city": "Rome", "days": 3}
//! qwen_xml   <parameter=city>⏎Rome⏎</parameter>⏎<parameter=days>⏎3⏎</parameter>
//! ```
//!
//! A style is data, a file of `styles/`: the signs around members, items and values, and a JSON
//! Schema of the arguments that it can spell (a text that holds the tag after it cannot be). The
//! emitter reads signs where it would write JSON's punctuation, and the schema of what can be
//! spelled is one more schema that the arguments satisfy.
//!
//! In signs, [`GAP`] stands for nothing, a line break, or what whitespace the options allow.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::error::{Error, ErrorKind, Result};
use crate::grammar::source::KeySigns;
use crate::regular::{Language, Languages};

/// The mark in signs for a gap.
pub(crate) const GAP: char = '⏎';

/// The text in signs for a key that is not known.
pub(crate) const ANY_KEY: &str = "\u{ffff}";

/// The mark in the end of a member for its key.
const KEY: &str = "{key}";

/// The styles, each a text of JSON.
const TEXTS: [&str; 11] = [
    include_str!("styles/qwen_xml.json"),
    include_str!("styles/mimo_xml.json"),
    include_str!("styles/minimax_xml.json"),
    include_str!("styles/deepseek_xml.json"),
    include_str!("styles/deepseek_v4_1_xml.json"),
    include_str!("styles/glm_xml.json"),
    include_str!("styles/kimi_k3_xml.json"),
    include_str!("styles/cohere_xml.json"),
    include_str!("styles/minimax_m3_xml.json"),
    include_str!("styles/gemma_4.json"),
    include_str!("styles/python.json"),
];

static STYLES: LazyLock<Vec<Arc<Notation>>> = LazyLock::new(|| {
    // A test reads each of them.
    TEXTS.iter().filter_map(|text| serde_json::from_str(text).ok()).map(Arc::new).collect()
});

/// The notation of values: JSON, or that in which a model family writes the arguments of a tool.
///
/// ```
/// use maskwright::json_schema::Style;
/// assert_eq!(Style::named("qwen_xml")?.name(), "qwen_xml");
/// assert_eq!(Style::default().name(), "json");
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Style(Option<Arc<Notation>>);

impl Style {
    /// The style of this name, `json` among them.
    ///
    /// Errors if there is none.
    pub fn named(name: &str) -> Result<Self> {
        if name == "json" {
            return Ok(Self::default());
        }
        match STYLES.iter().find(|style| style.name == name) {
            Some(style) => Ok(Self(Some(Arc::clone(style)))),
            None => {
                let names: Vec<&str> = Self::names().collect();
                let message = format!("no style of values is called {name:?}");
                let help = format!("use one of {}", names.join(", "));
                Err(Error::new(ErrorKind::Request, message).with_help(help))
            }
        }
    }

    /// The names of all styles, `json` first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        ["json"].into_iter().chain(STYLES.iter().map(|style| &*style.name))
    }

    /// The name of the style.
    pub fn name(&self) -> &str {
        self.0.as_ref().map_or("json", |notation| &notation.name)
    }

    /// The signs of the style; JSON has none.
    pub(crate) fn notation(&self) -> Option<&Arc<Notation>> {
        self.0.as_ref()
    }
}

/// A style as its file has it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Notation {
    pub(crate) name: String,
    pub(crate) object: ObjectSigns,
    /// The signs of arrays, where they are not JSON.
    #[serde(default)]
    pub(crate) array: ArraySigns,
    /// The text after the value of a member; `{key}` stands for its key.
    #[serde(default)]
    member_end: String,
    /// The text after an item of an array.
    #[serde(default)]
    pub(crate) item_end: String,
    pub(crate) values: ValueSigns,
    #[serde(default)]
    pub(crate) literals: LiteralNotation,
    /// The advice for a schema that asks for what the style cannot spell, where it is not the signs' fault.
    #[serde(default)]
    pub(crate) help: Option<String>,
    /// A JSON Schema of the arguments that can be spelled.
    pub(crate) spelled: serde_json::Value,
}

/// The signs of an object.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ObjectSigns {
    pub(crate) begin: String,
    /// The text before each key.
    pub(crate) member: String,
    /// The text after each key, which no key holds.
    pub(crate) named: String,
    pub(crate) between: String,
    pub(crate) end: String,
}

/// The signs of an array.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArraySigns {
    pub(crate) begin: String,
    /// The text before each item.
    pub(crate) item: String,
    pub(crate) between: String,
    pub(crate) end: String,
}

/// The signs around values by their kind.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ValueSigns {
    pub(crate) string: ValueSign,
    pub(crate) null: ValueSign,
    pub(crate) boolean: ValueSign,
    pub(crate) number: ValueSign,
    pub(crate) array: ValueSign,
    pub(crate) object: ValueSign,
}

/// The signs around values of one kind, and how these are written.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ValueSign {
    pub(crate) open: String,
    pub(crate) close: String,
    #[serde(rename = "as")]
    pub(crate) written: Written,
    pub(crate) strip: Strip,
}

/// The notation of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Written {
    /// As JSON.
    #[default]
    Json,
    /// A string as it is, without quotes and escapes.
    Text,
    /// An object or array in the style.
    Style,
}

/// The literals of values that are written as JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum LiteralNotation {
    /// Those of JSON.
    #[default]
    Json,
    /// Those of JSON or Python, in the spelling that both read alike.
    Python,
}

/// The part of a string between two signs that a reader takes away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Strip {
    /// None.
    #[default]
    Nothing,
    /// One line feed at the beginning and one at the end, if they are there.
    Line,
}

impl Notation {
    /// The text after the value of a member.
    pub(crate) fn member_end(&self, key: &str) -> String {
        self.member_end.replace(KEY, key)
    }

    /// The signs between which a key is captured and something may depend on it: where one member
    /// ends.
    pub(crate) fn key_signs(&self) -> KeySigns {
        let end = if self.member_end.is_empty() { &self.object.between } else { &self.member_end };
        let (end, _) = end.split_once(KEY).unwrap_or((end, ""));
        let bytes = |text: &str| text.as_bytes().into();
        KeySigns { named: bytes(&self.object.named), end: bytes(end) }
    }

    /// The document of the arguments that can be spelled, as references call it.
    pub(crate) fn uri(&self) -> String {
        format!("maskwright:style/{}", self.name)
    }

    /// Whether literals may be those of Python.
    pub(crate) fn is_python(&self) -> bool {
        self.literals == LiteralNotation::Python
    }

    /// Whether no sign stands around all arguments, so that no arguments are no text.
    pub(crate) fn is_open(&self) -> bool {
        self.object.begin.is_empty() && self.object.end.is_empty()
    }
}

/// The texts of a sign, whose gaps and unknown keys are these.
pub(crate) fn sign(
    languages: &mut Languages,
    text: &str,
    (gap, key): (Language, Language),
) -> Language {
    let mut parts = Vec::new();
    for (at, part) in text.split(GAP).enumerate() {
        parts.extend((at > 0).then_some(gap));
        for (at, part) in part.split(ANY_KEY).enumerate() {
            parts.extend((at > 0).then_some(key));
            parts.push(languages.literal(part.as_bytes()));
        }
    }
    languages.concat(parts)
}

/// The texts between two signs that a reader takes for one of these.
pub(crate) fn unstripped(languages: &mut Languages, texts: Language, strip: Strip) -> Language {
    match strip {
        Strip::Nothing => texts,
        Strip::Line => {
            let line = languages.literal(b"\n");
            let begins = languages.concat([line, Language::ALL]);
            let ends = languages.concat([Language::ALL, line]);
            let first = languages.difference(texts, begins);
            let last = languages.difference(texts, ends);
            let bare = languages.difference(first, ends);
            let ways = [
                languages.concat([line, texts, line]),
                languages.concat([first, line]),
                languages.concat([line, last]),
                bare,
            ];
            languages.union(ways)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn every_style_is_read() {
        let names: Vec<String> = TEXTS
            .iter()
            .map(|text| serde_json::from_str::<Notation>(text).unwrap())
            .map(|style| {
                // What is written in the style has a first byte, so that rules are never empty.
                assert!(!style.object.member.is_empty() || !style.object.begin.is_empty());
                style.name
            })
            .collect();
        assert_eq!(Style::names().skip(1).collect::<Vec<_>>(), names);
    }
}
