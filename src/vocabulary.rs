//! The vocabulary: the exact bytes of every token, special tokens, the prefix trie and the token
//! mask.
//!
//! A [`Vocabulary`] is read once from a tokenizer file or given as bytes, and is immutable after
//! that; share it in an [`Arc`](std::sync::Arc). It holds the bytes that each token *writes*, which
//! is all that masks need. Turning text into tokens is the tokenizer's work; a host (or the `model`
//! feature) implements [`Encode`] for it.
//!
//! ```
//! use maskwright::Vocabulary;
//! let tokens = ["{", "}", "\"a\"", ":", "1"].map(|t| Some(t.as_bytes().to_vec()));
//! let vocab = Vocabulary::from_tokens(tokens.to_vec(), &[(5, "<|end|>")], &[5])?;
//! assert_eq!(vocab.decode(&[0, 2, 3, 4, 1, 5]), br#"{"a":1}"#);
//! assert_eq!(vocab.token_named("<|end|>"), Some(5));
//! assert_eq!(vocab.token_bytes(5), None);
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! # The bytes of a token
//!
//! They are what the token contributes *in the middle of a text*. Many SentencePiece tokenizers put
//! a space before the text when they encode and take one leading space off when they decode, so
//! that their first token looks a space shorter in the decoded text than it is here. Where
//! [`Vocabulary::strips_leading_space`] says so, handle that at the border of the text: the tokens
//! that a model writes after a prompt are in the middle of a text.
//!
//! Special tokens write nothing. Added tokens that the file does not call special (`<tool_call>`
//! in Qwen, `<unused0>` in Gemma) are text like any other, unless they are end tokens, and can be
//! found by name all the same.
//!
//! # Parts
//!
//! | module | content |
//! |---|---|
//! | `formats` | the file formats (`tokenizer.json`, tiktoken, GGUF), how each is recognised, and how to add one |
//! | `draft` | what a reader of a format produces |
//! | `token_table` | bytes and kind of each id |
//! | `trie` | all text tokens as a prefix trie in preorder |
//! | `token_mask` | one bit for each token |
//! | `special_names` | names of special tokens in texts |
//! | `index` | a loaded vocabulary in a file, so that the next load only reads it |

mod draft;
mod formats;
mod index;
mod infinities;
mod mapped_file;
mod special_names;
mod token_mask;
mod token_table;
mod trie;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::{self, Write as _};
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "model")]
pub(crate) use formats::is_well_known_end;
#[cfg(feature = "model")]
pub(crate) use formats::{
    GgufMetadata, GgufTensor, GgufValue, gguf_tensors, gguf_token_type, is_gguf, with_added_tokens,
};
pub(crate) use index::{IndexPart, IndexReader, IndexWriter, VocabularyIndex};
pub use index::{cache_folder, cache_limit};
#[cfg(feature = "model")]
pub(crate) use infinities::read_with_infinities;
pub(crate) use mapped_file::map_file;
pub(crate) use special_names::{SpecialTokenNames, TextPart};
pub use token_mask::TokenMask;
pub(crate) use trie::first_eight_bytes;
pub use trie::{Trie, TrieNode};

use draft::VocabularyDraft;
use formats::SourceFile;
use token_table::{MAX_IDS, TokenKind, TokenTable};

/// A tokenizer: turns text into tokens as the model's own does. Implemented for the `tokenizers`
/// crate by the `model` feature, or by the host.
///
/// ```
/// use maskwright::vocabulary::Encode;
/// /// A vocabulary of single bytes.
/// struct Bytes;
/// impl Encode for Bytes {
///     fn encode(&self, text: &str) -> maskwright::Result<Vec<u32>> {
///         Ok(text.bytes().map(u32::from).collect())
///     }
/// }
/// assert_eq!(Bytes.encode("hi")?, [104, 105]);
/// # Ok::<(), maskwright::Error>(())
/// ```
pub trait Encode {
    /// The ids of a text, without any token put before or after it. Names of special tokens in the
    /// text are text.
    ///
    /// Errors if the tokenizer cannot encode the text.
    fn encode(&self, text: &str) -> Result<Vec<u32>>;
}

/// The tokens of a model: immutable, `Send + Sync`, about 15 MB for 150,000 tokens. The
/// [module](self) defines the bytes of a token.
#[derive(Clone)]
pub struct Vocabulary {
    table: TokenTable,
    /// Names of special and added tokens by id.
    names: BTreeMap<u32, Box<str>>,
    /// Ids by name; of several ids with one name the first of the file.
    ids: FxHashMap<Box<str>, u32>,
    end: Vec<u32>,
    strips_leading_space: bool,
    /// The width of the model's logits, where it was set.
    logits_width: Option<usize>,
    trie: Trie,
    /// The index of the file that the vocabulary was read from.
    index: Option<VocabularyIndex>,
    index_error: Option<Error>,
}

impl Vocabulary {
    /// Reads a file, whose format is recognised by its content: a tokenizer.json (or a folder that holds
    /// one), a tiktoken file, or a GGUF file, which is mapped into memory rather than read. Takes
    /// O(n log n) for n tokens; [`from_file_indexed`](Self::from_file_indexed) skips most of it.
    ///
    /// The end tokens of a tokenizer.json are those that `generation_config.json`, `config.json`
    /// and `tokenizer_config.json` beside it name and, unless there is a `generation_config.json`,
    /// special tokens that are known to end a text or a turn (`<|im_end|>`, `</s>`);
    /// [`with_end_tokens`](Self::with_end_tokens) overrides them.
    ///
    /// Errors as the reader of the format does, and name the file.
    pub fn from_file(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::build(SourceFile::open(path)?.draft()?).map_err(|e| e.in_file(path))
    }

    /// Reads a tokenizer.json: byte-level BPE, or SentencePiece (BPE or Unigram) with byte
    /// fallback. Added tokens that the file does not call special are text. End tokens are known
    /// by their names. Padding, truncation, normalizer and pre-tokenizer are ignored.
    ///
    /// Errors, with a JSON pointer or line and column, if the file is damaged (not JSON, an id
    /// given twice, a merge of tokens that do not exist), or if its tokens have no exact bytes
    /// (WordPiece, Unigram without byte tokens, a decoder that works across tokens).
    pub fn from_tokenizer_json(json: &[u8]) -> Result<Self> {
        Self::build(formats::from_tokenizer_json(json)?)
    }

    /// Reads a tiktoken file. It holds no special tokens; those of o200k_base, cl100k_base,
    /// p50k_base, r50k_base and Llama 3 are known, and the file is recognised by its tokens. Others
    /// have no end token until [`with_end_tokens`](Self::with_end_tokens) gives one.
    ///
    /// Errors, with the line, on anything but a token in base64, a space and an id on a line.
    pub fn from_tiktoken(text: &[u8]) -> Result<Self> {
        Self::build(formats::from_tiktoken(text)?)
    }

    /// Reads the vocabulary in the metadata of a GGUF file, versions 2 and 3, little-endian;
    /// weights may follow or not. End tokens are those that the file names, and control tokens
    /// that are known to end a text or a turn.
    ///
    /// Errors, with the byte, if the file is damaged, or if it has no vocabulary of byte-level BPE
    /// (`gpt2`) or SentencePiece (`llama`).
    pub fn from_gguf(bytes: &[u8]) -> Result<Self> {
        Self::build(formats::from_gguf(bytes)?)
    }

    /// A vocabulary from the bytes of each token: the id is the index, `None` an id without a
    /// token. `special` gives special tokens their names, `end` lists the end tokens; both may
    /// lie beyond `tokens`. Bytes given for a special or an end token are not text.
    ///
    /// Tokens may share bytes, be empty (never allowed), or lack bytes altogether. An end token is
    /// optional. Errors on ids of 2^24 and more and tokens of 2^16 bytes and more.
    pub fn from_tokens(
        tokens: Vec<Option<Vec<u8>>>,
        special: &[(u32, &str)],
        end: &[u32],
    ) -> Result<Self> {
        let mut draft = VocabularyDraft { end: end.to_vec(), ..VocabularyDraft::default() };
        for (id, bytes) in tokens.iter().enumerate() {
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            match bytes {
                Some(bytes) => draft.table.set(id, bytes, TokenKind::Text)?,
                None => draft.table.grow(id)?,
            }
        }
        for &(id, name) in special {
            draft.table.set(id, b"", TokenKind::Special)?;
            draft.names.push((id, name.to_owned()));
        }
        Self::build(draft)
    }

    /// Sets end tokens aside and builds the trie.
    fn build(draft: VocabularyDraft) -> Result<Self> {
        let VocabularyDraft { mut table, names, mut end, strips_leading_space } = draft;
        prepare_end_tokens(&mut table, &mut end)?;
        let mut ids = FxHashMap::default();
        for (id, name) in &names {
            ids.entry(name.as_str().into()).or_insert(*id);
        }
        let names = names.into_iter().map(|(id, name)| (id, name.into())).collect();
        let trie = Trie::new(&table, &end);
        let (logits_width, index, index_error) = (None, None, None);
        Ok(Self {
            table,
            names,
            ids,
            end,
            strips_leading_space,
            logits_width,
            trie,
            index,
            index_error,
        })
    }

    /// Reads a file as [`from_file`](Self::from_file) does, through an index in this folder: a file
    /// with what this version of the crate computed when it first loaded the same bytes. Without a
    /// valid index the file is loaded and the index is written, whole or not at all; any number of
    /// processes may do so at once. Token tables that a [`Compiler`](crate::Compiler) prepares for
    /// the vocabulary are kept in the folder, too. [`cache_folder`] is the conventional folder.
    ///
    /// Errors as `from_file` does. An index that cannot be written is no error;
    /// [`index_error`](Self::index_error) reports it.
    pub fn from_file_indexed(path: impl AsRef<Path>, folder: impl AsRef<Path>) -> Result<Self> {
        let source = SourceFile::open(path.as_ref())?;
        let index = source.index(folder.as_ref())?;
        if let Some(known) = index.read(IndexPart::Vocabulary, Self::read_index) {
            return Ok(Self { index: Some(index), ..known });
        }
        let mut this = Self::build(source.draft()?).map_err(|e| e.in_file(path.as_ref()))?;
        this.index_error = index.write(IndexPart::Vocabulary, |to| this.write_index(to)).err();
        this.index = Some(index);
        Ok(this)
    }

    /// The error that kept [`from_file_indexed`](Self::from_file_indexed) from writing the index,
    /// if there was one.
    pub fn index_error(&self) -> Option<&Error> {
        self.index_error.as_ref()
    }

    /// The index for what a compiler computes from this vocabulary, if it was loaded through one.
    pub(crate) fn index(&self) -> Option<VocabularyIndex> {
        let end: Vec<u8> = self.end.iter().flat_map(|id| id.to_le_bytes()).collect();
        Some(self.index.as_ref()?.with(&[&(self.len() as u64).to_le_bytes(), &end]))
    }

    /// Writes the vocabulary into an index: token table, end tokens, whether a leading space is
    /// stripped, ids and names of special tokens, ids by name, trie.
    fn write_index(&self, to: &mut IndexWriter) {
        self.table.encode(to);
        to.list(self.end.iter().copied());
        to.number(u8::from(self.strips_leading_space));
        to.list(self.names.keys().copied());
        self.names.values().for_each(|name| to.bytes(name.as_bytes()));
        // Of several tokens with one name the first of the file is found, which ids do not tell.
        let mut ids: Vec<(&str, u32)> = self.ids.iter().map(|(name, &id)| (&**name, id)).collect();
        ids.sort_unstable();
        to.list(ids.iter().map(|&(_, id)| id));
        ids.iter().for_each(|(name, _)| to.bytes(name.as_bytes()));
        self.trie.encode(to);
    }

    /// Reads a vocabulary from an index; `None` if the data is not valid.
    fn read_index(from: &mut IndexReader<'_>) -> Option<Self> {
        let table = TokenTable::decode(from)?;
        let end: Vec<u32> = from.list()?.collect();
        let strips_leading_space = from.number::<u8>()? != 0;
        let mut named = || -> Option<Vec<(u32, Box<str>)>> {
            let ids = from.list::<u32>()?;
            let name = |id| Some((id, std::str::from_utf8(from.bytes()?).ok()?.into()));
            ids.map(name).collect()
        };
        let (names, ids) = (named()?, named()?);
        let trie = Trie::decode(from, table.len())?;
        if end.iter().any(|&id| id as usize >= table.len()) {
            return None;
        }
        Some(Self {
            table,
            names: names.into_iter().collect(),
            ids: ids.into_iter().map(|(id, name)| (name, id)).collect(),
            end,
            strips_leading_space,
            logits_width: None,
            trie,
            index: None,
            index_error: None,
        })
    }

    /// The same vocabulary with these end tokens instead of its own; a token that is no longer an
    /// end token gets back its kind in the file. The list may be empty.
    ///
    /// Errors on an id beyond the model's logits, where these are known, or of 2^24 and more.
    pub fn with_end_tokens(mut self, ids: &[u32]) -> Result<Self> {
        if let Some(width) = self.logits_width
            && let Some(id) = ids.iter().find(|&&id| id as usize >= width)
        {
            let message = format!("end token {id} is beyond the model's {width} logits");
            let help = format!("end tokens must be below {width}");
            return Err(Error::new(ErrorKind::Vocabulary, message).with_help(help));
        }
        let mut end = ids.to_vec();
        prepare_end_tokens(&mut self.table, &mut end)?;
        let is_text = |&id: &u32| self.table.kind(id) == TokenKind::Text;
        let trie_changes = self.end.iter().filter(|id| !end.contains(id)).any(is_text)
            || end.iter().filter(|id| !self.end.contains(id)).any(is_text);
        if trie_changes {
            self.trie = Trie::new(&self.table, &end);
        }
        self.end = end;
        Ok(self)
    }

    /// The same vocabulary for a model whose logits are `width` wide: masks are that wide, and the
    /// ids beyond the tokenizer are never allowed. Special tokens beyond the logits, such as the
    /// placeholders of images in some multimodal models, are left out: no logit can draw them.
    ///
    /// Errors if a text token or an end token lies beyond the logits: then the tokenizer is another
    /// model's; and if there are more than 2^24.
    pub fn with_logits_width(mut self, width: usize) -> Result<Self> {
        if width > MAX_IDS as usize {
            let message = format!("logits that are {width} wide are too wide");
            let help = format!("a model has at most {MAX_IDS} logits");
            return Err(Error::new(ErrorKind::Model, message).with_help(help));
        }
        let help = "use the tokenizer that came with the model";
        if let Some(id) = self.table.highest_text().filter(|&id| id as usize >= width) {
            let message = format!(
                "the tokenizer does not fit the model: its token ids reach {id}, the model has {width} logits"
            );
            return Err(Error::new(ErrorKind::Model, message).with_help(help));
        }
        if let Some(id) = self.end.iter().find(|&&id| id as usize >= width) {
            let message = format!("end token {id} is beyond the model's {width} logits");
            return Err(Error::new(ErrorKind::Model, message).with_help(help));
        }
        self.table.truncate(width);
        self.names.retain(|&id, _| (id as usize) < width);
        self.ids.retain(|_, id| (*id as usize) < width);
        self.logits_width = Some(width);
        Ok(self)
    }

    /// The width of token masks in bits: the width of the model's logits where it was set,
    /// otherwise one more than the highest id.
    pub fn len(&self) -> usize {
        self.logits_width.unwrap_or(self.table.len())
    }

    /// Whether there is no id at all.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes that a text token writes; `None` for special tokens, end tokens, and ids without a
    /// token. Empty for an empty token, which no mask ever allows. O(1).
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.table.text(id).filter(|_| !self.end.contains(&id))
    }

    /// A token as text for messages and traces: the name of a special or added token, the bytes of
    /// others in quotes with unreadable ones escaped, `token 7` for an id without either.
    pub fn token_name(&self, id: u32) -> Cow<'_, str> {
        if let Some(name) = self.names.get(&id).filter(|name| !name.is_empty()) {
            return Cow::Borrowed(name);
        }
        match self.table.text(id) {
            Some(bytes) => Cow::Owned(quoted(bytes)),
            None => Cow::Owned(format!("token {id}")),
        }
    }

    /// The id of a special or added token by its name, such as `<|im_end|>`. Added tokens may be
    /// text, so that a grammar can name `<tool_call>`. Of several tokens with one name,
    /// the first that the file lists. O(1).
    pub fn token_named(&self, name: &str) -> Option<u32> {
        self.ids.get(name).copied()
    }

    /// Whether a token writes no text: a special token or an end token.
    pub fn is_special(&self, id: u32) -> bool {
        self.table.kind(id) == TokenKind::Special || self.end.contains(&id)
    }

    /// The ids of the end tokens, each once; the one that the tokenizer's own configuration names
    /// comes first.
    pub fn end_tokens(&self) -> &[u32] {
        &self.end
    }

    /// The length of the longest text token in bytes, at least 1: a text of `n` bytes takes no
    /// fewer than `n / longest_token` tokens.
    pub fn longest_token(&self) -> usize {
        self.trie.longest().max(1)
    }

    /// All text tokens as a trie.
    pub fn trie(&self) -> &Trie {
        &self.trie
    }

    /// The bytes that these tokens write, one after the other; special tokens and unknown ids write
    /// nothing.
    pub fn decode(&self, ids: &[u32]) -> Vec<u8> {
        ids.iter().filter_map(|&id| self.token_bytes(id)).flatten().copied().collect()
    }

    /// Whether the tokenizer takes one leading space off a decoded text. Such a tokenizer puts a
    /// space before the text that it encodes, so [`decode`](Self::decode) of a text's ids begins
    /// with one. The `tokenizers` crate's Metaspace puts none before a text that starts with a
    /// space; there encoding and decoding lose a space.
    pub fn strips_leading_space(&self) -> bool {
        self.strips_leading_space
    }
}

/// Drops repeated end tokens and makes room for their ids.
fn prepare_end_tokens(table: &mut TokenTable, end: &mut Vec<u32>) -> Result<()> {
    let mut seen = std::collections::BTreeSet::new();
    end.retain(|&id| seen.insert(id));
    end.iter().try_for_each(|&id| table.grow(id))
}

/// Bytes as a quoted string: control characters and bytes that are no UTF-8 are escaped.
fn quoted(bytes: &[u8]) -> String {
    let mut out = String::from("\"");
    for chunk in bytes.utf8_chunks() {
        out.extend(chunk.valid().chars().flat_map(char::escape_debug));
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            let _ = write!(out, "\\x{byte:02X}");
        }
    }
    out.push('"');
    out
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary")
            .field("len", &self.len())
            .field("end_tokens", &self.end)
            .field("trie_nodes", &self.trie.nodes().len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn tokens(texts: &[&str]) -> Vec<Option<Vec<u8>>> {
        texts.iter().map(|t| Some(t.as_bytes().to_vec())).collect()
    }

    #[test]
    fn special_and_end_tokens_write_nothing() {
        let mut list = tokens(&["a", "b", "</s>", "", "<unk>"]);
        list.push(None);
        let vocab = Vocabulary::from_tokens(list, &[(4, "<unk>")], &[2, 7, 2]).unwrap();
        assert_eq!(vocab.len(), 8);
        assert_eq!(vocab.end_tokens(), [2, 7]);
        assert_eq!(vocab.decode(&[0, 2, 1, 4, 3, 5, 6, 99, 0]), b"aba");
        assert_eq!(vocab.trie().ids(), [0, 1]);
        let special: Vec<u32> = (0..9).filter(|&id| vocab.is_special(id)).collect();
        assert_eq!(special, [2, 4, 7]);
        assert_eq!(vocab.token_bytes(3), Some(&b""[..]));
        assert_eq!((vocab.token_bytes(5), vocab.token_bytes(100)), (None, None));
    }

    #[test]
    fn other_end_tokens_give_the_text_back() {
        let vocab = Vocabulary::from_tokens(tokens(&["a", "</s>", "b"]), &[], &[1]).unwrap();
        let vocab = vocab.with_end_tokens(&[2]).unwrap();
        assert_eq!(vocab.token_bytes(1), Some(&b"</s>"[..]));
        assert_eq!(vocab.trie().ids(), [1, 0]);
        let vocab = vocab.with_end_tokens(&[]).unwrap();
        assert_eq!(vocab.trie().ids(), [1, 0, 2]);
        assert!(vocab.end_tokens().is_empty());
    }

    #[test]
    fn the_logits_may_be_wider_but_not_narrower() {
        let vocab = Vocabulary::from_tokens(tokens(&["a", "b"]), &[(2, "<e>")], &[2]).unwrap();
        let error = vocab.clone().with_logits_width(2).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Model);
        assert_eq!(
            error.to_string(),
            "end token 2 is beyond the model's 2 logits; use the tokenizer that came with the model"
        );
        let error = vocab.clone().with_logits_width(1).unwrap_err();
        assert_eq!(
            error.to_string(),
            "the tokenizer does not fit the model: its token ids reach 1, the model has 1 logits; \
             use the tokenizer that came with the model"
        );
        let vocab = vocab.with_logits_width(64).unwrap();
        assert_eq!(vocab.len(), 64);
        assert!(vocab.with_end_tokens(&[64]).is_err());
        // Ids without a token do not matter.
        let mut list = tokens(&["a"]);
        list.resize(10, None);
        let vocab = Vocabulary::from_tokens(list, &[], &[]).unwrap();
        assert_eq!(vocab.with_logits_width(4).unwrap().len(), 4);
    }

    #[test]
    fn special_tokens_beyond_the_logits_are_left_out() {
        let special = [(2, "<e>"), (3, "<image>"), (1, "<pad>")];
        let vocab = Vocabulary::from_tokens(tokens(&["a", "b"]), &special, &[2]).unwrap();
        let vocab = vocab.with_logits_width(3).unwrap();
        assert_eq!((vocab.len(), vocab.end_tokens()), (3, &[2][..]));
        assert_eq!((vocab.token_named("<image>"), vocab.token_named("<pad>")), (None, Some(1)));
        assert_eq!((vocab.is_special(3), vocab.token_name(3).as_ref()), (false, "token 3"));
    }

    #[test]
    fn names_are_readable() {
        let list = vec![Some(b"a\n\"\xE2\x82".to_vec()), Some("€".into()), None];
        let vocab = Vocabulary::from_tokens(list, &[(3, "<s>")], &[]).unwrap();
        let names: Vec<_> = (0..5).map(|id| vocab.token_name(id)).collect();
        assert_eq!(names, [r#""a\n\"\xE2\x82""#, "\"€\"", "token 2", "<s>", "token 4"]);
    }

    #[test]
    fn is_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Vocabulary>();
    }
}
