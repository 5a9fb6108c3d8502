//! The tensors of a GGUF file: shapes, types, places of their data, all checked against the file.

use std::ops::Range;

use candle_core::DType;
use maskwright_kernels::BlockFormat;
use rustc_hash::FxHashSet;

use super::super::short_name::short;
use super::super::stored_tensor::NumberKind;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::{GgufMetadata, GgufTensor, GgufValue, gguf_tensors};

/// A tensor whose data lie in a file.
#[derive(Debug)]
pub(super) struct TensorData {
    /// The file, by its place among the parts of the model.
    pub(super) part: usize,
    pub(super) name: String,
    /// The dimensions, the one whose numbers lie side by side last.
    pub(super) shape: Vec<usize>,
    pub(super) kind: NumberKind,
    /// The data, from the start of its file.
    pub(super) bytes: Range<usize>,
}

/// All tensors of a model.
pub(super) struct Directory {
    pub(super) tensors: Vec<TensorData>,
}

impl Directory {
    /// The tensors of all files. Errors on names that occur twice.
    pub(super) fn new(tensors: Vec<TensorData>) -> Result<Self> {
        let mut names = FxHashSet::default();
        if let Some(twice) = tensors.iter().find(|tensor| !names.insert(&tensor.name)) {
            return Err(damaged(format!("there are two tensors `{}`", short(&twice.name))));
        }
        Ok(Self { tensors })
    }

    /// The tensor of a name.
    pub(super) fn find(&self, name: &str) -> Option<&TensorData> {
        self.tensors.iter().find(|tensor| tensor.name == name)
    }

    /// The greatest dimension of any tensor: no size of a model is greater.
    pub(super) fn greatest_dimension(&self) -> usize {
        self.tensors.iter().flat_map(|tensor| &tensor.shape).copied().max().unwrap_or(0)
    }
}

/// Reads the directory of one file, the `part`-th of a model.
///
/// Errors on types that are not read, on data beyond the file, and on data that do not follow one
/// another, each tensor's at the next aligned place: all writers lay them out so, and any other place is
/// damage that would load as other weights.
pub(super) fn read(
    file: &[u8],
    metadata: &GgufMetadata<'_>,
    part: usize,
) -> Result<Vec<TensorData>> {
    const DEFAULT_ALIGNMENT: usize = 32;
    let alignment = match metadata.get("general.alignment") {
        None => DEFAULT_ALIGNMENT,
        Some(GgufValue::Integer(number)) if number > 0 && number < 1 << 20 => number as usize,
        Some(_) => return Err(damaged("`general.alignment` is not a number of bytes")),
    };
    if !alignment.is_power_of_two() {
        return Err(damaged(format!("`general.alignment` is {alignment}, which is no power of 2")));
    }
    let (entries, end) = gguf_tensors(file, metadata)?;
    let start = end.next_multiple_of(alignment);
    let tensors: Result<Vec<TensorData>> =
        entries.iter().map(|entry| tensor(entry, part, start, file.len())).collect();
    let tensors = tensors?;
    let mut next = start;
    for tensor in &tensors {
        if tensor.bytes.start != next {
            let (shown, from) = (short(&tensor.name), tensor.bytes.start);
            let message =
                format!("the data of tensor `{shown}` begin at byte {from}, not at {next}");
            return Err(damaged(message));
        }
        next = tensor.bytes.end.next_multiple_of(alignment);
    }
    Ok(tensors)
}

fn tensor(entry: &GgufTensor<'_>, part: usize, start: usize, file: usize) -> Result<TensorData> {
    let Ok(name) = std::str::from_utf8(entry.name) else {
        return Err(damaged("the name of a tensor is not UTF-8"));
    };
    let shown = short(name);
    let shape: Option<Vec<usize>> =
        entry.shape.iter().rev().map(|n| (*n).try_into().ok()).collect();
    let count = shape.as_ref().and_then(|shape| {
        shape.iter().try_fold(1usize, |all, n| all.checked_mul(*n)).filter(|all| *all > 0)
    });
    let (Some(shape), Some(count)) = (shape, count) else {
        return Err(damaged(format!("tensor `{shown}` is {:?}", entry.shape)));
    };
    let kind = kind(entry.kind).ok_or_else(|| {
        let message = format!(
            "tensor `{shown}` holds numbers of a type that is not read: {}",
            kind_name(entry.kind)
        );
        Error::new(ErrorKind::Model, message).with_help(
            "get the model in F32, F16, BF16, Q4_0, Q4_1, Q5_0, Q5_1, Q8_0, Q2_K to Q6_K, IQ4_NL, \
             IQ4_XS or MXFP4",
        )
    })?;
    let (weights, bytes) = match kind {
        NumberKind::Plain(dtype) => (1, dtype.size_in_bytes()),
        NumberKind::Blocks(format) => (format.weights(), format.bytes()),
    };
    if !shape.last().is_some_and(|row| row.is_multiple_of(weights)) {
        let message = format!("tensor `{shown}` is {shape:?}, and has blocks of {weights}");
        return Err(damaged(message));
    }
    let from = usize::try_from(entry.offset).ok().and_then(|offset| start.checked_add(offset));
    let to = (count / weights).checked_mul(bytes).and_then(|len| from?.checked_add(len));
    match (from, to) {
        (Some(from), Some(to)) if to <= file => {
            Ok(TensorData { part, name: name.to_owned(), shape, kind, bytes: from..to })
        }
        _ => Err(damaged(format!("the data of tensor `{shown}` end beyond the file"))),
    }
}

/// The numbers of ggml's types (`ggml_type` in `ggml.h`).
fn kind(number: u32) -> Option<NumberKind> {
    Some(match number {
        0 => NumberKind::Plain(DType::F32),
        1 => NumberKind::Plain(DType::F16),
        30 => NumberKind::Plain(DType::BF16),
        2 => NumberKind::Blocks(BlockFormat::Q4_0),
        3 => NumberKind::Blocks(BlockFormat::Q4_1),
        6 => NumberKind::Blocks(BlockFormat::Q5_0),
        7 => NumberKind::Blocks(BlockFormat::Q5_1),
        8 => NumberKind::Blocks(BlockFormat::Q8_0),
        10 => NumberKind::Blocks(BlockFormat::Q2_K),
        11 => NumberKind::Blocks(BlockFormat::Q3_K),
        12 => NumberKind::Blocks(BlockFormat::Q4_K),
        13 => NumberKind::Blocks(BlockFormat::Q5_K),
        14 => NumberKind::Blocks(BlockFormat::Q6_K),
        20 => NumberKind::Blocks(BlockFormat::IQ4_NL),
        23 => NumberKind::Blocks(BlockFormat::IQ4_XS),
        39 => NumberKind::Blocks(BlockFormat::MXFP4),
        _ => return None,
    })
}

/// The names of types that are not read.
fn kind_name(number: u32) -> String {
    let name = match number {
        9 => "Q8_1",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        21 => "IQ3_S",
        22 => "IQ2_S",
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        29 => "IQ1_M",
        4 | 5 | 31..=33 | 36..=38 => "a type that llama.cpp has given up",
        34 => "TQ1_0",
        35 => "TQ2_0",
        40 => "NVFP4",
        41 => "Q1_0",
        42 => "Q2_0",
        other => return format!("number {other}"),
    };
    name.to_owned()
}

fn damaged(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Model, message).with_help("get a complete copy of the file")
}
