//! Weighted quickselect: the item at which a running sum of weights reaches a number, without
//! sorting.
//!
//! Nucleus truncation asks for the last token whose predecessors weigh less than p. Sorting for it
//! takes O(n log n); selecting takes O(n) on average (Hoare 1961, "Algorithm 65: Find").
//!
//! ```text
//! items    a 0.1   b 0.4   c 0.3   d 0.2       wanted 0.7
//! sums     a 0.1   b 0.5   c 0.8               reached with c
//! ```

/// Greatest number of items that are sorted rather than divided further.
const MAX_SORTED_ITEMS: usize = 24;

/// The item with which the sum of the weights, from the least item up, reaches `wanted`, and that
/// sum; `None` if the sum of all is less. No two items are equal. Moves the items. Expected O(n).
pub(super) fn select_by_weight<T: Copy + Ord>(
    items: &mut [(T, f64)],
    wanted: f64,
) -> Option<(T, f64)> {
    let (mut items, mut before) = (items, 0.0);
    while items.len() > MAX_SORTED_ITEMS {
        let pivot = middle(items);
        let last = items.len() - 1;
        items.swap(pivot, last);
        let (pivot, weight) = items[last];
        // Without an unpredictable branch: each item is swapped, and stays if it is less than the
        // pivot.
        let (mut first, mut sum) = (0, 0.0);
        for i in 0..last {
            let item = items[i];
            items.swap(i, first);
            let is_before = item.0 < pivot;
            first += usize::from(is_before);
            sum += if is_before { item.1 } else { 0.0 };
        }
        items.swap(first, last);
        if before + sum >= wanted {
            items = &mut items[..first];
        } else if before + sum + weight >= wanted {
            return Some((pivot, before + sum + weight));
        } else {
            before += sum + weight;
            items = &mut items[first + 1..];
        }
    }
    items.sort_unstable_by_key(|item| item.0);
    items.iter().find_map(|(item, weight)| {
        before += weight;
        (before >= wanted).then_some((*item, before))
    })
}

/// The index of an item that is likely to be near the median: the median of three.
fn middle<T: Ord>(items: &[(T, f64)]) -> usize {
    let n = items.len();
    // At uneven distances, so that an ordered input does not make them equal.
    let mut places = [n / 7 + n % 11, n / 2 - n % 7, n - 1 - n / 9];
    places.sort_unstable_by(|&a, &b| items[a].0.cmp(&items[b].0));
    places[1]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::sampling::steps::{Candidate, CandidateKey, by_probability};

    proptest! {
        #[test]
        fn the_item_is_that_of_the_sorted_list(
            logits in prop::collection::vec(-9i32..9, 1..300),
            share in 0.0f64..1.1,
        ) {
            let candidates = (0..).zip(&logits);
            let mut items: Vec<_> = candidates
                .map(|(token, &logit)| Candidate { token, logit: f64::from(logit) / 4.0 })
                .map(|c| (CandidateKey::new(&c), c.logit.exp()))
                .collect();
            let mut sorted: Vec<_> = items.iter().map(|(key, w)| (key.candidate(), *w)).collect();
            sorted.sort_by(|a, b| by_probability(&a.0, &b.0));
            let wanted = share * items.iter().map(|item| item.1).sum::<f64>();
            let mut sum = 0.0;
            let expected = sorted.iter().position(|(_, weight)| {
                sum += weight;
                sum >= wanted
            });
            // Sums in another order differ in their last bits.
            let near = (sum - wanted).abs() < 1e-9;
            let found = select_by_weight(&mut items, wanted).map(|(key, _)| key.candidate());
            let expected = expected.map(|at| sorted[at].0);
            prop_assert!(near || found == expected, "{found:?} {expected:?}");
        }
    }
}
