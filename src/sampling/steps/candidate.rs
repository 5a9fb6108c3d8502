//! Candidates: tokens that can still be drawn, their order, and what is computed over a list of
//! them.

use std::cmp::Ordering;

use crate::sampling::exp::exp;

/// A token that can still be drawn, with its logit so far: finite, and never NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The token's id.
    pub token: u32,
    /// Natural logarithm of its probability, up to a constant that all candidates share.
    pub logit: f64,
}

/// The order in which the most probable candidate comes first. Logits are no NaN, and zeros of both
/// signs are equal.
pub(crate) fn by_probability(a: &Candidate, b: &Candidate) -> Ordering {
    b.logit.partial_cmp(&a.logit).unwrap_or(Ordering::Equal).then(a.token.cmp(&b.token))
}

/// A candidate as a number: the more probable of two is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CandidateKey(u128);

impl CandidateKey {
    /// The key of a candidate. Its logit is not NaN; zeros of both signs are equal.
    pub(crate) fn new(c: &Candidate) -> Self {
        let bits = (c.logit + 0.0).to_bits();
        // The bits of negative numbers are in descending order already.
        let descending = if bits >> 63 == 1 { bits } else { !bits & !(1 << 63) };
        Self(u128::from(descending) << 64 | u128::from(c.token))
    }

    pub(crate) fn token(self) -> u32 {
        self.0 as u32
    }

    pub(crate) fn candidate(self) -> Candidate {
        let bits = (self.0 >> 64) as u64;
        let bits = if bits >> 63 == 1 { bits } else { !bits & !(1 << 63) };
        Candidate { token: self.token(), logit: f64::from_bits(bits) }
    }
}

/// The most probable candidate; `None` only for an empty list.
pub fn greedy(candidates: &[Candidate]) -> Option<Candidate> {
    candidates.iter().copied().min_by(by_probability)
}

/// Natural logarithm of the sum of the candidates' exponentials: a candidate's log-probability is
/// its logit minus this.
pub fn log_sum_exp(candidates: &[Candidate]) -> f64 {
    let Some(best) = greedy(candidates) else {
        return f64::NEG_INFINITY;
    };
    best.logit + candidates.iter().map(|c| exp(c.logit - best.logit)).sum::<f64>().ln()
}
