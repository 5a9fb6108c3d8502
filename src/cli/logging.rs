//! The log of `serve`: events of the library, and the notes of the command, on standard error.
//!
//! As text, notes stay the plain lines that other subcommands write. As JSON, each line is an object,
//! notes and errors among them, so that a program can read all of standard error.

use tracing::level_filters::LevelFilter;

use super::output;

/// Options of the log.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Log")]
pub(super) struct LogArgs {
    /// Format of the log on standard error: lines for people, or a JSON object a line
    #[arg(
        long,
        value_enum,
        value_name = "text|json",
        default_value = "text",
        overrides_with = "log_format"
    )]
    log_format: LogFormat,
    /// The least important events that are logged: `info` has one for each request, with its id, status,
    /// times and tokens, and `debug` also those of health checks. None contains prompts or texts
    #[arg(long, value_enum, value_name = "off|error|warn|info|debug", default_value = "info")]
    log_level: LogLevel,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}

impl LogArgs {
    /// Writes events of this process from here on.
    pub(super) fn start(&self) {
        let level = match self.log_level {
            LogLevel::Off => LevelFilter::OFF,
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
        };
        let log = tracing_subscriber::fmt()
            .with_max_level(level)
            .with_writer(std::io::stderr)
            // Where standard error is closed, there is nobody to tell so.
            .log_internal_errors(false);
        // An error means that there is a log already, which only a program around this one has.
        let _ = match self.log_format {
            LogFormat::Text => tracing::subscriber::set_global_default(log.finish()),
            LogFormat::Json => {
                output::redirect_notes(tell);
                let json = log.json().flatten_event(true);
                tracing::subscriber::set_global_default(json.finish())
            }
        };
    }
}

/// Tells a note as an event.
fn tell(line: &str) {
    match line.split_once(": ") {
        Some(("error", rest)) => tracing::error!(target: "maskwright", "{rest}"),
        Some(("warning", rest)) => tracing::warn!(target: "maskwright", "{rest}"),
        _ => tracing::info!(target: "maskwright", "{line}"),
    }
}
