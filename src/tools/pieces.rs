//! Nodes of a grammar for the pieces of a format.

use super::tool_format::{Piece, Slot};
use crate::grammar::{GrammarBuilder, NodeId, RuleId, SpecialToken};
use crate::regular::{Utf8, any_text};
use crate::vocabulary::Vocabulary;

/// Contents of the slots of pieces.
#[derive(Clone, Copy, Default)]
pub(super) struct Slots<'a> {
    /// Name of a tool and the rule of its arguments.
    pub(super) call: Option<(&'a str, RuleId)>,
    /// Rule of text for the user; any text without.
    pub(super) answer: Option<RuleId>,
    /// Vocabulary that says which tags are special tokens; none are without.
    pub(super) vocabulary: Option<&'a Vocabulary>,
}

/// A node for pieces in sequence.
pub(super) fn nodes(builder: &mut GrammarBuilder, pieces: &[Piece], slots: &Slots<'_>) -> NodeId {
    let nodes: Vec<NodeId> = pieces.iter().map(|piece| node(builder, piece, slots)).collect();
    builder.sequence(nodes)
}

/// A node for one piece.
pub(super) fn node(builder: &mut GrammarBuilder, piece: &Piece, slots: &Slots<'_>) -> NodeId {
    match piece {
        Piece::Text(text) => builder.literal(text.as_bytes()),
        Piece::Token { token } => builder.special(SpecialToken::Name(token.clone())),
        Piece::Tag { tag } => {
            let special = slots.vocabulary.and_then(|vocabulary| {
                vocabulary.special(tag).filter(|&id| vocabulary.is_special(id))
            });
            match special {
                Some(id) => builder.special(SpecialToken::Id(id)),
                None => builder.literal(tag.as_bytes()),
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
        Piece::Slot { slot } => match (slot, slots.call) {
            (Slot::Name, Some((name, _))) => builder.literal(name.as_bytes()),
            (Slot::Arguments, Some((_, rule))) => builder.call(rule),
            (Slot::Id, _) => {
                let languages = builder.languages();
                let ranges = [(b'0', b'9'), (b'A', b'Z'), (b'a', b'z')];
                let ranges = ranges.map(|(first, last)| languages.byte_range(first, last));
                let one = languages.union(ranges);
                let id = languages.repeat(one, 9, Some(9));
                builder.regular(id)
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
