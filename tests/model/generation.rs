//! The decoding loop, on the stories model and on models made up so that one knows what they write.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::model_support::{Tensors, shared, write_model};
use maskwright::engine::{Engine, Event, FinishReason, Request, Response, Step};
use maskwright::model::{Message, ModelOptions, ModelSource};
use maskwright::sampling::SamplingParams;
use maskwright::{Compiler, ErrorKind, Vocabulary};
use serde_json::json;

const END: u32 = 256;

/// A model that, after each token of `chain`, writes the next one: without any block, its logits
/// are a table of what follows what. Every token stands in the chain once.
fn parrot(name: &str, chain: &[u32], context: usize) -> PathBuf {
    let hidden = 16;
    assert!(chain.len() <= hidden);
    let config = json!({
        "model_type": "llama", "hidden_size": hidden, "intermediate_size": 1, "vocab_size": 260,
        "num_hidden_layers": 0, "num_attention_heads": 1, "rms_norm_eps": 1e-5,
        "max_position_embeddings": context, "eos_token_id": END
    });
    let (mut embedding, mut head) = (vec![0.0; 260 * hidden], vec![0.0; 260 * hidden]);
    for (i, pair) in chain.windows(2).enumerate() {
        embedding[pair[0] as usize * hidden + i] = 1.0;
        head[pair[1] as usize * hidden + i] = 2.0;
    }
    let tensors = Tensors::from([
        ("model.embed_tokens.weight".to_owned(), (vec![260, hidden], embedding)),
        ("lm_head.weight".to_owned(), (vec![260, hidden], head)),
        ("model.norm.weight".to_owned(), (vec![hidden], vec![1.0; hidden])),
    ]);
    write_model(name, &config, &tensors, "F32", 1)
}

fn engine(folder: PathBuf) -> Engine {
    let source = ModelSource::Folder(folder);
    Engine::load(&ModelOptions { source, ..Default::default() }).unwrap()
}

/// The response, with all chunks of text and all steps.
fn run(
    engine: &Engine,
    request: &Request,
) -> maskwright::Result<(Response, Vec<String>, Vec<Step>)> {
    let (mut chunks, mut steps) = (Vec::new(), Vec::new());
    let response = engine.generate(request, &mut |event| {
        match event {
            Event::Text(chunk) => chunks.push(chunk.to_owned()),
            Event::Step(step) => steps.push(step.clone()),
            Event::Special(_) | Event::Working | Event::Ended(_) => {}
        }
        ControlFlow::Continue(())
    })?;
    assert_eq!(chunks.concat(), response.text);
    assert!(chunks.iter().all(|chunk| !chunk.is_empty()));
    assert_eq!(response.usage.completion_tokens, response.tokens.len());
    Ok((response, chunks, steps))
}

fn greedy(prompt: &str) -> Request {
    Request { sampling: SamplingParams::greedy(), ..Request::text(prompt) }
}

fn chain(text: &str) -> Vec<u32> {
    text.bytes().map(u32::from).chain([END]).collect()
}

#[test]
fn characters_come_whole_and_the_end_token_ends_the_text() {
    let engine = engine(parrot("whole-characters", &chain("a€bü"), 64));
    let (response, chunks, _) = run(&engine, &greedy("a")).unwrap();
    assert_eq!(response.text, "€bü");
    assert_eq!(chunks, ["€", "b", "ü"]);
    assert_eq!((response.finish, response.complete), (FinishReason::Stop, true));
    assert_eq!(response.tokens, "€bü".bytes().map(u32::from).collect::<Vec<_>>());
    assert_eq!((response.usage.prompt_tokens, response.usage.completion_tokens), (1, 6));
    // A limit in the middle of a character.
    let (response, ..) = run(&engine, &Request { max_tokens: 5, ..greedy("a") }).unwrap();
    assert_eq!((response.text.as_str(), response.finish), ("€b\u{FFFD}", FinishReason::Length));
}

#[test]
fn a_value_of_a_type_comes_back() {
    /// Says that it is a boolean, and takes none.
    #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
    #[serde(try_from = "bool")]
    #[schemars(with = "bool")]
    struct Nothing;

    impl TryFrom<bool> for Nothing {
        type Error = String;

        fn try_from(value: bool) -> Result<Self, String> {
            Err(format!("{value} is not welcome"))
        }
    }

    let engine = engine(parrot("typed", &chain("atrue"), 64));
    assert!(engine.generate_as::<bool>(&greedy("a")).unwrap());
    // A constraint that is there is used as it is.
    let constraint = Compiler::new(engine.vocabulary().clone()).choice(&["false"]).unwrap();
    let request = Request { constraint: Some(constraint), ..greedy("a") };
    assert!(!engine.generate_as::<bool>(&request).unwrap());
    let stopped = Request { stop: vec!["ru".into()], ..greedy("a") };
    assert_eq!(engine.generate_as::<bool>(&stopped).unwrap_err().kind(), ErrorKind::Limit);
    let error = engine.generate_as::<Nothing>(&greedy("a")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Schema);
    assert!(error.to_string().contains("true is not welcome"), "{error}");
}

#[test]
fn the_text_ends_before_a_stop_string() {
    let engine = engine(parrot("stop-strings", &chain("abcdefg"), 64));
    let run_with = |stop: &[&str], max_tokens| {
        let stop = stop.iter().map(|s| s.to_string()).collect();
        run(&engine, &Request { stop, max_tokens, ..greedy("a") }).unwrap()
    };
    let (response, chunks, _) = run_with(&["cx", "de"], 99);
    assert_eq!((response.text.as_str(), response.finish), ("bc", FinishReason::StopString));
    assert_eq!(chunks, ["b", "c"]);
    // What was cut off was written all the same.
    assert_eq!((response.tokens.len(), response.text_tokens), (4, 2));
    let (response, ..) = run_with(&["b"], 99);
    assert_eq!((response.text.as_str(), response.finish), ("", FinishReason::StopString));
    assert_eq!((response.tokens.len(), response.text_tokens), (1, 0));
    // What might have become one is part of the text after all: at the end, and at a limit.
    let (response, chunks, _) = run_with(&["fgh"], 99);
    assert_eq!((response.text.as_str(), response.finish), ("bcdefg", FinishReason::Stop));
    assert_eq!(chunks, ["b", "c", "d", "e", "fg"]);
    assert_eq!((response.tokens.len(), response.text_tokens), (6, 6));
    let (response, ..) = run_with(&["fgh"], 5);
    assert_eq!((response.text.as_str(), response.finish), ("bcdef", FinishReason::Length));
}

#[test]
fn limits_and_cancelling() {
    let engine = engine(parrot("limits", &chain("abcdefg"), 5));
    // Two tokens of prompt leave three of the context of five.
    let (response, ..) = run(&engine, &greedy("ab")).unwrap();
    assert_eq!((response.text.as_str(), response.finish), ("cde", FinishReason::Length));
    let (response, ..) = run(&engine, &Request { max_tokens: 1, ..greedy("ab") }).unwrap();
    assert_eq!((response.text.as_str(), response.finish), ("c", FinishReason::Length));
    let mut seen = String::new();
    let response = engine.generate(&greedy("a"), &mut |event| {
        if let Event::Text(chunk) = event {
            seen += chunk;
        }
        if seen == "bc" { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let response = response.unwrap();
    assert_eq!((response.text.as_str(), response.finish), ("bc", FinishReason::Cancelled));
}

#[test]
fn a_prompt_goes_through_the_chat_template_unless_it_is_raw() {
    let folder = parrot("chat", &chain("abcd"), 64);
    let plain = engine(folder.clone());
    let template = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }};{% endfor %}\
                    {{ tools | length if tools }}{% if add_generation_prompt %}b{% endif %}";
    std::fs::write(folder.join("chat_template.jinja"), template).unwrap();
    let chatty = engine(folder);

    let (response, ..) = run(&chatty, &greedy("x")).unwrap();
    assert_eq!((response.text.as_str(), response.usage.prompt_tokens), ("cd", "u:x;b".len()));
    let (response, ..) = run(&chatty, &Request { raw: true, ..greedy("a") }).unwrap();
    assert_eq!((response.text.as_str(), response.usage.prompt_tokens), ("bcd", 1));
    let messages = vec![Message::new("system", "S"), Message::new("user", "a")];
    let chat = Request { sampling: SamplingParams::greedy(), ..Request::chat(messages) };
    let (response, ..) = run(&chatty, &chat).unwrap();
    assert_eq!(response.usage.prompt_tokens, "s:S;u:a;b".len());
    let tools = Request { tools: Some(json!([1, 2])), ..chat.clone() };
    assert_eq!(run(&chatty, &tools).unwrap().0.usage.prompt_tokens, "s:S;u:a;2b".len());

    // Without a template a text is taken as it is, and a conversation is refused.
    assert_eq!(run(&plain, &greedy("a")).unwrap().0.usage.prompt_tokens, 1);
    let error = run(&plain, &chat).unwrap_err();
    assert!(error.to_string().contains("`chat` has no chat template; put"), "{error}");
}

#[test]
fn requests_that_cannot_be_served_name_the_field_and_the_cure() {
    let engine = engine(parrot("refused", &chain("abc"), 5));
    let sampling = SamplingParams { top_p: 2.0, ..SamplingParams::default() };
    for (request, expected) in [
        (Request { max_tokens: 0, ..greedy("a") }, "`max_tokens` is 0; write a number from 1"),
        (
            Request { stop: vec!["x".into(), String::new()], ..greedy("a") },
            "`stop` holds an empty text; a stop string has at least one character",
        ),
        (
            greedy("abcab"),
            "This model's maximum context length is 5 tokens, and a prompt of 5 leaves no room for an \
             answer (context_length_exceeded); shorten it to at most 4 tokens",
        ),
        (
            greedy(""),
            "the prompt is empty, and the model has no token to begin a text with; write a prompt",
        ),
        (
            Request { sampling, ..greedy("a") },
            "`top_p` is 2, out of its range; write a number from 0 to 1",
        ),
    ] {
        let error = run(&engine, &request).unwrap_err();
        assert_eq!(error.to_string(), expected);
        assert!(matches!(
            error.kind(),
            ErrorKind::Request | ErrorKind::Sampling | ErrorKind::Context
        ));
    }
}

#[test]
fn ids_without_a_token_are_never_written() {
    // After `a` the model wants id 259, which no tokenizer of ours knows, then `b`.
    let folder = parrot("gaps", &[97, 259, 98, END], 64);
    let (response, _, steps) =
        run(&engine(folder), &Request { trace: true, max_tokens: 1, ..greedy("a") }).unwrap();
    assert_ne!(response.tokens, [259]);
    assert_eq!((steps[0].wanted[0].token, steps[0].wanted[0].allowed), (259, false));
    assert_eq!(steps[0].allowed, 257);
    assert!(steps[0].allowed_mass < 0.5);
}

/// A request for exactly one of these texts, with steps.
fn choose(engine: &Engine, prompt: &str, choices: &[&str]) -> Request {
    let constraint = Compiler::new(engine.vocabulary().clone()).choice(choices).unwrap();
    Request { constraint: Some(constraint), trace: true, ..greedy(prompt) }
}

#[test]
fn a_constraint_is_all_that_can_be_written() {
    let engine = engine(parrot("constrained", &chain("abcdefg"), 64));
    let (response, _, steps) = run(&engine, &choose(&engine, "a", &["xyz", "q€"])).unwrap();
    assert!(["xyz", "q€"].contains(&response.text.as_str()), "{response:?}");
    assert_eq!((response.finish, response.complete), (FinishReason::Stop, true));
    assert_eq!(steps.len(), response.tokens.len() + 1);
    assert_eq!((steps[0].wanted[0].text.as_str(), steps[0].wanted[0].allowed), ("b", false));
    let allowed: Vec<usize> = steps.iter().map(|step| step.allowed).collect();
    assert!(allowed[0] == 2 && allowed[1..].iter().all(|&n| n == 1), "{allowed:?}");
    assert_eq!(
        (steps.last().unwrap().token, steps.last().unwrap().text.as_str()),
        (END, "<|end|>")
    );
    assert!(steps.iter().all(|step| step.mask_us > 0.0 && step.allowed_mass < 0.5));
    // What the model wants is written where it may be.
    let (response, ..) = run(&engine, &choose(&engine, "a", &["xyz", "bcx"])).unwrap();
    assert_eq!(response.text, "bcx");
}

#[test]
fn a_text_is_complete_or_says_that_it_is_not() {
    let engine = engine(parrot("complete", &chain("abcdefg"), 64));
    let limited = |choices, max_tokens| {
        let request = Request { max_tokens, budget: false, ..choose(&engine, "a", choices) };
        let (response, ..) = run(&engine, &request).unwrap();
        (response.text, response.finish, response.complete)
    };
    let (cut, whole) = (FinishReason::Length, FinishReason::Stop);
    assert_eq!(limited(&["bcd"], 2), ("bc".to_owned(), cut, false));
    // The end token costs nothing, and neither does the right to go on.
    assert_eq!(limited(&["bcd"], 3), ("bcd".to_owned(), whole, true));
    assert_eq!(limited(&["bcd", "bcdef"], 3), ("bcd".to_owned(), whole, true));
    let stopped = |choices| {
        let stop = vec!["d".to_owned()];
        let (response, ..) =
            run(&engine, &Request { stop, ..choose(&engine, "a", choices) }).unwrap();
        assert_eq!(response.finish, FinishReason::StopString);
        (response.text, response.complete)
    };
    assert_eq!(stopped(&["bcd"]), ("bc".to_owned(), false));
    assert_eq!(stopped(&["bcd", "bc"]), ("bc".to_owned(), true));
}

#[test]
fn without_an_end_token_a_text_ends_where_nothing_more_is_allowed() {
    let folder = parrot("endless", &chain("abcdefg"), 64);
    for file in ["tokenizer.json", "config.json"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        let text = text.replace("<|end|>", "<|other|>").replace(",\"eos_token_id\":256", "");
        std::fs::write(folder.join(file), text).unwrap();
    }
    let engine = engine(folder);
    assert!(engine.vocabulary().end_tokens().is_empty());
    let (response, ..) = run(&engine, &choose(&engine, "a", &["bcx"])).unwrap();
    assert_eq!((response.text.as_str(), response.complete), ("bcx", true));
    assert_eq!(response.finish, FinishReason::Stop);
}

#[test]
fn a_constraint_for_another_vocabulary_is_refused() {
    let engine = engine(parrot("other-vocabulary", &chain("abc"), 64));
    let tokens = vec![Some(b"a".to_vec())];
    let other = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[]).unwrap());
    let constraint = Some(other.choice(&["a"]).unwrap());
    let error = run(&engine, &Request { constraint, ..greedy("a") }).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the constraint was compiled for 1 tokens, the model has 260; compile it for the \
         vocabulary of this engine"
    );
}

/// The model in the binary is a model like any other.
#[test]
fn tiny_chats_and_stops() {
    let engine = Engine::load(&ModelOptions::default()).unwrap();
    let model = engine.model();
    assert_eq!(model.name(), "tiny");
    let end = model.vocabulary().token_named("<|end|>").unwrap();
    assert_eq!(model.vocabulary().end_tokens(), [end]);
    assert_eq!(model.vocabulary().len(), model.config().vocab_size);
    let prompt = "Name: Ann. Age: 31.";
    let schema = json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer"}}, "required": ["name", "age"], "additionalProperties": false});
    let constraint = Compiler::new(engine.vocabulary().clone()).json_schema(&schema).unwrap();
    for seed in 0..5 {
        let sampling = SamplingParams { seed: Some(seed), ..Default::default() };
        let constraint = Some(constraint.clone());
        let request = Request { sampling, constraint, ..Request::text(prompt) };
        let (response, ..) = run(&engine, &request).unwrap();
        let value: serde_json::Value = serde_json::from_str(&response.text).unwrap();
        assert!(value["name"].is_string() && value["age"].is_i64(), "{}", response.text);
        assert_eq!((response.finish, response.complete), (FinishReason::Stop, true));
    }
    // Without a constraint it ends its answers by itself.
    let (response, ..) = run(&engine, &greedy(prompt)).unwrap();
    assert_eq!(response.finish, FinishReason::Stop, "{}", response.text);
}

#[test]
fn no_budget_cuts_a_constrained_text_off() {
    let engine = Engine::load(&ModelOptions::default()).unwrap();
    let schema = json!({"type": "object", "properties": {"name": {"type": "string"},
        "tags": {"type": "array", "items": {"type": "string"}}}, "required": ["name", "tags"]});
    let constraint = Compiler::new(engine.vocabulary().clone()).json_schema(&schema).unwrap();
    let least = constraint.matcher().tokens_to_finish().unwrap().tokens as usize;
    let request = |max_tokens, budget, seed| Request {
        sampling: SamplingParams { temperature: 1.5, seed: Some(seed), ..Default::default() },
        constraint: Some(constraint.clone()),
        max_tokens,
        budget,
        ..Request::text("Name: Ann.")
    };
    let mut cut = 0;
    for seed in 0..8 {
        for max_tokens in [least, least + 3, least + 12] {
            let (response, ..) = run(&engine, &request(max_tokens, true, seed)).unwrap();
            let valid = serde_json::from_str::<serde_json::Value>(&response.text).is_ok();
            assert!(valid && response.complete, "{max_tokens}: {}", response.text);
            assert_eq!(response.finish, FinishReason::Stop);
            let (response, ..) = run(&engine, &request(max_tokens, false, seed)).unwrap();
            cut += usize::from(!response.complete);
        }
    }
    assert!(cut > 12, "{cut} were cut off without a budget");
    let error = run(&engine, &request(least - 1, true, 0)).unwrap_err().to_string();
    assert!(error.contains(&format!("within {} tokens: {least}", least - 1)), "{error}");
}

#[test]
fn stories260k_always_satisfies_its_constraint() {
    let Some(folder) = shared("models/stories260K") else { return };
    let engine = engine(folder);
    let choices = ["The cat sat.", "The dog ran away.", "A bird, a plane", "été €5", "{\"a\": 1}"];
    let mut written = std::collections::BTreeSet::new();
    for seed in 0..40 {
        let sampling = SamplingParams { temperature: 2.0, seed: Some(seed), ..Default::default() };
        let request = Request { sampling, ..choose(&engine, "Once upon a time", &choices) };
        let (response, ..) = run(&engine, &request).unwrap();
        assert!(choices.contains(&response.text.as_str()), "{response:?}");
        assert_eq!((response.finish, response.complete), (FinishReason::Stop, true));
        written.insert(response.text);
    }
    assert!(written.len() > 1, "{written:?}");
}

#[test]
fn stories260k_writes_its_story() {
    let Some(folder) = shared("models/stories260K") else { return };
    let page = std::fs::read_to_string(folder.join("stories260K.md")).unwrap();
    let (_, story) = page.split_once("-t 0.0\n").unwrap();
    let (story, _) = story.split_once("\n```").unwrap();
    let engine = engine(folder);
    let (response, ..) = run(&engine, &Request { max_tokens: 256, ..greedy("") }).unwrap();
    assert_eq!(response.text, story);
    assert_eq!((response.finish, response.usage.prompt_tokens), (FinishReason::Length, 1));
    let seconds = response.timing.decode.as_secs_f64();
    eprintln!("stories260K: {:.0} tokens/s", 256.0 / seconds);
}

#[test]
fn the_same_seed_writes_the_same_text_whatever_else_runs() {
    let Some(folder) = shared("models/stories260K") else { return };
    let engine = engine(folder);
    let request = |seed| {
        let sampling = SamplingParams { seed: Some(seed), top_p: 0.95, ..Default::default() };
        Request { sampling, max_tokens: 40, ..Request::text("One day") }
    };
    let alone: Vec<_> = (0..4).map(|s| run(&engine, &request(s)).unwrap().0.tokens).collect();
    assert!(alone.iter().skip(1).all(|tokens| tokens != &alone[0]));
    let together: Vec<_> = std::thread::scope(|scope| {
        let start = |seed| {
            scope.spawn({
                let (engine, request) = (&engine, request(seed));
                move || run(engine, &request).unwrap().0.tokens
            })
        };
        let threads: Vec<_> = (0..4).map(start).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(alone, together);
    // A fresh seed is told, and gives the text again.
    let fresh = Request { sampling: SamplingParams::default(), ..request(0) };
    let (response, ..) = run(&engine, &fresh).unwrap();
    let sampling = SamplingParams { seed: Some(response.seed), ..Default::default() };
    assert_eq!(run(&engine, &Request { sampling, ..fresh }).unwrap().0.text, response.text);
}

#[test]
fn steps_tell_what_the_model_wanted() {
    let Some(folder) = shared("models/stories260K") else { return };
    let engine = engine(folder);
    let sampling =
        SamplingParams { temperature: 0.8, top_k: Some(10), seed: Some(3), ..Default::default() };
    let request =
        Request { sampling, trace: true, top_logprobs: 3, max_tokens: 20, ..Request::text("Lily") };
    let (response, _, steps) = run(&engine, &request).unwrap();
    assert_eq!(steps.iter().map(|s| s.token).collect::<Vec<_>>(), response.tokens);
    assert_eq!(steps.iter().map(|s| s.text.as_str()).collect::<String>(), response.text);
    for step in &steps {
        assert_eq!((step.allowed, step.nucleus, step.mask_us), (512, 10, 0.0));
        assert!((step.allowed_mass - 1.0).abs() < 1e-9);
        assert!(step.probability > 0.0 && step.probability <= 1.0);
        assert_eq!((step.wanted.len(), step.top_logprobs.len()), (5, 3));
        assert!(step.wanted.windows(2).all(|w| w[0].probability >= w[1].probability));
        let (token, logprob) = step.top_logprobs[0];
        assert_eq!(token, step.wanted[0].token);
        assert!((logprob.exp() - step.wanted[0].probability).abs() < 1e-9);
        // The two are sums in different orders.
        assert!(step.logprob <= logprob + 1e-9);
    }
    // Steps cost no token and change none.
    let quiet = Request { trace: false, top_logprobs: 0, ..request };
    let (again, _, none) = run(&engine, &quiet).unwrap();
    assert_eq!((again.tokens, none.len()), (response.tokens, 0));
}
