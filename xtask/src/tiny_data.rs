//! The text that `tiny` learns from, made up by this program: a prompt that tells some facts, and
//! the JSON that a schema would ask of it.
//!
//! Example `n` of a seed is always the same, whichever came before it, so that training resumes
//! exactly where it stopped and an evaluation can be repeated. Words never mix between the
//! [`Split`]s, and the words of [`words::HELD_OUT`] are in neither.

// Training, evaluation and tests each use a part of it.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::unwrap_used)]

mod answer;
mod concept;
mod formats;
mod new_tools;
mod notes;
mod prose;
mod recall;
mod schema;
mod templates;
mod told;
mod tools;
mod topics;
pub mod words;

use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};
use serde_json::{Map, Value, json};

#[allow(unused_imports)]
pub use answer::{Part, Piece};
use answer::{Style, pieces};
use concept::{Fact, Kind};
use prose::{Told, tell};
use schema::{Requirements, finish_tools, schema_of};
pub use templates::fixed_texts;
pub use told::{ToldLine, ToldPart, schema_line, tool_lines};
use topics::{TOPICS, Topic};
use words::{Rng, Split, Words, mentions_held_out, one_in, pick};

/// A prompt and its answer.
#[derive(Clone, Debug)]
pub struct Example {
    pub prompt: String,
    pub answer: Value,
    /// The answer's text in pieces.
    pub pieces: Vec<Piece>,
    /// Whether the prompt names the fields, so that the answer's keys can be known from it.
    pub named: bool,
    /// The answer's keys that stand for a usual one: "town" for "city".
    pub usual: Vec<(String, &'static str)>,
    /// The tools that the model is told of, as OpenAI's API writes them.
    pub tools: Vec<Value>,
    /// A JSON Schema of the answer, which the model can be told of.
    pub schema: Value,
}

/// A prompt and its answer before the answer is written out.
struct Draft {
    prompt: String,
    answer: Value,
    named: bool,
    usual: Vec<(String, &'static str)>,
    tools: Vec<Value>,
    /// The schemas of fields whose values do not say all: enumerations, and types of what is null.
    fields: Map<String, Value>,
}

/// The kind of example to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Course {
    /// Everything.
    Full,
    /// Records told in prose, with or without the fields named: what the accuracy is measured on.
    Records { named: bool },
    /// Tool calls.
    Tools,
    /// Calls of tools that were made up with their parameters, as the prompt's list tells them.
    NewTools,
    /// Records that are asked for facts which their text does not tell.
    Missing,
    /// The same, where the schema does not allow null: the answer has what stands for it.
    Required,
    /// Sentences of `xtask/data`.
    Sentences,
    /// Lists of objects, of texts of `xtask/data`.
    Lists,
    /// Calls of tools of `xtask/data`, one of up to four.
    Calls,
    /// The sentence that the project's documentation shows, about others.
    Introduction,
}

/// Example number `index` of `seed`.
pub fn example(seed: u64, index: u64, split: Split, course: Course) -> Example {
    let mut rng = Rng::seed_from_u64(seed);
    rng.set_stream(index);
    loop {
        let example = draw(&mut Words { rng: &mut rng, split }, course);
        if !example.mentions_held_out() {
            return example;
        }
    }
}

fn draw(words: &mut Words<'_>, course: Course) -> Example {
    let draft = match course {
        Course::Full => match words.rng.random_range(0..100) {
            0 => unnamed(recall::repeat(words)),
            1 => unnamed(recall::pairs(words, 5)),
            2 | 3 => tools::request(words),
            4..=11 => new_tools::request(words),
            12..=37 => templates::request(words),
            38 | 39 => unnamed(notes::note(words)),
            40..=76 => templated(words),
            77 | 78 => templates::list(words),
            79 => unnamed(several(words)),
            80 => unnamed(introduction(words)),
            _ => {
                let named = one_in(words.rng, 2);
                record(words, named, Missing::Seldom)
            }
        },
        Course::Records { named } => record(words, named, Missing::Seldom),
        Course::Missing | Course::Required => record(words, false, Missing::Often),
        Course::Tools => tools::request(words),
        Course::NewTools => new_tools::request(words),
        Course::Sentences => templated(words),
        Course::Lists => templates::list(words),
        Course::Calls => templates::request(words),
        Course::Introduction => unnamed(introduction(words)),
    };
    let style = match words.rng.random_range(0..100) {
        _ if course != Course::Full => Style::Spaced,
        0..=11 => Style::Compact,
        12..=17 => Style::Indented(2),
        18..=19 => Style::Indented(4),
        _ => Style::Spaced,
    };
    let requirements = match course {
        Course::Full => Requirements::MIXED,
        Course::Required => Requirements::REQUIRED,
        _ => Requirements::NULL,
    };
    written(words, draft, style, requirements)
}

fn written(
    words: &mut Words<'_>,
    draft: Draft,
    style: Style,
    requirements: Requirements,
) -> Example {
    let Draft { prompt, mut answer, named, usual, mut tools, fields } = draft;
    let schema = schema_of(words, &mut answer, &fields, requirements);
    finish_tools(words, &mut tools, &mut answer, requirements);
    let pieces = pieces(&answer, style);
    Example { prompt, answer, pieces, named, usual, tools, schema }
}

impl Example {
    fn mentions_held_out(&self) -> bool {
        mentions_held_out(&self.prompt)
            || self.pieces.iter().any(|piece| mentions_held_out(&piece.text))
    }
}

fn unnamed((prompt, answer): (String, Value)) -> Draft {
    let (usual, tools, fields) = (Vec::new(), Vec::new(), Map::new());
    Draft { prompt, answer, named: false, usual, tools, fields }
}

/// A name, an age, a city and an address in one sentence.
fn introduction(words: &mut Words<'_>) -> (String, Value) {
    let name = words.name();
    let age = words.rng.random_range(18..90);
    let (city, email) = (words.city(), words.email(Some(&name)));
    let prompt = format!("{name}, {age}, lives in {city} and writes to {email}.");
    (prompt, json!({ "name": name, "age": age, "city": city, "email": email }))
}

fn topic(words: &mut Words<'_>) -> &'static Topic {
    TOPICS.choose_weighted(words.rng, |(_, weight)| *weight).expect("weights are positive").0
}

/// The frequency with which a record is asked for facts that its text does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Seldom,
    Often,
}

/// Asks for a fact of the topic that the text does not tell, and so is null.
fn add_missing(
    words: &mut Words<'_>,
    topic: &Topic,
    told: &[Fact],
    fields: &mut Map<String, Value>,
    schemas: &mut Map<String, Value>,
) {
    let absent = topic.facts.choose(words.rng).expect("a topic has facts").0;
    // A told fact of the same key or kind would be a fair answer.
    let is_told = told.iter().any(|fact| {
        std::mem::discriminant(&fact.concept.kind) == std::mem::discriminant(&absent.kind)
            || fact.concept.keys.contains(&absent.keys[0])
    });
    if !is_told && !fields.contains_key(absent.keys[0]) {
        let at = words.rng.random_range(0..=fields.len());
        fields.shift_insert(at, absent.keys[0].to_owned(), Value::Null);
        schemas.insert(absent.keys[0].to_owned(), absent.kind.schema());
    }
}

/// One record told in prose, and some of its facts as an object.
fn record(words: &mut Words<'_>, named: bool, missing: Missing) -> Draft {
    let topic = topic(words);
    let most = if one_in(words.rng, 4) { 6 } else { 4 };
    let Told { mut text, facts: told } = tell(words, topic, most);
    let made_up = one_in(words.rng, 6).then(|| recall::made_up_fact(words));
    if let Some((sentence, ..)) = &made_up {
        text = format!("{text} {sentence}");
    }
    let mut asked = told.clone();
    if one_in(words.rng, 2) {
        asked.shuffle(words.rng);
    }
    if one_in(words.rng, 2) {
        let keep = words.rng.random_range(1..=asked.len());
        asked.truncate(keep);
    }
    let (mut fields, mut schemas) = (Map::new(), Map::new());
    let mut usual = Vec::new();
    for fact in &asked {
        let key = key_for(words, fact, &told);
        if !fields.contains_key(&key) {
            let value = asked_value(words, fact);
            if let Kind::Choice(_) = fact.concept.kind {
                schemas.insert(key.clone(), fact.concept.kind.schema());
            }
            usual.push((key.clone(), fact.concept.keys[0]));
            fields.insert(key, value);
        }
    }
    if let Some((_, key, value)) = made_up {
        fields.entry(key).or_insert(value);
    }
    let absent = match missing {
        Missing::Often => words.rng.random_range(1..=2),
        Missing::Seldom if one_in(words.rng, 7) => words.rng.random_range(1..=2),
        Missing::Seldom => 0,
    };
    for _ in 0..absent {
        add_missing(words, topic, &told, &mut fields, &mut schemas);
    }
    if named {
        let prompt = ask_for(words, &text, &fields);
        let answer = Value::Object(fields);
        return Draft { prompt, answer, named, usual, tools: Vec::new(), fields: schemas };
    }
    let answer = nested(words, topic, fields);
    Draft { prompt: text, answer, named, usual, tools: Vec::new(), fields: schemas }
}

/// A sentence of [`templates`]; at times it is asked for a fact that it does not tell.
fn templated(words: &mut Words<'_>) -> Draft {
    let (mut text, fields, schemas) = templates::sentence(words);
    if one_in(words.rng, 8) {
        text = format!("{text} {}", prose::beside_the_point(words));
    }
    let named = one_in(words.rng, 4);
    let prompt = if named { ask_for(words, &text, &fields) } else { text };
    let (usual, tools, answer) = (Vec::new(), Vec::new(), Value::Object(fields));
    Draft { prompt, answer, named, usual, tools, fields: schemas }
}

/// A key that, among the facts told, asks for this one only.
fn key_for(words: &mut Words<'_>, fact: &Fact, told: &[Fact]) -> String {
    for _ in 0..4 {
        let key = fact.concept.key(words);
        let plain = key.to_lowercase().replace(['-', ' '], "_");
        let ambiguous = told.iter().any(|other| {
            !std::ptr::eq(other.concept, fact.concept)
                && other.concept.keys.contains(&plain.as_str())
        });
        if !ambiguous {
            return key;
        }
    }
    fact.concept.keys[0].to_owned()
}

/// The fact's value, at times a number as a string, or a list's length cut to its first item.
fn asked_value(words: &mut Words<'_>, fact: &Fact) -> Value {
    match (&fact.value, fact.concept.kind) {
        (Value::Number(_), Kind::Int(..) | Kind::Decimal(_)) if one_in(words.rng, 25) => {
            json!(fact.text)
        }
        (value, _) => value.clone(),
    }
}

fn ask_for(words: &mut Words<'_>, text: &str, fields: &Map<String, Value>) -> String {
    let keys: Vec<&str> = fields.keys().map(String::as_str).collect();
    let list = keys.join(", ");
    let front = ["Extract {} from: ", "Give {} as JSON: ", "Fields: {}.\n", "JSON with {}. "];
    let back = [
        "Fields: {}.",
        "Fields: {}.",
        "Fields: {}",
        "Extract {}.",
        "Give me {} as JSON.",
        "Return JSON with {}.",
        "Keys: {}.",
        "JSON fields: {}",
    ];
    if one_in(words.rng, 4) {
        return pick(words.rng, &front).replace("{}", &list) + text;
    }
    let gap = if one_in(words.rng, 2) { "\n" } else { " " };
    format!("{text}{gap}{}", pick(words.rng, &back).replace("{}", &list))
}

/// At times some of the fields go into an object of their own, or all of them do.
fn nested(words: &mut Words<'_>, topic: &Topic, mut fields: Map<String, Value>) -> Value {
    match words.rng.random_range(0..14) {
        0 => {
            let mut outer = Map::new();
            outer.insert(pick(words.rng, topic.names).to_owned(), Value::Object(fields));
            Value::Object(outer)
        }
        1 if fields.len() > 1 => {
            let at = words.rng.random_range(1..fields.len());
            let inner: Map<String, Value> = fields
                .keys()
                .skip(at)
                .cloned()
                .collect::<Vec<_>>()
                .into_iter()
                .filter_map(|key| fields.shift_remove(&key).map(|value| (key, value)))
                .collect();
            let keys = ["details", "contact", "address", "info", "data", "more", "location"];
            fields.insert(pick(words.rng, &keys).to_owned(), Value::Object(inner));
            Value::Object(fields)
        }
        _ => Value::Object(fields),
    }
}

/// Two or three records of a topic, and an array with the same keys of each.
fn several(words: &mut Words<'_>) -> (String, Value) {
    let topic = topic(words);
    let first = tell(words, topic, 2);
    let keys: Vec<(&'static concept::Concept, String)> =
        first.facts.iter().map(|fact| (fact.concept, key_for(words, fact, &first.facts))).collect();
    let mut texts = vec![first.text];
    let mut records = vec![first.facts];
    for _ in 0..words.rng.random_range(1..=2) {
        // The same facts of another: drawn until one tells enough.
        let next = tell(words, topic, 2);
        texts.push(next.text);
        records.push(next.facts);
    }
    let list: Vec<Value> = records
        .iter()
        .map(|facts| {
            let fields: Map<String, Value> = keys
                .iter()
                .filter_map(|(concept, key)| {
                    let fact = facts.iter().find(|fact| std::ptr::eq(fact.concept, *concept))?;
                    Some((key.clone(), fact.value.clone()))
                })
                .collect();
            Value::Object(fields)
        })
        .collect();
    let text = texts.join(pick(words.rng, &[" ", "\n", " "]));
    let list = Value::Array(list);
    if one_in(words.rng, 2) {
        return (text, list);
    }
    let plural = format!("{}s", topic.names[0]);
    (text, json!({ plural: list }))
}
