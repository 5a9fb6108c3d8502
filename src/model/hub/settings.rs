//! Where the cache and the hub are, and who asks: the variables that all clients of the hub read.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Error, ErrorKind, Result};

/// The hub's address.
const ENDPOINT: &str = "https://huggingface.co";

/// Longest time without a byte of an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Times that a file is asked for again while nothing of it arrives.
const ATTEMPTS: u32 = 5;

/// Settings of the hub and of its cache.
///
/// ```
/// use maskwright::model::HubOptions;
/// let options = HubOptions::new("/data/models").offline(true);
/// assert!(options.is_offline());
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct HubOptions {
    cache: PathBuf,
    endpoint: String,
    token: Option<String>,
    offline: bool,
    timeout: Duration,
    attempts: u32,
    retry_delay: Duration,
}

impl HubOptions {
    /// The hub with this folder as its cache, without a token.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        Self {
            cache: cache.into(),
            endpoint: ENDPOINT.to_owned(),
            token: None,
            offline: false,
            timeout: TIMEOUT,
            attempts: ATTEMPTS,
            retry_delay: Duration::from_secs(1),
        }
    }

    /// The settings of the environment, as the `huggingface_hub` library for Python reads them:
    ///
    /// | variable | |
    /// |---|---|
    /// | `HF_HUB_CACHE`, `HUGGINGFACE_HUB_CACHE` | the cache |
    /// | `HF_HOME` | the folder with `hub`, the cache, and `token`; else `$XDG_CACHE_HOME/huggingface` or `~/.cache/huggingface` |
    /// | `HF_ENDPOINT` | the hub's address, or a mirror's |
    /// | `HF_TOKEN`, `HUGGING_FACE_HUB_TOKEN`, `HF_TOKEN_PATH` | the token, or a file with it |
    /// | `HF_HUB_DISABLE_IMPLICIT_TOKEN` | whether the token is left out |
    /// | `HF_HUB_OFFLINE`, `TRANSFORMERS_OFFLINE` | whether nothing is downloaded |
    /// | `HF_HUB_DOWNLOAD_TIMEOUT` | longest time without a byte of an answer, in seconds |
    ///
    /// Errors if none of them names a folder for the cache, and on values that cannot be read.
    pub fn from_env() -> Result<Self> {
        Self::from_variables(&|name| env::var_os(name).filter(|value| !value.is_empty()))
    }

    fn from_variables(read: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let path = |name: &str| read(name).map(|value| expand(&value, read));
        let home = path("HF_HOME")
            .or_else(|| path("XDG_CACHE_HOME").map(|cache| cache.join("huggingface")))
            .or_else(|| user_folder(read).map(|user| user.join(".cache").join("huggingface")));
        let cache = path("HF_HUB_CACHE")
            .or_else(|| path("HUGGINGFACE_HUB_CACHE"))
            .or_else(|| home.as_ref().map(|home| home.join("hub")));
        let Some(cache) = cache else {
            let message = "nothing says where the cache of Hugging Face's hub is";
            return Err(Error::new(ErrorKind::Io, message).with_help("set HF_HOME to a folder"));
        };
        let text = |name: &str| match read(name).map(OsString::into_string) {
            None => Ok(None),
            Some(Ok(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            Some(Err(_)) => Err(Error::new(ErrorKind::Io, format!("{name} is not UTF-8"))),
        };
        let flag = |name: &str| {
            text(name).map(|value| {
                value.is_some_and(|value| {
                    ["1", "on", "yes", "true"].contains(&value.to_ascii_lowercase().as_str())
                })
            })
        };
        let mut options = Self::new(cache);
        if let Some(endpoint) = text("HF_ENDPOINT")? {
            options = options.endpoint(endpoint)?;
        }
        options.offline = flag("HF_HUB_OFFLINE")? || flag("TRANSFORMERS_OFFLINE")?;
        if let Some(seconds) = text("HF_HUB_DOWNLOAD_TIMEOUT")? {
            let time = seconds.parse().ok().and_then(|time| Duration::try_from_secs_f64(time).ok());
            options.timeout = time.filter(|time| !time.is_zero()).ok_or_else(|| {
                let message =
                    format!("HF_HUB_DOWNLOAD_TIMEOUT: `{seconds}` is no number of seconds");
                Error::new(ErrorKind::Request, message).with_help("write one such as 30")
            })?;
        }
        if !flag("HF_HUB_DISABLE_IMPLICIT_TOKEN")? {
            options.token = match text("HF_TOKEN")? {
                Some(token) => Some(token),
                None => text("HUGGING_FACE_HUB_TOKEN")?,
            };
            if options.token.is_none() {
                let file = path("HF_TOKEN_PATH").or_else(|| home.map(|home| home.join("token")));
                options.token = file.and_then(|file| token_in(&file));
            }
        }
        Ok(options)
    }

    /// The same with another address of the hub.
    ///
    /// Errors if it is none of HTTP.
    pub fn endpoint(mut self, address: impl Into<String>) -> Result<Self> {
        let address = address.into();
        if !address.starts_with("https://") && !address.starts_with("http://") {
            let message = format!("`{address}` is no address of a hub");
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("write one such as https://huggingface.co (HF_ENDPOINT)"));
        }
        self.endpoint = address.trim_end_matches('/').to_owned();
        Ok(self)
    }

    /// The same with a token, which is sent to the hub alone.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The same, where nothing is downloaded if `offline`.
    #[must_use]
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// The same with the longest time that an answer may keep one waiting for its next byte.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same with the number of times that a file is asked for while nothing of it arrives, and
    /// the time before the second one, which doubles from there on.
    #[must_use]
    pub fn attempts(mut self, attempts: u32, delay: Duration) -> Self {
        (self.attempts, self.retry_delay) = (attempts.max(1), delay);
        self
    }

    /// Whether nothing is downloaded.
    pub fn is_offline(&self) -> bool {
        self.offline
    }

    /// The folder of the cache.
    pub fn cache(&self) -> &Path {
        &self.cache
    }
}

/// The settings that the client alone reads.
#[cfg(feature = "hub")]
impl HubOptions {
    pub(super) fn address(&self) -> &str {
        &self.endpoint
    }

    pub(super) fn bearer_token(&self) -> Option<&str> {
        self.token.as_deref()
    }

    pub(super) fn longest_silence(&self) -> Duration {
        self.timeout
    }

    /// The number of attempts, and the time before the second.
    pub(super) fn retries(&self) -> (u32, Duration) {
        (self.attempts, self.retry_delay)
    }
}

/// Without the token, which must not reach a log.
impl std::fmt::Debug for HubOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HubOptions")
            .field("cache", &self.cache)
            .field("endpoint", &self.endpoint)
            .field("has_token", &self.token.is_some())
            .field("offline", &self.offline)
            .finish_non_exhaustive()
    }
}

/// A path whose `~` is the user's folder.
fn expand(value: &OsString, read: &dyn Fn(&str) -> Option<OsString>) -> PathBuf {
    let path = Path::new(value);
    match (path.strip_prefix("~"), user_folder(read)) {
        (Ok(rest), Some(user)) => user.join(rest),
        _ => path.to_owned(),
    }
}

fn user_folder(read: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    read("HOME").or_else(|| read("USERPROFILE")).map(PathBuf::from)
}

/// The token in a file, if there is one.
fn token_in(file: &Path) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned()).filter(|token| !token.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    fn options(variables: &[(&str, &str)]) -> Result<HubOptions> {
        HubOptions::from_variables(&|name| {
            variables.iter().find(|(found, _)| *found == name).map(|(_, value)| value.into())
        })
    }

    #[test]
    fn the_cache_is_where_every_client_looks_for_it() {
        let cases: [(&[(&str, &str)], &str); 6] = [
            (&[("HOME", "/u")], "/u/.cache/huggingface/hub"),
            (&[("HOME", "/u"), ("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub"),
            (&[("HOME", "/u"), ("XDG_CACHE_HOME", "/x"), ("HF_HOME", "/h")], "/h/hub"),
            (&[("HF_HOME", "/h"), ("HUGGINGFACE_HUB_CACHE", "/g")], "/g"),
            (&[("HUGGINGFACE_HUB_CACHE", "/g"), ("HF_HUB_CACHE", "/c")], "/c"),
            (&[("HOME", "/u"), ("HF_HUB_CACHE", "~/c")], "/u/c"),
        ];
        for (variables, cache) in cases {
            assert_eq!(options(variables).unwrap().cache(), Path::new(cache), "{variables:?}");
        }
        assert!(options(&[]).unwrap_err().to_string().contains("HF_HOME"));
    }

    #[test]
    fn other_variables_are_read() {
        let home = ("HF_HOME", "/nowhere");
        let all = options(&[
            home,
            ("HF_ENDPOINT", "http://127.0.0.1:9/"),
            ("HF_TOKEN", " hf_x\n"),
            ("HF_HUB_OFFLINE", "YES"),
            ("HF_HUB_DOWNLOAD_TIMEOUT", "2.5"),
        ])
        .unwrap();
        assert_eq!(all.endpoint, "http://127.0.0.1:9");
        assert_eq!(all.token.as_deref(), Some("hf_x"));
        assert!(all.offline);
        assert_eq!(all.timeout, Duration::from_millis(2500));
        assert!(!format!("{all:?}").contains("hf_x"));
        let silent = options(&[home, ("HF_TOKEN", "x"), ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1")]);
        assert_eq!(silent.unwrap().token, None);
        assert!(!options(&[home, ("HF_HUB_OFFLINE", "0")]).unwrap().offline);
        for (name, value) in [("HF_ENDPOINT", "ftp://x"), ("HF_HUB_DOWNLOAD_TIMEOUT", "soon")] {
            assert!(options(&[home, (name, value)]).is_err(), "{name}");
        }
    }
}
