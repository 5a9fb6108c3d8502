//! Lists from text with one choice a line.
//!
//! Sorted lines are read in place. Others are sorted by an index of 8 bytes a line, so that the peak of
//! memory is the text, its index and the set: less than twice the text for lines of 20 bytes.

use std::cmp::Ordering;

use rayon::slice::ParallelSliceMut as _;

use super::ChoiceList;
use crate::error::{Error, ErrorKind, Result};
use crate::thread_pool;

/// The place of a line in the text.
#[derive(Clone, Copy)]
struct Line {
    start: u32,
    len: u32,
}

/// The list of the lines of a text.
pub(super) fn build(text: &[u8]) -> Result<ChoiceList> {
    let text = text.strip_prefix("\u{FEFF}".as_bytes()).unwrap_or(text);
    if let Err(error) = std::str::from_utf8(text) {
        let byte = error.valid_up_to();
        return Err(bad_line(line_of(text, byte), "it is not UTF-8", "save the file as UTF-8"));
    }
    let mut sorted = Ordering::Less;
    let mut before: &[u8] = &[];
    for (index, line) in lines(text).enumerate() {
        if line.is_empty() {
            return Err(bad_line(index + 1, "it is empty", "take the line out"));
        }
        sorted = sorted.max(before.cmp(line));
        before = line;
    }
    if sorted <= Ordering::Equal {
        return ChoiceList::from_sorted(lines(text));
    }
    let too_long = |_| {
        Error::new(ErrorKind::Limit, "the lines are not sorted, and have more than 4 GiB")
            .with_help("sort them by their bytes, as `LC_ALL=C sort -u` does")
    };
    u32::try_from(text.len()).map_err(too_long)?;
    // The length was checked, and every line is a part of the text.
    let start = |line: &[u8]| (line.as_ptr() as usize - text.as_ptr() as usize) as u32;
    let mut index = Vec::with_capacity(lines(text).count());
    index.extend(lines(text).map(|line| Line { start: start(line), len: line.len() as u32 }));
    let bytes = |line: &Line| &text[line.start as usize..][..line.len as usize];
    if thread_pool::has_threads() {
        index.par_sort_unstable_by(|a, b| bytes(a).cmp(bytes(b)));
    } else {
        index.sort_unstable_by(|a, b| bytes(a).cmp(bytes(b)));
    }
    ChoiceList::from_sorted(index.iter().map(bytes))
}

/// The lines without their ends. Nothing follows the last line break.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').map(|line| {
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        line.strip_suffix(b"\r").unwrap_or(line)
    })
}

/// The number of the line with a byte, from 1.
fn line_of(text: &[u8], byte: usize) -> usize {
    text[..byte].iter().filter(|&&byte| byte == b'\n').count() + 1
}

fn bad_line(line: usize, message: &str, help: &str) -> Error {
    Error::new(ErrorKind::Request, message).at_line_column(line, 1).with_help(help)
}
