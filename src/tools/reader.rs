//! From what a model writes to text, reasoning and calls, piece by piece as it comes.
//!
//! A format becomes a small program, and a message is read by all threads of it at once, in order
//! of priority (Thompson, "Regular expression search algorithm", CACM 1968; Pike's machine, which
//! remembers what each thread has seen). What all threads that are left agree on is told at once;
//! the rest, such as what may become `<tool_call>`, is held back until it is decided. Time is
//! linear in the text, for threads are as few as the ways in which a tag may have begun.

use super::calls::{ToolCalls, ToolChoice};
use super::format::{Format, Piece, Place, Slot};
use super::reasoning::Reasoning;

/// What a model has written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text for the user; pieces in a row belong together.
    Text(String),
    /// What the model thinks; pieces in a row belong together.
    Reasoning(String),
    /// A call of the tool of this name begins.
    Call(String),
    /// Arguments of the last call, JSON; pieces in a row belong together.
    Arguments(String),
}

/// A call of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The tool's name.
    pub name: String,
    /// Its arguments, JSON as the model wrote it.
    pub arguments: String,
}

/// A whole message: the sum of its [`Part`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Text for the user.
    pub text: String,
    /// What the model thought.
    pub reasoning: String,
    /// The calls, in order.
    pub calls: Vec<Call>,
}

impl Reply {
    /// Adds a part.
    pub fn add(&mut self, part: &Part) {
        match part {
            Part::Text(text) => self.text += text,
            Part::Reasoning(text) => self.reasoning += text,
            Part::Call(name) => {
                self.calls.push(Call { name: name.clone(), arguments: String::new() });
            }
            Part::Arguments(text) => {
                if let Some(call) = self.calls.last_mut() {
                    call.arguments += text;
                }
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    Arguments,
}

#[derive(Clone, Debug)]
enum Op {
    /// These characters; `commit`: nothing else can be meant once they have come.
    Text {
        text: Vec<char>,
        commit: bool,
    },
    /// A special token.
    Token(String),
    /// A special token, or its name as text.
    Tag(Vec<char>, String),
    /// One character of some text.
    Any(Kind),
    /// A tool's name.
    Name,
    /// Letters and digits.
    Id,
    /// A tool's name was read, and nothing else can be meant.
    Call,
    /// A JSON value.
    Json,
    /// The first of these, or else the second.
    Split(usize, usize),
    Jump(usize),
    /// Nothing more.
    End,
}

#[derive(Clone, Copy, Debug)]
enum Input<'a> {
    Char(char),
    Special(&'a str),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Out {
    Char(Kind, char),
    Call(String),
}

/// How far a JSON value was read. Its text is known to be JSON: only its end is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Json {
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// A number, true, false or null by itself, which ends where something else comes.
    bare: bool,
}

impl Json {
    /// Reads a character; `None` if none is expected, else whether the value has ended.
    fn read(&mut self, c: char) -> Option<bool> {
        if self.in_string {
            let ends = c == '"' && !self.escaped;
            self.escaped = c == '\\' && !self.escaped;
            self.in_string = !ends;
            return Some(ends && self.depth == 0);
        }
        match c {
            '"' => self.in_string = true,
            '{' | '[' => self.depth += 1,
            '}' | ']' => {
                self.depth = self.depth.checked_sub(1)?;
                return Some(self.depth == 0);
            }
            _ if self.depth > 0 => {}
            'a'..='z' | '0'..='9' | '-' | '+' | '.' | 'E' => self.bare = true,
            ' ' | '\n' | '\t' | '\r' if !self.bare => {}
            _ => return None,
        }
        Some(false)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Thread {
    pc: usize,
    /// Characters of a text that were read.
    at: usize,
    json: Json,
    name: String,
    committed: bool,
    out: Vec<Out>,
}

impl Thread {
    fn at(pc: usize) -> Self {
        let (json, name) = (Json::default(), String::new());
        Self { pc, at: 0, json, name, committed: false, out: Vec::new() }
    }

    /// Goes to another place of the program.
    fn to(mut self, pc: usize) -> Self {
        self.pc = pc;
        self.at = 0;
        self.json = Json::default();
        self
    }
}

/// Reads one message.
///
/// ```
/// use maskwright::tools::{Format, Part, Tool, ToolCalls};
/// use serde_json::json;
/// let calls = ToolCalls::new([Tool::new("time", json!({}))?], Format::named("qwen")?);
/// let mut reader = calls.reader(None);
/// assert_eq!(reader.text("Hm. <tool"), [Part::Text("Hm. ".into())]);
/// let parts = reader.text("_call>\n{\"name\": \"time\", \"arguments\": {");
/// assert_eq!(parts, [Part::Call("time".into()), Part::Arguments("{".into())]);
/// assert_eq!(reader.text("}}\n</tool_call>"), [Part::Arguments("}".into())]);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Reader {
    ops: Vec<Op>,
    names: Vec<String>,
    threads: Vec<Thread>,
}

impl Reader {
    /// A reader of messages without calls; `true` beside the reasoning if the prompt has begun it.
    pub fn new(reasoning: Option<(&Reasoning, bool)>) -> Self {
        let mut program = Program::default();
        if let Some((reasoning, opened)) = reasoning {
            program.reasoning(reasoning, opened);
            program.pieces(reasoning.answer());
        }
        program.text_to_the_end();
        program.finish(Vec::new())
    }

    pub(super) fn of_calls(calls: &ToolCalls, reasoning: Option<(&Reasoning, bool)>) -> Self {
        let mut program = Program::default();
        if let Some((reasoning, opened)) = reasoning {
            program.reasoning(reasoning, opened);
        }
        program.message(calls);
        program.finish(calls.tools().iter().map(|tool| tool.name().to_owned()).collect())
    }

    /// Reads text: any split of the message into pieces gives the same parts, but for where they
    /// are split.
    pub fn text(&mut self, text: &str) -> Vec<Part> {
        let mut out = Vec::new();
        for c in text.chars() {
            self.read(Input::Char(c), &mut out);
        }
        parts(out)
    }

    /// Reads a special token by its name.
    pub fn special(&mut self, name: &str) -> Vec<Part> {
        let mut out = Vec::new();
        self.read(Input::Special(name), &mut out);
        parts(out)
    }

    /// What was held back, when no more text comes.
    pub fn finish(mut self) -> Vec<Part> {
        let best = self.threads.iter().position(|thread| self.may_end(thread.pc)).unwrap_or(0);
        match self.threads.is_empty() {
            true => Vec::new(),
            false => parts(self.threads.swap_remove(best).out),
        }
    }

    /// May a message end here?
    fn may_end(&self, pc: usize) -> bool {
        match self.ops[pc] {
            Op::End | Op::Any(Kind::Text) => true,
            Op::Jump(to) => self.may_end(to),
            Op::Split(first, second) => self.may_end(first) || self.may_end(second),
            _ => false,
        }
    }

    fn read(&mut self, input: Input<'_>, out: &mut Vec<Out>) {
        let mut next: Vec<Thread> = Vec::new();
        for thread in &self.threads {
            self.step(thread.clone(), input, &mut next);
        }
        if next.iter().any(|thread| thread.committed) {
            next.retain(|thread| thread.committed);
        }
        if next.is_empty() {
            // Not a message of this format, which the constraint excludes: text from here on.
            let mut rest = match self.threads.is_empty() {
                true => Thread::at(0),
                false => self.threads.swap_remove(0),
            };
            if let Input::Char(c) = input {
                rest.out.push(Out::Char(Kind::Text, c));
            }
            // The program ends in text without an end.
            next.push(rest.to(self.ops.len() - 2));
        }
        next.iter_mut().for_each(|thread| thread.committed = false);
        self.threads.clear();
        for thread in next {
            let same = |known: &Thread| {
                (known.pc, known.at) == (thread.pc, thread.at)
                    && known.json == thread.json
                    && known.name == thread.name
            };
            if !self.threads.iter().any(same) {
                self.threads.push(thread);
            }
        }
        // What all agree on.
        let first = &self.threads[0].out;
        let agreed = self.threads.iter().skip(1).fold(first.len(), |n, thread| {
            let alike = first.iter().zip(&thread.out).take_while(|(a, b)| a == b).count();
            n.min(alike)
        });
        for (index, thread) in self.threads.iter_mut().enumerate() {
            let told = thread.out.drain(..agreed);
            if index == 0 {
                out.extend(told);
            }
        }
    }

    /// Where a thread goes by an input: nowhere, to one place or to more.
    fn step(&self, mut thread: Thread, input: Input<'_>, next: &mut Vec<Thread>) {
        let after = thread.pc + 1;
        match (&self.ops[thread.pc], input) {
            (&Op::Jump(to), _) => self.step(thread.to(to), input, next),
            (&Op::Split(first, second), _) => {
                self.step(thread.clone().to(first), input, next);
                self.step(thread.to(second), input, next);
            }
            (Op::Call, _) => {
                if self.names.contains(&thread.name) {
                    let name = std::mem::take(&mut thread.name);
                    thread.out.push(Out::Call(name));
                    thread.committed = true;
                    self.step(thread.to(after), input, next);
                }
            }
            (Op::Text { text, .. }, _) if text.is_empty() => {
                self.step(thread.to(after), input, next);
            }
            (Op::Text { text, commit }, Input::Char(c)) => {
                if let Some(mut thread) = literal(thread, text, c) {
                    thread.committed |= *commit && thread.pc == after;
                    next.push(thread);
                }
            }
            (Op::Tag(text, _), Input::Char(c)) => {
                next.extend(literal(thread, text, c).map(|mut thread| {
                    thread.committed |= thread.pc == after;
                    thread
                }))
            }
            (Op::Token(name) | Op::Tag(_, name), Input::Special(token)) => {
                if name == token && thread.at == 0 {
                    next.push(thread.to(after));
                }
            }
            (&Op::Any(kind), Input::Char(c)) => {
                thread.out.push(Out::Char(kind, c));
                next.push(thread.to(after));
            }
            (Op::Name, Input::Char(c)) if c.is_ascii_alphanumeric() || "_-.".contains(c) => {
                thread.name.push(c);
                next.push(thread);
            }
            (Op::Id, Input::Char(c)) if c.is_ascii_alphanumeric() => next.push(thread),
            (Op::Name | Op::Id, _) => self.step(thread.to(after), input, next),
            (Op::Json, _) => {
                if thread.json.bare {
                    self.step(thread.clone().to(after), input, next);
                }
                let Input::Char(c) = input else { return };
                if let Some(ended) = thread.json.read(c) {
                    thread.out.push(Out::Char(Kind::Arguments, c));
                    next.push(if ended { thread.to(after) } else { thread });
                }
            }
            (Op::Token(_), Input::Char(_))
            | (Op::Any(_) | Op::Text { .. }, Input::Special(_))
            | (Op::End, _) => {}
        }
    }
}

/// Reads one more character of a text.
fn literal(mut thread: Thread, text: &[char], c: char) -> Option<Thread> {
    if text.get(thread.at) != Some(&c) {
        return None;
    }
    thread.at += 1;
    let after = thread.pc + 1;
    Some(if thread.at == text.len() { thread.to(after) } else { thread })
}

fn parts(out: Vec<Out>) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for one in out {
        match (one, parts.last_mut()) {
            (Out::Call(name), _) => parts.push(Part::Call(name)),
            (Out::Char(Kind::Text, c), Some(Part::Text(text)))
            | (Out::Char(Kind::Reasoning, c), Some(Part::Reasoning(text)))
            | (Out::Char(Kind::Arguments, c), Some(Part::Arguments(text))) => text.push(c),
            (Out::Char(Kind::Text, c), _) => parts.push(Part::Text(c.into())),
            (Out::Char(Kind::Reasoning, c), _) => parts.push(Part::Reasoning(c.into())),
            (Out::Char(Kind::Arguments, c), _) => parts.push(Part::Arguments(c.into())),
        }
    }
    parts
}

/// A program while it is written.
#[derive(Default)]
struct Program {
    ops: Vec<Op>,
}

impl Program {
    fn finish(mut self, names: Vec<String>) -> Reader {
        self.ops.push(Op::End);
        self.text_to_the_end();
        Reader { ops: self.ops, names, threads: vec![Thread::at(0)] }
    }

    fn text(&mut self, text: &str, commit: bool) {
        self.ops.push(Op::Text { text: text.chars().collect(), commit });
    }

    /// Any number of characters, then what follows.
    fn any(&mut self, kind: Kind) {
        let start = self.ops.len();
        self.ops.extend([Op::Split(start + 1, start + 3), Op::Any(kind), Op::Jump(start)]);
    }

    /// Text, and nothing after it.
    fn text_to_the_end(&mut self) {
        let start = self.ops.len();
        self.ops.extend([Op::Any(Kind::Text), Op::Jump(start)]);
    }

    fn pieces(&mut self, pieces: &[Piece]) {
        pieces.iter().for_each(|piece| self.piece(piece));
    }

    fn piece(&mut self, piece: &Piece) {
        match piece {
            Piece::Text(text) => self.text(text, false),
            Piece::Token { token } => self.ops.push(Op::Token(token.clone())),
            Piece::Tag { tag } => self.ops.push(Op::Tag(tag.chars().collect(), tag.clone())),
            Piece::Optional { optional } => self.either(&[optional.as_slice(), &[]]),
            Piece::Either { either } => {
                let ways: Vec<&[Piece]> = either.iter().map(Vec::as_slice).collect();
                self.either(&ways);
            }
            Piece::Slot { slot } => match slot {
                Slot::Name => self.ops.push(Op::Name),
                Slot::Arguments => self.ops.extend([Op::Call, Op::Json]),
                Slot::Id => self.ops.push(Op::Id),
                Slot::Text => self.any(Kind::Text),
                Slot::Reasoning => self.any(Kind::Reasoning),
            },
        }
    }

    fn either(&mut self, ways: &[&[Piece]]) {
        let writers: Vec<_> =
            ways.iter().map(|&way| move |program: &mut Self| program.pieces(way)).collect();
        let writers: Vec<&dyn Fn(&mut Self)> =
            writers.iter().map(|writer| writer as &dyn Fn(&mut Self)).collect();
        self.one_of(&writers);
    }

    /// One of these, in order of priority, then what follows.
    fn one_of(&mut self, ways: &[&dyn Fn(&mut Self)]) {
        let mut jumps = Vec::new();
        for (index, way) in ways.iter().enumerate() {
            let split = self.ops.len();
            let is_last = index + 1 == ways.len();
            if !is_last {
                self.ops.push(Op::Split(split + 1, 0));
            }
            way(self);
            jumps.push(self.ops.len());
            self.ops.push(Op::Jump(0));
            if !is_last {
                self.ops[split] = Op::Split(split + 1, self.ops.len());
            }
        }
        let end = self.ops.len();
        jumps.into_iter().for_each(|jump| self.ops[jump] = Op::Jump(end));
    }

    fn reasoning(&mut self, reasoning: &Reasoning, opened: bool) {
        if !opened {
            self.pieces(reasoning.open());
        }
        self.any(Kind::Reasoning);
        self.piece(reasoning.close());
        self.pieces(reasoning.after());
    }

    fn message(&mut self, calls: &ToolCalls) {
        let format = calls.format();
        if !format.preamble.is_empty() {
            let start = self.ops.len();
            self.ops.push(Op::Split(start + 1, 0));
            self.pieces(&format.preamble);
            self.ops.push(Op::Jump(start));
            self.ops[start] = Op::Split(start + 1, self.ops.len());
        }
        let answer = |program: &mut Self| match format.answer.is_empty() {
            true => program.any(Kind::Text),
            false => program.pieces(&format.answer),
        };
        match calls.choice() {
            ToolChoice::None => answer(self),
            ToolChoice::Required | ToolChoice::Named(_) => self.calls(format, false),
            ToolChoice::Auto if calls.has_answer() || format.text == Place::Instead => {
                let commit = !calls.has_answer();
                self.one_of(&[&answer, &|program| program.calls(format, commit)]);
            }
            ToolChoice::Auto if format.text == Place::Before => {
                answer(self);
                self.one_of(&[&|_| {}, &|program| program.calls(format, true)]);
            }
            ToolChoice::Auto => self.calls_in_text(format),
        }
    }

    /// One call or more.
    fn calls(&mut self, format: &Format, commit: bool) {
        self.triggered(format, &[&format.open, &format.call], commit);
        let more = self.ops.len();
        self.ops.push(Op::Split(more + 1, 0));
        self.pieces(&format.between);
        self.pieces(&format.call);
        self.ops.push(Op::Jump(more));
        self.ops[more] = Op::Split(more + 1, self.ops.len());
        self.pieces(&format.close);
    }

    /// Calls with text around them. What stands between two calls is no text.
    fn calls_in_text(&mut self, format: &Format) {
        let whole = [&format.open[..], &format.call[..], &format.close[..]];
        let start = self.ops.len();
        self.any(Kind::Text);
        self.triggered(format, &whole, true);
        let more = self.ops.len();
        self.ops.push(Op::Split(more + 1, start));
        self.pieces(&format.between);
        self.triggered(format, &whole, true);
        self.ops.push(Op::Jump(more));
    }

    /// Pieces of which the first begins with the trigger, if there is one.
    fn triggered(&mut self, format: &Format, pieces: &[&[Piece]], commit: bool) {
        let mut pieces = pieces.iter().flat_map(|pieces| pieces.iter());
        if let Some(trigger) = &format.trigger
            && let Some(first) = pieces.next()
        {
            match first {
                Piece::Text(text) if text.starts_with(trigger.as_str()) => {
                    self.text(trigger, commit);
                    self.text(&text[trigger.len()..], false);
                }
                other => self.piece(other),
            }
        }
        pieces.for_each(|piece| self.piece(piece));
    }
}
