//! The folder that indexes lie in: where it is, how files are opened and replaced in it, and how it
//! is kept below a limit.
//!
//! Any number of processes may read and write one folder at once. A file is written under a random
//! name and renamed into place, so that readers, other writers and an interrupted write meet whole
//! files only, and a link that lies in the folder is never followed. Only regular files are opened:
//! opening a pipe would wait for its writer.
//!
//! Eviction is by the time of last use, which is the file's modification time: a read renews it, at
//! most once an hour.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::IndexPart;
use crate::error::{Error, ErrorKind, Result};

/// Default limit of a folder, in bytes: the indexes of some twenty vocabularies.
const DEFAULT_CACHE_LIMIT: u64 = 512 << 20;

/// Least time between two renewals of a file's time of use, so that reading seldom writes.
const MARK_AGAIN: Duration = Duration::from_secs(3600);

/// Age from which an unfinished file counts as abandoned: no writer takes an hour.
const ABANDONED: Duration = Duration::from_secs(3600);

/// Extension of an index.
pub(super) const INDEX_EXTENSION: &str = "index";
/// Extension of a file that becomes an index once it is renamed.
const UNFINISHED_EXTENSION: &str = "part";

/// The limit of a folder of indexes in bytes: `MASKWRIGHT_CACHE_LIMIT` megabytes, 512 MB where the
/// variable is not set. The index that was written last is kept even beyond the limit.
///
/// Errors if the variable is no number.
pub fn cache_limit() -> Result<u64> {
    let Some(given) = std::env::var_os("MASKWRIGHT_CACHE_LIMIT") else {
        return Ok(DEFAULT_CACHE_LIMIT);
    };
    let megabytes = given.to_str().and_then(|text| text.parse::<u64>().ok());
    megabytes.map(|megabytes| megabytes.saturating_mul(1 << 20)).ok_or_else(|| {
        let message = "MASKWRIGHT_CACHE_LIMIT is no number, so no index is written";
        Error::new(ErrorKind::Io, message).with_help("write a number of megabytes, such as 512")
    })
}

/// The folder that programs keep indexes in by convention: the value of `MASKWRIGHT_CACHE`, `None`
/// if that is empty; where the variable is not set, `maskwright` in the user's cache folder
/// (`$XDG_CACHE_HOME`, or the system's equivalent), `None` if there is no such folder.
///
/// ```
/// use maskwright::Vocabulary;
/// use maskwright::vocabulary::cache_folder;
/// # fn load() -> maskwright::Result<Vocabulary> {
/// match cache_folder() {
///     Some(folder) => Vocabulary::from_file_indexed("tokenizer.json", folder),
///     None => Vocabulary::from_file("tokenizer.json"),
/// }
/// # }
/// ```
pub fn cache_folder() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    if let Some(chosen) = variable("MASKWRIGHT_CACHE") {
        return Some(chosen).filter(|folder| !folder.as_os_str().is_empty());
    }
    // A path that is not absolute is to be ignored, by the XDG Base Directory Specification.
    let absolute = |folder: PathBuf| Some(folder).filter(|folder| folder.is_absolute());
    let home = || variable("HOME").and_then(absolute);
    let caches = match variable("XDG_CACHE_HOME").and_then(absolute) {
        Some(folder) => Some(folder),
        None if cfg!(windows) => variable("LOCALAPPDATA").and_then(absolute),
        None if cfg!(target_os = "macos") => home().map(|home| home.join("Library/Caches")),
        None => home().map(|home| home.join(".cache")),
    };
    caches.map(|folder| folder.join("maskwright"))
}

/// Opens a regular file for reading; errors on links and on everything else. Never blocks.
pub(super) fn open_regular(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut options = OpenOptions::new();
    options.read(true);
    // The file may have been replaced since it was looked at.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOFOLLOW,
    );
    options.open(path)
}

/// Renews a file's time of use, unless that is recent.
pub(super) fn mark_used(file: &File, metadata: &fs::Metadata) {
    let now = SystemTime::now();
    let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
    if age.is_some_and(|age| age > MARK_AGAIN) {
        // Fails on a file of another user, which then keeps its time.
        let _ = file.set_modified(now);
    }
}

/// Replaces a file atomically. Only the user may read it, and its folder if that is created here.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if !folder.as_os_str().is_empty() {
        builder.create(folder)?;
    }
    let (temporary, mut file) = create_temporary(path)?;
    let written = file.write_all(bytes).and_then(|()| fs::rename(&temporary, path));
    written.inspect_err(|_| {
        // There may be nothing to remove.
        let _ = fs::remove_file(&temporary);
    })
}

/// Creates a file beside another one under an unpredictable name.
fn create_temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    /// Names of 64 random bits do not collide by chance, so more attempts would not help.
    const ATTEMPTS: usize = 8;
    let mut options = OpenOptions::new();
    // Errors if anything has this name already, links included.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let attempt = || {
        // The standard library takes the hasher's keys from the operating system.
        let random = RandomState::new().build_hasher().finish();
        let temporary = path.with_extension(format!("{random:016x}.{UNFINISHED_EXTENSION}"));
        options.open(&temporary).map(|file| (temporary, file))
    };
    for _ in 1..ATTEMPTS {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            result => return result,
        }
    }
    attempt()
}

/// Removes the least recently used indexes until the folder takes at most `limit` bytes, and files
/// that interrupted writers left behind. `keep` stays. Only files whose names are those of indexes
/// are considered; files that cannot be removed stay (another user's, or in use on Windows).
pub(super) fn prune(folder: &Path, keep: &Path, limit: u64) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let now = SystemTime::now();
    let mut indexes = Vec::new();
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let Ok(metadata) = fs::symlink_metadata(&path) else { continue };
        let (true, Some(extension), Ok(modified)) =
            (metadata.is_file(), extension_of_index(&path), metadata.modified())
        else {
            continue;
        };
        if extension == UNFINISHED_EXTENSION {
            if now.duration_since(modified).is_ok_and(|age| age > ABANDONED) {
                let _ = fs::remove_file(&path);
            }
        } else if path != keep {
            indexes.push((modified, metadata.len(), path));
        }
    }
    indexes.sort();
    let kept = fs::symlink_metadata(keep).map_or(0, |metadata| metadata.len());
    let mut total =
        indexes.iter().fold(kept, |total, (_, length, _)| total.saturating_add(*length));
    for (_, length, path) in indexes {
        if total <= limit {
            return;
        }
        if fs::remove_file(&path).is_ok() {
            total -= length;
        }
    }
}

/// The extension of a file that has the name of an index or of an unfinished one.
fn extension_of_index(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let rest =
        IndexPart::ALL.iter().find_map(|part| name.strip_prefix(part.name())?.strip_prefix('-'))?;
    let (key, rest) = rest.split_at_checked(32)?;
    let extension = match rest.strip_prefix('.')? {
        INDEX_EXTENSION => INDEX_EXTENSION,
        // The writer's random name stands in between.
        rest if rest.rsplit_once('.')?.1 == UNFINISHED_EXTENSION => UNFINISHED_EXTENSION,
        _ => return None,
    };
    key.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(extension)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::super::VocabularyIndex;
    use super::*;

    /// A folder of the test's own.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("maskwright-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn what_was_not_used_for_the_longest_time_goes() {
        let folder = folder("prune");
        let key = "0123456789abcdef0123456789abcdef";
        let file = |name: &str, hours: u64| {
            let path = folder.join(name.replace("KEY", key));
            fs::write(&path, [0; 100]).unwrap();
            let used = SystemTime::now() - Duration::from_secs(3600 * hours);
            File::options().write(true).open(&path).unwrap().set_modified(used).unwrap();
            path
        };
        let oldest = file("slices-KEY.index", 9);
        let kept = file("vocabulary-KEY.index", 8);
        let newer = file("vocabulary-00000000000000000000000000000000.index", 2);
        let (stale, unfinished) =
            (file("slices-KEY.12-0.part", 2), file("slices-KEY.fedcba9876543210.part", 0));
        let others = [
            file("vocabulary-KEY.index.json", 9),
            file("vocabulary-short.index", 9),
            file("notes.part", 9),
            file("other-KEY.index", 9),
        ];
        prune(&folder, &kept, 300);
        assert!(oldest.exists() && newer.exists() && !stale.exists() && unfinished.exists());
        prune(&folder, &kept, 299);
        assert!(!oldest.exists() && newer.exists() && kept.exists());
        prune(&folder, &kept, 0);
        assert!(!newer.exists() && kept.exists() && unfinished.exists());
        assert!(others.iter().all(|path| path.exists()));
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn reading_marks_a_file_as_used() {
        let folder = folder("used");
        let index = VocabularyIndex::new(&folder, &[b"x"]);
        index.write(IndexPart::Splits, |to| to.number(7_u32)).unwrap();
        let path = index.path(IndexPart::Splits);
        let modified = || fs::metadata(&path).unwrap().modified().unwrap();
        let long_ago = SystemTime::now() - 2 * MARK_AGAIN;
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(index.read(IndexPart::Splits, |from| from.number::<u32>()), Some(7));
        assert!(modified() > long_ago + MARK_AGAIN);
        fs::remove_dir_all(folder).unwrap();
    }
}
