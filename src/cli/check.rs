//! `maskwright check`: whether a text is accepted, and where it is first rejected.
//!
//! This is the matcher itself, never a validator: what it says is what a model could have written.

use std::cell::OnceCell;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use crate::cli::input;
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::lint::{TextCheck, Verdict};
use maskwright::{Compiler, Constraint, Vocabulary};

use super::output::{self, OutputFormat, Stop};
use crate::cli::args::constraint::ConstraintArgs;
use crate::cli::args::model::vocabulary;
use crate::cli::outcome::Outcome;

#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("texts").required(true).args(["file", "input", "lines"]))]
pub(super) struct Args {
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// A file that holds one text, or `-` for standard input; where a text with its final line break is not accepted, the
    /// break is no part of it
    file: Option<PathBuf>,
    /// The same
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// A file, or `-`, with one text a line; answers one JSON line for each
    #[arg(long, value_name = "FILE")]
    lines: Option<PathBuf>,
    /// The texts of --lines end with a NUL byte instead of a line break, as `sample -0` writes them
    #[arg(short = '0', long, requires = "lines")]
    null: bool,
    /// Writes the text in the tokens of this vocabulary, each allowed by the mask: a
    /// tokenizer.json, .tiktoken or .gguf file, a model of the hub (ORG/NAME, without its weights), or `tiny`; without it, in single bytes
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
    let texts = [&args.file, &args.input, &args.lines];
    if args.constraint.reads_stdin()
        && texts.into_iter().flatten().any(|file| file.as_os_str() == "-")
    {
        let message = "standard input is both the constraint and the text";
        return Err(Error::new(ErrorKind::Request, message)
            .with_help("give one of them as a file")
            .into());
    }
    let compiler = match &args.tokenizer {
        Some(tokenizer) => Compiler::new(vocabulary(tokenizer)?),
        None => compiler_of_texts()?,
    };
    let constraint = &args.constraint;
    // By rules, so that it is the innermost rule that is named.
    let compiled = constraint.require_by_rules(&compiler);
    let compiled = compiled.map_err(|error| named_tokens(error, args.tokenizer.is_some()))?;
    let schema = constraint.schema_value();
    let mut check = TextCheck::new(&compiled).with_schema(schema.as_ref());
    if args.tokenizer.is_some() {
        check = check.in_tokens(compiler.vocabulary().trie());
    }
    for finding in constraint.not_enforced() {
        output::note(&format!("note: {finding}"));
    }
    let checker = Checker { constraint, compiler: &compiler, check, others: OnceCell::new() };
    let mut outcome = Outcome::Success;
    if let Some(file) = args.file.as_ref().or(args.input.as_ref()) {
        let text = input::read(file, "the text to check")?;
        let verdict = checker.verdict_of_file(&text)?;
        match args.output.unwrap_or_default() {
            OutputFormat::Json => output::line(&verdict.to_json().to_string())?,
            OutputFormat::Text => {
                output::line(&describe(&verdict, &file.display().to_string(), 1))?
            }
        }
        outcome = self::outcome(&verdict);
    }
    if let Some(file) = &args.lines {
        let open = input::open(file).map_err(|error| unreadable(file, error))?;
        let mut lines = BufReader::new(open);
        let end = if args.null { b'\0' } else { b'\n' };
        for number in 1.. {
            let mut line = Vec::new();
            let most = input::MAX_INPUT_BYTES as u64 + 1;
            let length = lines.by_ref().take(most).read_until(end, &mut line);
            if length.map_err(|error| unreadable(file, error))? == 0 {
                break;
            }
            let line = if args.null {
                line.strip_suffix(b"\0").unwrap_or(&line)
            } else {
                without_line_break(&line)
            };
            if line.len() > input::MAX_INPUT_BYTES {
                let error = input::too_large("a line", file).at_line_column(number, 1);
                return Err(error.with_help("give a file with one text a line").into());
            }
            let verdict = checker.verdict(line)?;
            match args.output.unwrap_or(OutputFormat::Json) {
                OutputFormat::Json => output::line(&verdict.to_json().to_string())?,
                OutputFormat::Text => {
                    output::line(&describe(&verdict, &file.display().to_string(), number))?;
                }
            }
            if !verdict.is_accepted() {
                outcome = Outcome::NotAccepted;
            }
        }
    }
    Ok(outcome)
}

fn unreadable(file: &Path, error: std::io::Error) -> Error {
    input::unreadable(file, error, "give the path of a file with one text a line")
}

/// A text without a line break at its end.
fn without_line_break(text: &[u8]) -> &[u8] {
    let line = text.strip_suffix(b"\n").map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    line.unwrap_or(text)
}

/// A compiler for texts without any tokenizer: every byte a token by itself, and none counted.
pub(super) fn compiler_of_texts() -> Result<Compiler> {
    let bytes = (0..=u8::MAX).map(|byte| Some(vec![byte])).collect();
    Ok(Compiler::new(Vocabulary::from_tokens(bytes, &[], &[])?).without_token_budgets())
}

/// The error for a constraint that names tokens, where there is no tokenizer that has them.
pub(super) fn named_tokens(error: Error, has_tokenizer: bool) -> Error {
    if !has_tokenizer && error.message().contains("the vocabulary has no token") {
        return error.with_help("give the tokenizer that has it, by --tokenizer");
    }
    error
}

/// A verdict in words; `first` is the line of the file on which the text begins.
fn describe(verdict: &Verdict, file: &str, first: usize) -> String {
    let Verdict::Rejected(rejection) = verdict else { return "accepted".to_owned() };
    let (line, column) = (first + rejection.line - 1, rejection.column);
    let mut text = format!("{file}:{line}:{column}: not accepted: {}", rejection.message());
    for line in rejection.excerpt.lines() {
        text += &format!("\n  | {line}");
    }
    text
}

fn outcome(verdict: &Verdict) -> Outcome {
    if verdict.is_accepted() { Outcome::Success } else { Outcome::NotAccepted }
}

/// A constraint at its start, and the tokens in which texts are written, if not in bytes.
struct Checker<'a> {
    constraint: &'a ConstraintArgs,
    compiler: &'a Compiler,
    check: TextCheck<'a>,
    /// The same constraint with other options of JSON, compiled when first needed.
    others: OnceCell<Vec<(&'static str, Constraint)>>,
}

impl Checker<'_> {
    /// The verdict on the text of a file: whole, or else without the line break that editors put at
    /// the end of a file, or without a part of it.
    fn verdict_of_file(&self, text: &[u8]) -> Result<Verdict> {
        let line = without_line_break(text);
        for end in (line.len() + 1..=text.len()).rev() {
            let longer = self.check.run(&text[..end], &mut |_| None)?;
            if longer.is_accepted() {
                return Ok(longer);
            }
        }
        self.verdict(line)
    }

    fn verdict(&self, text: &[u8]) -> Result<Verdict> {
        self.check.run(text, &mut |text| self.other_option(text))
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
