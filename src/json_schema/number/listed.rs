//! Listed values as sets of numbers: one by one, or as a list.

use super::decimal::Decimal;
use super::number_list::{ListSpellings, NumberLiterals};
use super::numbers::{ExponentForms, NumberSet, Numbers};
use crate::error::Result;
use crate::regular::structure;
use crate::regular::{ChoiceList, Language, Languages};

impl Numbers {
    /// The values that a schema lists, where they are many.
    ///
    /// Errors if the list cannot be built.
    pub(crate) fn list(
        &mut self,
        l: &mut Languages,
        NumberLiterals { literals, kinds }: NumberLiterals<'_>,
    ) -> Result<NumberSet> {
        let mut set = NumberSet { may_have_point: kinds.pointed, ..NumberSet::NONE };
        if !literals.is_empty() {
            let list = ChoiceList::from_texts(&literals)?;
            let (canonical, spellings) = ListSpellings::new(l, &list, kinds);
            self.lists.insert(canonical, spellings);
            set.listed = canonical;
        }
        if kinds.zero {
            let zero = self.listed(l, &Decimal::zero(), "0");
            set = self.or(l, set, zero);
        }
        Ok(set)
    }

    /// The literals of listed values that are to be written, as far as these are lists that stand
    /// alone, and the canonical literals of the others.
    pub(super) fn written_lists(&self, l: &mut Languages, set: NumberSet) -> (Language, Language) {
        let (mut lists, mut others) = (Vec::new(), Vec::new());
        let has_exponents = set.exponents != ExponentForms::Unknown;
        for part in structure::alternatives(l, set.listed) {
            let list = self.lists.get(&part);
            match list.and_then(|list| list.written(set.may_have_point, has_exponents)) {
                Some(written) => lists.push(written),
                None => others.push(part),
            }
        }
        (l.union(lists), l.union(others))
    }

    /// The listed numbers that are in a set, by their canonical literals. A list that is known to be a
    /// part of the set stays as it is, so that it is read without an intersection.
    pub(super) fn listed_within(
        &self,
        l: &mut Languages,
        listed: Language,
        set: NumberSet,
    ) -> Language {
        let is_within = |part: &Language| {
            self.lists.get(part).is_some_and(|list| {
                let holds_integers = set.language == self.integers;
                set.language == self.all || holds_integers && list.are_fixed_integers()
            })
        };
        let parts = structure::alternatives(l, listed).into_iter();
        let (mut within, others): (Vec<_>, Vec<_>) = parts.partition(is_within);
        let (others, literals) = (l.union(others), set.all_literals(l));
        within.push(l.intersect([others, literals]));
        l.union(within)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::json_schema::number::BoundSide;
    use crate::json_schema::options::Spelling;

    const VALUES: &[&str] = &[
        "0",
        "-0.0",
        "1",
        "-1",
        "1.0",
        "10",
        "12",
        "120",
        "1.5",
        "1.05",
        "-1.5",
        "0.5",
        "1e3",
        "1e20",
        "12e19",
        "-1.25e-7",
        "1e500",
        "123456789012345678",
        "5e-5",
        "1000000000000000",
    ];

    fn decimal(literal: &str) -> Decimal {
        Decimal::parse(literal).unwrap()
    }

    fn as_list(numbers: &mut Numbers, l: &mut Languages, values: &[&'static str]) -> NumberSet {
        let mut list = NumberLiterals::default();
        for literal in values {
            if !list.add_integer(literal) {
                list.add(&decimal(literal), literal);
            }
        }
        numbers.list(l, list).unwrap()
    }

    /// The same values, each a set of its own.
    fn one_by_one(numbers: &mut Numbers, l: &mut Languages, values: &[&str]) -> NumberSet {
        values.iter().fold(NumberSet::NONE, |set, literal| {
            let one = numbers.listed(l, &decimal(literal), literal);
            numbers.or(l, set, one)
        })
    }

    fn assert_equal(l: &mut Languages, a: Language, b: Language, name: &str) {
        for (a, b) in [(a, b), (b, a)] {
            let more = l.difference(a, b);
            let text = l.shortest(more).unwrap();
            assert_eq!(text.as_deref().map(str::from_utf8), None, "{name}");
        }
    }

    #[test]
    fn lists_are_the_unions_of_their_values() {
        let mut seed = 5u64;
        let mut random = |n: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % n
        };
        for round in 0..40 {
            let mut l = Languages::new();
            let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
            // Lists of integers alone among them.
            let among = if round % 3 == 0 { &VALUES[2..4] } else { VALUES };
            let values: Vec<&str> =
                (0..1 + random(6)).map(|_| among[random(among.len())]).collect();
            let list = as_list(&mut numbers, &mut l, &values);
            let union = one_by_one(&mut numbers, &mut l, &values);
            let bound = numbers.bound(&mut l, &decimal("1.2"), BoundSide::Above, true);
            let others = [numbers.all(), numbers.integers(&mut l, true), bound];
            let draft_4 = numbers.integers(&mut l, false);
            let further = one_by_one(&mut numbers, &mut l, &["12.0", "7"]);
            let mut pairs = vec![(list, union)];
            for other in others.into_iter().chain([draft_4, further]) {
                pairs.push([list, union].map(|set| numbers.and(&mut l, set, other)).into());
                pairs.push([list, union].map(|set| numbers.or(&mut l, set, other)).into());
            }
            pairs.push([list, union].map(|set| numbers.not(&mut l, set)).into());
            for (index, (list, union)) in pairs.into_iter().enumerate() {
                let name = format!("{values:?} {index}");
                let [literals, expected] = [list, union].map(|set| set.all_literals(&mut l));
                assert_equal(&mut l, literals, expected, &name);
                let [(free, listed), (free_union, listed_union)] =
                    [list, union].map(|set| numbers.spelling(&mut l, set, 20));
                assert_equal(&mut l, free, free_union, &name);
                assert_equal(&mut l, listed, listed_union, &name);
            }
        }
    }

    #[test]
    fn the_shortest_rest_of_a_list_ends_a_literal() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        let list = as_list(&mut numbers, &mut l, &["120", "1.5", "12", "1e20"]);
        let (_, written) = numbers.spelling(&mut l, list, 20);
        for (text, rest) in [
            ("", Some(2)),
            ("1", Some(1)),
            ("12.", Some(1)),
            ("1e+2", Some(1)),
            ("12", Some(0)),
            ("1.50", Some(0)),
            ("12.00", Some(0)),
            ("1.", Some(1)),
            ("13", None),
        ] {
            let state = text.bytes().try_fold(written, |state, byte| {
                let next = l.step(state, byte).unwrap();
                (next != Language::EMPTY).then_some(next)
            });
            let shortest = state.map(|state| l.shortest(state).unwrap().unwrap().len());
            assert_eq!(shortest, rest, "{text}");
        }
    }
}
