//! One text being written: what it is so far, and how a token is added.

use std::ops::ControlFlow;
use std::time::Instant;

use super::llm_engine::Engine;
use super::prompt;
use super::reasoning_budget::Progress;
use super::request::Request;
use super::response::{
    Event, FinishReason, Passes, Rejection, Response, Step, StopReason, Timing, Usage, Wanted,
};
use super::stop_stream::TextStream;
use super::token_healing;
use crate::constraint::{Constraint, Matcher};
use crate::error::{ErrorKind, Result};
use crate::model::{Canonical, Logits};
use crate::sampling::{Draw, Pressure, Sampler, Summary, steps};
use crate::vocabulary::{TokenMask, Vocabulary};

/// How many tokens a traced step tells of that the model wanted.
const WANTED: usize = 5;

/// Receives what happens while a text grows.
pub(crate) type Receiver<'a> = dyn FnMut(Event<'_>) -> ControlFlow<()> + 'a;

/// A token that was guessed, and the distribution that it was drawn from.
pub(crate) type Guess<'a> = (u32, &'a [(u32, f64)]);

/// A text being written. A clone goes its own way.
#[derive(Clone)]
pub(crate) struct Sequence<'a> {
    pub(crate) engine: &'a Engine,
    pub(crate) request: &'a Request,
    pub(crate) matcher: Option<Matcher>,
    pub(crate) sampler: Sampler,
    pub(crate) tokens: Vec<u32>,
    prompt: usize,
    text: TextStream,
    /// Where in the text each token begins; kept only where a stop string may cut some off.
    starts: Vec<usize>,
    summary: Summary,
    stopped_by: Option<u32>,
    /// Bytes of the prompt's end that are still to be written anew.
    heal: Vec<u8>,
    canonical: Option<Canonical<'a>>,
    rejection: Rejection,
    thinking: Option<Progress>,
    /// What may be drawn at this step.
    mask: TokenMask,
}

impl<'a> Sequence<'a> {
    pub(crate) fn start(
        engine: &'a Engine,
        request: &'a Request,
        prompt: &[u32],
        heal: Vec<u8>,
        seed: Option<u64>,
    ) -> Result<Self> {
        let mut params = request.sampling.clone();
        params.seed = seed;
        let mut sampler = Sampler::new(&params)?;
        if params.dry_multiplier > 0.0 {
            let vocabulary = engine.vocabulary();
            sampler.break_dry_at(tokens_with(vocabulary, &params.dry_sequence_breakers));
        }
        sampler.accept_prompt(prompt);
        let matcher = request.constraint.as_ref().map(Constraint::matcher);
        // Under a constraint the text is exactly the bytes that it accepted.
        let skip_space = matcher.is_none()
            && engine.vocabulary().strips_leading_space()
            && prompt::is_empty(request, engine.model());
        let mut this = Self {
            engine,
            request,
            matcher,
            sampler,
            tokens: Vec::new(),
            prompt: prompt.len(),
            text: TextStream::new(&request.stop, request.include_stop_str_in_output, skip_space),
            starts: Vec::new(),
            summary: Summary::new(),
            stopped_by: None,
            heal,
            canonical: if request.canonical {
                Some(Canonical::new(engine.model().tokenizer(), engine.vocabulary())?)
            } else {
                None
            },
            rejection: Rejection::default(),
            thinking: request.thinking.as_ref().map(Progress::new),
            mask: TokenMask::new(engine.vocabulary().len()),
        };
        this.check_budget()?;
        Ok(this)
    }

    /// What may be drawn at this step, since [`allow`](Self::allow).
    pub(crate) fn mask(&self) -> &TokenMask {
        &self.mask
    }

    /// Does this token end the text?
    fn ends(&self, token: u32) -> bool {
        self.engine.vocabulary().end_tokens().contains(&token)
            || self.request.stop_token_ids.contains(&token)
    }

    /// What may be drawn next, and whether the end had to be allowed though it was not asked for:
    /// the constraint allows nothing else.
    pub(crate) fn allow(&mut self) -> Result<(&TokenMask, bool)> {
        if self.is_healing() {
            let vocabulary = self.engine.vocabulary();
            token_healing::allow(vocabulary, &self.heal, self.matcher.as_mut(), &mut self.mask)?;
            return Ok((&self.mask, false));
        }
        self.constrain()?;
        self.ban();
        let mut yielded = false;
        if self.mask.is_empty() {
            self.constrain()?;
            yielded = !self.mask.is_empty();
        }
        if let Some(thinking) = &self.thinking {
            thinking.press(self.engine.vocabulary(), &mut self.mask);
        }
        Ok((&self.mask, yielded))
    }

    /// Sets the mask to what the constraint allows, with room for the rest of the text.
    fn constrain(&mut self) -> Result<()> {
        let room = self.budget();
        let words = self.mask.words_mut();
        match (&mut self.matcher, room) {
            (None, _) => words.copy_from_slice(self.engine.free().words()),
            (Some(matcher), None) => matcher.fill_mask(words)?,
            // What is beyond the search for a way to the end must not end the text.
            (Some(matcher), Some(room)) => {
                matcher.fill_mask_within(words, room).or_else(|_| matcher.fill_mask(words))?;
            }
        }
        Ok(())
    }

    /// The tokens within which the text must be completed, if it must.
    fn budget(&self) -> Option<u32> {
        self.request.budget.then(|| u32::try_from(self.room()).unwrap_or(u32::MAX))
    }

    /// Errors if the constraint asks for more tokens than there is room for.
    fn check_budget(&mut self) -> Result<()> {
        let (Some(room), Some(matcher)) = (self.budget(), &mut self.matcher) else { return Ok(()) };
        matcher.check_budget(room)
    }

    /// Is the end of the prompt still to be written anew?
    pub(crate) fn is_healing(&self) -> bool {
        !self.heal.is_empty()
    }

    /// Draws a token and adds it; `guess` is one that was drawn for it beforehand. Says why the
    /// text ends, if it does.
    pub(crate) fn step(
        &mut self,
        logits: &Logits,
        guess: Option<Guess<'_>>,
        on_event: &mut Receiver<'_>,
    ) -> Result<Option<FinishReason>> {
        if self.request.rejection
            && let Some(token) = self.draw_checked(logits)?
        {
            let forced = self.is_forced(token, false)?;
            return self.write(token, forced, on_event);
        }
        let clock = Instant::now();
        let (_, mut yielded) = self.allow()?;
        let mask_us = match self.request.constraint {
            None => 0.0,
            Some(_) => clock.elapsed().as_secs_f64() * 1e6,
        };
        if self.mask.is_empty() {
            // Only a vocabulary without an end token leaves nothing to draw after a whole text.
            return Ok(Some(FinishReason::Stop));
        }
        let measured = self.request.is_measured();
        // The mask is the first step of the sampling chain, on the processor.
        let row = logits.to_vec()?;
        let draw = match guess {
            None => self.draw(&row, &mut yielded)?,
            Some((token, from)) => self.sampler.verify(&row, Some(&self.mask), token, from)?,
        };
        yielded |= draw.yielded;
        let forced = self.is_forced(draw.token, measured)?;
        if let Some(step) = self.note(&row, draw, (forced, yielded, mask_us))?
            && on_event(Event::Step(&step)).is_break()
        {
            return Ok(Some(FinishReason::Cancelled));
        }
        self.write(draw.token, forced, on_event)
    }

    /// Takes a draw into the summary, as far as the request asks for one; returns what is told of it,
    /// where steps are.
    pub(crate) fn note(
        &mut self,
        row: &[f32],
        draw: Draw,
        (forced, yielded, mask_us): (bool, bool, f64),
    ) -> Result<Option<Step>> {
        self.summary.yielded += usize::from(yielded);
        if !self.request.is_measured() {
            return Ok(None);
        }
        let pressure = Pressure::measure(row, &self.mask, draw.token)?;
        self.summary.add(&pressure);
        self.summary.forced += usize::from(forced);
        if self.request.is_traced() {
            self.describe(row, draw, pressure, (forced, yielded, mask_us)).map(Some)
        } else {
            Ok(None)
        }
    }

    /// Draws until a token is canonical, where that is asked for; notes where none is left.
    fn draw(&mut self, row: &[f32], yielded: &mut bool) -> Result<Draw> {
        loop {
            let draw = self.sampler.draw(row, Some(&self.mask))?;
            if self.is_canonical(draw.token)? {
                return Ok(draw);
            }
            self.mask.deny(draw.token);
            if self.mask.is_empty() {
                break;
            }
        }
        *yielded = true;
        self.allow()?;
        if let Some(canonical) = &mut self.canonical {
            canonical.restart(self.tokens.len() + 1);
        }
        self.sampler.draw(row, Some(&self.mask))
    }

    /// Would the tokenizer write this token after those that were written?
    fn is_canonical(&mut self, token: u32) -> Result<bool> {
        // What was taken off the prompt is written as the mask says.
        let ends = self.ends(token);
        match &mut self.canonical {
            None => Ok(true),
            Some(_) if !self.heal.is_empty() => Ok(true),
            Some(canonical) if ends => canonical.allows_end(&self.tokens),
            Some(canonical) => canonical.allows(&self.tokens, token),
        }
    }

    /// Draws without a mask. `None` where only a mask can tell: beside a constraint nothing is left
    /// of what may be written, or there is none.
    fn draw_checked(&mut self, logits: &Logits) -> Result<Option<u32>> {
        if self.is_healing() {
            return Ok(None);
        }
        let Some(mut matcher) = self.matcher.take() else { return Ok(None) };
        self.mask.words_mut().copy_from_slice(self.engine.free().words());
        self.ban();
        if let Some(thinking) = &self.thinking {
            thinking.press(self.engine.vocabulary(), &mut self.mask);
        }
        let mask = self.mask.clone();
        let row = logits.to_vec()?;
        let mut sampler = self.sampler.clone();
        let mut checks = 0;
        // Among all ids, so that estimates are of what the model alone would have written.
        let room = self.budget();
        let drawn = sampler.draw_checked(&row, None, self.request.faithfulness, &mut |token| {
            if !mask.contains(token) || !self.is_canonical(token)? {
                return Ok(false);
            }
            checks += 1;
            match matcher.accept(token) {
                Ok(()) => {
                    let fits = room.is_none_or(|room| {
                        // As masks do: what is beyond the search does not count.
                        let checked = matcher.check_budget(room.saturating_sub(1));
                        !checked.is_err_and(|error| error.kind() == ErrorKind::Request)
                    });
                    matcher.rollback(1)?;
                    Ok(fits)
                }
                Err(error) if error.kind() == ErrorKind::Rejected => Ok(false),
                Err(error) => Err(error),
            }
        });
        self.matcher = Some(matcher);
        self.sampler = sampler;
        self.rejection.checks += checks;
        let drawn = drawn?;
        self.rejection.log_weight += drawn.and_then(|drawn| drawn.mass).map_or(0.0, f64::ln);
        Ok(drawn.map(|drawn| drawn.token))
    }

    /// Takes what may not be written yet out of the mask.
    fn ban(&mut self) {
        let early = self.tokens.len() < self.request.min_tokens;
        if early || self.request.ignore_eos {
            let vocabulary = self.engine.vocabulary();
            vocabulary.end_tokens().iter().for_each(|&token| self.mask.deny(token));
        }
        if early {
            self.request.stop_token_ids.iter().for_each(|&token| self.mask.deny(token));
        }
    }

    /// Adds a drawn token and shows what it completes.
    fn write(
        &mut self,
        token: u32,
        forced: bool,
        on_event: &mut Receiver<'_>,
    ) -> Result<Option<FinishReason>> {
        let finish = self.add(token, forced)?;
        let mut shown = self.text.next_chunk().map(|chunk| on_event(Event::Text(chunk)));
        if finish.is_none() && self.tells(token) {
            shown = Some(on_event(Event::Special(token)));
        }
        Ok(match (finish, shown) {
            (None, Some(ControlFlow::Break(()))) => Some(FinishReason::Cancelled),
            (finish, _) => finish,
        })
    }

    /// Did the constraint leave no choice about the text of this token?
    pub(crate) fn is_forced(&mut self, token: u32, asked: bool) -> Result<bool> {
        let Some(matcher) = self.matcher.as_mut() else { return Ok(false) };
        if !asked && !self.sampler.asks_what_is_forced() {
            return Ok(false);
        }
        if self.mask.count() == 1 {
            return Ok(true);
        }
        if !self.heal.is_empty() {
            return Ok(false);
        }
        let bytes = self.engine.vocabulary().token_bytes(token).unwrap_or_default();
        Ok(!bytes.is_empty() && matcher.forced_bytes(bytes.len())? == bytes)
    }

    /// Adds a token. Says why the text ends, if it does.
    pub(crate) fn add(&mut self, token: u32, forced: bool) -> Result<Option<FinishReason>> {
        let vocabulary = self.engine.vocabulary();
        let is_end = vocabulary.end_tokens().contains(&token);
        if !is_end && self.ends(token) {
            self.stopped_by = Some(token);
            return Ok(Some(FinishReason::StopToken));
        }
        // Of a token that writes the prompt's end anew, what goes beyond that is text.
        let bytes = vocabulary.token_bytes(token).unwrap_or_default();
        let healed = bytes.len().min(self.heal.len());
        let bytes = &bytes[healed..];
        match &mut self.matcher {
            Some(matcher) if healed == 0 => matcher.accept(token)?,
            Some(matcher) if !bytes.is_empty() => matcher.accept_bytes(bytes)?,
            _ => {}
        }
        self.heal.drain(..healed);
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
        if let Some(thinking) = &mut self.thinking {
            thinking.add(token, bytes);
        }
        if self.tells(token) {
            self.text.interrupt();
        }
        if !self.request.stop.is_empty() {
            self.starts.push(self.text.len());
        }
        let long_enough = self.tokens.len() > self.request.min_tokens;
        let stopped = self.text.push(bytes, long_enough || self.request.min_tokens == 0);
        Ok(stopped.then_some(FinishReason::StopString))
    }

    /// Is this a special token that the receiver of events asked for?
    fn tells(&self, token: u32) -> bool {
        self.request.special_tokens && self.engine.vocabulary().is_special(token)
    }

    /// Ends a text that may not grow: with `Stop` where the constraint is satisfied.
    pub(crate) fn limit_reached(&self) -> Option<FinishReason> {
        let whole = self.matcher.as_ref().is_some_and(Matcher::is_accepting);
        let finish = if whole { FinishReason::Stop } else { FinishReason::Length };
        (self.room() == 0).then_some(finish)
    }

    /// How many more tokens the text may have.
    pub(crate) fn room(&self) -> usize {
        let context = self.engine.model().context_length();
        let left = context.saturating_sub(self.prompt + self.tokens.len());
        left.min(self.request.max_tokens.saturating_sub(self.tokens.len()))
    }

    /// The response, when no more tokens come.
    pub(crate) fn end(
        mut self,
        finish: FinishReason,
        timing: Timing,
        passes: Passes,
        on_event: &mut Receiver<'_>,
    ) -> Response {
        self.text.end();
        if finish != FinishReason::Cancelled
            && let Some(chunk) = self.text.next_chunk()
        {
            // Nothing is left to cancel.
            let _ = on_event(Event::Text(chunk));
        }
        let stop_reason = match finish {
            FinishReason::StopToken => self.stopped_by.map(StopReason::Token),
            FinishReason::StopString => self.text.stop().map(|s| StopReason::Text(s.to_owned())),
            _ => None,
        };
        let usage = Usage {
            prompt_tokens: self.prompt,
            completion_tokens: self.tokens.len(),
            reasoning_tokens: self.thinking.as_ref().map_or(0, Progress::tokens),
        };
        let (seed, text, tokens) = (self.sampler.seed(), self.text.into_text(), self.tokens);
        let text_tokens = match finish {
            FinishReason::StopString => self.starts.partition_point(|&start| start < text.len()),
            _ => tokens.len(),
        };
        let complete = match (&self.request.constraint, &self.matcher) {
            // A stop string has cut off some of what the matcher accepted.
            (Some(constraint), _) if finish == FinishReason::StopString => {
                let mut matcher = constraint.matcher();
                matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
            }
            (_, Some(matcher)) => matcher.is_accepting() || matcher.is_finished(),
            _ => true,
        };
        let yielded = self.summary.yielded;
        let measured = self.summary.steps > 0 && !self.request.rejection;
        let summary = measured.then_some(self.summary);
        Response {
            text,
            tokens,
            text_tokens,
            finish,
            stop_reason,
            complete,
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

    /// What is told of a draw: with numbers over all tokens, allowed or not.
    fn describe(
        &self,
        row: &[f32],
        draw: Draw,
        pressure: Pressure,
        (forced, yielded, mask_us): (bool, bool, f64),
    ) -> Result<Step> {
        let vocabulary = self.engine.vocabulary();
        let Draw { token, probability, allowed, nucleus, .. } = draw;
        let best = |mask: Option<&TokenMask>, n| -> Result<Vec<(u32, f64)>> {
            let mut candidates = Vec::new();
            if n > 0 {
                steps::allow(row, mask, &mut candidates)?;
            }
            Ok(steps::top_log_probabilities(&candidates, n))
        };
        let wanted = |(token, logprob): (u32, f64)| Wanted {
            token,
            text: shown(vocabulary, token),
            probability: logprob.exp(),
            allowed: self.mask.contains(token),
        };
        let all = best(None, if self.request.trace { WANTED } else { 0 })?;
        Ok(Step {
            token,
            text: shown(vocabulary, token),
            probability,
            logprob: pressure.logprob,
            raw_logprob: pressure.raw_logprob,
            allowed,
            nucleus,
            allowed_mass: pressure.allowed_mass,
            argmax_masked: pressure.argmax_masked,
            forced,
            yielded,
            wanted: all.into_iter().map(wanted).collect(),
            top_logprobs: best(Some(&self.mask), self.request.top_logprobs)?,
            mask_us,
        })
    }
}

/// What a token writes, for a reader.
fn shown(vocabulary: &Vocabulary, token: u32) -> String {
    match vocabulary.token_bytes(token) {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => vocabulary.token_name(token).into_owned(),
    }
}

/// The tokens whose bytes have one of these texts in them.
fn tokens_with(vocabulary: &Vocabulary, texts: &[String]) -> Vec<u32> {
    let has = |bytes: &[u8]| {
        texts.iter().any(|text| {
            !text.is_empty() && bytes.windows(text.len()).any(|part| part == text.as_bytes())
        })
    };
    // Vocabularies are far smaller than u32::MAX.
    (0..vocabulary.len() as u32).filter(|&id| vocabulary.token_bytes(id).is_some_and(has)).collect()
}
