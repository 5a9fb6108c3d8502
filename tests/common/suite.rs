//! The files of the official JSON Schema test suite.

#![allow(dead_code, reason = "each test file uses a part")]
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
#![allow(clippy::print_stdout, reason = "what was skipped is said")]

use std::path::{Path, PathBuf};

use maskwright::Result;
use maskwright::json_schema::{Draft, Schema};
use serde_json::value::RawValue;

/// Drafts by the names of their folders.
pub(crate) const DRAFTS: [(&str, Draft); 5] = [
    ("draft4", Draft::Draft4),
    ("draft6", Draft::Draft6),
    ("draft7", Draft::Draft7),
    ("draft2019-09", Draft::Draft201909),
    ("draft2020-12", Draft::Draft202012),
];

/// A schema and the instances that go with it, as they are written.
#[derive(serde::Deserialize)]
pub(crate) struct Case<'a> {
    pub(crate) description: String,
    #[serde(borrow)]
    pub(crate) schema: &'a RawValue,
    #[serde(borrow)]
    pub(crate) tests: Vec<Instance<'a>>,
}

#[derive(serde::Deserialize)]
pub(crate) struct Instance<'a> {
    pub(crate) description: String,
    #[serde(borrow)]
    pub(crate) data: &'a RawValue,
    pub(crate) valid: bool,
}

impl Case<'_> {
    /// The schema, with the documents that it may refer to.
    pub(crate) fn schema(&self, documents: &[(String, String)]) -> Result<Schema> {
        let mut schema = Schema::from_text(self.schema.get())?;
        // Those that name no document need none.
        if self.schema.get().contains("//localhost:1234/") {
            for (uri, text) in documents {
                schema = schema.with_document(uri, text)?;
            }
        }
        Ok(schema)
    }
}

/// A folder of the corpora, if `MASKWRIGHT_SHARED` is set.
pub(crate) fn corpus(name: &str) -> Option<PathBuf> {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED") else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return None;
    };
    let path = PathBuf::from(shared).join("corpus").join(name);
    assert!(path.is_dir(), "{} is missing", path.display());
    Some(path)
}

/// The folder of the official suite.
pub(crate) fn suite() -> Option<PathBuf> {
    match std::env::var_os("MASKWRIGHT_JSON_SCHEMA_SUITE") {
        Some(folder) => Some(folder.into()),
        None => corpus("json-schema-test-suite"),
    }
}

/// Files below a folder with an extension, sorted.
pub(crate) fn files(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The documents that the suite's schemas refer to, with their URIs.
pub(crate) fn remotes(suite: &Path) -> Vec<(String, String)> {
    let folder = suite.join("remotes");
    let named = files(&folder, "json").into_iter().map(|path| {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        (format!("http://localhost:1234/{name}"), std::fs::read_to_string(path).unwrap())
    });
    named.collect()
}
