//! A model's message taken apart: text for the user, reasoning, tool calls.

/// A part of a message, as it comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessagePart {
    /// Text for the user; consecutive parts belong together.
    Text(String),
    /// Reasoning; consecutive parts belong together.
    Reasoning(String),
    /// The beginning of a call.
    Call {
        /// Name of the tool.
        name: String,
        /// The id that the model gave the call before its arguments, in formats with such ids; none if an
        /// earlier call of the message has it.
        id: Option<String>,
    },
    /// Arguments of the last call, JSON; consecutive parts belong together.
    Arguments(String),
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolCall {
    /// Name of the tool.
    pub name: String,
    /// The id that the model gave the call before its arguments, in formats with such ids
    /// (`functions.weather:0` in Kimi K2's).
    pub id: Option<String>,
    /// Arguments of the call, JSON as the model wrote it.
    pub arguments: String,
}

/// A whole message: the sum of its [`MessagePart`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssistantMessage {
    /// Text for the user.
    pub text: String,
    /// Reasoning.
    pub reasoning: String,
    /// Calls, in order.
    pub calls: Vec<ToolCall>,
}

impl AssistantMessage {
    /// Adds a part.
    pub fn add(&mut self, part: &MessagePart) {
        match part {
            MessagePart::Text(text) => self.text += text,
            MessagePart::Reasoning(text) => self.reasoning += text,
            MessagePart::Call { name, id } => {
                let (name, id) = (name.clone(), id.clone());
                self.calls.push(ToolCall { name, id, arguments: String::new() });
            }
            MessagePart::Arguments(text) => {
                if let Some(call) = self.calls.last_mut() {
                    call.arguments += text;
                }
            }
        }
    }
}
