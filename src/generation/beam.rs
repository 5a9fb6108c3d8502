//! Beam search: the texts of greatest log-probability that a bounded search finds.

use std::ops::ControlFlow;
use std::time::Instant;

use super::engine::{Engine, Read};
use super::request::{BeamSearch, EarlyStopping, Request};
use super::response::{FinishReason, Passes, Response, Step, Timing};
use super::sequence::Sequence;
use crate::error::Result;
use crate::model::{KvCache, Logits};

/// A text that still grows.
struct Beam<'a> {
    sequence: Sequence<'a>,
    cache: KvCache,
    logits: Logits,
    logprob: f64,
}

/// A text that does not.
struct Finished<'a> {
    sequence: Sequence<'a>,
    reason: FinishReason,
    score: f64,
}

/// Writes with as many beams as asked for and returns as many finished texts, best first: complete
/// ones by the log-probability that the model gives them among what the constraint allows, after
/// the penalties, divided by their length to the power of the length penalty (as in Hugging Face's
/// `generate`; the end token counts).
///
/// The same request gives the same texts: nothing is drawn.
pub(super) fn search(
    engine: &Engine,
    request: &Request,
    search: &BeamSearch,
    read: Read,
) -> Result<Vec<(Response, Vec<Step>)>> {
    let start = Instant::now();
    let Read { prompt, heal, cache, logits, took: prefill } = read;
    let sequence = Sequence::start(engine, request, &prompt, heal, Some(0))?;
    let mut passes = Passes { model: 1, ..Passes::default() };
    let mut beams = vec![Beam { sequence, cache, logits, logprob: 0.0 }];
    let mut finished: Vec<Finished<'_>> = Vec::new();
    while !beams.is_empty() {
        let choices = choices(&mut beams, search, &mut finished)?;
        let mut next: Vec<Beam<'_>> = Vec::with_capacity(search.width);
        for (parent, token, logprob) in choices {
            if next.len() == search.width {
                break;
            }
            let mut sequence = beams[parent].sequence.clone();
            let forced = sequence.is_forced(token, false)?;
            let ended = sequence.add(token, forced)?;
            let length = sequence.tokens.len() + usize::from(ended == Some(FinishReason::Stop));
            if let Some(reason) = ended.or_else(|| sequence.limit_reached()) {
                let score = search.score(logprob, length);
                finished.push(Finished { sequence, reason, score });
                continue;
            }
            let (cache, logits) = (beams[parent].cache.fork(), beams[parent].logits.clone());
            next.push(Beam { sequence, cache, logits, logprob });
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
    let respond = |Finished { sequence, reason, score }: Finished<'_>| {
        let mut response = sequence.end(reason, timing, passes, &mut |_| ControlFlow::Continue(()));
        response.score = Some(score);
        (response, Vec::new())
    };
    Ok(finished.into_iter().map(respond).collect())
}

/// The best ways to go on, best first: twice as many as beams, so that enough remain beside those
/// that end. A text that cannot go on is finished.
fn choices<'a>(
    beams: &mut [Beam<'a>],
    search: &BeamSearch,
    finished: &mut Vec<Finished<'a>>,
) -> Result<Vec<(usize, u32, f64)>> {
    let mut choices = Vec::new();
    for (index, beam) in beams.iter_mut().enumerate() {
        let (mask, _) = beam.sequence.allow()?;
        if mask.is_empty() {
            let score = search.score(beam.logprob, beam.sequence.tokens.len());
            let sequence = beam.sequence.clone();
            finished.push(Finished { sequence, reason: FinishReason::Stop, score });
            continue;
        }
        let mask = mask.clone();
        let row = beam.logits.to_vec()?;
        let best = beam.sequence.sampler.most_probable(&row, Some(&mask), 2 * search.width)?;
        choices.extend(best.into_iter().map(|(token, p)| (index, token, beam.logprob + p)));
    }
    // Equal ones in the order of their beams and tokens.
    choices.sort_by(|a, b| b.2.total_cmp(&a.2));
    choices.truncate(2 * search.width);
    Ok(choices)
}

/// Complete texts first, then by score.
fn better(a: &Finished<'_>, b: &Finished<'_>) -> std::cmp::Ordering {
    let cut = |f: &Finished<'_>| f.reason == FinishReason::Length;
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
