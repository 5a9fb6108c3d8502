//! The bodies of requests, read field by field.
//!
//! A field is read, or accepted because it cannot change the answer, or refused by its name; there is
//! no fourth case. [`Fields`] hands out each field once, and [`Fields::finish`] refuses the rest:
//!
//! ```text
//! chat.rs            all of a chat completion; beside it completion.rs and decision.rs
//! messages.rs        messages
//! template.rs        chat_template_kwargs
//! answer_format.rs   response_format, structured_outputs, guided_*, grammar, json_schema, …
//! constraint_options.rs  constraint_options
//! tools.rs           tools, tool_choice, parallel_tool_calls, reasoning_*
//! generation.rs      temperature, top_p, … best_of, num_beams, speculate, …
//! generation_fields.rs   max_tokens, stop, n, stream
//! model_name.rs      model
//! harmless.rs        fields that change nothing
//! ```
//!
//! To add a field: read it in the file of its group (`fields.number("x", 0.0..=1.0)?`), put it into
//! [`ChatRequest`] or one of its parts, add a wrong value to the tests of `chat.rs`, and name it in
//! `docs/http.md` and `openapi/document.json`. A field that cannot change the answer goes into `harmless.rs`.

mod answer_format;
mod chat;
mod completion;
mod constraint_key;
mod constraint_options;
mod decision;
mod fields;
mod generation;
mod generation_fields;
mod harmless;
mod messages;
mod model_name;
mod template;
mod tools;

pub(super) use answer_format::{AnswerFormat, read_constraint};
pub(super) use chat::ChatRequest;
pub(super) use completion::CompletionRequest;
pub(super) use constraint_key::constraint_key;
pub(super) use decision::{DecisionRequest, Question, QuestionKind};
#[cfg(test)]
pub(super) use fields::fields_taken;
pub(super) use fields::{Fields, ignoring_unknown, wrong};
pub(super) use generation_fields::{
    GenerationFields, GenerationSettings, StreamOptions, TokenBudget,
};
pub(super) use messages::messages as read_messages;
pub(super) use model_name::check_model;
pub(super) use template::variables as template_variables;
pub(super) use tools::{MessageRequest, apply_tools, tools as read_tools};
