//! Search for members of an object that meet a formula.
//!
//! The search decides the relevant members one by one, present or absent, those first on which most
//! of the formula hangs, then counts keys without a name class by class. A state is the formula
//! that is left, so different choices that leave the same formula are followed once. Where that
//! takes long, alternatives of the formula are tried one by one (Davis, Logemann, Loveland, "A
//! machine program for theorem-proving", CACM 1962).

use std::cmp::Reverse;
use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::json_schema::algebra::formula_folding::settle;
use crate::json_schema::satisfiability::member_alternatives::{check_search_steps, set_asked_of};
use crate::json_schema::satisfiability::reference_free::reach_of;
use crate::json_schema::set::keys::MemberKey;
use crate::json_schema::set::keys::UnnamedKeys;
use crate::json_schema::set::member_formula::{FormulaContents, FormulaNode, MemberFormula};
use crate::json_schema::set::memo::Reach;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets};

/// Nodes of formulas that the search looks at before alternatives are tried one by one.
const MAX_SEARCH_WORK: usize = 1_000_000;

/// A member that the formula speaks of.
#[derive(Clone, Debug)]
struct RelevantMember {
    key: Arc<str>,
    spelled: Vec<u8>,
    set: Set,
    required: bool,
}

/// The oracle of a search: whether a set has a value.
type HasValue<'f, 'd> = dyn FnMut(&mut Sets<'d>, Set) -> Result<bool> + 'f;

/// A transition: the set of which a value is needed, if any, and the next state.
type SearchStep = (Option<Set>, SearchState);

/// Whether a transition leads to a goal.
type IsEnd<'f, 'd> = dyn FnMut(&mut Sets<'d>, SearchStep) -> Result<bool> + 'f;

/// The result of a search.
#[derive(Clone, Debug)]
pub(crate) enum SearchOutcome {
    Nothing,
    /// The named members of a solution that are present, by their index in the search.
    Members(Vec<usize>),
}

/// The fixed part of a search.
#[derive(Clone, Debug)]
pub(crate) struct MemberSearch {
    members: Vec<RelevantMember>,
    others: Arc<[UnnamedKeys]>,
    /// By class, its number of keys; [`KEY_COUNT_CAP`] stands for any larger one.
    keys: Arc<[u32]>,
    max: Option<u32>,
    /// Whether the number of members matters. If not, all counts are 0.
    counts: bool,
    /// The number of members up to which one more may help.
    cap: u32,
}

/// Keys of a class beyond which their number never matters.
pub(crate) const KEY_COUNT_CAP: u32 = 1_000;

/// Classes of keys without a name, with the number of keys in each.
pub(crate) type CountedClasses = (Arc<[UnnamedKeys]>, Arc<[u32]>);

/// A state: the members before `at` are decided, then keys without a name class by class;
/// `formula` is what is left of the formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SearchState {
    at: u32,
    formula: MemberFormula,
    count: u32,
    /// Keys taken from the current class, as far as that matters.
    taken: u32,
}

impl MemberSearch {
    /// The keys of the relevant members.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.members.iter().map(|member| &member.key)
    }
}

impl<'d> Sets<'d> {
    /// Sets up a search among members that may still come, given a formula and the number of
    /// members there are.
    pub(crate) fn search<'a>(
        &mut self,
        formula: MemberFormula,
        count: u32,
        max: Option<u32>,
        members: impl Iterator<Item = (&'a Arc<str>, Set, bool)>,
        (others, keys): CountedClasses,
    ) -> Result<(MemberSearch, SearchState)> {
        let FormulaContents { statements, occurrences, .. } =
            self.formulas.contents(formula).clone();
        let node = |this: &Self, statement| this.formulas.node(statement).clone();
        let least = statements.iter().any(|&s| matches!(node(self, s), FormulaNode::AtLeast(_)));
        let counts = max.is_some() || self.formulas.count_cap(formula) > 0;
        // By key: how many simple statements are about it, and how many statements in all, each
        // counted once per parent node. Statements about a class of keys are collected in `classes`.
        let mut about: FxHashMap<Arc<str>, (usize, usize)> = FxHashMap::default();
        let mut classes = Vec::new();
        for (&statement, &times) in statements.iter().zip(&*occurrences) {
            let times = times as usize;
            let (key, simple) = match node(self, statement) {
                FormulaNode::Absent(key) => (key, false),
                FormulaNode::Present(key, set) => (key, reach_of(self, set) == Reach::Simple),
                FormulaNode::Some(_) | FormulaNode::All(_) => {
                    classes.push((statement, times));
                    continue;
                }
                _ => continue,
            };
            let counts = about.entry(key).or_default();
            *counts = (counts.0 + times * usize::from(simple), counts.1 + times);
        }
        let (mut relevant, mut passed) = (Vec::new(), 0);
        for (key, set, required) in members {
            let spelled = self.strings.spell(key);
            let (mut simple, mut asked) = about.get(key).copied().unwrap_or_default();
            asked += usize::from(least);
            for &(statement, times) in &classes {
                if let Some(set) = set_asked_of(self, statement, MemberKey::Named(key, &spelled))? {
                    asked += times;
                    simple += times * usize::from(reach_of(self, set) == Reach::Simple);
                }
            }
            let member = RelevantMember { key: key.clone(), spelled, set, required };
            match asked {
                0 => passed += u32::from(required),
                _ => relevant.push((Reverse((simple, asked)), member)),
            }
        }
        // The member that distinguishes most alternatives is looked at first.
        self.add_steps(relevant.len() * (1 + classes.len()));
        relevant.sort_by_key(|member| member.0);
        let relevant = relevant.into_iter().map(|(_, member)| member).collect();
        let count = if counts { count + passed } else { 0 };
        let formula = if counts { self.formulas.counted(formula, count) } else { formula };
        let start = SearchState { at: 0, formula, count, taken: 0 };
        let cap = if least { self.formulas.count_cap(formula) } else { 0 };
        Ok((MemberSearch { members: relevant, others, keys, max, counts, cap }, start))
    }

    /// Counts the keys of each class.
    pub(crate) fn with_counts(&mut self, others: Vec<UnnamedKeys>) -> Result<CountedClasses> {
        let keys = others.iter().map(|other| self.count_keys(other.keys, KEY_COUNT_CAP));
        let keys = keys.collect::<Result<_>>()?;
        Ok((others.into(), keys))
    }

    /// The members of a solution. The first that is found will do; `None` if none is found soon.
    pub(crate) fn find(
        &mut self,
        search: &MemberSearch,
        start: SearchState,
        has_value: &mut HasValue<'_, 'd>,
    ) -> Result<Option<SearchOutcome>> {
        if is_goal(self, search, start) {
            return Ok(Some(SearchOutcome::Members(Vec::new())));
        }
        // From where each was reached, and whether the member there is written.
        let mut before: FxHashMap<SearchState, Option<(SearchState, bool)>> = FxHashMap::default();
        before.insert(start, None);
        let mut open = vec![start];
        let mut work = 0;
        while let Some(place) = open.pop() {
            self.add_steps(10);
            self.check_work(Set::ANY)?;
            let mut last = false;
            let mut is_end = |this: &mut Self, (set, to): SearchStep| {
                last = set.is_some();
                Ok(is_goal(this, search, to) && set.map_or(Ok(true), |set| has_value(this, set))?)
            };
            let Some(steps) = search_steps_unless(self, search, place, &mut is_end)? else {
                let mut written = Vec::new();
                let mut at = Some((place, last));
                while let Some((place, is_written)) = at {
                    let named = (place.at as usize) < search.members.len();
                    written.extend((is_written && named).then_some(place.at as usize));
                    at = before.get(&place).copied().flatten();
                }
                written.reverse();
                return Ok(Some(SearchOutcome::Members(written)));
            };
            for (set, to) in steps {
                if !before.contains_key(&to) && set.map_or(Ok(true), |set| has_value(self, set))? {
                    before.insert(to, Some((place, set.is_some())));
                    open.push(to);
                }
            }
            work += 1 + self.formulas.size(place.formula);
            if work > MAX_SEARCH_WORK {
                return Ok(None);
            }
        }
        Ok(Some(SearchOutcome::Nothing))
    }

    /// Whether an object set has members that meet its formula, however long it takes: alternatives
    /// are tried one by one, and each makes others superfluous or impossible.
    pub(crate) fn finds_any(
        &mut self,
        object: ObjectSet,
        has_value: &mut HasValue<'_, 'd>,
        steps: &mut usize,
    ) -> Result<bool> {
        *steps += 1 + self.formulas.size(object.formula) / 256;
        check_search_steps(self, *steps)?;
        let Some(object) = settle(self, object)? else { return Ok(false) };
        let conjuncts = self.formulas.conjuncts(object.formula);
        let width = |&&part: &&MemberFormula| match self.formulas.node(part) {
            FormulaNode::Or(parts) => parts.len(),
            _ => usize::MAX,
        };
        let narrowest = conjuncts.iter().min_by_key(width).copied();
        let choice = narrowest.map(|part| (part, self.formulas.node(part).clone()));
        if let Some((choice, FormulaNode::Or(parts))) = choice {
            let others = conjuncts.into_iter().filter(|&part| part != choice);
            let others = self.formulas.and(others);
            for &part in parts.iter() {
                let formula = self.formulas.and([others, part]);
                let object = ObjectSet { formula, ..object.clone() };
                if self.finds_any(object, has_value, steps)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        }
        for named in object.named.iter().filter(|named| named.required) {
            if !has_value(self, named.set)? {
                return Ok(false);
            }
        }
        let others = self.other_keys(&object)?;
        let others = self.with_counts(others)?;
        let members = object.named.iter().map(|n| (&n.key, n.set, n.required));
        let asked = formula_with_min(self, &object);
        let (search, start) = self.search(asked, 0, object.max, members, others)?;
        match finds_members(self, &search, start, has_value)? {
            Some(found) => Ok(found),
            None => check_search_steps(self, usize::MAX).map(|()| false),
        }
    }
}

/// The formula of an object set, with its least number of members.
pub(crate) fn formula_with_min(sets: &mut Sets<'_>, object: &ObjectSet) -> MemberFormula {
    if object.min as usize <= object.required() {
        return object.formula;
    }
    let least = sets.formulas.intern(FormulaNode::AtLeast(object.min));
    sets.formulas.and([object.formula, least])
}

/// Whether members meet the formula; `None` if that is not found soon.
pub(crate) fn finds_members<'d>(
    sets: &mut Sets<'d>,
    search: &MemberSearch,
    start: SearchState,
    has_value: &mut HasValue<'_, 'd>,
) -> Result<Option<bool>> {
    let found = sets.find(search, start, has_value)?;
    Ok(found.map(|found| matches!(found, SearchOutcome::Members(_))))
}

/// Whether a state is a goal: no further member is needed.
pub(crate) fn is_goal(sets: &Sets<'_>, search: &MemberSearch, place: SearchState) -> bool {
    let left = search.members.get(place.at as usize..).unwrap_or_default();
    place.formula == MemberFormula::HOLDS && search.max.is_none()
        || left.iter().all(|member| !member.required)
            && sets.formulas.holds_at_end(place.formula)
            && search.max.is_none_or(|max| place.count <= max)
}

/// The transitions of a state.
pub(crate) fn search_steps(
    sets: &mut Sets<'_>,
    search: &MemberSearch,
    place: SearchState,
) -> Result<Vec<SearchStep>> {
    let steps = search_steps_unless(sets, search, place, &mut |_, _| Ok(false))?;
    Ok(steps.unwrap_or_default())
}

/// The transitions of a state; `None` as soon as one leads to a goal.
fn search_steps_unless<'d>(
    sets: &mut Sets<'d>,
    search: &MemberSearch,
    place: SearchState,
    is_end: &mut IsEnd<'_, 'd>,
) -> Result<Option<Vec<SearchStep>>> {
    let mut steps = Vec::new();
    let count = place.count + u32::from(search.counts);
    let full = search.max.is_some_and(|max| count > max);
    let (key, set, with) = match search.members.get(place.at as usize) {
        Some(member) => {
            let at = place.at + 1;
            if !member.required {
                let passed = |key: &str| *key == *member.key;
                let formula = sets.formulas.without(place.formula, passed);
                steps.push((None, SearchState { at, formula, ..place }));
            }
            let with = SearchState { at, count, taken: 0, ..place };
            (MemberKey::Named(&member.key, &member.spelled), member.set, (!full).then_some(with))
        }
        None => {
            let class = place.at as usize - search.members.len();
            let (Some(other), Some(&keys)) = (search.others.get(class), search.keys.get(class))
            else {
                return Ok(Some(steps));
            };
            // Which class is next does not matter to what is left.
            steps.push((None, SearchState { at: place.at + 1, taken: 0, ..place }));
            let few = keys < KEY_COUNT_CAP;
            let taken = if few { place.taken + 1 } else { 0 };
            let with = SearchState { count, taken, ..place };
            let left = !(full || few && place.taken == keys);
            (MemberKey::Other(&other.inside), other.set, left.then_some(with))
        }
    };
    steps.retain(|(_, to)| to.formula != MemberFormula::FAILS);
    for &step in &steps {
        if is_end(sets, step)? {
            return Ok(None);
        }
    }
    let Some(with) = with else { return Ok(Some(steps)) };
    let then = |this: &mut Sets<'d>, formula| SearchState {
        formula: if search.counts { this.formulas.counted(formula, count) } else { formula },
        ..with
    };
    let mut ended = false;
    let alternatives =
        sets.member_alternatives_until(place.formula, key, set, &mut |this, set, formula| {
            let to = then(this, formula);
            ended = is_end(this, (Some(set), to))?;
            Ok(ended)
        })?;
    if ended {
        return Ok(None);
    }
    for (set, formula) in alternatives {
        let to = then(sets, formula);
        // Of a class, what changes nothing is not worth a member.
        let changes = to.at > place.at || to.formula != place.formula || count <= search.cap;
        if changes && to.formula != MemberFormula::FAILS {
            steps.push((Some(set), to));
        }
    }
    Ok(Some(steps))
}
