//! The HTTP server: OpenAI's and Anthropic's APIs, decisions, and constraint checks.
//!
//! | path | |
//! |---|---|
//! | `POST /v1/chat/completions` | an answer, whole or streamed, under a `response_format` |
//! | `POST /v1/completions` | the continuation of a text, likewise |
//! | `POST /v1/responses`, `…/input_tokens`; `GET`, `DELETE …/{id}`; `…/{id}/cancel`, `…/{id}/input_items` | OpenAI's Responses API |
//! | `POST /v1/messages`, `…/count_tokens` | Anthropic's API |
//! | `POST /v1/decisions` | probabilities of labels, without writing a text |
//! | `POST /v1/constraints/…` | check, lint, mask and sample, without the model |
//! | `POST /v1/tokenize`, `/v1/detokenize` | text to tokens, and back |
//! | `GET /tokenizer_info` | BOS and EOS tokens, chat template and context length, as vLLM has it |
//! | `GET /v1/models`, `GET /v1/models/{model}` | the one model that is served |
//! | `GET /openapi.json` | the API, as an OpenAPI document |
//! | `GET /health`, `GET /ready` | the server is up; it has room |
//! | `GET /metrics` | the figures of the engine, for Prometheus |
//! | `GET /` | the playground |
//!
//! A request on its way:
//!
//! ```text
//! admission/   connection accepted, key checked, body read        (bounds on what a client may take)
//! routes       path → handler
//! chat         the handler: reads, compiles, submits, answers; beside it completions, responses, messages, decisions
//! work         body → JSON; the pool of compiles
//! request/     body → ChatRequest, field by field
//! generation   requests → replies of the worker
//! worker       one thread that drives the engine, all requests side by side
//! playground   the page at `/`, and its files
//! response/    replies → one object, or a stream of events
//! json_text    parts of an answer that are kept, as JSON text
//! request_log  one event a request, with its id, status, times and tokens
//! api_error    any error → OpenAI's error object
//! ```
//!
//! Reading and compiling run on tokio's blocking pool, as many at a time as leave the model a core.
//! To add a field of a request, see `server/request.rs`; to add a route, `server/routes.rs`.
//!
//! A field that would change the answer is enforced or refused by name.

mod admission;
mod api_error;
mod app;
mod chat;
mod completions;
mod constraints;
mod copies;
mod cors;
mod decisions;
mod generation;
mod histogram;
mod json_text;
mod messages;
mod metrics;
mod models;
mod observe;
mod openapi;
mod playground;
mod refusals;
mod request;
mod request_id;
mod request_log;
mod response;
mod response_store;
mod responses;
mod routes;
mod shutdown;
mod tokens;
mod work;
mod worker;

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use axum::middleware;
use tokio::sync::Semaphore;

use crate::constraint::ConstraintCache;
use crate::engine::{Engine, MessageFormats};
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema;
use crate::model::GenerationConfig;
use crate::{Compiler, Limits};

pub use admission::{DecisionBounds, GenerationBounds, ServerBounds};

use admission::{ApiKeys, BodyReader};
use app::App;
use request::GenerationSettings;
use response_store::ResponseStore;
use shutdown::Shutdown;
use worker::Worker;

/// Stack of the threads that read and compile constraints: what they recurse over is bounded, but in its own measure
/// (groups, definitions, alternatives).
const THREAD_STACK_BYTES: usize = 16 << 20;

/// Options of a server, beside its model and its address.
#[derive(Clone, Debug, Default)]
pub struct ServerOptions {
    /// Keys of which requests must carry one as a bearer token; without any, all requests are served.
    pub api_keys: Vec<String>,
    /// Names of the model in requests; answers use the first. Empty for the model's own name.
    pub model_names: Vec<String>,
    /// Options of JSON for requests that choose none, and the documents that references may lead to.
    pub json_options: json_schema::Options,
    /// The limits of constraints.
    pub limits: Limits,
    /// Bounds on what one client may take of the server.
    pub bounds: ServerBounds,
    /// Whether names of special tokens in messages and tools are these tokens, not text
    /// ([`Request::parse_special`](crate::engine::Request::parse_special)).
    pub parse_special: bool,
    /// Origins of web pages that may use the server (`https://example.org`, or `*` for all); none
    /// where there are none.
    pub cors_origins: Vec<String>,
    /// Whether fields of requests that this server does not know are left out, and named in the
    /// header `x-ignored-fields`, instead of refused.
    pub ignore_unknown_fields: bool,
    /// The formats of tool calls and reasoning; those of the chat template where they are not given.
    pub formats: MessageFormats,
    /// The settings of generation for what a request does not say; `None` for those that the model
    /// comes with ([`Model::generation_config`](crate::model::Model::generation_config)).
    pub generation_config: Option<GenerationConfig>,
    /// Whether there is no page at `/` to try the server with.
    pub without_playground: bool,
}

/// A server that holds its port and its model, ready to [`run`](Self::run).
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Binds a port; errors at once if another process has it.
    pub fn listen(address: SocketAddr) -> Result<TcpListener> {
        TcpListener::bind(address).map_err(|error| {
            let port = address.port();
            let help = match error.kind() {
                std::io::ErrorKind::AddrInUse => "choose another --port, or 0 for any free one",
                std::io::ErrorKind::PermissionDenied => "choose a --port from 1024 up",
                _ => "choose a --host that this machine has",
            };
            let message = format!("cannot listen on {}, port {port}: {error}", address.ip());
            Error::new(ErrorKind::Io, message).with_help(help).with_source(error)
        })
    }

    /// A server of this model on a listener that [`listen`](Self::listen) made.
    pub fn new(listener: TcpListener, engine: Engine, options: ServerOptions) -> Result<Self> {
        let address = listener.local_addr().map_err(socket)?;
        let ServerOptions {
            api_keys,
            model_names,
            json_options,
            limits,
            bounds,
            parse_special,
            cors_origins,
            ignore_unknown_fields,
            formats,
            generation_config,
            without_playground,
        } = options;
        let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
        let compiler =
            if limits == Limits::default() { compiler } else { compiler.with_limits(limits) };
        formats.check(&compiler)?;
        let app = Arc::new(App {
            names: if model_names.is_empty() { vec![engine.model().name()] } else { model_names },
            created: response::now(),
            keys: ApiKeys::new(&api_keys),
            compiler: compiler.with_json_options(json_options),
            constraints: Arc::new(ConstraintCache::new(bounds.constraint_cache_bytes)),
            vocabulary: Arc::clone(engine.vocabulary()),
            context_length: engine.context_length(),
            parse_special,
            cors_origins,
            ignore_unknown_fields,
            formats,
            generation: GenerationSettings::new(
                &match generation_config {
                    Some(config) => config.for_width(engine.vocabulary().len()),
                    None => engine.model().generation_config()?.clone(),
                },
                bounds.generation.clone(),
            ),
            no_chat: engine.model().chat_template().err(),
            engine: engine.clone(),
            worker: Worker::start(engine, bounds.request_timeout, bounds.max_waiting)?,
            bodies: BodyReader::new(&bounds),
            compiles: Arc::new(Semaphore::new(
                bounds.max_compiles.clamp(1, Semaphore::MAX_PERMITS),
            )),
            bounds,
            shutdown: Shutdown::default(),
            has_playground: !without_playground,
            refusals: Arc::default(),
            responses: ResponseStore::default(),
        });
        Ok(Self { listener, address, app })
    }

    /// Address of the listener, with the port that the system chose for 0.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready and the requests in flight are answered, or have been cut off with
    /// an error after [`ServerBounds::drain_timeout`]. New requests are refused meanwhile. Blocks the
    /// thread; must not be called inside an async runtime.
    pub fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.enable_all().thread_stack_size(THREAD_STACK_BYTES).build();
        let runtime = runtime.map_err(|error| {
            let message = format!("cannot start threads: {error}");
            Error::new(ErrorKind::Io, message).with_source(error)
        })?;
        let result = runtime.block_on(self.serve(stop));
        runtime.shutdown_background();
        result
    }

    async fn serve(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        self.listener.set_nonblocking(true).map_err(socket)?;
        let listener = tokio::net::TcpListener::from_std(self.listener).map_err(socket)?;
        let (bounds, app) = (self.app.bounds.clone(), Arc::clone(&self.app));
        let refusals = Arc::clone(&self.app.refusals);
        let log = middleware::from_fn_with_state(Arc::clone(&refusals), observe::observe);
        let router = routes::router(self.app).layer(log);
        let too_many = move || refusals.count("too_many_connections");
        admission::serve(listener, router, (&bounds, &too_many), stop, &app.shutdown).await;
        Ok(())
    }
}

fn socket(error: std::io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("the listening socket failed: {error}")).with_source(error)
}

/// Ready when the process is asked to end: Ctrl-C, or SIGTERM on Unix. A second Ctrl-C ends the
/// process at once.
pub async fn interrupted() {
    let interrupt = async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    };
    #[cfg(unix)]
    let terminate = async {
        use tokio::signal::unix::{SignalKind, signal};
        match signal(SignalKind::terminate()) {
            Ok(mut terminate) => {
                terminate.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
    };
    #[cfg(not(unix))]
    let terminate = std::future::pending::<()>();
    tokio::select! {
        () = interrupt => {}
        () = terminate => {}
    }
    tokio::spawn(async {
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(130); // 128 + SIGINT, as shells report it
        }
    });
}
