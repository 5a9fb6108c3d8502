//! Escapes, character classes and counts of ECMA-262 patterns.

use regex_syntax::hir::{Class, ClassUnicode, Hir, HirKind};

use crate::error::{Error, Result};
use crate::regular::syntax::pattern::class_of;
use crate::regular::syntax::pattern_cursor::{Flags, PatternCursor, hexadecimal};
use crate::regular::syntax::pattern_error::error_at;

/// One member of a class, or one atom of a pattern.
pub(crate) enum PatternAtom {
    /// A code point; surrogates are possible.
    Char(u32),
    Set(ClassUnicode),
}

/// The set with every character that differs from a member in case only: simple case folding,
/// as `Canonicalize` does with the `u` flag (section 22.2.2.7.3).
pub(crate) fn case_folded(mut class: ClassUnicode, flags: Flags) -> ClassUnicode {
    if flags.ignore_case {
        // Without its tables `regex-syntax` could not fold; they are a default feature.
        let _ = class.try_case_fold_simple();
    }
    class
}

/// `\w`: WordCharacters (section 22.2.2.7.2), which under `i` and `u` has U+017F and U+212A too.
pub(crate) fn word_class(flags: Flags) -> ClassUnicode {
    case_folded(class_of([('0', '9'), ('A', 'Z'), ('_', '_'), ('a', 'z')]), flags)
}

/// `\s`: WhiteSpace and LineTerminator (sections 12.2 and 12.3).
fn whitespace_class() -> ClassUnicode {
    class_of([
        ('\t', '\r'),
        (' ', ' '),
        ('\u{A0}', '\u{A0}'),
        ('\u{1680}', '\u{1680}'),
        ('\u{2000}', '\u{200A}'),
        ('\u{2028}', '\u{2029}'),
        ('\u{202F}', '\u{202F}'),
        ('\u{205F}', '\u{205F}'),
        ('\u{3000}', '\u{3000}'),
        ('\u{FEFF}', '\u{FEFF}'),
    ])
}

/// The rest of a class that was opened at `start`, with its closing bracket.
pub(crate) fn parse_class(cursor: &mut PatternCursor<'_>, start: usize) -> Result<ClassUnicode> {
    let negated = cursor.eat("^");
    let mut set = class_of([]);
    let add = |set: &mut ClassUnicode, atom: &PatternAtom| match atom {
        PatternAtom::Char(c) => set.union(&class_of(char::from_u32(*c).map(|c| (c, c)))),
        PatternAtom::Set(other) => set.union(other),
    };
    while !cursor.eat("]") {
        let low_at = cursor.at;
        let low = parse_member(cursor, start)?;
        let is_range = cursor.rest().starts_with('-') && !cursor.rest().starts_with("-]");
        if !is_range {
            add(&mut set, &low);
            continue;
        }
        cursor.eat("-");
        let high = parse_member(cursor, start)?;
        match (&low, &high) {
            (PatternAtom::Char(low), PatternAtom::Char(high)) if low <= high => {
                set.union(&code_points(*low, *high));
            }
            (PatternAtom::Char(_), PatternAtom::Char(_)) => {
                return Err(error_at(low_at, "this range counts down")
                    .with_help("write the smaller character first, or a hyphen as `\\-`"));
            }
            // Annex B.1.2: a hyphen beside a set stands for itself.
            _ => {
                add(&mut set, &low);
                add(&mut set, &PatternAtom::Char('-'.into()));
                add(&mut set, &high);
            }
        }
    }
    let mut set = case_folded(set, cursor.flags);
    if negated {
        set.negate();
    }
    Ok(set)
}

/// The code points of a range that may be in a text: all but surrogates.
fn code_points(low: u32, high: u32) -> ClassUnicode {
    let parts = [(low, high.min(0xD7FF)), (low.max(0xE000), high)];
    class_of(
        parts
            .into_iter()
            .filter(|(low, high)| low <= high)
            .filter_map(|(low, high)| Some((char::from_u32(low)?, char::from_u32(high)?))),
    )
}

/// One member of a class.
fn parse_member(cursor: &mut PatternCursor<'_>, start: usize) -> Result<PatternAtom> {
    let at = cursor.at;
    match cursor.next() {
        Some('\\') => parse_escape(cursor, at, true),
        Some(c) => Ok(PatternAtom::Char(c.into())),
        None => Err(error_at(start, "this class is never closed").with_help("add `]`")),
    }
}

/// The rest of an escape whose backslash is at `start`.
pub(crate) fn parse_escape(
    cursor: &mut PatternCursor<'_>,
    start: usize,
    in_class: bool,
) -> Result<PatternAtom> {
    let Some(c) = cursor.next() else {
        return Err(
            error_at(start, "the pattern ends in `\\`").with_help("write a literal one as `\\\\`")
        );
    };
    let flags = cursor.flags;
    let set = |class, negated| {
        let mut class: ClassUnicode = class;
        if negated {
            class.negate();
        }
        PatternAtom::Set(class)
    };
    Ok(match c {
        'd' | 'D' => set(class_of([('0', '9')]), c == 'D'),
        'w' | 'W' => set(word_class(flags), c == 'W'),
        's' | 'S' => set(whitespace_class(), c == 'S'),
        'p' | 'P' => match set(parse_property(cursor, start)?, c == 'P') {
            PatternAtom::Set(class) => PatternAtom::Set(case_folded(class, flags)),
            other => other,
        },
        't' => PatternAtom::Char(0x09),
        'n' => PatternAtom::Char(0x0A),
        'v' => PatternAtom::Char(0x0B),
        'f' => PatternAtom::Char(0x0C),
        'r' => PatternAtom::Char(0x0D),
        'b' if in_class => PatternAtom::Char(0x08),
        'c' => match cursor.next() {
            Some(letter) if letter.is_ascii_alphabetic() => {
                PatternAtom::Char(u32::from(letter) % 32)
            }
            _ => {
                return Err(error_at(start, "`\\c` must be followed by a letter")
                    .with_help("write a literal backslash as `\\\\`"));
            }
        },
        '0' if !cursor.rest().starts_with(|c: char| c.is_ascii_digit()) => PatternAtom::Char(0),
        '0'..='9' if in_class || c == '0' => {
            return Err(error_at(start, "octal escapes are not in ECMA-262 patterns")
                .with_help("write a code point as `\\u00hh`"));
        }
        '1'..='9' => return Err(backreference(start, &format!("\\{c}"))),
        'k' if !in_class => return Err(backreference(start, "\\k")),
        'x' => match hexadecimal(cursor.rest(), 2) {
            Some(c) => {
                cursor.at += 2;
                PatternAtom::Char(c)
            }
            None => {
                return Err(error_at(start, "`\\x` must be followed by two hexadecimal digits")
                    .with_help("write a code point as `\\u00hh`"));
            }
        },
        'u' => PatternAtom::Char(parse_unicode_escape(cursor, start)?),
        c if c.is_alphanumeric() => return Err(unknown_escape(start, c)),
        // IdentityEscape, and what Annex B.1.2 adds to it: no letter, no digit.
        c => PatternAtom::Char(c.into()),
    })
}

fn backreference(at: usize, name: &str) -> Error {
    error_at(at, format!("the backreference `{name}` has no regular meaning"))
        .with_help("write out what may be repeated")
}

fn unknown_escape(at: usize, c: char) -> Error {
    let error = error_at(at, format!("`\\{c}` is no escape of ECMA-262"));
    match c {
        'A' => error.with_help("the start of the text is `^`"),
        'z' | 'Z' => error.with_help("the end of the text is `$`"),
        'a' => error.with_help("the bell character is `\\u0007`"),
        'e' => error.with_help("the escape character is `\\u001b`"),
        'h' | 'H' => error.with_help("write a blank or tab as `[ \\t]`"),
        'N' | 'R' => error.with_help("write a line break as `\\r?\\n`, any other character as `.`"),
        'Q' | 'E' => error.with_help("escape each character by itself"),
        _ => error.with_help(format!("write the letter alone, `{c}`, or a backslash as `\\\\`")),
    }
}

/// `\u` and `hhhh`, a surrogate pair of two such, or `{h…}`.
pub(crate) fn parse_unicode_escape(cursor: &mut PatternCursor<'_>, start: usize) -> Result<u32> {
    let rest = cursor.rest();
    if let Some(braced) = rest.strip_prefix('{') {
        let digits = braced.split('}').next().unwrap_or_default();
        let value = digits.bytes().try_fold(0u32, |value, b| {
            let digit = char::from(b).to_digit(16)?;
            value.checked_mul(16)?.checked_add(digit).filter(|&v| v <= 0x10_FFFF)
        });
        return match value {
            Some(value) if !digits.is_empty() && digits.len() < braced.len() => {
                cursor.at += digits.len() + 2;
                Ok(value)
            }
            _ => Err(error_at(start, "`\\u{…}` must hold a code point in hexadecimal")
                .with_help("the greatest is `\\u{10FFFF}`")),
        };
    }
    let Some(unit) = hexadecimal(rest, 4) else {
        return Err(error_at(start, "`\\u` must be followed by four hexadecimal digits")
            .with_help("or write a code point as `\\u{…}`"));
    };
    cursor.at += 4;
    let low = cursor.rest().strip_prefix("\\u").and_then(|low| hexadecimal(low, 4));
    if let (0xD800..=0xDBFF, Some(low @ 0xDC00..=0xDFFF)) = (unit, low) {
        cursor.at += 6;
        return Ok(0x1_0000 + (unit - 0xD800) * 0x400 + (low - 0xDC00));
    }
    Ok(unit)
}

/// `\p` and `{…}`: a general category, a script, or a binary property, by Unicode's names.
fn parse_property(cursor: &mut PatternCursor<'_>, start: usize) -> Result<ClassUnicode> {
    let rest = cursor.rest();
    let name = rest.strip_prefix('{').and_then(|rest| rest.split_once('}')).map(|(name, _)| name);
    let Some(name) = name else {
        return Err(error_at(start, "`\\p` must be followed by a property in braces")
            .with_help("for example `\\p{L}` or `\\p{Script=Greek}`"));
    };
    let plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_=".contains(&b));
    // `regex-syntax` reads `IsGreek` as `Greek`, others as a block: nobody's meaning is sure.
    let guess = name.get(..2).is_some_and(|two| two.eq_ignore_ascii_case("is"));
    let known = if plain && !guess {
        regex_syntax::parse(&format!(r"\p{{{name}}}")).ok().map(Hir::into_kind)
    } else {
        None
    };
    match known {
        Some(HirKind::Class(Class::Unicode(class))) => {
            cursor.at += name.len() + 2;
            Ok(class)
        }
        // A class of one character comes back as a literal.
        Some(HirKind::Literal(literal)) => {
            cursor.at += name.len() + 2;
            let text = String::from_utf8_lossy(&literal.0).into_owned();
            Ok(class_of(text.chars().map(|c| (c, c))))
        }
        _ => Err(error_at(
            start,
            format!("`{name}` is no property of Unicode characters that is known here"),
        )
        .with_help(
            "name a general category, `Script=…`, `Script_Extensions=…` or a binary property",
        )),
    }
}

/// A quantifier `{m}`, `{m,}` or `{m,n}` at the beginning of `text`: bounds and length. `None` if
/// the brace stands for itself.
pub(crate) fn parse_count(text: &str) -> Result<Option<(u32, Option<u32>, usize)>> {
    let Some((inner, _)) = text.strip_prefix('{').and_then(|rest| rest.split_once('}')) else {
        return Ok(None);
    };
    let (min, max) = match inner.split_once(',') {
        Some((min, max)) => (min, Some(max)),
        None => (inner, None),
    };
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if min.is_empty() && max.is_some_and(digits) {
        return Err(error_at(0, format!("`{{{inner}}}` has no lower bound"))
            .with_help(format!("write `{{0{inner}}}`")));
    }
    if !digits(min) || max.is_some_and(|max| !max.is_empty() && !digits(max)) {
        return Ok(None);
    }
    let number = |text: &str| {
        // One below the greatest, which languages keep for "unbounded".
        text.parse::<u32>().ok().filter(|&n| n < u32::MAX).ok_or_else(|| {
            error_at(0, format!("the count {text} is above {}", u32::MAX - 1))
                .with_help("leave out the upper bound: `{m,}`")
        })
    };
    let min = number(min)?;
    let max = match max {
        None => Some(min),
        Some("") => None,
        Some(max) => Some(number(max)?),
    };
    Ok(Some((min, max, inner.len() + 2)))
}
