//! The official test suite, as it is written, and the schemas of MaskBench, through compiled
//! constraints: every instance is accepted if and only if it is valid. The suite's texts are read
//! with any whitespace, those of MaskBench with the default, tidy one.
//!
//! The files are found through the variable `MASKWRIGHT_SHARED`; without it these tests say so and
//! do nothing. `MASKWRIGHT_JSON_SCHEMA_SUITE` names another copy of the suite (the folder with
//! `tests` and `remotes` in it); every draft that it has a folder of is run.
//! `MASKWRIGHT_MASKBENCH_ONLY` keeps the schemas of MaskBench whose names contain a text.
#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
#![allow(clippy::print_stdout, reason = "the counts are what one runs these tests for")]

use std::collections::BTreeMap;

use crate::common::suite::{Case, DRAFTS, corpus, files, remotes, suite};
use maskwright::json_schema::{Options, PropertyOrder, Spelling, Whitespace};
use maskwright::{Compiler, Constraint, ErrorKind, Limits, Vocabulary};
use serde_json::Value;

fn compiler(options: Options) -> Compiler {
    let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
    let vocabulary = Vocabulary::from_tokens(tokens, &[(256, "<end>")], &[256]).unwrap();
    // What a schema is does not depend on how busy the machine is.
    let (time_per_constraint, time_per_mask) = (None, None);
    let limits = Limits { time_per_constraint, time_per_mask, ..Limits::default() };
    Compiler::new(vocabulary).with_limits(limits).with_json_options(options)
}

/// Whether the text is accepted; `Err` where a limit is reached.
fn accepts(constraint: &Constraint, text: &str) -> Result<bool, String> {
    let mut matcher = constraint.matcher();
    match matcher.accept_bytes(text.as_bytes()) {
        Ok(()) => Ok(matcher.is_accepting()),
        Err(e) if e.kind() == ErrorKind::Rejected => Ok(false),
        Err(e) => Err(e.to_string()),
    }
}

/// Counts of a file's schemas by outcome.
#[derive(Default)]
struct Tally {
    schemas: usize,
    right: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn case(&mut self, compiler: &Compiler, case: &Case<'_>, documents: &[(String, String)]) {
        self.schemas += 1;
        let compiled =
            case.schema(documents).and_then(|schema| compiler.json_schema_document(schema));
        let (name, before) = (&case.description, self.wrong.len());
        match compiled {
            // Nothing is valid: that is an answer too.
            Err(e) if e.kind() == ErrorKind::Unsatisfiable => {
                if case.tests.iter().any(|test| test.valid) {
                    self.wrong.push(format!("{name}: {e}"));
                }
            }
            Err(e) => self.wrong.push(format!("{name}: {e}")),
            Ok(constraint) => {
                for test in &case.tests {
                    let said = accepts(&constraint, test.data.get());
                    if said != Ok(test.valid) {
                        let (data, what) = (test.data.get(), &test.description);
                        self.wrong.push(format!("{name}: {what}: {data} is {said:?}"));
                    }
                }
            }
        }
        self.right += usize::from(self.wrong.len() == before);
    }

    fn print(&self, title: &str) {
        println!("{title}: {} of {} schemas", self.right, self.schemas);
        self.wrong.iter().for_each(|line| println!("    {line}"));
    }
}

/// Under the options that leave a value its freedom. Files under `optional` are counted one by one,
/// formats enforced where it is they that are tested.
#[test]
fn official_suite() {
    let Some(suite) = suite() else { return };
    let remotes = remotes(&suite);
    let (mut drafts, mut surprises, mut wrong) = (0, Vec::new(), 0);
    for (name, draft) in DRAFTS {
        let folder = suite.join("tests").join(name);
        if !folder.is_dir() {
            continue;
        }
        drafts += 1;
        let mut options = Options::default();
        options.draft = Some(draft);
        options.spelling = Spelling::Any;
        options.property_order = PropertyOrder::Any;
        options.whitespace = Whitespace::Any;
        // The suite's longest number has 53 digits, its largest exponent is 308.
        options.digits = 400;
        options.formats = false;
        let annotating = compiler(options.clone());
        options.formats = true;
        let enforcing = compiler(options);
        let mut mandatory = Tally::default();
        for path in files(&folder, "json") {
            let file = path.strip_prefix(&folder).unwrap().to_str().unwrap().to_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            let cases: Vec<Case<'_>> = serde_json::from_str(&text).unwrap();
            let compiler =
                if file.starts_with("optional/format/") { &enforcing } else { &annotating };
            let mut counts = Tally::default();
            let optional = file.starts_with("optional/");
            let into = if optional { &mut counts } else { &mut mandatory };
            for case in &cases {
                into.case(compiler, case, &remotes);
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
        wrong += mandatory.wrong.len();
    }
    assert!(drafts > 0, "no draft in {}", suite.display());
    assert_eq!(surprises, [""; 0]);
    assert_eq!(wrong, 0);
}

/// Optional files of which not everything is right, with the number of wrong answers.
const KNOWN: &[(&str, usize)] = &[
    // Content keywords are annotations: JSON inside a string is no regular language.
    ("optional/content.json", 4),
    // Which labels IDNA allows is beyond what is enforced: the first is an annotation, and host
    // names have no label that begins with `xn--`.
    ("optional/format/idn-hostname.json", 54),
    ("optional/format/hostname.json", 15),
];

#[test]
fn maskbench() {
    let Some(folder) = corpus("maskbench") else { return };
    let only = std::env::var("MASKWRIGHT_MASKBENCH_ONLY").ok();
    // Its instances are written as `json.dumps` writes them, which is one of the tidy styles.
    let mut ordered = Options::default();
    ordered.whitespace = Whitespace::Tidy;
    let mut any = ordered.clone();
    any.property_order = PropertyOrder::Any;
    let (ordered, any) = (compiler(ordered), compiler(any));
    let (mut schemas, mut passing, mut in_order) = (0, 0, 0);
    let mut errors: BTreeMap<String, (usize, String)> = BTreeMap::new();
    let mut wrong = Vec::new();
    for path in files(&folder, "jsonl") {
        let text = std::fs::read_to_string(path).unwrap();
        for line in text.lines() {
            let entry: Value = serde_json::from_str(line).unwrap();
            let name = entry["id"].as_str().unwrap();
            if only.as_ref().is_some_and(|only| !name.contains(only)) {
                continue;
            }
            schemas += 1;
            let tests: Vec<(bool, String)> = entry["tests"]
                .as_array()
                .unwrap()
                .iter()
                .map(|test| (test["valid"].as_bool().unwrap(), crate::common::dumps(&test["data"])))
                .collect();
            match any.json_schema(&entry["schema"]) {
                Err(e) if e.kind() == ErrorKind::Unsatisfiable => {
                    passing += usize::from(tests.iter().all(|test| !test.0));
                }
                Err(e) => {
                    let message: String = e.message().chars().take(60).collect();
                    let count = errors.entry(message).or_insert_with(|| (0, name.to_owned()));
                    count.0 += 1;
                }
                Ok(constraint) => {
                    let mut right = true;
                    for (valid, text) in &tests {
                        let said = accepts(&constraint, text);
                        if said != Ok(*valid) {
                            right = false;
                            let text: String = text.chars().take(200).collect();
                            wrong.push(format!("{name}: {valid} but {said:?}: {text}"));
                        }
                    }
                    passing += usize::from(right);
                    if right && let Ok(constraint) = ordered.json_schema(&entry["schema"]) {
                        let same = tests
                            .iter()
                            .all(|(valid, text)| accepts(&constraint, text) == Ok(*valid));
                        in_order += usize::from(same);
                    }
                }
            }
        }
    }
    println!("{passing} of {schemas} schemas, {in_order} in the schema's order");
    let mut errors: Vec<_> = errors.into_iter().collect();
    errors.sort_by_key(|error| std::cmp::Reverse(error.1.0));
    errors.iter().for_each(|(message, (count, first))| println!("{count:6}  {message}  ({first})"));
    wrong.iter().for_each(|line| println!("  {line}"));
    if only.is_none() {
        assert!(passing >= 5_539, "{passing}");
        assert!(in_order >= 5_358, "{in_order}");
    }
}
