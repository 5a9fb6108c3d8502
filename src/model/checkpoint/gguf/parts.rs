//! The files of a model that was split, as llama.cpp's `llama-gguf-split` and converter do it.
//!
//! Files are named `NAME-00001-of-00003.gguf` and so on. The first has all metadata; each has some of the
//! tensors, and says how many files there are (`split.count`) and which it is (`split.no`, from 0).

use std::borrow::Cow;
use std::fs::File;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::super::stored_tensor::EncodedNumbers;
use super::directory::{self, Directory, TensorData};
use super::metadata::Metadata;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::{GgufMetadata, map_file};

/// Greatest number of files of a model: what the five digits of their names can say.
const MAX_PARTS: usize = 99_999;

/// Names of missing files in a message.
const MAX_NAMED: usize = 5;

/// A file, mapped.
#[derive(Debug)]
struct Part {
    path: PathBuf,
    map: Mmap,
}

/// The files of a model, in order; of most models one.
#[derive(Debug)]
pub(super) struct Parts(Vec<Part>);

impl Parts {
    /// Maps the file at a path, and the others of its model if it is one of several.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let given = Part::open(path)?;
        let metadata = given.metadata()?;
        let count = Metadata(&metadata).size("split.count").map_err(|e| e.in_file(path))?;
        let count = count.unwrap_or(1);
        drop(metadata);
        if count <= 1 {
            return Ok(Self(vec![given]));
        }
        let error = |message: String, help: String| {
            Err(Error::new(ErrorKind::Model, message).in_file(path).with_help(help))
        };
        let Some(name) = PartName::of(path).filter(|name| name.count == count) else {
            return error(
                format!(
                    "the file is one of {count} of a model (`split.count`), and its name is not"
                ),
                format!("name the files NAME-00001-of-{count:05}.gguf and so on, or join them"),
            );
        };
        let paths: Vec<PathBuf> = (1..=count).map(|number| name.path(number)).collect();
        let missing: Vec<_> = paths.iter().filter(|path| !path.exists()).collect();
        if !missing.is_empty() {
            let names = missing.iter().take(MAX_NAMED).filter_map(|path| path.file_name());
            let names: Vec<_> = names.map(|name| name.to_string_lossy()).collect();
            let more = missing.len() - names.len();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            return error(
                format!("of the model's {count} files are missing: {}{more}", names.join(", ")),
                "put all files of the model into one folder".to_owned(),
            );
        }
        paths.iter().map(|path| Part::open(path)).collect::<Result<_>>().map(Self)
    }

    /// The first file, which has the metadata.
    pub(super) fn first(&self) -> (&Path, &[u8]) {
        (&self.0[0].path, &self.0[0].map)
    }

    /// The tensors of all files.
    ///
    /// Errors, with the file, where a file is damaged or not the part that its name says.
    pub(super) fn directory(&self) -> Result<Directory> {
        let mut tensors = Vec::new();
        for (index, part) in self.0.iter().enumerate() {
            let read = || {
                let metadata = part.metadata()?;
                self.check_place(index, &Metadata(&metadata))?;
                directory::read(&part.map, &metadata, index).map_err(of_model)
            };
            tensors.extend(read().map_err(|error| error.in_file(&part.path))?);
        }
        let metadata = self.0[0].metadata()?;
        let announced = Metadata(&metadata).size("split.tensors.count")?;
        if let Some(announced) = announced.filter(|announced| *announced != tensors.len()) {
            let message = format!(
                "there are {} tensors, `split.tensors.count` says {announced}",
                tensors.len()
            );
            return Err(Error::new(ErrorKind::Model, message)
                .with_help("get all files of one model, complete"));
        }
        Directory::new(tensors)
    }

    /// Errors if a file says that it is another part.
    fn check_place(&self, index: usize, metadata: &Metadata<'_>) -> Result<()> {
        if self.0.len() == 1 {
            return Ok(());
        }
        let said = (metadata.size("split.no")?, metadata.size("split.count")?);
        if said == (Some(index), Some(self.0.len())) {
            return Ok(());
        }
        let shown = |number: Option<usize>| number.map_or("none".to_owned(), |n| n.to_string());
        let message = format!(
            "the file says that it is number {} of {} (`split.no`, `split.count`), its name says {index} \
             of {}",
            shown(said.0),
            shown(said.1),
            self.0.len()
        );
        Err(Error::new(ErrorKind::Model, message).with_help("get the files of one model"))
    }

    /// The file of a tensor, and its data.
    pub(super) fn data(&self, tensor: &TensorData) -> (&Path, &[u8]) {
        let part = &self.0[tensor.part];
        (&part.path, &part.map[tensor.bytes.clone()])
    }

    /// The numbers of a tensor.
    pub(super) fn numbers(&self, tensor: &TensorData) -> Vec<f32> {
        EncodedNumbers::new(tensor.kind, Cow::Borrowed(self.data(tensor).1)).to_f32()
    }
}

impl Part {
    fn open(path: &Path) -> Result<Self> {
        let unreadable = |error: std::io::Error| {
            if error.kind() == std::io::ErrorKind::NotFound {
                return Error::new(ErrorKind::Model, "there is no such GGUF file")
                    .in_file(path)
                    .with_help("give the path of a GGUF file or of a model folder, or `tiny`");
            }
            Error::new(ErrorKind::Io, format!("cannot read: {error}"))
                .in_file(path)
                .with_source(error)
        };
        let map = File::open(path).and_then(|file| map_file(&file)).map_err(unreadable)?;
        Ok(Self { path: path.to_owned(), map })
    }

    fn metadata(&self) -> Result<GgufMetadata<'_>> {
        GgufMetadata::read(&self.map).map_err(|error| of_model(error).in_file(&self.path))
    }
}

/// An error about the container as one about a model.
pub(super) fn of_model(error: Error) -> Error {
    let help = error.help().unwrap_or("get a complete copy of the file").to_owned();
    Error::new(ErrorKind::Model, error.message()).wrapping(&error).with_help(help)
}

/// The name of one of several files: `NAME-00001-of-00003.gguf`.
pub(crate) struct PartName<'a> {
    folder: &'a Path,
    stem: &'a str,
    extension: &'a str,
    count: usize,
}

impl<'a> PartName<'a> {
    /// The parts of a name; `None` for other names.
    pub(crate) fn of(path: &'a Path) -> Option<Self> {
        let folder = path.parent()?;
        let (name, extension) = path.file_name()?.to_str()?.rsplit_once('.')?;
        let (rest, count) = name.rsplit_once("-of-")?;
        let (stem, number) = rest.rsplit_once('-')?;
        let five_digits = |text: &str| {
            let is_number = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<usize>().ok().filter(|_| is_number)
        };
        let (number, count) = (five_digits(number)?, five_digits(count)?);
        let is_fine = (1..=count).contains(&number) && count <= MAX_PARTS;
        is_fine.then_some(Self { folder, stem, extension, count })
    }

    /// The name of the model, without the number.
    pub(crate) fn stem(&self) -> &'a str {
        self.stem
    }

    /// The path of a file, counted from 1.
    fn path(&self, number: usize) -> PathBuf {
        let Self { folder, stem, extension, count } = self;
        folder.join(format!("{stem}-{number:05}-of-{count:05}.{extension}"))
    }
}
