//! The chain as the papers state it, in float64: every step on normalised probabilities, sorted
//! whole.

use maskwright::sampling::{ChainStep, PenaltyScope, SamplingParams};

/// Input of a reference sampler, beside the settings.
pub(crate) struct Given<'a> {
    pub(crate) logits: &'a [f32],
    pub(crate) allowed: &'a [u32],
    pub(crate) prompt: &'a [u32],
    /// The text, each token with whether it was forced.
    pub(crate) text: &'a [(u32, bool)],
    pub(crate) breakers: &'a [u32],
    /// XTC's random number, and mirostat's greatest surprise.
    pub(crate) random: (f64, f64),
}

pub(crate) fn decimal(x: f32) -> f64 {
    format!("{x}").parse().unwrap()
}

/// The occurrences of a token that count for a penalty, by going through the window.
fn count(given: &Given<'_>, p: &SamplingParams, token: u32, published: PenaltyScope) -> usize {
    let whole: Vec<(u32, bool, bool)> = given
        .prompt
        .iter()
        .map(|&t| (t, true, false))
        .chain(given.text.iter().map(|&(t, forced)| (t, false, forced && !p.penalize_forced)))
        .collect();
    let window = p.repeat_last_n.unwrap_or(whole.len()).min(whole.len());
    let scope =
        if p.penalty_scope == PenaltyScope::Published { published } else { p.penalty_scope };
    whole[whole.len() - window..]
        .iter()
        .filter(|&&(t, in_prompt, exempt)| {
            let counts = match scope {
                PenaltyScope::Prompt => in_prompt,
                PenaltyScope::Output => !in_prompt,
                _ => true,
            };
            t == token && counts && !exempt
        })
        .count()
}

/// DRY as its author describes it: for every earlier place of the last token, count backwards how
/// many tokens agree.
fn dry(given: &Given<'_>, p: &SamplingParams, token: u32) -> f64 {
    let whole: Vec<(u32, bool)> =
        given.prompt.iter().map(|&t| (t, false)).chain(given.text.iter().copied()).collect();
    let window = p.dry_penalty_last_n.unwrap_or(whole.len()).min(whole.len());
    let whole = &whole[whole.len() - window..];
    let breaks =
        |(t, forced): (u32, bool)| given.breakers.contains(&t) || (forced && !p.penalize_forced);
    let mut longest = 0;
    for end in 0..whole.len().saturating_sub(1) {
        if whole[end + 1].0 != token || breaks(whole[end + 1]) {
            continue;
        }
        let mut n = 0;
        while n <= end
            && !breaks(whole[whole.len() - 1 - n])
            && whole[end - n].0 == whole[whole.len() - 1 - n].0
        {
            n += 1;
        }
        longest = longest.max(n);
    }
    if longest >= p.dry_allowed_length {
        decimal(p.dry_multiplier)
            * decimal(p.dry_base).powf((longest - p.dry_allowed_length) as f64)
    } else {
        0.0
    }
}

fn softmax(rows: &[(u32, f64)]) -> Vec<f64> {
    let top = rows.iter().map(|r| r.1).fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = rows.iter().map(|r| (r.1 - top).exp()).sum();
    rows.iter().map(|r| (r.1 - top).exp() / sum).collect()
}

/// Keeps rows, in the order that they have, until their probabilities reach `p`.
fn until(rows: &mut Vec<(u32, f64)>, p: f64) {
    let mut cumulative = 0.0;
    let reaches = softmax(rows).iter().position(|x| {
        cumulative += x;
        // Six of ten equal ones have six tenths, whatever the last bit says.
        cumulative >= p - 1e-15
    });
    rows.truncate(reaches.map_or(rows.len(), |at| at + 1));
}

fn rank(rows: &mut [(u32, f64)]) {
    rows.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
}

/// The chain as the papers state it: every step on normalised probabilities, sorted whole.
/// Returns the surviving tokens with their probabilities, in order of token id.
pub(crate) fn reference(given: &Given<'_>, p: &SamplingParams) -> Vec<(u32, f64)> {
    let mut rows: Vec<(u32, f64)> =
        given.allowed.iter().map(|&t| (t, f64::from(given.logits[t as usize]))).collect();
    for list in [&p.allowed_token_ids, &p.banned_token_ids] {
        let banned = std::ptr::eq(list, &p.banned_token_ids);
        let some = |row: &(u32, f64)| list.contains(&row.0) != banned;
        if !list.is_empty() && rows.iter().any(some) {
            rows.retain(some);
        }
    }
    for &step in &p.samplers {
        let adjusts = |step| {
            use ChainStep::*;
            matches!(step, LogitBias | RepetitionPenalty | FrequencyPenalty | PresencePenalty | Dry)
        };
        if p.temperature == 0.0 && !adjusts(step) {
            continue;
        }
        rank(&mut rows);
        let probabilities = softmax(&rows);
        match step {
            ChainStep::LogitBias => {
                let bias = |t| p.logit_bias.get(&t).map_or(0.0, |b| decimal(*b));
                rows.iter_mut().for_each(|row| row.1 += bias(row.0));
            }
            ChainStep::RepetitionPenalty => {
                let penalty = decimal(p.repetition_penalty);
                for (token, x) in &mut rows {
                    if count(given, p, *token, PenaltyScope::All) > 0 {
                        *x = if *x > 0.0 { *x / penalty } else { *x * penalty };
                    }
                }
            }
            ChainStep::FrequencyPenalty => {
                for (token, x) in &mut rows {
                    let n = count(given, p, *token, PenaltyScope::Output) as f64;
                    *x -= n * decimal(p.frequency_penalty);
                }
            }
            ChainStep::PresencePenalty => {
                for (token, x) in &mut rows {
                    if count(given, p, *token, PenaltyScope::Output) > 0 {
                        *x -= decimal(p.presence_penalty);
                    }
                }
            }
            ChainStep::Dry if p.dry_multiplier > 0.0 => {
                rows.iter_mut().for_each(|row| row.1 -= dry(given, p, row.0));
            }
            ChainStep::TopNSigma if p.top_n_sigma > 0.0 => {
                let n = rows.len() as f64;
                let mean = rows.iter().map(|r| r.1).sum::<f64>() / n;
                let square = rows.iter().map(|r| (r.1 - mean) * (r.1 - mean)).sum::<f64>() / n;
                let least = rows[0].1 - decimal(p.top_n_sigma) * square.sqrt();
                rows.retain(|r| r.1 >= least - 1e-12);
            }
            ChainStep::Temperature if p.temperature != 1.0 => {
                rows.iter_mut().for_each(|row| row.1 /= decimal(p.temperature));
            }
            ChainStep::TopK => {
                if let Some(k) = p.top_k.filter(|&k| k > 0) {
                    rows.truncate(k);
                }
            }
            ChainStep::TopP if p.top_p < 1.0 => until(&mut rows, decimal(p.top_p)),
            ChainStep::MinP => {
                let floor = decimal(p.min_p) * probabilities[0];
                rows.truncate(probabilities.iter().take_while(|&&x| x >= floor).count());
            }
            ChainStep::TypicalP if p.typical_p < 1.0 => {
                let entropy: f64 =
                    probabilities.iter().filter(|&&x| x > 0.0).map(|x| -x * x.ln()).sum();
                // From the logits, in which probabilities too small for an `f64` still differ.
                let whole = rows[0].1 - probabilities[0].ln();
                let far = |row: &(u32, f64)| (whole - row.1 - entropy).abs();
                rows.sort_by(|a, b| far(a).partial_cmp(&far(b)).unwrap());
                until(&mut rows, decimal(p.typical_p));
            }
            ChainStep::Xtc if p.xtc_probability > 0.0 => {
                // Ten equal ones have a tenth each, whatever the last bit says.
                let threshold = decimal(p.xtc_threshold) - 1e-15;
                let tops = probabilities.iter().filter(|&&x| x >= threshold).count();
                if given.random.0 < decimal(p.xtc_probability) && tops > 1 {
                    rows.drain(..tops - 1);
                }
            }
            ChainStep::Mirostat if p.mirostat == 2 => {
                let kept = probabilities.iter().filter(|x| -x.log2() <= given.random.1).count();
                rows.truncate(kept.max(1));
            }
            _ => {}
        }
    }
    rank(&mut rows);
    if p.temperature == 0.0 {
        return vec![(rows[0].0, 1.0)];
    }
    let probabilities = softmax(&rows);
    let mut left: Vec<_> = rows.iter().map(|r| r.0).zip(probabilities).collect();
    left.sort_by_key(|row| row.0);
    left
}
