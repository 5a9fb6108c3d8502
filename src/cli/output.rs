//! Where the command's words go: results to standard output, notes to standard error.

use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::OnceLock;

use maskwright::error::{Error, ErrorKind, line_column};

/// Why a subcommand stopped before it had an answer.
#[derive(Debug)]
pub(super) enum Stop {
    /// Bad usage, or a schema, grammar, model or file that cannot be used.
    Error(Error),
    /// Standard output was closed by its reader.
    BrokenPipe,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::Error(Error::new(ErrorKind::Io, format!("cannot write: {error}"))),
        }
    }
}

/// How a result is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON value a line, for programs.
    Json,
}

/// One line on standard error. Where that is closed there is nobody to tell.
pub(super) fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// One line on standard output, flushed.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// The largest file that is read into memory, and the longest line, in bytes. What is longer is
/// hardly meant: a device, or a folder of data in one file.
pub(super) const LARGEST: usize = 256 << 20;

/// A file, or a line of it, beyond [`LARGEST`].
pub(super) fn too_large(what: &str, path: &Path) -> Error {
    Error::new(ErrorKind::Io, format!("{what} is longer than {} MiB", LARGEST >> 20)).in_file(path)
}

/// Opens a file, `-` for standard input.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    match path.as_os_str() == "-" {
        true => Ok(Box::new(io::stdin())),
        false => Ok(Box::new(std::fs::File::open(path)?)),
    }
}

/// Reads a file, or standard input, whole; the error names the file and what it should have been.
pub(super) fn read(path: &Path, wanted: &str) -> Result<Vec<u8>, Error> {
    // It comes once, and is read for each thing that is said of it.
    static INPUT: OnceLock<Vec<u8>> = OnceLock::new();
    let is_input = path.as_os_str() == "-";
    if let (true, Some(known)) = (is_input, INPUT.get()) {
        return Ok(known.clone());
    }
    let mut bytes = Vec::new();
    let all = open(path).and_then(|file| file.take(LARGEST as u64 + 1).read_to_end(&mut bytes));
    let help = format!("give the path of {wanted}");
    all.map_err(|error| {
        Error::new(ErrorKind::Io, format!("cannot be read: {error}")).in_file(path).with_help(&help)
    })?;
    if bytes.len() > LARGEST {
        return Err(too_large("the file", path).with_help(help));
    }
    Ok(match is_input {
        true => INPUT.get_or_init(|| bytes).clone(),
        false => bytes,
    })
}

/// Reads a UTF-8 file whole.
pub(super) fn read_text(path: &Path, wanted: &str) -> Result<String, Error> {
    String::from_utf8(read(path, wanted)?).map_err(|error| {
        let byte = error.utf8_error().valid_up_to();
        let (line, column) = line_column(error.as_bytes(), byte);
        Error::new(ErrorKind::Io, format!("is not UTF-8 at byte {byte}"))
            .in_file(path)
            .at_line_column(line, column)
            .with_help("save it as UTF-8")
    })
}

/// Bytes of a token as a reader can see them: printable text as it is, the rest escaped.
pub(super) fn show(bytes: &[u8]) -> String {
    let mut shown = String::new();
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\\' => shown.push_str("\\\\"),
                c if c.is_control() => shown.extend(c.escape_default()),
                c => shown.push(c),
            }
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_shown_on_one_line() {
        for (bytes, shown) in [
            (&b"plain text"[..], "plain text"),
            (b"a\nb\tc", "a\\nb\\tc"),
            (b"back\\slash", "back\\\\slash"),
            (b"\xc3\xa9\xc3", "é\\xc3"),
        ] {
            assert_eq!(show(bytes), shown);
        }
    }
}
