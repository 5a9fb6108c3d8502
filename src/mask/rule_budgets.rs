//! Masks under rule budgets (`max_tokens` of a rule).
//!
//! Each token changes the open budgets, so no configuration inside a part with a budget comes twice. Far
//! from the limit the budgets do not matter: the mask is that of the *widened* configuration, whose open
//! budgets are unbounded, and is kept under that one. Near the limit the mask is computed by its
//! definition, a walk that asks after each token whether the part can still be closed.
//!
//! A configuration is far from its limit if its budgets suffice whatever the next token is. After that
//! token the text is inside a terminal that was read for the mask. To close the outermost budget from
//! there takes at most the [span](crate::regular::span) of that terminal, one token a byte, and then the
//! fewest tokens from the terminal to the end of the budget (`Recognizer::closing_tokens`).
//!
//! Example: a JSON string with a budget of 40 tokens. After its first quote any token leaves at most 6
//! bytes of an escape or a character and the other quote; so with 8 tokens left the mask is the widened
//! one, and with 7 the walk begins.

use std::sync::Arc;

use super::builder::{ComposedMask, MaskBuilder};
use super::packed_mask::PackedMask;
use crate::error::Result;
use crate::recognizer::{ConfigId, WidenedConfig};

impl MaskBuilder<'_> {
    /// The mask of a configuration in a grammar with budgets, where every byte is a token.
    pub(super) fn mask_under_rule_budgets(&mut self, id: ConfigId) -> Result<Arc<PackedMask>> {
        let WidenedConfig { config: widened, least_tokens_left } = self.recognizer.widened(id)?;
        if widened == id {
            let ComposedMask { mask, uncertain, closing_tokens } = self.compose(id)?;
            self.cache.closing_tokens.insert(id, closing_tokens);
            let (mask, uncertain) = match closing_tokens {
                Some(_) => (mask, uncertain),
                None => self.mask_by_walk(id)?,
            };
            let mask = Arc::new(self.without_rejected(id, mask, uncertain)?);
            self.cache.insert(id, &mask);
            return Ok(mask);
        }
        if !self.cache.closing_tokens.contains_key(&widened) {
            self.mask(widened)?;
        }
        let closing = self.cache.closing_tokens.get(&widened).copied().flatten();
        let mask = if closing.is_some_and(|closing| closing < least_tokens_left.into()) {
            self.mask(widened)?
        } else {
            let (mask, uncertain) = self.mask_by_walk(id)?;
            Arc::new(self.without_rejected(id, mask, uncertain)?)
        };
        self.cache.insert(id, &mask);
        Ok(mask)
    }
}
