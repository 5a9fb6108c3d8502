//! Automata over characters, read in the bytes of a JSON string.
//!
//! An automaton whose letters are characters knows nothing of their spelling: UTF-8, escapes,
//! surrogate pairs. [`Spelled`] reads these, and asks it for ranges of characters: within a
//! character, what may still come is one of those which the bytes read so far begin.

use std::fmt::Debug;
use std::sync::Arc;

use super::automaton::{Automaton, State};
use super::{ByteSet, Language, Languages};

/// A deterministic automaton over characters, asked for one state at a time. From every state that
/// it gives, a text leads to the end.
pub(crate) trait CharAutomaton: Debug + Send + Sync {
    /// Tells automata apart: those with equal names step alike.
    fn name(&self) -> &str;

    fn start(&self) -> State;

    /// Is the empty text accepted from here?
    fn accepts(&self, state: &[i64]) -> bool;

    /// The state after a character; `None` if no text follows.
    fn step(&self, state: &[i64], c: char) -> Option<State>;

    /// Does any character from `first` to `last` lead on? Both are included, and no surrogate is
    /// between them.
    fn reads_any(&self, state: &[i64], first: u32, last: u32) -> bool;

    /// About how many characters lead from here to the end.
    fn effort(&self, state: &[i64]) -> u32;
}

/// The spellings, in a JSON string without its quotes, of the texts that an automaton accepts: all
/// of them (RFC 8259, section 7), or those alone that escape what must be escaped, as
/// [`JsonString`](super::JsonString) does.
pub(crate) fn spelled(
    languages: &mut Languages,
    inner: Arc<dyn CharAutomaton>,
    canonical: bool,
) -> Language {
    let start = Place::Between.state(&inner.start());
    let spelling = if canonical { "canonical" } else { "any" };
    let name = format!("{} in {spelling} spelling", inner.name());
    languages.automaton(Arc::new(Spelled { name, inner, canonical }), start)
}

#[derive(Debug)]
struct Spelled {
    name: String,
    inner: Arc<dyn CharAutomaton>,
    canonical: bool,
}

/// Where in the spelling of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Between,
    /// Within UTF-8: what was read of the code point, and how many bytes are missing.
    Utf8(u32, u32),
    /// After a backslash.
    Escape,
    /// After `\u` and so many digits of this value; the high surrogate before, or 0.
    Digits(u32, u32, u32),
    /// After a high surrogate, and after the backslash behind it.
    Surrogate(u32),
    SurrogateEscape(u32),
}

/// The characters that have a short escape, with its letter.
const SHORT: [(char, u8); 7] = [
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
    ('\0'..' ').filter(|c| SHORT.iter().all(|(short, _)| short != c))
}

impl Place {
    /// How many numbers a place takes.
    const LEN: usize = 4;

    fn state(self, inner: &[i64]) -> State {
        let place = match self {
            Self::Between => [0, 0, 0, 0],
            Self::Utf8(value, missing) => [1, value, missing, 0],
            Self::Escape => [2, 0, 0, 0],
            Self::Digits(count, value, high) => [3, count, value, high],
            Self::Surrogate(high) => [4, high, 0, 0],
            Self::SurrogateEscape(high) => [5, high, 0, 0],
        };
        place.into_iter().map(i64::from).chain(inner.iter().copied()).collect()
    }

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
            _ => return None,
        };
        Some((place, inner))
    }
}

impl Spelled {
    /// The state after a character.
    fn after(&self, inner: &[i64], c: Option<char>) -> Option<State> {
        Some(Place::Between.state(&self.inner.step(inner, c?)?))
    }

    /// The state within a character, if any that may be meant leads on.
    fn within(&self, inner: &[i64], place: Place) -> Option<State> {
        self.leads_on(inner, place).then(|| place.state(inner))
    }

    fn leads_on(&self, inner: &[i64], place: Place) -> bool {
        let any = |first: u32, last: u32| {
            let parts =
                [(first, last.min(0xD7FF)), (first.max(0xE000), last.min(char::MAX.into()))];
            let mut parts = parts.into_iter().filter(|(first, last)| first <= last);
            parts.any(|(first, last)| self.inner.reads_any(inner, first, last))
        };
        let one = |c: char| any(c.into(), c.into());
        match place {
            Place::Between => true,
            Place::Utf8(value, missing) => {
                // Of more bytes, those that need as many.
                let (bits, least) = (6 * missing, [0, 0, 0x800, 0x1_0000][missing as usize]);
                any((value << bits).max(least), (value << bits) + (1 << bits) - 1)
            }
            Place::Escape if self.canonical => {
                SHORT.iter().any(|&(c, _)| one(c)) || numbered().any(one)
            }
            // Every character has an escape.
            Place::Escape => any(0, char::MAX.into()),
            Place::Digits(count, value, 0) if self.canonical => {
                numbered().filter(|&c| u32::from(c) >> (4 * (4 - count)) == value).any(one)
            }
            Place::Digits(count, value, high) => {
                let bits = 4 * (4 - count);
                let (first, last) = (value << bits, (value << bits) + (1 << bits) - 1);
                if high > 0 {
                    let (first, last) = (first.max(0xDC00), last.min(0xDFFF));
                    return first <= last && any(pair(high, first), pair(high, last));
                }
                let (from, to) = (first.max(0xD800), last.min(0xDBFF));
                any(first, last) || from <= to && any(pair(from, 0xDC00), pair(to, 0xDFFF))
            }
            Place::Surrogate(high) | Place::SurrogateEscape(high) => {
                any(pair(high, 0xDC00), pair(high, 0xDFFF))
            }
        }
    }

    /// After a digit, the fourth of which ends a unit.
    fn digit(&self, inner: &[i64], (count, value, high): (u32, u32, u32)) -> Option<State> {
        let unit = match (count, high) {
            (..=3, _) => return self.within(inner, Place::Digits(count, value, high)),
            (_, 0) if (0xD800..0xDC00).contains(&value) => {
                return self.within(inner, Place::Surrogate(value));
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

/// The code point of a surrogate pair.
fn pair(high: u32, low: u32) -> u32 {
    0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
}

impl Automaton for Spelled {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        Place::read(state)
            .is_some_and(|(place, inner)| place == Place::Between && self.inner.accepts(inner))
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<State> {
        let (place, inner) = Place::read(state)?;
        match (place, byte) {
            (Place::Between, b'\\') => self.within(inner, Place::Escape),
            (Place::Between, b'"' | ..b' ') => None,
            (Place::Between, ..0x80) => self.after(inner, Some(byte.into())),
            (Place::Between, _) => {
                let (bits, missing) = match byte {
                    0xC2..=0xDF => (byte & 0x1F, 1),
                    0xE0..=0xEF => (byte & 0x0F, 2),
                    0xF0..=0xF4 => (byte & 0x07, 3),
                    _ => return None,
                };
                self.within(inner, Place::Utf8(bits.into(), missing))
            }
            (Place::Utf8(value, missing), 0x80..=0xBF) => {
                let (value, missing) = (value << 6 | u32::from(byte & 0x3F), missing - 1);
                // Longer spellings of what has a shorter one are none; code points end.
                let (first, last) = (value << (6 * missing), (value + 1) << (6 * missing));
                let least = if missing == 2 { 0x1_0000 } else { 0x800 };
                match missing {
                    0 => self.after(inner, char::from_u32(value)),
                    1.. if last <= least || first > char::MAX.into() => None,
                    _ => self.within(inner, Place::Utf8(value, missing)),
                }
            }
            (Place::Utf8(..), _) => None,
            (Place::Escape, b'u') => self.within(inner, Place::Digits(0, 0, 0)),
            (Place::Escape, b'/') if !self.canonical => self.after(inner, Some('/')),
            (Place::Escape, _) => {
                let short = SHORT.iter().find(|&&(_, letter)| letter == byte);
                self.after(inner, short.map(|&(c, _)| c))
            }
            (Place::Digits(..), b'A'..=b'F') if self.canonical => None,
            (Place::Digits(count, value, high), _) => {
                let value = value << 4 | char::from(byte).to_digit(16)?;
                self.digit(inner, (count + 1, value, high))
            }
            (Place::Surrogate(high), b'\\') => self.within(inner, Place::SurrogateEscape(high)),
            (Place::SurrogateEscape(high), b'u') => self.within(inner, Place::Digits(0, 0, high)),
            (Place::Surrogate(_) | Place::SurrogateEscape(_), _) => None,
        }
    }

    fn first(&self, state: &[i64]) -> Option<ByteSet> {
        // The others take as long as a step with each.
        match Place::read(state)? {
            (Place::Surrogate(_), _) => Some(ByteSet::single(b'\\')),
            (Place::SurrogateEscape(_), _) => Some(ByteSet::single(b'u')),
            _ => None,
        }
    }

    fn is_live(&self, _: &[i64]) -> Option<bool> {
        // No other state is entered.
        Some(true)
    }

    fn is_endless(&self) -> bool {
        true
    }

    fn effort(&self, state: &[i64]) -> u32 {
        let Some((place, inner)) = Place::read(state) else { return 1 };
        self.inner.effort(inner)
            + match place {
                Place::Between => 0,
                Place::Utf8(_, missing) => missing,
                Place::Escape => 1,
                Place::Digits(count, _, _) => 4 - count,
                Place::Surrogate(_) => 6,
                Place::SurrogateEscape(_) => 5,
            }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regex::{AnyJsonString, CodePoints, JsonString};

    /// One character of some ranges.
    #[derive(Debug)]
    struct OneOf(&'static [(u32, u32)]);

    impl CharAutomaton for OneOf {
        fn name(&self) -> &str {
            "one of some ranges"
        }

        fn start(&self) -> State {
            [0].into()
        }

        fn accepts(&self, state: &[i64]) -> bool {
            state == [1]
        }

        fn step(&self, state: &[i64], c: char) -> Option<State> {
            self.reads_any(state, c.into(), c.into()).then(|| [1].into())
        }

        fn reads_any(&self, state: &[i64], first: u32, last: u32) -> bool {
            let within = |&(from, to): &(u32, u32)| first.max(from) <= last.min(to);
            state == [0] && self.0.iter().any(within)
        }

        fn effort(&self, state: &[i64]) -> u32 {
            u32::from(state == [0])
        }
    }

    /// Beside the classes of patterns, which are spelled another way.
    #[test]
    fn spellings_are_those_of_classes() {
        let sets: [&'static [(u32, u32)]; 9] = [
            &[(0, 0x10_FFFF)],
            &[(0, 0x1F)],
            &[(0x20, 0x7F)],
            &[(0x22, 0x22), (0x2F, 0x2F), (0x5C, 0x5C)],
            &[(0x80, 0x7FF)],
            &[(0x7FF, 0x800), (0xD7FF, 0xE000)],
            &[(0xFFFF, 0x1_0000)],
            &[(0x1_F600, 0x1_F64F)],
            &[(0x10_FC00, 0x10_FFFF)],
        ];
        for set in sets {
            for canonical in [true, false] {
                let mut l = Languages::new();
                let class = match canonical {
                    true => JsonString.class(&mut l, set),
                    false => AnyJsonString.class(&mut l, set),
                };
                let spelled = spelled(&mut l, Arc::new(OneOf(set)), canonical);
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
            let start = spelled(&mut l, Arc::new(OneOf(ranges)), canonical);
            let mut states = vec![start];
            let mut next = 0;
            while let Some(&state) = states.get(next) {
                next += 1;
                for after in *l.plain_row(state).unwrap() {
                    if after != Language::EMPTY && !states.contains(&after) {
                        states.push(after);
                    }
                }
            }
            // A state leads to the end if it accepts, or leads to one that does.
            let mut live: Vec<bool> = states.iter().map(|&state| l.is_nullable(state)).collect();
            loop {
                let before = live.clone();
                for (i, &state) in states.iter().enumerate() {
                    let row = *l.plain_row(state).unwrap();
                    let leads = |j: usize| row.contains(&states[j]);
                    live[i] |= (0..states.len()).any(|j| live[j] && leads(j));
                }
                if live == before {
                    break;
                }
            }
            assert!(states.len() > 5 && live.iter().all(|&live| live));
        }
    }
}
