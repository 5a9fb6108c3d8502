//! Handler of `POST /v1/chat/completions`: reads, compiles, submits, answers.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request as HttpRequest, State};
use axum::response::Response;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::engine::{Prompt, Protocol, Request, Usage};

use super::admission::BodyPermit;
use super::api_error::ApiError;
use super::app::App;
use super::generation::{PreparedRequest, respond_as_stream, respond_as_whole};
use super::json_text::json_text;
use super::request::{ChatRequest, MessageRequest, apply_tools, ignoring_unknown};
use super::response::{
    self, ChatCompletionObject, Choice, ChunkWriter, CompletionHead, MessageBuilder, WholeWriter,
    add_usage, prompt_logprobs,
};
use super::work::{JsonBody, blocking};
use super::worker::WorkerReply;

/// Answers a conversation, with one choice or several.
pub(super) async fn completions(
    State(app): State<Arc<App>>,
    request: HttpRequest,
) -> Result<Response, ApiError> {
    let mut body = JsonBody::read(&app, request).await?;
    let value = std::mem::take(&mut body.value);
    let read = || ChatRequest::read(value, &app.names, &app.generation);
    let (chat, ignored) = ignoring_unknown(app.ignore_unknown_fields, read)?;
    let (has_logprobs, prompt_logprobs) =
        (chat.generation.settings.logprobs, chat.generation.prompt_logprobs);
    let ends = [app.vocabulary.end_tokens(), &chat.generation.settings.stop_token_ids].concat();
    let prepared = prepare(&app, body, chat).await?;
    let head = CompletionHead::new(app.name(), &prepared.protocol);
    let protocol = prepared.protocol.clone();
    if prepared.stream {
        let options = (prepared.options, has_logprobs);
        let writer = ChunkWriter::new(head, Arc::clone(&app), protocol, options, ends);
        respond_as_stream(&app, prepared, writer, &ignored).await
    } else {
        let writer = WholeCompletion::new(head, Arc::clone(&app), protocol, prompt_logprobs);
        respond_as_whole(&app, prepared, writer, &ignored).await
    }
}

/// Compiles a request that was read, on a thread of the blocking pool. If the client leaves meanwhile, the
/// request gives up its turn.
pub(super) async fn prepare(
    app: &Arc<App>,
    mut body: JsonBody,
    mut chat: ChatRequest,
) -> Result<PreparedRequest, ApiError> {
    chat.think_by_template(&app.engine);
    if let Some(error) = &app.no_chat {
        return Err(ApiError::no_chat_template(error));
    }
    let turn = if chat.is_constrained() { Some(body.turn(app).await?) } else { None };
    let app = Arc::clone(app);
    blocking(move || {
        let began = Instant::now();
        let prepared = compile(&app, chat, body.permit.take());
        if turn.is_some() {
            app.worker.metrics().compile_time.observe(began.elapsed());
        }
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
    let ChatRequest {
        messages,
        prefill,
        format,
        tools,
        reasoning,
        constraint_key,
        mut template_variables,
        generation,
        ..
    } = chat;
    if let (Some(schema), Ok(template)) = (format.schema(), app.engine.model().chat_template()) {
        template.tell_schema(&schema, &mut template_variables);
    }
    let prompt = Prompt::Chat(messages);
    let mut request = Request {
        parse_special: app.parse_special,
        template_variables,
        ..generation.request(prompt, app.engine.model().context_length())
    };
    let mut format = format.with_cache(Arc::clone(&app.constraints), constraint_key);
    let compiler = format.configure(&app.compiler)?;
    let message = MessageRequest { tools, reasoning, format: &format, prefill };
    let protocol = apply_tools((&app.engine, &app.formats), &compiler, message, &mut request)?;
    PreparedRequest::new(app, vec![request], protocol, &generation, permit)
}

/// All choices in one object.
struct WholeCompletion {
    head: CompletionHead,
    app: Arc<App>,
    protocol: Protocol,
    /// The choices that are being written, with their log-probabilities.
    open: BTreeMap<usize, (MessageBuilder, Vec<Box<RawValue>>)>,
    ended: BTreeMap<usize, (Choice, Vec<Box<RawValue>>)>,
    usage: Usage,
    /// Number of alternatives to each token of the prompt, for the field `prompt_logprobs` of the answer.
    prompt_logprobs: Option<usize>,
    /// The tokens of the prompt.
    prompt: Option<Value>,
}

impl WholeCompletion {
    fn new(
        head: CompletionHead,
        app: Arc<App>,
        protocol: Protocol,
        prompt_logprobs: Option<usize>,
    ) -> Self {
        let (open, ended, usage) = (BTreeMap::new(), BTreeMap::new(), Usage::default());
        Self { head, app, protocol, open, ended, usage, prompt_logprobs, prompt: None }
    }

    fn open(&mut self, index: usize) -> &mut (MessageBuilder, Vec<Box<RawValue>>) {
        let protocol = &self.protocol;
        self.open.entry(index).or_insert_with(|| (MessageBuilder::new(protocol), Vec::new()))
    }
}

impl WholeWriter for WholeCompletion {
    type Whole = ChatCompletionObject;

    fn add(&mut self, reply: WorkerReply) {
        match reply {
            WorkerReply::Text(index, text) => self.open(index).0.text(&text),
            WorkerReply::Special(index, token) => {
                let name = self.app.vocabulary.token_name(token).into_owned();
                self.open(index).0.special(&name);
            }
            WorkerReply::Step(index, step) => {
                let logprob = response::logprob(&self.app.vocabulary, &step);
                self.open(index).1.extend(logprob.as_ref().map(json_text));
            }
            WorkerReply::Done(index, response) => {
                add_usage(&mut self.usage, &response.usage);
                // All choices have the same prompt.
                if let (None, Some(top), Some(tokens)) =
                    (&self.prompt, self.prompt_logprobs, &response.prompt_logprobs)
                {
                    self.prompt = Some(prompt_logprobs(&self.app.vocabulary, tokens, top));
                }
                self.open(index);
                let Some((message, mut tokens)) = self.open.remove(&index) else { return };
                // Tokens that a stop string cut off are not reported.
                tokens.truncate(response.text_tokens);
                let choice = Choice::new(*response, message.finish(), Vec::new());
                self.ended.insert(index, (choice, tokens));
            }
            WorkerReply::Finished | WorkerReply::Failed(_) | WorkerReply::OutOfTime => {}
        }
    }

    fn finish(&mut self) -> ChatCompletionObject {
        let choices = std::mem::take(&mut self.ended).into_values();
        self.head.completion(choices, &self.usage, self.prompt.take())
    }
}
