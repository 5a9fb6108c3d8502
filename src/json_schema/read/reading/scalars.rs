//! Values that have no frame: strings without quotes, and JSON or Python's literals, character by
//! character.

use serde_json::value::RawValue;

use super::{AfterSign, ArgumentReading, ReadPart, ReadingPhase};
use crate::json_schema::read::Kind;
use crate::json_schema::read::json_end::{JsonEndScanner, JsonPart};
use crate::json_schema::read::python::{PythonLiterals, json_of_python, python_word};
use crate::json_schema::style::{LiteralNotation, Strip};

/// JSON that is being read, or literals of Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct OpenJson {
    scanner: JsonEndScanner,
    /// A number or a word so far.
    bare: String,
    python: Option<PythonLiterals>,
}

impl ArgumentReading {
    /// One more character of a string without quotes.
    pub(super) fn text(
        mut self,
        c: char,
        (mut held, mut is_begun): (String, bool),
        end: Vec<char>,
        strip: Strip,
    ) -> Self {
        held.push(c);
        while !held.is_empty() {
            let first = held.chars().next().unwrap_or_default();
            let is_stripped = !is_begun
                && match strip {
                    Strip::Nothing => false,
                    Strip::Line => first == '\n',
                };
            if is_stripped {
                is_begun = strip == Strip::Line;
                held.remove(0);
                continue;
            }
            is_begun |= !end.starts_with(&[first]);
            let sign: Vec<char> = stripped(&held, strip).chars().collect();
            if sign == end {
                self.push("\"");
                return self.then(AfterSign::AfterValue).remove(0);
            }
            if end.starts_with(&sign) {
                break;
            }
            is_begun = true;
            held.remove(0);
            self.push_quoted(first);
        }
        self.phase = ReadingPhase::Text { held, is_begun, end, strip };
        self
    }

    /// A special token after a string without quotes: the string ends where the sign with the
    /// token begins.
    pub(super) fn end_text(
        mut self,
        held: &str,
        end: Vec<char>,
        strip: Strip,
        name: &str,
        next: &mut Vec<Self>,
    ) {
        let begins = |at: &usize| {
            let sign = stripped(&held[*at..], strip).chars().chain(name.chars());
            end.starts_with(&sign.collect::<Vec<char>>())
        };
        let at = held.char_indices().map(|(at, _)| at).chain([held.len()]).find(begins);
        let Some(at) = at else { return };
        held[..at].chars().for_each(|c| self.push_quoted(c));
        self.push("\"");
        let read = stripped(&held[at..], strip).chars().count();
        self.phase = ReadingPhase::Sign(end, read, AfterSign::AfterValue);
        self.step_into(ReadPart::Special(name), next);
    }

    /// One more character of JSON, or of the sign after it.
    pub(super) fn json(
        mut self,
        c: char,
        mut value: OpenJson,
        kind: Kind,
        end: String,
        next: &mut Vec<Self>,
    ) {
        if value.is_bare() {
            self.clone().sign(&end, AfterSign::AfterValue).step_into(ReadPart::Char(c), next);
        }
        let literals = self.style.literals;
        if !value.scanner.has_begun() && !begins(kind, c, literals) {
            return;
        }
        if value.scanner.read(c) != Some(JsonPart::Value) {
            return;
        }
        if value.scanner.is_bare {
            value.bare.push(c);
            if !begins_bare(&value.bare, literals) {
                return;
            }
        }
        let mut json = String::new();
        match &mut value.python {
            Some(python) => python.read(c, &mut json),
            None => json.push(c),
        }
        self.push(&json);
        next.push(if value.scanner.has_ended() {
            self.sign(&end, AfterSign::AfterValue)
        } else {
            self.phase = ReadingPhase::Json { value, kind, end };
            self
        });
    }
}

impl OpenJson {
    pub(super) fn new(literals: LiteralNotation) -> Self {
        let (scanner, python) = match literals {
            LiteralNotation::Python => (JsonEndScanner::python(), Some(PythonLiterals::default())),
            LiteralNotation::Json => (JsonEndScanner::default(), None),
        };
        Self { scanner, bare: String::new(), python }
    }

    /// Whether it is a number or a word.
    pub(super) fn is_bare(&self) -> bool {
        match self.python {
            Some(_) => is_bare(&json_of_python(&self.bare)),
            None => is_bare(&self.bare),
        }
    }
}

/// The end of a string and what follows it, without what a reader strips from the string.
fn stripped(text: &str, strip: Strip) -> &str {
    match strip {
        Strip::Nothing => text,
        Strip::Line => text.strip_prefix('\n').unwrap_or(text),
    }
}

/// Whether JSON of a kind can begin with a character.
fn begins(kind: Kind, c: char, literals: LiteralNotation) -> bool {
    let is_python = literals == LiteralNotation::Python;
    match kind {
        Kind::Null => c == 'n' || is_python && c == 'N',
        Kind::Boolean => matches!(c, 't' | 'f') || is_python && matches!(c, 'T' | 'F'),
        Kind::Number => c == '-' || c.is_ascii_digit(),
        Kind::Array => c == '[',
        Kind::Object => c == '{',
        Kind::String => c == '"' || is_python && c == '\'',
    }
}

/// Whether a text is a number, `true`, `false` or `null`.
fn is_bare(text: &str) -> bool {
    // Not as a value: numbers beyond those of a double are numbers, too.
    !text.is_empty() && serde_json::from_str::<&RawValue>(text).is_ok()
}

/// Whether a text can become a number, `true`, `false` or `null`, or one of Python's words for them.
fn begins_bare(text: &str, literals: LiteralNotation) -> bool {
    let is_python = literals == LiteralNotation::Python;
    let words = ["true", "false", "null"];
    let begins_python = |word: &&str| python_word(word).is_some_and(|word| word.starts_with(text));
    let number = [text, "0"].concat();
    words.iter().any(|word| word.starts_with(text))
        || is_python && words.iter().any(begins_python)
        || is_bare(text)
        || is_bare(&number)
        || is_bare(&[&number, "e0"].concat())
}
