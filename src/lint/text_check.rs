//! [`TextCheck`]: whether a constraint accepts a text, and where and why it first does not.
//!
//! The check is the matcher itself, never a validator: what it says is what a model could have
//! written. It reads bytes, or the tokens of the constraint's vocabulary, longest first, each
//! allowed by the mask.

use serde_json::{Value, json};

use super::object_fault::{Certainty, ObjectFault, ObjectFaultKind, enclosing_content};
use crate::constraint::{Capture, Constraint, ConstraintPart, Matcher};
use crate::error::{Error, ErrorKind, Result, caret_excerpt, line_column};
use crate::vocabulary::Trie;

/// Characters of a text that an error repeats.
const MAX_QUOTED_CHARS: usize = 20;

/// Bytes of forced text that a message shows.
const MAX_FORCED_BYTES: usize = 40;

/// Rules or keywords that a message names.
const MAX_LISTED_PARTS: usize = 3;

/// A constraint against which texts are checked.
///
/// ```
/// use maskwright::lint::TextCheck;
/// use maskwright::{Compiler, Vocabulary};
/// use serde_json::json;
/// let tokens = (0..=255).map(|b| Some(vec![b])).collect();
/// let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
/// let schema = json!({"type": "object", "properties": {"a": {"type": "integer"}}});
/// let constraint = compiler.json_schema(&schema)?;
/// let check = TextCheck::new(&constraint).with_schema(Some(&schema));
/// let verdict = check.run(br#"{"a": "x"}"#, &mut |_| None)?.to_json();
/// assert_eq!((&verdict["byte"], &verdict["keyword"]), (&json!(6), &json!("/properties/a/type")));
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TextCheck<'a> {
    matcher: Matcher,
    tokens: Option<&'a Trie>,
    schema: Option<&'a Value>,
}

/// The outcome of a check.
#[derive(Clone, Debug)]
pub enum Verdict {
    /// The text is accepted; with the parts that the constraint's grammar names, as JSON (null if it
    /// names none).
    Accepted(Value),
    /// It is not.
    Rejected(Box<Rejection>),
}

/// The first place at which a text is not accepted.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Rejection {
    /// The offset of the first byte that is not accepted; the text's length if it ends too early.
    pub byte: usize,
    /// Its line, from 1.
    pub line: usize,
    /// Its column in characters, from 1.
    pub column: usize,
    /// The rejected character, in words.
    pub found: String,
    /// The bytes or tokens that would be accepted, in words.
    pub expected: String,
    /// The keywords of the schema, or the rules of the grammar, that were being read.
    pub parts: Vec<ConstraintPart>,
    /// An option under which the text is accepted.
    pub option: Option<String>,
    /// A fault of the members of the object there.
    pub fault: Option<ObjectFault>,
    /// The line with a caret under the byte.
    pub excerpt: String,
}

impl<'a> TextCheck<'a> {
    /// A check by bytes.
    pub fn new(constraint: &Constraint) -> Self {
        Self { matcher: constraint.matcher(), tokens: None, schema: None }
    }

    /// The same in tokens of the constraint's vocabulary, whose trie this is.
    #[must_use]
    pub fn in_tokens(self, tokens: &'a Trie) -> Self {
        Self { tokens: Some(tokens), ..self }
    }

    /// The same with the schema that the constraint was compiled from, for better messages.
    #[must_use]
    pub fn with_schema(self, schema: Option<&'a Value>) -> Self {
        Self { schema, ..self }
    }

    /// Checks a text. `other_option` returns the option under which a rejected text is accepted, if
    /// there is one.
    ///
    /// Errors if a limit is reached, or if the vocabulary cannot write the text.
    pub fn run(
        &self,
        text: &[u8],
        other_option: &mut dyn FnMut(&[u8]) -> Option<String>,
    ) -> Result<Verdict> {
        let (mut matcher, mut at) = (self.matcher.clone(), 0);
        if let Some(tokens) = self.tokens {
            while let Some((token, length)) = longest_token(tokens, &text[at..]) {
                if !matcher.mask()?.contains(token) {
                    break;
                }
                matcher.accept(token)?;
                at += length;
            }
        }
        // Without tokens, reads the whole text. With tokens, reads on from the first token that the
        // mask does not allow: its bytes tell where and why.
        let byte = match matcher.accept_bytes(&text[at..]) {
            Ok(()) if self.tokens.is_some() && at < text.len() => {
                return Err(unspellable(text, at));
            }
            Ok(()) if matcher.is_accepting() && matcher.constraint().has_captures() => {
                let captures = matcher.captures()?;
                return Ok(Verdict::Accepted(captures.iter().map(Capture::to_json).collect()));
            }
            Ok(()) if matcher.is_accepting() => return Ok(Verdict::Accepted(Value::Null)),
            Ok(()) => text.len(),
            Err(error) if error.kind() == ErrorKind::Rejected => {
                let byte = at + error.place().byte.unwrap_or(0);
                matcher.accept_bytes(&text[at..byte])?;
                byte
            }
            Err(error) => return Err(error),
        };
        let rejection = Rejection::new(text, byte, &mut matcher, other_option(text), self.schema)?;
        Ok(Verdict::Rejected(Box::new(rejection)))
    }
}

impl Verdict {
    /// Whether the text is accepted.
    pub fn is_accepted(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }

    /// As JSON, for command line and server.
    pub fn to_json(&self) -> Value {
        match self {
            Self::Accepted(Value::Null) => json!({ "accepted": true }),
            Self::Accepted(captures) => json!({ "accepted": true, "captures": captures }),
            Self::Rejected(rejection) => rejection.to_json(),
        }
    }
}

impl Rejection {
    /// The first byte that is not accepted, or the end of a text that is not complete; the matcher
    /// has read what stands before it.
    fn new(
        text: &[u8],
        byte: usize,
        matcher: &mut Matcher,
        option: Option<String>,
        schema: Option<&Value>,
    ) -> Result<Self> {
        // Where a character is broken off, the byte that follows is refused: the fault is the character's.
        let broken = std::str::from_utf8(text).err().map(|error| error.valid_up_to());
        let broken = broken.filter(|&start| start < byte && byte - start < 4);
        let refused = byte;
        let byte = broken.unwrap_or(byte);
        // A byte may be one within a character: that is what is shown. What is no UTF-8 is shown as
        // what stands for it.
        let (shown, at) = match std::str::from_utf8(text) {
            Ok(text) => {
                let start = (0..=byte).rev().find(|&at| text.is_char_boundary(at));
                (text.to_owned(), start.unwrap_or(0))
            }
            Err(_) => {
                let before = String::from_utf8_lossy(&text[..byte]).into_owned();
                let at = before.len();
                (before + &String::from_utf8_lossy(&text[byte..]), at)
            }
        };
        let (line, column) = line_column(shown.as_bytes(), at);
        let excerpt = caret_excerpt(&shown, at);
        let found = match (text.get(byte), shown[at..].chars().next()) {
            (None, _) | (_, None) => "the text ends too early".to_owned(),
            (Some(byte), _) if broken.is_some() => {
                format!("byte 0x{byte:02x} begins no character of UTF-8")
            }
            (Some(byte), Some(char::REPLACEMENT_CHARACTER)) => format!("byte 0x{byte:02x}"),
            (_, Some(c)) => quoted(c),
        };
        let expected = matcher.expected()?;
        let forced = match expected.bytes.len() {
            1 => String::from_utf8(matcher.forced_bytes(MAX_FORCED_BYTES)?).unwrap_or_default(),
            _ => String::new(),
        };
        let mut parts = expected.sources.clone();
        if parts.is_empty() && schema.is_some() {
            parts = sources_around(matcher, text, byte)?;
        }
        let expected = match forced.chars().count() {
            _ if broken.is_some() => "a text in UTF-8".to_owned(),
            0 | 1 => expected.describe(),
            _ => format!("`{}`", escaped(&forced)),
        };
        let fault = match schema {
            Some(schema) if option.is_none() => {
                let sources = match text.get(refused) {
                    Some(b'}') => sources_of_key(matcher)?,
                    _ => parts.clone(),
                };
                let keywords: Vec<&str> =
                    sources.iter().filter_map(|part| part.keyword()).collect();
                ObjectFault::find(text, byte, &keywords, schema)
            }
            _ => None,
        };
        Ok(Self { byte, line, column, found, expected, parts, option, fault, excerpt })
    }

    fn to_json(&self) -> Value {
        let Self { byte, line, column, expected, parts, option, fault, .. } = self;
        let mut answer = json!({
            "accepted": false,
            "byte": byte,
            "line": line,
            "column": column,
            "expected": expected,
            // Schema keywords have JSON pointers, rules of grammars have names.
            "keyword": parts.first().map(ConstraintPart::as_str),
        });
        if let Some(option) = option {
            answer["option"] = json!(option);
        }
        if let Some((name, said)) = fault.as_ref().map(fault_to_json) {
            answer[name] = said;
        }
        answer
    }

    /// In words, on one line.
    pub fn message(&self) -> String {
        if let Some(fault) = &self.fault {
            return fault.to_string();
        }
        let Self { found, expected, parts, option, .. } = self;
        let mut text = format!("{found}, expected {expected}");
        // A regular expression or a choice has no parts with names.
        let named: Vec<String> = parts
            .iter()
            .filter(|part| !matches!(part.rule(), Some("regex" | "choice")))
            .map(ConstraintPart::to_string)
            .collect();
        if !named.is_empty() {
            let more = if named.len() > MAX_LISTED_PARTS { ", …" } else { "" };
            let named = named[..named.len().min(MAX_LISTED_PARTS)].join(", ");
            text += &format!(" (at {named}{more})");
        }
        if let Some(option) = option {
            text += &format!("; with {option} it is accepted");
        }
        text
    }
}

/// The keywords that decide which key may come where an object cannot end: after a comma, unless
/// the object has no member yet.
fn sources_of_key(matcher: &Matcher) -> Result<Vec<ConstraintPart>> {
    for before in [",\"", ", \"", "\""] {
        let mut matcher = matcher.clone();
        if matcher.accept_bytes(before.as_bytes()).is_ok() {
            return Ok(matcher.expected()?.sources);
        }
    }
    Ok(matcher.clone().expected()?.sources)
}

/// The keywords that decide about the object or array in which a byte stands, or about the whole.
fn sources_around(matcher: &Matcher, text: &[u8], byte: usize) -> Result<Vec<ConstraintPart>> {
    let mut start = matcher.constraint().matcher();
    start.accept_bytes(&text[..enclosing_content(text, byte)])?;
    Ok(start.expected()?.sources)
}

/// The member of the answer that reports a fault: its name and its value.
fn fault_to_json(fault: &ObjectFault) -> (&'static str, Value) {
    match &fault.kind {
        ObjectFaultKind::Lacks { missing, certainty } => {
            let value = json!({
                "object": fault.object,
                "names": fault.missing_names(),
                "keyword": missing.first().map(|missing| &missing.keyword),
                "certain": *certainty == Certainty::Certain,
            });
            ("missing", value)
        }
        ObjectFaultKind::Repeats(name) => {
            ("repeated", json!({ "object": fault.object, "name": name }))
        }
    }
}

/// A character in words.
fn quoted(c: char) -> String {
    match c {
        '`' => "a backtick".to_owned(),
        ' ' => "a blank".to_owned(),
        '\n' => "a line break".to_owned(),
        c if c.is_control() => format!("`{}`", c.escape_default()),
        c => format!("`{c}`"),
    }
}

/// Text on one line: control characters and backslashes escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// The constraint accepts the text, but the vocabulary cannot write it.
fn unspellable(text: &[u8], at: usize) -> Error {
    let rest = String::from_utf8_lossy(&text[at..]);
    let piece: String = rest.chars().take(MAX_QUOTED_CHARS).collect();
    Error::new(ErrorKind::Vocabulary, format!("no token of the tokenizer writes {piece:?}"))
        .at_byte(at)
        .with_help("check without --tokenizer, or with one that has a token for every byte")
}

/// The longest token that the text begins with, and its length.
fn longest_token(tokens: &Trie, text: &[u8]) -> Option<(u32, usize)> {
    let nodes = tokens.nodes();
    let (mut found, mut node, mut end) = (None, 1, nodes.len());
    for (depth, &byte) in text.iter().enumerate() {
        while node < end && nodes[node].byte != byte {
            node = nodes[node].subtree_end as usize;
        }
        if node >= end {
            break;
        }
        if let Some(&token) = tokens.tokens(node).first() {
            found = Some((token, depth + 1));
        }
        end = nodes[node].subtree_end as usize;
        node += 1;
    }
    found
}
