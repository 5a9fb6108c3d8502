//! Shared parts of this package's tests: real schemas, another validator with exact numbers,
//! random walks, and random schemas with instances of them.
//!
//! Nothing here is the engine's: a text is judged by the `jsonschema` crate, as it is written.

pub mod corpus;
pub mod instances;
pub mod random;
pub mod schemas;
pub mod shrink;
pub mod validator;
pub mod walk;

/// A number from the environment.
pub fn setting(name: &str, otherwise: usize) -> usize {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("{name} is not a number: {text}")),
        Err(_) => otherwise,
    }
}
