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
    // Not the user's.
    command.env("MASKWRIGHT_CACHE", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
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
        (&["--choice", "Heyday", "--choice", "Heat", "--max-tokens", "4"], "Heat\n", 0),
        (&["--choice", "Heyday", "--max-tokens", "4", "--budget", "off"], "Heyd\n", 1),
        (&["--choice", "Heyday", "--max-tokens", "4", "--budget", "off", "--stream"], "Heyd\n", 1),
    ] {
        let ran = generate(args);
        assert_eq!((ran.out.as_str(), ran.code), (out, code), "{args:?}: {}", ran.err);
        assert_eq!(ran.err.is_empty(), code == 0, "{args:?}: {}", ran.err);
    }
    let ran = generate(&["--choice", "Heyday", "--max-tokens", "4", "--budget", "off"]);
    assert!(ran.err.contains("--max-tokens"), "{}", ran.err);
    let ran = generate(&["--choice", "Heyday", "--max-tokens", "4"]);
    assert!(ran.code == 2 && ran.err.contains("within 4 tokens: 6 are needed"), "{}", ran.err);
    let ran = generate(&["--output", "json", "--seed", "7", "--temperature", "0"]);
    let mut json = serde_json::from_str::<Value>(&ran.out).unwrap();
    let faithfulness = json["faithfulness"].take();
    assert_eq!((faithfulness["steps"].as_u64(), &faithfulness["forced"]), (Some(4), &json!(0)));
    // Without a constraint only ids that have no token are masked.
    assert!(faithfulness["mean_allowed_mass"].as_f64().unwrap() > 0.98);
    assert_eq!(
        json,
        json!({
            "text": "Hey", "finish_reason": "stop", "stop_reason": null, "complete": true,
            "yielded": 0, "faithfulness": null, "rejection": null, "score": null, "seed": 7,
            "tokens": [b'H', b'e', b'y'],
            "usage": { "prompt_tokens": 2, "completion_tokens": 3, "reasoning_tokens": 0 },
            "passes": { "model": 4, "drafted": 0, "accepted": 0 },
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
    let columns = "step probability raw allowed mass nucleus mask us token -> text so far";
    assert_eq!(lines[0], columns.split(' ').collect::<Vec<_>>());
    // The time of the mask is the seventh.
    let without_time = |line: &[&str]| [&line[..6], &line[7..]].concat().join(" ");
    assert!(without_time(&lines[1]).starts_with("1 1.0000 "), "{lines:?}");
    assert!(without_time(&lines[1]).ends_with("1 `H` -> H (forced)"), "{lines:?}");
    // What it would have written instead, and how probable that was.
    assert!(without_time(&lines[2]).contains("`a` -> Ha (wanted `e`, "), "{lines:?}");
    assert!(without_time(&lines[4]).contains("`<|end|>` -> Hat"), "{lines:?}");
    assert!(ran.err.lines().last().unwrap().starts_with("4 steps, 4 forced; the mask forbade"));
    assert_eq!(lines.len(), 6);
    // An error is all that is told where no step was made.
    let ran = run(&["generate", "--prompt", "x", "--model", &model, "--trace", "--rejection"]);
    assert!(ran.code == 2 && ran.err.starts_with("error: ") && ran.err.lines().count() == 1);
}

#[test]
fn a_trace_as_a_page_needs_nothing_beside_itself() {
    let model = text(hey("cli-trace-page"));
    let args = ["generate", "--prompt", "<x> & {{steps}}", "--model", &model, "--choice", "H<t"];
    let ran = run(&[&args[..], &["--trace=html"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("<!doctype html>") && ran.out.trim_end().ends_with("</html>"));
    assert_eq!(ran.out.matches("<section class=").count(), 4);
    assert!(ran.out.contains("&lt;x&gt; &amp; &#123;&#123;steps}}") && ran.out.contains("H&lt;t"));
    // Each card shows what was written, wanted or not.
    assert_eq!(ran.out.matches("<li class=taken>").count(), 4);
    for outside in ["http:", "https:", "<script", "<link", "src=", "@import", "<x>", "{{"] {
        assert!(!ran.out.contains(outside), "{outside}");
    }
}

#[test]
fn the_best_texts_come_in_order() {
    let model = text(hey("cli-n-best"));
    let args =
        ["generate", "--prompt", "x", "--model", &model, "--choice", "Hot", "--choice", "Hey"];
    let ran = run(&[&args[..], &["--beam", "3", "--n-best", "2"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let rows: Vec<(f64, &str)> = ran
        .out
        .lines()
        .map(|line| line.split_once('\t').unwrap())
        .map(|(score, text)| (score.parse().unwrap(), text))
        .collect();
    assert_eq!(rows.iter().map(|row| row.1).collect::<Vec<_>>(), ["Hey", "Hot"]);
    assert!(rows[0].0 > rows[1].0, "{}", ran.out);
    let drawn = ["--best-of", "2", "--n-best", "2", "--output", "json", "--seed", "1"];
    let ran = run(&[&args[..], &drawn].concat());
    let rows: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let logprob = |row: &Value| row["faithfulness"]["raw_logprob"].as_f64().unwrap();
    assert!(rows.len() == 2 && logprob(&rows[0]) >= logprob(&rows[1]), "{}", ran.out);
    for (search, says) in [
        (&["--beam", "2"][..], "error: --n-best 3 of 2 that --beam or --best-of make; let one"),
        (&[], "error: --n-best 3 of 1 that --beam or --best-of make; let one"),
    ] {
        let ran = run(&[&args[..], search, &["--n-best", "3"]].concat());
        assert!(ran.code == 2 && ran.err.starts_with(says), "{}", ran.err);
    }
}

/// Several texts are those of seeds that count up, whole as a line each, and for programs.
#[test]
fn several_texts_come_one_after_the_other() {
    let model = text(hey("cli-several"));
    let args = ["generate", "--prompt", "x", "--model", &model, "--regex", "[a-z]{6}"];
    let with = |options: &[&str]| run(&[&args[..], &["--temperature", "9"], options].concat());
    let alone: Vec<String> =
        ["3", "4", "5"].iter().map(|seed| with(&["--seed", seed]).out).collect();
    let ran = with(&["--seed", "3", "-n", "3"]);
    assert_eq!((ran.code, ran.out), (0, alone.concat()));
    assert_ne!(alone[0], alone[1]);
    let rows: Vec<Value> = with(&["--seed", "3", "--n", "3", "--output", "json"])
        .out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let told: String =
        rows.iter().map(|row| format!("{}\n", row["text"].as_str().unwrap())).collect();
    assert_eq!(told, alone.concat());
    // The prompt is read once.
    let passes: Vec<u64> =
        rows.iter().map(|row| row["passes"]["model"].as_u64().unwrap()).collect();
    assert_eq!(passes, [7, 6, 6]);
    let ran = with(&[
        "-n", "2", "--seed", "1", "--stop", "a", "--stop", "e", "--stop", "n", "--stop", "d",
        "--stop", "i", "--stop", "m", "--stop", "s", "--stop", "v",
    ]);
    assert_eq!((ran.code, ran.err.lines().count()), (1, 1), "{}", ran.err);
    assert_eq!(with(&["-n", "2", "--beam", "2"]).code, 2);
}

#[test]
fn every_setting_has_an_option() {
    let model = text(hey("cli-settings"));
    let e = b'e'.to_string();
    for (args, out) in [
        (&["--allowed-token-ids", "72", "--max-tokens", "3"][..], "HHH\n"),
        (&["--stop-token-id", "121"], "He\n"),
        (&["--stop", "e", "--include-stop"], "He\n"),
        (&["--beam", "2", "--length-penalty", "0.5", "--early-stopping", "never"], "Hey\n"),
        (&["--best-of", "2", "--seed", "1", "--temperature", "0.01"], "Hey\n"),
        (&["--speculate", "grammar", "--choice", "Hot"], "Hot\n"),
        (&["--speculate", "ngram"], "Hey\n"),
        (&["--speculate", "forced", "--choice", "Hot"], "Hot\n"),
        (&["--token-healing", "--canonical"], "Hey\n"),
        (&["--rejection", "--choice", "Hot", "--choice", "Hey"], "Hey\n"),
        (&["--mirostat", "2", "--mirostat-tau", "0", "--seed", "1"], "Hey\n"),
        (&["--top-n-sigma", "0.01", "--samplers", "top_n_sigma;temperature"], "Hey\n"),
        (&["--typical-p", "1", "--top-k", "1", "--dry-multiplier", "0.5"], "Hey\n"),
        (&["--xtc-probability", "0", "--top-p", "0"], "Hey\n"),
        (&["--logit-bias", "101=-0.001", "--repeat-last-n", "3"], "Hey\n"),
        (&["--top-k", "-1", "--repeat-last-n", "-1", "--seed", "-1", "--top-p", "0"], "Hey\n"),
        (&["--dry-penalty-last-n", "-1", "--samplers", "penalties;typ_p;temperature"], "Hey\n"),
    ] {
        let ran = run(&[&["generate", "--prompt", "x", "--model", &model], args].concat());
        assert_eq!((ran.out.as_str(), ran.code), (out, 0), "{args:?}: {}", ran.err);
    }
    for ban in [["--banned-token-ids", e.as_str()], ["--logit-bias", "101=-100"]] {
        let args = ["generate", "--prompt", "x", "--model", &model, "--max-tokens", "4"];
        let ran = run(&[&args[..], &ban].concat());
        assert!(ran.out.starts_with('H') && !ran.out.contains('e'), "{}", ran.out);
    }
    for (args, says) in [
        (&["--speculate", "draft"][..], "--draft-model go together"),
        (&["--speculate", "draft", "--draft-model", "layers:9"], "9 layers of a model of 0"),
        (&["--samplers", "top_q"], "is no step of the chain"),
        (&["--samplers", "temperature", "--top-p", "0.5"], "leaves its step out"),
        (&["--logit-bias", "x"], "ID=NUMBER"),
        (&["--logit-bias", "5=-inf"], "`banned_token_ids`"),
        (&["--logit-bias", "260=1"], "`logit_bias` names token 260"),
        (&["--banned-token-ids", "5,999"], "`banned_token_ids` names token 999"),
        (&["--top-k", "-2"], "-1 for all"),
        (&["--beam", "0"], "a whole number from 1 up"),
        (&["--beam", "2", "--best-of", "3"], "cannot be used with"),
    ] {
        let ran = run(&[&["generate", "--prompt", "x", "--model", &model], args].concat());
        assert_eq!((ran.out.as_str(), ran.code), ("", 2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(says) && ran.err.lines().count() == 1, "{args:?}: {}", ran.err);
    }
}

#[test]
fn explore_puts_temperatures_side_by_side() {
    let model = text(hey("cli-explore"));
    let args = ["explore", "--prompt", "x", "--model", &model, "--regex", "[a-z]{3}"];
    let ran = run(&[&args[..], &["--temperatures", "0,2", "--samples", "2"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(ran.out.starts_with("temperature 0 ") && ran.out.contains("temperature 2\n"));
    assert_eq!(ran.out.matches("valid 2/2").count(), 2);
    let ran = run(&[&args[..], &["--temperatures", "0,2", "--output", "json"]].concat());
    let columns: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(columns.len(), 2);
    let texts = |column: &Value| -> std::collections::BTreeSet<String> {
        let samples = column["samples"].as_array().unwrap();
        samples.iter().map(|sample| sample["text"].as_str().unwrap().to_owned()).collect()
    };
    // Greedy texts are one text: of its nine tokens three are different.
    assert_eq!((texts(&columns[0]).len(), texts(&columns[1]).len()), (1, 3));
    let distinct = columns[0]["distinct_1"].as_f64().unwrap();
    assert!(distinct <= 3.0 / 9.0 + 1e-9);
    assert_eq!(columns[0]["complete"], 3);
    // Any settings instead of temperatures.
    let settings =
        ["--settings", "--temperature 2 --top-k 1", "--settings", "--seed 4 --temperature 2"];
    let ran = run(&[&args[..], &settings, &["--output", "json"]].concat());
    let columns: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(columns[0]["settings"], "--temperature 2 --top-k 1");
    assert_eq!((texts(&columns[0]).len(), columns[0]["samples"][0]["seed"].as_u64()), (1, Some(0)));
    assert_eq!((texts(&columns[1]).len(), columns[1]["samples"][0]["seed"].as_u64()), (3, Some(4)));
    for (settings, says) in [
        (&["--settings", "--top-q 1"][..], "--settings: unexpected argument '--top-q'"),
        (&["--settings", "'"], "is not closed"),
        (&["--settings", "--top-p 2"], "`top_p` is 2"),
        (&["--settings", "--top-p 1", "--temperatures", "1"], "cannot be used with"),
        (&["--temperature", "1"], "--temperature is that of no column; write --temperatures"),
        (&["--settings", "--top-p 1", "--top-k", "1"], "options of sampling beside --settings"),
    ] {
        let ran = run(&[&args[..], settings].concat());
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{}", ran.err);
        assert!(ran.err.contains(says) && ran.err.lines().count() == 1, "{}", ran.err);
    }
}

#[test]
fn chat_remembers_and_obeys_a_constraint_per_turn() {
    use std::io::Write as _;
    let model = text(hey("cli-chat"));
    let mut child = command(&["chat", "--model", &model, "--max-tokens", "8"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = "hello\n/constraint --choice 'a b'\nagain\n/constraint --regex '('\n/free\n\
                 /reset\nonce more\n/exit\nnever read\n";
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "Hey\na b\nHey\n");
    let err = String::from_utf8(output.stderr).unwrap();
    assert!(err.starts_with("error: ") && err.lines().count() == 1, "{err}");
}

/// One seed gives one conversation, of which no two answers have the same random numbers.
#[test]
fn each_answer_of_a_chat_is_drawn_anew() {
    use std::io::Write as _;
    let model = text(hey("cli-chat-seed"));
    let chat = || {
        let args = ["chat", "--model", &model, "--max-tokens", "9", "--temperature", "9"];
        let mut child = command(&[&args[..], &["--seed", "1", "--regex", "[a-z]{9}"]].concat())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(b"hello\n/reset\nhello\n").unwrap();
        String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
    };
    let told = chat();
    let answers: Vec<&str> = told.lines().collect();
    assert!(answers.len() == 2 && answers[0] != answers[1], "{answers:?}");
    assert_eq!(chat(), told);
}

/// A conversation longer than the context goes on.
#[test]
fn chat_keeps_within_the_context() {
    use std::io::Write as _;
    let next = |byte: u8| u32::from(byte);
    let chain = [(b'>', next(b'H')), (b'H', model_support::END)];
    let model = text(model_support::parrot("cli-chat-context", &chain, 40));
    let mut child = command(&["chat", "--model", &model, "--max-tokens", "8"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = "0123456789\n".repeat(12);
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "H\n".repeat(12));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn bench_decode_measures_reading_and_writing_apart() {
    let plot = Path::new(env!("CARGO_TARGET_TMPDIR")).join("decode.svg");
    let args = ["bench", "decode", "--tokens", "12", "--prompt-tokens", "8", "--json-object"];
    let plot_option = ["--plot", plot.to_str().unwrap(), "--output", "json"];
    let ran = run(&[&args[..], &plot_option].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let ways: Vec<Value> =
        ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let names: Vec<&str> = ways.iter().map(|way| way["way"].as_str().unwrap()).collect();
    assert_eq!(names, ["cache", "no cache", "constrained"]);
    for way in &ways {
        assert_eq!(way["token_us"].as_array().unwrap().len(), 11);
        assert!(way["prefill_us"].as_f64().unwrap() > 0.0);
    }
    let svg = std::fs::read_to_string(plot).unwrap();
    assert_eq!(svg.matches("<polyline").count(), 2);
    assert_eq!(run(&args).out.lines().count(), 4);
    let ran = run(&["bench", "decode", "--tokens", "1"]);
    assert!(ran.code == 2 && ran.err.contains("at least 1 for the prompt and 2"), "{}", ran.err);
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
    let place = "cli-grammar.txt:1:1: not accepted: `a`, expected one of [*0-9@] (at rule `";
    assert!(ran.code == 1 && ran.out.contains(place), "{}", ran.out);
    assert!(ran.out.ends_with("\n  | ab\n  | ^\n"), "{}", ran.out);
    assert_eq!(check(&["--regex", "b.a", "--search"]).code, 1);
    assert_eq!(check(&["--regex", "(?s)b.a", "--search"]).code, 0);
    assert_eq!(check(&["--regex", "(?s)b.a"]).code, 1);
    assert_eq!(check(&["--choice", "x", "--search"]).code, 2);
}

#[test]
fn lint_takes_a_schema_as_the_other_commands_do_too() {
    let schema = r#"{"properties": {"a": {"type": "string"}}, "required": ["b"]}"#;
    let [alone, named] = [&["lint", schema][..], &["lint", "--schema", schema]].map(run);
    assert_eq!((alone.code, named.code), (0, 0), "{}", named.err);
    assert!(alone.out.contains("/required") && alone.out == named.out, "{}", alone.out);
    assert_eq!(run(&["lint"]).code, 2);
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

const TOOLS: &str = r#"[{"name": "weather", "description": "The weather in a city.", "input_schema": {
    "type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"],
    "additionalProperties": false}}, {"name": "time"}]"#;

#[test]
fn tools_are_called_and_told_as_json() {
    let tools = file("tools.json", TOOLS);
    let generate = |more: &[&str]| {
        let prompt = ["generate", "--prompt", "What is the weather in Rome?", "--tools"];
        run(&[&prompt[..], more].concat())
    };
    for given in [tools.as_str(), TOOLS] {
        let ran = generate(&[given, "--tool-choice", "weather"]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let call: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(call["name"], "weather");
        assert!(["Oslo", "Rome"].contains(&call["arguments"]["city"].as_str().unwrap()), "{call}");
    }
    for format in ["json", "llama3", "qwen"] {
        let required =
            ["--tool-choice", "required", "--no-parallel-tool-calls", "--output", "json"];
        let ran = generate(&[&[TOOLS, "--tool-format", format][..], &required].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let told: Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(told["tool_calls"].as_array().unwrap().len(), 1, "{format}: {told}");
        assert_eq!(told["text"], "", "{format}");
    }
    // The model in the binary is not told of tools: it calls one unless it may do otherwise.
    let ran = generate(&[TOOLS, "--output", "json"]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_ne!(told["tool_calls"], json!([]), "{told}");
    assert!(ran.err.contains("it must call one"), "{}", ran.err);
    let ran = generate(&[TOOLS, "--choice", "Rain."]);
    assert!(ran.code == 0 && !ran.err.contains("must"), "{}", ran.err);
    // No call: text, which a constraint may be given to.
    let ran = generate(&[TOOLS, "--tool-choice", "none", "--choice", "Rain."]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Rain.\n"), "{}", ran.err);
    assert!(ran.err.contains("no chat template that tells it of tools"), "{}", ran.err);
    for (more, wanted) in [
        (&["[1]"][..], "a tool needs a name"),
        (&["{"], "no JSON"),
        (&["nowhere.json"], "nowhere.json"),
        (&[TOOLS, "--tool-choice", "sing"], "there is no tool `sing`"),
        (&[TOOLS, "--tool-format", "xml"], "known are deepseek"),
        (&[TOOLS, "--tool-format", "mistral"], "[TOOL_CALLS]"),
    ] {
        let ran = generate(more);
        assert_eq!(ran.code, 2, "{more:?}: {}", ran.err);
        assert!(ran.err.contains(wanted), "{more:?}: {}", ran.err);
    }
    assert_eq!(run(&["generate", "--prompt", "x", "--tool-choice", "none"]).code, 2);
}

#[test]
fn reasoning_goes_to_standard_error_and_ends_with_its_budget() {
    let model = text(hey("cli-reasoning"));
    let generate = |more: &[&str]| {
        run(&[&["generate", "--model", &model, "--prompt", "x", "--temperature", "0"][..], more]
            .concat())
    };
    let ran =
        generate(&["--reasoning", "--reasoning-budget", "3", "--choice", "Hey", "--choice", "Ho"]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hey\n"), "{}", ran.err);
    assert!(ran.err.contains("Hey"), "{}", ran.err);
    let ran = generate(&[
        "--reasoning=mistral",
        "--reasoning-budget",
        "0",
        "--regex",
        "[0-9]",
        "--output",
        "json",
    ]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["reasoning"], "");
    assert!(told["text"].as_str().unwrap().parse::<u8>().is_ok(), "{told}");
    // Room is kept for the answer; without that the constraint is not met, and that is said.
    let ran = generate(&["--reasoning", "--choice", "Hey", "--max-tokens", "20"]);
    assert_eq!((ran.code, ran.out.trim()), (0, "Hey"), "{}", ran.err);
    let ran =
        generate(&["--reasoning", "--choice", "Hey", "--max-tokens", "20", "--budget", "off"]);
    assert_eq!((ran.code, ran.out.trim()), (1, ""), "{}", ran.err);
    let ran = generate(&["--reasoning=aloud"]);
    assert!(ran.code == 2 && ran.err.contains("known are gpt-oss"), "{}", ran.err);
}

#[test]
fn quotations_and_formulas_are_constraints_like_others() {
    let text = file("quoted.txt", "It was the best of times, it was the \"worst\" of times.\n");
    let chunks = file("chunks.json", "[\"It was \", \"the best \", \"of times\"]");
    let formula =
        file("formula.json", r#"{"allOf": [{"regex": "[a-z]+"}, {"not": {"choice": ["root"]}}]}"#);
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
    let ran = run(&["sample", "--regex", "a{9}", "--max-bytes", "8"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("the shortest text has 9 bytes"), "{}", ran.err);
}

/// What stands there, what was expected, which rules could have gone on, and which option helps.
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
        (
            &["--schema", r#"{"const": {"a": 1, "b": 2}}"#],
            "{\"b\": 2, \"a\": 1}",
            "1:3: not accepted: `b`, expected `a\"` (at /const); with --property-order any it is accepted",
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
    let input = file("cli-reads.json", "{\n  \"a\": [1, 2,]\n}");
    let ran = run(&["check", "--grammar", "json", "--input", &input]);
    assert!(
        ran.out.contains(
            ":2:14: not accepted: `]`, expected one of [\\t\\n\\r \\\"-0-9[fnt{] (at rule `"
        ),
        "{}",
        ran.out
    );
    assert!(ran.out.contains("\n  |   \"a\": [1, 2,]\n  |              ^\n"), "{}", ran.out);
}

/// A corpus of which it is known what becomes of each schema, and how long the instances are.
fn corpus() -> String {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-corpus");
    std::fs::create_dir_all(&folder).unwrap();
    let (object, flag) = (
        json!({"properties": {"a": {"type": "integer"}, "b": {"enum": ["é", true]}}}),
        json!({"type": "boolean"}),
    );
    let line = |id: &str, schema: &Value, tests: &[(bool, Value)]| {
        let tests: Vec<_> =
            tests.iter().map(|(valid, data)| json!({"valid": valid, "data": data})).collect();
        format!("{}\n", json!({"id": id, "description": "", "schema": schema, "tests": tests}))
    };
    let first = [
        line("passing", &object, &[(true, json!({"a": 1, "b": "é"})), (false, json!({"a": 1.5}))]),
        line("order", &object, &[(true, json!({"b": true, "a": 1}))]),
    ];
    let second = [
        line("does-not-compile", &json!({"minItems": -1}), &[(true, json!([]))]),
        String::from("\n"),
        line("rejects-a-valid-one", &flag, &[(true, json!(17)), (false, json!(true))]),
        line("accepts-an-invalid-one", &flag, &[(true, json!(true)), (false, json!(false))]),
        line("passing", &json!(true), &[]),
    ];
    std::fs::write(folder.join("a.jsonl"), first.concat()).unwrap();
    std::fs::write(folder.join("b.jsonl"), second.concat()).unwrap();
    std::fs::write(folder.join("c.txt"), "no corpus").unwrap();
    text(folder)
}

#[test]
fn bench_masks_counts_what_becomes_of_each_schema() {
    let corpus = corpus();
    let bytes = file("cli-bytes-tokenizer.json", byte_tokenizer().to_string());
    let records = file("cli-masks-records.jsonl", "");
    let args = ["bench", "masks", "--corpus", &corpus, "--tokenizer", &bytes];
    let json = |more: &[&str]| -> Value {
        let ran = run(&[&args[..], &["--output", "json"], more].concat());
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
        serde_json::from_str(&ran.out).unwrap()
    };
    let counts = |report: &Value| {
        ["schemas", "passing", "compile_error", "validation_error", "invalidation_error"]
            .map(|count| report[count].as_u64().unwrap())
    };
    let report = json(&["--records", &records]);
    assert_eq!(counts(&report), [5, 1, 1, 2, 1]);
    // A mask at each byte up to the first that is not allowed, and there: `{"a": 1, "b": "é"}` and
    // `{"a": 1.`; `{"b": true, "a"`, whose end could still have been another name's; `1` of 17, and
    // true; true and false.
    assert_eq!(report["tokens"], (19 + 8) + 15 + (1 + 4) + (4 + 5));
    for times in ["tbm_us", "ttfm_us", "accept_us"] {
        let of = |name: &str| report[times][name].as_f64().unwrap();
        let names = ["p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"];
        assert!(names.windows(2).all(|pair| of(pair[0]) <= of(pair[1])), "{report}");
        assert!(of("avg") > 0.0 && of("avg") <= of("max"), "{report}");
    }
    assert_eq!(report["options"]["property_order"], "schema");
    assert_eq!(report["options"]["encoding"], "the tokenizer's own");
    if cfg!(target_os = "linux") {
        assert!(report["peak_rss_mib"].as_f64().unwrap() > 1.0);
    }

    let lines: Vec<Value> = std::fs::read_to_string(&records)
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!((lines.len(), &lines[0]["meta"]["engine"]), (7, &json!("maskwright")));
    assert!(lines[6]["summary"]["wall_s"].is_number());
    let schemas: Vec<&Value> = lines[1..6].iter().map(|line| &line["schema"]).collect();
    let (id, status) = (|s: &Value| s["id"].clone(), |s: &Value| s["status"].clone());
    let ids: Vec<_> = schemas.iter().map(|s| id(s)).collect();
    assert_eq!(ids[..2], ["accepts-an-invalid-one.json", "does-not-compile.json"]);
    assert_eq!(ids[2..], ["order.json", "passing.json", "rejects-a-valid-one.json"]);
    assert_eq!((status(schemas[1]), status(schemas[3])), (json!("compile_error"), json!("ok")));
    assert!(schemas[1]["error"].as_str().unwrap().contains("/minItems"));
    let accepted = |s: &Value| -> Vec<bool> {
        s["tests"].as_array().unwrap().iter().map(|t| t["accepted"].as_bool().unwrap()).collect()
    };
    assert_eq!(accepted(schemas[0]), [true, true]);
    assert_eq!(accepted(schemas[3]), [true, false]);
    assert_eq!(schemas[3]["tests"][0]["mask_ns"].as_array().unwrap().len(), 19);
    assert!(schemas[3]["ttfm_ns"].as_u64() >= schemas[3]["compile_ns"].as_u64());

    assert_eq!(counts(&json(&["--property-order", "any", "--unshared"])), [5, 2, 1, 1, 1]);
    let some = json(&["--limit", "2", "--seed", "7"]);
    assert_eq!(counts(&some)[0], 2);
    assert_eq!(counts(&some), counts(&json(&["--limit", "2", "--seed", "7"])));
    let half = format!("{corpus}/a.jsonl");
    let one =
        run(&["bench", "masks", "--corpus", &half, "--tokenizer", "tiny", "--output", "json"]);
    let one = serde_json::from_str(&one.out).unwrap();
    assert_eq!(counts(&one), [2, 1, 0, 1, 0]);

    let ran = run(&args);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert!(
        ran.out.contains("compile and first mask") && ran.out.contains("\np99.9 "),
        "{}",
        ran.out
    );
    assert!(ran.out.contains(" 2 validation error (a valid instance rejected)\n"), "{}", ran.out);
    assert!(ran.out.contains("\nproperty order: schema\n"), "{}", ran.out);
}

#[test]
fn bench_masks_says_what_is_wrong_with_a_corpus() {
    let empty = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cli-empty-corpus");
    std::fs::create_dir_all(&empty).unwrap();
    for (corpus, part) in [
        (text(empty), "the corpus has no schema"),
        (
            file("cli-half.jsonl", "{\"id\": \"a\", \"schema\": {}}\n{\"id\": 1}\n"),
            "half.jsonl:2:8: ",
        ),
        (file("cli-no-schema.jsonl", "{\"id\": \"a\"}\n"), "no-schema.jsonl:1:11: "),
        (String::from("none.jsonl"), "none.jsonl: cannot be read"),
    ] {
        let ran = run(&["bench", "masks", "--corpus", &corpus, "--tokenizer", "tiny"]);
        assert_eq!((ran.code, ran.err.lines().count()), (2, 1), "{}", ran.err);
        assert!(ran.err.contains(part), "{}", ran.err);
    }
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
