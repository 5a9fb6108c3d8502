//! The rules of `docs/style.md` that a machine can check.

use std::collections::BTreeMap;

use crate::rust::{SourceFile, code, comment_blocks, files};

/// Folders whose files are checked.
const FOLDERS: [&str; 6] = ["src", "tests", "benches", "examples", "fuzz", "xtask"];

fn everything() -> Vec<SourceFile> {
    FOLDERS.iter().flat_map(|folder| files(folder)).collect()
}

fn assert_none(wrong: &[String], cure: &str) {
    assert!(wrong.is_empty(), "{}\n{cure}", wrong.join("\n"));
}

/// A text outside of code spans.
fn prose(text: &str) -> String {
    text.split('`').step_by(2).collect()
}

#[test]
fn comments_ask_no_questions() {
    let mut wrong = Vec::new();
    for file in everything() {
        for (line, doc, text) in comment_blocks(&file.text) {
            let opening = text.split(' ').next().unwrap_or("");
            let is_question_word = ["What", "Which", "How", "Who"].contains(&opening);
            let asks = prose(&text).contains("? ") || prose(&text).ends_with('?');
            if asks || doc && is_question_word {
                let start: String = text.chars().take(80).collect();
                wrong.push(format!("{}:{line}: {start}", file.path));
            }
        }
    }
    assert_none(&wrong, "begin with a noun phrase, an imperative verb, or `Whether …`");
}

#[test]
fn imports_are_explicit() {
    let mut wrong = Vec::new();
    for file in files("src") {
        for (index, line) in code(file.without_tests()).lines().enumerate() {
            let line = line.trim();
            if line.starts_with("use ")
                && (line.ends_with("super::*;")
                    || line.contains("crate::") && line.ends_with("::*;"))
            {
                wrong.push(format!("{}:{}: {line}", file.path, index + 1));
            }
        }
    }
    assert_none(&wrong, "name what is imported");
}

#[test]
fn constants_are_named_for_what_they_count() {
    let vague = ["FEW", "MANY", "SOME", "LONG", "SHORT", "MOST", "TRIED", "ENOUGH", "BIG", "SMALL"];
    let mut wrong = Vec::new();
    for file in everything() {
        for (index, line) in code(&file.text).lines().enumerate() {
            let declared =
                line.trim().split("const ").nth(1).and_then(|rest| rest.split(':').next());
            if declared.is_some_and(|name| vague.contains(&name)) {
                wrong.push(format!("{}:{}: {}", file.path, index + 1, line.trim()));
            }
        }
    }
    assert_none(&wrong, "say what is counted, in which unit, and why so many");
}

/// Type names that occur in several modules of `src/` for a reason: one per subcommand
/// (`clap::Args`), and names that a reader qualifies by habit.
const REPEATED: [&str; 1] = ["Args"];

#[test]
fn a_type_name_occurs_once_in_a_module_tree() {
    let mut types: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for file in files("src") {
        let tree = file.module.first().cloned().unwrap_or_default();
        for (index, line) in code(file.without_tests()).lines().enumerate() {
            // Associated types and those inside functions are indented.
            let mut words = line.split_whitespace().skip_while(|word| word.starts_with("pub"));
            if line.starts_with(' ')
                || !words.next().is_some_and(|word| {
                    ["struct", "enum", "trait", "type", "union"].contains(&word)
                })
            {
                continue;
            }
            let name: String = words
                .next()
                .unwrap_or("")
                .chars()
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            let place = format!("{}:{}", file.path, index + 1);
            types.entry((tree.clone(), name)).or_default().push(place);
        }
    }
    let wrong: Vec<String> = types
        .into_iter()
        .filter(|((_, name), places)| places.len() > 1 && !REPEATED.contains(&&**name))
        .map(|((_, name), places)| format!("{name}: {}", places.join(" ")))
        .collect();
    assert_none(&wrong, "give each its own name");
}
