//! The HTTP server from outside: a socket, requests as text, answers as OpenAI's clients read them.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod answers;
mod bounds;
mod completions;
mod constraint_endpoints;
mod constraints;
mod decisions;
mod documented;
mod documents;
mod errors;
mod messages;
#[path = "../model_support/mod.rs"]
mod model_support;
mod playground;
mod reasoning;
mod responses;
mod serving;
mod settings;
mod tools;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::time::Duration;

use maskwright::engine::{Engine, EngineOptions};
use maskwright::model::{ModelOptions, ModelSource};
use maskwright::server::{Server, ServerOptions};
use model_support::hey;
use serde_json::{Value, json};

/// Time for an answer before a test gives up.
const PATIENCE: Duration = Duration::from_secs(120);

/// Serves a model on a free port, as long as the test runs.
fn serve(folder: PathBuf, api_keys: &[&str]) -> SocketAddr {
    let api_keys = api_keys.iter().map(|&key| key.to_owned()).collect();
    serve_by(folder, ServerOptions { api_keys, ..ServerOptions::default() })
}

/// The same with other options.
fn serve_by(folder: PathBuf, options: ServerOptions) -> SocketAddr {
    serve_by_engine(folder, options, EngineOptions::default())
}

/// The same with an engine of other options, too.
fn serve_by_engine(
    folder: PathBuf,
    options: ServerOptions,
    engine_options: EngineOptions,
) -> SocketAddr {
    let server = server(folder, options, engine_options);
    let address = server.address();
    std::thread::spawn(move || server.run(std::future::pending()).unwrap());
    address
}

/// A server on a free port, which does not run yet.
fn server(folder: PathBuf, options: ServerOptions, engine_options: EngineOptions) -> Server {
    let source = ModelSource::Folder(folder);
    let engine = Engine::load(&ModelOptions { source, ..Default::default() }).unwrap();
    // It guesses for itself.
    let draft = engine.model().clone();
    let engine = engine.with_draft(draft).unwrap().with_options(engine_options);
    let listener = Server::listen(([127, 0, 0, 1], 0).into()).unwrap();
    Server::new(listener, engine, options).unwrap()
}

/// A server of `hey` with another chat template.
fn serve_with(name: &str, template: &str) -> SocketAddr {
    let folder = hey(name);
    std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    serve(folder, &[])
}

struct Answer {
    status: u16,
    headers: BTreeMap<String, String>,
    body: String,
}

impl Answer {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }

    /// The data of all server-sent events.
    fn events(&self) -> Vec<String> {
        assert_eq!(self.headers["content-type"], "text/event-stream");
        let events = self.body.split_terminator("\n\n");
        events.map(|event| event.strip_prefix("data: ").unwrap().to_owned()).collect()
    }
}

fn connect(address: SocketAddr, head: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{head}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    stream
}

/// One request: a request line with headers, and a body. The answer is one that the OpenAPI document has.
fn send(address: SocketAddr, head: &str, body: &str) -> Answer {
    let line = head.lines().next().unwrap();
    let mut answer = Vec::new();
    connect(address, head, body).read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let mut lines = head.lines();
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: BTreeMap<String, String> = lines
        .map(|line| line.split_once(": ").unwrap())
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let chunked = headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked");
    let body = if chunked { dechunk(body) } else { body.to_owned() };
    let answer = Answer { status, headers, body };
    documented::check(line, &answer);
    answer
}

fn dechunk(mut body: &str) -> String {
    let mut text = String::new();
    loop {
        let (length, rest) = body.split_once("\r\n").unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return text;
        }
        text += &rest[..length];
        body = &rest[length + 2..];
    }
}

const CHAT: &str = "POST /v1/chat/completions HTTP/1.1\r\nContent-Type: application/json";

/// A chat completion of a model of this name, with these fields beside the messages.
fn chat(address: SocketAddr, model: &str, extra: Value) -> Answer {
    let mut body = json!({
        "model": model,
        "messages": [{ "role": "user", "content": "Hello" }],
        "temperature": 0,
    });
    body.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    send(address, CHAT, &body.to_string())
}
