//! Patterns and the algebra of languages, against other implementations and against their own
//! definitions on all short strings.
#![allow(clippy::unwrap_used)]

mod algebra;
mod definition;
mod differential;
mod ecma;
mod python;

use maskwright::regular::{Anchoring, Dialect, Options};
use proptest::prelude::ProptestConfig;

fn options(dialect: Dialect, anchoring: Anchoring) -> Options {
    Options { dialect, anchoring }
}

/// So many random cases, unless `PROPTEST_CASES` asks for another number.
fn cases(usual: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let cases = if asked { default.cases } else { usual };
    let max_global_rejects = 10 * cases;
    ProptestConfig { cases, max_global_rejects, failure_persistence: None, ..default }
}

/// Everything over `alphabet` up to a length, shortest first.
fn all_strings(alphabet: &[&str], length: usize) -> Vec<String> {
    let mut strings = vec![String::new()];
    let mut from = 0;
    for _ in 0..length {
        let to = strings.len();
        for i in from..to {
            for c in alphabet {
                strings.push(format!("{}{c}", strings[i]));
            }
        }
        from = to;
    }
    strings
}

/// The text between the quotes of a JSON string.
fn in_json(text: &str) -> String {
    let quoted = serde_json::to_string(text).unwrap();
    quoted[1..quoted.len() - 1].to_owned()
}
