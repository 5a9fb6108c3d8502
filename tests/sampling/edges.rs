//! The chain at its edges: ties, bounds, lists that leave nothing, settings that are refused.

use maskwright::ErrorKind;
use maskwright::sampling::{Candidate, ChainStep, Sampler, SamplingParams, steps};

use crate::mask_of;

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

/// Rows of all lengths, with all that draws from blocks of them.
#[test]
fn the_least_temperatures_draw_the_most_probable_token() {
    let logits: Vec<f32> = (0..5000).map(|i| 5.0 + ((i * 7919) % 5000) as f32 * 0.005).collect();
    let best = (0..5000).max_by(|&a, &b| logits[a].total_cmp(&logits[b])).unwrap() as u32;
    for temperature in [1e-8, 1e-16, 1e-20, 1e-30, f32::MIN_POSITIVE] {
        for more in [
            SamplingParams::default(),
            SamplingParams { xtc_probability: 1.0, xtc_threshold: 0.1, ..Default::default() },
            SamplingParams { top_p: 0.9, ..Default::default() },
        ] {
            for seed in 0..20 {
                let params = SamplingParams { temperature, seed: Some(seed), ..more.clone() };
                let draw = Sampler::new(&params).unwrap().draw(&logits, None).unwrap();
                assert_eq!((draw.token, draw.probability), (best, 1.0), "{params:?}");
            }
        }
    }
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

/// A token that may stand after any repetition must not end it: else a text that DRY keeps from
/// repeating itself could not even end its line.
#[test]
fn what_ends_a_repetition_for_dry_is_never_penalised() {
    let params = SamplingParams { dry_multiplier: 10.0, ..SamplingParams::greedy() };
    let after = |breakers: &[u32], forced: bool| {
        let mut sampler = Sampler::new(&params).unwrap();
        sampler.break_dry_at(breakers.iter().copied());
        for token in [1, 2, 3, 4, 0, 1, 2, 3] {
            if forced && token == 4 { sampler.accept_forced(token) } else { sampler.accept(token) }
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
        // What is no number comes from the model.
        let kind = if expected.contains("the model's logit") {
            ErrorKind::Model
        } else {
            ErrorKind::Sampling
        };
        assert_eq!(error.kind(), kind);
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

#[test]
fn a_temperature_that_is_set_is_as_one_from_the_start() {
    let row: Vec<f32> = (0..2_000).map(|i| (i * 37 % 101) as f32 / 9.0).collect();
    let params =
        |temperature| SamplingParams { temperature, seed: Some(5), ..SamplingParams::default() };
    for temperature in [0.0, 0.4, 1.0, 1.7] {
        let mut other = Sampler::new(&params(0.8)).unwrap();
        let mut this = Sampler::new(&params(temperature)).unwrap();
        other.set_temperature(temperature);
        other.set_temperature(f32::NAN);
        for _ in 0..50 {
            assert_eq!(other.draw(&row, None).unwrap(), this.draw(&row, None).unwrap());
        }
    }
}
