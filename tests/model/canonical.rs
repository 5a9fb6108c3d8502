//! Canonical tokenisations against the tokenizers themselves: what a tokenizer writes is never
//! refused, and what is allowed token by token, it writes.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::sync::Arc;

use crate::model_support::shared;
use maskwright::model::{Canonical, Tokenizer};
use maskwright::vocabulary::{Encode, Vocabulary};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const TEXTS: [&str; 9] = [
    "The quick brown fox's tail isn't what it was; they've seen 12345 of 67,890.",
    "{\"name\":\"Ada Lovelace\",\"born\":1815,\"tags\":[\"maths\",\"engines\"],\"ok\":true}",
    "{\n  \"a\": [\n    1,\n    2\n  ],\n\n\t\"b\": null\n}\n",
    "fn main() {\n    let x = a.iter().map(|y| y + 1);\n}\n\n\n",
    "Straße, naïve, Übermut, 日本語のテキスト、漢字。 Привет, мир! مرحبا",
    "emoji 😀😃 and 👩‍👩‍👧‍👦 and \u{1F1E9}\u{1F1EA}, and rare 𒀀𓂀 \u{10FFFF}",
    "  leading,   inner    and trailing   ",
    "http://example.com/a?b=c&d=%20#frag   x²+y²≤z²",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa ======== -------- ........",
];

const BPE: [&str; 7] =
    ["gpt2", "llama-3.2", "mistral-7b-v0.1", "phi-3-mini", "qwen2.5", "smollm2", "gemma-3"];

/// The tokens of a text in the middle of another: without what is put before every text.
fn encode(tokenizer: &Tokenizer, vocabulary: &Vocabulary, text: &str) -> Vec<u32> {
    let mut ids = tokenizer.encode(text).unwrap();
    // Where a space was put there, the first token may be any that begins with it.
    if vocabulary.decode(&ids) != text.as_bytes() {
        ids = tokenizer.encode(text.trim_start()).unwrap();
    }
    ids
}

#[test]
fn what_the_tokenizer_writes_is_allowed_and_what_is_allowed_it_writes() {
    let Some(folder) = shared("tokenizers") else { return };
    for name in BPE {
        let json = std::fs::read(folder.join(name).join("tokenizer.json")).unwrap();
        let tokenizer = Arc::new(Tokenizer::from_bytes(&json).unwrap());
        let vocabulary = Arc::new(Vocabulary::from_tokenizer_json(&json).unwrap());
        let text_tokens = vocabulary.trie().ids();
        for text in TEXTS {
            let ids = encode(&tokenizer, &vocabulary, text);
            let mut canonical = Canonical::new(&tokenizer, &vocabulary).unwrap();
            for (at, &id) in ids.iter().enumerate() {
                let allowed = canonical.allows(&ids[..at], id).unwrap();
                assert!(allowed, "{name}: token {at} of {text:?}: {ids:?}");
            }
            assert!(canonical.allows_end(&ids).unwrap(), "{name}: the end of {text:?}");
            // A special token is no text.
            let with_special = [&ids[..], &vocabulary.end_tokens()[..1]].concat();
            assert!(canonical.allows_end(&with_special).unwrap(), "{name}: a token after {text:?}");
        }
        // Steps at random, biased to what could go wrong: pieces of the same words.
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut below = |n: usize| (rng.next_u64() % n as u64) as usize;
        let pieces: Vec<u32> = TEXTS
            .iter()
            .flat_map(|text| text.char_indices().map(move |(at, _)| &text[at..]))
            .filter_map(|rest| {
                let (mut node, mut found) = (0, Vec::new());
                for &byte in rest.as_bytes() {
                    match vocabulary.trie().child(node, byte) {
                        Some(child) => node = child,
                        None => break,
                    }
                    found.extend(vocabulary.trie().tokens(node).first().copied());
                }
                let at = below(found.len().max(1));
                found.get(at).copied()
            })
            .collect();
        let (mut refused, mut taken, mut whole) = (0, 0, 0);
        for round in 0..60 {
            let mut canonical = Canonical::new(&tokenizer, &vocabulary).unwrap();
            let (mut ids, mut tries) = (Vec::new(), 0);
            let length = if round % 10 == 0 { 120 } else { 1 + below(12) };
            while ids.len() < length && tries < 60 * length {
                tries += 1;
                let id = match below(3) {
                    0 => text_tokens[below(text_tokens.len())],
                    _ => pieces[below(pieces.len())],
                };
                if canonical.allows(&ids, id).unwrap() { ids.push(id) } else { refused += 1 }
            }
            taken += ids.len();
            if !canonical.allows_end(&ids).unwrap() {
                continue;
            }
            let bytes = vocabulary.decode(&ids);
            let Some(text) = std::str::from_utf8(&bytes).ok().filter(|t| !t.trim().is_empty())
            else {
                continue;
            };
            // A tokenizer that puts a space before every text: it is taken from the text's own.
            let text = if vocabulary.strips_leading_space() {
                match text.strip_prefix(' ') {
                    Some(rest) => rest,
                    None => continue,
                }
            } else {
                text
            };
            assert_eq!(tokenizer.encode(text).unwrap(), ids, "{name}: {text:?}");
            whole += 1;
        }
        eprintln!("{name}: {taken} tokens taken, {refused} refused, {whole} texts compared");
        assert!(refused > 50 && whole > 3, "{name}");
    }
}

#[test]
fn other_tokenizers_are_refused_by_name() {
    let Some(folder) = shared("tokenizers") else { return };
    let json = std::fs::read(folder.join("t5-small-unigram/tokenizer.json")).unwrap();
    let tokenizer = Arc::new(Tokenizer::from_bytes(&json).unwrap());
    let vocabulary = Arc::new(Vocabulary::from_tokens(vec![], &[], &[]).unwrap());
    let error = Canonical::new(&tokenizer, &vocabulary).unwrap_err().to_string();
    assert!(error.starts_with("canonical tokenisations are known of byte-pair"), "{error}");
}
