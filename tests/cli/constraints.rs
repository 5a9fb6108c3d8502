//! Constraints without a model: `check`, `mask`, `lint` and `sample`.

use serde_json::{Value, json};

use crate::model_support::byte_tokenizer;
use crate::{PERSON, file, run, run_on};

#[test]
fn check_says_where_and_what_was_expected() {
    let tokenizer = file("cli-bytes.json", byte_tokenizer().to_string());
    let schema = r#"{"type": "object", "properties": {"a": {"type": "integer", "maximum": 20}},
        "required": ["a"], "additionalProperties": false}"#;
    for (text, rejected) in [
        ("{\"a\": 15}", None),
        ("{\"a\": 15}\n", None),
        ("{\n  \"a\": 15\n}\r\n", None),
        ("{\"a\": 25}", Some((7, 1, 8))),
        ("{\n  \"é\": 1}", Some((5, 2, 4))),
        ("{\"a\": ", Some((6, 1, 7))),
        ("", Some((0, 1, 1))),
        ("{\"a\": 1}}", Some((8, 1, 9))),
        ("{\"a\": 1}\n\n", Some((8, 1, 9))),
    ] {
        let input = file("cli-check.json", text);
        let args = ["check", "--schema", schema, "--input", &input];
        let (by_bytes, json) = (run(&args), run(&[&args[..], &["--output", "json"]].concat()));
        let by_tokens =
            run(&[&args[..], &["--output", "json", "--tokenizer", &tokenizer]].concat());
        assert_eq!((&json.out, json.code), (&by_tokens.out, by_tokens.code), "{text}");
        let answer: Value = serde_json::from_str(&json.out).unwrap();
        match rejected {
            None => {
                assert_eq!((by_bytes.out.as_str(), by_bytes.code), ("accepted\n", 0), "{text}");
                assert_eq!(answer, json!({ "accepted": true }));
            }
            Some((byte, line, column)) => {
                let place = format!("cli-check.json:{line}:{column}: not accepted: ");
                assert!(by_bytes.out.contains(&place), "{}", by_bytes.out);
                assert_eq!((by_bytes.code, json.code), (1, 1), "{text}");
                assert_eq!(answer["accepted"], false);
                assert_eq!(
                    [&answer["byte"], &answer["line"], &answer["column"]],
                    [byte, line, column]
                );
                assert_ne!(answer["expected"], "", "{text}");
            }
        }
        assert_eq!(by_bytes.err, "");
    }
}

/// Beside the grammar, and by option.
#[test]
fn check_finds_the_grammars_that_a_grammar_names() {
    let input = file("cli-named.txt", "a1b1,{\"x\": 1}");
    file("cli-named-part.lark", "part: \"a\" NUMBER\nNUMBER: /[0-9]/\nstart: \"b\" NUMBER");
    let schema = file("cli-named-schema.json", r#"{"type": "object"}"#);
    let grammar = "%import .cli-named-part.part\nstart: part @cli-named-part \",\" @object\n";
    let grammar = file("cli-named.lark", grammar);
    let check =
        |args: &[&str]| run(&[&["check", "--input", &input, "--grammar", &grammar], args].concat());
    let ran = check(&["--named-grammar", &format!("object={schema}")]);
    assert_eq!((ran.out.as_str(), ran.code, ran.err.as_str()), ("accepted\n", 0, ""));
    let ran = check(&[]);
    assert!(ran.code == 2 && ran.err.contains("there is no grammar `object`"), "{}", ran.err);
    let ran = check(&["--named-grammar", "object"]);
    assert!(ran.code == 2 && ran.err.contains("NAME=FILE"), "{}", ran.err);
    let broken = file("cli-named-broken.lark", "start: x");
    let ran = check(&["--named-grammar", &format!("object={broken}")]);
    assert!(ran.code == 2 && ran.err.contains("cli-named-broken.lark:1:8: rule"), "{}", ran.err);
}

#[test]
fn options_of_json_are_those_of_other_engines() {
    let schema = r#"{"properties": {"a": {"type": "array", "items": {"type": "integer"}},
        "b": {"type": "string"}}}"#;
    let table: [(&[&str], &str, bool); 16] = [
        (&[], "{\"c\": 1}", true),
        (&["--strict"], "{\"c\": 1}", false),
        (&["--indent", "3"], "{\n   \"a\": [\n      1,\n      2\n   ]\n}", true),
        (&["--indent", "3"], "{\"a\": [1, 2]}", false),
        (&["--indent", "0", "--key-separator", ":"], "{\n\"a\":[\n1\n]\n}", true),
        (&["--item-separator", " , "], "{\"a\": [1 , 2]}", true),
        (&["--item-separator", " , "], "{\"a\": [1, 2]}", false),
        (&["--max-whitespace", "2"], "{  \"a\":[1\n\n, 2]}", true),
        (&["--max-whitespace", "2"], "{   \"a\":[1]}", false),
        (&["--whitespace", "\t?", "--item-separator", ",\n"], "{\t\"a\":[1\t,\n\t2]}", true),
        (&["--exclude", "bad", "--exclude", "\\"], "{\"b\": \"bd\"}", true),
        (&["--exclude", "bad", "--exclude", "\\"], "{\"b\": \"x\\n\"}", false),
        (&["--spelling", "escapes", "--escapes", "u"], "{\"b\": \"\\u0041\\u000a\"}", true),
        (&["--style", "gemma_4"], "{a:[1,2],b:<|\"|>x<|\"|>}", true),
        (&["--style", "qwen_xml"], "<parameter=a>[1, x]</parameter>", false),
        (&["--escapes", "n"], "{\"b\": \"\\t\"}", false),
    ];
    for (options, text, accepted) in table {
        let input = file("cli-json-options.json", text);
        let args = [&["check", "--schema", schema, "--input", &input], options].concat();
        let ran = run(&args);
        assert_eq!(ran.code, i32::from(!accepted), "{options:?} {text:?}: {}{}", ran.out, ran.err);
    }
    let one_of = r#"{"oneOf": [{"type": "integer"}, {"type": "number"}]}"#;
    let input = file("cli-one-of.json", "1");
    for (options, code) in [(&[][..], 1), (&["--coerce-one-of"], 0)] {
        let args = [&["check", "--schema", one_of, "--input", &input], options].concat();
        assert_eq!(run(&args).code, code, "{options:?}");
    }
    for (options, message) in [
        (&["--whitespace", "compact", "--item-separator", ", "][..], "brings its own"),
        (&["--indent", "2", "--whitespace", "any"], "cannot be used with"),
        (&["--item-separator", ";"], "the item separator \";\""),
        (&["--style", "xml"], "no style of values is called \"xml\""),
        (&["--escapes", "x"], "no escape"),
    ] {
        let ran = run(&[&["check", "--schema", one_of, "--input", &input], options].concat());
        assert!(
            ran.code == 2 && ran.err.contains(message),
            "{options:?}: {} {}",
            ran.code,
            ran.err
        );
    }
    // They hold for schemas within a grammar, and a grammar without schemas has no use for them.
    let holds = file("cli-options.lark", "start: %json {\"type\": \"array\"}");
    let none = file("cli-options-none.lark", "start: \"[]\"");
    let list = file("cli-options.txt", "[ 1,2]");
    for (grammar, options, code) in [
        (&holds, &[][..], 1),
        (&holds, &["--whitespace", "any"], 0),
        (&none, &["--whitespace", "any"], 2),
    ] {
        let args = [&["check", "--grammar", grammar, "--input", &list], options].concat();
        assert_eq!(run(&args).code, code, "{grammar} {options:?}");
    }
    let ran = run(&["check", "--regex", "a", "--input", &input, "--strict"]);
    assert!(ran.code == 2 && ran.err.contains("--strict says how JSON is written"), "{}", ran.err);
}

/// The start of a grammar, and the dialect of patterns, by option.
#[test]
fn check_reads_from_another_start_and_patterns_of_another_dialect() {
    let check = |text: &str, args: &[&str]| {
        let input = file("cli-start.txt", text);
        run(&[&["check", "--input", &input], args].concat()).code
    };
    let gbnf = file("cli-start.gbnf", "root ::= item item\nitem ::= \"a\"");
    assert_eq!(check("a", &["--grammar", &gbnf]), 1);
    assert_eq!(check("a", &["--grammar", &gbnf, "--start", "item"]), 0);
    assert_eq!(check("a", &["--grammar", &gbnf, "--start", "itme"]), 2);
    let lark = file("cli-start.lark", "start: /[[]\\d/");
    let python = ["--regex-dialect", "python"];
    assert_eq!(check("[٣", &["--grammar", &lark]), 2);
    assert_eq!(check("[٣", &[&["--grammar", &lark], &python[..]].concat()), 0);
    assert_eq!(check("[٣", &["--regex", r"[[]\d", "--regex-dialect", "python"]), 0);
    assert_eq!(check("[٣", &["--regex", r"[[]\d", "--regex-dialect", "ecma"]), 1);
    assert_eq!(check("[1\nx", &["--regex", r"[[]\d\cJx", "--regex-dialect", "ecma"]), 0);
    for args in [
        &["--regex", "a", "--start", "a"][..],
        &["--choice", "a", "--regex-dialect", "ecma"],
        &["--grammar", "json", "--regex-dialect", "ecma"],
        &["--regex", "a", "--regex-dialect", "pcre"],
    ] {
        assert_eq!(check("a", args), 2, "{args:?}");
    }
}

/// By option, by ending, by name of a grammar that comes with the program, and guessed with a remark.
#[test]
fn check_reads_grammars_of_every_dialect() {
    let input = file("cli-grammar.txt", "ab\nac\n");
    let check = |args: &[&str]| run(&[&["check", "--input", &input], args].concat());
    let lark = "start: LINE (\"\\n\" LINE)*\nLINE: /a[bc]/\n";
    for (name, text) in [
        ("cli.gbnf", "root ::= line (\"\\n\" line)*\nline ::= \"a\" [bc]\n"),
        ("cli.lark", lark),
        ("cli.ebnf", "text ::= line (#xA line)*\nline ::= 'a' [bc]\n"),
        ("cli.iso-ebnf", "text = line, { ? U+000A ?, line };\nline = 'a', ('b' | 'c');\n"),
        ("cli.abnf", "text = line *(LF line)\nline = \"a\" (\"b\" / \"c\")\n"),
    ] {
        let ran = check(&["--grammar", &file(name, text)]);
        assert_eq!((ran.out.as_str(), ran.code, ran.err.as_str()), ("accepted\n", 0, ""), "{name}");
    }
    let unnamed = file("cli-unnamed.txt", lark);
    let ran = check(&["--grammar", &unnamed, "--grammar-dialect", "lark"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let ran = check(&["--grammar", &unnamed]);
    assert!(
        ran.code == 0
            && ran.err.contains(
                "reads like Lark (`:` after the name of a rule); say so by the ending .lark"
            ),
        "{}",
        ran.err
    );
    let ran = check(&["--grammar", "cron"]);
    let place = "cli-grammar.txt:1:1: not accepted: `a`, expected one of [*0-9@] (at rule `";
    assert!(ran.code == 1 && ran.out.contains(place), "{}", ran.out);
    assert!(ran.out.ends_with("\n  | ab\n  | ^\n"), "{}", ran.out);
    assert_eq!(check(&["--regex", "b.a", "--search"]).code, 1);
    assert_eq!(check(&["--regex", "(?s)b.a", "--search"]).code, 0);
    assert_eq!(check(&["--regex", "(?s)b.a"]).code, 1);
    assert_eq!(check(&["--choice", "x", "--search"]).code, 2);
}

#[test]
fn check_answers_each_line() {
    let lines = file("cli-lines", "\"a\"\n1\r\n\"b\"");
    let ran = run(&["check", "--schema", r#"{"type": "string"}"#, "--lines", &lines]);
    let answers: Vec<Value> = ran.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let accepted: Vec<&Value> = answers.iter().map(|answer| &answer["accepted"]).collect();
    assert_eq!(accepted, [true, false, true]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
}

/// The message tells the text at the error, the expected one, the rules that could have gone on,
/// and the option that helps.
#[test]
fn check_reads_well() {
    let cases = [
        (
            &["--regex", "[0-9]{4}-[0-9]{2}"][..],
            "2024-1x",
            "1:7: not accepted: `x`, expected one of [0-9]",
        ),
        (
            &["--regex", "[0-9]{4}"],
            "202",
            "1:4: not accepted: the text ends too early, expected one of [0-9]",
        ),
        (&["--regex", "a*"], "ab", "1:2: not accepted: `b`, expected `a` or the end"),
        (
            &["--regex", "[äö]x"],
            "üx",
            "1:1: not accepted: `ü`, expected another character beyond ASCII",
        ),
        (
            &["--choice", "yes", "--choice", "no"],
            "maybe",
            "1:1: not accepted: `m`, expected one of [ny]",
        ),
        (&["--choice", "yes", "--choice", "no"], "yep", "1:3: not accepted: `p`, expected `s`"),
        (
            &["--choice", "a longer text"],
            "a",
            "1:2: not accepted: the text ends too early, expected ` longer text`",
        ),
        (&["--choice", "yes"], "yes\n\n", "1:4: not accepted: a line break, expected the end"),
        (&["--choice", "yes"], "yes\r", "1:4: not accepted: `\\r`, expected the end"),
        (
            &["--schema", r#"{"const": {"a": 1, "b": 2}}"#],
            "{\"b\": 2, \"a\": 1}",
            "1:3: not accepted: `b`, expected `a\":` (at /const); with --property-order any it is accepted",
        ),
        (
            &[
                "--schema",
                r#"{"items": {"items": {"type": "null"}}, "type": "array", "uniqueItems": true}"#,
            ],
            "[[null], [null]]",
            "1:15: not accepted: `]`, expected `, null` (at /items/items)",
        ),
        (
            &["--schema", r#"{"const": "a/"}"#],
            r#""a\/""#,
            "1:3: not accepted: `\\`, expected `/\"` (at /const); with --spelling any it is accepted",
        ),
    ];
    for (constraint, text, expected) in cases {
        let input = file("cli-reads.txt", text);
        let ran = run(&[&["check", "--input", &input], constraint].concat());
        let line = ran.out.lines().next().unwrap();
        let (_, line) = line.split_once("cli-reads.txt:").unwrap();
        assert_eq!((line, ran.code), (expected, 1));
    }
    // A final line break is part of the text where it is accepted.
    for (constraint, text) in [
        (["--choice", "yes"], "yes\r\n"),
        (["--regex", "a\\n"], "a\n"),
        (["--regex", "a\\r"], "a\r\n"),
        (["--grammar", "python"], "if x:\n    y\n"),
        (["--grammar", "yaml"], "a: 1\n"),
    ] {
        let input = file("cli-final-break.txt", text);
        let ran = run(&[&["check", "--input", &input][..], &constraint].concat());
        assert_eq!((ran.out.trim(), ran.code), ("accepted", 0), "{constraint:?} {text:?}");
    }
    let input = file("cli-reads.json", "{\n  \"a\": [1, 2,]\n}");
    let ran = run(&["check", "--grammar", "json", "--input", &input]);
    assert!(
        ran.out.contains(
            ":2:14: not accepted: `]`, expected one of [\\t\\n\\r\\x20\"\\-0-9\\[fnt{] (at rule `"
        ),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("\n  |   \"a\": [1, 2,]\n  |              ^\n"), "{}", ran.out);
}

#[test]
fn quotations_and_formulas_are_constraints_like_others() {
    let text = file("quoted.txt", "It was the best of times, it was the \"worst\" of times.\n");
    let chunks = file("chunks.json", "[\"It was \", \"the best \", \"of times\"]");
    let formula =
        file("formula.json", r#"{"allOf": [{"regex": "[a-z]+"}, {"not": {"choice": ["root"]}}]}"#);
    let tag = file(
        "tag.json",
        r#"{"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<n"], "tags": [
            {"begin": "<n>", "content": {"type": "regex", "pattern": "[0-9]+"}, "end": "</n>"}]}}"#,
    );
    for (constraint, input, code) in [
        (&["--quote", text.as_str()][..], "the best of", 0),
        (&["--quote", &text], "the \"worst\"", 0),
        (&["--quote", &text], "est of", 1),
        (&["--quote", &text, "--quote-by", "characters"], "est of", 0),
        (&["--quote", &chunks, "--quote-by", "chunks"], "the best of times", 0),
        (&["--quote", &chunks, "--quote-by", "chunks"], "best", 1),
        (&["--formula", &formula], "boot", 0),
        (&["--formula", &formula], "root", 1),
        (&["--formula", r#"{"not": {"search": "x"}}"#], "abc", 0),
        (&["--formula", r#"{"not": {"gbnf": "root ::= \"a\" root | \"b\""}}"#], "abc", 2),
        (&["--structural-tag", &tag], "so <n>12</n>.", 0),
        (&["--structural-tag", &tag], "so <n>x", 1),
        (&["--structural-tag", r#"{"format": {"type": "any"}}"#], "a", 2),
        (&["--quote", "nowhere.txt"], "a", 2),
        (&["--quote", &text, "--quote-by", "chunks"], "a", 2),
        (&["--regex", "a", "--quote-by", "words"], "a", 2),
    ] {
        let input = file("quotation-input.txt", input);
        let ran = run(&[&["check"][..], constraint, &["--input", &input]].concat());
        assert_eq!(ran.code, code, "{constraint:?}: {}{}", ran.out, ran.err);
    }
    let ran = run(&["generate", "--prompt", "Quote.", "--quote", &text, "--max-tokens", "40"]);
    let quoted = ran.out.trim_end_matches('\n');
    assert!(
        !quoted.is_empty()
            && "It was the best of times, it was the \"worst\" of times.".contains(quoted),
        "{}",
        ran.out
    );
}

#[test]
fn lint_takes_a_schema_as_the_other_commands_do_too() {
    let schema = r#"{"properties": {"a": {"type": "string"}}, "required": ["b"]}"#;
    let [alone, named] = [&["lint", schema][..], &["lint", "--schema", schema]].map(run);
    assert_eq!((alone.code, named.code), (0, 0), "{}", named.err);
    assert!(alone.out.contains("/required") && alone.out == named.out, "{}", alone.out);
    assert_eq!(run(&["lint"]).code, 2);
}

/// Findings without effect are shown in brief, too; of the most frequent kind the first, and a
/// count.
#[test]
fn lint_shows_what_deserves_attention() {
    let schema = r#"{"type": "string", "title": "x", "x-odd": 1, "format": "idn-hostname"}"#;
    let brief = run(&["lint", "--brief", schema]);
    assert!(brief.out.contains("/x-odd: ignored") && brief.out.contains("/format: ignored"));
    assert!(!brief.out.contains("/title"), "{}", brief.out);

    let members: Vec<String> = (0..300).map(|i| format!(r#""a{i}": {{"title": "x"}}"#)).collect();
    let schema = format!(r#"{{"type": "object", "properties": {{{}}}}}"#, members.join(", "));
    let (some, all) = (run(&["lint", &schema]), run(&["lint", "--all", &schema]));
    let titles = |out: &str| out.lines().filter(|line| line.contains("/title")).count();
    assert_eq!((titles(&some.out), titles(&all.out)), (200, 300));
    assert!(some.out.contains("100 more of the kind `annotation`; --all shows them"));
}

#[test]
fn lint_refuses_what_the_others_refuse() {
    let schema = r#"{"type": "array", "contains": {"type": "integer"}, "minContains": 100000}"#;
    let input = file("cli-refused.json", "[]");
    let [lint, check] =
        [&["lint", schema][..], &["check", "--schema", schema, "--input", &input]].map(run);
    assert_eq!((lint.code, check.code), (2, 2), "{}\n{}", lint.out, check.out);
    assert_eq!(lint.err, check.err);
    assert!(lint.out.contains(": error: "), "{}", lint.out);
}

#[test]
fn limits_are_options() {
    let input = file("cli-limits.json", r#"[[[1]]]"#);
    let check = |limits: &[&str]| {
        let schema = r#"{"type": "array"}"#;
        run(&[&["check", "--schema", schema, "--input", &input], limits].concat())
    };
    assert_eq!(check(&[]).code, 0);
    let low = check(&["--limit", "depth=1"]);
    assert_eq!(low.code, 2, "{}", low.out);
    assert!(low.err.contains("(here: --limit depth=…)"), "{}", low.err);
    assert_eq!(check(&["--limit", "depth=1", "--limit", "depth=9"]).code, 0);
    let unknown = check(&["--limit", "deepness=1"]);
    assert_eq!(unknown.code, 2);
    assert!(unknown.err.contains("there is no limit `deepness`; there are work,"));
    let help = run(&["check", "--help"]);
    assert!(help.out.contains("language_states=1048576"), "{}", help.out);
}

/// Not by the byte where the object ends, but by what it lacks.
#[test]
fn check_names_the_members_that_are_missing() {
    let schema = r#"{"type": "object", "properties": {"list": {"type": "array", "items":
        {"type": "object", "properties": {"a": {}, "b": {}, "c": {}}, "required": ["a", "c"]}}}}"#;
    for (text, said) in [
        (r#"{"list": [{"a": 1, "c": 2}, {"b": 1}]}"#, Some(json!(["a", "c"]))),
        (r#"{"list": [{"a": 1, "c": 2}, {"a": 1}]}"#, Some(json!(["c"]))),
        (r#"{"list": [{"a": 1, "c": 2}, {"a": nil}]}"#, None),
    ] {
        let input = file("cli-missing.json", text);
        let args = ["check", "--schema", schema, "--input", &input];
        let (shown, json) = (run(&args), run(&[&args[..], &["--output", "json"]].concat()));
        assert_eq!((shown.code, json.code), (1, 1));
        let answer: Value = serde_json::from_str(&json.out).unwrap();
        match said {
            Some(names) => {
                let keyword = "/properties/list/items/required";
                let missing = json!({"object": "/list/1", "names": names, "keyword": keyword,
                    "certain": true});
                assert_eq!(answer["missing"], missing, "{text}");
                let words = "the object at /list/1 lacks the required member";
                assert!(shown.out.contains(words) && shown.out.contains(keyword), "{}", shown.out);
            }
            None => assert_eq!(answer.get("missing"), None, "{text}"),
        }
    }
}

#[test]
fn check_says_that_a_member_comes_twice() {
    let input = file("cli-twice.json", r#"{"list": [{"a": 1, "a": 2}]}"#);
    let args = ["check", "--schema", r#"{"type": "object"}"#, "--input", &input];
    let (shown, json) = (run(&args), run(&[&args[..], &["--output", "json"]].concat()));
    assert!(shown.out.contains("the object at /list/0 has a member `a` already"), "{}", shown.out);
    let answer: Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(answer["repeated"], json!({"object": "/list/0", "name": "a"}));
}

#[test]
fn check_says_which_formats_are_not_enforced() {
    let input = file("cli-formats.json", r#"{"host": "-", "pattern": "(a)", "day": "1"}"#);
    let schema = r#"{"properties": {"host": {"format": "idn-hostname"}, "day": {"format": "dates"},
        "pattern": {"format": "regex"}}}"#;
    let args = ["check", "--schema", schema, "--property-order", "any", &input];
    let ran = run(&args);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let notes: Vec<&str> = ran.err.lines().collect();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].contains("/properties/host/format") && notes[0].contains("idn-hostname"));
    assert!(notes[1].contains("did you mean `date`?"), "{notes:?}");
    let ran = run(&[&args[..], &["--formats", "annotate"]].concat());
    assert_eq!((ran.code, &*ran.err), (0, ""));
}

#[test]
fn check_says_that_a_draft_is_unknown() {
    let input = file("cli-draft.json", "1");
    let schema = r#"{"$schema": "https://json-schema.org/draft/2020-21/schema"}"#;
    let ran = run(&["check", "--schema", schema, &input]);
    assert_eq!((ran.code, ran.err.lines().count()), (0, 1), "{}", ran.err);
    assert!(ran.err.contains("did you mean `https://json-schema.org/draft/2020-12/schema`?"));
}

#[test]
fn text_that_is_no_utf_8_is_told_at_its_broken_character() {
    let input = file("cli-latin-1.txt", b"caf\xe9s");
    let ran = run(&["check", "--regex", ".*", "--input", &input]);
    let place = "cli-latin-1.txt:1:4: not accepted: byte 0xe9 begins no character of UTF-8, expected a text in UTF-8";
    assert!(ran.out.contains(place), "{}", ran.out);
}

#[test]
fn a_dash_is_standard_input() {
    let check = |args: &[&str], input| run_on(&[&["check"], args].concat(), input);
    let of = ["--schema", r#"{"type": "integer"}"#];
    assert_eq!(check(&[&of[..], &["-"]].concat(), "1\n").code, 0);
    let ran = check(&[&of[..], &["-"]].concat(), "x");
    assert_eq!(ran.code, 1);
    assert!(ran.out.starts_with("-:1:1: not accepted"), "{}", ran.out);
    let ran = check(&[&of[..], &["--lines", "-"]].concat(), "1\nx\n");
    assert_eq!((ran.code, ran.out.lines().count()), (1, 2));
    // A schema is read once, and looked at for each thing that is said of it.
    let input = file("cli-dash.json", "\"a\"");
    let ran = check(&["--schema", "-", &input], r#"{"format": "dates"}"#);
    assert_eq!((ran.code, ran.err.lines().count()), (0, 1), "{}", ran.err);
    assert!(ran.err.contains("did you mean `date`?"), "{}", ran.err);
}

#[test]
fn json_that_is_no_schema_is_not_taken_for_a_file() {
    for schema in ["3", r#""x""#, "null"] {
        let ran = run(&["lint", "--schema", schema]);
        assert_eq!(ran.code, 2, "{}", ran.err);
        assert!(ran.err.contains("a schema must be an object or a boolean"), "{}", ran.err);
    }
    let file = file("3", r#"{"type": "null"}"#);
    assert_eq!(run(&["lint", "--schema", &file]).code, 0);
}

#[test]
fn check_says_which_digits_would_do() {
    let input = file("cli-digits.json", "123456789012345678901234567");
    let ran = run(&["check", "--schema", r#"{"type": "integer"}"#, "--input", &input]);
    assert_eq!(ran.code, 1);
    assert!(ran.out.contains("with --digits 27 it is accepted"), "{}", ran.out);
}

#[test]
fn check_answers_line_by_line() {
    let lines = file("cli-lines.txt", "1\n\"a\"\n3\n");
    let check = |more: &[&str]| {
        run(&[&["check", "--schema", r#"{"type": "integer"}"#, "--lines", &lines], more].concat())
    };
    let json = check(&["--output", "json"]);
    assert_eq!((json.code, json.out.lines().count()), (1, 3));
    assert_eq!(json.out, check(&[]).out);
    let text = check(&["--output", "text"]).out;
    assert!(text.starts_with("accepted\n") && text.contains("cli-lines.txt:2:1: not accepted"));
}

#[test]
fn mask_lists_the_tokens_that_may_follow() {
    let tokenizer = file("cli-mask.json", byte_tokenizer().to_string());
    let mask = |prefix: &str| {
        run(&[
            "mask",
            "--tokenizer",
            &tokenizer,
            "--choice",
            "ab",
            "--choice",
            "ac\n",
            "--prefix",
            prefix,
        ])
    };
    let ran = mask("a");
    assert_eq!((ran.out.as_str(), ran.code), ("98\t\"b\"\n99\t\"c\"\n", 0), "{}", ran.err);
    assert_eq!(mask("ab").out, "256\t<|end|>\n");
    let ran = mask("b");
    assert_eq!((ran.out.as_str(), ran.code), ("", 1));
    assert!(ran.err.contains("byte 0"), "{}", ran.err);
}

#[test]
fn samples_are_by_seed_sized_and_checked() {
    let sql = ["sample", "--grammar", "sql", "-n", "300", "--seed", "7", "--max-bytes", "180"];
    let ran = run(&sql);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(run(&sql).out, ran.out);
    assert!(ran.err.starts_with("300 texts of "), "{}", ran.err);
    assert!(ran.err.contains("rules 28 of 28"), "{}", ran.err);

    // What is drawn is accepted, what is a near-miss is not.
    let mut person = vec!["sample", "--schema", PERSON, "-n", "20", "--output", "json"];
    for (accepted, options) in [(true, &["--min-bytes", "80"][..]), (false, &["--near-misses"])] {
        person.truncate(7);
        person.extend(options);
        let ran = run(&person);
        let texts: Vec<String> = ran
            .out
            .lines()
            .map(|line| {
                serde_json::from_str::<Value>(line).unwrap()["text"].as_str().unwrap().into()
            })
            .collect();
        assert_eq!(texts.len(), 20, "{}", ran.err);
        assert!(!accepted || texts.iter().all(|text| (80..=200).contains(&text.len())));
        for (i, text) in texts.iter().take(3).enumerate() {
            let input = file(&format!("sample-{accepted}-{i}.json"), format!("{text}\n"));
            let checked = run(&["check", "--schema", PERSON, "--input", &input]);
            assert_eq!(checked.code, i32::from(!accepted), "{text}\n{}", checked.out);
        }
    }

    let ran = run(&["sample", "--regex", "(?s).*", "-n", "3", "--near-misses", "-0"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
    assert!(ran.err.contains("3 texts have no near-miss"), "{}", ran.err);
    let ran = run(&["sample", "--choice", "a\nb", "-n", "2", "-0", "--coverage"]);
    assert_eq!(ran.out, "a\nb\0a\nb\0");
    // What one writes the other reads, whatever stands in the texts.
    let lines = ["--regex", "[ab\\r\\n]{0,9}"];
    let ran = run(&[&["sample", "-n", "50", "-0"], &lines[..]].concat());
    let drawn = file("cli-sample-0", &ran.out);
    let ran = run(&[&["check", "-0", "--lines", &drawn, "--output", "text"], &lines[..]].concat());
    assert_eq!((ran.code, ran.out), (0, "accepted\n".repeat(50)));
    let ran = run(&[&["sample", "-n", "50"], &lines[..]].concat());
    assert!(ran.err.contains("texts have line breaks in them: -0 or --output json"), "{}", ran.err);
    // Of a grammar that names a token, with the tokenizer that has it.
    let lark = file("cli-sample.lark", "start: <|end|> \"a\" | \"b\"\n");
    let sample = ["sample", "--grammar", &lark, "-n", "2"];
    let ran = run(&[&sample[..], &["--tokenizer", "tiny"]].concat());
    assert_eq!(ran.out, "b\nb\n", "{}", ran.err);
    assert!(run(&sample).err.contains("give the tokenizer that has it, by --tokenizer"));
    let ran = run(&["sample", "--regex", "a{9}", "--max-bytes", "8"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("every text has 9 bytes or more"), "{}", ran.err);
}

#[test]
fn a_number_that_is_an_id_and_a_text_is_said_to_be_both() {
    let why = |token: &str| {
        let schema = r#"{"type": "integer"}"#;
        run(&["mask", "--schema", schema, "--tokenizer", "tiny", "--why", token])
    };
    let by_id = why("5");
    assert!(
        by_id.err.contains("5 is taken for an id; the token with this text is "),
        "{}",
        by_id.err
    );
    let other =
        by_id.err.rsplit("--why ").next().unwrap().trim_end_matches(|c: char| !c.is_ascii_digit());
    let by_text = why(other);
    assert_eq!((by_text.code, by_text.err.as_str()), (0, ""));
    assert!(by_text.out.contains("(\"5\")"), "{}", by_text.out);
}

/// A constraint that accepts every text is remarked upon; any that rejects one is not.
#[test]
fn constraints_that_constrain_nothing_are_told_of() {
    let input = file("cli-any.txt", "any");
    let any = file("cli-any.lark", "start: TEXT\nTEXT: /(\\n|.)*/\n");
    let plain = file("cli-plain.lark", "start: /.*/\n");
    let dispatch = file(
        "cli-dispatch.lark",
        "start: tool* tail\ntail: TEXT\nhead[lazy]: TEXT \"<tool>\"\n\
         tool: head /[0-9]+/ \"</tool>\"\nTEXT: /(\\n|.)*/\n",
    );
    for (args, told) in [
        (["--regex", "(?s).*"], true),
        (["--regex", ".*"], false),
        (["--grammar", &any], true),
        (["--grammar", &plain], false),
        (["--grammar", &dispatch], false),
        (["--formula", r#"{"anyOf": [{"regex": ".*"}, {"search": "\n"}]}"#], true),
    ] {
        let ran = run(&[&["check", "--input", &input], &args[..]].concat());
        assert_eq!((ran.out.as_str(), ran.code), ("accepted\n", 0), "{args:?}: {}", ran.err);
        assert_eq!(ran.err.contains("note: every text is accepted"), told, "{args:?}");
    }
}

#[test]
fn what_is_wrong_with_a_grammar_or_pattern_as_a_whole() {
    let input = file("cli-whole.txt", "w5");
    let bytes = file("cli-bytes.gbnf", b"root ::= \"a\"\nb ::= \"\xFF\"");
    let ran = run(&["check", "--input", &input, "--grammar", &bytes]);
    assert!(ran.err.contains(":2:8: is not UTF-8 at byte 20"), "{}", ran.err);
    assert!(!ran.err.contains("give a file"), "{}", ran.err);
    let nested = format!("{}a{}", "(".repeat(50_000), ")".repeat(50_000));
    let ran = run(&["check", "--input", &input, "--regex", &nested]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("groups nest deeper than 250"), "{}", &ran.err[..200]);
    // Many alternatives are one terminal, however the grammar is looked at.
    let words: Vec<String> = (0..100_000).map(|i| format!("\"w{i}\"")).collect();
    let many = file("cli-many.lark", format!("start: {}\n", words.join(" | ")));
    let ran = run(&["check", "--input", &input, "--grammar", &many]);
    assert_eq!((ran.out.as_str(), ran.code), ("accepted\n", 0), "{}", ran.err);
}

#[test]
fn check_tells_captures() {
    let grammar = file("cli-captures.lark", "start: key \"=\" /[0-9]+/\nkey[capture]: /[a-z]+/");
    let input = file("cli-captures.txt", "ab=12");
    let answer = run(&["check", "--grammar", &grammar, "--input", &input, "--output", "json"]);
    let answer: Value = serde_json::from_str(&answer.out).unwrap();
    let captures = json!([{ "name": "key", "text": "ab", "start": 0, "end": 2 }]);
    assert_eq!(answer, json!({ "accepted": true, "captures": captures }));
}
