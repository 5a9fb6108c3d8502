//! Output: results to standard output, notes and errors to standard error.

use std::io::{self, Write};
use std::sync::OnceLock;

use maskwright::error::{Error, ErrorKind};

/// Reason for which a subcommand ended without an answer.
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
            _ => Self::Error(
                Error::new(ErrorKind::Io, format!("cannot write: {error}")).with_source(error),
            ),
        }
    }
}

/// Format of a result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum OutputFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON value a line, for programs.
    Json,
}

/// Where notes go instead of standard error.
static NOTES: OnceLock<fn(&str)> = OnceLock::new();

/// Sends all notes to a log from here on.
#[cfg(feature = "server")]
pub(super) fn redirect_notes(tell: fn(&str)) {
    // The first log stays.
    let _ = NOTES.set(tell);
}

/// Writes a line to standard error. If that is closed, the line is lost.
pub(super) fn note(line: &str) {
    match NOTES.get() {
        Some(tell) => tell(line),
        None => {
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}

/// Writes a line to standard output, flushed.
pub(super) fn line(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
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
