//! A hub on loopback that behaves as Hugging Face's does, and misbehaves on demand.
//!
//! Large files (`.safetensors`, `.gguf`) are redirected to a second server, which is another host to
//! clients, as the hub's own are; small ones are sent by the hub itself.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// The commit of every repository's `main`.
pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

/// A request that came in.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: HashMap<String, String>,
    /// Whether it came to the host of large files.
    pub(crate) is_elsewhere: bool,
}

/// The hub's state, which a test changes as it likes.
#[derive(Default)]
pub(crate) struct State {
    /// Files by `ORG/NAME` and path.
    pub(crate) repositories: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
    pub(crate) asked: Vec<Asked>,
    /// Connections that break after so many bytes of a file, by its path; each does so once.
    pub(crate) cuts: Vec<(String, usize)>,
    /// Answers 503 to so many requests.
    pub(crate) busy: usize,
    /// The token without which nothing is given.
    pub(crate) token: Option<String>,
    /// The error code and the status of every answer.
    pub(crate) refusal: Option<(u16, &'static str)>,
    /// Whether ranges are not understood, and the whole file comes.
    pub(crate) ignores_ranges: bool,
    /// Content that is sent in the place of a file's own.
    pub(crate) replaced: HashMap<String, Vec<u8>>,
}

/// A hub and the host of its large files; they live as long as the test process.
#[derive(Clone)]
pub(crate) struct MockHub {
    pub(crate) address: String,
    elsewhere: String,
    state: Arc<Mutex<State>>,
}

impl MockHub {
    /// A hub with one repository, `test/tiny`: the embedded model's files, and others that it does
    /// not need.
    pub(crate) fn with_tiny() -> Self {
        let hub = Self::new();
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/model/tiny");
        let names = ["config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"];
        let mut files: BTreeMap<String, Vec<u8>> = names
            .iter()
            .map(|name| ((*name).to_owned(), std::fs::read(folder.join(name)).unwrap()))
            .collect();
        files.insert("README.md".to_owned(), b"A model.".to_vec());
        files.insert("pytorch_model.bin".to_owned(), vec![0; 1000]);
        hub.change(|state| state.repositories.insert("test/tiny".to_owned(), files));
        hub
    }

    pub(crate) fn new() -> Self {
        let [hub, elsewhere] = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let address = |listener: &TcpListener| format!("http://{}", listener.local_addr().unwrap());
        let this =
            Self { address: address(&hub), elsewhere: address(&elsewhere), state: Arc::default() };
        for (listener, is_elsewhere) in [(hub, false), (elsewhere, true)] {
            let this = this.clone();
            std::thread::spawn(move || {
                for stream in listener.incoming() {
                    let this = this.clone();
                    // A client that hangs up is none of our business.
                    std::thread::spawn(move || this.serve(stream.ok()?, is_elsewhere));
                }
            });
        }
        this
    }

    /// Changes or reads the state.
    pub(crate) fn change<T>(&self, change: impl FnOnce(&mut State) -> T) -> T {
        change(&mut self.state.lock().unwrap())
    }

    /// The paths of requests of a method so far, and forgets them.
    pub(crate) fn asked(&self, method: &str) -> Vec<String> {
        let asked = self.change(|state| std::mem::take(&mut state.asked));
        asked.into_iter().filter(|asked| asked.method == method).map(|asked| asked.path).collect()
    }

    fn serve(&self, mut stream: TcpStream, is_elsewhere: bool) -> Option<()> {
        let mut lines = BufReader::new(stream.try_clone().ok()?).lines();
        let first = lines.next()?.ok()?;
        let (method, path) = first.split_once(' ')?;
        let path = path.split(' ').next()?;
        let mut headers = HashMap::new();
        for line in lines.by_ref() {
            let line = line.ok()?;
            let Some((name, value)) = line.split_once(':') else { break };
            headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        }
        let (method, path) = (method.to_owned(), path.to_owned());
        let asked = Asked { method: method.clone(), path: path.clone(), headers, is_elsewhere };
        let (head, body) = self.answer(&asked);
        stream.write_all(head.as_bytes()).ok()?;
        if method != "HEAD" {
            stream.write_all(&body).ok()?;
        }
        Some(())
    }

    /// The head of an answer, and what is sent of its body.
    fn answer(&self, asked: &Asked) -> (String, Vec<u8>) {
        let state = &mut *self.state.lock().unwrap();
        state.asked.push(asked.clone());
        let error = |status: u16, code: &str| {
            let head = format!(
                "HTTP/1.1 {status} No\r\nX-Error-Code: {code}\r\nContent-Length: 0\r\n\
                 Connection: close\r\n\r\n"
            );
            (head, Vec::new())
        };
        if state.busy > 0 {
            state.busy -= 1;
            return error(503, "");
        }
        if let Some((status, code)) = state.refusal {
            return error(status, code);
        }
        let given = asked.headers.get("authorization");
        if let Some(token) = &state.token
            && !asked.is_elsewhere
            && given != Some(&format!("Bearer {token}"))
        {
            return error(401, "RepoNotFound");
        }
        if let Some(rest) = asked.path.strip_prefix("/api/models/") {
            let Some((id, revision)) = rest.split_once("/revision/") else {
                return error(404, "");
            };
            let Some(files) = state.repositories.get(id) else {
                return error(401, "RepoNotFound");
            };
            if revision != "main" && revision != COMMIT && revision != "refs%2Fpr%2F1" {
                return error(404, "RevisionNotFound");
            }
            let siblings: Vec<_> =
                files.keys().map(|name| serde_json::json!({ "rfilename": name })).collect();
            let listing = serde_json::json!({ "sha": COMMIT, "siblings": siblings }).to_string();
            return whole("", listing.into_bytes());
        }
        let path = asked.path.trim_start_matches("/lfs/").trim_start_matches('/');
        let Some((id, file)) = path.split_once(&format!("/resolve/{COMMIT}/")) else {
            return error(404, "");
        };
        let Some(content) = state.repositories.get(id).and_then(|files| files.get(file)) else {
            return error(404, "EntryNotFound");
        };
        let is_large = file.ends_with(".safetensors") || file.ends_with(".gguf");
        if is_large && !asked.is_elsewhere {
            let etag = hex(&Sha256::digest(content));
            let head = format!(
                "HTTP/1.1 302 Found\r\nLocation: {}/lfs{}\r\nX-Linked-ETag: \"{etag}\"\r\n\
                 X-Linked-Size: {}\r\nETag: \"of-the-redirection\"\r\nContent-Length: 0\r\n\
                 Connection: close\r\n\r\n",
                self.elsewhere,
                asked.path,
                content.len()
            );
            return (head, Vec::new());
        }
        let mut hash = Sha1::new();
        hash.update(format!("blob {}\0", content.len()));
        hash.update(content);
        let etag = format!("ETag: \"{}\"\r\n", hex(&hash.finalize()));
        let sent = state.replaced.get(file).unwrap_or(content).clone();
        let range = asked.headers.get("range").filter(|_| !state.ignores_ranges);
        let from = range.and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-'));
        let from: usize = from.map_or(0, |from| from.parse().unwrap());
        if range.is_some() && from >= sent.len() {
            return error(416, "");
        }
        let (head, mut body) = match range {
            None => whole(&etag, sent),
            Some(_) => {
                let head = format!(
                    "HTTP/1.1 206 Partial\r\n{etag}Content-Range: bytes {from}-{}/{}\r\n\
                     Content-Length: {}\r\nConnection: close\r\n\r\n",
                    sent.len() - 1,
                    sent.len(),
                    sent.len() - from
                );
                (head, sent[from..].to_vec())
            }
        };
        if asked.method == "GET"
            && let Some(cut) = state.cuts.iter().position(|(name, _)| name == file)
        {
            body.truncate(state.cuts.remove(cut).1);
        }
        (head, body)
    }
}

fn whole(headers: &str, body: Vec<u8>) -> (String, Vec<u8>) {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{headers}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    (head, body)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
