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
use maskwright::json_schema::{Draft, Options, PropertyOrder, Schema, Spelling, Whitespace};
use serde_json::Value;
use serde_json::value::RawValue;

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

/// One schema of the official suite, as it is written.
#[derive(serde::Deserialize)]
struct Case<'a> {
    description: String,
    #[serde(borrow)]
    schema: &'a RawValue,
    #[serde(borrow)]
    tests: Vec<Instance<'a>>,
}

#[derive(serde::Deserialize)]
struct Instance<'a> {
    description: String,
    #[serde(borrow)]
    data: &'a RawValue,
    valid: bool,
}

/// What one file of the suite came to.
#[derive(Default)]
struct File {
    schemas: usize,
    right: usize,
    /// Right, but for the order in which members may come.
    ordered: usize,
    /// Refused for a part of the grammar that is still to be written.
    refused: usize,
    wrong: Vec<String>,
}

impl File {
    fn case(&mut self, case: &Case<'_>, documents: &[(String, String)], options: &Options) {
        self.schemas += 1;
        let description = &case.description;
        let compiled = Schema::from_text(case.schema.get()).and_then(|mut schema| {
            for (uri, text) in documents {
                schema = schema.with_document(uri, text)?;
            }
            schema.grammar(options)
        });
        let grammar = match compiled {
            Ok(grammar) => grammar,
            // Nothing is valid: that is an answer too.
            Err(e)
                if e.kind() == ErrorKind::Unsatisfiable && case.tests.iter().all(|t| !t.valid) =>
            {
                self.right += 1;
                return;
            }
            Err(e) => {
                if e.message().contains("not supported yet") {
                    self.refused += 1;
                } else {
                    self.wrong.push(format!("{description}: {e}"));
                }
                return;
            }
        };
        let mut matcher = Naive::new(&grammar);
        let (mut right, mut ordered) = (true, false);
        for test in &case.tests {
            let text = test.data.get();
            if matcher.accepts(text) == test.valid {
                continue;
            }
            let instance: Value = serde_json::from_str(text).unwrap();
            if test.valid && outcome(&mut matcher, &instance, true) == Outcome::Order {
                ordered = true;
                continue;
            }
            right = false;
            let said = if test.valid { "rejects the valid" } else { "accepts the invalid" };
            self.wrong.push(format!("{description}: {said} {text} ({})", test.description));
        }
        self.right += usize::from(right && !ordered);
        self.ordered += usize::from(right && ordered);
    }
}

/// Every instance of the official suite as it is written, under the options that leave a value its
/// freedom. Counts of the files under `optional` are printed file by file.
#[test]
fn official_suite() {
    let Some(folder) = corpus("json-schema-test-suite/tests") else { return };
    let remotes = remotes();
    for (name, draft) in [("draft7", Draft::Draft7), ("draft2020-12", Draft::Draft202012)] {
        let mut options = Options::default();
        options.draft = Some(draft);
        options.spelling = Spelling::Any;
        options.property_order = PropertyOrder::Any;
        options.whitespace = Whitespace::Any;
        // The suite's longest number has 53 digits.
        options.digits = 60;
        let (mut mandatory, mut surprises) = (File::default(), Vec::new());
        for path in files(&folder.join(name), "json") {
            let file = path.strip_prefix(folder.join(name)).unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let cases: Vec<Case<'_>> = serde_json::from_str(&text).unwrap();
            options.formats = file.starts_with("optional/format/");
            let mut counts = File::default();
            let optional = file.starts_with("optional/");
            let into = if optional { &mut counts } else { &mut mandatory };
            for case in &cases {
                // Those that name no document need none.
                let remote = case.schema.get().contains("//localhost:1234/");
                into.case(case, if remote { &remotes } else { &[] }, &options);
            }
            if optional {
                counts.print(&format!("{name}/{file}"));
                let known = KNOWN.iter().find(|(known, _)| *known == file).map_or(0, |k| k.1);
                if counts.wrong.len() > known {
                    surprises.push(format!("{name}/{file}"));
                }
            }
        }
        mandatory.print(name);
        assert_eq!(surprises, [""; 0]);
        assert_eq!(mandatory.wrong.len(), 0);
        assert!(mandatory.refused <= 14, "{}", mandatory.refused);
    }
}

/// Optional files of which not everything is right, with the number of wrong answers.
const KNOWN: &[(&str, usize)] = &[
    // Content keywords are annotations: JSON inside a string is no regular language.
    ("optional/content.json", 4),
    // Which patterns are well formed, and which labels IDNA allows, is beyond regular languages:
    // the first two are annotations, and host names have no label that begins with `xn--`.
    ("optional/format/ecmascript-regex.json", 6),
    ("optional/format/regex.json", 1),
    ("optional/format/idn-hostname.json", 54),
    ("optional/format/hostname.json", 15),
];

impl File {
    fn print(&self, title: &str) {
        let Self { schemas, right, ordered, refused, wrong } = self;
        println!(
            "{title}: {schemas} schemas, {right} right, {ordered} but for the order, {refused} \
             refused, {} wrong answers",
            wrong.len()
        );
        wrong.iter().for_each(|line| println!("    {line}"));
    }
}

#[test]
fn maskbench() {
    let Some(folder) = corpus("maskbench") else { return };
    let mut tally = Tally::default();
    let options = Options::default();
    // A few schemas alone, by their ids: nothing is asserted then.
    let only = std::env::var("MASKWRIGHT_ONLY").ok();
    for path in files(&folder, "jsonl") {
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let name = entry["id"].as_str().unwrap().to_owned();
            if only.as_ref().is_some_and(|only| !only.split(',').any(|id| id == name)) {
                continue;
            }
            let tests: Vec<(bool, &Value)> = entry["tests"]
                .as_array()
                .unwrap()
                .iter()
                .map(|test| (test["valid"].as_bool().unwrap(), &test["data"]))
                .collect();
            let started = std::time::Instant::now();
            tally.schema(&name, &entry["schema"], &options, &tests);
            if only.is_some() {
                println!("{name}: {:?}", started.elapsed());
            }
        }
    }
    tally.print("MaskBench");
    if only.is_some() {
        return;
    }
    assert_eq!(tally.accepted.len(), 0);
    assert!(tally.rejected.len() <= 52, "{}", tally.rejected.len());
    assert!(tally.compiled >= 5_446, "{}", tally.compiled);
    assert!(tally.passing >= 5_315, "{}", tally.passing);
}
