//! A tool call: under one constraint the model picks a tool *and* its arguments, the program runs it, and
//! under another the model answers from what the tool gave.
//!
//!     cargo run --release --example tools
//!
//! The embedded model knows little of tools, so do not expect good choices from it; but every call it makes is
//! one of the tools below, with arguments of the right type, because nothing else can be written. Give a model
//! folder's path as the argument for a model that knows better.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;

use maskwright::engine::{Engine, Request};
use maskwright::model::{Message, ModelOptions};
use maskwright::{Compiler, Constraint, SamplingParams};
use schemars::JsonSchema;
use serde::Deserialize;

/// One call. The enum's variants are the tools: the schema that is derived from it is one choice
/// among them, each with its own arguments.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(tag = "tool", rename_all = "snake_case", deny_unknown_fields)]
enum Call {
    /// The weather in a city.
    Weather {
        #[schemars(length(min = 1, max = 30))]
        city: String,
    },
    /// The sum of two numbers.
    Add { left: i16, right: i16 },
}

/// The answer to the user.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Answer {
    #[schemars(length(min = 1, max = 30))]
    city: String,
    degrees: i16,
    #[schemars(length(min = 1, max = 30))]
    weather: String,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = ModelOptions::default();
    if let Some(model) = std::env::args().nth(1) {
        options.source = model.parse()?;
    }
    let engine = Engine::load(&options)?;
    let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
    let question = "What is the weather in London?";
    println!("user: {question}");
    let mut messages = vec![Message::new("user", question)];
    let Some(text) = write(&engine, &messages, compiler.json_schema_for::<Call>()?)? else {
        return Ok(());
    };
    let result = run(&serde_json::from_str(&text)?);
    println!("tool: {result}");
    messages.push(Message::new("assistant", text));
    messages.push(Message::new("user", result));
    if let Some(text) = write(&engine, &messages, compiler.json_schema_for::<Answer>()?)? {
        let Answer { city, degrees, weather } = serde_json::from_str(&text)?;
        println!("answer: {weather} in {city}, at {degrees} degrees");
    }
    Ok(())
}

/// The model's next message, which the constraint accepts; `None` if there was no room for all of it.
fn write(
    engine: &Engine,
    messages: &[Message],
    constraint: Constraint,
) -> Result<Option<String>, Box<dyn Error>> {
    let request = Request {
        constraint: Some(constraint),
        sampling: SamplingParams::greedy(),
        ..Request::chat(messages.to_vec())
    };
    let response = engine.generate(&request, &mut |_| ControlFlow::Continue(()))?;
    println!("model: {}", response.text);
    if !response.complete {
        println!("no whole text within {} tokens", request.max_tokens);
    }
    Ok(response.complete.then_some(response.text))
}

/// Runs a tool.
fn run(call: &Call) -> String {
    match call {
        Call::Weather { city } => format!("It is 18 degrees and cloudy in {city}."),
        Call::Add { left, right } => (i32::from(*left) + i32::from(*right)).to_string(),
    }
}
