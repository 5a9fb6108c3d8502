//! Beam search: the texts of greatest log-probability that a bounded search finds.

use std::ops::ControlFlow;
use std::time::Instant;

use super::llm_engine::{Engine, Read};
use super::request::{BeamSearch, EarlyStopping, Request};
use super::response::{Event, FinishReason, Passes, Response, Step, Timing};
use super::sequence::{Receiver, Sequence};
use crate::error::Result;
use crate::model::{KvCache, Logits};
use crate::sampling::Draw;

/// A text that still grows.
struct Beam<'a> {
    sequence: Sequence<'a>,
    /// What is told of its tokens, where the request asks.
    steps: Vec<Step>,
    cache: KvCache,
    logits: Logits,
    logprob: f64,
}

/// A text that does not.
struct Finished<'a> {
    sequence: Sequence<'a>,
    steps: Vec<Step>,
    reason: FinishReason,
    score: f64,
}

/// The logits after a beam, and what its mask took and tells.
struct Row {
    logits: Vec<f32>,
    yielded: bool,
    mask_us: f64,
}

/// A way to go on: the beam, the token, its log-probability among what the constraint allows, and
/// the text's with it.
#[derive(Clone, Copy, Debug)]
struct Choice {
    parent: usize,
    token: u32,
    alone: f64,
    logprob: f64,
}

/// Writes with as many beams as asked for and returns as many finished texts, best first: complete
/// ones by the log-probability that the model gives them among what the constraint allows, after
/// the penalties, divided by their length to the power of the length penalty (as in Hugging Face's
/// `generate`; the end token counts).
///
/// The same request gives the same texts: nothing is drawn. `on_event` is told that the search goes
/// on, and may end it: then the texts that still grow count as they are.
pub(crate) fn search(
    engine: &Engine,
    request: &Request,
    search: &BeamSearch,
    read: Read,
    on_event: &mut Receiver<'_>,
) -> Result<Vec<(Response, Vec<Step>)>> {
    let start = Instant::now();
    let Read { prompt, heal, cache, logits, passes, took: prefill } = read;
    let sequence = Sequence::start(engine, request, &prompt, heal, Some(0))?;
    let mut passes = Passes { model: passes, ..Passes::default() };
    let ends = engine.vocabulary().end_tokens().len() + request.stop_token_ids.len();
    let most = search.width.saturating_mul(ends.max(1) + 1);
    let mut beams = vec![Beam { sequence, steps: Vec::new(), cache, logits, logprob: 0.0 }];
    let mut finished: Vec<Finished<'_>> = Vec::new();
    while !beams.is_empty() {
        if on_event(Event::Working).is_break() {
            let cut = beams.drain(..).map(|Beam { sequence, steps, logprob, .. }| {
                let score = search.score(logprob, sequence.tokens.len());
                Finished { sequence, steps, reason: FinishReason::Cancelled, score }
            });
            finished.extend(cut);
            finished.sort_by(better);
            break;
        }
        let (choices, rows) = choices(&mut beams, search, most, &mut finished)?;
        let mut next: Vec<Beam<'_>> = Vec::with_capacity(search.width);
        for choice in choices {
            if next.len() == search.width {
                break;
            }
            let Choice { parent, token, logprob, .. } = choice;
            let (mut sequence, mut steps) =
                (beams[parent].sequence.clone(), beams[parent].steps.clone());
            let forced = sequence.is_forced(token, request.is_measured())?;
            if let Some(row) = &rows[parent] {
                steps.extend(row.note(&mut sequence, choice, forced)?);
            }
            let ended = sequence.add(token, forced)?;
            // A token that ends the text counts, though it is no part of it.
            let by_token = matches!(ended, Some(FinishReason::Stop | FinishReason::StopToken));
            let length = sequence.tokens.len() + usize::from(by_token);
            if let Some(reason) = ended.or_else(|| sequence.limit_reached()) {
                let score = search.score(logprob, length);
                finish(&mut finished, Finished { sequence, steps, reason, score });
                continue;
            }
            let (cache, logits) = (beams[parent].cache.fork(), beams[parent].logits.clone());
            next.push(Beam { sequence, steps, cache, logits, logprob });
        }
        finished.sort_by(better);
        finished.truncate(search.width);
        if is_over(&finished, &next, search, request) {
            break;
        }
        // The old caches go first, so that what no other beam shares is written in place.
        beams = next;
        for beam in &mut beams {
            let last = &beam.sequence.tokens[beam.sequence.tokens.len() - 1..];
            beam.logits = engine.model().forward(last, &mut beam.cache)?;
            passes.model += 1;
        }
    }
    let timing = Timing { prefill, decode: start.elapsed() };
    let respond = |Finished { sequence, steps, reason, score }: Finished<'_>| {
        let mut response = sequence.end(reason, timing, passes, &mut |_| ControlFlow::Continue(()));
        response.score = Some(score);
        (response, steps)
    };
    Ok(finished.into_iter().map(respond).collect())
}

impl Row {
    /// What is told of a choice. Nothing is truncated: the nucleus is all that is allowed.
    fn note(
        &self,
        sequence: &mut Sequence<'_>,
        choice: Choice,
        forced: bool,
    ) -> Result<Option<Step>> {
        let allowed = sequence.mask().count();
        let draw = Draw {
            token: choice.token,
            probability: choice.alone.exp(),
            allowed,
            nucleus: allowed,
            yielded: self.yielded,
        };
        sequence.note(&self.logits, draw, (forced, self.yielded, self.mask_us))
    }
}

/// The best ways to go on, best first: as many as beams for each token that may end a text and once
/// more, so that enough remain beside those that end; and what each beam chooses from. A text that cannot go on is finished.
fn choices<'a>(
    beams: &mut [Beam<'a>],
    search: &BeamSearch,
    most: usize,
    finished: &mut Vec<Finished<'a>>,
) -> Result<(Vec<Choice>, Vec<Option<Row>>)> {
    let (mut choices, mut rows) = (Vec::new(), Vec::with_capacity(beams.len()));
    for (parent, beam) in beams.iter_mut().enumerate() {
        let clock = Instant::now();
        let (mask, yielded) = beam.sequence.allow()?;
        let mask_us = clock.elapsed().as_secs_f64() * 1e6;
        if mask.is_empty() {
            let score = search.score(beam.logprob, beam.sequence.tokens.len());
            let (sequence, steps) = (beam.sequence.clone(), beam.steps.clone());
            finish(finished, Finished { sequence, steps, reason: FinishReason::Stop, score });
            rows.push(None);
            continue;
        }
        let mask = mask.clone();
        let logits = beam.logits.to_vec()?;
        let (best, list_yielded) =
            beam.sequence.sampler.most_probable(&logits, Some(&mask), most)?;
        rows.push(Some(Row { logits, yielded: yielded || list_yielded, mask_us }));
        let choice = |(token, alone)| {
            let logprob = beam.logprob + alone;
            Choice { parent, token, alone, logprob }
        };
        choices.extend(best.into_iter().map(choice));
    }
    // Equal ones in the order of their beams and tokens.
    choices.sort_by(|a, b| b.logprob.total_cmp(&a.logprob));
    choices.truncate(most);
    Ok((choices, rows))
}

/// Adds a finished text. Several tokens may end a text: of the ways to end the same one the best
/// counts.
fn finish<'a>(finished: &mut Vec<Finished<'a>>, new: Finished<'a>) {
    match finished.iter_mut().find(|old| old.sequence.tokens == new.sequence.tokens) {
        None => finished.push(new),
        Some(old) if better(&new, old).is_lt() => *old = new,
        Some(_) => {}
    }
}

/// Complete texts first, then by score.
fn better(a: &Finished<'_>, b: &Finished<'_>) -> std::cmp::Ordering {
    let cut = |f: &Finished<'_>| matches!(f.reason, FinishReason::Length | FinishReason::Cancelled);
    cut(a).cmp(&cut(b)).then(b.score.total_cmp(&a.score))
}

/// Can no beam that still grows become one of the best?
fn is_over(
    finished: &[Finished<'_>],
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
