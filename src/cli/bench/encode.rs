//! Texts into the tokens of a vocabulary, by the best method that its file allows.

use std::path::Path;
use std::sync::Arc;

use tokenizers::utils::SysRegex;

use crate::cli::args::model::tokenizer_file;
use crate::cli::input;
use maskwright::Vocabulary;
use maskwright::error::{Error, ErrorKind, Result};
use maskwright::model::{Model, ModelOptions, Tokenizer};
use maskwright::vocabulary::Encode as _;

/// Patterns that split a text into pieces, as the tokenizers publish them: a special token that
/// identifies the tokenizer, its id, names, and the pattern.
const PATTERNS: [(&str, u32, &str, &str); 4] = [
    (
        "<|endofprompt|>",
        200_018,
        "o200k_base",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",
    ),
    ("<|endofprompt|>", 100_276, "cl100k_base", WORDS_AND_THREE_DIGITS),
    ("<|begin_of_text|>", 128_000, "Llama 3", WORDS_AND_THREE_DIGITS),
    (
        "<|endoftext|>",
        50_256,
        "r50k_base, p50k_base",
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    ),
];

const WORDS_AND_THREE_DIGITS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Method by which texts become tokens.
enum EncodeMethod {
    /// The tokenizer of the file.
    Own(Box<Tokenizer>),
    /// The tokenizer of the embedded model.
    Model(Box<Model>),
    /// Byte-pair encoding by ranks within the pieces of a pattern; the name of its tokenizer.
    Ranks(SysRegex, &'static str),
    /// The fewest tokens that spell the text.
    Fewest,
}

/// Encodes texts.
pub(super) struct Encoder {
    vocabulary: Arc<Vocabulary>,
    method: EncodeMethod,
    /// Texts of which the tokenizer writes another spelling (a blank before them, composed
    /// characters), which are spelled with the fewest tokens instead.
    pub(super) respelled: usize,
}

impl Encoder {
    /// The encoder for `--tokenizer`. Errors if the file holds a tokenizer that cannot be used.
    pub(super) fn new(tokenizer: &str, vocabulary: Arc<Vocabulary>) -> Result<Self> {
        let method = match tokenizer_file(tokenizer)? {
            None => EncodeMethod::Model(Box::new(Model::load(&ModelOptions::default())?)),
            Some(file) => of_file(&file, &vocabulary)?,
        };
        Ok(Self { vocabulary, method, respelled: 0 })
    }

    /// The vocabulary of the tokens.
    pub(super) fn vocabulary(&self) -> &Vocabulary {
        &self.vocabulary
    }

    /// The method, in words.
    pub(super) fn method(&self) -> String {
        match &self.method {
            EncodeMethod::Own(_) | EncodeMethod::Model(_) => "the tokenizer's own".to_owned(),
            EncodeMethod::Ranks(_, whose) => format!("by the ranks, pieces as of {whose}"),
            EncodeMethod::Fewest => {
                "the fewest tokens, since the file holds no way to encode".to_owned()
            }
        }
    }

    /// The tokens of a text, which spell it to the byte; none if the vocabulary cannot spell it.
    pub(super) fn encode(&mut self, text: &str) -> Result<Option<Vec<u32>>> {
        let tokens = match &self.method {
            EncodeMethod::Own(tokenizer) => tokenizer.encode(text)?,
            EncodeMethod::Model(model) => model.tokenizer().encode(text)?,
            EncodeMethod::Ranks(pattern, _) => self.by_ranks(pattern, text),
            EncodeMethod::Fewest => return Ok(self.fewest(text.as_bytes())),
        };
        let written = self.vocabulary.decode(&tokens);
        if written == text.as_bytes() {
            return Ok(Some(tokens));
        }
        self.respelled += 1;
        // The blank that some put before a text: what follows the first token stays.
        if let (Some(b' '), Some((&first, rest))) = (written.first(), tokens.split_first())
            && written[1..] == *text.as_bytes()
            && let Some(bytes) = self.vocabulary.token_bytes(first)
            && let Some(mut tokens) = self.fewest(&bytes[1..])
        {
            tokens.extend(rest);
            return Ok(Some(tokens));
        }
        Ok(self.fewest(text.as_bytes()))
    }

    fn by_ranks(&self, pattern: &SysRegex, text: &str) -> Vec<u32> {
        let (mut tokens, mut read) = (Vec::new(), 0);
        for (start, end) in pattern.find_iter(text) {
            // The patterns leave nothing between two matches.
            self.merge(&text.as_bytes()[read.min(start)..end], &mut tokens);
            read = end;
        }
        self.merge(&text.as_bytes()[read..], &mut tokens);
        tokens
    }

    /// The token of exactly these bytes: in files of ranks, its rank is its id.
    fn token(&self, bytes: &[u8]) -> Option<u32> {
        let trie = self.vocabulary.trie();
        trie.find(bytes).and_then(|node| trie.tokens(node).first().copied())
    }

    /// Byte-pair encoding of one piece (Sennrich et al. 2016) with the merges that the tokens imply:
    /// of all pairs of neighbours that are a token together, the one of the least id is merged
    /// first, the leftmost of several. Quadratic in the piece, which is a word.
    fn merge(&self, piece: &[u8], tokens: &mut Vec<u32>) {
        if let Some(whole) = self.token(piece) {
            return tokens.push(whole);
        }
        let mut borders: Vec<usize> = (0..=piece.len()).collect();
        let pair = |borders: &[usize], i: usize| match borders.get(i + 2) {
            Some(&end) => self.token(&piece[borders[i]..end]),
            None => None,
        };
        let mut pairs: Vec<Option<u32>> = (0..borders.len()).map(|i| pair(&borders, i)).collect();
        while let Some((_, i)) =
            pairs.iter().enumerate().filter_map(|(i, p)| Some(((*p)?, i))).min()
        {
            borders.remove(i + 1);
            pairs.remove(i + 1);
            pairs[i] = pair(&borders, i);
            if let Some(before) = i.checked_sub(1) {
                pairs[before] = pair(&borders, before);
            }
        }
        // A byte without a token shows where the text is compared.
        tokens.extend(borders.windows(2).filter_map(|w| self.token(&piece[w[0]..w[1]])));
    }

    /// The fewest tokens that spell the bytes, of several ways the one whose tokens are longest
    /// from the left: from the end on, the best way from each byte. O(bytes × longest token).
    fn fewest(&self, bytes: &[u8]) -> Option<Vec<u32>> {
        let trie = self.vocabulary.trie();
        // The number of tokens from here on, the first of them, and its length.
        let mut best: Vec<Option<(u32, u32, usize)>> = vec![None; bytes.len() + 1];
        best[bytes.len()] = Some((0, 0, 0));
        for start in (0..bytes.len()).rev() {
            let mut node = 0;
            for (end, &byte) in (start + 1..).zip(&bytes[start..]) {
                let Some(child) = trie.child(node, byte) else { break };
                node = child;
                if let (Some(&token), Some((rest, ..))) = (trie.tokens(node).first(), best[end])
                    && best[start].is_none_or(|(tokens, ..)| rest < tokens)
                {
                    best[start] = Some((rest + 1, token, end - start));
                }
            }
        }
        let (mut tokens, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let (_, token, length) = best[at]?;
            tokens.push(token);
            at += length;
        }
        Some(tokens)
    }
}

fn of_file(path: &Path, vocabulary: &Vocabulary) -> Result<EncodeMethod> {
    let inside = path.join("tokenizer.json");
    let path = if path.is_dir() { &inside } else { path };
    let file = input::read(path, "a tokenizer.json, .tiktoken or .gguf file")?;
    if file.trim_ascii_start().starts_with(b"{") {
        let tokenizer = Tokenizer::from_bytes(&file).map_err(|error| error.in_file(path))?;
        return Ok(EncodeMethod::Own(Box::new(tokenizer)));
    }
    let known =
        PATTERNS.into_iter().find(|&(name, id, ..)| vocabulary.token_named(name) == Some(id));
    // A GGUF file has merges, but no pattern.
    match known.filter(|_| !file.starts_with(b"GGUF")) {
        Some((_, _, whose, pattern)) => {
            let pattern = SysRegex::new(pattern).map_err(|error| {
                Error::new(ErrorKind::Vocabulary, format!("the pattern of {whose}: {error}"))
            })?;
            Ok(EncodeMethod::Ranks(pattern, whose))
        }
        None => Ok(EncodeMethod::Fewest),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TEXTS: [&str; 7] = [
        "",
        r#"{"name": "Jérôme Dupont", "tags": ["a", "b\n"], "n": -12.5e+10, "ok": null}"#,
        "we'Ve I'LL they're McDonald's HTTPServer snake_case",
        "1 22 333 4444 55555  3.14159   ",
        "line\r\n\r\n   next\t\ttab // end/\n",
        "我想在apple工作1314151天～ नमस्ते 👩‍👩‍👧‍👦 🫠",
        "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    ];

    fn encoder(method: EncodeMethod, tokens: Vec<Option<Vec<u8>>>) -> Encoder {
        let vocabulary = Arc::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
        Encoder { vocabulary, method, respelled: 0 }
    }

    #[test]
    fn ranks_give_the_tokens_of_tiktoken() {
        let cases = [
            (tiktoken_rs::o200k_base_singleton(), 199_998, 0),
            (tiktoken_rs::cl100k_base_singleton(), 100_256, 1),
            (tiktoken_rs::r50k_base_singleton(), 50_256, 3),
        ];
        for (known, ranks, pattern) in cases {
            let tokens = (0..ranks).map(|id| known.decode_bytes(&[id]).ok()).collect();
            let (.., whose, pattern) = PATTERNS[pattern];
            let method = EncodeMethod::Ranks(SysRegex::new(pattern).unwrap(), whose);
            let mut encoder = encoder(method, tokens);
            for text in TEXTS {
                let tokens = encoder.encode(text).unwrap().unwrap();
                assert_eq!(tokens, known.encode_ordinary(text), "{whose}: {text:?}");
            }
            assert_eq!(encoder.respelled, 0);
        }
    }

    #[test]
    fn the_fewest_tokens_spell_what_can_be_spelled() {
        let tokens = ["a", "b", "ab", "abb", "bbac", "c", "ba"];
        let tokens = tokens.map(|t| Some(t.as_bytes().to_vec())).to_vec();
        let mut encoder = encoder(EncodeMethod::Fewest, tokens);
        // Greedily it were abb, a, c.
        assert_eq!(encoder.encode("abbac").unwrap(), Some(vec![0, 4]));
        // Of two ways with as many tokens the one that begins longer.
        assert_eq!(encoder.encode("bab").unwrap(), Some(vec![6, 1]));
        assert_eq!(encoder.encode("abd").unwrap(), None);
        assert_eq!(encoder.encode("").unwrap(), Some(vec![]));
    }
}
