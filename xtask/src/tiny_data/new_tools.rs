//! Tools that are made up with their parameters, told in a list, and requests that one of them
//! answers: nothing here can be learned by heart.

use std::sync::LazyLock;

use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};
use serde_json::{Map, Value, json};

use super::Draft;
use super::concept::Kind;
use super::words::{TOOL_NOUNS, Words, capitalised, one_in, pick};

/// A kind of parameter that many tools have.
struct Usual {
    /// Its names; any of them may be chosen.
    keys: &'static [&'static str],
    kind: Kind,
    /// The ways in which a request says its value.
    forms: &'static [&'static str],
}

const USUAL: &[Usual] = &[
    Usual {
        keys: &["city", "location", "town", "place", "destination", "where"],
        kind: Kind::City,
        forms: &["in {}", "for {}", "at {}", "near {}", "around {}"],
    },
    Usual {
        keys: &["country", "region"],
        kind: Kind::Country,
        forms: &["in {}", "for {}", "within {}"],
    },
    Usual { keys: &["from", "origin", "source", "start"], kind: Kind::City, forms: &["from {}"] },
    Usual { keys: &["to", "target", "destination", "end"], kind: Kind::City, forms: &["to {}"] },
    Usual {
        keys: &["name", "person", "customer", "guest", "employee", "recipient", "who"],
        kind: Kind::Name,
        forms: &["for {}", "with {}", "of {}", "under the name {}", "on behalf of {}"],
    },
    Usual {
        keys: &["email", "to", "recipient", "address"],
        kind: Kind::Email,
        forms: &["to {}", "for {}", "and mail it to {}", "with the address {}"],
    },
    Usual {
        keys: &["date", "day", "when", "due_date", "until"],
        kind: Kind::Date,
        forms: &["on {}", "for {}", "by {}", "dated {}"],
    },
    Usual {
        keys: &["time", "at", "start_time", "hour"],
        kind: Kind::Time,
        forms: &["at {}", "from {}", "starting at {}"],
    },
    Usual {
        keys: &["quantity", "count", "number", "limit", "guests", "people", "times"],
        kind: Kind::Count,
        forms: &["for {} people", "{} times", "with a count of {}", "at most {}", "{} of them"],
    },
    Usual {
        keys: &["price", "amount", "budget", "max_price", "sum"],
        kind: Kind::Decimal(500),
        forms: &["for {} euros", "up to {}", "for ${}", "over {} dollars", "worth {}"],
    },
    Usual {
        keys: &["minutes", "duration", "duration_minutes"],
        kind: Kind::Int(1, 180),
        forms: &["for {} minutes", "of {} minutes", "that takes {} minutes"],
    },
    Usual {
        keys: &["id", "code", "order_id", "reference", "ticket", "number"],
        kind: Kind::Code,
        forms: &["with the id {}", "number {}", "no. {}", "#{}", "{}"],
    },
    Usual {
        keys: &["text", "message", "note", "body", "content"],
        kind: Kind::Phrase,
        forms: &["saying \"{}\"", "with the text \"{}\"", "that says {}", "\"{}\"", ": {}"],
    },
    Usual {
        keys: &["title", "name", "subject", "label", "topic"],
        kind: Kind::Phrase,
        forms: &["called \"{}\"", "called {}", "titled {}", "about {}", "named \"{}\""],
    },
    Usual {
        keys: &["item", "product", "object", "ingredient", "device"],
        kind: Kind::Thing,
        forms: &["for a {}", "of the {}", "with a {}", "for the {}"],
    },
    Usual {
        keys: &["phone", "phone_number"],
        kind: Kind::Phone,
        forms: &["at {}", "with the phone number {}", "under {}"],
    },
    Usual {
        keys: &["tags", "items", "topics"],
        kind: Kind::Things,
        forms: &["with {}", "for {}", "including {}"],
    },
    Usual {
        keys: &["color", "colour"],
        kind: Kind::Choice(&[
            ("red", "red"),
            ("blue", "blue"),
            ("green", "green"),
            ("black", "black"),
            ("white", "white"),
            ("yellow", "yellow"),
        ]),
        forms: &["in {}", "to {}", "with the color {}"],
    },
    Usual {
        keys: &[
            "grams",
            "liters",
            "hours",
            "percent",
            "days",
            "weeks",
            "pages",
            "copies",
            "degrees",
            "km",
            "miles",
            "meters",
            "seconds",
            "watts",
            "rounds",
            "points",
            "portions",
            "nights",
            "rows",
            "dollars",
            "calories",
            "servings",
            "volume",
            "minutes",
            "seats",
            "boxes",
            "stars",
            "steps",
            "repetitions",
        ],
        kind: Kind::Int(1, 120),
        forms: &[
            "{} {key}",
            "{} {key}",
            "for {} {key}",
            "of {} {key}",
            "to {} {key}",
            "by {} {key}",
        ],
    },
    Usual {
        keys: &[
            "kilometers",
            "liters",
            "kilos",
            "hours",
            "temperature",
            "weight",
            "distance",
            "dose",
            "rate",
        ],
        kind: Kind::Decimal(90),
        forms: &["{} {key}", "to {}", "with {} {key}", "of {}", "to {} degrees", "{} kg", "by {}"],
    },
    Usual {
        keys: &[
            "room",
            "zone",
            "area",
            "speaker",
            "station",
            "shelf",
            "line",
            "floor",
            "account",
            "channel",
            "folder",
            "plan",
            "recipe",
            "project",
            "machine",
            "pot",
            "camera",
            "tank",
            "field",
            "hall",
            "branch",
            "team",
            "restaurant",
            "shop",
            "park",
            "building",
            "bed",
            "device",
            "list",
            "group",
        ],
        kind: Kind::Thing,
        forms: &[
            "in the {} {key}",
            "of the {} {key}",
            "the {} {key}",
            "the {key} {}",
            "in {key} {}",
            "for the {}",
            "in the {}",
            "of the {}",
            "at {}",
            "from the {key} {}",
            "to the {} {key}",
            "on the {}",
        ],
    },
    Usual {
        keys: &[
            "restaurant",
            "hotel",
            "shop",
            "company",
            "brand",
            "vendor",
            "customer",
            "airline",
            "station",
        ],
        kind: Kind::Brand,
        forms: &["at {}", "from {}", "of {}", "with {}", "for {}", "by {}"],
    },
    Usual {
        keys: &["activity", "sport", "kind", "type", "category", "topic", "language", "genre"],
        kind: Kind::Thing,
        forms: &["of {}", "about {}", "for {}", "{}", "as {}"],
    },
    Usual {
        keys: &["file", "path", "document", "source", "image"],
        kind: Kind::File,
        forms: &["the file {}", "{}", "from {}", "of {}", "in {}"],
    },
    Usual {
        keys: &["to", "new_name", "target", "output", "into"],
        kind: Kind::File,
        forms: &["to {}", "into {}", "as {}"],
    },
    Usual {
        keys: &["symbol", "ticker", "currency", "code"],
        kind: Kind::Symbol,
        forms: &["of {}", "for {}", "{}", "in {}"],
    },
    Usual {
        keys: &["priority", "level", "size"],
        kind: Kind::Choice(&[
            ("low", "low"),
            ("high", "high"),
            ("medium", "medium"),
            ("small", "small"),
            ("large", "large"),
        ]),
        forms: &["with {} priority", "as {}", "({})", "at level {}"],
    },
];

/// Parameters that are true or false: the key, and what says either.
const SWITCHES: &[(&str, &str, &str)] = &[
    ("urgent", "it is urgent", "it is not urgent"),
    ("express", "by express", "not by express"),
    ("notify", "and notify me", "without notifying me"),
    ("public", "make it public", "keep it private"),
    ("repeat", "and repeat it", "and do not repeat it"),
    ("enabled", "turned on", "turned off"),
];

/// Mentions of a parameter with a made-up name: its name, then its value.
const MADE_UP_FORMS: &[&str] = &[
    "with {key} {}",
    "with the {key} {}",
    "with a {key} of {}",
    "{key} {}",
    "{key}: {}",
    "set the {key} to {}",
    "and the {key} is {}",
    "using {key} {}",
    "at {key} {}",
    "where {key} is {}",
    "{} {key}",
    "for {} {key}",
    "the {} {key}",
    "in the {} {key}",
    "of the {} {key}",
    "of {key} {}",
    "in {key} {}",
    "to {} {key}",
    "from {key} {}",
];

/// Verbs of names of tools, and what asks for them: `verb: Phrase/Phrase`, a line each.
static VERBS: LazyLock<Vec<(&str, Vec<&str>)>> = LazyLock::new(|| {
    include_str!("../../data/tiny_verbs.txt")
        .lines()
        .map(|line| {
            let (verb, phrases) =
                line.split_once(": ").unwrap_or_else(|| panic!("a verb without phrases: {line}"));
            (verb, phrases.split('/').collect())
        })
        .collect()
});

struct Parameter {
    key: String,
    value: Value,
    /// The JSON Schema of its values.
    schema: Value,
    /// Its mention in a request.
    said: String,
    /// Its value in a request; empty for what is true or false.
    text: String,
}

struct NewTool {
    name: String,
    verb: usize,
    noun: String,
    description: String,
    parameters: Vec<Parameter>,
}

/// A request, the tools that the model is told of, and the call of one of them.
pub fn request(words: &mut Words<'_>) -> Draft {
    let count = words.rng.random_range(1..=4);
    let mut tools: Vec<NewTool> = Vec::new();
    while tools.len() < count {
        let tool = new_tool(words);
        let is_like = |other: &NewTool| {
            other.name == tool.name || other.noun == tool.noun || other.verb == tool.verb
        };
        if !tools.iter().any(is_like) {
            tools.push(tool);
        }
    }
    let mut chosen: Vec<usize> = (0..tools.len()).collect();
    chosen.shuffle(words.rng);
    chosen.truncate(if one_in(words.rng, 10) { 2 } else { 1 });
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for at in chosen {
        let (text, call) = call(words, &tools[at]);
        texts.push(text);
        calls.push(call);
    }
    Draft {
        prompt: texts.join(" "),
        answer: Value::Array(calls),
        named: false,
        usual: Vec::new(),
        tools: tools.iter().map(told).collect(),
        fields: Map::new(),
    }
}

fn new_tool(words: &mut Words<'_>) -> NewTool {
    let verb = words.rng.random_range(0..VERBS.len());
    let noun =
        if one_in(words.rng, 5) { words.word() } else { pick(words.rng, &TOOL_NOUNS).to_owned() };
    let joined = noun.replace(' ', "_");
    let camel: String = noun.split(' ').map(capitalised).collect();
    let name = match words.rng.random_range(0..8) {
        0 => format!("{}{camel}", VERBS[verb].0),
        1 => format!("{joined}_{}", VERBS[verb].0),
        2 => joined.clone(),
        // A name that says nothing, of a tool that its description tells.
        3 if one_in(words.rng, 2) => words.word(),
        _ => format!("{}_{joined}", VERBS[verb].0),
    };
    let mut parameters: Vec<Parameter> = Vec::new();
    for _ in 0..words.rng.random_range(1..=4) {
        let next = parameter(words);
        if parameters.iter().all(|other| other.key != next.key) {
            parameters.push(next);
        }
    }
    let is_told_by_name = name.contains(&joined) || name.contains(&camel);
    let own = capitalised(VERBS[verb].0);
    let (one, key) = (article(&noun), parameters[0].key.replace('_', " "));
    let description = match words.rng.random_range(0..8) {
        0 if is_told_by_name => String::new(),
        1 => format!("{} {one} {noun}.", pick(words.rng, &VERBS[verb].1)),
        2 => format!("{own} the {noun}"),
        3 => format!("{own}s {one} {noun}"),
        4 => format!("{own} {one} {noun} by {key}"),
        5 => format!("{own} the {noun} of {} {key}", article(&key)),
        6 => format!("{own} {}", plural(&noun)),
        _ => format!("{own} {one} {noun}"),
    };
    NewTool { name, verb, noun, description, parameters }
}

fn article(noun: &str) -> &'static str {
    if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
}

fn parameter(words: &mut Words<'_>) -> Parameter {
    if one_in(words.rng, 12) {
        let (key, yes, no) = SWITCHES[words.rng.random_range(0..SWITCHES.len())];
        let value = one_in(words.rng, 2);
        let said = if value { yes } else { no };
        let (key, said, text) = (key.to_owned(), said.to_owned(), String::new());
        let (value, schema) = (json!(value), Kind::Flag.schema());
        return Parameter { key, value, schema, said, text };
    }
    if one_in(words.rng, 4) {
        let key = if one_in(words.rng, 5) {
            format!("{}_{}", words.word(), words.word())
        } else {
            words.word()
        };
        let kinds = [
            Kind::Int(0, 5000),
            Kind::Int(0, 100),
            Kind::Decimal(100),
            Kind::Thing,
            Kind::Brand,
            Kind::Code,
            Kind::Name,
            Kind::Phrase,
        ];
        let kind = kinds[words.rng.random_range(0..kinds.len())];
        let (text, value) = kind.draw(words, None);
        let said = pick(words.rng, MADE_UP_FORMS)
            .replace("{key}", &key.replace('_', " "))
            .replace("{}", &text);
        return Parameter { key, value, schema: kind.schema(), said, text };
    }
    let usual = USUAL.choose(words.rng).expect("there are usual parameters");
    let (text, value) = usual.kind.draw(words, None);
    let key = pick(words.rng, usual.keys).to_owned();
    let said =
        pick(words.rng, usual.forms).replace("{key}", &key.replace('_', " ")).replace("{}", &text);
    Parameter { key, value, schema: usual.kind.schema(), said, text }
}

/// A request for the tool, and the call. A parameter that the request does not mention is not in it.
fn call(words: &mut Words<'_>, tool: &NewTool) -> (String, Value) {
    let mentioned: Vec<&Parameter> =
        tool.parameters.iter().filter(|_| !one_in(words.rng, 5)).collect();
    let arguments: Map<String, Value> = mentioned
        .iter()
        .map(|parameter| (parameter.key.clone(), parameter.value.clone()))
        .collect();
    let mut said: Vec<&str> = mentioned.iter().map(|parameter| parameter.said.as_str()).collect();
    if one_in(words.rng, 3) {
        said.shuffle(words.rng);
    }
    let noun = tool.noun.as_str();
    let article = pick(words.rng, &["the", article(noun), "my", "the", "the next", "our"]);
    let verb = pick(words.rng, &VERBS[tool.verb].1);
    let mut text = String::new();
    if said.len() > 1 && one_in(words.rng, 8) {
        text = format!("{}, ", said.remove(0));
    }
    if one_in(words.rng, 6) {
        text += pick(words.rng, &["please ", "can you ", "hey, ", "could you ", "now "]);
    }
    let verb = if text.is_empty() { verb.to_owned() } else { verb.to_lowercase() };
    let object = mentioned.iter().find(|parameter| !parameter.text.is_empty());
    match (object, words.rng.random_range(0..10)) {
        // The verb's object is a value: "Rename the old one to the new one".
        (Some(object), 0..=2) => {
            said.retain(|said| *said != object.said);
            let the = if one_in(words.rng, 4) { "the " } else { "" };
            text += &format!("{verb} {the}{}", object.text);
        }
        (_, 3) => text += &format!("I need {article} {noun}"),
        (_, 4) => text += &format!("{noun}{}", pick(words.rng, &["", ",", ":"])),
        (_, 5) => text += &format!("{verb} {}", plural(noun)),
        _ => text += &format!("{verb} {article} {noun}"),
    }
    for (at, form) in said.iter().enumerate() {
        let joint = match words.rng.random_range(0..6) {
            0 if at > 0 && at + 1 == said.len() => " and ",
            1 if at > 0 => ", ",
            _ => " ",
        };
        text += if form.starts_with(':') { "" } else { joint };
        text += form;
    }
    let end = if text.starts_with("What") || text.starts_with("Where") { "?" } else { "." };
    text += if one_in(words.rng, 6) { "" } else { end };
    (capitalised(&text), json!({ "name": tool.name, "arguments": arguments }))
}

fn plural(noun: &str) -> String {
    if noun.ends_with('s') { noun.to_owned() } else { format!("{noun}s") }
}

/// The tool as OpenAI's API writes it.
fn told(tool: &NewTool) -> Value {
    let properties: Map<String, Value> = tool
        .parameters
        .iter()
        .map(|parameter| (parameter.key.clone(), parameter.schema.clone()))
        .collect();
    super::schema::tool_object(&tool.name, &tool.description, properties)
}
