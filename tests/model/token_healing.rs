//! Token healing: tokens at the end of a prompt that are written anew.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use crate::decoding::{choice, person, run, seeded};
use maskwright::engine::{Engine, Request, Speculation};
use maskwright::model::ModelOptions;
use maskwright::sampling::SamplingParams;

/// A prompt cut in the middle of a word: its last tokens are written anew, and the text begins where
/// the prompt ends.
#[test]
fn the_end_of_a_prompt_is_written_anew() {
    let engine = Engine::load(&ModelOptions::default()).unwrap();
    let vocabulary = engine.vocabulary();
    let json = person(&engine);
    let mut healed = 0;
    for prompt in ["Name: An", "{\"name\":\"Bo", "The weath", "a", "x  ", "Read http:"] {
        for constraint in [None, Some(json.clone())] {
            for sampling in [SamplingParams::greedy(), seeded(4)] {
                for speculate in [Speculation::Off, Speculation::Grammar] {
                    let request = Request {
                        raw: true,
                        token_healing: true,
                        max_tokens: 40,
                        constraint: constraint.clone(),
                        sampling: sampling.clone(),
                        speculate,
                        ..Request::text(prompt)
                    };
                    let plain = Request { token_healing: false, ..request.clone() };
                    let (plain, _) = run(&engine, &plain);
                    let (response, _) = run(&engine, &request);
                    let taken = plain.usage.prompt_tokens - response.usage.prompt_tokens;
                    healed += taken;
                    // What was written begins with what was taken back, and ends with the text.
                    let written = vocabulary.decode(&response.tokens);
                    let written = String::from_utf8_lossy(&written);
                    let border = written.len() - response.text.len();
                    assert!(prompt.ends_with(&written[..border]), "{prompt}: {written}");
                    assert_eq!(&written[border..], response.text);
                    assert_eq!(border > 0, taken > 0, "{prompt}: {response:?}");
                    if let Some(constraint) = &constraint {
                        let mut matcher = constraint.matcher();
                        matcher.accept_bytes(response.text.as_bytes()).unwrap();
                        assert_eq!(response.complete, matcher.is_accepting());
                    }
                }
            }
        }
    }
    assert!(healed > 0);
}

/// Bytes of the prompt that are written anew are no text that a stop token could end.
#[test]
fn a_healed_prompt_ends_no_text() {
    let engine = Engine::load(&ModelOptions::default()).unwrap();
    let prompt = "The quick brown f";
    let last = *engine.model().tokenizer().encode_prompt(prompt, true).unwrap().last().unwrap();
    let mut written = 0;
    for seed in 0..20 {
        let request = Request {
            raw: true,
            token_healing: true,
            max_tokens: 10,
            min_tokens: 4,
            stop_token_ids: vec![last],
            // Hundreds of tokens begin as this one does.
            sampling: SamplingParams {
                temperature: 1.5,
                logit_bias: [(last, 8.0)].into(),
                ..seeded(seed)
            },
            ..Request::text(prompt)
        };
        let (response, _) = run(&engine, &request);
        assert!(response.tokens.len() >= 4, "{seed}: {response:?}");
        written += usize::from(response.tokens[0] == last);
    }
    assert!(written > 0, "some text must write the prompt's last token anew");
}

/// Tokens that write the prompt's end anew count as tokens of the text: it is complete within `max_tokens`, or refused.
#[test]
fn a_healed_text_is_complete_within_its_tokens() {
    let engine = Engine::load(&ModelOptions::default()).unwrap();
    let texts = ["er is fine, and so are all of us", "her", "!", "a"];
    let (mut written, mut refused) = (0, 0);
    for prompt in ["Name: An", "The weath", "x  ", "Read http:"] {
        for (max_tokens, seed) in (1..=6).flat_map(|most| (0..4).map(move |seed| (most, seed))) {
            let request = Request {
                raw: true,
                token_healing: true,
                max_tokens,
                constraint: Some(choice(&engine, &texts)),
                sampling: SamplingParams { temperature: 5.0, ..seeded(seed) },
                ..Request::text(prompt)
            };
            match engine.generate(&request, &mut |_| ControlFlow::Continue(())) {
                Ok(response) => {
                    assert!(response.complete, "{prompt} {max_tokens}: {response:?}");
                    written += 1;
                }
                Err(error) => {
                    assert!(error.message().contains("within"), "{error}");
                    refused += 1;
                }
            }
        }
    }
    assert!(written > 40 && refused > 0, "{written} {refused}");
}
