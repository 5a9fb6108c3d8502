//! Products of 1 to 512 rows with a matrix of 4096 × 4096 weights in each format, on one thread: weights
//! (for one row) and multiplications (for several) in 10⁹ a second of processor time, at best, and the bytes of weights.
//!
//! ```sh
//! cargo run --release -p maskwright-kernels --example products Q4_K Q6_K Q8_0 F32
//! ```
//!
//! The bound of a single row is the memory: the first line is the rate of reading 256 MiB. Several matrices take
//! turns, so that none stays in a cache. Processor time leaves out what else the machine does; it is read from
//! `/proc`, which Linux has.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a program that prints figures")]

use half::{bf16, f16};
use maskwright_kernels::{BlockFormat, PackedWeights, WeightSlice, linear};

const K: usize = 4096;

const COLUMNS: usize = 4096;

/// Seconds that all threads of the process have run.
fn processor_time() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let nanoseconds = threads.map(|thread| {
        let text = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        text.split(' ').next().unwrap().parse::<f64>().unwrap()
    });
    nanoseconds.sum::<f64>() / 1e9
}

/// Some bytes, in which no exponent of a scale is the greatest.
fn bytes(count: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as u8 & 0xbf
    };
    (0..count).map(|_| next()).collect()
}

fn main() {
    rayon::ThreadPoolBuilder::new().num_threads(1).build_global().unwrap();
    let numbers = vec![1_u64; 32 << 20];
    let begin = processor_time();
    let sum: u64 = (0..4).map(|_| std::hint::black_box(&numbers).iter().sum::<u64>()).sum();
    assert_eq!(sum, 128 << 20);
    println!("memory: {:.1} GB/s", 1.073_741_824 / (processor_time() - begin));
    drop(numbers);
    for kind in std::env::args().skip(1) {
        let format = BlockFormat::ALL.into_iter().find(|format| format!("{format:?}") == kind);
        let plain = if kind == "F32" { 4.0 } else { 2.0 };
        let size = format.map_or(plain, |format| format.bytes() as f64 / format.weights() as f64);
        let count = (64e6 / (size * (K * COLUMNS) as f64)).ceil() as usize;
        let matrices: Vec<PackedWeights> = (0..count)
            .map(|_| match format {
                Some(format) => {
                    let blocks = bytes(COLUMNS * K / format.weights() * format.bytes());
                    PackedWeights::new(WeightSlice::Blocks(format, &blocks), K)
                }
                None => match &*kind {
                    "F32" => PackedWeights::new(WeightSlice::F32(&vec![0.5; COLUMNS * K]), K),
                    "F16" => {
                        let half = vec![f16::from_f32(0.5); COLUMNS * K];
                        PackedWeights::new(WeightSlice::F16(&half), K)
                    }
                    "BF16" => {
                        let brain = vec![bf16::from_f32(0.5); COLUMNS * K];
                        PackedWeights::new(WeightSlice::BF16(&brain), K)
                    }
                    _ => panic!("{kind} is no format of blocks, nor F32, F16 or BF16"),
                },
            })
            .collect();
        let mut line = format!("{kind:6}");
        for rows in [1, 4, 16, 32, 64, 512] {
            let x = vec![0.5; rows * K];
            // The best of some rounds: neighbours on a shared machine slow processors down.
            let rate = |_| {
                let (begin, mut products) = (processor_time(), 0);
                while processor_time() < begin + 0.15 {
                    std::hint::black_box(linear(&x, &matrices[products % count]));
                    products += 1;
                }
                (products * K * COLUMNS) as f64 / (processor_time() - begin) / 1e9
            };
            let weights = (0..12).map(rate).fold(0.0, f64::max);
            line += &match rows {
                1 => format!("  1 row {weights:5.1} weights, {:4.1} GB/s", weights * size),
                _ => format!("  {rows} rows {:5.1}", weights * rows as f64),
            };
        }
        println!("{line}");
    }
}
