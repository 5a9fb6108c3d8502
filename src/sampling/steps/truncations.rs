//! Steps that remove candidates, and never all of them.

use std::cmp::Ordering;

use super::super::exponential::exp;
use super::{Candidate, by_probability, greedy, log_sum_exp};

/// Keeps candidates whose logit is at most `n` standard deviations below the greatest.
///
/// Tang et al. 2024, "Top-nσ: Not All Logits Are You Need", algorithm 1. The deviation is that of
/// the candidates' logits, over their number (llama.cpp divides so too; PyTorch's `std`, which the
/// authors' code calls, divides by one less). It is meant for logits before the temperature, with
/// which it then does not change. One candidate stays at `n` = 0, and all where logits are equal.
pub fn top_n_sigma(candidates: &mut Vec<Candidate>, n: f64) {
    let Some(top) = greedy(candidates) else { return };
    let count = candidates.len() as f64;
    // Measured from the top, so that large logits lose no digits.
    let mean = candidates.iter().map(|c| c.logit - top.logit).sum::<f64>() / count;
    let variance =
        candidates.iter().map(|c| (c.logit - top.logit - mean).powi(2)).sum::<f64>() / count;
    let reach = n * variance.sqrt();
    candidates.retain(|c| top.logit - c.logit <= reach);
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
    let Some(top) = greedy(candidates).filter(|_| p < 1.0) else { return };
    let total = candidates.iter().map(|c| exp(c.logit - top.logit)).sum();
    nucleus(candidates, p, top.logit, total);
}

/// Candidates that are ranked by sorting; more are first divided into bands of logits.
const FEW: usize = 64;
/// Bands into which the candidates' span of logits is divided.
const BANDS: usize = 1024;

/// [`top_p`] with the sum of all exponentials, taken from `top` on. O(n), and n log n for those of
/// one band.
fn nucleus(candidates: &mut Vec<Candidate>, p: f64, top: f64, total: f64) {
    let weigh = |c: &Candidate| exp(c.logit - top);
    let least = candidates.iter().map(|c| c.logit).fold(top, f64::min);
    let wanted = p * total;
    let (mut sum, mut ranked) = (0.0, Vec::new());
    if candidates.len() > FEW && least < top {
        let scale = (BANDS - 1) as f64 / (top - least);
        let band = |c: &Candidate| ((top - c.logit) * scale) as usize;
        let mut weights = [0.0; BANDS];
        for c in candidates.iter() {
            weights[band(c).min(BANDS - 1)] += weigh(c);
        }
        // The band in which the sum reaches what is wanted; rounding may put it into the next.
        let mut at = 0;
        while at < BANDS - 1 && sum + weights[at] < wanted {
            sum += weights[at];
            at += 1;
        }
        ranked.extend(candidates.iter().filter(|c| band(c).min(BANDS - 1) >= at));
        let first = |c: &Candidate| band(c).min(BANDS - 1) == at;
        let count = partition(&mut ranked, first);
        ranked[..count].sort_unstable_by(by_probability);
        if let Some(last) = reaches(&ranked[..count], &mut sum, wanted, weigh) {
            return keep_down_to(candidates, last);
        }
        ranked.drain(..count);
    } else {
        ranked.clone_from(candidates);
    }
    ranked.sort_unstable_by(by_probability);
    if let Some(last) = reaches(&ranked, &mut sum, wanted, weigh) {
        keep_down_to(candidates, last);
    }
}

/// Moves what satisfies `first` to the front, and says how much it is.
fn partition(candidates: &mut [Candidate], first: impl Fn(&Candidate) -> bool) -> usize {
    let mut count = 0;
    for i in 0..candidates.len() {
        if first(&candidates[i]) {
            candidates.swap(i, count);
            count += 1;
        }
    }
    count
}

/// The candidate with which the growing sum reaches `wanted`, if one does.
fn reaches(
    ranked: &[Candidate],
    sum: &mut f64,
    wanted: f64,
    weigh: impl Fn(&Candidate) -> f64,
) -> Option<Candidate> {
    ranked.iter().copied().find(|c| {
        *sum += weigh(c);
        *sum >= wanted
    })
}

/// Keeps candidates at least `p` times as probable as the most probable one, which always stays.
///
/// Nguyen et al. 2024, "Turning Up the Heat: Min-p Sampling for Creative and Coherent LLM Outputs",
/// section 3.
pub fn min_p(candidates: &mut Vec<Candidate>, p: f64) {
    if let Some(top) = greedy(candidates) {
        candidates.retain(|c| (c.logit - top.logit).exp() >= p);
    }
}

/// Keeps the smallest set of candidates whose surprise is nearest to the expected one and whose
/// probabilities sum to at least `p`. One candidate stays at `p` = 0, all at `p` = 1. Of two that
/// are equally near the more probable goes first.
///
/// Meister et al. 2022, "Locally Typical Sampling", section 4.2. Hugging Face's warper keeps every
/// candidate that ties with the last; llama.cpp's sum must pass `p`, not reach it.
pub fn typical_p(candidates: &mut Vec<Candidate>, p: f64) {
    let Some(top) = greedy(candidates).filter(|_| p < 1.0) else { return };
    let whole = log_sum_exp(candidates);
    let surprise = |c: &Candidate| whole - c.logit;
    let entropy: f64 = candidates.iter().map(|c| (-surprise(c)).exp() * surprise(c)).sum();
    let distance = |c: &Candidate| (surprise(c) - entropy).abs();
    let order = |a: &Candidate, b: &Candidate| {
        distance(a).total_cmp(&distance(b)).then_with(|| by_probability(a, b))
    };
    let mut ranked = candidates.clone();
    ranked.sort_unstable_by(order);
    let weigh = |c: &Candidate| (c.logit - top.logit).exp();
    let total: f64 = candidates.iter().map(weigh).sum();
    if let Some(last) = reaches(&ranked, &mut 0.0, p * total, weigh) {
        candidates.retain(|c| order(c, &last) != Ordering::Greater);
    }
}

/// "Exclude top choices" (Weidmann 2024, text-generation-webui's pull request 6335): where at least
/// two candidates have a probability of at least `threshold`, removes all of these but the least
/// probable. Whether it is done at this step, the caller has drawn.
pub fn xtc(candidates: &mut Vec<Candidate>, threshold: f64) {
    let Some(top) = greedy(candidates) else { return };
    // Not of normalised probabilities: a tenth of ten equal ones is then a tenth.
    let weigh = |c: &Candidate| (c.logit - top.logit).exp();
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
    let Some(top) = greedy(candidates) else { return };
    let whole = log_sum_exp(candidates);
    let bits = |c: &Candidate| (whole - c.logit) / std::f64::consts::LN_2;
    candidates.retain(|c| c.token == top.token || bits(c) <= most);
}

fn keep_down_to(candidates: &mut Vec<Candidate>, last: Candidate) {
    candidates.retain(|c| by_probability(c, &last) != Ordering::Greater);
}
