//! Requests that write several texts and return the best: best-of-n and beam search.
//!
//! Such texts cannot be streamed, since the best is known only at the end. They are replayed then:
//! the receiver of events sees the same events as for a text that was streamed.

use std::ops::ControlFlow;

use super::beam_search;
use super::decoding_loop::write_text;
use super::model_runner::{ModelRunner, PrefilledPrompt};
use super::request::Request;
use super::response::{Event, EventSink, Response, Step};
use crate::error::Result;
use crate::vocabulary::Vocabulary;

/// A finished text with the steps that are to be reported of it.
pub(crate) type RankedText = (Response, Vec<Step>);

/// Writes all texts of a request, at least one, best first: the finished beams by their score, or
/// `best_of` texts by the log-probability per token that the model alone gives them, complete ones
/// before others.
pub(crate) fn write_ranked(
    runner: &ModelRunner,
    request: &Request,
    prefilled: PrefilledPrompt,
    on_event: &mut EventSink<'_>,
) -> Result<Vec<RankedText>> {
    if let Some(search) = &request.beam {
        return beam_search::search(runner, request, search, prefilled, on_event);
    }
    // The order needs the log-probabilities of the model alone.
    let request = &Request { faithfulness: true, ..request.clone() };
    let mut seed = request.sampling.seed;
    let mut ranked = Vec::with_capacity(request.best_of);
    for _ in 0..request.best_of {
        let mut steps = Vec::new();
        let mut cancelled = false;
        let response = write_text(runner, request, prefilled.fork(), seed, &mut |event| {
            if let Event::Step(step) = event {
                steps.push(step.clone());
            }
            let told = on_event(Event::Working);
            cancelled |= told.is_break();
            told
        })?;
        // The first text is the one that this seed writes alone.
        seed = Some(response.seed.wrapping_add(1));
        ranked.push((response, steps));
        if cancelled {
            break;
        }
    }
    let quality = |response: &Response| {
        let summary = response.summary.unwrap_or_default();
        (response.complete, summary.raw_logprob / summary.steps.max(1) as f64)
    };
    ranked.sort_by(|(a, _), (b, _)| {
        let (a, b) = (quality(a), quality(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
    Ok(ranked)
}

/// Replays a finished text: its steps, then the text with special tokens in their places where the
/// request asks for them, then the steps of tokens that a stop string cut off.
pub(crate) fn replay(
    vocabulary: &Vocabulary,
    request: &Request,
    response: &Response,
    steps: &[Step],
    on_event: &mut EventSink<'_>,
) -> ControlFlow<()> {
    let (before, after) = steps.split_at(response.text_tokens.min(steps.len()));
    before.iter().try_for_each(|step| on_event(Event::Step(step)))?;
    let (mut rest, mut bytes) = (response.text.as_str(), Vec::new());
    let specials = response.tokens.iter().filter(|_| request.special_tokens);
    for &token in specials {
        if !vocabulary.is_special(token) {
            bytes.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
            continue;
        }
        let text = String::from_utf8_lossy(&std::mem::take(&mut bytes)).into_owned();
        // A stop string may have ended the text earlier than its tokens.
        let Some(others) = rest.strip_prefix(text.as_str()) else { break };
        rest = others;
        if !text.is_empty() {
            on_event(Event::Text(&text))?;
        }
        on_event(Event::Special(token))?;
    }
    if !rest.is_empty() {
        on_event(Event::Text(rest))?;
    }
    after.iter().try_for_each(|step| on_event(Event::Step(step)))
}
