//! Guesses beside everything else that a request can say: whatever the constraint, the penalties and
//! the ends of a text are, they change nothing but the number of passes.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use crate::model_support::{load, random_model};
use maskwright::engine::{Engine, Event, Request, Response, Speculation};
use maskwright::model::ModelOptions;
use maskwright::sampling::SamplingParams;
use maskwright::{Compiler, Constraint};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::json;

const KINDS: [Speculation; 4] =
    [Speculation::Forced, Speculation::Grammar, Speculation::Ngram, Speculation::Draft];

/// A response without its cost, and of each step the token, its text and its numbers.
#[derive(Debug)]
struct Told {
    response: Response,
    shown: Vec<String>,
    steps: Vec<(u32, f64, f64, bool, Vec<u32>)>,
}

fn run(engine: &Engine, request: &Request) -> Told {
    let (mut shown, mut steps) = (Vec::new(), Vec::new());
    let response = engine
        .generate(request, &mut |event| {
            match event {
                Event::Text(text) => shown.push(text.to_owned()),
                Event::Step(step) => {
                    let top = step.top_logprobs.iter().map(|top| top.0).collect();
                    steps.push((step.token, step.logprob, step.raw_logprob, step.forced, top));
                }
                Event::Special(_) | Event::Working | Event::Ended(_) => {}
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    Told { response, shown, steps }
}

fn assert_same(told: &Told, plain: &Told, context: &str) {
    let key = |r: &Response| {
        let stop = r.stop_reason.clone();
        (r.text.clone(), r.tokens.clone(), r.finish, stop, r.complete, r.yielded)
    };
    assert_eq!(key(&told.response), key(&plain.response), "{context}");
    assert_eq!(told.shown, plain.shown, "{context}");
    assert_eq!(told.steps.len(), plain.steps.len(), "{context}");
    for (a, b) in told.steps.iter().zip(&plain.steps) {
        assert_eq!((a.0, a.3, &a.4), (b.0, b.3, &b.4), "{context}");
        assert!((a.1 - b.1).abs() < 1e-3 && (a.2 - b.2).abs() < 1e-3, "{context}: {a:?} {b:?}");
    }
    assert!(told.response.passes.model <= plain.response.passes.model, "{context}");
}

/// Constraints of every kind, and none.
fn constraints(engine: &Engine) -> Vec<Option<Constraint>> {
    let compiler = Compiler::new(engine.vocabulary().clone());
    let schema = json!({"type": "object", "properties": {
        "name": {"type": "string", "maxLength": 6}, "kind": {"enum": ["cab", "cat", "dog"]},
        "ok": {"type": "boolean"}}, "required": ["kind", "ok"], "additionalProperties": false});
    let list = "root ::= \"(\" (root | item) (\",\" item)* \")\"\nitem ::= [a-c]+ | \"null\"";
    vec![
        None,
        Some(compiler.choice(&["abc", "abd", "bcd", "cabcab", "d"]).unwrap()),
        Some(compiler.regex("(abc|bca|c+){2,4}[.!]").unwrap()),
        Some(compiler.json_schema(&schema).unwrap()),
        Some(compiler.gbnf(list).unwrap()),
    ]
}

/// A request with settings by chance.
fn request(constraint: &Option<Constraint>, rng: &mut ChaCha8Rng, max_tokens: usize) -> Request {
    let mut one_of = |n: u32| rng.next_u32() % n;
    let stops = ["b", "ab", "ca", "\"", "null", "e "];
    // A text that does not fit is no matter of guesses.
    let budget = one_of(3) == 0;
    let max_tokens = if budget { 64 } else { 8 + one_of(max_tokens as u32 - 8) as usize };
    // Draws without masks are told of in no steps, and tell no draft model what they draw from.
    let rejection = one_of(6) == 0;
    let some = |on: bool, value: f32| if on { value } else { 0.0 };
    Request {
        constraint: constraint.clone(),
        max_tokens,
        budget,
        min_tokens: [0, 0, 3, 7][one_of(4) as usize],
        ignore_eos: one_of(5) == 0,
        stop: (0..one_of(3)).map(|_| stops[one_of(6) as usize].to_owned()).collect(),
        include_stop_str_in_output: one_of(2) == 0,
        stop_token_ids: if one_of(4) == 0 { vec![99] } else { Vec::new() },
        trace: one_of(3) == 0 && !rejection,
        top_logprobs: if rejection { 0 } else { one_of(4) as usize },
        rejection,
        canonical: one_of(6) == 0,
        token_healing: one_of(4) == 0,
        sampling: SamplingParams {
            repetition_penalty: if one_of(2) == 0 { 1.3 } else { 1.0 },
            frequency_penalty: some(one_of(3) == 0, 0.4),
            presence_penalty: some(one_of(3) == 0, 0.7),
            dry_multiplier: some(one_of(3) == 0, 1.0),
            penalize_forced: one_of(2) == 0,
            repeat_last_n: (one_of(3) == 0).then_some(9),
            logit_bias: (0..one_of(4)).map(|i| (97 + i, 1.5)).collect(),
            banned_token_ids: (0..one_of(3)).map(|i| 98 + i).collect(),
            seed: Some(u64::from(one_of(1000))),
            ..SamplingParams::default()
        },
        ..Request::text("x abc abd cab null {\"kind\": \"cab\"")
    }
}

fn changes_nothing(engine: &Engine, rounds: usize, max_tokens: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(31);
    let (mut fewer, mut stopped) = ([0; 4], 0);
    for round in 0..rounds {
        for constraint in constraints(engine) {
            let drawn = request(&constraint, &mut rng, max_tokens);
            let greedy = SamplingParams { temperature: 0.0, ..drawn.sampling.clone() };
            let greedy = Request { sampling: greedy, ..drawn.clone() };
            let plain = run(engine, &greedy);
            stopped += usize::from(plain.response.stop_reason.is_some());
            let alone = greedy.rejection || greedy.canonical;
            for (kind, fewer) in KINDS.into_iter().zip(&mut fewer) {
                if alone && kind == Speculation::Draft {
                    continue;
                }
                let told = run(engine, &Request { speculate: kind, ..greedy.clone() });
                assert_same(&told, &plain, &format!("{round} {kind:?} {greedy:?}"));
                *fewer += plain.response.passes.model - told.response.passes.model;
            }
            // A draft model's guesses are taken or replaced by other random numbers.
            let plain = run(engine, &drawn);
            for kind in &KINDS[..3] {
                let told = run(engine, &Request { speculate: *kind, ..drawn.clone() });
                assert_same(&told, &plain, &format!("{round} {kind:?} {drawn:?}"));
            }
        }
    }
    assert!(fewer.iter().all(|&passes| passes > 0) && stopped > 0, "{fewer:?} {stopped}");
}

#[test]
fn guesses_change_nothing_whatever_else_is_asked() {
    let engine = Engine::new(load(random_model("speculation-target", 6)))
        .with_draft(load(random_model("speculation-draft", 7)))
        .unwrap();
    changes_nothing(&engine, 40, 40);
}

/// The same on a model with attention, whose cache is cut back where guesses were wrong.
#[test]
fn guesses_change_nothing_of_tiny() {
    let engine = Engine::load(&ModelOptions::default()).unwrap();
    let draft = engine.model().first_layers(2).unwrap();
    changes_nothing(&engine.with_draft(draft).unwrap(), 2, 30);
}

/// Pearson's statistic of two samples of texts, with a draft model and without, stays under the 99.9%
/// quantile beside penalties, truncations, bans and stop strings; seeds are fixed.
#[test]
fn a_draft_model_changes_no_distribution_beside_other_settings() {
    let engine = Engine::new(load(random_model("speculation-target-2", 6)))
        .with_draft(load(random_model("speculation-draft-2", 7)))
        .unwrap();
    let base = SamplingParams {
        allowed_token_ids: vec![97, 98, 99, 100, 256],
        ..SamplingParams::default()
    };
    let free = Request { sampling: base.clone(), max_tokens: 4, ..Request::text("x") };
    let penalised = SamplingParams {
        frequency_penalty: 0.8,
        presence_penalty: 0.5,
        temperature: 0.8,
        top_p: 0.9,
        ..base.clone()
    };
    for request in [
        Request { stop: vec!["ab".into(), "cc".into()], ..free.clone() },
        Request { sampling: penalised, min_tokens: 2, ..free.clone() },
        Request { sampling: SamplingParams { min_p: 0.2, top_k: Some(4), ..base }, ..free.clone() },
        Request { stop_token_ids: vec![100], ignore_eos: true, ..free },
    ] {
        let (runs, mut seen) = (4000, BTreeMap::<String, [f64; 2]>::new());
        let mut accepted = 0;
        for (sample, speculate) in [Speculation::Off, Speculation::Draft].into_iter().enumerate() {
            for seed in 0..runs {
                let seed = Some(seed + 1_000_000 * sample as u64);
                let sampling = SamplingParams { seed, ..request.sampling.clone() };
                let told = run(&engine, &Request { speculate, sampling, ..request.clone() });
                accepted += told.response.passes.accepted;
                let key = format!("{:?} {:?}", told.response.text, told.response.finish);
                seen.entry(key).or_default()[sample] += 1.0;
            }
        }
        // What is rare counts together.
        let rare = |counts: &[f64; 2]| counts[0] + counts[1] < 20.0;
        let mut cells: Vec<[f64; 2]> = seen.values().copied().filter(|c| !rare(c)).collect();
        let rest =
            seen.values().filter(|c| rare(c)).fold([0.0; 2], |a, b| [a[0] + b[0], a[1] + b[1]]);
        cells.extend((rest[0] + rest[1] >= 20.0).then_some(rest));
        let statistic: f64 = cells.iter().map(|[a, b]| (a - b) * (a - b) / (a + b)).sum();
        let freedom = (cells.len() - 1) as f64;
        // Wilson and Hilferty's approximation of the quantile; 3.09 is the normal's.
        let a = 2.0 / (9.0 * freedom);
        let quantile = freedom * (1.0 - a + 3.09 * a.sqrt()).powi(3);
        assert!(cells.len() > 5 && accepted > 0, "{seen:?}");
        assert!(statistic < quantile, "{statistic} over {quantile}: {seen:?}");
    }
}
