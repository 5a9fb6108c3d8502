//! Steps that remove candidates, and never all of them.

use std::cmp::Ordering;

use super::candidate::{Candidate, CandidateKey, by_probability, greedy, log_sum_exp};
use crate::sampling::exp::exp;
use crate::sampling::weighted_select::select_by_weight;

/// Keeps candidates whose logit is at most `n` standard deviations below the greatest.
///
/// Tang et al. 2024, "Top-nσ: Not All Logits Are You Need", algorithm 1. The deviation is that of
/// the candidates' logits, over their number (llama.cpp divides so too; PyTorch's `std`, which the
/// authors' code calls, divides by one less). It is meant to run before the temperature; the candidates
/// that stay then do not depend on it. One candidate stays at `n` = 0, and all where logits are equal.
pub fn top_n_sigma(candidates: &mut Vec<Candidate>, n: f64) {
    let Some(best) = greedy(candidates) else { return };
    let count = candidates.len() as f64;
    // Measured from the greatest, so that large logits lose no digits.
    let mean = candidates.iter().map(|c| c.logit - best.logit).sum::<f64>() / count;
    let variance =
        candidates.iter().map(|c| (c.logit - best.logit - mean).powi(2)).sum::<f64>() / count;
    let max_distance = n * variance.sqrt();
    candidates.retain(|c| best.logit - c.logit <= max_distance);
}

/// Keeps the `k` most probable candidates; all of them if `k` is their number or more.
///
/// Fan, Lewis and Dauphin 2018, "Hierarchical Neural Story Generation", section 5.4. `k` is at
/// least 1. Hugging Face's warper keeps every candidate that ties with the last; here, as in
/// llama.cpp, exactly `k` stay.
pub fn top_k(candidates: &mut Vec<Candidate>, k: usize) {
    if k >= candidates.len() {
        return;
    }
    let mut ranked = candidates.clone();
    let (_, &mut last, _) = ranked.select_nth_unstable_by(k.max(1) - 1, by_probability);
    keep_down_to(candidates, last);
}

/// Keeps the nucleus: the smallest set of most probable candidates whose probabilities sum to at
/// least `p`. One candidate stays at `p` = 0, all at `p` = 1.
///
/// Holtzman et al. 2019, "The Curious Case of Neural Text Degeneration", section 3.1. Hugging
/// Face's warper and llama.cpp agree, up to the rounding of their sums in `f32`.
pub fn top_p(candidates: &mut Vec<Candidate>, p: f64) {
    let Some(best) = greedy(candidates).filter(|_| p < 1.0) else { return };
    let mut weighed: Vec<_> =
        candidates.iter().map(|c| (CandidateKey::new(c), exp(c.logit - best.logit))).collect();
    let total: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    if let Some((last, _)) = select_by_weight(&mut weighed, p * total) {
        keep_down_to(candidates, last.candidate());
    }
}

/// Keeps candidates at least `p` times as probable as the most probable one, which always stays.
///
/// Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs",
/// section 3. As in Hugging Face's warper and in llama.cpp.
pub fn min_p(candidates: &mut Vec<Candidate>, p: f64) {
    if let Some(best) = greedy(candidates) {
        candidates.retain(|c| (c.logit - best.logit).exp() >= p);
    }
}

/// Keeps the smallest set of candidates whose surprise is nearest to the expected one and whose
/// probabilities sum to at least `p`. One candidate stays at `p` = 0, all at `p` = 1. Of two that
/// are equally near the more probable goes first.
///
/// Meister et al. 2022, "Locally Typical Sampling", section 4.2. Hugging Face's warper keeps every
/// candidate that ties with the last; llama.cpp's sum must pass `p`, not reach it.
pub fn typical_p(candidates: &mut Vec<Candidate>, p: f64) {
    let Some(best) = greedy(candidates).filter(|_| p < 1.0) else { return };
    let log_sum_exp = log_sum_exp(candidates);
    let surprise = |c: &Candidate| log_sum_exp - c.logit;
    let entropy: f64 = candidates.iter().map(|c| (-surprise(c)).exp() * surprise(c)).sum();
    // How far a candidate's surprise is from the expected one; numbers from 0 are ordered as their
    // bits.
    let order = |c: &Candidate| ((surprise(c) - entropy).abs().to_bits(), CandidateKey::new(c));
    let weigh = |c: &Candidate| (order(c), exp(c.logit - best.logit));
    let mut weighed: Vec<_> = candidates.iter().map(weigh).collect();
    let total: f64 = weighed.iter().map(|(_, weight)| weight).sum();
    if let Some((last, _)) = select_by_weight(&mut weighed, p * total) {
        candidates.retain(|c| order(c) <= last);
    }
}

/// "Exclude top choices" (Weidmann 2024, text-generation-webui's pull request 6335): where at least
/// two candidates have a probability of at least `threshold`, removes all of these but the least
/// probable. The caller draws whether it runs at this token. As in llama.cpp; the original
/// does nothing where a line end or an end token would be removed.
pub fn xtc(candidates: &mut Vec<Candidate>, threshold: f64) {
    let Some(best) = greedy(candidates) else { return };
    // Not of normalised probabilities: a tenth of ten equal ones is then a tenth.
    let weigh = |c: &Candidate| (c.logit - best.logit).exp();
    let least_weight = threshold * candidates.iter().map(weigh).sum::<f64>();
    let is_top = |c: &Candidate| weigh(c) >= least_weight;
    let least = candidates.iter().filter(|c| is_top(c)).copied().max_by(by_probability);
    if let Some(least) = least {
        candidates.retain(|c| by_probability(c, &least) != Ordering::Less);
    }
}

/// Keeps candidates whose surprise, in bits, is at most `most`; the most probable one always stays.
///
/// Basu et al. 2021, "Mirostat: A Neural Text Decoding Algorithm that Directly Controls
/// Perplexity", in the second version of the authors' code, which llama.cpp follows; how `most`
/// moves, [`Sampler::draw`](crate::sampling::Sampler::draw) says.
pub fn mirostat(candidates: &mut Vec<Candidate>, most: f64) {
    let Some(best) = greedy(candidates) else { return };
    let log_sum_exp = log_sum_exp(candidates);
    let bits = |c: &Candidate| (log_sum_exp - c.logit) / std::f64::consts::LN_2;
    candidates.retain(|c| c.token == best.token || bits(c) <= most);
}

/// Keeps the candidates that are not less probable than `last`.
fn keep_down_to(candidates: &mut Vec<Candidate>, last: Candidate) {
    candidates.retain(|c| by_probability(c, &last) != Ordering::Greater);
}
