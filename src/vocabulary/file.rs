//! Opens a vocabulary file and tells its format by its content.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::end_tokens::Configured;
use super::index::Index;
use super::{Draft, gguf, tiktoken, tokenizer_json};
use crate::error::{Error, ErrorKind, Result};

/// The largest file, in bytes, that is read as a tokenizer.json or as ranks of tiktoken; the largest
/// ones that are in use have some 35 MB.
const LARGEST: u64 = 1 << 30;

/// The draft of a vocabulary from a file, or from a folder that holds a tokenizer.json.
pub(crate) fn read(path: &Path) -> Result<Draft> {
    Source::open(path)?.draft()
}

/// A vocabulary file that was opened and not yet taken apart, and what lies beside it.
pub(crate) struct Source {
    path: PathBuf,
    content: Content,
}

enum Content {
    Gguf(memmap2::Mmap),
    /// A tokenizer.json, in this folder.
    Json(Vec<u8>, PathBuf),
    Other(Vec<u8>),
}

impl Source {
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
        let read = || -> io::Result<Content> {
            let mut file = File::open(&path)?;
            let mut start = Vec::new();
            file.by_ref().take(4).read_to_end(&mut start)?;
            if gguf::Metadata::is_gguf(&start) {
                return map(&file).map(Content::Gguf);
            }
            let mut bytes = Vec::new();
            File::open(&path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > LARGEST {
                return Err(io::Error::other("the file is longer than 1 GiB"));
            }
            Ok(match bytes.trim_ascii_start().first() == Some(&b'{') {
                true => Content::Json(bytes, path.parent().unwrap_or(Path::new("")).to_owned()),
                false => Content::Other(bytes),
            })
        };
        match read() {
            Ok(content) => Ok(Self { path, content }),
            Err(e) => Err(Error::new(ErrorKind::Io, e.to_string()).in_file(path).with_source(e)),
        }
    }

    /// The vocabulary in it.
    pub(crate) fn draft(&self) -> Result<Draft> {
        let draft = match &self.content {
            Content::Gguf(bytes) => gguf::read(bytes),
            Content::Json(bytes, folder) => {
                Configured::read(folder).and_then(|said| tokenizer_json::read(bytes, &said))
            }
            Content::Other(bytes) => tiktoken::read(bytes).map_err(|e| self.unknown(e)),
        };
        draft.map_err(|e| e.in_file(&self.path))
    }

    fn unknown(&self, error: Error) -> Error {
        match self.path.extension().is_some_and(|extension| extension == "tiktoken") {
            true => error,
            false => Error::new(ErrorKind::Vocabulary, "not a vocabulary file").with_help(
                "a tokenizer.json, tiktoken or GGUF file is read; the `transformers` library \
                 converts other tokenizers to tokenizer.json",
            ),
        }
    }

    /// Its index in a folder. All that [`draft`](Self::draft) looks at decides which one it is.
    ///
    /// Errors if a file beside it cannot be read, or is damaged.
    pub(crate) fn index(&self, folder: &Path) -> Result<Index> {
        Ok(match &self.content {
            Content::Gguf(bytes) => {
                let length = gguf::Metadata::read(bytes).map_err(|e| e.in_file(&self.path))?.length;
                Index::new(folder, &[b"gguf", &bytes[..length]])
            }
            Content::Json(bytes, beside) => {
                let said = format!("{:?}", Configured::read(beside)?);
                Index::new(folder, &[b"json", bytes, said.as_bytes()])
            }
            Content::Other(bytes) => Index::new(folder, &[b"tiktoken", bytes]),
        })
    }
}

/// Maps a file into memory, to be read once: a GGUF file holds gigabytes of weights after the few
/// megabytes that a vocabulary needs, and an index need not be copied to be checked.
#[allow(unsafe_code)]
pub(crate) fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the map is read-only and lives no longer than the load that reads it; bytes are all
    // that is ever seen of it, and every value of a byte is one. An index is never written in
    // place, but replaced by another file. Like every reader that maps model files, we rely on
    // nobody else changing or truncating the file meanwhile.
    unsafe { memmap2::Mmap::map(file) }
}
