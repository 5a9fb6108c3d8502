//! Sets of objects.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::array_set::{ArraySet, smaller};
use super::member_formula::{MemberFormula, FormulaNode};
use crate::error::Result;
use crate::json_schema::document::{Value, ValueId};
use crate::json_schema::satisfiability::reference_free::Reach;
use crate::json_schema::set::{SetExpr, Set, Sets, Sources};
use crate::regular::Language;

/// So many listed values are looked up one by one.
const FEW_WORDS: usize = 16;

/// A key that has a set of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NamedKey {
    pub(crate) key: Arc<str>,
    pub(crate) set: Set,
    pub(crate) required: bool,
}

/// Other keys that share a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct KeyClass {
    /// The keys, in canonical spelling without quotes; named ones may be among them, and do not
    /// count.
    pub(crate) keys: Language,
    pub(crate) set: Set,
}

/// Objects whose members have values in the set of their key. Equal only if the named keys come
/// in the same order, which is the order that they are written in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ObjectSet {
    pub(crate) named: Vec<NamedKey>,
    /// Disjoint; together they hold every key.
    pub(crate) classes: Vec<KeyClass>,
    pub(crate) min: u32,
    pub(crate) max: Option<u32>,
    /// What is not said of single keys; every key in it is named.
    pub(crate) condition: MemberFormula,
    pub(crate) sources: Sources,
}

impl ObjectSet {
    /// Every object; `keys` is every text.
    pub(crate) fn any(keys: Language) -> Self {
        Self {
            named: Vec::new(),
            classes: vec![KeyClass { keys, set: Set::ANY }],
            min: 0,
            max: None,
            condition: MemberFormula::HOLDS,
            sources: Sources::default(),
        }
    }

    /// By key, the index of its name.
    pub(crate) fn positions(&self) -> FxHashMap<Arc<str>, usize> {
        self.named.iter().enumerate().map(|(i, named)| (named.key.clone(), i)).collect()
    }

    /// How many of the named keys are required.
    pub(crate) fn required(&self) -> usize {
        self.named.iter().filter(|named| named.required).count()
    }
}

impl Sets<'_> {
    /// The set that a key without a name of its own belongs to.
    pub(crate) fn class_of(&mut self, classes: &[KeyClass], key: &str) -> Result<Set> {
        if let [only] = classes {
            return Ok(only.set);
        }
        let spelled = self.strings.spell(key);
        for class in classes {
            if self.languages.matches(class.keys, &spelled)? {
                return Ok(class.set);
            }
        }
        Ok(Set::NEVER)
    }

    /// Objects in both; `None` if it is plain to see that there are none.
    pub(crate) fn object_intersection(
        &mut self,
        a: &ObjectSet,
        b: &ObjectSet,
    ) -> Result<Option<ObjectSet>> {
        match self.objects_together(a, b)? {
            Some(both) => self.settle(both),
            None => Ok(None),
        }
    }

    /// The same with a condition that is not settled yet.
    pub(crate) fn objects_together(
        &mut self,
        a: &ObjectSet,
        b: &ObjectSet,
    ) -> Result<Option<ObjectSet>> {
        self.spend(40 + 4 * (a.named.len() + b.named.len() + a.classes.len() * b.classes.len()));
        self.check_work(Set::ANY)?;
        let mut others: FxHashMap<&str, &NamedKey> =
            b.named.iter().map(|named| (&*named.key, named)).collect();
        let mut named = Vec::with_capacity(a.named.len().max(b.named.len()));
        for ours in &a.named {
            let theirs = others.remove(&*ours.key);
            let set = match theirs {
                Some(theirs) => theirs.set,
                None => self.class_of(&b.classes, &ours.key)?,
            };
            let required = ours.required || theirs.is_some_and(|named| named.required);
            named.push(NamedKey { key: ours.key.clone(), set: self.and([ours.set, set]), required });
        }
        for theirs in &b.named {
            if others.contains_key(&*theirs.key) {
                let set = self.class_of(&a.classes, &theirs.key)?;
                named.push(NamedKey { set: self.and([theirs.set, set]), ..theirs.clone() });
            }
        }
        for named in &named {
            if named.required && self.is_plainly_empty(named.set) {
                return Ok(None);
            }
        }
        let mut classes = Vec::new();
        for x in &a.classes {
            for y in &b.classes {
                let keys = self.languages.intersect([x.keys, y.keys]);
                if x.keys == y.keys || self.languages.is_live(keys)? {
                    classes.push(KeyClass { keys, set: self.and([x.set, y.set]) });
                }
            }
        }
        Ok(Some(ObjectSet {
            named,
            classes,
            condition: self.conditions.and([a.condition, b.condition]),
            min: a.min.max(b.min),
            max: smaller(a.max, b.max),
            sources: a.sources.merged(&b.sources),
        }))
    }

    /// Is the empty object in it?
    pub(crate) fn holds_empty(&self, object: &ObjectSet) -> bool {
        object.min == 0 && object.required() == 0 && self.conditions.at_end(object.condition)
    }

    /// Does a plain set hold arrays, does it hold objects? Yes where that is not plain to see.
    fn holds_containers(&mut self, set: Set) -> Result<[bool; 2]> {
        if let SetExpr::Not(inner) = *self.expr(set) {
            let shape = self.shape(inner)?;
            let any = ObjectSet::any(self.strings.any);
            let all = [shape.arrays.contains(&ArraySet::any()), shape.objects.contains(&any)];
            return Ok(all.map(|all| !all));
        }
        let shape = self.shape(set)?;
        Ok([!shape.arrays.is_empty(), !shape.objects.is_empty()])
    }

    /// Is an intersection of scalars, listed or constrained without references, empty? Says no
    /// where it would have to follow one.
    pub(crate) fn plainly_empty(&mut self, set: Set) -> Result<bool> {
        self.spend(5);
        let set = self.alike(set);
        let parts = match self.expr(set) {
            SetExpr::Never => return Ok(true),
            SetExpr::And(parts) => parts.clone(),
            _ => return Ok(false),
        };
        if let Some(&known) = self.plainly_empty.get(&set) {
            return Ok(known);
        }
        let empty = self.intersection_is_empty(set, &parts)?;
        self.plainly_empty.insert(set, empty);
        Ok(empty)
    }

    fn intersection_is_empty(&mut self, set: Set, parts: &[Set]) -> Result<bool> {
        if self.reach(set) == Reach::Far {
            return Ok(false);
        }
        let mut all = [true; 2];
        for &part in parts {
            let holds = self.holds_containers(part)?;
            all = [all[0] && holds[0], all[1] && holds[1]];
        }
        if all[0] || all[1] {
            return Ok(false);
        }
        if let Some(words) = parts.iter().find_map(|&part| self.few_words(part)) {
            'next: for word in words {
                for &part in parts {
                    let shape = self.shape(part)?;
                    if !self.accepts(&shape, word)? {
                        continue 'next;
                    }
                }
                return Ok(false);
            }
            return Ok(true);
        }
        let shape = self.shape(set)?;
        Ok(shape.arrays.is_empty() && shape.objects.is_empty() && self.scalarless(&shape)?)
    }

    /// The values of a set that lists texts and names alone, if these are few: it costs less to
    /// ask for each than to intersect what holds them.
    fn few_words(&mut self, set: Set) -> Option<Vec<ValueId>> {
        let values = match *self.expr(set) {
            SetExpr::Value(value) => vec![value],
            SetExpr::Schema(at, _) | SetExpr::Own(at, _) => self.values_listed(at)?,
            _ => return None,
        };
        let is_word = |&value: &ValueId| {
            matches!(self.document.value(value), Value::Null | Value::Bool(_) | Value::String(_))
        };
        (values.len() <= FEW_WORDS && values.iter().all(is_word)).then_some(values)
    }

    /// Objects that are not in it: with a required key missing, a value that does not fit, or too
    /// few or too many members.
    pub(crate) fn object_complement(&mut self, a: &ObjectSet) -> Result<Vec<ObjectSet>> {
        let free = ObjectSet { sources: a.sources.clone(), ..ObjectSet::any(self.strings.any) };
        let mut result = Vec::new();
        let one = |named: NamedKey| ObjectSet { named: vec![named], ..free.clone() };
        for named in &a.named {
            let key = named.key.clone();
            if named.required {
                result.push(one(NamedKey { key: key.clone(), set: Set::NEVER, required: false }));
            }
            let not = self.not(named.set);
            if not != Set::NEVER {
                result.push(one(NamedKey { key, set: not, required: true }));
            }
        }
        if let Some(max) = a.min.checked_sub(1) {
            result.push(ObjectSet { max: Some(max), ..free.clone() });
        }
        if let Some(min) = a.max.and_then(|max| max.checked_add(1)) {
            result.push(ObjectSet { min, ..free.clone() });
        }
        let names = self.names(a);
        for class in &a.classes {
            let set = self.not(class.set);
            let keys = self.languages.difference(class.keys, names);
            if set != Set::NEVER && self.languages.is_live(keys)? {
                let condition = self.conditions.of(FormulaNode::Some(KeyClass { keys, set }));
                result.push(ObjectSet { condition, ..free.clone() });
            }
        }
        if a.condition != MemberFormula::HOLDS {
            let condition = self.opposite(a.condition);
            let named = self.keys_of(condition).into_iter();
            let named = named.map(|key| NamedKey { key, set: Set::ANY, required: false }).collect();
            result.extend(self.settle(ObjectSet { named, condition, ..free })?);
        }
        Ok(result)
    }

    /// Is every text of objects in `a` also one of objects in `b`? Says no where it would have to
    /// look into sets.
    pub(crate) fn object_is_within(&mut self, a: &ObjectSet, b: &ObjectSet) -> Result<bool> {
        self.spend(2 + b.named.len());
        self.check_work(Set::ANY)?;
        if a.min < b.min
            || !self.conditions.says(a.condition, b.condition)
            || b.max.is_some_and(|max| a.max.is_none_or(|ours| ours > max))
        {
            return Ok(false);
        }
        for theirs in b.named.iter().filter(|named| named.set == Set::NEVER) {
            let ours = a.named.iter().find(|named| named.key == theirs.key);
            let set = match ours {
                Some(ours) => ours.set,
                None => self.class_of(&a.classes, &theirs.key)?,
            };
            if set != Set::NEVER {
                return Ok(false);
            }
        }
        // Keys that both name come in the same order, and before those that only `a` names.
        let mut ours = a.named.iter().filter(|named| named.set != Set::NEVER);
        for theirs in b.named.iter().filter(|named| named.set != Set::NEVER) {
            match ours.next() {
                Some(named)
                    if named.key == theirs.key
                        && self.is_plainly_within(named.set, theirs.set)
                        && (named.required || !theirs.required) => {}
                _ => return Ok(false),
            }
        }
        for named in ours {
            let set = self.class_of(&b.classes, &named.key)?;
            if !self.is_plainly_within(named.set, set) {
                return Ok(false);
            }
        }
        let any = matches!(b.classes[..], [KeyClass { set: Set::ANY, .. }]);
        let none = a.classes.iter().all(|class| class.set == Set::NEVER);
        Ok(any || none || a.classes == b.classes)
    }

    /// Drops what others hold already, the first of equals excepted.
    pub(crate) fn without_contained(&mut self, objects: &mut Vec<ObjectSet>) -> Result<()> {
        let mut kept: Vec<ObjectSet> = Vec::with_capacity(objects.len());
        'next: for object in std::mem::take(objects) {
            for other in &kept {
                if self.object_is_within(&object, other)? {
                    continue 'next;
                }
            }
            let mut i = 0;
            while i < kept.len() {
                match self.object_is_within(&kept[i], &object)? {
                    true => drop(kept.remove(i)),
                    false => i += 1,
                }
            }
            kept.push(object);
        }
        *objects = kept;
        Ok(())
    }
}
