//! Nodes of a grammar for the pieces of a format.

use super::tool_format::{Piece, Slot};
use crate::grammar::{GrammarBuilder, NodeId, RuleId, SpecialToken};
use crate::regular::{Utf8, any_text};
use crate::vocabulary::{SpecialTokenNames, TextPart, Vocabulary};

/// Contents of the slots of pieces.
#[derive(Clone, Copy)]
pub(super) struct Slots<'a> {
    /// Name of a tool and the rule of its arguments.
    pub(super) call: Option<(&'a str, RuleId)>,
    /// Rule of text for the user; any text without.
    pub(super) answer: Option<RuleId>,
    /// Vocabulary that says which tags are special tokens.
    pub(super) vocabulary: &'a Vocabulary,
    /// Its special tokens, which texts may name.
    pub(super) names: &'a SpecialTokenNames,
}

impl<'a> Slots<'a> {
    /// Slots of pieces outside of calls.
    pub(super) fn of(vocabulary: &'a Vocabulary, names: &'a SpecialTokenNames) -> Self {
        Self { call: None, answer: None, vocabulary, names }
    }
}

/// The special token that a piece is in a vocabulary; `None` for text, and for an added token that
/// the vocabulary has as text.
pub(super) fn special_token(piece: &Piece, vocabulary: &Vocabulary) -> Option<u32> {
    match piece {
        Piece::Token { token: name } | Piece::Tag { tag: name } => {
            vocabulary.token_named(name).filter(|&id| vocabulary.is_special(id))
        }
        _ => None,
    }
}

/// The text that a piece is in a vocabulary; `None` for a special token, for a token that the
/// vocabulary must have and lacks, and for several pieces.
pub(super) fn text<'a>(piece: &'a Piece, vocabulary: &Vocabulary) -> Option<&'a str> {
    match piece {
        Piece::Text(text) => Some(text),
        Piece::Token { token } => {
            vocabulary.token_named(token).filter(|&id| !vocabulary.is_special(id)).map(|_| &**token)
        }
        Piece::Tag { tag } => special_token(piece, vocabulary).is_none().then_some(tag),
        _ => None,
    }
}

/// A node for pieces in sequence.
pub(super) fn nodes(builder: &mut GrammarBuilder, pieces: &[Piece], slots: &Slots<'_>) -> NodeId {
    let nodes: Vec<NodeId> = pieces.iter().map(|piece| node(builder, piece, slots)).collect();
    builder.sequence(nodes)
}

/// A node for one piece.
pub(super) fn node(builder: &mut GrammarBuilder, piece: &Piece, slots: &Slots<'_>) -> NodeId {
    match piece {
        Piece::Text(text) => {
            let parts = slots.names.parts(text).into_iter().map(|part| match part {
                TextPart::Text(text) => builder.literal(text.as_bytes()),
                TextPart::Token(_, token) => builder.special(SpecialToken::Id(token)),
            });
            let parts: Vec<NodeId> = parts.collect();
            builder.sequence(parts)
        }
        Piece::Token { token: name } | Piece::Tag { tag: name } => {
            match (text(piece, slots.vocabulary), special_token(piece, slots.vocabulary)) {
                (Some(text), _) => builder.literal(text.as_bytes()),
                (None, Some(id)) => builder.special(SpecialToken::Id(id)),
                // Compiling names the token that the vocabulary lacks.
                (None, None) => builder.special(SpecialToken::Name(name.clone())),
            }
        }
        Piece::Optional { optional } => {
            let inner = nodes(builder, optional, slots);
            builder.repeat(inner, 0, Some(1))
        }
        Piece::Either { either } => {
            let alternatives: Vec<NodeId> =
                either.iter().map(|pieces| nodes(builder, pieces, slots)).collect();
            builder.choice(alternatives)
        }
        Piece::Id { id } => nodes(builder, id, slots),
        Piece::Slot { slot, .. } => match (slot, slots.call) {
            (Slot::Name, Some((name, _))) => builder.literal(name.as_bytes()),
            (Slot::Arguments, Some((_, rule))) => builder.call(rule),
            (Slot::Alphanumerics, _) => {
                let languages = builder.languages();
                let ranges = [(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')];
                let ranges = ranges.map(|(first, last)| languages.byte_range(first, last));
                let one = languages.union(ranges);
                let id = languages.repeat(one, 9, Some(9));
                builder.regular(id)
            }
            (Slot::Number, _) => {
                let languages = builder.languages();
                let zero = languages.literal(b"0");
                let first = languages.byte_range(b'1', b'9');
                let digit = languages.byte_range(b'0', b'9');
                let rest = languages.repeat(digit, 0, Some(3));
                let more = languages.concat([first, rest]);
                let number = languages.union([zero, more]);
                builder.regular(number)
            }
            (Slot::Text | Slot::Reasoning, _) => match (slot, slots.answer) {
                (Slot::Text, Some(answer)) => builder.call(answer),
                _ => {
                    let text = any_text(builder.languages(), &Utf8);
                    builder.regular(text)
                }
            },
            // A name or arguments outside a call: no text.
            (Slot::Name | Slot::Arguments, None) => builder.choice([]),
        },
    }
}
