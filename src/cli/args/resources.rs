//! `--resources`: folders with the documents that references of schemas may lead to.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use crate::cli::input;
use maskwright::error::Result;
use maskwright::json_schema::{Resources, Schema};

/// A folder whose files stand for documents below a base URI.
#[derive(Clone, Debug)]
pub(crate) struct ResourceFolder {
    /// Ends in a slash.
    base: String,
    folder: PathBuf,
}

/// Reads `BASE_URI=DIR`, or `DIR`.
pub(crate) fn parse(text: &str) -> std::result::Result<ResourceFolder, String> {
    if let Some(base) = file_uri(Path::new(text)).filter(|_| Path::new(text).is_dir()) {
        return Ok(ResourceFolder { base: format!("{base}/"), folder: text.into() });
    }
    let wanted = "write a folder, or BASE_URI=DIR, such as https://example.org/schemas/=schemas";
    let (base, folder) = text.split_once('=').ok_or(wanted)?;
    let is_scheme = |scheme: &str| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    };
    let absolute = base.split_once(':').is_some_and(|(scheme, _)| is_scheme(scheme));
    if !absolute || base.contains(['#', '?']) {
        return Err(format!("`{base}` is no absolute URI without query and fragment; {wanted}"));
    }
    if folder.is_empty() {
        return Err(format!("no folder is named; {wanted}"));
    }
    let base = if base.ends_with('/') { base.to_owned() } else { format!("{base}/") };
    Ok(ResourceFolder { base, folder: folder.into() })
}

/// The documents in all of these folders.
///
/// Errors if a folder or a file cannot be read, if a file is not JSON, or if two files have the same
/// URI.
pub(crate) fn load(folders: &[ResourceFolder]) -> Result<Resources> {
    folders.iter().try_fold(Resources::default(), |resources, folder| folder.load(resources))
}

impl ResourceFolder {
    fn load(&self, mut resources: Resources) -> Result<Resources> {
        let unreadable = |path: &Path, error: std::io::Error| {
            let help = "give --resources DIR, or BASE_URI=DIR, with a folder of JSON documents";
            input::unreadable(path, error, help)
        };
        // Folders that are still to be listed, with the URI that stands for each.
        let mut open = vec![(self.folder.clone(), self.base.clone())];
        while let Some((folder, base)) = open.pop() {
            let list = std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, error))?;
            for entry in list {
                let entry = entry.map_err(|error| unreadable(&folder, error))?;
                let path = entry.path();
                let kind = entry.file_type().map_err(|error| unreadable(&path, error))?;
                let uri = format!("{base}{}", encoded(&entry.file_name()));
                // Folders are entered and links to folders are not, so that there is an end to them.
                if kind.is_dir() {
                    open.push((path, format!("{uri}/")));
                } else if path.extension() == Some(OsStr::new("json")) && path.is_file() {
                    let text = input::read_text(&path, "a JSON document")?;
                    let text = text.strip_prefix(input::BYTE_ORDER_MARK).unwrap_or(&text);
                    // So that errors name the file, and not only the URI.
                    Schema::from_text(text).map_err(|error| error.in_file(&path))?;
                    let added = resources.with_text(&uri, text);
                    resources = added.map_err(|error| error.in_file(&path))?;
                }
            }
        }
        Ok(resources)
    }
}

/// The URI of a file or folder that exists.
pub(crate) fn file_uri(path: &Path) -> Option<String> {
    // Of a link the place where it stands, not the one that it leads to.
    let path = match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) if path.is_file() => {
            let parent = if parent.as_os_str().is_empty() { Path::new(".") } else { parent };
            parent.canonicalize().ok()?.join(name)
        }
        _ => path.canonicalize().ok()?,
    };
    let segments = path.components().filter_map(|part| match part {
        Component::RootDir => None,
        Component::Prefix(prefix) => Some(encoded(prefix.as_os_str())),
        part => Some(encoded(part.as_os_str())),
    });
    Some(segments.fold("file://".to_owned(), |uri, segment| format!("{uri}/{segment}")))
}

/// The name of a file as a segment of a URI's path (RFC 3986, section 3.3).
fn encoded(name: &OsStr) -> String {
    let mut segment = String::new();
    for &byte in name.as_encoded_bytes() {
        match byte {
            byte if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) => {
                segment.push(char::from(byte));
            }
            byte => segment.push_str(&format!("%{byte:02X}")),
        }
    }
    segment
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_an_absolute_uri() {
        let base = |text: &str| parse(text).map(|folder| folder.base);
        assert_eq!(base("http://localhost:1234/=a=b").unwrap(), "http://localhost:1234/");
        assert_eq!(base("urn:x=a").unwrap(), "urn:x/");
        for text in ["http://a/", "=a", "a/b=c", "http://a#b=c", "http://a/="] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert_eq!(encoded(OsStr::new("a b%é.json")), "a%20b%25%C3%A9.json");
    }
}
