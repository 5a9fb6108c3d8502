//! The `maskwright` command from outside: what it prints where, and its exit codes.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

mod model_support;

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use model_support::{byte_tokenizer, hey};
use serde_json::{Value, json};

const PERSON: &str = "examples/schemas/person.json";

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_maskwright"));
    command.args(args).current_dir(env!("CARGO_MANIFEST_DIR")).stdin(Stdio::null());
    command
}

fn run(args: &[&str]) -> Ran {
    let output = command(args).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// A file in the folder of this test's files.
fn file(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).unwrap();
    text(path)
}

fn text(path: PathBuf) -> String {
    path.into_os_string().into_string().unwrap()
}

#[test]
fn bad_input_is_one_line_with_place_and_cure_and_exit_code_2() {
    let model = text(hey("cli-bad-input"));
    let no_weights = hey("cli-no-weights");
    std::fs::remove_file(no_weights.join("model.safetensors")).unwrap();
    let no_weights = text(no_weights);
    let wide = hey("cli-wide-tokenizer");
    let mut tokenizer = byte_tokenizer();
    tokenizer["added_tokens"][0]["id"] = json!(5000);
    std::fs::write(wide.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    let wide = text(wide);
    let malformed = file("malformed.json", "{\n  \"type\": \"object\",,\n}");
    let latin = file("latin.json", b"{\"title\": \"caf\xe9\"}");
    let input = file("input.json", "{}");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();

    let generate = |args: &[&str]| {
        let mut all = vec!["generate", "--prompt", "x", "--model", &model];
        all.extend(args);
        run(&all)
    };
    let check = |args: &[&str]| {
        let mut all = vec!["check", "--input", &input];
        all.extend(args);
        run(&all)
    };
    let mut wrong = Vec::new();
    for (what, ran, parts) in [
        ("a missing file", check(&["--schema", "none.json"]), vec!["none.json: ", "give the path"]),
        ("malformed JSON", check(&["--schema", &malformed]), vec!["malformed.json:2:20: "]),
        ("malformed inline", check(&["--schema", "{\"type\" 1}"]), vec!["line 1, column 9: "]),
        ("not UTF-8", check(&["--schema", &latin]), vec!["latin.json: byte 14: is not UTF-8"]),
        (
            "a keyword that is not enforced",
            check(&["--schema", r#"{"properties": {"a": {"$dynamicRef": "x"}}}"#]),
            vec!["/properties/a/$dynamicRef"],
        ),
        (
            "a bad keyword",
            check(&["--schema", r#"{"items": {"minItems": -1}}"#]),
            vec!["at /items/minItems: "],
        ),
        (
            "a schema that nothing satisfies",
            check(&["--schema", r#"{"type": "integer", "minimum": 2, "maximum": 1}"#]),
            vec!["no value satisfies the schema"],
        ),
        ("a regex that does not parse", check(&["--regex", "a(b"]), vec!["byte 1: "]),
        (
            "a grammar that does not parse",
            check(&["--grammar", &file("bad.gbnf", "root ::= item\n")]),
            vec!["bad.gbnf:1:10: ", "`item`", "\n  | root ::= item\n  |          ^\n"],
        ),
        (
            "a missing grammar",
            check(&["--grammar", "none.gbnf"]),
            vec!["none.gbnf: ", "arithmetic, ", "json"],
        ),
        (
            "a grammar in no known notation",
            check(&["--grammar", &file("odd.txt", "???\n")]),
            vec!["odd.txt: ", "--grammar-dialect"],
        ),
        ("no constraint", check(&[]), vec!["no constraint is given; give one of --schema"]),
        (
            "two constraints",
            check(&["--schema", "{}", "--choice", "a"]),
            vec!["--schema <FILE|JSON>", "--choice <TEXT>", "cannot be used"],
        ),
        (
            "an option of another constraint",
            check(&["--choice", "a", "--whitespace", "any"]),
            vec!["--whitespace", "--schema"],
        ),
        ("no text", run(&["check", "--schema", "{}"]), vec!["--input <FILE>", "--lines <FILE>"]),
        (
            "a missing text",
            run(&["check", "--schema", "{}", "--input", "none.txt"]),
            vec!["none.txt: cannot be read"],
        ),
        (
            "missing lines",
            run(&["check", "--schema", "{}", "--lines", "none.txt"]),
            vec!["none.txt: cannot be read"],
        ),
        (
            "a missing tokenizer",
            check(&["--schema", "{}", "--tokenizer", "none.json"]),
            vec!["none.json: ", "give a tokenizer.json"],
        ),
        ("no prompt", run(&["generate", "--schema", "{}"]), vec!["--prompt <TEXT>"]),
        ("no tokens", generate(&["--max-tokens", "0"]), vec!["--max-tokens <N>", "from 1 up"]),
        ("a typing error", generate(&["--temprature", "1"]), vec!["'--temperature'"]),
        ("a bad temperature", generate(&["--temperature", "-1"]), vec!["temperature"]),
        ("a bad nucleus", generate(&["--top-p", "1.5"]), vec!["`top_p`", "from 0 to 1"]),
        ("an empty stop string", generate(&["--stop", ""]), vec!["`stop`"]),
        ("a bad device", generate(&["--device", "gpu"]), vec!["write `cpu`, `cuda` or `cuda:N`"]),
        ("a bad dtype", generate(&["--dtype", "f64"]), vec!["write `f32`, `bf16` or `f16`"]),
        (
            "no model",
            run(&["generate", "--prompt", "x", "--model", "none"]),
            vec!["none: there is no such model folder", "give a folder"],
        ),
        (
            "a model without weights",
            run(&["generate", "--prompt", "x", "--model", &no_weights]),
            vec!["cli-no-weights", "the model folder has no weights"],
        ),
        (
            "a tokenizer that does not fit",
            run(&["generate", "--prompt", "x", "--model", &wide]),
            vec!["tokenizer.json: ", "5000", "260"],
        ),
        (
            "a port in use",
            run(&["serve", "--model", &model, "--port", &port]),
            vec![&port, "choose another --port"],
        ),
        ("a bad host", run(&["serve", "--host", "nowhere"]), vec!["--host <ADDRESS>"]),
        ("an unknown subcommand", run(&["generat"]), vec!["'generate'"]),
    ] {
        let Ran { code, out, err } = ran;
        // What `--nocapture` shows is what a user sees.
        print!("{what}: {err}");
        // Below the line may stand what is wrong in a text, and a caret.
        let lines = err.lines().filter(|line| !line.starts_with("  | ")).count();
        let as_it_should = code == 2 && out.is_empty() && lines == 1;
        if !as_it_should || !err.starts_with("error: ") {
            wrong.push(format!("{what}: exit code {code}, output {out:?}, {err:?}"));
        }
        for part in parts.into_iter().filter(|part| !err.contains(part)) {
            wrong.push(format!("{what}: `{part}` is not in {err:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn generate_writes_the_text_to_standard_output_and_nothing_else() {
    let model = text(hey("cli-generate"));
    let generate = |args: &[&str]| {
        let mut all = vec!["generate", "--prompt", "x", "--model", &model];
        all.extend(args);
        run(&all)
    };
    let grammar = file("hey.gbnf", "root ::= [A-Z] \"e\" [a-z] \"?\"\n");
    for (args, out, code) in [
        (&[][..], "Hey\n", 0),
        (&["--stream"], "Hey\n", 0),
        (&["--max-tokens", "2"], "He\n", 0),
        (&["--stop", "y"], "He\n", 0),
        (&["--choice", "Heyday", "--choice", "Heat"], "Heyday\n", 0),
        (&["--regex", "[A-Z]e{2}[a-z]!"], "Heey!\n", 0),
        (&["--grammar", &grammar], "Hey?\n", 0),
        (&["--choice=-1", "--choice", "-2"], "-1\n", 0),
        (&["--choice", "Heyday", "--stop", "d"], "Hey\n", 1),
        (&["--choice", "Heyday", "--max-tokens", "4"], "Heyd\n", 1),
        (&["--choice", "Heyday", "--max-tokens", "4", "--stream"], "Heyd\n", 1),
    ] {
        let ran = generate(args);
        assert_eq!((ran.out.as_str(), ran.code), (out, code), "{args:?}: {}", ran.err);
        assert_eq!(ran.err.is_empty(), code == 0, "{args:?}: {}", ran.err);
    }
    assert!(generate(&["--choice", "Heyday", "--max-tokens", "4"]).err.contains("--max-tokens"));
    let ran = generate(&["--output", "json", "--seed", "7", "--temperature", "0"]);
    assert_eq!(
        serde_json::from_str::<Value>(&ran.out).unwrap(),
        json!({
            "text": "Hey", "finish_reason": "stop", "complete": true, "seed": 7,
            "tokens": [b'H', b'e', b'y'],
            "usage": { "prompt_tokens": 2, "completion_tokens": 3 },
        })
    );
}

#[test]
fn trace_tells_each_step_on_standard_error() {
    let model = text(hey("cli-trace"));
    let ran = run(&["generate", "--prompt", "x", "--model", &model, "--choice", "Hat", "--trace"]);
    assert_eq!(ran.out, "Hat\n");
    let lines: Vec<Vec<&str>> =
        ran.err.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0],
        "step probability allowed nucleus token -> text so far".split(' ').collect::<Vec<_>>()
    );
    assert_eq!(lines[1], ["1", "1.0000", "1", "1", "`H`", "->", "H"]);
    // What it would have written instead, and how probable that was.
    assert_eq!(lines[2][..9], ["2", "1.0000", "1", "1", "`a`", "->", "Ha", "(wanted", "`e`,"]);
    assert_eq!(lines[4][4..7], ["`<|end|>`", "->", "Hat"]);
    assert_eq!(lines.len(), 5);
}

fn person() -> jsonschema::Validator {
    let schema = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(PERSON)).unwrap();
    jsonschema::validator_for(&serde_json::from_slice(&schema).unwrap()).unwrap()
}

#[test]
fn the_first_command_of_the_readme() {
    let prompt = "Ada Lovelace, 36, lives in London and writes to ada@example.org.";
    let ran = run(&["generate", "--schema", PERSON, "--prompt", prompt]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(person().is_valid(&serde_json::from_str(&ran.out).unwrap()), "{}", ran.out);
}

#[test]
fn whatever_is_drawn_satisfies_the_schema() {
    let model = text(hey("cli-schema"));
    for seed in ["1", "2", "3"] {
        let args = ["generate", "--prompt", "x", "--model", &model, "--schema", PERSON];
        let more = ["--seed", seed, "--max-tokens", "1000"];
        let ran = run(&[&args[..], &more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(person().is_valid(&serde_json::from_str(&ran.out).unwrap()), "{}", ran.out);
        assert_eq!(ran.out, run(&[&args[..], &more].concat()).out, "one seed, one text");
    }
}

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
        ("{\n \"é\": 1}", Some((4, 2, 3))),
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
        ran.code == 0 && ran.err.contains("reads like Lark; say so by the ending .lark"),
        "{}",
        ran.err
    );
    let ran = check(&["--grammar", "cron"]);
    let place = "cli-grammar.txt:1:1: not accepted: expected ";
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
fn a_reader_that_has_seen_enough_is_no_error() {
    let lines = file("cli-many-lines", "1\n".repeat(100_000));
    let mut child = command(&["check", "--schema", "{}", "--lines", &lines])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    assert_eq!(first, "{\"accepted\":true}\n");
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    assert_eq!((child.wait().unwrap().code(), err.as_str()), (Some(0), ""));
}

#[test]
fn help_and_version_are_results() {
    for args in [&["--help"][..], &["generate", "--help"], &["--version"]] {
        let ran = run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        assert!(ran.out.contains("maskwright"), "{args:?}");
    }
}
