//! JSON Schema: what each keyword accepts, alone and with its siblings, and what is said of schemas
//! that are no good.

mod alternatives;
mod any_spelling;
mod applied;
mod blow_up;
#[path = "../common/mod.rs"]
mod common;
mod corpus;
mod dead_ends;
mod errors;
mod keywords;
mod limits;
mod lint;
mod random;
mod references;
mod regex_format;
mod spelling;
mod styles;
mod switches;
mod unevaluated;
mod unique_items;
mod whitespace;

use maskwright::json_schema::{Options, Schema};

/// Asserts that the schema accepts exactly those of the texts.
fn check(schema: &str, accepted: &[&str], rejected: &[&str]) {
    let options = Options::default();
    let grammar = Schema::from_text(schema).and_then(|s| s.grammar(&options));
    let grammar = grammar.unwrap_or_else(|e| panic!("{schema}: {e}"));
    common::check(&grammar, schema, accepted, rejected);
}

/// The error of a schema that does not compile.
fn error(schema: &str) -> maskwright::Error {
    let options = Options::default();
    match Schema::from_text(schema).and_then(|s| s.grammar(&options)) {
        Ok(_) => panic!("{schema} must not compile"),
        Err(error) => error,
    }
}
