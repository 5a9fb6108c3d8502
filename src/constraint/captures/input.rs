//! The text that is parsed: bytes and special tokens, and which tokens they came in.
//!
//! Example: the tokens `(a`, `<|sep|>`, `b` are four symbols; the second token is the third symbol and
//! takes no byte of the text.

use std::ops::Range;

use crate::vocabulary::Vocabulary;

/// One step of a matcher.
#[derive(Clone, Debug)]
pub(in crate::constraint) enum StepText {
    Token(u32),
    Bytes(Box<[u8]>),
    /// An end token.
    End,
}

/// One symbol of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::constraint) enum Symbol {
    Byte(u8),
    /// A token without bytes.
    Special(u32),
}

/// A text as symbols. Positions lie between them, from 0.
#[derive(Debug, Default)]
pub(super) struct Input {
    symbols: Vec<Symbol>,
    /// By position: the token that begins there, and where it ends.
    tokens: Vec<Option<(u32, u32)>>,
    /// By position: the number of tokens that begin before it.
    begun: Vec<u32>,
    /// By position: whether it lies within a token.
    is_inside: Vec<bool>,
    /// By position: the number of bytes before it.
    offsets: Vec<usize>,
}

impl Input {
    /// The text of some steps.
    pub(super) fn new(vocabulary: &Vocabulary, steps: &[StepText]) -> Self {
        let mut this = Self::default();
        for step in steps {
            match step {
                StepText::End => {}
                StepText::Bytes(bytes) => {
                    for &byte in bytes {
                        this.push(Symbol::Byte(byte));
                    }
                }
                &StepText::Token(token) => {
                    let bytes = vocabulary.token_bytes(token).unwrap_or_default();
                    let start = this.symbols.len();
                    let length = bytes.len().max(1);
                    let mut symbols: Vec<Symbol> =
                        bytes.iter().copied().map(Symbol::Byte).collect();
                    if symbols.is_empty() {
                        symbols.push(Symbol::Special(token));
                    }
                    symbols.into_iter().for_each(|symbol| this.push(symbol));
                    this.tokens[start] = Some((token, (start + length) as u32));
                    this.is_inside[start + 1..].fill(true);
                }
            }
        }
        let (mut begun, mut offset) = (0, 0);
        for position in 0..=this.symbols.len() {
            this.begun.push(begun);
            this.offsets.push(offset);
            begun += u32::from(this.tokens.get(position).is_some_and(Option::is_some));
            offset += usize::from(matches!(this.symbols.get(position), Some(Symbol::Byte(_))));
        }
        // A position at the end, where nothing begins.
        this.tokens.push(None);
        this.is_inside.push(false);
        this
    }

    fn push(&mut self, symbol: Symbol) {
        self.symbols.push(symbol);
        self.tokens.push(None);
        self.is_inside.push(false);
    }

    /// The position after all symbols.
    pub(super) fn end(&self) -> u32 {
        self.symbols.len() as u32
    }

    /// The symbols from a position on.
    pub(super) fn from(&self, position: u32) -> &[Symbol] {
        &self.symbols[position as usize..]
    }

    /// The token that begins at a position, and where it ends.
    pub(super) fn token(&self, position: u32) -> Option<(u32, u32)> {
        self.tokens[position as usize]
    }

    /// The number of tokens that hold a symbol between two positions.
    pub(super) fn tokens_between(&self, from: u32, to: u32) -> u32 {
        if from == to {
            return 0;
        }
        let begun = self.begun[to as usize] - self.begun[from as usize];
        begun + u32::from(self.is_inside[from as usize])
    }

    /// The bytes before a position.
    pub(super) fn offset(&self, position: u32) -> usize {
        self.offsets[position as usize]
    }

    /// The bytes between two positions.
    pub(super) fn bytes(&self, range: Range<u32>) -> Vec<u8> {
        let symbols = &self.symbols[range.start as usize..range.end as usize];
        let byte = |symbol: &Symbol| match symbol {
            Symbol::Byte(byte) => Some(*byte),
            Symbol::Special(_) => None,
        };
        symbols.iter().filter_map(byte).collect()
    }
}
