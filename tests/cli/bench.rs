//! `bench`: figures and counts of decoding, and of masks of a corpus.

use std::path::Path;

use serde_json::{Value, json};

use crate::model_support::byte_tokenizer;
use crate::{file, run, text};

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
