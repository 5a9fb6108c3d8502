//! Time of a forward pass on the CPU, beside the floor of decoding: reading as much memory once.
//!
//! ```sh
//! python3 benches/serving/random_model.py /tmp/random-200m
//! MASKWRIGHT_MODEL=/tmp/random-200m cargo bench --bench forward
//! ```
//!
//! `MASKWRIGHT_DTYPE` is `f32` (default), `bf16` or `f16`. Prefill reads 512 tokens; decoding reads one
//! token of each of 1 to 64 sequences, whose contexts are of 512 tokens (16 different ones). Seconds
//! of processors stand beside seconds, for machines on which others work, too.

#![allow(clippy::unwrap_used, reason = "a benchmark stops at what it does not expect")]
#![allow(clippy::print_stdout, reason = "a benchmark prints its figures")]

use std::time::Instant;

use maskwright::model::{Chunk, KvCache, LogitRows, Model, ModelOptions, ModelSource};
use rayon::prelude::*;

/// Tokens of a prompt.
const CONTEXT: usize = 512;

/// The numbers that are read as the floor: 800 MB.
const FLOOR_NUMBERS: usize = 200_000_000;

fn main() {
    let Ok(folder) = std::env::var("MASKWRIGHT_MODEL") else {
        println!("skipped: MASKWRIGHT_MODEL names no model folder");
        return;
    };
    let dtype = std::env::var("MASKWRIGHT_DTYPE").unwrap_or_else(|_| "f32".to_owned());
    let source = ModelSource::Folder(folder.into());
    let dtype = dtype.parse().unwrap();
    let model = Model::load(&ModelOptions { source, dtype, ..Default::default() }).unwrap();

    let numbers = vec![1.0_f32; FLOOR_NUMBERS];
    let (floor, _) = measure(7, || assert!(sum(&numbers) > 0.0));
    let gigabytes = size_of_val(&numbers[..]) as f64 / 1e9;
    println!("sum of {gigabytes:.1} GB        {:8.1} GB/s", gigabytes / floor);
    drop(numbers);

    let tokens: Vec<u32> = (0..CONTEXT as u32).map(|i| 1 + i * 7919 % 100_000).collect();
    let (seconds, busy) = measure(3, || {
        model.forward(&tokens, &mut model.new_cache().unwrap()).unwrap();
    });
    print("prefill of 512", CONTEXT, seconds, busy);

    let mut contexts = Vec::new();
    for batch in [1, 4, 16, 64] {
        while contexts.len() < batch.min(16) {
            let mut cache = model.new_cache().unwrap();
            let tokens: Vec<u32> = tokens.iter().map(|t| t + contexts.len() as u32).collect();
            let chunk = Chunk::new(&tokens, &mut cache).with_logits(LogitRows::None);
            model.forward_batch(&mut [chunk]).unwrap();
            contexts.push(cache);
        }
        let mut caches: Vec<KvCache> =
            (0..batch).map(|i| contexts[i % contexts.len()].fork()).collect();
        let (seconds, busy) = measure(if batch > 4 { 5 } else { 15 }, || {
            let mut chunks: Vec<Chunk<'_>> =
                caches.iter_mut().map(|cache| Chunk::new(&[7], cache)).collect();
            model.forward_batch(&mut chunks).unwrap();
        });
        print(&format!("decode, batch {batch}"), batch, seconds, busy);
    }
}

fn print(name: &str, tokens: usize, seconds: f64, busy: f64) {
    let (wall, processor) = (tokens as f64 / seconds, tokens as f64 / busy);
    let milliseconds = seconds * 1e3;
    println!("{name:17} {wall:9.1} tok/s {processor:9.1} tok/s of processor {milliseconds:9.1} ms");
}

/// The least time of some runs in seconds, and the mean processor time of one.
fn measure(runs: u32, mut f: impl FnMut()) -> (f64, f64) {
    f();
    let (mut least, busy) = (f64::INFINITY, processor_seconds());
    for _ in 0..runs {
        let start = Instant::now();
        f();
        least = least.min(start.elapsed().as_secs_f64());
    }
    (least, (processor_seconds() - busy) / f64::from(runs))
}

/// The user time of this process, on Linux; elsewhere not a number.
fn processor_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after_name = stat.rsplit(')').next().unwrap_or("");
    // The 14th field, in hundredths of a second.
    let user = after_name.split_whitespace().nth(11).and_then(|ticks| ticks.parse::<f64>().ok());
    user.map_or(f64::NAN, |ticks| ticks / 100.0)
}

fn sum(numbers: &[f32]) -> f32 {
    let lanes = |part: &[f32]| {
        let mut lanes = [0.0_f32; 64];
        for chunk in part.chunks_exact(64) {
            lanes.iter_mut().zip(chunk).for_each(|(lane, number)| *lane += number);
        }
        lanes.iter().sum::<f32>()
    };
    numbers.par_chunks(1 << 20).map(lanes).sum()
}
