//! Typed extraction: text in, a Rust struct out. The model cannot write anything that does not
//! deserialise.
//!
//!     cargo run --release --example extract
//!
//! Another model folder than the embedded model: give its path as the argument.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;

use maskwright::engine::{Engine, Request};
use maskwright::model::ModelOptions;
use maskwright::{Compiler, SamplingParams};
use schemars::JsonSchema;
use serde::Deserialize;

/// The facts to find in the text. Doc comments of fields become descriptions in the schema.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "shown by `Debug` only")]
struct Person {
    #[schemars(length(min = 1, max = 60))]
    name: String,
    #[schemars(range(max = 150))]
    age: u8,
    #[schemars(length(min = 1, max = 60))]
    city: String,
}

const TEXTS: [&str; 3] = [
    "Ada Lovelace, 36, lives in London and writes to ada@example.org.",
    "My neighbour Tom Baker (52) has just moved to Bristol.",
    "In Paris I met Marie Dupont, who is 41.",
];

fn main() -> Result<(), Box<dyn Error>> {
    let mut options = ModelOptions::default();
    if let Some(model) = std::env::args().nth(1) {
        options.source = model.parse()?;
    }
    let engine = Engine::load(&options)?;
    // Compiled once, used for every text.
    let constraint = Compiler::new(Arc::clone(engine.vocabulary())).json_schema_for::<Person>()?;
    for text in TEXTS {
        let request = Request {
            constraint: Some(constraint.clone()),
            sampling: SamplingParams::greedy(),
            ..Request::text(text)
        };
        let person: Person = engine.generate_as(&request)?;
        println!("{text}\n  {person:?}");
    }
    Ok(())
}
