//! `POST /v1/decisions`: predicates, choices and scores, their bounds, and what is refused.

use std::net::SocketAddr;

use maskwright::server::ServerOptions;
use serde_json::{Value, json};

use crate::model_support::hey;
use crate::{Answer, send, serve, serve_by, serve_with};

const HEAD: &str = "POST /v1/decisions HTTP/1.1\r\nContent-Type: application/json";

fn decide(address: SocketAddr, model: &str, fields: &Value) -> Answer {
    let mut body = json!({ "model": model });
    body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    send(address, HEAD, &body.to_string())
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

#[test]
fn questions_are_answered_in_their_order() {
    let model = "http-decisions";
    let address = serve(hey(model), &[]);
    let answer = decide(
        address,
        model,
        &json!({ "input": "Hello", "safety_identifier": "someone", "questions": [
            { "type": "choice", "name": "greeting", "choices": ["Bye", { "value": "Hey" }] },
            { "type": "predicate", "spellings": { "true": ["Hey"], "false": ["Bye", "Ho"] } },
            { "type": "score", "name": "level", "levels": [{ "label": "Bye" }, "Hey", "He"] },
            { "type": "score", "minimum": 0.5, "maximum": 2, "step": 0.5,
                "instructions": "How warm?" },
            { "type": "choice", "choices": [
                { "value": true, "spellings": ["Hey"] }, { "value": "true", "spellings": ["Ho"] }] },
        ] }),
    );
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    assert_eq!((&answer["object"], &answer["model"]), (&json!("decision"), &json!(model)));
    let answers = answer["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 5);
    let choice = &answers[0];
    assert_eq!((&choice["name"], &choice["choice"]), (&json!("greeting"), &json!("Hey")));
    let [bye, hey] = &choice["probabilities"].as_array().unwrap()[..] else { panic!("{choice}") };
    assert_eq!((&bye["value"], &hey["value"]), (&json!("Bye"), &json!("Hey")));
    assert!((number(&bye["probability"]) + number(&hey["probability"]) - 1.0).abs() < 1e-9);
    assert_eq!(choice["confidence"], hey["probability"]);
    assert!(number(&hey["lower"]) > 0.9 && number(&hey["upper"]) <= 1.0, "{choice}");
    let diagnostics = &choice["diagnostics"];
    assert_eq!(diagnostics["argmax_is_label"], true);
    assert!(number(&diagnostics["label_mass"]) > 0.0 && number(&diagnostics["margin"]) > 0.8);
    assert!(number(&diagnostics["contexts"]) >= 4.0, "{diagnostics}");
    assert!(["complete", "tolerance"].contains(&diagnostics["stopped"].as_str().unwrap()));
    let predicate = &answers[1];
    assert!(predicate["name"].is_null() && number(&predicate["probability"]) > 0.9);
    let level = &answers[2];
    let expected: f64 = level["probabilities"]
        .as_array()
        .unwrap()
        .iter()
        .enumerate()
        .map(|(i, level)| {
            assert_eq!(level["value"], json!(i));
            i as f64 * number(&level["probability"])
        })
        .sum();
    assert!((number(&level["score"]) - expected).abs() < 1e-9);
    assert_eq!(level["probabilities"][1]["label"], "Hey");
    let range = answers[3]["probabilities"].as_array().unwrap();
    let texts: Vec<&Value> = range.iter().map(|level| &level["label"]).collect();
    assert_eq!(texts, ["0.5", "1.0", "1.5", "2.0"]);
    assert_eq!((&range[0]["value"], &range[1]["value"]), (&json!(0.5), &json!(1)));
    assert_eq!(answers[4]["choice"], true);
    let usage = &answer["usage"];
    assert_eq!(
        (&usage["output_tokens"], &usage["total_tokens"]),
        (&json!(0), &usage["input_tokens"])
    );
    // `Hello>` each, and the contexts after it.
    assert!(number(&usage["input_tokens"]) > 30.0);
}

/// Sums of steps miss 0 by a little, and no model writes "-0.0".
#[test]
fn the_middle_of_a_score_is_zero() {
    let model = "http-decisions-zero";
    let address = serve(hey(model), &[]);
    let question = json!({ "type": "score", "minimum": -0.9, "maximum": 0.9, "step": 0.3 });
    let answer = decide(address, model, &json!({ "input": "Hello", "questions": [question] }));
    assert_eq!(answer.status, 200, "{}", answer.body);
    let probabilities = answer.json()["answers"][0]["probabilities"].clone();
    let labels: Vec<&str> =
        probabilities.as_array().unwrap().iter().map(|p| p["label"].as_str().unwrap()).collect();
    assert_eq!(labels, ["-0.9", "-0.6", "-0.3", "0.0", "0.3", "0.6", "0.9"]);
}

#[test]
fn a_decision_is_the_same_by_prompt_messages_and_input() {
    let model = "http-decisions-inputs";
    let address = serve(hey(model), &[]);
    let questions = json!([{ "type": "choice", "choices": ["Hey", "Hello"] }]);
    let answers: Vec<Value> = [
        json!({ "input": "Hello" }),
        json!({ "input": [{ "role": "user",
            "content": [{ "type": "input_text", "text": "Hello" }] }] }),
        json!({ "messages": [{ "role": "user", "content": "Hello" }] }),
        json!({ "prompt": "Hello>" }),
        json!({ "prompt": [72, 101, 108, 108, 111, 62] }),
    ]
    .into_iter()
    .map(|mut fields| {
        fields["questions"] = questions.clone();
        let answer = decide(address, model, &fields);
        assert_eq!(answer.status, 200, "{fields}: {}", answer.body);
        answer.json()["answers"].clone()
    })
    .collect();
    assert!(answers.iter().all(|other| other == &answers[0]), "{answers:?}");
    // A label begun is not a label that is the whole answer: `Hello` begins with `He`.
    let labels = json!([{ "type": "choice", "choices": ["He", "Bye"] }]);
    let mass = |whole: bool| {
        let fields = json!({ "prompt": ">", "questions": labels, "whole_answer": whole });
        let answer = decide(address, model, &fields).json();
        number(&answer["answers"][0]["diagnostics"]["label_mass"])
    };
    assert!(mass(false) > 2.0 * mass(true), "{} {}", mass(false), mass(true));
}

#[test]
fn instructions_and_labels_are_put_to_the_model() {
    let model = "http-decisions-asked";
    // Refuses conversations, and says what they are.
    let template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{% endfor %}";
    let template = format!("{template}{{{{ raise_exception(messages[0].content) }}}}");
    let address = serve_with(model, &template);
    let asked = |question: Value| -> String {
        let fields = json!({ "input": "Lost my card.", "questions": [question] });
        let answer = decide(address, model, &fields);
        assert_eq!(answer.status, 400, "{}", answer.body);
        answer.json()["error"]["message"].as_str().unwrap().to_owned()
    };
    for (question, text) in [
        (
            json!({ "type": "predicate", "instructions": "Is it urgent?" }),
            "Lost my card.\n\nIs it urgent?\n\nAnswer yes or no, and nothing else.",
        ),
        (
            json!({ "type": "choice", "instructions": [{ "type": "input_text", "text": "Team?" }],
                "choices": [{ "value": "cards", "description": "lost or broken" }, "other"] }),
            "Team?\n\nAnswer with one of these, and nothing else:\n- cards: lost or broken\n- other",
        ),
        (
            json!({ "type": "choice", "instructions": "Is it lost?", "choices": [true, { "value": false }] }),
            "Is it lost?\n\nAnswer with one of these, and nothing else:\n- true\n- false",
        ),
        (
            json!({ "type": "score", "instructions": "How bad?", "minimum": 1, "maximum": 5 }),
            "How bad?\n\nAnswer with a number from 1 to 5, and nothing else.",
        ),
    ] {
        let message = asked(question);
        // Errors are lines.
        assert!(message.contains(&text.replace('\n', " ")), "{message}");
    }
}

#[test]
fn bounds_are_told_where_a_limit_is_reached() {
    let model = "http-decisions-bounds";
    let address = serve(hey(model), &[]);
    let fields = |contexts: u64| {
        json!({ "prompt": "x>", "tolerance": 0, "max_contexts": contexts,
            "questions": [{ "type": "choice", "choices": ["Hey", "He", "Hyhy"] }] })
    };
    let all = decide(address, model, &fields(1000)).json();
    assert_eq!(all["answers"][0]["diagnostics"]["stopped"], "complete");
    let some = decide(address, model, &fields(4)).json();
    let (all, some) = (&all["answers"][0], &some["answers"][0]);
    assert_eq!(some["diagnostics"]["stopped"], "max_contexts");
    assert_eq!(some["diagnostics"]["contexts"], 4);
    let pairs = all["probabilities"].as_array().unwrap().iter();
    let mut widest: f64 = 0.0;
    for (exact, bounded) in pairs.zip(some["probabilities"].as_array().unwrap()) {
        let (lower, upper) = (number(&bounded["lower"]), number(&bounded["upper"]));
        let exact = number(&exact["probability"]);
        assert!(lower - 1e-9 <= exact && exact <= upper + 1e-9, "{exact} of {bounded}");
        widest = widest.max(upper - lower);
    }
    assert!(widest > 0.0);
}

#[test]
fn requests_that_say_too_little_or_too_much_are_refused_by_field() {
    let model = "http-decisions-refused";
    let address = serve(hey(model), &[]);
    let question = json!({ "type": "predicate" });
    let of = |question: Value| json!({ "input": "a", "questions": [question] });
    for (fields, param) in [
        (json!({ "questions": [question] }), "input"),
        (json!({ "input": "a", "prompt": "b", "questions": [question] }), "prompt"),
        (json!({ "input": 7, "questions": [question] }), "input"),
        (json!({ "input": [{ "role": "critic" }], "questions": [question] }), "input[0].role"),
        (
            json!({ "input": [{ "type": "function_call" }], "questions": [question] }),
            "input[0].type",
        ),
        (
            json!({ "input": [{ "role": "user", "content": [{ "type": "input_image" }] }],
                "questions": [question] }),
            "input[0].content[0].type",
        ),
        (json!({ "input": "a" }), "questions"),
        (json!({ "input": "a", "questions": [] }), "questions"),
        (json!({ "input": "a", "questions": [question], "tolerance": 1 }), "tolerance"),
        (json!({ "input": "a", "questions": [question], "max_contexts": 0 }), "max_contexts"),
        (json!({ "input": "a", "questions": [question], "temperature": 1 }), "temperature"),
        (
            json!({ "prompt": "a", "questions": [{ "type": "predicate" }],
                "chat_template_kwargs": { "enable_thinking": false } }),
            "chat_template_kwargs",
        ),
        (
            json!({ "prompt": "a", "questions": [{ "type": "predicate", "instructions": "b" }] }),
            "questions[0].instructions",
        ),
        (of(json!({ "type": "guess" })), "questions[0].type"),
        (of(json!({ "type": "predicate", "choices": ["a"] })), "questions[0].choices"),
        (of(json!({ "type": "choice" })), "questions[0].choices"),
        (of(json!({ "type": "choice", "choices": ["a"] })), "questions[0].choices"),
        (of(json!({ "type": "choice", "choices": ["a", "a"] })), "questions[0].choices"),
        (of(json!({ "type": "choice", "choices": ["a", 7] })), "questions[0].choices[1]"),
        (
            of(json!({ "type": "score", "levels": [{ "value": 1 }] })),
            "questions[0].levels[0].label",
        ),
        (of(json!({ "type": "score", "minimum": 1 })), "questions[0].maximum"),
        (of(json!({ "type": "score", "minimum": 3, "maximum": 1 })), "questions[0].maximum"),
        (
            of(json!({ "type": "score", "minimum": 1, "maximum": 1e3, "step": 0.1 })),
            "questions[0].maximum",
        ),
        (of(json!({ "type": "choice", "choices": ["a".repeat(70_000), "b"] })), "questions"),
    ] {
        let answer = decide(address, model, &fields);
        assert_eq!(answer.status, 400, "{fields}: {}", answer.body);
        assert_eq!(answer.json()["error"]["param"], param, "{fields}: {}", answer.body);
    }
    // The context is 2048 tokens.
    let fields = json!({ "input": "a", "questions": [
        { "type": "choice", "choices": ["a".repeat(3_000), "b"] }] });
    let answer = decide(address, model, &fields);
    assert_eq!(answer.json()["error"]["code"], "context_length_exceeded", "{}", answer.body);
}

#[test]
fn bounds_of_requests_are_the_server_s() {
    let model = "http-decisions-limits";
    let mut options = ServerOptions::default();
    let decisions = &mut options.bounds.decisions;
    (decisions.max_questions, decisions.max_labels) = (2, 3);
    (decisions.max_label_bytes, decisions.max_contexts) = (20, 50);
    let address = serve_by(hey(model), options);
    let question = |labels: &[&str]| json!({ "type": "choice", "choices": labels });
    let ask = |questions: Value, more: Value| {
        let mut body = json!({ "model": model, "prompt": "ab", "questions": questions });
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let head = "POST /v1/decisions HTTP/1.1\r\nContent-Type: application/json";
        send(address, head, &body.to_string())
    };
    let two = question(&["a", "b"]);
    let fits = ask(json!([two, question(&["a", "b", "c"])]), json!({ "max_contexts": 50 }));
    assert_eq!(fits.status, 200, "{}", fits.body);
    let score = json!({ "type": "score", "minimum": 1, "maximum": 4 });
    for (questions, more, says) in [
        (json!([two, two, two]), json!({}), "a list of 1 to 2 questions"),
        (json!([question(&["a", "b", "c", "d"])]), json!({}), "has 4 labels; write 2 to 3"),
        (json!([score]), json!({}), "has 4 labels; write 2 to 3"),
        (json!([question(&["a", "bbbbbbbbbbbbbbbbbbbb"])]), json!({}), "21 bytes; 20 are the most"),
        (json!([two]), json!({ "max_contexts": 51 }), "an integer from 1 to 50"),
    ] {
        let refused = ask(questions, more);
        assert_eq!(refused.status, 400, "{}", refused.body);
        assert!(refused.body.contains(says), "{says}: {}", refused.body);
    }
}
