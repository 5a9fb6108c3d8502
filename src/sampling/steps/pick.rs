//! The last step: one candidate at random, and the most probable ones for reports.

use super::candidate::{Candidate, by_probability, greedy, log_sum_exp};
use super::truncations::top_k;
use crate::error::{Error, ErrorKind};
use crate::sampling::exp::exp;

/// The candidate at the point `u` (from 0, below 1) of the line on which each candidate, in order
/// of token id, has its probability for length; with that probability. `None` only for an empty
/// list.
pub fn pick(candidates: &[Candidate], u: f64) -> Option<(Candidate, f64)> {
    let max_logit = greedy(candidates)?.logit;
    let total: f64 = candidates.iter().map(|c| exp(c.logit - max_logit)).sum();
    let (chosen, weight) = at_point(candidates, max_logit, u * total)?;
    Some((chosen, weight / total))
}

/// The candidate at the point `rest` of a line on which each candidate is e^(logit − `max_logit`) long,
/// with that length. Where rounding leaves the line too short, its last candidate is chosen.
pub(crate) fn at_point(
    candidates: &[Candidate],
    max_logit: f64,
    rest: f64,
) -> Option<(Candidate, f64)> {
    let mut end = 0.0;
    let mut chosen = None;
    for c in candidates {
        let weight = exp(c.logit - max_logit);
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

/// The `n` most probable candidates, best first, with the natural logarithm of their
/// probabilities.
pub fn top_log_probabilities(candidates: &[Candidate], n: usize) -> Vec<(u32, f64)> {
    if n == 0 {
        return Vec::new();
    }
    let log_sum_exp = log_sum_exp(candidates);
    let mut best = candidates.to_vec();
    top_k(&mut best, n);
    best.sort_unstable_by(by_probability);
    best.into_iter().map(|c| (c.token, c.logit - log_sum_exp)).collect()
}

/// An error for a list without candidates, which no step leaves.
pub(crate) fn nothing_to_draw() -> Error {
    Error::new(ErrorKind::Sampling, "draw step: no candidate is left to draw from")
}
