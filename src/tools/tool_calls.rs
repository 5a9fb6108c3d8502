//! Tools of a message, and the grammar of messages that call them.

use std::sync::Arc;

use serde_json::Value;

use super::message_reader::{CalledTool, MessageReader, MessageShape};
use super::pieces::{self, Slots};
use super::reasoning_format::{ReasoningFormat, ReasoningStart};
use super::tool::Tool;
use super::tool_choice::ToolChoice;
use super::tool_format::{Piece, TextPlacement, ToolFormat};
use crate::constraint::{Compiler, Constraint};
use crate::error::{Error, ErrorKind, Result, listed, shortened};
use crate::grammar::{Grammar, GrammarBuilder, NodeId, RuleId};
use crate::json_schema::{self, Options, Schema, SchemaHole, Whitespace};
use crate::regular::{Triggers, Utf8, any_text};
use crate::vocabulary::{SpecialTokenNames, Vocabulary};

/// Constraint on a message without calls.
#[derive(Clone, Debug)]
enum Answer {
    Grammar(Box<Grammar>),
    Schema(Value),
}

/// The tools of a message and how they are called.
#[derive(Clone, Debug)]
pub struct ToolCalls {
    tools: Vec<Tool>,
    format: ToolFormat,
    choice: ToolChoice,
    parallel: bool,
    answer: Option<Answer>,
    allowed: Option<Vec<String>>,
    /// The options by which the arguments' schemas are read.
    options: Arc<Options>,
}

impl ToolCalls {
    /// Any number of calls of these tools, with text as the format has it.
    pub fn new(tools: impl IntoIterator<Item = Tool>, format: ToolFormat) -> Self {
        let tools = tools.into_iter().collect();
        Self {
            tools,
            format,
            choice: ToolChoice::Auto,
            parallel: true,
            answer: None,
            allowed: None,
            options: Arc::default(),
        }
    }

    /// The same for a compiler with these options: by its documents and lists, too, arguments that are written in
    /// a style get their types back.
    #[must_use]
    pub fn with_json_options(self, options: &Options) -> Self {
        Self { options: Arc::new(options.clone()), ..self }
    }

    /// The same with another choice.
    #[must_use]
    pub fn with_choice(self, choice: ToolChoice) -> Self {
        Self { choice, ..self }
    }

    /// The same with at most one call, or any number.
    #[must_use]
    pub fn with_parallel_calls(self, parallel: bool) -> Self {
        Self { parallel, ..self }
    }

    /// The same where only tools of these names are called, whatever the model is told of.
    #[must_use]
    pub fn with_allowed(self, names: impl IntoIterator<Item = String>) -> Self {
        Self { allowed: Some(names.into_iter().collect()), ..self }
    }

    /// The same where a message without calls is text of this grammar. A message then holds text
    /// or calls, never both. What could be either counts as a call.
    #[must_use]
    pub fn with_answer(self, answer: Grammar) -> Self {
        Self { answer: Some(Answer::Grammar(Box::new(answer))), ..self }
    }

    /// The same where a message without calls is JSON that a schema accepts.
    #[must_use]
    pub fn with_answer_schema(self, schema: Value) -> Self {
        Self { answer: Some(Answer::Schema(schema)), ..self }
    }

    /// A reader of such messages, with the reasoning that stands before them.
    pub fn reader(&self, reasoning: Option<(&ReasoningFormat, ReasoningStart)>) -> MessageReader {
        let shape = MessageShape {
            format: &self.format,
            choice: &self.choice,
            has_answer: self.answer.is_some(),
        };
        let tool = |tool: &Tool| {
            let mut options = Arc::clone(&self.options);
            if let Some(strictness) = tool.strictness() {
                Arc::make_mut(&mut options).strictness = strictness;
            }
            CalledTool::new(tool.name(), tool.parameters().clone(), options)
        };
        let tools = self.tools.iter().map(tool).collect();
        MessageReader::of_calls(shape, tools, reasoning)
    }

    /// Names of the tools that take one text instead of arguments.
    pub fn custom_names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().filter(|tool| tool.is_custom()).map(Tool::name)
    }

    /// Whether a message may be a text without a call.
    #[cfg(feature = "model")]
    pub(crate) fn may_be_text(&self) -> bool {
        matches!(self.choice, ToolChoice::Auto | ToolChoice::None)
    }

    /// Whether a message may have calls.
    #[cfg(feature = "model")]
    pub(crate) fn may_call(&self) -> bool {
        self.choice != ToolChoice::None
    }

    /// Whether the format lets reasoning stand before calls and answers.
    #[cfg(feature = "model")]
    pub(crate) fn may_reason(&self) -> bool {
        self.format.may_reason()
    }

    /// The same without such reasoning, for a message that has its own before everything else, or none.
    #[cfg(feature = "model")]
    #[must_use]
    pub(crate) fn without_reasoning(self) -> Self {
        Self { format: self.format.without_reasoning(), ..self }
    }

    /// The tools as OpenAI's API writes them, which is what chat templates read.
    pub fn to_value(&self) -> Value {
        self.tools.iter().map(Tool::to_value).collect()
    }

    /// The grammar of such messages, for other grammars to embed: JSON by the compiler's options,
    /// and special tokens as its vocabulary has them.
    ///
    /// Errors if no tool is given or named, or if a schema is not usable (its place is a pointer
    /// within the schema of the tool that the message names).
    pub fn grammar(&self, compiler: &Compiler) -> Result<Grammar> {
        let grammar = self.write(compiler)?;
        json_schema::check_schemas(&grammar)?;
        Ok(grammar)
    }

    /// The same, with schemas that nobody has looked at.
    fn write(&self, compiler: &Compiler) -> Result<Grammar> {
        let (options, vocabulary) = (compiler.json_options(), compiler.vocabulary());
        let names = SpecialTokenNames::new(vocabulary);
        let (builder, format) = (GrammarBuilder::new(), &self.format);
        let mut writer =
            MessageGrammar { builder, format, vocabulary, names: &names, answer: None };
        writer.answer = match &self.answer {
            None => None,
            Some(Answer::Grammar(grammar)) => Some(writer.builder.embed(grammar)?),
            Some(Answer::Schema(schema)) => Some(writer.schema("the answer", schema, options)?),
        };
        let body = match &self.choice {
            ToolChoice::None => writer.answer(false)?,
            choice => {
                let called = |tool: &&Tool| match (choice, &self.allowed) {
                    (ToolChoice::Named(name), _) => tool.name() == name,
                    (_, Some(allowed)) => allowed.iter().any(|name| tool.name() == name),
                    (_, None) => true,
                };
                let tools: Vec<&Tool> = self.tools.iter().filter(called).collect();
                if tools.is_empty() {
                    let names = listed(self.tools.iter().map(Tool::name));
                    let message = match choice {
                        ToolChoice::Named(name) => {
                            format!("there is no tool `{}`", shortened(name))
                        }
                        _ => "no tool is given".to_owned(),
                    };
                    let help = if names.is_empty() {
                        "give one tool at least".to_owned()
                    } else {
                        format!("the tools are: {names}")
                    };
                    return Err(Error::new(ErrorKind::Request, message).with_help(help));
                }
                let mut options = options.clone();
                options.style = self.format.style();
                if self.format.is_of_lines() && options.whitespace == Whitespace::Tidy {
                    options.whitespace = Whitespace::Plain;
                }
                let mut schemas = Vec::new();
                for tool in tools {
                    let name = format!("tool `{}`", tool.name());
                    let mut of_tool = options.clone();
                    of_tool.strictness = tool.strictness().unwrap_or(options.strictness);
                    of_tool.objects_only = !is_plainly_object(tool.parameters());
                    let schema = match tool.input() {
                        None => writer.schema(&name, tool.parameters(), &of_tool)?,
                        Some(input) => {
                            let (schema, choices) = input
                                .schema(tool.name(), compiler, &options.choices)
                                .map_err(|error| json_schema::named(&name, &error))?;
                            of_tool.choices = choices;
                            writer.schema(&name, &schema, &of_tool)?
                        }
                    };
                    schemas.push((tool.name(), schema));
                }
                let named = matches!(choice, ToolChoice::Named(_));
                let single = named || !self.parallel || self.format.single;
                match choice {
                    ToolChoice::Auto => writer.text_or_calls(&schemas, single)?,
                    _ => writer.lead_and_calls(&schemas, single),
                }
            }
        };
        let preamble = writer.pieces(&self.format.preamble, None);
        let preamble = writer.builder.repeat(preamble, 0, None);
        let body = if self.format.preamble.is_empty() {
            body
        } else {
            writer.builder.sequence([preamble, body])
        };
        let start = writer.builder.rule("message", body);
        writer.builder.finish(start)
    }

    /// The constraint of such messages, JSON by the compiler's options.
    pub fn compile(&self, compiler: &Compiler) -> Result<Constraint> {
        compiler.compile(self.write(compiler)?)
    }
}

/// Whether a schema has the type of objects at its root. Beside a reference, older drafts heed no other keyword.
fn is_plainly_object(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "object") && schema.get("$ref").is_none()
}

/// Name of a tool and the rule of its arguments.
type NamedRule<'a> = (&'a str, RuleId);

/// Builder of the grammar.
struct MessageGrammar<'a> {
    builder: GrammarBuilder,
    format: &'a ToolFormat,
    vocabulary: &'a Vocabulary,
    names: &'a SpecialTokenNames,
    /// Rule of a message without calls, where it is constrained.
    answer: Option<RuleId>,
}

impl<'a> MessageGrammar<'a> {
    /// The rule of the texts of a schema.
    fn schema(&mut self, name: &str, schema: &Value, options: &Options) -> Result<RuleId> {
        let schema = Schema::from_value(schema)
            .and_then(|schema| SchemaHole::new(schema, options, Some(name)))
            .map_err(|error| json_schema::named(name, &error))?;
        self.builder.embed(&schema.grammar()?)
    }

    fn pieces(&mut self, pieces: &[Piece], call: Option<NamedRule<'_>>) -> NodeId {
        let slots = Slots { call, ..Slots::of(self.vocabulary, self.names) };
        pieces::nodes(&mut self.builder, pieces, &slots)
    }

    /// The trigger of a block of calls, where it is text in the vocabulary.
    fn trigger_text(&self) -> Option<&'a str> {
        let text = pieces::text(self.format.trigger()?, self.vocabulary);
        text.filter(|text| !self.names.is_in(text))
    }

    /// The text with which a block of calls begins, whatever is called.
    fn call_head(&self) -> String {
        let pieces = self.format.open.iter().chain(&self.format.call);
        let texts = pieces.map_while(|piece| pieces::text(piece, self.vocabulary));
        texts.take_while(|text| !self.names.is_in(text)).collect()
    }

    /// One call of one of the tools.
    fn call(&mut self, pieces: &[Piece], tools: &[NamedRule<'_>]) -> NodeId {
        let mut alternatives = Vec::new();
        for &call in tools {
            let one = self.pieces(pieces, Some(call));
            alternatives.push(self.builder.mark(one, format!("call of `{}`", call.0)));
        }
        self.builder.choice(alternatives)
    }

    /// A block of calls where no text may stand.
    fn lead_and_calls(&mut self, tools: &[NamedRule<'_>], single: bool) -> NodeId {
        let format = self.format;
        let calls = self.calls(tools, single);
        if format.lead.is_empty() {
            return calls;
        }
        let lead = self.pieces(&format.lead, None);
        let lead = self.builder.repeat(lead, 0, Some(1));
        self.builder.sequence([lead, calls])
    }

    /// A block of one call or more, with the pieces around them and no text.
    fn calls(&mut self, tools: &[NamedRule<'_>], single: bool) -> NodeId {
        let format = self.format;
        self.block(&format.open, &format.call, tools, single)
    }

    /// A block by its opening pieces and its first call.
    fn block(
        &mut self,
        open: &[Piece],
        first: &[Piece],
        tools: &[NamedRule<'_>],
        single: bool,
    ) -> NodeId {
        let format = self.format;
        let open = self.pieces(open, None);
        let first = self.call(first, tools);
        let close = self.pieces(&format.close, None);
        if single {
            return self.builder.sequence([open, first, close]);
        }
        let between = self.pieces(&format.between, None);
        let call = self.call(&format.call, tools);
        let next = self.builder.sequence([between, call]);
        let more = self.builder.repeat(next, 0, None);
        self.builder.sequence([open, first, more, close])
    }

    /// A message without calls; `beside_calls` if it may have some instead.
    fn answer(&mut self, beside_calls: bool) -> Result<NodeId> {
        let format = self.format;
        if !format.answer.is_empty() {
            let slots = Slots { answer: self.answer, ..Slots::of(self.vocabulary, self.names) };
            return Ok(pieces::nodes(&mut self.builder, &format.answer, &slots));
        }
        if let Some(answer) = self.answer {
            return Ok(self.builder.call(answer));
        }
        let (trigger, call_head) = (self.trigger_text(), self.call_head());
        let languages = self.builder.languages();
        let text = any_text(languages, &Utf8);
        let language = match (trigger, format.text) {
            (None, _) => text,
            (Some(trigger), TextPlacement::Around | TextPlacement::Before) => {
                Triggers::new(languages, &[trigger.to_owned()], &[])?.free
            }
            (Some(trigger), TextPlacement::Instead) => {
                // Where no calls may come, a text may have their first letter, as JSON has.
                let head = if beside_calls { trigger.to_owned() } else { call_head };
                let head = languages.literal(head.as_bytes());
                let begins = languages.concat([head, text]);
                languages.difference(text, begins)
            }
        };
        let node = self.builder.regular(language);
        Ok(self.builder.mark(node, "free text"))
    }

    /// A message with text, calls or both.
    fn text_or_calls(&mut self, tools: &[NamedRule<'_>], single: bool) -> Result<NodeId> {
        let place = if self.answer.is_some() { TextPlacement::Instead } else { self.format.text };
        if place == TextPlacement::Instead {
            let (calls, answer) = (self.calls(tools, single), self.answer(true)?);
            return Ok(self.builder.choice([answer, calls]));
        }
        let tag = self.text_and_block(tools, single, place)?;
        let free = self.answer(true)?;
        if single || place == TextPlacement::Before {
            return Ok(self.builder.choice([tag, free]));
        }
        let tags = self.builder.repeat(tag, 0, None);
        Ok(self.builder.sequence([tags, free]))
    }

    /// Free text and the block of calls that ends it.
    fn text_and_block(
        &mut self,
        tools: &[NamedRule<'_>],
        single: bool,
        place: TextPlacement,
    ) -> Result<NodeId> {
        let format = self.format;
        let (mut open, mut first) = (format.open.as_slice(), format.call.as_slice());
        let text = match self.trigger_text() {
            // Text that ends in the trigger, which begins the block.
            Some(trigger) => {
                let opened = [&mut open, &mut first].into_iter().find(|list| !list.is_empty());
                if let Some(list) = opened {
                    *list = &list[1..];
                }
                Triggers::new(self.builder.languages(), &[trigger.to_owned()], &[])?.heads[0]
            }
            None => any_text(self.builder.languages(), &Utf8),
        };
        let text = self.builder.regular(text);
        let text = self.builder.mark(text, "free text");
        // Where text may stand between any two calls, it may be what stands between those of a block.
        let single = single || (place == TextPlacement::Around && format.has_bare_calls());
        let block = self.block(open, first, tools, single);
        Ok(self.builder.sequence([text, block]))
    }
}
