//! Models of Hugging Face's hub by name, from the cache that all of its clients share.
//!
//! A [`Repository`] names a model: `ORG/NAME`, with a revision and a GGUF file where they are wanted.
//! [`Repository::locate`] finds its files in the cache, or, with the Cargo feature `hub`, downloads
//! those that a model needs into it. The layout is that of the `huggingface_hub` library for Python,
//! so either finds what the other has downloaded:
//!
//! ```text
//! ~/.cache/huggingface/hub/                  HF_HUB_CACHE, or HF_HOME and hub/
//!   models--ORG--NAME/
//!     refs/main                              the commit that the branch was at, as text
//!     snapshots/COMMIT/config.json           a link to ../../blobs/ETAG
//!     blobs/ETAG                             a file; its name is the hash of its content
//!     blobs/ETAG.incomplete                  the part that has arrived
//!   .locks/models--ORG--NAME/ETAG.lock       locked while a process writes the file
//! ```
//!
//! Invariants: a blob under its name is whole, and has the hash that its name states; a reference is
//! written after all files of its snapshot; a token is sent to no host but the hub's.
//!
//! | module | content |
//! |---|---|
//! | `repository` | the name of a model, as it is written |
//! | `settings` | where the cache and the hub are, by environment variables |
//! | `selection` | the files of a repository that a model needs |
//! | `cache` | commits and snapshots on disk |
//! | `client` | requests to the hub, and their errors in words |
//! | `download` | one file: interrupted, continued, checked, put into the cache |

mod cache;
#[cfg(feature = "hub")]
mod client;
#[cfg(feature = "hub")]
mod download;
mod repository;
mod selection;
mod settings;

use std::path::PathBuf;

pub use repository::Repository;
pub use settings::HubOptions;

use crate::error::{Error, ErrorKind, Result};
use cache::RepositoryCache;
use repository::is_gguf;
use selection::Wanted;

/// The state of a download, reported whenever more of a file has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DownloadProgress<'a> {
    /// The file's name in the repository.
    pub file: &'a str,
    /// Bytes of it that are on disk.
    pub received: u64,
    /// Bytes that it has.
    pub total: u64,
}

impl Repository {
    /// The model's folder, or its GGUF file, in the cache; with the feature `hub` and unless
    /// [`HubOptions::offline`], what is missing is downloaded, with calls of `progress`.
    ///
    /// A branch is looked up at the hub each time; a commit whose files are in the cache needs no
    /// network, nor does a branch while the hub cannot be reached.
    ///
    /// ```no_run
    /// use maskwright::model::{HubOptions, Model, ModelOptions, Repository};
    /// let repository: Repository = "Qwen/Qwen2.5-0.5B-Instruct".parse()?;
    /// let path = repository.locate(&HubOptions::from_env()?, &mut |progress| {
    ///     println!("{}: {} of {} bytes", progress.file, progress.received, progress.total);
    /// })?;
    /// let source = path.to_string_lossy().parse()?;
    /// let model = Model::load(&ModelOptions { source, ..Default::default() })?;
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors if the files are not in the cache and cannot be downloaded: offline, without the
    /// feature, where the hub has no such model or does not give it to this token, and where what
    /// it sent is not what it named. What has arrived is kept, and continued by the next call.
    pub fn locate(
        &self,
        options: &HubOptions,
        progress: &mut dyn FnMut(DownloadProgress<'_>),
    ) -> Result<PathBuf> {
        self.locate_part(Wanted::Model(self.file()), options, progress)
    }

    /// The tokenizer.json of the repository in the cache: like [`locate`](Self::locate), but of all files
    /// the tokenizer's alone, and of those of its model that name end tokens. Whether the repository holds
    /// weights does not matter.
    ///
    /// ```no_run
    /// use maskwright::Vocabulary;
    /// use maskwright::model::{HubOptions, Repository};
    /// let repository: Repository = "Qwen/Qwen3-235B-A22B".parse()?;
    /// let path = repository.locate_tokenizer(&HubOptions::from_env()?, &mut |_| {})?;
    /// let vocabulary = Vocabulary::from_file(path)?;
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors as `locate` does; on a repository without a tokenizer.json; and where a GGUF file was named,
    /// whose tokenizer comes with the weights.
    pub fn locate_tokenizer(
        &self,
        options: &HubOptions,
        progress: &mut dyn FnMut(DownloadProgress<'_>),
    ) -> Result<PathBuf> {
        if let Some(file) = self.file() {
            let message = format!("`{self}` has the tokenizer and the weights in one file");
            let files =
                if is_gguf(file) { file.to_owned() } else { format!("--include '*{file}*'") };
            return Err(Error::new(ErrorKind::Request, message).with_help(format!(
                "name the model that it was made of, or give the path of the file where `hf download \
                 {} {files}` has put it",
                self.id()
            )));
        }
        self.locate_part(Wanted::Tokenizer, options, progress)
    }

    fn locate_part(
        &self,
        wanted: Wanted<'_>,
        options: &HubOptions,
        progress: &mut dyn FnMut(DownloadProgress<'_>),
    ) -> Result<PathBuf> {
        let cache = RepositoryCache::new(options.cache(), self.id());
        let cached = cache
            .commit(self.revision())
            .and_then(|commit| selection::cached(&cache.snapshot(&commit), wanted).ok());
        // A commit never changes; a branch may have moved.
        if let Some(path) = &cached
            && (cache::is_commit(self.revision()) || options.is_offline())
        {
            return Ok(path.clone());
        }
        self.download(wanted, options, &cache, cached, progress)
    }

    #[cfg(feature = "hub")]
    fn download(
        &self,
        wanted: Wanted<'_>,
        options: &HubOptions,
        cache: &RepositoryCache,
        cached: Option<PathBuf>,
        progress: &mut dyn FnMut(DownloadProgress<'_>),
    ) -> Result<PathBuf> {
        if options.is_offline() {
            return Err(self.not_cached(wanted, cache, "HF_HUB_OFFLINE is set"));
        }
        let hub = client::HubClient::new(options);
        match (hub.listing(self), cached) {
            (Ok(listing), _) => download::snapshot(&hub, (self, wanted), cache, &listing, progress),
            (Err(failure), Some(cached)) if failure.is_unreachable() => Ok(cached),
            (Err(failure), None) if failure.is_unreachable() => {
                Err(self.not_cached(wanted, cache, &failure.error().to_string()))
            }
            (Err(failure), _) => Err(failure.into_error()),
        }
    }

    #[cfg(not(feature = "hub"))]
    fn download(
        &self,
        wanted: Wanted<'_>,
        _: &HubOptions,
        cache: &RepositoryCache,
        cached: Option<PathBuf>,
        _: &mut dyn FnMut(DownloadProgress<'_>),
    ) -> Result<PathBuf> {
        cached.ok_or_else(|| {
            self.not_cached(wanted, cache, "this program was built without the feature `hub`")
        })
    }

    /// The error for a model that is not in the cache, where it cannot be downloaded.
    fn not_cached(&self, wanted: Wanted<'_>, cache: &RepositoryCache, reason: &str) -> Error {
        let folder = cache.folder().display();
        let commit = cache.commit(self.revision());
        let state = match commit.map(|commit| cache.snapshot(&commit)) {
            None => format!("`{}` is not in the cache ({folder})", self.id()),
            Some(snapshot) => match selection::cached(&snapshot, wanted) {
                Err(missing) => format!("{}: {missing}", snapshot.display()),
                Ok(_) => format!("`{}` is in the cache", self.id()),
            },
        };
        let message = format!(
            "there is no folder `{}`; {state}; and it cannot be downloaded: {reason}",
            self.id()
        );
        let files = match wanted {
            Wanted::Tokenizer => "tokenizer.json and tokenizer_config.json".to_owned(),
            Wanted::Model(Some(file)) if is_gguf(file) => format!("`{file}`"),
            Wanted::Model(Some(quantisation)) => format!("the GGUF file of `{quantisation}`"),
            Wanted::Model(None) => {
                "config.json, tokenizer.json, tokenizer_config.json and the safetensors files"
                    .to_owned()
            }
        };
        Error::new(ErrorKind::Model, message).with_help(format!(
            "put {files} into a folder and give its path, or copy {folder} from a machine where \
             `hf download {}` has run",
            self.id()
        ))
    }
}
