//! The steps of the chain, each a pure function of its arguments.
//!
//! These are the definitions; a [`Sampler`](super::Sampler) draws as they do. They work on a list
//! of [`Candidate`]s that is always in order of token id: a step changes logits or removes
//! candidates, never reorders them. So the outcome of a draw depends on no sorting algorithm, and a
//! penalty finds its token by binary search.
//!
//! "More probable" below always means the greater logit, and among equal logits the lower token id.
//! Sums are in `f64`. Nothing is ever sorted whole: truncations find the last candidate that stays
//! by partial selection, O(n) for n candidates.

mod candidate;
mod mask_step;
mod penalties;
mod pick;
mod truncations;

pub use candidate::{Candidate, greedy, log_sum_exp};
pub(super) use candidate::{CandidateKey, by_probability};
pub use mask_step::allow;
pub(super) use mask_step::{invalid_logit, mask_of_wrong_width, nothing_allowed};
pub use penalties::{
    dry, frequency_penalty, logit_bias, presence_penalty, repetition_penalty, temperature,
};
pub(super) use pick::{at_point, nothing_to_draw};
pub use pick::{pick, top_log_probabilities};
pub use truncations::{min_p, mirostat, top_k, top_n_sigma, top_p, typical_p, xtc};
