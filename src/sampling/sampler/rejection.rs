//! Rejection sampling: draws first and asks the constraint about single tokens, instead of
//! computing a mask.

use super::Sampler;
use super::allowed_row::{AllowedRow, most_probable};
use super::scratch::SamplerScratch;
use crate::error::{Error, ErrorKind, Result};
use crate::sampling::fast::{BlockLine, MaximaPrecision, RowScan, row_scan};
use crate::vocabulary::TokenMask;

/// The result of [`Sampler::draw_checked`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Checked {
    /// The token drawn.
    pub token: u32,
    /// Its probability among all tokens of the mask, accepted or not.
    pub probability: f64,
    /// The number of tokens that were asked about.
    pub checks: usize,
    /// An unbiased estimate of the probability that an accepted token has, where it was asked for;
    /// from 0 to 1.
    pub mass: Option<f64>,
}

impl Sampler {
    /// Draws a token and asks `check` about it, until one is accepted. The token has the
    /// distribution of [`draw`](Self::draw) under a mask of all accepted tokens, but only the drawn
    /// ones are checked: adaptive weighted rejection sampling (Lipkin et al. 2025, "Fast Controlled
    /// Generation from Language Models with Adaptive Weighted Rejection Sampling"). A rejected
    /// token is taken out, and the next one is drawn from the rest. At temperature 0 tokens are
    /// checked from the most probable one down. `None` if no token of the mask is accepted.
    ///
    /// ```
    /// use maskwright::sampling::{Sampler, SamplingParams};
    /// let mut sampler = Sampler::new(&SamplingParams { seed: Some(1), ..Default::default() })?;
    /// let logits = [2.0, 1.0, 0.5, 0.0];
    /// let drawn = sampler.draw_checked(&logits, None, true, &mut |token| Ok(token % 2 == 1))?;
    /// let drawn = drawn.expect("tokens 1 and 3 are accepted");
    /// assert!([1, 3].contains(&drawn.token));
    /// assert!(drawn.mass.is_some_and(|mass| (0.0..=1.0).contains(&mass)));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// # The estimate of the accepted mass
    ///
    /// With `weigh`, draws continue until a token is accepted for the second time; they use random
    /// numbers of their own, so the result's token does not change. Let m tokens be rejected until
    /// then, and s_j be the probability of the tokens left after j rejections. The estimate is 1 /
    /// (1/s_0 + … + 1/s_m). It is unbiased and independent of the token. Proof: given the rejected
    /// tokens and their order, the first acceptance comes after the j-th of them with a probability
    /// in proportion to 1/s_j; the number that is s_j if no rejection came after it and 0 otherwise
    /// is an unbiased estimate; its mean over j is the estimate here.
    ///
    /// The paper's experiments use s_j / (m + 1), where j counts the rejections before the first
    /// acceptance; the authors' library (genlm-control, "geometric") uses 1 / (N + 1), where N
    /// counts the draws that would have been rejected had rejected tokens stayed. Both check the
    /// same tokens, and the mean of either, given the rejected tokens and their order, is the
    /// estimate here. So its variance is at most theirs (Rao and Blackwell): j has the probability
    /// (1/s_j) / Σ 1/s_i; given N, each of N + 1 positions of the first acceptance is as likely as
    /// the very first, whose probability is (1/s_0) / Σ 1/s_i.
    ///
    /// Errors as `draw` does, as `check` does, and if a step is on that removes tokens, except at temperature 0.
    pub fn draw_checked(
        &mut self,
        logits: &[f32],
        mask: Option<&TokenMask>,
        weigh: bool,
        check: &mut dyn FnMut(u32) -> Result<bool>,
    ) -> Result<Option<Checked>> {
        let truncation = self.chain.params().first_truncation();
        if let Some(step) = truncation.filter(|_| !self.chain.is_greedy()) {
            let message = format!("`{step}` is on, which must know every allowed token");
            return Err(Error::new(ErrorKind::Sampling, message)
                .with_help("leave it out, or draw by masks"));
        }
        let allowed = AllowedRow::new(&self.chain, logits, mask, &mut self.scratch)?;
        if self.chain.is_greedy() {
            return self.first_accepted(logits, allowed, check);
        }
        let Self { chain, scratch, random, estimate_random, .. } = self;
        let adjusted = allowed.adjust(chain);
        let row = adjusted.unchanged(logits, &scratch.words, &scratch.maxima);
        let mut line = BlockLine::new(&row, adjusted.max_logit, adjusted.changed);
        let total = line.length();
        let mut checks = 0;
        let mut shares = vec![1.0];
        let (first, weight) = loop {
            let Some((token, weight)) = line.at(random.fraction() * line.length()) else {
                return Ok(None);
            };
            checks += 1;
            if check(token)? {
                break (token, line.in_first_unit(weight));
            }
            line.remove(token);
            shares.push(line.in_first_unit(line.length()) / total);
        };
        let mut accepted = usize::from(!weigh);
        while accepted == 0 {
            let token =
                line.at(estimate_random.fraction() * line.length()).map_or(first, |found| found.0);
            checks += usize::from(token != first);
            if token == first || check(token)? {
                accepted += 1;
            } else {
                line.remove(token);
                shares.push(line.in_first_unit(line.length()) / total);
            }
        }
        let mass = weigh.then(|| 1.0 / shares.iter().map(|share| 1.0 / share).sum::<f64>());
        Ok(Some(Checked { token: first, probability: weight / total, checks, mass }))
    }

    /// Asks about tokens from the most probable one down; returns the first that is accepted.
    fn first_accepted(
        &mut self,
        logits: &[f32],
        allowed: AllowedRow,
        check: &mut dyn FnMut(u32) -> Result<bool>,
    ) -> Result<Option<Checked>> {
        let (mut scan, mut changed) = (allowed.scan, allowed.changed);
        self.chain.run_adjusting_steps(&mut changed);
        for checks in 1.. {
            let Some(best) = most_probable(&scan, &changed, 1.0) else { break };
            if check(best.token)? {
                let token = best.token;
                return Ok(Some(Checked { token, probability: 1.0, checks, mass: None }));
            }
            changed.retain(|c| c.token != best.token);
            scan = self.without(logits, best.token);
        }
        Ok(None)
    }

    /// Takes a token out of the row and scans the rest.
    fn without(&mut self, logits: &[f32], token: u32) -> RowScan {
        let SamplerScratch { words, maxima, .. } = &mut self.scratch;
        words[token as usize / row_scan::WORD] &= !(1 << (token as usize % row_scan::WORD));
        row_scan::scan(logits, words, maxima, MaximaPrecision::UpperBounds)
    }
}
