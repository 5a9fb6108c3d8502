//! Automata over UTF-8 texts, read in the bytes of a JSON string: quotations (`x-quote-from`) and
//! lists (`x-choices-from`).
//!
//! Most bytes of a text stand for themselves, and the automaton reads them. After a backslash, the
//! characters that it may read next are asked for, and those are left that the bytes of the escape
//! begin.

use std::sync::{Arc, Mutex, PoisonError};

use crate::json_schema::options::Spelling;
use crate::regular::automaton::{Automaton, AutomatonState};
use crate::regular::{ByteSet, Language, Languages};

/// The keyword for quotations of a given text.
pub(crate) const QUOTE_FROM: &str = "x-quote-from";

/// The keyword for texts of a list that has a name.
pub(crate) const CHOICES_FROM: &str = "x-choices-from";

/// The content of JSON strings whose texts an automaton accepts from a state, in a spelling.
pub(crate) fn spelled_texts(
    l: &mut Languages,
    (inner, start): (Arc<dyn Automaton>, AutomatonState),
    spelling: Spelling,
) -> Language {
    // Of strings, these are the same.
    let (spelling, name) = match spelling {
        Spelling::Canonical => (spelling, format!("{} in canonical spelling", inner.name())),
        Spelling::Escapes | Spelling::Any => {
            (Spelling::Any, format!("{} in any spelling", inner.name()))
        }
    };
    let start = SpellingState::Plain.state(&start);
    l.automaton(Arc::new(SpelledTexts { name, inner, spelling, next: Mutex::default() }), start)
}

/// The content of JSON strings (RFC 8259, section 7) whose texts an automaton accepts.
#[derive(Debug)]
struct SpelledTexts {
    name: String,
    inner: Arc<dyn Automaton>,
    spelling: Spelling,
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

/// Characters with a short escape, with its letter.
const SHORT_ESCAPES: [(u8, u8); 7] = [
    (b'"', b'"'),
    (b'\\', b'\\'),
    (0x08, b'b'),
    (0x0C, b'f'),
    (b'\n', b'n'),
    (b'\r', b'r'),
    (b'\t', b't'),
];

/// Appends the canonical spelling of a byte of a text.
fn escape(byte: u8, to: &mut Vec<u8>) {
    match SHORT_ESCAPES.iter().find(|&&(c, _)| c == byte) {
        Some(&(_, letter)) => to.extend([b'\\', letter]),
        None if byte < b' ' => to.extend(format!("\\u{byte:04x}").into_bytes()),
        None => to.push(byte),
    }
}

/// Whether the canonical spelling writes a character as `\u00hh`.
fn is_numbered(unit: i64) -> bool {
    (0..0x20).contains(&unit) && SHORT_ESCAPES.iter().all(|&(c, _)| i64::from(c) != unit)
}

/// Whether the canonical spelling escapes a character.
fn is_escaped(unit: i64) -> bool {
    matches!(unit, 0..0x20 | 0x22 | 0x5C)
}

impl SpelledTexts {
    /// The characters that may follow in the inner automaton, if it stands between two, and that the
    /// spelling escapes.
    fn next(&self, inner: &[i64]) -> Arc<[Utf16Units]> {
        let mut last = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, next)) = &*last
            && **known == *inner
        {
            return Arc::clone(next);
        }
        let mut found = Vec::new();
        let escaped = |byte: u8| self.spelling == Spelling::Any || is_escaped(byte.into());
        let mut open: Vec<(AutomatonState, Vec<u8>)> = vec![(inner.into(), Vec::new())];
        while let Some((state, read)) = open.pop() {
            let first = self.inner.first_bytes(&state).unwrap_or(ByteSet::ALL);
            for byte in first.iter().filter(|&byte| escaped(byte)) {
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

impl SpelledTexts {
    /// Whether some character that may follow is one of those that an escape may become.
    fn leads_on(&self, place: SpellingState, inner: &[i64]) -> bool {
        // Whether a unit whose first `count` digits are read may be this one.
        let begins = |unit: i64, count: i64, value: i64| unit >> (4 * (4 - count)) == value;
        let is_canonical = self.spelling == Spelling::Canonical;
        let fits = |&(first, second): &Utf16Units| match place {
            SpellingState::Digits(..) if is_canonical && !is_numbered(first) => false,
            SpellingState::Plain | SpellingState::Escape => true,
            SpellingState::Digits(count, value, 0) => begins(first, count, value),
            SpellingState::Digits(count, value, high) => {
                first == high && begins(second, count, value)
            }
            SpellingState::Surrogate(high) | SpellingState::SurrogateEscape(high) => first == high,
        };
        self.next(inner).iter().any(fits)
    }
}

impl Automaton for SpelledTexts {
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
                let short = SHORT_ESCAPES.iter().find(|&&(_, letter)| letter == byte);
                let c = match short {
                    Some(&(c, _)) => c,
                    None if byte == b'/' && self.spelling == Spelling::Any => b'/',
                    None => return None,
                };
                return self.after(inner, char::from(c));
            }
            (SpellingState::Digits(..), b'A'..=b'F') if self.spelling == Spelling::Canonical => {
                return None;
            }
            (SpellingState::Digits(count, value, high), byte) => {
                let value = value * 16 + i64::from(char::from(byte).to_digit(16)?);
                match (count, high) {
                    (3, 0) if (0xD800..0xDC00).contains(&value) => SpellingState::Surrogate(value),
                    // A low surrogate by itself is no character.
                    (3, 0) if self.spelling == Spelling::Canonical && !is_numbered(value) => {
                        return None;
                    }
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
        // An intersection would follow all digits of what leads nowhere.
        self.leads_on(next, inner).then(|| next.state(inner))
    }

    fn first_bytes(&self, state: &[i64]) -> Option<ByteSet> {
        let (SpellingState::Plain, inner) = SpellingState::read(state)? else { return None };
        let mut first = self.inner.first_bytes(inner)?;
        (0..b' ').chain([b'"', b'\\']).for_each(|byte| first.remove(byte));
        if !self.next(inner).is_empty() {
            first.insert(b'\\');
        }
        Some(first)
    }

    fn is_finite(&self) -> bool {
        self.inner.is_finite()
    }

    fn is_stepwise(&self) -> bool {
        self.inner.is_stepwise()
    }

    fn completion(&self, state: &[i64]) -> Option<Vec<u8>> {
        let (mut state, mut rest) = (AutomatonState::from(state), Vec::new());
        loop {
            let (place, inner) = SpellingState::read(&state)?;
            if place == SpellingState::Plain {
                self.inner.completion(inner)?.into_iter().for_each(|byte| escape(byte, &mut rest));
                return Some(rest);
            }
            // Any byte leads to the end of the escape.
            let (byte, next) =
                (b'"'..=b'z').find_map(|byte| Some((byte, self.step(&state, byte)?)))?;
            rest.push(byte);
            state = next;
        }
    }

    fn is_live(&self, state: &[i64]) -> Option<bool> {
        match SpellingState::read(state)? {
            (SpellingState::Plain, inner) => self.inner.is_live(inner),
            // No other state is entered.
            _ => Some(true),
        }
    }
}
