//! A tool-calling loop: under one constraint the model picks a tool *and* its arguments, the
//! program runs it, and the result goes back into the conversation until the model answers.
//!
//!     cargo run --release --example tools
//!
//! The embedded model knows little of tools, so do not expect good choices from it; but every call
//! it makes is one of the tools below, with arguments of the right type, because nothing else can
//! be written. Give a model folder's path as the argument for a model that knows better.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::ops::ControlFlow;
use std::sync::Arc;

use maskwright::engine::{Engine, Request};
use maskwright::model::{Message, ModelOptions};
use maskwright::{Compiler, SamplingParams};
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
    /// The answer to the user, which ends the loop.
    Answer {
        #[schemars(length(min = 1, max = 80))]
        text: String,
    },
}

/// The most calls before the program loses patience.
const MAX_CALLS: usize = 5;

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = ModelOptions::default();
    if let Some(model) = std::env::args().nth(1) {
        options.source = model.parse()?;
    }
    let engine = Engine::load(&options)?;
    let constraint = Compiler::new(Arc::clone(engine.vocabulary())).json_schema_for::<Call>()?;
    let question = "What is the weather in London?";
    println!("user: {question}");
    let mut messages = vec![Message::new("user", question)];
    for seed in 0..MAX_CALLS as u64 {
        let request = Request {
            constraint: Some(constraint.clone()),
            sampling: SamplingParams { seed: Some(seed), ..SamplingParams::default() },
            ..Request::chat(messages.clone())
        };
        let response = engine.generate(&request, &mut |_| ControlFlow::Continue(()))?;
        println!("model: {}", response.text);
        if !response.complete {
            println!("no call within {} tokens", request.max_tokens);
            return Ok(());
        }
        let result = match serde_json::from_str(&response.text)? {
            Call::Answer { text } => {
                println!("answer: {text}");
                return Ok(());
            }
            call => run(&call),
        };
        println!("tool: {result}");
        messages.push(Message::new("assistant", response.text));
        messages.push(Message::new("user", format!("The tool says: {result}")));
    }
    println!("no answer after {MAX_CALLS} calls");
    Ok(())
}

/// Runs a tool.
fn run(call: &Call) -> String {
    match call {
        Call::Weather { city } => format!("It is 18 degrees and cloudy in {city}."),
        Call::Add { left, right } => (i32::from(*left) + i32::from(*right)).to_string(),
        Call::Answer { text } => text.clone(),
    }
}
