//! The engine: one model, and the loops that write texts with it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::beam;
use super::healing;
use super::prompt;
use super::request::{Request, Speculation};
use super::response::{Event, FinishReason, Passes, Response, Step, Timing};
use super::sequence::{Receiver, Sequence};
use super::speculate::Drafter;
use crate::constraint::{Compiler, Constraint};
use crate::error::{Error, ErrorKind, Result};
use crate::model::{KvCache, Logits, Model, ModelOptions};
use crate::vocabulary::{TokenMask, Vocabulary};

/// Writes texts with a model. `Send + Sync`, cheap to clone; each call of
/// [`generate`](Self::generate) has its own state, so threads may share one engine.
#[derive(Clone, Debug)]
pub struct Engine {
    model: Arc<Model>,
    /// A faster model that guesses what `model` will write.
    draft: Option<Arc<Model>>,
    /// What may be drawn without a constraint: every id that has a token.
    free: Arc<TokenMask>,
}

/// A prompt that has been read.
pub(crate) struct Read {
    pub(crate) prompt: Vec<u32>,
    /// Bytes that were taken off the prompt's end, to be written anew.
    pub(crate) heal: Vec<u8>,
    pub(crate) cache: KvCache,
    pub(crate) logits: Logits,
    /// Forward passes: none where the prompt had been read already.
    pub(crate) passes: usize,
    pub(crate) took: Duration,
}

impl Read {
    /// The same for another text. Both share the cache's memory until one of them reads on.
    fn fork(&self) -> Self {
        Self {
            prompt: self.prompt.clone(),
            heal: self.heal.clone(),
            cache: self.cache.fork(),
            logits: self.logits.clone(),
            ..*self
        }
    }
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
        Self { model: Arc::new(model), draft: None, free: Arc::new(free) }
    }

    /// With a model that guesses, for [`Speculation::Draft`].
    ///
    /// Errors if its vocabulary is another one.
    pub fn with_draft(mut self, draft: Model) -> Result<Self> {
        let (ours, theirs) = (self.vocabulary(), draft.vocabulary());
        // Vocabularies are far smaller than u32::MAX.
        let same = ours.len() == theirs.len()
            && (0..ours.len() as u32).all(|id| ours.token_bytes(id) == theirs.token_bytes(id));
        if !same {
            let message = "the draft model has another vocabulary than the model";
            return Err(Error::new(ErrorKind::Request, message).with_help(
                "give a model with the same tokenizer, or the first layers of this one",
            ));
        }
        self.draft = Some(Arc::new(draft));
        Ok(self)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The vocabulary that constraints must be compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.model.vocabulary()
    }

    /// The text that the model reads for a request: the prompt, as the chat template writes it.
    ///
    /// Errors if the template refuses the conversation, or if there is none.
    pub fn prompt(&self, request: &Request) -> Result<String> {
        Ok(prompt::text(&self.model, request)?.into_owned())
    }

    pub(crate) fn free(&self) -> &TokenMask {
        &self.free
    }

    /// Writes one text. `on_event` is called as it grows and may end it by `Break`; the response
    /// then holds what was written. Where the text is the best of several, or a beam's, it comes as
    /// a whole at the end.
    ///
    /// The same request with the same seed gives the same text on the same device, whatever runs
    /// beside it, streamed or not, speculated or not at temperature 0. What is not promised: the
    /// same text on another device or in another dtype, for their sums are rounded otherwise; and,
    /// above temperature 0, the same text with a draft model, which asks for random numbers in
    /// another order (the distribution of texts is the same). Speculation reads several positions
    /// in one pass, whose kernels may add in another order than those for one: where two tokens are
    /// equally probable up to that rounding, the texts may differ, too.
    ///
    /// Errors on a request that is out of range (naming the field), on a prompt that does not fit
    /// the context, on a conversation that the chat template refuses, on a constraint compiled for
    /// another vocabulary, and on limits that the constraint reaches.
    pub fn generate(
        &self,
        request: &Request,
        on_event: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Response> {
        let read = self.read(request)?;
        self.answer(request, read, on_event)
    }

    /// Writes one text for each of the requests, one after the other. `on_event` is told of each with
    /// its place; to break ends the text at hand, and no other is begun. Requests in a row that have
    /// the same prompt share its reading: the texts are those that [`generate`](Self::generate)
    /// writes.
    ///
    /// Errors as `generate` does, and before anything is written where a request is out of range.
    pub fn generate_each(
        &self,
        requests: &[Request],
        on_event: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Response>> {
        let prompts: Vec<_> =
            requests.iter().map(|request| self.prompt_of(request)).collect::<Result<_>>()?;
        let mut responses = Vec::with_capacity(requests.len());
        let mut kept: Option<Read> = None;
        for (index, request) in requests.iter().enumerate() {
            let read = match kept.take() {
                Some(read) => read,
                None => self.prefill(prompts[index].clone())?,
            };
            if prompts.get(index + 1) == Some(&prompts[index]) {
                kept = Some(Read { passes: 0, took: Duration::ZERO, ..read.fork() });
            }
            let mut cancelled = false;
            let response = self.answer(request, read, &mut |event| {
                let told = on_event(index, event);
                cancelled |= told.is_break();
                told
            })?;
            responses.push(response);
            if cancelled {
                break;
            }
        }
        Ok(responses)
    }

    /// The text of a request whose prompt is read.
    fn answer(
        &self,
        request: &Request,
        read: Read,
        on_event: &mut Receiver<'_>,
    ) -> Result<Response> {
        let response = match request.is_ranked() {
            false => self.write(request, read, request.sampling.seed, on_event)?,
            true => {
                let (response, steps) = self.ranked(request, read, on_event)?.swap_remove(0);
                let _ = self.retell(request, &response, &steps, on_event);
                response
            }
        };
        let _ = on_event(Event::Ended(&response));
        Ok(response)
    }

    /// Writes the `n` best texts of those that a request makes, best first: `best_of` texts by their
    /// log-probability per token, or the finished beams by their score. There are fewer where a
    /// search found no more; one where neither is asked for. `on_event` is told of all texts one
    /// after the other, each with its place.
    ///
    /// Errors as [`generate`](Self::generate) does, and if `n` is more than the request makes.
    pub fn generate_best(
        &self,
        request: &Request,
        n: usize,
        on_event: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Response>> {
        let most = request.beam.as_ref().map_or(request.best_of, |beam| beam.width);
        if n == 0 || n > most {
            let message = format!("{n} texts are asked for of {most}");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("ask for at least one, and raise `best_of` or the number of beams"));
        }
        let read = self.read(request)?;
        let mut first = |event: Event<'_>| on_event(0, event);
        if !request.is_ranked() {
            let response = self.write(request, read, request.sampling.seed, &mut first)?;
            let _ = on_event(0, Event::Ended(&response));
            return Ok(vec![response]);
        }
        let mut ranked = self.ranked(request, read, &mut first)?;
        ranked.truncate(n);
        for (rank, (response, steps)) in ranked.iter().enumerate() {
            let told = self
                .retell(request, response, steps, &mut |event| on_event(rank, event))
                .is_continue();
            if !told || on_event(rank, Event::Ended(response)).is_break() {
                break;
            }
        }
        Ok(ranked.into_iter().map(|(response, _)| response).collect())
    }

    /// Writes a value of a type: the text of [`generate`](Self::generate), under the constraint that
    /// [`Compiler::json_schema_for`] derives for the type, deserialised. Where many values of a type are
    /// written, compile that once and give it with each request: then it is used as it is.
    ///
    /// ```no_run
    /// use maskwright::generation::{Engine, Request};
    /// use maskwright::model::ModelOptions;
    /// #[derive(serde::Deserialize, schemars::JsonSchema)]
    /// struct Person {
    ///     name: String,
    ///     age: u8,
    /// }
    /// let engine = Engine::load(&ModelOptions::default())?;
    /// let person: Person = engine.generate_as(&Request::text("Ada Lovelace is 36 years old."))?;
    /// assert!(!person.name.is_empty());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as [`generate`](Self::generate) does, if a stop string or a limit ended the text before
    /// it was complete, and if the type refuses what its schema describes.
    pub fn generate_as<T: JsonSchema + DeserializeOwned>(&self, request: &Request) -> Result<T> {
        let constraint = match &request.constraint {
            Some(constraint) => constraint.clone(),
            None => Compiler::new(Arc::clone(self.vocabulary())).json_schema_for::<T>()?,
        };
        let request = Request { constraint: Some(constraint), ..request.clone() };
        let response = self.generate(&request, &mut |_| ControlFlow::Continue(()))?;
        if !response.complete {
            let message = format!("the text ended incomplete: {:?}", response.text);
            return Err(Error::new(ErrorKind::Limit, message)
                .with_help("give no stop strings, and leave `budget` on"));
        }
        serde_json::from_str(&response.text).map_err(|error| {
            let message = format!("the type refuses {}: {error}", response.text);
            Error::new(ErrorKind::Schema, message)
                .with_help("let the type's schema say what the type accepts")
        })
    }

    /// Tells of a text that is finished: its steps, then the text, with special tokens in their
    /// places where the request asks for them, then the steps that have no part in it.
    fn retell(
        &self,
        request: &Request,
        response: &Response,
        steps: &[Step],
        on_event: &mut Receiver<'_>,
    ) -> ControlFlow<()> {
        let (before, after) = steps.split_at(response.text_tokens.min(steps.len()));
        before.iter().try_for_each(|step| on_event(Event::Step(step)))?;
        let vocabulary = self.vocabulary();
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

    /// Writes all that a request makes, best first: `best_of` texts by their log-probability per
    /// token, or the finished beams by their score; one text where neither is asked for.
    ///
    /// Errors as [`generate`](Self::generate) does.
    pub fn generate_ranked(&self, request: &Request) -> Result<Vec<Response>> {
        let read = self.read(request)?;
        let ranked = self.ranked(request, read, &mut |_| ControlFlow::Continue(()))?;
        Ok(ranked.into_iter().map(|(response, _)| response).collect())
    }

    fn read(&self, request: &Request) -> Result<Read> {
        self.prefill(self.prompt_of(request)?)
    }

    /// The tokens that the model reads for a request, and the bytes that were taken off their end.
    ///
    /// Errors on a request that is out of range.
    fn prompt_of(&self, request: &Request) -> Result<(Vec<u32>, Vec<u8>)> {
        request.validate()?;
        self.check_tokens(request)?;
        if request.speculate == Speculation::Draft && self.draft.is_none() {
            let message = "`speculate` asks for a draft model, and there is none";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("give the engine one, or speculate by `grammar` or `ngram`")
                .at_field("speculate"));
        }
        if let Some(constraint) = &request.constraint {
            self.check_vocabulary(constraint)?;
        }
        let mut prompt = prompt::tokens(&self.model, request)?;
        let heal = match request.token_healing {
            true => healing::take_back(self.vocabulary(), &mut prompt),
            false => Vec::new(),
        };
        Ok((prompt, heal))
    }

    fn prefill(&self, (prompt, heal): (Vec<u32>, Vec<u8>)) -> Result<Read> {
        let start = Instant::now();
        let mut cache = self.model.new_cache()?;
        let logits = self.model.forward(&prompt, &mut cache)?;
        Ok(Read { prompt, heal, cache, logits, passes: 1, took: start.elapsed() })
    }

    /// At least one text, best first, with what is told of its tokens.
    fn ranked(
        &self,
        request: &Request,
        read: Read,
        on_event: &mut Receiver<'_>,
    ) -> Result<Vec<(Response, Vec<Step>)>> {
        if let Some(search) = &request.beam {
            return beam::search(self, request, search, read, on_event);
        }
        // Texts are compared by what the model alone thinks of them.
        let request = &Request { faithfulness: true, ..request.clone() };
        let mut seed = request.sampling.seed;
        let mut ranked = Vec::with_capacity(request.best_of);
        for _ in 0..request.best_of {
            let mut steps = Vec::new();
            let mut cancelled = false;
            let response = self.write(request, read.fork(), seed, &mut |event| {
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

    fn write(
        &self,
        request: &Request,
        read: Read,
        seed: Option<u64>,
        on_event: &mut Receiver<'_>,
    ) -> Result<Response> {
        let Read { prompt, heal, mut cache, logits, passes, took: prefill } = read;
        let start = Instant::now();
        let mut sequence = Sequence::start(self, request, &prompt, heal, seed)?;
        let mut passes = Passes { model: passes, ..Passes::default() };
        let finish = match sequence.step(&logits, None, on_event)? {
            Some(reason) => reason,
            None if request.speculate == Speculation::Off => {
                self.one_by_one(&mut sequence, &mut cache, &mut passes, on_event)?
            }
            None => {
                let drafter = Drafter::new(request.speculate, self.draft.as_deref(), prompt)?;
                self.speculate(&mut sequence, &mut cache, drafter, &mut passes, on_event)?
            }
        };
        let timing = Timing { prefill, decode: start.elapsed() };
        Ok(sequence.end(finish, timing, passes, on_event))
    }

    fn one_by_one(
        &self,
        sequence: &mut Sequence<'_>,
        cache: &mut KvCache,
        passes: &mut Passes,
        on_event: &mut Receiver<'_>,
    ) -> Result<FinishReason> {
        loop {
            if let Some(reason) = sequence.limit_reached() {
                return Ok(reason);
            }
            let last = &sequence.tokens[sequence.tokens.len() - 1..];
            let logits = self.model.forward(last, cache)?;
            passes.model += 1;
            if let Some(reason) = sequence.step(&logits, None, on_event)? {
                return Ok(reason);
            }
        }
    }

    /// Reads guesses along with the last token, and goes on from the last one that came true.
    fn speculate(
        &self,
        sequence: &mut Sequence<'_>,
        cache: &mut KvCache,
        mut drafter: Drafter<'_>,
        passes: &mut Passes,
        on_event: &mut Receiver<'_>,
    ) -> Result<FinishReason> {
        loop {
            if let Some(reason) = sequence.limit_reached() {
                return Ok(reason);
            }
            let tree = drafter.draft(sequence)?;
            let from = cache.len();
            let rows = self.model.forward_tree(tree.tokens(), tree.parents(), cache)?;
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
            self.model.keep(cache, from, &path)?;
        }
    }

    /// Errors, naming the field, on ids that are no tokens of the vocabulary.
    fn check_tokens(&self, request: &Request) -> Result<()> {
        let (sampling, width) = (&request.sampling, self.vocabulary().len());
        let biased: Vec<u32> = sampling.logit_bias.keys().copied().collect();
        for (field, tokens) in [
            ("logit_bias", &biased),
            ("allowed_token_ids", &sampling.allowed_token_ids),
            ("banned_token_ids", &sampling.banned_token_ids),
            ("stop_token_ids", &request.stop_token_ids),
        ] {
            if let Some(token) = tokens.iter().find(|&&token| token as usize >= width) {
                let message =
                    format!("`{field}` names token {token}, which the model does not have");
                return Err(Error::new(ErrorKind::Request, message)
                    .with_help(format!("write ids from 0 to {}", width.saturating_sub(1)))
                    .at_field(field));
            }
        }
        Ok(())
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
