//! Beam search: the texts of greatest log-probability that a bounded search finds.
//!
//! Each round extends every beam by its most probable tokens, and the best extensions over all
//! beams become the next round's beams. Texts that end are set aside with their score. It is over
//! when no growing text can become one of the best ([`EarlyStopping`]).

use std::ops::ControlFlow;
use std::time::Instant;

use super::model_runner::{ModelRunner, PrefilledPrompt};
use super::request::{BeamSearch, EarlyStopping, Request};
use super::response::{Event, EventSink, FinishReason, Passes, Response, Step, Timing};
use super::sequence::{DrawCircumstances, Sequence};
use crate::error::Result;
use crate::model::{Chunk, KvCache, Logits};
use crate::sampling::Draw;

/// A text that still grows.
struct Beam<'a> {
    sequence: Sequence<'a>,
    /// The reports of its tokens, if the request asks for them.
    steps: Vec<Step>,
    cache: KvCache,
    logits: Logits,
    logprob: f64,
}

/// A text that has ended.
struct FinishedBeam<'a> {
    sequence: Sequence<'a>,
    steps: Vec<Step>,
    reason: FinishReason,
    score: f64,
}

/// The logits after a beam, and how its mask was computed.
struct BeamLogits {
    logits: Vec<f32>,
    yielded: bool,
    mask_us: f64,
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

/// Runs a beam search and returns up to `search.width` finished texts, best first, complete ones
/// before others. The score is the log-probability, after penalties and among the tokens that the
/// constraint allows, divided by the length to the power of the length penalty (as in Hugging
/// Face's `generate`; the end token counts).
///
/// Nothing is drawn, so the same request gives the same texts. `on_event` gets [`Event::Working`]
/// each round and may end the search; growing texts then count as they are.
pub(crate) fn search(
    runner: &ModelRunner,
    request: &Request,
    search: &BeamSearch,
    prefilled: PrefilledPrompt,
    on_event: &mut EventSink<'_>,
) -> Result<Vec<(Response, Vec<Step>)>> {
    let start = Instant::now();
    let PrefilledPrompt { prompt, cache, logits, passes, duration: prefill } = prefilled;
    let sequence = Sequence::start(runner, request, &prompt, Some(0))?;
    let mut passes = Passes { model: passes, ..Passes::default() };
    let ends = runner.vocabulary().end_tokens().len() + request.stop_token_ids.len();
    let most = search.width.saturating_mul(ends.max(1) + 1);
    let mut beams = vec![Beam { sequence, steps: Vec::new(), cache, logits, logprob: 0.0 }];
    let mut finished: Vec<FinishedBeam<'_>> = Vec::new();
    while !beams.is_empty() {
        if on_event(Event::Working).is_break() {
            let cut = beams.drain(..).map(|Beam { sequence, steps, logprob, .. }| {
                let score = search.score(logprob, sequence.tokens.len());
                FinishedBeam { sequence, steps, reason: FinishReason::Cancelled, score }
            });
            finished.extend(cut);
            finished.sort_by(best_first);
            break;
        }
        let (extensions, rows) = extensions(&mut beams, search, most, &mut finished)?;
        let mut next: Vec<Beam<'_>> = Vec::with_capacity(search.width);
        for extension in extensions {
            if next.len() == search.width {
                break;
            }
            let BeamExtension { parent, token, logprob, .. } = extension;
            let (mut sequence, mut steps) =
                (beams[parent].sequence.clone(), beams[parent].steps.clone());
            let forced = sequence.is_forced(token, sequence.forced_need())?;
            if let Some(row) = &rows[parent] {
                steps.extend(row.report(&mut sequence, extension, forced)?);
            }
            let ended = sequence.add(token, forced)?;
            // A token that ends the text counts, though it is no part of it.
            let by_token = matches!(ended, Some(FinishReason::Stop | FinishReason::StopToken));
            let length = sequence.tokens.len() + usize::from(by_token);
            if let Some(reason) = ended.or_else(|| sequence.limit_reached()) {
                let score = search.score(logprob, length);
                finish(&mut finished, FinishedBeam { sequence, steps, reason, score });
                continue;
            }
            let (cache, logits) = (beams[parent].cache.fork(), beams[parent].logits.clone());
            next.push(Beam { sequence, steps, cache, logits, logprob });
        }
        finished.sort_by(best_first);
        finished.truncate(search.width);
        if is_over(&finished, &next, search, request) {
            break;
        }
        // The old caches are dropped first, so that memory that no other beam shares is written in
        // place.
        beams = next;
        let mut chunks = Vec::with_capacity(beams.len());
        for Beam { sequence, cache, .. } in &mut beams {
            let last = &sequence.tokens[sequence.tokens.len() - 1..];
            chunks.push(Chunk::new(last, cache));
        }
        let rows = runner.model().forward_batch(&mut chunks)?;
        passes.model += usize::from(!rows.is_empty());
        for (beam, mut rows) in beams.iter_mut().zip(rows) {
            // One row is wanted of each.
            beam.logits = rows.remove(0);
        }
    }
    let timing = Timing { prefill, decode: start.elapsed() };
    let respond = |FinishedBeam { sequence, steps, reason, score }: FinishedBeam<'_>| {
        let mut response = sequence.end(reason, timing, passes, &mut |_| ControlFlow::Continue(()));
        response.score = Some(score);
        (response, steps)
    };
    Ok(finished.into_iter().map(respond).collect())
}

impl BeamLogits {
    /// The report of an extension. Nothing is truncated: the nucleus is all that is allowed.
    fn report(
        &self,
        sequence: &mut Sequence<'_>,
        extension: BeamExtension,
        forced: bool,
    ) -> Result<Option<Step>> {
        let allowed = sequence.mask().count();
        let draw = Draw {
            token: extension.token,
            probability: extension.token_logprob.exp(),
            allowed,
            nucleus: allowed,
            yielded: self.yielded,
        };
        let circumstances =
            DrawCircumstances { forced, yielded: self.yielded, mask_us: self.mask_us };
        sequence.report(&self.logits, draw, circumstances)
    }
}

/// The best `most` extensions of all beams, best first, and the logits that each beam was extended
/// by. A beam whose mask is empty is finished.
///
/// `most` is the number of beams times one more than there are tokens that end a text, so that
/// enough extensions remain beside those that end.
fn extensions<'a>(
    beams: &mut [Beam<'a>],
    search: &BeamSearch,
    most: usize,
    finished: &mut Vec<FinishedBeam<'a>>,
) -> Result<(Vec<BeamExtension>, Vec<Option<BeamLogits>>)> {
    let (mut extensions, mut rows) = (Vec::new(), Vec::with_capacity(beams.len()));
    for (parent, beam) in beams.iter_mut().enumerate() {
        let clock = Instant::now();
        let (mask, yielded) = beam.sequence.compute_mask()?;
        let mask_us = clock.elapsed().as_secs_f64() * 1e6;
        if mask.is_empty() {
            let score = search.score(beam.logprob, beam.sequence.tokens.len());
            let (sequence, steps) = (beam.sequence.clone(), beam.steps.clone());
            finish(finished, FinishedBeam { sequence, steps, reason: FinishReason::Stop, score });
            rows.push(None);
            continue;
        }
        let mask = mask.clone();
        let logits = beam.logits.to_vec()?;
        let (best, list_yielded) =
            beam.sequence.sampler.most_probable(&logits, Some(&mask), most)?;
        rows.push(Some(BeamLogits { logits, yielded: yielded || list_yielded, mask_us }));
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

/// Adds a finished text. Several tokens may end a text: of those that end the same one the best
/// counts.
fn finish<'a>(finished: &mut Vec<FinishedBeam<'a>>, new: FinishedBeam<'a>) {
    match finished.iter_mut().find(|old| old.sequence.tokens == new.sequence.tokens) {
        None => finished.push(new),
        Some(old) if best_first(&new, old).is_lt() => *old = new,
        Some(_) => {}
    }
}

/// The order of finished texts: complete ones first, then by score.
fn best_first(a: &FinishedBeam<'_>, b: &FinishedBeam<'_>) -> std::cmp::Ordering {
    let cut =
        |f: &FinishedBeam<'_>| matches!(f.reason, FinishReason::Length | FinishReason::Cancelled);
    cut(a).cmp(&cut(b)).then(b.score.total_cmp(&a.score))
}

/// Whether no growing beam can become one of the best.
fn is_over(
    finished: &[FinishedBeam<'_>],
    growing: &[Beam<'_>],
    search: &BeamSearch,
    request: &Request,
) -> bool {
    let Some(worst) = finished.last().filter(|_| finished.len() >= search.width) else {
        return false;
    };
    let Some(best) = growing.iter().map(|beam| beam.logprob).reduce(f64::max) else {
        return true;
    };
    let length = growing[0].sequence.tokens.len();
    // Log-probabilities only fall, and a longer text with a penalty above 0 is divided by more.
    let hope = match search.early_stopping {
        EarlyStopping::Yes => return true,
        EarlyStopping::No => search.score(best, length),
        EarlyStopping::Never if search.length_penalty > 0.0 => {
            search.score(best, request.max_tokens)
        }
        EarlyStopping::Never => search.score(best, length),
    };
    worst.reason != FinishReason::Length && hope <= worst.score
}
