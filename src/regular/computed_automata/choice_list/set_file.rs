//! Lists in files: mapped sets, and text.

use std::fs::File;
use std::path::Path;

use fst::raw::Fst;
use memmap2::Mmap;

use super::{ChoiceList, unusable};
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::map_file;

/// The bytes of a set.
#[derive(Debug)]
pub(super) enum SetBytes {
    Owned(Vec<u8>),
    Mapped(Mmap),
}

impl AsRef<[u8]> for SetBytes {
    fn as_ref(&self) -> &[u8] {
        match self {
            Self::Owned(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

/// The list in a file, by the ending of its name.
pub(super) fn open(path: &Path) -> Result<ChoiceList> {
    let unreadable = |error: std::io::Error| {
        Error::new(ErrorKind::Io, format!("cannot be read: {error}"))
            .with_help("give the path of a file with one text a line, or of an `.fst` set")
            .with_source(error)
    };
    let file = File::open(path).map_err(unreadable)?;
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(unreadable(std::io::Error::other("it is no regular file")));
    }
    // Systems do not map what is empty.
    if metadata.len() == 0 {
        return ChoiceList::from_lines(&[]);
    }
    let bytes = map_file(&file).map_err(unreadable)?;
    if path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("fst")) {
        ChoiceList::from_set(SetBytes::Mapped(bytes))
    } else {
        ChoiceList::from_lines(&bytes)
    }
}

/// Errors if the bytes of a set are not those that its builder wrote. The `fst` crate reads nodes
/// without checking them, so this comes before any of them is read.
pub(super) fn check(set: &Fst<SetBytes>) -> Result<()> {
    set.verify().map_err(|error| unusable(&error))
}
