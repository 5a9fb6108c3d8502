//! Models in several files, as `llama-gguf-split` writes them.

use std::path::PathBuf;

use candle_core::quantized::gguf_file::Value;
use candle_core::quantized::{GgmlDType, QTensor};

use super::damage::refused;
use super::{load, logits, metadata, path, small, write};

/// Writes the small Llama in three files of a folder of its own.
fn split(folder: &str, change: impl Fn(usize, &mut Vec<(String, Value)>)) -> Vec<PathBuf> {
    let _ = std::fs::remove_dir_all(path(folder));
    std::fs::create_dir_all(path(folder)).unwrap();
    let (tensors, _) = small(GgmlDType::Q8_0);
    let count = tensors.len();
    let mut parts: Vec<Vec<(String, QTensor)>> = vec![Vec::new(), Vec::new(), Vec::new()];
    for (index, tensor) in tensors.into_iter().enumerate() {
        // None in the first, as `--no-tensor-first-split` does.
        parts[1 + index % 2].push(tensor);
    }
    let file = |(number, tensors): (usize, &Vec<(String, QTensor)>)| {
        let mut entries = if number == 0 { metadata() } else { Vec::new() };
        entries.push(("split.no".to_owned(), Value::U16(number as u16)));
        entries.push(("split.count".to_owned(), Value::U16(3)));
        entries.push(("split.tensors.count".to_owned(), Value::I32(count as i32)));
        change(number, &mut entries);
        let name = format!("{folder}/small-{:05}-of-00003.gguf", number + 1);
        write(&name, &entries, tensors)
    };
    parts.iter().enumerate().map(file).collect()
}

#[test]
fn any_part_gives_the_whole_model() {
    let (tensors, _) = small(GgmlDType::Q8_0);
    let whole = load(&write("whole.gguf", &metadata(), &tensors)).unwrap();
    let expected = logits(&whole, &[1, 2, 3]);
    for part in split("parts", |_, _| {}) {
        let model = load(&part).unwrap();
        assert_eq!(model.name(), "small");
        assert_eq!(logits(&model, &[1, 2, 3]), expected);
    }
}

#[test]
fn missing_parts_are_named() {
    let parts = split("missing-parts", |_, _| {});
    std::fs::remove_file(&parts[1]).unwrap();
    refused(&parts[0], "of the model's 3 files are missing: small-00002-of-00003.gguf");
    refused(&parts[2], "of the model's 3 files are missing: small-00002-of-00003.gguf");
    let other = path("missing-parts/other.gguf");
    std::fs::rename(&parts[0], &other).unwrap();
    refused(&other, "one of 3 of a model");
    refused(&parts[2], "small-00001-of-00003.gguf, small-00002-of-00003.gguf");
}

#[test]
fn parts_of_other_models_are_refused() {
    let set = |key: &'static str, value: Value, of: usize| {
        move |number: usize, entries: &mut Vec<(String, Value)>| {
            if number == of {
                entries.retain(|(own, _)| own != key);
                entries.push((key.to_owned(), value.clone()));
            }
        }
    };
    let error = |parts: Vec<PathBuf>| load(&parts[0]).unwrap_err().to_string();
    let text = error(split("swapped-parts", set("split.no", Value::U16(1), 2)));
    assert!(text.contains("it is number 1 of 3") && text.contains("small-00003-of"), "{text}");
    let text = error(split("other-parts", set("split.count", Value::U16(4), 1)));
    assert!(text.contains("number 1 of 4"), "{text}");
    let text = error(split("fewer-tensors", set("split.tensors.count", Value::I32(99), 0)));
    assert!(text.contains("`split.tensors.count` says 99"), "{text}");
    let parts = split("cut-parts", |_, _| {});
    let bytes = std::fs::read(&parts[1]).unwrap();
    std::fs::write(&parts[1], &bytes[..bytes.len() - 9]).unwrap();
    let text = error(parts);
    assert!(text.contains("end beyond the file") && text.contains("small-00002-of"), "{text}");
}
