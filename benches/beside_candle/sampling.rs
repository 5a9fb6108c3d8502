//! One draw from 200,000 logits, by the sampling chain and by candle's `LogitsProcessor`, with the
//! same settings on the same rows: `peaked` as a language model makes them, `flat` as noise does, `level`
//! so that most tokens stay in a nucleus.

use candle_core::{Device, Tensor};
use candle_transformers::generation::{LogitsProcessor, Sampling};
use divan::{Bencher, black_box};
use maskwright::sampling::{Sampler, SamplingParams};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const WIDTH: usize = 200_000;
const KINDS: [&str; 3] = ["peaked", "flat", "level"];

fn main() {
    divan::main();
}

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Rows that are drawn from in turn: what a draw costs depends a little on where its nucleus ends.
const ROWS: u64 = 8;

fn rows(kind: &str) -> Vec<Vec<f32>> {
    (0..ROWS).map(|seed| row(kind, seed)).collect()
}

/// Normally distributed logits of deviation 2.5, of `level` 1; `peaked` adds a head like Zipf's law.
fn row(kind: &str, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let deviation = if kind == "level" { 1.0 } else { 2.5 };
    let mut row: Vec<f32> = (0..WIDTH)
        .map(|_| {
            let (a, b) = (1.0 - uniform(&mut rng), uniform(&mut rng));
            (deviation * (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()) as f32
        })
        .collect();
    if kind == "peaked" {
        for rank in 1..2000 {
            let token = (uniform(&mut rng) * WIDTH as f64) as usize;
            row[token] = 18.0 - 1.3 * f64::from(rank).ln() as f32;
        }
    }
    row
}

fn ours(bencher: Bencher<'_, '_>, params: SamplingParams, kind: &str) {
    let rows = rows(kind);
    let mut rows = rows.iter().cycle();
    let mut sampler = Sampler::new(&SamplingParams { seed: Some(1), ..params }).unwrap();
    bencher
        .with_inputs(|| rows.next().unwrap())
        .bench_local_refs(|row| sampler.draw(black_box(row), None).unwrap().token);
}

fn candles(bencher: Bencher<'_, '_>, sampling: Sampling, kind: &str) {
    let rows = rows(kind).into_iter().map(|row| Tensor::new(row, &Device::Cpu).unwrap());
    let rows: Vec<Tensor> = rows.collect();
    let mut rows = rows.iter().cycle();
    let mut processor = LogitsProcessor::from_sampling(1, sampling);
    bencher
        .with_inputs(|| rows.next().unwrap())
        .bench_local_refs(|row| processor.sample(black_box(row)).unwrap());
}

mod greedy {
    use super::*;

    #[divan::bench(args = KINDS)]
    fn maskwright(bencher: Bencher<'_, '_>, kind: &str) {
        ours(bencher, SamplingParams::greedy(), kind);
    }

    #[divan::bench(args = KINDS)]
    fn candle(bencher: Bencher<'_, '_>, kind: &str) {
        candles(bencher, Sampling::ArgMax, kind);
    }
}

mod top_p {
    use super::*;

    #[divan::bench(args = KINDS)]
    fn maskwright(bencher: Bencher<'_, '_>, kind: &str) {
        let params = SamplingParams { temperature: 0.8, top_p: 0.9, ..Default::default() };
        ours(bencher, params, kind);
    }

    #[divan::bench(args = KINDS)]
    fn candle(bencher: Bencher<'_, '_>, kind: &str) {
        candles(bencher, Sampling::TopP { p: 0.9, temperature: 0.8 }, kind);
    }
}

mod top_k_top_p {
    use super::*;

    #[divan::bench(args = KINDS)]
    fn maskwright(bencher: Bencher<'_, '_>, kind: &str) {
        let params =
            SamplingParams { top_k: Some(50), temperature: 0.8, top_p: 0.9, ..Default::default() };
        ours(bencher, params, kind);
    }

    #[divan::bench(args = KINDS)]
    fn candle(bencher: Bencher<'_, '_>, kind: &str) {
        candles(bencher, Sampling::TopKThenTopP { k: 50, p: 0.9, temperature: 0.8 }, kind);
    }
}
