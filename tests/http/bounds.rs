//! Bounds on what a client can take: bytes, connections and time.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use maskwright::engine::EngineOptions;
use maskwright::server::{ServerBounds, ServerOptions};
use serde_json::{Value, json};

use crate::model_support::{hey, parrot};
use crate::{CHAT, PATIENCE, chat, connect, send, serve, serve_by, serve_by_engine, server};

const SOON: Duration = Duration::from_millis(50);

fn bounded(change: impl FnOnce(&mut ServerBounds)) -> ServerOptions {
    let mut options = ServerOptions::default();
    change(&mut options.bounds);
    options
}

/// A connection on which this was sent, and nothing more.
fn half(address: SocketAddr, sent: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(sent.as_bytes()).unwrap();
    stream
}

/// Reads until the server closes the connection.
fn rest(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    // A connection that is reset is closed, too.
    let _ = stream.read_to_string(&mut answer);
    answer
}

#[test]
fn half_a_request_is_not_waited_for() {
    let address = serve_by(
        hey("http-halves"),
        // Long enough for a whole head on a busy machine.
        bounded(|bounds| (bounds.head_timeout, bounds.body_timeout) = (20 * SOON, SOON)),
    );
    assert_eq!(rest(half(address, "")), "");
    assert_eq!(rest(half(address, "POST /v1/chat/completions HTTP/1.1\r\nHost: lo")), "");
    let head = format!("{CHAT}\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n{{");
    let answer = rest(half(address, &head));
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.contains("did not arrive within 50ms") && answer.contains("\"error\""));
    // Nor is the next request of a connection.
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let answer = rest(half(address, get));
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.ends_with("{\"status\":\"ok\"}"));
}

#[test]
fn connections_beyond_the_bound_are_told_so() {
    let address = serve_by(hey("http-connections"), bounded(|bounds| bounds.max_connections = 2));
    let idle: Vec<TcpStream> = (0..2).map(|_| half(address, "GET /health HTTP/1.1\r\n")).collect();
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let stream = half(address, get);
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let answer = rest(stream);
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("retry-after: 1") && answer.contains("too many connections"));
    drop(idle);
    // The places are free when the server has seen that they are.
    while !rest(half(address, get)).starts_with("HTTP/1.1 200 ") {
        std::thread::yield_now();
    }
}

#[test]
fn bodies_are_bounded_alone_and_together() {
    let model = "http-bodies";
    let mut options = bounded(|bounds| {
        (bounds.max_body_bytes, bounds.max_total_body_bytes) = (100 << 10, 150 << 10)
    });
    options.bounds.max_compiles = 1;
    let address = serve_by(hey(model), options);
    let padded = |length: usize| {
        let body = json!({ "model": model, "messages": [{ "role": "user", "content": "x" }],
            "max_tokens": 1, "user": "" })
        .to_string();
        let padding = length - body.len();
        body + &" ".repeat(padding)
    };
    assert_eq!(send(address, CHAT, &padded(100 << 10)).status, 200);
    let answer = send(address, CHAT, &padded((100 << 10) + 1));
    assert_eq!(answer.status, 413, "{}", answer.body);
    // One that does not tell its length.
    let mut stream =
        half(address, &format!("{CHAT}\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"));
    let chunk = format!("{:x}\r\n{}\r\n", 101 << 10, " ".repeat(101 << 10));
    let _ = stream.write_all(chunk.as_bytes());
    let answer = rest(stream);
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    // As long as one is read another one waits, but small ones do not.
    let head = format!(
        "{CHAT}\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        100 << 10
    );
    let body = padded(100 << 10);
    let (most, last) = body.split_at(body.len() - 1);
    let mut slow: Vec<TcpStream> = (0..3).map(|_| half(address, &(head.clone() + most))).collect();
    assert_eq!(send(address, CHAT, &padded(1000)).status, 200);
    for stream in &mut slow {
        stream.write_all(last.as_bytes()).unwrap();
    }
    for stream in slow {
        assert!(rest(stream).starts_with("HTTP/1.1 200 "));
    }
    // Who waits for too long is told to come back. The room goes from one slow body to the next, which
    // came half of a body's time later: at no time of the third one's waiting is it free.
    let address = serve_by(
        hey("http-no-room"),
        bounded(|bounds| {
            (bounds.max_body_bytes, bounds.max_total_body_bytes, bounds.body_timeout) =
                (100 << 10, 150 << 10, 20 * SOON);
        }),
    );
    let _first = half(address, &head);
    std::thread::sleep(10 * SOON);
    let _second = half(address, &head);
    std::thread::sleep(2 * SOON);
    let answer = send(address, CHAT, &body);
    assert_eq!(answer.status, 503, "{}", answer.body);
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(answer.json()["error"]["code"], "overloaded");
}

#[test]
fn a_request_has_its_time() {
    // A text that would not end in this test's lifetime.
    let endless = parrot("http-out-of-time", &[(b'>', 97), (b'a', 97)], 1 << 30);
    let address = serve_by(endless, bounded(|bounds| bounds.request_timeout = Some(SOON)));
    let answer = chat(address, "http-out-of-time", json!({}));
    assert_eq!(answer.status, 504, "{}", answer.body);
    assert_eq!(answer.json()["error"]["code"], "timeout");
    assert!(answer.body.contains("--request-timeout"), "{}", answer.body);
    let events = chat(address, "http-out-of-time", json!({ "stream": true })).events();
    let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
    assert_eq!(last["error"]["code"], "timeout", "{last}");
    assert!(events.iter().all(|event| !event.contains("\"finish_reason\":\"stop\"")));
    // Both are counted, though the status of the stream was 200.
    let metrics = send(address, "GET /metrics HTTP/1.1", "").body;
    assert!(metrics.contains("requests_total{reason=\"timeout\"} 2"), "{metrics}");
}

/// Its time begins with its turn: what waits longer than that for others has all of it.
#[test]
fn the_time_of_a_request_begins_with_its_turn() {
    let model = "http-time-of-turn";
    let endless = parrot(model, &[(b'>', 97), (b'a', 97)], 1 << 30);
    let options = bounded(|bounds| bounds.request_timeout = Some(20 * SOON));
    let one_at_a_time = EngineOptions { max_running: 1, ..EngineOptions::default() };
    let address = serve_by_engine(endless, options, one_at_a_time);
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": "x" }],
        "temperature": 0, "stream": true })
    .to_string();
    let mut first = connect(address, CHAT, &body);
    first.read_exact(&mut [0]).unwrap();
    let second = connect(address, CHAT, &body);
    // The second one stands in the queue before the third comes.
    while !send(address, "GET /metrics HTTP/1.1", "").body.contains("requests_waiting 1\n") {
        std::thread::yield_now();
    }
    let third = chat(address, model, json!({ "max_tokens": 2 }));
    assert_eq!(third.status, 200, "{}", third.body);
    for stream in [first, second] {
        assert!(rest(stream).contains("\"code\":\"timeout\""));
    }
}

/// A stream that waits for the model begins all the same, with comments.
#[test]
fn a_stream_that_waits_is_kept_alive() {
    let endless = parrot("http-silence", &[(b'>', 97), (b'a', 97)], 1 << 30);
    let options = bounded(|bounds| bounds.keep_alive_delay = SOON);
    let one_at_a_time = EngineOptions { max_running: 1, ..EngineOptions::default() };
    let address = serve_by_engine(endless, options, one_at_a_time);
    let body = |tokens: Option<u64>| {
        json!({ "model": "http-silence", "messages": [{ "role": "user", "content": "x" }],
            "temperature": 0, "stream": true, "max_tokens": tokens })
        .to_string()
    };
    let mut running = connect(address, CHAT, &body(None));
    let mut byte = [0];
    running.read_exact(&mut byte).unwrap();
    let mut waiting = connect(address, CHAT, &body(Some(2)));
    let mut seen = Vec::new();
    while !seen.ends_with(b": keep-alive\n\n") {
        waiting.read_exact(&mut byte).unwrap();
        seen.extend(byte);
    }
    assert!(seen.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&seen));
    drop(running);
    let answer = rest(waiting);
    assert!(answer.contains("\"content\":\"aa\"") || answer.contains("\"content\":\"a\""));
    assert!(answer.contains("data: [DONE]"), "{answer}");
}

/// A request that finds the queue full is told to come back, as OpenAI tells it; a load balancer that the server is
/// not ready.
#[test]
fn a_full_queue_is_told_so() {
    let model = "http-full-queue";
    let endless = parrot(model, &[(b'>', 97), (b'a', 97)], 1 << 30);
    let options = bounded(|bounds| bounds.max_waiting = 1);
    let one_at_a_time = EngineOptions { max_running: 1, ..EngineOptions::default() };
    let address = serve_by_engine(endless, options, one_at_a_time);
    let get = "GET /ready HTTP/1.1";
    assert_eq!(send(address, get, "").status, 200);
    let body = json!({ "model": model, "messages": [{ "role": "user", "content": "x" }],
        "temperature": 0, "stream": true, "n": 2 })
    .to_string();
    let mut running = connect(address, CHAT, &body);
    running.read_exact(&mut [0]).unwrap();
    let answer = chat(address, model, json!({}));
    assert_eq!((answer.status, &*answer.headers["retry-after"]), (429, "1"), "{}", answer.body);
    assert_eq!(answer.json()["error"]["code"], "rate_limit_exceeded");
    let ready = send(address, get, "");
    assert_eq!((ready.status, &*ready.headers["retry-after"]), (503, "1"), "{}", ready.body);
    let metrics = send(address, "GET /metrics HTTP/1.1", "").body;
    assert!(metrics.contains("requests_total{reason=\"queue_full\"} 1"), "{metrics}");
}

/// A server that is told to stop refuses what is new, and cuts off with an error what takes too long.
#[test]
fn a_server_that_stops_says_so() {
    let model = "http-stopping";
    let endless = parrot(model, &[(b'>', 97), (b'a', 97)], 1 << 30);
    let options = bounded(|bounds| bounds.drain_timeout = 40 * SOON);
    let server = server(endless, options, EngineOptions::default());
    let address = server.address();
    let (stop, stopped) = tokio::sync::oneshot::channel();
    let running = std::thread::spawn(move || {
        server.run(async move {
            let _ = stopped.await;
        })
    });
    let body = |stream: bool| {
        json!({ "model": model, "messages": [{ "role": "user", "content": "x" }],
            "temperature": 0, "stream": stream })
        .to_string()
    };
    let mut streamed = connect(address, CHAT, &body(true));
    let mut byte = [0];
    streamed.read_exact(&mut byte).unwrap();
    let whole = connect(address, CHAT, &body(false));
    std::thread::sleep(SOON);
    stop.send(()).unwrap();
    std::thread::sleep(SOON);

    let ready = send(address, "GET /ready HTTP/1.1", "");
    assert_eq!((ready.status, &*ready.headers["retry-after"]), (503, "1"), "{}", ready.body);
    let health = send(address, "GET /health HTTP/1.1", "");
    assert_eq!(health.status, 200, "{}", health.body);
    let refused = send(address, CHAT, &body(false));
    assert_eq!(refused.status, 503, "{}", refused.body);
    assert!(refused.body.contains("the server is stopping"), "{}", refused.body);

    let streamed = rest(streamed);
    let last = streamed.lines().rfind(|line| line.starts_with("data: ")).unwrap();
    assert!(last.contains("the server is stopping"), "{last}");
    let whole = rest(whole);
    assert!(whole.starts_with("HTTP/1.1 503 "), "{whole}");
    assert!(whole.contains("the server is stopping"), "{whole}");
    running.join().unwrap().unwrap();
}

/// A client that takes nothing of its answer does not keep its connection.
#[test]
fn an_answer_that_nobody_takes_is_given_up() {
    let endless = parrot("http-undelivered", &[(b'>', 97), (b'a', 97)], 1 << 30);
    let options = bounded(|bounds| {
        bounds.write_timeout = SOON;
        bounds.max_connections = 1;
        bounds.request_timeout = None;
    });
    let address = serve_by(endless, options);
    let body = json!({ "model": "http-undelivered", "stream": true,
        "messages": [{ "role": "user", "content": "x" }] });
    let deaf = connect(address, CHAT, &body.to_string());
    let get = "GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    while !rest(half(address, get)).starts_with("HTTP/1.1 200 ") {
        std::thread::sleep(SOON);
    }
    drop(deaf);
}

/// Half of the clients leave before their constraint's turn comes.
#[test]
fn constraints_are_compiled_in_turn() {
    let model = "http-turns";
    let address = serve_by(hey(model), bounded(|bounds| bounds.max_compiles = 1));
    let fields = |n: usize| json!({ "guided_json": { "const": n } });
    for n in 0..8 {
        let mut body = fields(n);
        body["model"] = json!(model);
        body["messages"] = json!([{ "role": "user", "content": "x" }]);
        drop(connect(address, CHAT, &body.to_string()));
    }
    std::thread::scope(|scope| {
        for n in 0..8 {
            scope.spawn(move || {
                let answer = chat(address, model, fields(n)).json();
                assert_eq!(answer["choices"][0]["message"]["content"], n.to_string());
            });
        }
    });
}

/// Requests that compile nothing do not wait behind those that do.
#[test]
fn tokens_do_not_wait_for_constraints() {
    let model = "http-tokens-at-once";
    let options = bounded(|bounds| {
        (bounds.max_compiles, bounds.generation.max_samples) = (1, 100_000);
    });
    let address = serve_by(hey(model), options);
    // They take the only turn for as long as compiling may take.
    let samples = json!({ "regex": "[ab]*", "min_bytes": 60_000, "max_bytes": 1 << 16,
        "n": 100_000 });
    let head = CHAT.replace("chat/completions", "constraints/sample");
    let sampled = connect(address, &head, &samples.to_string());
    std::thread::sleep(4 * SOON);
    for (path, body) in [
        ("tokenize", json!({ "prompt": "ab" })),
        ("tokenize", json!({ "messages": [{ "role": "user", "content": "ab" }] })),
        ("detokenize", json!({ "tokens": [97, 98] })),
    ] {
        let head = CHAT.replace("chat/completions", path);
        let answer = send(address, &head, &body.to_string());
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
    }
    sampled.set_nonblocking(true).unwrap();
    assert_eq!(sampled.peek(&mut [0]).unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn a_model_goes_by_the_names_it_is_served_under() {
    let names = ["first", "second/name"].map(str::to_owned);
    let options = ServerOptions { model_names: names.into(), ..ServerOptions::default() };
    let address = serve_by(hey("http-names-served"), options);
    let models = send(address, "GET /v1/models HTTP/1.1", "").json();
    let listed: Vec<&Value> = models["data"].as_array().unwrap().iter().map(|m| &m["id"]).collect();
    assert_eq!(listed, ["first", "second/name"]);
    assert_eq!(send(address, "GET /v1/models/second/name HTTP/1.1", "").status, 200);
    for (name, status) in [("first", 200), ("second/name", 200), ("http-names-served", 404)] {
        let answer = chat(address, name, json!({ "max_tokens": 1 }));
        assert_eq!(answer.status, status);
        if status == 200 {
            assert_eq!(answer.json()["model"], "first");
        }
    }
}

/// Settings of the server hold where a request says nothing else.
#[test]
fn limits_and_spelling_of_the_server_hold() {
    let mut options = ServerOptions::default();
    options.json_options.whitespace = maskwright::json_schema::Whitespace::Compact;
    options.json_options.work = 1_000_000;
    let address = serve_by(hey("http-limits"), options);
    let answer = chat(address, "http-limits", json!({ "guided_json": { "const": [1, 2] } })).json();
    assert_eq!(answer["choices"][0]["message"]["content"], "[1,2]");
    let wide: Vec<Value> = (0..40)
        .map(|i| json!({ "properties": { format!("a{i}"): { "minimum": i } }, "maxProperties": i }))
        .collect();
    let answer = chat(address, "http-limits", json!({ "guided_json": { "oneOf": wide } }));
    assert_eq!(answer.status, 400, "{}", answer.body);
    assert!(answer.body.contains("`maskwright serve --limit work=…`"), "{}", answer.body);
}

#[test]
fn a_model_that_computes_no_number_is_the_servers_fault() {
    let folder = parrot("http-nan", &[(b'>', 97), (b'a', 97)], 64);
    let path = folder.join("model.safetensors");
    let mut weights = std::fs::read(&path).unwrap();
    // After the header: `lm_head` is 0, one number of an embedding in four is not, and the weights of the norm
    // make it infinite.
    let header = u64::from_le_bytes(weights[..8].try_into().unwrap()) as usize + 8;
    for (at, number) in weights[header..].chunks_exact_mut(4).enumerate() {
        let value: f32 = match at / (260 * 16) {
            0 => 0.0,
            1 => f32::from(u8::from(at % 4 == 0)),
            _ => 3e38,
        };
        number.copy_from_slice(&value.to_le_bytes());
    }
    std::fs::write(&path, weights).unwrap();
    let address = serve(folder, &[]);
    for stream in [false, true] {
        let answer = chat(address, "http-nan", json!({ "stream": stream }));
        assert_eq!(answer.status, 500, "{}", answer.body);
        assert_eq!(answer.json()["error"]["type"], "server_error");
    }
}

/// A body of some kilobytes, of which each text would have a copy.
#[test]
fn the_copies_of_one_request_have_a_bound() {
    let model = "http-copies";
    let address = serve_by(hey(model), bounded(|bounds| bounds.max_body_bytes = 64 << 10));
    let text = "a".repeat(48 << 10);
    let question = json!({ "type": "predicate" });
    let ids: Vec<u32> = (0..7000).collect();
    for (path, body) in [
        ("decisions", json!({ "input": text, "questions": vec![question; 400] })),
        ("completions", json!({ "prompt": vec!["a"; 128], "n": 16, "banned_token_ids": ids })),
        ("completions", json!({ "prompt": vec!["a"; 128], "stop_token_ids": ids })),
    ] {
        let mut body = body;
        body["model"] = json!(model);
        let head = CHAT.replace("chat/completions", path);
        let refused = send(address, &head, &body.to_string());
        assert_eq!(refused.status, 413, "{path}: {}", refused.body);
        assert!(refused.body.contains("ask for fewer texts"), "{}", refused.body);
    }
    // Ids that are written often are one.
    let ids = vec![7; 7000];
    let body = json!({ "model": model, "prompt": ["a>", "b>"], "n": 16, "banned_token_ids": ids });
    let head = CHAT.replace("chat/completions", "completions");
    let answer = send(address, &head, &body.to_string());
    assert_eq!(answer.status, 200, "{}", answer.body);
}

/// A refusal is seen by a client that sends its body to the end before it reads.
#[test]
fn refusals_wait_for_bodies() {
    let address =
        serve_by(hey("http-refused-bodies"), bounded(|bounds| bounds.max_body_bytes = 4 << 20));
    let body = "x".repeat(8 << 20);
    for (head, status) in [
        (CHAT, 413),
        ("POST /v1/chat/completions HTTP/1.1\r\nContent-Type: text/plain", 413),
        ("POST /v1/nowhere HTTP/1.1\r\nContent-Type: application/json", 404),
    ] {
        assert_eq!(send(address, head, &body).status, status, "{head}");
    }
    // One that waits for leave to send is not kept waiting.
    let head =
        format!("{CHAT}\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 9000000\r\n\r\n");
    let answer = rest(half(address, &head));
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    let within = "x".repeat(3 << 20);
    for (head, status) in [
        ("POST /v1/chat/completions HTTP/1.1\r\nContent-Type: text/plain", 415),
        ("POST /v1/models HTTP/1.1\r\nContent-Type: application/json", 405),
    ] {
        assert_eq!(send(address, head, &within).status, status, "{head}");
    }
}
