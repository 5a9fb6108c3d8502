//! A draw from a whole row by sums over its blocks.
//!
//! [`steps::pick`] lays the candidates' probabilities end to end, in order of token id, and takes
//! the one at the point u. The line here is the same, summed block by block: the sums tell in which
//! block the point lies, and only that block is listed and walked. A row of 150,000 tokens costs
//! one vectorised pass and one block of 128 candidates instead of a list of all.
//!
//! ```text
//! blocks     |----- 0 -----|-- 1 --|------ 2 ------|
//! point                          ^                     block 1, rest = point − length of block 0
//! ```

use std::collections::BTreeSet;

use super::masked_row::MaskedRow;
use super::row_scan::BLOCK;
use crate::sampling::exp::exp;
use crate::sampling::steps::{self, Candidate};

/// The shortest line that is walked: tokens beyond the reach of [`MaskedRow::weigh`], which have no length at first,
/// are at most 1e-24 long each.
const SHORTEST: f64 = 1e-9;

/// The line of [`steps::pick`] over all tokens of a row, as lengths of its blocks. Tokens can be
/// removed. Where little is left, lengths are measured anew in a smaller unit.
#[derive(Clone, Debug)]
pub(crate) struct BlockLine<'a> {
    row: MaskedRow<'a>,
    /// The logit whose exponential is 1 long.
    max_logit: f64,
    /// The logarithm of that length in the first unit.
    log_unit: f64,
    /// Candidates that a step has changed: ascending, and not among the row's allowed tokens.
    changed: Vec<Candidate>,
    removed: BTreeSet<u32>,
    /// The sum of the exponentials of each block.
    lengths: Vec<f64>,
}

impl<'a> BlockLine<'a> {
    /// The line of a row and its changed candidates. No logit is above `max_logit`, the logit whose
    /// exponential counts as 1.
    pub(crate) fn new(row: &MaskedRow<'a>, max_logit: f64, changed: Vec<Candidate>) -> Self {
        let mut lengths = vec![0.0; row.logits.len().div_ceil(BLOCK)];
        row.weigh(max_logit, |start, _, weights| lengths[start / BLOCK] = weights.iter().sum());
        for c in &changed {
            lengths[c.token as usize / BLOCK] += exp(c.logit - max_logit);
        }
        Self { row: *row, max_logit, log_unit: 0.0, changed, removed: BTreeSet::new(), lengths }
    }

    /// The length of the whole line.
    pub(crate) fn length(&self) -> f64 {
        self.lengths.iter().sum()
    }

    /// A length in the unit that the line had at first.
    pub(crate) fn in_first_unit(&self, length: f64) -> f64 {
        length * self.log_unit.exp()
    }

    /// The token at a point from 0 up to the line's length, and its exponential; `None` only if
    /// nothing is left.
    pub(crate) fn at(&self, point: f64) -> Option<(u32, f64)> {
        let (block, rest) = block_at(&self.lengths, point)?;
        let (chosen, weight) = steps::at_point(&self.block(block), self.max_logit, rest)?;
        Some((chosen.token, weight))
    }

    /// Removes a token.
    pub(crate) fn remove(&mut self, token: u32) {
        self.removed.insert(token);
        let index = token as usize / BLOCK;
        // Summed anew, so that a block without tokens has a length of exactly 0.
        self.lengths[index] = self.block(index).iter().map(|c| exp(c.logit - self.max_logit)).sum();
        if self.length() < SHORTEST {
            self.measure_anew();
        }
    }

    /// Measures all that is left by its own greatest logit.
    fn measure_anew(&mut self) {
        let logits = (0..self.lengths.len()).flat_map(|index| self.block(index)).map(|c| c.logit);
        let greatest = logits.filter(|logit| logit.is_finite()).max_by(f64::total_cmp);
        let Some(greatest) = greatest else { return };
        self.log_unit += greatest - self.max_logit;
        self.max_logit = greatest;
        for index in 0..self.lengths.len() {
            let block = self.block(index);
            self.lengths[index] = block.iter().map(|c| exp(c.logit - greatest)).sum();
        }
    }

    /// The candidates of a block that are left.
    fn block(&self, index: usize) -> Vec<Candidate> {
        let mut candidates = self.row.block(index, &self.changed);
        candidates.retain(|c| !self.removed.contains(&c.token));
        candidates
    }
}

/// The block in which a point of the line lies, and the point's distance from the block's
/// beginning; `None` only if all blocks are empty.
pub(crate) fn block_at(lengths: &[f64], point: f64) -> Option<(usize, f64)> {
    let mut rest = point;
    let mut found = None;
    for (index, length) in lengths.iter().enumerate().filter(|(_, len)| **len > 0.0) {
        // Where rounding leaves the line shorter than the point, its last block is walked.
        found = Some((index, rest));
        if *length > rest {
            break;
        }
        rest -= length;
    }
    found
}
