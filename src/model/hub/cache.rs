//! Commits and snapshots in the cache.

use std::path::{Path, PathBuf};

/// Hexadecimal digits of a commit's hash.
const COMMIT_DIGITS: usize = 40;

/// The folder of one model in the cache.
#[derive(Debug)]
pub(super) struct RepositoryCache {
    folder: PathBuf,
    /// The folder of its locks.
    #[cfg_attr(not(feature = "hub"), allow(dead_code, reason = "what is only read needs no lock"))]
    pub(super) locks: PathBuf,
}

impl RepositoryCache {
    pub(super) fn new(cache: &Path, id: &str) -> Self {
        let name = format!("models--{}", id.replace('/', "--"));
        Self { folder: cache.join(&name), locks: cache.join(".locks").join(&name) }
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file that holds a branch's commit.
    pub(super) fn reference(&self, revision: &str) -> PathBuf {
        self.folder.join("refs").join(revision)
    }

    /// The commit that a revision was at when it was last looked up.
    pub(super) fn commit(&self, revision: &str) -> Option<String> {
        if is_commit(revision) {
            return Some(revision.to_owned());
        }
        let text = std::fs::read_to_string(self.reference(revision)).ok()?;
        Some(text.trim().to_owned()).filter(|commit| is_commit(commit))
    }

    /// The folder of a commit's files.
    pub(super) fn snapshot(&self, commit: &str) -> PathBuf {
        self.folder.join("snapshots").join(commit)
    }
}

/// Whether a revision is a commit, whose files never change.
pub(super) fn is_commit(revision: &str) -> bool {
    revision.len() == COMMIT_DIGITS && revision.bytes().all(|byte| byte.is_ascii_hexdigit())
}
