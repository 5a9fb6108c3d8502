//! `maskwright lint`: what a schema does to generation, and what its author probably meant.

use std::io::{self, BufWriter, Write as _};

use serde_json::json;

use crate::ErrorKind;
use crate::json_schema::{FindingKind, Lint, Schema};

use super::Outcome;
use super::constraint::{JsonArgs, read_schema};
use super::output::{self, Format, Stop};

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
    /// Only what deserves attention: hints, costs and errors
    #[arg(long)]
    brief: bool,
    /// How the findings are written: one a line, or one JSON value
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    // One of the two is there, or clap has refused.
    let schema = args.schema.or(args.option).unwrap_or_default();
    let (text, file) = read_schema(&schema)?;
    let in_file = |error: crate::Error| match &file {
        Some(file) => error.in_file(file),
        None => error,
    };
    let schema = Schema::from_text(&text).map_err(in_file)?;
    let mut lint = schema.lint(&args.json.options());
    if args.brief {
        let attention = [FindingKind::Hint, FindingKind::Cost, FindingKind::Error];
        lint.findings.retain(|finding| attention.contains(&finding.kind));
    }
    match args.output {
        Format::Json => output::line(&to_json(&lint).to_string())?,
        Format::Text => {
            let mut out = BufWriter::new(io::stdout().lock());
            let name = file.as_ref().map_or(String::new(), |file| format!("{}:", file.display()));
            for finding in &lint.findings {
                writeln!(out, "{name}{finding}")?;
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
