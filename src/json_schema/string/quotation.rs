//! The automaton of quotations within JSON strings, in every spelling, for the keyword
//! `x-quote-from`.

use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::regular::automaton::{Automaton, AutomatonState};
use crate::regular::{self, Language, Languages};

/// The keyword for quotations of a given text.
pub(crate) const QUOTE_FROM: &str = "x-quote-from";

/// The quotations of some units, in every spelling.
pub(crate) fn any_spelling(l: &mut Languages, units: &[&str]) -> Result<Language> {
    let Some((inner, start)) = regular::quotation_automaton(units)? else {
        return Ok(Language::EMPTY);
    };
    let name = format!("{} in any spelling", inner.name());
    let start = SpellingState::Plain.state(&start);
    Ok(l.automaton(Arc::new(AnySpelling { name, inner, next: Mutex::default() }), start))
}

/// The content of JSON strings, in every spelling (RFC 8259, section 7), whose texts an automaton
/// accepts.
#[derive(Debug)]
struct AnySpelling {
    name: String,
    inner: Arc<dyn Automaton>,
    /// The last state of the inner automaton whose next characters were computed, and these.
    next: Mutex<Option<(AutomatonState, Arc<[Utf16Units]>)>>,
}

/// A character in UTF-16, as escapes spell it: a second unit of 0 where there is one only.
type Utf16Units = (i64, i64);

/// The position within the spelling of a character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SpellingState {
    /// Between two characters, or within the UTF-8 of one.
    Plain,
    /// After a backslash.
    Escape,
    /// After `\u` and some of its digits: their number, their value, and the high surrogate before,
    /// or 0.
    Digits(i64, i64, i64),
    /// After a high surrogate; then, after its backslash.
    Surrogate(i64),
    SurrogateEscape(i64),
}

impl SpellingState {
    /// Numbers that a position takes in a state.
    const LEN: usize = 4;

    fn state(self, inner: &[i64]) -> AutomatonState {
        let place = match self {
            Self::Plain => [0, 0, 0, 0],
            Self::Escape => [1, 0, 0, 0],
            Self::Digits(count, value, high) => [2, count, value, high],
            Self::Surrogate(high) => [3, high, 0, 0],
            Self::SurrogateEscape(high) => [4, high, 0, 0],
        };
        place.iter().chain(inner).copied().collect()
    }

    fn read(state: &[i64]) -> Option<(Self, &[i64])> {
        let (place, inner) = state.split_at_checked(Self::LEN)?;
        let place = match *place {
            [0, ..] => Self::Plain,
            [1, ..] => Self::Escape,
            [2, count, value, high] => Self::Digits(count, value, high),
            [3, high, ..] => Self::Surrogate(high),
            [4, high, ..] => Self::SurrogateEscape(high),
            _ => return None,
        };
        Some((place, inner))
    }
}

impl AnySpelling {
    /// The characters that may follow in the inner automaton, if it stands between two.
    fn next(&self, inner: &[i64]) -> Arc<[Utf16Units]> {
        let mut last = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, next)) = &*last
            && **known == *inner
        {
            return Arc::clone(next);
        }
        let mut found = Vec::new();
        let mut open: Vec<(AutomatonState, Vec<u8>)> = vec![(inner.into(), Vec::new())];
        while let Some((state, read)) = open.pop() {
            for byte in 0..=u8::MAX {
                let Some(next) = self.inner.step(&state, byte) else { continue };
                let text = [&read[..], &[byte]].concat();
                match std::str::from_utf8(&text) {
                    Ok(text) => found.extend(text.chars().map(|c| {
                        let mut units = [0; 2];
                        c.encode_utf16(&mut units);
                        (i64::from(units[0]), i64::from(units[1]))
                    })),
                    Err(error) if error.error_len().is_none() => open.push((next, text)),
                    // It stands within a character.
                    Err(_) => {}
                }
            }
        }
        let next: Arc<[Utf16Units]> = found.into();
        *last = Some((inner.into(), Arc::clone(&next)));
        next
    }

    /// The state after an escaped character.
    fn after(&self, inner: &[i64], c: char) -> Option<AutomatonState> {
        let mut state: AutomatonState = inner.into();
        for byte in c.encode_utf8(&mut [0; 4]).bytes() {
            state = self.inner.step(&state, byte)?;
        }
        Some(SpellingState::Plain.state(&state))
    }
}

impl Automaton for AnySpelling {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        SpellingState::read(state).is_some_and(|(place, inner)| {
            place == SpellingState::Plain && self.inner.accepts(inner)
        })
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let (place, inner) = SpellingState::read(state)?;
        let next = match (place, byte) {
            (SpellingState::Plain, b'\\') => SpellingState::Escape,
            (SpellingState::Plain, b'"' | ..b' ') => return None,
            (SpellingState::Plain, byte) => {
                return Some(SpellingState::Plain.state(&self.inner.step(inner, byte)?));
            }
            (SpellingState::Escape, b'u') => SpellingState::Digits(0, 0, 0),
            (SpellingState::Escape, byte) => {
                let c = match byte {
                    b'"' | b'\\' | b'/' => char::from(byte),
                    b'b' => '\u{8}',
                    b'f' => '\u{c}',
                    b'n' => '\n',
                    b'r' => '\r',
                    b't' => '\t',
                    _ => return None,
                };
                return self.after(inner, c);
            }
            (SpellingState::Digits(count, value, high), byte) => {
                let value = value * 16 + i64::from(char::from(byte).to_digit(16)?);
                match (count, high) {
                    (3, 0) if (0xD800..0xDC00).contains(&value) => SpellingState::Surrogate(value),
                    // A low surrogate by itself is no character.
                    (3, 0) => return self.after(inner, char::from_u32(value as u32)?),
                    (3, _) if (0xDC00..0xE000).contains(&value) => {
                        let code = 0x1_0000 + ((high - 0xD800) << 10) + (value - 0xDC00);
                        return self.after(inner, char::from_u32(code as u32)?);
                    }
                    (3, _) => return None,
                    _ => SpellingState::Digits(count + 1, value, high),
                }
            }
            (SpellingState::Surrogate(high), b'\\') => SpellingState::SurrogateEscape(high),
            (SpellingState::SurrogateEscape(high), b'u') => SpellingState::Digits(0, 0, high),
            (SpellingState::Surrogate(_) | SpellingState::SurrogateEscape(_), _) => return None,
        };
        Some(next.state(inner))
    }

    fn is_live(&self, state: &[i64]) -> Option<bool> {
        let (place, inner) = SpellingState::read(state)?;
        // Whether a unit whose first `count` digits are read may be this one.
        let begins = |unit: i64, count: i64, value: i64| unit >> (4 * (4 - count)) == value;
        let fits = |&(first, second): &Utf16Units| match place {
            SpellingState::Plain | SpellingState::Escape => true,
            SpellingState::Digits(count, value, 0) => begins(first, count, value),
            SpellingState::Digits(count, value, high) => {
                first == high && begins(second, count, value)
            }
            SpellingState::Surrogate(high) | SpellingState::SurrogateEscape(high) => first == high,
        };
        match place {
            SpellingState::Plain => self.inner.is_live(inner),
            _ => Some(self.next(inner).iter().any(fits)),
        }
    }
}
