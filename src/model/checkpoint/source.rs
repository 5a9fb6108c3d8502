//! The name of a model: `tiny`, which is inside the binary, or the path of a folder or a GGUF file.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::files::ModelFiles;
use super::gguf::{GgufFile, PartName};
use crate::error::{Error, ErrorKind, Result};

/// The files of the model in the binary, each with its name in a model folder.
const TINY: &[(&str, &[u8])] = &[
    ("config.json", include_bytes!("../tiny/config.json")),
    ("model.safetensors", include_bytes!("../tiny/model.safetensors")),
    ("tokenizer.json", include_bytes!("../tiny/tokenizer.json")),
    ("tokenizer_config.json", include_bytes!("../tiny/tokenizer_config.json")),
];

/// A model by name: `tiny`, or the path of a folder or a GGUF file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelSource {
    /// The small model inside the binary.
    #[default]
    Tiny,
    /// A folder in Hugging Face's layout.
    Folder(PathBuf),
    /// A GGUF file with tokenizer and weights; of a model in several files any of them.
    Gguf(PathBuf),
}

impl ModelSource {
    /// The short name: `tiny`, or the last part of the path, of a GGUF file without `.gguf` and without
    /// the number of a part.
    pub fn name(&self) -> String {
        match self {
            Self::Tiny => "tiny".to_owned(),
            Self::Gguf(path) => match PartName::of(path) {
                Some(part) => part.stem().to_owned(),
                None => path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            },
            Self::Folder(path) => {
                let name =
                    path.file_name().or(path.components().next_back().map(|c| c.as_os_str()));
                name.unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }
        }
    }

    pub(crate) fn files(&self) -> Result<ModelFiles> {
        match self {
            Self::Tiny => Ok(ModelFiles::Embedded("tiny", TINY)),
            Self::Folder(path) if is_gguf(path) => Self::Gguf(path.clone()).files(),
            Self::Folder(path) => {
                refuse_other_names(path)?;
                ModelFiles::folder(path)
            }
            Self::Gguf(path) => GgufFile::open(path).map(|file| ModelFiles::Gguf(Arc::new(file))),
        }
    }
}

/// Errors on names of repositories, which other programs take, with advice.
fn refuse_other_names(path: &Path) -> Result<()> {
    let error = |message: &str, help: &str| {
        Err(Error::new(ErrorKind::Model, message).in_file(path).with_help(help))
    };
    let parts: Vec<_> = path.components().collect();
    let looks_like_a_repository = path.is_relative() && parts.len() == 2 && !path.starts_with(".");
    if looks_like_a_repository && !path.exists() {
        return error(
            "there is no such model folder, and models are not downloaded",
            "download the model's files into a folder and give its path",
        );
    }
    Ok(())
}

/// Whether a path is that of a GGUF file.
fn is_gguf(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
        && !path.is_dir()
}

impl FromStr for ModelSource {
    type Err = Error;

    /// Errors on an empty text only: whether there is such a model shows when it is loaded.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "" => Err(Error::new(ErrorKind::Request, "the model's name is empty")
                .with_help("write `tiny` or the path of a model folder or a GGUF file")),
            "tiny" => Ok(Self::Tiny),
            path if is_gguf(Path::new(path)) => Ok(Self::Gguf(path.into())),
            path => Ok(Self::Folder(path.into())),
        }
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tiny => f.write_str("tiny"),
            Self::Folder(path) | Self::Gguf(path) => path.display().fmt(f),
        }
    }
}
