//! Automata over characters, read in the bytes of a JSON string.
//!
//! An automaton whose letters are characters knows nothing of their spelling: UTF-8, escapes,
//! surrogate pairs. `JsonEscapes` reads these and asks it for ranges of characters: within a
//! character, those are left that the bytes read so far begin.
//!
//! ```text
//! \u00  ──►  Digits(2, 0x00, 0): asks whether any of U+0000 to U+00FF has a successor
//! ```

use std::fmt::Debug;
use std::sync::Arc;

use crate::regular::automaton::{Automaton, AutomatonState, CompletionGrowth, OrdinaryChars};
use crate::regular::{ByteSet, Language, Languages};

/// A deterministic automaton over characters that computes its states. From every state that it
/// gives, some text is accepted.
pub(crate) trait CharAutomaton: Debug + Send + Sync {
    /// The identity of the automaton: automata with equal names step alike.
    fn name(&self) -> &str;

    /// The state before any character.
    fn start(&self) -> AutomatonState;

    /// Whether the empty text is accepted from a state.
    fn accepts(&self, state: &[i64]) -> bool;

    /// The state after a character; `None` if no text follows.
    fn step(&self, state: &[i64], c: char) -> Option<AutomatonState>;

    /// Whether any character from `first` to `last` has a successor. Both are included, and no
    /// surrogate is between them.
    fn reads_any(&self, state: &[i64], first: u32, last: u32) -> bool;

    /// Whether every character from `first` to `last` has the successor that U+10FFFF has. False is
    /// always safe.
    fn reads_like_last(&self, _state: &[i64], _first: u32, _last: u32) -> bool {
        false
    }

    /// The ordinary characters in a state, if most are ordinary.
    fn ordinary(&self, _state: &[i64]) -> Option<OrdinaryChars> {
        None
    }

    /// A bound on how much longer the shortest completion gets while a text is read, if one is known.
    fn completion_growth(&self, _state: &[i64]) -> Option<CompletionGrowth> {
        None
    }

    /// A short text that completes a state.
    fn completion(&self, state: &[i64]) -> String;

    /// Estimate of the number of its characters.
    fn completion_estimate(&self, state: &[i64]) -> u32;
}

/// The spellings, in a JSON string without its quotes, of the texts that an automaton accepts: all
/// of them (RFC 8259, section 7), or the `canonical` ones, which escape only what must be escaped,
/// as [`JsonString`](crate::regular::JsonString) does.
pub(crate) fn spelled(
    languages: &mut Languages,
    inner: Arc<dyn CharAutomaton>,
    canonical: bool,
) -> Language {
    let start = SpellingPosition::Between.state(&inner.start());
    let spelling = if canonical { "canonical" } else { "any" };
    let name = format!("{} in {spelling} spelling", inner.name());
    languages.automaton(Arc::new(JsonEscapes { name, inner, canonical }), start)
}

/// The automaton over bytes: a state is a position within the spelling of a character, and a state
/// of the automaton over characters.
#[derive(Debug)]
struct JsonEscapes {
    name: String,
    inner: Arc<dyn CharAutomaton>,
    canonical: bool,
}

/// A position within the spelling of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpellingPosition {
    Between,
    /// Within UTF-8: the bits read of the code point, and the number of missing bytes.
    Utf8(u32, u32),
    /// Within UTF-8, where the bits read do not matter: the number of missing bytes, and the range
    /// of the next one.
    Alike(u32, u32, u32),
    /// After a backslash.
    Escape,
    /// After `\u` and a number of digits of this value; the high surrogate before, or 0.
    Digits(u32, u32, u32),
    /// After a high surrogate.
    Surrogate(u32),
    /// After a high surrogate and a backslash.
    SurrogateEscape(u32),
}

/// Characters with a short escape, with its letter.
const SHORT_ESCAPES: [(char, u8); 7] = [
    ('\u{8}', b'b'),
    ('\u{9}', b't'),
    ('\u{A}', b'n'),
    ('\u{C}', b'f'),
    ('\u{D}', b'r'),
    ('"', b'"'),
    ('\\', b'\\'),
];

/// Characters that the canonical spelling writes as `\u00hh`.
fn numbered() -> impl Iterator<Item = char> {
    ('\0'..' ').filter(|c| SHORT_ESCAPES.iter().all(|(short, _)| short != c))
}

impl SpellingPosition {
    /// Numbers that encode a position.
    const LEN: usize = 4;

    /// The encoded state.
    fn state(self, inner: &[i64]) -> AutomatonState {
        let place = match self {
            Self::Between => [0, 0, 0, 0],
            Self::Utf8(value, missing) => [1, value, missing, 0],
            Self::Escape => [2, 0, 0, 0],
            Self::Digits(count, value, high) => [3, count, value, high],
            Self::Surrogate(high) => [4, high, 0, 0],
            Self::SurrogateEscape(high) => [5, high, 0, 0],
            Self::Alike(missing, first, last) => [6, missing, first, last],
        };
        place.into_iter().map(i64::from).chain(inner.iter().copied()).collect()
    }

    /// The position and the inner state of an encoded state.
    fn read(state: &[i64]) -> Option<(Self, &[i64])> {
        let (place, inner) = state.split_at_checked(Self::LEN)?;
        // As `state` wrote it.
        let place = match [place[0], place[1], place[2], place[3]].map(|n| n as u32) {
            [0, ..] => Self::Between,
            [1, value, missing, _] => Self::Utf8(value, missing),
            [2, ..] => Self::Escape,
            [3, count, value, high] => Self::Digits(count, value, high),
            [4, high, ..] => Self::Surrogate(high),
            [5, high, ..] => Self::SurrogateEscape(high),
            [6, missing, first, last] => Self::Alike(missing, first, last),
            _ => return None,
        };
        Some((place, inner))
    }
}

impl JsonEscapes {
    /// The state after a character, if it has a successor.
    fn after(&self, inner: &[i64], c: Option<char>) -> Option<AutomatonState> {
        Some(SpellingPosition::Between.state(&self.inner.step(inner, c?)?))
    }

    /// The state within a character, if some character that it may become has a successor.
    fn within(&self, inner: &[i64], place: SpellingPosition) -> Option<AutomatonState> {
        self.leads_on(inner, place).then(|| place.state(inner))
    }

    /// The state within UTF-8.
    fn within_utf8(&self, inner: &[i64], value: u32, missing: u32) -> Option<AutomatonState> {
        let (first, last) = code_points(value, missing);
        if self.inner.reads_like_last(inner, first, last) {
            let next = |c: u32| 0x80 | (c >> (6 * (missing - 1)) & 0x3F);
            return Some(SpellingPosition::Alike(missing, next(first), next(last)).state(inner));
        }
        self.within(inner, SpellingPosition::Utf8(value, missing))
    }

    /// Whether any character from `first` to `last` has a successor. Surrogates are no characters.
    fn reads_any(&self, inner: &[i64], first: u32, last: u32) -> bool {
        let parts = [(first, last.min(0xD7FF)), (first.max(0xE000), last.min(char::MAX.into()))];
        let mut parts = parts.into_iter().filter(|(first, last)| first <= last);
        parts.any(|(first, last)| self.inner.reads_any(inner, first, last))
    }

    /// Whether some character that a position may become has a successor.
    fn leads_on(&self, inner: &[i64], place: SpellingPosition) -> bool {
        let any = |first, last| self.reads_any(inner, first, last);
        let one = |c: char| any(c.into(), c.into());
        match place {
            SpellingPosition::Between | SpellingPosition::Alike(..) => true,
            SpellingPosition::Utf8(value, missing) => {
                let (first, last) = code_points(value, missing);
                any(first, last)
            }
            SpellingPosition::Escape if self.canonical => {
                SHORT_ESCAPES.iter().any(|&(c, _)| one(c)) || numbered().any(one)
            }
            // Every character has an escape.
            SpellingPosition::Escape => any(0, char::MAX.into()),
            SpellingPosition::Digits(count, value, 0) if self.canonical => {
                numbered().filter(|&c| u32::from(c) >> (4 * (4 - count)) == value).any(one)
            }
            SpellingPosition::Digits(count, value, high) => {
                let (first, last) = digits(count, value);
                if high > 0 {
                    let (first, last) = (first.max(0xDC00), last.min(0xDFFF));
                    return first <= last && any(pair(high, first), pair(high, last));
                }
                let (from, to) = (first.max(0xD800), last.min(0xDBFF));
                any(first, last) || from <= to && any(pair(from, 0xDC00), pair(to, 0xDFFF))
            }
            SpellingPosition::Surrogate(high) | SpellingPosition::SurrogateEscape(high) => {
                any(pair(high, 0xDC00), pair(high, 0xDFFF))
            }
        }
    }

    /// A character of a range that has a successor, by bisection.
    fn pick(&self, inner: &[i64], (mut first, mut last): (u32, u32)) -> Option<char> {
        if first > last || !self.reads_any(inner, first, last) {
            return None;
        }
        while first < last {
            let middle = first + (last - first) / 2;
            if self.reads_any(inner, first, middle) { last = middle } else { first = middle + 1 }
        }
        char::from_u32(first)
    }

    /// A character with a successor that a position may become, and the rest of its spelling.
    fn ending(&self, inner: &[i64], place: SpellingPosition) -> Option<(char, String)> {
        let number = |unit: u16, read: u32| format!("{unit:04x}")[read as usize..].to_owned();
        let low = |c: char| number(c.encode_utf16(&mut [0; 2])[1], 0);
        let leads = |c: &char| self.reads_any(inner, (*c).into(), (*c).into());
        match place {
            SpellingPosition::Between
            | SpellingPosition::Utf8(..)
            | SpellingPosition::Alike(..) => None,
            SpellingPosition::Escape => match SHORT_ESCAPES.iter().find(|(c, _)| leads(c)) {
                Some(&(c, letter)) => Some((c, char::from(letter).to_string())),
                None => {
                    let (c, rest) = self.ending(inner, SpellingPosition::Digits(0, 0, 0))?;
                    Some((c, format!("u{rest}")))
                }
            },
            SpellingPosition::Digits(count, value, 0) if self.canonical => {
                let begins = |c: &char| u32::from(*c) >> (4 * (4 - count)) == value;
                let c = numbered().filter(begins).find(leads)?;
                Some((c, number(c as u16, count)))
            }
            SpellingPosition::Digits(count, value, 0) => {
                let (first, last) = digits(count, value);
                if let Some(c) = self.pick(inner, (first, last)) {
                    return Some((c, number(c as u16, count)));
                }
                let (first, last) = (first.max(0xD800), last.min(0xDBFF));
                let c = self.pick(inner, (pair(first, 0xDC00), pair(last, 0xDFFF)))?;
                let high = number(c.encode_utf16(&mut [0; 2])[0], count);
                Some((c, format!("{high}\\u{}", low(c))))
            }
            SpellingPosition::Digits(count, value, high) => {
                let (first, last) = digits(count, value);
                let (first, last) = (first.max(0xDC00), last.min(0xDFFF));
                let c = self.pick(inner, (pair(high, first), pair(high, last)))?;
                Some((c, low(c)[count as usize..].to_owned()))
            }
            SpellingPosition::Surrogate(high) | SpellingPosition::SurrogateEscape(high) => {
                let c = self.pick(inner, (pair(high, 0xDC00), pair(high, 0xDFFF)))?;
                let escape = if place == SpellingPosition::Surrogate(high) { "\\u" } else { "u" };
                Some((c, format!("{escape}{}", low(c))))
            }
        }
    }

    /// The state after a digit. The fourth digit ends a UTF-16 unit.
    fn digit(
        &self,
        inner: &[i64],
        (count, value, high): (u32, u32, u32),
    ) -> Option<AutomatonState> {
        let unit = match (count, high) {
            (..=3, _) => return self.within(inner, SpellingPosition::Digits(count, value, high)),
            (_, 0) if (0xD800..0xDC00).contains(&value) => {
                return self.within(inner, SpellingPosition::Surrogate(value));
            }
            (_, 0) => value,
            _ if (0xDC00..0xE000).contains(&value) => pair(high, value),
            _ => return None,
        };
        // A low surrogate by itself is no character.
        let c = char::from_u32(unit).filter(|&c| !self.canonical || numbered().any(|n| n == c));
        self.after(inner, c)
    }
}

/// The range of code points that the bits read may become with so many bytes more, in their
/// shortest UTF-8 form and without surrogates.
fn code_points(value: u32, missing: u32) -> (u32, u32) {
    let (bits, least) = (6 * missing, [0, 0, 0x800, 0x1_0000][missing as usize]);
    let (first, last) = ((value << bits).max(least), (value << bits) + (1 << bits) - 1);
    match (first, last) {
        (0xD000, 0xDFFF) => (first, 0xD7FF),
        _ => (first, last.min(char::MAX.into())),
    }
}

/// The range of UTF-16 units that begin with so many digits of this value.
fn digits(count: u32, value: u32) -> (u32, u32) {
    let bits = 4 * (4 - count);
    (value << bits, (value << bits) + (1 << bits) - 1)
}

/// The code point of a surrogate pair.
fn pair(high: u32, low: u32) -> u32 {
    0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
}

impl Automaton for JsonEscapes {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        SpellingPosition::read(state).is_some_and(|(place, inner)| {
            place == SpellingPosition::Between && self.inner.accepts(inner)
        })
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let (place, inner) = SpellingPosition::read(state)?;
        match (place, byte) {
            (SpellingPosition::Between, b'\\') => self.within(inner, SpellingPosition::Escape),
            (SpellingPosition::Between, b'"' | ..b' ') => None,
            (SpellingPosition::Between, ..0x80) => self.after(inner, Some(byte.into())),
            (SpellingPosition::Between, _) => {
                let (bits, missing) = match byte {
                    0xC2..=0xDF => (byte & 0x1F, 1),
                    0xE0..=0xEF => (byte & 0x0F, 2),
                    0xF0..=0xF4 => (byte & 0x07, 3),
                    _ => return None,
                };
                self.within_utf8(inner, bits.into(), missing)
            }
            (SpellingPosition::Alike(missing, first, last), _) => {
                match (missing, u32::from(byte)) {
                    (_, byte) if !(first..=last).contains(&byte) => None,
                    (1, _) => self.after(inner, Some(char::MAX)),
                    _ => Some(SpellingPosition::Alike(missing - 1, 0x80, 0xBF).state(inner)),
                }
            }
            (SpellingPosition::Utf8(value, missing), 0x80..=0xBF) => {
                let (value, missing) = (value << 6 | u32::from(byte & 0x3F), missing - 1);
                // Reject overlong encodings and code points above U+10FFFF.
                let (first, last) = (value << (6 * missing), (value + 1) << (6 * missing));
                let least = if missing == 2 { 0x1_0000 } else { 0x800 };
                match missing {
                    0 => self.after(inner, char::from_u32(value)),
                    1.. if last <= least || first > char::MAX.into() => None,
                    _ => self.within_utf8(inner, value, missing),
                }
            }
            (SpellingPosition::Utf8(..), _) => None,
            (SpellingPosition::Escape, b'u') => {
                self.within(inner, SpellingPosition::Digits(0, 0, 0))
            }
            (SpellingPosition::Escape, b'/') if !self.canonical => self.after(inner, Some('/')),
            (SpellingPosition::Escape, _) => {
                let short = SHORT_ESCAPES.iter().find(|&&(_, letter)| letter == byte);
                self.after(inner, short.map(|&(c, _)| c))
            }
            (SpellingPosition::Digits(..), b'A'..=b'F') if self.canonical => None,
            (SpellingPosition::Digits(count, value, high), _) => {
                let value = value << 4 | char::from(byte).to_digit(16)?;
                self.digit(inner, (count + 1, value, high))
            }
            (SpellingPosition::Surrogate(high), b'\\') => {
                self.within(inner, SpellingPosition::SurrogateEscape(high))
            }
            (SpellingPosition::SurrogateEscape(high), b'u') => {
                self.within(inner, SpellingPosition::Digits(0, 0, high))
            }
            (SpellingPosition::Surrogate(_) | SpellingPosition::SurrogateEscape(_), _) => None,
        }
    }

    fn first_bytes(&self, state: &[i64]) -> Option<ByteSet> {
        // Costs as much as 256 steps, but interns none of the successors.
        match SpellingPosition::read(state)? {
            (SpellingPosition::Surrogate(_), _) => Some(ByteSet::single(b'\\')),
            (SpellingPosition::SurrogateEscape(_), _) => Some(ByteSet::single(b'u')),
            _ => Some((0..=u8::MAX).filter(|&byte| self.step(state, byte).is_some()).collect()),
        }
    }

    fn ordinary(&self, state: &[i64]) -> Option<OrdinaryChars> {
        let (SpellingPosition::Between, inner) = SpellingPosition::read(state)? else {
            return None;
        };
        let mut ordinary = self.inner.ordinary(inner)?;
        (0..b' ').chain([b'"', b'\\']).for_each(|byte| ordinary.bytes.remove(byte));
        ordinary.base = ordinary.base.map(|base| SpellingPosition::Between.state(&base));
        Some(ordinary)
    }

    fn completion_growth(&self, state: &[i64]) -> Option<CompletionGrowth> {
        // Known between characters only: within one, the characters that may follow are no longer free.
        let (SpellingPosition::Between, inner) = SpellingPosition::read(state)? else {
            return None;
        };
        self.inner.completion_growth(inner)
    }

    fn is_live(&self, _: &[i64]) -> Option<bool> {
        // `step` never returns a dead state.
        Some(true)
    }

    fn is_infinite_state(&self) -> bool {
        true
    }

    fn is_at_character_boundary(&self, state: &[i64]) -> bool {
        SpellingPosition::read(state).is_some_and(|(place, _)| place == SpellingPosition::Between)
    }

    fn completion(&self, state: &[i64]) -> Option<Vec<u8>> {
        let (place, inner) = SpellingPosition::read(state)?;
        let after = |c: char| self.inner.step(inner, c);
        let (mut text, inner) = match place {
            SpellingPosition::Between => (Vec::new(), inner.into()),
            SpellingPosition::Alike(missing, first, _) => {
                let mut text = vec![0x80; missing as usize];
                text[0] = first as u8;
                (text, after(char::MAX)?)
            }
            SpellingPosition::Utf8(value, missing) => {
                let c = self.pick(inner, code_points(value, missing))?;
                let mut buffer = [0; 4];
                let text = c.encode_utf8(&mut buffer).as_bytes();
                (text[text.len() - missing as usize..].to_vec(), after(c)?)
            }
            _ => {
                let (c, text) = self.ending(inner, place)?;
                (text.into_bytes(), after(c)?)
            }
        };
        // Canonical spellings are among all.
        for c in self.inner.completion(&inner).chars() {
            match SHORT_ESCAPES.iter().find(|(short, _)| *short == c) {
                Some(&(_, letter)) => text.extend([b'\\', letter]),
                None if c < ' ' => text.extend(format!("\\u{:04x}", u32::from(c)).bytes()),
                None => text.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            }
        }
        Some(text)
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        let Some((place, inner)) = SpellingPosition::read(state) else { return 1 };
        self.inner.completion_estimate(inner)
            + match place {
                SpellingPosition::Between => 0,
                SpellingPosition::Utf8(_, missing) | SpellingPosition::Alike(missing, ..) => {
                    missing
                }
                SpellingPosition::Escape => 1,
                SpellingPosition::Digits(count, _, _) => 4 - count,
                SpellingPosition::Surrogate(_) => 6,
                SpellingPosition::SurrogateEscape(_) => 5,
            }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::{AnyJsonString, CodePoints, JsonString};

    /// One character of some ranges; whether others are read alike.
    #[derive(Debug)]
    struct OneOf(&'static [(u32, u32)], bool);

    impl CharAutomaton for OneOf {
        fn name(&self) -> &str {
            if self.1 { "one of some ranges" } else { "one of some ranges, each by itself" }
        }

        fn start(&self) -> AutomatonState {
            [0].into()
        }

        fn accepts(&self, state: &[i64]) -> bool {
            state == [1]
        }

        fn step(&self, state: &[i64], c: char) -> Option<AutomatonState> {
            self.reads_any(state, c.into(), c.into()).then(|| [1].into())
        }

        fn reads_any(&self, state: &[i64], first: u32, last: u32) -> bool {
            let within = |&(from, to): &(u32, u32)| first.max(from) <= last.min(to);
            state == [0] && self.0.iter().any(within)
        }

        fn reads_like_last(&self, state: &[i64], first: u32, last: u32) -> bool {
            let as_last = self.reads_any(state, char::MAX.into(), char::MAX.into());
            let holds = |&(from, to): &(u32, u32)| from <= first && last <= to;
            self.1 && as_last && self.0.iter().any(holds)
        }

        fn completion(&self, state: &[i64]) -> String {
            let first = self.0.first().and_then(|&(first, _)| char::from_u32(first));
            first.filter(|_| state == [0]).map(String::from).unwrap_or_default()
        }

        fn completion_estimate(&self, state: &[i64]) -> u32 {
            u32::from(state == [0])
        }
    }

    /// Beside the classes of patterns, which are spelled another way.
    #[test]
    fn spellings_are_those_of_classes() {
        let sets: [&'static [(u32, u32)]; 10] = [
            &[(0, 0x10_FFFF)],
            &[(0, 0x1F)],
            &[(0x20, 0x7F)],
            &[(0x22, 0x22), (0x2F, 0x2F), (0x5C, 0x5C)],
            &[(0x80, 0x7FF)],
            &[(0x7FF, 0x800), (0xD7FF, 0xE000)],
            &[(0xFFFF, 0x1_0000)],
            &[(0x1_F600, 0x1_F64F)],
            &[(0x10_FC00, 0x10_FFFF)],
            &[(0xD000, 0xD7FF), (0x10_FFFF, 0x10_FFFF)],
        ];
        for set in sets {
            for (canonical, alike) in [(true, true), (false, false), (false, true)] {
                let mut l = Languages::new();
                let class = if canonical {
                    JsonString.class(&mut l, set)
                } else {
                    AnyJsonString.class(&mut l, set)
                };
                let spelled = spelled(&mut l, Arc::new(OneOf(set, alike)), canonical);
                for (a, b) in [(class, spelled), (spelled, class)] {
                    let more = l.difference(a, b);
                    let example = l.shortest(more).unwrap();
                    assert_eq!(example.map(|text| text.escape_ascii().to_string()), None);
                }
            }
        }
    }

    /// No state is entered from which nothing leads to the end.
    #[test]
    fn every_state_leads_to_the_end() {
        let ranges: &'static [(u32, u32)] = &[(0x11, 0x11), (0x800, 0x803), (0x1_F600, 0x1_F600)];
        for canonical in [true, false] {
            let mut l = Languages::new();
            let start = spelled(&mut l, Arc::new(OneOf(ranges, true)), canonical);
            let mut states = vec![start];
            let mut next = 0;
            while let Some(&state) = states.get(next) {
                next += 1;
                for after in *l.derivative_row(state).unwrap() {
                    if after != Language::EMPTY && !states.contains(&after) {
                        states.push(after);
                    }
                }
            }
            assert!(states.len() > 10);
            for state in states {
                let rest = crate::regular::witness::short(&mut l, state).unwrap().unwrap();
                assert!(l.matches(state, &rest).unwrap(), "{rest:?}");
            }
        }
    }
}
