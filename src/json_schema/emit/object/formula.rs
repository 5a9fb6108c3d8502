//! Whether the formula over an object's members can still be met.

use std::ops::Range;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::error::Result;
use crate::json_schema::emit::Emitter;
use crate::json_schema::emit::state::ObjectState;
use crate::json_schema::emit::tables::{Member, Satisfiable};
use crate::json_schema::options::PropertyOrder;
use crate::json_schema::satisfiability::member_search::KEY_COUNT_CAP;
use crate::json_schema::satisfiability::member_search::SearchOutcome;
use crate::json_schema::set::keys::KeyClass;
use crate::json_schema::set::keys::MemberKey;
use crate::json_schema::set::keys::NamedKey;
use crate::json_schema::set::member_formula::MemberFormula;
use crate::json_schema::set::object_set::ObjectSet;
use crate::json_schema::set::{Set, Sets};
use crate::regular::Language;

impl<'d> Emitter<'d> {
    /// The alternatives whose set has a value and after which the object can be completed. `class`
    /// is that of the key just written, if the key has no name.
    pub(crate) fn completable(
        &mut self,
        id: u32,
        after: ObjectState,
        alternatives: Vec<(Set, MemberFormula)>,
        class: Option<usize>,
    ) -> Result<Vec<(Set, ObjectState)>> {
        let mut alive = Vec::new();
        for (set, formula) in alternatives {
            let formula = self.sets.formulas.counted(formula, after.count);
            let next = ObjectState { formula, ..after };
            if self.has_value(set)? && self.can_meet_formula(id, next, class)? {
                alive.push((set, next));
            }
        }
        Ok(alive)
    }

    /// The formula once some of the named members do not come any more.
    pub(crate) fn without(
        &mut self,
        id: u32,
        formula: MemberFormula,
        passed: Range<u32>,
    ) -> MemberFormula {
        if formula == MemberFormula::HOLDS {
            return formula;
        }
        let indices = &self.objects.automata[id as usize].indices;
        let passed = |key: &str| indices.get(key).is_some_and(|index| passed.contains(index));
        self.sets.formulas.without(formula, passed)
    }

    /// The number of keys left of each class, once one more of `class` is written.
    pub(crate) fn keys_left(
        &mut self,
        id: u32,
        state: ObjectState,
        class: Option<usize>,
    ) -> Result<Arc<[u32]>> {
        let object = &self.objects.automata[id as usize];
        if object.keys.iter().all(|&keys| keys >= KEY_COUNT_CAP) {
            return Ok(Arc::clone(&object.keys));
        }
        let (others, mut left) = (Arc::clone(&object.others), object.keys.to_vec());
        let used = self.objects.used.get(state.used).clone();
        for (i, left) in left.iter_mut().enumerate().filter(|(_, left)| **left < KEY_COUNT_CAP) {
            for key in &used {
                let spelled = self.sets.strings.spell(key);
                let written = self.sets.languages.matches(others[i].keys, &spelled)?;
                *left = left.saturating_sub(u32::from(written));
            }
            *left = left.saturating_sub(u32::from(class == Some(i)));
        }
        Ok(left.into())
    }

    /// Whether the formula of a state can still be met, within the most members, after a key of
    /// this class.
    pub(crate) fn can_meet_formula(
        &mut self,
        id: u32,
        state: ObjectState,
        class: Option<usize>,
    ) -> Result<bool> {
        match state.formula {
            MemberFormula::HOLDS => Ok(true),
            MemberFormula::FAILS => Ok(false),
            _ => Ok(self.meet_formula(id, state, class)?.is_some()),
        }
    }

    pub(crate) fn meet_formula(
        &mut self,
        id: u32,
        state: ObjectState,
        class: Option<usize>,
    ) -> Result<Option<Satisfiable>> {
        // Of the keys without a name only the number left counts, so it is a part of the memo key.
        let keys = self.keys_left(id, state, class)?;
        let object = &self.objects.automata[id as usize];
        let (max, others) = (object.max, object.others.clone());
        let left = (state.at..object.members.len() as u32).filter(|&i| !self.is_seen(state, i));
        let left: Vec<u32> = left.collect();
        let members = &self.objects.automata[id as usize].members;
        let each = left.iter().map(|&i| &members[i as usize]);
        let each = each.map(|member| (&member.key, member.set, member.required));
        let counted = (others.clone(), Arc::clone(&keys));
        let (search, start) = self.sets.search(state.formula, state.count, max, each, counted)?;
        // Names that the formula does not mention do not matter either.
        let indices = &self.objects.automata[id as usize].indices;
        let asked = search.names().filter_map(|name| indices.get(name).copied());
        let asked: Box<[u32]> = asked.collect();
        let key = (id, start, asked.clone(), keys);
        if let Some(&known) = self.objects.formula_answers.get(&key) {
            return Ok(known);
        }
        let has_value = &mut |sets: &mut Sets<'d>, set| Ok(!sets.is_empty(set)?);
        let met = match self.sets.find(&search, start, has_value)? {
            Some(SearchOutcome::Nothing) => None,
            Some(SearchOutcome::Members(written)) => {
                let written = written.into_iter().filter_map(|at| asked.get(at).copied());
                // The search decides the members with most statements first; a free order takes the first.
                let by = match self.sets.options.property_order {
                    PropertyOrder::Any => written.into_iter().next(),
                    PropertyOrder::Schema => written.min(),
                };
                Some(Satisfiable { by })
            }
            None => {
                let members = &self.objects.automata[id as usize].members;
                let named = left.iter().map(|&index| {
                    let Member { key, set, required, .. } = &members[index as usize];
                    NamedKey { key: key.clone(), set: *set, required: *required }
                });
                let classes = others.iter().map(|o| KeyClass { keys: o.keys, set: o.set });
                let object = ObjectSet {
                    named: named.collect(),
                    classes: classes.collect(),
                    formula: self.sets.formulas.after(state.formula, state.count),
                    max: max.map(|max| max.saturating_sub(state.count)),
                    ..ObjectSet::any(Language::EMPTY)
                };
                let any = self.sets.finds_any(object, has_value, &mut 0)?;
                any.then_some(Satisfiable { by: None })
            }
        };
        self.objects.formula_answers.insert(key, met);
        Ok(met)
    }

    /// Whether the object can still be completed after this named member.
    pub(crate) fn can_follow(&mut self, id: u32, state: ObjectState, index: u32) -> Result<bool> {
        let member = &self.objects.automata[id as usize].members[index as usize];
        if state.formula == MemberFormula::HOLDS {
            let set = member.set;
            return self.has_value(set);
        }
        // One way is enough: what others hold is looked at once the name is written.
        let after = self.state_after_named(id, state, index);
        let mut passed: FxHashSet<(Set, MemberFormula)> = FxHashSet::default();
        loop {
            let member = &self.objects.automata[id as usize].members[index as usize];
            let key = MemberKey::Named(&member.key, &member.spelled);
            let mut found = None;
            self.sets.member_alternatives_until(
                after.formula,
                key,
                member.set,
                &mut |sets, set, left| {
                    let is_new = !passed.contains(&(set, left));
                    let leads = is_new && (set == Set::ANY || !sets.is_empty(set)?);
                    if leads {
                        found = Some((set, left));
                    }
                    Ok(leads)
                },
            )?;
            let Some(way) = found else { return Ok(false) };
            passed.insert(way);
            if !self.completable(id, after, vec![way], None)?.is_empty() {
                return Ok(true);
            }
        }
    }
}
