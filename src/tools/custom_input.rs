//! The input of a custom tool: text of a format, instead of arguments by a schema.
//!
//! OpenAI's custom tools take one text. A model writes it in the call format of its family, which knows
//! arguments alone, as the string `input`:
//!
//! ```text
//! {"type": "custom", "custom": {"name": "run"}}   ──►   run({"input": "ls -l\n"})
//! ```
//!
//! The texts of a regular expression or of a Lark grammar become a table, whose texts the string must spell.
//! A grammar that calls itself has no table and is refused by the name of the tool.

use serde_json::{Value, json};

use crate::constraint::Compiler;
use crate::ebnf;
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::ChoiceLists;
use crate::regular::{Anchoring, Dialect, Languages, table_automaton};

/// The member of a call's arguments that is the input.
pub(super) const INPUT: &str = "input";

/// States of the table of an input's format, before it is minimised.
const MAX_STATES: usize = 1 << 16;

/// The format of a custom tool's input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputFormat {
    /// Any text.
    Text,
    /// Text that a pattern in the syntax of Rust's `regex` crate matches, whole.
    Regex(String),
    /// Text of a grammar in Lark's notation, none of whose rules calls itself.
    Lark(String),
}

impl InputFormat {
    /// The format of OpenAI's `{"type": "text"}`, or `{"type": "grammar"}` with `syntax` (`regex` or `lark`)
    /// and `definition` beside it (Responses) or within a member `grammar` (chat completions).
    ///
    /// Errors name the place by a JSON pointer.
    pub fn read(format: &Value) -> Result<Self> {
        let bad = |pointer: &str, message: String| {
            Error::new(ErrorKind::Request, message).at_pointer(pointer).with_help(
                "write {\"type\": \"text\"}, or {\"type\": \"grammar\", \"syntax\": \"regex\" or \"lark\", \
                 \"definition\": …}",
            )
        };
        let only = |object: &Value, pointer: &str, known: &[&str]| {
            let Some(members) = object.as_object() else {
                return Err(bad(pointer, "a format is an object".to_owned()));
            };
            match members.keys().find(|key| !known.contains(&key.as_str())) {
                Some(key) => Err(bad(&format!("{pointer}/{key}"), format!("`{key}` is unknown"))),
                None => Ok(()),
            }
        };
        match format["type"].as_str() {
            Some("text") => only(format, "", &["type"]).map(|()| Self::Text),
            Some("grammar") => {
                let (place, inner) = match format.get("grammar") {
                    Some(inner) => {
                        only(format, "", &["type", "grammar"])?;
                        only(inner, "/grammar", &["syntax", "definition"])?;
                        ("/grammar", inner)
                    }
                    None => {
                        only(format, "", &["type", "syntax", "definition"])?;
                        ("", format)
                    }
                };
                let Some(definition) = inner["definition"].as_str() else {
                    let message = "`definition` is the text of a pattern or grammar";
                    return Err(bad(&format!("{place}/definition"), message.to_owned()));
                };
                match inner["syntax"].as_str() {
                    Some("regex") => Ok(Self::Regex(definition.to_owned())),
                    Some("lark") => Ok(Self::Lark(definition.to_owned())),
                    _ => {
                        let message = "`syntax` is \"regex\" or \"lark\"";
                        Err(bad(&format!("{place}/syntax"), message.to_owned()))
                    }
                }
            }
            _ => {
                only(format, "", &["type", "grammar", "syntax", "definition"])?;
                Err(bad("/type", "the type of a format is \"text\" or \"grammar\"".to_owned()))
            }
        }
    }

    /// The format and its text, as a model is told of them.
    pub(super) fn description(&self) -> Option<String> {
        match self {
            Self::Text => None,
            Self::Regex(pattern) => {
                Some(format!("The input matches this regular expression: {pattern}"))
            }
            Self::Lark(grammar) => {
                Some(format!("The input is text of this Lark grammar:\n{}", grammar.trim_end()))
            }
        }
    }

    /// The JSON Schema of a call's arguments, as far as it says itself.
    pub(super) fn parameters(&self) -> Value {
        json!({
            "type": "object",
            "properties": { INPUT: { "type": "string" } },
            "required": [INPUT],
            "additionalProperties": false,
        })
    }

    /// The schema of a call's arguments with the texts of the format, which the lists name.
    ///
    /// Errors if the pattern or grammar is not valid or accepts nothing, if the grammar calls itself, or if
    /// its table is too large.
    pub(super) fn schema(
        &self,
        tool: &str,
        compiler: &Compiler,
        lists: &ChoiceLists,
    ) -> Result<(Value, ChoiceLists)> {
        let mut parameters = self.parameters();
        let grammar = match self {
            Self::Text => return Ok((parameters, lists.clone())),
            Self::Regex(pattern) => {
                let compiler = compiler.clone().with_regex_dialect(Dialect::Rust);
                compiler.regex_grammar(pattern, Anchoring::Whole)
            }
            Self::Lark(text) => compiler.parse_grammar(text, ebnf::Dialect::Lark),
        }?;
        let mut languages = Languages::new();
        let language = grammar.language(&mut languages).map_err(|error| {
            let help = "the input of a custom tool is a regular language: write repeats instead of \
                        rules that call themselves, and no special tokens";
            error.with_help(help)
        })?;
        let table = table_automaton::table_automaton(&mut languages, language, MAX_STATES)?;
        let Some(table) = table else {
            let message =
                format!("its input's format accepts no text, or has more than {MAX_STATES} states");
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("write a shorter pattern, with smaller counts"));
        };
        let name = format!("input of {tool}");
        parameters["properties"][INPUT]["x-choices-from"] = json!(name);
        Ok((parameters, lists.clone().with_texts(&name, table)))
    }
}
