//! One text while it is written: its state, and the step that adds a token.
//!
//! A step draws a token ([`draw`]) under the mask that was computed for it ([`step_mask`]), reports
//! how it was chosen ([`step_report`]), adds it to matcher, sampler and output, and sends the text
//! that can be shown. The mask does not depend on the logits: [`Sequence::prepare`] computes it while
//! the model runs.

mod draw;
mod step_mask;
mod step_report;

use std::sync::Arc;
use std::time::Instant;

use super::model_runner::{ModelRunner, TokenizedPrompt};
use super::prompt;
use super::reasoning_budget::ReasoningProgress;
use super::request::Request;
use super::response::{
    FinishReason, Passes, Rejection, Response, StopReason, TextEvent, Timing, Usage,
};
use super::stop_stream::{LeadingSpace, StopSearch, StopStream, StopString};
use crate::constraint::Matcher;
use crate::error::Result;
use crate::model::{Canonical, Logits};
use crate::sampling::{Sampler, Summary};
use crate::vocabulary::{TokenMask, Vocabulary};

pub(crate) use draw::ForcedNeed;
pub(crate) use step_report::DrawCircumstances;

/// A token that was guessed, and the distribution that it was drawn from: tokens, ascending, with
/// their probabilities.
pub(crate) type GuessedToken<'a> = (u32, &'a [(u32, f64)]);

/// A text while it is written. A clone is another text with the same beginning.
///
/// More than 12 fields: each feature that watches the text (constraint, penalties, stops, reasoning,
/// healing, canonical tokens) keeps its own state, and all advance together.
#[derive(Clone, Debug)]
pub(crate) struct Sequence {
    pub(crate) runner: ModelRunner,
    pub(crate) request: Arc<Request>,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) sampler: Sampler,
    /// The tokens of the text so far.
    pub(crate) tokens: Vec<u32>,
    /// Length of the prompt in tokens.
    prompt_len: usize,
    /// Greatest length of prompt and text, in tokens.
    max_len: usize,
    /// The mask of the next token.
    mask: TokenMask,
    /// The circumstances of the mask, if it was computed for the next draw.
    prepared: Option<PreparedMask>,
    /// Bytes of the prompt's end that the text must begin with; they are no part of it.
    healing: Vec<u8>,
    canonical: Option<Canonical>,
    reasoning: Option<ReasoningProgress>,
    output: StopStream,
    /// Special tokens, each with its offset in the text.
    special_tokens: Vec<(usize, u32)>,
    /// Offset in the text at which each token begins; empty unless a stop string may cut some off.
    token_starts: Vec<usize>,
    /// The stop token that ended the text.
    stop_token: Option<u32>,
    pressure: Summary,
    rejection: Rejection,
}

/// The circumstances of a mask.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PreparedMask {
    /// Whether a ban yielded to the constraint.
    pub(crate) yielded: bool,
    /// Time that it took, in microseconds; 0 without a constraint.
    pub(crate) mask_us: f64,
}

/// Whether the constraint leaves the text free, now and before its last token: a letter, a digit, a blank and a
/// point may each come next. Such a text may end anywhere, so where it ends at the limit it was cut off. The token
/// before counts because a tool call that has just been closed is whole, though free text could follow.
fn stands_in_free_text(matcher: &Matcher) -> bool {
    let is_free = |matcher: &Matcher| {
        let could_go_on = |next: &str| matcher.clone().accept_bytes(next.as_bytes()).is_ok();
        ["a", "0", " ", "."].into_iter().all(could_go_on)
    };
    let mut before = matcher.clone();
    is_free(matcher) && (before.rollback(1).is_err() || is_free(&before))
}

impl Sequence {
    /// An empty text after a prompt.
    ///
    /// `max_len` is the greatest number of tokens of both. Errors if no text of the constraint fits the
    /// budget.
    pub(crate) fn start(
        runner: &ModelRunner,
        request: &Arc<Request>,
        prompt: &TokenizedPrompt,
        seed: Option<u64>,
        max_len: usize,
    ) -> Result<Self> {
        let mut params = request.sampling.clone();
        params.seed = seed;
        let mut sampler = Sampler::new(&params)?;
        let vocabulary = runner.vocabulary();
        if params.dry_multiplier > 0.0 {
            sampler.break_dry_at(tokens_containing(vocabulary, &params.dry_sequence_breakers));
        }
        sampler.accept_prompt(&prompt.tokens);
        let matcher = request.constraint.as_ref().map(|constraint| request.matcher_of(constraint));
        let matcher = matcher.transpose()?;
        // Under a constraint the text is exactly the bytes that it accepted.
        let strips_space = matcher.is_none()
            && vocabulary.strips_leading_space()
            && prompt::is_empty(request, runner.model());
        let leading_space = if strips_space { LeadingSpace::Strip } else { LeadingSpace::Keep };
        let stop_string =
            if request.include_stop_str_in_output { StopString::Keep } else { StopString::Cut };
        let canonical = request
            .canonical
            .then(|| Canonical::new(runner.model().tokenizer(), vocabulary))
            .transpose()?;
        let mut this = Self {
            runner: runner.clone(),
            request: Arc::clone(request),
            matcher,
            sampler,
            tokens: Vec::new(),
            prompt_len: prompt.tokens.len(),
            max_len,
            mask: TokenMask::new(vocabulary.len()),
            prepared: None,
            healing: prompt.healing.clone(),
            canonical,
            reasoning: request.thinking.as_ref().map(ReasoningProgress::new),
            output: StopStream::new(runner.stop_patterns(request)?, stop_string, leading_space),
            special_tokens: Vec::new(),
            token_starts: Vec::new(),
            stop_token: None,
            pressure: Summary::new(),
            rejection: Rejection::default(),
        };
        this.check_budget()?;
        Ok(this)
    }

    /// The number of tokens that end the text.
    pub(crate) fn end_token_count(&self) -> usize {
        self.runner.vocabulary().end_tokens().len() + self.request.stop_token_ids.len()
    }

    /// Whether this token ends the text. One that spells healed bytes of the prompt does so only as an end token.
    fn ends(&self, token: u32) -> bool {
        let vocabulary = self.runner.vocabulary();
        let is_prompt = || !self.healing.is_empty() && vocabulary.token_bytes(token).is_some();
        vocabulary.end_tokens().contains(&token)
            || (self.request.stop_token_ids.contains(&token) && !is_prompt())
    }

    /// Whether both texts are the same for a reader, in whatever tokens.
    pub(super) fn writes_the_same(&self, other: &Self) -> bool {
        self.output.is_same_text(&other.output)
            && (!self.request.special_tokens || self.special_tokens == other.special_tokens)
    }

    /// The purposes for which it must be known whether a drawn token was forced.
    pub(crate) fn forced_need(&self) -> ForcedNeed {
        if self.request.is_measured() { ForcedNeed::Report } else { ForcedNeed::Penalties }
    }

    /// Computes the mask of the next draw, unless that is to be drawn without one.
    ///
    /// Errors where the constraint reaches a limit.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        if self.draws_unmasked() {
            return Ok(());
        }
        self.prepared_mask().map(|prepared| self.prepared = Some(prepared))
    }

    /// Does what [`prepare`](Self::prepare) does if that takes no time. Returns whether it did.
    pub(crate) fn prepare_at_once(&mut self) -> Result<bool> {
        if self.draws_unmasked() {
            return Ok(true);
        }
        let clock = Instant::now();
        if !self.look_up_mask()? {
            return Ok(false);
        }
        let mask_us = self.mask_us(clock);
        self.prepared = Some(PreparedMask { yielded: false, mask_us });
        Ok(true)
    }

    /// Whether the next token is to be drawn without a mask.
    fn draws_unmasked(&self) -> bool {
        self.request.rejection && !self.is_healing() && self.matcher.is_some()
    }

    /// The time that a mask has taken, in microseconds; 0 without a constraint.
    fn mask_us(&self, clock: Instant) -> f64 {
        self.request.constraint.as_ref().map_or(0.0, |_| clock.elapsed().as_secs_f64() * 1e6)
    }

    /// The mask that was computed for the next draw, or that is computed now.
    pub(crate) fn prepared_mask(&mut self) -> Result<PreparedMask> {
        if let Some(prepared) = self.prepared.take() {
            return Ok(prepared);
        }
        let clock = Instant::now();
        let (_, yielded) = self.compute_mask()?;
        Ok(PreparedMask { yielded, mask_us: self.mask_us(clock) })
    }

    /// Draws the next token and adds it; `guess` is a token that a draft model drew for it. Returns
    /// why the text ends, if it does.
    pub(crate) fn step(
        &mut self,
        logits: &Logits,
        guess: Option<GuessedToken<'_>>,
        events: &mut Vec<TextEvent>,
    ) -> Result<Option<FinishReason>> {
        self.set_temperature();
        if self.request.rejection
            && let Some(token) = self.draw_checked(logits)?
        {
            let forced = self.is_forced(token, ForcedNeed::Penalties)?;
            return self.write(token, forced, events);
        }
        let PreparedMask { mut yielded, mask_us } = self.prepared_mask()?;
        if self.mask.is_empty() {
            // Only a vocabulary without an end token leaves nothing to draw after a whole text.
            return Ok(Some(FinishReason::Stop));
        }
        // The mask is the first step of the sampling chain, on the processor.
        logits.read(|row| {
            let draw = match guess {
                None => self.draw_under_mask(row, &mut yielded)?,
                Some((token, from)) => self.sampler.verify(row, Some(&self.mask), token, from)?,
            };
            yielded |= draw.yielded;
            let (token, forced) = (draw.token, self.is_forced(draw.token, self.forced_need())?);
            let circumstances = DrawCircumstances { forced, yielded, mask_us };
            events.extend(self.report(row, draw, circumstances)?.map(TextEvent::step));
            self.write(token, forced, events)
        })?
    }

    /// Adds a drawn token and sends the text that it completes.
    fn write(
        &mut self,
        token: u32,
        forced: bool,
        events: &mut Vec<TextEvent>,
    ) -> Result<Option<FinishReason>> {
        let finish = self.add(token, forced)?;
        events.extend(self.output.next_chunk().map(|chunk| TextEvent::Text(chunk.to_owned())));
        if finish.is_none() && self.is_reported_special(token) {
            events.push(TextEvent::Special(token));
        }
        Ok(finish)
    }

    /// Adds a token to the text. Returns why the text ends, if it does.
    pub(crate) fn add(&mut self, token: u32, forced: bool) -> Result<Option<FinishReason>> {
        let vocabulary = self.runner.vocabulary();
        let is_end = vocabulary.end_tokens().contains(&token);
        if !is_end && self.ends(token) {
            self.stop_token = Some(token);
            return Ok(Some(FinishReason::StopToken));
        }
        // The first bytes of a token may be healed bytes of the prompt; the others are text.
        let bytes = vocabulary.token_bytes(token).unwrap_or_default();
        let healed = bytes.len().min(self.healing.len());
        let bytes = &bytes[healed..];
        match &mut self.matcher {
            Some(matcher) if healed == 0 => matcher.accept(token)?,
            Some(matcher) if !bytes.is_empty() => matcher.accept_bytes(bytes)?,
            _ => {}
        }
        self.healing.drain(..healed);
        if is_end {
            let is_named = self.request.stop_token_ids.contains(&token);
            self.stop_token = Some(token).filter(|_| self.request.ignore_eos && is_named);
            let reason = self.stop_token.map_or(FinishReason::Stop, |_| FinishReason::StopToken);
            return Ok(Some(reason));
        }
        if forced {
            self.sampler.accept_forced(token)
        } else {
            self.sampler.accept(token)
        }
        self.tokens.push(token);
        if let Some(canonical) = self.canonical.as_mut().filter(|_| healed > 0) {
            canonical.restart(self.tokens.len());
        }
        if let Some(reasoning) = &mut self.reasoning {
            reasoning.add(token, bytes);
        }
        if self.is_reported_special(token) {
            self.output.interrupt();
        }
        if self.runner.vocabulary().is_special(token) {
            self.special_tokens.push((self.output.len(), token));
        }
        if !self.request.stop.is_empty() || !self.request.stop_regex.is_empty() {
            self.token_starts.push(self.output.len());
        }
        let is_long_enough = self.tokens.len() > self.request.min_tokens;
        let search = if is_long_enough { StopSearch::Enabled } else { StopSearch::Suspended };
        let stopped = self.output.push(bytes, search);
        Ok(stopped.then_some(FinishReason::StopString))
    }

    /// Whether this is a special token that the receiver of events asked for.
    fn is_reported_special(&self, token: u32) -> bool {
        self.request.special_tokens && self.runner.vocabulary().is_special(token)
    }

    /// The reason to end a text that has no room for another token: `Stop` if the constraint is
    /// satisfied, else `Length`. `None` while there is room.
    pub(crate) fn limit_reached(&self) -> Option<FinishReason> {
        if self.room() > 0 {
            return None;
        }
        let is_whole = |matcher: &Matcher| matcher.is_accepting() && !stands_in_free_text(matcher);
        let is_whole = self.matcher.as_ref().is_some_and(is_whole);
        Some(if is_whole { FinishReason::Stop } else { FinishReason::Length })
    }

    /// The number of tokens that the text may still grow by.
    pub(crate) fn room(&self) -> usize {
        let left = self.max_len.saturating_sub(self.prompt_len + self.tokens.len());
        left.min(self.request.max_tokens.saturating_sub(self.tokens.len()))
    }

    /// Ends the text and makes the response.
    pub(crate) fn end(
        mut self,
        finish: FinishReason,
        timing: Timing,
        passes: Passes,
        events: &mut Vec<TextEvent>,
    ) -> Response {
        self.output.end();
        if finish != FinishReason::Cancelled {
            events.extend(self.output.next_chunk().map(|chunk| TextEvent::Text(chunk.to_owned())));
        }
        let stop_reason = match finish {
            FinishReason::StopToken => self.stop_token.map(StopReason::Token),
            FinishReason::StopString => {
                let stop = self.output.stop().and_then(|index| self.request.stop_of(index));
                stop.map(|stop| StopReason::Text(stop.to_owned()))
            }
            _ => None,
        };
        let usage = Usage {
            prompt_tokens: self.prompt_len,
            completion_tokens: self.tokens.len(),
            reasoning_tokens: self.reasoning.as_ref().map_or(0, ReasoningProgress::tokens),
            cached_tokens: 0,
        };
        let (seed, text, tokens) = (self.sampler.seed(), self.output.into_text(), self.tokens);
        let mut special_tokens = self.special_tokens;
        special_tokens.retain(|&(at, _)| at <= text.len());
        let text_tokens = match finish {
            FinishReason::StopString => {
                let whole = self.token_starts.partition_point(|&start| start < text.len());
                // Special tokens write nothing, so that those at the end begin where the text ends.
                let at_end = special_tokens.iter().filter(|&&(at, _)| at == text.len()).count();
                whole + at_end
            }
            _ => tokens.len(),
        };
        let (complete, captures) = match (&self.request.constraint, &self.matcher) {
            // A stop string has cut off some of what the matcher accepted.
            (Some(constraint), _) if finish == FinishReason::StopString => {
                let read = self.request.matcher_of(constraint).and_then(|mut matcher| {
                    let mut from = 0;
                    for &(at, token) in &special_tokens {
                        matcher.accept_bytes(&text.as_bytes()[from..at])?;
                        matcher.accept(token)?;
                        from = at;
                    }
                    matcher.accept_bytes(&text.as_bytes()[from..])?;
                    Ok(matcher)
                });
                match read {
                    Ok(matcher) => (matcher.is_accepting(), matcher.captures().ok()),
                    Err(_) => (false, None),
                }
            }
            (_, Some(matcher)) => {
                (matcher.is_accepting() || matcher.is_finished(), matcher.captures().ok())
            }
            _ => (true, Some(Vec::new())),
        };
        if !self.request.special_tokens {
            special_tokens.clear();
        }
        let yielded = self.pressure.yielded;
        let measured = self.pressure.steps > 0 && !self.request.rejection;
        let summary = measured.then_some(self.pressure);
        Response {
            text,
            tokens,
            special_tokens,
            text_tokens,
            finish,
            stop_reason,
            complete,
            captures,
            yielded,
            summary,
            rejection: self.request.rejection.then_some(self.rejection),
            score: None,
            decision: None,
            prompt_logprobs: None,
            usage,
            timing,
            passes,
            seed,
        }
    }
}

/// The tokens whose bytes contain one of these texts.
fn tokens_containing(vocabulary: &Vocabulary, texts: &[String]) -> Vec<u32> {
    let has = |bytes: &[u8]| {
        texts.iter().any(|text| {
            !text.is_empty() && bytes.windows(text.len()).any(|part| part == text.as_bytes())
        })
    };
    // Vocabularies are far smaller than u32::MAX.
    (0..vocabulary.len() as u32).filter(|&id| vocabulary.token_bytes(id).is_some_and(has)).collect()
}
