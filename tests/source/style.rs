//! The rules of `docs/style.md` that a machine can check.

use std::collections::BTreeMap;

use crate::rust::{SourceFile, code, comment_blocks, files};

/// Folders whose files are checked.
const FOLDERS: [&str; 7] = ["src", "tests", "benches", "examples", "fuzz", "kernels", "xtask"];

fn everything() -> Vec<SourceFile> {
    FOLDERS.iter().flat_map(|folder| files(folder)).collect()
}

/// The files of the published crates.
fn library() -> impl Iterator<Item = SourceFile> {
    files("src").into_iter().chain(files("kernels/src"))
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
    for file in library() {
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
    for file in library() {
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

/// Fields of a struct and methods of a type beyond which its documentation gives the reason, in a
/// sentence that begins with `More than 12 fields` or `More than 40 methods`.
const MAX_FIELDS: usize = 12;
const MAX_METHODS: usize = 40;

/// A type of the crate: where it is declared, the text above it, and how large it is.
#[derive(Default)]
struct Size {
    place: String,
    docs: String,
    fields: usize,
    methods: usize,
}

#[test]
fn large_types_say_why() {
    let mut sizes: BTreeMap<(String, String), Size> = BTreeMap::new();
    for file in library() {
        let tree = file.module.first().cloned().unwrap_or_default();
        let code = code(file.without_tests());
        let blocks = comment_blocks(&file.text);
        let (mut inside, mut in_impl) = (None::<(String, String)>, false);
        for (index, line) in code.lines().enumerate() {
            if line.starts_with('}') {
                inside = None;
            }
            let words: Vec<&str> = line
                .split(|c: char| !c.is_alphanumeric() && c != '_' && c != '<')
                .filter(|word| !word.is_empty() && !["pub", "crate", "super", "in"].contains(word))
                .collect();
            let name = |word: &str| -> (String, String) {
                (tree.clone(), word.split('<').next().unwrap_or("").to_owned())
            };
            if !line.starts_with(' ') && line.ends_with('{') {
                match words[..] {
                    ["struct", of, ..] => {
                        let docs =
                            blocks.iter().rev().find(|(line, doc, _)| *doc && *line <= index);
                        let size = sizes.entry(name(of)).or_default();
                        size.place = format!("{}:{}", file.path, index + 1);
                        size.docs = docs.map_or(String::new(), |(_, _, text)| text.clone());
                        (inside, in_impl) = (Some(name(of)), false);
                    }
                    [first, ..] if first.starts_with("impl") && !words.contains(&"for") => {
                        let head = line.trim_start_matches("impl").trim_start();
                        let head = match head.strip_prefix('<') {
                            Some(generics) => generics.split_once('>').map_or("", |(_, of)| of),
                            None => head,
                        };
                        let of = head.trim().split(['<', ' ', '{']).next().unwrap_or("");
                        let of = of.rsplit("::").next().unwrap_or(of);
                        (inside, in_impl) = (Some(name(of)), true);
                    }
                    _ => {}
                }
                continue;
            }
            let is_member = line.starts_with("    ") && !line.starts_with("     ");
            if let Some(size) =
                inside.as_ref().filter(|_| is_member).map(|of| sizes.entry(of.clone()).or_default())
            {
                if in_impl && words.iter().take(3).any(|word| *word == "fn") {
                    size.methods += 1;
                } else if !in_impl && line.contains(": ") {
                    size.fields += 1;
                }
            }
        }
    }
    let mut wrong = Vec::new();
    for ((_, name), size) in &sizes {
        for (count, most, what) in
            [(size.fields, MAX_FIELDS, "fields"), (size.methods, MAX_METHODS, "methods")]
        {
            if count > most && !size.docs.contains(&format!("More than {most} {what}")) {
                wrong.push(format!("{}: {name} has {count} {what}", size.place));
            }
        }
    }
    assert_none(&wrong, "split the type, or say why in a sentence `More than N fields: …`");
}
