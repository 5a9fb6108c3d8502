//! `--resources`: documents that references lead to.

use std::path::Path;

use serde_json::Value;

use crate::{file, run, text};

#[path = "../common/suite.rs"]
mod suite;

/// Options under which a value may be spelled in every way, as the official suite has it.
const FREE: [&str; 10] = [
    "--whitespace",
    "any",
    "--spelling",
    "any",
    "--property-order",
    "any",
    "--digits",
    "400",
    "--formats",
    "annotate",
];

/// A folder with these files, and none besides.
fn folder(name: &str, files: &[(&str, &str)]) -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    for (name, content) in files {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    text(folder)
}

#[test]
fn references_lead_to_the_files_of_a_folder() {
    let documents = folder(
        "resources",
        &[
            ("word.json", r#"{"enum": ["yes", "no"]}"#),
            ("deep/er.json", r##"{"$defs": {"word": {"$ref": "../word.json"}}}"##),
            ("a b.json", "true"),
            ("readme.txt", "no document"),
        ],
    );
    let base = format!("https://example.org/x={documents}");
    let schema = file(
        "resources-schema.json",
        r##"{"$ref": "https://example.org/x/deep/er.json#/$defs/word"}"##,
    );
    let (yes, other) = (file("resources-yes.json", r#""yes""#), file("resources-other.json", "1"));
    let check = |args: &[&str]| run(&[&["check", "--resources", &base], args].concat());
    assert_eq!(check(&["--schema", &schema, "--input", &yes]).code, 0);
    let ran = check(&["--schema", &schema, "--input", &other]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{}", ran.out);
    for schema in [
        r#"{"$ref": "https://example.org/x/a%20b.json"}"#,
        r#"{"$id": "https://example.org/x/here.json", "$ref": "word.json"}"#,
    ] {
        assert_eq!(check(&["--schema", schema, "--input", &yes]).code, 0, "{schema}");
    }
    let formula = r#"{"anyOf": [{"schema": {"$ref": "https://example.org/x/word.json"}}]}"#;
    assert_eq!(check(&["--formula", formula, "--input", &yes]).code, 0);
    let lint = run(&["lint", &schema, "--resources", &base]);
    assert_eq!(lint.code, 0, "{}{}", lint.out, lint.err);
    let args = ["--schema", &schema, "--resources", &base];
    for command in [
        &["sample", "-n", "2"][..],
        &["mask", "--prefix", "\"y", "--tokenizer", "tiny"],
        &["generate", "--prompt", "x", "--max-tokens", "20"],
    ] {
        let ran = run(&[command, &args].concat());
        assert_eq!(ran.code, 0, "{command:?}: {}", ran.err);
    }
    let tools = r#"[{"name": "f", "parameters": {"type": "object", "required": ["word"],
        "properties": {"word": {"$ref": "https://example.org/x/word.json"}}, "additionalProperties": false}}]"#;
    let generate = ["generate", "--prompt", "x", "--tool-choice", "required", "--tools", tools];
    let ran = run(&[&generate[..], &["--resources", &base]].concat());
    assert_eq!(ran.code, 0, "{}", ran.err);
    let written = ran.out.replace(' ', "");
    let has = |word: &str| written.contains(&format!(r#""arguments":{{"word":"{word}"}}"#));
    assert!(has("yes") || has("no"), "{written}");
}

/// As files of a project refer to each other: by relative references, none of which has an `$id`.
#[test]
fn files_refer_to_each_other() {
    let folder = folder(
        "resources-files",
        &[
            (
                "order.json",
                r##"{"properties": {"word": {"$ref": "defs/a%20b.json#/$defs/w"}}, "$defs": {"n": {"const": 1}}}"##,
            ),
            (
                "defs/a b.json",
                r##"{"$defs": {"w": {"anyOf": [{"enum": ["a"]}, {"$ref": "../order.json#/$defs/n"}]}}}"##,
            ),
        ],
    );
    let schema = format!("{folder}/order.json");
    let (yes, no) =
        (file("files-yes.json", r#"{"word":1}"#), file("files-no.json", r#"{"word":2}"#));
    for (text, code) in [(&yes, 0), (&no, 1)] {
        let ran = run(&["check", "--schema", &schema, "--resources", &folder, "--input", text]);
        assert_eq!((ran.code, ran.err.as_str()), (code, ""), "{}", ran.out);
    }
    let lint = run(&["lint", &schema, "--resources", &folder]);
    assert_eq!(lint.code, 0, "{}{}", lint.out, lint.err);
    let marked = file("files-marked.json", "\u{feff}{\"const\": {\"word\": 1}}");
    assert_eq!(run(&["check", "--schema", &marked, "--input", &yes]).code, 0);
    let alone = run(&["check", "--schema", &schema, "--input", &yes]);
    assert_eq!(alone.code, 2);
    assert!(alone.err.contains("a%20b.json`, which is not supplied"), "{}", alone.err);
    assert!(alone.err.contains("--resources DIR"), "{}", alone.err);
}

#[test]
fn what_cannot_be_a_document_is_an_error_with_its_place() {
    let good = folder("resources-good", &[("a.json", "true")]);
    let broken = folder("resources-broken", &[("x/a.json", "{\n\"a\": 1, \"a\": 2}")]);
    let check = |args: &[&str]| {
        let schema = r#"{"$ref": "https://example.org/a.json"}"#;
        run(&[&["check", "--schema", schema, "--input", "README.md"], args].concat())
    };
    let at = |folder: &str| format!("https://example.org/={folder}");
    for (args, parts) in [
        (
            vec![],
            vec!["leads to `https://example.org/a.json`, which is not supplied", "--resources"],
        ),
        (vec![at(&broken)], vec!["a.json:2:9: the key \"a\" is written twice"]),
        (vec![at("no/such/folder")], vec!["no/such/folder: cannot be read", "BASE_URI=DIR"]),
        (vec![at(&good), at(&good)], vec!["a.json: ", "is supplied twice"]),
        (vec![good.clone()], vec!["leads to `https://example.org/a.json`, which is not supplied"]),
        (vec!["no/such/folder".to_owned()], vec!["write a folder, or BASE_URI=DIR"]),
    ] {
        let args: Vec<&str> = args.iter().flat_map(|arg| ["--resources", arg]).collect();
        let ran = check(&args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{args:?}");
        for part in parts {
            assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
        }
    }
    let ran = run(&["check", "--regex", "a", "--input", "README.md", "--resources", &at(&good)]);
    assert!(ran.err.contains("--resources is for schemas"), "{}", ran.err);
}

/// Groups of the official suite whose references lead to its remote documents, which it serves at
/// this address by convention; `MASKWRIGHT_SUITE_ALL` runs all groups of all drafts.
#[test]
fn the_official_suite_runs_from_the_command_line() {
    let Some(suite) = suite::suite() else { return };
    let all = std::env::var_os("MASKWRIGHT_SUITE_ALL").is_some();
    let resources = format!("http://localhost:1234/={}", text(suite.join("remotes")));
    let (mut groups, mut tests, mut wrong) = (0, 0, Vec::new());
    for (draft, _) in suite::DRAFTS {
        let folder = suite.join("tests").join(draft);
        if !folder.is_dir() {
            continue;
        }
        for path in suite::files(&folder, "json") {
            let file_name = text(path.strip_prefix(&folder).unwrap().to_owned());
            let content = std::fs::read_to_string(&path).unwrap();
            let cases: Vec<suite::Case<'_>> = serde_json::from_str(&content).unwrap();
            for (number, case) in cases.iter().enumerate() {
                let optional = file_name.starts_with("optional/");
                let remote = case.schema.get().contains("//localhost:1234/");
                if !all && (optional || !remote || number % 4 != 0) {
                    continue;
                }
                let schema = file("suite-schema.json", case.schema.get());
                // One text a line.
                let lines: Vec<String> = case
                    .tests
                    .iter()
                    .map(|test| test.data.get().replace(['\n', '\r'], " "))
                    .collect();
                let lines = file("suite-lines.jsonl", lines.join("\n") + "\n");
                let mut free = FREE;
                if file_name.starts_with("optional/format/") {
                    free[9] = "enforce";
                }
                let draft = draft.trim_start_matches("draft");
                let args = ["check", "--schema", &schema, "--schema-draft", draft];
                let ran =
                    run(&[&args[..], &["--resources", &resources, "--lines", &lines], &free]
                        .concat());
                groups += 1;
                tests += case.tests.len();
                // Nothing is valid: that is an answer, too.
                let none =
                    ran.err.contains("no value satisfies") && case.tests.iter().all(|t| !t.valid);
                let said: Vec<bool> = ran
                    .out
                    .lines()
                    .map(|line| {
                        let answer: Value = serde_json::from_str(line).unwrap();
                        answer["accepted"].as_bool().unwrap()
                    })
                    .collect();
                let valid: Vec<bool> = case.tests.iter().map(|test| test.valid).collect();
                if !none && said != valid {
                    let what = &case.description;
                    wrong.push(format!("{draft}/{file_name}: {what}: {said:?}, {}", ran.err));
                }
            }
        }
    }
    println!("{} of {groups} groups agree ({tests} tests)", groups - wrong.len());
    wrong.iter().for_each(|line| println!("    {line}"));
    assert!(groups > 0);
    assert!(all || wrong.is_empty(), "{}", wrong.join("\n"));
}
