//! `maskwright lint`: effects of a schema on generation, and mistakes that its author probably made.

use std::io::{self, BufWriter, Write as _};

use serde_json::json;

use maskwright::ErrorKind;
use maskwright::lint::{FindingKind, Lint};

use super::output::{self, OutputFormat, Stop};
use crate::cli::args::constraint::{parse_schema, read_schema};
use crate::cli::args::json::JsonArgs;
use crate::cli::args::limits::LimitArgs;
use crate::cli::outcome::Outcome;

/// Findings of one kind that are shown without `--all`.
const MAX_SHOWN_PER_KIND: usize = 200;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A JSON Schema: a file, or the schema itself
    #[arg(value_name = "SCHEMA", required_unless_present = "schema_option")]
    schema: Option<String>,
    /// The same, as other subcommands take it
    #[arg(long = "schema", id = "schema_option", value_name = "SCHEMA", conflicts_with = "schema")]
    option: Option<String>,
    #[command(flatten)]
    json: JsonArgs,
    #[command(flatten)]
    limits: LimitArgs,
    /// Only what deserves attention: hints, costs, errors and what has no effect
    #[arg(long)]
    brief: bool,
    /// All findings, however many there are of one kind
    #[arg(long)]
    all: bool,
    /// Format of the findings: one a line, the first of each kind, or one JSON value
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    // One of the two is there, or clap has refused.
    let schema = args.schema.or(args.option).unwrap_or_default();
    let (text, file) = read_schema(&schema)?;
    let in_file = |error: maskwright::Error| match &file {
        Some(file) => error.in_file(file),
        None => error,
    };
    let schema = parse_schema(&text, file.as_deref()).map_err(in_file)?;
    args.json.choices.require_names()?;
    let options = args.limits.options(args.json.options()?);
    let mut lint = schema.lint_within(&options, &args.limits.limits());
    if args.brief {
        use FindingKind::{Cost, Error, Hint, Ignored};
        let attention = [Hint, Cost, Error, Ignored];
        lint.findings.retain(|finding| attention.contains(&finding.kind));
    }
    match args.output {
        OutputFormat::Json => output::line(&to_json(&lint).to_string())?,
        OutputFormat::Text => {
            let mut out = BufWriter::new(io::stdout().lock());
            let name = file.as_ref().map_or(String::new(), |file| format!("{}:", file.display()));
            let most = if args.all { usize::MAX } else { MAX_SHOWN_PER_KIND };
            let mut kinds: Vec<(FindingKind, usize)> = Vec::new();
            for finding in &lint.findings {
                let index = kinds.iter().position(|(kind, _)| *kind == finding.kind);
                let index = index.unwrap_or_else(|| {
                    kinds.push((finding.kind, 0));
                    kinds.len() - 1
                });
                kinds[index].1 += 1;
                if kinds[index].1 <= most {
                    writeln!(out, "{name}{finding}")?;
                }
            }
            for (kind, count) in kinds.into_iter().filter(|(_, count)| *count > most) {
                let more = count - most;
                writeln!(out, "{more} more of the kind `{}`; --all shows them", kind.name())?;
            }
            writeln!(out, "{}", sizes(&lint))?;
            out.flush()?;
        }
    }
    match lint.error {
        Some(error) => Err(in_file(error).into()),
        None => Ok(Outcome::Success),
    }
}

fn sizes(lint: &Lint) -> String {
    let bytes = |n: u64| format!("{n} byte{}", if n == 1 { "" } else { "s" });
    match (lint.least_bytes, lint.most_bytes, &lint.error) {
        (_, _, Some(error)) if error.kind() != ErrorKind::Unsatisfiable => {
            "nothing is written: the schema is refused".into()
        }
        (_, _, Some(_)) => "nothing is written: no text is accepted".into(),
        (Some(least), Some(most), _) => {
            format!("at least {}, at most {most}, without white space", bytes(least))
        }
        (Some(least), None, _) => {
            format!("at least {}, without white space; no upper bound", bytes(least))
        }
        (None, ..) => "how long a text is was not found out".into(),
    }
}

fn to_json(lint: &Lint) -> serde_json::Value {
    let findings: Vec<serde_json::Value> = lint
        .findings
        .iter()
        .map(|finding| {
            json!({
                "pointer": finding.pointer,
                "line": finding.line_column.map(|(line, _)| line),
                "column": finding.line_column.map(|(_, column)| column),
                "kind": finding.kind.name(),
                "message": finding.message,
            })
        })
        .collect();
    json!({
        "findings": findings,
        "least_bytes": lint.least_bytes,
        "most_bytes": lint.most_bytes,
        "accepted": lint.error.is_none(),
    })
}
