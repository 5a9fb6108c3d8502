//! Quotation of user input in messages: long names without their middle, long lists by their first
//! names, control characters escaped.

use std::borrow::Cow;
use std::fmt;

/// Greatest length, in characters, of a name, a path or a pointer that a message repeats.
const MAX_NAME_CHARS: usize = 240;

/// Greatest length, in characters, of a displayed message, and of its cure. Whoever makes a message
/// shortens what it repeats; this bounds what was forgotten.
const MAX_MESSAGE_CHARS: usize = 1_200;

/// Greatest number of names that a message lists.
const MAX_LISTED_NAMES: usize = 20;

/// A name as a message repeats it: a long one without its middle.
///
/// ```text
/// aaaaaaaaaaaaaaaaaaaa…aaaaaaaaaaaaaaaaaaaa
/// ```
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    abridged(name, MAX_NAME_CHARS)
}

/// A text of at most `max` characters: of a longer one the beginning and, half as long, the end.
fn abridged(text: &str, max: usize) -> Cow<'_, str> {
    // A text of so few bytes has no more characters.
    if text.len() <= max || text.char_indices().nth(max).is_none() {
        return text.into();
    }
    let last = max / 3;
    let cut = |(at, _): (usize, char)| at;
    let start = text.char_indices().nth(max - last - 1).map_or(text.len(), cut);
    let end = text.char_indices().rev().nth(last - 1).map_or(0, cut);
    format!("{}…{}", &text[..start], &text[end..]).into()
}

/// Names as a message lists them, each shortened, with commas between: of a long list the first
/// names, and the number of the others.
///
/// ```text
/// a, b, c … and 99,997 more
/// ```
pub(crate) fn listed<S: AsRef<str>>(names: impl IntoIterator<Item = S>) -> String {
    let mut names = names.into_iter();
    let mut list = String::new();
    for (index, name) in names.by_ref().take(MAX_LISTED_NAMES).enumerate() {
        if index > 0 {
            list.push_str(", ");
        }
        list.push_str(&shortened(name.as_ref()));
    }
    match names.count() {
        0 => {}
        more => list.push_str(&format!(" … and {} more", grouped(more))),
    }
    list
}

/// A number with its digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Writes a message or a cure: abridged, and on one line, with control characters escaped (messages
/// quote their input, in which lines may end).
pub(super) fn write_message(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    abridged(text, MAX_MESSAGE_CHARS).split_inclusive(char::is_control).try_for_each(|part| {
        let end = part.chars().next_back().filter(|c| c.is_control());
        f.write_str(part.trim_end_matches(char::is_control))?;
        end.map_or(Ok(()), |end| write!(f, "{}", end.escape_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_and_lists_are_cut() {
        let long = format!("{}é{}", "a".repeat(3_000), "b".repeat(3_000));
        let short = shortened(&long);
        assert_eq!(short.chars().count(), MAX_NAME_CHARS);
        assert!(short.starts_with("aaa") && short.ends_with("bbb") && short.contains("a…b"));
        let exact = "é".repeat(MAX_NAME_CHARS);
        assert_eq!(shortened(&exact), exact);
        assert_eq!(shortened(&(exact + "é")).chars().count(), MAX_NAME_CHARS);

        assert_eq!(listed(["a", "b"]), "a, b");
        assert_eq!(listed([""; 0]), "");
        let many: Vec<String> = (0..1_234_567).map(|i| i.to_string()).collect();
        let list = listed(&many);
        assert!(list.starts_with("0, 1, 2, ") && list.ends_with(", 19 … and 1,234,547 more"));
    }
}
