//! The steps of the chain, each a pure function of its arguments.
//!
//! They work on a list of [`Candidate`]s that is always in order of token id: a step changes logits
//! or removes candidates, never reorders them. So the outcome of a draw depends on no sorting
//! algorithm, and a penalty finds its token by binary search.
//!
//! "More probable" below always means the greater logit, and among equal logits the lower token id.
//! Sums are in `f64`. Nothing is ever sorted whole: truncations find the last candidate that stays
//! by partial selection, O(n) for n candidates.

use std::cmp::Ordering;

use crate::error::{Error, ErrorKind, Result};
use crate::vocab::TokenMask;

/// A token that can still be drawn, with its logit so far: finite, and never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token's id.
    pub token: u32,
    /// Natural logarithm of its probability, up to a constant that all candidates share.
    pub logit: f64,
}

/// Most probable first.
fn by_probability(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.total_cmp(&a.logit).then(a.token.cmp(&b.token))
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
        let message = format!("mask step: the model's logit of token {token} is {logit}");
        return Err(Error::new(ErrorKind::Sampling, message)
            .with_help("the weights are damaged or the dtype is too narrow: try f32"));
    }
    if candidates.is_empty() {
        let message = match mask.map_or(logits.len(), TokenMask::count) {
            0 => "mask step: the mask allows no token".to_owned(),
            n => format!("mask step: all {n} allowed tokens have a logit of -inf"),
        };
        return Err(Error::new(ErrorKind::Sampling, message)
            .with_help("draw only where a token is allowed and has a finite logit"));
    }
    Ok(())
}

fn wrong_width(mask: usize, logits: usize) -> Error {
    let message = format!("mask step: a mask of {mask} tokens does not fit {logits} logits");
    Error::new(ErrorKind::Sampling, message)
        .with_help("tell the vocabulary the width of the model's logits")
}

fn find(candidates: &mut [Candidate], token: u32) -> Option<&mut Candidate> {
    let i = candidates.binary_search_by_key(&token, |c| c.token).ok()?;
    Some(&mut candidates[i])
}

/// Divides the logit of every token in `seen` by `penalty` if it is positive, else multiplies it.
///
/// CTRL divides always (Keskar et al. 2019, "CTRL: A Conditional Transformer Language Model for
/// Controllable Generation", section 4.1); the case for negative logits, without which the penalty
/// would reward them, is Hugging Face's `RepetitionPenaltyLogitsProcessor`. `seen` holds prompt and
/// text, each token once.
pub fn repetition_penalty(
    candidates: &mut [Candidate],
    seen: impl IntoIterator<Item = u32>,
    penalty: f64,
) {
    for token in seen {
        if let Some(c) = find(candidates, token) {
            c.logit = if c.logit > 0.0 { c.logit / penalty } else { c.logit * penalty };
        }
    }
}

/// Takes `penalty` times a token's count in the text so far off its logit: the first term of
/// `logit[j] - c[j] * frequency - (c[j] > 0) * presence` in the OpenAI API reference
/// ("Frequency and presence penalties").
pub fn frequency_penalty(
    candidates: &mut [Candidate],
    counts: impl IntoIterator<Item = (u32, u32)>,
    penalty: f64,
) {
    for (token, count) in counts {
        if let Some(c) = find(candidates, token) {
            c.logit -= f64::from(count) * penalty;
        }
    }
}

/// Takes `penalty` once off the logit of every token that stands in the text so far: the second
/// term of the formula under [`frequency_penalty`].
pub fn presence_penalty(
    candidates: &mut [Candidate],
    seen: impl IntoIterator<Item = u32>,
    penalty: f64,
) {
    for token in seen {
        if let Some(c) = find(candidates, token) {
            c.logit -= penalty;
        }
    }
}

/// Divides every logit by `temperature`, which is above 0.
pub fn temperature(candidates: &mut [Candidate], temperature: f64) {
    for c in candidates {
        c.logit /= temperature;
    }
}

/// Keeps the `k` most probable candidates; all of them if `k` is their number or more.
///
/// Fan, Lewis and Dauphin 2018, "Hierarchical Neural Story Generation", section 5.4. `k` is at
/// least 1.
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
/// Holtzman et al. 2019, "The Curious Case of Neural Text Degeneration", section 3.1.
pub fn top_p(candidates: &mut Vec<Candidate>, p: f64) {
    let Some(top) = greedy(candidates).filter(|_| p < 1.0) else {
        return;
    };
    let total: f64 = candidates.iter().map(|c| (c.logit - top.logit).exp()).sum();
    let mut ranked = candidates.clone();
    let (mut sum, mut done) = (0.0, 0);
    // Ranks a first block and, while its mass is too small, one four times as long: nuclei are
    // short, and a long one costs O(n log n) at worst.
    let mut block = 64;
    while done < ranked.len() {
        let rest = &mut ranked[done..];
        if block < rest.len() {
            rest.select_nth_unstable_by(block, by_probability);
        }
        let len = block.min(rest.len());
        rest[..len].sort_unstable_by(by_probability);
        for c in &rest[..len] {
            sum += (c.logit - top.logit).exp();
            if sum >= p * total {
                return keep_down_to(candidates, *c);
            }
        }
        (done, block) = (done + len, block * 4);
    }
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

fn keep_down_to(candidates: &mut Vec<Candidate>, last: Candidate) {
    candidates.retain(|c| by_probability(c, &last) != Ordering::Greater);
}

/// The most probable candidate; `None` only for an empty list.
pub fn greedy(candidates: &[Candidate]) -> Option<Candidate> {
    candidates.iter().copied().min_by(by_probability)
}

/// The candidate at the point `u` (from 0, below 1) of the line on which each candidate, in order
/// of token id, has its probability for length; with that probability. `None` only for an empty
/// list.
pub fn pick(candidates: &[Candidate], u: f64) -> Option<(Candidate, f64)> {
    let top = greedy(candidates)?;
    let weights: Vec<f64> = candidates.iter().map(|c| (c.logit - top.logit).exp()).collect();
    let total: f64 = weights.iter().sum();
    let mut end = 0.0;
    let mut chosen = None;
    for (c, &weight) in candidates.iter().zip(&weights) {
        if weight > 0.0 {
            // Where rounding leaves the line shorter than `u`, its last candidate is chosen.
            chosen = Some((*c, weight / total));
            end += weight;
            if end > u * total {
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
    top.logit + candidates.iter().map(|c| (c.logit - top.logit).exp()).sum::<f64>().ln()
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
