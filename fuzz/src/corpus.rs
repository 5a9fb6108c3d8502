//! The schemas of MaskBench. Their folder is found through the variable `MASKWRIGHT_SHARED`.

use std::path::PathBuf;

use serde_json::Value;

/// A schema with its instances.
pub struct Entry {
    /// The schema's name in the corpus.
    pub name: String,
    /// Numbers are what is written.
    pub schema: Value,
    /// Is it valid, and the text as `json.dumps(…, ensure_ascii=False)` writes it.
    pub instances: Vec<(bool, String)>,
}

/// The folder of what is not part of this repository; `None`, and a word about it, without one.
pub fn shared() -> Option<PathBuf> {
    let shared = std::env::var_os("MASKWRIGHT_SHARED").map(PathBuf::from);
    if shared.is_none() {
        println!("skipped: MASKWRIGHT_SHARED is not set");
    }
    shared
}

/// Every `stride`-th schema of MaskBench; `MASKWRIGHT_ONLY` leaves those whose names contain it.
pub fn maskbench(stride: usize) -> Option<impl Iterator<Item = Entry>> {
    let folder = shared()?.join("corpus/maskbench");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    files.sort();
    let only = std::env::var("MASKWRIGHT_ONLY").unwrap_or_default();
    let lines = files.into_iter().flat_map(|file| {
        let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{e}"));
        text.lines().map(str::to_owned).collect::<Vec<_>>()
    });
    let entries = lines.step_by(stride).map(|line| {
        let mut line: Value = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}"));
        let tests = line["tests"].as_array().cloned().unwrap_or_default();
        Entry {
            name: line["id"].as_str().unwrap_or_default().to_owned(),
            schema: line["schema"].take(),
            instances: tests
                .iter()
                .map(|test| (test["valid"] == true, dumps(&test["data"])))
                .collect(),
        }
    });
    Some(entries.filter(move |entry| entry.name.contains(&only)))
}

/// As `json.dumps(value, ensure_ascii=False)` writes it, numbers as they were written.
pub fn dumps(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(dumps).collect();
            format!("[{}]", items.join(", "))
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                format!("{}: {}", Value::String(key.clone()), dumps(value))
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{{}}}", members.join(", "))
        }
        scalar => scalar.to_string(),
    }
}
