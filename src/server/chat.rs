//! Handler of `POST /v1/chat/completions`: reads, compiles, submits, answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::engine::{Prompt, Protocol, Request, Usage};

use super::admission::BodyPermit;
use super::api_error::ApiError;
use super::app::App;
use super::request::{ChatRequest, StreamOptions, TokenBudget, apply_tools, readable_messages};
use super::response::{self, Choice, ChunkStream, CompletionHead, MessageBuilder, add_usage};
use super::work::{JsonBody, blocking};
use super::worker::{Replies, RequestedTexts, WorkerReply};

/// Answers a conversation, with one choice or several.
pub(super) async fn completions(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let prepared = prepare(&app, request).await?;
    let head = CompletionHead::new(app.name(), &prepared.protocol);
    let mut replies = {
        // The prompt is tokenised there.
        let (app, texts, permit) = (Arc::clone(&app), prepared.texts, prepared.permit);
        blocking(move || app.worker.submit(&texts, permit)).await??
    };
    if prepared.stream {
        // The status line waits for the first reply, so that a request which the model's thread
        // refuses is refused as such, streamed or not; but not so long that a proxy gives up.
        let first = match tokio::time::timeout(app.bounds.keep_alive_delay, replies.recv()).await {
            Ok(first) => Some(first_reply(first, &app, prepared.budget)?),
            Err(_) => None,
        };
        let chunks = (head, Arc::clone(&app), prepared.protocol, prepared.budget.field);
        return Ok(ChunkStream::new(chunks, first, replies, prepared.options).into_response());
    }
    let first = first_reply(replies.recv().await, &app, prepared.budget)?;
    let answer = whole(&app, head, (&prepared.protocol, prepared.budget), first, replies).await;
    answer.map(IntoResponse::into_response)
}

/// The first reply, unless it says that there will be no answer.
fn first_reply(
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

/// A request that is ready for the model's thread.
struct PreparedRequest {
    texts: RequestedTexts,
    /// Held until the request is answered.
    permit: Option<BodyPermit>,
    protocol: Protocol,
    budget: TokenBudget,
    stream: bool,
    options: StreamOptions,
}

/// Reads and compiles a request, on a thread of the blocking pool. If the client leaves meanwhile, the
/// request gives up its turn.
async fn prepare(app: &Arc<App>, request: HttpRequest) -> Result<PreparedRequest, ApiError> {
    let mut body = JsonBody::read(app, request).await?;
    let value = std::mem::take(&mut body.value);
    let chat = ChatRequest::read(value, &app.names)?;
    if let Some(error) = &app.no_chat {
        return Err(ApiError::no_chat_template(error));
    }
    let turn = if chat.is_constrained() { Some(body.turn(app).await?) } else { None };
    let app = Arc::clone(app);
    blocking(move || {
        let prepared = compile(&app, chat, body.permit.take());
        drop((turn, body));
        prepared
    })
    .await?
}

/// Compiles a request.
fn compile(
    app: &App,
    chat: ChatRequest,
    permit: Option<BodyPermit>,
) -> Result<PreparedRequest, ApiError> {
    let (stream, options) = (chat.stream, chat.stream_options);
    let mut request = Request {
        sampling: chat.sampling,
        max_tokens: chat.budget.tokens.unwrap_or(app.context_length),
        stop: chat.stop,
        stop_regex: chat.stop_regex,
        parse_special: app.parse_special,
        prompt: Prompt::Chat(readable_messages(&app.engine, chat.messages)),
        template_variables: chat.template_variables,
        ..chat.settings
    };
    let mut format = chat.format.with_cache(Arc::clone(&app.constraints), chat.constraint_key);
    let compiler = format.configure(&app.compiler)?;
    let tool_fields = (chat.tools, chat.reasoning, &format);
    let protocol = apply_tools((&app.engine, &app.formats), &compiler, tool_fields, &mut request)?;
    // Checked before the request waits for the model's thread, and without its prompt.
    let budget = chat.budget;
    let fits = request.check_budget(app.context_length);
    fits.map_err(|error| ApiError::from_generation(&error, budget.field))?;
    let texts = if request.beam.is_some() || request.best_of > 1 {
        RequestedTexts::Best(Box::new(request), chat.choices)
    } else {
        // Choices differ in their seeds, so that one seed gives the same set again.
        RequestedTexts::Each(request.times(chat.choices))
    };
    Ok(PreparedRequest { texts, permit, protocol, budget, stream, options })
}

/// All choices in one answer.
async fn whole(
    app: &App,
    head: CompletionHead,
    (protocol, budget): (&Protocol, TokenBudget),
    first: WorkerReply,
    mut replies: Replies,
) -> Result<Json<Value>, ApiError> {
    // The choices that are being written, with their log-probabilities, and those that have ended.
    let mut open: BTreeMap<usize, (MessageBuilder, Vec<Value>)> = BTreeMap::new();
    let (mut ended, mut usage) = (BTreeMap::new(), Usage::default());
    let new = || (MessageBuilder::new(protocol), Vec::new());
    let mut next = first;
    loop {
        match next {
            WorkerReply::Text(index, text) => open.entry(index).or_insert_with(new).0.text(&text),
            WorkerReply::Special(index, token) => {
                let name = app.vocabulary.token_name(token);
                open.entry(index).or_insert_with(new).0.special(&name);
            }
            WorkerReply::Step(index, step) => {
                let logprob = response::logprob(&app.vocabulary, &step);
                open.entry(index).or_insert_with(new).1.extend(logprob);
            }
            WorkerReply::Done(index, response) => {
                add_usage(&mut usage, &response.usage);
                let (message, mut tokens) = open.remove(&index).unwrap_or_else(new);
                // Tokens that a stop string cut off are not reported.
                tokens.truncate(response.text_tokens);
                ended.insert(index, Choice::new(*response, message.finish(), tokens));
            }
            WorkerReply::Finished => {
                let choices: Vec<Choice> = ended.into_values().collect();
                return Ok(Json(head.completion(&choices, &usage)));
            }
            WorkerReply::Failed(error) => {
                return Err(ApiError::from_generation(&error, budget.field));
            }
            WorkerReply::OutOfTime => return Err(app.out_of_time()),
        }
        next = replies.recv().await.ok_or_else(ApiError::gone)?;
    }
}
