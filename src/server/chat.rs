//! `POST /v1/chat/completions`.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::State;
use axum::extract::rejection::BytesRejection;
use axum::http::{HeaderMap, header::CONTENT_TYPE};
use axum::response::{IntoResponse, Response};
use serde_json::Value;

use crate::generation::{Prompt, Protocol, Request, Usage};
use crate::strict_json;

use super::App;
use super::error::ApiError;
use super::messages;
use super::request::ChatRequest;
use super::response::{self, Choice, Head, Message, add_usage};
use super::stream::Chunks;
use super::tools;
use super::worker::{Replies, Reply, Texts};

/// One answer, or several, to a conversation.
pub(super) async fn completions(
    State(app): State<Arc<App>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, ApiError> {
    let chat = ChatRequest::read(json_body(&headers, body)?, &app.model)?;
    if let Some(error) = &app.no_chat {
        return Err(ApiError::bad(error.to_string()));
    }
    let head = Head::new(&app.model);
    let (stream, include_usage) = (chat.stream, chat.include_usage);
    // Large schemas take a while to compile: not on a thread that serves connections.
    let compile = {
        let app = Arc::clone(&app);
        move || requests(&app, chat)
    };
    let (texts, protocol) =
        tokio::task::spawn_blocking(compile).await.map_err(|_| ApiError::gone())??;
    let mut replies = app.worker.submit(texts)?;
    // The status line waits for the first reply, so that a request which the model's thread
    // refuses is refused as such, streamed or not.
    let first = match replies.recv().await {
        Some(Reply::Failed(error)) => return Err(ApiError::from_engine(&error)),
        Some(first) => first,
        None => return Err(ApiError::gone()),
    };
    match stream {
        true => {
            let head = (head, Arc::clone(&app.vocabulary), protocol);
            Ok(Chunks::new(head, first, replies, include_usage).into_response())
        }
        false => {
            let answer = whole(&app, head, &protocol, first, replies).await;
            answer.map(IntoResponse::into_response)
        }
    }
}

/// The body as JSON, whatever went wrong as an error object.
fn json_body(headers: &HeaderMap, body: Result<Bytes, BytesRejection>) -> Result<Value, ApiError> {
    let json =
        headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).is_some_and(|kind| {
            kind.split(';')
                .next()
                .is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
        });
    if !json {
        return Err(ApiError::media_type());
    }
    let body =
        body.map_err(|rejection| ApiError::body(rejection.status(), rejection.body_text()))?;
    strict_json::parse(&body).map_err(|error| ApiError::json(None, &error))
}

/// What the model's thread is asked for.
fn requests(app: &App, chat: ChatRequest) -> Result<(Texts, Protocol), ApiError> {
    let mut request = Request {
        sampling: chat.sampling,
        max_tokens: chat.max_tokens.unwrap_or(app.context_length),
        stop: chat.stop,
        prompt: Prompt::Chat(messages::readable(&app.engine, chat.messages)),
        ..chat.writing
    };
    let mut format = chat.format;
    let compiler = format.with_resources(&app.compiler)?;
    let asked = (chat.tools, chat.reasoning, &format);
    let protocol = tools::apply(&app.engine, &compiler, asked, &mut request)?;
    if request.beam.is_some() || request.best_of > 1 {
        return Ok((Texts::Best(Box::new(request), chat.choices), protocol));
    }
    // Choices differ in their seeds, so that one seed gives the same set again.
    Ok((Texts::Each(request.times(chat.choices)), protocol))
}

/// All choices in one answer.
async fn whole(
    app: &App,
    head: Head,
    protocol: &Protocol,
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
            Reply::Failed(error) => return Err(ApiError::from_engine(&error)),
        }
        next = replies.recv().await.ok_or_else(ApiError::gone)?;
    }
}
