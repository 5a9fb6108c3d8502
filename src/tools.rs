//! Tool calls, reasoning and structural tags: messages with free text around constrained parts.
//!
//! A model family writes tool calls and thoughts in a format of its own. Formats are data
//! (`tool_formats/*.json`, `reasoning_formats/*.json`); each is used in both directions, to write a
//! grammar and to read a message:
//!
//! ```text
//! Tool, ToolChoice ─┐                 ┌─► Grammar ──► Constraint      (what the model may write)
//! ToolFormat ───────┼─► ToolCalls ────┤
//! ReasoningFormat ──┘                 └─► MessageReader ──► MessagePart (what it has written)
//! ```
//!
//! - [`ToolCalls`] says which tools may be called, how often, and in which [`ToolFormat`].
//! - [`ReasoningFormat`] is what a model writes in its thinking tags before that.
//! - [`MessageReader`] takes a message apart as it comes: text, reasoning, calls.
//! - [`Tags`] and [`structural_tag()`] are the general case: bodies of any kind after triggers.
//!
//! Special tokens stand in grammars by name, so a model's own ids are used.
//!
//! To add a format of tool calls: write `tool_formats/<name>.json` (its members are documented at
//! [`ToolFormat`]), add its name to `TOOL_FORMATS` (`tool_format.rs`), and messages to
//! `tests/engine/messages.rs`. No code writes or reads a particular format. A format of reasoning is
//! added likewise.
//!
//! ```
//! use maskwright::tools::{Tool, ToolCalls, ToolFormat};
//! use maskwright::{Compiler, Vocabulary};
//! use serde_json::json;
//! # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
//! # let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
//! let weather = Tool::new("weather", json!({
//!     "type": "object",
//!     "properties": {"city": {"type": "string"}},
//!     "required": ["city"],
//!     "additionalProperties": false,
//! }))?;
//! let calls = ToolCalls::new([weather], ToolFormat::named("qwen")?);
//! let mut matcher = calls.compile(&compiler)?.matcher();
//! matcher.accept_bytes(b"Let me see.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>")?;
//! assert!(matcher.is_accepting());
//! assert!(matcher.accept_bytes(b"\n<tool_call>\n{\"name\": \"wether\"").is_err());
//! # Ok::<(), maskwright::Error>(())
//! ```

mod custom_input;
mod message;
mod message_reader;
mod pieces;
mod reasoning_format;
mod structural_tag;
mod tags;
mod tool;
mod tool_calls;
mod tool_choice;
mod tool_format;

pub use custom_input::InputFormat;
pub use message::{AssistantMessage, MessagePart, ToolCall};
pub use message_reader::MessageReader;
pub use reasoning_format::{AfterReasoning, Marker, ReasoningFormat, ReasoningStart};
pub use structural_tag::structural_tag;
pub use tags::{Tag, TagBody, Tags};
pub use tool::Tool;
pub use tool_calls::ToolCalls;
pub use tool_choice::ToolChoice;
pub use tool_format::ToolFormat;
