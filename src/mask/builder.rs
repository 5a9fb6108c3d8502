//! Computes the mask of a configuration.

use std::sync::Arc;

use super::cache::MaskCache;
use super::packed_mask::{MaskBase, PackedMask};
use super::terminal_reader::TerminalReader;
use crate::error::Result;
use crate::recognizer::{ACCEPT, CaptureMode, ConfigId, Item, Point, Recognizer, TokenSpan};
use crate::vocabulary::{TokenMask, Vocabulary};

/// Tokens that composition may allow wrongly; each is read in full before the mask is done.
#[derive(Debug, Default)]
pub(super) struct UncertainTokens {
    /// Allowed tokens with a comma: captured texts matter to some of them.
    pub(super) with_comma: Vec<u32>,
    /// Tokens that are uncertain whatever is captured.
    pub(super) tokens: Vec<u32>,
}

/// A mask put together from those of terminals.
#[derive(Debug)]
pub(super) struct ComposedMask {
    /// In which uncertain tokens are allowed.
    pub(super) mask: PackedMask,
    pub(super) uncertain: UncertainTokens,
    /// The most tokens that close the open rule budgets after any token of the mask; `None` if that is
    /// not known, or if a budget might not suffice.
    pub(super) closing_tokens: Option<u64>,
}

/// Computes masks; borrows a constraint's memory for a while.
pub(crate) struct MaskBuilder<'a> {
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) recognizer: &'a mut Recognizer,
    pub(super) cache: &'a mut MaskCache,
}

impl<'a> MaskBuilder<'a> {
    pub(crate) fn new(
        vocabulary: &'a Vocabulary,
        recognizer: &'a mut Recognizer,
        cache: &'a mut MaskCache,
    ) -> Self {
        Self { vocabulary, recognizer, cache }
    }

    /// The tokens allowed in a configuration. O(1) if it was asked for before.
    pub(crate) fn mask(&mut self, id: ConfigId) -> Result<Arc<PackedMask>> {
        if let Some(mask) = self.cache.known(id) {
            return Ok(mask);
        }
        let (mask, uncertain) = if !self.recognizer.spells_every_byte() {
            self.mask_by_walk(id)?
        } else if self.recognizer.program.has_budgets() {
            return self.mask_under_rule_budgets(id);
        } else {
            let ComposedMask { mask, uncertain, .. } = self.compose(id)?;
            (mask, uncertain)
        };
        let mask = Arc::new(self.without_rejected(id, mask, uncertain)?);
        self.cache.insert(id, &mask);
        Ok(mask)
    }

    /// The reader of terminals, which knows no grammar.
    pub(super) fn terminals(&mut self) -> TerminalReader<'_> {
        TerminalReader {
            vocabulary: self.vocabulary,
            languages: &mut self.recognizer.languages,
            cache: &mut self.cache.terminals,
        }
    }

    /// The definition of a mask: the recognizer's walk over the whole vocabulary, which asks at each
    /// token whether it leads to a dead end.
    pub(super) fn mask_by_walk(&mut self, id: ConfigId) -> Result<(PackedMask, UncertainTokens)> {
        let mut mask = PackedMask::default();
        let mut tokens = self.special_tokens(id, &mut mask)?;
        let vocabulary = self.vocabulary;
        let trie = vocabulary.trie();
        let items = self.recognizer.items(id).to_vec();
        self.recognizer.captures = CaptureMode::Ignore;
        let mut is_live = |recognizer: &mut Recognizer, items: &[Item]| {
            let mut after_token = items.to_vec();
            recognizer.end_token(&mut after_token)?;
            recognizer.is_live(vocabulary, &after_token)
        };
        let mut take = |node: usize| tokens.extend_from_slice(trie.tokens(node));
        let walked = self.recognizer.walk(trie, &items, &mut is_live, &mut take);
        self.recognizer.captures = CaptureMode::Record;
        walked?;
        let commas = &self.cache.terminals.shared.capture_tokens(vocabulary).commas;
        let with_comma = tokens.iter().copied().filter(|&token| commas.contains(token)).collect();
        let uncertain = UncertainTokens { with_comma, tokens: Vec::new() };
        mask.tokens = tokens.into();
        Ok((mask, uncertain))
    }

    /// The tokens that the grammar names here, and end tokens where the text is complete.
    /// Complements become bases of the mask.
    pub(super) fn special_tokens(
        &mut self,
        id: ConfigId,
        mask: &mut PackedMask,
    ) -> Result<Vec<u32>> {
        let mut allowed = Vec::new();
        for i in 0..self.recognizer.items(id).len() {
            let item = self.recognizer.items(id)[i];
            let point = item.point;
            match self.recognizer.program.point(point) {
                Point::Special { tokens, .. } => {
                    let items = self.recognizer.after_special_token(item)?;
                    if !self.recognizer.is_live(self.vocabulary, &items)? {
                        continue;
                    }
                    match tokens {
                        TokenSpan::OneOf(_) => {
                            allowed.extend(self.recognizer.program.listed_tokens(tokens));
                        }
                        TokenSpan::Except(_) => {
                            mask.bases.push(MaskBase::Complement(self.complement(tokens)));
                        }
                    }
                }
                _ if point == ACCEPT => allowed.extend_from_slice(self.vocabulary.end_tokens()),
                _ => {}
            }
        }
        Ok(allowed)
    }

    /// The tokens that a set does not exclude.
    fn complement(&mut self, tokens: TokenSpan) -> Arc<TokenMask> {
        let Self { vocabulary, recognizer, cache } = self;
        let entry = cache.complements.entry(tokens);
        Arc::clone(entry.or_insert_with(|| {
            let mut mask = TokenMask::all(vocabulary.len());
            for token in recognizer.program.listed_tokens(tokens) {
                mask.deny(token);
            }
            cache.entry_bytes += size_of_val(mask.words());
            Arc::new(mask)
        }))
    }
}
