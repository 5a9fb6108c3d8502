//! gpt-oss with experts in 4-bit numbers, as published files have them, by a writer of this file: candle's
//! has no such blocks.

use candle_core::quantized::gguf_file::Value;

use super::converter::ConvertedModel;
use super::{load, logits, path};
use crate::families::Case;
use crate::model_support::write_model;

/// A tensor as it lies in a file: name, dimensions (the outermost first), type, data.
type Stored = (String, Vec<usize>, u32, Vec<u8>);

const F32: u32 = 0;
const MXFP4: u32 = 39;

/// The converter's blocks: a scale, then 16 bytes whose lower halves are the first 16 numbers. Safetensors
/// have neighbouring numbers in a byte.
fn blocks(codes: &[u8], scales: &[u8]) -> Vec<u8> {
    let mut blocks = Vec::new();
    for (codes, scale) in codes.chunks(16).zip(scales) {
        let numbers: Vec<u8> = codes.iter().flat_map(|byte| [byte & 15, byte >> 4]).collect();
        blocks.push(*scale);
        blocks.extend((0..16).map(|i| numbers[i] | numbers[i + 16] << 4));
    }
    blocks
}

/// Every other row of (experts, rows, blocks, …), from the row `first` on.
fn rows(numbers: &[u8], row: usize, first: usize) -> Vec<u8> {
    numbers.chunks(row).skip(first).step_by(2).flatten().copied().collect()
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat()
}

/// The number of a value's type, and its bytes.
fn encoded(value: &Value) -> (u32, Vec<u8>) {
    match value {
        Value::U32(n) => (4, n.to_le_bytes().to_vec()),
        Value::I32(n) => (5, n.to_le_bytes().to_vec()),
        Value::F32(n) => (6, n.to_le_bytes().to_vec()),
        Value::Bool(flag) => (7, vec![u8::from(*flag)]),
        Value::String(string) => (8, text(string)),
        Value::Array(items) => {
            let kind = encoded(&items[0]).0;
            let mut bytes = kind.to_le_bytes().to_vec();
            bytes.extend((items.len() as u64).to_le_bytes());
            bytes.extend(items.iter().flat_map(|item| encoded(item).1));
            (9, bytes)
        }
        other => panic!("{other:?}"),
    }
}

/// A file of version 3.
fn file(metadata: &[(String, Value)], tensors: &[Stored]) -> Vec<u8> {
    const ALIGNMENT: usize = 32;
    let mut bytes = b"GGUF\x03\0\0\0".to_vec();
    bytes.extend((tensors.len() as u64).to_le_bytes());
    bytes.extend((metadata.len() as u64).to_le_bytes());
    for (key, value) in metadata {
        let (kind, value) = encoded(value);
        bytes.extend([text(key), kind.to_le_bytes().to_vec(), value].concat());
    }
    let mut data = Vec::new();
    for (name, shape, kind, content) in tensors {
        bytes.extend(text(name));
        bytes.extend((shape.len() as u32).to_le_bytes());
        bytes.extend(shape.iter().rev().flat_map(|n| (*n as u64).to_le_bytes()));
        bytes.extend(kind.to_le_bytes());
        bytes.extend((data.len() as u64).to_le_bytes());
        data.extend(content);
        data.resize(data.len().next_multiple_of(ALIGNMENT), 0);
    }
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
    [bytes, data].concat()
}

#[test]
fn experts_in_mxfp4_compute_as_those_of_safetensors() {
    let case = Case::all().into_iter().find(|case| case.name == "gpt_oss-mxfp4").unwrap();
    let mut source = ConvertedModel::of(&case);
    let folder = write_model("mxfp4", &source.config, &source.tensors, "F32", 1);
    let packed: Vec<(String, Vec<usize>, Vec<u8>)> = source
        .tensors
        .iter()
        .filter(|(name, _)| name.ends_with("_blocks") || name.ends_with("_scales"))
        .map(|(name, (shape, numbers))| {
            (name.clone(), shape.clone(), numbers.iter().map(|x| *x as u8).collect())
        })
        .collect();
    source.tensors.retain(|name, _| !name.ends_with("_blocks") && !name.ends_with("_scales"));
    let mut tensors: Vec<Stored> = source
        .own_tensors()
        .into_iter()
        .map(|(name, tensor)| {
            (name, tensor.shape().dims().to_vec(), F32, tensor.data().unwrap().into_owned())
        })
        .collect();
    for (name, shape, codes) in packed.iter().filter(|(name, ..)| name.ends_with("_blocks")) {
        let stem = name.strip_suffix("_blocks").unwrap();
        let scales = packed.iter().find(|(name, ..)| *name == format!("{stem}_scales")).unwrap();
        let [experts, out, in_blocks, _] = shape[..] else { panic!("{shape:?}") };
        let layer = stem.split('.').nth(2).unwrap();
        let mut add = |own: &str, out: usize, codes: &[u8], scales: &[u8]| {
            let shape = vec![experts, out, in_blocks * 32];
            let name = format!("blk.{layer}.ffn_{own}_exps.weight");
            tensors.push((name, shape, MXFP4, blocks(codes, scales)));
        };
        if stem.ends_with("down_proj") {
            add("down", out, codes, &scales.2);
        } else {
            for (first, own) in [(0, "gate"), (1, "up")] {
                let scales = rows(&scales.2, in_blocks, first);
                add(own, out / 2, &rows(codes, in_blocks * 16, first), &scales);
            }
        }
    }
    let path = path("mxfp4.gguf");
    std::fs::write(&path, file(&source.metadata("gpt-oss"), &tensors)).unwrap();
    let (gguf, folder) = (load(&path).unwrap(), load(&folder).unwrap());
    let tokens = case.tokens();
    let (own, expected) = (logits(&gguf, &tokens), logits(&folder, &tokens));
    assert!(
        own.iter().zip(&expected).all(|(a, b)| a.to_bits() == b.to_bits()),
        "{own:?} {expected:?}"
    );
}

#[test]
fn scales_that_are_no_numbers_are_refused_by_tensor() {
    let case = Case::all().into_iter().find(|case| case.name == "gpt_oss-mxfp4").unwrap();
    let mut source = ConvertedModel::of(&case);
    let name = "model.layers.1.mlp.experts.gate_up_proj_scales";
    let (shape, scales) = source.tensors.get_mut(name).unwrap();
    // The second expert, fourth row, first block; 255 is no number.
    let at = shape[1] * shape[2] + 3 * shape[2];
    scales[at] = 255.0;
    let folder = write_model("mxfp4-damaged", &source.config, &source.tensors, "F32", 1);
    let error = load(&folder).unwrap_err();
    let text = error.to_string();
    let expected = format!("tensor `{name}` is damaged: [1, 3, 0] is no finite scale");
    assert!(text.contains(&expected) && text.contains("model.safetensors"), "{text}");
    assert!(error.help().is_some(), "{text}");
}
