//! Special tokens in texts: reported in their places, and a part of what a stop string leaves.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;

use crate::decoding::{run, seeded};
use crate::model_support::{END, byte_tokenizer, load, parrot};
use maskwright::Compiler;
use maskwright::engine::{Engine, Event, Request};
use maskwright::sampling::SamplingParams;
use serde_json::json;

const MARK: u32 = 257;

/// A model that writes `>`, `He`, the special token [`MARK`] and `y` after `x`, and reads `>H` as one token.
fn marking_parrot(name: &str) -> Engine {
    let byte = |byte: u8| u32::from(byte);
    let follows = [
        (byte(b'x'), byte(b'>')),
        (byte(b'>'), byte(b'H')),
        (byte(b'H'), byte(b'e')),
        (byte(b'e'), MARK),
        (MARK, byte(b'y')),
        (byte(b'y'), END),
    ];
    let folder = parrot(name, &follows, 512);
    let mut tokenizer = byte_tokenizer();
    for (id, content, special) in [(MARK, "<mark>", true), (258, ">H", false)] {
        let mut token = tokenizer["added_tokens"][0].clone();
        (token["id"], token["content"]) = (json!(id), json!(content));
        token["special"] = json!(special);
        tokenizer["added_tokens"].as_array_mut().unwrap().push(token);
    }
    std::fs::write(folder.join("tokenizer.json"), tokenizer.to_string()).unwrap();
    Engine::new(load(folder))
}

/// Special tokens before a stop string are of the text, whether they are reported or not.
#[test]
fn a_stop_string_leaves_the_special_tokens_before_it() {
    let engine = marking_parrot("decoding-stopped-special");
    let grammar = r#"start: "He" <mark> "y"?"#;
    let constraint = Compiler::new(engine.vocabulary().clone()).lark(grammar).unwrap();
    for special_tokens in [false, true] {
        let request = Request {
            raw: true,
            special_tokens,
            stop: vec!["y".to_owned()],
            constraint: Some(constraint.clone()),
            sampling: SamplingParams::greedy(),
            ..Request::text("x>")
        };
        let (response, _) = run(&engine, &request);
        assert_eq!((response.text.as_str(), response.text_tokens), ("He", 3));
        assert!(response.complete && response.captures.is_some(), "{response:?}");
        assert_eq!(response.special_tokens, [(2, MARK)][..usize::from(special_tokens)]);
    }
}

/// A ranked text is reported as one that is streamed, special tokens in their places, also where the first token spells
/// the end of the prompt.
#[test]
fn a_ranked_text_has_its_special_tokens() {
    let engine = marking_parrot("decoding-ranked-special");
    let told = |best_of: usize, token_healing: bool| {
        let request = Request {
            raw: true,
            best_of,
            token_healing,
            special_tokens: true,
            sampling: SamplingParams { temperature: 0.0, ..seeded(1) },
            ..Request::text("x>")
        };
        let mut told = Vec::new();
        let response = engine.generate(&request, &mut |event| {
            match event {
                Event::Text(text) => told.push(text.to_owned()),
                Event::Special(token) => told.push(format!("<{token}>")),
                Event::Step(_) | Event::Working | Event::Ended(_) => {}
            }
            ControlFlow::Continue(())
        });
        let response = response.unwrap();
        assert_eq!(response.special_tokens, [(2, MARK)]);
        assert_eq!(response.tokens.len(), if token_healing { 5 } else { 4 });
        told.concat()
    };
    for (best_of, token_healing) in [(1, false), (1, true), (2, false), (2, true)] {
        assert_eq!(told(best_of, token_healing), "He<257>y", "{best_of} {token_healing}");
    }
}
