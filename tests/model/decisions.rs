//! Decisions: probabilities of labels are those of all of their tokenisations, by the definition, alone
//! and beside other requests.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use maskwright::engine::{
    BeamSearch, Decision, DecisionStop, Engine, EngineOptions, Label, LabelEnd, Labels, Prompt,
    Request, Response,
};
use maskwright::model::ModelOptions;
use maskwright::sampling::SamplingParams;
use maskwright::{Compiler, ErrorKind};
use serde_json::json;

use crate::llama::{config, random_tensors};
use crate::model_support::{END, load, random_model, write_model};

/// The natural logarithms of the next token's probabilities after these tokens.
fn logprobs(engine: &Engine, tokens: &[u32]) -> Vec<f64> {
    let mut cache = engine.model().new_cache().unwrap();
    let row = engine.model().forward(tokens, &mut cache).unwrap().to_vec().unwrap();
    let most = row.iter().copied().fold(f32::MIN, f32::max);
    let sum: f64 = row.iter().map(|&x| f64::from(x - most).exp()).sum();
    row.iter().map(|&x| f64::from(x - most) - sum.ln()).collect()
}

/// The probability of a text before an end token: the sum over all of its tokenisations.
fn mass(engine: &Engine, context: &mut Vec<u32>, text: &[u8]) -> f64 {
    let row = logprobs(engine, context);
    let vocabulary = engine.vocabulary();
    if text.is_empty() {
        return vocabulary.end_tokens().iter().map(|&end| row[end as usize].exp()).sum();
    }
    let mut sum = 0.0;
    for token in 0..vocabulary.len() as u32 {
        let bytes = vocabulary.token_bytes(token).filter(|bytes| !bytes.is_empty());
        if let Some(rest) = bytes.and_then(|bytes| text.strip_prefix(bytes)) {
            context.push(token);
            sum += row[token as usize].exp() * mass(engine, context, rest);
            context.pop();
        }
    }
    sum
}

fn exact(labels: Labels) -> Labels {
    Labels { tolerance: 0.0, max_contexts: 100_000, ..labels }
}

#[test]
fn probabilities_are_sums_over_all_tokenisations() {
    let tiny = Engine::load(&ModelOptions::default()).unwrap();
    let random = Engine::new(load(random_model("decisions-random", 5)));
    for (engine, labels) in [
        (&tiny, vec!["yes", "no", "none"]),
        (&tiny, vec!["1", "10", "100"]),
        (&random, vec!["yes", "no", "ye"]),
    ] {
        let prompt: Vec<u32> = "Is it?".bytes().map(u32::from).collect();
        let masses: Vec<f64> = labels
            .iter()
            .map(|label| mass(engine, &mut prompt.clone(), label.as_bytes()))
            .collect();
        let total: f64 = masses.iter().sum();
        let request = Request::new(Prompt::Tokens(prompt));
        let decision = engine.decide(&request, &exact(Labels::new(labels.clone()))).unwrap();
        assert_eq!(decision.stop, DecisionStop::Complete);
        assert!((decision.label_mass / total - 1.0).abs() < 1e-5, "{total}: {decision:?}");
        for (label, mass) in decision.labels.iter().zip(&masses) {
            assert!((label.probability - mass / total).abs() < 1e-6, "{mass}: {decision:?}");
            assert!((label.logprob - mass.ln()).abs() < 1e-5, "{mass}: {decision:?}");
        }
        // Fewer contexts, and the truth within the bounds.
        let some = engine.decide(&request, &Labels { tolerance: 0.01, ..Labels::new(labels) });
        let some = some.unwrap();
        assert!(some.contexts <= decision.contexts);
        for (label, mass) in some.labels.iter().zip(&masses) {
            let range = label.lower - 1e-6..label.upper + 1e-6;
            assert!(range.contains(&(mass / total)), "{mass}: {label:?}");
            assert!(label.upper - label.lower <= 0.01);
        }
    }
    // A word of several tokenisations is in the first model's vocabulary, so that they matter.
    let spelled = tiny.model().tokenizer().encode_prompt("yes", false).unwrap();
    assert!(spelled.len() < 3, "{spelled:?}");
}

#[test]
fn what_follows_a_label_matters_or_not() {
    let engine = Engine::new(load(random_model("decisions-end", 6)));
    let request = Request::text("a");
    let [begun, whole] = [LabelEnd::Anything, LabelEnd::EndToken].map(|end| {
        engine.decide(&request, &exact(Labels { end, ..Labels::new(["x", "y"]) })).unwrap()
    });
    let prompt = [u32::from(b'a')];
    let row = logprobs(&engine, &prompt);
    let of = |letter: u8| row[usize::from(letter)];
    let odds = |decision: &Decision| decision.labels[0].logprob - decision.labels[1].logprob;
    assert!((odds(&begun) - (of(b'x') - of(b'y'))).abs() < 1e-5);
    let end = |letter: u8| logprobs(&engine, &[prompt[0], u32::from(letter)])[END as usize];
    let both = of(b'x') + end(b'x') - of(b'y') - end(b'y');
    assert!((odds(&whole) - both).abs() < 1e-5);
    // A label of one token, with whatever follows, is read from the prompt alone.
    assert_eq!((begun.contexts, whole.contexts), (1, 3));
    // Another stop token ends a label, too.
    let stop_token_ids = vec![u32::from(b'z')];
    let more = Request { stop_token_ids, ..request.clone() };
    let more = engine.decide(&more, &exact(Labels::new(["x", "y"]))).unwrap();
    assert!(more.label_mass > whole.label_mass);
    // Several spellings of one label add up.
    let labels = [
        Label { name: "either".into(), spellings: vec!["x".into(), "y".into()] },
        Label::from("z"),
    ];
    let sum = engine.decide(&request, &exact(Labels::new(labels))).unwrap();
    let expected = whole.labels[0].logprob.exp() + whole.labels[1].logprob.exp();
    assert!((sum.labels[0].logprob.exp() / expected - 1.0).abs() < 1e-9);
    assert_eq!(sum.expected(&[2.0, 4.0]), 4.0 - 2.0 * sum.labels[0].probability);
}

#[test]
fn decisions_beside_others_are_those_that_are_made_alone() {
    let config = config(json!({}));
    let folder = write_model("decisions-loop", &config, &random_tensors(&config, 3), "F32", 1);
    let plain = Engine::new(load(folder))
        .with_options(EngineOptions { prefix_cache: false, ..Default::default() });
    let letters = "abcdefabcdef";
    let requests: Vec<Request> = (0..24)
        .map(|i| {
            let prompt: String = letters.chars().cycle().take(1 + 7 * (i % 9)).collect();
            let labels = Labels::new([&letters[..1 + i % 6], &letters[3..5 + i % 4], "b", "ff"]);
            let labels = (i % 3 != 0).then(|| exact(labels));
            let sampling = SamplingParams { seed: Some(i as u64), ..Default::default() };
            Request { labels, sampling, max_tokens: 30, ..Request::text(prompt) }
        })
        .collect();
    let write = |engine: &Engine, requests: &[Request]| -> Vec<(String, Option<Decision>)> {
        let responses = engine.generate_each(requests, &mut |_, _| ControlFlow::Continue(()));
        let parts = |response: Response| (response.text, response.decision);
        responses.unwrap().into_iter().map(parts).collect()
    };
    let alone: Vec<_> =
        requests.iter().flat_map(|r| write(&plain, std::slice::from_ref(r))).collect();
    assert!(alone.iter().filter(|(_, decision)| decision.is_some()).count() == 16);
    let tight = 60 * plain.model().kv_blocks().unwrap().bytes_per_block;
    let mut preemptions = 0;
    for (max_running, kv_cache_bytes, prefix_cache) in
        [(64, 1 << 30, true), (5, 1 << 30, false), (64, tight, true), (64, tight, false)]
    {
        let kv_cache_bytes = Some(kv_cache_bytes);
        let options =
            EngineOptions { max_running, kv_cache_bytes, prefix_cache, ..Default::default() };
        let together = plain.clone().with_options(options);
        for (index, written) in write(&together, &requests).into_iter().enumerate() {
            assert_eq!(written, alone[index], "{index} {options:?}: {:?}", requests[index]);
        }
        let stats = together.stats();
        assert_eq!((stats.running, stats.waiting, stats.kv_blocks_held), (0, 0, 0), "{options:?}");
        preemptions += stats.preemptions;
    }
    assert!(preemptions > 0);
}

#[test]
fn requests_that_are_no_decision_are_refused_by_field() {
    let engine = Engine::new(load(random_model("decisions-refused", 7)));
    let labels = || Labels::new(["x", "y"]);
    let request = || Request::text("a");
    let constraint = Compiler::new(engine.vocabulary().clone()).choice(&["x"]).unwrap();
    for (request, labels, field) in [
        (Request { constraint: Some(constraint), ..request() }, labels(), "constraint"),
        (Request { best_of: 2, ..request() }, labels(), "best_of"),
        (Request { beam: Some(BeamSearch::new(2)), ..request() }, labels(), "beam"),
        (Request { stop: vec!["x".into()], ..request() }, labels(), "stop"),
        (Request { token_healing: true, ..request() }, labels(), "token_healing"),
        (Request { logprobs: true, ..request() }, labels(), "logprobs"),
        (request(), Labels { tolerance: 1.0, ..labels() }, "tolerance"),
        (request(), Labels { tolerance: f64::NAN, ..labels() }, "tolerance"),
        (request(), Labels { max_contexts: 0, ..labels() }, "max_contexts"),
        (request(), Labels { labels: Vec::new(), ..labels() }, "labels"),
        (request(), Labels::new(["x", "x"]), "labels"),
        (request(), Labels::new([""]), "labels"),
    ] {
        let error = engine.decide(&request, &labels).unwrap_err();
        assert_eq!(error.place().field, Some(field), "{error}");
    }
    // 256 tokens fit the model.
    let error = engine.decide(&request(), &Labels::new(["x".repeat(256)])).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Context);
    assert!(engine.decide(&request(), &Labels::new(["x".repeat(200), "y".into()])).is_ok());
}
