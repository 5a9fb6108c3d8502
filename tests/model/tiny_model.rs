//! The model in the binary: its tokens, its chat template, and that it copies what a prompt says
//! into the fields that a schema asks for.

#![allow(missing_docs, clippy::unwrap_used)]

use std::ops::ControlFlow;

use maskwright::model::{Message, Model, ModelOptions};
use maskwright::{Compiler, Engine, Request, SamplingParams};
use serde_json::{Value, json};

fn engine() -> Engine {
    Engine::load(&ModelOptions::default()).unwrap()
}

#[test]
fn loading_tells_of_each_layer() {
    let mut told = Vec::new();
    let model = Model::load_with_progress(&ModelOptions::default(), &mut |state| {
        told.push((state.layers, state.total));
    });
    let layers = model.unwrap().config().num_hidden_layers;
    assert!(layers > 1);
    assert_eq!(told, (1..=layers).map(|layer| (layer, layers)).collect::<Vec<_>>());
}

/// The likeliest answer that has the four fields.
fn person(engine: &Engine, prompt: &str) -> Value {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "age": { "type": "integer" },
            "city": { "type": "string" },
            "email": { "type": "string" },
        },
        "required": ["name", "age", "city", "email"],
        "additionalProperties": false,
    });
    let constraint = Compiler::new(engine.vocabulary().clone()).json_schema(&schema).unwrap();
    let request = Request {
        constraint: Some(constraint),
        sampling: SamplingParams::greedy(),
        ..Request::text(prompt)
    };
    let response = engine.generate(&request, &mut |_| ControlFlow::Continue(())).unwrap();
    serde_json::from_str(&response.text).unwrap()
}

#[test]
fn what_the_prompt_says_goes_into_the_right_fields() {
    let engine = engine();
    for (name, age, city, email) in [
        ("Ada Lovelace", 36, "London", "ada@example.org"),
        ("Brun Tolvik", 52, "Marlow", "tolvik@post.net"),
        ("Sela Ortmann", 27, "Gravenhold", "s.ortmann@quill.io"),
    ] {
        let prompt = format!("{name}, {age}, lives in {city} and writes to {email}.");
        let expected = json!({ "name": name, "age": age, "city": city, "email": email });
        assert_eq!(person(&engine, &prompt), expected);
    }
}

#[test]
fn a_word_is_the_same_tokens_wherever_it_stands() {
    let engine = engine();
    let tokens = |text: &str| engine.model().tokenizer().encode_prompt(text, false).unwrap();
    for word in ["Lovelace", "London", "Zürich", "snake_case", "1815", "日本", "x@y.org"] {
        let alone = tokens(word);
        for (before, after) in [(" ", " "), ("\"", "\""), ("(", ")."), (": ", ","), ("\n", "\n")] {
            let inside = tokens(&format!("{before}{word}{after}"));
            let from = tokens(before).len();
            assert_eq!(inside[from..from + alone.len()], alone, "{before}{word}{after}");
        }
    }
}

#[test]
fn every_byte_is_a_token() {
    let engine = engine();
    let tokens: Vec<&[u8]> =
        (0..768).filter_map(|id| engine.vocabulary().token_bytes(id)).collect();
    for byte in 0..=255 {
        assert!(tokens.contains(&[byte].as_slice()), "{byte}");
    }
}

#[test]
fn conversations_are_written_as_in_training() {
    let engine = engine();
    let messages = [
        Message::new("system", "Be brief."),
        Message::new("user", "Hi"),
        Message::new("assistant", "Hello"),
        Message::new("user", "Bye"),
    ];
    let text = engine.model().chat_template().unwrap().render(&messages, true, None).unwrap();
    let expected = "<|bos|><|system|>Be brief.<|user|>Hi<|assistant|>Hello<|end|><|user|>Bye\
                    <|assistant|>";
    assert_eq!(text, expected);
}

/// Schemas that applications have from their types are told as plain ones: definitions by their fields, `anyOf` by its
/// branches.
#[test]
fn the_chat_template_tells_schemas_of_types() {
    let model = Model::load(&ModelOptions::default()).unwrap();
    let template = model.chat_template().unwrap();
    let told = |schema: Value| {
        let variables = [("json_schema".to_owned(), schema)].into_iter().collect();
        let messages = [Message::new("user", "Hello")];
        let text = template.render_with(&messages, true, None, &variables).unwrap();
        let told = text.strip_prefix("<|bos|><|user|>Hello").unwrap();
        told.strip_suffix("<|assistant|>").unwrap().to_owned()
    };
    let of_types = json!({
        "$defs": {
            "Role": { "enum": ["chair", "guest"], "title": "Role", "type": "string" },
            "Address": { "type": "object", "properties": {
                "city": { "type": "string" },
                "zip": { "anyOf": [{ "type": "integer" }, { "type": "null" }] },
            } },
        },
        "type": "object",
        "properties": {
            "role": { "$ref": "#/$defs/Role" },
            "home": { "anyOf": [{ "$ref": "#/$defs/Address" }, { "type": "null" }] },
            "other": { "type": "array", "items": { "$ref": "#/$defs/Address" } },
            "written": { "type": "string", "format": "date", "minLength": 1 },
        },
    });
    assert_eq!(
        told(of_types),
        "<|system|>answer(role chair/guest, home(city, zip integer null) null, \
         other array(city, zip integer null), written date minLength)\n"
    );
    // A type that holds itself is told by its name alone.
    let of_itself = json!({
        "$defs": { "Node": { "type": "object", "properties": { "next": { "$ref": "#/$defs/Node" } } } },
        "type": "object",
        "properties": { "name": { "type": "string" }, "next": { "$ref": "#/$defs/Node" } },
    });
    assert_eq!(told(of_itself), "<|system|>answer(name, next)\n");
    assert_eq!(told(json!({ "type": "string" })), "");
}
