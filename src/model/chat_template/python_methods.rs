//! Methods of Python's texts and lists that MiniJinja's own collection of them lacks.

use minijinja::value::{Tuple, Value, from_args};
use minijinja::{Error, ErrorKind, State};
use minijinja_contrib::pycompat;

/// Greatest width to which a text is padded.
const MAX_WIDTH: usize = 1 << 16;

/// Calls a method of Python's texts, lists or mappings.
pub(super) fn call(
    state: &mut State,
    value: &Value,
    method: &str,
    args: &[Value],
) -> Result<Value, Error> {
    let own = match value.as_str() {
        Some(text) => of_text(text, method, args),
        None => of_collection(value, method, args),
    };
    own.unwrap_or_else(|| pycompat::unknown_method_callback(state, value, method, args))
}

/// Calls a method of a text, if it is one of these.
fn of_text(text: &str, method: &str, args: &[Value]) -> Option<Result<Value, Error>> {
    Some(match method {
        "removeprefix" => from_args(args)
            .map(|(prefix,): (&str,)| Value::from(text.strip_prefix(prefix).unwrap_or(text))),
        "removesuffix" => from_args(args)
            .map(|(suffix,): (&str,)| Value::from(text.strip_suffix(suffix).unwrap_or(text))),
        "partition" => from_args(args).and_then(|(separator,): (&str,)| {
            not_empty(separator)?;
            Ok(parts(text.split_once(separator), separator, [text, "", ""]))
        }),
        "rpartition" => from_args(args).and_then(|(separator,): (&str,)| {
            not_empty(separator)?;
            Ok(parts(text.rsplit_once(separator), separator, ["", "", text]))
        }),
        "rsplit" => from_args(args).and_then(|(separator, most): (Option<&str>, Option<i64>)| {
            let most = most.and_then(|most| usize::try_from(most).ok()).unwrap_or(usize::MAX);
            let mut pieces = match separator {
                Some(separator) => {
                    not_empty(separator)?;
                    text.rsplitn(most.saturating_add(1), separator).collect()
                }
                None => split_at_blanks(text, most),
            };
            pieces.reverse();
            Ok(pieces.into_iter().map(Value::from).collect())
        }),
        "index" | "rindex" => from_args(args).and_then(|(part,): (&str,)| {
            let at = if method == "index" { text.find(part) } else { text.rfind(part) };
            let Some(at) = at else { return Err(invalid("the text has no such part")) };
            Ok(Value::from(text[..at].chars().count()))
        }),
        "zfill" => from_args(args).and_then(|(width,): (i64,)| {
            let sign = text.strip_prefix(['-', '+']).map_or("", |_| &text[..1]);
            let zeros = padding(text, width, '0')?;
            Ok(Value::from(format!("{sign}{zeros}{}", &text[sign.len()..])))
        }),
        "ljust" | "rjust" => from_args(args).and_then(|(width, fill): (i64, Option<char>)| {
            let fill = padding(text, width, fill.unwrap_or(' '))?;
            let padded = if method == "ljust" { [text, &fill] } else { [&fill, text] };
            Ok(Value::from(padded.concat()))
        }),
        _ => return None,
    })
}

/// Calls a method of a list or of a mapping, if it is one of these.
fn of_collection(value: &Value, method: &str, args: &[Value]) -> Option<Result<Value, Error>> {
    value.as_object()?;
    Some(match method {
        // Values never change: a copy is the same.
        "copy" => from_args(args).map(|()| value.clone()),
        "index" => from_args(args).and_then(|(item,): (&Value,)| {
            let at = value.try_iter()?.position(|other| other == *item);
            at.map(Value::from).ok_or_else(|| invalid("the list has no such item"))
        }),
        _ => return None,
    })
}

/// The three parts of a text around a separator.
fn parts(found: Option<(&str, &str)>, separator: &str, missing: [&str; 3]) -> Value {
    let parts = found.map_or(missing, |(before, after)| [before, separator, after]);
    Value::from(Tuple::from(parts.map(Value::from)))
}

/// The pieces of a text between blanks, from the last one on; once it was split `most` times what is before is one
/// piece.
fn split_at_blanks(text: &str, most: usize) -> Vec<&str> {
    let (mut pieces, mut rest) = (Vec::new(), text.trim_end());
    while !rest.is_empty() {
        match rest.rfind(char::is_whitespace).filter(|_| pieces.len() < most) {
            Some(blank) => {
                pieces.push(rest[blank..].trim_start());
                rest = rest[..blank].trim_end();
            }
            None => {
                pieces.push(rest);
                break;
            }
        }
    }
    pieces
}

/// The fill that brings a text to a width in characters.
fn padding(text: &str, width: i64, fill: char) -> Result<String, Error> {
    let width = usize::try_from(width).unwrap_or(0);
    if width > MAX_WIDTH {
        return Err(invalid("the width is too large"));
    }
    Ok(fill.to_string().repeat(width.saturating_sub(text.chars().count())))
}

fn not_empty(separator: &str) -> Result<(), Error> {
    if separator.is_empty() { Err(invalid("the separator is empty")) } else { Ok(()) }
}

fn invalid(message: &'static str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message)
}
