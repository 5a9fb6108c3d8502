//! An index: what loading has computed, kept in a file, so that the next load only reads it.
//!
//! A file is named by its *key*, 128 bits of XXH3 over the bytes that everything in it was computed
//! from, the part that it holds and the version of the program. It is believed only if it names its
//! own key, is as long as it says, and its checksum holds; whatever is read from it is checked
//! against its bounds besides. Anything else counts as no file at all: its content is computed
//! again, and written again. XXH3 protects from accidents, not from who can write to the folder; a
//! folder that others can write to is no place for an index.
//!
//! All numbers are little-endian:
//!
//! | bytes | what |
//! |--:|---|
//! | 8 | [`MAGIC`] |
//! | 16 | the key |
//! | 8 | length of the content |
//! | … | the content: numbers, and lists with their lengths before them |
//! | 16 | XXH3-128 of all that stands before |
//!
//! A file is written under a name of its own, which nobody can guess, and then renamed, so that
//! readers, other writers and a failure half way meet whole files only, and no link that lies in the
//! folder is followed. Only regular files are read: opening anything else might wait for ever.
//!
//! Behind every write the folder is pruned to [`cache_limit`]: the files that were not used for the
//! longest time go, and what interrupted writers left behind. When a file was used is its time of
//! modification, which reading it renews.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use twox_hash::XxHash3_128;

use super::file::map;
use crate::error::{Error, ErrorKind, Result};

const MAGIC: [u8; 8] = *b"mask\xFFidx";

/// To be raised with every change to what is stored, or to how it is computed.
const FORMAT: u32 = 6;

const HEADER: usize = 32;
const CHECKSUM: usize = 16;

/// The largest file, in bytes, that is read; the index of 200,000 tokens takes 20 MB.
const LARGEST: u64 = 1 << 30;

/// How many bytes the files of a folder may take unless the user says otherwise.
const CACHE_LIMIT: u64 = 512 << 20;

/// A file that was used is marked as used so long after it was marked last.
const MARK_AGAIN: Duration = Duration::from_secs(3600);

/// No writer takes so long: what it left behind may go.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The extension of an index, and of a file that is to become one.
const INDEX: &str = "index";
const UNFINISHED: &str = "part";

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A vocabulary's tokens and trie.
    Vocabulary,
    /// What a compiler prepares for it.
    Slices,
}

impl Part {
    const ALL: [Self; 2] = [Self::Vocabulary, Self::Slices];

    fn name(self) -> &'static str {
        match self {
            Self::Vocabulary => "vocabulary",
            Self::Slices => "slices",
        }
    }
}

/// Where the index of one vocabulary lies.
#[derive(Clone, Debug)]
pub(crate) struct Index {
    folder: PathBuf,
    /// Of what it is computed from.
    content: u128,
}

impl Index {
    /// The index, in a folder that need not exist yet, of what is computed from these bytes.
    pub(crate) fn new(folder: &Path, sources: &[&[u8]]) -> Self {
        Self { folder: folder.to_owned(), content: hash(sources) }
    }

    /// The index of what is computed from the same and from these bytes.
    pub(crate) fn with(&self, more: &[&[u8]]) -> Self {
        let content = self.content.to_le_bytes();
        let sources: Vec<&[u8]> = [&content[..]].into_iter().chain(more.iter().copied()).collect();
        Self { folder: self.folder.clone(), content: hash(&sources) }
    }

    fn key(&self, part: Part) -> u128 {
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let content = self.content.to_le_bytes();
        hash(&[&content, part.name().as_bytes(), version, &FORMAT.to_le_bytes()])
    }

    /// The file of a part.
    pub(crate) fn path(&self, part: Part) -> PathBuf {
        self.folder.join(format!("{}-{:032x}.{INDEX}", part.name(), self.key(part)))
    }

    /// What `decode` makes of a part; `None` where there is no file, or none to be believed.
    pub(crate) fn read<T>(
        &self,
        part: Part,
        decode: impl FnOnce(&mut Reader<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut file = open(&self.path(part)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > LARGEST {
            return None;
        }
        // What is not an index of this key is not mapped.
        let mut header = [0; HEADER];
        file.read_exact(&mut header).ok()?;
        if !is_header(&header, self.key(part), metadata.len()) {
            return None;
        }
        let mapped = map(&file).ok()?;
        let mut reader = Reader { bytes: content(&mapped, self.key(part))? };
        let decoded = decode(&mut reader).filter(|_| reader.bytes.is_empty())?;
        mark_used(&file, &metadata);
        Some(decoded)
    }

    /// Writes a part, whole or not at all.
    ///
    /// Errors if the folder cannot be made or written to.
    pub(crate) fn write(&self, part: Part, encode: impl FnOnce(&mut Writer)) -> Result<()> {
        let mut writer = Writer { bytes: vec![0; HEADER] };
        encode(&mut writer);
        let mut bytes = writer.bytes;
        let length = (bytes.len() - HEADER) as u64;
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..24].copy_from_slice(&self.key(part).to_le_bytes());
        bytes[24..HEADER].copy_from_slice(&length.to_le_bytes());
        let checksum = XxHash3_128::oneshot(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        let path = self.path(part);
        let limit = cache_limit()?;
        replace(&path, &bytes).map_err(|e| {
            Error::new(ErrorKind::Io, format!("the index cannot be written: {e}"))
                .in_file(&path)
                .with_help("everything works without it; only loading takes longer")
                .with_source(e)
        })?;
        prune(&self.folder, &path, limit);
        Ok(())
    }
}

/// How many bytes the indexes in a folder may take: `MASKWRIGHT_CACHE_LIMIT` in megabytes, 512
/// without it. The one that was written last is kept in any case.
///
/// Errors if the variable is no number.
pub fn cache_limit() -> Result<u64> {
    let Some(given) = std::env::var_os("MASKWRIGHT_CACHE_LIMIT") else { return Ok(CACHE_LIMIT) };
    let megabytes = given.to_str().and_then(|text| text.parse::<u64>().ok());
    megabytes.map(|megabytes| megabytes.saturating_mul(1 << 20)).ok_or_else(|| {
        let message = "MASKWRIGHT_CACHE_LIMIT is no number, so no index is written";
        Error::new(ErrorKind::Io, message).with_help("write a number of megabytes, such as 512")
    })
}

/// Where programs keep indexes unless they are told otherwise: the folder that `MASKWRIGHT_CACHE`
/// names, `None` where it is empty; without it `maskwright` in the user's folder for caches
/// (`$XDG_CACHE_HOME`, or what the system has for it), `None` where there is none.
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

/// The content of a file that is whole and has this key.
fn content(file: &[u8], key: u128) -> Option<&[u8]> {
    let (rest, checksum) = file.split_at_checked(file.len().checked_sub(CHECKSUM)?)?;
    let (header, content) = rest.split_at_checked(HEADER)?;
    let sound = is_header(header, key, file.len() as u64)
        && checksum == XxHash3_128::oneshot(rest).to_le_bytes();
    sound.then_some(content)
}

/// Whether a file of this length with this key begins so.
fn is_header(header: &[u8], key: u128, length: u64) -> bool {
    let content = length.checked_sub((HEADER + CHECKSUM) as u64);
    header[..8] == MAGIC
        && header[8..24] == key.to_le_bytes()
        && content.is_some_and(|content| header[24..] == content.to_le_bytes())
}

/// Opens a file for reading, if a regular file lies there and no link. Never waits, as it otherwise
/// would for the writer of a pipe.
fn open(path: &Path) -> io::Result<File> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut options = OpenOptions::new();
    options.read(true);
    // Something else may have taken its place meanwhile.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOFOLLOW,
    );
    options.open(path)
}

/// Notes that a file was used.
fn mark_used(file: &File, metadata: &fs::Metadata) {
    let now = SystemTime::now();
    let age = metadata.modified().ok().and_then(|modified| now.duration_since(modified).ok());
    if age.is_some_and(|age| age > MARK_AGAIN) {
        // A file of somebody else's keeps its time.
        let _ = file.set_modified(now);
    }
}

/// Puts a file in the place of another in one step. It is the user's alone, and so is its folder if
/// there was none.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
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

/// A new file beside another, under a name that nobody can guess.
fn create_temporary(path: &Path) -> io::Result<(PathBuf, File)> {
    /// Two names of 64 random bits are never the same, unless something is wrong.
    const ATTEMPTS: usize = 8;
    let mut options = OpenOptions::new();
    // Errors where anything lies under the name, a link among it.
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let attempt = || {
        // Its keys are random, by the operating system.
        let random = RandomState::new().build_hasher().finish();
        let temporary = path.with_extension(format!("{random:016x}.{UNFINISHED}"));
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

/// Removes files that were not used for the longest time until the others take no more than `limit`
/// bytes, and what interrupted writers left; `keep` stays. Only files with names of indexes are
/// looked at. What cannot be removed stays: somebody else's, or one that is in use (Windows).
fn prune(folder: &Path, keep: &Path, limit: u64) {
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
        if extension == UNFINISHED {
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

/// The extension of a file that has the name of an index, or of one that is to become one.
fn extension_of_index(path: &Path) -> Option<&'static str> {
    let name = path.file_name()?.to_str()?;
    let rest =
        Part::ALL.iter().find_map(|part| name.strip_prefix(part.name())?.strip_prefix('-'))?;
    let (key, rest) = rest.split_at_checked(32)?;
    let extension = match rest.strip_prefix('.')? {
        INDEX => INDEX,
        // With a text of the writer's own between.
        rest if rest.rsplit_once('.')?.1 == UNFINISHED => UNFINISHED,
        _ => return None,
    };
    key.bytes().all(|byte| byte.is_ascii_hexdigit()).then_some(extension)
}

/// 128 bits over some texts, and over where one ends and the next begins.
fn hash(sources: &[&[u8]]) -> u128 {
    let mut hasher = XxHash3_128::new();
    for source in sources {
        hasher.write(&(source.len() as u64).to_le_bytes());
        hasher.write(source);
    }
    hasher.finish_128()
}

/// A number of fixed width.
pub(crate) trait Number: Copy {
    /// In bytes.
    const WIDTH: usize;
    fn put(self, bytes: &mut Vec<u8>);
    /// From so many bytes.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! number {
    ($($number:ty),*) => {$(
        impl Number for $number {
            const WIDTH: usize = size_of::<Self>();

            fn put(self, bytes: &mut Vec<u8>) {
                bytes.extend_from_slice(&self.to_le_bytes());
            }

            fn get(bytes: &[u8]) -> Self {
                let mut own = [0; size_of::<Self>()];
                own.copy_from_slice(bytes);
                Self::from_le_bytes(own)
            }
        }
    )*};
}

number!(u8, u16, u32, u64);

/// Content of a file while it is made.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn number(&mut self, number: impl Number) {
        number.put(&mut self.bytes);
    }

    /// The length, then the numbers.
    pub(crate) fn list<T: Number>(&mut self, numbers: impl ExactSizeIterator<Item = T>) {
        self.number(numbers.len() as u64);
        self.bytes.reserve(numbers.len() * T::WIDTH);
        numbers.for_each(|number| number.put(&mut self.bytes));
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    /// What was written so far.
    #[cfg(test)]
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { bytes: &self.bytes }
    }
}

/// Content of a file, from front to back. `None` where it ends too early.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(crate) fn number<T: Number>(&mut self) -> Option<T> {
        self.take(T::WIDTH).map(T::get)
    }

    /// Numbers that a [`Writer::list`] has written.
    pub(crate) fn list<T: Number>(
        &mut self,
    ) -> Option<impl ExactSizeIterator<Item = T> + use<'a, T>> {
        let length = usize::try_from(self.number::<u64>()?).ok()?;
        let bytes = self.take(length.checked_mul(T::WIDTH)?)?;
        Some(bytes.chunks_exact(T::WIDTH).map(T::get))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number::<u64>()?).ok()?;
        self.take(length)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
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
        let index = Index::new(&folder, &[b"x"]);
        index.write(Part::Slices, |to| to.number(7_u32)).unwrap();
        let path = index.path(Part::Slices);
        let modified = || fs::metadata(&path).unwrap().modified().unwrap();
        let long_ago = SystemTime::now() - 2 * MARK_AGAIN;
        File::options().write(true).open(&path).unwrap().set_modified(long_ago).unwrap();
        assert_eq!(index.read(Part::Slices, |from| from.number::<u32>()), Some(7));
        assert!(modified() > long_ago + MARK_AGAIN);
        fs::remove_dir_all(folder).unwrap();
    }
}
