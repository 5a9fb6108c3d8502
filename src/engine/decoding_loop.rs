//! The decoding loop of one text: forward pass, draw, next token.
//!
//! ```text
//! prefill ─ logits ─▶ Sequence::step ─ token ─▶ forward ─ logits ─▶ Sequence::step ─ token ─▶ …
//! ```
//!
//! With speculation a pass reads the last token and a tree of guesses, and the step is repeated
//! along the branch that comes true.

use std::time::Instant;

use super::model_runner::{ModelRunner, PrefilledPrompt};
use super::request::{Request, Speculation};
use super::response::{EventSink, FinishReason, Passes, Response, Timing};
use super::sequence::Sequence;
use super::speculation::Drafter;
use crate::error::Result;
use crate::model::KvCache;

/// Writes one text: prefill is done, so this is decode.
///
/// Errors as [`Engine::generate`](super::Engine::generate) does.
pub(crate) fn write_text(
    runner: &ModelRunner,
    request: &Request,
    prefilled: PrefilledPrompt,
    seed: Option<u64>,
    on_event: &mut EventSink<'_>,
) -> Result<Response> {
    let PrefilledPrompt { prompt, mut cache, logits, passes, duration: prefill } = prefilled;
    let start = Instant::now();
    let mut sequence = Sequence::start(runner, request, &prompt, seed)?;
    let mut passes = Passes { model: passes, ..Passes::default() };
    let finish = match sequence.step(&logits, None, on_event)? {
        Some(reason) => reason,
        None if request.speculate == Speculation::Off => {
            decode_token_by_token(runner, &mut sequence, &mut cache, &mut passes, on_event)?
        }
        None => {
            let drafter = Drafter::new(request.speculate, runner.draft_model(), prompt.tokens)?;
            decode_speculatively(runner, &mut sequence, &mut cache, drafter, &mut passes, on_event)?
        }
    };
    let timing = Timing { prefill, decode: start.elapsed() };
    Ok(sequence.end(finish, timing, passes, on_event))
}

/// One forward pass and one draw for each token, until the text ends.
fn decode_token_by_token(
    runner: &ModelRunner,
    sequence: &mut Sequence<'_>,
    cache: &mut KvCache,
    passes: &mut Passes,
    on_event: &mut EventSink<'_>,
) -> Result<FinishReason> {
    loop {
        if let Some(reason) = sequence.limit_reached() {
            return Ok(reason);
        }
        let last = &sequence.tokens[sequence.tokens.len() - 1..];
        let logits = runner.model().forward(last, cache)?;
        passes.model += 1;
        if let Some(reason) = sequence.step(&logits, None, on_event)? {
            return Ok(reason);
        }
    }
}

/// One forward pass over the last token and a tree of guesses after it; goes on from the last guess
/// that came true.
fn decode_speculatively(
    runner: &ModelRunner,
    sequence: &mut Sequence<'_>,
    cache: &mut KvCache,
    mut drafter: Drafter<'_>,
    passes: &mut Passes,
    on_event: &mut EventSink<'_>,
) -> Result<FinishReason> {
    loop {
        if let Some(reason) = sequence.limit_reached() {
            return Ok(reason);
        }
        let tree = drafter.draft(sequence)?;
        let from = cache.len();
        let rows = runner.model().forward_tree(tree.tokens(), tree.parents(), cache)?;
        passes.model += 1;
        passes.drafted += tree.tokens().len() - 1;
        let mut path = vec![0];
        let finish = loop {
            let node = path[path.len() - 1];
            let finish = sequence.step(&rows[node], tree.guess(node), on_event)?;
            if let Some(reason) = finish.or_else(|| sequence.limit_reached()) {
                break Some(reason);
            }
            match tree.child(node, sequence.tokens[sequence.tokens.len() - 1]) {
                Some(child) => path.push(child),
                None => break None,
            }
        };
        passes.accepted += path.len() - 1;
        if let Some(reason) = finish {
            return Ok(reason);
        }
        runner.model().keep(cache, from, &path)?;
    }
}
