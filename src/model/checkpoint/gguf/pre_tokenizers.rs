//! The ways to cut a text into words before byte pairs are merged, by the names of
//! `tokenizer.ggml.pre` in llama.cpp.
//!
//! The patterns are those of the `tokenizer.json` of the models that each name is of, as llama.cpp's
//! `src/llama-vocab.cpp` quotes them beside its own, in which some signs are written otherwise. Where its own
//! says less (Youtu, Kimi K2: words are not cut before capitals), the models' pattern counts.

use serde_json::{Value, json};

/// The words of a family of tokenizers.
pub(super) struct PreTokenizer {
    /// `tokenizer.ggml.pre`.
    names: &'static [&'static str],
    /// Each cuts what the one before it left: its matches are words, and so is what lies between them.
    splits: &'static [&'static str],
    /// Whether a word that is a token as a whole is that token, whatever merges lead to.
    pub(super) ignores_merges: bool,
    /// Whether texts begin with the BOS token where the file does not say so.
    pub(super) adds_bos: bool,
}

const DIGIT: &str = r"\p{N}";

/// GPT-2's.
const GPT2: &str = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+";

const LLAMA3: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Bailing writes the same words by another pattern.
const QWEN2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// As [`QWEN2`], with combining marks in words.
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// As [`QWEN2`], with line ends apart from punctuation.
const SEED_CODER: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";

/// As [`QWEN2`], without English contractions.
const UFAKZEKA: &str =
    r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// As [`QWEN2`], with words of several words.
const EXAONE_MOE: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+";

/// As [`LLAMA3`], with blanks in powers of two.
const JAIS2: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S)|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s";

/// As [`QWEN2`], with all digits of a number together.
const MINICPM5: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const TEKKEN: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

const GPT_4O: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// As [`GPT_4O`], with single digits.
const YOUTU: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// As [`GPT_4O`], with Chinese characters in words of their own.
const KIMI_K2: &str = r"\p{Han}+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Up to three digits, counted from the end of a number. (llama.cpp, which reads this pattern by code of its
/// own, cuts a few words otherwise than the pattern says.)
const THREE_DIGITS: &str = r"\d{1,3}(?=(?:\d{3})*\b)";

const DEEPSEEK3: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##;

/// Chinese characters and kana.
const HAN_AND_KANA: &str = r"[一-龥\x{3040}-ゟ゠-ヿ]+";

/// As [`DEEPSEEK3`], with line ends apart from punctuation.
const SPARK: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+|[\r\n]|\s+(?!\S)|\s+"##;

/// Up to three digits of any script, counted from the end of a number.
const THREE_NUMERALS: &str = r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))";

/// The blocks of Chinese, Japanese, Thai, Lao, Khmer, Myanmar and Korean.
const AFMOE_SCRIPTS: &str = r"[一-\x{9FFF}㐀-\x{4DBF}豈-\x{FAFF}\x{3040}-ゟ゠-ヿ･-ﾟ⼀-\x{2FDF}เ-\x{0E7F}\x{0E80}-\x{0EFF}ក-\x{17FF}က-႟ꩠ-ꩿꧠ-\x{A9FF}가-\x{D7AF}ᄀ-ᇿ]+";

/// The letters of scripts with upper and lower case.
const DEEPSEEK_LETTERS: &str = r"\s?[A-Za-zµÀ-ÖØ-öø-ƺƼ-ƿǄ-ʓʕ-ʯͰ-ͳͶͷͻ-ͽͿΆΈ-ΊΌΎ-ΡΣ-ϵϷ-ҁҊ-ԯԱ-ՖႠ-ჅᎠ-Ᏽᏸ-ᏽᲐ-ᲺᲽ-Ჿᴀ-ᴫᵫ-ᵷᵹ-ᶚḀ-ἕἘ-Ἕἠ-ὅὈ-Ὅὐ-ὗὙὛὝὟ-\x{1F7D}ᾀ-ᾴᾶ-ᾼ\x{1FBE}ῂ-ῄῆ-ῌῐ-\x{1FD3}ῖ-\x{1FDB}ῠ-Ῥῲ-ῴῶ-ῼℂℇℊ-ℓℕℙ-ℝℤ\x{2126}ℨ\x{212A}-ℭℯ-ℴℹℼ-ℿⅅ-ⅉⅎↃↄⰀ-ⱻⱾ-ⳤⳫ-ⳮⳲⳳꙀ-ꙭꚀ-ꚛꜢ-ꝯꝱ-ꞇꞋ-ꞎꭰ-ꮿﬀ-ﬆﬓ-ﬗＡ-Ｚａ-ｚ𐐀-𐑏𐒰-𐓓𐓘-𐓻𐲀-𐲲𐳀-𐳲𑢠-𑣟𞤀-𞥃]+";

const VIKING: &str = " ?[^(\\s|.,!?…。，、।۔،)]+";

const fn plain(names: &'static [&'static str], splits: &'static [&'static str]) -> PreTokenizer {
    PreTokenizer { names, splits, ignores_merges: false, adds_bos: false }
}

const PRE_TOKENIZERS: [PreTokenizer; 28] = [
    PreTokenizer {
        names: &[
            "llama3",
            "llama-v3",
            "llama-bpe",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
        ],
        splits: &[LLAMA3],
        ignores_merges: true,
        adds_bos: true,
    },
    PreTokenizer { names: &["tekken"], splits: &[TEKKEN], ignores_merges: true, adds_bos: true },
    PreTokenizer {
        names: &["minicpm5"],
        splits: &[r"\p{N}{1,3}", MINICPM5],
        ignores_merges: true,
        adds_bos: false,
    },
    plain(
        &[
            "qwen2",
            "deepseek-r1-qwen",
            "megrez",
            "stablelm2",
            "hunyuan",
            "kormo",
            "f2llmv2",
            "grok-2",
            "solar-open",
            "bailingmoe",
            "bailingmoe2",
            "llada-moe",
        ],
        &[QWEN2],
    ),
    plain(&["qwen35"], &[QWEN35]),
    plain(&["seed-coder"], &[SEED_CODER]),
    plain(&["laguna"], &[r"[^\n]+|\n+", QWEN2]),
    plain(&["dbrx", "smaug-bpe", "chatglm-bpe"], &[LLAMA3]),
    plain(&["gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"], &[GPT_4O]),
    plain(&["tiny_aya", "cohere2moe"], &[THREE_DIGITS, GPT_4O]),
    plain(
        &["deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"],
        &[r"\p{N}{1,3}", HAN_AND_KANA, DEEPSEEK3],
    ),
    plain(
        &["deepseek-llm"],
        &[
            r"[\r\n]",
            DEEPSEEK_LETTERS,
            r"\s?[!-/:-~！-／：-～‘-‟\x{3000}-。]+",
            r"\s+$",
            r"[一-龥ࠀ-一가-\x{D7FF}]+",
            r"\p{N}+",
        ],
    ),
    plain(
        &["deepseek-coder"],
        &[r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", r"[一-龥ࠀ-一가-\x{D7FF}]+", DIGIT],
    ),
    plain(&["falcon"], &[r"[\p{P}\$\+<=>\^~\|`]+", GPT2, r"[0-9][0-9][0-9]"]),
    plain(&["viking"], &[VIKING, DIGIT]),
    plain(&["bloom", "poro-chat", "gpt3-finnish"], &[VIKING]),
    PreTokenizer {
        names: &["glm4", "glm5"],
        splits: &[LLAMA3],
        ignores_merges: true,
        adds_bos: false,
    },
    PreTokenizer {
        names: &["youtu"],
        splits: &[
            r"[가-힣ㄱ-\x{318E}]+|[！…“”‘’—：；，、-\x{303F}︰-﹏]+|[ㄅ-ㄯ]+|[一-龥\x{3040}-ゟ゠-ヿ]+",
            YOUTU,
        ],
        ignores_merges: true,
        adds_bos: false,
    },
    PreTokenizer {
        names: &["chameleon"],
        splits: &[
            "<sentinel:[0-9]+>",
            "IMGIMG[A-I]{1,4}Z",
            r"[\t\n]|    |  ",
            DIGIT,
            r"[\p{P}!-/:-@\[-`{-~]",
            GPT2,
        ],
        ignores_merges: false,
        adds_bos: true,
    },
    plain(&["spark2_5"], &[r"\p{N}{1,3}", HAN_AND_KANA, SPARK, DIGIT]),
    plain(&["ufakzeka"], &[UFAKZEKA]),
    plain(&["exaone-moe"], &[EXAONE_MOE]),
    plain(&["jais-2"], &[JAIS2]),
    plain(&["kimi-k2"], &[KIMI_K2]),
    plain(&["afmoe"], &[THREE_NUMERALS, AFMOE_SCRIPTS, DEEPSEEK3]),
    plain(&["superbpe"], &[r"\p{N}+", r"(?=(\d{3})+(?!\d))"]),
    plain(
        &[
            "gpt-2",
            "phi-2",
            "olmo",
            "mpt",
            "jina-es",
            "jina-de",
            "jina-v2-es",
            "jina-v2-de",
            "gigachat",
            "a.x-4.0",
            "mellum",
            "exaone4",
            "jais",
            "trillion",
            "granite-docling",
        ],
        &[GPT2],
    ),
    plain(
        &[
            "smollm",
            "starcoder",
            "refact",
            "command-r",
            "codeshell",
            "exaone",
            "minerva-7b",
            "mellum2",
        ],
        &[DIGIT, GPT2],
    ),
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
        let byte_level = json!({
            "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false,
        });
        let splits = self.splits.iter().map(|split| {
            json!({
                "type": "Split", "pattern": {"Regex": split}, "behavior": "Isolated",
                "invert": false,
            })
        });
        // Bytes are written as characters after the last cut.
        let parts: Vec<Value> = splits.chain([byte_level]).collect();
        json!({"type": "Sequence", "pretokenizers": parts})
    }
}

#[cfg(test)]
mod tests {
    use tokenizers::{OffsetReferential, OffsetType, PreTokenizedString, PreTokenizer as _};

    use super::*;

    /// The words of a text, with `|` between them.
    fn words(name: &str, text: &str) -> String {
        let json = PreTokenizer::named(name).unwrap().json();
        let pre: tokenizers::PreTokenizerWrapper = serde_json::from_value(json).unwrap();
        let mut cut = PreTokenizedString::from(text);
        pre.pre_tokenize(&mut cut).unwrap();
        let splits = cut.get_splits(OffsetReferential::Original, OffsetType::Byte);
        let words: Vec<&str> = splits.iter().map(|(_, (from, to), _)| &text[*from..*to]).collect();
        words.join("|")
    }

    /// Words that tell the families apart: a digit alone, three, a number whole or from its end, line
    /// ends with punctuation or apart, contractions, changes of case, marks, other scripts.
    #[test]
    fn words_are_those_of_each_family() {
        let text = "It's 12345 aBc;\r\n\n é̈x  汉字 \n\n";
        let expected = [
            ("llama3", "It|'s| |123|45| aBc|;\r\n\n| é|\u{308}x| | 汉字| \n\n"),
            ("tekken", "It|'s| |1|2|3|4|5| a|Bc|;\r\n\n| é\u{308}x| | 汉字| \n\n"),
            ("minicpm5", "It|'s| |123|45| aBc|;\r\n\n| é|\u{308}x| | 汉字| \n\n"),
            ("qwen2", "It|'s| |1|2|3|4|5| aBc|;\r\n\n| é|\u{308}x| | 汉字| \n\n"),
            ("qwen35", "It|'s| |1|2|3|4|5| aBc|;\r\n\n| é\u{308}x| | 汉字| \n\n"),
            ("seed-coder", "It|'s| |1|2|3|4|5| aBc|;|\r\n\n| é|\u{308}x| | 汉字| \n\n"),
            ("laguna", "It|'s| |1|2|3|4|5| aBc|;\r|\n\n| é|\u{308}x| | 汉字| |\n\n"),
            ("dbrx", "It|'s| |123|45| aBc|;\r\n\n| é|\u{308}x| | 汉字| \n\n"),
            ("gpt-4o", "It's| |123|45| a|Bc|;\r\n\n| é\u{308}x| | 汉字| \n\n"),
            ("tiny_aya", "It's| |12|345| a|Bc|;\r\n\n| é\u{308}x| | 汉字| \n\n"),
            ("deepseek-v3", "It|'s| |123|45| aBc|;\r\n\n| é\u{308}x|  |汉字| \n\n"),
            ("deepseek-llm", "It|'|s| |12345| aBc|;|\r|\n|\n| é|\u{308}|x|  |汉字| |\n|\n"),
            ("deepseek-coder", "It|'|s| |1|2|3|4|5| aBc|;|\r|\n|\n| é|\u{308}|x| | |汉字| |\n|\n"),
            ("falcon", "It|'|s| |123|45| aBc|;|\r\n\n| é|\u{308}|x| | 汉字| \n\n"),
            ("viking", "It's| |1|2|3|4|5| aBc;|\r\n\n| é\u{308}x| | 汉字| \n\n"),
            ("bloom", "It's| 12345| aBc;|\r\n\n| é\u{308}x| | 汉字| \n\n"),
            ("glm4", "It|'s| |123|45| aBc|;\r\n\n| é|\u{308}x| | 汉字| \n\n"),
            ("youtu", "It's| |1|2|3|4|5| a|Bc|;\r\n\n| é\u{308}x|  |汉字| \n\n"),
            ("chameleon", "It|'|s| |1|2|3|4|5| aBc|;|\r|\n|\n| é|\u{308}|x|  |汉字| |\n|\n"),
            ("spark2_5", "It|'s| |1|2|3|4|5| aBc|;|\r|\n|\n| é\u{308}x|  |汉字| \n\n"),
            ("ufakzeka", "It|'s| |1|2|3|4|5| aBc|;\r\n\n| é|\u{308}x| | 汉字| \n\n"),
            ("exaone-moe", "It|'s| |1|2|3|4|5| aBc|;\r|\n\n| é\u{308}x| | 汉字| \n\n"),
            ("jais-2", "It|'s| |123|45| aBc|;\r\n\n| é|\u{308}x| | 汉字| \n\n"),
            ("kimi-k2", "It's| |123|45| a|Bc|;\r\n\n| é\u{308}x| | |汉字| \n\n"),
            ("afmoe", "It|'s| |12|345| aBc|;\r\n\n| é\u{308}x|  |汉字| \n\n"),
            ("superbpe", "It's |12|345| aBc;\r\n\n é\u{308}x  汉字 \n\n"),
            ("gpt-2", "It|'s| 12345| aBc|;|\r\n\n| é|\u{308}|x| | 汉字| \n\n"),
            ("smollm", "It|'s| |1|2|3|4|5| aBc|;|\r\n\n| é|\u{308}|x| | 汉字| \n\n"),
        ];
        for ((name, expected), pre) in expected.into_iter().zip(&PRE_TOKENIZERS) {
            assert_eq!((pre.names[0], words(name, text).as_str()), (name, expected));
        }
        assert_eq!(expected.len(), PRE_TOKENIZERS.len());
        let blanks = format!("a{}b", " ".repeat(8));
        assert_eq!(words("llama3", &blanks), "a|       | b");
        assert_eq!(words("jais-2", &blanks), "a|    |  | | b");
    }
}
