//! Which tools may be called, and how a message with calls is written.

use super::format::{Format, Piece, Place, Slot};
use super::tags::{Triggers, text_and_tags};
use super::tool::Tool;
use crate::constraint::{Compiler, Constraint};
use crate::error::{Error, ErrorKind, Result};
use crate::grammar::{Grammar, GrammarBuilder, NodeId, RuleId, SpecialToken};
use crate::json_schema::{Options, Schema};
use crate::regex::{Utf8, any_text};

/// Must a tool be called? OpenAI's `tool_choice`.
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

/// The tools of a message and how they are called.
#[derive(Clone, Debug)]
pub struct ToolCalls {
    tools: Vec<Tool>,
    format: Format,
    choice: ToolChoice,
    parallel: bool,
}

impl ToolCalls {
    /// Any number of calls of these tools, with text as the format has it.
    pub fn new(tools: impl IntoIterator<Item = Tool>, format: Format) -> Self {
        let tools = tools.into_iter().collect();
        Self { tools, format, choice: ToolChoice::Auto, parallel: true }
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

    /// The grammar of such messages.
    ///
    /// Errors if no tool is given or named, or if a schema is not usable (its place is a pointer
    /// within the schema of the tool that the message names).
    pub fn grammar(&self, options: &Options) -> Result<Grammar> {
        let mut writer = Writer { builder: GrammarBuilder::new(), format: &self.format };
        let body = match &self.choice {
            ToolChoice::None => writer.answer()?,
            choice => {
                let tools: Vec<&Tool> = match choice {
                    ToolChoice::Named(name) => {
                        self.tools.iter().filter(|tool| tool.name() == name).collect()
                    }
                    _ => self.tools.iter().collect(),
                };
                if tools.is_empty() {
                    let names: Vec<&str> = self.tools.iter().map(Tool::name).collect();
                    let message = match choice {
                        ToolChoice::Named(name) => format!("there is no tool `{name}`"),
                        _ => "no tool is given".to_owned(),
                    };
                    return Err(Error::new(ErrorKind::Request, message)
                        .with_help(format!("the tools are: {}", names.join(", "))));
                }
                let mut schemas = Vec::new();
                for tool in tools {
                    schemas.push((tool.name(), writer.schema(tool, options)?));
                }
                let named = matches!(choice, ToolChoice::Named(_));
                let single = named || !self.parallel || self.format.single;
                match choice {
                    ToolChoice::Auto => writer.text_or_calls(&schemas, single)?,
                    _ => writer.calls(&schemas, single),
                }
            }
        };
        let preamble = writer.pieces(&self.format.preamble, None);
        let preamble = writer.builder.repeat(preamble, 0, None);
        let body = match self.format.preamble.is_empty() {
            true => body,
            false => writer.builder.sequence([preamble, body]),
        };
        let start = writer.builder.rule("message", body);
        writer.builder.finish(start)
    }

    /// The constraint of such messages, JSON by the compiler's options.
    pub fn compile(&self, compiler: &Compiler) -> Result<Constraint> {
        compiler.compile(self.grammar(compiler.json_options())?)
    }
}

/// A tool's name and the rule of its arguments.
type Call<'a> = (&'a str, RuleId);

struct Writer<'a> {
    builder: GrammarBuilder,
    format: &'a Format,
}

impl Writer<'_> {
    fn schema(&mut self, tool: &Tool, options: &Options) -> Result<RuleId> {
        let grammar = Schema::from_value(tool.parameters()).and_then(|s| s.grammar(options));
        let rule = grammar.and_then(|grammar| self.builder.embed(&grammar));
        rule.map_err(|error| {
            let message = format!("tool `{}`: {}", tool.name(), error.message());
            let mut named = Error::new(error.kind(), message);
            if let Some(pointer) = &error.place().pointer {
                named = named.at_pointer(pointer.as_str());
            }
            match error.help() {
                Some(help) => named.with_help(help),
                None => named,
            }
        })
    }

    fn pieces(&mut self, pieces: &[Piece], call: Option<Call<'_>>) -> NodeId {
        let nodes: Vec<NodeId> = pieces.iter().map(|piece| self.piece(piece, call)).collect();
        self.builder.sequence(nodes)
    }

    fn piece(&mut self, piece: &Piece, call: Option<Call<'_>>) -> NodeId {
        match piece {
            Piece::Text(text) => self.builder.literal(text.as_bytes()),
            Piece::Token { token } => self.builder.special(SpecialToken::Name(token.clone())),
            Piece::Optional { optional } => {
                let inner = self.pieces(optional, call);
                self.builder.repeat(inner, 0, Some(1))
            }
            Piece::Either { either } => {
                let ways: Vec<NodeId> = either.iter().map(|way| self.pieces(way, call)).collect();
                self.builder.choice(ways)
            }
            Piece::Slot { slot } => match (slot, call) {
                (Slot::Name, Some((name, _))) => self.builder.literal(name.as_bytes()),
                (Slot::Arguments, Some((_, rule))) => self.builder.call(rule),
                (Slot::Id, _) => {
                    let languages = self.builder.languages();
                    let ranges = [(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')];
                    let ranges = ranges.map(|(first, last)| languages.byte_range(first, last));
                    let one = languages.union(ranges);
                    let id = languages.repeat(one, 9, Some(9));
                    self.builder.regular(id)
                }
                (Slot::Text, _) => {
                    let text = any_text(self.builder.languages(), &Utf8);
                    self.builder.regular(text)
                }
                // A name or arguments outside a call: nothing can stand there.
                (Slot::Name | Slot::Arguments, None) => self.builder.choice([]),
            },
        }
    }

    /// One call of one of the tools.
    fn call(&mut self, tools: &[Call<'_>]) -> NodeId {
        let format = self.format;
        let mut ways = Vec::new();
        for &call in tools {
            let way = self.pieces(&format.call, Some(call));
            ways.push(self.builder.mark(way, format!("call of `{}`", call.0)));
        }
        self.builder.choice(ways)
    }

    /// One call or more, with all that stands around them and no text.
    fn calls(&mut self, tools: &[Call<'_>], single: bool) -> NodeId {
        let format = self.format;
        let call = self.call(tools);
        let open = self.pieces(&format.open, None);
        let close = self.pieces(&format.close, None);
        if single {
            return self.builder.sequence([open, call, close]);
        }
        let between = self.pieces(&format.between, None);
        let next = self.builder.sequence([between, call]);
        let more = self.builder.repeat(next, 0, None);
        self.builder.sequence([open, call, more, close])
    }

    /// A message without calls.
    fn answer(&mut self) -> Result<NodeId> {
        let format = self.format;
        if !format.answer.is_empty() {
            return Ok(self.pieces(&format.answer, None));
        }
        let languages = self.builder.languages();
        let text = any_text(languages, &Utf8);
        let language = match (&format.trigger, format.text) {
            (None, _) => text,
            (Some(trigger), Place::Around) => {
                Triggers::new(languages, std::slice::from_ref(trigger))?.free
            }
            (Some(trigger), Place::Before | Place::Instead) => {
                let trigger = languages.literal(trigger.as_bytes());
                let begins = languages.concat([trigger, text]);
                languages.difference(text, begins)
            }
        };
        let node = self.builder.regular(language);
        Ok(self.builder.mark(node, "free text"))
    }

    fn text_or_calls(&mut self, tools: &[Call<'_>], single: bool) -> Result<NodeId> {
        let format = self.format;
        if let (Place::Around, Some(trigger)) = (format.text, &format.trigger) {
            let triggers = Triggers::new(self.builder.languages(), std::slice::from_ref(trigger))?;
            // The free text before a call ends in the trigger, which begins the call.
            let head = self.builder.regular(triggers.heads[0]);
            let head = self.builder.mark(head, "free text");
            let call = self.call_without(tools, trigger);
            let tag = self.builder.sequence([head, call]);
            return Ok(text_and_tags(&mut self.builder, &triggers, tag, false, single));
        }
        let calls = self.calls(tools, single);
        let answer = self.answer()?;
        Ok(match format.text {
            Place::Instead => self.builder.choice([answer, calls]),
            _ => {
                let calls = self.builder.repeat(calls, 0, Some(1));
                self.builder.sequence([answer, calls])
            }
        })
    }

    /// A call without the trigger that it begins with.
    fn call_without(&mut self, tools: &[Call<'_>], trigger: &str) -> NodeId {
        let mut pieces =
            [&self.format.open[..], &self.format.call[..], &self.format.close[..]].concat();
        if let Some(Piece::Text(first)) = pieces.first_mut() {
            *first = first.strip_prefix(trigger).unwrap_or(first).to_owned();
        }
        let mut ways = Vec::new();
        for &call in tools {
            let way = self.pieces(&pieces, Some(call));
            ways.push(self.builder.mark(way, format!("call of `{}`", call.0)));
        }
        self.builder.choice(ways)
    }
}
