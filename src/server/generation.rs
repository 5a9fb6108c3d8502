//! The way of a request from its fields to the replies of the model's thread, for all endpoints that
//! write texts.

use std::sync::Arc;

use crate::engine::{Protocol, Request};

use super::admission::BodyPermit;
use super::api_error::ApiError;
use super::app::App;
use super::request::{GenerationFields, StreamOptions, TokenBudget};
use super::work::blocking;
use super::worker::{Replies, RequestedTexts, WorkerReply};

/// A request that is ready for the model's thread.
pub(super) struct PreparedRequest {
    pub(super) texts: RequestedTexts,
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
        Ok(Self { texts, permit, protocol, budget, stream, options })
    }

    /// Hands the texts to the model's thread. The prompts are tokenised on the blocking pool.
    pub(super) async fn submit(self, app: &Arc<App>) -> Result<Replies, ApiError> {
        let app = Arc::clone(app);
        blocking(move || app.worker.submit(&self.texts, self.permit)).await?
    }
}

/// The first reply of a stream, or none if it takes so long that a proxy would give up. Until then the
/// status line waits, so that a request which the model's thread refuses is refused as such, streamed or
/// not.
pub(super) async fn first_of_stream(
    replies: &mut Replies,
    app: &App,
    budget: TokenBudget,
) -> Result<Option<WorkerReply>, ApiError> {
    match tokio::time::timeout(app.bounds.keep_alive_delay, replies.recv()).await {
        Ok(first) => first_reply(first, app, budget).map(Some),
        Err(_) => Ok(None),
    }
}

/// The first reply, unless it says that there will be no answer.
pub(super) fn first_reply(
    first: Option<WorkerReply>,
    app: &App,
    budget: TokenBudget,
) -> Result<WorkerReply, ApiError> {
    match first {
        Some(WorkerReply::Failed(error)) => Err(ApiError::from_generation(&error, budget.field)),
        Some(WorkerReply::OutOfTime) => Err(app.out_of_time()),
        Some(first) => Ok(first),
        None => Err(ApiError::gone()),
    }
}
