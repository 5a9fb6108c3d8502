//! The format `regex`: which texts it accepts, beside an ECMAScript engine; its masks, beside plain
//! acceptance; texts under a budget.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use maskwright::json_schema::{Options, Spelling};
use maskwright::{Compiler, Constraint, Limits, Vocabulary};
use rand::{RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// Pieces of text with a meaning in a pattern.
const PIECES: &[&str] = &[
    "a", "b", "é", "→", "1", "0", "2", "(", "(?", "(?:", "(?=", "(?<", "(?<a", "(?<a>", "(?<b>",
    ">", ")", "[", "[^", "[a-", "]", "-", "\\", "\\u", "\\u{", "\\uD83D", "\\uDE00", "00", "}",
    "\\x", "\\c", "\\p{", "L", "Script=", "Greek", "\\k<", "\\k<a>", "|", "*", "?", "{", ",",
    "\\1", "\\3", "d", "k", "<", "=", "i", ":", "^", "$", "\"", "\n", "😀", "b-", "é-", "{2,1",
    "\\0", "\\b", "/",
];

/// Whether an ECMAScript engine reads it with the flag `u`; `None` where this one is known not to
/// do as
/// ECMA-262 says: it repeats `\b`, and takes `\u` after the first half of a surrogate pair for the
/// other half, whatever follows.
fn judged(text: &str) -> Option<bool> {
    let repeated = ["\\b", "\\B"].iter().any(|boundary| {
        text.match_indices(boundary).any(|(at, _)| text[at + 2..].starts_with(['*', '+', '?', '{']))
    });
    let halves = text.to_lowercase().matches("\\ud").count();
    let deep = text.matches('(').count() > 100;
    let strange = repeated || deep || halves > 0 && text.matches("\\u").count() > 1;
    (!strange).then(|| regress::Regex::with_flags(text, "u").is_ok())
}

fn random_text(rng: &mut ChaCha8Rng, most: usize) -> String {
    (0..rng.random_range(0..most)).map(|_| PIECES[rng.random_range(0..PIECES.len())]).collect()
}

/// The format over a vocabulary of all bytes and more tokens.
fn compile(more: &[Vec<u8>], spelling: Spelling) -> Constraint {
    let mut options = Options::default();
    options.spelling = spelling;
    let tokens = (0..=u8::MAX).map(|byte| vec![byte]).chain(more.iter().cloned());
    let vocabulary = Vocabulary::from_tokens(tokens.map(Some).collect(), &[], &[]).unwrap();
    let compiler = Compiler::new(vocabulary).with_json_options(options);
    compiler.json_schema_str(r#"{"type": "string", "format": "regex"}"#).unwrap()
}

fn accepts(constraint: &Constraint, text: &str) -> bool {
    let text = serde_json::to_string(text).unwrap();
    let mut matcher = constraint.matcher();
    matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
}

#[test]
fn texts_are_those_that_an_engine_reads() {
    let constraints = [Spelling::Canonical, Spelling::Any].map(|spelling| compile(&[], spelling));
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut patterns, mut others) = (0, 0);
    for _ in 0..6_000 {
        // A pattern with a piece more, or less, in it.
        let mut text = random_text(&mut rng, 12);
        if let Some(rest) = completed(&constraints[0], &text) {
            text = rest;
            let at = rng.random_range(0..=text.chars().count());
            if rng.random_bool(0.5) {
                let mut chars: Vec<char> = text.chars().collect();
                let piece = PIECES[rng.random_range(0..PIECES.len())].chars();
                chars.splice(at..(at + rng.random_range(0..2)).min(text.chars().count()), piece);
                text = chars.into_iter().collect();
            }
        }
        let Some(expected) = judged(&text) else { continue };
        for constraint in &constraints {
            assert_eq!(accepts(constraint, &text), expected, "{text:?}");
        }
        *(if expected { &mut patterns } else { &mut others }) += 1;
    }
    assert!(patterns > 1_000 && others > 500, "{patterns} {others}");
}

/// The longest beginning of a text from which a pattern comes, completed.
fn completed(constraint: &Constraint, text: &str) -> Option<String> {
    let text = serde_json::to_string(text).unwrap();
    let mut matcher = constraint.matcher();
    let (mut written, mut left) = (Vec::new(), 4_000);
    for &byte in &text.as_bytes()[..text.len() - 1] {
        if matcher.accept(byte.into()).is_err() {
            break;
        }
        written.push(byte);
    }
    while !matcher.is_accepting() {
        let needed = matcher.tokens_to_finish().ok()?.tokens;
        assert!(needed < left, "the way to the end is no shorter");
        left = needed;
        let token = matcher.mask_within(left).ok()?.iter().next()?;
        matcher.accept(token).ok()?;
        written.extend_from_slice(constraint.vocabulary().token_bytes(token).unwrap());
    }
    serde_json::from_slice(&written).ok()
}

/// As it stands between quotes.
fn in_json(text: &str) -> String {
    serde_json::to_string(text).unwrap().trim_matches('"').to_owned()
}

/// Texts of some pieces, not all of whole characters.
fn random_tokens(rng: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
    (0..3_000)
        .map(|_| {
            let mut text = in_json(&random_text(rng, 5)).into_bytes();
            if rng.random_bool(0.1) {
                // Not all tokens are whole characters.
                text.extend([&b"\xE2"[..], b"\"", b"\xE2\x86", b"\\"][rng.random_range(0..4)]);
            }
            text
        })
        .filter(|text| text.len() > 1)
        .collect()
}

#[test]
fn masks_are_acceptance() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let more = random_tokens(&mut rng);
    let mut masks = 0;
    for spelling in [Spelling::Canonical, Spelling::Any] {
        let constraint = compile(&more, spelling);
        let vocabulary = constraint.vocabulary();
        for _ in 0..60 {
            let mut matcher = constraint.matcher();
            if matcher.accept_bytes(b"\"").is_err() {
                continue;
            }
            // Piece by piece, so that masks from many places are known before.
            for _ in 0..rng.random_range(0..8) {
                let piece = in_json(PIECES[rng.random_range(0..PIECES.len())]);
                if matcher.accept_bytes(piece.as_bytes()).is_ok() && !matcher.is_accepting() {
                    let mask = matcher.mask().unwrap().clone();
                    for token in 0..vocabulary.len() as u32 {
                        let bytes = vocabulary.token_bytes(token).unwrap();
                        let mut after = matcher.clone();
                        let accepted = after.accept_bytes(bytes).is_ok();
                        let shown = String::from_utf8_lossy(bytes);
                        assert_eq!(mask.contains(token), accepted, "{piece:?} {shown:?}");
                    }
                    masks += 1;
                }
            }
        }
    }
    assert!(masks > 100, "{masks}");
}

#[test]
fn walks_within_a_budget_end_in_patterns() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let pieces = PIECES.iter().map(|piece| serde_json::to_string(piece).unwrap());
    let more = pieces.map(|piece| piece.trim_matches('"').as_bytes().to_vec());
    let more: Vec<Vec<u8>> = more.filter(|piece| piece.len() > 1).collect();
    let constraint = compile(&more, Spelling::Canonical);
    let mut long = 0;
    for _ in 0..300 {
        let mut matcher = constraint.matcher();
        let (mut written, mut left) = (Vec::new(), rng.random_range(2..60));
        while !matcher.is_accepting() {
            let mask = matcher.mask_within(left).unwrap();
            let tokens: Vec<u32> = mask.iter().collect();
            assert!(!tokens.is_empty(), "{:?}", String::from_utf8_lossy(&written));
            let token = tokens[rng.random_range(0..tokens.len())];
            matcher.accept(token).unwrap();
            written.extend_from_slice(constraint.vocabulary().token_bytes(token).unwrap());
            left -= 1;
        }
        let text: String = serde_json::from_slice(&written).unwrap();
        assert_ne!(judged(&text), Some(false), "{text:?}");
        long += usize::from(text.len() > 10);
    }
    assert!(long > 50, "{long}");
}

/// One text adds few states beside those that the limit allows.
#[test]
fn one_matcher_reads_many_texts() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let limits = Limits { language_states: 50_000, ..Limits::default() };
    let tokens = (0..=u8::MAX).map(|byte| vec![byte]).chain(random_tokens(&mut rng));
    let vocabulary = Vocabulary::from_tokens(tokens.map(Some).collect(), &[], &[]).unwrap();
    let constraint = Compiler::new(vocabulary)
        .with_limits(limits)
        .json_schema_str(r#"{"type": "string", "format": "regex"}"#)
        .unwrap();
    let first = constraint.matcher();
    let mut bytes = 0;
    for _ in 0..400 {
        let Some(text) = completed(&constraint, &random_text(&mut rng, 16)) else { continue };
        let mut matcher = first.clone();
        for &byte in serde_json::to_string(&text).unwrap().as_bytes() {
            assert!(matcher.mask().unwrap().contains(byte.into()), "{text:?}");
            matcher.accept(byte.into()).unwrap();
            bytes += 1;
        }
        assert!(matcher.is_accepting());
    }
    assert!(bytes > 3_000, "{bytes}");
}
