//! Sentences and requests of `xtask/data`, with slots for the facts that they tell.
//!
//! `xtask/data/tiny_templates.txt` has a text a line. `{key|other_key:Kind}` is a slot: the keys that may ask
//! for the fact, and the kind of its value. `xtask/data/tiny_tool_templates.txt` has tools: a line
//! `tool name|other_name: description`, a line of parameters as in slots, and requests after `>`, in which
//! `{key}` is the parameter whose first key that is.

use std::sync::LazyLock;

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use serde_json::{Map, Value, json};

use super::concept::{Kind, spelling};
use super::words::{Words, capitalised, one_in};
use super::{Draft, tool_object};

static SENTENCES: LazyLock<Vec<Vec<Part>>> = LazyLock::new(|| {
    include_str!("../../data/tiny_templates.txt")
        .lines()
        .filter(|line| !line.is_empty())
        .map(parts)
        .collect()
});
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    include_str!("../../data/tiny_tool_templates.txt").split("\n\n").map(tool).collect()
});

/// The tools before and after a tool in the file that are told as its relatives.
const RELATIVES: usize = 8;

enum Part {
    Text(String),
    Slot(Slot),
}

struct Slot {
    keys: Vec<String>,
    values: Values,
}

enum Values {
    Kind(Kind),
    /// The text's words, and the value in JSON.
    Choice(Vec<(String, Value)>),
}

struct Tool {
    names: Vec<String>,
    description: String,
    parameters: Vec<Slot>,
    requests: Vec<String>,
}

fn parts(line: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = line;
    while let Some((text, after)) = rest.split_once('{') {
        let (inner, after) =
            after.split_once('}').unwrap_or_else(|| panic!("an open slot: {line}"));
        parts.push(Part::Text(text.to_owned()));
        parts.push(Part::Slot(slot(inner)));
        rest = after;
    }
    parts.push(Part::Text(rest.to_owned()));
    parts
}

fn slot(text: &str) -> Slot {
    let (keys, kind) =
        text.split_once(':').unwrap_or_else(|| panic!("a slot without a kind: {text}"));
    Slot { keys: keys.split('|').map(str::to_owned).collect(), values: values(kind) }
}

fn values(text: &str) -> Values {
    let range = |name: &str| text.strip_prefix(name)?.strip_prefix('(')?.strip_suffix(')');
    if let Some((low, high)) = range("Int").and_then(|range| range.split_once("..")) {
        return Values::Kind(Kind::Int(number(low), number(high)));
    }
    if let Some(high) = range("Decimal") {
        return Values::Kind(Kind::Decimal(number(high)));
    }
    Values::Kind(match text {
        "Name" => Kind::Name,
        "City" => Kind::City,
        "Country" => Kind::Country,
        "Email" => Kind::Email,
        "Phone" => Kind::Phone,
        "Street" => Kind::Street,
        "Zip" => Kind::Zip,
        "Date" => Kind::Date,
        "Time" => Kind::Time,
        "Count" => Kind::Count,
        "Brand" => Kind::Brand,
        "Thing" => Kind::Thing,
        "Phrase" => Kind::Phrase,
        "Code" => Kind::Code,
        "File" => Kind::File,
        "Symbol" => Kind::Symbol,
        "Names" => Kind::Names,
        "Things" => Kind::Things,
        "Topics" => Kind::Topics,
        _ => return Values::Choice(text.split('/').map(choice).collect()),
    })
}

fn number(text: &str) -> i64 {
    text.trim().parse().unwrap_or_else(|_| panic!("not a number: {text}"))
}

fn choice(text: &str) -> (String, Value) {
    let (said, value) =
        text.split_once('=').unwrap_or_else(|| panic!("no kind and no choice: {text}"));
    let value = serde_json::from_str(value)
        .ok()
        .filter(|value: &Value| value.is_boolean() || value.is_number())
        .unwrap_or_else(|| json!(value.replace('_', " ")));
    (said.replace('_', " "), value)
}

fn tool(block: &str) -> Tool {
    let mut lines = block.trim().lines();
    let mut line = || lines.next().unwrap_or_else(|| panic!("a tool is cut off: {block}"));
    let (names, description) = line()
        .strip_prefix("tool ")
        .and_then(|line| line.split_once(": "))
        .unwrap_or_else(|| panic!("no tool: {block}"));
    let parameters = line().split_whitespace().map(slot).collect();
    let requests = lines.map(|line| line.trim_start_matches('>').trim().to_owned()).collect();
    let names = names.split('|').map(str::to_owned).collect();
    Tool { names, description: description.to_owned(), parameters, requests }
}

impl Slot {
    /// A key that asks for it: the usual one half the time, then any, in any of the usual spellings.
    fn key(&self, words: &mut Words<'_>) -> String {
        if one_in(words.rng, 2) {
            return self.keys[0].clone();
        }
        let key = self.keys.choose(words.rng).expect("a slot has a key");
        spelling(words, key)
    }

    /// The text's words, and the value in JSON.
    fn draw(&self, words: &mut Words<'_>, name: Option<&str>) -> (String, Value) {
        match &self.values {
            Values::Kind(kind) => kind.draw(words, name),
            Values::Choice(of) => of.choose(words.rng).expect("a choice has texts").clone(),
        }
    }
}

/// A sentence and the facts that it tells, or some of them.
pub fn sentence(words: &mut Words<'_>) -> (String, Map<String, Value>) {
    let template = SENTENCES.choose(words.rng).expect("there are sentences");
    let mut text = String::new();
    let mut facts: Vec<(String, Value)> = Vec::new();
    let mut name: Option<String> = None;
    for part in template {
        let slot = match part {
            Part::Text(said) => {
                text += said;
                continue;
            }
            Part::Slot(slot) => slot,
        };
        let (said, value) = slot.draw(words, name.as_deref());
        if matches!(slot.values, Values::Kind(Kind::Name)) {
            name = Some(said.clone());
        }
        text += &said;
        let key = slot.key(words);
        let is_taken = |key: &str| facts.iter().any(|(other, _)| other == key);
        let key = if is_taken(&key) { slot.keys[0].clone() } else { key };
        if !is_taken(&key) {
            facts.push((key, value));
        }
    }
    if one_in(words.rng, 2) {
        facts.shuffle(words.rng);
    }
    if one_in(words.rng, 3) {
        let keep = words.rng.random_range(1..=facts.len());
        facts.truncate(keep);
    }
    (capitalised(&text), facts.into_iter().collect())
}

/// Requests, and the calls that answer them, of the tools that the model is told of before the first one.
pub fn conversation(words: &mut Words<'_>, requests: usize) -> Vec<Draft> {
    let called = words.rng.random_range(0..TOOLS.len());
    let mut told = vec![ToldTool::new(words, &TOOLS[called])];
    let beside_relatives = one_in(words.rng, 3);
    // Of one tool, only one call is to be learnt.
    let others = if requests == 1 { 0..=3 } else { 1..=4 };
    for _ in 0..words.rng.random_range(others) {
        let other = if beside_relatives {
            // The file has tools of one subject side by side.
            let first = called.saturating_sub(RELATIVES);
            words.rng.random_range(first..TOOLS.len().min(called + RELATIVES + 1))
        } else {
            words.rng.random_range(0..TOOLS.len())
        };
        let other = ToldTool::new(words, &TOOLS[other]);
        let is_other =
            |one: &ToldTool| one.name != other.name && !std::ptr::eq(one.template, other.template);
        if told.iter().all(is_other) {
            let at = words.rng.random_range(0..=told.len());
            told.insert(at, other);
        }
    }
    let mut tools: Vec<Value> = told.iter().map(|tool| tool.object.clone()).collect();
    let mut drafts = Vec::with_capacity(requests);
    for _ in 0..requests {
        let (prompt, call) = told.choose(words.rng).expect("a tool is told").call(words);
        let (usual, tools) = (Vec::new(), std::mem::take(&mut tools));
        drafts.push(Draft { prompt, answer: json!([call]), named: false, usual, tools });
    }
    drafts
}

/// A tool as the model is told of it.
struct ToldTool {
    template: &'static Tool,
    name: String,
    /// The key of each parameter.
    keys: Vec<String>,
    /// As OpenAI's API writes it.
    object: Value,
}

impl ToldTool {
    fn new(words: &mut Words<'_>, template: &'static Tool) -> Self {
        let mut keys: Vec<String> = Vec::with_capacity(template.parameters.len());
        let mut properties = Map::new();
        for parameter in &template.parameters {
            let key = parameter.key(words);
            let key = if keys.contains(&key) { parameter.keys[0].clone() } else { key };
            let value = parameter.draw(words, None).1;
            properties.insert(key.clone(), json!({ "type": super::json_type(&value) }));
            keys.push(key);
        }
        let name = if one_in(words.rng, 2) {
            template.names.first()
        } else {
            template.names.choose(words.rng)
        };
        let name = name.expect("a tool has a name").clone();
        let description = if one_in(words.rng, 4) { "" } else { &template.description };
        let object = tool_object(&name, description, properties);
        Self { template, name, keys, object }
    }

    /// A request for it, and the call.
    fn call(&self, words: &mut Words<'_>) -> (String, Value) {
        let mut text =
            self.template.requests.choose(words.rng).expect("a tool has requests").clone();
        let mut arguments = Map::new();
        for (parameter, key) in self.template.parameters.iter().zip(&self.keys) {
            let slot = format!("{{{}}}", parameter.keys[0]);
            if text.contains(&slot) {
                let (said, value) = parameter.draw(words, None);
                text = text.replace(&slot, &said);
                arguments.insert(key.clone(), value);
            }
        }
        (capitalised(&text), json!({ "name": self.name, "arguments": arguments }))
    }
}
