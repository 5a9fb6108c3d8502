//! Measures how well a model copies a prompt's facts into the right fields: exact match per field
//! on held-out prompts, decoded greedily, with and without a constraint.
//!
//! ```text
//! cargo run --release -p xtask --features model --bin eval_tiny -- --model tiny --examples 200
//! ```
//!
//! Beside the courses of training stand sentences and tools that were written by hand and that the
//! training text does not share (`xtask/data`): they show how far the skill reaches.
//!
//! Names, places and addresses are from the words that training never sees. Where a prompt does not
//! name the fields, the model cannot know the keys by itself: such courses are measured under the
//! constraint only.

#![allow(clippy::print_stdout, missing_docs)]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use clap::Parser;
use maskwright::model::{ModelOptions, ModelSource};
use maskwright::{Compiler, Constraint, Engine, Error, ErrorKind, Request, Result, SamplingParams};
use serde_json::{Map, Value, json};
use xtask::tiny_data::words::Split;
use xtask::tiny_data::{Course, Example, example};

/// Exact match per field on held-out prompts.
#[derive(Parser)]
struct Options {
    /// `tiny` or a model folder.
    #[arg(long, default_value = "tiny")]
    model: ModelSource,
    /// Prompts of each course.
    #[arg(long, default_value_t = 200)]
    examples: u64,
    /// Print each answer that is not right.
    #[arg(long)]
    wrong: bool,
    /// Sentences to measure instead, in a file like `xtask/data/tiny_sentences.json`.
    #[arg(long)]
    sentences: Option<PathBuf>,
    /// Tools and requests to measure instead, in a file like `xtask/data/tiny_tools.json`.
    #[arg(long)]
    tools: Option<PathBuf>,
    /// Do not tell the model the schema.
    #[arg(long)]
    untold: bool,
}

/// The seed of the prompts: another than training's and than that of its measurements.
const SEED: u64 = 0x5eed_0000_0000_0002;
/// The longest answer, in tokens.
const LONGEST: usize = 400;
/// Fields with fewer values than this are counted together.
const MIN_FIELD_VALUES: usize = 20;

fn main() -> Result<()> {
    let options = Options::parse();
    let engine =
        Engine::load(&ModelOptions { source: options.model.clone(), ..Default::default() })?;
    let compiler = Compiler::new(engine.vocabulary().clone());
    if let Some(path) = &options.sentences {
        measure_sentences(&options, &engine, &compiler, &file(path)?)?;
    }
    if let Some(path) = &options.tools {
        measure_tools(&options, &engine, &compiler, &file(path)?)?;
    }
    if options.sentences.is_some() || options.tools.is_some() {
        return Ok(());
    }
    for (title, course) in [
        ("The sentence of the documentation, about others", Course::Introduction),
        ("Records, fields named in the prompt", Course::Records { named: true }),
        ("Records, fields not named", Course::Records { named: false }),
        ("Records with missing facts, every field may be null", Course::Missing),
        ("Records with missing facts, no field may be null", Course::Required),
        ("Lists of objects", Course::Lists),
        ("Tool calls", Course::Tools),
        ("Calls of made-up tools", Course::NewTools),
    ] {
        let mut table = Table::default();
        for index in 0..options.examples {
            let example = example(SEED, index, Split::HeldOut, course);
            let answer = match course {
                Course::Missing => measure(&options, &engine, &compiler, &example, Null::Anywhere),
                Course::Required => {
                    let schema = closed(example.schema.clone());
                    measure_under(&options, &engine, &compiler, &example, schema)
                }
                _ => {
                    let null = Null::as_asked(&example);
                    measure(&options, &engine, &compiler, &example, null)
                }
            }?;
            table.add(&example, &answer, Way::Constrained);
            if example.named {
                table.add(&example, &decode(&engine, &example, None, None)?, Way::Free);
            }
        }
        println!("\n{title}\n\n{}", table.markdown());
    }
    let sentences = list(include_str!("../../data/tiny_sentences.json"))?;
    measure_sentences(&options, &engine, &compiler, &sentences)?;
    let tools = list(include_str!("../../data/tiny_tools.json"))?;
    measure_tools(&options, &engine, &compiler, &tools)
}

fn file(path: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(path);
    let text = text.map_err(|error| {
        Error::new(ErrorKind::Request, format!("cannot read {}: {error}", path.display()))
    })?;
    list(&text)
}

fn list(text: &str) -> Result<Vec<Value>> {
    let list = serde_json::from_str(text);
    list.map_err(|error| Error::new(ErrorKind::Request, error.to_string()))
}

/// Prints a table of sentences by kind.
fn measure_sentences(
    options: &Options,
    engine: &Engine,
    compiler: &Compiler,
    sentences: &[Value],
) -> Result<()> {
    let mut kinds: BTreeMap<String, Table> = BTreeMap::new();
    for sentence in sentences {
        let text = |key: &str| sentence[key].as_str().unwrap_or_default().to_owned();
        let (kind, example) =
            (text("kind"), by_hand(text("text"), sentence["answer"].clone(), Vec::new()));
        let null = if kind == "missing" { Null::Anywhere } else { Null::as_asked(&example) };
        let answer = measure(options, engine, compiler, &example, null)?;
        for kind in [kind, "all kinds".to_owned()] {
            kinds.entry(kind).or_default().add(&example, &answer, Way::Constrained);
        }
    }
    println!("\nSentences written by hand\n\n| kind | fields | answers |\n|---|---:|---:|");
    for (kind, table) in &kinds {
        println!("| {kind} | {} | {} |", of(table.fields_in_all()), of(table.answers[0]));
    }
    Ok(())
}

/// Prints a table of the arguments of requests for tools, each told between two others.
fn measure_tools(
    options: &Options,
    engine: &Engine,
    compiler: &Compiler,
    tools: &[Value],
) -> Result<()> {
    let mut table = Table::default();
    for example in tool_requests(tools) {
        let answer = measure(options, engine, compiler, &example, Null::Nowhere)?;
        table.add(&example, &answer, Way::Constrained);
    }
    println!("\nCalls of tools written by hand, one of three\n\n{}", table.markdown());
    Ok(())
}

/// The answer, decoded under the schema of the right one.
fn measure(
    options: &Options,
    engine: &Engine,
    compiler: &Compiler,
    example: &Example,
    null: Null,
) -> Result<String> {
    let schema = match (example.tools.is_empty(), &example.answer) {
        (true, answer) => schema(answer, null),
        (false, Value::Array(_)) => {
            json!({ "type": "array", "items": call_of(&example.tools), "minItems": 1, "maxItems": 2 })
        }
        (false, Value::Object(fields)) if is_call(fields) => call_of(&example.tools),
        (false, answer) => schema(answer, null),
    };
    measure_under(options, engine, compiler, example, schema)
}

/// The answer, decoded under the schema.
fn measure_under(
    options: &Options,
    engine: &Engine,
    compiler: &Compiler,
    example: &Example,
    schema: Value,
) -> Result<String> {
    let constraint = compiler.json_schema(&schema)?;
    let told = (!options.untold).then_some(schema);
    let constrained = decode(engine, example, Some(constraint), told)?;
    if options.wrong && read(&constrained).as_ref() != Some(&example.answer) {
        println!("{}\n  want {}\n  have {constrained}\n", example.prompt, example.answer);
    }
    Ok(constrained)
}

/// A call of one of the tools.
fn call_of(tools: &[Value]) -> Value {
    let calls: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "type": "object",
                "properties": {
                    "name": { "const": tool["function"]["name"] },
                    "arguments": tool["function"]["parameters"],
                },
                "required": ["name", "arguments"],
                "additionalProperties": false,
            })
        })
        .collect();
    json!({ "anyOf": calls })
}

/// The requests for tools, each with its tool between two others.
fn tool_requests(list: &[Value]) -> Vec<Example> {
    let mut examples = Vec::new();
    for (at, entry) in list.iter().enumerate() {
        let tools: Vec<Value> = [list.len() - 1, 0, 1]
            .into_iter()
            .map(|step| list[(at + step) % list.len()]["tool"].clone())
            .collect();
        for request in entry["requests"].as_array().into_iter().flatten() {
            let name = &entry["tool"]["function"]["name"];
            let answer = json!([{ "name": name, "arguments": request["arguments"] }]);
            let text = request["text"].as_str().unwrap_or_default().to_owned();
            examples.push(by_hand(text, answer, tools.clone()));
        }
    }
    examples
}

fn by_hand(prompt: String, answer: Value, tools: Vec<Value>) -> Example {
    Example {
        prompt,
        answer,
        pieces: Vec::new(),
        named: false,
        usual: Vec::new(),
        tools,
        schema: Value::Null,
    }
}

/// The fields that a schema allows to be null.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Null {
    Nowhere,
    Anywhere,
}

impl Null {
    /// Everywhere if the answer has a null: one allowed there alone would tell it.
    fn as_asked(example: &Example) -> Self {
        let mut values = Vec::new();
        leaves(&example.answer, String::new(), false, &mut values);
        let has_null = values.iter().any(|(_, value)| value.is_null());
        if has_null { Self::Anywhere } else { Self::Nowhere }
    }
}

/// The likeliest answer to the prompt: of all, or of those that the schema allows.
fn decode(
    engine: &Engine,
    example: &Example,
    constraint: Option<Constraint>,
    told: Option<Value>,
) -> Result<String> {
    let request = Request {
        constraint,
        template_variables: told
            .map(|schema| ("json_schema".to_owned(), schema))
            .into_iter()
            .collect(),
        tools: (!example.tools.is_empty()).then(|| Value::Array(example.tools.clone())),
        sampling: SamplingParams::greedy(),
        max_tokens: LONGEST,
        ..Request::text(&example.prompt)
    };
    Ok(engine.generate(&request, &mut |_| ControlFlow::Continue(()))?.text)
}

fn read(answer: &str) -> Option<Value> {
    serde_json::from_str(answer).ok()
}

/// Whether these are the fields of a tool call. Where no tools were told, the name of the tool is
/// not in the text, and it does not count.
fn is_call(fields: &Map<String, Value>) -> bool {
    fields.contains_key("arguments") || fields.contains_key("parameters")
}

/// A schema that such answers follow: the same keys in the same order, values of the same types.
fn schema(answer: &Value, null: Null) -> Value {
    if null == Null::Anywhere && !answer.is_object() {
        let of_value = if answer.is_null() {
            json!({ "type": "string" })
        } else {
            schema(answer, Null::Nowhere)
        };
        return json!({ "anyOf": [of_value, { "type": "null" }] });
    }
    match answer {
        Value::Object(fields) => {
            let is_call = is_call(fields);
            let properties: Map<String, Value> = fields
                .iter()
                .map(|(key, value)| match value {
                    Value::String(_) if is_call => (key.clone(), json!({ "const": value })),
                    _ => (key.clone(), schema(value, null)),
                })
                .collect();
            let required: Vec<&String> = fields.keys().collect();
            json!({
                "type": "object",
                "properties": properties,
                "required": required,
                "additionalProperties": false,
            })
        }
        Value::Array(items) => match items.first() {
            Some(Value::String(_)) => json!({ "type": "array", "items": { "type": "string" } }),
            // Calls of different tools.
            _ => json!({
                "type": "array",
                "prefixItems": items.iter().map(|item| schema(item, null)).collect::<Vec<_>>(),
                "items": false,
                "minItems": items.len(),
            }),
        },
        Value::String(_) => json!({ "type": "string" }),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Number(number) if number.is_i64() => json!({ "type": "integer" }),
        Value::Number(_) => json!({ "type": "number" }),
        Value::Null => json!({ "type": ["string", "null"] }),
    }
}

/// The schema, with all fields required and no others.
fn closed(mut schema: Value) -> Value {
    if let Value::Object(members) = &mut schema
        && let Some(Value::Object(properties)) = members.get_mut("properties")
    {
        let required: Vec<String> = properties.keys().cloned().collect();
        for field in properties.values_mut() {
            *field = closed(field.take());
        }
        members.insert("required".to_owned(), json!(required));
        members.insert("additionalProperties".to_owned(), json!(false));
    }
    schema
}

/// With the schema as a constraint, or without.
#[derive(Clone, Copy)]
enum Way {
    Constrained,
    Free,
}

/// Right values and all values of a field, for each way of decoding.
#[derive(Default)]
struct Table {
    fields: BTreeMap<String, [(usize, usize); 2]>,
    answers: [(usize, usize); 2],
}

impl Table {
    fn add(&mut self, example: &Example, answer: &str, way: Way) {
        let have = read(answer);
        let mut wanted = Vec::new();
        leaves(&example.answer, String::new(), !example.tools.is_empty(), &mut wanted);
        for (pointer, value) in wanted {
            let key = pointer.rsplit('/').next().unwrap_or_default();
            let usual = example.usual.iter().find(|(name, _)| name == key);
            let row = self.fields.entry(usual.map_or(key, |(_, usual)| usual).to_owned());
            let cell = &mut row.or_default()[way as usize];
            let have = have.as_ref().and_then(|have| have.pointer(&pointer));
            let right = have.is_some_and(|have| is_same(have, value));
            *cell = (cell.0 + usize::from(right), cell.1 + 1);
        }
        let right = have.as_ref() == Some(&example.answer);
        let cell = &mut self.answers[way as usize];
        *cell = (cell.0 + usize::from(right), cell.1 + 1);
    }

    fn fields_in_all(&self) -> (usize, usize) {
        self.fields.values().fold((0, 0), |all, cells| (all.0 + cells[0].0, all.1 + cells[0].1))
    }

    fn markdown(&self) -> String {
        let mut lines = vec!["| field | values | constrained | unconstrained |".to_owned()];
        lines.push("|---|---:|---:|---:|".to_owned());
        let mut others = [(0, 0); 2];
        let mut all = [(0, 0); 2];
        for (field, cells) in &self.fields {
            add(&mut all, cells);
            if cells[0].1 < MIN_FIELD_VALUES {
                add(&mut others, cells);
            } else {
                lines.push(row(field, cells));
            }
        }
        if others[0].1 > 0 {
            lines.push(row("others", &others));
        }
        lines.push(row("**all fields**", &all));
        lines.push(row("**whole answers**", &self.answers));
        lines.join("\n")
    }
}

/// Whether two values are equal: numbers are, however they are written.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => (one - other).abs() < f64::EPSILON,
        _ => one == other,
    }
}

fn add(to: &mut [(usize, usize); 2], cells: &[(usize, usize); 2]) {
    for (to, cell) in to.iter_mut().zip(cells) {
        *to = (to.0 + cell.0, to.1 + cell.1);
    }
}

fn of((right, all): (usize, usize)) -> String {
    format!("{right} of {all}")
}

fn row(name: &str, cells: &[(usize, usize); 2]) -> String {
    let share = |(right, all): (usize, usize)| {
        if all == 0 {
            "–".to_owned()
        } else {
            format!("{:.1} %", right as f64 * 100.0 / all as f64)
        }
    };
    format!("| {name} | {} | {} | {} |", cells[0].1, share(cells[0]), share(cells[1]))
}

/// The values of an answer with their JSON pointers: scalars, and arrays of strings as a whole.
fn leaves<'a>(
    value: &'a Value,
    pointer: String,
    tools_told: bool,
    to: &mut Vec<(String, &'a Value)>,
) {
    match value {
        Value::Object(fields) => {
            for (key, field) in fields {
                if tools_told || !(is_call(fields) && field.is_string()) {
                    leaves(field, format!("{pointer}/{key}"), tools_told, to);
                }
            }
        }
        Value::Array(items) if items.iter().any(|item| !item.is_string()) => {
            for (at, item) in items.iter().enumerate() {
                leaves(item, format!("{pointer}/{at}"), tools_told, to);
            }
        }
        _ => to.push((pointer, value)),
    }
}
