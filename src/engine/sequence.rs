//! One text while it is written: its state, and the step that adds a token.
//!
//! A step computes the mask ([`step_mask`]), draws a token ([`draw`]), reports how it was chosen
//! ([`step_report`]), adds it to matcher, sampler and output, and sends the text that can be shown.

mod draw;
mod step_mask;
mod step_report;

use std::ops::ControlFlow;
use std::time::Instant;

use super::model_runner::{ModelRunner, TokenizedPrompt};
use super::prompt;
use super::reasoning_budget::ReasoningProgress;
use super::request::Request;
use super::response::{
    Event, EventSink, FinishReason, Passes, Rejection, Response, StopReason, Timing, Usage,
};
use super::stop_stream::{LeadingSpace, StopSearch, StopStream, StopString};
use crate::constraint::{Constraint, Matcher};
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
/// It has more than twelve fields, because each of the request's features that watches the text
/// (constraint, penalties, stop strings, reasoning budget, healing, canonical tokens) keeps its own
/// small state, and all advance together, token by token.
///
/// More than 12 fields: the state of one text, which lives and ends as a whole.
#[derive(Clone)]
pub(crate) struct Sequence<'a> {
    pub(crate) runner: &'a ModelRunner,
    pub(crate) request: &'a Request,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) sampler: Sampler,
    /// The tokens of the text so far.
    pub(crate) tokens: Vec<u32>,
    /// Length of the prompt in tokens.
    prompt_len: usize,
    /// The mask of the next token.
    mask: TokenMask,
    /// Bytes of the prompt's end that the text must begin with; they are no part of it.
    healing: Vec<u8>,
    canonical: Option<Canonical<'a>>,
    reasoning: Option<ReasoningProgress>,
    output: StopStream,
    /// Offset in the text at which each token begins; empty unless a stop string may cut some off.
    token_starts: Vec<usize>,
    /// The stop token that ended the text.
    stop_token: Option<u32>,
    pressure: Summary,
    rejection: Rejection,
}

impl<'a> Sequence<'a> {
    /// An empty text after a prompt.
    ///
    /// Errors if no text of the constraint fits the budget.
    pub(crate) fn start(
        runner: &'a ModelRunner,
        request: &'a Request,
        prompt: &TokenizedPrompt,
        seed: Option<u64>,
    ) -> Result<Self> {
        let mut params = request.sampling.clone();
        params.seed = seed;
        let mut sampler = Sampler::new(&params)?;
        let vocabulary = runner.vocabulary();
        if params.dry_multiplier > 0.0 {
            sampler.break_dry_at(tokens_containing(vocabulary, &params.dry_sequence_breakers));
        }
        sampler.accept_prompt(&prompt.tokens);
        let matcher = request.constraint.as_ref().map(Constraint::matcher);
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
            runner,
            request,
            matcher,
            sampler,
            tokens: Vec::new(),
            prompt_len: prompt.tokens.len(),
            mask: TokenMask::new(vocabulary.len()),
            healing: prompt.healing.clone(),
            canonical,
            reasoning: request.thinking.as_ref().map(ReasoningProgress::new),
            output: StopStream::new(request.stop_patterns()?, stop_string, leading_space),
            token_starts: Vec::new(),
            stop_token: None,
            pressure: Summary::new(),
            rejection: Rejection::default(),
        };
        this.check_budget()?;
        Ok(this)
    }

    /// Whether this token ends the text.
    fn ends(&self, token: u32) -> bool {
        self.runner.vocabulary().end_tokens().contains(&token)
            || self.request.stop_token_ids.contains(&token)
    }

    /// The users of whether a drawn token was forced.
    pub(crate) fn forced_need(&self) -> ForcedNeed {
        if self.request.is_measured() { ForcedNeed::Report } else { ForcedNeed::Penalties }
    }

    /// Draws the next token and adds it; `guess` is a token that a draft model drew for it. Returns
    /// why the text ends, if it does.
    pub(crate) fn step(
        &mut self,
        logits: &Logits,
        guess: Option<GuessedToken<'_>>,
        on_event: &mut EventSink<'_>,
    ) -> Result<Option<FinishReason>> {
        self.set_temperature();
        if self.request.rejection
            && let Some(token) = self.draw_checked(logits)?
        {
            let forced = self.is_forced(token, ForcedNeed::Penalties)?;
            return self.write(token, forced, on_event);
        }
        let clock = Instant::now();
        let (_, mut yielded) = self.compute_mask()?;
        let mask_us = match self.request.constraint {
            None => 0.0,
            Some(_) => clock.elapsed().as_secs_f64() * 1e6,
        };
        if self.mask.is_empty() {
            // Only a vocabulary without an end token leaves nothing to draw after a whole text.
            return Ok(Some(FinishReason::Stop));
        }
        // The mask is the first step of the sampling chain, on the processor.
        let row = logits.to_vec()?;
        let draw = match guess {
            None => self.draw_under_mask(&row, &mut yielded)?,
            Some((token, from)) => self.sampler.verify(&row, Some(&self.mask), token, from)?,
        };
        yielded |= draw.yielded;
        let forced = self.is_forced(draw.token, self.forced_need())?;
        let circumstances = DrawCircumstances { forced, yielded, mask_us };
        if let Some(step) = self.report(&row, draw, circumstances)?
            && on_event(Event::Step(&step)).is_break()
        {
            return Ok(Some(FinishReason::Cancelled));
        }
        self.write(draw.token, forced, on_event)
    }

    /// Adds a drawn token and sends the text that it completes.
    fn write(
        &mut self,
        token: u32,
        forced: bool,
        on_event: &mut EventSink<'_>,
    ) -> Result<Option<FinishReason>> {
        let finish = self.add(token, forced)?;
        let mut shown = self.output.next_chunk().map(|chunk| on_event(Event::Text(chunk)));
        if finish.is_none() && self.is_reported_special(token) {
            shown = Some(on_event(Event::Special(token)));
        }
        Ok(match (finish, shown) {
            (None, Some(ControlFlow::Break(()))) => Some(FinishReason::Cancelled),
            (finish, _) => finish,
        })
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
            return Ok(Some(FinishReason::Stop));
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
        let whole = self.matcher.as_ref().is_some_and(Matcher::is_accepting);
        let finish = if whole { FinishReason::Stop } else { FinishReason::Length };
        (self.room() == 0).then_some(finish)
    }

    /// The number of tokens that the text may still grow by.
    pub(crate) fn room(&self) -> usize {
        let context = self.runner.model().context_length();
        let left = context.saturating_sub(self.prompt_len + self.tokens.len());
        left.min(self.request.max_tokens.saturating_sub(self.tokens.len()))
    }

    /// Ends the text and makes the response.
    pub(crate) fn end(
        mut self,
        finish: FinishReason,
        timing: Timing,
        passes: Passes,
        on_event: &mut EventSink<'_>,
    ) -> Response {
        self.output.end();
        if finish != FinishReason::Cancelled
            && let Some(chunk) = self.output.next_chunk()
        {
            // Nothing is left to cancel.
            let _ = on_event(Event::Text(chunk));
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
        };
        let (seed, text, tokens) = (self.sampler.seed(), self.output.into_text(), self.tokens);
        let text_tokens = match finish {
            FinishReason::StopString => {
                self.token_starts.partition_point(|&start| start < text.len())
            }
            _ => tokens.len(),
        };
        let (complete, captures) = match (&self.request.constraint, &self.matcher) {
            // A stop string has cut off some of what the matcher accepted.
            (Some(constraint), _) if finish == FinishReason::StopString => {
                let mut matcher = constraint.matcher();
                let is_read = matcher.accept_bytes(text.as_bytes()).is_ok();
                (is_read && matcher.is_accepting(), matcher.captures().ok().filter(|_| is_read))
            }
            (_, Some(matcher)) => {
                (matcher.is_accepting() || matcher.is_finished(), matcher.captures().ok())
            }
            _ => (true, Some(Vec::new())),
        };
        let yielded = self.pressure.yielded;
        let measured = self.pressure.steps > 0 && !self.request.rejection;
        let summary = measured.then_some(self.pressure);
        Response {
            text,
            tokens,
            text_tokens,
            finish,
            stop_reason,
            complete,
            captures,
            yielded,
            summary,
            rejection: self.request.rejection.then_some(self.rejection),
            score: None,
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
