//! Texts that may be written: without excluded texts, and with some escapes alone.

use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::options::Options;
use crate::regular::{ByteSet, Language, Languages};

/// The characters that JSON has after a backslash.
const ESCAPES: &str = "\"\\/bfnrtu";

/// Those of `texts`, as they are written between quotes, that the options allow.
///
/// Errors if an excluded text is empty, or if JSON has no such escape.
pub(crate) fn writable_texts(
    l: &mut Languages,
    texts: Language,
    options: &Options,
) -> Result<Language> {
    let mut writable = texts;
    if let Some(escapes) = &options.escapes {
        check_escapes(escapes)?;
        let backslash = ByteSet::from_iter([b'\\']);
        let plain = l.byte_set(backslash.complement());
        let is_short = |letter: &u8| !options.long_escapes_where_needed || *letter != b'u';
        let letters: ByteSet = escapes.bytes().filter(is_short).collect();
        let [backslash, letter] = [backslash, letters].map(|set| l.byte_set(set));
        let short = l.concat([backslash, letter]);
        let long = if options.long_escapes_where_needed {
            long_escapes(l, escapes)
        } else {
            Language::EMPTY
        };
        let unit = l.union([plain, short, long]);
        let escaped = l.repeat(unit, 0, None);
        writable = l.intersect([writable, escaped]);
    }
    if !options.excludes.is_empty() {
        check_excludes(&options.excludes)?;
        let byte = l.byte_set((0..=u8::MAX).collect());
        let bytes = l.repeat(byte, 0, None);
        let excluded = l.literals(options.excludes.iter().map(String::as_bytes));
        let with_excluded = l.concat([bytes, excluded, bytes]);
        writable = l.difference(writable, with_excluded);
    }
    Ok(writable)
}

/// Errors if JSON has no escape of one of these characters.
pub(crate) fn check_escapes(escapes: &str) -> Result<()> {
    let Some(unknown) = escapes.chars().find(|&c| !ESCAPES.contains(c)) else { return Ok(()) };
    let message = format!("JSON has no escape of a backslash and {unknown:?}");
    Err(Error::new(ErrorKind::Request, message).with_help(format!("use some of {ESCAPES}")))
}

/// Errors if an excluded text is empty.
pub(crate) fn check_excludes(excludes: &[String]) -> Result<()> {
    if !excludes.iter().any(String::is_empty) {
        return Ok(());
    }
    let message = "every text holds the empty one, which is excluded";
    Err(Error::new(ErrorKind::Request, message).with_help("leave the empty text out"))
}

/// The long escapes of characters that JSON escapes, and for which these are not the short ones.
fn long_escapes(l: &mut Languages, escapes: &str) -> Language {
    const SHORT_ESCAPES: [(char, u32); 7] =
        [('"', 0x22), ('\\', 0x5c), ('b', 8), ('f', 0xc), ('n', 0xa), ('r', 0xd), ('t', 9)];
    let has_short =
        |c: &u32| SHORT_ESCAPES.iter().any(|(e, short)| short == c && escapes.contains(*e));
    let escaped = (0..0x20).chain([0x22, 0x5c]).filter(|c| !has_short(c));
    let written: Vec<String> = escaped.map(|c| format!("\\u{c:04x}")).collect();
    l.literals(written.iter().map(String::as_bytes))
}
