//! Steps that change logits.

use super::candidate::Candidate;

/// The candidate of a token, by binary search.
fn find(candidates: &mut [Candidate], token: u32) -> Option<&mut Candidate> {
    let i = candidates.binary_search_by_key(&token, |c| c.token).ok()?;
    Some(&mut candidates[i])
}

/// Adds each token's bias to its logit: `logit_bias` of the OpenAI API reference.
pub fn logit_bias(candidates: &mut [Candidate], biases: impl IntoIterator<Item = (u32, f64)>) {
    for (token, bias) in biases {
        if let Some(c) = find(candidates, token) {
            c.logit += bias;
        }
    }
}

/// Divides the logit of every token in `seen` by `penalty` if it is positive, else multiplies it.
///
/// CTRL divides always (Keskar et al. 2019, "CTRL: A Conditional Transformer Language Model for
/// Controllable Generation", section 4.1); the case for negative logits, without which the penalty
/// would reward them, is Hugging Face's `RepetitionPenaltyLogitsProcessor`, and llama.cpp's. `seen`
/// holds prompt and text, each token once.
pub fn repetition_penalty(
    candidates: &mut [Candidate],
    seen: impl IntoIterator<Item = u32>,
    penalty: f64,
) {
    for token in seen {
        if let Some(c) = find(candidates, token) {
            c.logit = if c.logit > 0.0 { c.logit / penalty } else { c.logit * penalty };
        }
    }
}

/// Takes `penalty` times a token's count in the text so far off its logit: the first term of
/// `logit[j] - c[j] * frequency - (c[j] > 0) * presence` in the OpenAI API reference
/// ("Frequency and presence penalties"). As there, the prompt does not count; in llama.cpp it does,
/// which [`PenaltyScope::All`](crate::sampling::PenaltyScope::All) does too.
pub fn frequency_penalty(
    candidates: &mut [Candidate],
    counts: impl IntoIterator<Item = (u32, u32)>,
    penalty: f64,
) {
    for (token, count) in counts {
        if let Some(c) = find(candidates, token) {
            c.logit -= f64::from(count) * penalty;
        }
    }
}

/// Takes `penalty` once off the logit of every token that stands in the text so far: the second
/// term of the formula under [`frequency_penalty`].
pub fn presence_penalty(
    candidates: &mut [Candidate],
    seen: impl IntoIterator<Item = u32>,
    penalty: f64,
) {
    for token in seen {
        if let Some(c) = find(candidates, token) {
            c.logit -= penalty;
        }
    }
}

/// Greatest penalty of [`dry`], in units of the logit: powers of long repetitions would overflow,
/// and this leaves a token no chance already.
const MAX_DRY_PENALTY: f64 = 1e30;

/// DRY ("don't repeat yourself", Weidmann 2024, text-generation-webui's pull request 5677): takes
/// `multiplier * base^(n - allowed)` off the logit of every token that would go on repeating a
/// sequence of `n` tokens, where `n` is at least `allowed`.
///
/// `repetitions` has each such token once, with its longest `n`. As in the original and in
/// llama.cpp, no token that ends a repetition is among them. As in llama.cpp, lengths are not
/// capped (the original stops counting at 50) and a power that overflows is cut off.
pub fn dry(
    candidates: &mut [Candidate],
    repetitions: impl IntoIterator<Item = (u32, usize)>,
    (multiplier, base, allowed): (f64, f64, usize),
) {
    for (token, n) in repetitions {
        if n >= allowed
            && let Some(c) = find(candidates, token)
        {
            let power = base.powf((n - allowed) as f64);
            c.logit -= (multiplier * power).min(MAX_DRY_PENALTY);
        }
    }
}

/// Divides every logit by `temperature`, which is above 0.
///
/// Ackley, Hinton and Sejnowski 1985, "A Learning Algorithm for Boltzmann Machines", section 2. As
/// in Hugging Face's warper and in llama.cpp.
pub fn temperature(candidates: &mut [Candidate], temperature: f64) {
    for c in candidates {
        c.logit /= temperature;
    }
}
