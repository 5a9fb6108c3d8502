//! The official test suite and the schemas of MaskBench: every instance is accepted if and only if
//! it is valid, as far as the options go.
//!
//! The files are found through the variable `MASKWRIGHT_SHARED`; without it these tests say so and
//! do nothing.

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

    fn get(&self, key: &K) -> usize {
        self.0.get(key).copied().unwrap_or(0)
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

/// What went wrong with one schema's instances: (valid but rejected, invalid but accepted).
#[derive(Default)]
struct Tally {
    schemas: usize,
    compiled: usize,
    passing: usize,
    errors: Counts<String>,
    outcomes: Counts<(bool, Outcome)>,
    wrong: Vec<String>,
}

impl Tally {
    fn schema(&mut self, name: &str, schema: &Value, options: &Options, tests: &[(bool, &Value)]) {
        self.schemas += 1;
        let compiled = Schema::from_value(schema).and_then(|schema| schema.grammar(options));
        let grammar = match compiled {
            Ok(grammar) => grammar,
            Err(e) if e.kind() == ErrorKind::Unsatisfiable => {
                // Nothing is valid: that is an answer too.
                self.compiled += 1;
                let contradicted = tests.iter().any(|&(valid, _)| valid);
                if contradicted {
                    self.wrong.push(format!("{name}: {e}"));
                }
                self.passing += usize::from(!contradicted);
                return;
            }
            Err(e) => {
                let message = e.message().split("more than").next().unwrap_or_default();
                self.errors.add(message.chars().take(70).collect());
                return;
            }
        };
        self.compiled += 1;
        let mut matcher = Naive::new(&grammar);
        let mut passing = true;
        for &(valid, instance) in tests {
            let outcome = outcome(&mut matcher, instance);
            self.outcomes.add((valid, outcome));
            let right = match outcome {
                Outcome::Accepted => valid,
                Outcome::Rejected => !valid,
                // Another order or spelling of the same value is accepted, so it must be valid.
                Outcome::Order | Outcome::Spelling => valid,
                Outcome::Digits => true,
            };
            passing &= right && (outcome == Outcome::Accepted) == valid;
            if !right {
                let text = common::dumps(instance);
                let text: String = text.chars().take(300).collect();
                self.wrong.push(format!("{name}: valid {valid}, {outcome:?}: {text}"));
            }
        }
        self.passing += usize::from(passing);
    }

    fn print(&self, title: &str) {
        let Self { schemas, compiled, passing, .. } = self;
        println!("{title}: {schemas} schemas, {compiled} compiled, {passing} passing");
        self.errors.print("compile errors", 40);
        self.outcomes.print("(valid, outcome)", 20);
        println!("wrong: {}", self.wrong.len());
        for wrong in self.wrong.iter().take(400) {
            println!("  {wrong}");
        }
    }
}

#[test]
fn official_suite() {
    let Some(folder) = corpus("json-schema-test-suite/tests") else { return };
    for (name, draft) in [("draft7", Draft::Draft7), ("draft2020-12", Draft::Draft202012)] {
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
                let name = format!("{file} {}", case["description"]);
                tally.schema(&name, &case["schema"], &options, &tests);
            }
        }
        tally.print(name);
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
            tally.schema(&name, &entry["schema"], &options, &tests);
        }
    }
    tally.print("MaskBench");
}
