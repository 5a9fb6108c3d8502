//! The official test suite and the schemas of MaskBench: every instance is accepted if and only if
//! it is valid, as far as the options go.
//!
//! The files are found through the variable `MASKWRIGHT_SHARED`; without it these tests say so and
//! do nothing.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
#![allow(clippy::print_stdout, reason = "the counts are what one runs these tests for")]

mod common;

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::path::PathBuf;

use common::Naive;
use common::instance::{Outcome, outcome};
use maskwright::ErrorKind;
use maskwright::json_schema::{Draft, Options, Schema};
use serde_json::Value;

fn corpus(name: &str) -> Option<PathBuf> {
    let Some(shared) = std::env::var_os("MASKWRIGHT_SHARED") else {
        println!("skipped: MASKWRIGHT_SHARED is not set");
        return None;
    };
    let path = PathBuf::from(shared).join("corpus").join(name);
    assert!(path.is_dir(), "{} is missing", path.display());
    Some(path)
}

/// Files below a folder with an extension, sorted.
fn files(folder: &std::path::Path, extension: &str) -> Vec<PathBuf> {
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

struct Counts<K>(BTreeMap<K, usize>);

impl<K> Default for Counts<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Debug> Counts<K> {
    fn add(&mut self, key: K) {
        *self.0.entry(key).or_default() += 1;
    }

    fn print(&self, title: &str, most: usize) {
        let mut rows: Vec<_> = self.0.iter().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.1));
        println!("{title}");
        for (key, count) in rows.into_iter().take(most) {
            println!("{count:7}  {key:?}");
        }
    }
}

/// Why an outcome may differ from what the instance is labelled. Rules, not lists.
fn excuse(schema: &Value, valid: bool, outcome: Outcome, instance: &Value) -> Option<&'static str> {
    let schema_text = schema.to_string();
    let names =
        |keyword: &str, value: &str| schema_text.contains(&format!("\"{keyword}\":\"{value}\""));
    let has = |keyword: &str| schema_text.contains(&format!("\"{keyword}\":"));
    match (valid, outcome) {
        (true, Outcome::Order) => Some("valid, in another order of members"),
        (true, Outcome::Spelling) => Some("valid, an integer written with `.0`"),
        (true, Outcome::Digits) => Some("valid, a number with more digits than the option allows"),
        (_, Outcome::Limit) => Some("a limit of the languages"),
        (false, Outcome::Accepted) if names("format", "regex") => Some("format: regex"),
        (false, Outcome::Accepted) if names("format", "idn-hostname") => {
            Some("format: idn-hostname")
        }
        (false, Outcome::Accepted) if has("contentMediaType") || has("contentEncoding") => {
            Some("content keywords are annotations")
        }
        (true, Outcome::Rejected) if instance.as_str().is_some_and(|s| s.contains("xn--")) => {
            Some("format: A-labels of host names")
        }
        (true, Outcome::Rejected) => {
            let draft = schema["$schema"].as_str();
            let known = draft.is_none_or(|uri| uri.contains("json-schema.org/draft"));
            (!known).then_some("a metaschema of its own")
        }
        _ => None,
    }
}

#[derive(Default)]
struct Tally {
    schemas: usize,
    compiled: usize,
    passing: usize,
    errors: Counts<String>,
    listed: Vec<String>,
    outcomes: Counts<(bool, Outcome)>,
    excused: Counts<&'static str>,
    /// Valid, and rejected without an excuse.
    rejected: Vec<String>,
    /// Not valid, and accepted without an excuse.
    accepted: Vec<String>,
}

impl Tally {
    fn schema(
        &mut self,
        name: &str,
        schema: &Value,
        documents: &[(String, String)],
        options: &Options,
        tests: &[(bool, &Value)],
    ) {
        self.schemas += 1;
        let compiled = Schema::from_value(schema).and_then(|mut schema| {
            for (uri, text) in documents {
                schema = schema.with_document(uri, text)?;
            }
            schema.grammar(options)
        });
        let grammar = match compiled {
            Ok(grammar) => grammar,
            Err(e) if e.kind() == ErrorKind::Unsatisfiable => {
                // Nothing is valid: that is an answer too.
                self.compiled += 1;
                let contradicted = tests.iter().any(|&(valid, _)| valid);
                if contradicted {
                    self.rejected.push(format!("{name}: {e}"));
                }
                self.passing += usize::from(!contradicted);
                return;
            }
            Err(e) => {
                self.listed.push(format!("{name}: {e}"));
                self.errors.add(e.message().chars().take(70).collect());
                return;
            }
        };
        self.compiled += 1;
        let mut matcher = Naive::new(&grammar);
        let mut passing = true;
        for &(valid, instance) in tests {
            let outcome = outcome(&mut matcher, instance, valid);
            self.outcomes.add((valid, outcome));
            passing &= (outcome == Outcome::Accepted) == valid;
            // Another order or spelling of a value is accepted only if the value is valid.
            let right = match outcome {
                Outcome::Accepted => valid,
                Outcome::Rejected | Outcome::Digits => !valid,
                Outcome::Order | Outcome::Spelling | Outcome::Limit => false,
            };
            if right {
                continue;
            }
            if let Some(excuse) = excuse(schema, valid, outcome, instance) {
                self.excused.add(excuse);
                continue;
            }
            let text: String = common::dumps(instance).chars().take(300).collect();
            let list = if valid { &mut self.rejected } else { &mut self.accepted };
            list.push(format!("{name}: {outcome:?}: {text}"));
        }
        self.passing += usize::from(passing);
    }

    fn print(&self, title: &str) {
        let Self { schemas, compiled, passing, .. } = self;
        println!("{title}: {schemas} schemas, {compiled} compiled, {passing} passing");
        self.errors.print("compile errors", 40);
        if std::env::var_os("MASKWRIGHT_LIST").is_some() {
            self.listed.iter().for_each(|line| println!("  {line}"));
        }
        self.outcomes.print("(valid, outcome)", 20);
        self.excused.print("excused", 20);
        for (title, list) in [("rejected", &self.rejected), ("accepted", &self.accepted)] {
            println!("{title} without an excuse: {}", list.len());
            list.iter().for_each(|line| println!("  {line}"));
        }
    }
}

/// The documents that the suite's schemas refer to, with their URIs.
fn remotes() -> Vec<(String, String)> {
    let Some(folder) = corpus("json-schema-test-suite/remotes") else { return Vec::new() };
    let named = files(&folder, "json").into_iter().map(|path| {
        let name = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
        (format!("http://localhost:1234/{name}"), std::fs::read_to_string(path).unwrap())
    });
    named.collect()
}

#[test]
fn official_suite() {
    let Some(folder) = corpus("json-schema-test-suite/tests") else { return };
    let remotes = remotes();
    for (name, draft, compiled) in
        [("draft7", Draft::Draft7, 314), ("draft2020-12", Draft::Draft202012, 440)]
    {
        let mut options = Options::default();
        options.draft = Some(draft);
        let mut tally = Tally::default();
        for path in files(&folder.join(name), "json") {
            let cases: Value =
                serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
            for case in cases.as_array().unwrap() {
                let tests: Vec<(bool, &Value)> = case["tests"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|test| (test["valid"].as_bool().unwrap(), &test["data"]))
                    .collect();
                let file = path.strip_prefix(&folder).unwrap().display();
                let title = format!("{file} {}", case["description"]);
                // The file that wants formats to be annotations.
                options.formats = !path.ends_with(format!("{name}/format.json"));
                // Those that name no document need none.
                let remote = case["schema"].to_string().contains("//localhost:1234/");
                let documents = if remote { &remotes[..] } else { &[] };
                tally.schema(&title, &case["schema"], documents, &options, &tests);
            }
        }
        tally.print(name);
        assert_eq!(tally.accepted.len() + tally.rejected.len(), 0);
        assert!(tally.compiled >= compiled, "{} < {compiled}", tally.compiled);
    }
}

#[test]
fn maskbench() {
    let Some(folder) = corpus("maskbench") else { return };
    let mut tally = Tally::default();
    let options = Options::default();
    for path in files(&folder, "jsonl") {
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let name = entry["id"].as_str().unwrap().to_owned();
            let tests: Vec<(bool, &Value)> = entry["tests"]
                .as_array()
                .unwrap()
                .iter()
                .map(|test| (test["valid"].as_bool().unwrap(), &test["data"]))
                .collect();
            tally.schema(&name, &entry["schema"], &[], &options, &tests);
        }
    }
    tally.print("MaskBench");
    assert_eq!(tally.accepted.len(), 0);
    assert!(tally.rejected.len() <= 60, "{}", tally.rejected.len());
    assert!(tally.compiled >= 5_365, "{}", tally.compiled);
    assert!(tally.passing >= 5_235, "{}", tally.passing);
}
