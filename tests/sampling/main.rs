//! The sampling chain against a plain reference, at its edges, and in the long run.

#![allow(clippy::unwrap_used)]

mod checked;
mod comparison;
mod edges;
mod reference;

use maskwright::vocabulary::TokenMask;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::Rng;

/// Uniform in [0, 1).
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    f64::from(rng.next_u32()) / f64::from(u32::MAX) * 0.999_999
}

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    (unit(rng) * n as f64) as usize
}

fn mask_of(width: usize, ids: impl IntoIterator<Item = u32>) -> TokenMask {
    let mut mask = TokenMask::new(width);
    for id in ids {
        mask.allow(id);
    }
    mask
}

/// Rows of logits, peaked and flat, wide enough for every short cut.
fn wide(rng: &mut ChaCha8Rng, width: usize, peaked: bool) -> Vec<f32> {
    (0..width)
        .map(|_| {
            let field: f64 = (0..6).map(|_| unit(rng) - 0.5).sum();
            let head = if peaked && unit(rng) < 0.01 { 9.0 } else { 0.0 };
            (field * 3.0 + head) as f32
        })
        .collect()
}
