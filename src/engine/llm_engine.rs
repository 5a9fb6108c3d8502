//! The engine: one model, and the requests that it answers.

use std::ops::ControlFlow;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::decision::{Decision, Labels};
use super::engine_loop::{EngineLoop, Inbox, NewSubmission, NewText};
use super::engine_options::{EngineOptions, EngineStats};
use super::kv_cache_size;
use super::label_search::CONTEXTS_PER_PASS;
use super::loop_state::{self, SubmissionId};
use super::mailbox::{Mail, Mailbox};
use super::model_runner::ModelRunner;
use super::prompt;
use super::request::Request;
use super::response::{Event, Response, TextEvent};
use super::sequence::Sequence;
use super::submission::Listener;
use crate::constraint::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, ModelOptions};
use crate::vocabulary::Vocabulary;

/// Writes texts with a model. `Send + Sync`, cheap to clone: clones are the same engine, and the
/// requests of all threads are worked on side by side, in one forward pass each step.
///
/// There is no thread of its own: whoever waits for a text drives the engine, for all requests. A
/// server [submits](Self::submit) requests and lets one thread [`drive`](Self::drive).
#[derive(Clone, Debug)]
pub struct Engine {
    runner: ModelRunner,
    options: EngineOptions,
    shared: Arc<SharedLoop>,
}

/// The loop, and the requests on their way to it.
#[derive(Debug, Default)]
struct SharedLoop {
    /// Made by the first thread that drives it. Held for a step at a time.
    engine_loop: Mutex<Option<EngineLoop>>,
    inbox: Mutex<Inbox>,
    work: Condvar,
    /// The figures after the last step.
    stats: Mutex<EngineStats>,
}

impl SharedLoop {
    fn stats(&self) -> MutexGuard<'_, EngineStats> {
        self.stats.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn inbox(&self) -> MutexGuard<'_, Inbox> {
        self.inbox.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Time after which a thread that waits for another one's step looks for its events.
const HANDOVER: Duration = Duration::from_millis(1);

impl Engine {
    /// Loads a model. Errors as [`Model::load`] does.
    pub fn load(options: &ModelOptions) -> Result<Self> {
        Model::load(options).map(Self::new)
    }

    /// An engine for a loaded model, whose KV cache is its own.
    pub fn new(model: Model) -> Self {
        let runner = ModelRunner::new(model.with_own_blocks());
        let options = kv_cache_size::sized(runner.model(), EngineOptions::default());
        Self { runner, options, shared: Arc::default() }
    }

    /// The engine with other settings, and a KV cache of its own. Requests that were submitted to it before
    /// stay with its clones.
    #[must_use]
    pub fn with_options(self, options: EngineOptions) -> Self {
        let runner = self.runner.with_own_blocks();
        let options = kv_cache_size::sized(runner.model(), options);
        Self { runner, options, shared: Arc::default() }
    }

    /// The engine with a draft model for [`Speculation::Draft`](super::Speculation::Draft).
    ///
    /// ```no_run
    /// use maskwright::engine::{Engine, Request, Speculation};
    /// use maskwright::model::{Model, ModelOptions};
    /// let model = Model::load(&ModelOptions::default())?;
    /// let draft = model.first_layers(1)?;
    /// let engine = Engine::new(model).with_draft(draft)?;
    /// let request = Request { speculate: Speculation::Draft, ..Request::text("Hello") };
    /// # let _ = (engine, request);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Its KV cache is its own. Errors if the draft model's vocabulary is another one.
    pub fn with_draft(mut self, draft: Model) -> Result<Self> {
        self.runner = self.runner.with_own_blocks();
        self.runner.set_draft(draft)?;
        Ok(Self { shared: Arc::default(), ..self })
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.runner.model()
    }

    /// Greatest number of bytes of the KV cache: those of the options, or those that were chosen; `None`
    /// for models of candle-transformers, where nothing bounds it.
    pub fn kv_cache_bytes(&self) -> Option<usize> {
        self.options.kv_cache_bytes.filter(|_| self.model().kv_blocks().is_some())
    }

    /// The vocabulary that constraints must be compiled for.
    pub fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.runner.vocabulary()
    }

    /// The text that the model reads for a request: the prompt, as the chat template writes it.
    ///
    /// Errors if the template refuses the conversation, or if there is none.
    pub fn prompt(&self, request: &Request) -> Result<String> {
        Ok(prompt::text(self.model(), request)?.into_owned())
    }

    /// The tokens that the model reads for a request, also where the context has no room for them.
    ///
    /// Errors as [`prompt`](Self::prompt) does, if the prompt is empty, or if its bytes alone say that it is too long.
    pub fn prompt_tokens(&self, request: &Request) -> Result<Vec<u32>> {
        prompt::tokens_of_any_length(self.model(), request)
    }

    /// Writes one text. `on_event` is called as it grows and may end it by `Break`; the response
    /// then has the text so far. A text that is the best of several, or of beams, is sent as a
    /// whole at the end.
    ///
    /// # Reproducibility
    ///
    /// The same request with the same seed gives the same text on the same device, streamed or not,
    /// whatever else runs, and at temperature 0 with or without speculation. On the CPU the logits are
    /// the same, bit for bit, alone or beside others, with the prompt read whole or in pieces, read
    /// anew or found in the cache, before and after a preemption. There is no such promise
    ///
    /// - between devices, dtypes and processors, whose sums are rounded differently;
    /// - above temperature 0 between a draft model and none: the draft model takes random numbers,
    ///   so the text differs, though not the distribution of texts;
    /// - on other devices than the CPU, if two tokens are equally probable up to rounding: a pass over
    ///   several positions may add in another order than a pass over one.
    ///
    /// Errors on a request that is out of range (naming the field), on a prompt that does not fit
    /// the context, on a conversation that the chat template refuses, on a constraint compiled for
    /// another vocabulary, and on limits that the constraint reaches.
    pub fn generate(
        &self,
        request: &Request,
        on_event: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Response> {
        let mut responses = self.run(&[(request, 1)], &mut |_, _, event| on_event(event))?;
        responses.pop().and_then(|mut texts| texts.pop()).ok_or_else(no_text)
    }

    /// Writes one text for each request, side by side. `on_event` gets the events with the index of
    /// their request; `Break` ends all texts. The texts are those of [`generate`](Self::generate).
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use maskwright::engine::{Engine, Request};
    /// use maskwright::model::ModelOptions;
    /// let engine = Engine::load(&ModelOptions::default())?;
    /// let four = Request::text("Name a colour.").times(4);
    /// let responses = engine.generate_each(&four, &mut |_, _| ControlFlow::Continue(()))?;
    /// assert_eq!(responses.len(), 4);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as `generate` does, and before anything is written where a request is out of range.
    pub fn generate_each(
        &self,
        requests: &[Request],
        on_event: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Response>> {
        let requests: Vec<(&Request, usize)> = requests.iter().map(|r| (r, 1)).collect();
        let texts = self.run(&requests, &mut |index, _, event| on_event(index, event))?;
        texts.into_iter().map(|mut texts| texts.pop().ok_or_else(no_text)).collect()
    }

    /// Writes all texts of a request and returns the `n` best, best first: of `best_of` texts by
    /// their log-probability per token, of finished beams by their score. A search may find fewer;
    /// without either there is one. `on_event` gets the events of these texts one after the other,
    /// with the index of their text.
    ///
    /// ```no_run
    /// use std::ops::ControlFlow;
    /// use maskwright::engine::{BeamSearch, Engine, Request};
    /// use maskwright::model::ModelOptions;
    /// let engine = Engine::load(&ModelOptions::default())?;
    /// let request = Request { beam: Some(BeamSearch::new(4)), ..Request::text("Name a colour.") };
    /// let best = engine.generate_best(&request, 2, &mut |_, _| ControlFlow::Continue(()))?;
    /// assert!(best[0].score >= best[1].score);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as [`generate`](Self::generate) does, and if `n` is more than the request makes.
    pub fn generate_best(
        &self,
        request: &Request,
        n: usize,
        on_event: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Response>> {
        let texts = self.run(&[(request, n)], &mut |_, rank, event| on_event(rank, event))?;
        Ok(texts.into_iter().flatten().collect())
    }

    /// Writes a value of a type: deserialises the text of [`generate`](Self::generate) under the
    /// constraint that [`Compiler::json_schema_for`] derives for the type. For many values of one type,
    /// compile that constraint once and put it into each request: a request's own constraint is
    /// used.
    ///
    /// ```no_run
    /// use maskwright::engine::{Engine, Request};
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
    /// Errors as [`generate`](Self::generate) does, if a stop string or a limit ended the text
    /// before it was complete, and if the type refuses what its schema describes.
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

    /// Reads the probabilities of labels after a request's prompt, each summed over all token sequences
    /// that spell it, given that the answer is one of the labels. Nothing is written. Most probable
    /// sequences are read first, until the bounds of all probabilities are within
    /// [`Labels::tolerance`]; a label of one token takes a pass over the prompt, and one more where an
    /// end token must follow.
    ///
    /// ```no_run
    /// use maskwright::engine::{Engine, Labels, Request};
    /// use maskwright::model::ModelOptions;
    /// let engine = Engine::load(&ModelOptions::default())?;
    /// let request = Request::text("I was charged twice. Which team: billing or support?");
    /// let decision = engine.decide(&request, &Labels::new(["billing", "support"]))?;
    /// let [billing, support] = &decision.labels[..] else { unreachable!() };
    /// assert!((billing.probability + support.probability - 1.0).abs() < 1e-9);
    /// assert!(billing.lower <= billing.probability && billing.probability <= billing.upper);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as [`generate`](Self::generate) does, on labels that are empty or alike, and on those that
    /// the model cannot write.
    pub fn decide(&self, request: &Request, labels: &Labels) -> Result<Decision> {
        let request = Request { labels: Some(labels.clone()), ..request.clone() };
        let response = self.generate(&request, &mut |_| ControlFlow::Continue(()))?;
        response.decision.ok_or_else(no_text)
    }

    /// Writes all texts of a request and returns them best first, as
    /// [`generate_best`](Self::generate_best) orders them, without events.
    ///
    /// Errors as [`generate`](Self::generate) does.
    pub fn generate_ranked(&self, request: &Request) -> Result<Vec<Response>> {
        self.generate_best(request, request.texts(), &mut |_, _| ControlFlow::Continue(()))
    }

    /// Queues a request and returns at once. `best` is the number of its texts that `listener` receives,
    /// best first; 1 unless `best_of` or beams write several. The listener is called by the threads that
    /// [`drive`](Self::drive) the engine or wait for texts of their own.
    ///
    /// Errors as [`generate`](Self::generate) does on a request that cannot begin; the listener is not
    /// called then.
    pub fn submit(
        &self,
        request: &Request,
        best: usize,
        listener: Box<dyn Listener>,
    ) -> Result<SubmittedRequest> {
        let texts = self.texts(request, best)?;
        Ok(self.submit_texts(request, best, texts, listener))
    }

    /// Works on submitted requests until `stop` returns true, which is asked between forward passes and
    /// every 100 ms while there is nothing to do. Several threads may drive one engine, though one at a
    /// time does.
    ///
    /// Errors if another thread has panicked while it drove the engine.
    pub fn drive(&self, stop: &mut dyn FnMut() -> bool) -> Result<()> {
        const IDLE: Duration = Duration::from_millis(100);
        while !stop() {
            let mut guard = self.shared.engine_loop.lock().map_err(|_| panicked())?;
            if self.step(&mut guard)? {
                continue;
            }
            drop(guard);
            let inbox = self.shared.inbox();
            if inbox.is_empty() {
                drop(self.shared.work.wait_timeout(inbox, IDLE));
            }
        }
        Ok(())
    }

    /// Gives up all requests and the state of the loop, so that [`drive`](Self::drive) can be called anew after it
    /// has failed or panicked. The listeners are dropped without having heard of an end.
    pub(crate) fn give_up(&self) {
        let mut engine_loop =
            self.shared.engine_loop.lock().unwrap_or_else(PoisonError::into_inner);
        let abandoned = (engine_loop.take(), self.shared.inbox().give_up());
        self.shared.engine_loop.clear_poison();
        *self.shared.stats() = EngineStats::default();
        drop(engine_loop);
        drop(abandoned);
    }

    /// Wakes threads that idle in [`drive`](Self::drive), so that they call `stop` at once.
    pub fn wake(&self) {
        self.shared.work.notify_all();
    }

    /// The greatest number of tokens, prompt and text, of a text: the model's context, or what the KV cache holds
    /// of it.
    pub fn context_length(&self) -> usize {
        loop_state::context_length(self.model(), &self.options, 1, usize::MAX)
    }

    /// The options, as the model's size and the memory have completed them.
    pub fn options(&self) -> &EngineOptions {
        &self.options
    }

    /// The figures of the engine's loop now.
    pub fn stats(&self) -> EngineStats {
        // Held until the inbox is read, so that no text is counted twice or not at all.
        let stats = self.shared.stats();
        EngineStats { waiting: stats.waiting + self.shared.inbox().texts(), ..*stats }
    }

    /// Works for one forward pass, for the thread that holds the loop. Returns whether there was
    /// something to do.
    fn step(&self, engine_loop: &mut Option<EngineLoop>) -> Result<bool> {
        if self.shared.inbox().is_empty() && engine_loop.as_ref().is_none_or(EngineLoop::is_idle) {
            return Ok(false);
        }
        let engine_loop = match engine_loop {
            Some(engine_loop) => engine_loop,
            None => engine_loop.insert(EngineLoop::new(self.runner.clone(), &self.options)?),
        };
        engine_loop.step(&self.shared.inbox);
        let mut stats = self.shared.stats();
        *stats = engine_loop.stats();
        self.shared.inbox().step_is_counted();
        Ok(true)
    }

    /// The texts of a request, ready to begin.
    fn texts(&self, request: &Request, best: usize) -> Result<Vec<NewText>> {
        let prompt = self.runner.tokenize_prompt(request)?;
        let most = request.texts();
        if best == 0 || best > most {
            let message = format!("{best} texts are asked for of {most}");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("ask for at least one, and raise `best_of` or the number of beams"));
        }
        let beams = request.beam.map_or(1, |beam| beam.width);
        let together = match &request.labels {
            // The prompt's own blocks beside them.
            Some(_) => CONTEXTS_PER_PASS + 1,
            None => beams,
        };
        let len = prompt.tokens.len();
        let context = loop_state::context_length(self.model(), &self.options, together, len);
        if context <= len {
            return Err(loop_state::too_long_for_cache(len, context, beams));
        }
        let longest = request.labels.as_ref().map(Labels::longest);
        // A label and its end token.
        let max_tokens = longest.map_or(request.max_tokens, |longest| longest + 1);
        let max_len = context.min(self.runner.max_sequence_len(len, max_tokens));
        let room = max_len.saturating_sub(len);
        if let Some(longest) = longest.filter(|&longest| longest > room) {
            let message = format!(
                "a prompt of {len} tokens leaves room for {room} more, and the longest label may take {longest}",
            );
            return Err(Error::new(ErrorKind::Context, message)
                .with_help("shorten the prompt or the labels"));
        }
        // The order needs the log-probabilities of the model alone.
        let faithfulness = request.faithfulness || request.best_of > 1;
        let request = Arc::new(Request { faithfulness, max_tokens, ..request.clone() });
        let mut seed = request.sampling.seed;
        let text = |_| {
            let sequence = Sequence::start(&self.runner, &request, &prompt, seed, max_len)?;
            // The first text is the one that this seed writes alone.
            seed = Some(sequence.sampler.seed().wrapping_add(1));
            Ok(NewText { prompt: prompt.clone(), sequence })
        };
        (0..request.best_of).map(text).collect()
    }

    fn submit_texts(
        &self,
        request: &Request,
        n_best: usize,
        texts: Vec<NewText>,
        listener: Box<dyn Listener>,
    ) -> SubmittedRequest {
        let request = Arc::new(request.clone());
        let prompt_tokens = texts.first().map_or(0, |text| text.prompt.tokens.len());
        let id = self.shared.inbox().submit(NewSubmission { request, n_best, texts, listener });
        self.shared.work.notify_one();
        SubmittedRequest { id, prompt_tokens }
    }

    /// Cancels a submitted request: its listener gets the end in the next step.
    pub fn cancel(&self, request: &SubmittedRequest) {
        self.shared.inbox().cancel(request.id);
        self.shared.work.notify_one();
    }

    /// Works on requests, each with the number of its best texts that are returned, until all have ended.
    /// `on_event` gets the index of a request and the rank of a text.
    fn run(
        &self,
        requests: &[(&Request, usize)],
        on_event: &mut dyn FnMut(usize, usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Response>>> {
        let texts: Vec<Vec<NewText>> = requests
            .iter()
            .map(|(request, best)| self.texts(request, *best))
            .collect::<Result<_>>()?;
        let mailbox = Arc::new(Mailbox::default());
        let mut submitted = Vec::with_capacity(requests.len());
        for (index, ((request, best), texts)) in requests.iter().zip(texts).enumerate() {
            let listener = Mailbox::listener(&mailbox, index);
            submitted.push(self.submit_texts(request, *best, texts, Box::new(listener)));
        }
        let mut responses: Vec<Vec<Response>> = vec![Vec::new(); requests.len()];
        let (mut open, mut failed, mut cancelled) = (requests.len(), None, false);
        while open > 0 {
            match self.shared.engine_loop.try_lock() {
                Ok(mut guard) => {
                    // Another thread may have worked on these requests meanwhile.
                    if mailbox.is_empty() {
                        self.step(&mut guard)?;
                    }
                }
                Err(TryLockError::WouldBlock) => mailbox.wait(HANDOVER),
                Err(TryLockError::Poisoned(_)) => return Err(panicked()),
            }
            for mail in mailbox.take() {
                match mail {
                    Mail::Event { request, rank, event } => {
                        if let TextEvent::Ended(response) = &event {
                            responses[request].push((**response).clone());
                        }
                        if !cancelled && failed.is_none() {
                            cancelled = on_event(request, rank, event.as_event()).is_break();
                        }
                    }
                    Mail::End(result) => {
                        open -= 1;
                        failed = failed.or(result.err());
                    }
                }
            }
            if cancelled || failed.is_some() {
                submitted.drain(..).for_each(|request| self.cancel(&request));
            }
        }
        failed.map_or(Ok(responses), Err)
    }
}

/// A request that was [submitted](Engine::submit).
#[derive(Debug)]
pub struct SubmittedRequest {
    id: SubmissionId,
    prompt_tokens: usize,
}

impl SubmittedRequest {
    /// The number of tokens of its prompt.
    pub fn prompt_tokens(&self) -> usize {
        self.prompt_tokens
    }
}

fn no_text() -> Error {
    Error::new(ErrorKind::Model, "the beam search found no complete text")
        .with_help("raise the number of beams, or `max_tokens`")
}

fn panicked() -> Error {
    Error::new(ErrorKind::Model, "the engine has stopped: an internal error")
        .with_help("please report it, with the request; make another engine to go on")
}
