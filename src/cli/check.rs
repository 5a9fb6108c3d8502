//! `maskwright check`: whether a text is accepted, and where it is first rejected.
//!
//! This is the matcher itself, never a validator: what it says is what a model could have written.

use std::cell::OnceCell;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::cli::input;
use maskwright::constraint::ConstraintPart;
use maskwright::error::{Error, ErrorKind, Result, caret_excerpt, line_column};
use maskwright::lint::{Certainty, ObjectFault, ObjectFaultKind, enclosing_content};
use maskwright::vocabulary::Trie;
use maskwright::{Capture, Compiler, Constraint, Matcher, Vocabulary};

use super::output::{self, OutputFormat, Stop};
use crate::cli::args::constraint::ConstraintArgs;
use crate::cli::args::model::vocabulary;
use crate::cli::outcome::Outcome;

/// Characters of a text that an error repeats.
const MAX_QUOTED_CHARS: usize = 20;
/// Bytes of forced text that a message shows.
const MAX_FORCED_BYTES: usize = 40;
/// Rules or keywords that a message names.
const MAX_LISTED_PARTS: usize = 3;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("texts").required(true).args(["file", "input", "lines"]))]
pub(super) struct Args {
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// A file that holds one text, or `-` for standard input; one final line break is not part of
    /// it
    file: Option<PathBuf>,
    /// The same
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// A file, or `-`, with one text a line; answers one JSON line for each
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Writes the text in the tokens of this vocabulary, each allowed by the mask: a
    /// tokenizer.json, .tiktoken or .gguf file, or `tiny`; without it, in single bytes
    #[arg(long, value_name = "T")]
    tokenizer: Option<String>,
    /// Format of the answer [default: text, and json for each of many lines]
    #[arg(long, value_enum, value_name = "FORMAT")]
    output: Option<OutputFormat>,
}

impl Args {
    /// The file of the schema, where the constraint is one.
    pub(super) fn schema_file(&self) -> Option<PathBuf> {
        self.constraint.schema_file()
    }
}

pub(super) fn run(args: Args) -> std::result::Result<Outcome, Stop> {
    let vocabulary = match &args.tokenizer {
        Some(tokenizer) => vocabulary(tokenizer)?,
        None => single_bytes()?.into(),
    };
    let compiler = Compiler::new(vocabulary);
    let tokens = args.tokenizer.as_ref().map(|_| compiler.vocabulary().trie());
    let (constraint, others, schema) = (&args.constraint, OnceCell::new(), OnceCell::new());
    // By rules, so that it is the innermost rule that is named.
    let matcher = constraint.require_by_rules(&compiler)?.matcher();
    for finding in constraint.not_enforced() {
        output::note(&format!("note: {finding}"));
    }
    let checker = Checker { constraint, compiler: &compiler, matcher, tokens, others, schema };
    let mut outcome = Outcome::Success;
    if let Some(file) = args.file.as_ref().or(args.input.as_ref()) {
        let text = input::read(file, "the text to check")?;
        let verdict = checker.verdict(strip_line_break(&text))?;
        match args.output.unwrap_or_default() {
            OutputFormat::Json => output::line(&verdict.to_json().to_string())?,
            OutputFormat::Text => output::line(&verdict.describe(&file.display().to_string(), 1))?,
        }
        outcome = verdict.outcome();
    }
    if let Some(file) = &args.lines {
        let open = input::open(file).map_err(|error| unreadable(file, error))?;
        let mut lines = BufReader::new(open);
        for number in 1.. {
            let mut line = Vec::new();
            let most = input::MAX_INPUT_BYTES as u64 + 1;
            let length = lines.by_ref().take(most).read_until(b'\n', &mut line);
            if length.map_err(|error| unreadable(file, error))? == 0 {
                break;
            }
            if line.last() == Some(&b'\n') {
                line.pop();
            }
            if line.len() > input::MAX_INPUT_BYTES {
                let error = input::too_large("a line", file).at_line_column(number, 1);
                return Err(error.with_help("give a file with one text a line").into());
            }
            let verdict = checker.verdict(line.strip_suffix(b"\r").unwrap_or(&line))?;
            match args.output.unwrap_or(OutputFormat::Json) {
                OutputFormat::Json => output::line(&verdict.to_json().to_string())?,
                OutputFormat::Text => {
                    output::line(&verdict.describe(&file.display().to_string(), number))?;
                }
            }
            if verdict.outcome() == Outcome::NotAccepted {
                outcome = Outcome::NotAccepted;
            }
        }
    }
    Ok(outcome)
}

fn unreadable(file: &Path, error: std::io::Error) -> Error {
    input::unreadable(file, error, "give the path of a file with one text a line")
}

/// Without the one line break that editors put at the end of a file.
fn strip_line_break(text: &[u8]) -> &[u8] {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    text.strip_suffix(b"\r").unwrap_or(text)
}

/// Every byte a token by itself: what a constraint says without any tokenizer.
fn single_bytes() -> Result<Vocabulary> {
    Vocabulary::from_tokens((0..=u8::MAX).map(|byte| Some(vec![byte])).collect(), &[], &[])
}

/// Whether one text is accepted.
#[derive(Debug)]
enum Verdict {
    /// With the parts that the constraint's grammar names, as JSON; null if it names none.
    Accepted(Value),
    Rejected {
        byte: usize,
        line: usize,
        column: usize,
        /// The rejected character, in words.
        found: String,
        expected: String,
        /// The keywords of the schema, or the rules of the grammar, that were being read.
        parts: Vec<ConstraintPart>,
        /// An option under which the text is accepted.
        option: Option<String>,
        /// A fault of the members of the object there.
        fault: Option<Box<ObjectFault>>,
        /// The line with a caret under the byte.
        excerpt: String,
    },
}

/// The keywords that decide which key may come where an object cannot end: behind a comma, unless
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

impl Verdict {
    /// The first byte that is not accepted, or the end of a text that is not complete; the matcher
    /// has read what stands before it.
    fn rejected(
        text: &[u8],
        byte: usize,
        matcher: &mut Matcher,
        option: Option<String>,
        schema: Option<&Value>,
    ) -> Result<Self> {
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
            0 | 1 => expected.describe(),
            _ => format!("`{}`", output::show(forced.as_bytes())),
        };
        let fault = match schema {
            Some(schema) if option.is_none() => {
                let sources = match text.get(byte) {
                    Some(b'}') => sources_of_key(matcher)?,
                    _ => parts.clone(),
                };
                let keywords: Vec<&str> =
                    sources.iter().filter_map(|part| part.keyword()).collect();
                ObjectFault::find(text, byte, &keywords, schema).map(Box::new)
            }
            _ => None,
        };
        Ok(Self::Rejected { byte, line, column, found, expected, parts, option, fault, excerpt })
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Accepted(_) => Outcome::Success,
            Self::Rejected { .. } => Outcome::NotAccepted,
        }
    }

    fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Accepted(Value::Null) => json!({ "accepted": true }),
            Self::Accepted(captures) => json!({ "accepted": true, "captures": captures }),
            Self::Rejected { byte, line, column, expected, parts, option, fault, .. } => {
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
                if let Some((name, said)) = fault.as_ref().map(|fault| fault_to_json(fault)) {
                    answer[name] = said;
                }
                answer
            }
        }
    }

    /// In words; `first` is the line of the file on which the text begins.
    fn describe(&self, file: &str, first: usize) -> String {
        match self {
            Self::Accepted(_) => "accepted".to_owned(),
            Self::Rejected { line, column, fault: Some(fault), excerpt, .. } => {
                let (line, what) = (first + line - 1, fault.to_string());
                let mut text = format!("{file}:{line}:{column}: not accepted: {what}");
                for line in excerpt.lines() {
                    text += &format!("\n  | {line}");
                }
                text
            }
            Self::Rejected { line, column, found, expected, parts, option, excerpt, .. } => {
                let line = first + line - 1;
                let mut text =
                    format!("{file}:{line}:{column}: not accepted: {found}, expected {expected}");
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
                for line in excerpt.lines() {
                    text += &format!("\n  | {line}");
                }
                text
            }
        }
    }
}

/// The member of the answer that tells of a fault: its name and its value.
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
        // A kind that this program does not know has words.
        _ => ("fault", json!({ "object": fault.object, "message": fault.to_string() })),
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

/// A constraint at its start, and the tokens in which texts are written, if not in bytes.
struct Checker<'a> {
    constraint: &'a ConstraintArgs,
    compiler: &'a Compiler,
    matcher: Matcher,
    tokens: Option<&'a Trie>,
    /// The same constraint with other options of JSON, compiled when first needed.
    others: OnceCell<Vec<(&'static str, Constraint)>>,
    /// The constraint as a schema, if it is one, read when first needed.
    schema: OnceCell<Option<Value>>,
}

impl Checker<'_> {
    fn verdict(&self, text: &[u8]) -> Result<Verdict> {
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
        // Without a tokenizer, all of the text; with one, what begins with a token that the mask
        // does not allow, whose bytes tell where and why.
        match matcher.accept_bytes(&text[at..]) {
            Ok(()) if self.tokens.is_some() && at < text.len() => Err(unspellable(text, at)),
            Ok(()) if matcher.is_accepting() && matcher.constraint().has_captures() => {
                let captures = matcher.captures()?;
                Ok(Verdict::Accepted(captures.iter().map(Capture::to_json).collect()))
            }
            Ok(()) if matcher.is_accepting() => Ok(Verdict::Accepted(Value::Null)),
            Ok(()) => Verdict::rejected(
                text,
                text.len(),
                &mut matcher,
                self.other_option(text),
                self.schema(),
            ),
            Err(error) if error.kind() == ErrorKind::Rejected => {
                let byte = error.place().byte.unwrap_or(0);
                matcher.accept_bytes(&text[at..at + byte])?;
                Verdict::rejected(
                    text,
                    at + byte,
                    &mut matcher,
                    self.other_option(text),
                    self.schema(),
                )
            }
            Err(error) => Err(error),
        }
    }

    /// The schema, where the constraint is one.
    fn schema(&self) -> Option<&Value> {
        self.schema.get_or_init(|| self.constraint.schema_value()).as_ref()
    }

    /// The option of JSON under which a rejected text is accepted, if there is one.
    fn other_option(&self, text: &[u8]) -> Option<String> {
        let others = self.others.get_or_init(|| self.constraint.written_otherwise(self.compiler));
        let accepts = |constraint: &Constraint| {
            let mut matcher = constraint.matcher();
            matcher.accept_bytes(text).is_ok() && matcher.is_accepting()
        };
        let other = others.iter().find(|(_, constraint)| accepts(constraint));
        other.map(|(option, _)| (*option).to_owned()).or_else(|| {
            let digits = most_digits(text);
            let constraint = self.constraint.with_digits(self.compiler, digits)?;
            accepts(&constraint).then(|| format!("--digits {digits}"))
        })
    }
}

/// The most digits in a row.
fn most_digits(text: &[u8]) -> u32 {
    let runs = text.split(|byte| !byte.is_ascii_digit());
    runs.map(|run| u32::try_from(run.len()).unwrap_or(u32::MAX)).max().unwrap_or(0)
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
