//! The grammars that come with the program.

use std::path::Path;

use maskwright::{Constraint, ebnf};

use crate::{accepts, compiler};

pub(crate) fn built_in(name: &str) -> Constraint {
    let known = ebnf::builtin(name).unwrap();
    let constraint = compiler().grammar(known.text, known.dialect);
    constraint.unwrap_or_else(|error| panic!("{name}: {error}\n{}", error.excerpt().unwrap_or("")))
}

/// Examples stand one a line, or, where texts have several lines, between lines of `----`.
#[test]
fn examples_are_accepted_and_rejected() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("grammars");
    let mut wrong = Vec::new();
    for known in ebnf::GRAMMARS {
        assert!(known.text.starts_with(['#', '/', ';']), "{} says what it covers", known.name);
        let (name, constraint) = (known.name, built_in(known.name));
        for (kind, expected) in [("accept", true), ("reject", false)] {
            let file = folder.join(format!("{name}.{kind}.txt"));
            let text = std::fs::read_to_string(file).unwrap();
            let examples: Vec<&str> = match text.strip_suffix("\n----\n") {
                Some(text) => text.split("\n----\n").collect(),
                None => text.lines().collect(),
            };
            assert!(examples.len() > 5, "{name} {kind}");
            for example in examples {
                if accepts(&constraint, example) != expected {
                    wrong.push(format!("{name}: {example:?} must be {kind}ed"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
