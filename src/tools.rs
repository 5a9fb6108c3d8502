//! Tool calls and structural tags: free text until a trigger, then a constrained body, then free
//! text again.
//!
//! [`ToolCalls`] says which tools may be called, how often, and in which [`Format`]; the formats of
//! the usual model families are data (`formats/`). [`Tags`] are the general case, with bodies of any
//! kind. [`Reasoning`] is what a model writes in its thinking tags before either. A [`Reader`] takes
//! apart what was written. All become a [`Grammar`](crate::grammar::Grammar), and special tokens stand in it by
//! name, so that the model's own ids are used.
//!
//! ```
//! use maskwright::tools::{Format, Tool, ToolCalls};
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
//! let calls = ToolCalls::new([weather], Format::named("qwen")?);
//! let mut matcher = calls.compile(&compiler)?.matcher();
//! matcher.accept_bytes(b"Let me see.\n<tool_call>\n{\"name\": \"weather\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>")?;
//! assert!(matcher.is_accepting());
//! assert!(matcher.accept_bytes(b"\n<tool_call>\n{\"name\": \"wether\"").is_err());
//! # Ok::<(), maskwright::Error>(())
//! ```

mod calls;
mod format;
mod pieces;
mod reader;
mod reasoning;
mod structural_tag;
mod tags;
mod tool;

pub use calls::{ToolCalls, ToolChoice};
pub use format::Format;
pub use reader::{Call, Part, Reader, Reply};
pub use reasoning::{Marker, Reasoning};
pub use structural_tag::structural_tag;
pub use tags::{Body, Tag, Tags};
pub use tool::Tool;
