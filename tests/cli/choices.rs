//! `--choices` and `maskwright choices`: lists in files.

use crate::{file, run};

#[test]
fn a_list_in_a_file_is_a_constraint_or_has_a_name() {
    let lines = file("cli-choices.txt", "Rome\r\nParis\nOslo\nRome");
    let set = lines.replace(".txt", ".fst");
    let made = run(&["choices", &lines, &set]);
    assert_eq!((made.code, made.err.contains("3 texts")), (0, true), "{}", made.err);
    let (right, wrong) = (file("cli-choice.txt", "Oslo"), file("cli-no-choice.txt", "Osl"));
    let schema = r#"{"type": "string", "x-choices-from": "places"}"#;
    let (json, no_json) =
        (file("cli-choice.json", "\"Paris\""), file("cli-no-choice.json", "\"Pa\""));
    for list in [&lines, &set] {
        assert_eq!(run(&["check", "--choices", list, "--input", &right]).code, 0);
        assert_eq!(run(&["check", "--choices", list, "--input", &wrong]).code, 1);
        let named = format!("places={list}");
        let check = |input: &str| {
            run(&["check", "--schema", schema, "--choices", &named, "--input", input])
        };
        assert_eq!((check(&json).code, check(&no_json).code), (0, 1), "{}", check(&json).err);
        let lark = file("cli-choices.lark", "start: \"to \" @places");
        let text = file("cli-choices-lark.txt", "to Oslo");
        let lark = run(&["check", "--grammar", &lark, "--choices", &named, "--input", &text]);
        assert_eq!(lark.code, 0, "{}", lark.err);
    }
    let drawn = run(&["sample", "--choices", &set, "-n", "3"]);
    assert_eq!(drawn.code, 0, "{}", drawn.err);
}

#[test]
fn lists_that_cannot_be_used_are_errors() {
    let empty = file("cli-empty.txt", "a\n\nb\n");
    let lines = file("cli-lines.txt", "a\nb\n");
    let damaged = file("cli-damaged.fst", "this is no set, and longer than its header would be");
    let named = format!("places={lines}");
    let schema = r#"{"x-choices-from": "rivers"}"#;
    for (args, message) in [
        (&["--choices", &empty][..], "cli-empty.txt:2:1"),
        (&["--choices", &damaged], "no set of strings"),
        (&["--choices", "missing.txt"], "missing.txt"),
        (&["--choices", &lines, "--choices", &lines], "given twice"),
        (&["--choices", &lines, "--regex", "a"], "beside another constraint"),
        (&["--choices", &named, "--choices", &named, "--schema", "{}"], "have the name `places`"),
        (&["--choices", &named], "is a list for a schema or grammar"),
        (&["--choices", &named, "--regex", "a"], "is a list for a schema or grammar"),
        (&["--schema", schema, "--choices", &named], "the lists are places"),
        (&["--schema", schema], "no list of choices with the name `rivers`"),
    ] {
        let ran = run(&[&["check", "--input", &lines], args].concat());
        assert!(ran.code == 2 && ran.err.contains(message), "{args:?}: {}", ran.err);
    }
    for (args, message) in [
        (&["choices", &lines, "out.txt"][..], ".fst"),
        (&["serve", "--choices", &lines], "NAME=FILE"),
        (&["lint", "--choices", &lines, "examples/schemas/person.json"], "NAME=FILE"),
    ] {
        let ran = run(args);
        assert!(ran.code == 2 && ran.err.contains(message), "{args:?}: {}", ran.err);
    }
}
