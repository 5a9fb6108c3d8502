//! `maskwright mask`: the tokens that a constraint allows after a prefix, or why one is not.

use std::io::{self, BufWriter, Write as _};
use std::path::PathBuf;

use serde_json::json;

use maskwright::error::{Error, ErrorKind};
use maskwright::{Compiler, Vocabulary};

use super::output::{self, OutputFormat, Stop};
use crate::cli::args::constraint::ConstraintArgs;
use crate::cli::args::model::vocabulary;
use crate::cli::outcome::Outcome;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    constraint: ConstraintArgs,
    /// The text before the tokens
    #[arg(long, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    prefix: String,
    /// Whose tokens: a tokenizer.json, .tiktoken or .gguf file, a model of the hub (ORG/NAME, without its
    /// weights), or `tiny`
    #[arg(long, value_name = "T")]
    tokenizer: String,
    /// Say of this token why it is allowed or not, instead of listing those that are: an id, or
    /// the token's text
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    why: Option<String>,
    /// Format of the tokens: one `id<TAB>name` a line, or one JSON line each
    #[arg(long, value_enum, value_name = "FORMAT", default_value = "text")]
    output: OutputFormat,
}

impl Args {
    /// The file of the schema, where the constraint is one.
    pub(super) fn schema_file(&self) -> Option<PathBuf> {
        self.constraint.schema_file()
    }
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
    if let Some(token) = &args.why {
        let why = matcher.explain(find(vocabulary, token)?)?;
        match args.output {
            OutputFormat::Text => writeln!(io::stdout(), "{why}")?,
            OutputFormat::Json => {
                let expected = json!({
                    "bytes": format!("{:?}", why.expected.bytes),
                    "special_tokens": why.expected.special_tokens,
                    "end": why.expected.end,
                });
                let decided_by: Vec<&str> =
                    why.decided_by().iter().map(|part| part.as_str()).collect();
                let why = json!({
                    "token": why.token,
                    "name": why.name,
                    "allowed": why.allowed,
                    "fits": why.fits,
                    "failed": why.failed,
                    "expected": expected,
                    "decided_by": decided_by,
                    "reason": why.to_string(),
                });
                writeln!(io::stdout(), "{why}")?;
            }
        }
        return Ok(if why.allowed { Outcome::Success } else { Outcome::NotAccepted });
    }
    let mask = matcher.mask()?;
    let mut out = BufWriter::new(io::stdout().lock());
    for token in mask.iter() {
        let name = vocabulary.token_name(token);
        match args.output {
            OutputFormat::Text => writeln!(out, "{token}\t{name}")?,
            OutputFormat::Json => {
                let text = vocabulary.token_bytes(token).map(String::from_utf8_lossy);
                writeln!(out, "{}", json!({ "token": token, "name": name, "text": text }))?;
            }
        }
    }
    out.flush()?;
    output::note(&format!("{} of {} tokens are allowed", mask.count(), vocabulary.len()));
    Ok(Outcome::Success)
}

/// A token by its id, or else by its text or name.
fn find(vocabulary: &Vocabulary, token: &str) -> Result<u32, Error> {
    let trie = vocabulary.trie();
    let by_text = trie.find(token.as_bytes()).and_then(|node| trie.tokens(node).first().copied());
    let by_name = || (0..vocabulary.len() as u32).find(|&id| vocabulary.token_name(id) == token);
    let by_id = token.parse().ok().filter(|&id: &u32| (id as usize) < vocabulary.len());
    if let (Some(id), Some(other)) = (by_id, by_text)
        && id != other
    {
        output::note(&format!(
            "{token} is taken for an id; the token with this text is {other} (`--why {other}`)"
        ));
    }
    by_id.or(by_text).or_else(by_name).ok_or_else(|| {
        Error::new(ErrorKind::Request, format!("--why: no token is {token:?}"))
            .with_help("give a token's id, or its exact text, blanks included")
    })
}
