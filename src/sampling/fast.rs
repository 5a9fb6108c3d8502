//! Fast paths of the chain over long rows: the same draws as the definitions in
//! [`steps`](super::steps), without a list of candidates.
//!
//! The definitions list every allowed token as a candidate of 16 bytes and pass over the list once
//! or more for each step. The paths here read the row of `f32` logits in place, block by block, in
//! loops that become vector instructions:
//!
//! | path | stands for | saves |
//! |---|---|---|
//! | [`row_scan`] | [`allow`](super::steps::allow), [`greedy`](super::steps::greedy) | one pass at the speed of memory; its maxima let later passes skip blocks |
//! | [`block_line`] | [`pick`](super::steps::pick) where nothing truncates | the list |
//! | [`top_p_listed`] | [`top_p`](super::steps::top_p), few tokens stay | all of the list but the nucleus |
//! | [`top_p_streamed`] | [`top_p`](super::steps::top_p), many tokens stay | the list |
//! | [`logit_ranges`] | [`top_k`](super::steps::top_k), [`typical_p`](super::steps::typical_p), [`xtc`](super::steps::xtc), [`mirostat`](super::steps::mirostat) | the list |
//!
//! Below them: [`masked_row`] (a row under a mask), [`block_exp`] and [`band_table`] (exponentials
//! of a block).
//!
//! Why the draws are the same:
//!
//! 1. *The set.* A path keeps exactly the candidates that the definition keeps. It narrows the
//!    place of the last kept token with bounds whose error is known, compares the tokens within the
//!    error by the definition's own order (greater logit, then lower id), and gives up where the
//!    error leaves it open; then the caller lists.
//! 2. *The draw.* [`pick`](super::steps::pick) takes the token at the point u · total of a line on
//!    which the kept tokens lie in order of token id. Blocks are in that order, so sums over blocks
//!    find the block and a walk through it the token. Sums in another order differ by some 1e-13 of
//!    the total, which moves a draw only if u falls that close to a border.
//!
//! The tests of each path compare both with the definition on random rows; `tests/sampling`
//! compares whole chains with a reference in another style.

mod band_table;
mod block_exp;
mod block_line;
pub(super) mod logit_ranges;
mod masked_row;
pub(super) mod row_scan;
#[cfg(test)]
mod test_rows;
mod top_p_listed;
mod top_p_streamed;

pub(super) use block_line::BlockLine;
pub(super) use logit_ranges::{KeptRange, RangeWeights};
pub(super) use masked_row::MaskedRow;
pub(super) use row_scan::{LaneMaxima, MaximaPrecision, RowScan};
pub(super) use top_p_listed::{TopP, TopPScratch, top_p};
pub(super) use top_p_streamed::NucleusBound;
