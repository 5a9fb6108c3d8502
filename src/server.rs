//! The OpenAI-compatible HTTP server.
//!
//! | path | |
//! |---|---|
//! | `POST /v1/chat/completions` | an answer, whole or streamed, under a `response_format` |
//! | `GET /v1/models`, `GET /v1/models/{model}` | the one model that is served |
//! | `GET /health` | the server is up |
//!
//! A connection (`connections`) brings requests, each of which goes from `routes` through `chat`,
//! which reads its body (`body`) and what it says (`request`, field by field) and compiles its
//! constraint, so many at a time as leave the model a core, to the one thread that owns the model (`worker`); what that thread
//! writes comes back over a channel and leaves as one answer or as events (`response`). Whatever
//! is wrong becomes an `ApiError`, OpenAI's error object.
//!
//! Deliberately absent: a field that would change the answer is never ignored. It is enforced, or
//! the request is refused with the field's name.

mod auth;
mod body;
mod bounds;
mod chat;
mod connections;
mod constraint;
mod error;
mod fields;
mod messages;
mod models;
mod request;
mod response;
mod routes;
mod sampling;
mod stream;
mod tools;
mod worker;

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::engine::Engine;
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema;
use crate::vocabulary::Vocabulary;
use crate::{Compiler, Limits};

pub use bounds::Bounds;

use auth::Keys;
use body::Bodies;
use error::ApiError;
use worker::Worker;

/// How long requests in flight may go on once the server is told to stop.
const DRAIN: Duration = Duration::from_secs(10);

/// What a server is told beside its model and its address.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Requests must carry one of these as a bearer token; where there are none, all are served.
    pub api_keys: Vec<String>,
    /// The names that requests may call the model by, the first of which answers do, too; the model's
    /// own where there are none.
    pub model_names: Vec<String>,
    /// How JSON is written where a request says nothing else, and what references may lead to.
    pub json_options: json_schema::Options,
    /// The limits of constraints.
    pub limits: Limits,
    /// Bounds on what one client may take of the server.
    pub bounds: Bounds,
    /// Names of special tokens in messages and tools are these tokens, not text
    /// ([`Request::parse_special`](crate::engine::Request::parse_special)).
    pub parse_special: bool,
}

/// What every handler may look at.
struct App {
    /// One at least.
    names: Vec<String>,
    created: u64,
    keys: Keys,
    compiler: Compiler,
    vocabulary: Arc<Vocabulary>,
    /// The model that the worker runs, for what is known of it without running it.
    engine: Engine,
    context_length: usize,
    parse_special: bool,
    /// Why conversations cannot be answered, where the model has no chat template.
    no_chat: Option<Error>,
    worker: Worker,
    bounds: Bounds,
    bodies: Bodies,
    /// One permit for each constraint that may be compiled at a time.
    compiles: Arc<Semaphore>,
}

impl App {
    /// The name that answers call the model by.
    fn name(&self) -> &str {
        self.names.first().map_or("", String::as_str)
    }

    /// Waits for the turn to compile a constraint, which lasts as long as what comes back.
    async fn turn(&self) -> std::result::Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.compiles).acquire_owned().await.map_err(|_| ApiError::gone())
    }

    /// The model has worked on a request for as long as it may.
    fn out_of_time(&self) -> ApiError {
        ApiError::out_of_time(self.bounds.request.unwrap_or_default())
    }
}

/// A server that holds its port and its model, ready to [`run`](Self::run).
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    app: Arc<App>,
}

impl Server {
    /// Takes a port; errors at once where another process has it.
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
    pub fn new(listener: TcpListener, engine: Engine, options: Options) -> Result<Self> {
        let address = listener.local_addr().map_err(socket)?;
        let Options { api_keys, model_names, json_options, limits, bounds, parse_special } =
            options;
        let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
        let compiler =
            if limits == Limits::default() { compiler } else { compiler.with_limits(limits) };
        let app = Arc::new(App {
            names: if model_names.is_empty() { vec![engine.model().name()] } else { model_names },
            created: response::now(),
            keys: Keys::new(&api_keys),
            compiler: compiler.with_json_options(json_options),
            vocabulary: Arc::clone(engine.vocabulary()),
            context_length: engine.model().context_length(),
            parse_special,
            no_chat: engine.model().chat_template().err(),
            engine: engine.clone(),
            worker: Worker::start(engine, bounds.request)?,
            bodies: Bodies::new(&bounds),
            compiles: Arc::new(Semaphore::new(bounds.compiles.clamp(1, Semaphore::MAX_PERMITS))),
            bounds,
        });
        Ok(Self { listener, address, app })
    }

    /// Where it listens; tells the port where 0 was asked for.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `stop` is ready and the requests in flight are answered (or have had a few
    /// seconds more). Blocks the thread; must not be called inside an async runtime.
    pub fn run(self, stop: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|error| {
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
        let bounds = self.app.bounds.clone();
        connections::serve(listener, routes::router(self.app), &bounds, stop, DRAIN).await;
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
