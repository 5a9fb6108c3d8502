//! Vocabularies of real tokenizers, and damaged files.
//!
//! The real files are not part of the package: `MASKWRIGHT_SHARED` names a folder that holds
//! `tokenizers/`, `gguf/` and `models/`. Without it those tests say so and pass.

#![allow(clippy::unwrap_used, clippy::print_stderr, clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use maskwright::vocabulary::Trie;
use maskwright::{ErrorKind, TokenMask, Vocabulary};

mod damaged;
mod encoders;
mod index;

/// A file of the shared folder, or `None` where there is no such folder.
fn shared(path: &str) -> Option<PathBuf> {
    let Some(root) = std::env::var_os("MASKWRIGHT_SHARED") else {
        eprintln!("skipped: MASKWRIGHT_SHARED names no folder with real tokenizers");
        return None;
    };
    let path = PathBuf::from(root).join(path);
    assert!(path.exists(), "{} is missing", path.display());
    Some(path)
}

/// Facts of a real file: path, width, end tokens by name, whether it strips a leading space.
type Known = (&'static str, usize, &'static [&'static str], bool);

const KNOWN: [Known; 15] = [
    ("tokenizers/gpt2", 50_257, &["<|endoftext|>"], false),
    ("tokenizers/llama-3.2", 128_256, &["<|eot_id|>", "<|end_of_text|>", "<|eom_id|>"], false),
    ("tokenizers/qwen2.5", 151_665, &["<|im_end|>", "<|endoftext|>"], false),
    ("tokenizers/smollm2", 49_152, &["<|im_end|>", "<|endoftext|>"], false),
    ("tokenizers/mistral-7b-v0.1/tokenizer.json", 32_000, &["</s>"], true),
    ("tokenizers/phi-3-mini", 32_011, &["<|endoftext|>", "<|end|>"], true),
    ("tokenizers/gemma-3", 262_145, &["<end_of_turn>", "<eos>"], false),
    ("models/stories260K/tokenizer.json", 512, &["</s>"], true),
    ("models/stories260K", 512, &["</s>"], true),
    ("tokenizers/tiktoken/o200k_base.tiktoken", 200_019, &["<|endoftext|>"], false),
    ("tokenizers/tiktoken/cl100k_base.tiktoken", 100_277, &["<|endoftext|>"], false),
    ("gguf/ggml-vocab-gpt-2.gguf", 50_257, &["<|endoftext|>"], false),
    ("gguf/ggml-vocab-llama-spm.gguf", 32_000, &["</s>"], true),
    ("gguf/ggml-vocab-phi-3.gguf", 32_064, &["<|endoftext|>", "<|end|>"], true),
    ("models/stories260K/stories260K-f32.gguf", 512, &["</s>"], true),
];

#[test]
fn real_files_load() {
    for (path, len, end, strips) in KNOWN {
        let Some(path) = shared(path) else { return };
        let vocab = Vocabulary::from_file(&path).unwrap();
        assert_eq!(vocab.len(), len, "{}", path.display());
        let names: Vec<_> = vocab.end_tokens().iter().map(|&id| vocab.token_name(id)).collect();
        assert_eq!(names, end, "{}", path.display());
        assert_eq!(vocab.strips_leading_space(), strips, "{}", path.display());
        for &id in vocab.end_tokens() {
            assert_eq!(vocab.token_named(&vocab.token_name(id)), Some(id));
            assert!(vocab.is_special(id) && vocab.token_bytes(id).is_none());
        }
        holds_every_text_token(vocab.trie(), &vocab);
        let reaches_end = vocab.token_bytes(len as u32 - 1).is_some()
            || vocab.end_tokens().contains(&(len as u32 - 1));
        assert_eq!(vocab.clone().with_logits_width(len - 1).is_err(), reaches_end);
        assert!(vocab.with_logits_width(len / 2).is_err());
    }
}

/// The trie has each text token once, at the node that spells it.
fn holds_every_text_token(trie: &Trie, vocab: &Vocabulary) {
    let mut seen = TokenMask::new(vocab.len());
    let mut string = Vec::new();
    for (index, node) in trie.nodes().iter().enumerate() {
        string.truncate(usize::from(node.depth).saturating_sub(1));
        string.extend((node.depth > 0).then_some(node.byte));
        assert!(node.subtree_end as usize > index);
        for &id in trie.tokens(index) {
            assert_eq!(vocab.token_bytes(id), Some(&string[..]));
            assert!(!seen.contains(id));
            seen.allow(id);
        }
    }
    let texts =
        (0..vocab.len() as u32).filter(|&id| vocab.token_bytes(id).is_some_and(|b| !b.is_empty()));
    assert!(seen.iter().eq(texts));
}

/// Load times; run with `--release --nocapture` to read them.
#[test]
fn report_load_times() {
    for (path, ..) in KNOWN {
        let Some(path) = shared(path) else { return };
        let mut best = f64::INFINITY;
        let mut rebuild = f64::INFINITY;
        for _ in 0..3 {
            let start = Instant::now();
            let vocab = Vocabulary::from_file(&path).unwrap();
            best = best.min(start.elapsed().as_secs_f64());
            // Turning a piece of text into an end token lays the trie out anew.
            let start = Instant::now();
            let some_text = vocab.trie().ids()[0];
            let vocab = vocab.with_end_tokens(&[some_text]).unwrap();
            rebuild = rebuild.min(start.elapsed().as_secs_f64());
            drop(vocab);
        }
        let (all, trie) = (best * 1e3, rebuild * 1e3);
        println!("{}: {all:.1} ms, of which trie {trie:.1} ms", path.display());
    }
}

#[test]
fn what_has_no_exact_bytes_is_refused() {
    let cases = [
        ("tokenizers/bert-base-cased-wordpiece", "the WordPiece model has no exact bytes"),
        ("tokenizers/t5-small-unigram", "the Unigram model has no exact bytes"),
        ("tokenizers/broken-merges", "at /model/merges/18917: broken merge"),
        ("tokenizers", "the folder has no tokenizer.json"),
        ("models/stories260K/stories260K.bin", "not a vocabulary file"),
        ("tokenizers/no-such-file", "No such file"),
    ];
    for (path, expected) in cases {
        let root = if path.ends_with("no-such-file") { "" } else { path };
        let Some(_) = shared(root) else { return };
        let path = shared("").unwrap().join(path);
        let error = Vocabulary::from_file(&path).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.place().file.as_ref().unwrap().starts_with(&path));
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn added_tokens_that_are_not_special_are_text() {
    let cases = [
        ("tokenizers/qwen2.5", "<tool_call>", 151_657),
        ("tokenizers/phi-3-mini", "</s>", 2),
        ("tokenizers/gemma-3", "<unused0>", 6),
        ("gguf/ggml-vocab-phi-3.gguf", "</s>", 2),
    ];
    for (path, name, id) in cases {
        let Some(path) = shared(path) else { return };
        let vocab = Vocabulary::from_file(path).unwrap();
        assert_eq!(vocab.token_named(name), Some(id));
        assert_eq!(vocab.token_bytes(id), Some(name.as_bytes()));
        let node = vocab.trie().find(name.as_bytes()).unwrap();
        assert!(vocab.trie().tokens(node).contains(&id));
        // As an end token it is text no more.
        let vocab = vocab.with_end_tokens(&[id]).unwrap();
        assert_eq!(vocab.token_bytes(id), None);
    }
}

#[test]
fn bytes_may_be_lacking() {
    let Some(path) = shared("tokenizers/smollm2") else { return };
    let vocab = Vocabulary::from_file(path).unwrap();
    let single =
        |byte: &u8| vocab.trie().find(&[*byte]).is_some_and(|n| !vocab.trie().tokens(n).is_empty());
    assert_eq!((0..=255).filter(|byte| !single(byte)).count(), 21);
}

#[test]
fn a_wider_model_is_no_mismatch() {
    let Some(path) = shared("tokenizers/qwen2.5") else { return };
    let vocab = Vocabulary::from_file(path).unwrap().with_logits_width(151_936).unwrap();
    assert_eq!(vocab.len(), 151_936);
    assert_eq!(vocab.token_bytes(151_900), None);
    let error = vocab.with_logits_width(32_000).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Model);
    assert!(error.to_string().contains("151664") && error.to_string().contains("32000"));
}
