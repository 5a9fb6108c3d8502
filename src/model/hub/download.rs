//! Downloads into the cache: interrupted, continued, checked, linked.
//!
//! A file arrives in `blobs/ETAG.incomplete`. Where the connection breaks, the rest is asked for from
//! the byte at which it broke, as often as there was progress; its name changes to `blobs/ETAG` when
//! its length and its hash are right. The hash is taken while the bytes pass; what an earlier run
//! left is read once.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use sha1::Sha1;
use sha2::{Digest, Sha256};
use ureq::http::StatusCode;

use super::DownloadProgress;
use super::cache::{RepositoryCache, is_commit};
use super::client::{HubClient, HubFailure, Listing, RemoteFile};
use super::repository::Repository;
use super::selection::{self, Selection, Wanted};
use crate::error::{Error, ErrorKind, Result};

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 64 << 10;

/// Brings all files that are wanted of a repository into the cache, and returns the folder or the file.
pub(super) fn snapshot(
    hub: &HubClient,
    (repository, wanted): (&Repository, Wanted<'_>),
    cache: &RepositoryCache,
    listing: &Listing,
    progress: &mut dyn FnMut(DownloadProgress<'_>),
) -> Result<PathBuf> {
    let refuse = |reason: String| {
        let help = match wanted {
            Wanted::Model(_) => {
                "a model has config.json, tokenizer.json and safetensors files, or is a GGUF file"
            }
            Wanted::Tokenizer => {
                "name a repository with a tokenizer.json; the `transformers` library converts other \
                 tokenizers to it"
            }
        };
        Error::new(ErrorKind::Model, format!("`{}`: {reason}", repository.id())).with_help(help)
    };
    let selection = selection::choose(&listing.files, wanted).map_err(refuse)?;
    let snapshot = cache.snapshot(&listing.commit);
    let mut fetch = |file: &String| {
        let download = Download { hub, repository, commit: &listing.commit, file };
        download.store_in(cache, progress)
    };
    let path = match &selection {
        Selection::Tokenizer(files) => {
            files.iter().try_for_each(&mut fetch)?;
            snapshot.join(files.first().map_or("", String::as_str))
        }
        Selection::Folder(files) => {
            files.iter().try_for_each(&mut fetch)?;
            snapshot
        }
        Selection::Sharded(files) => {
            files.iter().try_for_each(&mut fetch)?;
            let index = snapshot.join(files.last().map_or("", String::as_str));
            let text = fs::read(&index).map_err(|error| disk(&index, error))?;
            selection::shards(&text).map_err(refuse)?.iter().try_for_each(&mut fetch)?;
            snapshot
        }
        Selection::Gguf(parts) => {
            parts.iter().try_for_each(&mut fetch)?;
            snapshot.join(parts.first().map_or("", String::as_str))
        }
    };
    if !is_commit(repository.revision()) {
        let reference = cache.reference(repository.revision());
        write_whole(&reference, listing.commit.as_bytes())
            .map_err(|error| disk(&reference, error))?;
    }
    Ok(path)
}

/// A file of a commit that is to be in the cache.
struct Download<'a> {
    hub: &'a HubClient,
    repository: &'a Repository,
    commit: &'a str,
    file: &'a str,
}

impl Download<'_> {
    /// Puts the file into the snapshot, unless it is there.
    fn store_in(
        &self,
        cache: &RepositoryCache,
        progress: &mut dyn FnMut(DownloadProgress<'_>),
    ) -> Result<()> {
        let link = cache.snapshot(self.commit).join(self.file);
        if link.exists() {
            return Ok(());
        }
        let remote = self
            .hub
            .describe(self.repository, self.commit, self.file)
            .map_err(HubFailure::into_error)?;
        let blob = cache.folder().join("blobs").join(&remote.etag);
        for file in [&blob, &link] {
            let folder = file.parent().unwrap_or(Path::new(""));
            fs::create_dir_all(folder).map_err(|error| disk(folder, error))?;
        }
        fs::create_dir_all(&cache.locks).map_err(|error| disk(&cache.locks, error))?;
        let lock = cache.locks.join(format!("{}.lock", remote.etag));
        // Of several processes one downloads; the others find the file. The system drops the lock
        // of a process that ends.
        let held = File::create(&lock).and_then(|file| file.lock().map(|()| file));
        let _held = held.map_err(|error| disk(&lock, error))?;
        if !blob.exists() {
            self.fetch(&remote, &blob, progress)?;
        }
        put_link(&blob, &link, self.file, &remote.etag).map_err(|error| disk(&link, error))
    }

    /// Downloads the file to where a part of it may lie, checks it, and gives it its name.
    fn fetch(
        &self,
        remote: &RemoteFile,
        blob: &Path,
        progress: &mut dyn FnMut(DownloadProgress<'_>),
    ) -> Result<()> {
        let path = PathBuf::from(format!("{}.incomplete", blob.display()));
        let mut part = PartialFile::open(&path, remote).map_err(|error| disk(&path, error))?;
        let (attempts, first_delay) = self.hub.retries();
        let (mut failures, mut delay) = (0, first_delay);
        // A hub that begins anew each time makes no progress until it comes further than before.
        let mut furthest = part.len;
        while part.len < remote.bytes {
            let reason = match self.receive(&mut part, progress) {
                Ok(()) if part.len == remote.bytes => break,
                Ok(()) => "the connection was closed".to_owned(),
                Err(Interruption::Broken(reason)) => reason,
                Err(Interruption::Final(error)) => return Err(error),
            };
            if part.len > furthest {
                (failures, delay, furthest) = (0, first_delay, part.len);
            }
            failures += 1;
            if failures >= attempts {
                let message = format!(
                    "{}: the download broke off after {} of {} bytes: {reason}",
                    self.file, part.len, remote.bytes
                );
                return Err(Error::new(ErrorKind::Io, message)
                    .with_help("start again: it goes on from there"));
            }
            std::thread::sleep(delay);
            delay = delay.saturating_mul(2);
        }
        progress(self.state(remote.bytes, remote.bytes));
        if !part.is_right() {
            // Nobody can tell which byte is wrong.
            let _ = fs::remove_file(&path);
            let message =
                format!("{}: what arrived has not the hash that the hub names", self.file);
            return Err(Error::new(ErrorKind::Io, message).with_help(
                "start again; if it stays so, the way to the hub changes files (a proxy, a mirror)",
            ));
        }
        part.file.sync_all().map_err(|error| disk(&path, error))?;
        drop(part);
        fs::rename(&path, blob).map_err(|error| disk(blob, error))
    }

    /// One connection: from where the part ends to where the connection does.
    fn receive(
        &self,
        part: &mut PartialFile,
        progress: &mut dyn FnMut(DownloadProgress<'_>),
    ) -> std::result::Result<(), Interruption> {
        let path = part.path.clone();
        let on_disk = |error| Interruption::Final(disk(&path, error));
        let response = self.hub.open(self.repository, self.commit, self.file, part.len);
        let mut response = response.map_err(|failure| match failure {
            HubFailure::Unreachable(error) => Interruption::Broken(error.to_string()),
            HubFailure::Refused(error) => Interruption::Final(error),
        })?;
        let range = response.headers().get("content-range").and_then(|range| range.to_str().ok());
        let begins = format!("bytes {}-", part.len);
        let goes_on = response.status() == StatusCode::PARTIAL_CONTENT
            && range.is_some_and(|range| range.starts_with(&begins));
        if part.len > 0 && !goes_on {
            // The whole file comes, or nothing: what is there is of no use.
            part.restart().map_err(on_disk)?;
            if response.status() != StatusCode::OK {
                return Err(Interruption::Broken(
                    "the hub did not continue the download where it was interrupted".to_owned(),
                ));
            }
        }
        let mut buffer = vec![0; BUFFER_BYTES];
        let mut body = response.body_mut().as_reader();
        loop {
            progress(self.state(part.len, part.bytes));
            let read = match body.read(&mut buffer) {
                Ok(0) => return Ok(()),
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Interruption::Broken(error.to_string())),
            };
            if part.len + read as u64 > part.bytes {
                let _ = fs::remove_file(&part.path);
                let message =
                    format!("{}: more than the {} bytes that it has", self.file, part.bytes);
                return Err(Interruption::Final(Error::new(ErrorKind::Io, message).with_help(
                    "start again; if it stays so, the way to the hub changes files (a proxy, a \
                     mirror)",
                )));
            }
            part.append(&buffer[..read]).map_err(on_disk)?;
        }
    }

    fn state(&self, received: u64, total: u64) -> DownloadProgress<'_> {
        DownloadProgress { file: self.file, received, total }
    }
}

/// The end of a connection before the file's.
enum Interruption {
    /// Another connection may go on.
    Broken(String),
    /// None would.
    Final(Error),
}

/// The part of a file that has arrived.
struct PartialFile {
    path: PathBuf,
    file: File,
    hash: ContentHash,
    etag: String,
    /// Bytes that are here.
    len: u64,
    /// Bytes of the whole.
    bytes: u64,
}

impl PartialFile {
    /// The part that an earlier run left, or an empty one.
    fn open(path: &Path, remote: &RemoteFile) -> io::Result<Self> {
        let file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
        let mut part = Self {
            path: path.to_owned(),
            file,
            hash: ContentHash::new(remote),
            etag: remote.etag.clone(),
            len: 0,
            bytes: remote.bytes,
        };
        if part.file.metadata()?.len() > remote.bytes {
            part.restart()?;
        }
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            match part.file.read(&mut buffer)? {
                0 => return Ok(part),
                read => {
                    part.hash.update(&buffer[..read]);
                    part.len += read as u64;
                }
            }
        }
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.hash.update(bytes);
        self.len += bytes.len() as u64;
        Ok(())
    }

    fn restart(&mut self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        let remote = RemoteFile { etag: self.etag.clone(), bytes: self.bytes };
        (self.hash, self.len) = (ContentHash::new(&remote), 0);
        Ok(())
    }

    /// Whether the hash is the one in the name.
    fn is_right(&self) -> bool {
        self.hash.hex().is_none_or(|hex| hex.eq_ignore_ascii_case(&self.etag))
    }
}

/// The hash that a file's name in the cache is.
#[derive(Clone)]
enum ContentHash {
    /// Of large files.
    Sha256(Sha256),
    /// Of others, as git names them.
    Git(Sha1),
    /// A mirror's own name, which says nothing about the content.
    Unknown,
}

impl ContentHash {
    fn new(remote: &RemoteFile) -> Self {
        let is_hex = remote.etag.bytes().all(|byte| byte.is_ascii_hexdigit());
        match remote.etag.len() {
            64 if is_hex => Self::Sha256(Sha256::new()),
            40 if is_hex => {
                let mut hash = Sha1::new();
                hash.update(format!("blob {}\0", remote.bytes));
                Self::Git(hash)
            }
            _ => Self::Unknown,
        }
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(bytes),
            Self::Git(hash) => hash.update(bytes),
            Self::Unknown => {}
        }
    }

    fn hex(&self) -> Option<String> {
        let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Sha256(hash) => Some(hex(hash.clone().finalize().as_slice())),
            Self::Git(hash) => Some(hex(hash.clone().finalize().as_slice())),
            Self::Unknown => None,
        }
    }
}

/// Puts a link to a blob where the snapshot has the file: one that stays right when the cache is
/// moved. Where the system has no such links, another name or a copy of the file.
fn put_link(blob: &Path, link: &Path, name: &str, etag: &str) -> io::Result<()> {
    let make = || {
        #[cfg(unix)]
        {
            let _ = blob;
            let up = "../".repeat(2 + name.matches('/').count());
            std::os::unix::fs::symlink(format!("{up}blobs/{etag}"), link)
        }
        #[cfg(not(unix))]
        {
            let _ = (name, etag);
            fs::hard_link(blob, link).or_else(|_| fs::copy(blob, link).map(|_| ()))
        }
    };
    match make() {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && !link.exists() => {
            fs::remove_file(link)?;
            make()
        }
        // Another process was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// Writes a small file so that readers see the old or the new content, whoever else writes it.
fn write_whole(path: &Path, content: &[u8]) -> io::Result<()> {
    static WRITES: AtomicU64 = AtomicU64::new(0);
    fs::create_dir_all(path.parent().unwrap_or(Path::new("")))?;
    // A name that no other process and no other thread of this one writes to.
    let write = WRITES.fetch_add(1, Ordering::Relaxed);
    let new = PathBuf::from(format!("{}.{}-{write}", path.display(), std::process::id()));
    fs::write(&new, content)?;
    fs::rename(&new, path)
}

/// An error of the disk.
fn disk(path: &Path, error: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot write: {error}"))
        .in_file(path)
        .with_help("the cache of the hub lies there; HF_HOME or HF_HUB_CACHE names another")
        .with_source(error)
}
