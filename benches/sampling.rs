//! Cost of the sampling chain on a vocabulary of 200,000 tokens, beside the floor: reading the
//! logits once.
//!
//! `cargo bench --no-default-features --bench sampling`. Rows are of two kinds: `peaked` as a
//! language model makes them (a few candidates far above a wide field), `flat` as noise does, `level`
//! so that most tokens stay in a nucleus, the worst case of a truncation. Masks: all tokens, all but one in a hundred (a string in JSON), and
//! one in a hundred.

#![allow(clippy::unwrap_used, reason = "a benchmark stops at what it does not expect")]

use divan::{Bencher, black_box};
use maskwright::TokenMask;
use maskwright::sampling::{ChainStep, Pressure, Sampler, SamplingParams};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

const WIDTH: usize = 200_000;

fn main() {
    divan::main();
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Peaked,
    Flat,
    Level,
}

const KINDS: [Kind; 3] = [Kind::Peaked, Kind::Flat, Kind::Level];

#[derive(Clone, Copy, Debug)]
enum Allowed {
    All,
    Most,
    Few,
}

const MASKS: [Allowed; 3] = [Allowed::All, Allowed::Most, Allowed::Few];

fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

/// Rows that are drawn from in turn: what a draw costs depends a little on where its nucleus ends.
const ROWS: u64 = 8;

/// Normally distributed logits (Box and Muller 1958) of deviation 2.5, of `Level` 1; `Peaked` adds a
/// head like Zipf's law, whose first token stands 18 above the field.
fn row(kind: Kind) -> Vec<f32> {
    row_of(kind, 7)
}

fn row_of(kind: Kind, seed: u64) -> Vec<f32> {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let deviation = if let Kind::Level = kind { 1.0 } else { 2.5 };
    let mut row: Vec<f32> = (0..WIDTH)
        .map(|_| {
            let (a, b) = (1.0 - uniform(&mut rng), uniform(&mut rng));
            (deviation * (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos()) as f32
        })
        .collect();
    if let Kind::Peaked = kind {
        for rank in 1..2000 {
            let token = (uniform(&mut rng) * WIDTH as f64) as usize;
            row[token] = 18.0 - 1.3 * (f64::from(rank)).ln() as f32;
        }
    }
    row
}

fn mask(allowed: Allowed) -> TokenMask {
    let mut rng = ChaCha8Rng::seed_from_u64(9);
    let share = match allowed {
        Allowed::All => 1.0,
        Allowed::Most => 0.99,
        Allowed::Few => 0.01,
    };
    let mut mask = TokenMask::new(WIDTH);
    (0..WIDTH as u32).filter(|_| uniform(&mut rng) < share).for_each(|token| mask.allow(token));
    mask
}

fn bench(bencher: Bencher<'_, '_>, params: SamplingParams, kind: Kind, allowed: Allowed) {
    // A greedy draw costs what reading costs, which is measured with one row, too.
    let rows: Vec<_> = match params.temperature {
        0.0 => vec![row(kind)],
        _ => (0..ROWS).map(|seed| row_of(kind, seed)).collect(),
    };
    let (mut rows, mask) = (rows.iter().cycle(), mask(allowed));
    let mut sampler = Sampler::new(&SamplingParams { seed: Some(1), ..params }).unwrap();
    bencher
        .with_inputs(|| rows.next().unwrap())
        .bench_local_refs(|row| sampler.draw(black_box(row), Some(black_box(&mask))).unwrap());
}

/// A greedy draw whose bounds tell nothing: all that is forbidden is above all that is allowed.
#[divan::bench(args = MASKS)]
fn greedy_against_the_mask(bencher: Bencher<'_, '_>, allowed: Allowed) {
    let (mut row, mask) = (row(Kind::Flat), mask(allowed));
    let forbidden = |token: &usize| !mask.contains(*token as u32);
    (0..WIDTH).filter(forbidden).for_each(|token| row[token] += 40.0);
    let mut sampler = Sampler::new(&SamplingParams::greedy()).unwrap();
    bencher.bench_local(|| sampler.draw(black_box(&row), Some(black_box(&mask))).unwrap());
}

/// The floor: every logit is loaded and added once.
#[divan::bench]
fn read_once(bencher: Bencher<'_, '_>) {
    let row = row(Kind::Flat);
    bencher.bench_local(|| {
        let mut sums = [0.0f32; 16];
        for lanes in black_box(&row).chunks_exact(16) {
            for i in 0..16 {
                sums[i] += lanes[i];
            }
        }
        sums
    });
}

#[divan::bench(args = MASKS)]
fn greedy(bencher: Bencher<'_, '_>, allowed: Allowed) {
    bench(bencher, SamplingParams::greedy(), Kind::Flat, allowed);
}

#[divan::bench(args = KINDS)]
fn top_p(bencher: Bencher<'_, '_>, kind: Kind) {
    let params = SamplingParams { temperature: 0.8, top_p: 0.9, ..SamplingParams::default() };
    bench(bencher, params, kind, Allowed::All);
}

#[divan::bench(args = KINDS)]
fn top_p_in_json(bencher: Bencher<'_, '_>, kind: Kind) {
    let params = SamplingParams { temperature: 0.8, top_p: 0.9, ..SamplingParams::default() };
    bench(bencher, params, kind, Allowed::Most);
}

#[divan::bench(args = KINDS)]
fn top_k_top_p(bencher: Bencher<'_, '_>, kind: Kind) {
    let params = SamplingParams { top_k: Some(50), top_p: 0.9, ..SamplingParams::default() };
    bench(bencher, params, kind, Allowed::All);
}

/// Penalties and biases before the truncation, over a history of a thousand tokens, in JSON.
#[divan::bench(args = KINDS)]
fn penalties_top_p(bencher: Bencher<'_, '_>, kind: Kind) {
    let params = SamplingParams {
        logit_bias: (0..300).map(|i| (i * 7, 1.5)).collect(),
        repetition_penalty: 1.1,
        frequency_penalty: 0.1,
        presence_penalty: 0.1,
        dry_multiplier: 0.8,
        temperature: 0.8,
        top_p: 0.9,
        seed: Some(1),
        ..SamplingParams::default()
    };
    let rows: Vec<_> = (0..ROWS).map(|seed| row_of(kind, seed)).collect();
    let (mut rows, mask) = (rows.iter().cycle(), mask(Allowed::Most));
    let mut sampler = Sampler::new(&params).unwrap();
    (0..1000u32).for_each(|i| sampler.accept(i * 7919 % 500));
    bencher
        .with_inputs(|| rows.next().unwrap())
        .bench_local_refs(|row| sampler.draw(black_box(row), Some(black_box(&mask))).unwrap());
}

#[divan::bench(args = KINDS)]
fn top_n_sigma_top_p(bencher: Bencher<'_, '_>, kind: Kind) {
    let params = SamplingParams { top_n_sigma: 1.0, top_p: 0.9, ..SamplingParams::default() };
    bench(bencher, params, kind, Allowed::All);
}

#[divan::bench(args = KINDS)]
fn top_p_min_p(bencher: Bencher<'_, '_>, kind: Kind) {
    let params = SamplingParams { top_p: 0.9, min_p: 0.05, ..SamplingParams::default() };
    bench(bencher, params, kind, Allowed::All);
}

#[divan::bench(args = KINDS)]
fn min_p(bencher: Bencher<'_, '_>, kind: Kind) {
    bench(bencher, SamplingParams { min_p: 0.05, ..Default::default() }, kind, Allowed::All);
}

#[divan::bench(args = KINDS)]
fn typical_p(bencher: Bencher<'_, '_>, kind: Kind) {
    bench(bencher, SamplingParams { typical_p: 0.9, ..Default::default() }, kind, Allowed::All);
}

#[divan::bench(args = KINDS)]
fn xtc(bencher: Bencher<'_, '_>, kind: Kind) {
    let params = SamplingParams { xtc_probability: 1.0, ..SamplingParams::default() };
    bench(bencher, params, kind, Allowed::All);
}

#[divan::bench(args = KINDS)]
fn mirostat(bencher: Bencher<'_, '_>, kind: Kind) {
    bench(bencher, SamplingParams { mirostat: 2, ..Default::default() }, kind, Allowed::All);
}

#[divan::bench(args = KINDS)]
fn top_k_of_many(bencher: Bencher<'_, '_>, kind: Kind) {
    bench(
        bencher,
        SamplingParams { top_k: Some(50_000), ..Default::default() },
        kind,
        Allowed::All,
    );
}

/// No truncation: every token may be drawn.
#[divan::bench(args = KINDS)]
fn temperature_only(bencher: Bencher<'_, '_>, kind: Kind) {
    bench(bencher, SamplingParams::default(), kind, Allowed::All);
}

/// Every step, over a history of a thousand tokens.
#[divan::bench(args = KINDS)]
fn whole_chain(bencher: Bencher<'_, '_>, kind: Kind) {
    let params = SamplingParams {
        repetition_penalty: 1.1,
        frequency_penalty: 0.1,
        presence_penalty: 0.1,
        dry_multiplier: 0.8,
        temperature: 0.8,
        top_k: Some(100),
        top_p: 0.95,
        min_p: 0.02,
        typical_p: 0.95,
        xtc_probability: 0.3,
        samplers: ChainStep::DEFAULT_ORDER.to_vec(),
        seed: Some(1),
        ..SamplingParams::default()
    };
    let (row, mask) = (row(kind), mask(Allowed::Most));
    let mut sampler = Sampler::new(&params).unwrap();
    (0..1000u32).for_each(|i| sampler.accept(i * 7919 % 500));
    bencher.bench_local(|| sampler.draw(black_box(&row), Some(black_box(&mask))).unwrap());
}

/// Log-probabilities and the mass that the mask left, which only a trace asks for.
#[divan::bench(args = MASKS)]
fn pressure(bencher: Bencher<'_, '_>, allowed: Allowed) {
    let (row, mask) = (row(Kind::Flat), mask(allowed));
    let token = mask.iter().next().unwrap();
    bencher.bench_local(|| Pressure::measure(black_box(&row), &mask, token).unwrap());
}
