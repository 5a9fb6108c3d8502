//! The smallest program: a schema, a prompt, and JSON that the schema accepts.
//!
//!     cargo run --release --example minimal

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::ops::ControlFlow;
use std::sync::Arc;

use maskwright::model::ModelOptions;
use maskwright::{Compiler, Engine, Request, Result};
use serde_json::json;

fn main() -> Result<()> {
    // The model that is part of the program; `ModelOptions::source` names a folder instead.
    let engine = Engine::load(&ModelOptions::default())?;
    let compiler = Compiler::new(Arc::clone(engine.vocabulary()));
    let constraint = compiler.json_schema(&json!({
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
        "required": ["name", "age"],
        "additionalProperties": false,
    }))?;
    let request = Request {
        constraint: Some(constraint),
        ..Request::text("Ada Lovelace, 36, lives in London.")
    };
    println!("{}", engine.generate(&request, &mut |_| ControlFlow::Continue(()))?.text);
    Ok(())
}
