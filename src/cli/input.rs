//! Input: files, standard input, and JSON that is given as an argument or in a file.

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use maskwright::error::{Error, ErrorKind, Result, line_column};
use maskwright::strict_json;

/// Greatest length of a file that is read into memory, and of a line, in bytes. A longer one is
/// hardly meant: a device, or a data set in one file.
pub(crate) const MAX_INPUT_BYTES: usize = 256 << 20;

/// A mark that some editors write before a text, and that is no part of it.
pub(crate) const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file, or a line of it, beyond [`MAX_INPUT_BYTES`].
pub(crate) fn too_large(what: &str, path: &Path) -> Error {
    Error::new(ErrorKind::Io, format!("{what} is longer than {} MiB", MAX_INPUT_BYTES >> 20))
        .in_file(path)
}

/// Opens a file, `-` for standard input.
pub(crate) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    if path.as_os_str() == "-" {
        Ok(Box::new(io::stdin()))
    } else {
        Ok(Box::new(std::fs::File::open(path)?))
    }
}

/// Reads a file, or standard input, whole; the error names the file and what it should have been.
pub(crate) fn read(path: &Path, wanted: &str) -> Result<Vec<u8>> {
    // Standard input and pipes come once, and are read again for messages.
    static PIPES: Mutex<Vec<(PathBuf, Vec<u8>)>> = Mutex::new(Vec::new());
    let is_pipe = path.as_os_str() == "-" || path.metadata().is_ok_and(|found| !found.is_file());
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    if let (true, Some((_, known))) = (is_pipe, pipes.iter().find(|(known, _)| known == path)) {
        return Ok(known.clone());
    }
    let mut bytes = Vec::new();
    let all =
        open(path).and_then(|file| file.take(MAX_INPUT_BYTES as u64 + 1).read_to_end(&mut bytes));
    let help = format!("give the path of {wanted}");
    all.map_err(|error| unreadable(path, error, help.as_str()))?;
    if bytes.len() > MAX_INPUT_BYTES {
        return Err(too_large("the file", path).with_help(help));
    }
    if is_pipe {
        pipes.push((path.to_owned(), bytes.clone()));
    }
    Ok(bytes)
}

/// Reads a UTF-8 file whole.
pub(crate) fn read_text(path: &Path, wanted: &str) -> Result<String> {
    String::from_utf8(read(path, wanted)?).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        let (line, column) = line_column(error.as_bytes(), byte);
        Error::new(ErrorKind::Io, format!("is not UTF-8 at byte {byte}"))
            .in_file(path)
            .at_line_column(line, column)
            .with_help("save it as UTF-8")
    })
}

/// The error of a file that cannot be read.
pub(crate) fn unreadable(path: &Path, error: io::Error, help: impl Into<String>) -> Error {
    Error::new(ErrorKind::Io, format!("cannot be read: {error}"))
        .in_file(path)
        .with_help(help)
        .with_source(error)
}

/// The error of a file that cannot be written.
pub(crate) fn unwritable(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot be written: {error}"))
        .in_file(path)
        .with_help("give the path of a file in a folder that exists")
        .with_source(error)
}

/// Parses JSON of a shape; `what` names it in errors.
pub(crate) fn parse_json<T: serde::de::DeserializeOwned>(text: &str, what: &str) -> Result<T> {
    let value = strict_json::parse(text).map_err(|error| match error.help() {
        Some(_) => error,
        None => {
            let message = format!("{what} cannot be read: no JSON ({})", error.message());
            let (line, column) = error.place().line_column.unwrap_or((1, 1));
            Error::new(error.kind(), message)
                .at_line_column(line, column)
                .with_help("see --help for its shape")
        }
    })?;
    serde_json::from_value(value).map_err(|error| {
        Error::new(ErrorKind::Request, format!("{what} cannot be read: {error}"))
            .with_help("see --help for its shape")
    })
}

/// Whether an argument is JSON itself, not the name of a file.
pub(crate) fn is_inline(given: &str) -> bool {
    let inline = given.trim();
    inline.starts_with(['{', '[']) || matches!(inline, "true" | "false")
}

/// JSON that is given as it is or as a file, which then comes back, too: what begins like an
/// object, a list or a constant is JSON, and so is any JSON that is no file's name.
pub(crate) fn read_file_or_json(given: &str, wanted: &str) -> Result<(String, Option<PathBuf>)> {
    let inline = given.trim();
    if is_inline(given) {
        return Ok((given.to_owned(), None));
    }
    let file = PathBuf::from(given);
    if !file.exists() && serde_json::from_str::<serde_json::Value>(inline).is_ok() {
        return Ok((given.to_owned(), None));
    }
    let text = read_text(&file, wanted)?;
    Ok((text, Some(file)))
}
