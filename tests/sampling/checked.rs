//! Draws by single checks: their distribution, and what they estimate of the accepted mass.

use std::collections::BTreeMap;

use maskwright::sampling::{Sampler, SamplingParams};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::{mask_of, unit, wide};

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
    /// The count, the estimate, and sums and squares of the published ones.
    type Order = (f64, f64, [f64; 2], [f64; 2]);
    // By the order of refusals.
    let mut orders: BTreeMap<Vec<u32>, Order> = BTreeMap::new();
    let mut squares = [0.0; 3];
    for _ in 0..draws {
        let (mut refused, mut first) = (Vec::new(), None);
        let mut check = |token: u32| {
            if accepted(token) {
                first = first.or(Some(refused.len()))
            } else {
                refused.push(token)
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

/// Accepted tokens may be far below those that the model would write, and far apart in the row.
#[test]
fn checked_draws_among_improbable_tokens_follow_their_distribution() {
    let mut row: Vec<f32> = (0..700).map(|i| (i % 9) as f32 * 0.1 - 300.0).collect();
    // Rejected, in the first block.
    (0..10).for_each(|token| row[token] = token as f32);
    // Accepted, each in a block of its own.
    let accepted = [(20, -160.0f32), (300, -158.0), (600, -158.5)];
    accepted.iter().for_each(|&(token, logit)| row[token] = logit);
    let total: f64 = accepted.iter().map(|(_, logit)| f64::from(logit + 158.0).exp()).sum();
    let params = SamplingParams { seed: Some(6), ..SamplingParams::default() };
    let mut sampler = Sampler::new(&params).unwrap();
    let draws = 4000;
    let mut seen = [0; 3];
    let mut mass = 0.0;
    for _ in 0..draws {
        let mut check = |token: u32| Ok(accepted.iter().any(|(a, _)| *a == token as usize));
        let drawn = sampler.draw_checked(&row, None, true, &mut check).unwrap().unwrap();
        let place = accepted.iter().position(|(a, _)| *a == drawn.token as usize).unwrap();
        seen[place] += 1;
        let expected = f64::from(accepted[place].1 - 9.0).exp() * (1.0 - (-1.0f64).exp());
        assert!(
            (drawn.probability / expected - 1.0).abs() < 0.01,
            "{} {expected}",
            drawn.probability
        );
        mass += drawn.mass.unwrap() / f64::from(draws);
    }
    let means: Vec<f64> = accepted
        .iter()
        .map(|(_, logit)| f64::from(logit + 158.0).exp() / total * f64::from(draws))
        .collect();
    // The 99.9% quantile with 2 degrees of freedom.
    assert!(statistic(&seen, &means) < 13.82, "{seen:?} {means:?}");
    // Ten favourites weigh e^9 / (1 − 1/e), but for a tail.
    let exact = total * (-158.0f64 - 9.0).exp() * (1.0 - (-1.0f64).exp());
    assert!((mass / exact - 1.0).abs() < 0.05, "{mass:e} {exact:e}");
}

/// Greedy choice ignores steps that remove tokens, wherever they stand.
#[test]
fn a_greedy_checked_draw_is_the_greedy_draw() {
    use maskwright::sampling::ChainStep;
    let params = SamplingParams {
        temperature: 0.0,
        top_k: Some(40),
        samplers: vec![ChainStep::TopK, ChainStep::LogitBias],
        logit_bias: [(0, -100.0)].into(),
        ..SamplingParams::default()
    };
    let mut sampler = Sampler::new(&params).unwrap();
    let drawn = sampler.draw_checked(&[2.0, 1.0], None, false, &mut |_| Ok(true)).unwrap().unwrap();
    assert_eq!((drawn.token, sampler.draw(&[2.0, 1.0], None).unwrap().token), (1, 1));
}
