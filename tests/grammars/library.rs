//! The grammars that come with the program.

use std::path::Path;

use maskwright::{Constraint, ebnf};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::{accepts, compiler};

fn built_in(name: &str) -> Constraint {
    let known = ebnf::builtin(name).unwrap();
    compiler().grammar(known.text, known.dialect).unwrap()
}

/// Examples stand one a line, or, where texts have several lines, between lines of `----`.
#[test]
fn examples_are_accepted_and_rejected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars");
    for known in ebnf::GRAMMARS {
        let (name, constraint) = (known.name, built_in(known.name));
        for (kind, expected) in [("accept", true), ("reject", false)] {
            let file = folder.join(format!("{name}.{kind}.txt"));
            let text = std::fs::read_to_string(file).unwrap();
            let examples: Vec<&str> = match text.strip_suffix("\n----\n") {
                Some(text) => text.split("\n----\n").collect(),
                None => text.lines().collect(),
            };
            assert!(examples.len() > 5, "{name} {kind}");
            for example in examples {
                assert_eq!(accepts(&constraint, example), expected, "{name}: {example:?}");
            }
        }
    }
}

/// A random text of the grammar, byte by byte; steps to the end as soon as it may once it is long.
fn sample(constraint: &Constraint, random: &mut ChaCha8Rng) -> Option<Vec<u8>> {
    let (mut matcher, mut text) = (constraint.matcher(), Vec::new());
    for step in 0..400 {
        if matcher.is_accepting() && (step > 40 || random.random_ratio(1, 8)) {
            return Some(text);
        }
        let bytes: Vec<u8> = matcher.expected().unwrap().bytes.iter().collect();
        // Closing bytes more often than their share, so that texts end.
        let closing: Vec<u8> = bytes.iter().copied().filter(|b| b"\"}])".contains(b)).collect();
        let from = if !closing.is_empty() && random.random_ratio(1, 2) { &closing } else { &bytes };
        let &byte = from.get(random.random_range(0..from.len().max(1)))?;
        matcher.accept_bytes(&[byte]).unwrap();
        text.push(byte);
    }
    None
}

#[test]
fn json_agrees_with_serde_json_on_samples_and_near_misses() {
    let constraint = built_in("json");
    let mut random = ChaCha8Rng::seed_from_u64(1);
    let (mut texts, mut accepted) = (0, 0);
    while texts < 2_000 {
        let Some(mut text) = sample(&constraint, &mut random) else { continue };
        if texts % 2 == 1 && !text.is_empty() {
            let at = random.random_range(0..text.len());
            text[at] = b"{}[],:\"\\0-.eu 1"[random.random_range(0..15)];
        }
        let Ok(text) = String::from_utf8(text) else { continue };
        texts += 1;
        let ours = accepts(&constraint, &text);
        accepted += usize::from(ours);
        match serde_json::from_str::<serde_json::Value>(&text) {
            Ok(_) => assert!(ours, "{text:?}"),
            // serde_json refuses lone surrogates and numbers beyond a double, which RFC 8259
            // leaves to the reader.
            Err(e)
                if ["surrogate", "out of range", "hex escape"]
                    .iter()
                    .any(|w| e.to_string().contains(w)) => {}
            Err(e) => assert!(!ours, "{text:?}: {e}"),
        }
    }
    assert!(accepted > 900 && accepted < 1_900, "{accepted}");
}
