//! Left factoring of alternatives: `"a" x | "a" y` becomes `"a" (x | y)`.
//!
//! Where lazy rules take precedence, the position at which an alternative is chosen decides which
//! terminals may begin there. Between factored alternatives the choice is made after their common prefix.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::expression::{RuleExpr, RuleExprKind};

/// An alternative as the parts of its sequence, with its byte offset.
struct FactoredAlternative {
    at: usize,
    parts: VecDeque<RuleExpr>,
}

impl RuleExpr {
    /// The same texts, with the common prefixes of alternatives factored out.
    pub(super) fn left_factored(self) -> Self {
        let at = self.at;
        match self.kind {
            RuleExprKind::Sequence(items) => {
                Self::sequence(at, items.into_iter().map(Self::left_factored).collect())
            }
            RuleExprKind::Repeat(inner, min, max) => inner.left_factored().repeat(min, max),
            RuleExprKind::Attributed(inner, attribute) => {
                inner.left_factored().with(Some(attribute))
            }
            RuleExprKind::Choice(items) => {
                let parts = items.into_iter().map(Self::left_factored);
                let alternatives = parts.flat_map(Self::alternatives);
                let alternatives = alternatives
                    .map(|part| FactoredAlternative { at: part.at, parts: part.parts() });
                Self::factored_choice(at, alternatives.collect())
            }
            kind => Self::new(at, kind),
        }
    }

    /// The parts that it is the choice of, nested choices included.
    fn alternatives(self) -> Vec<Self> {
        match self.kind {
            RuleExprKind::Choice(items) => items.into_iter().flat_map(Self::alternatives).collect(),
            kind => vec![Self::new(self.at, kind)],
        }
    }

    /// The parts that it is the sequence of, nested sequences included.
    fn parts(self) -> VecDeque<Self> {
        match self.kind {
            RuleExprKind::Sequence(items) => items.into_iter().flat_map(Self::parts).collect(),
            kind => VecDeque::from([Self::new(self.at, kind)]),
        }
    }

    /// The choice of alternatives, grouped by their first parts.
    fn factored_choice(at: usize, alternatives: Vec<FactoredAlternative>) -> Self {
        let mut groups: Vec<(usize, Option<Self>, Vec<FactoredAlternative>)> = Vec::new();
        let mut by_head: FxHashMap<String, usize> = FxHashMap::default();
        for mut alternative in alternatives {
            let head = alternative.parts.pop_front();
            let key = head.as_ref().map_or(String::new(), Self::structure_key);
            match by_head.get(&key) {
                Some(&group) => groups[group].2.push(alternative),
                None => {
                    by_head.insert(key, groups.len());
                    groups.push((alternative.at, head, vec![alternative]));
                }
            }
        }
        let mut choice = Vec::with_capacity(groups.len());
        for (at, head, mut rests) in groups {
            let Some(head) = head else {
                choice.push(Self::new(at, RuleExprKind::Sequence(Vec::new())));
                continue;
            };
            let mut parts = vec![head];
            // What all of them begin with is taken at once, so that calls nest no deeper than alternatives differ.
            while rests.len() > 1
                && let Some(next) = common_head(&mut rests)
            {
                parts.push(next);
            }
            if rests.len() > 1 {
                parts.push(Self::factored_choice(at, rests));
            } else if let Some(rest) = rests.pop() {
                parts.extend(rest.parts);
            }
            choice.push(Self::sequence(at, parts));
        }
        Self::choice(at, choice)
    }
}

/// Takes off the first part of all alternatives, if it is the same one.
fn common_head(alternatives: &mut [FactoredAlternative]) -> Option<RuleExpr> {
    let key = |alternative: &FactoredAlternative| Some(alternative.parts.front()?.structure_key());
    let (first, others) = alternatives.split_first()?;
    let head = key(first)?;
    if !others.iter().all(|other| key(other).as_ref() == Some(&head)) {
        return None;
    }
    let heads = alternatives.iter_mut().map(|alternative| alternative.parts.pop_front());
    heads.last().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_prefixes_of_alternatives_are_factored_out() {
        let rule = |number| RuleExpr::new(0, RuleExprKind::Rule(number));
        let sequence = |rules: &[usize]| {
            RuleExpr::sequence(0, rules.iter().map(|&number| rule(number)).collect())
        };
        // `a x | b | a y | a`
        let choice = [sequence(&[0, 1]), rule(9), sequence(&[0, 2]), rule(0)];
        let factored = RuleExpr::choice(0, choice.into()).left_factored();
        assert_eq!(factored.structure_key(), "[(rule 0,[rule 1,rule 2,()]),rule 9]");
    }
}
