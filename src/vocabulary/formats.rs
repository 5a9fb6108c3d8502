//! Vocabulary files: opens one and chooses the reader of its format by content.
//!
//! | format | recognised by | reader |
//! |---|---|---|
//! | GGUF | magic `GGUF` | [`gguf`]: only the metadata; the weights after it are not touched |
//! | tokenizer.json | first byte `{` | [`tokenizer_json`], with [`token_spelling`] for its decoder |
//! | tiktoken | anything else | [`tiktoken`] |
//!
//! A reader is a function from bytes to a [`VocabularyDraft`]. A new format takes a file here with
//! such a function, a variant of [`FileContent`] with the test that recognises it, a line in
//! `SourceFile::draft` and in `SourceFile::index` (whatever the reader looks at must enter the
//! key), and a constructor of `Vocabulary` for callers who have the bytes.

mod added_tokens;
mod end_tokens;
mod gguf;
mod json_error;
mod tiktoken;
mod token_spelling;
mod tokenizer_json;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::draft::VocabularyDraft;
use super::index::VocabularyIndex;
use super::mapped_file::map_file;
use crate::error::{Error, ErrorKind, Result};
use end_tokens::ConfiguredEndTokens;

#[cfg(feature = "model")]
pub(crate) use added_tokens::completed as with_added_tokens;
#[cfg(feature = "model")]
pub(crate) use end_tokens::is_well_known_end;
#[cfg(feature = "model")]
pub(crate) use gguf::{
    GgufMetadata, GgufTensor, GgufValue, gguf_tensors, is_gguf, token_type as gguf_token_type,
};

/// The largest tokenizer.json or tiktoken file that is read, in bytes; the largest ones in use have
/// some 35 MB.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// Reads a tokenizer.json that has no folder: end tokens are known by their names alone.
pub(crate) fn from_tokenizer_json(json: &[u8]) -> Result<VocabularyDraft> {
    tokenizer_json::read(json, &ConfiguredEndTokens::default())
}

/// Reads a tiktoken file.
pub(crate) fn from_tiktoken(text: &[u8]) -> Result<VocabularyDraft> {
    tiktoken::read(text)
}

/// Reads the metadata of a GGUF file.
pub(crate) fn from_gguf(bytes: &[u8]) -> Result<VocabularyDraft> {
    gguf::read(bytes)
}

/// A vocabulary file that is open but not parsed.
pub(crate) struct SourceFile {
    path: PathBuf,
    content: FileContent,
}

/// The content of a file, by its format.
enum FileContent {
    Gguf(memmap2::Mmap),
    /// A tokenizer.json with the tokens that the files beside it add, and the folder that it lies in.
    TokenizerJson(Vec<u8>, PathBuf),
    Tiktoken(Vec<u8>),
}

impl SourceFile {
    /// Opens a file, or the tokenizer.json in a folder.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let mut path = path.to_owned();
        if path.is_dir() {
            let inside = path.join("tokenizer.json");
            if !inside.is_file() {
                let help = "name a tokenizer.json, .tiktoken or .gguf file";
                let message = "the folder has no tokenizer.json";
                return Err(Error::new(ErrorKind::Io, message).in_file(path).with_help(help));
            }
            path = inside;
        }
        let read = || -> io::Result<FileContent> {
            let mut file = File::open(&path)?;
            let mut start = Vec::new();
            file.by_ref().take(4).read_to_end(&mut start)?;
            if gguf::is_gguf(&start) {
                return map_file(&file).map(FileContent::Gguf);
            }
            let mut bytes = Vec::new();
            File::open(&path)?.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > MAX_FILE_BYTES {
                return Err(io::Error::other("the file is longer than 1 GiB"));
            }
            Ok(if bytes.trim_ascii_start().first() == Some(&b'{') {
                let folder = path.parent().unwrap_or(Path::new("")).to_owned();
                FileContent::TokenizerJson(bytes, folder)
            } else {
                FileContent::Tiktoken(bytes)
            })
        };
        match read() {
            Ok(FileContent::TokenizerJson(bytes, folder)) => {
                let bytes = added_tokens::completed(bytes, &folder)?;
                Ok(Self { path, content: FileContent::TokenizerJson(bytes, folder) })
            }
            Ok(content) => Ok(Self { path, content }),
            Err(e) => Err(Error::new(ErrorKind::Io, e.to_string()).in_file(path).with_source(e)),
        }
    }

    /// Parses the file.
    pub(crate) fn draft(&self) -> Result<VocabularyDraft> {
        let draft = match &self.content {
            FileContent::Gguf(bytes) => gguf::read(bytes),
            FileContent::TokenizerJson(bytes, folder) => ConfiguredEndTokens::read(folder)
                .and_then(|configured| tokenizer_json::read(bytes, &configured)),
            FileContent::Tiktoken(bytes) => tiktoken::read(bytes).map_err(|e| self.unknown(e)),
        };
        draft.map_err(|e| e.in_file(&self.path))
    }

    /// The error for a file that no reader accepts: the tiktoken reader's own only where the name
    /// says that the file is one.
    fn unknown(&self, error: Error) -> Error {
        if self.path.extension().is_some_and(|extension| extension == "tiktoken") {
            error
        } else {
            Error::new(ErrorKind::Vocabulary, "not a vocabulary file").with_help(
                "a tokenizer.json, tiktoken or GGUF file is read; the `transformers` library \
                 converts other tokenizers to tokenizer.json",
            )
        }
    }

    /// The file's index in a folder. Its key covers everything that [`draft`](Self::draft) reads.
    ///
    /// Errors if a file beside it cannot be read, or is damaged.
    pub(crate) fn index(&self, folder: &Path) -> Result<VocabularyIndex> {
        Ok(match &self.content {
            FileContent::Gguf(bytes) => {
                let length =
                    gguf::GgufMetadata::read(bytes).map_err(|e| e.in_file(&self.path))?.length;
                VocabularyIndex::new(folder, &[b"gguf", &bytes[..length]])
            }
            FileContent::TokenizerJson(bytes, beside) => {
                let configured = ConfiguredEndTokens::read(beside)?.key_text();
                VocabularyIndex::new(folder, &[b"json", bytes, configured.as_bytes()])
            }
            FileContent::Tiktoken(bytes) => VocabularyIndex::new(folder, &[b"tiktoken", bytes]),
        })
    }
}
