//! `maskwright mask`: which tokens does a constraint allow after a prefix?

use std::io::{self, BufWriter, Write as _};

use serde_json::json;

use crate::Compiler;
use crate::error::ErrorKind;

use super::Outcome;
use super::constraint::ConstraintArgs;
use super::model::vocabulary;
use super::output::{self, Format, Stop};

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// The text before the tokens
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    prefix: String,
    /// Whose tokens: a tokenizer.json, .tiktoken or .gguf file, or `tiny`
    #[arg(long, value_name = "T")]
    tokenizer: String,
    /// How the tokens are written: one `id<TAB>name` a line, or one JSON line each
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

pub(super) fn run(args: Args) -> Result<Outcome, Stop> {
    let compiler = Compiler::new(vocabulary(&args.tokenizer)?);
    let mut matcher = args.constraint.require(&compiler)?.matcher();
    if let Err(error) = matcher.accept_bytes(args.prefix.as_bytes()) {
        if error.kind() != ErrorKind::Rejected {
            return Err(error.into());
        }
        output::note(&format!("--prefix: {error}"));
        return Ok(Outcome::NotAccepted);
    }
    let vocabulary = compiler.vocabulary();
    let mask = matcher.mask()?;
    let mut out = BufWriter::new(io::stdout().lock());
    for token in mask.iter() {
        let name = vocabulary.token_name(token);
        match args.output {
            Format::Text => writeln!(out, "{token}\t{name}")?,
            Format::Json => {
                let text = vocabulary.token_bytes(token).map(String::from_utf8_lossy);
                writeln!(out, "{}", json!({ "token": token, "name": name, "text": text }))?;
            }
        }
    }
    out.flush()?;
    output::note(&format!("{} of {} tokens are allowed", mask.count(), vocabulary.len()));
    Ok(Outcome::Success)
}
