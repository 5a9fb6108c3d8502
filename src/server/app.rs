//! State that all handlers share.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::admission::{ApiKeys, BodyReader, ServerBounds};
use super::api_error::ApiError;
use super::refusals::RefusalCounts;
use super::request::GenerationSettings;
use super::response_store::ResponseStore;
use super::shutdown::Shutdown;
use super::worker::Worker;
use crate::Compiler;
use crate::constraint::ConstraintCache;
use crate::engine::{Engine, MessageFormats};
use crate::error::Error;
use crate::vocabulary::Vocabulary;

/// State that all handlers share.
///
/// More than 12 fields: all that handlers share.
pub(super) struct App {
    /// Names of the model, one at least.
    pub(super) names: Vec<String>,
    pub(super) created: u64,
    pub(super) keys: ApiKeys,
    pub(super) compiler: Compiler,
    /// Constraints of requests before.
    pub(super) constraints: Arc<ConstraintCache>,
    pub(super) vocabulary: Arc<Vocabulary>,
    /// The worker's engine, for tokenizer, template and vocabulary; only the worker runs the model.
    pub(super) engine: Engine,
    pub(super) context_length: usize,
    pub(super) parse_special: bool,
    /// Origins of web pages that may use the server.
    pub(super) cors_origins: Vec<String>,
    /// Whether fields that are not known are left out instead of refused.
    pub(super) ignore_unknown_fields: bool,
    pub(super) formats: MessageFormats,
    pub(super) generation: GenerationSettings,
    /// The error that answers conversations if the model has no chat template.
    pub(super) no_chat: Option<Error>,
    pub(super) worker: Worker,
    pub(super) bounds: ServerBounds,
    pub(super) has_playground: bool,
    pub(super) bodies: BodyReader,
    /// Permits to compile a constraint.
    pub(super) compiles: Arc<Semaphore>,
    pub(super) refusals: Arc<RefusalCounts>,
    /// The responses that later requests may refer to.
    pub(super) responses: ResponseStore,
    pub(super) shutdown: Shutdown,
}

impl App {
    /// The name that answers call the model by.
    pub(super) fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// Waits for a turn to compile a constraint, which ends when the permit is dropped.
    pub(super) async fn turn(&self) -> std::result::Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.compiles).acquire_owned().await.map_err(|_| ApiError::gone())
    }

    /// The error for a request that the model has worked on for too long.
    pub(super) fn out_of_time(&self) -> ApiError {
        ApiError::out_of_time(self.bounds.request_timeout.unwrap_or_default())
    }
}
