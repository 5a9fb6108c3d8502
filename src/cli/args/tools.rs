//! Options of tool calls and reasoning, and the printer of messages with them.

use std::io::{self, Write as _};

use serde_json::{Value, json};

use maskwright::engine::{
    Engine, MessageFormats, MessageStart, OpenedReasoning, Protocol, Request, UnaskedReasoning,
};
use maskwright::error::{Error, Result};
use maskwright::tools::{
    AssistantMessage, MessagePart, MessageReader, ReasoningFormat, Tool, ToolCall, ToolCalls,
    ToolChoice, ToolFormat,
};
use maskwright::{Compiler, Constraint};

use super::constraint::ConstraintArgs;
use crate::cli::input::{parse_json, read_file_or_json};
use crate::cli::output;

/// Tools that the model may call, and reasoning before the answer.
#[derive(Debug, clap::Args)]
pub(crate) struct ToolArgs {
    /// Tools that the model may call, as a JSON array in the shape of OpenAI, Anthropic or MCP: a
    /// file, or the array itself. With a constraint, a text without calls must satisfy it
    #[arg(long, value_name = "FILE|JSON", help_heading = "Tools", allow_hyphen_values = true)]
    tools: Option<String>,
    /// The calls that are made: auto (text or calls), none, required (at least one), or a tool's name
    /// (exactly that one) [default: auto; required where the model has no chat template, which
    /// would tell it of tools, and nothing is asked of a text]
    #[arg(
        long,
        value_name = "auto|none|required|NAME",
        help_heading = "Tools",
        requires = "tools"
    )]
    tool_choice: Option<String>,
    /// Format of the calls, by its name in docs/coverage.md or as vLLM, SGLang or XGrammar call it
    /// [default: that of the chat template, or json]
    #[arg(long, visible_alias = "tool-call-parser", value_name = "FORMAT")]
    #[arg(help_heading = "Tools", requires = "tools")]
    tool_format: Option<String>,
    /// At most one call
    #[arg(long, help_heading = "Tools", requires = "tools")]
    no_parallel_tool_calls: bool,
    /// Lets the model think first, in the tags of a format: think, mistral, gpt-oss or another of
    /// docs/coverage.md [default: that of its chat template, or think]
    #[arg(long, value_name = "FORMAT", help_heading = "Reasoning", num_args = 0..=1)]
    #[arg(require_equals = true)]
    reasoning: Option<Option<String>>,
    /// The most tokens that it thinks; then its thinking is ended
    #[arg(long, value_name = "N", help_heading = "Reasoning")]
    reasoning_budget: Option<usize>,
}

/// Output of reasoning that nobody asked for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum UnaskedReasoningOutput {
    /// Apart from the text.
    Separate,
    /// As text.
    Text,
}

impl ToolArgs {
    /// Whether any tools are given.
    pub(crate) fn has_tools(&self) -> bool {
        self.tools.is_some()
    }

    /// Whether they are read from standard input.
    pub(crate) fn reads_stdin(&self) -> bool {
        self.tools.as_deref() == Some("-")
    }

    /// Sets up a request that has its prompt: tools, reasoning, and the constraint of the whole message.
    /// Gives the protocol by which the message is taken apart.
    pub(crate) fn apply(
        &self,
        engine: &Engine,
        compiler: &Compiler,
        constraint: &ConstraintArgs,
        unasked: UnaskedReasoningOutput,
        request: &mut Request,
    ) -> Result<Protocol> {
        let mut protocol = Protocol::default().of_model(engine);
        // A text without a constraint needs none for reasoning that nobody asked for.
        let mut is_unasked = false;
        if let Some(tools) = &self.tools {
            // A chat template has the tools told; a raw prompt tells of them itself.
            let untold = !request.raw && !engine.model().has_chat_template();
            let answer = constraint.grammar(compiler)?;
            // A model that is told of no tools would not know that it may call one.
            let must_call = untold && answer.is_none() && self.tool_choice.is_none();
            let mut calls = self
                .calls(engine, tools, must_call)?
                .with_json_options(constraint.configure(compiler)?.json_options());
            if let Some(answer) = answer {
                calls = calls.with_answer(answer);
            }
            protocol = protocol.with_calls(calls, request);
            if untold {
                let choice = if must_call {
                    "; it must call one, unless --tool-choice auto lets it write text"
                } else {
                    ""
                };
                output::note(&format!(
                    "the model has no chat template, so nothing tells it of the tools{choice}"
                ));
            }
        }
        if self.reasoning.is_some() || self.reasoning_budget.is_some() {
            let format = self.reasoning.iter().flatten().next();
            let format = format.map(|name| ReasoningFormat::named(name)).transpose()?;
            protocol = protocol.with_reasoning(engine, request, format, self.reasoning_budget)?;
        } else {
            let is_constrained = constraint.is_given();
            protocol = with_unasked(protocol, engine, is_constrained, unasked, request)?;
            is_unasked = true;
        }
        let compiler = protocol.compiler(compiler)?;
        request.constraint = match protocol.calls() {
            Some(calls) => Some(calls.compile(&constraint.configure(&compiler)?)?),
            None => match constraint.compile(&compiler)? {
                None if !protocol.is_plain() && !is_unasked => Some(any_text(&compiler)?),
                constraint => constraint,
            },
        };
        Ok(protocol)
    }

    /// The calls; with `must_call`, at least one is made if no choice is given.
    fn calls(&self, engine: &Engine, given: &str, must_call: bool) -> Result<ToolCalls> {
        let (text, file) = read_file_or_json(given, "a JSON file of tools, or the array itself")?;
        let in_file = |error: Error| match &file {
            Some(file) => error.in_file(file.clone()),
            None => error,
        };
        let value: Value = parse_json(&text, "the tools").map_err(in_file)?;
        let tools = Tool::read(&value).map_err(in_file)?;
        let format = match &self.tool_format {
            Some(name) => ToolFormat::named(name)?,
            None => MessageFormats::default().tool_format(engine)?,
        };
        let choice = match self.tool_choice.as_deref() {
            None if must_call => ToolChoice::Required,
            None | Some("auto") => ToolChoice::Auto,
            Some("none") => ToolChoice::None,
            Some("required") => ToolChoice::Required,
            Some(name) => ToolChoice::Named(name.to_owned()),
        };
        let parallel = !self.no_parallel_tool_calls;
        Ok(ToolCalls::new(tools, format).with_choice(choice).with_parallel_calls(parallel))
    }
}

/// The protocol of the answer to a request that has its prompt, without tools or options of reasoning.
pub(crate) fn answer_protocol(
    engine: &Engine,
    is_constrained: bool,
    request: &mut Request,
) -> Result<Protocol> {
    let protocol = Protocol::default().of_model(engine);
    with_unasked(protocol, engine, is_constrained, UnaskedReasoningOutput::Separate, request)
}

/// Adds reasoning that nobody asked for: the chat template opens it, or the model may write it by itself.
fn with_unasked(
    protocol: Protocol,
    engine: &Engine,
    is_constrained: bool,
    output: UnaskedReasoningOutput,
    request: &mut Request,
) -> Result<Protocol> {
    if begins_inside_reasoning(engine, request)? {
        return protocol.with_reasoning(engine, request, None, None);
    }
    if output == UnaskedReasoningOutput::Text {
        return Ok(protocol);
    }
    let unasked = UnaskedReasoning { is_constrained, declines: false };
    protocol.with_unasked_reasoning(engine, request, &MessageFormats::default(), unasked)
}

/// Whether the chat template ends in the tag that opens the reasoning, so that a constraint must wait for its end.
fn begins_inside_reasoning(engine: &Engine, request: &mut Request) -> Result<bool> {
    let keep = OpenedReasoning::Keep;
    let start = MessageFormats::default().begin(engine, request, String::new(), keep)?;
    Ok(start == MessageStart::Reasoning)
}

fn any_text(compiler: &Compiler) -> Result<Constraint> {
    compiler.regex("(?s:.*)")
}

/// Takes a message apart as it comes. When it streams, text goes to standard output and reasoning to
/// standard error.
pub(crate) struct MessagePrinter {
    reader: Option<MessageReader>,
    reply: AssistantMessage,
    streams: bool,
    /// Whether standard error ends in an unfinished line of reasoning.
    has_open_reasoning: bool,
}

impl MessagePrinter {
    pub(crate) fn new(protocol: &Protocol, streams: bool) -> Self {
        let (reader, reply) = (Some(protocol.reader()), AssistantMessage::default());
        Self { reader, reply, streams, has_open_reasoning: false }
    }

    pub(crate) fn text(&mut self, text: &str) -> io::Result<()> {
        let parts = self.reader.as_mut().map(|reader| reader.text(text));
        self.take(parts.unwrap_or_default())
    }

    pub(crate) fn special(&mut self, name: &str) -> io::Result<()> {
        let parts = self.reader.as_mut().map(|reader| reader.special(name));
        self.take(parts.unwrap_or_default())
    }

    /// The message, when nothing more comes.
    pub(crate) fn finish(&mut self) -> io::Result<&AssistantMessage> {
        let parts = self.reader.take().map(MessageReader::finish);
        self.take(parts.unwrap_or_default())?;
        Ok(&self.reply)
    }

    fn take(&mut self, parts: Vec<MessagePart>) -> io::Result<()> {
        for part in &parts {
            self.reply.add(part);
            if !self.streams {
                continue;
            }
            match part {
                MessagePart::Reasoning(text) => {
                    self.has_open_reasoning = true;
                    let mut err = io::stderr().lock();
                    // Where standard error is closed there is nobody to tell.
                    let _ = err.write_all(text.as_bytes()).and_then(|()| err.flush());
                }
                MessagePart::Text(text) => {
                    if std::mem::take(&mut self.has_open_reasoning) {
                        output::note("");
                    }
                    let mut out = io::stdout().lock();
                    out.write_all(text.as_bytes()).and_then(|()| out.flush())?;
                }
                MessagePart::Call { .. } | MessagePart::Arguments(_) => {}
            }
        }
        Ok(())
    }
}

/// Calls for programs: the arguments as JSON, or as text where they were cut off.
pub(crate) fn calls(reply: &AssistantMessage) -> Vec<Value> {
    let one = |call: &ToolCall| {
        let arguments = serde_json::from_str(&call.arguments);
        let arguments: Value = arguments.unwrap_or_else(|_| json!(call.arguments));
        json!({"name": call.name, "arguments": arguments})
    };
    reply.calls.iter().map(one).collect()
}
