//! The index: an on-disk cache of a parsed vocabulary and of its compiled token tables, so that the next
//! load reads them instead of computing them.
//!
//! Loading a vocabulary of 150,000 tokens parses a tokenizer file, sorts the tokens and builds the
//! trie; reading its index only checks and copies arrays.
//!
//! # File format
//!
//! One file holds one [`IndexPart`] of one vocabulary. Numbers are little-endian.
//!
//! | bytes | field |
//! |--:|---|
//! | 8 | magic: `mask\xFFidx` |
//! | 16 | key: XXH3-128 over everything that the content is computed from, the name of the part, the crate's version and [`FORMAT`] |
//! | 8 | length of the content in bytes |
//! | … | content: numbers, and lists with their lengths in front ([`codec`]) |
//! | 16 | checksum: XXH3-128 of all bytes before it |
//!
//! The content of [`IndexPart::Vocabulary`] is written by `Vocabulary::write_index`: the token
//! table, the end tokens, the names of special tokens, then the trie. [`IndexPart::Splits`] is the
//! compiler's.
//!
//! # Invariants
//!
//! - The name of a file is `PART-KEY.index`, so a change of a source, of the crate or of the format
//!   leads to another file; old ones are evicted and never converted.
//! - A file is accepted only if it names its own key, has the length that it states, and its
//!   checksum holds. Decoding checks every number against its bounds besides. Anything else counts
//!   as no file: the content is computed and written again.
//! - XXH3 protects from accidents, not from somebody who can write to the folder; a folder that
//!   others can write to is no place for an index.
//! - Files are replaced as a whole, never changed in place ([`cache_folder`](mod@cache_folder)).

mod cache_folder;
mod codec;

use std::io::Read as _;
use std::path::{Path, PathBuf};

use twox_hash::XxHash3_128;

use super::mapped_file::map_file;
use crate::error::{Error, ErrorKind, Result};
use cache_folder::{INDEX_EXTENSION, mark_used, open_regular, prune, replace};

pub use cache_folder::{cache_folder, cache_limit};
pub(crate) use codec::{IndexReader, IndexWriter};

/// First bytes of every index. The byte 0xFF occurs in no text file.
const MAGIC: [u8; 8] = *b"mask\xFFidx";

/// Version of the content. Raise it with every change to what is stored or to how it is computed.
const FORMAT: u32 = 7;

/// Length of magic, key and content length, in bytes.
const HEADER: usize = 32;
/// Length of the checksum, in bytes.
const CHECKSUM: usize = 16;

/// Largest file that is read, in bytes; the index of 200,000 tokens takes 20 MB.
const MAX_FILE_BYTES: u64 = 1 << 30;

/// The content of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexPart {
    /// Token table, names, end tokens and trie of a vocabulary.
    Vocabulary,
    /// Token splits that a compiler prepares for the vocabulary.
    Splits,
}

impl IndexPart {
    const ALL: [Self; 2] = [Self::Vocabulary, Self::Splits];

    fn name(self) -> &'static str {
        match self {
            Self::Vocabulary => "vocabulary",
            // Part of the file names, unchanged since the first version, so that `prune` still recognises
            // the files of earlier versions.
            Self::Splits => "slices",
        }
    }
}

/// The place of one vocabulary's index: a folder and the hash of the sources.
#[derive(Clone, Debug)]
pub(crate) struct VocabularyIndex {
    folder: PathBuf,
    /// Hash of everything that the content is computed from.
    content: u128,
}

impl VocabularyIndex {
    /// The index of whatever is computed from these bytes. The folder need not exist yet.
    pub(crate) fn new(folder: &Path, sources: &[&[u8]]) -> Self {
        Self { folder: folder.to_owned(), content: hash(sources) }
    }

    /// The index of whatever is computed from the same sources and from these bytes.
    pub(crate) fn with(&self, more: &[&[u8]]) -> Self {
        let content = self.content.to_le_bytes();
        let sources: Vec<&[u8]> = [&content[..]].into_iter().chain(more.iter().copied()).collect();
        Self { folder: self.folder.clone(), content: hash(&sources) }
    }

    fn key(&self, part: IndexPart) -> u128 {
        let version = env!("CARGO_PKG_VERSION").as_bytes();
        let content = self.content.to_le_bytes();
        hash(&[&content, part.name().as_bytes(), version, &FORMAT.to_le_bytes()])
    }

    /// The path of a part's file.
    pub(crate) fn path(&self, part: IndexPart) -> PathBuf {
        self.folder.join(format!("{}-{:032x}.{INDEX_EXTENSION}", part.name(), self.key(part)))
    }

    /// Reads a part with `decode`. `None` if there is no file, or none that is valid for this key.
    pub(crate) fn read<T>(
        &self,
        part: IndexPart,
        decode: impl FnOnce(&mut IndexReader<'_>) -> Option<T>,
    ) -> Option<T> {
        let mut file = open_regular(&self.path(part)).ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() || metadata.len() > MAX_FILE_BYTES {
            return None;
        }
        // The header is checked before the file is mapped.
        let mut header = [0; HEADER];
        file.read_exact(&mut header).ok()?;
        if !is_header(&header, self.key(part), metadata.len()) {
            return None;
        }
        let mapped = map_file(&file).ok()?;
        let mut reader = IndexReader::new(content(&mapped, self.key(part))?);
        let decoded = decode(&mut reader).filter(|_| reader.is_at_end())?;
        mark_used(&file, &metadata);
        Some(decoded)
    }

    /// Writes a part, whole or not at all, and evicts older files beyond the folder's limit.
    ///
    /// Errors if the folder cannot be made or written to.
    pub(crate) fn write(
        &self,
        part: IndexPart,
        encode: impl FnOnce(&mut IndexWriter),
    ) -> Result<()> {
        let mut writer = IndexWriter::after_header(HEADER);
        encode(&mut writer);
        let mut bytes = writer.into_bytes();
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

/// The content of a file, if it is whole and has this key.
fn content(file: &[u8], key: u128) -> Option<&[u8]> {
    let (rest, checksum) = file.split_at_checked(file.len().checked_sub(CHECKSUM)?)?;
    let (header, content) = rest.split_at_checked(HEADER)?;
    let sound = is_header(header, key, file.len() as u64)
        && checksum == XxHash3_128::oneshot(rest).to_le_bytes();
    sound.then_some(content)
}

/// Whether this is the header of a file of this length and key.
fn is_header(header: &[u8], key: u128, length: u64) -> bool {
    let content = length.checked_sub((HEADER + CHECKSUM) as u64);
    header[..8] == MAGIC
        && header[8..24] == key.to_le_bytes()
        && content.is_some_and(|content| header[24..] == content.to_le_bytes())
}

/// XXH3-128 over byte strings, each with its length in front, so that borders count.
fn hash(sources: &[&[u8]]) -> u128 {
    let mut hasher = XxHash3_128::new();
    for source in sources {
        hasher.write(&(source.len() as u64).to_le_bytes());
        hasher.write(source);
    }
    hasher.finish_128()
}
