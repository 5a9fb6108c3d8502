//! Random rows of logits for tests.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::masked_row::MaskedRow;
use super::row_scan::{self, MaximaPrecision};
use crate::sampling::steps::Candidate;
use crate::vocabulary::TokenMask;

/// Makes a row of normally distributed logits, every third with many ties, of which a part is
/// allowed and some are changed, and hands it to `check` with the greatest logit, the changed
/// candidates and all candidates.
pub(crate) fn with_row(
    (seed, width, deviation, temperature): (u64, usize, f64, f64),
    check: impl Fn(&MaskedRow<'_>, f64, &[Candidate], &[Candidate]),
) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let grain = if seed.is_multiple_of(3) { 4.0 } else { 1e9 };
    let mut logits: Vec<f32> = (0..width)
        .map(|_| {
            let (a, b) = (1.0 - uniform(), uniform());
            let normal = (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
            ((deviation * normal * grain).round() / grain) as f32
        })
        .collect();
    let share = if seed.is_multiple_of(2) { 0.7 } else { 2.0 };
    let mut mask = TokenMask::new(width);
    (0..width as u32).filter(|_| uniform() < share).for_each(|token| mask.allow(token));
    let mut changed = Vec::new();
    let every = if seed.is_multiple_of(5) { usize::MAX } else { 997 };
    for token in (0..width).filter(|token| token % every == 5) {
        mask.deny(token as u32);
        let logit = (f64::from(logits[token]) + 3.0) / temperature;
        changed.push(Candidate { token: token as u32, logit });
        // Logits of forbidden tokens must not matter.
        logits[token] = [f32::NAN, f32::INFINITY, 9e9][token % 3];
    }
    let mut maxima = Vec::new();
    let scan = row_scan::scan(&logits, mask.words(), &mut maxima, MaximaPrecision::Exact);
    let row = MaskedRow { logits: &logits, words: mask.words(), maxima: &maxima, temperature };
    let best = f64::from(scan.best.unwrap().1) / temperature;
    let max_logit = changed.iter().map(|c| c.logit).fold(best, f64::max);
    let mut plain = Vec::new();
    row.list(f32::NEG_INFINITY, &changed, &mut plain);
    check(&row, max_logit, &changed, &plain);
}
