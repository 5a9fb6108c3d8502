//! Structured decoding: a language model writes only text that a constraint accepts.
//!
//! A constraint (a JSON Schema, a regular expression, a grammar, a list of choices, a set of tools)
//! and the token vocabulary of a model go in; at each decoding step a mask of allowed tokens comes
//! out, which is applied to the logits before anything else touches them. The mask is exact: a token
//! is allowed if and only if the text can still be completed after it. What cannot be enforced
//! exactly is an error that names the place, never dropped in silence.
//!
//! - [Three steps](#three-steps)
//! - [When to use what](#when-to-use-what): constraints, masks, the end of a text, batches, loops
//! - [Examples](#examples): masks for your own logits; JSON within a budget; the embedded model
//! - [Errors and limits](#errors-and-limits)
//! - [Cargo features](#cargo-features) and dependencies
//!
//! # Three steps
//!
//! ```text
//! tokenizer file ──► Vocabulary ──► Compiler ──► Constraint ──► Matcher ──► mask ──► your sampler
//!                    1 per model    1 per model  1 per schema   1 per text     ▲         │
//!                                                                              └─ accept(token)
//! ```
//!
//! 1. A [`Vocabulary`] holds the bytes of every token and says which tokens are special. Read it from
//!    a `tokenizer.json`, a tiktoken or a GGUF file
//!    ([`Vocabulary::from_file`], or [`from_file_indexed`](Vocabulary::from_file_indexed) to load
//!    faster from the second time on).
//! 2. A [`Compiler`] turns constraints into [`Constraint`]s for it. Both are immutable, cheap to clone
//!    and shared between threads; what one text teaches about a constraint, the next one profits from.
//! 3. A [`Matcher`] follows one text: [`mask`](Matcher::mask) says which tokens may come next,
//!    [`accept`](Matcher::accept) takes the one that was drawn. It forks by `clone`, rolls back in
//!    O(1), and is finished when an end token was accepted.
//!
//! # When to use what
//!
//! **Constraints.**
//!
//! | the text is | use |
//! |---|---|
//! | JSON of a known shape | [`Compiler::json_schema`], `json_schema_str`, `json_schema_for::<T>` |
//! | JSON of any shape | [`Compiler::json_object`] |
//! | a date, a number, an identifier: no nesting | [`Compiler::regex`] |
//! | a language with nesting: code, queries, formulas | [`Compiler::gbnf`], [`lark`](Compiler::lark) and other notations, or a ready grammar of [`ebnf::GRAMMARS`] |
//! | one of a few texts | [`Compiler::choice`] |
//! | one of thousands or millions of texts | [`Compiler::choices`] |
//! | words of a source, verbatim | [`Compiler::quotation`] |
//! | calls of tools, beside text or instead of it | [`tools::ToolCalls`] |
//! | several of these at once, or not one of them | [`Compiler::formula`] |
//!
//! **Masks.**
//!
//! | you have | use |
//! |---|---|
//! | this crate's [`Sampler`] | [`Matcher::mask`], which lends a [`TokenMask`] to [`Sampler::draw`] |
//! | an engine with rows of `ceil(V / 32)` words of 32 bits | [`Matcher::fill_mask`] |
//! | many sequences at a step | [`fill_masks`], on all cores |
//! | a tree of draft tokens to verify | [`Matcher::fill_tree`] |
//! | time between compiling and the first mask | [`precompute_masks`](precompute::precompute_masks), or a [`MaskPrecomputer`](precompute::MaskPrecomputer) that does it in the background |
//! | no time for a mask at each step | [`Matcher::accept`] as a check of drawn tokens; [`Matcher::forced_tokens`] where there is no choice |
//!
//! **The end of a text.** A mask alone keeps every text completable, but a limit on tokens may cut it
//! off. [`Matcher::mask_within`] allows only tokens after which the rest of the budget is enough;
//! [`Matcher::tokens_to_finish`] says how many that takes, and
//! [`Matcher::check_budget`] refuses a budget that cannot be enough before anything is generated.
//!
//! **The decoding loop.** Your own, with any model, as in the first two examples. Or that of `Engine`
//! (feature `model`): models of many families on CPU or CUDA, with beams, speculation, stop strings and
//! budgets; `server` puts OpenAI's HTTP API in front of it.
//!
//! **Without a model.** [`sample::Texts`] draws random texts of a constraint, and near misses, to test
//! parsers with; [`lint`] says what a schema does to generation; [`Matcher::expected`] and
//! [`Matcher::explain`] say why a text or a token is rejected.
//!
//! # Examples
//!
//! Masks for your own logits:
//!
//! ```
//! use maskwright::{Compiler, Vocabulary};
//!
//! // Of a model: Vocabulary::from_file("tokenizer.json")?
//! let tokens = ["yes", "no", "maybe", "y", "es"].map(|token| Some(token.into()));
//! let mut tokens = tokens.to_vec();
//! tokens.push(None); // 5: the end token, which has no bytes
//! let vocabulary = Vocabulary::from_tokens(tokens, &[(5, "</s>")], &[5])?;
//!
//! let constraint = Compiler::new(vocabulary).choice(&["yes", "no"])?;
//! let mut matcher = constraint.matcher();
//! let mut text = Vec::new();
//! while !matcher.is_finished() {
//!     let logits = [0.1, 0.2, 9.0, 0.5, 0.3, 0.0]; // of your model; it wants "maybe"
//!     let mut mask = [0; 1]; // a bit for each token, in words of 32
//!     matcher.fill_mask(&mut mask)?;
//!     let allowed = (0..6).filter(|&token| mask[0] >> token & 1 == 1);
//!     let best = allowed.max_by(|&a, &b| f32::total_cmp(&logits[a], &logits[b])).unwrap();
//!     matcher.accept(best as u32)?;
//!     text.push(best);
//! }
//! assert_eq!(text, [3, 4, 5]); // "y", "es", the end
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! JSON of a schema, complete within a budget of tokens, whatever the model wants:
//!
//! ```
//! use maskwright::{Compiler, Sampler, SamplingParams, Vocabulary};
//!
//! let tokens = (0..=u8::MAX).map(|byte| Some(vec![byte])).chain([None]).collect();
//! let vocabulary = Vocabulary::from_tokens(tokens, &[(256, "</s>")], &[256])?;
//! let constraint = Compiler::new(vocabulary).json_schema_str(
//!     r#"{"type": "array", "items": {"enum": ["red", "green"]}, "minItems": 1}"#,
//! )?;
//!
//! let budget = 40;
//! let mut matcher = constraint.matcher();
//! matcher.check_budget(budget)?; // an error if no text fits
//! let mut sampler = Sampler::new(&SamplingParams { seed: Some(7), ..Default::default() })?;
//! let mut text = Vec::new();
//! for left in (1..=budget).rev() {
//!     let mut logits = vec![0.0; 257];
//!     logits[usize::from(b',')] = 99.0; // a model that never stops by itself
//!     let token = sampler.draw(&logits, Some(matcher.mask_within(left)?))?.token;
//!     matcher.accept(token)?;
//!     sampler.accept(token);
//!     if matcher.is_finished() {
//!         break;
//!     }
//!     text.push(token as u8);
//! }
//! let colors: Vec<String> = serde_json::from_slice(&text).expect("complete JSON");
//! assert!(colors.iter().all(|color| color == "red" || color == "green"));
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! The embedded model writes a value of a Rust type (feature `model`):
//!
//! ```
//! # #[cfg(feature = "model")]
//! # fn main() -> maskwright::Result<()> {
//! use maskwright::model::ModelOptions;
//! use maskwright::{Engine, Request, SamplingParams};
//!
//! #[derive(Debug, serde::Deserialize, schemars::JsonSchema)]
//! struct Person {
//!     name: String,
//!     age: u8,
//! }
//!
//! let engine = Engine::load(&ModelOptions::default())?; // no download: it is part of the crate
//! let request = Request {
//!     max_tokens: 60,
//!     sampling: SamplingParams::greedy(),
//!     ..Request::text("Ada Lovelace is 36 years old.")
//! };
//! let person: Person = engine.generate_as(&request)?;
//! assert!(!person.name.is_empty());
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "model"))]
//! # fn main() {}
//! ```
//!
//! # Errors and limits
//!
//! Every error is an [`Error`]: a [kind](ErrorKind) to branch on, a message, a [place](Place) (file,
//! line and column, JSON pointer), and mostly the cure. [`Limits`] bound memory and time of compiling
//! and of each call of a matcher; reaching one is an error whose [`limit`](Error::limit) names it, and
//! leaves the matcher where it was.
//!
//! # Cargo features
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `schemars` | with `model` | `Compiler::json_schema_for`, `Tool::for_type`: constraints and tools from Rust types |
//! | `model` | yes | `Engine`, `model`: models on the CPU (candle), tokenizer, chat template, an embedded model |
//! | `server` | yes | `server`: OpenAI's and Anthropic's HTTP APIs, decisions and constraint checks (axum, tokio); implies `model` |
//! | `cli` | yes | the command `maskwright`; implies `model` |
//! | `cuda` | no | models on NVIDIA GPUs; implies `model` |
//! | `hub` | no | downloads of models from Hugging Face's hub; implies `model` |
//! | `candle-transformers` | no | model types that the decoder here does not cover; implies `model` |
//! | `proptest` | no | texts of a constraint as strategies of the `proptest` crate |
//!
//! With `default-features = false` the crate is everything else: no tensors, no async runtime, no
//! network, no C code. It then depends on regex-syntax (patterns), serde and serde_json, num-bigint
//! (multiples of any size), rayon (batches), hashbrown, rustc-hash, smallvec, self_cell, rand_chacha
//! (seeds that give the same text everywhere), memmap2, twox-hash and libc (tokenizer files and their
//! index), fst (lists of choices).

mod completion;
mod deadline;
mod limits;
mod mask;
mod recognizer;
mod thread_pool;

pub mod constraint;
pub mod ebnf;
pub mod error;
pub mod grammar;
pub mod json_schema;
pub mod lint;
pub mod precompute;
pub mod regular;
pub mod sample;
pub mod sampling;
pub mod strict_json;
pub mod tools;
mod urgency;
pub mod vocabulary;

#[cfg(feature = "model")]
pub mod engine;
#[cfg(feature = "model")]
pub mod model;
#[cfg(feature = "server")]
pub mod server;

pub use completion::TokensToFinish;
pub use constraint::{
    Capture, Compiler, Constraint, DraftToken, Expected, Explanation, LimitValue, Matcher,
    NamedLimit, fill_masks,
};
#[cfg(feature = "model")]
pub use engine::{Engine, Request};
pub use error::{Error, ErrorKind, LimitName, Place, Result};
pub use limits::Limits;
#[doc(hidden)]
pub use mask::{Strategies, Strategy};
pub use sampling::{Sampler, SamplingParams};
pub use vocabulary::{TokenMask, Vocabulary};

/// Runs the README's example.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Runs the examples of `docs/library.md`.
#[cfg(doctest)]
#[doc = include_str!("../docs/library.md")]
struct LibraryGuide;
