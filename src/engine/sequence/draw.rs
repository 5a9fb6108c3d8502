//! The draw of one step: under a mask, or by asking the constraint about drawn tokens.

use super::Sequence;
use crate::constraint::Matcher;
use crate::error::{ErrorKind, Result};
use crate::model::Logits;
use crate::sampling::Draw;

/// The purposes for which [`Sequence::is_forced`] is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum ForcedNeed {
    /// Penalties alone, if there are some that pass over forced tokens.
    Penalties,
    /// A report of the step, too.
    Report,
}

impl Sequence {
    /// Sets the sampler to the temperature of the part of the grammar that the text is in, or to the
    /// request's.
    pub(crate) fn set_temperature(&mut self) {
        if let Some(matcher) = &self.matcher {
            let temperature = matcher.temperature();
            self.sampler.set_temperature(temperature.unwrap_or(self.request.sampling.temperature));
        }
    }

    /// Draws until a token is canonical, where the request asks for that; sets `yielded` if none
    /// is, and draws from all tokens of the mask then.
    pub(super) fn draw_under_mask(&mut self, row: &[f32], yielded: &mut bool) -> Result<Draw> {
        loop {
            let steering = self.sampler.steering();
            let draw = self.sampler.draw(row, Some(&self.mask))?;
            if self.is_canonical(draw.token)? {
                return Ok(draw);
            }
            // A token that is not written must not change Mirostat's bound on surprise.
            self.sampler.set_steering(steering);
            self.mask.deny(draw.token);
            if self.mask.is_empty() {
                break;
            }
        }
        *yielded = true;
        self.compute_mask()?;
        if let Some(canonical) = &mut self.canonical {
            canonical.restart(self.tokens.len() + 1);
        }
        self.sampler.draw(row, Some(&self.mask))
    }

    /// Whether the tokenizer itself would write this token after those of the text.
    fn is_canonical(&mut self, token: u32) -> Result<bool> {
        // Bytes that were taken off the prompt may be written in any way that the mask allows.
        let ends = self.ends(token);
        match &mut self.canonical {
            None => Ok(true),
            Some(_) if !self.healing.is_empty() => Ok(true),
            Some(canonical) if ends => canonical.allows_end(&self.tokens),
            Some(canonical) => canonical.allows(&self.tokens, token),
        }
    }

    /// Draws without a mask: asks the constraint about the drawn token. `None` where a mask is
    /// needed: there is no constraint, the prompt is being healed, the grammar's temperature makes a step
    /// remove tokens that removes none at the request's temperature 0, or no token was accepted.
    pub(super) fn draw_checked(&mut self, logits: &Logits) -> Result<Option<u32>> {
        let temperature = self.matcher.as_ref().and_then(Matcher::temperature);
        let removes_tokens = temperature.is_some_and(|temperature| temperature != 0.0)
            && self.request.sampling.first_truncation().is_some();
        if self.is_healing() || removes_tokens {
            return Ok(None);
        }
        let Some(mut matcher) = self.matcher.take() else { return Ok(None) };
        self.mask.words_mut().copy_from_slice(self.runner.unconstrained_mask().words());
        self.apply_bans();
        if let Some(reasoning) = &self.reasoning {
            reasoning.keep_way_to_end(self.runner.vocabulary(), &mut self.mask);
        }
        let mask = self.mask.clone();
        let row = logits.to_vec()?;
        let mut sampler = self.sampler.clone();
        let mut checks = 0;
        // Among all ids, so that the estimate is of the mass under the model alone.
        let room = self.budget();
        let drawn = sampler.draw_checked(&row, None, self.request.faithfulness, &mut |token| {
            if !mask.contains(token) || !self.is_canonical(token)? {
                return Ok(false);
            }
            checks += 1;
            match matcher.accept(token) {
                Ok(()) => {
                    let fits = room.is_none_or(|room| {
                        // As for masks, a limit of the search is no refusal.
                        let checked = matcher.check_budget(room.saturating_sub(1));
                        !checked.is_err_and(|error| error.kind() == ErrorKind::Request)
                    });
                    matcher.rollback(1)?;
                    Ok(fits)
                }
                Err(error) if error.kind() == ErrorKind::Rejected => Ok(false),
                Err(error) => Err(error),
            }
        });
        self.matcher = Some(matcher);
        self.sampler = sampler;
        self.rejection.checks += checks;
        let drawn = drawn?;
        self.rejection.log_weight += drawn.and_then(|drawn| drawn.mass).map_or(0.0, f64::ln);
        Ok(drawn.map(|drawn| drawn.token))
    }

    /// Whether the constraint left no choice about the text of this token. No without asking the
    /// constraint, if nobody needs to know.
    pub(crate) fn is_forced(&mut self, token: u32, need: ForcedNeed) -> Result<bool> {
        let Some(matcher) = self.matcher.as_mut() else { return Ok(false) };
        if need == ForcedNeed::Penalties && !self.sampler.asks_what_is_forced() {
            return Ok(false);
        }
        if self.mask.count() == 1 {
            // Bans, too, may leave one token, but the constraint alone forces it.
            let mut allowed = self.mask.clone();
            matcher.fill_mask(allowed.words_mut())?;
            if allowed.count() == 1 {
                return Ok(true);
            }
        }
        if !self.healing.is_empty() {
            return Ok(false);
        }
        let bytes = self.runner.vocabulary().token_bytes(token).unwrap_or_default();
        Ok(!bytes.is_empty() && matcher.forced_bytes(bytes.len())? == bytes)
    }
}
