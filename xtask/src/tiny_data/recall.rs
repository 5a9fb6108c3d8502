//! Pure copying: made-up keys with made-up values, and bare strings to repeat. Nothing here can be
//! known beforehand, so this is where the model learns to look at its prompt.

use rand::RngExt;
use rand::seq::SliceRandom;
use serde_json::{Map, Value, json};

use super::words::{Words, capitalised, one_in, pick};

/// A list of keys and values, and an object that asks for some of them.
pub fn pairs(words: &mut Words<'_>, most: usize) -> (String, Value) {
    let mut pairs: Vec<(String, String, Value)> = Vec::new();
    for _ in 0..words.rng.random_range(1..=most) {
        let key = words.word();
        if pairs.iter().all(|(other, ..)| *other != key) {
            let (text, value) = scalar(words);
            pairs.push((key, text, value));
        }
    }
    let (is, between) = match words.rng.random_range(0..6) {
        0 => (" = ", ", "),
        1 => (" is ", " and "),
        2 => (" is ", ". "),
        3 => (": ", "\n"),
        4 => (" ", ", "),
        _ => (": ", ", "),
    };
    let the = if is == " is " && one_in(words.rng, 2) { "the " } else { "" };
    let text: Vec<String> =
        pairs.iter().map(|(key, text, _)| format!("{the}{key}{is}{text}")).collect();
    let text = text.join(between) + pick(words.rng, &["", ".", "."]);
    if one_in(words.rng, 2) {
        pairs.shuffle(words.rng);
    }
    if one_in(words.rng, 2) {
        let keep = words.rng.random_range(1..=pairs.len());
        pairs.truncate(keep);
    }
    let fields: Map<String, Value> =
        pairs.into_iter().map(|(key, _, value)| (key, value)).collect();
    (text, Value::Object(fields))
}

/// A sentence that tells a fact of a made-up kind, its key and its value.
pub fn made_up_fact(words: &mut Words<'_>) -> (String, String, Value) {
    let key = match words.rng.random_range(0..4) {
        0 => format!("{}_{}", words.word(), words.word()),
        _ => words.word(),
    };
    let told = key.replace('_', " ");
    let (text, value) = scalar(words);
    let sentence = match words.rng.random_range(0..6) {
        0 => format!("The {told} is {text}."),
        1 => format!("Its {told} is {text}."),
        2 => format!("{}: {text}.", capitalised(&told)),
        3 => format!("As {told} we have {text}."),
        4 => format!("With a {told} of {text}."),
        _ => format!("{text} is the {told}."),
    };
    (sentence, key, value)
}

/// A text and the same text as a JSON string, or in an object or array of one.
pub fn repeat(words: &mut Words<'_>) -> (String, Value) {
    let (text, value) = match words.rng.random_range(0..4) {
        0 => {
            let name = words.name();
            (name.clone(), json!(name))
        }
        1 => {
            let email = words.email(None);
            (email.clone(), json!(email))
        }
        _ => scalar(words),
    };
    match words.rng.random_range(0..4) {
        0 => (text, value),
        1 => (text, json!([value])),
        _ => (text, json!({ words.word(): value })),
    }
}

/// Words, a word or a number, as text and as JSON.
fn scalar(words: &mut Words<'_>) -> (String, Value) {
    match words.rng.random_range(0..8) {
        0 | 1 => {
            let digits = words.rng.random_range(1..=4);
            let number = words.rng.random_range(0..10_i64.pow(digits));
            (number.to_string(), json!(number))
        }
        2 => {
            let text = format!("{} {}", words.capital(), words.capital());
            (text.clone(), json!(text))
        }
        3 => {
            let text = format!("{} {} {}", words.word(), words.word(), words.word());
            (text.clone(), json!(text))
        }
        4 => {
            let text = words.capital();
            (text.clone(), json!(text))
        }
        5 => {
            let text = words.email(None);
            (text.clone(), json!(text))
        }
        _ => {
            let text = words.word();
            (text.clone(), json!(text))
        }
    }
}
