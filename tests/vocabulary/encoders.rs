//! Against the tokenizers themselves: the bytes of the ids of a text are the text's.

use std::fs;

use maskwright::Vocabulary;

use crate::shared;

/// Texts in Unicode's composed form (NFC), since some tokenizers compose a text before they
/// encode it, and without `▁`, which SentencePiece cannot tell from a space.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = [
        "",
        "a",
        " ",
        "Hello, world!",
        " leading and trailing ",
        r#"{"name": "J\u00e9r\u00f4me", "tags": ["a", "b\n"], "n": -12.5e+10, "ok": null}"#,
        "{\n  \"items\": [\n    {\"id\": 1},\n\t{\"id\": 22}\n  ]\n}\n",
        "fn main() {\n    let x: Vec<&'static str> = vec![\"a\", r#\"b\"#];\n    println!(\"{x:?}\");\n}\n",
        "def f(x):\n\tif x == 0:  # zero\n\t\treturn None\n    \n\n\n    return x ** 2\r\n",
        "👩‍👩‍👧‍👦 👍🏽 🏳️‍🌈 🇪🇺 ☕️ 🫠",
        "我想在apple工作1314151天～ 日本語のテキスト、한국어 텍스트. 漢字𠮷野家",
        "Привет, мир! नमस्ते दुनिया สวัสดีชาวโลก مرحبا بالعالم שלום",
        "1 22 333 4444 55555 3.14159 0x1F 1e-9 １２３",
        "'s 't 're 've 'm 'll 'd I'LL we'Ve",
        "<|not_special|> </not> <0x0A> [INST] ĠĊ",
        "a\u{0}b\u{1}c\u{7f}d\u{1b}[0m\u{8}\u{c}\u{b}",
        "\u{200b}\u{200d}\u{feff}\u{a0}\u{2003}\u{3000}\u{2028}\u{ad}\u{202e}",
        "\u{fffd}\u{fffe}\u{10ffff}\u{e000}\u{f8ff}\u{100000}\u{1f9ff}\u{e0041}",
        "ሀ ꙮ 𒀀 𓀀 𝕳𝖊𝖑𝖑𝖔 ﷽ ꧁ ⠓⠑ 𐍈",
        "\r\n\r\n\n\r",
        "café naïve Ångström ﬁ ½ ™",
    ]
    .map(str::to_owned)
    .to_vec();
    for n in 1..40 {
        texts.push(" ".repeat(n));
        texts.push(format!("x{}y", " ".repeat(n)));
        texts.push(format!("{}x", "\t".repeat(n)));
        texts.push(format!("x{}", "\n".repeat(n)));
        texts.push(format!("{}=", "\r\n".repeat(n)));
        texts.push(format!("{}!", " \t".repeat(n)));
    }
    texts
}

fn spells(vocab: &Vocabulary, ids: &[u32], text: &str, leading_space: bool) {
    let mut expected = text.as_bytes().to_vec();
    if leading_space && !text.is_empty() {
        expected.insert(0, b' ');
    }
    let written = vocab.decode(ids);
    let readable = String::from_utf8_lossy(&written);
    assert_eq!(written, expected, "{text:?} is written as {readable:?}");
}

#[test]
fn tiktoken() {
    let cases = [
        ("o200k_base", tiktoken_rs::o200k_base().unwrap()),
        ("cl100k_base", tiktoken_rs::cl100k_base().unwrap()),
    ];
    for (name, bpe) in cases {
        let Some(path) = shared(&format!("tokenizers/tiktoken/{name}.tiktoken")) else { return };
        let vocab = Vocabulary::from_file(path).unwrap();
        for text in texts() {
            spells(&vocab, &bpe.encode_ordinary(&text), &text, false);
        }
        for special in bpe.special_tokens() {
            let ids = bpe.encode_with_special_tokens(special);
            assert_eq!(ids.len(), 1);
            assert_eq!(vocab.token_named(special), Some(ids[0]));
        }
    }
}

/// A tiktoken file written from the bytes of a vocabulary's first tokens.
fn tiktoken_file(mut bytes: impl FnMut(u32) -> Option<Vec<u8>>, len: u32) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = Vec::new();
    for id in 0..len {
        let Some(bytes) = bytes(id) else { continue };
        for group in bytes.chunks(3) {
            let bits = group.iter().fold(0, |bits, &b| bits << 8 | usize::from(b));
            let bits = bits << (8 * (3 - group.len()));
            for i in 0..4 {
                out.push(if i <= group.len() { DIGITS[bits >> (18 - 6 * i) & 63] } else { b'=' });
            }
        }
        out.extend(format!(" {id}\n").bytes());
    }
    out
}

#[test]
fn public_tiktoken_files_are_recognised() {
    for (bpe, len) in
        [(tiktoken_rs::p50k_base().unwrap(), 50_281), (tiktoken_rs::r50k_base().unwrap(), 50_256)]
    {
        let bytes = |id| (id != 50_256).then(|| bpe.decode_bytes(&[id]).unwrap());
        let vocab = Vocabulary::from_tiktoken(&tiktoken_file(bytes, len)).unwrap();
        assert_eq!(vocab.end_tokens(), [50_256]);
        assert_eq!(vocab.token_named("<|endoftext|>"), Some(50_256));
        for text in texts() {
            spells(&vocab, &bpe.encode_ordinary(&text), &text, false);
        }
    }
    // One byte less and it is another file.
    let bpe = tiktoken_rs::r50k_base().unwrap();
    let file = tiktoken_file(|id| bpe.decode_bytes(&[id]).ok(), 50_255);
    assert!(Vocabulary::from_tiktoken(&file).unwrap().end_tokens().is_empty());
}

#[test]
fn llama_3_in_tiktoken_form_is_recognised() {
    let Some(path) = shared("tokenizers/llama-3.2") else { return };
    let from_json = Vocabulary::from_file(path).unwrap();
    let file = tiktoken_file(|id| from_json.token_bytes(id).map(<[u8]>::to_vec), 128_000);
    let vocab = Vocabulary::from_tiktoken(&file).unwrap();
    assert_eq!(vocab.len(), 128_256);
    for id in 0..128_256 {
        assert_eq!(vocab.token_bytes(id), from_json.token_bytes(id));
        assert_eq!(vocab.token_name(id), from_json.token_name(id));
        assert_eq!(vocab.is_special(id), from_json.is_special(id));
    }
}

#[test]
fn gguf_vectors_of_llama_cpp() {
    for name in ["gpt-2", "llama-spm", "phi-3"] {
        let Some(path) = shared(&format!("gguf/ggml-vocab-{name}.gguf")) else { return };
        let vocab = Vocabulary::from_file(&path).unwrap();
        let vectors = |ending: &str| {
            let mut name = path.clone().into_os_string();
            name.push(ending);
            fs::read_to_string(name).unwrap()
        };
        let (texts, ids) = (vectors(".inp"), vectors(".out"));
        // The last text is closed by a separator too.
        let texts: Vec<_> = texts.split("\n__ggml_vocab_test__\n").collect();
        let ids: Vec<_> = ids.lines().collect();
        let count = ids.len();
        assert!(count >= 40 && texts.len() >= count, "{} texts, {count} lines", texts.len());
        for (text, ids) in texts.iter().zip(ids) {
            let ids: Vec<u32> = ids.split_whitespace().map(|id| id.parse().unwrap()).collect();
            spells(&vocab, &ids, text, vocab.strips_leading_space());
        }
        println!("{name}: {count} vectors");
    }
}

#[cfg(feature = "model")]
#[test]
fn tokenizer_json() {
    use tokenizers::Tokenizer;

    for name in [
        "tokenizers/gpt2",
        "tokenizers/llama-3.2",
        "tokenizers/qwen2.5",
        "tokenizers/smollm2",
        "tokenizers/mistral-7b-v0.1",
        "tokenizers/phi-3-mini",
        "tokenizers/gemma-3",
        "models/stories260K",
    ] {
        let Some(path) = shared(name) else { return };
        let vocab = Vocabulary::from_file(&path).unwrap();
        let tokenizer = Tokenizer::from_file(path.join("tokenizer.json")).unwrap();
        // The Metaspace pre-tokenizer puts no space before a text that starts with one.
        let metaspace = name == "tokenizers/mistral-7b-v0.1";
        let mut count = 0;
        for text in texts() {
            let encoding = tokenizer.encode(text.as_str(), false).unwrap();
            let leading = vocab.strips_leading_space() && !(metaspace && text.starts_with(' '));
            spells(&vocab, encoding.get_ids(), &text, leading);
            count += 1;
        }
        let anchor = tokenizer.encode("x", false).unwrap().get_ids().to_vec();
        let mut checked = 0;
        for (token, id) in tokenizer.get_vocab(true) {
            let Some(bytes) = vocab.token_bytes(id) else {
                assert!(vocab.is_special(id), "{token:?}");
                continue;
            };
            // In the middle of a text the tokenizer's own decoder writes the same.
            if let Ok(text) = std::str::from_utf8(bytes)
                && id % 5 == 0
            {
                let ids = [&anchor[..], &[id]].concat();
                let decoded = tokenizer.decode(&ids, false).unwrap();
                assert_eq!(decoded.strip_prefix('x'), Some(text), "{token:?}");
                checked += 1;
            }
        }
        println!("{name}: {count} texts, {checked} single tokens");
        assert!(count > 200 && checked > 50);
    }
}
