//! `serve --config FILE`: options of the command in TOML.
//!
//! A key is an option's name, with `-` or `_`; a list repeats the option, a table gives it `KEY=VALUE`
//! pairs, `true` sets a flag. An option that the command line has, too, is the command line's alone:
//!
//! ```toml
//! model = "Qwen/Qwen2.5-0.5B-Instruct"
//! port = 8080
//! served-model-name = ["small", "default"]
//! no-playground = true
//! [limit]
//! grammar_size = 100000
//! ```

use std::ffi::OsString;
use std::path::PathBuf;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::Value;

use maskwright::error::{Error, ErrorKind, Result};

use super::input;

/// The option that names the file, which is none of the file's own keys.
const OPTION: &str = "config";

/// Least likeness of two names of which one may be meant by the other, from 0 to 1.
const MIN_LIKENESS: f64 = 0.7;

/// The arguments of a command line, with those of its file of options after them, and the file.
///
/// Errors on a file that cannot be read, and on keys that are no options. Arguments that are no command
/// line are returned as they are.
pub(super) fn expanded(
    mut args: Vec<OsString>,
    command: &Command,
) -> Result<(Vec<OsString>, Option<PathBuf>)> {
    let Ok(matches) = command.clone().try_get_matches_from(&args) else { return Ok((args, None)) };
    let found = matches.subcommand().and_then(|(name, matches)| {
        let file = matches.try_get_one::<PathBuf>(OPTION).ok()??;
        Some((command.find_subcommand(name)?, matches, file.clone()))
    });
    let Some((command, matches, file)) = found else { return Ok((args, None)) };
    let text = input::read_text(&file, "a file of options in TOML")?;
    let added = arguments(&text, command, matches).map_err(|error| error.in_file(&file))?;
    args.extend(added.into_iter().map(OsString::from));
    Ok((args, Some(file)))
}

/// The arguments that a file stands for, but those that the command line has.
fn arguments(text: &str, command: &Command, matches: &ArgMatches) -> Result<Vec<String>> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let wrong = Error::new(ErrorKind::Request, format!("not TOML: {}", error.message()));
        let wrong = match error.span() {
            Some(span) => {
                let (line, column) = maskwright::error::line_column(text.as_bytes(), span.start);
                wrong.at_line_column(line, column)
            }
            None => wrong,
        };
        wrong.with_help("write lines such as `port = 8080`")
    })?;
    let mut added = Vec::new();
    for (key, value) in &table {
        let name = key.replace('_', "-");
        let Some(option) = find(command, &name) else { return Err(unknown(command, key)) };
        if matches.value_source(option.get_id().as_str()) != Some(ValueSource::CommandLine) {
            let long = option.get_long().unwrap_or(&name);
            added.extend(values(option, key, long, value)?);
        }
    }
    Ok(added)
}

/// The option of a name, which may be another one of its.
fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let is = |option: &&Arg| {
        let others = option.get_all_aliases().unwrap_or_default();
        option.get_long() == Some(name) || others.contains(&name)
    };
    command.get_arguments().filter(|option| may_be_key(option)).find(is)
}

fn may_be_key(option: &Arg) -> bool {
    !matches!(option.get_id().as_str(), OPTION | "help" | "version")
}

/// The error for a key that is no option, with the one that may be meant.
fn unknown(command: &Command, key: &str) -> Error {
    let options = command.get_arguments().filter(|option| may_be_key(option));
    let names = options.filter_map(|option| option.get_long());
    let likeness = |name: &str| strsim::jaro_winkler(name, &key.replace('_', "-"));
    let nearest = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let help = match nearest.filter(|name| likeness(name) >= MIN_LIKENESS) {
        Some(name) => format!("`{name}` may be meant"),
        None => format!("`maskwright {} --help` lists the options", command.get_name()),
    };
    Error::new(ErrorKind::Request, format!("there is no option `{key}`")).with_help(help)
}

/// An option of a file as arguments.
fn values(option: &Arg, key: &str, long: &str, value: &Value) -> Result<Vec<String>> {
    let wrong = |wanted: &str| {
        let message = format!("`{key}` must be {wanted}, not {}", value.type_str());
        Err(Error::new(ErrorKind::Request, message).with_help("see the option in --help"))
    };
    let is_flag = matches!(option.get_action(), ArgAction::SetTrue);
    let is_list = matches!(option.get_action(), ArgAction::Append);
    match value {
        Value::Boolean(true) if is_flag => Ok(vec![format!("--{long}")]),
        Value::Boolean(false) if is_flag => Ok(Vec::new()),
        _ if is_flag => wrong("true or false"),
        Value::Array(items) if is_list => {
            let texts: Option<Vec<String>> = items.iter().map(text_of).collect();
            let Some(texts) = texts else { return wrong("a list of texts or numbers") };
            Ok(texts.iter().map(|text| format!("--{long}={text}")).collect())
        }
        Value::Table(pairs) if is_list => {
            let pairs = pairs.iter().map(|(key, value)| Some((key, text_of(value)?)));
            let Some(pairs) = pairs.collect::<Option<Vec<_>>>() else {
                return wrong("a table of texts or numbers");
            };
            Ok(pairs.iter().map(|(key, text)| format!("--{long}={key}={text}")).collect())
        }
        other => match text_of(other) {
            Some(text) => Ok(vec![format!("--{long}={text}")]),
            None if is_list => wrong("a text, a number, or a list or table of such"),
            None => wrong("a text or a number"),
        },
    }
}

/// A value as it stands on a command line.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Integer(number) => Some(number.to_string()),
        Value::Float(number) => Some(number.to_string()),
        Value::Boolean(_) | Value::Datetime(_) | Value::Array(_) | Value::Table(_) => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    fn command() -> Command {
        Command::new("serve")
            .arg(Arg::new("port").long("port"))
            .arg(Arg::new("max_body").long("max-body").visible_alias("largest-body"))
            .arg(Arg::new("api_key").long("api-key").action(ArgAction::Append))
            .arg(Arg::new("limit").long("limit").action(ArgAction::Append))
            .arg(Arg::new("quiet").long("quiet").action(ArgAction::SetTrue))
            .arg(Arg::new(OPTION).long(OPTION))
    }

    fn read(text: &str, line: &[&str]) -> Result<Vec<String>> {
        let command = command();
        let line = [&["serve"], line].concat();
        arguments(text, &command, &command.clone().try_get_matches_from(line).unwrap())
    }

    #[test]
    fn keys_are_options() {
        let text = "port = 80\nmax_body = 1.5\nquiet = true\napi-key = ['a', 'b']\n[limit]\nx = 1";
        let args =
            ["--port=80", "--max-body=1.5", "--quiet", "--api-key=a", "--api-key=b", "--limit=x=1"];
        assert_eq!(read(text, &[]).unwrap(), args);
        assert_eq!(read("largest-body = '2'\nquiet = false", &[]).unwrap(), ["--max-body=2"]);
    }

    #[test]
    fn the_command_line_wins() {
        let text = "port = 80\napi-key = 'a'";
        assert_eq!(read(text, &["--port", "1"]).unwrap(), ["--api-key=a"]);
        assert_eq!(read(text, &["--api-key", "b"]).unwrap(), ["--port=80"]);
    }

    #[test]
    fn what_is_no_option_is_refused_with_the_nearest() {
        for (text, said) in [
            ("prot = 80", "there is no option `prot`; `port` may be meant"),
            ("max_bodi = 1", "`max-body` may be meant"),
            ("zzz = 1", "serve --help` lists"),
            ("config = 'x'", "there is no option `config`"),
            ("help = true", "there is no option `help`"),
            ("quiet = 1", "`quiet` must be true or false, not integer"),
            ("port = true", "`port` must be a text or a number, not boolean"),
            ("port = [1]", "`port` must be a text or a number, not array"),
            ("api-key = [[1]]", "`api-key` must be a list of texts"),
            ("port 80", "not TOML"),
        ] {
            let error = read(text, &[]).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
        assert_eq!(read("port = 1\nport", &[]).unwrap_err().place().line_column.unwrap().0, 2);
    }
}
