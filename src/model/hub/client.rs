//! Requests to the hub, and its refusals in words.
//!
//! | request | answer |
//! |---|---|
//! | `GET /api/models/ORG/NAME/revision/REVISION` | the commit, and the names of its files |
//! | `HEAD /ORG/NAME/resolve/COMMIT/FILE` | the hash and the length of a file |
//! | `GET /ORG/NAME/resolve/COMMIT/FILE` | its content from a byte on, mostly by way of another host |

use std::io::Read;
use std::time::Duration;

use serde_json::Value;
use ureq::http::{HeaderMap, Response, StatusCode};
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};

use super::repository::{Repository, is_relative_path};
use super::settings::HubOptions;
use crate::error::{Error, ErrorKind, shortened};

/// Redirections that are followed; browsers stop at 20.
const MAX_REDIRECTS: usize = 10;

/// Greatest length of a listing of files, in bytes; repositories with 100,000 files stay below.
const MAX_LISTING_BYTES: u64 = 32 << 20;

/// The hub, as this process knows it.
pub(super) struct HubClient {
    agent: Agent,
    options: HubOptions,
}

/// The commit of a revision, and the files in it.
#[derive(Debug)]
pub(super) struct Listing {
    pub(super) commit: String,
    pub(super) files: Vec<String>,
}

/// A file as the hub describes it.
#[derive(Debug)]
pub(super) struct RemoteFile {
    /// The hash of its content, which names it in the cache.
    pub(super) etag: String,
    pub(super) bytes: u64,
}

/// The reason for which the hub gave no answer.
#[derive(Debug)]
pub(super) enum HubFailure {
    /// It was not reached, or was busy: what is cached may serve.
    Unreachable(Error),
    /// It answered, and refused.
    Refused(Error),
}

impl HubFailure {
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Unreachable(_))
    }

    pub(super) fn error(&self) -> &Error {
        match self {
            Self::Unreachable(error) | Self::Refused(error) => error,
        }
    }

    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Unreachable(error) | Self::Refused(error) => error,
        }
    }
}

/// Hosts to which redirections are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Follow {
    SameHost,
    AnyHost,
}

impl HubClient {
    pub(super) fn new(options: &HubOptions) -> Self {
        let tls = TlsConfig::builder().root_certs(RootCerts::PlatformVerifier).build();
        let silence = Some(options.longest_silence());
        // Redirections are followed here, so that the token stays with the hub and what the hub says
        // of a file is seen.
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .tls_config(tls)
            .user_agent(concat!("maskwright/", env!("CARGO_PKG_VERSION")))
            .timeout_resolve(silence)
            .timeout_connect(silence)
            .timeout_recv_response(silence)
            .timeout_per_read(silence)
            .build();
        Self { agent: config.new_agent(), options: options.clone() }
    }

    /// The number of attempts at a file, and the time before the second.
    pub(super) fn retries(&self) -> (u32, Duration) {
        self.options.retries()
    }

    /// The commit of the repository's revision, and its files.
    pub(super) fn listing(&self, repository: &Repository) -> Result<Listing, HubFailure> {
        let (id, revision) = (repository.id(), quoted(repository.revision(), ""));
        let url = format!("{}/api/models/{id}/revision/{revision}", self.options.address());
        let (mut response, _) =
            self.patiently(|| self.send("GET", &url, 0, Follow::SameHost, repository))?;
        let wrong = |what: &str| {
            let message = format!("{url}: the hub's answer {what}");
            HubFailure::Refused(Error::new(ErrorKind::Io, message).with_help(
                "the address of the hub may be wrong (HF_ENDPOINT), or a proxy may answer for it",
            ))
        };
        let mut text = Vec::new();
        let body = response.body_mut().with_config().limit(MAX_LISTING_BYTES).reader();
        std::io::BufReader::new(body).read_to_end(&mut text).map_err(|_| wrong("broke off"))?;
        let json: Value = serde_json::from_slice(&text).map_err(|_| wrong("is no JSON"))?;
        let commit = json["sha"].as_str().filter(|commit| super::cache::is_commit(commit));
        let commit = commit.ok_or_else(|| wrong("names no commit"))?.to_owned();
        let files = json["siblings"].as_array().ok_or_else(|| wrong("lists no files"))?;
        let names = files.iter().filter_map(|file| file["rfilename"].as_str());
        let files = names.filter(|name| is_relative_path(name)).map(str::to_owned).collect();
        Ok(Listing { commit, files })
    }

    /// The hash and the length of a file of a commit.
    pub(super) fn describe(
        &self,
        repository: &Repository,
        commit: &str,
        file: &str,
    ) -> Result<RemoteFile, HubFailure> {
        let url = self.url(repository, commit, file);
        let (response, linked) =
            self.patiently(|| self.send("HEAD", &url, 0, Follow::SameHost, repository))?;
        let headers = response.headers();
        let either = |name: &str, other: &str| {
            header(&linked, name).or_else(|| header(headers, name)).or(header(headers, other))
        };
        let etag = either("x-linked-etag", "etag")
            .map(|etag| etag.trim_start_matches("W/").trim_matches('"').to_owned());
        let bytes = either("x-linked-size", "content-length").and_then(|size| size.parse().ok());
        let is_name = |etag: &String| {
            !etag.is_empty()
                && etag.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        match (etag.filter(is_name), bytes) {
            (Some(etag), Some(bytes)) => Ok(RemoteFile { etag, bytes }),
            _ => {
                let message = format!("{url}: the hub tells neither hash nor length of the file");
                Err(HubFailure::Refused(
                    Error::new(ErrorKind::Io, message).with_help(
                        "a proxy may have removed the headers `etag` and `content-length`",
                    ),
                ))
            }
        }
    }

    /// The content of a file from a byte on; the status says whether the hub went along with that.
    pub(super) fn open(
        &self,
        repository: &Repository,
        commit: &str,
        file: &str,
        from: u64,
    ) -> Result<Response<Body>, HubFailure> {
        let url = self.url(repository, commit, file);
        self.send("GET", &url, from, Follow::AnyHost, repository).map(|(response, _)| response)
    }

    fn url(&self, repository: &Repository, commit: &str, file: &str) -> String {
        let address = self.options.address();
        format!("{address}/{}/resolve/{commit}/{}", repository.id(), quoted(file, "/"))
    }

    /// Tries again what failed because the hub was busy or slow.
    fn patiently<T>(
        &self,
        mut attempt: impl FnMut() -> Result<T, HubFailure>,
    ) -> Result<T, HubFailure> {
        let (attempts, mut delay) = self.options.retries();
        for _ in 1..attempts {
            match attempt() {
                Err(failure) if failure.is_unreachable() => {}
                result => return result,
            }
            std::thread::sleep(delay);
            delay = delay.saturating_mul(2);
        }
        attempt()
    }

    /// Sends a request and follows redirections. Returns the last answer, and the headers of the
    /// first one, with what the hub itself says of a file that lies elsewhere.
    fn send(
        &self,
        method: &str,
        url: &str,
        from: u64,
        follow: Follow,
        repository: &Repository,
    ) -> Result<(Response<Body>, HeaderMap), HubFailure> {
        let mut url = url.to_owned();
        let mut first = None;
        for _ in 0..=MAX_REDIRECTS {
            let is_hub = origin(&url) == origin(self.options.address());
            let mut headers = vec![("accept-encoding", "identity".to_owned())];
            if let Some(token) = self.options.bearer_token().filter(|_| is_hub) {
                headers.push(("authorization", format!("Bearer {token}")));
            }
            if from > 0 {
                headers.push(("range", format!("bytes={from}-")));
            }
            let request = match method {
                "HEAD" => self.agent.head(&url),
                _ => self.agent.get(&url),
            };
            let request =
                headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
            let response = request.call().map_err(|error| unreachable_host(&url, &error))?;
            let location = header(response.headers(), "location");
            let first = first.get_or_insert_with(|| response.headers().clone());
            match location.filter(|_| response.status().is_redirection()) {
                Some(location) => {
                    let next = resolved(&url, &location).ok_or_else(|| {
                        let message = format!("{url} leads to `{}`", shortened(&location));
                        HubFailure::Refused(Error::new(ErrorKind::Io, message))
                    })?;
                    if follow == Follow::SameHost && origin(&next) != origin(&url) {
                        return Ok((response, std::mem::take(first)));
                    }
                    url = next;
                }
                // 416: what is on disk is all that there is, or more.
                None if response.status().is_success()
                    || response.status() == StatusCode::RANGE_NOT_SATISFIABLE =>
                {
                    return Ok((response, std::mem::take(first)));
                }
                None => return Err(self.refusal(&url, &response, repository)),
            }
        }
        let message = format!("{url}: more than {MAX_REDIRECTS} redirections");
        Err(HubFailure::Refused(Error::new(ErrorKind::Io, message)))
    }

    /// An answer that is none, in words.
    fn refusal(&self, url: &str, response: &Response<Body>, repository: &Repository) -> HubFailure {
        let status = response.status();
        let code = header(response.headers(), "x-error-code").unwrap_or_default();
        let said = header(response.headers(), "x-error-message").unwrap_or_default();
        let (id, address) = (repository.id(), self.options.address());
        let error = |message: String, help: String| {
            HubFailure::Refused(Error::new(ErrorKind::Model, message).with_help(help))
        };
        let has_token = self.options.bearer_token().is_some();
        match (status.as_u16(), code.as_str()) {
            (_, "GatedRepo") | (403, _) => error(
                format!(
                    "the hub does not give `{id}` to this {}",
                    if has_token { "token" } else { "program without a token" }
                ),
                format!(
                    "accept the model's terms at {address}/{id}, and set HF_TOKEN to a token of \
                     that account"
                ),
            ),
            (404, "RevisionNotFound") => error(
                format!("`{id}` has no revision `{}`", repository.revision()),
                "write a branch, a tag or a commit of it, or leave the revision out".to_owned(),
            ),
            (404, "EntryNotFound") => error(
                format!("{url}: there is no such file"),
                "the repository may have changed; try again".to_owned(),
            ),
            (401 | 404, _) => error(
                format!(
                    "there is no folder `{id}`, and the hub has no model of that name that it \
                     gives to this {}",
                    if has_token { "token" } else { "program without a token" }
                ),
                format!(
                    "look at {address}/{id}; for a private model, set HF_TOKEN to a token that \
                     may read it"
                ),
            ),
            (429 | 500..=599, _) => {
                let message = format!("{url}: the hub answers {status} {}", shortened(&said));
                HubFailure::Unreachable(Error::new(ErrorKind::Io, message.trim_end()))
            }
            _ => error(
                format!("{url}: the hub answers {status} {}", shortened(&said)),
                "look at HF_ENDPOINT and at the proxy".to_owned(),
            ),
        }
    }
}

fn unreachable_host(url: &str, error: &ureq::Error) -> HubFailure {
    let message = format!("{url} cannot be reached: {error}");
    HubFailure::Unreachable(Error::new(ErrorKind::Io, message).with_help(
        "look at the network, or set HF_ENDPOINT to a mirror and HTTPS_PROXY to a proxy",
    ))
}

fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> &str {
    let host = url.find("://").map_or(0, |scheme| scheme + 3);
    let end = url[host..].find(['/', '?', '#']).map_or(url.len(), |end| host + end);
    &url[..end]
}

/// The address that a redirection from `url` leads to; `None` for another scheme.
fn resolved(url: &str, location: &str) -> Option<String> {
    // A token and a model must not come by a way that anybody can read or change.
    let may_be_plain = url.starts_with("http://");
    match location {
        _ if location.starts_with("https://") => Some(location.to_owned()),
        _ if location.starts_with("http://") => may_be_plain.then(|| location.to_owned()),
        _ if location.starts_with("//") => Some(format!(
            "{}{location}",
            url.split_once("//").map_or("https:", |(scheme, _)| scheme)
        )),
        _ if location.starts_with('/') => Some(format!("{}{location}", origin(url))),
        _ => None,
    }
}

/// A text in an address: all but letters, digits, `-._~` and `keep` as percent signs and digits.
fn quoted(text: &str, keep: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for byte in text.bytes() {
        let c = char::from(byte);
        if c.is_ascii_alphanumeric() || "-._~".contains(c) || keep.contains(c) {
            quoted.push(c);
        } else {
            quoted.push_str(&format!("%{byte:02X}"));
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_put_together() {
        assert_eq!(quoted("refs/pr/1", ""), "refs%2Fpr%2F1");
        assert_eq!(quoted("a b/é.gguf", "/"), "a%20b/%C3%A9.gguf");
        assert_eq!(origin("https://h:8/a?b"), "https://h:8");
        assert_eq!(origin("https://h"), "https://h");
        let from = "https://h:8/a/b";
        for (location, leads_to) in [
            ("/c?d", Some("https://h:8/c?d")),
            ("https://other/x", Some("https://other/x")),
            ("//other/x", Some("https://other/x")),
            ("http://other/x", None),
            ("file:///etc", None),
            ("c", None),
        ] {
            assert_eq!(resolved(from, location).as_deref(), leads_to, "{location}");
        }
        assert!(resolved("http://h/a", "http://other/x").is_some());
    }
}
