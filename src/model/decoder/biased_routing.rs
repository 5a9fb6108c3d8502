//! Top-k routing by scores with a bias for each expert, perhaps among the best groups of experts
//! (DeepSeek-AI 2024, "DeepSeek-V3 Technical Report", section 2.1.2).

use crate::model::config::decoder::{BiasedRouting, ExpertGroups, ExpertScores};

/// The experts of a row and their weights by the outputs of its router, experts in ascending order.
pub(super) fn choose(
    routing: &BiasedRouting,
    score_bias: &[f32],
    outputs: &[f32],
    chosen: usize,
) -> Vec<(usize, f32)> {
    let scores = match routing.scores {
        ExpertScores::Sigmoid => outputs.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(),
        ExpertScores::Softmax => softmax(outputs),
    };
    let biased: Vec<f32> = scores.iter().zip(score_bias).map(|(x, by)| x + by).collect();
    let mut order: Vec<usize> = match routing.groups {
        Some(groups) => of_best_groups(groups, &biased),
        None => (0..biased.len()).collect(),
    };
    order.sort_by(|&a, &b| biased[b].total_cmp(&biased[a]).then(a.cmp(&b)));
    order.truncate(chosen);
    let sum: f32 = order.iter().map(|&expert| scores[expert]).sum();
    let divisor = routing.min_weight_sum.map_or(1.0, |min| sum.max(min as f32));
    let weight = |expert: usize| (expert, scores[expert] / divisor * routing.scaling_factor as f32);
    let mut weighted: Vec<(usize, f32)> = order.into_iter().map(weight).collect();
    weighted.sort_unstable_by_key(|(expert, _)| *expert);
    weighted
}

fn softmax(outputs: &[f32]) -> Vec<f32> {
    let greatest = outputs.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let powers: Vec<f32> = outputs.iter().map(|x| (x - greatest).exp()).collect();
    let sum: f32 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

/// The experts of the groups with the greatest sums of their two best biased scores. Of equal groups the
/// first.
fn of_best_groups(groups: ExpertGroups, biased: &[f32]) -> Vec<usize> {
    let size = biased.len() / groups.count;
    let sum_of_two = |numbers: &[f32]| {
        let least = f32::NEG_INFINITY;
        let (first, second) = numbers.iter().fold((least, least), |(first, second), &x| {
            if x > first { (x, first) } else { (first, second.max(x)) }
        });
        first + second
    };
    let sums: Vec<f32> = biased.chunks_exact(size).map(sum_of_two).collect();
    let mut order: Vec<usize> = (0..sums.len()).collect();
    order.sort_by(|&a, &b| sums[b].total_cmp(&sums[a]).then(a.cmp(&b)));
    order.truncate(groups.chosen);
    order.into_iter().flat_map(|group| group * size..(group + 1) * size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUTING: BiasedRouting = BiasedRouting {
        scores: ExpertScores::Sigmoid,
        score_bias: "",
        is_score_bias_row: false,
        groups: None,
        min_weight_sum: None,
        scaling_factor: 1.0,
    };

    #[test]
    fn biased_scores_choose_and_scores_weigh() {
        // The sigmoids of 0 and ln 3 are 1/2 and 3/4.
        let outputs = [0.0, 3f32.ln(), 0.0, 3f32.ln()];
        let near = |found: Vec<(usize, f32)>, expected: [(usize, f32); 2]| {
            assert_eq!(found.len(), 2);
            for ((expert, weight), (other, expected)) in found.into_iter().zip(expected) {
                assert!(expert == other && (weight - expected).abs() < 1e-6, "{expert} {weight}");
            }
        };
        near(choose(&ROUTING, &[0.0; 4], &outputs, 2), [(1, 0.75), (3, 0.75)]);
        let score_bias = [0.5, 0.0, 0.0, 0.0];
        near(choose(&ROUTING, &score_bias, &outputs, 2), [(0, 0.5), (1, 0.75)]);
        let normed = BiasedRouting { min_weight_sum: Some(1e-20), scaling_factor: 2.0, ..ROUTING };
        near(choose(&normed, &score_bias, &outputs, 2), [(0, 0.8), (1, 1.2)]);
        let floor = BiasedRouting { min_weight_sum: Some(2.5), ..ROUTING };
        near(choose(&floor, &score_bias, &outputs, 2), [(0, 0.2), (1, 0.3)]);
        let softmax = BiasedRouting { scores: ExpertScores::Softmax, ..ROUTING };
        near(choose(&softmax, &[0.0; 4], &outputs, 2), [(1, 0.375), (3, 0.375)]);
    }

    #[test]
    fn experts_are_of_the_groups_with_the_best_pairs() {
        // The best expert is alone in its group.
        let groups = Some(ExpertGroups { count: 3, chosen: 1 });
        let routing = BiasedRouting { groups, ..ROUTING };
        let outputs = [9.0, -9.0, 1.0, 1.0, 0.0, 0.5];
        let experts = |routing, chosen| -> Vec<usize> {
            choose(&routing, &[0.0; 6], &outputs, chosen).into_iter().map(|(e, _)| e).collect()
        };
        assert_eq!(experts(routing, 2), [2, 3]);
        let groups = Some(ExpertGroups { count: 3, chosen: 2 });
        assert_eq!(experts(BiasedRouting { groups, ..ROUTING }, 3), [2, 3, 5]);
        assert_eq!(experts(ROUTING, 3), [0, 2, 3]);
    }
}
