//! Damaged files and plain noise: an error, never a panic.

use maskwright::{ErrorKind, Vocabulary};
use proptest::prelude::*;

/// A GGUF file with a small vocabulary, by the format's description.
pub(crate) fn gguf(version: u32, model: &str) -> Vec<u8> {
    fn string(out: &mut Vec<u8>, s: &[u8]) {
        out.extend((s.len() as u64).to_le_bytes());
        out.extend(s);
    }
    fn key(out: &mut Vec<u8>, key: &str, kind: u32) {
        string(out, key.as_bytes());
        out.extend(kind.to_le_bytes());
    }
    let tokens: [(&str, i32); 9] = [
        ("<unk>", 2),
        ("</s>", 3),
        ("<0x0A>", 6),
        ("▁a", 1),
        ("b", 1),
        ("<tool>", 4),
        ("[PAD]", 5),
        ("Ġc", 1),
        ("<|im_end|>", 3),
    ];
    let mut out = b"GGUF".to_vec();
    out.extend(version.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(6u64.to_le_bytes());
    key(&mut out, "tokenizer.ggml.model", 8);
    string(&mut out, model.as_bytes());
    key(&mut out, "general.nested", 9);
    out.extend(9u32.to_le_bytes());
    out.extend(1u64.to_le_bytes());
    out.extend(3u32.to_le_bytes());
    out.extend(2u64.to_le_bytes());
    out.extend([1, 0, 2, 0]);
    key(&mut out, "tokenizer.ggml.tokens", 9);
    out.extend(8u32.to_le_bytes());
    out.extend((tokens.len() as u64).to_le_bytes());
    tokens.iter().for_each(|(token, _)| string(&mut out, token.as_bytes()));
    key(&mut out, "tokenizer.ggml.token_type", 9);
    out.extend(5u32.to_le_bytes());
    out.extend((tokens.len() as u64).to_le_bytes());
    tokens.iter().for_each(|(_, kind)| out.extend(kind.to_le_bytes()));
    key(&mut out, "tokenizer.ggml.eos_token_id", 4);
    out.extend(1u32.to_le_bytes());
    key(&mut out, "tokenizer.ggml.add_space_prefix", 7);
    out.push(0);
    out
}

const TOKENIZER_JSON: &str = r#"{"added_tokens":[{"id":4,"content":"</s>","special":true}],
"normalizer":null,"pre_tokenizer":{"type":"ByteLevel"},"decoder":{"type":"Sequence","decoders":
[{"type":"ByteLevel"}]},"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2,"Ġ":3},"merges":
["a b",["a","b"]]}}"#;

const TIKTOKEN: &str = "IQ== 0\nIg== 1\nIyQ= 2\n/w== 3\n";

#[test]
fn a_gguf_vocabulary() {
    let vocab = Vocabulary::from_gguf(&gguf(3, "llama")).unwrap();
    let text: Vec<_> = (0..9).map(|id| vocab.token_bytes(id)).collect();
    let expected: [Option<&[u8]>; 9] = [
        None,
        None,
        Some(b"\n"),
        Some(b" a"),
        Some(b"b"),
        Some(b"<tool>"),
        None,
        Some("Ġc".as_bytes()),
        None,
    ];
    assert_eq!(text, expected);
    assert_eq!(vocab.end_tokens(), [1, 8]);
    assert_eq!(vocab.token_named("<tool>"), Some(5));
    assert!(!vocab.strips_leading_space());
    assert!(!vocab.is_special(6));
    let vocab = Vocabulary::from_gguf(&gguf(2, "gpt2")).unwrap();
    assert_eq!(vocab.decode(&[7, 5, 4]), b" c<tool>b");
    let vocab = Vocabulary::from_gguf(&gguf(3, "gemma4")).unwrap();
    assert_eq!(vocab.decode(&[3, 2, 7]), " a\nĠc".as_bytes());
}

/// A file that does not say whether a blank is put before a text: llama.cpp puts one for `llama`
/// alone.
#[test]
fn a_gguf_vocabulary_without_word_of_the_first_blank() {
    for (model, expected) in [("llama", true), ("gemma4", false), ("gpt2", false)] {
        let file = gguf(3, model).replace(b"add_space_prefix", b"other_key_prefix");
        let vocab = Vocabulary::from_gguf(&file).unwrap();
        assert_eq!(vocab.strips_leading_space(), expected, "{model}");
    }
}

#[test]
fn a_truncated_gguf_is_an_error() {
    let file = gguf(3, "llama");
    for len in 0..file.len() {
        let error = Vocabulary::from_gguf(&file[..len]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Vocabulary);
    }
}

#[test]
fn absurd_lengths_in_a_gguf_are_errors() {
    let file = gguf(3, "llama");
    // Every place where a length, a count or a type may stand, and more.
    for at in 4..file.len() {
        for width in [4, 8] {
            let mut damaged = file.clone();
            let end = (at + width).min(damaged.len());
            damaged[at..end].fill(0xFF);
            let _ = Vocabulary::from_gguf(&damaged);
        }
    }
    let mut endless = file[..8].to_vec();
    endless.extend(u64::MAX.to_le_bytes());
    endless.extend(u64::MAX.to_le_bytes());
    assert!(Vocabulary::from_gguf(&endless).is_err());
}

#[test]
fn other_ggufs_are_refused() {
    let cases = [
        (gguf(1, "llama"), "version 1 is not known"),
        (gguf(3u32.swap_bytes(), "llama"), "big-endian"),
        (gguf(3, "bert"), "`bert` has no exact bytes"),
        (gguf(3, "llama").replace(b"ggml.model", b"ggml.modem"), "no tokenizer"),
        (gguf(3, "llama").replace(b"ggml.tokens", b"ggml.tokenz"), "ggml.tokens"),
        (gguf(3, "llama").replace(b"<0x0A>", b"<0x0Z>"), "byte token 2"),
    ];
    for (file, expected) in cases {
        let error = Vocabulary::from_gguf(&file).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn deep_nesting_in_a_gguf_is_an_error() {
    let mut file = b"GGUF\x03\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    file.extend([1, 0, 0, 0, 0, 0, 0, 0, b'k', 9, 0, 0, 0]);
    for _ in 0..100_000 {
        file.extend([9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    }
    let error = Vocabulary::from_gguf(&file).unwrap_err();
    assert!(error.to_string().contains("nested too deeply"), "{error}");
}

trait Replace {
    fn replace(self, from: &[u8], to: &[u8]) -> Self;
}

impl Replace for Vec<u8> {
    fn replace(mut self, from: &[u8], to: &[u8]) -> Self {
        let at = self.windows(from.len()).position(|w| w == from).unwrap();
        self[at..at + from.len()].copy_from_slice(to);
        self
    }
}

fn load_all(bytes: &[u8]) {
    let _ = Vocabulary::from_tokenizer_json(bytes);
    let _ = Vocabulary::from_tiktoken(bytes);
    let _ = Vocabulary::from_gguf(bytes);
}

/// A change to a file: at this part of it, drop so many bytes and put these in their place.
fn edits() -> impl Strategy<Value = Vec<(f64, usize, Vec<u8>)>> {
    let interesting = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..9),
        prop::sample::select(vec![
            &b"null"[..],
            b"[]",
            b"{}",
            b"-1",
            b"1e9",
            b"\"",
            b"\\ud800",
            b",",
            b" "
        ])
        .prop_map(<[u8]>::to_vec),
    ];
    prop::collection::vec((0.0..1.0, 0usize..9, interesting), 1..5)
}

fn edited(mut file: Vec<u8>, edits: &[(f64, usize, Vec<u8>)]) -> Vec<u8> {
    for (part, drop, put) in edits {
        let start = (part * file.len() as f64) as usize;
        let end = (start + drop).min(file.len());
        file.splice(start..end, put.iter().copied());
    }
    file
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        load_all(&bytes);
        load_all(&[b"GGUF\x03\0\0\0", &bytes[..]].concat());
    }

    #[test]
    fn damage_never_panics(edits in edits()) {
        load_all(&edited(TOKENIZER_JSON.as_bytes().to_vec(), &edits));
        load_all(&edited(TIKTOKEN.as_bytes().to_vec(), &edits));
        load_all(&edited(gguf(3, "llama"), &edits));
        load_all(&edited(gguf(2, "gpt2"), &edits));
    }
}

#[test]
fn the_undamaged_files_load() {
    assert!(Vocabulary::from_tokenizer_json(TOKENIZER_JSON.as_bytes()).is_ok());
    assert!(Vocabulary::from_tiktoken(TIKTOKEN.as_bytes()).is_ok());
}
