//! A file as its configuration is read: the keys of its architecture, with an account of those that were
//! read, and the members of the `config.json`.

use std::cell::RefCell;

use rustc_hash::FxHashSet;
use serde_json::{Map, Value};

use super::super::architectures::Architecture;
use super::super::directory::Directory;
use super::super::metadata::Metadata;
use super::super::parts::Parts;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::GgufValue;

/// Keys of an architecture that change nothing of what is computed.
const HARMLESS: [&str; 2] = ["vocab_size", "tensor_data_layout"];

/// Keys with the value at which each changes nothing.
const OFF: [(&str, GgufValue<'static>); 5] = [
    ("attention.causal", GgufValue::Bool(true)),
    ("attn_logit_softcapping", GgufValue::Float(0.0)),
    ("final_logit_softcapping", GgufValue::Float(0.0)),
    ("pooling_type", GgufValue::Integer(0)),
    ("rope.scaling.alpha", GgufValue::Float(0.0)),
];

/// Beginnings of the keys of parts that a model may lack: encoders of pictures, and state-space layers, which files of
/// Granite 4 describe where all layers are attention. Where a file has such a part, its tensors are refused.
const OF_ABSENT_PARTS: [&str; 3] = ["mm.", "vision.", "ssm."];

/// The keys of an architecture, and which of them were read.
pub(super) struct ArchitectureKeys<'a> {
    pub(super) metadata: &'a Metadata<'a>,
    pub(super) prefix: &'static str,
    pub(super) read: RefCell<FxHashSet<String>>,
}

impl ArchitectureKeys<'_> {
    pub(super) fn key(&self, name: &str) -> String {
        let key = format!("{}.{name}", self.prefix);
        self.read.borrow_mut().insert(key.clone());
        key
    }

    pub(super) fn size(&self, name: &str) -> Result<Option<usize>> {
        let key = self.key(name);
        let layers = self.metadata.size(&self.key("block_count")).unwrap_or_default();
        match (self.metadata.array_len(&key), layers) {
            (Some(len), Some(layers)) if len != layers => {
                Err(self.of_other_layers(name, len, layers))
            }
            _ => self.metadata.size_of_layers(&key),
        }
    }

    /// The error for an array that is not one of the layers' values.
    fn of_other_layers(&self, name: &str, len: usize, layers: usize) -> Error {
        self.damaged(name, &format!("is said of {len} layers, and the model has {layers}"))
    }

    /// The sizes of so many layers.
    pub(super) fn sizes(&self, name: &str, layers: usize) -> Result<Option<Vec<usize>>> {
        match self.metadata.sizes(&self.key(name))? {
            Some(sizes) if sizes.len() == 1 => Ok(Some(vec![sizes[0]; layers])),
            Some(sizes) if sizes.len() < layers => {
                Err(self.of_other_layers(name, sizes.len(), layers))
            }
            sizes => Ok(sizes),
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<usize> {
        self.size(name)?.filter(|number| *number > 0).ok_or_else(|| self.missing(name))
    }

    pub(super) fn required_number(&self, name: &str) -> Result<f64> {
        self.number(name)?.ok_or_else(|| self.missing(name))
    }

    pub(super) fn missing(&self, name: &str) -> Error {
        let message = format!("the metadata have no `{}`, or it is 0", self.key(name));
        Error::new(ErrorKind::Model, message)
            .with_help("get a complete copy of the file, or convert the model again")
    }

    pub(super) fn number(&self, name: &str) -> Result<Option<f64>> {
        self.metadata.number(&self.key(name))
    }

    pub(super) fn text(&self, name: &str) -> Result<Option<&str>> {
        self.metadata.text(&self.key(name))
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>> {
        self.metadata.flag(&self.key(name))
    }

    /// The error for a key whose value is not supported.
    pub(super) fn refused(&self, name: &str, reason: &str) -> Error {
        let message = format!("the metadata `{}.{name}` {reason}", self.prefix);
        Error::new(ErrorKind::Model, message)
            .with_help("a model that says this computes something else: load it from safetensors")
    }

    /// The error for a tensor of settings that are not supported.
    pub(super) fn tensor_refused(&self, name: &str, reason: &str) -> Error {
        Error::new(ErrorKind::Model, format!("the tensor `{name}` {reason}"))
            .with_help("a model that says this computes something else: load it from safetensors")
    }

    /// The error for a key that contradicts the rest of the file.
    pub(super) fn damaged(&self, name: &str, reason: &str) -> Error {
        Error::new(ErrorKind::Model, format!("the metadata `{}.{name}` {reason}", self.prefix))
            .with_help("get a complete copy of the file")
    }

    /// Errors on a key that nobody has read.
    pub(super) fn refuse_others(&self) -> Result<()> {
        let read = self.read.borrow();
        let prefix = format!("{}.", self.prefix);
        for (key, value) in self.metadata.0.entries() {
            let Ok(key) = std::str::from_utf8(key) else { continue };
            let Some(name) = key.strip_prefix(&prefix) else { continue };
            let is_of_absent = OF_ABSENT_PARTS.iter().any(|prefix| name.starts_with(prefix));
            let is_off = OFF.contains(&(name, value));
            if !read.contains(key) && !HARMLESS.contains(&name) && !is_of_absent && !is_off {
                let message = format!("the metadata `{key}` ({value:?}) is not known");
                return Err(Error::new(ErrorKind::Model, message).with_help(
                    "it may change what the model computes: load the model from safetensors",
                ));
            }
        }
        Ok(())
    }
}

/// A file and its architecture.
pub(super) struct GgufModel<'a> {
    pub(super) keys: ArchitectureKeys<'a>,
    pub(super) architecture: &'a Architecture,
    pub(super) directory: &'a Directory,
    pub(super) parts: &'a Parts,
}

impl GgufModel<'_> {
    /// Whether there is a tensor of this name in the first layer.
    pub(super) fn has_in_layer(&self, name: &str) -> bool {
        self.directory.find(&format!("blk.0.{name}")).is_some()
    }

    /// The greatest length of a text.
    pub(super) fn context(&self) -> Result<usize> {
        self.keys.required("context_length")
    }
}

/// The members of a `config.json`.
#[derive(Default)]
pub(super) struct Members(pub(super) Map<String, Value>);

impl Members {
    pub(super) fn set(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }
}

/// A factor of `whole` whose product, rounded down, is `part`.
pub(super) fn ratio(part: usize, whole: usize) -> f64 {
    let ratio = part as f64 / whole as f64;
    if (whole as f64 * ratio) as usize == part { ratio } else { ratio.next_up() }
}
