//! The tensors of a checkpoint by Hugging Face's names, whatever files they lie in.

use std::borrow::Cow;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use candle_core::{DType, Device, Tensor};
use maskwright_kernels::BlockFormat;
use rustc_hash::FxHashSet;

use super::files::ModelFiles;
use super::gguf::GgufFile;
use super::safetensors::Shards;
use super::short_name::short;
use super::stored_tensor::{NumberKind, StoredTensor};
use crate::error::{Error, ErrorKind, Result};
use crate::model::candle_error::candle_error;

/// A checkpoint. Returns tensors by name, in a dtype and on a device, and keeps track of those that
/// were never asked for: a model that leaves weights out is another model.
pub(crate) struct Weights {
    source: Source,
    dtype: DType,
    device: Device,
    taken: RefCell<FxHashSet<String>>,
}

enum Source {
    Shards(Shards),
    Gguf(Arc<GgufFile>),
}

/// A weight matrix (out, in) of a checkpoint.
pub(crate) enum MatrixData<'a> {
    /// In the dtype of the model, on its device.
    Tensor(Tensor),
    /// Quantised, on the CPU: the blocks of each row.
    Blocks(BlockFormat, Cow<'a, [u8]>),
}

/// The help for shards without a tensor of this name, by the names that they have instead.
fn other_layout(shards: &Shards, name: &str) -> Option<String> {
    let stem = name.strip_suffix(".weight").unwrap_or(name);
    let experts =
        name.split_once("experts.").map(|(before, _)| format!("{before}experts.gate_up_proj"));
    for stored in shards.names() {
        if stored.strip_prefix(stem).is_some_and(|end| matches!(end, ".qweight" | ".weight_packed"))
        {
            return Some(format!(
                "`{stored}` is there: the weights are quantised, as GPTQ and AWQ do it; load those that they were \
                 made from, or a GGUF file"
            ));
        }
        if experts.as_deref() == Some(stored) {
            return Some(format!(
                "`{stored}` is there: all experts lie in one tensor; write the model with `save_pretrained`, whose \
                 `save_original_format` is true unless it is told otherwise"
            ));
        }
        let prefix = stored.strip_suffix(name).or_else(|| name.strip_suffix(stored));
        if let Some(prefix) = prefix.filter(|prefix| prefix.ends_with('.')) {
            return Some(format!(
                "`{stored}` is there: names with and without `{prefix}` are of two classes of a model; write the \
                 model with `save_pretrained` of the class in config.json"
            ));
        }
    }
    None
}

impl Weights {
    /// Opens the files of a model.
    pub(crate) fn open(files: &ModelFiles, dtype: DType, device: &Device) -> Result<Self> {
        let source = match files {
            ModelFiles::Gguf(file) => Source::Gguf(Arc::clone(file)),
            _ => Source::Shards(Shards::open(files)?),
        };
        Ok(Self { source, dtype, device: device.clone(), taken: RefCell::default() })
    }

    /// Whether the checkpoint is a GGUF file: all matrices lie as (out, in), and what Hugging Face's
    /// checkpoints fuse or stack is apart.
    pub(crate) fn is_gguf(&self) -> bool {
        matches!(self.source, Source::Gguf(_))
    }

    /// Whether two tensors are there and hold the same numbers, whatever their dtypes.
    pub(crate) fn are_equal(&self, a: &str, b: &str) -> Result<bool> {
        let (Some(a), Some(b)) = (self.find(a)?, self.find(b)?) else { return Ok(false) };
        if a.shape != b.shape {
            return Ok(false);
        }
        if a.numbers.kind == b.numbers.kind {
            return Ok(a.numbers.bytes == b.numbers.bytes);
        }
        Ok(a.numbers.to_f32() == b.numbers.to_f32())
    }

    /// Whether there is a tensor of this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        matches!(self.find(name), Ok(Some(_)) | Err(_))
    }

    /// Whether the name of a tensor satisfies a condition.
    pub(crate) fn any(&self, condition: impl Fn(&str) -> bool) -> bool {
        match &self.source {
            Source::Shards(shards) => shards.names().any(condition),
            Source::Gguf(file) => file.names().any(condition),
        }
    }

    /// The tensor of bytes of this name, which must have this shape.
    pub(crate) fn bytes(&self, name: &str, shape: &[usize]) -> Result<&[u8]> {
        let found = match &self.source {
            Source::Shards(shards) => shards.bytes(name)?,
            Source::Gguf(_) => None,
        };
        let (path, stored, bytes) = found.ok_or_else(|| self.missing(name))?;
        if stored != shape {
            return Err(self.misshapen(name, path, stored, shape));
        }
        self.taken.borrow_mut().insert(name.to_owned());
        Ok(bytes)
    }

    /// The file that a tensor lies in.
    pub(crate) fn file_of(&self, name: &str) -> PathBuf {
        let of_bytes = match &self.source {
            Source::Shards(shards) => shards.bytes(name).ok().flatten().map(|(path, ..)| path),
            Source::Gguf(_) => None,
        };
        let path = of_bytes.or_else(|| Some(self.find(name).ok()??.path));
        path.map(Path::to_owned).unwrap_or_default()
    }

    fn find(&self, name: &str) -> Result<Option<StoredTensor<'_>>> {
        match &self.source {
            Source::Shards(shards) => shards.find(name),
            Source::Gguf(file) => Ok(file.find(name)),
        }
    }

    /// The tensor of this name, which must have this shape.
    pub(crate) fn get(&self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let tensor = self.stored(name, shape)?;
        tensor
            .numbers
            .to_tensor(shape, &self.device)
            .and_then(|tensor| tensor.to_dtype(self.dtype))
            .map_err(candle_error)
    }

    /// The numbers of the tensor of this name, which must have this shape, as they are in the file, whatever the model's
    /// dtype.
    pub(crate) fn numbers(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let tensor = self.stored(name, shape)?;
        tensor
            .numbers
            .to_tensor(shape, &Device::Cpu)
            .and_then(|tensor| tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1())
            .map_err(candle_error)
    }

    /// The matrix of this name, (out, in): quantised as in the file where it is and the model runs on
    /// the CPU, in the model's dtype otherwise.
    pub(crate) fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<MatrixData<'_>> {
        let tensor = self.stored(name, &shape)?;
        match tensor.numbers.kind {
            NumberKind::Blocks(format) if self.device.is_cpu() => {
                Ok(MatrixData::Blocks(format, tensor.numbers.bytes))
            }
            _ => self.get(name, &shape).map(MatrixData::Tensor),
        }
    }

    fn stored(&self, name: &str, shape: &[usize]) -> Result<StoredTensor<'_>> {
        let Some(tensor) = self.find(name)? else { return Err(self.missing(name)) };
        if tensor.shape != shape {
            return Err(self.misshapen(tensor.name, tensor.path, &tensor.shape, shape));
        }
        refuse_damaged_numbers(&tensor)?;
        self.taken.borrow_mut().insert(name.to_owned());
        Ok(tensor)
    }

    fn missing(&self, name: &str) -> Error {
        let path = match &self.source {
            Source::Shards(shards) => shards.first_path(),
            Source::Gguf(file) => file.path(),
        };
        let message = match &self.source {
            Source::Shards(_) => format!("there is no tensor `{name}`"),
            Source::Gguf(file) => match file.own_name(name) {
                Some(own) => format!("there is no tensor `{own}`"),
                None => format!("there is no tensor that is called `{name}` in safetensors"),
            },
        };
        let error = Error::new(ErrorKind::Model, message).in_file(path);
        let help = match &self.source {
            Source::Shards(shards) => other_layout(shards, name),
            Source::Gguf(_) => None,
        };
        error.with_help(help.unwrap_or_else(|| self.must_fit().to_owned()))
    }

    fn misshapen(&self, name: &str, path: &Path, stored: &[usize], shape: &[usize]) -> Error {
        let place = match &self.source {
            Source::Shards(_) => "config.json",
            Source::Gguf(_) => "the metadata",
        };
        let message = format!("tensor `{}` is {stored:?}, {place} says {shape:?}", short(name));
        Error::new(ErrorKind::Model, message).in_file(path).with_help(self.must_fit())
    }

    /// The help for files that do not belong together.
    fn must_fit(&self) -> &'static str {
        match &self.source {
            Source::Shards(_) => "config.json and the weights must belong to one model",
            Source::Gguf(_) => "metadata and tensors must belong to one model",
        }
    }

    /// Errors if the checkpoint holds a tensor that the model did not take and `ignore` does not
    /// know: a model that leaves weights out is another model.
    pub(crate) fn refuse_left_over(self, ignore: impl Fn(&str) -> bool) -> Result<()> {
        let taken = self.taken.borrow();
        let is_left = |name: &&str| !taken.contains(*name) && !ignore(name);
        let left = match &self.source {
            Source::Shards(shards) => shards.names().find(is_left),
            Source::Gguf(file) => file.names().filter(is_left).min(),
        };
        let Some(tensor) = left.map(|name| self.find(name)).transpose()?.flatten() else {
            return Ok(());
        };
        let message = format!("tensor `{}` has no place in this architecture", short(tensor.name));
        Err(Error::new(ErrorKind::Model, message)
            .in_file(tensor.path)
            .with_help("give a model whose configuration says all that its weights hold"))
    }
}

/// Errors on numbers that are infinite or NaN, and on blocks with such a scale: all texts would be lost
/// to one of them.
fn refuse_damaged_numbers(tensor: &StoredTensor<'_>) -> Result<()> {
    let Some(index) = tensor.numbers.first_damaged() else { return Ok(()) };
    let what = match tensor.numbers.kind {
        NumberKind::Plain(_) => format!("number {index} is not finite"),
        NumberKind::Blocks(_) => format!("block {index} has no finite scale"),
    };
    let message = format!("tensor `{}` is damaged: {what}", short(tensor.name));
    Err(Error::new(ErrorKind::Model, message)
        .in_file(tensor.path)
        .with_help("get a complete copy of the file"))
}
