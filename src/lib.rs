//! Structured decoding: a language model writes only text that a constraint accepts.
//!
//! A constraint (JSON Schema, regex, grammar, choice) and a [`Vocabulary`] are
//! compiled once; at each decoding step a mask of allowed tokens comes out and is applied to the
//! logits before anything else touches them.

mod completion;
mod deadline;
mod limits;
mod mask;
mod recognizer;
#[cfg(any(feature = "cli", feature = "server"))]
mod strict_json;

pub mod constraint;
pub mod ebnf;
pub mod error;
pub mod grammar;
pub mod json_schema;
pub mod lint;
pub mod regular;
pub mod sample;
pub mod sampling;
pub mod tools;
pub mod vocabulary;

#[doc(hidden)]
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "model")]
pub mod engine;
#[cfg(feature = "model")]
pub mod model;
#[cfg(feature = "server")]
pub mod server;

pub use completion::TokensToFinish;
pub use constraint::{
    Compiler, Constraint, DraftToken, Expected, Explanation, Matcher, fill_masks,
};
#[cfg(feature = "model")]
pub use engine::{Engine, Request};
pub use error::{Error, ErrorKind, Place, Result};
pub use limits::Limits;
#[doc(hidden)]
pub use mask::{Strategies, Strategy};
pub use sampling::{Sampler, SamplingParams};
pub use vocabulary::{TokenMask, Vocabulary};

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
