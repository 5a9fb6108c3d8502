//! The command line: one file for each subcommand, on the library's public API alone.
//!
//! ```text
//! cli.rs             subcommands, exit codes, how an error is shown
//! generate.rs, …     a subcommand: `Args`, `run`
//! args/              groups of options that subcommands share
//! input, output      files and standard streams
//! ```
//!
//! To add a subcommand: a file with `struct Args` (derives `clap::Args`) and
//! `fn run(Args) -> Result<Outcome, Stop>`; a variant of [`Command`] with its one-line help, an arm in
//! [`run`], and, if it takes a constraint, one in [`Command::schema_file`]; a test in `tests/cli`.
//!
//! Results go to standard output, everything else to standard error. Exit codes: 0 success, 1 the
//! input (or the text that a model wrote) is not accepted, 2 usage or a bad schema, grammar or
//! model. An error is one line that names the place and the cure; below it, where the
//! text has lines, the line that is wrong and a caret.

mod args;
mod bench;
mod chat;
mod check;
mod choices;
#[cfg(feature = "server")]
mod config_file;
mod explore;
mod generate;
mod input;
mod line_input;
mod lint;
#[cfg(feature = "server")]
mod logging;
mod mask;
mod outcome;
mod output;
mod progress;
mod sample;
#[cfg(feature = "server")]
mod serve;
mod shell_words;
mod trace;

use std::ffi::OsString;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind as Usage;
use clap::{CommandFactory as _, Parser, Subcommand};

use maskwright::error::{Error, ErrorKind};

use outcome::Outcome;
use output::Stop;

/// Structured decoding: a language model writes only text that a constraint accepts.
#[derive(Debug, Parser)]
#[command(name = "maskwright", version, about, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write text with a model; with a constraint, only text that it accepts
    Generate(generate::Args),
    /// Write one prompt at several temperatures, side by side
    Explore(explore::Args),
    /// Talk with a model; each turn may have a constraint
    Chat(chat::Args),
    /// Say whether a text is accepted, or where it is first rejected and what was expected there
    Check(check::Args),
    /// List the tokens that a constraint allows after a prefix
    Mask(mask::Args),
    /// Say what a JSON Schema does to generation, and what its author probably meant
    Lint(lint::Args),
    /// Draw random texts that a constraint accepts, or texts one edit outside of it
    Sample(sample::Args),
    /// Make a set that loads at once of a list with one text a line, for --choices
    Choices(choices::Args),
    /// Measure how fast a model reads and writes, and what masks cost
    Bench(bench::Args),
    /// Serve OpenAI's and Anthropic's APIs over HTTP
    #[cfg(feature = "server")]
    Serve(serve::Args),
}

/// Exit code of usage errors and of schemas, grammars and models that cannot be used.
const EXIT_BAD: u8 = 2;

/// Runs the command on these arguments (the first is the program's name).
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    #[cfg(feature = "server")]
    let (args, file) = match config_file::expanded(args, &Cli::command()) {
        Ok(expanded) => expanded,
        Err(error) => {
            output::note(&format!("error: {error}"));
            return ExitCode::from(EXIT_BAD);
        }
    };
    #[cfg(not(feature = "server"))]
    let file = None;
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => return usage(&error, file),
    };
    let schema_file = cli.command.schema_file();
    let result = match cli.command {
        Command::Generate(args) => generate::run(args),
        Command::Explore(args) => explore::run(args),
        Command::Chat(args) => chat::run(args),
        Command::Sample(args) => sample::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Choices(args) => choices::run(&args),
        Command::Check(args) => check::run(args),
        Command::Mask(args) => mask::run(args),
        Command::Lint(args) => lint::run(args),
        #[cfg(feature = "server")]
        Command::Serve(args) => serve::run(args),
    };
    match result {
        Ok(Outcome::Success) => ExitCode::SUCCESS,
        Ok(Outcome::NotAccepted) => ExitCode::FAILURE,
        // The reader went away: there is nobody to tell.
        Err(Stop::BrokenPipe) => ExitCode::SUCCESS,
        Err(Stop::Error(error)) => {
            let error = in_schema_file(error, schema_file);
            let option = args::limits::option(&error);
            let option = option.map_or(String::new(), |option| format!(" (here: {option})"));
            output::note(&format!("error: {error}{option}"));
            if let Some(excerpt) = error.excerpt() {
                excerpt.lines().for_each(|line| output::note(&format!("  | {line}")));
            }
            ExitCode::from(EXIT_BAD)
        }
    }
}

impl Command {
    /// The file of the constraint's schema, if it is in one.
    fn schema_file(&self) -> Option<PathBuf> {
        match self {
            Self::Generate(args) => args.schema_file(),
            Self::Explore(args) => args.schema_file(),
            Self::Chat(args) => args.schema_file(),
            Self::Check(args) => args.schema_file(),
            Self::Mask(args) => args.schema_file(),
            Self::Sample(args) => args.schema_file(),
            // These name the file themselves, or take no schema.
            Self::Lint(_) | Self::Bench(_) | Self::Choices(_) => None,
            #[cfg(feature = "server")]
            Self::Serve(_) => None,
        }
    }
}

/// Adds the file to an error in a part of the schema that was compiled when a text reached it.
fn in_schema_file(error: Error, file: Option<PathBuf>) -> Error {
    let in_schema = matches!(
        error.kind(),
        ErrorKind::Schema | ErrorKind::Limit | ErrorKind::Unsatisfiable | ErrorKind::Regex
    );
    match file {
        Some(file) if in_schema && error.place().pointer.is_some() => error.in_file(file),
        _ => error,
    }
}

/// Help and version as clap prints them; a usage error on one line, with the file that options came
/// from, too.
fn usage(error: &clap::Error, file: Option<PathBuf>) -> ExitCode {
    if matches!(error.kind(), Usage::DisplayHelp | Usage::DisplayVersion) {
        // A closed standard output leaves nobody to tell.
        let _ = write!(std::io::stdout(), "{error}");
        return ExitCode::SUCCESS;
    }
    if error.kind() == Usage::DisplayHelpOnMissingArgumentOrSubcommand {
        let _ = write!(std::io::stderr(), "{error}");
        return ExitCode::from(EXIT_BAD);
    }
    let text = error.to_string();
    let parts: Vec<&str> = text
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more"))
        .filter(|line| !line.is_empty())
        .collect();
    let place = file.map_or(String::new(), |file| format!(" (here or in {})", file.display()));
    output::note(&format!("{}; see --help{place}", parts.join(" ")));
    ExitCode::from(EXIT_BAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_well_formed() {
        Cli::command().debug_assert();
    }
}
