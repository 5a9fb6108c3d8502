//! `maskwright check`: is a text accepted, and if not, where is it first rejected?
//!
//! This is the matcher itself, never a validator: what it says is what a model could have written.

use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use serde_json::json;

use crate::error::{Error, ErrorKind, Result, caret, line_column};
use crate::vocab::Trie;
use crate::{Compiler, Matcher, Vocabulary};

use super::Outcome;
use super::constraint::ConstraintArgs;
use super::model::vocabulary;
use super::output::{self, Format, Stop};

/// How many characters of a text are repeated in an error.
const PIECE: usize = 20;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("texts").required(true).args(["input", "lines"]))]
pub(super) struct Args {
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// A file that holds one text; one final line break is not part of it
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// A file with one text a line; answers one JSON line for each
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// Writes the text in the tokens of this vocabulary, each allowed by the mask: a
    /// tokenizer.json, .tiktoken or .gguf file, or `tiny`; without it, in single bytes
    #[arg(long, value_name = "T")]
    tokenizer: Option<String>,
    /// How the answer is written
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value = "text",
        conflicts_with = "lines"
    )]
    output: Format,
}

pub(super) fn run(args: Args) -> std::result::Result<Outcome, Stop> {
    let vocabulary = match &args.tokenizer {
        Some(tokenizer) => vocabulary(tokenizer)?,
        None => single_bytes()?.into(),
    };
    let compiler = Compiler::new(vocabulary);
    let tokens = args.tokenizer.as_ref().map(|_| compiler.vocabulary().trie());
    let checker = Checker { matcher: args.constraint.require(&compiler)?.matcher(), tokens };
    let mut outcome = Outcome::Success;
    if let Some(file) = &args.input {
        let text = output::read(file, "the text to check")?;
        let verdict = checker.verdict(strip_line_break(&text))?;
        match args.output {
            Format::Json => output::line(&verdict.to_json().to_string())?,
            Format::Text => output::line(&verdict.describe(&file.display().to_string()))?,
        }
        outcome = verdict.outcome();
    }
    if let Some(file) = &args.lines {
        let open = std::fs::File::open(file).map_err(|error| unreadable(file, &error))?;
        for line in BufReader::new(open).split(b'\n') {
            let line = line.map_err(|error| unreadable(file, &error))?;
            let verdict = checker.verdict(line.strip_suffix(b"\r").unwrap_or(&line))?;
            output::line(&verdict.to_json().to_string())?;
            if verdict.outcome() == Outcome::NotAccepted {
                outcome = Outcome::NotAccepted;
            }
        }
    }
    Ok(outcome)
}

fn unreadable(file: &std::path::Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot be read: {error}"))
        .in_file(file)
        .with_help("give the path of a file with one text a line")
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
    Accepted,
    Rejected {
        byte: usize,
        line: usize,
        column: usize,
        expected: String,
        keyword: Option<String>,
        /// The line, and a caret under the byte.
        excerpt: String,
    },
}

impl Verdict {
    /// The first byte that is not accepted, or the end of a text that is not complete; the matcher
    /// has read what stands before it.
    fn rejected(text: &[u8], byte: usize, matcher: &mut Matcher) -> Result<Self> {
        // What is no UTF-8 is shown as what stands for it.
        let before = String::from_utf8_lossy(&text[..byte]);
        let (line, column) = line_column(&before, usize::MAX);
        let excerpt =
            caret(&format!("{before}{}", String::from_utf8_lossy(&text[byte..])), before.len());
        let expected = matcher.expected()?;
        // Schema keywords have JSON pointers, rules of grammars have names.
        let keyword = expected.sources.first().cloned();
        let expected = expected.describe();
        Ok(Self::Rejected { byte, line, column, expected, keyword, excerpt })
    }

    fn outcome(&self) -> Outcome {
        match self {
            Self::Accepted => Outcome::Success,
            Self::Rejected { .. } => Outcome::NotAccepted,
        }
    }

    fn to_json(&self) -> serde_json::Value {
        match self {
            Self::Accepted => json!({ "accepted": true }),
            Self::Rejected { byte, line, column, expected, keyword, .. } => json!({
                "accepted": false,
                "byte": byte,
                "line": line,
                "column": column,
                "expected": expected,
                "keyword": keyword,
            }),
        }
    }

    fn describe(&self, file: &str) -> String {
        match self {
            Self::Accepted => "accepted".to_owned(),
            Self::Rejected { line, column, expected, keyword, excerpt, .. } => {
                let excerpt = excerpt.replace('\n', "\n  | ");
                let keyword = keyword.as_ref().map(|at| format!(" (at {at})")).unwrap_or_default();
                format!(
                    "{file}:{line}:{column}: not accepted: expected {expected}{keyword}\n  | {excerpt}"
                )
            }
        }
    }
}

/// A constraint at its start, and the tokens in which texts are written, if not in bytes.
struct Checker<'a> {
    matcher: Matcher,
    tokens: Option<&'a Trie>,
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
            Ok(()) if self.tokens.is_some() && at < text.len() => Err(no_way(text, at)),
            Ok(()) if matcher.is_accepting() => Ok(Verdict::Accepted),
            Ok(()) => Verdict::rejected(text, text.len(), &mut matcher),
            Err(error) if error.kind() == ErrorKind::Rejected => {
                let byte = error.place().byte.unwrap_or(0);
                matcher.accept_bytes(&text[at..at + byte])?;
                Verdict::rejected(text, at + byte, &mut matcher)
            }
            Err(error) => Err(error),
        }
    }
}

/// The constraint accepts the text, but the vocabulary cannot write it.
fn no_way(text: &[u8], at: usize) -> Error {
    let rest = String::from_utf8_lossy(&text[at..]);
    let piece: String = rest.chars().take(PIECE).collect();
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
