//! Sentences, lists and requests of `xtask/data`, with slots for the facts that they tell.
//!
//! `xtask/data/tiny_templates.txt` has a text a line. `{key|other_key:Kind}` is a slot: the keys that may ask
//! for the fact, and the kind of its value. `xtask/data/tiny_list_templates.txt` has texts that list things of several facts:
//! `key|other_key: text [item] text`, where the item is repeated and the keys may ask for the list.
//! `xtask/data/tiny_tool_templates.txt` has tools: a line
//! `tool name|other_name: description`, a line of parameters as in slots, and requests after `>`, in which
//! `{key}` is the parameter whose first key that is.

use std::sync::LazyLock;

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use serde_json::{Map, Value, json};

use super::Draft;
use super::concept::{Kind, choice_schema, spelling};
use super::schema::tool_object;
use super::words::{Split, Words, capitalised, one_in, pick};

static SENTENCES: LazyLock<Vec<Vec<Part>>> = LazyLock::new(|| {
    include_str!("../../data/tiny_templates.txt")
        .lines()
        .filter(|line| !line.is_empty())
        .map(parts)
        .collect()
});
static LISTS: LazyLock<Vec<List>> = LazyLock::new(|| {
    include_str!("../../data/tiny_list_templates.txt").lines().map(list_template).collect()
});
static TOOLS: LazyLock<Vec<Tool>> = LazyLock::new(|| {
    include_str!("../../data/tiny_tool_templates.txt").split("\n\n").map(tool).collect()
});

/// The tools before and after a tool in the file that are told as its relatives.
const RELATIVES: usize = 8;
/// One sentence, and one tool that is called, of so many is of the held-out split.
const HELD_OUT_ONE_OF: usize = 50;

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

struct List {
    keys: Vec<String>,
    before: Vec<Part>,
    item: Vec<Part>,
    after: Vec<Part>,
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

fn list_template(line: &str) -> List {
    let list = || {
        let (keys, text) = line.split_once(": ")?;
        let (before, text) = text.split_once('[')?;
        let (item, after) = text.split_once(']')?;
        let keys = keys.split('|').map(str::to_owned).collect();
        Some(List { keys, before: parts(before), item: parts(item), after: parts(after) })
    };
    list().unwrap_or_else(|| panic!("no list: {line}"))
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

    /// Its keys, and what it says if it is a choice.
    fn fixed_texts(&self) -> Vec<&str> {
        let keys = self.keys.iter().map(String::as_str);
        match &self.values {
            Values::Kind(_) => keys.collect(),
            Values::Choice(of) => keys.chain(of.iter().map(|(said, _)| said.as_str())).collect(),
        }
    }

    /// A JSON Schema of its values.
    fn schema(&self) -> Value {
        match &self.values {
            Values::Kind(kind) => kind.schema(),
            Values::Choice(of) => {
                choice_schema(of.iter().map(|(said, value)| (said.as_str(), value.clone())))
            }
        }
    }

    /// The text's words, and the value in JSON.
    fn draw(&self, words: &mut Words<'_>, name: Option<&str>) -> (String, Value) {
        match &self.values {
            Values::Kind(kind) => kind.draw(words, name),
            Values::Choice(of) => of.choose(words.rng).expect("a choice has texts").clone(),
        }
    }
}

/// The number of a text, of so many, that is of the split.
fn draw_index(words: &mut Words<'_>, count: usize) -> usize {
    loop {
        let index = words.rng.random_range(0..count);
        let is_held_out = index % HELD_OUT_ONE_OF == HELD_OUT_ONE_OF - 1;
        if is_held_out == (words.split == Split::HeldOut) {
            return index;
        }
    }
}

/// Pieces of the sentences and tools: all that they say beside the values in their slots.
pub fn fixed_texts() -> impl Iterator<Item = &'static str> {
    let sentences = SENTENCES.iter().flatten().flat_map(|part| match part {
        Part::Text(text) => vec![text.as_str()],
        Part::Slot(slot) => slot.fixed_texts(),
    });
    let tools = TOOLS.iter().flat_map(|tool| {
        let told = tool.names.iter().map(String::as_str).chain([tool.description.as_str()]);
        // A request is `text {key} text {key} text`.
        let requests = tool.requests.iter().flat_map(|request| {
            request.split('{').map(|text| text.split_once('}').map_or(text, |(_, text)| text))
        });
        told.chain(tool.parameters.iter().flat_map(Slot::fixed_texts)).chain(requests)
    });
    sentences.chain(tools)
}

/// A sentence, the facts that it tells, or some of them, and the schema of each.
pub fn sentence(words: &mut Words<'_>) -> (String, Map<String, Value>, Map<String, Value>) {
    let template = &SENTENCES[draw_index(words, SENTENCES.len())];
    let mut schemas = Map::new();
    let keys = draw_keys(words, template, &mut schemas);
    let (text, facts) = tell(words, template, &keys);
    let mut facts = Vec::from_iter(facts);
    if one_in(words.rng, 2) {
        facts.shuffle(words.rng);
    }
    if one_in(words.rng, 3) {
        let keep = words.rng.random_range(1..=facts.len());
        facts.truncate(keep);
    }
    if one_in(words.rng, 4) {
        for _ in 0..words.rng.random_range(1..=2) {
            add_missing(words, template, &text, &mut facts, &mut schemas);
        }
    }
    (capitalised(&text), facts.into_iter().collect(), schemas)
}

/// A text that lists things of several facts, the list as an array of objects, and the schemas of the facts.
pub fn list(words: &mut Words<'_>) -> Draft {
    let List { keys, before, item, after } = &LISTS[draw_index(words, LISTS.len())];
    let mut fields = Map::new();
    let item_keys = draw_keys(words, item, &mut fields);
    for schema in fields.values_mut().filter_map(Value::as_object_mut) {
        // The values of one field may have the format in one item only.
        schema.remove("format");
    }
    let mut texts = Vec::new();
    let mut items = Vec::new();
    for _ in 0..words.rng.random_range(2..=4) {
        let (text, facts) = tell(words, item, &item_keys);
        texts.push(text);
        items.push(Value::Object(facts));
    }
    let [before_keys, after_keys] =
        [before, after].map(|parts| draw_keys(words, parts, &mut fields));
    let (before, mut facts) = tell(words, before, &before_keys);
    let (after, facts_after) = tell(words, after, &after_keys);
    facts.extend(facts_after);
    let text = before + &joined(words, &texts) + &after;
    let items = Value::Array(items);
    if one_in(words.rng, 4) {
        facts.clear();
    }
    let answer = if facts.is_empty() && one_in(words.rng, 3) {
        items
    } else {
        let general =
            ["items", "elements", "entries", "list", "results", "records", "rows", "data"];
        let key = if one_in(words.rng, 3) {
            pick(words.rng, &general).to_owned()
        } else {
            let key = keys.choose(words.rng).expect("a list has a key");
            spelling(words, key)
        };
        let at = words.rng.random_range(0..=facts.len());
        // An item's key of that name is another field.
        fields.remove(&key);
        facts.shift_insert(at, key, items);
        Value::Object(facts)
    };
    let (usual, tools) = (Vec::new(), Vec::new());
    Draft { prompt: capitalised(&text), answer, named: false, usual, tools, fields }
}

/// The items as people list them.
fn joined(words: &mut Words<'_>, texts: &[String]) -> String {
    let (between, last) = match words.rng.random_range(0..10) {
        0..=3 => (", ", " and "),
        4 => (", ", ", and "),
        5 => (", ", ", "),
        6 => ("; ", "; "),
        7 => (" and ", " and "),
        8 => (", ", ", then "),
        _ => (",\n", ",\n"),
    };
    let (end, front) = texts.split_last().expect("a list has items");
    front.join(between) + last + end
}

/// A key for each of the slots, and the schemas of these keys.
fn draw_keys(
    words: &mut Words<'_>,
    parts: &[Part],
    schemas: &mut Map<String, Value>,
) -> Vec<String> {
    let mut keys = Vec::new();
    for part in parts {
        let Part::Slot(slot) = part else { continue };
        let key = slot.key(words);
        let key = if schemas.contains_key(&key) { slot.keys[0].clone() } else { key };
        schemas.entry(key.clone()).or_insert_with(|| slot.schema());
        keys.push(key);
    }
    keys
}

/// The text with drawn values, and those as facts under the keys of their slots; of slots with one key, the first.
fn tell(words: &mut Words<'_>, parts: &[Part], keys: &[String]) -> (String, Map<String, Value>) {
    let mut text = String::new();
    let mut facts = Map::new();
    let mut name: Option<String> = None;
    let mut keys = keys.iter();
    for part in parts {
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
        let key = keys.next().expect("each slot has a key");
        facts.entry(key.clone()).or_insert(value);
    }
    (text, facts)
}

/// Asks for a fact of another sentence that this one does not tell, and so is null.
fn add_missing(
    words: &mut Words<'_>,
    template: &[Part],
    text: &str,
    facts: &mut Vec<(String, Value)>,
    schemas: &mut Map<String, Value>,
) {
    let other = &SENTENCES[draw_index(words, SENTENCES.len())];
    let slots: Vec<&Slot> = other
        .iter()
        .filter_map(|part| match part {
            Part::Slot(slot) => Some(slot),
            Part::Text(_) => None,
        })
        .collect();
    let Some(slot) = slots.choose(words.rng) else { return };
    let Values::Kind(kind) = slot.values else { return };
    let Some(topic) = question(kind) else { return };
    // A fact of the same kind, or under the same key, would be a fair answer.
    let is_told = template.iter().any(|part| match part {
        Part::Slot(told) => {
            told.keys.iter().any(|key| slot.keys.contains(key))
                || matches!(told.values, Values::Kind(kind) if question(kind) == Some(topic))
        }
        Part::Text(_) => false,
    });
    let is_told = is_told || topic == "how many" && text.contains(|c: char| c.is_ascii_digit());
    let key = slot.key(words);
    if !is_told && facts.iter().all(|(other, _)| *other != key) {
        let at = words.rng.random_range(0..=facts.len());
        schemas.insert(key.clone(), kind.schema());
        facts.insert(at, (key, Value::Null));
    }
}

/// The question that a value of the kind answers; none for kinds that answer many.
fn question(kind: Kind) -> Option<&'static str> {
    Some(match kind {
        Kind::Name | Kind::Names | Kind::Brand => "who",
        Kind::City | Kind::Country | Kind::Street | Kind::Zip => "where",
        Kind::Date | Kind::Time => "when",
        Kind::Int(..) | Kind::Count | Kind::Decimal(_) => "how many",
        Kind::Email => "which address",
        Kind::Phone => "which phone",
        Kind::Code | Kind::Symbol => "which code",
        Kind::File => "which file",
        _ => return None,
    })
}

/// A request, the tools that the model is told of, and the call of one of them.
pub fn request(words: &mut Words<'_>) -> Draft {
    let called = draw_index(words, TOOLS.len());
    let tool = ToldTool::new(words, &TOOLS[called]);
    let (prompt, call) = tool.call(words);
    let mut told = vec![tool];
    let beside_relatives = one_in(words.rng, 3);
    for _ in 0..words.rng.random_range(0..=4) {
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
    let tools = told.into_iter().map(|tool| tool.object).collect();
    let (answer, usual, fields) = (json!([call]), Vec::new(), Map::new());
    Draft { prompt, answer, named: false, usual, tools, fields }
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
            properties.insert(key.clone(), parameter.schema());
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
        if one_in(words.rng, 3) {
            text = self.told_in_own_words(words, &text);
        }
        (capitalised(&text), json!({ "name": self.name, "arguments": arguments }))
    }

    /// The request beside words of the tool's description or of one of its names: the requests of the file mostly
    /// avoid these, but people mostly say them.
    fn told_in_own_words(&self, words: &mut Words<'_>, request: &str) -> String {
        let own = if one_in(words.rng, 2) {
            self.template.description.clone()
        } else {
            self.template.names.choose(words.rng).expect("a tool has a name").replace('_', " ")
        };
        let keeps_all = one_in(words.rng, 2);
        let kept: Vec<String> = own
            .split_whitespace()
            .filter(|_| keeps_all || !one_in(words.rng, 3))
            .map(str::to_lowercase)
            .collect();
        let forms = [
            "{own}: {request}",
            "I want to {own}. {request}",
            "Please {own}. {request}",
            "Can you {own}? {request}",
            "{request} ({own})",
            "{request} Just {own}.",
            "{request} I need you to {own}.",
            "{own}, {request}",
        ];
        pick(words.rng, &forms).replace("{request}", request).replace("{own}", &kept.join(" "))
    }
}
