//! The format of a model's messages: reasoning, then tool calls or an answer.

use std::sync::Arc;

use super::begun_answer::{self, MessageStart, OpenedReasoning};
use super::llm_engine::Engine;
use super::reasoning_budget::Thinking;
use super::request::{Prompt, Request};
use crate::constraint::Compiler;
use crate::error::Result;
use crate::model::PromptPart;
use crate::tools::{
    AfterReasoning, MessageReader, ReasoningFormat, ReasoningStart, Tool, ToolCalls, ToolFormat,
};
use crate::vocabulary::Vocabulary;

/// The layout of one message: optional reasoning and tool calls around the answer, each with its format. Made
/// for a request; sets up the request and the compiler of its constraint, and splits the text that comes back
/// ([`reader`](Self::reader)).
///
/// ```no_run
/// use maskwright::Compiler;
/// use maskwright::engine::{Engine, Event, Protocol, Request};
/// # fn run(engine: Engine) -> maskwright::Result<()> {
/// let mut request = Request::text("Is the sky blue?");
/// let protocol = Protocol::default().with_reasoning(&engine, &mut request, None, Some(100))?;
/// let compiler = Compiler::new(engine.vocabulary().clone());
/// request.constraint = Some(protocol.compiler(&compiler)?.choice(&["yes", "no"])?);
/// let mut reader = protocol.reader();
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Protocol {
    /// The format of the reasoning, and where it begins.
    reasoning: Option<(ReasoningFormat, ReasoningStart)>,
    calls: Option<ToolCalls>,
    /// The vocabulary whose special tokens are distinguished from text.
    vocabulary: Option<Arc<Vocabulary>>,
}

/// A message whose request asks for no reasoning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnaskedReasoning {
    /// Whether the answer has a constraint.
    pub is_constrained: bool,
    /// Whether the request wants no reasoning, rather than not saying.
    pub declines: bool,
}

/// Overrides of the formats in which a model writes tool calls and reasoning; `None` takes the format that
/// its chat template shows.
#[derive(Clone, Debug, Default)]
pub struct MessageFormats {
    /// The format of tool calls.
    pub tools: Option<ToolFormat>,
    /// The format of reasoning.
    pub reasoning: Option<ReasoningFormat>,
}

impl MessageFormats {
    /// The format in which a model calls tools: the one that is given, that of its chat template, or
    /// plain JSON.
    pub fn tool_format(&self, engine: &Engine) -> Result<ToolFormat> {
        let shown = || {
            let template = engine.model().chat_template().ok()?;
            // One that reads no tools has them told in words, which ask for plain JSON.
            template.reads_tools().then(|| ToolFormat::of_template(template.text()))?
        };
        match self.tools.clone().or_else(shown) {
            Some(format) => Ok(format),
            None => ToolFormat::named("json"),
        }
    }

    /// Begins the message of a request, which must have its prompt and its tools already, with `prefill`, the
    /// caller's beginning of the message or of its answer (empty for none), and says what the model goes on with.
    ///
    /// A chat template may end in the tag that opens the reasoning: an answer that is begun closes it first, and
    /// so does [`OpenedReasoning::Close`]. A beginning that has the tag itself goes on with the reasoning, or with
    /// the answer after it. Where the model goes on with its reasoning, the message is to be read by
    /// [`Protocol::with_reasoning`], or a constraint would begin inside of it.
    ///
    /// Errors if the prompt cannot be made.
    pub fn begin(
        &self,
        engine: &Engine,
        request: &mut Request,
        prefill: String,
        opened: OpenedReasoning,
    ) -> Result<MessageStart> {
        let Some(format) = self.reasoning_format(engine, request) else {
            request.prefill = prefill;
            return Ok(MessageStart::Message);
        };
        let prompt = engine.prompt(request)?;
        Ok(begun_answer::begin(&format, &prompt, prefill, opened, request))
    }

    /// The format of the reasoning with which the message of a request may begin: the one that is given, or that
    /// of the chat template. `None` where the template shows none, or the prompt is no chat.
    pub fn reasoning_format(&self, engine: &Engine, request: &Request) -> Option<ReasoningFormat> {
        let is_chat = match &request.prompt {
            Prompt::Chat(_) => true,
            Prompt::Text(_) => !request.raw,
            _ => false,
        };
        let template = engine.model().chat_template().ok().filter(|_| is_chat)?;
        self.reasoning.clone().or_else(|| ReasoningFormat::of_template(template.text()))
    }

    /// Errors if a format that is given has special tokens that the vocabulary lacks.
    pub fn check(&self, compiler: &Compiler) -> Result<()> {
        if let Some(format) = &self.tools {
            let tool = Tool::new("tool", serde_json::Value::Bool(true))?;
            ToolCalls::new([tool], format.clone()).compile(compiler)?;
        }
        if let Some(format) = &self.reasoning {
            format.begin(compiler.vocabulary())?;
            format.end(compiler.vocabulary())?;
        }
        Ok(())
    }
}

impl Protocol {
    /// Adds calls of these tools to the message's format, and the tools to the request, so that the
    /// chat template describes them to the model. Where none may be called
    /// ([`ToolChoice::None`](crate::tools::ToolChoice::None)) the model is told of none: it would write
    /// calls as text.
    #[must_use]
    pub fn with_calls(self, calls: ToolCalls, request: &mut Request) -> Self {
        request.tools = calls.may_call().then(|| calls.to_value());
        request.special_tokens = true;
        Self { calls: Some(calls), ..self }
    }

    /// Adds reasoning of at most `budget` tokens before everything else, in this format or in that
    /// of the chat template (`<think>` if that has none). The request must have its prompt and its
    /// tools already.
    ///
    /// Errors if the prompt cannot be made, or if the vocabulary has not the tokens of the format.
    pub fn with_reasoning(
        self,
        engine: &Engine,
        request: &mut Request,
        format: Option<ReasoningFormat>,
        budget: Option<usize>,
    ) -> Result<Self> {
        let template = engine.model().chat_template().ok();
        let reasoning = match format.or_else(|| ReasoningFormat::of_template(template?.text())) {
            Some(reasoning) => reasoning,
            None => ReasoningFormat::named("think")?,
        };
        let is_open = match request.begun.last() {
            Some(part) => matches!(part, PromptPart::Content(_)),
            None => reasoning.is_open_after(&engine.prompt(request)?),
        };
        let start = if is_open { ReasoningStart::Prompt } else { ReasoningStart::Message };
        self.with_reasoning_start(engine, request, reasoning, start, budget)
    }

    /// Adds the reasoning of a message whose request asks for none and whose prompt opens none. The request must have
    /// its prompt and its tools already.
    ///
    /// Many models reason all the same. Where the message may be text, reasoning at its beginning is read as such. A
    /// constraint leaves no room for it, unless the model writes something of its own before each answer (gpt-oss):
    /// then the answer comes as the model writes it.
    ///
    /// Errors if the prompt cannot be made.
    pub fn with_unasked_reasoning(
        mut self,
        engine: &Engine,
        request: &mut Request,
        formats: &MessageFormats,
        unasked: UnaskedReasoning,
    ) -> Result<Self> {
        let UnaskedReasoning { is_constrained, declines } = unasked;
        if declines {
            self.calls = self.calls.map(ToolCalls::without_reasoning);
        }
        let vocabulary = engine.vocabulary();
        let in_vocabulary = |format: &ReasoningFormat| {
            format.begin(vocabulary).is_ok() && format.end(vocabulary).is_ok()
        };
        let format = formats.reasoning_format(engine, request).filter(in_vocabulary);
        let Some(format) = format else { return Ok(self) };
        let start = match &self.calls {
            Some(calls) if calls.may_be_text() && !is_constrained && !declines => {
                ReasoningStart::Optional
            }
            Some(calls) => {
                // Reasoning that the format of calls lets stand before them is counted.
                if calls.may_reason() {
                    let start = ReasoningStart::Message;
                    request.thinking = Some(thinking(&format, vocabulary, start, None)?);
                }
                return Ok(self);
            }
            None if !is_constrained => ReasoningStart::Optional,
            None if !format.has_pieces_before_answer(|| engine.prompt(request))? => {
                return Ok(self);
            }
            None if declines => ReasoningStart::Absent,
            None => ReasoningStart::Optional,
        };
        self.with_reasoning_start(engine, request, format, start, None)
    }

    fn with_reasoning_start(
        self,
        engine: &Engine,
        request: &mut Request,
        format: ReasoningFormat,
        start: ReasoningStart,
        budget: Option<usize>,
    ) -> Result<Self> {
        if start != ReasoningStart::Absent {
            request.thinking = Some(thinking(&format, engine.vocabulary(), start, budget)?);
        }
        request.special_tokens = true;
        let mut calls = self.calls;
        if budget.is_some() || start == ReasoningStart::Absent {
            // Reasoning between this one and the calls would be beyond what was asked for.
            calls = calls.map(ToolCalls::without_reasoning);
        }
        Ok(Self { reasoning: Some((format, start)), calls, ..self })
    }

    /// A compiler whose constraints describe what comes after the reasoning, which is put before
    /// them.
    pub fn compiler(&self, compiler: &Compiler) -> Result<Compiler> {
        match &self.reasoning {
            None => Ok(compiler.clone()),
            Some((reasoning, start)) => {
                let after = match self.calls {
                    Some(_) => AfterReasoning::ToolFormat,
                    None => AfterReasoning::Answer,
                };
                let prefix = reasoning.grammar(compiler.vocabulary(), *start, after)?;
                compiler.clone().with_prefix(&prefix)
            }
        }
    }

    /// Where the reasoning of a message starts, if it has one.
    pub fn reasoning_start(&self) -> Option<ReasoningStart> {
        self.reasoning.as_ref().map(|(_, start)| *start)
    }

    /// The tool calls that a message may hold.
    pub fn calls(&self) -> Option<&ToolCalls> {
        self.calls.as_ref()
    }

    /// Whether a message is an answer alone.
    pub fn is_plain(&self) -> bool {
        self.reasoning.is_none() && self.calls.is_none()
    }

    /// The protocol of messages of this engine's model: a special token of the format is one, and its name in letters
    /// is text.
    #[must_use]
    pub fn of_model(self, engine: &Engine) -> Self {
        Self { vocabulary: Some(Arc::clone(engine.vocabulary())), ..self }
    }

    /// A reader that splits one message.
    pub fn reader(&self) -> MessageReader {
        let reasoning = self.reasoning.as_ref().map(|(reasoning, start)| (reasoning, *start));
        let reader = match &self.calls {
            Some(calls) => calls.reader(reasoning),
            None => MessageReader::new(reasoning),
        };
        match &self.vocabulary {
            Some(vocabulary) => reader.with_special_tokens(vocabulary),
            None => reader,
        }
    }
}

/// The tags of reasoning that starts so, with its budget.
fn thinking(
    format: &ReasoningFormat,
    vocabulary: &Vocabulary,
    start: ReasoningStart,
    budget: Option<usize>,
) -> Result<Thinking> {
    let begin = match start {
        ReasoningStart::Prompt => Vec::new(),
        _ => format.begin(vocabulary)?,
    };
    Ok(Thinking { begin, end: format.end(vocabulary)?, budget })
}
