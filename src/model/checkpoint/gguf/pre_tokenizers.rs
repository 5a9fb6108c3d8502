//! The ways to cut a text into words before byte pairs are merged, by the names of
//! `tokenizer.ggml.pre` in llama.cpp.
//!
//! The patterns are those of the `tokenizer.json` of the models that each name is of.

use serde_json::{Value, json};

/// The words of a family of tokenizers.
pub(super) struct PreTokenizer {
    /// `tokenizer.ggml.pre`.
    names: &'static [&'static str],
    words: Words,
    /// Whether a word that is a token as a whole is that token, whatever merges lead to.
    pub(super) ignores_merges: bool,
    /// Whether texts begin with the BOS token where the file does not say so.
    pub(super) adds_bos: bool,
}

enum Words {
    /// GPT-2's pattern.
    Gpt2,
    /// Each digit, then GPT-2's pattern.
    DigitsThenGpt2,
    /// This pattern.
    Pattern(&'static str),
}

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const GPT_4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const fn plain(names: &'static [&'static str], words: Words) -> PreTokenizer {
    PreTokenizer { names, words, ignores_merges: false, adds_bos: false }
}

const PRE_TOKENIZERS: [PreTokenizer; 7] = [
    PreTokenizer {
        names: &["llama3", "llama-v3", "llama-bpe", "falcon3"],
        words: Words::Pattern(LLAMA3),
        ignores_merges: true,
        adds_bos: true,
    },
    PreTokenizer {
        names: &["tekken"],
        words: Words::Pattern(TEKKEN),
        ignores_merges: true,
        adds_bos: true,
    },
    plain(&["qwen2", "deepseek-r1-qwen", "megrez"], Words::Pattern(QWEN2)),
    plain(&["dbrx", "smaug-bpe", "glm4", "chatglm-bpe"], Words::Pattern(LLAMA3)),
    plain(&["gpt-4o"], Words::Pattern(GPT_4O)),
    plain(&["gpt-2", "phi-2", "olmo", "mpt", "jina-es", "jina-de", "jina-v2-es"], Words::Gpt2),
    plain(&["smollm", "starcoder", "refact", "command-r", "codeshell"], Words::DigitsThenGpt2),
];

impl PreTokenizer {
    /// The one of a name in llama.cpp.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        PRE_TOKENIZERS.iter().find(|pre| pre.names.contains(&name))
    }

    /// All names, for messages.
    pub(super) fn names() -> String {
        let names: Vec<&str> = PRE_TOKENIZERS.iter().flat_map(|pre| pre.names).copied().collect();
        names.join(", ")
    }

    /// The member `pre_tokenizer` of a tokenizer.json.
    pub(super) fn json(&self) -> Value {
        let byte_level = |use_regex: bool| {
            json!({
                "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
                "use_regex": use_regex,
            })
        };
        let parts = match self.words {
            Words::Gpt2 => vec![byte_level(true)],
            Words::DigitsThenGpt2 => {
                vec![json!({"type": "Digits", "individual_digits": true}), byte_level(true)]
            }
            Words::Pattern(pattern) => vec![
                json!({
                    "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated",
                    "invert": false,
                }),
                byte_level(false),
            ],
        };
        json!({"type": "Sequence", "pretokenizers": parts})
    }
}
