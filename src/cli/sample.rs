//! `maskwright sample`: random texts that a constraint accepts, and texts one edit outside of it.

use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use serde_json::json;

use maskwright::Compiler;
use maskwright::sample::{Bounds, Texts};

use super::check;
use super::output::{self, OutputFormat, Stop};
use crate::cli::args::constraint::ConstraintArgs;
use crate::cli::args::model::vocabulary;
use crate::cli::outcome::Outcome;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// Number of texts
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    count: usize,
    /// The same seed gives the same texts on every machine
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// No text is shorter
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_bytes: usize,
    /// No text is longer
    #[arg(long, value_name = "N", default_value_t = Bounds::default().max_bytes)]
    max_bytes: usize,
    /// No more rules are open at once (a rule whose call ends its caller's is none of them)
    #[arg(long, value_name = "N")]
    max_depth: Option<usize>,
    /// Instead of each text one that the constraint does not accept, an edit away: a character put
    /// in, taken out, changed, or two neighbours swapped
    #[arg(long)]
    near_misses: bool,
    /// Lists, on standard error, the places of the constraint that no text has reached
    #[arg(long)]
    coverage: bool,
    /// The tokenizer whose tokens the constraint names: a tokenizer.json, .tiktoken or .gguf file, a model of the
    /// hub (ORG/NAME, without its weights), or `tiny`. Texts are those without special tokens
    #[arg(long, value_name = "T")]
    tokenizer: Option<String>,
    /// Ends each text with a NUL byte instead of a line break, for texts of several lines
    #[arg(short = '0', long, conflicts_with = "output")]
    null: bool,
    /// Format of the texts: as they are, one a line, or one JSON line each
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
}

impl Args {
    /// The file of the schema, where the constraint is one.
    pub(super) fn schema_file(&self) -> Option<PathBuf> {
        self.constraint.schema_file()
    }
}

pub(super) fn run(args: Args) -> std::result::Result<Outcome, Stop> {
    let Args { min_bytes, max_bytes, max_depth, .. } = args;
    let compiler = match &args.tokenizer {
        Some(tokenizer) => Compiler::new(vocabulary(tokenizer)?).without_token_budgets(),
        None => check::compiler_of_texts()?,
    };
    let constraint = args.constraint.require_by_rules(&compiler);
    let constraint =
        constraint.map_err(|error| check::named_tokens(error, args.tokenizer.is_some()))?;
    let mut texts =
        Texts::new(&constraint, args.seed)?.within(Bounds { min_bytes, max_bytes, max_depth });
    let mut out = BufWriter::new(io::stdout().lock());
    let (mut shortest, mut longest, mut without) = (usize::MAX, 0, 0);
    let end = if args.null { b'\0' } else { b'\n' };
    let mut with_end = 0;
    for _ in 0..args.count {
        let mut text = texts.draw()?;
        if args.near_misses {
            let Some(miss) = texts.near_miss(&text)? else {
                without += 1;
                continue;
            };
            text = miss;
        }
        shortest = shortest.min(text.len());
        longest = longest.max(text.len());
        with_end += usize::from(text.contains(&end));
        match (args.output, String::from_utf8(text)) {
            (OutputFormat::Json, Ok(text)) => writeln!(out, "{}", json!({ "text": text }))?,
            // JSON has no other way to write what is no UTF-8.
            (OutputFormat::Json, Err(error)) => {
                writeln!(out, "{}", json!({ "bytes": error.as_bytes() }))?;
            }
            (OutputFormat::Text, text) => {
                out.write_all(&text.map_or_else(|error| error.into_bytes(), String::into_bytes))?;
                out.write_all(&[end])?;
            }
        }
    }
    out.flush()?;
    let coverage = texts.coverage();
    output::note(&format!(
        "{} texts of {} to {longest} bytes; reached: rules {}, places {}, alternatives {}, steps of \
         terminals {}",
        args.count - without,
        shortest.min(longest),
        coverage.rules,
        coverage.places,
        coverage.alternatives,
        coverage.steps,
    ));
    if with_end > 0 && args.output == OutputFormat::Text {
        let (what, cure) = if args.null {
            ("NUL bytes", "--output json")
        } else {
            ("line breaks", "-0 or --output json")
        };
        output::note(&format!(
            "{with_end} texts have {what} in them: {cure} tells where each ends"
        ));
    }
    if without > 0 {
        output::note(&format!("{without} texts have no near-miss: every edit tried is accepted"));
    }
    if args.coverage {
        coverage.missing.iter().for_each(|place| output::note(&format!("not reached: {place}")));
    }
    Ok(Outcome::Success)
}
