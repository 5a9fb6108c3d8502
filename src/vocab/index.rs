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
//! A file is written under a name of its own and then renamed, so that readers, other writers and a
//! failure half way meet whole files only.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use twox_hash::XxHash3_128;

use super::file::map;
use crate::error::{Error, ErrorKind, Result};

const MAGIC: [u8; 8] = *b"mask\xFFidx";

/// To be raised with every change to what is stored, or to how it is computed.
const FORMAT: u32 = 5;

const HEADER: usize = 32;
const CHECKSUM: usize = 16;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// A vocabulary's tokens and trie.
    Vocabulary,
    /// What a compiler prepares for it.
    Slices,
}

impl Part {
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
    pub(super) fn new(folder: &Path, sources: &[&[u8]]) -> Self {
        Self { folder: folder.to_owned(), content: hash(sources) }
    }

    /// The index of what is computed from the same and from these bytes.
    pub(super) fn with(&self, more: &[&[u8]]) -> Self {
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
        self.folder.join(format!("{}-{:032x}.index", part.name(), self.key(part)))
    }

    /// What `decode` makes of a part; `None` where there is no file, or none to be believed.
    pub(crate) fn read<T>(
        &self,
        part: Part,
        decode: impl FnOnce(&mut Reader<'_>) -> Option<T>,
    ) -> Option<T> {
        let file = File::open(self.path(part)).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mapped = map(&file).ok()?;
        let mut reader = Reader { bytes: content(&mapped, self.key(part))? };
        decode(&mut reader).filter(|_| reader.bytes.is_empty())
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
        replace(&path, &bytes).map_err(|e| {
            Error::new(ErrorKind::Io, format!("the index cannot be written: {e}"))
                .in_file(path)
                .with_help("everything works without it; only loading takes longer")
        })
    }
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
    let sound = header[..8] == MAGIC
        && header[8..24] == key.to_le_bytes()
        && header[24..] == (content.len() as u64).to_le_bytes()
        && checksum == XxHash3_128::oneshot(rest).to_le_bytes();
    sound.then_some(content)
}

/// Puts a file in the place of another in one step.
fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    // No other process has this id now, no other thread this number.
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let temporary = path.with_extension(format!("{}-{number}.part", std::process::id()));
    let write = || {
        File::create(&temporary)?.write_all(bytes)?;
        fs::rename(&temporary, path)
    };
    write().inspect_err(|_| {
        // There may be nothing to remove.
        let _ = fs::remove_file(&temporary);
    })
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
