//! Passes of the model that grammar drafts save over the schemas of tool calls: BFCL, Glaive
//! and MCP, written by `tiny` in compact JSON.
//!
//! The schemas are found through the variable `MASKWRIGHT_SHARED`; without it this test says so and
//! does nothing. One schema of 40 is taken, or one of as many as `MASKWRIGHT_SPECULATION_STRIDE`
//! says.

#![allow(missing_docs, clippy::unwrap_used)]

use std::ops::ControlFlow;

use crate::model_support::shared;
use maskwright::engine::Speculation;
use maskwright::json_schema::{Options, Whitespace};
use maskwright::model::ModelOptions;
use maskwright::{Compiler, Engine, Request, SamplingParams};
use serde_json::Value;

/// An instance as `name: value` lines, for the model to copy from.
fn facts(value: &Value, name: &str, out: &mut String) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| facts(value, name, out)),
        Value::Array(list) => list.iter().for_each(|value| facts(value, name, out)),
        Value::String(text) => *out += &format!("{name}: {text}. "),
        value => *out += &format!("{name}: {value}. "),
    }
}

#[test]
fn grammar_drafts_save_passes_and_never_cost_one() {
    let Some(folder) = shared("corpus/maskbench") else { return };
    let stride = std::env::var("MASKWRIGHT_SPECULATION_STRIDE").map_or(40, |n| n.parse().unwrap());
    let engine = Engine::load(&ModelOptions::default()).unwrap();
    let draft = engine.model().first_layers(2).unwrap();
    let engine = engine.with_draft(draft).unwrap();
    let mut options = Options::default();
    options.whitespace = Whitespace::Compact;
    let compiler = Compiler::new(engine.vocabulary().clone()).with_json_options(options);
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy();
        ["BFCL", "Glaive", "MCP"].iter().any(|prefix| name.starts_with(prefix))
    });
    files.sort();
    let lines: Vec<String> = files
        .iter()
        .flat_map(|file| {
            let text = std::fs::read_to_string(file).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let (mut texts, mut plain_passes) = (0, 0);
    let kinds = [Speculation::Forced, Speculation::Grammar, Speculation::Ngram, Speculation::Draft];
    let mut passes = [0; 4];
    let (mut drafted, mut accepted) = ([0; 4], [0; 4]);
    for line in lines.iter().step_by(stride) {
        let case: Value = serde_json::from_str(line).unwrap();
        let Ok(constraint) = compiler.json_schema(&case["schema"]) else { continue };
        let mut prompt = String::new();
        facts(&case["tests"][0]["data"], "", &mut prompt);
        let request = Request {
            constraint: Some(constraint),
            sampling: SamplingParams::greedy(),
            max_tokens: 120,
            ..Request::text(prompt.chars().take(600).collect::<String>())
        };
        let run = |request: &Request| {
            engine.generate(request, &mut |_| ControlFlow::Continue(())).unwrap()
        };
        let plain = run(&request);
        (texts, plain_passes) = (texts + 1, plain_passes + plain.passes.model);
        for (i, speculate) in kinds.into_iter().enumerate() {
            let response = run(&Request { speculate, ..request.clone() });
            assert_eq!(response.text, plain.text, "{speculate:?} {}", case["id"]);
            assert!(response.passes.model <= plain.passes.model, "{speculate:?} {}", case["id"]);
            passes[i] += response.passes.model;
            drafted[i] += response.passes.drafted;
            accepted[i] += response.passes.accepted;
        }
    }
    assert!(texts > 0);
    for (i, kind) in kinds.iter().enumerate() {
        eprintln!(
            "{kind:?}: {texts} texts, {plain_passes} passes become {}: {:.2} times fewer; {} of {} \
             guesses right",
            passes[i],
            f64::from(plain_passes as u32) / f64::from(passes[i] as u32),
            accepted[i],
            drafted[i],
        );
    }
    assert!(plain_passes as f64 >= 1.15 * passes[0] as f64);
    assert!(plain_passes as f64 >= 1.3 * passes[1] as f64);
}
