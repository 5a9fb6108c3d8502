//! Log-probabilities of prompts: those of the same tokens drawn one by one, in whatever way a prompt is read.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use maskwright::engine::{
    Engine, EngineOptions, Event, FinishReason, Prompt, PromptToken, Request,
};
use maskwright::sampling::SamplingParams;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde_json::json;

use crate::llama::{config, random_tensors};
use crate::model_support::{END, load, write_model};

fn engine(name: &str) -> Engine {
    let config = config(json!({}));
    Engine::new(load(write_model(name, &config, &random_tensors(&config, 3), "F32", 1)))
}

/// A request that measures these tokens and writes some more.
fn measured(tokens: &[u32], max_tokens: usize) -> Request {
    let prompt = Prompt::Tokens(tokens.to_vec());
    Request { prompt_logprobs: Some(3), max_tokens, ..Request::new(prompt) }
}

/// The prompts of requests that are worked on side by side.
fn prompts(engine: &Engine, requests: &[Request]) -> Vec<Vec<PromptToken>> {
    let responses = engine.generate_each(requests, &mut |_, _| ControlFlow::Continue(())).unwrap();
    responses.into_iter().map(|response| response.prompt_logprobs.unwrap()).collect()
}

/// The log-probability of a token after others, and the three best, by the step that draws it.
fn drawn(engine: &Engine, tokens: &[u32], token: u32) -> (f64, Vec<u32>) {
    let request = |sampling| Request {
        max_tokens: 1,
        top_logprobs: 3,
        sampling,
        ..Request::new(Prompt::Tokens(tokens.to_vec()))
    };
    let step = |request: &Request| {
        let mut drawn = None;
        let told = engine.generate(request, &mut |event| {
            if let Event::Step(step) = event {
                drawn = Some(step.clone());
            }
            ControlFlow::Continue(())
        });
        told.unwrap();
        drawn.unwrap()
    };
    let bias = [(token, 1000.0)].into_iter().collect();
    let forced = step(&request(SamplingParams { logit_bias: bias, ..Default::default() }));
    assert_eq!(forced.token, token);
    let best = forced.top_logprobs.iter().map(|&(token, _)| token).collect();
    (forced.raw_logprob, best)
}

#[test]
fn prompts_are_measured_as_if_they_were_drawn() {
    let engine = engine("prompt-logprobs");
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let letters = |rng: &mut ChaCha8Rng, len: usize| -> Vec<u32> {
        (0..len).map(|_| u32::from(b'a') + rng.next_u32() % 26).collect()
    };
    let shared = letters(&mut rng, 70);
    let mut texts: Vec<Vec<u32>> =
        [1, 2, 40, 100].iter().map(|&len| letters(&mut rng, len)).collect();
    // They begin alike: the cache has the beginning of the later ones.
    texts.extend((0..3).map(|_| [shared.clone(), letters(&mut rng, 30)].concat()));
    let requests: Vec<Request> =
        texts.iter().enumerate().map(|(i, text)| measured(text, 30 * (i % 3))).collect();
    let alone: Vec<Vec<PromptToken>> = requests
        .iter()
        .map(|request| prompts(&engine, std::slice::from_ref(request)).remove(0))
        .collect();
    for (text, measured) in texts.iter().zip(&alone) {
        assert_eq!(&measured.iter().map(|token| token.token).collect::<Vec<_>>(), text);
        assert_eq!((measured[0].logprob, measured[0].rank), (None, None));
        for (index, told) in measured.iter().enumerate().skip(1).step_by(13) {
            // Numbers without a token are measured, and not drawn.
            let (logprob, best) = drawn(&engine, &text[..index], text[index]);
            assert!((told.logprob.unwrap() - logprob).abs() < 1e-9, "{index}");
            let told_best: Vec<u32> = told.top_logprobs.iter().map(|&(token, _)| token).collect();
            let tokens: Vec<u32> = told_best.iter().copied().filter(|&id| id <= END).collect();
            assert_eq!(tokens, best[..tokens.len()], "{index}");
            let place = told_best.iter().position(|&token| token == text[index]);
            assert!(place.is_none_or(|place| told.rank == Some(place + 1)), "{index}: {told:?}");
            assert!(place.is_some() || told.rank > Some(3), "{index}: {told:?}");
        }
    }
    let block = engine.model().kv_blocks().unwrap().bytes_per_block;
    let mut preemptions = 0;
    for (prefill, prefix_cache, blocks) in
        [(512, true, 4096), (16, true, 4096), (50, false, 4096), (40, true, 14), (40, false, 14)]
    {
        let options = EngineOptions {
            prefill_tokens: prefill,
            prefill_tokens_beside_decode: Some(prefill),
            prefix_cache,
            kv_cache_bytes: Some(blocks * block),
            ..EngineOptions::default()
        };
        let together = engine.clone().with_options(options);
        // Twice: the second time the cache has all.
        for _ in 0..2 {
            assert_eq!(prompts(&together, &requests), alone, "{options:?}");
        }
        preemptions += together.stats().preemptions;
    }
    assert!(preemptions > 0);
}

#[test]
fn a_prompt_alone_is_measured_without_a_text() {
    let engine = engine("prompt-logprobs-alone");
    let request = measured(&[97, 98, 99], 0);
    let response = engine.generate(&request, &mut |_| ControlFlow::Continue(())).unwrap();
    assert_eq!((response.text.as_str(), response.finish), ("", FinishReason::Length));
    assert_eq!(response.usage.completion_tokens, 0);
    assert_eq!(response.prompt_logprobs.unwrap().len(), 3);
    let written = Request { prompt_logprobs: None, ..request };
    let error = engine.generate(&written, &mut |_| ControlFlow::Continue(())).unwrap_err();
    assert!(error.message().contains("`max_tokens` is 0"), "{error}");
}
