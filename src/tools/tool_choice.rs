//! The choice between text and calls.

/// OpenAI's `tool_choice`: whether a tool must be called, and which.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ToolChoice {
    /// Text, calls or both.
    #[default]
    Auto,
    /// No call: text only.
    None,
    /// At least one call, and no free text.
    Required,
    /// Exactly one call of this tool, and no free text.
    Named(String),
}
