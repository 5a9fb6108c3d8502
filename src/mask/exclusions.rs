//! JSON strings with exclusions, read as if they had none.
//!
//! The keys that a schema does not name are all strings but the named ones. Such a language has an
//! automaton of its own, with a split of the vocabulary of its own; but only the tokens in which an
//! excluded string comes to its closing quote tell it from the language of all strings. Where these
//! tokens are few, the terminal is read without exclusions, and they become uncertain: the mask
//! reads them in full. With the names `id` and `tag` excluded, after the opening quote these are
//! the tokens `id"`, `id":`, `tag"` and so on.

use std::sync::Arc;

use smallvec::SmallVec;

use super::cursor_sets::CursorSetId;
use super::json_captures::JsonStrings;
use super::terminal_cache::{FewTokens, StringWithExclusions};
use super::terminal_reader::TerminalReader;
use super::token_trie::TokenTrie;
use super::trie_cursor::TrieCursor;
use crate::error::Result;
use crate::regular::every_prefix;
use crate::regular::structure;
use crate::regular::{ByteSet, Language};
use crate::vocabulary::Vocabulary;

/// Tokens that complete an excluded string and are read one by one. With more of them the terminal keeps
/// its exclusions.
const MAX_EXCLUDED_TOKENS: usize = 16;

/// Trie nodes that are visited to find these tokens.
const MAX_EXCLUSION_STEPS: usize = 1_000;

impl TerminalReader<'_> {
    /// The same string without its exclusions, if the terminal is a string with some.
    pub(super) fn string_with_exclusions(
        &mut self,
        state: Language,
    ) -> Option<StringWithExclusions> {
        let JsonStrings { character, quote } = self.cache.json;
        let after_quote = structure::after_first(self.languages, state, quote);
        let text =
            structure::single_before_suffix(self.languages, after_quote.unwrap_or(state), quote)?;
        if !structure::has_exclusions(self.languages, text) {
            return None;
        }
        let has_opening_quote = after_quote.is_some();
        let facts = &mut self.cache.facts;
        if let Some(known) = facts.exclusions.get(&(text, has_opening_quote)) {
            return *known;
        }
        let mut found = None;
        if structure::excluded_strings(self.languages, text, character)
            .is_some_and(|excluded| !excluded.is_empty())
            && every_prefix::accepts_every_prefix(
                self.languages,
                text,
                character,
                &mut facts.accepts_every_prefix,
            )
        {
            // Where a character must come, the empty string is excluded by the language itself.
            let least = u32::from(!self.languages.is_nullable(text));
            let all = self.languages.repeat(character, least, None);
            let open = if has_opening_quote { quote } else { Language::EPSILON };
            let without_exclusions = self.languages.concat([open, all, quote]);
            found = Some(StringWithExclusions { without_exclusions, text, has_opening_quote });
        }
        facts.exclusions.insert((text, has_opening_quote), found);
        found
    }

    /// The tokens that come to an excluded end from some cursors; `None` if they are many.
    pub(super) fn excluded_tokens_from(
        &mut self,
        string: StringWithExclusions,
        cursors: CursorSetId,
    ) -> Result<Option<SmallVec<[u32; 4]>>> {
        let mut found = SmallVec::new();
        for &cursor in Arc::clone(self.cache.cursor_sets.cursors(cursors)).iter() {
            let cursor =
                if string.has_opening_quote { self.after_quote(cursor) } else { Some(cursor) };
            let Some(cursor) = cursor else { continue };
            // All that leave the repeat, by whatever byte: they are many.
            let known = match self.cache.trie_of(cursor) {
                TokenTrie::RepeatTails(_) => None,
                _ => self.excluded_tokens(string.text, cursor)?,
            };
            let Some(tokens) = known else { return Ok(None) };
            found.extend_from_slice(&tokens);
        }
        Ok(Some(found))
    }

    /// The cursor after a quote, if tokens go on with one.
    fn after_quote(&mut self, mut cursor: TrieCursor) -> Option<TrieCursor> {
        if let TokenTrie::RepeatTails(repeat) = self.cache.trie_of(cursor) {
            cursor.trie = self.repeat_tails_at(&repeat, b'"');
        }
        let tokens = self.cache.trie_of(cursor);
        let node = tokens.trie(self.vocabulary).child(cursor.node as usize, b'"')?;
        Some(TrieCursor { node: node as u32, ..cursor })
    }

    /// The tokens below a cursor in which an excluded string of a text, not the empty one, comes to
    /// its closing quote; `None` if they are many, or the exclusions cannot be listed.
    pub(super) fn excluded_tokens(
        &mut self,
        text: Language,
        cursor: TrieCursor,
    ) -> Result<FewTokens> {
        let key = (text, cursor.trie, cursor.node);
        if let Some(known) = self.cache.splits.excluded_tokens.get(&key) {
            return Ok(known.clone());
        }
        let found =
            match structure::excluded_strings(self.languages, text, self.cache.json.character) {
                Some(excluded) => self.tokens_to_closing_quote(&excluded, cursor)?,
                None => None,
            };
        let found: FewTokens = found.map(Into::into);
        self.cache.token_bytes += found.as_ref().map_or(0, |tokens| size_of_val(&**tokens));
        self.cache.splits.excluded_tokens.insert(key, found.clone());
        Ok(found)
    }

    /// The tokens in which a string of one of these languages, not the empty one, comes to a quote;
    /// `None` if they are many.
    fn tokens_to_closing_quote(
        &mut self,
        languages: &[Language],
        cursor: TrieCursor,
    ) -> Result<Option<Vec<u32>>> {
        let vocabulary: &Vocabulary = self.vocabulary;
        let known = self.cache.trie_of(cursor);
        let trie = known.trie(vocabulary);
        let nodes = trie.nodes();
        let mut tokens = Vec::new();
        let mut steps = 0;
        let mut pending: Vec<(u32, Language)> =
            languages.iter().map(|&language| (cursor.node, language)).collect();
        while let Some((node, state)) = pending.pop() {
            let first = self.languages.first_bytes(state)?;
            let ends = node != cursor.node && self.languages.is_nullable(state);
            let quote = if ends { ByteSet::single(b'"') } else { ByteSet::EMPTY };
            for child in trie.children(node as usize, first.union(&quote).bits()) {
                let at = nodes[child];
                if ends && at.byte == b'"' {
                    tokens.extend_from_slice(trie.subtree_tokens(child));
                }
                if first.contains(at.byte) && at.subtree_end as usize > child + 1 {
                    pending.push((child as u32, self.languages.step(state, at.byte)?));
                }
                steps += 1;
                if tokens.len() > MAX_EXCLUDED_TOKENS || steps > MAX_EXCLUSION_STEPS {
                    return Ok(None);
                }
            }
        }
        Ok(Some(tokens))
    }
}
