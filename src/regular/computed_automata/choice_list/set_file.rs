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
///
/// Its own check computes the same sum by tables, five times slower than the processor's instruction; it
/// has the last word, and words the error.
pub(super) fn check(set: &Fst<SetBytes>) -> Result<()> {
    if has_its_checksum(set.as_bytes()) {
        return Ok(());
    }
    set.verify().map_err(|error| unusable(&error))
}

/// Whether a set ends in the checksum of what stands before: a CRC-32C, masked as in the framing format
/// of Snappy (section 3), little-endian. Sets before version 3 have none.
fn has_its_checksum(set: &[u8]) -> bool {
    let version = set.first_chunk().copied().map_or(0, u64::from_le_bytes);
    let Some((summed, checksum)) = set.split_last_chunk() else { return false };
    let masked = crc32c::crc32c(summed).rotate_right(15).wrapping_add(0xA282_EAD8);
    version >= 3 && masked == u32::from_le_bytes(*checksum)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sum is that of the `fst` crate, so that its slower check is asked about damaged sets alone.
    #[test]
    fn sums_are_those_of_the_fst_crate() -> Result<()> {
        for strings in [vec!["a"], vec!["Oslo", "Paris", "Rome"], vec!["x"; 1_000]] {
            let list = ChoiceList::from_texts(strings)?;
            assert!(has_its_checksum(list.as_fst()));
            let mut damaged = list.as_fst().to_vec();
            damaged[20] ^= 1;
            assert!(!has_its_checksum(&damaged));
        }
        assert!(!has_its_checksum(&[]) && !has_its_checksum(&[0; 8]));
        Ok(())
    }
}
