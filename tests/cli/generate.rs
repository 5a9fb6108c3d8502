//! Texts of a model: `generate` with each of its settings, and `explore`.

use std::path::Path;

use serde_json::{Value, json};

use crate::model_support::{hey, thinker};
use crate::{PERSON, Ran, file, run, run_on, text};

#[test]
fn reasoning_that_nobody_asked_for_is_no_output() {
    let model = text(thinker("cli-unasked"));
    let args = ["generate", "--model", &model, "--prompt", "x"];
    let ran = run(&args);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Hey\n"), "{}", ran.err);
    let ran = run(&[&args[..], &["--output", "json"]].concat());
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((&answer["text"], &answer["reasoning"]), (&"Hey".into(), &"so".into()), "{answer}");
    // A constraint leaves no room for it.
    let ran = run(&[&args[..], &["--choice", "Hi", "--choice", "Ho"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{}", ran.out);
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
            "captures": [],
            "yielded": 0, "faithfulness": null, "rejection": null, "score": null, "seed": 7,
            "tokens": [b'H', b'e', b'y'],
            "usage": { "prompt_tokens": 2, "completion_tokens": 3, "reasoning_tokens": 0 },
            "passes": { "model": 4, "drafted": 0, "accepted": 0 },
        })
    );
}

/// A model that lacks the facts cannot fill its budget with blanks, unless it is allowed to.
#[test]
fn whitespace_does_not_run_away_by_default() {
    for prompt in ["My name is Bob.", "Hello.", "It rained all day."] {
        let generate = |args: &[&str]| {
            let all = [&["generate", "--schema", PERSON, "--prompt", prompt][..], args].concat();
            let ran = run(&all);
            assert_eq!(ran.code, 0, "{}", ran.err);
            ran.out
        };
        let tidy = generate(&[]);
        assert!(serde_json::from_str::<Value>(&tidy).is_ok(), "{prompt}: {tidy:?}");
        let between = tidy.trim_end().split('"').step_by(2);
        assert!(between.clone().all(|text| !text.contains("  ")), "{prompt}: {tidy:?}");
        assert_eq!(tidy.lines().count(), 1, "{prompt}: {tidy:?}");
        assert_eq!(generate(&["--whitespace", "plain"]), tidy);
        let indented = generate(&["--whitespace", "indent-4"]);
        assert!(indented.starts_with("{\n    \"name\": "), "{indented:?}");
    }
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
    let folder = hey("cli-n-best");
    // A model that reasons, by its template.
    let template = "{% if x %}</think>{% endif %}>";
    std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    let model = text(folder);
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
    // The number before a text is the one that the order is made of.
    let drawn = run(&[&args[..], &drawn[..4], &["--seed", "1"]].concat());
    for (line, row) in drawn.out.lines().zip(&rows) {
        let steps = row["faithfulness"]["steps"].as_f64().unwrap();
        assert!(line.starts_with(&format!("{:.4}\t", logprob(row) / steps)), "{line}: {row}");
    }
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
    // The prompt is too short to be shared: a block of the KV cache has 16 tokens.
    let passes: Vec<u64> =
        rows.iter().map(|row| row["passes"]["model"].as_u64().unwrap()).collect();
    assert_eq!(passes, [7, 7, 7]);
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
        (&["--dry-penalty-last-n", "-1", "--dry-multiplier", "0.5"], "Hey\n"),
        (&["--samplers", "penalties;typ_p;temperature"], "Hey\n"),
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
        (&["--max-tokens", "-1"], "a whole number from 1 up"),
        (&["-n", "-1"], "a whole number from 1 up"),
        (&["--beam", "2", "--best-of", "3"], "cannot be used with"),
        (&["--include-stop"], "--stop"),
        (&["--length-penalty", "2"], "--beam"),
        (&["--early-stopping", "yes"], "--beam"),
        (&["--xtc-threshold", "0.3"], "--xtc-probability"),
        (&["--mirostat-eta", "0.3"], "--mirostat"),
        (&["--dry-base", "2"], "--dry-multiplier"),
        (&["--n-best", "1"], "several texts"),
        (&["--best-of", "1", "--n-best", "1"], "several texts"),
    ] {
        let ran = run(&[&["generate", "--prompt", "x", "--model", &model], args].concat());
        assert_eq!((ran.out.as_str(), ran.code), ("", 2), "{args:?}: {}", ran.err);
        assert!(ran.err.contains(says) && ran.err.lines().count() == 1, "{args:?}: {}", ran.err);
    }
}

#[test]
fn a_prompt_may_stand_in_a_file() {
    let model = text(hey("cli-prompt-file"));
    let prompt = file("prompt.txt", "Hi\n");
    let args = ["generate", "--model", &model, "--output", "json"];
    let tokens = |ran: &Ran| {
        let value: Value = serde_json::from_str(&ran.out).unwrap();
        (value["text"].clone(), value["usage"]["prompt_tokens"].clone())
    };
    let expected = tokens(&run(&[&args[..], &["--prompt", "Hi"]].concat()));
    let read = run(&[&args[..], &["--prompt-file", &prompt]].concat());
    assert_eq!(tokens(&read), expected, "{}", read.err);
    let marked = file("prompt-marked.txt", "\u{feff}Hi\n");
    let read = run(&[&args[..], &["--prompt-file", &marked]].concat());
    assert_eq!(tokens(&read), expected, "{}", read.err);
    let piped = run_on(&[&args[..], &["--prompt-file", "-"]].concat(), "Hi\n");
    assert_eq!(tokens(&piped), expected, "{}", piped.err);
    for both in [
        ["--prompt-file", "-", "--grammar", "-"],
        ["--prompt-file", "-", "--tools", "-"],
        ["--schema", "-", "--tools", "-"],
    ] {
        let prompt = if both[0] == "--schema" { &["--prompt", "Hi"][..] } else { &[] };
        let refused = run_on(&[&args[..], &both, prompt].concat(), "Hi\n");
        let says = "standard input is both";
        assert!(refused.code == 2 && refused.err.contains(says), "{both:?}: {}", refused.err);
    }
    assert_eq!(run(&args).code, 2);
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

const TOOLS: &str = r#"[{"name": "weather", "description": "The weather in a city.", "input_schema": {
    "type": "object", "properties": {"city": {"enum": ["Oslo", "Rome"]}}, "required": ["city"],
    "additionalProperties": false}}, {"name": "time"}]"#;

#[test]
fn a_model_that_is_told_of_no_tools_calls_one_unless_it_may_write_text() {
    let model = hey("cli-generate-untold-tools");
    std::fs::remove_file(model.join("chat_template.jinja")).unwrap();
    let model = text(model);
    let generate = |more: &[&str]| {
        let asked = ["generate", "--model", &model, "--prompt", "Hey?", "--tools", TOOLS];
        run(&[&asked[..], more].concat())
    };
    let ran = generate(&["--output", "json"]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_ne!(told["tool_calls"], json!([]), "{told}");
    assert!(ran.err.contains("it must call one"), "{}", ran.err);
    for more in [&["--tool-choice", "auto"][..], &["--choice", "Rain."]] {
        let ran = generate(more);
        assert_eq!(ran.code, 0, "{more:?}: {}", ran.err);
        assert!(ran.err.contains("nothing tells it of the tools"), "{}", ran.err);
        assert!(!ran.err.contains("must"), "{more:?}: {}", ran.err);
    }
}

#[test]
fn a_model_that_is_told_of_tools_in_a_message_may_write_text() {
    // Its chat template reads no tools, so that a message tells of them.
    let model = text(hey("cli-generate-tools-in-a-message"));
    let ran = run(&["generate", "--model", &model, "--prompt", "Hey?", "--tools", TOOLS]);
    assert_eq!((ran.code, ran.out.trim_end()), (0, "Hey"), "{}", ran.err);
    assert!(!ran.err.contains("tools"), "{}", ran.err);
}

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
    // The model in the binary is told of tools, and calls the right one where it may write text as well.
    let ran = generate(&[TOOLS, "--output", "json"]);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(told["tool_calls"][0]["name"], "weather", "{told}");
    assert!(!ran.err.contains("tells it of tools"), "{}", ran.err);
    // No call: text, which a constraint may be given to.
    let ran = generate(&[TOOLS, "--tool-choice", "none", "--choice", "Rain."]);
    assert_eq!((ran.code, ran.out.as_str()), (0, "Rain.\n"), "{}", ran.err);
    assert!(!ran.err.contains("tells it of tools"), "{}", ran.err);
    for (more, wanted) in [
        (&["[1]"][..], "a tool needs a name"),
        (&["{"], "no JSON"),
        (&["nowhere.json"], "nowhere.json"),
        (&[TOOLS, "--tool-choice", "sing"], "there is no tool `sing`"),
        (&[TOOLS, "--tool-format", "xml"], "known are apertus"),
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
    assert!(ran.code == 2 && ran.err.contains("known are command"), "{}", ran.err);
}

/// Names of special tokens in a prompt are text, unless the command line says otherwise.
#[test]
fn names_in_prompts_are_text() {
    let folder = text(hey("cli-names"));
    let tokens = |options: &[&str]| {
        let base = ["generate", "--model", &folder, "--prompt", "a<|end|>b", "--output", "json"];
        let answer: Value = serde_json::from_str(&run(&[&base, options].concat()).out).unwrap();
        answer["usage"]["prompt_tokens"].as_u64().unwrap()
    };
    // The template adds one.
    assert_eq!(tokens(&[]), 10);
    assert_eq!(tokens(&["--parse-special"]), 4);
    assert_eq!(tokens(&["--raw"]), 3);
}
