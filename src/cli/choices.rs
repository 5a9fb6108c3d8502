//! `maskwright choices`: makes a set that is mapped into memory of a list of texts.

use std::fs;
use std::path::PathBuf;

use maskwright::error::{Error, ErrorKind};
use maskwright::regular::ChoiceList;

use super::outcome::Outcome;
use super::output::{self, Stop};
use crate::cli::input;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// A file with one text a line, or a set
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The set to write, which ends in .fst
    #[arg(value_name = "OUT.fst")]
    output: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<Outcome, Stop> {
    let Args { input, output } = args;
    if output.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("fst")) {
        let error = Error::new(ErrorKind::Request, "a set is read by the ending .fst alone");
        return Err(error.in_file(output).with_help("give it a name that ends in .fst").into());
    }
    let list = ChoiceList::open(input)?;
    // Others may have the old file mapped, so it is replaced, not written over.
    let new = output.with_extension(format!("fst.{}", std::process::id()));
    let written = fs::write(&new, list.as_fst()).and_then(|()| fs::rename(&new, output));
    written.map_err(|error| {
        let _ = fs::remove_file(&new);
        input::unwritable(output, error)
    })?;
    output::note(&format!("{} texts in {} bytes", list.len(), list.as_fst().len()));
    Ok(Outcome::Success)
}
