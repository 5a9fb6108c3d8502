//! The steps of the chain, each a pure function of its arguments.
//!
//! They work on a list of [`Candidate`]s that is always in order of token id: a step changes logits
//! or removes candidates, never reorders them. So the outcome of a draw depends on no sorting
//! algorithm, and a penalty finds its token by binary search.
//!
//! "More probable" below always means the greater logit, and among equal logits the lower token id.
//! Sums are in `f64`. Nothing is ever sorted whole: truncations find the last candidate that stays
//! by partial selection, O(n) for n candidates.

mod penalties;
mod truncations;

use std::cmp::Ordering;

use super::exponential::exp;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::TokenMask;

pub use penalties::{
    dry, frequency_penalty, logit_bias, presence_penalty, repetition_penalty, temperature,
};
pub use truncations::{min_p, mirostat, top_k, top_n_sigma, top_p, typical_p, xtc};

/// A token that can still be drawn, with its logit so far: finite, and never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token's id.
    pub token: u32,
    /// Natural logarithm of its probability, up to a constant that all candidates share.
    pub logit: f64,
}

/// Most probable first. Logits are no NaN, and zeros of both signs are equal.
pub(super) fn by_probability(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.partial_cmp(&a.logit).unwrap_or(Ordering::Equal).then(a.token.cmp(&b.token))
}

/// Fills `candidates` with the tokens of `mask` (all without one) whose logit is above −∞.
///
/// Errors if one of them is NaN or +∞ (the model is broken), if none is left, or if the mask is
/// not as wide as the logits. Forbidden tokens are not looked at.
pub fn allow(
    logits: &[f32],
    mask: Option<&TokenMask>,
    candidates: &mut Vec<Candidate>,
) -> Result<()> {
    candidates.clear();
    let mut broken = None;
    let mut consider = |token: usize| {
        let logit = logits[token];
        if logit.is_nan() || logit == f32::INFINITY {
            broken.get_or_insert((token, logit));
        } else if logit != f32::NEG_INFINITY {
            // Vocabularies are far smaller than u32::MAX.
            candidates.push(Candidate { token: token as u32, logit: f64::from(logit) });
        }
    };
    match mask {
        None => (0..logits.len()).for_each(consider),
        Some(mask) if mask.len() != logits.len() => {
            return Err(wrong_width(mask.len(), logits.len()));
        }
        Some(mask) => mask.iter().for_each(|token| consider(token as usize)),
    }
    if let Some((token, logit)) = broken {
        return Err(self::broken(token as u32, logit));
    }
    if candidates.is_empty() {
        return Err(nothing_allowed(mask.map_or(logits.len(), TokenMask::count)));
    }
    Ok(())
}

/// A model whose arithmetic went wrong.
pub(super) fn broken(token: u32, logit: f32) -> Error {
    let message = format!("mask step: the model's logit of token {token} is {logit}");
    Error::new(ErrorKind::Model, message)
        .with_help("the weights are damaged or the dtype is too narrow: try f32")
}

/// No token that a mask of so many tokens allows can be drawn.
pub(super) fn nothing_allowed(allowed: usize) -> Error {
    let message = match allowed {
        0 => "mask step: the mask allows no token".to_owned(),
        n => format!("mask step: all {n} allowed tokens have a logit of -inf"),
    };
    Error::new(ErrorKind::Sampling, message)
        .with_help("draw only where a token is allowed and has a finite logit")
}

pub(super) fn wrong_width(mask: usize, logits: usize) -> Error {
    let message = format!("mask step: a mask of {mask} tokens does not fit {logits} logits");
    Error::new(ErrorKind::Sampling, message)
        .with_help("tell the vocabulary the width of the model's logits")
}

/// The most probable candidate; `None` only for an empty list.
pub fn greedy(candidates: &[Candidate]) -> Option<Candidate> {
    candidates.iter().copied().min_by(by_probability)
}

/// The candidate at the point `u` (from 0, below 1) of the line on which each candidate, in order
/// of token id, has its probability for length; with that probability. `None` only for an empty
/// list.
pub fn pick(candidates: &[Candidate], u: f64) -> Option<(Candidate, f64)> {
    let top = greedy(candidates)?.logit;
    let total: f64 = candidates.iter().map(|c| exp(c.logit - top)).sum();
    let (chosen, weight) = at_point(candidates, top, u * total)?;
    Some((chosen, weight / total))
}

/// The candidate at the point `rest` of a line on which each has its exponential from `top` on for
/// length, with that. Where rounding leaves the line too short, its last candidate is chosen.
pub(super) fn at_point(candidates: &[Candidate], top: f64, rest: f64) -> Option<(Candidate, f64)> {
    let mut end = 0.0;
    let mut chosen = None;
    for c in candidates {
        let weight = exp(c.logit - top);
        if weight > 0.0 {
            chosen = Some((*c, weight));
            end += weight;
            if end > rest {
                break;
            }
        }
    }
    chosen
}

/// Natural logarithm of the sum of the candidates' exponentials: a candidate's log-probability is
/// its logit minus this.
pub fn log_sum_exp(candidates: &[Candidate]) -> f64 {
    let Some(top) = greedy(candidates) else {
        return f64::NEG_INFINITY;
    };
    top.logit + candidates.iter().map(|c| exp(c.logit - top.logit)).sum::<f64>().ln()
}

/// The `n` most probable candidates, best first, with the natural logarithm of their
/// probabilities.
pub fn top_log_probabilities(candidates: &[Candidate], n: usize) -> Vec<(u32, f64)> {
    if n == 0 {
        return Vec::new();
    }
    let whole = log_sum_exp(candidates);
    let mut best = candidates.to_vec();
    top_k(&mut best, n);
    best.sort_unstable_by(by_probability);
    best.into_iter().map(|c| (c.token, c.logit - whole)).collect()
}
