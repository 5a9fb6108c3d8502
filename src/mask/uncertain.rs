//! Uncertain tokens: those whose validity depends on captured texts or on exclusions (XGrammar calls
//! such tokens context-dependent).
//!
//! A mask is composed without capturing anything, as if a captured text could be any. It may thus
//! allow too much: a token that ends a captured text and, further on, another one that must differ
//! from it; a token that ends an array or object that must differ from others. The few tokens for
//! which that can matter are read in full from the configuration, and the rejected ones are taken
//! out.

use super::builder::{MaskBuilder, UncertainTokens};
use super::json_captures::CaptureEnd;
use super::packed_mask::PackedMask;
use super::strategies::Strategy;
use crate::error::Result;
use crate::recognizer::{ConfigId, Item, Point};
use crate::regular::structure;

/// A captured text that can go on with at most this many different bytes, such as a number, may be the
/// last one left of its kind. Between quotes a text can go on with nearly any byte.
const MAX_LAST_TEXT_BYTES: usize = 16;

impl MaskBuilder<'_> {
    /// The mask without the uncertain tokens that are rejected.
    pub(super) fn without_rejected(
        &mut self,
        id: ConfigId,
        mut mask: PackedMask,
        UncertainTokens { with_comma, mut tokens }: UncertainTokens,
    ) -> Result<PackedMask> {
        if self.recognizer.program.has_captures() {
            self.add_capture_dependent(id, &mask, with_comma, &mut tokens)?;
        }
        if self.recognizer.program.has_required_duplicates() {
            tokens.extend(self.tokens_with_end(id, &mask, [b']', b',']));
        }
        tokens.sort_unstable();
        tokens.dedup();
        if !tokens.is_empty() {
            mask.excluded = self.recognizer.rejected(self.vocabulary, id, &tokens)?.into();
        }
        Ok(mask)
    }

    /// Adds the tokens of a mask that depend on the texts captured within them.
    fn add_capture_dependent(
        &mut self,
        id: ConfigId,
        mask: &PackedMask,
        with_comma: Vec<u32>,
        uncertain: &mut Vec<u32>,
    ) -> Result<()> {
        let end = self.capture_end(id)?;
        let known = self.cache.terminals.shared.capture_tokens(self.vocabulary);
        let depending = end.map(|end| &known.depending[end.index()]);
        let depends = |token| depending.is_some_and(|depending| depending.contains(token));
        let filters = self.cache.terminals.shared.strategies().has(Strategy::CommaFilter);
        let with_comma = with_comma.into_iter();
        uncertain.extend(
            with_comma.filter(|&token| !filters || known.pairs.contains(token) || depends(token)),
        );
        let signs = &self.recognizer.program.key_signs;
        if !signs.is_empty() {
            uncertain.extend(mask.intersection(self.cache.key_tokens(self.vocabulary, signs)));
        }
        let recognizer = &self.recognizer;
        if recognizer.items(id).iter().any(|item| recognizer.stacks.has_scope(item.stack)) {
            uncertain.extend(self.tokens_with_end(id, mask, [b']', b'}']));
        }
        Ok(())
    }

    /// The tokens of a mask with one of two bytes that may end an item or a scope; where a string is
    /// being read, after the first quote, which is the first byte that can end it.
    fn tokens_with_end(&self, id: ConfigId, mask: &PackedMask, ends: [u8; 2]) -> Vec<u32> {
        let recognizer = &self.recognizer;
        let quote = self.cache.terminals.json.quote;
        let is_in_string =
            recognizer.items(id).iter().all(|item| match recognizer.program.point(item.point) {
                Point::KeyChoice(_) => true,
                Point::Regular { .. } | Point::Capture { .. } => {
                    structure::ends_with(&recognizer.languages, item.state, quote)
                }
                _ => item.is_scope_text(),
            });
        let may_end = |token: &u32| {
            let text = self.vocabulary.token_bytes(*token).unwrap_or_default();
            let from = if is_in_string {
                text.iter().position(|&byte| byte == b'"').unwrap_or(text.len())
            } else {
                0
            };
            text[from..].iter().any(|byte| ends.contains(byte))
        };
        let known = &self.cache.terminals.shared.capture_tokens(self.vocabulary).ends;
        mask.intersection(known).into_iter().filter(may_end).collect()
    }

    /// The ends that the captured texts of a configuration can have; `None` if none is being read.
    fn capture_end(&mut self, id: ConfigId) -> Result<Option<CaptureEnd>> {
        let mut found: Option<CaptureEnd> = None;
        for i in 0..self.recognizer.items(id).len() {
            let Item { point, mut state, .. } = self.recognizer.items(id)[i];
            let Point::Capture { .. } = self.recognizer.program.point(point) else { continue };
            let languages = &mut self.recognizer.languages;
            let mut first = languages.first_bytes(state)?;
            let mut quotes = 1;
            if first.contains(b'"') && first.len() == 1 {
                let inside = languages.step(state, b'"')?;
                // The opening quote, unless it is the closing one.
                if !languages.is_nullable(inside) {
                    (state, quotes) = (inside, 2);
                    first = languages.first_bytes(state)?;
                }
            }
            // A text that can go on with many bytes is between quotes, and one of many.
            let may_be_last = first.len() <= MAX_LAST_TEXT_BYTES;
            let quotes = if may_be_last && quotes == 1 { 0 } else { quotes };
            let known = found.unwrap_or(CaptureEnd { quotes, may_be_last });
            found = Some(CaptureEnd {
                quotes: quotes.min(known.quotes),
                may_be_last: may_be_last || known.may_be_last,
            });
        }
        Ok(found)
    }
}
