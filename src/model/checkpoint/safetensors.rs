//! Tensors of a checkpoint in one or several safetensors files.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use candle_core::DType;
use rustc_hash::FxHashMap;
use safetensors::SafeTensors;
use safetensors::tensor::{Metadata, TensorInfo};

use super::files::{ModelFiles, WeightBytes};
use super::short_name::short;
use super::stored_tensor::{EncodedNumbers, NumberKind, StoredTensor};
use crate::error::{Error, ErrorKind, Result};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Most shards that a message names.
const MAX_LISTED: usize = 8;

/// One safetensors file: 8 bytes with the header's length, the header in JSON, the data.
struct Shard {
    path: PathBuf,
    bytes: WeightBytes,
    metadata: Metadata,
    /// The names of its tensors, in the order of their data.
    names: Vec<String>,
    /// Offset of the data.
    data: usize,
}

/// File, shape and content of a tensor of bytes.
type BytesTensor<'a> = (&'a Path, &'a [usize], &'a [u8]);

/// The safetensors files of a checkpoint.
pub(super) struct Shards(Vec<Shard>);

impl Shards {
    /// Opens the files: `model.safetensors`, or the shards that `model.safetensors.index.json`
    /// lists; where there are both, the former, as in the `transformers` library.
    pub(super) fn open(files: &ModelFiles) -> Result<Self> {
        match files.map(SINGLE)? {
            Some(bytes) => Ok(Self(vec![Shard::open(files.path(SINGLE), bytes)?])),
            None => match files.json(INDEX)? {
                Some(index) => Shard::open_all(files, &shard_names(files, &index)?).map(Self),
                None => Err(no_weights(files)),
            },
        }
    }

    /// The path of the first file, for messages.
    pub(super) fn first_path(&self) -> &Path {
        self.0.first().map_or(Path::new(""), |shard| &shard.path)
    }

    /// The names of all tensors, in the order of their data.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|shard| shard.names.iter().map(String::as_str))
    }

    /// The tensor of a name. Errors if its numbers are of a type that is not read.
    pub(super) fn find(&self, name: &str) -> Result<Option<StoredTensor<'_>>> {
        let found = self.0.iter().find_map(|shard| Some((shard, shard.metadata.info(name)?)));
        let Some((shard, info)) = found else { return Ok(None) };
        let name = shard.names.iter().find(|own| *own == name).map_or("", String::as_str);
        let kind = NumberKind::Plain(shard.dtype(info, name)?);
        let numbers = EncodedNumbers::new(kind, Cow::Borrowed(shard.bytes_of(info)));
        let shape = info.shape.clone();
        Ok(Some(StoredTensor { name, path: &shard.path, shape, numbers }))
    }
}

impl Shards {
    /// The file, the shape and the content of the tensor of bytes of a name. Errors if it holds numbers of
    /// another type.
    pub(super) fn bytes(&self, name: &str) -> Result<Option<BytesTensor<'_>>> {
        let found = self.0.iter().find_map(|shard| Some((shard, shard.metadata.info(name)?)));
        let Some((shard, info)) = found else { return Ok(None) };
        match info.dtype {
            safetensors::Dtype::U8 => Ok(Some((&shard.path, &info.shape, shard.bytes_of(info)))),
            other => {
                let message = format!("tensor `{}` holds {other:?} numbers", short(name));
                Err(Error::new(ErrorKind::Model, message)
                    .in_file(&shard.path)
                    .with_help("give packed weights as bytes (U8)"))
            }
        }
    }
}

impl Shard {
    fn open(path: PathBuf, bytes: WeightBytes) -> Result<Self> {
        let (header, metadata) = SafeTensors::read_metadata(&bytes).map_err(|reason| {
            let message = match wrong_length(&bytes) {
                Some(message) => message,
                None => format!("not a safetensors file: {reason}"),
            };
            Error::new(ErrorKind::Model, message)
                .in_file(&path)
                .with_help("the file may be cut short: copy or download it again")
        })?;
        let names = metadata.offset_keys();
        Ok(Self { path, bytes, metadata, names, data: 8 + header })
    }

    /// Opens the shards that an index names. Errors if one is not there, or two hold one tensor.
    fn open_all(files: &ModelFiles, names: &[String]) -> Result<Vec<Self>> {
        refuse_missing(files, names)?;
        let mut shards = Vec::with_capacity(names.len());
        let mut seen: FxHashMap<String, String> = FxHashMap::default();
        for name in names {
            let bytes = files.map(name)?.ok_or_else(|| missing(files, &[name], names.len()))?;
            let shard = Self::open(files.path(name), bytes)?;
            for tensor in &shard.names {
                if let Some(other) = seen.insert(tensor.clone(), name.clone()) {
                    let message = format!("tensor `{}` lies in `{other}`, too", short(tensor));
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

/// The fault of a file whose header is whole and announces more or less data than there is.
fn wrong_length(file: &[u8]) -> Option<String> {
    let (len, rest) = file.split_first_chunk()?;
    let header_len = usize::try_from(u64::from_le_bytes(*len)).ok()?;
    let (header, data) = rest.split_at_checked(header_len)?;
    let header: serde_json::Map<String, serde_json::Value> = serde_json::from_slice(header).ok()?;
    let end = |tensor: &serde_json::Value| tensor.get("data_offsets")?.get(1)?.as_u64();
    let mut ends: Vec<(u64, &String)> =
        header.iter().filter_map(|(name, tensor)| Some((end(tensor)?, name))).collect();
    ends.sort_unstable();
    let len = data.len() as u64;
    if let Some((end, name)) = ends.iter().find(|(end, _)| *end > len) {
        let tensor = short(name);
        return Some(format!(
            "the file is cut short in tensor `{tensor}`: it has {len} bytes of data, and the tensor \
             ends at {end}"
        ));
    }
    let (end, name) = ends.last().filter(|(end, _)| *end < len)?;
    let more = len - end;
    Some(format!("the file has {more} bytes of data after its last tensor, `{}`", short(name)))
}

/// Errors if shards that the index names are not there, with all of them: nobody downloads one after
/// the other.
fn refuse_missing(files: &ModelFiles, names: &[String]) -> Result<()> {
    let there = files.names();
    let absent: Vec<&String> = names.iter().filter(|name| !there.contains(name)).collect();
    if absent.is_empty() { Ok(()) } else { Err(missing(files, &absent, names.len())) }
}

/// The error for shards that are not there, of so many that the index names.
fn missing(files: &ModelFiles, absent: &[&String], all: usize) -> Error {
    let shown = absent.iter().take(MAX_LISTED).map(|name| format!("`{}`", short(name)));
    let shown: Vec<String> = shown.collect();
    let more = if absent.len() > MAX_LISTED { " and others" } else { "" };
    let (n, s, are) = match absent.len() {
        1 => (1, "", "is"),
        n => (n, "s", "are"),
    };
    let message = format!(
        "{n} of the {all} shards that the index names {are} not there: {}{more}",
        shown.join(", ")
    );
    Error::new(ErrorKind::Model, message)
        .in_file(files.path(INDEX))
        .at_pointer("/weight_map")
        .with_help(format!("download the file{s}, too"))
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
    let is_shard = |name: &&String| name.starts_with("model-") && name.contains("-of-");
    if let Some(shard) = names.iter().filter(|name| name.ends_with(".safetensors")).find(is_shard) {
        let message = format!("the model folder has shards (`{shard}`) and no index of them");
        return Error::new(ErrorKind::Model, message)
            .in_file(files.path(INDEX))
            .with_help(format!("download the model's `{INDEX}`, too"));
    }
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
