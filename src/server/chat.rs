//! Handler of `POST /v1/chat/completions`: reads, compiles, submits, answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::Json;
use axum::extract::{Request as HttpRequest, State};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::engine::{Prompt, Protocol, Request, Usage};

use super::admission::BodyPermit;
use super::api_error::ApiError;
use super::app::App;
use super::generation::{PreparedRequest, first_of_stream, first_reply};
use super::request::{ChatRequest, TokenBudget, apply_tools, ignoring_unknown, readable_messages};
use super::response::{
    self, Choice, ChunkWriter, CompletionHead, EventStream, MessageBuilder, add_usage,
};
use super::work::{JsonBody, blocking, with_ignored};
use super::worker::{Replies, WorkerReply};

/// Answers a conversation, with one choice or several.
pub(super) async fn completions(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let (prepared, ignored) = prepare(&app, request).await?;
    let head = CompletionHead::new(app.name(), &prepared.protocol);
    let (budget, protocol) = (prepared.budget, prepared.protocol.clone());
    let (stream, options) = (prepared.stream, prepared.options);
    let mut replies = prepared.submit(&app).await?;
    if stream {
        let first = first_of_stream(&mut replies, &app, budget).await?;
        let writer = ChunkWriter::new(head, Arc::clone(&app), protocol, options);
        let stream = EventStream::new((app, budget), writer, first, replies);
        return Ok(with_ignored(stream.into_response(), &ignored));
    }
    let first = first_reply(replies.recv().await, &app, budget)?;
    let answer = whole(&app, head, (&protocol, budget), first, replies).await;
    answer.map(|answer| with_ignored(answer.into_response(), &ignored))
}

/// Reads and compiles a request, on a thread of the blocking pool. If the client leaves meanwhile, the
/// request gives up its turn.
async fn prepare(
    app: &Arc<App>,
    request: HttpRequest,
) -> Result<(PreparedRequest, Vec<String>), ApiError> {
    let mut body = JsonBody::read(app, request).await?;
    let value = std::mem::take(&mut body.value);
    let ignore = app.ignore_unknown_fields;
    let (mut chat, ignored) =
        ignoring_unknown(ignore, || ChatRequest::read(value, &app.names, &app.defaults))?;
    chat.think_by_template(&app.engine);
    if let Some(error) = &app.no_chat {
        return Err(ApiError::no_chat_template(error));
    }
    let turn = if chat.is_constrained() { Some(body.turn(app).await?) } else { None };
    let app = Arc::clone(app);
    blocking(move || {
        let began = Instant::now();
        let is_constrained = chat.is_constrained();
        let prepared = compile(&app, chat, body.permit.take());
        if is_constrained {
            app.worker.metrics().compile_time.observe(began.elapsed());
        }
        drop((turn, body));
        prepared.map(|prepared| (prepared, ignored))
    })
    .await?
}

/// Compiles a request.
pub(super) fn compile(
    app: &App,
    chat: ChatRequest,
    permit: Option<BodyPermit>,
) -> Result<PreparedRequest, ApiError> {
    let ChatRequest {
        messages,
        format,
        tools,
        reasoning,
        constraint_key,
        template_variables,
        generation,
    } = chat;
    let prompt = Prompt::Chat(readable_messages(&app.engine, messages));
    let mut request = Request {
        parse_special: app.parse_special,
        template_variables,
        ..generation.request(prompt, app.context_length)
    };
    let mut format = format.with_cache(Arc::clone(&app.constraints), constraint_key);
    let compiler = format.configure(&app.compiler)?;
    let tool_fields = (tools, reasoning, &format);
    let protocol = apply_tools((&app.engine, &app.formats), &compiler, tool_fields, &mut request)?;
    PreparedRequest::new(app, vec![request], protocol, &generation, permit)
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
