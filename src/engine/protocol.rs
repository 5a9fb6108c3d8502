//! How a model's message is made up: reasoning, calls of tools, an answer.

use super::generate::Engine;
use super::request::Request;
use super::thinking::Thinking;
use crate::constraint::Compiler;
use crate::error::Result;
use crate::tools::{MessageReader, ReasoningFormat, ToolCalls, ToolFormat};

/// What a message may hold beside an answer, and how the model writes it: sets up a request, and
/// takes apart what comes back.
///
/// ```no_run
/// use maskwright::Compiler;
/// use maskwright::generation::{Engine, Event, Protocol, Request};
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
    /// With it: has the prompt the opening tag?
    reasoning: Option<(ReasoningFormat, bool)>,
    calls: Option<ToolCalls>,
}

impl Protocol {
    /// The format in which a model calls tools: that of its chat template, or plain JSON.
    pub fn tool_format(engine: &Engine) -> Result<ToolFormat> {
        let template = engine.model().chat_template().ok();
        match template.and_then(|template| ToolFormat::of_template(template.text())) {
            Some(format) => Ok(format),
            None => ToolFormat::named("json"),
        }
    }

    /// With calls of these tools; the chat template is to describe them to the model.
    #[must_use]
    pub fn with_calls(self, calls: ToolCalls, request: &mut Request) -> Self {
        request.tools = Some(calls.to_value());
        request.special_tokens = true;
        Self { calls: Some(calls), ..self }
    }

    /// With reasoning before all else, in this format or in that of the chat template (`<think>`
    /// where that has none), of so many tokens at most. The request is to have its prompt and its
    /// tools.
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
        let opened = reasoning.is_open_after(&engine.prompt(request)?);
        let vocabulary = engine.vocabulary();
        let begin = if opened { None } else { Some(reasoning.begin(vocabulary)?) };
        let end = reasoning.end(vocabulary)?;
        request.thinking = Some(Thinking { begin, end, budget });
        request.special_tokens = true;
        Ok(Self { reasoning: Some((reasoning, opened)), ..self })
    }

    /// A compiler of what stands behind the reasoning.
    pub fn compiler(&self, compiler: &Compiler) -> Result<Compiler> {
        match &self.reasoning {
            None => Ok(compiler.clone()),
            Some((reasoning, opened)) => {
                let calls = self.calls.is_some();
                let prefix = reasoning.grammar(compiler.vocabulary(), *opened, calls)?;
                compiler.clone().with_prefix(&prefix)
            }
        }
    }

    /// The calls that a message may hold.
    pub fn calls(&self) -> Option<&ToolCalls> {
        self.calls.as_ref()
    }

    /// Is a message an answer and nothing more?
    pub fn is_plain(&self) -> bool {
        self.reasoning.is_none() && self.calls.is_none()
    }

    /// Takes apart one message.
    pub fn reader(&self) -> MessageReader {
        let reasoning = self.reasoning.as_ref().map(|(reasoning, opened)| (reasoning, *opened));
        match &self.calls {
            Some(calls) => calls.reader(reasoning),
            None => MessageReader::new(reasoning),
        }
    }
}
