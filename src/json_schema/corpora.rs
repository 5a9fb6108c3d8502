//! The sets alone against the official suite and MaskBench: values, without spelling and order.
//!
//! The files are found through the variable `MASKWRIGHT_SHARED`; without it these tests say so and
//! do nothing.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
#![allow(clippy::print_stdout, reason = "what differs is what one runs these tests for")]

use std::path::{Path, PathBuf};

use serde_json::Value;
use serde_json::value::RawValue;

use super::document::Document;
use super::set::Sets;
use super::{Draft, Options, Schema};
use crate::error::{ErrorKind, Result};

#[derive(serde::Deserialize)]
struct LabelledSchema<'a> {
    description: String,
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    tests: Vec<LabelledInstance<'a>>,
}

#[derive(serde::Deserialize)]
struct LabelledInstance<'a> {
    #[serde(borrow)]
    data: &'a RawValue,
    valid: bool,
}

#[derive(serde::Deserialize)]
struct MaskBenchLine<'a> {
    id: String,
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    tests: Vec<LabelledInstance<'a>>,
}

fn corpus(name: &str) -> Option<PathBuf> {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED") else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return None;
    };
    Some(PathBuf::from(shared).join("corpus").join(name))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn accepts(schema: &Document, options: &Options, instance: &str) -> Result<bool> {
    let mut document = schema.clone();
    document.supply("instance", instance)?;
    let value = document.supplied().find(|(uri, _)| *uri == "instance").unwrap().1;
    let mut sets = Sets::new(&document, options);
    let root = sets.schema(document.root())?;
    let shape = sets.shape(root)?;
    sets.accepts(&shape, value)
}

/// The differences from the labels, and the number of schemas.
fn compare(
    schema: Schema,
    options: &Options,
    tests: &[LabelledInstance<'_>],
    name: &str,
) -> Vec<String> {
    let mut differences = Vec::new();
    for test in tests {
        let data = test.data.get();
        match accepts(&schema.document, options, data) {
            Ok(accepted) if accepted == test.valid => {}
            Ok(accepted) => {
                let data: String = data.chars().take(200).collect();
                differences.push(format!("{name}: {} {data}", if accepted { "+" } else { "-" }));
            }
            Err(e) if e.kind() == ErrorKind::Unsatisfiable && !test.valid => {}
            Err(e) => {
                differences.push(format!("{name}: {e}"));
                break;
            }
        }
    }
    differences
}

#[test]
fn sets_agree_with_the_official_suite() {
    let Some(folder) = corpus("json-schema-test-suite") else { return };
    let remotes: Vec<(String, String)> = files(&folder.join("remotes"))
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(folder.join("remotes")).unwrap().display().to_string();
            (format!("http://localhost:1234/{name}"), std::fs::read_to_string(path).unwrap())
        })
        .collect();
    for (name, draft) in [("draft7", Draft::Draft7), ("draft2020-12", Draft::Draft202012)] {
        let mut options = Options { draft: Some(draft), formats: false, ..Options::default() };
        let (mut schemas, mut differences) = (0, Vec::new());
        for path in files(&folder.join("tests").join(name)) {
            let file = path.strip_prefix(folder.join("tests")).unwrap().display().to_string();
            let text = std::fs::read_to_string(&path).unwrap();
            options.formats = file.contains("optional/format/");
            // What no set of ours can be: labels by IDNA, JSON inside strings.
            if ["hostname.json", "content.json"].iter().any(|f| file.ends_with(f)) {
                continue;
            }
            for case in serde_json::from_str::<Vec<LabelledSchema<'_>>>(&text).unwrap() {
                schemas += 1;
                let mut schema = Schema::from_text(case.schema.get()).unwrap();
                if case.schema.get().contains("//localhost:1234/") {
                    for (uri, text) in &remotes {
                        schema = schema.with_document(uri, text).unwrap();
                    }
                }
                let title = format!("{file} {}", case.description);
                differences.extend(compare(schema, &options, &case.tests, &title));
            }
        }
        println!("{name}: {schemas} schemas, {} differences", differences.len());
        differences.iter().for_each(|line| println!("  {line}"));
        // A `multipleOf` whose multiples are too many to tell apart.
        assert!(differences.len() <= 1);
    }
}

#[test]
fn sets_agree_with_maskbench() {
    let Some(folder) = corpus("maskbench") else { return };
    let options = Options::default();
    let (mut schemas, mut differences) = (0, Vec::new());
    for path in files(&folder) {
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let MaskBenchLine { id, schema, tests } = serde_json::from_str(line).unwrap();
            schemas += 1;
            // Repeated keys, which Python's reader lets pass, are a matter of the text alone.
            let schema = Schema::from_text(schema.get()).or_else(|_| {
                Schema::from_value(&serde_json::from_str::<Value>(schema.get()).unwrap())
            });
            differences.extend(compare(schema.unwrap(), &options, &tests, &id));
        }
    }
    println!("MaskBench: {schemas} schemas, {} differences", differences.len());
    differences.iter().for_each(|line| println!("  {line}"));
    assert!(differences.len() <= 60);
}
