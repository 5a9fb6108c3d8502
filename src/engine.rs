//! The engine: a prompt goes in, text comes out token by token, and under a constraint only text
//! that the constraint accepts.
//!
//! The way of one request through the files:
//!
//! | file | part |
//! |---|---|
//! | `request` | what a caller asks for, and its validation |
//! | `llm_engine` | [`Engine`]: the public entry points |
//! | `prompt`, `token_healing` | the prompt's tokens |
//! | `model_runner` | the model and its draft model; prefill |
//! | `decoding_loop` | one text: forward pass, draw, next token; with or without speculation |
//! | `ranking`, `beam_search` | several texts of which the best are returned |
//! | `sequence` | the state of one text, and the step that adds a token: mask, draw, report |
//! | `reasoning_budget`, `stop_stream`, `stop_patterns` | what a step feeds: the count of reasoning tokens, and the text that can be shown |
//! | `speculation` | guesses that one forward pass reads together |
//! | `response` | events while a text grows, and the response |
//! | `message_format` | reasoning and tool calls in a message |
//!
//! Texts are written one at a time; there is no batch and no scheduler. Texts with the same prompt
//! share its KV cache, copied on write.
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use maskwright::engine::{Engine, Event, Request};
//! use maskwright::model::ModelOptions;
//! let engine = Engine::load(&ModelOptions::default())?;
//! let request = Request { max_tokens: 64, ..Request::text("Write a haiku.") };
//! let response = engine.generate(&request, &mut |event| {
//!     if let Event::Text(chunk) = event {
//!         print!("{chunk}");
//!     }
//!     ControlFlow::Continue(())
//! })?;
//! assert!(response.usage.completion_tokens <= 64);
//! # Ok::<(), maskwright::Error>(())
//! ```

mod beam_search;
mod decoding_loop;
mod llm_engine;
mod message_format;
mod model_runner;
mod prompt;
mod ranking;
mod reasoning_budget;
mod request;
mod response;
mod sequence;
mod speculation;
mod stop_patterns;
mod stop_stream;
mod token_healing;

pub use llm_engine::Engine;
pub use message_format::{MessageFormats, Protocol};
pub use reasoning_budget::Thinking;
pub use request::{BeamSearch, EarlyStopping, Prompt, Request, Speculation};
pub use response::{
    Event, FinishReason, Passes, Rejection, Response, Step, StopReason, Timing, Usage, Wanted,
};
