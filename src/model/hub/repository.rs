//! The name of a model on the hub: `ORG/NAME[@REVISION][:FILE.gguf]`, or `:QUANT` for the file of this quantisation.

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, ErrorKind, Result, shortened};

/// The branch that is meant where no revision is named.
const MAIN: &str = "main";

/// Longest part of a name, in bytes; the hub's own limit is 96.
const MAX_PART_BYTES: usize = 96;

/// A model on Hugging Face's hub: `ORG/NAME`, `ORG/NAME@REVISION`, `ORG/NAME:FILE.gguf`, or as llama.cpp and Ollama
/// write it, `ORG/NAME:Q4_K_M` and `hf.co/ORG/NAME`.
///
/// ```
/// use maskwright::model::Repository;
/// let model: Repository = "Qwen/Qwen2.5-0.5B-Instruct-GGUF@main:qwen2.5-0.5b-instruct-q8_0.gguf".parse()?;
/// assert_eq!(model.id(), "Qwen/Qwen2.5-0.5B-Instruct-GGUF");
/// assert_eq!(model.revision(), "main");
/// assert_eq!(model.file(), Some("qwen2.5-0.5b-instruct-q8_0.gguf"));
/// assert!("./models/mine".parse::<Repository>().is_err());
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Repository {
    id: String,
    revision: Option<String>,
    file: Option<String>,
}

impl Repository {
    /// `ORG/NAME`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The branch, tag or commit; `main` where none was named.
    pub fn revision(&self) -> &str {
        self.revision.as_deref().unwrap_or(MAIN)
    }

    /// The GGUF file that was named, by its path in the repository, or the quantisation by which it was.
    pub fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }
}

impl FromStr for Repository {
    type Err = Error;

    /// Errors on what is no such name; whether there is such a model shows when it is located.
    fn from_str(text: &str) -> Result<Self> {
        let hosts = ["https://huggingface.co/", "huggingface.co/", "https://hf.co/", "hf.co/"];
        let bare = hosts.iter().find_map(|host| text.strip_prefix(host)).unwrap_or(text);
        let (rest, file) = match bare.split_once(':') {
            Some((rest, file)) => (rest, Some(file)),
            None => (bare, None),
        };
        let (id, revision) = match rest.split_once('@') {
            Some((id, revision)) => (id, Some(revision)),
            None => (rest, None),
        };
        let is_id =
            id.split_once('/').is_some_and(|(org, name)| is_name_part(org) && is_name_part(name));
        let is_file =
            |file: &str| is_quantisation(file) || (is_relative_path(file) && is_gguf(file));
        if is_id && revision.is_none_or(is_relative_path) && file.is_none_or(is_file) {
            let owned = |part: Option<&str>| part.map(str::to_owned);
            return Ok(Self { id: id.to_owned(), revision: owned(revision), file: owned(file) });
        }
        let message = format!("`{}` names no model of the hub", shortened(text));
        Err(Error::new(ErrorKind::Request, message)
            .with_help("write ORG/NAME, ORG/NAME@REVISION, ORG/NAME:FILE.gguf or ORG/NAME:Q4_K_M"))
    }
}

impl fmt::Display for Repository {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.id)?;
        if let Some(revision) = &self.revision {
            write!(f, "@{revision}")?;
        }
        match &self.file {
            Some(file) => write!(f, ":{file}"),
            None => Ok(()),
        }
    }
}

/// Whether a text may be an organisation's or a model's name: a name of a folder that is no other
/// one's, of characters that need no quoting.
fn is_name_part(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let is_outer = |byte: Option<&u8>| byte.is_some_and(|byte| is_inner(*byte) && *byte != b'.');
    let bytes = text.as_bytes();
    bytes.len() <= MAX_PART_BYTES
        && bytes.iter().all(|byte| is_inner(*byte))
        && is_outer(bytes.first())
        && is_outer(bytes.last())
        && !text.contains("..")
        && !text.contains("--")
}

/// Whether a name ends as those of GGUF files do.
pub(super) fn is_gguf(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with(".gguf")
}

/// Whether a text may be the name of a quantisation, `Q4_K_M` or `UD-IQ2_XXS`.
fn is_quantisation(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    !text.is_empty() && text.len() <= MAX_PART_BYTES && text.bytes().all(is_inner)
}

/// Whether a text is a path below a folder, with `/` between its parts, on every system.
pub(super) fn is_relative_path(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part != "." && part != "..";
    text.split('/').all(is_part) && !text.contains(['\\', ':', '\0'])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn names_have_an_organisation_a_revision_and_a_file() {
        for text in [
            "a/b",
            "A-1/b.c_d",
            "a/b@main",
            "a/b@refs/pr/1",
            "a/b:c.gguf",
            "a/b@v1:Q4/c-00001.GGUF",
            "a/b:UD-Q4_K_XL",
        ] {
            assert_eq!(text.parse::<Repository>().unwrap().to_string(), text);
        }
        let all: Repository = "o/n@r:f.gguf".parse().unwrap();
        assert_eq!((all.id(), all.revision(), all.file()), ("o/n", "r", Some("f.gguf")));
        assert_eq!("o/n".parse::<Repository>().unwrap().revision(), "main");
        for text in ["hf.co/o/n", "huggingface.co/o/n@r", "https://hf.co/o/n"] {
            assert_eq!(text.parse::<Repository>().unwrap().id(), "o/n");
        }
        for text in ["hf.co/o/n:Q8_0", "https://huggingface.co/o/n:Q8_0"] {
            assert_eq!(text.parse::<Repository>().unwrap().to_string(), "o/n:Q8_0");
        }
    }

    #[test]
    fn paths_are_no_names() {
        for text in [
            "",
            "a",
            "a/",
            "/a",
            "./a",
            "../a",
            "a/..",
            "a/b/c",
            "a/b@",
            "a/b:",
            "a/b:c.bin",
            "~/a",
            "a/b:../c.gguf",
            "a/b:/c.gguf",
            "a/b@../../x",
            "a b/c",
            "a/b--c",
            "é/b",
            "C:/a/b.gguf",
            "a\\b/c",
        ] {
            assert!(text.parse::<Repository>().is_err(), "{text}");
        }
    }
}
