//! `maskwright serve`: what it says on start, and whom it lets in.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Stdio};

use serde_json::{Value, json};

use crate::model_support::hey;
use crate::{command, file, run, text};

/// A server, ended with the test.
struct Server {
    child: Child,
    /// Its output until it listened, with the address.
    said: String,
    address: String,
    /// The rest of its output.
    log: Option<BufReader<ChildStderr>>,
}

impl Server {
    fn start(args: &[&str], variable: Option<(&str, &str)>) -> Self {
        let mut command = command(&[&["serve", "--port", "0"], args].concat());
        command.env_remove("MASKWRIGHT_API_KEY").envs(variable).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let (said, address) = (String::new(), String::new());
        let mut server = Self { child, said, address, log: None };
        let mut lines = BufReader::new(server.child.stderr.take().unwrap());
        while server.address.is_empty() {
            let start = server.said.len();
            assert!(lines.read_line(&mut server.said).unwrap() > 0, "it ended: {}", server.said);
            if let Some((_, address)) = server.said[start..].split_once("listening on http://") {
                server.address = address.split("/v1").next().unwrap().to_owned();
            }
        }
        server.log = Some(lines);
        server
    }

    /// The next line of the log.
    fn logged(&mut self) -> String {
        let mut line = String::new();
        self.log.as_mut().unwrap().read_line(&mut line).unwrap();
        line
    }

    /// The status of an answer, and all of it.
    fn get(&self, path: &str, key: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
             Authorization: Bearer {key}\r\n\r\n"
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        (answer[9..12].parse().unwrap(), answer)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn keys_come_from_a_file_and_a_variable_too() {
    let keys = file("serve-keys.txt", "\u{feff}in-a-file\n\n also-there \n");
    let model = text(hey("cli-serve-keys"));
    let args = ["--model", &model, "--api-key", "argument", "--api-key-file", &keys];
    let names = ["--served-model-name", "mine", "--served-model-name", "yours"];
    let server =
        Server::start(&[&args[..], &names].concat(), Some(("MASKWRIGHT_API_KEY", "in-a-variable")));
    for key in ["argument", "in-a-file", "also-there", "in-a-variable"] {
        let (status, answer) = server.get("/v1/models", key);
        assert_eq!(status, 200, "{key}: {answer}");
        assert!(answer.contains("\"mine\"") && answer.contains("\"yours\""), "{answer}");
    }
    assert_eq!(server.get("/v1/models", "").0, 401);
    assert_eq!(server.get("/v1/models", "MASKWRIGHT_API_KEY").0, 401);
    let empty = file("serve-no-keys.txt", "\n");
    let ran = run(&["serve", "--model", &model, "--api-key-file", &empty]);
    assert!(ran.code == 2 && ran.err.contains("there is no key in the file"), "{}", ran.err);
    // A variable that is set, and blank, does not open the server.
    let mut blank = command(&["serve", "--model", &model, "--port", "0"]);
    let said = blank.env("MASKWRIGHT_API_KEY", " ").output().unwrap();
    assert_eq!(said.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&said.stderr).contains("there is no key in it"), "{said:?}");
}

#[test]
fn what_does_not_work_without_a_chat_template_is_said_on_start() {
    let folder = hey("cli-serve-template");
    let model = text(folder.clone());
    let server = Server::start(&["--model", &model], None);
    assert!(!server.said.contains("warning"), "{}", server.said);
    std::fs::remove_file(folder.join("chat_template.jinja")).unwrap();
    let server = Server::start(&["--model", &model], None);
    assert!(server.said.starts_with("warning: ") && server.said.contains("chat_template.jinja"));
}

#[test]
fn options_of_the_server_are_checked() {
    for (args, says) in [
        (&["--limit", "deepness=1"][..], "there is no limit `deepness`"),
        (&["--max-body", "0"], "--max-body"),
        (&["--request-timeout", "never"], "write a number of seconds"),
        (&["--head-timeout", "0"], "--head-timeout"),
        (&["--spelling", "odd"], "--spelling"),
        (&["--whitespace", "x"], "white space"),
        (&["--resources", "https://a.b/=no/such/folder"], "no/such/folder: cannot be read"),
    ] {
        let ran = run(&[&["serve", "--port", "0"], args].concat());
        assert!(ran.code == 2 && ran.err.contains(says), "{args:?}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    let given = ["--limit", "work=9", "--whitespace", "compact", "--spelling", "any"];
    let bounds = ["--max-body", "1", "--request-timeout", "none", "--write-timeout", "0.5"];
    Server::start(&[&given[..], &bounds].concat(), None);
}

#[test]
fn options_come_from_a_file_and_the_command_line_wins() {
    let model = text(hey("cli-serve-config"));
    let names = "served_model_name = ['mine', 'yours']\n[limit]\nwork = 9";
    let config = file("serve-config.toml", format!("model = '{model}'\n{names}"));
    let server = Server::start(&["--config", &config], None);
    let (_, answer) = server.get("/v1/models", "");
    assert!(answer.contains("\"mine\"") && answer.contains("\"yours\""), "{answer}");
    // The last one holds where an option is written twice, as behind the options of a container.
    let twice = ["--log-format", "json", "--log-format", "text", "--port", "1", "--port", "0"];
    Server::start(&[&["--config", &config], &twice[..]].concat(), None);
    let server = Server::start(&["--config", &config, "--served-model-name", "other"], None);
    let (_, answer) = server.get("/v1/models", "");
    assert!(answer.contains("\"other\"") && !answer.contains("\"mine\""), "{answer}");
    for (text, says) in [
        ("prot = 1", "there is no option `prot`; `port` may be meant"),
        ("max-body = 0", "serve-wrong.toml"),
        ("max-body", "serve-wrong.toml:1:"),
    ] {
        let ran = run(&["serve", "--config", &file("serve-wrong.toml", text)]);
        assert!(ran.code == 2 && ran.err.contains(says), "{text}: {}", ran.err);
        assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    }
    let ran = run(&["serve", "--config", "no/such.toml"]);
    assert!(ran.code == 2 && ran.err.contains("a file of options in TOML"), "{}", ran.err);
}

#[test]
fn each_request_is_logged_without_its_text() {
    let model = text(hey("cli-serve-log"));
    let mut server = Server::start(&["--model", &model, "--log-format", "json"], None);
    for line in server.said.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert!(line["level"] == "INFO" && line["target"] == "maskwright", "{line}");
    }
    let body = json!({ "model": "cli-serve-log", "max_tokens": 3,
        "messages": [{ "role": "user", "content": "a secret>" }] });
    let mut client = TcpStream::connect(&server.address).unwrap();
    let body = body.to_string();
    write!(
        client,
        "POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\
         Content-Type: application/json\r\nx-request-id: mine-7\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    let logged = server.logged();
    assert!(!logged.contains("secret"), "{logged}");
    let event: Value = serde_json::from_str(&logged).unwrap();
    let (id, path) = (&event["request_id"], &event["path"]);
    assert!(id == "mine-7" && path == "/v1/chat/completions", "{event}");
    assert!(event["status"] == 200 && event["message"] == "answered", "{event}");
    assert_eq!(event["completion_tokens"], 3, "{event}");
    assert!(event["prompt_tokens"].as_u64().unwrap() > 8, "{event}");
    assert!(event["duration_ms"].as_f64().unwrap() >= event["head_ms"].as_f64().unwrap());

    assert_eq!(server.get("/v1/models/none", "").0, 404);
    let event: Value = serde_json::from_str(&server.logged()).unwrap();
    assert!(event["refusal"] == "model_not_found" && event["status"] == 404, "{event}");
    assert!(event["prompt_tokens"].is_null(), "{event}");
    // Who only watches is told at `debug`; the next line is that of the next request.
    assert_eq!(server.get("/health", "").0, 200);
    let (_, metrics) = server.get("/metrics", "");
    let count = "maskwright_refused_requests_total{reason=\"model_not_found\"} 1";
    assert!(metrics.contains(count), "{metrics}");
    assert_eq!(server.get("/nowhere", "").0, 404);
    let event: Value = serde_json::from_str(&server.logged()).unwrap();
    assert!(event["path"] == "/nowhere" && event["refusal"] == "not_found", "{event}");
}
