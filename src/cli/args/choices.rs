//! `--choices`: a list of texts in a file, as the constraint or by name.

use std::path::PathBuf;
use std::sync::OnceLock;

use maskwright::error::{Error, ErrorKind, Result};
use maskwright::json_schema::ChoiceLists;
use maskwright::regular::ChoiceList;

/// A file with a list, and the name by which schemas and grammars call it.
#[derive(Clone, Debug)]
pub(crate) struct ChoiceFile {
    name: Option<String>,
    file: PathBuf,
}

/// Reads `FILE` or `NAME=FILE`. A name has letters, digits, `-`, `_` and `.` alone.
pub(crate) fn parse(text: &str) -> std::result::Result<ChoiceFile, String> {
    let is_name = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || "-_.".contains(c))
    };
    let (name, file) = match text.split_once('=') {
        Some((name, file)) if is_name(name) => (Some(name.to_owned()), file),
        _ => (None, text),
    };
    if file.is_empty() {
        return Err("no file is named; write FILE or NAME=FILE".to_owned());
    }
    Ok(ChoiceFile { name, file: file.into() })
}

/// Lists of texts in files.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Constraint")]
pub(crate) struct ChoiceArgs {
    /// One of the texts in a file, one a line, or in an `.fst` set; with NAME=, a list that schemas
    /// (`x-choices-from`) and grammars name (repeat the option for more)
    #[arg(long, value_name = "[NAME=]FILE", value_parser = parse)]
    choices: Vec<ChoiceFile>,
    /// Those with a name, once they are read.
    #[arg(skip)]
    named: OnceLock<ChoiceLists>,
}

impl ChoiceArgs {
    /// Whether a list is given as the constraint.
    pub(crate) fn is_constraint(&self) -> bool {
        self.choices.iter().any(|choices| choices.name.is_none())
    }

    /// Whether a list is given by name.
    pub(crate) fn has_names(&self) -> bool {
        self.choices.iter().any(|choices| choices.name.is_some())
    }

    /// The list that is the constraint.
    ///
    /// Errors if there are several, or if its file cannot be used.
    pub(crate) fn constraint(&self) -> Result<Option<ChoiceList>> {
        let mut files = self.choices.iter().filter(|choices| choices.name.is_none());
        match (files.next(), files.next()) {
            (None, _) => Ok(None),
            (Some(one), None) => ChoiceList::open(&one.file).map(Some),
            (Some(_), Some(_)) => Err(Error::new(ErrorKind::Request, "--choices is given twice")
                .with_help("give one file, or names: --choices NAME=FILE")),
        }
    }

    /// The lists with a name, read once.
    ///
    /// Errors if a file cannot be used, or if two lists have the same name.
    pub(crate) fn named(&self) -> Result<ChoiceLists> {
        if let Some(known) = self.named.get() {
            return Ok(known.clone());
        }
        let mut lists = ChoiceLists::default();
        for ChoiceFile { name, file } in &self.choices {
            if let Some(name) = name {
                lists = lists.with(name, ChoiceList::open(file)?)?;
            }
        }
        Ok(self.named.get_or_init(|| lists).clone())
    }

    /// Errors if a list has no name, for subcommands that take the constraint elsewhere.
    pub(crate) fn require_names(&self) -> Result<()> {
        if self.is_constraint() {
            return Err(Error::new(ErrorKind::Request, "a list of --choices has no name here")
                .with_help("write --choices NAME=FILE"));
        }
        Ok(())
    }
}
