//! The sampling chain against a plain reference, at its edges, and in the long run.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use maskwright::ErrorKind;
use maskwright::sampling::{
    Candidate, ChainStep, PenaltyScope, Pressure, Sampler, SamplingParams, steps,
};
use maskwright::vocab::TokenMask;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// Uniform in [0, 1).
fn unit(rng: &mut ChaCha8Rng) -> f64 {
    f64::from(rng.next_u32()) / f64::from(u32::MAX) * 0.999_999
}

fn below(rng: &mut ChaCha8Rng, n: usize) -> usize {
    (unit(rng) * n as f64) as usize
}

fn mask_of(width: usize, ids: impl IntoIterator<Item = u32>) -> TokenMask {
    let mut mask = TokenMask::new(width);
    for id in ids {
        mask.allow(id);
    }
    mask
}

/// What a reference draws from, beside the settings.
struct Given<'a> {
    logits: &'a [f32],
    allowed: &'a [u32],
    prompt: &'a [u32],
    /// The text, each token with whether it was forced.
    text: &'a [(u32, bool)],
    breakers: &'a [u32],
    /// XTC's random number, and mirostat's greatest surprise.
    random: (f64, f64),
}

fn decimal(x: f32) -> f64 {
    format!("{x}").parse().unwrap()
}

/// How often a token counts for a penalty, by going through the window.
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
    match longest >= p.dry_allowed_length {
        true => {
            decimal(p.dry_multiplier)
                * decimal(p.dry_base).powf((longest - p.dry_allowed_length) as f64)
        }
        false => 0.0,
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
fn reference(given: &Given<'_>, p: &SamplingParams) -> Vec<(u32, f64)> {
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

/// As many random rows as `MASKWRIGHT_SAMPLING_ROWS` says.
fn rounds() -> u64 {
    std::env::var("MASKWRIGHT_SAMPLING_ROWS").map_or(4000, |rows| rows.parse().unwrap())
}

#[test]
fn the_chain_is_the_reference_on_random_rows() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for round in 0..rounds() {
        // Short rows, rows that are looked at in bands, and rows of which the nucleus is not listed.
        let most = match (round % 500, round % 50) {
            (250, _) => 60_000,
            (_, 0) => 6000,
            _ => 80,
        };
        let width = 1 + below(&mut rng, most);
        // Every third row has few distinct logits: ties everywhere.
        let grain = if round % 3 == 0 { 1.0 } else { 1e-9 };
        let logits: Vec<f32> = (0..width)
            .map(|_| (((unit(&mut rng) * 16.0 - 9.0) / grain).round() * grain) as f32)
            .collect();
        let mut allowed: Vec<u32> = (0..width as u32).filter(|_| unit(&mut rng) < 0.7).collect();
        if allowed.is_empty() {
            allowed.push(0);
        }
        let some = |rng: &mut ChaCha8Rng, n| -> Vec<u32> {
            (0..below(rng, n)).map(|_| below(rng, width.min(12)) as u32).collect()
        };
        let (prompt, breakers) = (some(&mut rng, 5), some(&mut rng, 3));
        let text: Vec<(u32, bool)> =
            some(&mut rng, 30).into_iter().map(|t| (t, unit(&mut rng) < 0.2)).collect();
        let lists = [some(&mut rng, 4), some(&mut rng, 4)];
        let biases = some(&mut rng, 4);
        // One setting of three is on, so that chains of few steps are met as often as long ones.
        let mut maybe = |off: f32, low: f64, high: f64| match unit(&mut rng) < 0.67 {
            true => off,
            false => (low + unit(&mut rng) * (high - low)) as f32,
        };
        let scopes = [
            PenaltyScope::Published,
            PenaltyScope::Prompt,
            PenaltyScope::Output,
            PenaltyScope::All,
        ];
        let params = SamplingParams {
            logit_bias: biases.iter().map(|&t| (t, maybe(1.0, -5.0, 5.0))).collect(),
            repetition_penalty: maybe(1.0, 0.5, 2.0),
            frequency_penalty: maybe(0.0, -2.0, 2.0),
            presence_penalty: maybe(0.0, -2.0, 2.0),
            repeat_last_n: Some(maybe(99.0, 0.0, 20.0) as usize).filter(|&n| n < 99),
            penalty_scope: scopes[maybe(0.0, 0.0, 3.99) as usize],
            penalize_forced: maybe(0.0, 0.0, 2.0) > 1.0,
            dry_multiplier: maybe(0.0, 0.1, 2.0),
            dry_base: maybe(1.75, 1.0, 3.0),
            dry_allowed_length: maybe(2.0, 1.0, 4.0) as usize,
            dry_penalty_last_n: Some(maybe(99.0, 0.0, 20.0) as usize).filter(|&n| n < 99),
            top_n_sigma: maybe(0.0, 0.1, 3.0),
            temperature: maybe(1.0, 0.05, 3.0),
            top_p: maybe(1.0, 0.0, 1.0),
            min_p: maybe(0.0, 0.0, 0.5),
            typical_p: maybe(1.0, 0.0, 1.0),
            top_k: Some(maybe(0.0, 1.0, width as f64 * 1.2) as usize),
            xtc_probability: maybe(0.0, 0.0, 1.0),
            xtc_threshold: maybe(0.1, 0.0, 0.6),
            mirostat: if maybe(0.0, 0.0, 2.0) > 1.0 { 2 } else { 0 },
            mirostat_tau: maybe(5.0, 0.0, 4.0),
            seed: Some(round),
            ..SamplingParams::default()
        };
        let [allowed_token_ids, banned_token_ids] =
            lists.map(|list| if unit(&mut rng) < 0.2 { list } else { Vec::new() });
        let mut params = SamplingParams { allowed_token_ids, banned_token_ids, ..params };
        if round % 20 == 7 {
            params.temperature = 0.0;
        }
        if round % 2 == 1 {
            for i in (1..params.samplers.len()).rev() {
                params.samplers.swap(i, below(&mut rng, i + 1));
            }
        }

        let mask = mask_of(width, allowed.iter().copied());
        let mut sampler = Sampler::new(&params).unwrap();
        sampler.break_dry_at(breakers.iter().copied());
        sampler.accept_prompt(&prompt);
        for &(token, forced) in &text {
            if forced { sampler.accept_forced(token) } else { sampler.accept(token) }
        }
        let random = sampler.clone().uniform();
        let given = Given {
            logits: &logits,
            allowed: &allowed,
            prompt: &prompt,
            text: &text,
            breakers: &breakers,
            random: (random, 2.0 * decimal(params.mirostat_tau)),
        };
        let expected = reference(&given, &params);
        let distribution = sampler.clone().distribution(&logits, Some(&mask)).unwrap();
        let draw = sampler.draw(&logits, Some(&mask)).unwrap();
        let context = || {
            format!(
                "round {round}: {params:?}\n{logits:?}\n{allowed:?}\n{expected:?}\n{draw:?}\n{distribution:?}"
            )
        };
        assert_eq!(draw.nucleus, expected.len(), "{}", context());
        let row = expected.iter().find(|row| row.0 == draw.token);
        assert!((draw.probability - row.unwrap().1).abs() < 1e-12, "{}", context());
        assert_eq!(distribution.len(), expected.len());
        for (ours, theirs) in distribution.iter().zip(&expected) {
            assert_eq!(ours.0, theirs.0, "{}", context());
            assert!((ours.1 - theirs.1).abs() < 1e-12, "{}", context());
        }
        let share = |ids: &[u32]| ids.iter().map(|&t| f64::from(logits[t as usize]).exp()).sum();
        let (some, all): (f64, f64) =
            (share(&allowed), share(&(0..width as u32).collect::<Vec<_>>()));
        if allowed.contains(&draw.token) {
            let pressure = Pressure::measure(&logits, &mask, draw.token).unwrap();
            let logit = f64::from(logits[draw.token as usize]);
            assert!((pressure.logprob - (logit - some.ln())).abs() < 1e-11);
            assert!((pressure.raw_logprob - (logit - all.ln())).abs() < 1e-11);
            assert!((pressure.allowed_mass - some / all).abs() < 1e-11);
            let best = (0..width as u32)
                .reduce(|a, b| if logits[b as usize] > logits[a as usize] { b } else { a });
            assert_eq!(pressure.argmax_masked, !allowed.contains(&best.unwrap()));
        }
    }
}

/// Pearson's statistic of many draws against the reference's probabilities stays under the 99.9%
/// quantile for every setting; the seed is fixed, so the test cannot flicker.
#[test]
fn draws_follow_the_distribution() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let logits: Vec<f32> = (0..40).map(|_| (unit(&mut rng) * 6.0 - 3.0) as f32).collect();
    let allowed: Vec<u32> = (0..40).filter(|t| t % 4 != 1).collect();
    let mask = mask_of(40, allowed.iter().copied());
    let base = SamplingParams { seed: Some(7), ..SamplingParams::default() };
    for params in [
        base.clone(),
        SamplingParams { temperature: 0.6, ..base.clone() },
        SamplingParams { temperature: 2.0, top_k: Some(9), ..base.clone() },
        SamplingParams { top_p: 0.8, ..base.clone() },
        SamplingParams { typical_p: 0.7, ..base.clone() },
        SamplingParams { top_n_sigma: 1.5, ..base.clone() },
        SamplingParams { mirostat: 2, mirostat_tau: 2.0, mirostat_eta: 0.0, ..base.clone() },
        SamplingParams { xtc_probability: 1.0, xtc_threshold: 0.05, ..base.clone() },
        SamplingParams { min_p: 0.1, repetition_penalty: 1.3, ..base },
    ] {
        let given = Given {
            logits: &logits,
            allowed: &allowed,
            prompt: &[2, 3],
            text: &[],
            breakers: &[],
            random: (0.5, 2.0 * decimal(params.mirostat_tau)),
        };
        let expected = reference(&given, &params);
        let mut sampler = Sampler::new(&params).unwrap();
        sampler.accept_prompt(&[2, 3]);
        let draws = 60_000;
        let mut seen = [0u32; 40];
        for _ in 0..draws {
            seen[sampler.draw(&logits, Some(&mask)).unwrap().token as usize] += 1;
        }
        let statistic: f64 = expected
            .iter()
            .map(|&(token, p)| {
                let mean = p * f64::from(draws);
                (f64::from(seen[token as usize]) - mean).powi(2) / mean
            })
            .sum();
        let freedom = (expected.len() - 1) as f64;
        // Wilson and Hilferty's approximation of the quantile; 3.09 is the normal's.
        let a = 2.0 / (9.0 * freedom);
        let quantile = freedom * (1.0 - a + 3.09 * a.sqrt()).powi(3);
        assert!(statistic < quantile, "{params:?}: {statistic} over {quantile}");
        assert_eq!(expected.iter().map(|r| seen[r.0 as usize]).sum::<u32>(), draws as u32);
    }
}

fn left(logits: &[f64], step: impl Fn(&mut Vec<Candidate>)) -> Vec<u32> {
    let mut candidates: Vec<Candidate> =
        logits.iter().zip(0..).map(|(&logit, token)| Candidate { token, logit }).collect();
    step(&mut candidates);
    candidates.iter().map(|c| c.token).collect()
}

#[test]
fn truncations_at_their_edges() {
    let flat = [1.0; 10];
    let steep = [0.0, 3.0, 3.0, 1.0, -700.0];
    let all: Vec<u32> = (0..10).collect();
    for (name, kept, expected) in [
        ("k beyond the width", left(&flat, |c| steps::top_k(c, 11)), &all[..]),
        ("ties at k go to the lower id", left(&flat, |c| steps::top_k(c, 3)), &[0, 1, 2]),
        ("k of 1", left(&steep, |c| steps::top_k(c, 1)), &[1]),
        ("p of 0", left(&steep, |c| steps::top_p(c, 0.0)), &[1]),
        ("p of 1", left(&steep, |c| steps::top_p(c, 1.0)), &[0, 1, 2, 3, 4]),
        ("p met exactly", left(&flat, |c| steps::top_p(c, 0.6)), &[0, 1, 2, 3, 4, 5]),
        ("p just missed", left(&flat, |c| steps::top_p(c, 0.600001)), &[0, 1, 2, 3, 4, 5, 6]),
        ("min-p of 0", left(&steep, |c| steps::min_p(c, 0.0)), &[0, 1, 2, 3, 4]),
        ("min-p of 1", left(&steep, |c| steps::min_p(c, 1.0)), &[1, 2]),
        ("min-p met exactly", left(&[0.0, 0.5f64.ln()], |c| steps::min_p(c, 0.5)), &[0, 1]),
    ] {
        assert_eq!(kept, expected, "{name}");
    }
    // A nucleus of more than one block.
    let wide: Vec<f64> = (0..5000).map(|i| f64::from((i * 7919) % 5000) * 1e-9).collect();
    let kept = left(&wide, |c| steps::top_p(c, 0.5));
    assert_eq!(kept.len(), 2500);
    assert!(kept.iter().all(|&t| wide[t as usize] >= 2499e-9));
}

#[test]
fn a_nucleus_is_measured_by_the_number_that_was_written() {
    // 0.6 as f32 is 0.600000024: taken literally it would let a seventh token in.
    let params = SamplingParams { top_p: 0.6, seed: Some(1), ..SamplingParams::default() };
    assert_eq!(Sampler::new(&params).unwrap().draw(&[0.0; 10], None).unwrap().nucleus, 6);
}

#[test]
fn greedy_takes_the_lowest_id_of_equal_logits_and_no_randomness() {
    let mut sampler = Sampler::new(&SamplingParams::greedy()).unwrap();
    let draw = sampler.draw(&[1.0, 5.0, 5.0], None).unwrap();
    assert_eq!((draw.token, draw.probability, draw.allowed, draw.nucleus), (1, 1.0, 3, 1));
    let mask = mask_of(3, [0, 2]);
    assert_eq!(sampler.draw(&[1.0, 5.0, 5.0], Some(&mask)).unwrap().token, 2);
    // Penalties still count at temperature 0.
    let params = SamplingParams { presence_penalty: 1.0, ..SamplingParams::greedy() };
    let mut sampler = Sampler::new(&params).unwrap();
    sampler.accept(1);
    assert_eq!(sampler.draw(&[1.0, 5.0, 4.5], None).unwrap().token, 2);
}

/// What may stand after any repetition must not be what ends it: else a text that DRY keeps from
/// repeating itself could not even end its line.
#[test]
fn what_ends_a_repetition_for_dry_is_never_penalised() {
    let params = SamplingParams { dry_multiplier: 10.0, ..SamplingParams::greedy() };
    let after = |breakers: &[u32], forced: bool| {
        let mut sampler = Sampler::new(&params).unwrap();
        sampler.break_dry_at(breakers.iter().copied());
        for token in [1, 2, 3, 4, 0, 1, 2, 3] {
            match forced && token == 4 {
                true => sampler.accept_forced(token),
                false => sampler.accept(token),
            }
        }
        sampler.draw(&[0.0, 0.0, 0.0, 0.0, 2.0, 1.0], None).unwrap().token
    };
    assert_eq!(after(&[], false), 5);
    assert_eq!(after(&[4], false), 4);
    // Nor is what the constraint had written there.
    assert_eq!(after(&[], true), 4);
}

#[test]
fn one_allowed_token_is_always_drawn_however_improbable() {
    let mut sampler = Sampler::new(&SamplingParams { top_p: 0.1, ..Default::default() }).unwrap();
    let mask = mask_of(3, [2]);
    let draw = sampler.draw(&[80.0, 3.0e38, -3.0e38], Some(&mask)).unwrap();
    assert_eq!((draw.token, draw.probability, draw.allowed), (2, 1.0, 1));
}

#[test]
fn forbidden_tokens_are_not_looked_at() {
    let mut sampler = Sampler::new(&SamplingParams::default()).unwrap();
    let mask = mask_of(4, [1]);
    let logits = [f32::NAN, 0.0, f32::INFINITY, f32::NAN];
    assert_eq!(sampler.draw(&logits, Some(&mask)).unwrap().token, 1);
}

#[test]
fn the_random_numbers_never_change() {
    // Fixed by the documentation of `Sampler`: another platform or version must draw the same.
    let tokens = |seed| {
        let params = SamplingParams { seed: Some(seed), ..SamplingParams::default() };
        let mut sampler = Sampler::new(&params).unwrap();
        assert_eq!(sampler.seed(), seed);
        (0..8).map(|_| sampler.draw(&[0.0; 1000], None).unwrap().token).collect::<Vec<_>>()
    };
    assert_eq!(tokens(0), GOLDEN_0);
    assert_eq!(tokens(42), GOLDEN_42);
    let fresh = || Sampler::new(&SamplingParams::default()).unwrap().seed();
    assert_ne!(fresh(), fresh());
}

/// Thousandths of the first eight 53-bit fractions of the ChaCha8 key stream, computed apart.
const GOLDEN_0: [u32; 8] = [836, 631, 232, 117, 255, 98, 6, 261];
const GOLDEN_42: [u32; 8] = [348, 285, 493, 367, 825, 67, 489, 266];

#[test]
fn errors_name_the_step_or_the_field() {
    let infinite = f32::INFINITY;
    for (logits, ids, expected) in [
        (vec![0.0, f32::NAN], None, "mask step: the model's logit of token 1 is NaN"),
        (vec![infinite, 0.0], None, "mask step: the model's logit of token 0 is inf"),
        (vec![-infinite; 2], None, "mask step: all 2 allowed tokens have a logit of -inf"),
        (vec![0.0; 2], Some(mask_of(2, [])), "mask step: the mask allows no token"),
        (vec![0.0; 33], Some(mask_of(32, [1])), "mask of 32 tokens does not fit 33 logits"),
        (vec![0.0; 31], Some(mask_of(32, [31])), "mask of 32 tokens does not fit 31 logits"),
        (vec![], None, "mask step: the mask allows no token"),
    ] {
        let mut sampler = Sampler::new(&SamplingParams::default()).unwrap();
        let error = sampler.draw(&logits, ids.as_ref()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Sampling);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let base = SamplingParams::default();
    for (params, field) in [
        (SamplingParams { temperature: -0.1, ..base.clone() }, "`temperature` is -0.1"),
        (SamplingParams { temperature: f32::NAN, ..base.clone() }, "`temperature` is NaN"),
        (SamplingParams { top_p: 1.1, ..base.clone() }, "`top_p` is 1.1"),
        (SamplingParams { min_p: -1.0, ..base.clone() }, "`min_p` is -1"),
        (SamplingParams { repetition_penalty: 0.0, ..base.clone() }, "`repetition_penalty` is 0"),
        (SamplingParams { frequency_penalty: 2.5, ..base.clone() }, "`frequency_penalty` is 2.5"),
        (
            SamplingParams { presence_penalty: infinite, ..base.clone() },
            "`presence_penalty` is inf",
        ),
        (SamplingParams { typical_p: -0.5, ..base.clone() }, "`typical_p` is -0.5"),
        (SamplingParams { top_n_sigma: -1.0, ..base.clone() }, "`top_n_sigma` is -1"),
        (SamplingParams { xtc_probability: 1.5, ..base.clone() }, "`xtc_probability` is 1.5"),
        (SamplingParams { dry_base: 0.5, ..base.clone() }, "`dry_base` is 0.5"),
        (SamplingParams { dry_allowed_length: 0, ..base }, "`dry_allowed_length` is 0"),
    ] {
        let error = Sampler::new(&params).unwrap_err().to_string();
        assert!(error.starts_with(field) && error.contains("; write a number"), "{error}");
    }
}

#[test]
fn the_best_tokens_come_with_their_log_probabilities() {
    let mut candidates = Vec::new();
    steps::allow(&[1.0, 3.0, 3.0, 0.0], None, &mut candidates).unwrap();
    let best = steps::top_log_probabilities(&candidates, 2);
    assert_eq!(best.iter().map(|b| b.0).collect::<Vec<_>>(), [1, 2]);
    let sum: f64 = steps::top_log_probabilities(&candidates, 9).iter().map(|b| b.1.exp()).sum();
    assert!((sum - 1.0).abs() < 1e-12);
    assert!(steps::top_log_probabilities(&candidates, 0).is_empty());
}

#[test]
fn an_order_is_checked_and_kept() {
    let order = |names: &str| {
        names.split(',').map(|name| name.parse::<ChainStep>()).collect::<Result<Vec<_>, _>>()
    };
    let error = order("top_k,topp").unwrap_err().to_string();
    assert!(error.starts_with("`topp` is no step of the chain; write one of logit_bias, "));
    let with = |names: &str| SamplingParams {
        samplers: order(names).unwrap(),
        temperature: 0.5,
        top_p: 0.6,
        seed: Some(1),
        ..SamplingParams::default()
    };
    let error = Sampler::new(&with("temperature")).unwrap_err().to_string();
    assert_eq!(
        error,
        "`top_p` is set, and `samplers` leaves its step out; add the step, or leave the setting \
         at its default"
    );
    let error = Sampler::new(&with("top_p,temperature,top_p")).unwrap_err().to_string();
    assert_eq!(error, "`samplers` has `top_p` twice; name each step once");
    // The nucleus of the sharper distribution is the smaller one.
    let logits: Vec<f32> = (0..10).map(|i| i as f32 * 0.3).collect();
    let nucleus = |names| Sampler::new(&with(names)).unwrap().draw(&logits, None).unwrap().nucleus;
    assert!(nucleus("temperature,top_p") < nucleus("top_p,temperature"));
}

#[test]
fn a_list_that_would_leave_nothing_yields_to_the_mask() {
    let base = SamplingParams::greedy();
    let mask = mask_of(6, [2, 3]);
    let logits = [0.0, 9.0, 1.0, 2.0, 9.0, 9.0];
    for (allowed, banned, token, yielded) in [
        (vec![], vec![3], 2, false),
        (vec![], vec![2, 3], 3, true),
        (vec![2, 5], vec![], 2, false),
        (vec![1, 5], vec![], 3, true),
        // The list of banned tokens yields to what the list of allowed ones left.
        (vec![2], vec![2], 2, true),
        (vec![99], vec![], 3, true),
    ] {
        let params =
            SamplingParams { allowed_token_ids: allowed, banned_token_ids: banned, ..base.clone() };
        let draw = Sampler::new(&params).unwrap().draw(&logits, Some(&mask)).unwrap();
        assert_eq!((draw.token, draw.yielded), (token, yielded), "{params:?}");
    }
}

#[test]
fn what_was_forced_is_not_penalised() {
    let params = SamplingParams {
        repetition_penalty: 2.0,
        frequency_penalty: 2.0,
        presence_penalty: 2.0,
        dry_multiplier: 5.0,
        ..SamplingParams::greedy()
    };
    let logits = [1.0, 1.1, 1.2];
    let after = |params: &SamplingParams| {
        let mut sampler = Sampler::new(params).unwrap();
        (0..6).for_each(|_| sampler.accept_forced(2));
        sampler.draw(&logits, None).unwrap().token
    };
    assert_eq!(after(&params), 2);
    assert_eq!(after(&SamplingParams { penalize_forced: true, ..params }), 1);
}

/// A million repetitions would be an infinite penalty.
#[test]
fn penalties_stay_finite() {
    let params = SamplingParams {
        dry_multiplier: 1.0,
        dry_base: 1e30,
        frequency_penalty: 2.0,
        seed: Some(1),
        ..SamplingParams::default()
    };
    let mut sampler = Sampler::new(&params).unwrap();
    (0..5000).for_each(|_| sampler.accept(0));
    let draw = sampler.draw(&[3e38, 0.0], None).unwrap();
    assert!(draw.probability.is_finite());
    let mut sampler = Sampler::new(&params).unwrap();
    (0..5000).for_each(|_| sampler.accept(0));
    assert_eq!(sampler.draw(&[1.0], None).unwrap().probability, 1.0);
}

/// Surprise goes to mirostat's target, in bits.
#[test]
fn mirostat_steers_to_its_target() {
    let logits: Vec<f32> = (1..2000).map(|rank| -1.1 * (rank as f32).ln()).collect();
    for target in [1.5, 3.0, 5.0] {
        let params = SamplingParams {
            mirostat: 2,
            mirostat_tau: target,
            seed: Some(3),
            ..SamplingParams::default()
        };
        let mut sampler = Sampler::new(&params).unwrap();
        let bits = (0..2000).map(|_| -sampler.draw(&logits, None).unwrap().probability.log2());
        let mean = bits.skip(200).sum::<f64>() / 1800.0;
        assert!((mean - f64::from(target)).abs() < 0.15, "{target}: {mean}");
    }
}

/// Rows of logits, peaked and flat, wide enough for every short cut.
fn wide(rng: &mut ChaCha8Rng, width: usize, peaked: bool) -> Vec<f32> {
    (0..width)
        .map(|_| {
            let field: f64 = (0..6).map(|_| unit(rng) - 0.5).sum();
            let head = if peaked && unit(rng) < 0.01 { 9.0 } else { 0.0 };
            (field * 3.0 + head) as f32
        })
        .collect()
}

/// The point that a draw takes on the line of probabilities is the same with and without a list.
#[test]
fn a_draw_without_truncation_is_the_point_on_the_line() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    for round in 0..60 {
        let row = wide(&mut rng, 3000 + round * 37, round % 2 == 0);
        let mask = mask_of(row.len(), (0..row.len() as u32).filter(|t| t % 5 != 2));
        let params = SamplingParams {
            repetition_penalty: if round % 3 == 0 { 1.4 } else { 1.0 },
            temperature: 0.7,
            seed: Some(round as u64),
            ..SamplingParams::default()
        };
        let mut sampler = Sampler::new(&params).unwrap();
        (0..40).for_each(|i| sampler.accept(i * 61));
        let distribution = sampler.clone().distribution(&row, Some(&mask)).unwrap();
        let mut rest = sampler.clone().uniform();
        let expected = distribution.iter().find(|(_, p)| {
            rest -= p;
            rest < 0.0
        });
        let draw = sampler.draw(&row, Some(&mask)).unwrap();
        let expected = expected.unwrap();
        assert_eq!((draw.token, draw.nucleus), (expected.0, distribution.len()));
        assert!((draw.probability - expected.1).abs() < 1e-12);
    }
}

/// Pearson's statistic of `seen` beside these means, which must hold all that was seen.
fn statistic(seen: &[u32], means: &[f64]) -> f64 {
    let terms = seen.iter().zip(means).filter(|(_, mean)| **mean > 0.0);
    terms.map(|(&n, mean)| (f64::from(n) - mean).powi(2) / mean).sum()
}

/// Draws by single checks have the masked distribution, whatever share of the mass is accepted; the
/// estimates of that share are right in the mean, and independent of the token.
#[test]
fn checked_draws_follow_the_masked_distribution() {
    let mut rng = ChaCha8Rng::seed_from_u64(12);
    for (width, every, expected_share) in [(24, 2, 0.5), (24, 6, 0.2), (2600, 3, 0.35)] {
        let row = wide(&mut rng, width, false);
        let accepted = |token: u32| token % every == 1;
        let free = mask_of(width, (0..width as u32).filter(|t| t % 11 != 3));
        let mask = mask_of(width, free.iter().filter(|&t| accepted(t)));
        let params = SamplingParams {
            temperature: 1.3,
            presence_penalty: 0.5,
            seed: Some(3),
            ..SamplingParams::default()
        };
        let mut sampler = Sampler::new(&params).unwrap();
        [1, 2, 7].iter().for_each(|&token| sampler.accept(token));
        let all = sampler.clone().distribution(&row, Some(&free)).unwrap();
        let mass: f64 = all.iter().filter(|(t, _)| accepted(*t)).map(|(_, p)| p).sum();
        assert!((mass - expected_share).abs() < 0.2, "{mass}");
        let exact = sampler.clone().distribution(&row, Some(&mask)).unwrap();
        let draws = if width < 100 { 40_000 } else { 4000 };
        // Tokens in eight groups, so that each has enough.
        let group = |token: u32| (token / every % 8) as usize;
        let mut means = [0.0; 8];
        exact.iter().for_each(|&(token, p)| means[group(token)] += p * f64::from(draws));
        let (mut seen, mut weights, mut squares) = ([0u32; 8], [0.0; 8], 0.0);
        for _ in 0..draws {
            let mut asked = 0;
            let drawn = sampler
                .draw_checked(&row, Some(&free), true, &mut |token| {
                    asked += 1;
                    Ok(accepted(token))
                })
                .unwrap()
                .unwrap();
            assert!(accepted(drawn.token) && free.contains(drawn.token));
            assert_eq!(drawn.checks, asked);
            let estimate = drawn.mass.unwrap();
            assert!(estimate > 0.0 && estimate <= 1.0);
            seen[group(drawn.token)] += 1;
            weights[group(drawn.token)] += estimate;
            squares += (estimate - mass).powi(2);
        }
        // The 99.9% quantile with 7 degrees of freedom.
        let found = statistic(&seen, &means);
        assert!(found < 24.32, "{found}: {seen:?} {means:?}");
        let n = f64::from(draws);
        let error = (squares / n / n).sqrt();
        let mean = weights.iter().sum::<f64>() / n;
        assert!((mean - mass).abs() < 3.3 * error, "{mean} for {mass} ± {error}");
        // Weighted draws are draws of the model among all tokens: token by token, not only in sum.
        for (weight, expected) in weights.iter().zip(means) {
            let spread = 4.0 * (expected * squares / n + expected * mass * mass).sqrt();
            assert!((weight - expected * mass).abs() <= spread, "{weight} for {}", expected * mass);
        }
    }
}

/// The estimate is the mean of both published ones (Lipkin et al. 2025: their experiments, and
/// genlm-control's geometric one), given which tokens were refused in which order; so it varies less.
#[test]
fn the_estimate_is_the_mean_of_the_published_ones() {
    let probabilities = [0.2f64, 0.25, 0.3, 0.15, 0.1];
    let accepted = |token: u32| token < 2;
    let mass = 0.45;
    let row: Vec<f32> = probabilities.iter().map(|p| p.ln() as f32).collect();
    let params = SamplingParams { seed: Some(4), ..SamplingParams::default() };
    let mut sampler = Sampler::new(&params).unwrap();
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    let draws = 60_000;
    /// How many, the estimate, and sums and squares of the published ones.
    type Order = (f64, f64, [f64; 2], [f64; 2]);
    // By the order of refusals.
    let mut orders: BTreeMap<Vec<u32>, Order> = BTreeMap::new();
    let mut squares = [0.0; 3];
    for _ in 0..draws {
        let (mut refused, mut first) = (Vec::new(), None);
        let mut check = |token: u32| {
            match accepted(token) {
                true => first = first.or(Some(refused.len())),
                false => refused.push(token),
            }
            Ok(accepted(token))
        };
        let drawn = sampler.draw_checked(&row, None, true, &mut check).unwrap().unwrap();
        let (first, last) = (first.unwrap(), refused.len());
        // What is left after each refusal.
        let mut left = vec![1.0];
        refused.iter().for_each(|&t| left.push(left[left.len() - 1] - probabilities[t as usize]));
        // Draws that would have met a token again that was refused before.
        let mut again = 0;
        for (state, share) in left.iter().enumerate() {
            let acceptances = usize::from(state == first) + usize::from(state == last);
            for _ in 0..acceptances + usize::from(state < last) {
                while unit(&mut rng) >= *share {
                    again += 1;
                }
            }
        }
        let estimate = drawn.mass.unwrap();
        let published = [left[first] / (last + 1) as f64, 1.0 / (last + again + 1) as f64];
        let order = orders.entry(refused).or_default();
        order.0 += 1.0;
        order.1 = estimate;
        for (i, value) in published.into_iter().enumerate() {
            order.2[i] += value;
            order.3[i] += value * value;
        }
        for (square, value) in squares.iter_mut().zip([estimate, published[0], published[1]]) {
            *square += (value - mass).powi(2) / f64::from(draws);
        }
    }
    for (order, (n, estimate, sums, squares)) in orders.iter().filter(|(_, o)| o.0 >= 200.0) {
        for (sum, square) in sums.iter().zip(squares) {
            let error = ((square / n - (sum / n).powi(2)).max(0.0) / n).sqrt();
            assert!(
                (sum / n - estimate).abs() <= 4.5 * error + 1e-6,
                "{order:?}: {sum} {estimate}"
            );
        }
    }
    assert!(orders.len() > 10);
    let [ours, paper, library] = squares;
    assert!(ours < 0.98 * paper && ours < 0.98 * library, "{squares:?}");
    println!("variances: {ours:.4} here, {paper:.4} in the paper, {library:.4} in genlm-control");
}

#[test]
fn a_checked_draw_does_not_depend_on_the_estimate_and_ends() {
    let row: Vec<f32> = (0..3000).map(|i| (i % 17) as f32 * 0.3).collect();
    let params = SamplingParams { seed: Some(5), ..SamplingParams::default() };
    let (mut weighed, mut plain) = (Sampler::new(&params).unwrap(), Sampler::new(&params).unwrap());
    for _ in 0..50 {
        let mut check = |token: u32| Ok(token.is_multiple_of(7));
        let a = weighed.draw_checked(&row, None, true, &mut check).unwrap().unwrap();
        let b = plain.draw_checked(&row, None, false, &mut check).unwrap().unwrap();
        assert_eq!((a.token, a.probability, b.mass), (b.token, b.probability, None));
    }
    // Greedy: from the most probable one down. The lowest id of those with the greatest logit is 16.
    let mut greedy = Sampler::new(&SamplingParams::greedy()).unwrap();
    let mut asked = Vec::new();
    let mut check = |token: u32| {
        asked.push(token);
        Ok(token == 50)
    };
    let drawn = greedy.draw_checked(&row, None, true, &mut check).unwrap().unwrap();
    assert_eq!((drawn.token, asked), (50, vec![16, 33, 50]));
    // Nothing accepted, and one token of mass almost zero accepted.
    let short: Vec<f32> = (0..40).map(|i| if i == 9 { -80.0 } else { 0.0 }).collect();
    for params in [SamplingParams::greedy(), params.clone()] {
        let mut sampler = Sampler::new(&params).unwrap();
        assert_eq!(sampler.draw_checked(&short, None, true, &mut |_| Ok(false)).unwrap(), None);
        let drawn = sampler.draw_checked(&short, None, true, &mut |t| Ok(t == 9)).unwrap().unwrap();
        assert_eq!((drawn.token, drawn.checks), (9, 40));
    }
    let params = SamplingParams { top_p: 0.5, ..params };
    let mut sampler = Sampler::new(&params).unwrap();
    let error = sampler.draw_checked(&row, None, false, &mut |_| Ok(true)).unwrap_err();
    assert!(error.to_string().starts_with("`top_p` is on, which must know"), "{error}");
}
