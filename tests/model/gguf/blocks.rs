//! Formats of blocks against two independent readers: candle's, and llama.cpp's Python package
//! (`tests/data/block_formats.py`).

use candle_core::Device;
use maskwright_kernels::BlockFormat;

use super::{FORMATS, numbers, quantised};

#[test]
fn blocks_hold_the_numbers_that_candle_reads() {
    for (format, dtype) in FORMATS {
        let blocks = quantised(&numbers(8 * 512, 5), &[8, 512], dtype);
        let expected = blocks.dequantize(&Device::Cpu).unwrap().flatten_all().unwrap();
        let mut read = vec![0.0; 8 * 512];
        format.read(&blocks.data().unwrap(), &mut read);
        assert_eq!(read, expected.to_vec1::<f32>().unwrap(), "{format:?}");
    }
}

#[test]
fn blocks_hold_the_numbers_that_llama_cpp_reads() {
    let text = include_str!("../../data/block_formats.json");
    let all: std::collections::BTreeMap<String, [String; 2]> = serde_json::from_str(text).unwrap();
    let bytes = |digits: &str| -> Vec<u8> {
        let byte = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).unwrap();
        (0..digits.len()).step_by(2).map(byte).collect()
    };
    assert_eq!(all.len(), BlockFormat::ALL.len());
    for format in BlockFormat::ALL {
        let [blocks, weights] = &all[&format!("{format:?}")];
        let (blocks, weights) = (bytes(blocks), bytes(weights));
        let expected: Vec<f32> =
            weights.chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        assert_eq!(blocks.len() / format.bytes() * format.weights(), expected.len(), "{format:?}");
        let mut read = vec![0.0; expected.len()];
        format.read(&blocks, &mut read);
        assert_eq!(read, expected, "{format:?}");
        assert_eq!(format.first_damaged(&blocks), None, "{format:?}");
    }
}
