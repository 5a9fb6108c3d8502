//! The texts that are patterns of ECMA-262 (2025 edition, section 22.2.1 with the `u` flag), as an
//! automaton over characters.
//!
//! Which texts are patterns is no regular language, and not even a context-free one: parentheses
//! nest, `[b-a]` and `{2,1}` are none, `\3` asks for three groups and `\k<x>` for one of that name,
//! wherever they stand, and no two groups that can match together have one name. So a state holds
//! what these rules need: which groups are open, how many there were, names, and where in the
//! syntax the text stands. States are made as they are read.
//!
//! From every state a text leads to the end: what is open can be closed, and groups that are
//! asked for can be written. For this not to be a text without end, `\N` stops at
//! [`MOST_GROUPS`].

mod properties;
mod read;
mod rest;
mod state;

use std::cmp::Ordering;
use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, HirKind};

use self::properties::Begun;
use self::state::{Member, Mode, Name, State, Tail, Then};
use super::ByteSet;
use super::automaton::{self, Ordinary, Slack};
use super::spelled::CharAutomaton;

/// The greatest number of a group that may be referred to.
const MOST_GROUPS: u32 = 999;

/// The patterns of ECMA-262.
#[derive(Debug)]
pub(crate) struct Syntax;

/// The last code point of ASCII.
const ASCII: u32 = 0x7F;

/// `SyntaxCharacter`.
const SYNTAX: &str = "^$\\.*+?()[]{}|";

/// The flags of `(?ims-ims:…)`.
const FLAGS: &str = "ims";

/// `IdentifierStartChar`, and `IdentifierPartChar`.
static START: LazyLock<ClassUnicode> = LazyLock::new(|| identifier("[\\p{ID_Start}$_]"));
static PART: LazyLock<ClassUnicode> =
    LazyLock::new(|| identifier("[\\p{ID_Continue}$\\u{200C}\\u{200D}]"));

fn identifier(class: &str) -> ClassUnicode {
    match regex_syntax::parse(class).map(regex_syntax::hir::Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // Its tables are a default feature.
        _ => ClassUnicode::empty(),
    }
}

/// May a code point stand in a group's name, first or later?
pub(crate) fn is_of_name(c: u32, first: bool) -> bool {
    meets(if first { &START } else { &PART }, c, c)
}

/// Does a set hold any code point of a range?
fn meets(class: &ClassUnicode, first: u32, last: u32) -> bool {
    let ranges = class.ranges();
    let at = ranges.partition_point(|range| u32::from(range.end()) < first);
    ranges.get(at).is_some_and(|range| u32::from(range.start()) <= last)
}

impl Then {
    /// May the value of an escape be one of these?
    fn allows(&self, first: u32, last: u32) -> bool {
        first <= last
            && match self {
                Self::Term | Self::Member => true,
                &Self::Last(least) => last >= least,
                Self::Name { read, .. } => {
                    meets(if read.is_empty() { &START } else { &PART }, first, last)
                }
            }
    }

    /// The least of these that may be the value of an escape.
    fn least(&self, first: u32, last: u32) -> Option<u32> {
        if !self.allows(first, last) {
            return None;
        }
        Some(match self {
            Self::Term | Self::Member => first,
            &Self::Last(least) => first.max(least),
            Self::Name { read, .. } => {
                let ranges = if read.is_empty() { START.ranges() } else { PART.ranges() };
                let at = ranges.partition_point(|range| u32::from(range.end()) < first);
                first.max(ranges[at].start().into())
            }
        })
    }

    /// How many more hexadecimal digits make a number a code point that is allowed; `None` if none
    /// do.
    fn digits(&self, value: u32) -> Option<u32> {
        let most = u32::from(char::MAX);
        // A code point has six digits at most.
        (0..=6).take_while(|digits| value << (4 * digits) <= most).find(|digits| {
            let (first, last) = (value << (4 * digits), ((value + 1) << (4 * digits)) - 1);
            self.allows(first, last.min(most))
        })
    }
}

/// Of a range of units, those that are the second half of a surrogate pair, and the first.
fn halves(first: u32, last: u32) -> ((u32, u32), (u32, u32)) {
    ((first.max(0xDC00), last.min(0xDFFF)), (first.max(0xD800), last.min(0xDBFF)))
}

/// The code point of a surrogate pair.
fn pair(high: u32, low: u32) -> u32 {
    0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)
}

impl State {
    fn accepts(&self) -> bool {
        let done = self.open.is_empty() && self.wanted.is_empty() && self.referred == 0;
        done && match self.mode {
            Mode::Term { .. } | Mode::Repeated | Mode::Zero => true,
            Mode::Number(number) => number <= self.captures,
            _ => false,
        }
    }

    /// Does any character from `first` to `last`, none of which is ASCII, lead on?
    fn reads_beyond(&self, first: u32, last: u32) -> bool {
        match &self.mode {
            Mode::Term { .. } | Mode::Repeated | Mode::Zero | Mode::Number(_) | Mode::Group => true,
            Mode::Class { at: Member::Hyphen(end), .. } => end.is_some_and(|end| last >= end),
            Mode::Class { .. } => true,
            Mode::Behind => meets(&START, first, last),
            Mode::Name { read, .. } => {
                meets(if read.is_empty() { &START } else { &PART }, first, last)
            }
            _ => false,
        }
    }
}

impl CharAutomaton for Syntax {
    fn name(&self) -> &str {
        "patterns of ECMA-262"
    }

    fn start(&self) -> automaton::State {
        State::start().write()
    }

    fn accepts(&self, state: &[i64]) -> bool {
        State::decode(state).accepts()
    }

    fn step(&self, state: &[i64], c: char) -> Option<automaton::State> {
        Some(State::decode(state).after(c)?.write())
    }

    fn reads_any(&self, state: &[i64], first: u32, last: u32) -> bool {
        let state = State::decode(state);
        let leads_on = |c: char| state.clone().after(c).is_some();
        (first..=last.min(ASCII)).filter_map(char::from_u32).any(leads_on)
            || last > ASCII && state.reads_beyond(first.max(ASCII + 1), last)
    }

    fn reads_alike(&self, state: &[i64], first: u32, _: u32) -> bool {
        first > ASCII
            && match State::decode(state).mode {
                Mode::Term { .. } | Mode::Repeated | Mode::Zero | Mode::Number(_) | Mode::Group => {
                    true
                }
                Mode::Class { at: Member::Hyphen(Some(least)), .. } => first >= least,
                _ => false,
            }
    }

    fn ordinary(&self, state: &[i64]) -> Option<Ordinary> {
        let mut state = State::decode(state);
        let all =
            |holds: &dyn Fn(u8) -> bool| (0..=ASCII as u8).filter(|&byte| holds(byte)).collect();
        let but = |special: &str| all(&|byte| !special.contains(char::from(byte)));
        let mut later = ByteSet::EMPTY;
        let (bytes, beyond) = match &state.mode {
            Mode::Term { .. } | Mode::Repeated | Mode::Group => (but(SYNTAX), None),
            Mode::Class { at, tail, .. } if *tail != Tail::Zero => {
                match *at {
                    Member::Fresh | Member::After(_) => {}
                    Member::Hyphen(Some(first @ ..=ASCII)) => {
                        later = (0..first as u8).collect();
                        state = state.in_class(Member::Fresh, Tail::Nothing);
                    }
                    Member::Hyphen(_) => return None,
                }
                (but("^-]\\"), None)
            }
            Mode::Behind | Mode::Name { .. } => {
                let begins = !matches!(&state.mode, Mode::Name { read, .. } if !read.is_empty());
                let first: &ClassUnicode = if begins { &START } else { &PART };
                let bytes = all(&|byte| is_of_name(byte.into(), false));
                let base = None;
                return Some(Ordinary { bytes, later, beyond: Some([first, &PART]), base });
            }
            _ => return None,
        };
        Some(Ordinary { bytes, later, beyond, base: Some(state.write()) })
    }

    fn slack(&self, state: &[i64]) -> Option<Slack> {
        let state = State::decode(state);
        let counted = match &state.mode {
            // A number, or what may become one, refers to many groups.
            Mode::Number(_) | Mode::Escape { .. } => return None,
            Mode::Least { digits, .. } | Mode::Most { least: digits, .. } => digits.len(),
            _ => 0,
        };
        // What was asked for may be asked for anew: names that were begun, digits of a count. A
        // byte opens a group, a class, a count or half a pair.
        let (names, effort) = (state.names.len(), state.effort() as usize);
        let rest = state.rest().len();
        Some(Slack { base: 2 * rest + 4 * effort + counted + names + 16, by_byte: 8 })
    }

    fn rest(&self, state: &[i64]) -> String {
        State::decode(state).rest()
    }

    fn effort(&self, state: &[i64]) -> u32 {
        State::decode(state).effort()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::{Dialect, check};

    fn read(text: &str) -> Option<State> {
        text.chars().try_fold(State::start(), State::after)
    }

    fn is_pattern(text: &str) -> bool {
        read(text).is_some_and(|state| state.accepts())
    }

    #[test]
    fn patterns() {
        for pattern in [
            "",
            "|",
            "a|",
            "^(abc|de+?)*$",
            "(?:a){2}(?=b)(?!c)(?<=d)(?<!e)f{1,}?g{03,12}",
            "a{9,10}b{10,10}c{007,7}d{0,0}",
            "[]",
            "[^]",
            "[-a]",
            "[a-]",
            "[--a]",
            "[--]",
            "[a-b-c]",
            "[+--]",
            "[\\d-]",
            "[^^-b]",
            "[^\\]\\\\-]",
            "[\\0-\\x01\\b\\cA\\-z]",
            "[a-\\u{62}][\\u0061-b][\\t-\\n]",
            r"[\uD83D\uDE00-\u{1F601}]",
            r"[\u{1F600}-\uD83D\uDE01]",
            r"[\uD83D-\uD83E]",
            r"[\uDE00-\uDE01\uD83D]",
            r"[a-\uD83D\uDE00]",
            r"\uD83D\uDE00\uD83D\u0041\u{0}\u{00010FFFF}",
            r"\^\$\\\.\*\+\?\(\)\[\]\{\}\|\/",
            r"\0\cz\x7F\b\B\d\D\s\S\w\W\f\n\r\t\v",
            r"\p{L}\P{Script=Greek}[\p{Lu}\P{Any}-]",
            r"(a)\1",
            r"\2(a)(?:b)(c)",
            r"\10()()()()()()()()()()",
            r"(?<n>a)\k<n>",
            r"\k<é>(?<é>)",
            r"(?<\u0061\u{62}>)\k<ab>",
            r"(?<\uD835\uDC9C𝒜>)\k<𝒜𝒜>",
            "(?<$_a1>)(?<_>)",
            "(?<a>x)|(?<a>y)",
            "(?:(?<a>x)|(?<a>y))|(?<a>z)",
            "(?:(?<a>x)|y)(?:z|(?<b>w))",
            "(?i:a)(?im-s:b)(?-i:c)(?s-:d)",
            "é\u{1F600}\n\"",
        ] {
            assert!(is_pattern(pattern), "{pattern}");
        }
    }

    #[test]
    fn others() {
        for text in [
            "(",
            ")",
            "[",
            "]",
            "{",
            "}",
            "*",
            "a**",
            "a+?+",
            "a{1}{2}",
            "^*",
            "\\b+",
            "(?=a)*",
            "(?<!a)?",
            "a{",
            "a{,3}",
            "a{2,1}",
            "a{10,9}",
            "a{010,9}",
            "a{x}",
            "[b-a]",
            "[a-",
            "[\\d-a]",
            "[a-\\d]",
            "[\\p{L}-z]",
            "\\",
            "\\a",
            "\\Z",
            "\\_",
            "\\-",
            "\\c",
            "\\c1",
            "\\00",
            "\\01",
            "[\\1]",
            "[\\00]",
            "[\\B]",
            "[\\k]",
            "\\x0",
            "\\u123",
            "\\u{}",
            "\\u{110000}",
            "\\u{g}",
            "[\\u{62}-a]",
            "[\\u{1F601}-\\uD83D\\uDE00]",
            "[\\uD83D\\uDE00-\\uD83D]",
            "\\p",
            "\\p{",
            "\\p{l}",
            "\\p{Greek}",
            "\\p{IsGreek}",
            "\\1",
            "(a)\\2",
            "\\k",
            "\\k<a>",
            "(?<a>)\\k<b>",
            "(?<>)",
            "(?<1>)",
            "(?<a",
            "(?<a>)(?<a>)",
            "(?<a>(?<a>))",
            "(?:(?<a>)|b)(?<a>)",
            "(?<a>)(?:b|(?<a>))",
            "(?<\\u0031>)",
            "(?<\\uD835>)",
            "(?i)a",
            "(?ii:a)",
            "(?i-i:a)",
            "(?-:a)",
            "(?x:a)",
            "(?P<n>a)",
            "(?P=n)",
            "(?#c)",
            "(?>a)",
            "(?",
            "(?:",
            "(?'n'a)",
        ] {
            assert!(!is_pattern(text), "{text}");
        }
    }

    /// Texts drawn at random, by characters that mean something: from each of their states the
    /// rest makes a pattern, which is one to the reader of patterns, too.
    #[test]
    fn every_state_leads_to_a_pattern() {
        let pieces = [
            "a", "b", "é", "1", "0", "2", "(", "(?", "(?:", "(?=", "(?<", "(?<a", ">", ")", "[",
            "[^", "]", "-", "\\", "\\u", "\\u{", "D83D", "DE00", "00", "}", "\\x", "\\c", "\\p{",
            "L", "Script=", "\\k<", "|", "*", "?", "{", ",", "\\1", "\\3", "d", "k", "<", "=", "i",
            ":", "^", "\\uD83D",
        ];
        // Linear congruential: Knuth, The Art of Computer Programming 2, section 3.3.4.
        let mut seed = 1_u64;
        let mut draw = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let (mut patterns, mut modes) = (0, std::collections::HashSet::new());
        for _ in 0..3_000 {
            let (mut text, mut state) = (String::new(), State::start());
            // How long the rest can become, from places behind which no backslash stands.
            let mut bounds: Vec<(usize, Slack)> = Vec::new();
            for _ in 0..draw(25) {
                let piece = pieces[draw(pieces.len())];
                if let Some(next) = piece.chars().try_fold(state.clone(), State::after) {
                    text.push_str(piece);
                    state = next;
                    modes.insert(std::mem::discriminant(&state.mode));
                    assert_eq!(State::decode(&state.write()), state);
                    if piece.contains('\\') {
                        bounds.clear();
                    }
                    let rest = state.clone().rest();
                    let bytes = rest.len() + rest.matches('\\').count();
                    for (from, slack) in &bounds {
                        let most = slack.base + slack.by_byte * (text.len() - from);
                        assert!(bytes <= most, "{text:?} {rest:?} {slack:?}");
                    }
                    bounds.extend(Syntax.slack(&state.write()).map(|slack| (text.len(), slack)));
                }
            }
            let rest = state.clone().rest();
            let end = rest.chars().try_fold(state.clone(), State::after);
            assert!(end.is_some_and(|end| end.accepts()), "{text:?} {state:?} {rest:?}");
            text.push_str(&rest);
            let reader = check(&text, Dialect::Ecma);
            // References are of no regular meaning, and surrogates alone of none.
            if let Err(error) = reader {
                let message = error.message();
                assert!(message.contains("backreference"), "{text:?}: {message}");
            }
            patterns += usize::from(text.len() > 10);
        }
        assert!(patterns > 1_000 && modes.len() > 15, "{patterns} {}", modes.len());
    }

    #[test]
    fn ranges_are_those_of_characters() {
        for text in
            ["", "a", "[a-", "[é-", "[\\u{1F600}-", "(?<", "(?<a", "\\", "a{", "[a\\d-", "\\p{"]
        {
            let state = read(text).unwrap();
            for (first, last) in [
                (0, 0x7F),
                (0x30, 0x39),
                (0x7F, 0x80),
                (0x80, 0xBF),
                (0x2000, 0x206F),
                (0xE000, 0xE0FF),
                (0x1_F5F0, 0x1_F5FF),
                (0x1_F5F0, 0x1_F600),
                (0x10_FF00, 0x10_FFFF),
            ] {
                let any = (first..=last)
                    .filter_map(char::from_u32)
                    .any(|c| state.clone().after(c).is_some());
                assert_eq!(Syntax.reads_any(&state.write(), first, last), any, "{text} {first:x}");
            }
        }
    }
}
