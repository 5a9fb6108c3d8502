//! The tensors of a checkpoint in safetensors files, one or many.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;

use candle_core::{DType, Device, Tensor};
use rustc_hash::FxHashSet;
use safetensors::SafeTensors;
use safetensors::tensor::Metadata;

use super::files::{Bytes, ModelFiles};
use super::internal;
use crate::error::{Error, ErrorKind, Result};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// One safetensors file. Format: 8 bytes with the header's length, the header, the data.
struct Shard {
    path: PathBuf,
    bytes: Bytes,
    metadata: Metadata,
    /// Where the data begins.
    data: usize,
}

/// A checkpoint: gives its tensors by name, in the wanted dtype and on the wanted device, and
/// knows at the end which were never asked for.
pub(super) struct Weights {
    shards: Vec<Shard>,
    dtype: DType,
    device: Device,
    taken: RefCell<FxHashSet<String>>,
}

impl Weights {
    /// Opens the files: `model.safetensors`, or the shards that `model.safetensors.index.json`
    /// lists.
    pub(super) fn open(files: &ModelFiles, dtype: DType, device: &Device) -> Result<Self> {
        let names = match files.json(INDEX)? {
            Some(index) => shard_names(files, &index)?,
            None => vec![SINGLE.to_owned()],
        };
        let shards = names.iter().map(|name| Shard::open(files, name)).collect::<Result<_>>()?;
        Ok(Self { shards, dtype, device: device.clone(), taken: RefCell::default() })
    }

    /// The tensor of this name, which must have this shape.
    pub(super) fn get(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let found = self.shards.iter().find_map(|s| s.metadata.info(name).map(|info| (s, info)));
        let Some((shard, info)) = found else {
            let path = self.shards.first().map(|shard| shard.path.clone()).unwrap_or_default();
            let message = format!("there is no tensor `{name}`");
            return Err(Error::new(ErrorKind::Model, message)
                .in_file(path)
                .with_help("config.json and the weights must belong to one Llama-family model"));
        };
        let error = |message| Error::new(ErrorKind::Model, message).in_file(&shard.path);
        if info.shape != shape {
            let message =
                format!("tensor `{name}` is {:?}, config.json says {shape:?}", info.shape);
            return Err(error(message).with_help("the two files must belong to one model"));
        }
        let dtype = match info.dtype {
            safetensors::Dtype::F32 => DType::F32,
            safetensors::Dtype::F16 => DType::F16,
            safetensors::Dtype::BF16 => DType::BF16,
            other => {
                let message = format!("tensor `{name}` holds {other:?} numbers");
                return Err(error(message).with_help("give weights in F32, F16 or BF16"));
            }
        };
        self.taken.borrow_mut().insert(name.to_owned());
        // `Metadata` has checked that the offsets lie in the file and fit shape and dtype.
        let (start, end) = info.data_offsets;
        let data = &shard.bytes[shard.data + start..shard.data + end];
        Tensor::from_raw_buffer(data, dtype, shape, &self.device)
            .and_then(|tensor| tensor.to_dtype(self.dtype))
            .map_err(internal)
    }

    /// Errors if the checkpoint holds a tensor that the model did not take and `ignore` does not
    /// know: a model that leaves weights out is another model.
    pub(super) fn finish(self, ignore: impl Fn(&str) -> bool) -> Result<()> {
        let taken = self.taken.borrow();
        for shard in &self.shards {
            let mut names = shard.metadata.offset_keys();
            names.retain(|name| !taken.contains(name) && !ignore(name));
            if let Some(name) = names.first() {
                let message = format!("tensor `{name}` has no place in this architecture");
                return Err(Error::new(ErrorKind::Model, message)
                    .in_file(&shard.path)
                    .with_help("give a model whose config.json says all that its weights hold"));
            }
        }
        Ok(())
    }
}

impl Shard {
    fn open(files: &ModelFiles, name: &str) -> Result<Self> {
        let path = files.path(name);
        let bytes = files.map(name)?.ok_or_else(|| {
            Error::new(ErrorKind::Model, "the model folder has no weights")
                .in_file(&path)
                .with_help("put the model's safetensors files beside its config.json")
        })?;
        let (header, metadata) = SafeTensors::read_metadata(&bytes).map_err(|reason| {
            Error::new(ErrorKind::Model, format!("not a safetensors file: {reason}"))
                .in_file(&path)
                .with_help("the file may be cut short: copy or download it again")
        })?;
        Ok(Self { path, bytes, metadata, data: 8 + header })
    }
}

/// The file names in `{"weight_map": {tensor: file}}`, each once, in order of first use.
fn shard_names(files: &ModelFiles, index: &serde_json::Value) -> Result<Vec<String>> {
    let map: Option<HashMap<String, String>> =
        index.get("weight_map").and_then(|map| serde_json::from_value(map.clone()).ok());
    let Some(map) = map else {
        return Err(Error::new(ErrorKind::Model, "not an index of safetensors files")
            .in_file(files.path(INDEX))
            .at_pointer("/weight_map")
            .with_help("`weight_map` must be an object from tensor names to file names"));
    };
    let mut names: Vec<String> = map.into_values().collect();
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
