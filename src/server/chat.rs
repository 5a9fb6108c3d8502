//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{HeaderMap, header::CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::engine::{Prompt, Protocol, Request, Usage};
use crate::strict_json;

use super::App;
use super::body::{Held, Room};
use super::error::ApiError;
use super::messages;
use super::request::{ChatRequest, TokenBudget};
use super::response::{self, Choice, Head, Message, add_usage};
use super::stream::Chunks;
use super::tools;
use super::worker::{Replies, Reply, Texts};

/// One answer, or several, to a conversation.
pub(super) async fn completions(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let asked = prepare(&app, &parts.headers, body).await?;
    let head = Head::new(app.name());
    let mut replies = app.worker.submit(asked.texts, asked.room)?;
    if asked.stream {
        // The status line waits for the first reply, so that a request which the model's thread
        // refuses is refused as such, streamed or not; but not so long that a proxy gives up.
        let first = match tokio::time::timeout(app.bounds.silence, replies.recv()).await {
            Ok(first) => Some(begun(first, &app, asked.budget)?),
            Err(_) => None,
        };
        let chunks = (head, Arc::clone(&app), asked.protocol, asked.budget);
        return Ok(Chunks::new(chunks, first, replies, asked.include_usage).into_response());
    }
    let first = begun(replies.recv().await, &app, asked.budget)?;
    let answer = whole(&app, head, (&asked.protocol, asked.budget), first, replies).await;
    answer.map(IntoResponse::into_response)
}

/// The first reply, unless it is that there will be no answer.
fn begun(first: Option<Reply>, app: &App, budget: TokenBudget) -> Result<Reply, ApiError> {
    match first {
        Some(Reply::Failed(error)) => Err(ApiError::from_engine_within(&error, budget)),
        Some(Reply::OutOfTime) => Err(app.out_of_time()),
        Some(first) => Ok(first),
        None => Err(ApiError::gone()),
    }
}

/// What a request asks of the model's thread, and how the answer is told.
struct Asked {
    texts: Texts,
    /// What its body takes.
    room: Option<Room>,
    protocol: Protocol,
    budget: TokenBudget,
    stream: bool,
    include_usage: bool,
}

/// Reads and compiles a request, not on a thread that serves connections, and at most so many at a
/// time as leave the model's thread a core. A client that leaves while it waits for its turn is
/// not waited for any more.
async fn prepare(app: &Arc<App>, headers: &HeaderMap, body: Body) -> Result<Asked, ApiError> {
    check_media_type(headers)?;
    let body = app.bodies.read(body).await?;
    let turn = if body.is_large() { Some(app.turn().await?) } else { None };
    let (read, turn) = {
        let app = Arc::clone(app);
        blocking(move || (read(&app, body), turn)).await?
    };
    let (chat, room) = read?;
    if let Some(error) = &app.no_chat {
        return Err(ApiError::no_chat_template(error));
    }
    let turn = match turn {
        None if chat.is_constrained() => Some(app.turn().await?),
        turn => turn,
    };
    let app = Arc::clone(app);
    blocking(move || {
        let prepared = requests(&app, chat, room);
        drop(turn);
        prepared
    })
    .await?
}

/// Does work that takes a while on a thread of its own.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|_| ApiError::gone())
}

fn check_media_type(headers: &HeaderMap) -> Result<(), ApiError> {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/json") { Ok(()) } else { Err(ApiError::media_type()) }
}

fn read(app: &App, body: Held) -> Result<(ChatRequest, Option<Room>), ApiError> {
    let Held { bytes, room } = body;
    let value = strict_json::parse(&bytes).map_err(|error| ApiError::json(None, &error))?;
    drop(bytes);
    Ok((ChatRequest::read(value, &app.names)?, room))
}

/// What the model's thread is asked for.
fn requests(app: &App, chat: ChatRequest, room: Option<Room>) -> Result<Asked, ApiError> {
    let (stream, include_usage) = (chat.stream, chat.include_usage);
    let mut request = Request {
        sampling: chat.sampling,
        max_tokens: chat.budget.tokens.unwrap_or(app.context_length),
        stop: chat.stop,
        parse_special: app.parse_special,
        prompt: Prompt::Chat(messages::readable(&app.engine, chat.messages)),
        ..chat.writing
    };
    let mut format = chat.format;
    let compiler = format.with_resources(&app.compiler)?;
    let asked = (chat.tools, chat.reasoning, &format);
    let protocol = tools::apply(&app.engine, &compiler, asked, &mut request)?;
    // What cannot fit is told now: the model's thread is for texts that can be written.
    let budget = chat.budget;
    let fits = request.check_budget(app.context_length);
    fits.map_err(|error| ApiError::from_engine_within(&error, budget))?;
    let texts = if request.beam.is_some() || request.best_of > 1 {
        Texts::Best(Box::new(request), chat.choices)
    } else {
        // Choices differ in their seeds, so that one seed gives the same set again.
        Texts::Each(request.times(chat.choices))
    };
    Ok(Asked { texts, room, protocol, budget, stream, include_usage })
}

/// All choices in one answer.
async fn whole(
    app: &App,
    head: Head,
    (protocol, budget): (&Protocol, TokenBudget),
    first: Reply,
    mut replies: Replies,
) -> Result<Json<Value>, ApiError> {
    let mut message = Message::new(protocol);
    let (mut choices, mut usage) = (Vec::new(), Usage::default());
    let mut tokens = Vec::new();
    let mut next = first;
    loop {
        match next {
            Reply::Text(_, text) => message.text(&text),
            Reply::Special(_, token) => message.special(&app.vocabulary.token_name(token)),
            Reply::Step(step) => tokens.extend(response::logprob(&app.vocabulary, &step)),
            Reply::Done(_, response) => {
                add_usage(&mut usage, &response.usage);
                let message = std::mem::replace(&mut message, Message::new(protocol)).finish();
                // What a stop string cut off is not told of.
                tokens.truncate(response.text_tokens);
                choices.push(Choice::new(*response, message, std::mem::take(&mut tokens)));
            }
            Reply::Finished => return Ok(Json(head.completion(&choices, &usage))),
            Reply::Failed(error) => return Err(ApiError::from_engine_within(&error, budget)),
            Reply::OutOfTime => return Err(app.out_of_time()),
        }
        next = replies.recv().await.ok_or_else(ApiError::gone)?;
    }
}
