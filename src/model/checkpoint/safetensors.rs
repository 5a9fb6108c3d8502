//! Tensors of a checkpoint in one or several safetensors files.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use candle_core::{DType, Device, Tensor};
use rustc_hash::{FxHashMap, FxHashSet};
use safetensors::SafeTensors;
use safetensors::tensor::{Metadata, TensorInfo};

use super::files::{ModelFiles, WeightBytes};
use crate::error::{Error, ErrorKind, Result};
use crate::model::candle_error::candle_error;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// One safetensors file: 8 bytes with the header's length, the header in JSON, the data.
struct Shard {
    path: PathBuf,
    bytes: WeightBytes,
    metadata: Metadata,
    /// Offset of the data.
    data: usize,
}

/// A checkpoint. Returns tensors by name, in a dtype and on a device, and keeps track of those that
/// were never asked for: a model that leaves weights out is another model.
pub(crate) struct Weights {
    shards: Vec<Shard>,
    dtype: DType,
    device: Device,
    taken: RefCell<FxHashSet<String>>,
}

impl Weights {
    /// Opens the files: `model.safetensors`, or the shards that `model.safetensors.index.json`
    /// lists; where there are both, the former, as in the `transformers` library.
    pub(crate) fn open(files: &ModelFiles, dtype: DType, device: &Device) -> Result<Self> {
        let shards = match files.map(SINGLE)? {
            Some(bytes) => vec![Shard::open(files.path(SINGLE), bytes)?],
            None => match files.json(INDEX)? {
                Some(index) => Shard::open_all(files, &shard_names(files, &index)?)?,
                None => return Err(no_weights(files)),
            },
        };
        Ok(Self { shards, dtype, device: device.clone(), taken: RefCell::default() })
    }

    /// Whether two tensors are there and hold the same numbers, whatever their dtypes.
    pub(crate) fn are_equal(&self, a: &str, b: &str) -> Result<bool> {
        let (Some(a), Some(b)) = (self.find(a), self.find(b)) else { return Ok(false) };
        if a.1.shape != b.1.shape {
            return Ok(false);
        }
        if a.1.dtype == b.1.dtype {
            return Ok(a.0.bytes_of(a.1) == b.0.bytes_of(b.1));
        }
        let numbers = |(shard, info): (&Shard, &TensorInfo)| -> Result<Tensor> {
            Tensor::from_raw_buffer(
                shard.bytes_of(info),
                shard.dtype(info, "")?,
                &info.shape,
                &Device::Cpu,
            )
            .and_then(|tensor| tensor.to_dtype(DType::F32)?.flatten_all())
            .map_err(candle_error)
        };
        let differing = numbers(a)?
            .ne(&numbers(b)?)
            .and_then(|differs| differs.to_dtype(DType::U32)?.max(0)?.to_scalar::<u32>());
        Ok(differing.map_err(candle_error)? == 0)
    }

    /// Whether there is a tensor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The file that a tensor lies in.
    pub(crate) fn file_of(&self, name: &str) -> PathBuf {
        self.find(name).map(|(shard, _)| shard.path.clone()).unwrap_or_default()
    }

    fn find(&self, name: &str) -> Option<(&Shard, &TensorInfo)> {
        self.shards.iter().find_map(|shard| Some((shard, shard.metadata.info(name)?)))
    }

    /// The tensor of this name, which must have this shape.
    pub(crate) fn get(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let Some((shard, info)) = self.find(name) else {
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
        let dtype = shard.dtype(info, name)?;
        self.taken.borrow_mut().insert(name.to_owned());
        Tensor::from_raw_buffer(shard.bytes_of(info), dtype, shape, &self.device)
            .and_then(|tensor| tensor.to_dtype(self.dtype))
            .map_err(candle_error)
    }

    /// Errors if the checkpoint holds a tensor that the model did not take and `ignore` does not
    /// know: a model that leaves weights out is another model.
    pub(crate) fn refuse_left_over(self, ignore: impl Fn(&str) -> bool) -> Result<()> {
        let taken = self.taken.borrow();
        for shard in &self.shards {
            let mut names = shard.metadata.offset_keys();
            names.retain(|name| !taken.contains(name) && !ignore(name));
            if let Some(name) = names.first() {
                let message = format!("tensor `{}` has no place in this architecture", short(name));
                return Err(Error::new(ErrorKind::Model, message)
                    .in_file(&shard.path)
                    .with_help("give a model whose config.json says all that its weights hold"));
            }
        }
        Ok(())
    }
}

impl Shard {
    fn open(path: PathBuf, bytes: WeightBytes) -> Result<Self> {
        let (header, metadata) = SafeTensors::read_metadata(&bytes).map_err(|reason| {
            Error::new(ErrorKind::Model, format!("not a safetensors file: {reason}"))
                .in_file(&path)
                .with_help("the file may be cut short: copy or download it again")
        })?;
        Ok(Self { path, bytes, metadata, data: 8 + header })
    }

    /// Opens the shards that an index names. Errors if one is not there, or two hold one tensor.
    fn open_all(files: &ModelFiles, names: &[String]) -> Result<Vec<Self>> {
        let mut shards = Vec::with_capacity(names.len());
        let mut seen: FxHashMap<String, String> = FxHashMap::default();
        for name in names {
            let bytes = files.map(name)?.ok_or_else(|| {
                let message =
                    format!("the shard `{}` that the index names is not there", short(name));
                Error::new(ErrorKind::Model, message)
                    .in_file(files.path(INDEX))
                    .at_pointer("/weight_map")
                    .with_help("download that file, too")
            })?;
            let shard = Self::open(files.path(name), bytes)?;
            for tensor in shard.metadata.offset_keys() {
                if let Some(other) = seen.insert(tensor.clone(), name.clone()) {
                    let message = format!("tensor `{}` lies in `{other}`, too", short(&tensor));
                    return Err(Error::new(ErrorKind::Model, message)
                        .in_file(&shard.path)
                        .with_help("the shards must be of one checkpoint"));
                }
            }
            shards.push(shard);
        }
        Ok(shards)
    }

    /// The bytes of a tensor.
    fn bytes_of(&self, info: &TensorInfo) -> &[u8] {
        // `Metadata` has checked that the offsets lie in the file and fit shape and dtype.
        let (start, end) = info.data_offsets;
        &self.bytes[self.data + start..self.data + end]
    }

    fn dtype(&self, info: &TensorInfo, name: &str) -> Result<DType> {
        match info.dtype {
            safetensors::Dtype::F32 => Ok(DType::F32),
            safetensors::Dtype::F16 => Ok(DType::F16),
            safetensors::Dtype::BF16 => Ok(DType::BF16),
            other => {
                let message = format!("tensor `{name}` holds {other:?} numbers");
                Err(Error::new(ErrorKind::Model, message)
                    .in_file(&self.path)
                    .with_help("give weights in F32, F16 or BF16"))
            }
        }
    }
}

/// A name for a message, cut off where it is long.
fn short(name: &str) -> Cow<'_, str> {
    /// In characters; no real name is longer.
    const MAX_SHOWN: usize = 80;
    match name.char_indices().nth(MAX_SHOWN) {
        None => Cow::Borrowed(name),
        Some((at, _)) => Cow::Owned(format!("{}…", &name[..at])),
    }
}

/// The error for a folder without weights; names a file with weights in another format, if it has
/// one.
fn no_weights(files: &ModelFiles) -> Error {
    let is_other = |name: &&String| {
        let extensions = [".gguf", ".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack", ".onnx"];
        name.as_str() != SINGLE
            && (extensions.iter().any(|end| name.ends_with(end)) || name.ends_with(".safetensors"))
    };
    let names = files.names();
    let message = match names.iter().find(is_other) {
        None => "the model folder has no weights".to_owned(),
        Some(other) => format!("the model folder has no weights of this name, but `{other}`"),
    };
    Error::new(ErrorKind::Model, message).in_file(files.path(SINGLE)).with_help(
        "put the model's safetensors files beside its config.json; the `transformers` library's \
         `save_pretrained` writes them",
    )
}

/// The file names in `{"weight_map": {tensor: file}}`, each once, in order.
fn shard_names(files: &ModelFiles, index: &serde_json::Value) -> Result<Vec<String>> {
    let error = |message: &str, help: &str| {
        Err(Error::new(ErrorKind::Model, message)
            .in_file(files.path(INDEX))
            .at_pointer("/weight_map")
            .with_help(help))
    };
    let map: Option<HashMap<String, String>> =
        index.get("weight_map").and_then(|map| serde_json::from_value(map.clone()).ok());
    let wanted = "`weight_map` must be an object from tensor names to file names";
    let Some(map) = map else {
        return error("not an index of safetensors files", wanted);
    };
    if map.is_empty() {
        return error("the index names no file", wanted);
    }
    let mut names: Vec<String> = map.into_values().collect();
    names.sort_unstable();
    names.dedup();
    let is_plain = |name: &String| {
        let mut parts = Path::new(name).components();
        matches!((parts.next(), parts.next()), (Some(Component::Normal(_)), None))
    };
    if let Some(name) = names.iter().find(|name| !is_plain(name)) {
        let message = format!("`{}` is not the name of a file in the model folder", short(name));
        return error(&message, "write the name alone, without a folder");
    }
    Ok(names)
}
