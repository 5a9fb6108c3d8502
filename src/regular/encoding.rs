//! Encodings of code points in bytes: UTF-8, and the spellings of JSON strings.

use regex_syntax::utf8::{Utf8Sequence, Utf8Sequences};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::{ByteSet, Language, Languages};

/// The encoding of a text of Unicode code points in bytes. A pattern is about code points, its
/// language about bytes; an encoding stands between the two.
///
/// The encodings of all code points form a prefix code (none is a prefix of another), so an encoded
/// text decodes in one way only.
pub trait CodePoints {
    /// The encodings of one code point of a set, which is given as ranges with both ends included.
    /// Surrogates (U+D800 to U+DFFF) and numbers above U+10FFFF are no code points of a text and
    /// are ignored.
    fn class(&self, languages: &mut Languages, ranges: &[(u32, u32)]) -> Language;
}

/// Code points as they are, in UTF-8 (RFC 3629).
#[derive(Clone, Copy, Debug, Default)]
pub struct Utf8;

/// Code points inside a JSON string (RFC 8259, section 7), in the one spelling that escapes only
/// what must be escaped: `\"`, `\\`, `\b`, `\f`, `\n`, `\r`, `\t`, other controls as `\u00xx` with
/// small letters, everything else raw UTF-8. The quotes around the string are not part of it.
///
/// ```
/// use maskwright::regular::{CodePoints, JsonString, Languages};
/// let mut l = Languages::new();
/// let control_or_quote = JsonString.class(&mut l, &[(0, 0x1F), (0x22, 0x22)]);
/// assert!(l.matches(control_or_quote, br"\n")? && l.matches(control_or_quote, br"\u001f")?);
/// assert!(l.matches(control_or_quote, br#"\""#)? && !l.matches(control_or_quote, b"\n")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct JsonString;

/// Code points inside a JSON string in every spelling that JSON has (RFC 8259, section 7): raw,
/// by a short escape (`\/` too), as `\uXXXX` in capital and small letters, beyond U+FFFF as a
/// surrogate pair. Half of a pair alone spells no code point. The quotes around the string are
/// not part of it.
///
/// ```
/// use maskwright::regular::{AnyJsonString, CodePoints, Languages};
/// let mut l = Languages::new();
/// let slash_or_grin = AnyJsonString.class(&mut l, &[(0x2F, 0x2F), (0x1F600, 0x1F600)]);
/// for spelling in ["/", r"\/", r"\u002f", r"\u002F", "😀", r"\uD83d\uDE00"] {
///     assert!(l.matches(slash_or_grin, spelling.as_bytes())?);
/// }
/// assert!(!l.matches(slash_or_grin, br"\ud83d")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct AnyJsonString;

/// All texts of any length, the empty one included: the universe in which the complement of a
/// pattern is meant.
pub fn any_text(languages: &mut Languages, spelling: &dyn CodePoints) -> Language {
    let any = spelling.class(languages, &[(0, 0x10_FFFF)]);
    languages.repeat(any, 0, None)
}

impl CodePoints for Utf8 {
    fn class(&self, languages: &mut Languages, ranges: &[(u32, u32)]) -> Language {
        const LAST_ASCII: u32 = 0x7F;
        let mut ascii = ByteSet::EMPTY;
        let mut sequences: Vec<Utf8Sequence> = Vec::new();
        for &(first, last) in ranges {
            if first <= LAST_ASCII && first <= last {
                let range = ByteSet::range(first as u8, last.min(LAST_ASCII) as u8);
                ascii = ascii.union(&range);
            }
            let first = first.max(LAST_ASCII + 1);
            // Split around the surrogates, where `char` has a hole.
            for (first, last) in [(first, last.min(0xD7FF)), (first.max(0xE000), last)] {
                let last = last.min(0x10_FFFF);
                if let (Some(first), Some(last)) = (char::from_u32(first), char::from_u32(last))
                    && first <= last
                {
                    sequences.extend(Utf8Sequences::new(first, last));
                }
            }
        }
        // Shorter sequences come first; their lead bytes are others.
        sequences.sort_unstable();
        sequences.dedup();
        let mut leads = leads(languages, &sequences, 0);
        if !ascii.is_empty() {
            leads.insert(Language::EPSILON, ascii);
        }
        led(languages, leads)
    }
}

/// The sequences from `depth` on, by their rest: the first bytes that go on alike, as one set. So
/// the trie is shared from both ends. Ranges of lead bytes are equal or disjoint, since UTF-8
/// sequences share a lead byte only where both have split down to that byte.
fn leads(
    languages: &mut Languages,
    sequences: &[Utf8Sequence],
    depth: usize,
) -> FxHashMap<Language, ByteSet> {
    let mut found: FxHashMap<Language, ByteSet> = FxHashMap::default();
    let at = |sequence: &Utf8Sequence| sequence.as_slice()[depth];
    for group in sequences.chunk_by(|a, b| at(a) == at(b)) {
        let rest = if group[0].len() == depth + 1 {
            Language::EPSILON
        } else {
            let rest = leads(languages, group, depth + 1);
            led(languages, rest)
        };
        let set = ByteSet::range(at(&group[0]).start, at(&group[0]).end);
        let lead = found.entry(rest).or_default();
        *lead = lead.union(&set);
    }
    found
}

/// The union of one byte of each set, followed by the rest it belongs to.
fn led(languages: &mut Languages, leads: FxHashMap<Language, ByteSet>) -> Language {
    let mut leads: Vec<_> = leads.into_iter().collect();
    leads.sort_unstable();
    let parts: Vec<_> = leads
        .into_iter()
        .map(|(rest, set)| {
            let set = languages.byte_set(set);
            languages.concat([set, rest])
        })
        .collect();
    languages.union(parts)
}

/// Characters that a JSON string must escape and that have a short escape, with its letter.
const SHORT_ESCAPES: [(u32, u8); 7] = [
    (0x08, b'b'),
    (0x09, b't'),
    (0x0A, b'n'),
    (0x0C, b'f'),
    (0x0D, b'r'),
    (0x22, b'"'),
    (0x5C, b'\\'),
];

/// The canonical spelling of a byte inside a JSON string: of a character of ASCII as
/// [`JsonString`] has it, of other bytes themselves.
pub(crate) fn spelled_byte(byte: u8) -> SmallVec<[u8; 6]> {
    match SHORT_ESCAPES.iter().find(|&&(short, _)| short == u32::from(byte)) {
        Some(&(_, letter)) => SmallVec::from_slice(&[b'\\', letter]),
        None if byte < 0x20 => SmallVec::from_slice(format!("\\u{byte:04x}").as_bytes()),
        None => SmallVec::from_slice(&[byte]),
    }
}

impl CodePoints for JsonString {
    fn class(&self, languages: &mut Languages, ranges: &[(u32, u32)]) -> Language {
        let holds = |c: u32| ranges.iter().any(|&(first, last)| (first..=last).contains(&c));
        let short = |c: u32| SHORT_ESCAPES.iter().find(|&&(short, _)| short == c);
        let mut escapes: Vec<Vec<u8>> = Vec::new();
        for c in (0..0x20).chain([0x22, 0x5C]).filter(|&c| holds(c)) {
            escapes.push(match short(c) {
                Some(&(_, letter)) => vec![b'\\', letter],
                None => format!("\\u{c:04x}").into_bytes(),
            });
        }
        let mut raw = Vec::new();
        for &(first, last) in ranges {
            let free = [(0x20, 0x21), (0x23, 0x5B), (0x5D, 0x10_FFFF)];
            raw.extend(
                free.iter()
                    .map(|&(low, high)| (first.max(low), last.min(high)))
                    .filter(|(first, last)| first <= last),
            );
        }
        let raw = Utf8.class(languages, &raw);
        let escaped = languages.literals(escapes.iter().map(Vec::as_slice));
        languages.union([raw, escaped])
    }
}

impl CodePoints for AnyJsonString {
    fn class(&self, languages: &mut Languages, ranges: &[(u32, u32)]) -> Language {
        let holds = |c: u32| ranges.iter().any(|&(first, last)| (first..=last).contains(&c));
        // What the canonical spelling has, all controls as numbers aside, and `\/`.
        let mut parts = vec![JsonString.class(languages, ranges)];
        if holds(0x2F) {
            parts.push(languages.literal(b"\\/"));
        }
        let number = languages.literal(b"\\u");
        for &(first, last) in ranges {
            for (first, last) in [(first, last.min(0xD7FF)), (first.max(0xE000), last.min(0xFFFF))]
            {
                if first <= last {
                    let digits = hexadecimal(languages, first, last, 4);
                    parts.push(languages.concat([number, digits]));
                }
            }
            let (first, last) = (first.max(0x1_0000), last.min(0x10_FFFF));
            if first > last {
                continue;
            }
            let (first, last) = (first - 0x1_0000, last - 0x1_0000);
            let mut pair = |high: (u32, u32), low: (u32, u32)| {
                let high = hexadecimal(languages, 0xD800 + high.0, 0xD800 + high.1, 4);
                let low = hexadecimal(languages, 0xDC00 + low.0, 0xDC00 + low.1, 4);
                parts.push(languages.concat([number, high, number, low]));
            };
            let (from, to) = (first >> 10, last >> 10);
            let (low_from, low_to) = (first & 0x3FF, last & 0x3FF);
            if from == to {
                pair((from, to), (low_from, low_to));
                continue;
            }
            pair((from, from), (low_from, 0x3FF));
            if from + 1 < to {
                pair((from + 1, to - 1), (0, 0x3FF));
            }
            pair((to, to), (0, low_to));
        }
        languages.union(parts)
    }
}

/// The numbers from `first` to `last`, both included, as `digits` hexadecimal digits of either
/// case.
fn hexadecimal(languages: &mut Languages, first: u32, last: u32, digits: u32) -> Language {
    if digits == 0 {
        return Language::EPSILON;
    }
    if (first, last) == (0, u32::MAX >> (32 - 4 * digits)) {
        let digit = languages.byte_set(b"0123456789abcdefABCDEF".iter().copied().collect());
        // No repeat: a state that counts nothing is like no other.
        return languages.concat((0..digits).map(|_| digit));
    }
    let unit = 1u32 << (4 * (digits - 1));
    // Leading digits that go on alike become one set.
    let mut leads: FxHashMap<Language, ByteSet> = FxHashMap::default();
    for digit in first / unit..=last / unit {
        let low = first.max(digit * unit) % unit;
        let high = last.min(digit * unit + unit - 1) % unit;
        let rest = hexadecimal(languages, low, high, digits - 1);
        let lead = leads.entry(rest).or_default();
        let letter = b"0123456789abcdef"[digit as usize];
        lead.insert(letter);
        lead.insert(letter.to_ascii_uppercase());
    }
    led(languages, leads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn utf8_classes_hold_exactly_their_characters() {
        let mut l = Languages::new();
        let cases: [&[(u32, u32)]; 6] = [
            &[(0, 0x10_FFFF)],
            &[(0x61, 0x7A)],
            &[(0x7F, 0x80), (0x7FF, 0x800)],
            &[(0xFFFF, 0x1_0000)],
            &[(0xD7FF, 0xE000), (0x1000, 0x100F), (0x1011, 0x3FFF)],
            &[(0x10_FFFF, 0x20_0000), (0xD800, 0xDFFF)],
        ];
        for ranges in cases {
            let class = Utf8.class(&mut l, ranges);
            for c in ('\0'..=char::MAX).step_by(7).chain("\u{7F}\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}\u{100F}\u{1010}\u{1011}".chars()) {
                let inside = ranges.iter().any(|&(a, b)| (a..=b).contains(&u32::from(c)));
                let mut buffer = [0; 4];
                let bytes = c.encode_utf8(&mut buffer).as_bytes();
                assert_eq!(l.matches(class, bytes).unwrap(), inside, "{c:?} in {ranges:x?}");
            }
            assert!(!l.matches(class, b"\xED\xA0\x80").unwrap(), "a surrogate in {ranges:x?}");
            assert!(!l.matches(class, b"\xC0\x80").unwrap(), "an overlong form in {ranges:x?}");
        }
    }

    #[test]
    fn json_spellings_are_those_of_a_json_writer() {
        let mut l = Languages::new();
        let any = JsonString.class(&mut l, &[(0, 0x10_FFFF)]);
        for c in ('\0'..'\u{300}').chain("\u{2028}\u{FFFF}\u{1F600}".chars()) {
            let written = serde_json::to_string(&c).unwrap();
            let inner = &written.as_bytes()[1..written.len() - 1];
            assert!(l.matches(any, inner).unwrap(), "{c:?} as {written}");
            let raw = c.to_string();
            let escaped = inner != raw.as_bytes();
            assert_eq!(l.matches(any, raw.as_bytes()).unwrap(), !escaped, "{c:?} raw");
            let one = JsonString.class(&mut l, &[(c.into(), c.into())]);
            assert_eq!(&*l.shortest(one).unwrap().unwrap(), inner);
            let others = JsonString
                .class(&mut l, &[(0, u32::from(c).wrapping_sub(1)), (u32::from(c) + 1, 0x10_FFFF)]);
            if c != '\0' {
                assert!(!l.matches(others, inner).unwrap(), "{c:?}");
            }
        }
    }

    #[test]
    fn every_spelling_of_a_character_is_one_of_it_and_of_no_other() {
        let mut l = Languages::new();
        let characters =
            "\0\t\n /\"\\aAz\u{7f}é\u{7ff}\u{d7ff}\u{e000}\u{ffff}\u{10000}😀\u{10ffff}";
        let any = AnyJsonString.class(&mut l, &[(0, 0x10_FFFF)]);
        for c in characters.chars() {
            let mut units = [0; 2];
            let lower: String =
                c.encode_utf16(&mut units).iter().map(|u| format!("\\u{u:04x}")).collect();
            let upper: String =
                c.encode_utf16(&mut units).iter().map(|u| format!("\\u{u:04X}")).collect();
            let written = serde_json::to_string(&c).unwrap();
            let n = u32::from(c);
            let one = AnyJsonString.class(&mut l, &[(n, n)]);
            let others: Vec<(u32, u32)> =
                [(n > 0).then(|| (0, n - 1)), (n < 0x10_FFFF).then(|| (n + 1, 0x10_FFFF))]
                    .into_iter()
                    .flatten()
                    .collect();
            let others = AnyJsonString.class(&mut l, &others);
            for text in [&written[1..written.len() - 1], &lower, &upper] {
                for (language, expected) in [(any, true), (one, true), (others, false)] {
                    assert_eq!(l.matches(language, text.as_bytes()).unwrap(), expected, "{text}");
                }
            }
        }
        for bad in ["\\ud800", "\\udc00\\ud800", "\\ud800\\u0041", "\\u004", "\\x41", "\n", "\""] {
            assert!(!l.matches(any, bad.as_bytes()).unwrap(), "{bad}");
        }
    }
}
