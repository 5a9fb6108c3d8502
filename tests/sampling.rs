//! The sampling chain against a plain reference, at its edges, and in the long run.

#![allow(clippy::unwrap_used)]

use maskwright::ErrorKind;
use maskwright::sampling::{Candidate, Sampler, SamplingParams, steps};
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

/// The chain as the papers state it: every step on normalised probabilities, sorted whole.
/// Returns the surviving tokens with their probabilities, in order of token id.
fn reference(
    logits: &[f32],
    allowed: &[u32],
    prompt: &[u32],
    text: &[u32],
    p: &SamplingParams,
) -> Vec<(u32, f64)> {
    let decimal = |x: f32| format!("{x}").parse::<f64>().unwrap();
    let mut rows: Vec<(u32, f64)> =
        allowed.iter().map(|&t| (t, f64::from(logits[t as usize]))).collect();
    for (token, x) in &mut rows {
        let count = text.iter().filter(|t| *t == token).count();
        if count > 0 || prompt.contains(token) {
            let penalty = decimal(p.repetition_penalty);
            *x = if *x > 0.0 { *x / penalty } else { *x * penalty };
        }
        *x -= count as f64 * decimal(p.frequency_penalty);
        *x -= if count > 0 { decimal(p.presence_penalty) } else { 0.0 };
        *x /= if p.temperature == 0.0 { 1.0 } else { decimal(p.temperature) };
    }
    rows.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    if p.temperature == 0.0 {
        return vec![(rows[0].0, 1.0)];
    }
    let softmax = |rows: &[(u32, f64)]| -> Vec<f64> {
        let sum: f64 = rows.iter().map(|r| (r.1 - rows[0].1).exp()).sum();
        rows.iter().map(|r| (r.1 - rows[0].1).exp() / sum).collect()
    };
    if let Some(k) = p.top_k.filter(|&k| k > 0) {
        rows.truncate(k);
    }
    if p.top_p < 1.0 {
        let mut cumulative = 0.0;
        let reaches = softmax(&rows).iter().position(|x| {
            cumulative += x;
            cumulative >= decimal(p.top_p)
        });
        rows.truncate(reaches.unwrap() + 1);
    }
    let probabilities = softmax(&rows);
    let floor = decimal(p.min_p) * probabilities[0];
    rows.truncate(probabilities.iter().take_while(|&&x| x >= floor).count());
    let probabilities = softmax(&rows);
    let mut left: Vec<_> = rows.iter().map(|r| r.0).zip(probabilities).collect();
    left.sort_by_key(|row| row.0);
    left
}

#[test]
fn the_chain_is_the_reference_on_random_rows() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    for round in 0..4000 {
        let width = 1 + below(&mut rng, if round % 50 == 0 { 3000 } else { 80 });
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
            (0..below(rng, n)).map(|_| below(rng, width) as u32).collect()
        };
        let (prompt, text) = (some(&mut rng, 5), some(&mut rng, 30));
        let mut maybe = |off: f32, low: f64, high: f64| match unit(&mut rng) < 0.4 {
            true => off,
            false => (low + unit(&mut rng) * (high - low)) as f32,
        };
        let params = SamplingParams {
            temperature: maybe(1.0, 0.05, 3.0),
            top_p: maybe(1.0, 0.0, 1.0),
            min_p: maybe(0.0, 0.0, 0.5),
            repetition_penalty: maybe(1.0, 0.5, 2.0),
            frequency_penalty: maybe(0.0, -2.0, 2.0),
            presence_penalty: maybe(0.0, -2.0, 2.0),
            top_k: Some(maybe(0.0, 1.0, width as f64 * 1.2) as usize),
            seed: Some(round),
        };
        let params =
            if round % 20 == 7 { SamplingParams { temperature: 0.0, ..params } } else { params };
        let expected = reference(&logits, &allowed, &prompt, &text, &params);

        let mask = mask_of(width, allowed.iter().copied());
        let mut sampler = Sampler::new(&params).unwrap();
        sampler.accept_prompt(&prompt);
        text.iter().for_each(|&token| sampler.accept(token));
        let draw = sampler.draw(&logits, Some(&mask)).unwrap();
        let context = format!("round {round}: {params:?}\n{logits:?}\n{expected:?}\n{draw:?}");
        assert_eq!(draw.nucleus, expected.len(), "{context}");
        assert_eq!(draw.allowed, allowed.len(), "{context}");
        let (_, probability) = expected.iter().find(|row| row.0 == draw.token).expect(&context);
        assert!((draw.probability - probability).abs() < 1e-12, "{context}");
        let all: f64 = allowed.iter().map(|&t| f64::from(logits[t as usize]).exp()).sum();
        let logprob = f64::from(logits[draw.token as usize]) - all.ln();
        assert!((draw.logprob - logprob).abs() < 1e-12, "{context}");
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
        SamplingParams { min_p: 0.1, repetition_penalty: 1.3, ..base },
    ] {
        let expected = reference(&logits, &allowed, &[2, 3], &[], &params);
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

#[test]
fn one_allowed_token_is_always_drawn_however_improbable() {
    let mut sampler = Sampler::new(&SamplingParams { top_p: 0.1, ..Default::default() }).unwrap();
    let mask = mask_of(3, [2]);
    let draw = sampler.draw(&[80.0, 3.0e38, -3.0e38], Some(&mask)).unwrap();
    assert_eq!((draw.token, draw.probability, draw.logprob), (2, 1.0, 0.0));
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
        (SamplingParams { presence_penalty: infinite, ..base }, "`presence_penalty` is inf"),
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
