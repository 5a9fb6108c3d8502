//! A GGUF file as a model folder.
//!
//! llama.cpp's files hold all of a model: its shape in the metadata, its tokenizer, its chat template,
//! and weights under other names, some of them in another order. [`GgufFile`] says the same in Hugging
//! Face's terms, so that the readers of a folder read it, too:
//!
//! | in a folder | made by |
//! |---|---|
//! | `config.json` | [`config`], from the metadata `llama.…` |
//! | `tokenizer.json`, `tokenizer_config.json` | [`tokenizer`], from the metadata `tokenizer.…` |
//! | tensors | [`tensor_names`], from `blk.0.attn_q.weight` and so on |
//!
//! Metadata that are not understood are refused by name.

mod architectures;
mod config;
mod directory;
mod metadata;
mod pre_tokenizers;
mod tensor_names;
mod tokenizer;

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rustc_hash::FxHashMap;

use super::stored_tensor::{EncodedNumbers, StoredTensor};
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::{GgufMetadata, map_file};
use architectures::Architecture;
use directory::{Directory, TensorData};
use metadata::Metadata;
use tensor_names::{Part, TensorPlace};

/// A GGUF file with a model.
#[derive(Debug)]
pub(crate) struct GgufFile {
    path: PathBuf,
    map: Mmap,
    tensors: Vec<TensorData>,
    /// The place of each tensor, by Hugging Face's name.
    places: FxHashMap<String, TensorPlace>,
    /// The files of a model folder that are not weights.
    documents: Vec<(&'static str, Vec<u8>)>,
}

impl GgufFile {
    /// Maps and checks a file; weights are not touched.
    ///
    /// Errors on damage, and on metadata, tokenizers and types of tensors that are not read.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let unreadable = |error: std::io::Error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                return Error::new(ErrorKind::Model, "there is no such GGUF file")
                    .in_file(path)
                    .with_help("give the path of a GGUF file or of a model folder, or `tiny`");
            }
            Error::new(ErrorKind::Io, format!("cannot read: {error}"))
                .in_file(path)
                .with_source(error)
        };
        let map = File::open(path).and_then(|file| map_file(&file)).map_err(unreadable)?;
        Self::read(path, map).map_err(|error| error.in_file(path))
    }

    fn read(path: &Path, map: Mmap) -> Result<Self> {
        let metadata = GgufMetadata::read(&map).map_err(of_model)?;
        let directory = Directory::read(&map, &metadata).map_err(of_model)?;
        let metadata = Metadata(&metadata);
        refuse_parts(&metadata)?;
        let architecture = Architecture::of(&metadata)?;
        let config = config::config_json(&metadata, architecture, &directory, &map)?;
        let tokenizer = tokenizer::tokenizer_json(&metadata)?;
        let tokenizer_config = tokenizer::tokenizer_config_json(&metadata)?;
        let places = tensor_names::places(&metadata, architecture, &directory.tensors)?;
        let json = serde_json::to_vec(&config)
            .map_err(|error| Error::new(ErrorKind::Model, error.to_string()))?;
        let documents = vec![
            ("config.json", json),
            ("tokenizer.json", tokenizer),
            ("tokenizer_config.json", tokenizer_config),
        ];
        let tensors = directory.tensors;
        Ok(Self { path: path.to_owned(), map, tensors, places, documents })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the files that a model folder would have.
    pub(crate) fn document_names(&self) -> impl Iterator<Item = &'static str> {
        self.documents.iter().map(|(name, _)| *name)
    }

    /// A file that a model folder would have.
    pub(crate) fn document(&self, name: &str) -> Option<&[u8]> {
        self.documents.iter().find(|(found, _)| *found == name).map(|(_, bytes)| &bytes[..])
    }

    /// Hugging Face's name of each tensor.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// The tensor of a name of Hugging Face's.
    pub(crate) fn find(&self, name: &str) -> Option<StoredTensor<'_>> {
        let place = self.places.get(name)?;
        let tensor = &self.tensors[place.tensor];
        let (mut shape, mut bytes) = (tensor.shape.clone(), &self.map[tensor.bytes.clone()]);
        if let Part::Expert(index) = place.part {
            let experts = shape.remove(0);
            let len = bytes.len() / experts;
            bytes = &bytes[index * len..(index + 1) * len];
        }
        let bytes = match place.interleaved_heads {
            None => Cow::Borrowed(bytes),
            Some(heads) => Cow::Owned(halves_of_heads(bytes, shape[0], heads)),
        };
        let numbers = if place.is_one_more {
            // Norms are stored as the factor, of which Hugging Face's checkpoints hold what exceeds 1.
            let less =
                EncodedNumbers::new(tensor.kind, bytes).to_f32().into_iter().map(|x| x - 1.0);
            EncodedNumbers::from_f32(less)
        } else {
            EncodedNumbers::new(tensor.kind, bytes)
        };
        Some(StoredTensor { name: &tensor.name, path: &self.path, shape, numbers })
    }
}

/// An error about the container as one about a model.
fn of_model(error: Error) -> Error {
    let help = error.help().unwrap_or("get a complete copy of the file").to_owned();
    Error::new(ErrorKind::Model, error.message()).wrapping(&error).with_help(help)
}

/// Rows of heads whose pairs of dimensions lie side by side, as rows with the first of all pairs before
/// the second: Hugging Face's order, in which rotary positions turn i and i + width / 2.
fn halves_of_heads(bytes: &[u8], rows: usize, heads: usize) -> Vec<u8> {
    let (row, width) = (bytes.len() / rows, rows / heads);
    let mut ordered = Vec::with_capacity(bytes.len());
    for head in 0..heads {
        for half in 0..2 {
            for pair in 0..width / 2 {
                let from = (head * width + 2 * pair + half) * row;
                ordered.extend_from_slice(&bytes[from..from + row]);
            }
        }
    }
    ordered
}

/// Errors on one of several files of a model.
fn refuse_parts(metadata: &Metadata<'_>) -> Result<()> {
    match metadata.size("split.count")? {
        None | Some(0 | 1) => Ok(()),
        Some(count) => {
            let message = format!("the file is one of {count} parts of a model (`split.count`)");
            Err(Error::new(ErrorKind::Model, message)
                .with_help("join them: `llama-gguf-split --merge` of llama.cpp does"))
        }
    }
}
