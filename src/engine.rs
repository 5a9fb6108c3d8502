//! The decoding loop: a prompt goes in, text comes out, token by token, and under a constraint only
//! text that the constraint accepts.
//!
//! One request, from the top: [`Engine::generate`] turns the prompt into tokens (`prompt`), lets
//! the model read them, and then at each step takes the constraint's mask, draws a token with the
//! [`Sampler`](crate::sampling::Sampler), tells the matcher, and hands the text on as far as no
//! stop string can still begin in it (`text`).
//!
//! ```no_run
//! use std::ops::ControlFlow;
//! use maskwright::generation::{Engine, Event, Request};
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
mod llm_engine;
mod message_format;
mod prompt;
mod reasoning_budget;
mod request;
mod response;
mod sequence;
mod speculation;
mod stop_stream;
mod token_healing;

pub use llm_engine::Engine;
pub use message_format::Protocol;
pub use reasoning_budget::Thinking;
pub use request::{BeamSearch, EarlyStopping, Prompt, Request, Speculation};
pub use response::{
    Event, FinishReason, Passes, Rejection, Response, Step, StopReason, Timing, Usage, Wanted,
};
