//! The mask of one step: constraint with budget, then bans, then the reasoning budget.
//!
//! The constraint is never violated: bans yield to it, and the reasoning budget waits where it
//! would leave nothing. While the prompt is being healed, only the healed bytes and the constraint
//! count.

use super::Sequence;
use crate::engine::token_healing::{self, HealedText};
use crate::error::Result;
use crate::vocabulary::TokenMask;

impl Sequence {
    /// The mask that [`compute_mask`](Self::compute_mask) has computed.
    pub(crate) fn mask(&self) -> &TokenMask {
        &self.mask
    }

    /// Computes the mask of the next token. Returns it with whether bans yielded: the constraint
    /// allows nothing but what they forbid.
    pub(crate) fn compute_mask(&mut self) -> Result<(&TokenMask, bool)> {
        if self.is_healing() {
            let room = self.budget();
            let text = self.matcher.as_mut().map(|matcher| HealedText { matcher, room });
            let vocabulary = self.runner.vocabulary();
            token_healing::allow(vocabulary, &self.healing, text, &mut self.mask)?;
            return Ok((&self.mask, false));
        }
        self.apply_constraint()?;
        self.apply_bans();
        let mut yielded = false;
        if self.mask.is_empty() {
            self.apply_constraint()?;
            yielded = !self.mask.is_empty();
        }
        if let Some(reasoning) = &self.reasoning {
            reasoning.keep_way_to_end(self.runner.vocabulary(), &mut self.mask);
        }
        Ok((&self.mask, yielded))
    }

    /// Computes the mask of the next token if that takes no time: nothing is healed or yields, and the
    /// constraint has computed it before. Returns whether it did; if not, the mask is not to be used.
    pub(super) fn look_up_mask(&mut self) -> Result<bool> {
        if self.is_healing() {
            return Ok(false);
        }
        let room = self.budget();
        let words = self.mask.words_mut();
        match &self.matcher {
            None => words.copy_from_slice(self.runner.unconstrained_mask().words()),
            Some(matcher) if matcher.fill_known_mask(words, room)? => {}
            Some(_) => return Ok(false),
        }
        self.apply_bans();
        if self.mask.is_empty() {
            return Ok(false);
        }
        if let Some(reasoning) = &self.reasoning {
            reasoning.keep_way_to_end(self.runner.vocabulary(), &mut self.mask);
        }
        Ok(true)
    }

    /// Sets the mask to the tokens that the constraint allows; with a budget, to those after which
    /// the text can still be completed within it.
    fn apply_constraint(&mut self) -> Result<()> {
        let room = self.budget();
        let words = self.mask.words_mut();
        match (&mut self.matcher, room) {
            (None, _) => words.copy_from_slice(self.runner.unconstrained_mask().words()),
            (Some(matcher), None) => matcher.fill_mask(words)?,
            // A text whose end the search cannot find must go on all the same.
            (Some(matcher), Some(room)) => {
                matcher.fill_mask_within(words, room).or_else(|_| matcher.fill_mask(words))?;
            }
        }
        Ok(())
    }

    /// The number of tokens within which the text must be completed, if it must.
    pub(super) fn budget(&self) -> Option<u32> {
        self.request.budget.then(|| u32::try_from(self.room()).unwrap_or(u32::MAX))
    }

    /// Errors if the constraint asks for more tokens than there is room for.
    pub(super) fn check_budget(&mut self) -> Result<()> {
        let (Some(room), Some(matcher)) = (self.budget(), &mut self.matcher) else { return Ok(()) };
        let healed = token_healing::tokens_to_spell(self.runner.vocabulary(), &self.healing)[0];
        matcher.check_budget(room.saturating_sub(healed.unwrap_or(0)))
    }

    /// Whether the text must still begin with bytes that token healing took off the prompt.
    pub(crate) fn is_healing(&self) -> bool {
        !self.healing.is_empty()
    }

    /// Takes tokens that would end the text too early out of the mask.
    pub(super) fn apply_bans(&mut self) {
        let early = self.tokens.len() < self.request.min_tokens;
        if early || self.request.ignore_eos {
            let vocabulary = self.runner.vocabulary();
            // A request that names an end token itself wants it, even if it ignores the model's own.
            let is_named = |token: &&u32| !early && self.request.stop_token_ids.contains(token);
            let ends = vocabulary.end_tokens().iter().filter(|token| !is_named(token));
            ends.for_each(|&token| self.mask.deny(token));
        }
        if early {
            self.request.stop_token_ids.iter().for_each(|&token| self.mask.deny(token));
        }
    }
}
