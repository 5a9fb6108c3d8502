//! The instructions of a message reader, and their compilation from a format.
//!
//! A format such as `open text* (trigger call)* close` becomes a list of instructions with jumps and
//! prioritised splits, as a regular expression does for a Pike machine:
//!
//! ```text
//! 0  Split 1, 3        free text, before a call …
//! 1  Any(Text)
//! 2  Jump 0
//! 3  Text "<tool_call>"  … whose trigger commits
//! 4  Name, CommitCall, Json …
//! ```

use std::ops::Range;

use crate::json_schema::Style;
use crate::tools::reasoning_format::{ReasoningFormat, ReasoningStart};
use crate::tools::tool_choice::ToolChoice;
use crate::tools::tool_format::{Piece, Slot, TextPlacement, ToolFormat};
use crate::vocabulary::SpecialTokenNames;

/// Kind of the text that a character belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextKind {
    Text,
    Reasoning,
    Arguments,
}

/// One instruction: what a thread reads there, or where it goes.
#[derive(Clone, Debug)]
pub(super) enum Instruction {
    /// These characters, or special tokens whose names they are; the characters of `tokens` as special tokens
    /// alone. With `commit`, threads that have read them win over all others.
    Text {
        text: Vec<char>,
        tokens: Vec<Range<usize>>,
        commit: bool,
    },
    /// One character of free text.
    Any(TextKind),
    /// The name of a tool.
    Name,
    /// Letters and digits.
    Id,
    /// The id of the call begins here, and ends here.
    BeginId,
    EndId,
    /// The name that was read is that of a tool: the thread wins over all others.
    CommitCall,
    /// Arguments in a style.
    Arguments(Style),
    /// Both of these instructions, the first with priority.
    Split(usize, usize),
    Jump(usize),
    /// The end of the message.
    End,
}

impl Instruction {
    /// Marks the names of special tokens in its text to be read as these tokens alone; a name that is spelled
    /// in letters is then ordinary text.
    pub(super) fn distinguish(&mut self, names: &SpecialTokenNames) {
        let Instruction::Text { text, tokens, .. } = self else { return };
        let string: String = text.iter().collect();
        let chars = |bytes: usize| string[..bytes].chars().count();
        let found = names.find(&string);
        *tokens = found.iter().map(|name| chars(name.from)..chars(name.to)).collect();
    }
}

/// The messages to read: free text and calls, in a format.
#[derive(Clone, Copy)]
pub(crate) struct MessageShape<'a> {
    pub(crate) format: &'a ToolFormat,
    pub(crate) choice: &'a ToolChoice,
    /// Whether a message without calls is constrained.
    pub(crate) has_answer: bool,
}

/// A program while it is written. Methods append instructions.
#[derive(Default)]
pub(super) struct Program {
    instructions: Vec<Instruction>,
}

impl Program {
    /// The program with its end, after which stands text without an end, for messages that are
    /// not of the format.
    pub(super) fn finish(mut self) -> Vec<Instruction> {
        self.instructions.push(Instruction::End);
        self.text_to_the_end();
        self.instructions
    }

    /// Any number of characters, then what follows.
    fn any(&mut self, kind: TextKind) {
        let start = self.instructions.len();
        self.instructions.extend([
            Instruction::Split(start + 1, start + 3),
            Instruction::Any(kind),
            Instruction::Jump(start),
        ]);
    }

    /// Text, and nothing after it.
    pub(super) fn text_to_the_end(&mut self) {
        let start = self.instructions.len();
        self.instructions.extend([Instruction::Any(TextKind::Text), Instruction::Jump(start)]);
    }

    pub(super) fn pieces(&mut self, pieces: &[Piece]) {
        pieces.iter().for_each(|piece| self.piece(piece, false));
    }

    /// A piece. With `commit`, threads that have read it, if it is text, a tag or a token, win over
    /// all others.
    fn piece(&mut self, piece: &Piece, commit: bool) {
        match piece {
            Piece::Text(text) | Piece::Token { token: text } | Piece::Tag { tag: text } => {
                let text = text.chars().collect();
                let tokens = Vec::new();
                self.instructions.push(Instruction::Text { text, tokens, commit });
            }
            Piece::Optional { optional } => self.either(&[optional.as_slice(), &[]]),
            Piece::Either { either } => {
                let alternatives: Vec<&[Piece]> = either.iter().map(Vec::as_slice).collect();
                self.either(&alternatives);
            }
            Piece::Id { id } => {
                self.instructions.push(Instruction::BeginId);
                self.pieces(id);
                self.instructions.push(Instruction::EndId);
            }
            Piece::Slot { slot, style } => match slot {
                Slot::Name => self.instructions.push(Instruction::Name),
                Slot::Arguments => {
                    let style = style.clone();
                    self.instructions
                        .extend([Instruction::CommitCall, Instruction::Arguments(style)])
                }
                Slot::Alphanumerics | Slot::Number => self.instructions.push(Instruction::Id),
                Slot::Text => self.any(TextKind::Text),
                Slot::Reasoning => self.any(TextKind::Reasoning),
            },
        }
    }

    fn either(&mut self, alternatives: &[&[Piece]]) {
        let writers: Vec<_> = alternatives
            .iter()
            .map(|&pieces| move |program: &mut Self| program.pieces(pieces))
            .collect();
        let writers: Vec<&dyn Fn(&mut Self)> =
            writers.iter().map(|writer| writer as &dyn Fn(&mut Self)).collect();
        self.one_of(&writers);
    }

    /// One of these, in order of priority, then what follows.
    fn one_of(&mut self, alternatives: &[&dyn Fn(&mut Self)]) {
        let mut jumps = Vec::new();
        for (index, append) in alternatives.iter().enumerate() {
            let split = self.instructions.len();
            let is_last = index + 1 == alternatives.len();
            if !is_last {
                self.instructions.push(Instruction::Split(split + 1, 0));
            }
            append(self);
            jumps.push(self.instructions.len());
            self.instructions.push(Instruction::Jump(0));
            if !is_last {
                self.instructions[split] = Instruction::Split(split + 1, self.instructions.len());
            }
        }
        let end = self.instructions.len();
        jumps.into_iter().for_each(|jump| self.instructions[jump] = Instruction::Jump(end));
    }

    pub(super) fn reasoning(&mut self, reasoning: &ReasoningFormat, start: ReasoningStart) {
        let thought = |program: &mut Self| {
            if let [before @ .., tag] = reasoning.open()
                && start != ReasoningStart::Prompt
            {
                program.either(&[reasoning.lead(), &[]]);
                program.pieces(before);
                program.piece(tag, true);
            }
            program.any(TextKind::Reasoning);
            program.piece(reasoning.close(), true);
            program.pieces(reasoning.after());
        };
        match start {
            ReasoningStart::Optional => self.one_of(&[&thought, &|_| {}]),
            ReasoningStart::Absent => {}
            ReasoningStart::Message | ReasoningStart::Prompt => thought(self),
        }
    }

    pub(super) fn message(&mut self, shape: MessageShape<'_>) {
        let MessageShape { format, choice, has_answer } = shape;
        if !format.preamble.is_empty() {
            let start = self.instructions.len();
            self.instructions.push(Instruction::Split(start + 1, 0));
            self.pieces(&format.preamble);
            self.instructions.push(Instruction::Jump(start));
            self.instructions[start] = Instruction::Split(start + 1, self.instructions.len());
        }
        let answer = |program: &mut Self| {
            if format.answer.is_empty() {
                program.any(TextKind::Text)
            } else {
                program.pieces(&format.answer)
            }
        };
        match choice {
            ToolChoice::None => answer(self),
            ToolChoice::Required | ToolChoice::Named(_) => {
                self.either(&[format.lead.as_slice(), &[]]);
                self.calls(format, false);
            }
            ToolChoice::Auto if has_answer || format.text == TextPlacement::Instead => {
                let commit = !has_answer;
                self.one_of(&[&answer, &|program| program.calls(format, commit)]);
            }
            ToolChoice::Auto if format.text == TextPlacement::Before => {
                // Where a message without calls has pieces of its own, these may begin as calls do.
                let commit = format.answer.is_empty();
                self.one_of(&[&answer, &|program| {
                    program.any(TextKind::Text);
                    program.calls(format, commit);
                }]);
            }
            ToolChoice::Auto => self.calls_in_text(format),
        }
    }

    /// A block of one call or more. With `commit`, threads that have read its trigger win.
    fn calls(&mut self, format: &ToolFormat, commit: bool) {
        let opens = !format.open.is_empty();
        self.triggered(&format.open, commit);
        let call = self.instructions.len();
        self.triggered(&format.call, commit && !opens);
        let more = self.instructions.len();
        self.instructions.push(Instruction::Split(more + 1, 0));
        self.pieces(&format.between);
        self.instructions.push(Instruction::Jump(call));
        self.instructions[more] = Instruction::Split(more + 1, self.instructions.len());
        self.pieces(&format.close);
    }

    /// Blocks of calls with text around them. Separators between two calls are no text.
    fn calls_in_text(&mut self, format: &ToolFormat) {
        let start = self.instructions.len();
        self.any(TextKind::Text);
        self.calls(format, true);
        self.instructions.push(Instruction::Jump(start));
    }

    /// Pieces of which the first is the trigger, if there are any.
    fn triggered(&mut self, pieces: &[Piece], commit: bool) {
        if let [first, rest @ ..] = pieces {
            self.piece(first, commit);
            self.pieces(rest);
        }
    }
}
