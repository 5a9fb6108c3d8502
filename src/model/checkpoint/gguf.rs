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
//! | `generation_config.json` | [`sampling`], from the metadata `general.sampling.…` |
//! | tensors | [`tensor_names`], from `blk.0.attn_q.weight` and so on |
//!
//! Metadata that are not understood are refused by name.

mod architectures;
mod config;
mod directory;
mod expert_names;
mod metadata;
mod parts;
mod pre_tokenizers;
mod sampling;
mod tensor_names;
mod tokenizer;

use std::borrow::Cow;
use std::path::Path;

use rustc_hash::FxHashMap;

use super::short_name::short;
use super::stored_tensor::{EncodedNumbers, StoredTensor};
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::GgufMetadata;
use architectures::Architecture;
use directory::TensorData;
pub(crate) use expert_names::{EXPERTS, GATE_UP, GATED, SHARED_EXPERT};
use metadata::Metadata;
pub(super) use parts::PartName;
use parts::{Parts, of_model};
use tensor_names::{TensorExtent, TensorPlace};

/// A model in a GGUF file, or in several that belong together.
#[derive(Debug)]
pub(crate) struct GgufFile {
    parts: Parts,
    tensors: Vec<TensorData>,
    /// The place of each tensor, by Hugging Face's name.
    places: FxHashMap<String, TensorPlace>,
    architecture: &'static Architecture,
    /// The files of a model folder that are not weights.
    documents: Vec<(&'static str, Vec<u8>)>,
}

impl GgufFile {
    /// Maps and checks a file, and those that belong to it; weights are not touched.
    ///
    /// Errors on damage, and on metadata, tokenizers and types of tensors that are not read.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let parts = Parts::open(path)?;
        let path = parts.first().0.to_owned();
        Self::read(parts).map_err(|error| error.in_file(&path))
    }

    fn read(parts: Parts) -> Result<Self> {
        let metadata = GgufMetadata::read(parts.first().1).map_err(of_model)?;
        let directory = parts.directory()?;
        let metadata = Metadata(&metadata);
        if let Some(kind) = metadata.text("general.type")?.filter(|kind| *kind != "model") {
            let message =
                format!("the file holds no model: its `general.type` is `{}`", short(kind));
            return Err(Error::new(ErrorKind::Model, message)
                .with_help("give the file of the model that it belongs to"));
        }
        let architecture = Architecture::of(&metadata)?;
        let config = config::config_json(&metadata, architecture, &directory, &parts)?;
        let tokenizer = tokenizer::tokenizer_json(&metadata)?;
        let tokenizer_config = tokenizer::tokenizer_config_json(&metadata)?;
        let places = tensor_names::places(&metadata, architecture, &directory.tensors)?;
        let json = serde_json::to_vec(&config)
            .map_err(|error| Error::new(ErrorKind::Model, error.to_string()))?;
        let mut documents = vec![
            ("config.json", json),
            ("tokenizer.json", tokenizer),
            ("tokenizer_config.json", tokenizer_config),
        ];
        let generation = sampling::generation_config_json(&metadata)?;
        documents.extend(generation.map(|json| ("generation_config.json", json)));
        Ok(Self { parts, tensors: directory.tensors, places, architecture, documents })
    }

    /// The file, of several the first.
    pub(crate) fn path(&self) -> &Path {
        self.parts.first().0
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

    /// An error about a `config.json` as one about the metadata that it was made from.
    pub(crate) fn in_terms_of_metadata(&self, error: Error) -> Error {
        let pointer = error.place().pointer.as_deref().unwrap_or_default();
        let member = pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
        let message = match config::key_of_member(member) {
            Some(key) => {
                let prefix = self.architecture.prefix();
                format!("the metadata `{prefix}.{key}`, in config.json {}", error.message())
            }
            None => format!("the metadata as a config.json: {}", error.message()),
        };
        Error::new(error.kind(), message).wrapping(&error)
    }

    /// The name in the file of a tensor of Hugging Face's name that is missing, if it shows: it is outside
    /// layers, or another layer has it.
    pub(crate) fn own_name(&self, name: &str) -> Option<String> {
        let outside = self.architecture.outside;
        let Some(rest) = name.strip_prefix(outside.layers).and_then(|rest| rest.strip_prefix('.'))
        else {
            let (stem, kind) = name.rsplit_once('.')?;
            let (own, _) = outside.tensors.iter().find(|(_, other)| *other == stem)?;
            return Some(format!("{own}.{kind}"));
        };
        let (layer, inside) = rest.split_once('.')?;
        let inside = format!(".{inside}");
        let (_, place) = self
            .places
            .iter()
            .find(|(other, _)| other.starts_with(outside.layers) && other.ends_with(&inside))?;
        let (_, stem) = self.tensors[place.tensor].name.strip_prefix("blk.")?.split_once('.')?;
        Some(format!("blk.{layer}.{stem}"))
    }

    /// The tensor of a name of Hugging Face's.
    pub(crate) fn find(&self, name: &str) -> Option<StoredTensor<'_>> {
        let place = self.places.get(name)?;
        let tensor = &self.tensors[place.tensor];
        let (path, mut bytes) = self.parts.data(tensor);
        let mut shape = tensor.shape.clone();
        match &place.extent {
            TensorExtent::Whole => {}
            TensorExtent::Row => shape.insert(0, 1),
            TensorExtent::Expert(index) => {
                let len = bytes.len() / shape.remove(0);
                bytes = &bytes[index * len..(index + 1) * len];
            }
            TensorExtent::Rows(rows) => {
                let len = bytes.len() / shape[0];
                bytes = &bytes[rows.start * len..rows.end * len];
                shape[0] = rows.len();
            }
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
        Some(StoredTensor { name: &tensor.name, path, shape, numbers })
    }
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
