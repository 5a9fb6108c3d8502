//! Short texts that complete arrays of which all items must differ.
//!
//! The least text of a rule is found over the rules that it calls; here each item leads to a rule of
//! its own, so an array that lacks a hundred items would need a hundred rules for each text that
//! was read so far. The text is given directly instead: the shortest items that are not written yet, one
//! after the other.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::Emitter;
use super::state::{OpenRule, Progress};
use crate::deadline;
use crate::error::Result;
use crate::grammar::{Node, NodeId, RuleId};
use crate::json_schema::document::canonical_text::canonical;
use crate::json_schema::layout::Layout;
use crate::json_schema::set::Set;
use crate::json_schema::set::array_set::ItemEquality;
use crate::json_schema::set::written_items::{ShortItem, Text};
use crate::regular::{Language, Languages, witness};

/// Items beyond which no text is given.
const MAX_COMPLETED_ITEMS: usize = 1 << 13;

impl Emitter<'_> {
    /// A short text of a rule, if it is what follows items that must differ.
    pub(super) fn completion(&mut self, rule: RuleId) -> Result<Option<Vec<u8>>> {
        let Some(&OpenRule::Array(id, state)) = self.open.get(&rule) else { return Ok(None) };
        let array = &self.arrays.automata[id as usize].set;
        if array.equality != ItemEquality::Never {
            return Ok(None);
        }
        let (array, counts) = (array.clone(), self.arrays.counts.get(state.counts).clone());
        // Items that are counted and still missing come first.
        let mut counted = Vec::new();
        for (contains, &count) in array.contains_counts.iter().zip(&counts) {
            if contains.max.is_some() || contains.from > state.at {
                return Ok(None);
            }
            let missing = contains.min.saturating_sub(count) as usize;
            counted.extend(std::iter::repeat_n(contains.set, missing));
        }
        let length = array.min.max(state.at.saturating_add(counted.len() as u32));
        if array.max.is_some_and(|max| max < length) {
            return Ok(None);
        }
        // Of a text whose style is not decided, the shortest.
        let [shortest, ..] = Layout::STYLES;
        let layout = match state.layout {
            Layout::Undecided => shortest,
            layout => layout,
        };
        let signs = self.punctuation(layout).array;
        let mut text = Vec::new();
        let mut chosen: FxHashSet<Text> = FxHashSet::default();
        // By set: how many of its short items were gone through.
        let mut passed: FxHashMap<Set, usize> = FxHashMap::default();
        let missing = length.saturating_sub(state.at) as usize;
        let needed = missing + self.sets.written.len(state.used);
        for at in state.at..length {
            let item = array.item(at as usize);
            let set = self.sets.and([item].into_iter().chain(counted.pop()));
            let Some(items) = self.short_items(set, needed)? else { return Ok(None) };
            let passed = passed.entry(set).or_default();
            let mut left = items[*passed..].iter();
            let item = left.find(|(value, _)| {
                *passed += 1;
                !chosen.contains(value) && !self.sets.written.contains(state.used, value)
            });
            let Some((value, spelled)) = item else { return Ok(None) };
            let before = match state.progress {
                Progress::AfterBracket if chosen.is_empty() => signs.first,
                Progress::AfterGap if chosen.is_empty() => None,
                _ => Some(signs.comma),
            };
            if let Some(before) = before {
                self.write_short(before, &mut text)?;
            }
            chosen.insert(value.clone());
            text.extend_from_slice(spelled);
        }
        let end = match state.progress {
            _ if !chosen.is_empty() => signs.close,
            Progress::AfterBracket => signs.end,
            Progress::NotEmpty => signs.close,
            // An item must come.
            Progress::AfterGap => return Ok(None),
        };
        if let Some(end) = end {
            self.write_short(end, &mut text)?;
        }
        Ok(Some(text))
    }

    /// Appends a short text of a terminal.
    fn write_short(&mut self, node: NodeId, text: &mut Vec<u8>) -> Result<()> {
        if let &Node::Regular(language) = self.builder.node(node) {
            let short = witness::short(&mut self.sets.languages, language)?;
            text.extend_from_slice(&short.unwrap_or_default());
        }
        Ok(())
    }

    /// So many of the shortest scalars of a set, fewer if it has fewer; `None` if they are too many
    /// to be listed.
    fn short_items(&mut self, set: Set, needed: usize) -> Result<Option<Arc<[ShortItem]>>> {
        if needed > MAX_COMPLETED_ITEMS {
            return Ok(None);
        }
        if let Some((asked, items)) = self.sets.written.short.get(&set)
            && *asked >= needed
        {
            return Ok(Some(items.clone()));
        }
        let asked = needed.next_power_of_two();
        let shape = self.sets.shape(set)?;
        let numbers = self.sets.number_text(shape.numbers)?;
        let languages = &mut self.sets.languages;
        let strings = shortest_texts(languages, shape.strings, asked)?;
        let quoted = strings.into_iter().map(|text| [b"\"", &text[..], b"\""].concat());
        let words =
            [("null", shape.null), ("false", shape.booleans[0]), ("true", shape.booleans[1])];
        let words = words.into_iter().filter(|word| word.1).map(|word| word.0.as_bytes().to_vec());
        let numbers = shortest_texts(languages, numbers, asked)?;
        let mut texts: Vec<Vec<u8>> = words.chain(numbers).chain(quoted).collect();
        texts.sort_by_key(Vec::len);
        let mut seen = FxHashSet::default();
        let items = texts.into_iter().filter_map(|text| {
            let value: Text = canonical(&text)?.into();
            seen.insert(value.clone()).then_some((value, text.into()))
        });
        let items: Arc<[ShortItem]> = items.take(asked).collect();
        self.sets.written.short.insert(set, (asked, items.clone()));
        Ok(Some(items))
    }
}

/// So many of the shortest texts of a language, or nearly; fewer if it has fewer, or if they are
/// far to seek.
fn shortest_texts(l: &mut Languages, language: Language, most: usize) -> Result<Vec<Vec<u8>>> {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    let mut found = Vec::new();
    if !l.is_live(language)? {
        return Ok(found);
    }
    // Always on from the beginning with the shortest text, the newest of equals.
    let mut order = 0usize;
    let mut open = BinaryHeap::from([(Reverse(0), order, Vec::new(), language)]);
    let mut looked_at = 0;
    while let Some((_, _, text, state)) = open.pop() {
        deadline::check()?;
        looked_at += 1;
        if l.is_nullable(state) {
            found.push(text.clone());
        }
        if found.len() >= most || looked_at > 1_000 + 16 * most {
            break;
        }
        for byte in l.first_bytes(state)?.iter() {
            let next = l.step(state, byte)?;
            if let Some(rest) = witness::short(l, next)? {
                let longer = [&text[..], &[byte]].concat();
                order += 1;
                open.push((Reverse(longer.len() + rest.len()), order, longer, next));
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_texts_of_a_language() {
        let mut l = Languages::new();
        let letters = l.byte_range(b'a', b'c');
        let texts = l.repeat(letters, 1, None);
        let shortest = shortest_texts(&mut l, texts, 12).unwrap();
        assert_eq!(shortest.iter().filter(|text| text.len() == 1).count(), 3);
        assert_eq!(shortest.iter().filter(|text| text.len() == 2).count(), 9);
        let few = l.literals([&b"long text"[..], b"x"]);
        let texts = shortest_texts(&mut l, few, 12).unwrap();
        assert_eq!(texts, [&b"x"[..], b"long text"]);
    }
}
