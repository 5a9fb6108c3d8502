//! Opens a vocabulary file and tells its format by its content.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::end_tokens::Configured;
use super::{Draft, gguf, tiktoken, tokenizer_json};
use crate::error::{Error, ErrorKind, Result};

/// The draft of a vocabulary from a file, or from a folder that holds a tokenizer.json.
pub(super) fn read(path: &Path) -> Result<Draft> {
    if path.is_dir() {
        let inside = path.join("tokenizer.json");
        if !inside.is_file() {
            let help = "name a tokenizer.json, .tiktoken or .gguf file";
            let message = "the folder has no tokenizer.json";
            return Err(Error::new(ErrorKind::Io, message).in_file(path).with_help(help));
        }
        return read_file(&inside).map_err(|e| e.in_file(&inside));
    }
    read_file(path).map_err(|e| e.in_file(path))
}

fn read_file(path: &Path) -> Result<Draft> {
    let io_error = |e: io::Error| Error::new(ErrorKind::Io, e.to_string());
    let mut file = File::open(path).map_err(io_error)?;
    let mut start = Vec::new();
    file.by_ref().take(4).read_to_end(&mut start).map_err(io_error)?;
    if gguf::Metadata::is_gguf(&start) {
        return gguf::read(&map(&file).map_err(io_error)?);
    }
    let bytes = fs::read(path).map_err(io_error)?;
    if bytes.trim_ascii_start().first() == Some(&b'{') {
        let folder = path.parent().unwrap_or(Path::new(""));
        return tokenizer_json::read(&bytes, &Configured::read(folder)?);
    }
    let named_tiktoken = path.extension().is_some_and(|extension| extension == "tiktoken");
    tiktoken::read(&bytes).map_err(|e| match named_tiktoken {
        true => e,
        false => Error::new(ErrorKind::Vocabulary, "not a vocabulary file").with_help(
            "a tokenizer.json, tiktoken or GGUF file is read; the `transformers` library converts \
             other tokenizers to tokenizer.json",
        ),
    })
}

/// Maps a file into memory: a GGUF file holds gigabytes of weights after the few megabytes that a
/// vocabulary needs.
#[allow(unsafe_code)]
fn map(file: &File) -> io::Result<memmap2::Mmap> {
    // SAFETY: the map is read-only and lives no longer than the call that reads the metadata. Like
    // every reader that maps model files, we rely on nobody truncating the file meanwhile.
    unsafe { memmap2::Mmap::map(file) }
}
