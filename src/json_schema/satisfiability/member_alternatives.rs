//! The alternatives for one member of an object with a formula.
//!
//! The statements of a formula cut the values of a member into cells. Each cell leaves a formula
//! for the members that still come, its derivative:
//!
//! ```text
//! formula (a in S and b in T) or c in U; member a, any value
//!   cell S       leaves  b in T or c in U
//!   cell not S   leaves  c in U
//! ```
//!
//! Cells that are provably empty are left out, so formulas over many overlapping sets do not lead
//! to a power set of cells.

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use crate::deadline;
use crate::error::{ErrorKind, Result};
use crate::json_schema::satisfiability::object_overlap::{
    is_provably_disjoint, is_provably_subset,
};
use crate::json_schema::satisfiability::reference_free::reach_of;
use crate::json_schema::set::keys::MemberKey;
use crate::json_schema::set::keys::UnnamedKeys;
use crate::json_schema::set::member_formula::{FormulaNode, MemberFormula};
use crate::json_schema::set::memo::{Reach, ValuePartition};
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets};
use crate::regular::Language;

/// Cells of one member, and states of a search, that are followed before the schema is refused.
const MAX_ALTERNATIVES: usize = 10_000;

impl Sets<'_> {
    /// The sets that a member's value may be in, each with the formula (derivative) that is left for
    /// later members; counts are ignored.
    ///
    /// Sets may overlap: where a complement is costly, the alternative "not in S" keeps the values
    /// in S. That is sound, as formulas have no negation: taking a statement for false only leaves a
    /// stronger formula.
    pub(crate) fn member_alternatives(
        &mut self,
        formula: MemberFormula,
        key: MemberKey<'_>,
        set: Set,
    ) -> Result<Vec<(Set, MemberFormula)>> {
        self.member_alternatives_until(formula, key, set, &mut |_, _, _| Ok(false))
    }

    /// The same, up to the first alternative that is enough.
    pub(crate) fn member_alternatives_until(
        &mut self,
        formula: MemberFormula,
        key: MemberKey<'_>,
        set: Set,
        is_enough: &mut dyn FnMut(&mut Self, Set, MemberFormula) -> Result<bool>,
    ) -> Result<Vec<(Set, MemberFormula)>> {
        if formula == MemberFormula::HOLDS {
            is_enough(self, set, formula)?;
            return Ok(vec![(set, formula)]);
        }
        let mut start = formula;
        if let MemberKey::Named(name, _) = key {
            start = self.formulas.map(formula, |part| match part {
                FormulaNode::Absent(k) if **k == *name => Some(MemberFormula::FAILS),
                _ => None,
            });
        }
        let mut asked: Vec<(MemberFormula, Set)> = Vec::new();
        for &statement in self.formulas.statements(start).iter() {
            if let Some(set) = set_asked_of(self, statement, key)? {
                asked.push((statement, set));
            }
        }
        if let Some(found) = alternatives_by_partition(self, start, set, &asked, is_enough)? {
            return Ok(found);
        }
        let mut found: Vec<(Set, MemberFormula)> = Vec::new();
        let mut open = vec![(set, start, 0)];
        let mut steps = 0;
        'next: while let Some((cell, formula, from)) = open.pop() {
            if formula == MemberFormula::FAILS || cell == Set::NEVER {
                continue;
            }
            steps += 1;
            check_search_steps(self, steps)?;
            self.add_steps(10 + 4 * asked.len());
            self.check_work(cell)?;
            let left = self.formulas.statements(formula);
            for at in from..asked.len() {
                // Statements about the same set, or its complement, are decided together.
                let one = asked[at].1;
                let other = self.not(one);
                if asked[..at].iter().any(|&(_, set)| set == one || set == other) {
                    continue;
                }
                let alike: SmallVec<[(MemberFormula, Set); 4]> = asked[at..]
                    .iter()
                    .filter(|(statement, set)| {
                        (*set == one || *set == other) && left.contains(statement)
                    })
                    .copied()
                    .collect();
                // The set of one that is left: beside it nothing need be said of its complement.
                let Some(&(_, set)) = alike.first() else { continue };
                let not = self.not(set);
                let both = alike.iter().any(|&(_, other)| other != set);
                let (mut inside, mut outside) = (FxHashMap::default(), FxHashMap::default());
                for (statement, other) in alike {
                    let (yes, no) = if other == set {
                        (&mut inside, &mut outside)
                    } else {
                        (&mut outside, &mut inside)
                    };
                    let part = self.formulas.node(statement);
                    if !matches!(part, FormulaNode::All(_)) {
                        yes.insert(statement, MemberFormula::HOLDS);
                    }
                    if !matches!(part, FormulaNode::Some(_)) {
                        no.insert(statement, MemberFormula::FAILS);
                    }
                }
                let yes = self.formulas.replace(formula, &inside);
                let no = self.formulas.replace(formula, &outside);
                if yes == no {
                    open.push((cell, yes, at + 1));
                    continue 'next;
                }
                if is_provably_subset(self, cell, set) {
                    open.push((cell, yes, at + 1));
                    continue 'next;
                }
                let inside = self.and([cell, set]);
                let apart = both || (reach_of(self, set) == Reach::Simple);
                let outside = if apart { self.and([cell, not]) } else { cell };
                if !is_provably_disjoint(self, outside) {
                    open.push((outside, no, at + 1));
                }
                if !is_provably_disjoint(self, inside) {
                    open.push((inside, yes, at + 1));
                }
                continue 'next;
            }
            if is_enough(self, cell, formula)? {
                return Ok(vec![(cell, formula)]);
            }
            let known = found.iter().any(|&(other, left)| {
                left == formula && self.arena().is_subset_by_name(cell, other)
            });
            if !known {
                found.retain(|&(other, left)| {
                    left != formula || !self.arena().is_subset_by_name(other, cell)
                });
                found.push((cell, formula));
            }
        }
        Ok(found)
    }

    /// The keys of an object without a name, in classes that the formula does not distinguish.
    pub(crate) fn other_keys(&mut self, object: &ObjectSet) -> Result<Vec<UnnamedKeys>> {
        let classes = object.classes.iter().filter(|class| class.set != Set::NEVER);
        if classes.clone().next().is_none() {
            return Ok(Vec::new());
        }
        let names = self.names(object);
        let mut groups: Vec<Language> = Vec::new();
        for &statement in self.formulas.statements(object.formula).iter() {
            if let FormulaNode::Some(class) | FormulaNode::All(class) =
                self.formulas.node(statement)
                && !groups.contains(&class.keys)
            {
                groups.push(class.keys);
            }
        }
        let mut others = Vec::new();
        for class in classes {
            let keys = self.languages.difference(class.keys, names);
            if self.languages.is_live(keys)? {
                others.push((keys, class.set, Vec::new()));
            }
        }
        for group in groups {
            let mut split = Vec::new();
            for (keys, set, inside) in others {
                let within = self.languages.intersect([keys, group]);
                let outside = self.languages.difference(keys, group);
                if self.languages.is_live(within)? {
                    let inside = inside.iter().copied().chain([group]).collect();
                    split.push((within, set, inside));
                }
                if self.languages.is_live(outside)? {
                    split.push((outside, set, inside));
                }
            }
            others = split;
            self.check_alternatives(others.len())?;
        }
        let others = others.into_iter();
        Ok(others
            .map(|(keys, set, inside)| UnnamedKeys { keys, set, inside: inside.into() })
            .collect())
    }
}

/// The set that a statement requires of the value of a member with this key, if it speaks of it.
pub(crate) fn set_asked_of(
    sets: &mut Sets<'_>,
    statement: MemberFormula,
    key: MemberKey<'_>,
) -> Result<Option<Set>> {
    let class = match (sets.formulas.node(statement), key) {
        (FormulaNode::Present(k, set), MemberKey::Named(name, _)) if **k == *name => {
            return Ok(Some(*set));
        }
        (&(FormulaNode::Some(class) | FormulaNode::All(class)), _) => class,
        _ => return Ok(None),
    };
    let inside = match key {
        MemberKey::Named(_, spelled) => sets.languages.matches(class.keys, spelled)?,
        MemberKey::Other(inside) => inside.contains(&class.keys),
    };
    Ok(inside.then_some(class.set))
}

/// The alternatives of a member by a partition of its values, each cell decided at once; `None` if
/// the partition is large or coarser alternatives would do.
fn alternatives_by_partition<'d>(
    sets: &mut Sets<'d>,
    formula: MemberFormula,
    set: Set,
    asked: &[(MemberFormula, Set)],
    is_enough: &mut dyn FnMut(&mut Sets<'d>, Set, MemberFormula) -> Result<bool>,
) -> Result<Option<Vec<(Set, MemberFormula)>>> {
    // Each set once, and whether its complement is asked for, too.
    let mut cuts: SmallVec<[(Set, bool); 8]> = SmallVec::new();
    let mut decided: SmallVec<[(MemberFormula, usize, bool); 16]> = SmallVec::new();
    for &(statement, set) in asked {
        let not = sets.not(set);
        let known = cuts.iter().position(|&(other, _)| other == set || other == not);
        let at = known.unwrap_or_else(|| {
            cuts.push((set, false));
            cuts.len() - 1
        });
        let negated = cuts[at].0 != set;
        cuts[at].1 |= negated;
        decided.push((statement, at, negated));
    }
    let Some(cells) = partition_values(sets, set, &cuts)? else { return Ok(None) };
    let mut found: Vec<(Set, MemberFormula)> = Vec::with_capacity(cells.len());
    for &(cell, inside) in cells.iter() {
        sets.add_steps(10 + asked.len());
        sets.check_work(cell)?;
        let mut by = FxHashMap::default();
        for &(statement, at, negated) in &decided {
            let holds = (inside >> at & 1 == 1) != negated;
            match (sets.formulas.node(statement), holds) {
                (FormulaNode::All(_), true) | (FormulaNode::Some(_), false) => {}
                (_, true) => drop(by.insert(statement, MemberFormula::HOLDS)),
                (_, false) => drop(by.insert(statement, MemberFormula::FAILS)),
            }
        }
        let left = sets.formulas.replace(formula, &by);
        if left == MemberFormula::FAILS {
            continue;
        }
        if found.iter().any(|&(_, other)| other == left) {
            return Ok(None);
        }
        if is_enough(sets, cell, left)? {
            return Ok(Some(vec![(cell, left)]));
        }
        found.push((cell, left));
    }
    Ok(Some(found))
}

/// Partitions a set by cuts: the cells that are not provably empty, with the cuts that contain
/// each, as bits. `None` if there are more than two cells for each cut.
fn partition_values(
    sets: &mut Sets<'_>,
    set: Set,
    cuts: &[(Set, bool)],
) -> Result<Option<ValuePartition>> {
    if cuts.len() > u64::BITS as usize {
        return Ok(None);
    }
    let key = (set, cuts.into());
    if let Some(known) = sets.memo.partitions.get(&key) {
        return Ok(known.clone());
    }
    let mut cells = if set == Set::NEVER { Vec::new() } else { vec![(set, 0)] };
    for (at, &(cut, both)) in cuts.iter().enumerate() {
        let not = sets.not(cut);
        let apart = both || reach_of(sets, cut) == Reach::Simple;
        let mut next = Vec::with_capacity(cells.len() + 1);
        for (cell, inside) in cells {
            sets.add_steps(10);
            sets.check_work(cell)?;
            if is_provably_subset(sets, cell, cut) {
                next.push((cell, inside | 1 << at));
                continue;
            }
            // The same sets under the names by which they are known already, if there are such.
            let within =
                if is_provably_subset(sets, cut, cell) { cut } else { sets.and([cell, cut]) };
            if is_provably_disjoint(sets, within) {
                next.push((cell, inside));
                continue;
            }
            next.push((within, inside | 1 << at));
            let outside = if apart { sets.and([cell, not]) } else { cell };
            if !is_provably_disjoint(sets, outside) {
                next.push((outside, inside));
            }
        }
        cells = next;
        if cells.len() > 2 * (at + 1) {
            sets.memo.partitions.insert(key, None);
            return Ok(None);
        }
    }
    let cells = ValuePartition::from(cells);
    sets.memo.partitions.insert(key, Some(cells.clone()));
    Ok(Some(cells))
}

pub(crate) fn check_search_steps(sets: &Sets<'_>, steps: usize) -> Result<()> {
    deadline::check()?;
    if steps <= MAX_ALTERNATIVES {
        return Ok(());
    }
    let message = format!(
        "what is asked of the members of an object together can be met in more than {MAX_ALTERNATIVES} \
         ways"
    );
    let at = sets.unfolding.open.last().copied().unwrap_or(Set::ANY);
    let help = "let fewer alternatives hold at the same time";
    Err(sets.error(ErrorKind::Limit, at, message).with_help(help))
}
