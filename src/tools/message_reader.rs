//! Incremental reader of a model's message: text, reasoning and tool calls as they come.
//!
//! A format becomes a small program ([`program`]), and a message is read by all threads of it at
//! once, in order of priority (Thompson, "Regular expression search algorithm", CACM 1968; Pike's
//! machine, in which each thread remembers its output). Output on which all remaining threads agree
//! is reported at once; the rest, such as text that may become `<tool_call>`, is held back until it is
//! decided. Time is linear in the text: there are as many threads as ways in which a tag may have
//! begun.
//!
//! Invariant: a message that the format's grammar accepts is read exactly as it was derived; any
//! other message becomes text, and no character is lost.

mod program;

use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::message::MessagePart;
use super::reasoning_format::{ReasoningFormat, ReasoningStart};
use crate::json_schema::read::{
    ArgumentReading, ArgumentSets, Candidates, JsonEndScanner, JsonPart, MAX_READINGS, ReadPart,
};
use crate::json_schema::{Options, Schema, Style};
use crate::vocabulary::{SpecialTokenNames, Vocabulary};
use program::{Instruction, Program, TextKind};

pub(crate) use program::MessageShape;

/// One output of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Output {
    Char(TextKind, char),
    Call { name: String, id: Option<String> },
}

/// The id of a call, as far as it was read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum CallId {
    #[default]
    None,
    /// The pieces of the id are being read.
    Reading(String),
    Read(String),
}

/// A reading of the message so far.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Thread {
    /// Index of the instruction that is next.
    pc: usize,
    /// Characters of the instruction's text that were read.
    chars_read: usize,
    json: JsonEndScanner,
    /// Arguments in a style.
    written: Option<Box<ArgumentReading>>,
    /// Index of the tool that is called.
    tool: usize,
    /// Characters of the name of a tool.
    name: String,
    id: CallId,
    /// The weight of the values in ended arguments that the schema does not accept
    /// ([`ArgumentReading::doubts`]).
    doubts: usize,
    /// Whether it has just read what no other reading can mean.
    committed: bool,
    /// Output that is not agreed on yet.
    out: Vec<Output>,
}

impl Thread {
    fn at(pc: usize) -> Self {
        let (json, name) = (JsonEndScanner::default(), String::new());
        let id = CallId::default();
        let (written, doubts, committed, out) = (None, 0, false, Vec::new());
        Self { pc, chars_read: 0, json, written, tool: 0, name, id, doubts, committed, out }
    }

    /// Adds a character that was read to the id, if it is a part of one.
    fn note(mut self, c: char) -> Self {
        if let CallId::Reading(id) = &mut self.id {
            id.push(c);
        }
        self
    }

    /// The weight of the values in all arguments so far that the schema does not accept.
    fn doubts(&self) -> usize {
        self.doubts + self.written.as_ref().map_or(0, |written| written.doubts())
    }

    /// The instruction that is next, after arguments that have ended.
    fn after_arguments(&self) -> usize {
        self.pc + usize::from(self.json.has_ended())
    }

    /// Goes to another instruction.
    fn to(mut self, pc: usize) -> Self {
        self.pc = pc;
        self.chars_read = 0;
        self.json = JsonEndScanner::default();
        self.doubts = self.doubts();
        self.written = None;
        self
    }
}

/// A tool and the sets of its arguments, made when they are first read in a style.
#[derive(Clone, Debug)]
pub(super) struct CalledTool {
    name: String,
    schema: Arc<Value>,
    options: Arc<Options>,
    sets: Arc<OnceLock<Arc<ArgumentSets>>>,
}

impl CalledTool {
    /// A tool of this name, whose arguments have this schema.
    pub(super) fn new(name: &str, schema: Value, options: Arc<Options>) -> Self {
        Self { name: name.to_owned(), schema: Arc::new(schema), options, sets: Arc::default() }
    }

    fn sets(&self) -> Arc<ArgumentSets> {
        let sets = self.sets.get_or_init(|| {
            let schema = Schema::from_value(&self.schema);
            let options = Options::clone(&self.options);
            let sets = schema.and_then(|schema| ArgumentSets::new(schema, options));
            Arc::new(sets.unwrap_or_else(|_| ArgumentSets::any()))
        });
        Arc::clone(sets)
    }
}

/// Incremental reader of one message.
///
/// ```
/// use maskwright::tools::{MessagePart, Tool, ToolCalls, ToolFormat};
/// use serde_json::json;
/// let calls = ToolCalls::new([Tool::new("time", json!({}))?], ToolFormat::named("qwen")?);
/// let mut reader = calls.reader(None);
/// assert_eq!(reader.text("Hm. <tool"), [MessagePart::Text("Hm. ".into())]);
/// let parts = reader.text("_call>\n{\"name\": \"time\", \"arguments\": {");
/// let call = MessagePart::Call { name: "time".into(), id: None };
/// assert_eq!(parts, [call, MessagePart::Arguments("{".into())]);
/// assert_eq!(reader.text("}}\n</tool_call>"), [MessagePart::Arguments("}".into())]);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct MessageReader {
    program: Vec<Instruction>,
    tools: Vec<CalledTool>,
    /// In order of priority.
    threads: Vec<Thread>,
    /// The ids of calls that were told: one that comes again is told as none, for others to find one.
    ids: Vec<String>,
}

impl MessageReader {
    /// A reader of messages without calls.
    pub fn new(reasoning: Option<(&ReasoningFormat, ReasoningStart)>) -> Self {
        let mut program = Program::default();
        if let Some((reasoning, start)) = reasoning {
            program.reasoning(reasoning, start);
            program.pieces(reasoning.answer());
        }
        program.text_to_the_end();
        Self::of_program(program, Vec::new())
    }

    /// A reader of messages with calls of these tools.
    pub(super) fn of_calls(
        shape: MessageShape<'_>,
        tools: Vec<CalledTool>,
        reasoning: Option<(&ReasoningFormat, ReasoningStart)>,
    ) -> Self {
        let mut program = Program::default();
        if let Some((reasoning, start)) = reasoning {
            program.reasoning(reasoning, start);
        }
        program.message(shape);
        Self::of_program(program, tools)
    }

    fn of_program(program: Program, tools: Vec<CalledTool>) -> Self {
        Self { program: program.finish(), tools, threads: vec![Thread::at(0)], ids: Vec::new() }
    }

    /// The reader of a model with this vocabulary: where a format has the name of a special token, the token is read, and
    /// the name in letters is text, as in the constraint. Without it either is.
    #[must_use]
    pub fn with_special_tokens(mut self, vocabulary: &Vocabulary) -> Self {
        let names = SpecialTokenNames::new(vocabulary);
        self.program.iter_mut().for_each(|instruction| instruction.distinguish(&names));
        self
    }

    /// Reads text. However the message is split into calls, the joined parts are the same.
    pub fn text(&mut self, text: &str) -> Vec<MessagePart> {
        let mut out = Vec::new();
        for c in text.chars() {
            self.read(ReadPart::Char(c), &mut out);
        }
        parts(out)
    }

    /// Reads a special token by its name.
    pub fn special(&mut self, name: &str) -> Vec<MessagePart> {
        let mut out = Vec::new();
        self.read(ReadPart::Special(name), &mut out);
        parts(out)
    }

    /// Ends the message: the parts that were held back. A reading that is complete comes before one
    /// whose text could go on.
    pub fn finish(mut self) -> Vec<MessagePart> {
        let best = |can_end: fn(&Self, usize) -> bool| {
            self.threads.iter().position(|thread| can_end(&self, thread.after_arguments()))
        };
        let best = best(Self::is_complete).or_else(|| best(Self::is_text)).unwrap_or(0);
        if self.threads.is_empty() { Vec::new() } else { parts(self.threads.swap_remove(best).out) }
    }

    /// Whether the message is complete at an instruction.
    fn is_complete(&self, pc: usize) -> bool {
        self.leads_to(pc, &|instruction| matches!(instruction, Instruction::End))
    }

    /// Whether an instruction reads text for the user.
    fn is_text(&self, pc: usize) -> bool {
        self.leads_to(pc, &|instruction| matches!(instruction, Instruction::Any(TextKind::Text)))
    }

    /// Whether an instruction, or one that follows it without input, is one of these.
    fn leads_to(&self, pc: usize, wanted: &dyn Fn(&Instruction) -> bool) -> bool {
        match self.program[pc] {
            Instruction::Jump(to) => self.leads_to(to, wanted),
            Instruction::Split(first, second) => {
                self.leads_to(first, wanted) || self.leads_to(second, wanted)
            }
            ref instruction => wanted(instruction),
        }
    }

    fn read(&mut self, input: ReadPart<'_>, out: &mut Vec<Output>) {
        let mut next: Vec<Thread> = Vec::new();
        // A special token that means nothing here is no part of the text around it.
        let reads_text = |thread: &&Thread| {
            self.leads_to(thread.pc, &|instruction| matches!(instruction, Instruction::Any(_)))
        };
        let passed_over: Vec<Thread> = match input {
            ReadPart::Char(_) => Vec::new(),
            ReadPart::Special(_) => self.threads.iter().filter(reads_text).cloned().collect(),
        };
        let first = self.threads.first().map_or((0, 0), |first| (first.pc, first.chars_read));
        let mut threads = std::mem::take(&mut self.threads);
        // Unreported output of the first thread. It may be long: it is moved to a successor, and copied
        // for others. If no thread goes on, it stays.
        let mut untold =
            threads.first_mut().map(|first| std::mem::take(&mut first.out)).unwrap_or_default();
        for (index, thread) in threads.into_iter().enumerate() {
            self.step(thread, input, &mut next);
            let successors = if index == 0 { next.len() } else { 0 };
            for (at, successor) in next.iter_mut().take(successors).enumerate() {
                let is_last = at + 1 == successors;
                let mut out = if is_last { std::mem::take(&mut untold) } else { untold.clone() };
                out.append(&mut successor.out);
                successor.out = out;
            }
        }
        if next.iter().any(|thread| thread.committed) {
            next.retain(|thread| thread.committed);
        }
        if next.is_empty() && !passed_over.is_empty() {
            self.threads = passed_over;
            return;
        }
        if next.is_empty() {
            // Not a message of this format, which a constraint excludes: text from here on.
            // The last two instructions are text without an end.
            let mut rest = Thread::at(self.program.len() - 2);
            rest.out = untold;
            // The first thread was inside a literal text of the format, whose characters were not
            // output; they are text now.
            if let Instruction::Text { text, tokens, .. } = &self.program[first.0] {
                let is_token = |at: &usize| tokens.iter().any(|token| token.contains(at));
                let read = (0..first.1).filter(|at| !is_token(at));
                rest.out.extend(read.map(|at| Output::Char(TextKind::Text, text[at])));
            }
            if let ReadPart::Char(c) = input {
                rest.out.push(Output::Char(TextKind::Text, c));
            }
            next.push(rest);
        }
        next.iter_mut().for_each(|thread| thread.committed = false);
        if next.len() > MAX_READINGS {
            let written = next.iter_mut().filter_map(|thread| thread.written.as_mut());
            written.for_each(|written| written.forget_siblings());
        }
        for thread in next {
            let same = |known: &Thread| {
                (known.pc, known.chars_read) == (thread.pc, thread.chars_read)
                    && (&known.json, &known.written) == (&thread.json, &thread.written)
                    && known.tool == thread.tool
                    && (&known.name, &known.id) == (&thread.name, &thread.id)
            };
            match self.threads.iter_mut().find(|known| same(known)) {
                Some(known) if thread.doubts() < known.doubts() => *known = thread,
                Some(_) => {}
                None => self.threads.push(thread),
            }
        }
        // Tells the output that all threads agree on.
        let first = &self.threads[0].out;
        let agreed = self.threads.iter().skip(1).fold(first.len(), |n, thread| {
            let alike = first.iter().zip(&thread.out).take_while(|(a, b)| a == b).count();
            n.min(alike)
        });
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let agreed = thread.out.drain(..agreed);
            if index == 0 {
                for mut one in agreed {
                    if let Output::Call { id, .. } = &mut one
                        && let Some(text) = id
                    {
                        if self.ids.contains(text) {
                            *id = None;
                        } else {
                            self.ids.push(text.clone());
                        }
                    }
                    out.push(one);
                }
            }
        }
    }

    /// Steps a thread by an input; adds its successors, of which there may be none.
    fn step(&self, mut thread: Thread, input: ReadPart<'_>, next: &mut Vec<Thread>) {
        let after = thread.pc + 1;
        match (&self.program[thread.pc], input) {
            (&Instruction::Jump(to), _) => self.step(thread.to(to), input, next),
            (&Instruction::Split(first, second), _) => {
                self.step(thread.clone().to(first), input, next);
                self.step(thread.to(second), input, next);
            }
            (Instruction::CommitCall, _) => {
                if let Some(tool) = self.tools.iter().position(|tool| tool.name == thread.name) {
                    thread.tool = tool;
                    let name = std::mem::take(&mut thread.name);
                    let id = match std::mem::take(&mut thread.id) {
                        CallId::Read(id) => Some(id),
                        CallId::None | CallId::Reading(_) => None,
                    };
                    thread.out.push(Output::Call { name, id });
                    thread.committed = true;
                    self.step(thread.to(after), input, next);
                }
            }
            (Instruction::BeginId, _) => {
                thread.id = CallId::Reading(String::new());
                self.step(thread.to(after), input, next);
            }
            (Instruction::EndId, _) => {
                if let CallId::Reading(id) = std::mem::take(&mut thread.id) {
                    thread.id = CallId::Read(id);
                }
                self.step(thread.to(after), input, next);
            }
            (Instruction::Text { text, .. }, _) if text.is_empty() => {
                self.step(thread.to(after), input, next);
            }
            (Instruction::Text { text, tokens, commit }, _) => {
                let token = tokens.iter().find(|token| token.start == thread.chars_read);
                let read = match (input, token) {
                    (ReadPart::Char(c), None) => literal(thread, text, [c]),
                    (ReadPart::Special(name), None) if tokens.is_empty() => {
                        literal(thread, text, name.chars())
                    }
                    (ReadPart::Special(name), Some(token))
                        if name.chars().eq(text[token.clone()].iter().copied()) =>
                    {
                        literal(thread, text, name.chars())
                    }
                    _ => None,
                };
                if let Some(mut thread) = read {
                    thread.committed |= *commit && thread.pc == after;
                    next.push(thread);
                }
            }
            (&Instruction::Any(kind), ReadPart::Char(c)) => {
                thread.out.push(Output::Char(kind, c));
                next.push(thread.to(after));
            }
            (Instruction::Name, ReadPart::Char(c))
                if c.is_ascii_alphanumeric() || "_-.".contains(c) =>
            {
                thread.name.push(c);
                next.push(thread.note(c));
            }
            (Instruction::Id, ReadPart::Char(c)) if c.is_ascii_alphanumeric() => {
                next.push(thread.note(c));
            }
            (Instruction::Name | Instruction::Id, _) => self.step(thread.to(after), input, next),
            (Instruction::Arguments(style), _) if style.name() != "json" => {
                self.step_written(thread, style, input, next);
            }
            (Instruction::Arguments(_), _) => {
                if thread.json.may_end() {
                    self.step(thread.clone().to(after), input, next);
                }
                let ReadPart::Char(c) = input else { return };
                if let Some(part) = thread.json.read(c) {
                    if part == JsonPart::Value {
                        thread.out.push(Output::Char(TextKind::Arguments, c));
                    }
                    next.push(thread);
                }
            }
            (Instruction::Any(_), ReadPart::Special(_)) | (Instruction::End, _) => {}
        }
    }

    /// Steps a thread in arguments that are written in a style.
    fn step_written(
        &self,
        mut thread: Thread,
        style: &Style,
        input: ReadPart<'_>,
        next: &mut Vec<Thread>,
    ) {
        let (Some(style), Some(tool)) = (style.notation(), self.tools.get(thread.tool)) else {
            return;
        };
        let written = match thread.written.take() {
            Some(written) => *written,
            None => ArgumentReading::new(Arc::clone(style), tool.sets(), Candidates::Accepted),
        };
        let with = |mut thread: Thread, mut written: ArgumentReading| {
            let out = written.take();
            thread.out.extend(out.chars().map(|c| Output::Char(TextKind::Arguments, c)));
            thread.committed |= written.take_end();
            thread.written = Some(Box::new(written));
            thread
        };
        let ended = written.may_end().then(|| written.clone());
        if let Some(ended) = ended.and_then(ArgumentReading::into_ended) {
            let after = thread.pc + 1;
            self.step(with(thread.clone(), ended).to(after), input, next);
        }
        let mut readings = written.step(input);
        let last = readings.pop();
        next.extend(readings.into_iter().map(|reading| with(thread.clone(), reading)));
        next.extend(last.map(|reading| with(thread, reading)));
    }
}

/// Steps a thread by more characters of a literal text.
fn literal(
    mut thread: Thread,
    text: &[char],
    read: impl IntoIterator<Item = char>,
) -> Option<Thread> {
    for c in read {
        if text.get(thread.chars_read) != Some(&c) {
            return None;
        }
        thread.chars_read += 1;
        thread = thread.note(c);
    }
    let after = thread.pc + 1;
    Some(if thread.chars_read == text.len() { thread.to(after) } else { thread })
}

/// Output joined into parts.
fn parts(out: Vec<Output>) -> Vec<MessagePart> {
    let mut parts: Vec<MessagePart> = Vec::new();
    for one in out {
        match (one, parts.last_mut()) {
            (Output::Call { name, id }, _) => parts.push(MessagePart::Call { name, id }),
            (Output::Char(TextKind::Text, c), Some(MessagePart::Text(text)))
            | (Output::Char(TextKind::Reasoning, c), Some(MessagePart::Reasoning(text)))
            | (Output::Char(TextKind::Arguments, c), Some(MessagePart::Arguments(text))) => {
                text.push(c)
            }
            (Output::Char(TextKind::Text, c), _) => parts.push(MessagePart::Text(c.into())),
            (Output::Char(TextKind::Reasoning, c), _) => {
                parts.push(MessagePart::Reasoning(c.into()))
            }
            (Output::Char(TextKind::Arguments, c), _) => {
                parts.push(MessagePart::Arguments(c.into()))
            }
        }
    }
    parts
}
