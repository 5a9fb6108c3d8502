//! The texts that are regular expressions of ECMA-262 (2025 edition, section 22.2.1 with the `u`
//! flag), as an automaton over characters: the JSON Schema format `regex`.
//!
//! This language is not regular, and not even context-free: parentheses nest, `[b-a]` and `{2,1}`
//! are invalid, `\3` requires three groups and `\k<x>` one of that name, wherever they stand, and
//! two groups that can match together must not share a name. So a state records what these rules
//! need: the open groups, the number of groups, names, and the position in the syntax. States are
//! computed as they are read.
//!
//! From every state some text completes the pattern: open groups can be closed, and groups that are
//! referred to can be written. To bound its length, `\N` stops at `MAX_GROUP_NUMBER`.
//!
//! | file | part |
//! |---|---|
//! | `state` | states |
//! | `transition` | the state after a character |
//! | `escape_target` | values that an escape may have |
//! | `completion` | a short text that completes a pattern |
//! | `codec` | states as numbers |
//! | `properties` | names of Unicode properties |

mod codec;
mod completion;
mod escape_target;
mod properties;
mod state;
mod transition;

use self::state::{ClassPosition, OpenEscape, PatternState, SyntaxPosition};
use self::transition::SYNTAX_CHARACTERS;
use super::json_escapes::CharAutomaton;
use crate::regular::ByteSet;
use crate::regular::automaton::{AutomatonState, CompletionGrowth, OrdinaryChars};
use crate::regular::syntax::identifiers::{PART, START, is_group_name_char};

/// The patterns of ECMA-262.
#[derive(Debug)]
pub(crate) struct EcmaPatterns;

/// The last code point of ASCII.
const ASCII: u32 = 0x7F;

impl CharAutomaton for EcmaPatterns {
    fn name(&self) -> &str {
        "patterns of ECMA-262"
    }

    fn start(&self) -> AutomatonState {
        PatternState::start().write()
    }

    fn accepts(&self, state: &[i64]) -> bool {
        PatternState::decode(state).accepts()
    }

    fn step(&self, state: &[i64], c: char) -> Option<AutomatonState> {
        Some(PatternState::decode(state).after(c)?.write())
    }

    fn reads_any(&self, state: &[i64], first: u32, last: u32) -> bool {
        let state = PatternState::decode(state);
        let leads_on = |c: char| state.clone().after(c).is_some();
        (first..=last.min(ASCII)).filter_map(char::from_u32).any(leads_on)
            || last > ASCII && state.reads_beyond(first.max(ASCII + 1), last)
    }

    fn reads_like_last(&self, state: &[i64], first: u32, _: u32) -> bool {
        first > ASCII
            && match PatternState::decode(state).mode {
                SyntaxPosition::Term { .. }
                | SyntaxPosition::Repeated
                | SyntaxPosition::Zero
                | SyntaxPosition::Number(_)
                | SyntaxPosition::Group => true,
                SyntaxPosition::Class { at: ClassPosition::Hyphen(Some(least)), .. } => {
                    first >= least
                }
                _ => false,
            }
    }

    fn ordinary(&self, state: &[i64]) -> Option<OrdinaryChars> {
        let mut state = PatternState::decode(state);
        let all =
            |holds: &dyn Fn(u8) -> bool| (0..=ASCII as u8).filter(|&byte| holds(byte)).collect();
        let but = |special: &str| all(&|byte| !special.contains(char::from(byte)));
        let mut later = ByteSet::EMPTY;
        let (bytes, beyond) = match &state.mode {
            SyntaxPosition::Term { .. } | SyntaxPosition::Repeated | SyntaxPosition::Group => {
                (but(SYNTAX_CHARACTERS), None)
            }
            SyntaxPosition::Class { at, tail, .. } if *tail != OpenEscape::Zero => {
                match *at {
                    ClassPosition::Fresh | ClassPosition::After(_) => {}
                    ClassPosition::Hyphen(Some(first @ ..=ASCII)) => {
                        later = (0..first as u8).collect();
                        state = state.in_class(ClassPosition::Fresh, OpenEscape::Nothing);
                    }
                    ClassPosition::Hyphen(_) => return None,
                }
                (but("^-]\\"), None)
            }
            SyntaxPosition::Behind | SyntaxPosition::GroupName { .. } => {
                let begins = !matches!(&state.mode, SyntaxPosition::GroupName { read, .. } if !read.is_empty());
                let first: &_ = if begins { &START } else { &PART };
                let bytes = all(&|byte| is_group_name_char(byte.into(), false));
                let base = None;
                return Some(OrdinaryChars { bytes, later, beyond: Some([first, &PART]), base });
            }
            _ => return None,
        };
        Some(OrdinaryChars { bytes, later, beyond, base: Some(state.write()) })
    }

    fn completion_growth(&self, state: &[i64]) -> Option<CompletionGrowth> {
        let state = PatternState::decode(state);
        let counted = match &state.mode {
            // A number, or what may become one, refers to many groups.
            SyntaxPosition::Number(_) | SyntaxPosition::Escape { .. } => return None,
            SyntaxPosition::Least { digits, .. } | SyntaxPosition::Most { least: digits, .. } => {
                digits.len()
            }
            _ => 0,
        };
        // What was asked for may be asked for anew: names that were begun, digits of a count. A
        // byte opens a group, a class, a count or half a pair.
        let (names, estimate) = (state.names.len(), state.completion_estimate() as usize);
        let rest = state.completion().len();
        Some(CompletionGrowth { base: 2 * rest + 4 * estimate + counted + names + 16, per_byte: 8 })
    }

    fn completion(&self, state: &[i64]) -> String {
        PatternState::decode(state).completion()
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        PatternState::decode(state).completion_estimate()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::{Dialect, check};

    fn read(text: &str) -> Option<PatternState> {
        text.chars().try_fold(PatternState::start(), PatternState::after)
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
            let (mut text, mut state) = (String::new(), PatternState::start());
            // How long the rest can become, from places without a backslash after them.
            let mut bounds: Vec<(usize, CompletionGrowth)> = Vec::new();
            for _ in 0..draw(25) {
                let piece = pieces[draw(pieces.len())];
                if let Some(next) = piece.chars().try_fold(state.clone(), PatternState::after) {
                    text.push_str(piece);
                    state = next;
                    modes.insert(std::mem::discriminant(&state.mode));
                    assert_eq!(PatternState::decode(&state.write()), state);
                    if piece.contains('\\') {
                        bounds.clear();
                    }
                    let rest = state.clone().completion();
                    let bytes = rest.len() + rest.matches('\\').count();
                    for (from, growth) in &bounds {
                        let most = growth.base + growth.per_byte * (text.len() - from);
                        assert!(bytes <= most, "{text:?} {rest:?} {growth:?}");
                    }
                    bounds.extend(
                        EcmaPatterns
                            .completion_growth(&state.write())
                            .map(|growth| (text.len(), growth)),
                    );
                }
            }
            let rest = state.clone().completion();
            let end = rest.chars().try_fold(state.clone(), PatternState::after);
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
                assert_eq!(
                    EcmaPatterns.reads_any(&state.write(), first, last),
                    any,
                    "{text} {first:x}"
                );
            }
        }
    }
}
