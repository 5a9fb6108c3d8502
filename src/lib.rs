//! Structured decoding: a language model writes only text that a constraint accepts.
//!
//! A constraint (JSON Schema, regex, grammar, choice) and a [`Vocabulary`] are
//! compiled once; at each decoding step a mask of allowed tokens comes out and is applied to the
//! logits before anything else touches them.

mod deadline;
pub mod error;
pub mod grammar;
pub mod regex;
#[cfg(any(feature = "cli", feature = "server"))]
mod strict_json;
pub mod vocab;

pub mod constraint;
pub mod ebnf;
pub mod json_schema;
pub mod sample;
pub mod sampling;
pub mod tools;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "model")]
pub mod generation;
#[cfg(feature = "model")]
pub mod model;
#[cfg(feature = "server")]
pub mod server;

pub use constraint::{
    Compiler, Constraint, DraftToken, Expected, Explanation, Limits, Matcher, TokensToFinish,
    fill_masks,
};
pub use error::{Error, ErrorKind, Place, Result};
#[cfg(feature = "model")]
pub use generation::{Engine, Request};
pub use sampling::{Sampler, SamplingParams};
pub use vocab::{TokenMask, Vocabulary};

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
