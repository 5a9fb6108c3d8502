//! The choice of experts by corrected scores, perhaps among the best groups of experts.

use crate::model::config::decoder::{CorrectedChoice, ExpertGroups, ExpertScores};

/// The chosen experts of a row by the outputs of its router, in ascending order, and their weights.
pub(super) fn choose(
    choice: &CorrectedChoice,
    correction: &[f32],
    outputs: &[f32],
    chosen: usize,
) -> Vec<(usize, f32)> {
    let scores = match choice.scores {
        ExpertScores::Sigmoid => outputs.iter().map(|x| 1.0 / (1.0 + (-x).exp())).collect(),
        ExpertScores::Softmax => softmax(outputs),
    };
    let corrected: Vec<f32> = scores.iter().zip(correction).map(|(x, by)| x + by).collect();
    let mut order: Vec<usize> = match choice.groups {
        Some(groups) => of_best_groups(groups, &corrected),
        None => (0..corrected.len()).collect(),
    };
    order.sort_by(|&a, &b| corrected[b].total_cmp(&corrected[a]).then(a.cmp(&b)));
    order.truncate(chosen);
    let sum: f32 = order.iter().map(|&expert| scores[expert]).sum();
    let divisor = choice.least_sum.map_or(1.0, |least| sum.max(least as f32));
    let weight = |expert: usize| (expert, scores[expert] / divisor * choice.factor as f32);
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

/// The experts of the groups whose two greatest numbers have the greatest sums. Of equal groups the first.
fn of_best_groups(groups: ExpertGroups, corrected: &[f32]) -> Vec<usize> {
    let size = corrected.len() / groups.count;
    let sum_of_two = |numbers: &[f32]| {
        let least = f32::NEG_INFINITY;
        let (first, second) = numbers.iter().fold((least, least), |(first, second), &x| {
            if x > first { (x, first) } else { (first, second.max(x)) }
        });
        first + second
    };
    let sums: Vec<f32> = corrected.chunks_exact(size).map(sum_of_two).collect();
    let mut order: Vec<usize> = (0..sums.len()).collect();
    order.sort_by(|&a, &b| sums[b].total_cmp(&sums[a]).then(a.cmp(&b)));
    order.truncate(groups.chosen);
    order.into_iter().flat_map(|group| group * size..(group + 1) * size).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHOICE: CorrectedChoice = CorrectedChoice {
        scores: ExpertScores::Sigmoid,
        correction: "",
        is_correction_row: false,
        groups: None,
        least_sum: None,
        factor: 1.0,
    };

    #[test]
    fn corrections_choose_and_scores_weigh() {
        // The sigmoids of 0 and ln 3 are 1/2 and 3/4.
        let outputs = [0.0, 3f32.ln(), 0.0, 3f32.ln()];
        let near = |found: Vec<(usize, f32)>, expected: [(usize, f32); 2]| {
            assert_eq!(found.len(), 2);
            for ((expert, weight), (other, expected)) in found.into_iter().zip(expected) {
                assert!(expert == other && (weight - expected).abs() < 1e-6, "{expert} {weight}");
            }
        };
        near(choose(&CHOICE, &[0.0; 4], &outputs, 2), [(1, 0.75), (3, 0.75)]);
        let correction = [0.5, 0.0, 0.0, 0.0];
        near(choose(&CHOICE, &correction, &outputs, 2), [(0, 0.5), (1, 0.75)]);
        let normed = CorrectedChoice { least_sum: Some(1e-20), factor: 2.0, ..CHOICE };
        near(choose(&normed, &correction, &outputs, 2), [(0, 0.8), (1, 1.2)]);
        let floor = CorrectedChoice { least_sum: Some(2.5), ..CHOICE };
        near(choose(&floor, &correction, &outputs, 2), [(0, 0.2), (1, 0.3)]);
        let softmax = CorrectedChoice { scores: ExpertScores::Softmax, ..CHOICE };
        near(choose(&softmax, &[0.0; 4], &outputs, 2), [(1, 0.375), (3, 0.375)]);
    }

    #[test]
    fn experts_are_of_the_groups_with_the_best_pairs() {
        // The best expert is alone in its group.
        let groups = Some(ExpertGroups { count: 3, chosen: 1 });
        let choice = CorrectedChoice { groups, ..CHOICE };
        let outputs = [9.0, -9.0, 1.0, 1.0, 0.0, 0.5];
        let experts = |choice, chosen| -> Vec<usize> {
            choose(&choice, &[0.0; 6], &outputs, chosen).into_iter().map(|(e, _)| e).collect()
        };
        assert_eq!(experts(choice, 2), [2, 3]);
        let groups = Some(ExpertGroups { count: 3, chosen: 2 });
        assert_eq!(experts(CorrectedChoice { groups, ..CHOICE }, 3), [2, 3, 5]);
        assert_eq!(experts(CHOICE, 3), [0, 2, 3]);
    }
}
