//! Beam search: the texts of greatest log-probability that a bounded search finds.
//!
//! Each round extends every beam by its most probable tokens, and the best extensions over all
//! beams become the next round's beams. Texts that end are set aside with their score. It is over
//! when no growing text can become one of the best ([`EarlyStopping`]).

use super::branch::Branch;
use super::ranking::RankedText;
use super::request::{BeamSearch, EarlyStopping};
use super::response::{FinishReason, Passes, Step, Timing};
use super::sequence::{DrawCircumstances, PreparedMask, Sequence};
use crate::error::Result;
use crate::sampling::Draw;

/// The beams of one request, and the texts that have ended.
///
/// The score is the log-probability, after penalties and among the tokens that the constraint allows,
/// divided by the length to the power of the length penalty (as in Hugging Face's `generate`; the end
/// token counts). Nothing is drawn, so the same request gives the same texts.
#[derive(Debug)]
pub(crate) struct Search {
    search: BeamSearch,
    /// Greatest number of tokens of a text.
    max_tokens: usize,
    beams: Vec<Beam>,
    finished: Vec<FinishedBeam>,
}

/// A text that still grows.
#[derive(Debug)]
struct Beam {
    branch: Branch,
    /// The reports of its tokens, if the request asks for them.
    steps: Vec<Step>,
    logprob: f64,
}

/// A text that has ended.
#[derive(Debug)]
struct FinishedBeam {
    sequence: Sequence,
    steps: Vec<Step>,
    reason: FinishReason,
    score: f64,
}

/// The logits after a beam, and how its mask was computed.
struct BeamLogits {
    logits: Vec<f32>,
    mask: PreparedMask,
}

/// A beam extended by one token.
#[derive(Clone, Copy, Debug)]
struct BeamExtension {
    /// Index of the beam.
    parent: usize,
    token: u32,
    /// Log-probability of the token among the allowed ones.
    token_logprob: f64,
    /// Log-probability of the text with the token.
    logprob: f64,
}

impl Search {
    /// One beam: an empty text.
    pub(crate) fn new(search: BeamSearch, max_tokens: usize, branch: Branch) -> Self {
        let beam = Beam { branch, steps: Vec::new(), logprob: 0.0 };
        Self { search, max_tokens, beams: vec![beam], finished: Vec::new() }
    }

    /// The beams' texts.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &Branch> {
        self.beams.iter().map(|beam| &beam.branch)
    }

    pub(crate) fn branches_mut(&mut self) -> impl Iterator<Item = &mut Branch> {
        self.beams.iter_mut().map(|beam| &mut beam.branch)
    }

    /// Extends all beams, which have logits and masks, by a token. Returns whether the search is over.
    ///
    /// Errors where a constraint reaches a limit.
    pub(crate) fn extend(&mut self) -> Result<bool> {
        let (extensions, rows) = self.extensions()?;
        let width = self.search.width;
        let mut next: Vec<Beam> = Vec::with_capacity(width);
        for (rank, extension) in extensions.into_iter().enumerate() {
            if next.len() == width {
                break;
            }
            let BeamExtension { parent, token, logprob, .. } = extension;
            let Beam { branch, steps, .. } = &mut self.beams[parent];
            let Some(state) = branch.decode_state() else { continue };
            let (mut sequence, mut steps) = (state.sequence.clone(), steps.clone());
            let forced = sequence.is_forced(token, sequence.forced_need())?;
            if let Some(row) = &rows[parent] {
                steps.extend(row.report(&mut sequence, extension, forced)?);
            }
            let ended = sequence.add(token, forced)?;
            // An end counts only among as many best extensions as there are beams.
            if ended.is_some() && rank >= width {
                continue;
            }
            // The length of the score counts the token that ends a text, though the text does not contain it.
            let by_token = matches!(ended, Some(FinishReason::Stop | FinishReason::StopToken));
            let length = sequence.tokens.len() + usize::from(by_token);
            if let Some(reason) = ended.or_else(|| sequence.limit_reached()) {
                let score = self.search.score(logprob, length);
                finish(&mut self.finished, FinishedBeam { sequence, steps, reason, score });
                continue;
            }
            let branch = self.beams[parent].branch.extended(token, sequence);
            next.push(Beam { branch, steps, logprob });
        }
        self.finished.sort_by(best_first);
        self.finished.truncate(width);
        let is_over = next.is_empty() || self.is_over(&next);
        self.beams = next;
        Ok(is_over)
    }

    /// The number of texts that grow.
    pub(crate) fn growing(&self) -> usize {
        self.beams.len()
    }

    /// Ends the search: up to `width` finished texts, best first, complete ones before others. If it is
    /// cancelled, growing texts count as they are.
    pub(crate) fn end(
        &mut self,
        reason: FinishReason,
        timing: Timing,
        passes: Passes,
    ) -> Vec<RankedText> {
        if reason == FinishReason::Cancelled {
            for Beam { mut branch, steps, logprob } in self.beams.drain(..) {
                if let Some(sequence) = branch.take_sequence() {
                    let score = self.search.score(logprob, sequence.tokens.len());
                    self.finished.push(FinishedBeam { sequence, steps, reason, score });
                }
            }
            self.finished.sort_by(best_first);
        }
        let respond = |FinishedBeam { sequence, steps, reason, score }: FinishedBeam| {
            let mut response = sequence.end(reason, timing, passes, &mut Vec::new());
            response.score = Some(score);
            (response, steps)
        };
        self.finished.drain(..).map(respond).collect()
    }

    /// The best extensions of all beams, best first, and the logits that each beam was extended by. A
    /// beam whose mask is empty is finished.
    ///
    /// Keeps the best `width · (end tokens + 1)` extensions. Each beam has at most one for each end token, so
    /// at least `width` of a full list are no end tokens.
    fn extensions(&mut self) -> Result<(Vec<BeamExtension>, Vec<Option<BeamLogits>>)> {
        let (mut extensions, mut rows) = (Vec::new(), Vec::with_capacity(self.beams.len()));
        let mut most = self.search.width;
        for (parent, beam) in self.beams.iter_mut().enumerate() {
            let row = beam.branch.logits().map(|logits| logits.to_vec()).transpose()?;
            let (Some(row), Some(state)) = (row, beam.branch.decode_state()) else {
                rows.push(None);
                continue;
            };
            let sequence = &mut state.sequence;
            most = self.search.width.saturating_mul(sequence.end_token_count().max(1) + 1);
            let mask = sequence.prepared_mask()?;
            if sequence.mask().is_empty() {
                let score = self.search.score(beam.logprob, sequence.tokens.len());
                let (sequence, steps) = (sequence.clone(), beam.steps.clone());
                let reason = FinishReason::Stop;
                finish(&mut self.finished, FinishedBeam { sequence, steps, reason, score });
                rows.push(None);
                continue;
            }
            let allowed = sequence.mask().clone();
            let (best, yielded) = sequence.sampler.most_probable(&row, Some(&allowed), most)?;
            let mask = PreparedMask { yielded: mask.yielded || yielded, ..mask };
            rows.push(Some(BeamLogits { logits: row, mask }));
            let extension = |(token, token_logprob)| {
                let logprob = beam.logprob + token_logprob;
                BeamExtension { parent, token, token_logprob, logprob }
            };
            extensions.extend(best.into_iter().map(extension));
        }
        // A stable sort: equal ones stay in the order of beams and tokens.
        extensions.sort_by(|a, b| b.logprob.total_cmp(&a.logprob));
        extensions.truncate(most);
        Ok((extensions, rows))
    }

    /// Whether no growing beam can become one of the best.
    fn is_over(&self, growing: &[Beam]) -> bool {
        let Some(worst) = self.finished.last().filter(|_| self.finished.len() >= self.search.width)
        else {
            return false;
        };
        let Some(best) = growing.iter().map(|beam| beam.logprob).reduce(f64::max) else {
            return true;
        };
        let length = growing[0].branch.text_len();
        // The best score that a growing text has now (`No`), or can still reach (`Never`): its log-probability
        // only falls, and with a length penalty above 0 a longer text divides it by more.
        let bound = match self.search.early_stopping {
            EarlyStopping::Yes => return true,
            EarlyStopping::No => self.search.score(best, length),
            EarlyStopping::Never if self.search.length_penalty > 0.0 => {
                self.search.score(best, self.max_tokens)
            }
            EarlyStopping::Never => self.search.score(best, length),
        };
        worst.reason != FinishReason::Length && bound <= worst.score
    }
}

impl BeamLogits {
    /// The report of an extension. Nothing is truncated: the nucleus is all that is allowed.
    fn report(
        &self,
        sequence: &mut Sequence,
        extension: BeamExtension,
        forced: bool,
    ) -> Result<Option<Step>> {
        let (allowed, PreparedMask { yielded, mask_us }) = (sequence.mask().count(), self.mask);
        let draw = Draw {
            token: extension.token,
            probability: extension.token_logprob.exp(),
            allowed,
            nucleus: allowed,
            yielded,
        };
        let circumstances = DrawCircumstances { forced, yielded, mask_us };
        sequence.report(&self.logits, draw, circumstances)
    }
}

/// Adds a finished text. The same one may be ended by several tokens, cut into others, or come before several stops:
/// of these the best counts.
fn finish(finished: &mut Vec<FinishedBeam>, new: FinishedBeam) {
    match finished.iter_mut().find(|old| old.sequence.writes_the_same(&new.sequence)) {
        None => finished.push(new),
        Some(old) if best_first(&new, old).is_lt() => *old = new,
        Some(_) => {}
    }
}

/// The order of finished texts: complete ones first, then by score.
fn best_first(a: &FinishedBeam, b: &FinishedBeam) -> std::cmp::Ordering {
    let cut = |f: &FinishedBeam| matches!(f.reason, FinishReason::Length | FinishReason::Cancelled);
    cut(a).cmp(&cut(b)).then(b.score.total_cmp(&a.score))
}
