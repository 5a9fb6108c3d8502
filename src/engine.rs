//! The engine: a prompt goes in, text comes out token by token, and under a constraint only text
//! that the constraint accepts.
//!
//! The tasks of many requests run side by side, one forward pass at a time:
//!
//! ```text
//! submit ──▶ Inbox ──▶ EngineLoop: plan ──▶ forward_batch ──▶ draw ──▶ emit ──▶ Listener
//!                       Scheduler ┘              ∥             ▲
//!                                        PreparationThreads: guesses, masks
//! ```
//!
//! The files, in the order in which a request passes them:
//!
//! | file | part |
//! |---|---|
//! | `request` | what a caller asks for, and its validation |
//! | `llm_engine` | [`Engine`]: the public entry points |
//! | `engine_options`, `kv_cache_size` | settings of an engine, figures of its loop, and the default size of the KV cache |
//! | `prompt`, `token_healing` | the prompt's tokens |
//! | `model_runner` | the model and its draft model, and the check of a request |
//! | `submission`, `mailbox` | a request as the loop holds it, and the listener of its events, in this thread or another |
//! | `engine_loop` | a step: plan, forward pass, draws, events |
//! | `loop_state` | the tasks of the loop and their KV-cache blocks: the scheduler's view, and the forward pass |
//! | `scheduler` | the policy: which tasks a pass reads tokens of, which wait, which are preempted |
//! | `prefix_cache` | blocks of the KV cache that prompts with the same beginning share |
//! | `preparation` | the threads that compute masks while the model runs |
//! | `task`, `branch` | the unit of scheduling, and its token sequences: tokens, KV cache, logits that wait for their draw |
//! | `prompt_logprobs` | log-probabilities of the prompt's own tokens |
//! | `ranking`, `beam_search` | several texts of which the best are returned |
//! | `decision`, `label_search`, `label_trie`, `label_masses` | labels whose probabilities are read instead of a text |
//! | `sequence` | the state of one text, and the step that adds a token: mask, draw, report |
//! | `reasoning_budget`, `stop_stream`, `stop_patterns` | what a step feeds: the count of reasoning tokens, and the text that can be shown |
//! | `stop_cache` | the automata of stops that were asked for lately |
//! | `speculation` | guesses that one forward pass reads together |
//! | `response` | events while a text grows, and the response |
//! | `message_format`, `begun_answer` | reasoning and tool calls in a message, and its beginning |
//!
//! One text alone goes the way of many. A text does not depend on what is written beside it.
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
mod begun_answer;
mod branch;
mod decision;
mod engine_loop;
mod engine_options;
mod kv_cache_size;
mod label_masses;
mod label_search;
mod label_trie;
mod llm_engine;
mod loop_state;
mod mailbox;
mod message_format;
mod model_runner;
mod prefix_cache;
mod preparation;
mod prompt;
mod prompt_logprobs;
mod ranking;
mod reasoning_budget;
mod request;
mod response;
mod scheduler;
mod sequence;
mod speculation;
mod stop_cache;
mod stop_patterns;
mod stop_stream;
mod submission;
mod task;
mod token_healing;

pub use begun_answer::{MessageStart, OpenedReasoning};
pub use decision::{Decision, DecisionStop, Label, LabelEnd, LabelProbability, Labels};
pub use engine_options::{EngineOptions, EngineStats};
pub use llm_engine::{Engine, SubmittedRequest};
pub use message_format::{MessageFormats, Protocol, UnaskedReasoning};
pub use prompt_logprobs::PromptToken;
pub use reasoning_budget::Thinking;
pub use request::{BeamSearch, EarlyStopping, Prompt, Request, Speculation};
pub use response::{
    Event, FinishReason, Passes, Rejection, Response, Step, StopReason, Timing, Usage, Wanted,
};
pub use submission::Listener;
