//! The item at which a sum of weights reaches a number, in an order to which nothing is sorted.

use super::steps::Candidate;

/// A candidate as a number: the more probable one is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key(u128);

impl Key {
    /// Logits are no NaN, and zeros of both signs are equal.
    pub(super) fn new(c: &Candidate) -> Self {
        let bits = (c.logit + 0.0).to_bits();
        // Numbers in descending order: of negative ones the sign and the magnitude say so already.
        let descending = if bits >> 63 == 1 { bits } else { !bits & !(1 << 63) };
        Self(u128::from(descending) << 64 | u128::from(c.token))
    }

    pub(super) fn token(self) -> u32 {
        self.0 as u32
    }

    pub(super) fn candidate(self) -> Candidate {
        let bits = (self.0 >> 64) as u64;
        let bits = if bits >> 63 == 1 { bits } else { !bits & !(1 << 63) };
        Candidate { token: self.token(), logit: f64::from_bits(bits) }
    }
}

/// Of so few items the order is made.
const FEW: usize = 24;

/// The item with which the sum of the weights, from the least item up, reaches `wanted`, and that
/// sum. `None` where all of them are too little. No two items are equal.
///
/// Quickselect (Hoare 1961, "Algorithm 65: Find") by weights: expected O(n). The items are moved.
pub(super) fn reach<T: Copy + Ord>(items: &mut [(T, f64)], wanted: f64) -> Option<(T, f64)> {
    let (mut items, mut before) = (items, 0.0);
    while items.len() > FEW {
        let pivot = middle(items);
        let last = items.len() - 1;
        items.swap(pivot, last);
        let (pivot, weight) = items[last];
        // Without a branch that nothing can foretell: each item is swapped, and stays where it comes
        // before the pivot.
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

/// The place of an item that is likely to be in the middle.
fn middle<T: Ord>(items: &[(T, f64)]) -> usize {
    let n = items.len();
    // Not at even distances, at which order in the input would make them alike.
    let mut places = [n / 7 + n % 11, n / 2 - n % 7, n - 1 - n / 9];
    places.sort_unstable_by(|&a, &b| items[a].0.cmp(&items[b].0));
    places[1]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::steps::by_probability;
    use super::*;

    proptest! {
        #[test]
        fn the_item_is_that_of_the_sorted_list(
            logits in prop::collection::vec(-9i32..9, 1..300),
            share in 0.0f64..1.1,
        ) {
            let candidates = (0..).zip(&logits);
            let mut items: Vec<_> = candidates
                .map(|(token, &logit)| Candidate { token, logit: f64::from(logit) / 4.0 })
                .map(|c| (Key::new(&c), c.logit.exp()))
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
            let found = reach(&mut items, wanted).map(|(key, _)| key.candidate());
            let expected = expected.map(|at| sorted[at].0);
            prop_assert!(near || found == expected, "{found:?} {expected:?}");
        }
    }
}
