//! A-labels (RFC 5890, section 2.3.2.1): labels of host names in Punycode, by an automaton that
//! keeps what it has read.
//!
//! There are finitely many, but what one stands for is known at its end only. Nearly every
//! beginning can be completed: any letters, digits and hyphens may be the basic characters of a
//! label that has others before and behind them. So only close to the greatest length it takes a
//! search to know.

use std::sync::Arc;

use super::label;
use super::punycode::{decode, encode};
use crate::regex::automaton::{Automaton, State};

/// What A-labels begin with.
const PREFIX: &[u8] = b"xn--";

/// Octets behind the prefix (RFC 1034, section 3.1: 63 with it).
const MOST: usize = 59;

/// So many octets of Punycode put two or three characters before, and one behind, any basic
/// characters that there is room for.
const AROUND: usize = 10;

/// Beginnings that a search looks at.
const BEGINNINGS: u32 = 20_000;

/// Characters with the smallest numbers that may stand anywhere in a label.
const SMALLEST: [char; 3] = ['\u{DF}', '\u{E0}', '\u{E1}'];

/// The automaton of all A-labels, and its first state.
pub(in crate::json_schema) fn a_labels() -> (Arc<dyn Automaton>, State) {
    (Arc::new(ALabels), Box::new([]))
}

/// A state is what was read, in small letters, one number for each octet.
#[derive(Debug)]
struct ALabels;

impl ALabels {
    /// What was read behind the prefix.
    fn code(state: &[i64]) -> Option<Vec<u8>> {
        let code = state.get(PREFIX.len()..)?;
        code.iter().map(|&byte| u8::try_from(byte).ok()).collect()
    }

    /// RFC 5891, sections 4.2.1 and 4.4: it is what its characters are written as.
    fn is_valid(code: &[u8]) -> bool {
        decode(code).is_some_and(|characters| {
            label::is_valid(&characters) && encode(&characters).as_deref() == Some(code)
        })
    }

    /// Is what was read part of a label, with more basic characters behind it or none, and others
    /// around them?
    fn can_be_basic(code: &[u8]) -> bool {
        let basic: Vec<char> = code.iter().map(|&byte| char::from(byte)).collect();
        let behind = [None].into_iter().chain(SMALLEST.map(Some));
        behind.into_iter().any(|behind| {
            SMALLEST.iter().any(|&before| {
                (0..=3).filter(|&count| count > 0 || behind.is_some()).any(|count| {
                    let before = std::iter::repeat_n(before, count);
                    let label: Vec<char> =
                        before.chain(basic.iter().copied()).chain(behind).collect();
                    encode(&label).is_some_and(|code| code.len() <= MOST && Self::is_valid(&code))
                })
            })
        })
    }

    /// Can digits of Punycode behind what was read make it valid? `None` if there are too many to
    /// look at.
    fn can_go_on(code: &mut Vec<u8>, left: &mut u32) -> Option<bool> {
        if Self::is_valid(code) {
            return Some(true);
        }
        if code.len() == MOST {
            return Some(false);
        }
        for byte in (b'a'..=b'z').chain(b'0'..=b'9') {
            *left = left.checked_sub(1)?;
            code.push(byte);
            let found = Self::can_go_on(code, left);
            code.pop();
            if found != Some(false) {
                return found;
            }
        }
        Some(false)
    }
}

impl Automaton for ALabels {
    fn name(&self) -> &str {
        "A-labels"
    }

    fn accepts(&self, state: &[i64]) -> bool {
        Self::code(state).is_some_and(|code| Self::is_valid(&code))
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<State> {
        let byte = byte.to_ascii_lowercase();
        let known = match PREFIX.get(state.len()) {
            Some(&expected) => byte == expected,
            None => byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-',
        };
        let room = state.len() < PREFIX.len() + MOST;
        (known && room).then(|| state.iter().copied().chain([i64::from(byte)]).collect())
    }

    fn is_live(&self, state: &[i64]) -> Option<bool> {
        let Some(mut code) = Self::code(state) else { return Some(true) };
        if code.len() + AROUND <= MOST || Self::can_be_basic(&code) {
            return Some(true);
        }
        Self::can_go_on(&mut code, &mut BEGINNINGS.clone())
    }

    fn effort(&self, _: &[i64]) -> u32 {
        AROUND as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<(Arc<dyn Automaton>, State)> {
        let (automaton, mut state) = a_labels();
        for byte in text.bytes() {
            state = automaton.step(&state, byte)?;
        }
        Some((automaton, state))
    }

    fn accepts(text: &str) -> bool {
        read(text).is_some_and(|(automaton, state)| automaton.accepts(&state))
    }

    #[test]
    fn an_a_label_stands_for_a_valid_label() {
        for label in
            ["xn--bcher-kva", "XN--BCHER-KVA", "xn--ihqwcrb4cv8a8dqg056pqjye", "xn--4dbc5h"]
        {
            assert!(accepts(label), "{label}");
        }
        for label in [
            "xn--",
            "xn--x",
            "xn--abc-",
            "xn---9uc",
            "xn--7a",
            "xn--0ca24w",
            "xn--hello-txk",
            "bcher-kva",
        ] {
            assert!(!accepts(label), "{label}");
        }
    }

    /// Whatever was read can be part of a label as long as there is room.
    #[test]
    fn beginnings_can_be_completed() {
        let mut random = 0x9E37_79B9_7F4A_7C15u64;
        for length in (0..=MOST - AROUND).step_by(3) {
            for letters in [&b"-"[..], b"a-", b"0-", b"abcxyz019-"] {
                let code: Vec<u8> = (0..length)
                    .map(|_| {
                        random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                        letters[(random >> 33) as usize % letters.len()]
                    })
                    .collect();
                assert!(ALabels::can_be_basic(&code), "{}", String::from_utf8_lossy(&code));
            }
        }
        // Where there is none, a beginning may be dead.
        let full = format!("xn--{}", "0".repeat(MOST));
        let (automaton, state) = read(&full).unwrap_or_else(|| panic!("{full}"));
        assert_eq!(automaton.is_live(&state), Some(automaton.accepts(&state)));
    }
}
