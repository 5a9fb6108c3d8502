//! The files of a model folder, on disk or inside the binary; readers do not see the difference.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;

use super::gguf::GgufFile;
use crate::error::{Error, ErrorKind, Result};
use crate::model::hub::Repository;
use crate::vocabulary::map_file;

/// A model folder.
#[derive(Clone, Debug)]
pub(crate) enum ModelFiles {
    /// On disk.
    Folder(PathBuf),
    /// In the binary: the model's name, and each file's name and content.
    Embedded(&'static str, &'static [(&'static str, &'static [u8])]),
    /// In a GGUF file, which stands for a folder with a `config.json` and the files of a tokenizer.
    Gguf(Arc<GgufFile>),
}

/// The content of a weight file, which may be larger than memory.
#[derive(Debug)]
pub(crate) enum WeightBytes {
    Mapped(Mmap),
    Static(&'static [u8]),
}

impl Deref for WeightBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Static(bytes) => bytes,
        }
    }
}

impl ModelFiles {
    /// A folder on disk. Errors if there is none at this path.
    pub(crate) fn folder(path: &Path) -> Result<Self> {
        let error = |message: &str| {
            let usual = "give a folder with config.json, tokenizer.json and model.safetensors, a GGUF \
                 file, ORG/NAME of Hugging Face's hub, or `tiny`";
            let help = match path.to_str().and_then(name_in_address) {
                Some(name) => format!("an address is no name: write {name}"),
                None => usual.to_owned(),
            };
            Error::new(ErrorKind::Model, message).in_file(path).with_help(help)
        };
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Ok(Self::Folder(path.to_owned())),
            Ok(_) => Err(error("not a model folder")),
            Err(reason) if reason.kind() == io::ErrorKind::NotFound => {
                Err(error("there is no such model folder"))
            }
            Err(reason) => Err(error(&format!("cannot read the model folder: {reason}"))),
        }
    }

    /// The path of a file, for messages.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        match self {
            Self::Folder(folder) => folder.join(name),
            Self::Embedded(model, _) => Path::new(model).join(name),
            Self::Gguf(file) => file.path().to_owned(),
        }
    }

    /// A whole file, or `None` if there is none of that name.
    pub(crate) fn read(&self, name: &str) -> Result<Option<Cow<'static, [u8]>>> {
        match self {
            Self::Folder(folder) => match read_file(&folder.join(name)) {
                Ok(bytes) if is_pointer(&bytes) => Err(pointer(&self.path(name))),
                Ok(bytes) => Ok(Some(Cow::Owned(bytes))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.none_unless_dangling_link(name)
                }
                Err(error) => Err(self.unreadable(name, error)),
            },
            Self::Embedded(_, files) => Ok(embedded(files, name).map(Cow::Borrowed)),
            Self::Gguf(file) => Ok(file.document(name).map(|bytes| Cow::Owned(bytes.to_owned()))),
        }
    }

    /// A whole file that must be there.
    pub(crate) fn require(&self, name: &str) -> Result<Cow<'static, [u8]>> {
        self.read(name)?.ok_or_else(|| {
            Error::new(ErrorKind::Model, "the model folder has no such file")
                .in_file(self.path(name))
                .with_help(self.advice())
        })
    }

    /// The advice about a folder that lacks a file, by the files that it has instead.
    fn advice(&self) -> String {
        let usual = "a model folder holds config.json, tokenizer.json and model.safetensors";
        let names = self.names();
        let has = |name: &str| names.iter().any(|found| found == name);
        if let (Self::Folder(folder), true) = (self, has("snapshots")) {
            return format!("this is the folder of a cache; give its {}", snapshot_of(folder));
        }
        if let (Self::Folder(folder), Some(cached)) =
            (self, names.iter().find(|name| name.starts_with("models--")))
        {
            let snapshot = snapshot_of(&folder.join(cached));
            let name = cached.trim_start_matches("models--").replacen("--", "/", 1);
            return format!(
                "this is a cache of models; give the name of one, such as `{name}`, or its \
                 {cached}/{snapshot}"
            );
        }
        if let Some(gguf) = names.iter().find(|name| name.ends_with(".gguf")) {
            return format!("{usual}; give `{gguf}` itself to load that file");
        }
        if has("params.json") && names.iter().any(|name| name.starts_with("consolidated")) {
            return format!(
                "{usual}; these are the files of the model's makers (params.json, consolidated weights): get those \
                 for the `transformers` library"
            );
        }
        let is_tokenizer = |name: &&String| {
            matches!(&***name, "tokenizer.model" | "tekken.json" | "vocab.json" | "merges.txt")
                || name.ends_with(".tiktoken")
        };
        match names.iter().find(is_tokenizer) {
            Some(found) if !has("tokenizer.json") => format!(
                "{usual}; the `transformers` library converts a {found}: load it with AutoTokenizer and write it \
                 with save_pretrained"
            ),
            _ => usual.to_owned(),
        }
    }

    /// The names of what lies in the folder, in order; none where they cannot be listed.
    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Folder(folder) => std::fs::read_dir(folder)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.file_name().to_string_lossy().into_owned())
                .collect(),
            Self::Embedded(_, files) => files.iter().map(|(name, _)| (*name).to_owned()).collect(),
            Self::Gguf(file) => file.document_names().map(str::to_owned).collect(),
        };
        names.sort_unstable();
        names
    }

    /// `None` for a file that does not exist; an error for a link to nothing.
    fn none_unless_dangling_link<T>(&self, name: &str) -> Result<Option<T>> {
        let path = self.path(name);
        match path.symlink_metadata() {
            Ok(_) => {
                Err(Error::new(ErrorKind::Io, "the link leads to no file").in_file(path).with_help(
                    "download the file again: the cache that it lay in may have dropped it",
                ))
            }
            Err(_) => Ok(None),
        }
    }

    /// A file in JSON, or `None` if there is none of that name.
    pub(crate) fn json(&self, name: &str) -> Result<Option<serde_json::Value>> {
        let Some(bytes) = self.read(name)? else {
            return Ok(None);
        };
        serde_json::from_slice(&bytes).map(Some).map_err(|error| {
            let text = error.to_string();
            // The position becomes the error's place.
            let reason = text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason);
            Error::new(ErrorKind::Model, format!("not valid JSON: {reason}"))
                .in_file(self.path(name))
                .at_line_column(error.line(), error.column())
                .with_help("mend the file, or copy the model's again")
        })
    }

    /// A weight file, mapped rather than read where it is on disk.
    pub(crate) fn map(&self, name: &str) -> Result<Option<WeightBytes>> {
        match self {
            Self::Folder(folder) => {
                match open_file(&folder.join(name)).and_then(|file| map_file(&file)) {
                    Ok(map) if is_pointer(&map) => Err(pointer(&self.path(name))),
                    Ok(map) => Ok(Some(WeightBytes::Mapped(map))),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        self.none_unless_dangling_link(name)
                    }
                    Err(error) => Err(self.unreadable(name, error)),
                }
            }
            Self::Embedded(_, files) => Ok(embedded(files, name).map(WeightBytes::Static)),
            Self::Gguf(_) => Ok(None),
        }
    }

    fn unreadable(&self, name: &str, error: io::Error) -> Error {
        Error::new(ErrorKind::Io, format!("cannot read: {error}"))
            .in_file(self.path(name))
            .with_source(error)
    }
}

/// Opens a file. Errors on a pipe or a device, which would be waited for.
fn open_file(path: &Path) -> io::Result<File> {
    match path.metadata()? {
        metadata if metadata.is_file() => File::open(path),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file")),
    }
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_file(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The model that the address of a page of the hub shows.
fn name_in_address(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("://")?;
    let mut parts = rest.split('/').skip(1);
    let name = format!("{}/{}", parts.next()?, parts.next()?);
    name.parse::<Repository>().ok().map(|_| name)
}

/// The first line of what Git LFS puts in the place of a large file.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

fn is_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(POINTER)
}

fn pointer(path: &Path) -> Error {
    Error::new(ErrorKind::Model, "a pointer of Git LFS stands here, and not the file itself")
        .in_file(path)
        .with_help("run `git lfs pull` in the repository, or download the file")
}

/// Errors on a pointer of Git LFS in the place of a file.
pub(super) fn refuse_pointer(path: &Path) -> Result<()> {
    let mut start = [0; POINTER.len()];
    // A file that cannot be read is no pointer: its reader reports the error.
    let is_whole = File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok();
    if is_whole && is_pointer(&start) { Err(pointer(path)) } else { Ok(()) }
}

/// The snapshot of a model in the cache, from its folder: that of the branch `main`, or any.
fn snapshot_of(folder: &Path) -> String {
    let main = std::fs::read_to_string(folder.join("refs").join("main")).ok();
    let commit = main.map(|commit| commit.trim().to_owned()).unwrap_or_else(|| {
        let mut commits = ModelFiles::Folder(folder.join("snapshots")).names();
        commits.pop().unwrap_or_else(|| "<commit>".to_owned())
    });
    format!("snapshots/{commit}")
}

fn embedded(files: &'static [(&'static str, &'static [u8])], name: &str) -> Option<&'static [u8]> {
    files.iter().find(|file| file.0 == name).map(|file| file.1)
}
