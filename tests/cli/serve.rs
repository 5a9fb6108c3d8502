//! `maskwright serve`: what it says on start, and whom it lets in.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use crate::model_support::hey;
use crate::{command, file, run, text};

/// A server, ended with the test.
struct Server {
    child: Child,
    /// Its output until it listened, with the address.
    said: String,
    address: String,
}

impl Server {
    fn start(args: &[&str], variable: Option<(&str, &str)>) -> Self {
        let mut command = command(&[&["serve", "--port", "0"], args].concat());
        command.env_remove("MASKWRIGHT_API_KEY").envs(variable).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        let mut server = Self { child, said: String::new(), address: String::new() };
        let mut lines = BufReader::new(server.child.stderr.take().unwrap());
        while server.address.is_empty() {
            let start = server.said.len();
            assert!(lines.read_line(&mut server.said).unwrap() > 0, "it ended: {}", server.said);
            if let Some((_, address)) = server.said[start..].split_once("listening on http://") {
                server.address = address.trim_end().trim_end_matches("/v1").to_owned();
            }
        }
        server
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
    let keys = file("serve-keys.txt", "in-a-file\n\n also-there \n");
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
