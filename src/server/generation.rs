//! The way of a request from its fields to the replies of the model's thread, for all endpoints that
//! write texts.

use std::sync::Arc;

use axum::Json;
use axum::response::{IntoResponse as _, Response};

use crate::engine::{Protocol, Request};

use super::admission::BodyPermit;
use super::api_error::ApiError;
use super::app::App;
use super::copies;
use super::request::{GenerationFields, StreamOptions, TokenBudget};
use super::response::{EventStream, EventWriter, WholeWriter};
use super::work::{blocking, with_ignored};
use super::worker::{Replies, RequestedTexts, WorkerReply};

/// A request that is ready for the model's thread.
pub(super) struct PreparedRequest {
    pub(super) texts: RequestedTexts,
    /// Texts of each prompt.
    pub(super) each: usize,
    /// Held until the request is answered.
    pub(super) permit: Option<BodyPermit>,
    pub(super) protocol: Protocol,
    pub(super) budget: TokenBudget,
    pub(super) stream: bool,
    pub(super) options: StreamOptions,
}

impl PreparedRequest {
    /// The texts of requests that differ in their prompts, `n` of each.
    pub(super) fn new(
        app: &App,
        requests: Vec<Request>,
        protocol: Protocol,
        generation: &GenerationFields,
        permit: Option<BodyPermit>,
    ) -> Result<Self, ApiError> {
        let (budget, n) = (generation.budget, generation.choices);
        // Checked before the request waits for the model's thread, and without its prompt.
        if let Some(request) = requests.first() {
            let fits = request.check_budget(app.context_length);
            fits.map_err(|error| ApiError::from_generation(&error, budget.field))?;
        }
        let copies = requests.iter().map(|request| (request, n.max(request.best_of)));
        copies::check(copies, app.bounds.max_body_bytes)?;
        let ranked = |request: &Request| request.beam.is_some() || request.best_of > 1;
        let mut requests = requests;
        let texts = match requests.pop() {
            Some(request) if requests.is_empty() && ranked(&request) => {
                RequestedTexts::Best(Box::new(request), n)
            }
            // Choices differ in their seeds, so that one seed gives the same set again.
            last => {
                let all = requests.iter().chain(&last);
                RequestedTexts::Each(all.flat_map(|request| request.times(n)).collect())
            }
        };
        let (stream, options) = (generation.stream, generation.stream_options);
        Ok(Self { texts, each: n, permit, protocol, budget, stream, options })
    }

    /// Number of tokens of the prompts.
    pub(super) fn prompt_tokens(&self, app: &App) -> Result<usize, ApiError> {
        let requests = match &self.texts {
            RequestedTexts::Each(requests) => requests.as_slice(),
            RequestedTexts::Best(request, _) => std::slice::from_ref(&**request),
        };
        let prompts = requests.iter().step_by(self.each.max(1));
        let tokens = prompts.map(|request| app.engine.prompt_tokens(request));
        let lengths = tokens.map(|tokens| tokens.map(|tokens| tokens.len()));
        lengths.sum::<crate::Result<usize>>().map_err(|error| ApiError::from_engine(&error))
    }

    /// Hands the texts to the model's thread. The prompts are tokenised on the blocking pool. Returns the number of
    /// tokens of the prompts, too, each counted once.
    pub(super) async fn submit(self, app: &Arc<App>) -> Result<(Replies, usize), ApiError> {
        let (app, each) = (Arc::clone(app), self.each.max(1));
        let submitted = blocking(move || app.worker.submit(&self.texts, self.permit)).await?;
        submitted.map(|(replies, tokens)| (replies, tokens.iter().step_by(each).sum()))
    }
}

/// Answers with a stream where the request asks for one, else with one object.
pub(super) async fn respond(
    app: &Arc<App>,
    prepared: PreparedRequest,
    writer: impl EventWriter + WholeWriter + 'static,
    ignored: &[String],
) -> Result<Response, ApiError> {
    if prepared.stream {
        respond_as_stream(app, prepared, writer, ignored).await
    } else {
        respond_as_whole(app, prepared, writer, ignored).await
    }
}

/// Answers with a stream.
pub(super) async fn respond_as_stream(
    app: &Arc<App>,
    prepared: PreparedRequest,
    mut writer: impl EventWriter,
    ignored: &[String],
) -> Result<Response, ApiError> {
    let budget = prepared.budget;
    let (mut replies, prompt_tokens) = prepared.submit(app).await?;
    writer.begin(prompt_tokens);
    let first = first_of_stream(&mut replies, app, budget).await?;
    let stream = EventStream::new((Arc::clone(app), budget), writer, first, replies);
    Ok(with_ignored(stream.into_response(), ignored))
}

/// Answers with one object.
pub(super) async fn respond_as_whole(
    app: &Arc<App>,
    prepared: PreparedRequest,
    writer: impl WholeWriter + Send + 'static,
    ignored: &[String],
) -> Result<Response, ApiError> {
    let (budget, mut writer) = (prepared.budget, writer);
    let (mut replies, _) = prepared.submit(app).await?;
    loop {
        match required(replies.recv().await, app, budget)? {
            WorkerReply::Finished => break,
            reply => writer.add(reply),
        }
    }
    // Megabytes, where there are log-probabilities: other requests do not wait meanwhile.
    let response = blocking(move || Json(writer.finish()).into_response()).await?;
    Ok(with_ignored(response, ignored))
}

/// The first reply of a stream, or none if it takes so long that a proxy would give up. Until then the
/// status line waits, so that a request which the model's thread refuses is refused as such, streamed or
/// not.
async fn first_of_stream(
    replies: &mut Replies,
    app: &App,
    budget: TokenBudget,
) -> Result<Option<WorkerReply>, ApiError> {
    match tokio::time::timeout(app.bounds.keep_alive_delay, replies.recv()).await {
        Ok(first) => required(first, app, budget).map(Some),
        Err(_) => Ok(None),
    }
}

/// A reply, unless it says that there will be no answer.
fn required(
    reply: Option<WorkerReply>,
    app: &App,
    budget: TokenBudget,
) -> Result<WorkerReply, ApiError> {
    match reply {
        Some(WorkerReply::Failed(error)) => Err(ApiError::from_generation(&error, budget.field)),
        Some(WorkerReply::OutOfTime) => Err(app.out_of_time()),
        Some(reply) => Ok(reply),
        None => Err(ApiError::gone()),
    }
}
