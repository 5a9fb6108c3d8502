//! The engine: one model, and the loop that writes a text with it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use super::prompt;
use super::request::Request;
use super::response::{Event, FinishReason, Response, Step, Timing, Usage, Wanted};
use super::text::TextStream;
use crate::constraint::{Constraint, Matcher};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{KvCache, Logits, Model, ModelOptions};
use crate::sampling::{Draw, Pressure, Sampler, steps};
use crate::vocab::{TokenMask, Vocabulary};

/// How many tokens a traced step tells of that the model wanted.
const WANTED: usize = 5;

/// Writes texts with a model. `Send + Sync`, cheap to clone; each call of
/// [`generate`](Self::generate) has its own state, so threads may share one engine.
#[derive(Clone, Debug)]
pub struct Engine {
    model: Arc<Model>,
    /// What may be drawn without a constraint: every id that has a token.
    free: Arc<TokenMask>,
}

impl Engine {
    /// Loads a model. Errors as [`Model::load`] does.
    pub fn load(options: &ModelOptions) -> Result<Self> {
        Model::load(options).map(Self::new)
    }

    /// An engine for a loaded model.
    pub fn new(model: Model) -> Self {
        let vocabulary = model.vocabulary();
        let mut free = TokenMask::new(vocabulary.len());
        // Vocabularies are far smaller than u32::MAX.
        for id in 0..vocabulary.len() as u32 {
            if vocabulary.token_bytes(id).is_some() || vocabulary.is_special(id) {
                free.allow(id);
            }
        }
        Self { model: Arc::new(model), free: Arc::new(free) }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The vocabulary that constraints must be compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.model.vocabulary()
    }

    /// Writes one text. `on_event` is called as it grows and may end it by `Break`; the response
    /// then holds what was written.
    ///
    /// The same request with the same seed gives the same text on the same device.
    ///
    /// Errors on a request that is out of range (naming the field), on a prompt that does not fit
    /// the context, on a conversation that the chat template refuses, on a constraint compiled for
    /// another vocabulary, and on limits that the constraint reaches.
    pub fn generate(
        &self,
        request: &Request,
        on_event: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Response> {
        request.validate()?;
        if let Some(constraint) = &request.constraint {
            self.check_vocabulary(constraint)?;
        }
        let prompt = prompt::tokens(&self.model, request)?;
        let start = Instant::now();
        let mut sequence = Sequence::start(self, request, &prompt)?;
        let mut logits = self.model.forward(&prompt, &mut sequence.cache)?;
        let prefill = start.elapsed();

        let finish = loop {
            if let Some(reason) = sequence.step(&logits, on_event)? {
                break reason;
            }
            if let Some(reason) = sequence.limit_reached(prompt.len()) {
                break reason;
            }
            let last = &sequence.tokens[sequence.tokens.len() - 1..];
            logits = self.model.forward(last, &mut sequence.cache)?;
        };
        let usage = Usage { prompt_tokens: prompt.len(), completion_tokens: sequence.tokens.len() };
        let timing = Timing { prefill, decode: start.elapsed() - prefill };
        Ok(sequence.end(finish, usage, timing, on_event))
    }

    fn check_vocabulary(&self, constraint: &Constraint) -> Result<()> {
        let (theirs, ours) = (constraint.vocabulary(), self.vocabulary());
        if Arc::ptr_eq(theirs, ours) || theirs.len() == ours.len() {
            return Ok(());
        }
        let message = format!(
            "the constraint was compiled for {} tokens, the model has {}",
            theirs.len(),
            ours.len()
        );
        Err(Error::new(ErrorKind::Request, message)
            .with_help("compile it for the vocabulary of this engine"))
    }
}

/// A text being written.
struct Sequence<'a> {
    engine: &'a Engine,
    request: &'a Request,
    matcher: Option<Matcher>,
    sampler: Sampler,
    cache: KvCache,
    tokens: Vec<u32>,
    text: TextStream,
}

impl<'a> Sequence<'a> {
    fn start(engine: &'a Engine, request: &'a Request, prompt: &[u32]) -> Result<Self> {
        let mut sampler = Sampler::new(&request.sampling)?;
        sampler.accept_prompt(prompt);
        let matcher = request.constraint.as_ref().map(Constraint::matcher);
        // Under a constraint the text is exactly the bytes that it accepted.
        let skip_space = matcher.is_none()
            && engine.vocabulary().strips_leading_space()
            && prompt::is_empty(request, &engine.model);
        let text = TextStream::new(&request.stop, skip_space);
        let cache = engine.model.new_cache()?;
        Ok(Self { engine, request, matcher, sampler, cache, tokens: Vec::new(), text })
    }

    /// Draws a token and adds it. Says why the text ends, if it does.
    fn step(
        &mut self,
        logits: &Logits,
        on_event: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Option<FinishReason>> {
        let clock = Instant::now();
        let mask = match &mut self.matcher {
            None => &*self.engine.free,
            Some(matcher) => matcher.mask()?,
        };
        let mask_us = match self.request.constraint {
            None => 0.0,
            Some(_) => clock.elapsed().as_secs_f64() * 1e6,
        };
        if mask.is_empty() {
            // Only a vocabulary without an end token leaves nothing to draw after a whole text.
            return Ok(Some(FinishReason::Stop));
        }
        let row = match logits.is_on_gpu() {
            true => logits.masked(mask)?.to_vec()?,
            // On the processor the chain's first step does the same, by the words of the mask.
            false => logits.to_vec()?,
        };
        let draw = self.sampler.draw(&row, Some(mask))?;
        let token = draw.token;
        if self.request.trace || self.request.top_logprobs > 0 {
            let step =
                describe(self.engine.vocabulary(), self.request, logits, mask, draw, mask_us)?;
            if on_event(Event::Step(&step)).is_break() {
                return Ok(Some(FinishReason::Cancelled));
            }
        }
        if let Some(matcher) = &mut self.matcher {
            matcher.accept(token)?;
        }
        if self.engine.vocabulary().end_tokens().contains(&token) {
            return Ok(Some(FinishReason::Stop));
        }
        self.sampler.accept(token);
        self.tokens.push(token);
        let bytes = self.engine.vocabulary().token_bytes(token).unwrap_or_default();
        let stopped = self.text.push(bytes);
        let shown = self.text.next_chunk().map(|chunk| on_event(Event::Text(chunk)));
        Ok(match (stopped, shown) {
            (true, _) => Some(FinishReason::StopString),
            (false, Some(ControlFlow::Break(()))) => Some(FinishReason::Cancelled),
            _ => None,
        })
    }

    /// Ends a text that may not grow: with `Stop` where the constraint is satisfied.
    fn limit_reached(&self, prompt: usize) -> Option<FinishReason> {
        let full = self.tokens.len() >= self.request.max_tokens
            || prompt + self.tokens.len() >= self.engine.model.context_length();
        let whole = self.matcher.as_ref().is_some_and(Matcher::is_accepting);
        full.then_some(if whole { FinishReason::Stop } else { FinishReason::Length })
    }

    fn end(
        mut self,
        finish: FinishReason,
        usage: Usage,
        timing: Timing,
        on_event: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Response {
        self.text.end();
        if finish != FinishReason::Cancelled
            && let Some(chunk) = self.text.next_chunk()
        {
            // Nothing is left to cancel.
            let _ = on_event(Event::Text(chunk));
        }
        let (seed, text, tokens) = (self.sampler.seed(), self.text.into_text(), self.tokens);
        let complete = match (&self.request.constraint, &self.matcher) {
            // A stop string has cut off some of what the matcher accepted.
            (Some(constraint), _) if finish == FinishReason::StopString => {
                let mut matcher = constraint.matcher();
                matcher.accept_bytes(text.as_bytes()).is_ok() && matcher.is_accepting()
            }
            (_, Some(matcher)) => matcher.is_accepting() || matcher.is_finished(),
            _ => true,
        };
        Response { text, tokens, finish, complete, usage, timing, seed }
    }
}

/// What a token writes, for a reader.
fn shown(vocabulary: &Vocabulary, token: u32) -> String {
    match vocabulary.token_bytes(token) {
        Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        None => vocabulary.token_name(token).into_owned(),
    }
}

/// What is told of a draw: with numbers over all tokens, allowed or not.
fn describe(
    vocabulary: &Vocabulary,
    request: &Request,
    logits: &Logits,
    mask: &TokenMask,
    draw: Draw,
    mask_us: f64,
) -> Result<Step> {
    let Draw { token, probability, allowed, nucleus, .. } = draw;
    let logits = logits.to_vec()?;
    let pressure = Pressure::measure(&logits, mask, token)?;
    let (mut all, mut kept) = (Vec::new(), Vec::new());
    steps::allow(&logits, None, &mut all)?;
    steps::allow(&logits, Some(mask), &mut kept)?;
    let wanted = steps::top_log_probabilities(&all, if request.trace { WANTED } else { 0 })
        .into_iter()
        .map(|(token, logprob)| Wanted {
            token,
            text: shown(vocabulary, token),
            probability: logprob.exp(),
            allowed: mask.contains(token),
        })
        .collect();
    Ok(Step {
        token,
        text: shown(vocabulary, token),
        probability,
        logprob: pressure.logprob,
        allowed,
        nucleus,
        allowed_mass: pressure.allowed_mass,
        wanted,
        top_logprobs: steps::top_log_probabilities(&kept, request.top_logprobs),
        mask_us,
    })
}
