//! Lines that a user types, or that come from a pipe.

use std::io::{self, BufRead as _, IsTerminal as _};

use rustyline::config::{Behavior, Config};
use rustyline::error::ReadlineError;
use rustyline::history::MemHistory;

use super::output::Stop;
use maskwright::error::{Error, ErrorKind};

/// Source of lines.
pub(super) enum LineReader {
    /// A terminal: a line is edited with the usual keys, and those before it come back with the
    /// arrow keys. The history is kept in memory alone.
    Terminal(Box<rustyline::Editor<(), MemHistory>>),
    Pipe,
}

/// One event of a source of lines.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineEvent {
    Line(String),
    /// Ctrl-C: what was on the line is dropped.
    Interrupt,
    /// Ctrl-D on an empty line, or the end of the input.
    End,
}

impl LineReader {
    /// The lines of standard input. A terminal is spoken to directly, so that standard output holds
    /// nothing but results.
    pub(super) fn open() -> Result<Self, Stop> {
        if !io::stdin().is_terminal() {
            return Ok(Self::Pipe);
        }
        let config =
            Config::builder().behavior(Behavior::PreferTerm).auto_add_history(true).build();
        let editor =
            rustyline::Editor::with_history(config, MemHistory::new()).map_err(unreadable)?;
        Ok(Self::Terminal(Box::new(editor)))
    }

    pub(super) fn is_terminal(&self) -> bool {
        matches!(self, Self::Terminal(_))
    }

    pub(super) fn read(&mut self, prompt: &str) -> Result<LineEvent, Stop> {
        match self {
            Self::Terminal(editor) => match editor.readline(prompt) {
                Ok(line) => Ok(LineEvent::Line(line)),
                Err(ReadlineError::Interrupted) => Ok(LineEvent::Interrupt),
                Err(ReadlineError::Eof) => Ok(LineEvent::End),
                Err(error) => Err(unreadable(error)),
            },
            Self::Pipe => {
                let mut line = String::new();
                match io::stdin().lock().read_line(&mut line) {
                    Ok(0) => Ok(LineEvent::End),
                    Ok(_) => Ok(LineEvent::Line(line)),
                    Err(error) => Err(unreadable(error)),
                }
            }
        }
    }
}

fn unreadable(error: impl std::error::Error + Send + Sync + 'static) -> Stop {
    let message = format!("cannot read a line: {error}");
    Error::new(ErrorKind::Io, message).with_help("write UTF-8").with_source(error).into()
}
