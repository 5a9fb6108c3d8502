//! The engine: one model, and the requests that it answers.

use std::ops::ControlFlow;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::decoding_loop::write_text;
use super::model_runner::{ModelRunner, PrefilledPrompt};
use super::prompt;
use super::ranking::{replay, write_ranked};
use super::request::Request;
use super::response::{Event, EventSink, Response};
use crate::constraint::Compiler;
use crate::error::{Error, ErrorKind, Result};
use crate::model::{Model, ModelOptions};
use crate::vocabulary::Vocabulary;

/// Writes texts with a model. `Send + Sync`, cheap to clone; each call of
/// [`generate`](Self::generate) has its own state, so threads may share one engine.
#[derive(Clone, Debug)]
pub struct Engine {
    runner: ModelRunner,
}

impl Engine {
    /// Loads a model. Errors as [`Model::load`] does.
    pub fn load(options: &ModelOptions) -> Result<Self> {
        Model::load(options).map(Self::new)
    }

    /// An engine for a loaded model.
    pub fn new(model: Model) -> Self {
        Self { runner: ModelRunner::new(model) }
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
    /// Errors if its vocabulary is another one.
    pub fn with_draft(mut self, draft: Model) -> Result<Self> {
        self.runner.set_draft(draft)?;
        Ok(self)
    }

    /// The model.
    pub fn model(&self) -> &Model {
        self.runner.model()
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

    /// Writes one text. `on_event` is called as it grows and may end it by `Break`; the response
    /// then has the text so far. A text that is the best of several, or of beams, is sent as a
    /// whole at the end.
    ///
    /// # Reproducibility
    ///
    /// The same request with the same seed gives the same text on the same device, streamed or not,
    /// whatever else runs, and at temperature 0 with or without speculation. There is no such
    /// promise
    ///
    /// - between devices or dtypes, whose sums are rounded differently;
    /// - above temperature 0 between a draft model and none: the draft model takes random numbers,
    ///   so the text differs, though not the distribution of texts;
    /// - with speculation, if two tokens are equally probable up to rounding: a pass over several
    ///   positions may add in another order than a pass over one.
    ///
    /// Errors on a request that is out of range (naming the field), on a prompt that does not fit
    /// the context, on a conversation that the chat template refuses, on a constraint compiled for
    /// another vocabulary, and on limits that the constraint reaches.
    pub fn generate(
        &self,
        request: &Request,
        on_event: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Response> {
        let prefilled = self.prefill(request)?;
        self.answer(request, prefilled, on_event)
    }

    /// Writes one text for each request, one after the other. `on_event` gets the events with the
    /// index of their request; `Break` ends the current text and starts no other. Consecutive
    /// requests with the same prompt share its prefill; the texts are those of
    /// [`generate`](Self::generate).
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
        let prompts: Vec<_> = requests
            .iter()
            .map(|request| self.runner.tokenize_prompt(request))
            .collect::<Result<_>>()?;
        let mut responses = Vec::with_capacity(requests.len());
        let mut kept: Option<PrefilledPrompt> = None;
        for (index, request) in requests.iter().enumerate() {
            let prefilled = match kept.take() {
                Some(prefilled) => prefilled,
                None => self.runner.prefill(prompts[index].clone())?,
            };
            if prompts.get(index + 1) == Some(&prompts[index]) {
                kept = Some(prefilled.reuse());
            }
            let mut cancelled = false;
            let response = self.answer(request, prefilled, &mut |event| {
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

    /// Writes the text of a request after prefill.
    fn answer(
        &self,
        request: &Request,
        prefilled: PrefilledPrompt,
        on_event: &mut EventSink<'_>,
    ) -> Result<Response> {
        let response = if request.is_ranked() {
            let (response, steps) =
                write_ranked(&self.runner, request, prefilled, on_event)?.swap_remove(0);
            let _ = replay(self.vocabulary(), request, &response, &steps, on_event);
            response
        } else {
            write_text(&self.runner, request, prefilled, request.sampling.seed, on_event)?
        };
        let _ = on_event(Event::Ended(&response));
        Ok(response)
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
        let most = request.beam.as_ref().map_or(request.best_of, |beam| beam.width);
        if n == 0 || n > most {
            let message = format!("{n} texts are asked for of {most}");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("ask for at least one, and raise `best_of` or the number of beams"));
        }
        let prefilled = self.prefill(request)?;
        let mut first = |event: Event<'_>| on_event(0, event);
        if !request.is_ranked() {
            let response =
                write_text(&self.runner, request, prefilled, request.sampling.seed, &mut first)?;
            let _ = on_event(0, Event::Ended(&response));
            return Ok(vec![response]);
        }
        let mut ranked = write_ranked(&self.runner, request, prefilled, &mut first)?;
        ranked.truncate(n);
        for (rank, (response, steps)) in ranked.iter().enumerate() {
            let told = replay(self.vocabulary(), request, response, steps, &mut |event| {
                on_event(rank, event)
            })
            .is_continue();
            if !told || on_event(rank, Event::Ended(response)).is_break() {
                break;
            }
        }
        Ok(ranked.into_iter().map(|(response, _)| response).collect())
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

    /// Writes all texts of a request and returns them best first, as
    /// [`generate_best`](Self::generate_best) orders them, without events.
    ///
    /// Errors as [`generate`](Self::generate) does.
    pub fn generate_ranked(&self, request: &Request) -> Result<Vec<Response>> {
        let prefilled = self.prefill(request)?;
        let ranked =
            write_ranked(&self.runner, request, prefilled, &mut |_| ControlFlow::Continue(()))?;
        Ok(ranked.into_iter().map(|(response, _)| response).collect())
    }

    /// Makes the request's prompt and lets the model read it.
    fn prefill(&self, request: &Request) -> Result<PrefilledPrompt> {
        self.runner.prefill(self.runner.tokenize_prompt(request)?)
    }
}
