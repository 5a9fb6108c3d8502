//! Conventions of every command: refusals, exit codes, files that it keeps.

use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::json;

use crate::model_support::{byte_tokenizer, hey};
use crate::{Ran, command, file, run, text};

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
        ("not UTF-8", check(&["--schema", &latin]), vec!["latin.json:1:15: is not UTF-8"]),
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
fn help_and_version_are_results() {
    for args in [&["--help"][..], &["generate", "--help"], &["--version"]] {
        let ran = run(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        assert!(ran.out.contains("maskwright"), "{args:?}");
    }
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

/// A vocabulary is loaded by its index, which is made where there is none; where it cannot be
/// written that is a warning.
#[test]
fn vocabularies_have_an_index_in_the_cache() {
    let tokenizer = file("cached-tokenizer.json", byte_tokenizer().to_string());
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cached");
    let _ = std::fs::remove_dir_all(&cache);
    let args = ["mask", "--regex", "ab|ac", "--prefix", "a", "--tokenizer", &tokenizer];
    let run = |folder: &Path| {
        let output = command(&args).env("MASKWRIGHT_CACHE", folder).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        (output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    let without = run(Path::new(""));
    assert!(!cache.exists() && !without.1.contains("warning"), "{}", without.1);
    for _ in 0..2 {
        assert_eq!(run(&cache), without);
        assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 2);
    }
    let (out, err) = run(&PathBuf::from(&tokenizer).join("below a file"));
    assert_eq!(out, without.0);
    assert!(err.contains("warning: ") && err.contains("the index cannot be written"), "{err}");
    // By convention, for who names no folder.
    let home = cache.join("home");
    let output =
        command(&args).env_remove("MASKWRIGHT_CACHE").env("XDG_CACHE_HOME", &home).output();
    assert_eq!(output.unwrap().stdout, without.0);
    assert_eq!(std::fs::read_dir(home.join("maskwright")).unwrap().count(), 2);
}

/// A wrong value is repeated in part, however long it is.
#[test]
fn messages_are_short_whatever_was_given() {
    let names: Vec<String> = (0..100_000).map(|i| format!("\"member-{i}\"")).collect();
    let schema = file(
        "cli-many-required.json",
        format!(r#"{{"type": "object", "required": [{}]}}"#, names.join(", ")),
    );
    let empty = file("cli-empty-object.json", "{}");
    let ran = run(&["check", "--schema", &schema, "--input", &empty]);
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.out.len() < 3_000, "{}", ran.out.len());
    assert!(
        ran.out.contains("`member-1`, ") && ran.out.contains(" … and 99,980 more (at /required")
    );
    let long = "n".repeat(60_000);
    let tools = format!(r#"[{{"name": "{}"}}]"#, &long[..5_000]);
    for args in [
        &["generate", "--prompt", "x", "--tools", &tools][..],
        &["check", "--schema", &long, "--input", &empty],
        &["check", "--grammar", &long, "--input", &empty],
        &["check", "--schema", "{}", "--input", &long],
        &["generate", "--prompt", "x", "--model", &long],
    ] {
        let ran = run(args);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", &ran.err[..200]);
        assert!(ran.err.len() < 3_000 && ran.err.lines().count() == 1, "{}", ran.err.len());
    }
}

/// A schema is compiled as a text comes to its parts; errors in them name the file all the same.
#[test]
fn late_errors_name_the_file() {
    let schema =
        file("cli-late.json", r#"{"properties": {"a": {"type": "array", "uniqueItems": true}}}"#);
    let items: Vec<String> = (0..300).map(|i| i.to_string()).collect();
    let input = file("cli-late-items.json", format!(r#"{{"a": [{}]}}"#, items.join(", ")));
    let args = ["check", "--schema", &schema, "--input", &input, "--limit", "work=20000"];
    let ran = run(&args);
    assert_eq!(ran.code, 2, "{}{}", ran.out, ran.err);
    assert!(
        ran.err.contains("cli-late.json:1:") && ran.err.contains("limit `work`"),
        "{}",
        ran.err
    );
}

/// A device never ends.
#[cfg(unix)]
#[test]
fn a_file_without_end_is_not_read_for_ever() {
    let input = file("cli-short-input.json", "1");
    for args in [
        &["check", "--schema", "/dev/zero", "--input", &input][..],
        &["check", "--schema", "{}", "--lines", "/dev/zero"],
    ] {
        let ran = run(args);
        assert_eq!(ran.code, 2, "{}", ran.out);
        assert!(ran.err.contains("/dev/zero") && ran.err.contains("is longer than 256 MiB"));
    }
}

/// Of two members with one key one would be lost, in files other than schemas, too.
#[test]
fn a_key_that_is_written_twice_is_refused_in_every_file() {
    let input = file("cli-twice-input.txt", "a");
    let tools = file("cli-twice-tools.json", r#"[{"name": "f", "name": "g"}]"#);
    let formula = r#"{"regex": "a", "regex": "b"}"#;
    let ran = run(&["check", "--formula", formula, "--input", &input]);
    assert!(
        ran.code == 2 && ran.err.contains("at /regex: the key is written twice"),
        "{}",
        ran.err
    );
    let ran = run(&["generate", "--prompt", "x", "--tools", &tools]);
    assert!(ran.code == 2 && ran.err.contains("cli-twice-tools.json:1:"), "{}", ran.err);
    assert!(ran.err.contains("at /0/name: the key is written twice"), "{}", ran.err);
}
