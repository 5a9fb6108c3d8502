//! The name of a model: `tiny`, which is inside the binary, the path of a folder or a GGUF file, or a
//! name on Hugging Face's hub.

use std::fmt;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use super::files::{ModelFiles, refuse_pointer};
use super::gguf::{GgufFile, PartName};
use crate::error::{Error, ErrorKind, Result};
use crate::model::hub::{HubOptions, Repository};
use crate::vocabulary::is_gguf;

/// The files of the model in the binary, each with its name in a model folder.
const TINY: &[(&str, &[u8])] = &[
    ("config.json", include_bytes!("../tiny/config.json")),
    ("model.safetensors", include_bytes!("../tiny/model.safetensors")),
    ("tokenizer.json", include_bytes!("../tiny/tokenizer.json")),
    ("tokenizer_config.json", include_bytes!("../tiny/tokenizer_config.json")),
];

/// A model by name: `tiny`, the path of a folder or a GGUF file, or a name on Hugging Face's hub.
///
/// ```
/// use maskwright::model::ModelSource;
/// assert_eq!("tiny".parse(), Ok(ModelSource::Tiny));
/// assert_eq!("./models/mine".parse(), Ok(ModelSource::Folder("./models/mine".into())));
/// // A folder of that name would be meant before.
/// assert!(matches!("Qwen/Qwen2.5-0.5B-Instruct".parse(), Ok(ModelSource::Hub(_))));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelSource {
    /// The small model inside the binary.
    #[default]
    Tiny,
    /// A folder in Hugging Face's layout.
    Folder(PathBuf),
    /// A GGUF file with tokenizer and weights; of a model in several files any of them.
    Gguf(PathBuf),
    /// A model of the hub, which is [located](Repository::locate) with the settings of the
    /// environment when it is loaded.
    Hub(Repository),
}

impl ModelSource {
    /// The short name: `tiny`, or the last part of the path, of a GGUF file without `.gguf` and without
    /// the number of a part; of a model of the hub, also of a folder in its cache, `ORG/NAME`.
    pub fn name(&self) -> String {
        match self {
            Self::Tiny => "tiny".to_owned(),
            Self::Hub(repository) => repository.id().to_owned(),
            Self::Gguf(path) => match PartName::of(path) {
                Some(part) => part.stem().to_owned(),
                None => path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
            },
            Self::Folder(path) => id_of_snapshot(path).unwrap_or_else(|| {
                let name =
                    path.file_name().or(path.components().next_back().map(|c| c.as_os_str()));
                name.unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
            }),
        }
    }

    pub(crate) fn files(&self) -> Result<ModelFiles> {
        match self {
            Self::Tiny => Ok(ModelFiles::Embedded("tiny", TINY)),
            Self::Folder(path) if is_gguf_file(path) => Self::Gguf(path.clone()).files(),
            Self::Folder(path) => ModelFiles::folder(path),
            Self::Gguf(path) => {
                refuse_pointer(path)?;
                GgufFile::open(path).map(|file| ModelFiles::Gguf(Arc::new(file)))
            }
            Self::Hub(repository) => {
                let path = repository.locate(&HubOptions::from_env()?, &mut |_| {})?;
                Self::Folder(path).files()
            }
        }
    }
}

/// The model's name on the hub, where a path leads to a snapshot in the hub's cache:
/// `models--ORG--NAME/snapshots/COMMIT`.
fn id_of_snapshot(path: &Path) -> Option<String> {
    let snapshots = path.parent().filter(|parent| parent.ends_with("snapshots"))?;
    let name = snapshots.parent()?.file_name()?.to_str()?.strip_prefix("models--")?;
    let (organisation, name) = name.split_once("--")?;
    Some(format!("{organisation}/{name}"))
}

/// Whether a path is that of a GGUF file, by its ending or, as in the stores of other programs, by its first bytes.
fn is_gguf_file(path: &Path) -> bool {
    if path.is_dir() {
        return false;
    }
    let mut start = [0; 4];
    path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
        || path.is_file()
            && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
            && is_gguf(&start)
}

impl FromStr for ModelSource {
    type Err = Error;

    /// Errors on an empty text only: whether there is such a model shows when it is loaded. What
    /// exists as a folder or a file is that, and no name on the hub.
    fn from_str(text: &str) -> Result<Self> {
        let path = Path::new(text);
        match text {
            "" => {
                return Err(Error::new(ErrorKind::Request, "the model's name is empty").with_help(
                    "write `tiny`, the path of a model folder or a GGUF file, or ORG/NAME",
                ));
            }
            "tiny" => return Ok(Self::Tiny),
            _ => {}
        }
        match text.parse::<Repository>() {
            // `a/b.gguf` is a file that is missing, `a/b:c.gguf` one of the hub.
            Ok(repository)
                if !path.exists() && (repository.file().is_some() || !is_gguf_file(path)) =>
            {
                Ok(Self::Hub(repository))
            }
            _ if is_gguf_file(path) => Ok(Self::Gguf(path.into())),
            _ => Ok(Self::Folder(path.into())),
        }
    }
}

impl fmt::Display for ModelSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tiny => f.write_str("tiny"),
            Self::Folder(path) | Self::Gguf(path) => path.display().fmt(f),
            Self::Hub(repository) => repository.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_has_the_name_of_its_model() {
        let commit = "a".repeat(40);
        for (path, name) in [
            (format!("/c/models--Qwen--Qwen3-0.6B/snapshots/{commit}"), "Qwen/Qwen3-0.6B"),
            ("/c/snapshots/x".to_owned(), "x"),
            ("/c/models--a/snapshots/x".to_owned(), "x"),
        ] {
            assert_eq!(ModelSource::Folder(path.into()).name(), name);
        }
    }
}
