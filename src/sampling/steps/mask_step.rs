//! The first step: the tokens that a mask allows become candidates.

use super::candidate::Candidate;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::TokenMask;

/// Fills `candidates` with the tokens of `mask` (all without one) whose logit is above −∞.
///
/// Errors if one of them is NaN or +∞ (the model is broken), if none is left, or if the mask is
/// not as wide as the logits. Forbidden tokens are not looked at.
pub fn allow(
    logits: &[f32],
    mask: Option<&TokenMask>,
    candidates: &mut Vec<Candidate>,
) -> Result<()> {
    candidates.clear();
    let mut broken = None;
    let mut consider = |token: usize| {
        let logit = logits[token];
        if logit.is_nan() || logit == f32::INFINITY {
            broken.get_or_insert((token, logit));
        } else if logit != f32::NEG_INFINITY {
            // Vocabularies are far smaller than u32::MAX.
            candidates.push(Candidate { token: token as u32, logit: f64::from(logit) });
        }
    };
    match mask {
        None => (0..logits.len()).for_each(consider),
        Some(mask) if mask.len() != logits.len() => {
            return Err(mask_of_wrong_width(mask.len(), logits.len()));
        }
        Some(mask) => mask.iter().for_each(|token| consider(token as usize)),
    }
    if let Some((token, logit)) = broken {
        return Err(invalid_logit(token as u32, logit));
    }
    if candidates.is_empty() {
        return Err(nothing_allowed(mask.map_or(logits.len(), TokenMask::count)));
    }
    Ok(())
}

/// An error for a logit that is NaN or +∞.
pub(crate) fn invalid_logit(token: u32, logit: f32) -> Error {
    let message = format!("mask step: the model's logit of token {token} is {logit}");
    Error::new(ErrorKind::Model, message)
        .with_help("the weights are damaged or the dtype is too narrow: try f32")
}

/// An error for a mask none of whose `allowed` tokens can be drawn.
pub(crate) fn nothing_allowed(allowed: usize) -> Error {
    let message = match allowed {
        0 => "mask step: the mask allows no token".to_owned(),
        n => format!("mask step: all {n} allowed tokens have a logit of -inf"),
    };
    Error::new(ErrorKind::Sampling, message)
        .with_help("draw only where a token is allowed and has a finite logit")
}

/// An error for a mask that is not as wide as the logits.
pub(crate) fn mask_of_wrong_width(mask: usize, logits: usize) -> Error {
    let message = format!("mask step: a mask of {mask} tokens does not fit {logits} logits");
    Error::new(ErrorKind::Sampling, message)
        .with_help("tell the vocabulary the width of the model's logits")
}
