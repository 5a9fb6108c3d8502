//! Escapes and classes of Python's patterns.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use super::backreference;
use crate::error::{Error, Result};
use crate::regular::syntax::pattern::class_of;
use crate::regular::syntax::pattern_cursor::{Flags, PatternCursor, hexadecimal};
use crate::regular::syntax::pattern_error::error_at;

/// The meaning of an escape outside classes.
pub(super) enum PythonEscape {
    /// A code point; surrogates are possible.
    Char(u32),
    Class(ClassUnicode),
    Start,
    End,
    WordBoundary {
        negated: bool,
    },
}

/// The greatest number of an octal escape.
const MAX_OCTAL: u32 = 0o377;

/// Letters that Python's `IGNORECASE` takes as equal and Unicode's simple case folding does not:
/// I with and without a dot.
const DOTTED_AND_DOTLESS_I: [char; 4] = ['I', 'i', '\u{130}', '\u{131}'];

/// The set with every character that differs from a member in case only.
pub(super) fn case_folded(mut class: ClassUnicode, flags: Flags) -> ClassUnicode {
    if !flags.ignore_case {
        return class;
    }
    if flags.ascii {
        let letters = |first, last| class_of([(first, last)]);
        for (from, to) in [('a', 'A'), ('A', 'a')] {
            let mut cased = class.clone();
            cased.intersect(&letters(from, char::from(from as u8 + 25)));
            let other = |c: char| char::from(c as u8 - from as u8 + to as u8);
            class.union(&class_of(cased.iter().map(|r| (other(r.start()), other(r.end())))));
        }
        return class;
    }
    // Without its tables `regex-syntax` could not fold; they are a default feature.
    let _ = class.try_case_fold_simple();
    let forms = class_of(DOTTED_AND_DOTLESS_I.map(|c| (c, c)));
    let mut common = forms.clone();
    common.intersect(&class);
    if !common.ranges().is_empty() {
        class.union(&forms);
    }
    class
}

/// A class of Unicode, by a pattern of `regex-syntax`.
fn unicode(pattern: &str) -> ClassUnicode {
    match regex_syntax::parse(pattern).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // The patterns below are classes, and the tables are a default feature.
        _ => class_of([]),
    }
}

/// `\w`: what `str.isalnum` holds for, and `_`.
pub(super) fn word_class(flags: Flags) -> ClassUnicode {
    if flags.ascii {
        return class_of([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]);
    }
    unicode(r"[\p{L}\p{N}_]")
}

/// `\s`: what `str.isspace` holds for.
fn whitespace_class(flags: Flags) -> ClassUnicode {
    if flags.ascii {
        return class_of([('\t', '\r'), (' ', ' ')]);
    }
    unicode(r"[\s\x1C-\x1F]")
}

fn digit_class(flags: Flags) -> ClassUnicode {
    if flags.ascii { class_of([('0', '9')]) } else { unicode(r"\p{Nd}") }
}

/// `\d`, `\w`, `\s` or the complement of one, by its letter.
fn category(letter: char, flags: Flags) -> Option<ClassUnicode> {
    let mut class = match letter.to_ascii_lowercase() {
        'd' => digit_class(flags),
        'w' => word_class(flags),
        's' => whitespace_class(flags),
        _ => return None,
    };
    if letter.is_ascii_uppercase() {
        class.negate();
    }
    Some(class)
}

/// An escape outside classes, whose backslash is at `start`.
pub(super) fn escape(cursor: &mut PatternCursor<'_>, start: usize) -> Result<PythonEscape> {
    let c = escaped(cursor, start)?;
    if let Some(class) = category(c, cursor.flags) {
        return Ok(PythonEscape::Class(class));
    }
    Ok(match c {
        'A' => PythonEscape::Start,
        'Z' | 'z' => PythonEscape::End,
        'b' | 'B' => PythonEscape::WordBoundary { negated: c == 'B' },
        '1'..='9' => {
            let octal = |digit: Option<char>| digit.is_some_and(|digit| digit.is_digit(8));
            let mut next = cursor.rest().chars();
            if octal(Some(c)) && octal(next.next()) && octal(next.next()) {
                PythonEscape::Char(octal_number(cursor, start, c, 2)?)
            } else {
                return Err(backreference(start, &format!("\\{c}")));
            }
        }
        c => PythonEscape::Char(character(cursor, start, c)?),
    })
}

/// The character after a backslash.
fn escaped(cursor: &mut PatternCursor<'_>, start: usize) -> Result<char> {
    cursor.next().ok_or_else(|| {
        error_at(start, "the pattern ends in `\\`").with_help("write a literal one as `\\\\`")
    })
}

/// `first` and at most `more` further octal digits.
fn octal_number(
    cursor: &mut PatternCursor<'_>,
    start: usize,
    first: char,
    more: usize,
) -> Result<u32> {
    let digits = cursor.rest().chars().take(more).take_while(|c| c.is_digit(8)).count();
    let number = cursor.rest()[..digits]
        .chars()
        .fold(first.to_digit(8).unwrap_or(0), |n, c| 8 * n + c.to_digit(8).unwrap_or(0));
    cursor.at += digits;
    if number > MAX_OCTAL {
        return Err(error_at(start, "an octal escape is `\\377` at most")
            .with_help("write a code point as `\\uhhhh`"));
    }
    Ok(number)
}

/// The code point of an escape that means one inside and outside classes.
fn character(cursor: &mut PatternCursor<'_>, start: usize, c: char) -> Result<u32> {
    let digits = match c {
        'a' => return Ok(0x07),
        'f' => return Ok(0x0C),
        'n' => return Ok(0x0A),
        'r' => return Ok(0x0D),
        't' => return Ok(0x09),
        'v' => return Ok(0x0B),
        '0' => return octal_number(cursor, start, c, 2),
        'x' => 2,
        'u' => 4,
        'U' => 8,
        c if c.is_ascii_alphanumeric() => return Err(unknown_escape(start, c)),
        c => return Ok(c.into()),
    };
    match hexadecimal(cursor.rest(), digits) {
        Some(code) if code <= 0x10_FFFF => {
            cursor.at += digits;
            Ok(code)
        }
        _ => {
            Err(error_at(start, format!("`\\{c}` must be followed by {digits} hexadecimal digits"))
                .with_help("the greatest code point is `\\U0010FFFF`"))
        }
    }
}

fn unknown_escape(at: usize, c: char) -> Error {
    let error = error_at(at, format!("`\\{c}` is no escape of Python's `re`"));
    match c {
        'p' | 'P' => error.with_help("properties of Unicode are in the dialects rust and ecma"),
        'N' => error.with_help("write the character itself, or its code point as `\\uhhhh`"),
        'c' => error.with_help("write a control character as `\\xhh`"),
        'e' => error.with_help("the escape character is `\\x1b`"),
        'h' | 'H' => error.with_help("write a blank or tab as `[ \\t]`"),
        'R' => error.with_help("write a line break as `\\r?\\n`"),
        'Q' | 'E' => error.with_help("escape each character by itself"),
        _ => error.with_help(format!("write the letter alone, `{c}`, or a backslash as `\\\\`")),
    }
}

/// One member of a class.
enum ClassMember {
    Char(u32),
    Class(ClassUnicode),
}

/// The rest of a class that was opened at `start`, with its closing bracket.
pub(super) fn class(cursor: &mut PatternCursor<'_>, start: usize) -> Result<ClassUnicode> {
    let is_negated = cursor.eat("^");
    let first = cursor.at;
    let (mut characters, mut categories) = (class_of([]), class_of([]));
    // A bracket right after the first one is a member.
    while cursor.at == first || !cursor.eat("]") {
        let low_at = cursor.at;
        let low = member(cursor, start)?;
        let is_range = cursor.rest().starts_with('-') && !cursor.rest().starts_with("-]");
        match low {
            ClassMember::Class(_) if is_range => return Err(bad_range(low_at)),
            ClassMember::Class(class) => categories.union(&class),
            ClassMember::Char(low) => {
                let mut high = low;
                if is_range {
                    cursor.eat("-");
                    let ClassMember::Char(last) = member(cursor, start)? else {
                        return Err(bad_range(low_at));
                    };
                    high = last;
                }
                if high < low {
                    return Err(error_at(low_at, "this range counts down")
                        .with_help("write the smaller character first, or a hyphen as `\\-`"));
                }
                // Without the surrogates, which are in no text.
                let parts = [(low, high.min(0xD7FF)), (low.max(0xE000), high)];
                characters.union(&class_of(
                    parts
                        .into_iter()
                        .filter(|(a, b)| a <= b)
                        .filter_map(|(a, b)| Some((char::from_u32(a)?, char::from_u32(b)?))),
                ));
            }
        }
    }
    let mut class = case_folded(characters, cursor.flags);
    class.union(&categories);
    if is_negated {
        class.negate();
    }
    Ok(class)
}

fn bad_range(at: usize) -> Error {
    error_at(at, "a range leads from a character to a character")
        .with_help("write a literal hyphen as `\\-`")
}

fn member(cursor: &mut PatternCursor<'_>, start: usize) -> Result<ClassMember> {
    let at = cursor.at;
    match cursor.next() {
        Some('\\') => {
            let c = escaped(cursor, at)?;
            if let Some(class) = category(c, cursor.flags) {
                return Ok(ClassMember::Class(class));
            }
            Ok(ClassMember::Char(match c {
                'b' => 0x08,
                '1'..='7' => octal_number(cursor, at, c, 2)?,
                c => character(cursor, at, c)?,
            }))
        }
        Some(c) => Ok(ClassMember::Char(c.into())),
        None => Err(error_at(start, "this class is never closed").with_help("add `]`")),
    }
}
