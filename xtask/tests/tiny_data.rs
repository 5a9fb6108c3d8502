//! The text that the embedded model learns from: what must never be in it, and that it is what it
//! claims to be.

#![allow(missing_docs)]

use std::collections::HashSet;

use rand::SeedableRng;
use serde_json::Value;
use xtask::tiny_data::words::{HELD_OUT, Rng, Split, Words, mentions_held_out, split_of};
use xtask::tiny_data::{Course, Example, example};

const COURSES: [Course; 11] = [
    Course::Full,
    Course::Records { named: false },
    Course::Records { named: true },
    Course::Tools,
    Course::NewTools,
    Course::Missing,
    Course::Required,
    Course::Sentences,
    Course::Lists,
    Course::Calls,
    Course::Introduction,
];

fn text(example: &Example) -> String {
    example.pieces.iter().map(|piece| piece.text.as_str()).collect()
}

fn examples(split: Split, count: u64) -> impl Iterator<Item = Example> {
    COURSES
        .into_iter()
        .flat_map(move |course| (0..count).map(move |at| example(1, at, split, course)))
}

#[test]
fn what_the_documentation_shows_is_in_no_text() {
    let shown = "Ada Lovelace, 36, lives in London and writes to ada@example.org.";
    for word in HELD_OUT {
        assert!(shown.to_lowercase().contains(word));
    }
    for split in [Split::Train, Split::HeldOut] {
        for example in examples(split, 4000) {
            let all = example.prompt.clone() + &text(&example);
            assert!(!mentions_held_out(&all), "{all}");
        }
    }
}

#[test]
fn no_made_up_word_is_in_both_splits() {
    let draw = |split| -> HashSet<String> {
        let mut rng = Rng::seed_from_u64(3);
        let mut words = Words { rng: &mut rng, split };
        (0..20_000).map(|_| words.word()).collect()
    };
    let (train, held_out) = (draw(Split::Train), draw(Split::HeldOut));
    assert!(train.is_disjoint(&held_out));
    assert!(train.iter().all(|word| split_of(word) == Split::Train));
}

#[test]
fn the_answer_reads_back_as_the_value_it_was_made_from() {
    for example in examples(Split::Train, 500) {
        let read: Value = serde_json::from_str(&text(&example)).expect("the answer is JSON");
        assert_eq!(read, example.answer, "{}", example.prompt);
    }
}

#[test]
fn an_example_depends_on_its_number_only() {
    for course in COURSES {
        let first = example(9, 41, Split::Train, course);
        let again = example(9, 41, Split::Train, course);
        assert_eq!((&first.prompt, text(&first)), (&again.prompt, text(&again)));
        assert_ne!(first.prompt, example(9, 42, Split::Train, course).prompt);
        assert_ne!(first.prompt, example(8, 41, Split::Train, course).prompt);
    }
}

#[test]
fn nearly_all_strings_are_copied_from_the_prompt() {
    fn strings<'a>(value: &'a Value, to: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => to.push(text),
            Value::Array(items) => items.iter().for_each(|item| strings(item, to)),
            Value::Object(fields) => fields.values().for_each(|field| strings(field, to)),
            _ => {}
        }
    }
    let (mut copied, mut all) = (0, 0);
    for named in [false, true] {
        for at in 0..1000 {
            let example = example(2, at, Split::Train, Course::Records { named });
            let mut found = Vec::new();
            strings(&example.answer, &mut found);
            all += found.len();
            copied += found.iter().filter(|text| example.prompt.contains(**text)).count();
        }
    }
    // Dates in prose are asked for in ISO form.
    assert!(copied * 100 > all * 95, "{copied} of {all}");
}

#[cfg(feature = "model")]
#[test]
fn the_chat_template_tells_tools_and_schemas_as_training_does() {
    use maskwright::model::{Message, Model, ModelOptions};
    use xtask::tiny_data::{ToldLine, schema_line, tool_lines};
    let text = |line: ToldLine| -> String {
        line.parts.into_iter().map(|part| part.text).chain(["\n".to_owned()]).collect()
    };
    let model = Model::load(&ModelOptions::default()).expect("the embedded model loads");
    let template = model.chat_template().expect("it has a chat template");
    for example in examples(Split::Train, 50) {
        let Example { prompt, tools, answer, schema, .. } = &example;
        let mut told: String = tool_lines(tools, answer).into_iter().map(text).collect();
        if tools.is_empty() {
            told.extend(schema_line(schema, answer).map(text));
        }
        let told = if told.is_empty() { told } else { format!("<|system|>{told}") };
        let tools = (!tools.is_empty()).then(|| Value::Array(tools.clone()));
        let message = Message::new("user", prompt.as_str());
        let variables = [("json_schema".to_owned(), schema.clone())].into_iter().collect();
        let rendered = template
            .render_with(&[message], true, tools.as_ref(), &variables)
            .expect("the template renders");
        assert_eq!(rendered, format!("<|bos|><|user|>{prompt}{told}<|assistant|>"));
    }
}
