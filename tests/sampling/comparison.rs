//! Draws beside the reference: on random rows and orders, and in the long run.

use maskwright::sampling::{PenaltyScope, Pressure, Sampler, SamplingParams};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::reference::{Given, decimal, reference};
use crate::{below, mask_of, unit, wide};

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
        let mut maybe = |off: f32, low: f64, high: f64| {
            if unit(&mut rng) < 0.67 { off } else { (low + unit(&mut rng) * (high - low)) as f32 }
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
