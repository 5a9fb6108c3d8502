//! Requests that write several texts and return the best: best-of-n and beam search.
//!
//! Such texts cannot be streamed, since the best is known only at the end. They are replayed then:
//! the receiver of events sees the same events as for a text that was streamed.

use std::ops::ControlFlow;

use super::request::Request;
use super::response::{Event, EventSink, Response, Step};
use crate::vocabulary::Vocabulary;

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
