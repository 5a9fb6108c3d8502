//! Conditions on the members of an object that none of them decides alone.
//!
//! What is said of each key by itself stands in an object set's names and classes. Everything
//! else, such as one of several object sets that would be too many to follow one by one, is a
//! formula over a few statements about members, without negation. A member that is written makes
//! some statements true and others false; what is left of the formula then is the condition on the
//! members that still come (Brzozowski's derivative, of conditions instead of expressions). So
//! formulas are the states of an object, they grow as the sum of their parts does, and nothing is
//! multiplied out.

pub(crate) mod fold;
pub(crate) mod search;

pub(crate) use search::{SearchOutcome, KEY_COUNT_CAP, SearchState};

use std::cmp::Reverse;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use super::object_set::{KeyClass, NamedKey, ObjectSet};
use crate::deadline;
use crate::error::{ErrorKind, Result};
use crate::json_schema::options::PropertyOrder;
use crate::json_schema::satisfiability::reference_free::Reach;
use crate::json_schema::set::{Set, Sets};
use crate::regular::Language;

/// Values of one member that a condition may tell apart, and steps in the search for members
/// that meet it.
const STEPS: usize = 10_000;

/// Parts that one condition may have.
const SIZE: usize = 100_000;

/// Conditions that one schema may lead to.
const CONDITIONS: usize = 200_000;

/// Parts of conditions that are looked at before alternatives are tried one by one.
const SOON: usize = 1_000_000;

/// So many object sets with conditions are followed side by side.
const FEW: usize = 4;

/// A condition, as an index into those made so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct MemberFormula(u32);

impl MemberFormula {
    /// Always.
    pub(crate) const HOLDS: Self = Self(0);
    /// Never.
    pub(crate) const FAILS: Self = Self(1);
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum FormulaNode {
    Holds,
    Fails,
    /// The member with this key is there, and has a value in this set.
    Present(Arc<str>, Set),
    Absent(Arc<str>),
    /// Some member with one of these keys has a value in their set.
    Some(KeyClass),
    /// Every member with one of these keys has a value in their set.
    All(KeyClass),
    /// There are so many members.
    AtLeast(u32),
    AtMost(u32),
    /// Sorted, without duplicates, at least two.
    And(Arc<[MemberFormula]>),
    /// Sorted, without duplicates, at least two.
    Or(Arc<[MemberFormula]>),
}

/// What stands in a condition.
#[derive(Clone, Debug)]
struct FormulaContents {
    /// Its statements, each once.
    statements: Arc<[MemberFormula]>,
    /// Of how many of its different parts each of them is one.
    occurrences: Arc<[u32]>,
    /// The number of parts of its different parts.
    size: usize,
}

/// All conditions made so far.
#[derive(Debug)]
pub(crate) struct MemberFormulas {
    parts: Vec<FormulaNode>,
    /// Is each met if no further member comes? Formulas share parts, so it is found once for each.
    ends: Vec<bool>,
    /// Which statements occur in each: a bit for every 64th statement. What has no bit of a
    /// statement does not hold it.
    marks: Vec<u64>,
    ids: FxHashMap<FormulaNode, MemberFormula>,
    /// Of conditions that were asked for their statements.
    contents: FxHashMap<MemberFormula, FormulaContents>,
    opposites: FxHashMap<MemberFormula, MemberFormula>,
    /// Parts looked at since the present task began.
    pub(crate) work: usize,
}

impl Default for MemberFormulas {
    fn default() -> Self {
        let (parts, ends, marks, ids) = Default::default();
        let (contents, opposites) = Default::default();
        let mut this = Self { parts, ends, marks, ids, contents, opposites, work: 0 };
        let constants = (this.of(FormulaNode::Holds), this.of(FormulaNode::Fails));
        debug_assert_eq!(constants, (MemberFormula::HOLDS, MemberFormula::FAILS));
        this
    }
}

impl MemberFormulas {
    /// A condition that is one statement.
    pub(crate) fn of(&mut self, part: FormulaNode) -> MemberFormula {
        if let Some(&known) = self.ids.get(&part) {
            return known;
        }
        let id = MemberFormula(self.parts.len() as u32);
        self.ends.push(match &part {
            FormulaNode::Holds | FormulaNode::Absent(_) | FormulaNode::All(_) | FormulaNode::AtMost(_) => true,
            FormulaNode::Fails | FormulaNode::Present(..) | FormulaNode::Some(_) | FormulaNode::AtLeast(_) => false,
            FormulaNode::And(parts) => parts.iter().all(|&part| self.at_end(part)),
            FormulaNode::Or(parts) => parts.iter().any(|&part| self.at_end(part)),
        });
        self.marks.push(match &part {
            FormulaNode::Holds | FormulaNode::Fails => 0,
            FormulaNode::And(parts) | FormulaNode::Or(parts) => {
                parts.iter().fold(0, |marks, &part| marks | self.marks(part))
            }
            _ => 1 << (id.0 % u64::BITS),
        });
        self.parts.push(part.clone());
        self.ids.insert(part, id);
        id
    }

    fn marks(&self, condition: MemberFormula) -> u64 {
        self.marks[condition.0 as usize]
    }

    pub(crate) fn part(&self, condition: MemberFormula) -> &FormulaNode {
        &self.parts[condition.0 as usize]
    }

    pub(crate) fn and(&mut self, parts: impl IntoIterator<Item = MemberFormula>) -> MemberFormula {
        let parts = parts.into_iter();
        let mut flat = Vec::with_capacity(parts.size_hint().0);
        for part in parts {
            match self.part(part) {
                FormulaNode::And(parts) => flat.extend_from_slice(parts),
                FormulaNode::Holds => {}
                FormulaNode::Fails => return part,
                _ => flat.push(part),
            }
        }
        self.work += 4 * flat.len();
        flat.sort_unstable();
        flat.dedup();
        // An alternative that holds makes its choice superfluous.
        let superfluous = |&part: &MemberFormula| match self.part(part) {
            FormulaNode::Or(choice) => choice.iter().any(|c| flat.binary_search(c).is_ok()),
            _ => false,
        };
        let kept: Vec<MemberFormula> = flat.iter().copied().filter(|c| !superfluous(c)).collect();
        match kept[..] {
            [] => MemberFormula::HOLDS,
            [one] => one,
            _ => self.of(FormulaNode::And(kept.into())),
        }
    }

    pub(crate) fn or(&mut self, parts: impl IntoIterator<Item = MemberFormula>) -> MemberFormula {
        let parts = parts.into_iter();
        let mut flat = Vec::with_capacity(parts.size_hint().0);
        for part in parts {
            match self.part(part) {
                FormulaNode::Or(parts) => flat.extend_from_slice(parts),
                FormulaNode::Fails => {}
                FormulaNode::Holds => return part,
                _ => flat.push(part),
            }
        }
        self.work += 4 * flat.len();
        flat.sort_unstable();
        flat.dedup();
        let superfluous = |&part: &MemberFormula| match self.part(part) {
            FormulaNode::And(all) => all.iter().any(|c| flat.binary_search(c).is_ok()),
            _ => false,
        };
        let kept: Vec<MemberFormula> = flat.iter().copied().filter(|c| !superfluous(c)).collect();
        match kept[..] {
            [] => MemberFormula::FAILS,
            [one] => one,
            _ => self.of(FormulaNode::Or(kept.into())),
        }
    }

    /// What must hold together.
    pub(crate) fn conjuncts(&self, condition: MemberFormula) -> Vec<MemberFormula> {
        match self.part(condition) {
            FormulaNode::Holds => Vec::new(),
            FormulaNode::And(parts) => parts.to_vec(),
            _ => vec![condition],
        }
    }

    /// Does `a` say all that `b` says, to the letter?
    pub(crate) fn says(&self, a: MemberFormula, b: MemberFormula) -> bool {
        let all = self.conjuncts(a);
        self.conjuncts(b).iter().all(|part| all.contains(part))
    }

    /// The statements of a condition, each once.
    pub(crate) fn statements(&mut self, condition: MemberFormula) -> Arc<[MemberFormula]> {
        self.contents(condition).statements.clone()
    }

    /// The number of parts of its different parts.
    fn size(&mut self, condition: MemberFormula) -> usize {
        self.contents(condition).size
    }

    fn contents(&mut self, condition: MemberFormula) -> &FormulaContents {
        if !self.contents.contains_key(&condition) {
            let found = self.find_contents(condition);
            self.work += 4 * found.size;
            self.contents.insert(condition, found);
        }
        &self.contents[&condition]
    }

    fn find_contents(&self, condition: MemberFormula) -> FormulaContents {
        let (mut seen, mut open) = (FxHashMap::default(), vec![condition]);
        let (mut statements, mut occurrences, mut size) = (Vec::new(), Vec::new(), 1);
        while let Some(next) = open.pop() {
            match self.part(next) {
                FormulaNode::Holds | FormulaNode::Fails => {}
                FormulaNode::And(parts) | FormulaNode::Or(parts) => {
                    if seen.insert(next, 0).is_none() {
                        size += parts.len();
                        open.extend(parts.iter().rev());
                    }
                }
                _ => {
                    let at = *seen.entry(next).or_insert(statements.len());
                    if at == statements.len() {
                        statements.push(next);
                        occurrences.push(0);
                    }
                    occurrences[at] += 1;
                }
            }
        }
        FormulaContents { statements: statements.into(), occurrences: occurrences.into(), size }
    }

    /// The condition with some of its statements replaced.
    pub(crate) fn replace(
        &mut self,
        condition: MemberFormula,
        by: &FxHashMap<MemberFormula, MemberFormula>,
    ) -> MemberFormula {
        let marks = by.keys().fold(0, |marks, &statement| marks | self.marks(statement));
        self.replaced(condition, (by, marks), &mut FxHashMap::default())
    }

    fn replaced(
        &mut self,
        condition: MemberFormula,
        (by, marks): (&FxHashMap<MemberFormula, MemberFormula>, u64),
        known: &mut FxHashMap<MemberFormula, MemberFormula>,
    ) -> MemberFormula {
        if self.marks(condition) & marks == 0 {
            return condition;
        }
        let (parts, all) = match self.part(condition) {
            FormulaNode::And(parts) => (parts.clone(), true),
            FormulaNode::Or(parts) => (parts.clone(), false),
            _ => return by.get(&condition).copied().unwrap_or(condition),
        };
        if let Some(&known) = known.get(&condition) {
            return known;
        }
        let (neutral, decisive) = match all {
            true => (MemberFormula::HOLDS, MemberFormula::FAILS),
            false => (MemberFormula::FAILS, MemberFormula::HOLDS),
        };
        self.work += parts.len();
        let (mut kept, mut others) = (Vec::with_capacity(parts.len()), false);
        for &part in parts.iter() {
            let new = match self.marks(part) & marks {
                0 => part,
                _ => self.replaced(part, (by, marks), known),
            };
            if new == decisive {
                kept = vec![decisive];
                break;
            }
            if new != neutral {
                kept.push(new);
                others |= new != part;
            }
        }
        let new = match (&kept[..], others, all) {
            // Parts alone are sorted as they were, and none makes another superfluous.
            ([], ..) => neutral,
            (&[one], ..) => one,
            (_, false, _) if kept.len() == parts.len() => condition,
            (_, false, true) => self.of(FormulaNode::And(kept.into())),
            (_, false, false) => self.of(FormulaNode::Or(kept.into())),
            (_, true, true) => self.and(kept),
            (_, true, false) => self.or(kept),
        };
        known.insert(condition, new);
        new
    }

    /// Replaces statements one by one; `None` keeps one.
    fn map(&mut self, condition: MemberFormula, f: impl Fn(&FormulaNode) -> Option<MemberFormula>) -> MemberFormula {
        let mut by = FxHashMap::default();
        let statements = self.statements(condition);
        self.work += 4 * statements.len();
        for &statement in statements.iter() {
            if let Some(new) = f(self.part(statement)) {
                by.insert(statement, new);
            }
        }
        self.replace(condition, &by)
    }

    /// What is left if the members with these keys do not come any more.
    pub(crate) fn without(
        &mut self,
        condition: MemberFormula,
        passed: impl Fn(&str) -> bool,
    ) -> MemberFormula {
        self.map(condition, |part| match part {
            FormulaNode::Present(key, _) if passed(key) => Some(MemberFormula::FAILS),
            FormulaNode::Absent(key) if passed(key) => Some(MemberFormula::HOLDS),
            _ => None,
        })
    }

    /// What is left once so many members are there.
    pub(crate) fn counted(&mut self, condition: MemberFormula, count: u32) -> MemberFormula {
        self.map(condition, |part| match *part {
            FormulaNode::AtLeast(n) if count >= n => Some(MemberFormula::HOLDS),
            FormulaNode::AtMost(n) if count > n => Some(MemberFormula::FAILS),
            _ => None,
        })
    }

    /// The condition on the members that come after so many others.
    pub(crate) fn after(&mut self, condition: MemberFormula, count: u32) -> MemberFormula {
        let mut by = FxHashMap::default();
        for &statement in self.statements(condition).iter() {
            let new = match *self.part(statement) {
                FormulaNode::AtLeast(n) if n <= count => MemberFormula::HOLDS,
                FormulaNode::AtLeast(n) => self.of(FormulaNode::AtLeast(n - count)),
                FormulaNode::AtMost(n) if n < count => MemberFormula::FAILS,
                FormulaNode::AtMost(n) => self.of(FormulaNode::AtMost(n - count)),
                _ => continue,
            };
            by.insert(statement, new);
        }
        self.replace(condition, &by)
    }

    /// The most that counts matter.
    pub(crate) fn count_cap(&mut self, condition: MemberFormula) -> u32 {
        let statements = self.statements(condition);
        let counts = statements.iter().map(|&statement| match *self.part(statement) {
            FormulaNode::AtLeast(n) => n,
            FormulaNode::AtMost(n) => n.saturating_add(1),
            _ => 0,
        });
        counts.max().unwrap_or(0)
    }

    /// Is it met if no further member comes?
    pub(crate) fn at_end(&self, condition: MemberFormula) -> bool {
        self.ends[condition.0 as usize]
    }
}

/// The key of a member that is looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum MemberKey<'a> {
    /// A key with a name, and its spelling.
    Named(&'a str, &'a [u8]),
    /// Any of some keys without a name: the sets of keys in conditions that hold them.
    Other(&'a [Language]),
}

/// Parts of a set, each with the cuts in which it is, as bits.
pub(crate) type Cells = Arc<[(Set, u64)]>;

/// A set, and the sets that cut it, each with: is its complement asked for, too?
pub(crate) type Cuts = (Set, Box<[(Set, bool)]>);

/// Keys without a name that no condition tells apart.
#[derive(Clone, Debug)]
pub(crate) struct UnnamedKeys {
    pub(crate) keys: Language,
    pub(crate) set: Set,
    /// The sets of keys in conditions that hold them all; others hold none of them.
    pub(crate) inside: Arc<[Language]>,
}

impl Sets<'_> {
    /// The condition that does not hold where this one does, and the other way round.
    pub(crate) fn opposite(&mut self, condition: MemberFormula) -> MemberFormula {
        if let Some(&known) = self.conditions.opposites.get(&condition) {
            return known;
        }
        let opposite = self.new_opposite(condition);
        self.conditions.opposites.insert(condition, opposite);
        opposite
    }

    fn new_opposite(&mut self, condition: MemberFormula) -> MemberFormula {
        let part = self.conditions.part(condition).clone();
        let new = match part {
            FormulaNode::Holds => return MemberFormula::FAILS,
            FormulaNode::Fails => return MemberFormula::HOLDS,
            FormulaNode::Absent(key) => FormulaNode::Present(key, Set::ANY),
            FormulaNode::Present(key, set) => {
                let absent = self.conditions.of(FormulaNode::Absent(key.clone()));
                return match self.not(set) {
                    Set::NEVER => absent,
                    not => {
                        let other = self.conditions.of(FormulaNode::Present(key, not));
                        self.conditions.or([absent, other])
                    }
                };
            }
            FormulaNode::Some(KeyClass { keys, set }) => FormulaNode::All(KeyClass { keys, set: self.not(set) }),
            FormulaNode::All(KeyClass { keys, set }) => FormulaNode::Some(KeyClass { keys, set: self.not(set) }),
            FormulaNode::AtLeast(0) => return MemberFormula::FAILS,
            FormulaNode::AtLeast(n) => FormulaNode::AtMost(n - 1),
            FormulaNode::AtMost(u32::MAX) => return MemberFormula::FAILS,
            FormulaNode::AtMost(n) => FormulaNode::AtLeast(n + 1),
            FormulaNode::And(parts) => {
                let parts: Vec<_> = parts.iter().map(|&part| self.opposite(part)).collect();
                return self.conditions.or(parts);
            }
            FormulaNode::Or(parts) => {
                let parts: Vec<_> = parts.iter().map(|&part| self.opposite(part)).collect();
                return self.conditions.and(parts);
            }
        };
        self.conditions.of(new)
    }

    /// The keys that a condition names.
    pub(crate) fn keys_of(&mut self, condition: MemberFormula) -> Vec<Arc<str>> {
        let mut keys: Vec<Arc<str>> = Vec::new();
        for &statement in self.conditions.statements(condition).iter() {
            if let FormulaNode::Present(key, _) | FormulaNode::Absent(key) = self.conditions.part(statement)
                && !keys.contains(key)
            {
                keys.push(key.clone());
            }
        }
        keys
    }

    /// Is every value of `a` plainly one of `b`?
    pub(crate) fn plainly_within(&mut self, a: Set, b: Set) -> bool {
        let (a, b) = (self.alike(a), self.alike(b));
        if self.is_plainly_within(a, b) {
            return true;
        }
        if let Some(&known) = self.plainly_within.get(&(a, b)) {
            return known;
        }
        let not = self.not(b);
        let outside = self.and([a, not]);
        let Ok(within) = self.plainly_empty(outside) else { return false };
        self.plainly_within.insert((a, b), within);
        within
    }

    /// The same as `plainly_empty`, where what cannot be decided is no error.
    pub(crate) fn is_plainly_empty(&mut self, set: Set) -> bool {
        self.plainly_empty(set).unwrap_or(false)
    }

    /// What a statement asks of the value of a member with this key.
    fn asks(&mut self, statement: MemberFormula, key: MemberKey<'_>) -> Result<Option<Set>> {
        let class = match (self.conditions.part(statement), key) {
            (FormulaNode::Present(k, set), MemberKey::Named(name, _)) if **k == *name => return Ok(Some(*set)),
            (&(FormulaNode::Some(class) | FormulaNode::All(class)), _) => class,
            _ => return Ok(None),
        };
        let inside = match key {
            MemberKey::Named(_, spelled) => self.languages.matches(class.keys, spelled)?,
            MemberKey::Other(inside) => inside.contains(&class.keys),
        };
        Ok(inside.then_some(class.set))
    }

    /// The sets that the value of a member may be in, each with the condition that is left then.
    /// Counts are not looked at. A value in several of them may be taken for any: where it says
    /// less than it could, what is left asks for more.
    pub(crate) fn ways(
        &mut self,
        condition: MemberFormula,
        key: MemberKey<'_>,
        set: Set,
    ) -> Result<Vec<(Set, MemberFormula)>> {
        self.ways_until(condition, key, set, &mut |_, _, _| Ok(false))
    }

    /// The same up to the first that is said to be enough.
    pub(crate) fn ways_until(
        &mut self,
        condition: MemberFormula,
        key: MemberKey<'_>,
        set: Set,
        is_enough: &mut dyn FnMut(&mut Self, Set, MemberFormula) -> Result<bool>,
    ) -> Result<Vec<(Set, MemberFormula)>> {
        if condition == MemberFormula::HOLDS {
            is_enough(self, set, condition)?;
            return Ok(vec![(set, condition)]);
        }
        let mut start = condition;
        if let MemberKey::Named(name, _) = key {
            start = self.conditions.map(condition, |part| match part {
                FormulaNode::Absent(k) if **k == *name => Some(MemberFormula::FAILS),
                _ => None,
            });
        }
        let mut asked: Vec<(MemberFormula, Set)> = Vec::new();
        for &statement in self.conditions.statements(start).iter() {
            if let Some(set) = self.asks(statement, key)? {
                asked.push((statement, set));
            }
        }
        if let Some(ways) = self.ways_by_cells(start, set, &asked, is_enough)? {
            return Ok(ways);
        }
        let mut found: Vec<(Set, MemberFormula)> = Vec::new();
        let mut open = vec![(set, start, 0)];
        let mut steps = 0;
        'next: while let Some((cell, condition, from)) = open.pop() {
            if condition == MemberFormula::FAILS || cell == Set::NEVER {
                continue;
            }
            steps += 1;
            self.check_steps(steps)?;
            self.spend(10 + 4 * asked.len());
            self.check_work(cell)?;
            let left = self.conditions.statements(condition);
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
                    let (yes, no) = match other == set {
                        true => (&mut inside, &mut outside),
                        false => (&mut outside, &mut inside),
                    };
                    let part = self.conditions.part(statement);
                    if !matches!(part, FormulaNode::All(_)) {
                        yes.insert(statement, MemberFormula::HOLDS);
                    }
                    if !matches!(part, FormulaNode::Some(_)) {
                        no.insert(statement, MemberFormula::FAILS);
                    }
                }
                let yes = self.conditions.replace(condition, &inside);
                let no = self.conditions.replace(condition, &outside);
                if yes == no {
                    open.push((cell, yes, at + 1));
                    continue 'next;
                }
                if self.is_evidently_within(cell, set) {
                    open.push((cell, yes, at + 1));
                    continue 'next;
                }
                let inside = self.and([cell, set]);
                let apart = both || (self.reach(set) == Reach::Simple);
                let outside = if apart { self.and([cell, not]) } else { cell };
                if !self.is_evidently_empty(outside) {
                    open.push((outside, no, at + 1));
                }
                if !self.is_evidently_empty(inside) {
                    open.push((inside, yes, at + 1));
                }
                continue 'next;
            }
            if is_enough(self, cell, condition)? {
                return Ok(vec![(cell, condition)]);
            }
            let known = found
                .iter()
                .any(|&(other, left)| left == condition && self.is_plainly_within(cell, other));
            if !known {
                found.retain(|&(other, left)| {
                    left != condition || !self.is_plainly_within(other, cell)
                });
                found.push((cell, condition));
            }
        }
        Ok(found)
    }

    /// The ways of a member by the parts into which what is asked of it cuts its values, each
    /// decided at once; `None` if these are many, or if not all of them matter.
    fn ways_by_cells(
        &mut self,
        condition: MemberFormula,
        set: Set,
        asked: &[(MemberFormula, Set)],
        is_enough: &mut dyn FnMut(&mut Self, Set, MemberFormula) -> Result<bool>,
    ) -> Result<Option<Vec<(Set, MemberFormula)>>> {
        // Each set once, and whether its complement is asked for, too.
        let mut cuts: SmallVec<[(Set, bool); 8]> = SmallVec::new();
        let mut decided: SmallVec<[(MemberFormula, usize, bool); 16]> = SmallVec::new();
        for &(statement, set) in asked {
            let not = self.not(set);
            let known = cuts.iter().position(|&(other, _)| other == set || other == not);
            let at = known.unwrap_or_else(|| {
                cuts.push((set, false));
                cuts.len() - 1
            });
            let negated = cuts[at].0 != set;
            cuts[at].1 |= negated;
            decided.push((statement, at, negated));
        }
        let Some(cells) = self.cells(set, &cuts)? else { return Ok(None) };
        let mut ways: Vec<(Set, MemberFormula)> = Vec::with_capacity(cells.len());
        for &(cell, inside) in cells.iter() {
            self.spend(10 + asked.len());
            self.check_work(cell)?;
            let mut by = FxHashMap::default();
            for &(statement, at, negated) in &decided {
                let holds = (inside >> at & 1 == 1) != negated;
                match (self.conditions.part(statement), holds) {
                    (FormulaNode::All(_), true) | (FormulaNode::Some(_), false) => {}
                    (_, true) => drop(by.insert(statement, MemberFormula::HOLDS)),
                    (_, false) => drop(by.insert(statement, MemberFormula::FAILS)),
                }
            }
            let left = self.conditions.replace(condition, &by);
            if left == MemberFormula::FAILS {
                continue;
            }
            if ways.iter().any(|&(_, other)| other == left) {
                return Ok(None);
            }
            if is_enough(self, cell, left)? {
                return Ok(Some(vec![(cell, left)]));
            }
            ways.push((cell, left));
        }
        Ok(Some(ways))
    }

    /// The parts of a set, none plainly empty, with the cuts in which each is, as bits; `None` if
    /// there are more than two for each cut.
    fn cells(&mut self, set: Set, cuts: &[(Set, bool)]) -> Result<Option<Cells>> {
        if cuts.len() > u64::BITS as usize {
            return Ok(None);
        }
        let key = (set, cuts.into());
        if let Some(known) = self.cells.get(&key) {
            return Ok(known.clone());
        }
        let mut cells = if set == Set::NEVER { Vec::new() } else { vec![(set, 0)] };
        for (at, &(cut, both)) in cuts.iter().enumerate() {
            let not = self.not(cut);
            let apart = both || self.reach(cut) == Reach::Simple;
            let mut next = Vec::with_capacity(cells.len() + 1);
            for (cell, inside) in cells {
                self.spend(10);
                self.check_work(cell)?;
                if self.is_evidently_within(cell, cut) {
                    next.push((cell, inside | 1 << at));
                    continue;
                }
                // The same sets under the names by which they are known already, if there are such.
                let within = match self.is_evidently_within(cut, cell) {
                    true => cut,
                    false => self.and([cell, cut]),
                };
                if self.is_evidently_empty(within) {
                    next.push((cell, inside));
                    continue;
                }
                next.push((within, inside | 1 << at));
                let outside = if apart { self.and([cell, not]) } else { cell };
                if !self.is_evidently_empty(outside) {
                    next.push((outside, inside));
                }
            }
            cells = next;
            if cells.len() > 2 * (at + 1) {
                self.cells.insert(key, None);
                return Ok(None);
            }
        }
        let cells = Cells::from(cells);
        self.cells.insert(key, Some(cells.clone()));
        Ok(Some(cells))
    }

    pub(crate) fn check_steps(&self, steps: usize) -> Result<()> {
        deadline::check()?;
        if steps <= STEPS {
            return Ok(());
        }
        let message = format!(
            "what is asked of the members of an object together can be met in more than {STEPS} \
             ways"
        );
        let at = self.open.last().copied().unwrap_or(Set::ANY);
        let help = "let fewer alternatives hold at the same time";
        Err(self.error(ErrorKind::Limit, at, message).with_help(help))
    }

    /// The keys of an object without a name, told apart as far as its condition does.
    pub(crate) fn other_keys(&mut self, object: &ObjectSet) -> Result<Vec<UnnamedKeys>> {
        let classes = object.classes.iter().filter(|class| class.set != Set::NEVER);
        if classes.clone().next().is_none() {
            return Ok(Vec::new());
        }
        let names = self.names(object);
        let mut groups: Vec<Language> = Vec::new();
        for &statement in self.conditions.statements(object.condition).iter() {
            if let FormulaNode::Some(class) | FormulaNode::All(class) = self.conditions.part(statement)
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
        Ok(others.map(|(keys, set, inside)| UnnamedKeys { keys, set, inside: inside.into() }).collect())
    }
}
