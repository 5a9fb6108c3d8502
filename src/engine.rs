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

mod beam;
mod generate;
mod healing;
mod prompt;
mod protocol;
mod request;
mod response;
mod sequence;
mod speculate;
mod text;
mod thinking;

pub use generate::Engine;
pub use protocol::Protocol;
pub use request::{BeamSearch, EarlyStopping, Prompt, Request, Speculation};
pub use response::{
    Event, FinishReason, Passes, Rejection, Response, Step, StopReason, Timing, Usage, Wanted,
};
pub use thinking::Thinking;
