//! Products with all matrices of a quantised Llama of 220 million parameters, as `benches/gguf/random_gguf.py`
//! writes it: one row (decoding) and 128 (prefill), in rows a second of processor time, on one thread.
//!
//! ```sh
//! cargo run --release -p maskwright-kernels --example token_matrices Q8_0 Q4_K_M
//! ```
//!
//! Processor time leaves out what else the machine does; it is read from `/proc`, which Linux has.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints figures")]

use maskwright_kernels::{BlockFormat, PackedWeights, Product, WeightSlice, linear_into};

/// Seconds that all threads of the process have run.
fn processor_time() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds = threads.map(|thread| {
        let text = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// A matrix of random blocks, in which no exponent of a scale is the greatest.
fn matrix(format: BlockFormat, columns: usize, k: usize, state: &mut u64) -> PackedWeights {
    let mut next = || {
        *state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (*state >> 33) as u8 & 0xbf
    };
    let count = columns * k / format.weights() * format.bytes();
    let bytes: Vec<u8> = (0..count).map(|_| next()).collect();
    PackedWeights::new(WeightSlice::Blocks(format, &bytes), k)
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    for kind in std::env::args().skip(1) {
        let named = BlockFormat::ALL.into_iter().find(|format| format!("{format:?}") == kind);
        let (usual, better) = match named {
            Some(format) => (format, format),
            None if kind == "Q4_K_M" => (BlockFormat::Q4_K, BlockFormat::Q6_K),
            None => panic!("{kind} is no format of blocks"),
        };
        let mut state = 1;
        let mut make = |format, columns, k| matrix(format, columns, k, &mut state);
        let mut groups = Vec::new();
        for layer in 0..12 {
            let value = if layer % 2 == 1 { better } else { usual };
            groups.push(vec![
                make(usual, 1024, 1024),
                make(usual, 512, 1024),
                make(value, 512, 1024),
            ]);
            groups.push(vec![make(usual, 1024, 1024)]);
            groups.push(vec![make(usual, 4096, 1024), make(usual, 4096, 1024)]);
            groups.push(vec![make(value, 1024, 4096)]);
        }
        let head = [make(better, 32_000, 1024)];
        for (rows, rounds) in [(1, 64), (128, 3)] {
            let x = vec![0.5; rows * 4096];
            let mut results = [Vec::new(), Vec::new(), Vec::new()];
            let begin = processor_time();
            for _ in 0..rounds {
                for group in groups.iter().map(Vec::as_slice).chain([&head[..]]) {
                    let k = group[0].k();
                    // Logits of the last row alone.
                    let rows = if group[0].columns() == 32_000 { 1 } else { rows };
                    let products = group.iter().zip(&mut results);
                    let mut products: Vec<Product<'_>> =
                        products.map(|(weights, y)| Product { weights, y }).collect();
                    linear_into(&x[..rows * k], &mut products);
                }
            }
            let rate = (rows * rounds) as f64 / (processor_time() - begin);
            println!("{kind}: {rows} rows together {rate:.1}/s");
        }
    }
}
