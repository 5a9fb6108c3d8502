//! HEAD

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

/// Parts of conditions that are looked at before alternatives are tried one by one.
const MAX_SEARCH_WORK: usize = 1_000_000;

/// A member that a condition speaks of.
#[derive(Clone, Debug)]
struct Relevant {
    key: Arc<str>,
    spelled: Vec<u8>,
    set: Set,
    required: bool,
}

/// Has a set a value?
type HasValue<'f, 'd> = dyn FnMut(&mut Sets<'d>, Set) -> Result<bool> + 'f;

/// A step of a search: a set of which a value is needed, if one is, and where that leads.
type SearchStep = (Option<Set>, SearchState);

/// Is a step the last one?
type IsEnd<'f, 'd> = dyn FnMut(&mut Sets<'d>, SearchStep) -> Result<bool> + 'f;

/// What a search has found.
#[derive(Clone, Debug)]
pub(crate) enum SearchOutcome {
    Nothing,
    /// What meets the condition: those of the named members that are written, by their place in
    /// the search.
    Members(Vec<usize>),
}

/// The search for members that meet a condition.
#[derive(Clone, Debug)]
pub(crate) struct MemberSearch {
    members: Vec<Relevant>,
    others: Arc<[UnnamedKeys]>,
    /// How many keys each of these has left; [`KEY_COUNT_CAP`] are as many as are needed.
    keys: Arc<[u32]>,
    max: Option<u32>,
    /// Do counts matter? If not, all are 0.
    counts: bool,
    /// Members that are worth being written for their number alone.
    cap: u32,
}

/// Keys without a name beyond which there are always enough.
pub(crate) const KEY_COUNT_CAP: u32 = 1_000;

/// Classes of other keys, and how many keys each has.
pub(crate) type Counted = (Arc<[UnnamedKeys]>, Arc<[u32]>);

/// The members before `at` are decided, then so many of the other keys one class after the other;
/// the condition is what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SearchState {
    at: u32,
    condition: MemberFormula,
    count: u32,
    /// Of the class that is being decided, as far as that matters.
    taken: u32,
}

impl MemberSearch {
    /// The names of the members that matter.
    pub(crate) fn names(&self) -> impl Iterator<Item = &Arc<str>> {
        self.members.iter().map(|member| &member.key)
    }
}

impl<'d> Sets<'d> {
    /// A search among members that may still come, from a condition and a number of members.
    pub(crate) fn search<'a>(
        &mut self,
        condition: MemberFormula,
        count: u32,
        max: Option<u32>,
        members: impl Iterator<Item = (&'a Arc<str>, Set, bool)>,
        (others, keys): Counted,
    ) -> Result<(MemberSearch, SearchState)> {
        let FormulaContents { statements, occurrences, .. } =
            self.conditions.contents(condition).clone();
        let part = |this: &Self, statement| this.conditions.part(statement).clone();
        let least = statements.iter().any(|&s| matches!(part(self, s), FormulaNode::AtLeast(_)));
        let counts = max.is_some() || self.conditions.count_cap(condition) > 0;
        // By key, how often it is spoken of, and how often in simple statements; others are about
        // any key of some.
        let mut about: FxHashMap<Arc<str>, (usize, usize)> = FxHashMap::default();
        let mut classes = Vec::new();
        for (&statement, &times) in statements.iter().zip(&*occurrences) {
            let times = times as usize;
            let (key, simple) = match part(self, statement) {
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
            let member = Relevant { key: key.clone(), spelled, set, required };
            match asked {
                0 => passed += u32::from(required),
                _ => relevant.push((Reverse((simple, asked)), member)),
            }
        }
        // What tells most alternatives apart is looked at first.
        self.spend(relevant.len() * (1 + classes.len()));
        relevant.sort_by_key(|member| member.0);
        let relevant = relevant.into_iter().map(|(_, member)| member).collect();
        let count = if counts { count + passed } else { 0 };
        let condition = match counts {
            true => self.conditions.counted(condition, count),
            false => condition,
        };
        let start = SearchState { at: 0, condition, count, taken: 0 };
        let cap = if least { self.conditions.count_cap(condition) } else { 0 };
        Ok((MemberSearch { members: relevant, others, keys, max, counts, cap }, start))
    }

    /// Other keys, and how many there are of each class.
    pub(crate) fn with_counts(&mut self, others: Vec<UnnamedKeys>) -> Result<Counted> {
        let keys = others.iter().map(|other| self.count_keys(other.keys, KEY_COUNT_CAP));
        let keys = keys.collect::<Result<_>>()?;
        Ok((others.into(), keys))
    }

    /// The same with the members.
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
            self.spend(10);
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
            work += 1 + self.conditions.size(place.condition);
            if work > MAX_SEARCH_WORK {
                return Ok(None);
            }
        }
        Ok(Some(SearchOutcome::Nothing))
    }

    /// The same for all members of an object set, however long it takes: alternatives are tried
    /// one by one, and each makes others superfluous or impossible (Davis, Logemann, Loveland).
    pub(crate) fn finds_any(
        &mut self,
        object: ObjectSet,
        has_value: &mut HasValue<'_, 'd>,
        steps: &mut usize,
    ) -> Result<bool> {
        *steps += 1 + self.conditions.size(object.condition) / 256;
        check_search_steps(self, *steps)?;
        let Some(object) = settle(self, object)? else { return Ok(false) };
        let conjuncts = self.conditions.conjuncts(object.condition);
        let width = |&&part: &&MemberFormula| match self.conditions.part(part) {
            FormulaNode::Or(parts) => parts.len(),
            _ => usize::MAX,
        };
        let narrowest = conjuncts.iter().min_by_key(width).copied();
        let choice = narrowest.map(|part| (part, self.conditions.part(part).clone()));
        if let Some((choice, FormulaNode::Or(parts))) = choice {
            let others = conjuncts.into_iter().filter(|&part| part != choice);
            let others = self.conditions.and(others);
            for &part in parts.iter() {
                let condition = self.conditions.and([others, part]);
                let object = ObjectSet { condition, ..object.clone() };
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

/// What is asked of an object's members together, and how many there are at least.
pub(crate) fn formula_with_min(sets: &mut Sets<'_>, object: &ObjectSet) -> MemberFormula {
    if object.min as usize <= object.required() {
        return object.condition;
    }
    let least = sets.conditions.of(FormulaNode::AtLeast(object.min));
    sets.conditions.and([object.condition, least])
}

/// Are there members that meet the condition, of sets of which it is asked whether they have a
/// value? The first that are found will do; `None` if they are not found soon.
pub(crate) fn finds_members<'d>(
    sets: &mut Sets<'d>,
    search: &MemberSearch,
    start: SearchState,
    has_value: &mut HasValue<'_, 'd>,
) -> Result<Option<bool>> {
    let found = sets.find(search, start, has_value)?;
    Ok(found.map(|found| matches!(found, SearchOutcome::Members(_))))
}

/// Is nothing more needed from here?
pub(crate) fn is_goal(sets: &Sets<'_>, search: &MemberSearch, place: SearchState) -> bool {
    let left = search.members.get(place.at as usize..).unwrap_or_default();
    place.condition == MemberFormula::HOLDS && search.max.is_none()
        || left.iter().all(|member| !member.required)
            && sets.conditions.at_end(place.condition)
            && search.max.is_none_or(|max| place.count <= max)
}

/// The next steps.
pub(crate) fn search_steps(
    sets: &mut Sets<'_>,
    search: &MemberSearch,
    place: SearchState,
) -> Result<Vec<SearchStep>> {
    let steps = search_steps_unless(sets, search, place, &mut |_, _| Ok(false))?;
    Ok(steps.unwrap_or_default())
}

/// The same; `None` as soon as one of them is an end.
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
                let condition = sets.conditions.without(place.condition, passed);
                steps.push((None, SearchState { at, condition, ..place }));
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
    steps.retain(|(_, to)| to.condition != MemberFormula::FAILS);
    for &step in &steps {
        if is_end(sets, step)? {
            return Ok(None);
        }
    }
    let Some(with) = with else { return Ok(Some(steps)) };
    let then = |this: &mut Sets<'d>, condition| SearchState {
        condition: match search.counts {
            true => this.conditions.counted(condition, count),
            false => condition,
        },
        ..with
    };
    let mut ended = false;
    let ways = sets.ways_until(place.condition, key, set, &mut |this, set, condition| {
        let to = then(this, condition);
        ended = is_end(this, (Some(set), to))?;
        Ok(ended)
    })?;
    if ended {
        return Ok(None);
    }
    for (set, condition) in ways {
        let to = then(sets, condition);
        // Of a class, what changes nothing is not worth a member.
        let changes = to.at > place.at || to.condition != place.condition || count <= search.cap;
        if changes && to.condition != MemberFormula::FAILS {
            steps.push((Some(set), to));
        }
    }
    Ok(Some(steps))
}
