//! Requests that write several texts and return the best: best-of-n and beam search.
//!
//! Such texts cannot be streamed, since the best is known only at the end. They are replayed then:
//! the receiver of events sees the same events as for a text that was streamed.

use std::ops::ControlFlow;

use super::response::{Event, EventSink, Response, Step};

/// A finished text with the steps that are to be reported of it.
pub(crate) type RankedText = (Response, Vec<Step>);

/// Puts texts of one request in order, best first: complete ones before others, then by the
/// log-probability per token that the model alone gives them.
pub(crate) fn rank(texts: &mut [RankedText]) {
    let quality = |response: &Response| {
        let summary = response.summary.unwrap_or_default();
        (response.complete, summary.raw_logprob_per_token())
    };
    texts.sort_by(|(a, _), (b, _)| {
        let (a, b) = (quality(a), quality(b));
        b.0.cmp(&a.0).then(b.1.total_cmp(&a.1))
    });
}

/// Replays a finished text: its steps, then the text with special tokens in their places where the
/// request asks for them, then the steps of tokens that a stop string cut off.
pub(crate) fn replay(
    response: &Response,
    steps: &[Step],
    on_event: &mut EventSink<'_>,
) -> ControlFlow<()> {
    let (before, after) = steps.split_at(response.text_tokens.min(steps.len()));
    before.iter().try_for_each(|step| on_event(Event::Step(step)))?;
    let mut told = 0;
    for &(at, token) in &response.special_tokens {
        if at > told {
            on_event(Event::Text(&response.text[told..at]))?;
        }
        on_event(Event::Special(token))?;
        told = at;
    }
    if told < response.text.len() {
        on_event(Event::Text(&response.text[told..]))?;
    }
    after.iter().try_for_each(|step| on_event(Event::Step(step)))
}
