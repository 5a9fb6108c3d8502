//! Sets of objects.

use std::sync::Arc as Rc;

use rustc_hash::FxHashMap;

use super::array::smaller;
use super::set::{Expr, Set, Sets, Sources};
use crate::error::Result;
use crate::regex::Language;

/// A key that has a set of its own.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Named {
    pub(super) key: Rc<str>,
    pub(super) set: Set,
    pub(super) required: bool,
}

/// Other keys that share a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Class {
    /// The keys, in canonical spelling without quotes; named ones may be among them, and do not
    /// count.
    pub(super) keys: Language,
    pub(super) set: Set,
}

/// Objects whose members have values in the set of their key. Equal only if the named keys come
/// in the same order, which is the order that they are written in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ObjectSet {
    pub(super) named: Vec<Named>,
    /// Disjoint; together they hold every key.
    pub(super) classes: Vec<Class>,
    pub(super) min: u32,
    pub(super) max: Option<u32>,
    /// Each asks for a member of its own; one member may answer several.
    pub(super) some: Vec<Class>,
    /// Each asks for one of several things; every key in them is named.
    pub(super) requests: Vec<Request>,
    pub(super) sources: Sources,
}

/// At least one of these holds: what the complement of a whole object set says at once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Request {
    /// The member with this key is there, and has a value in this set.
    pub(super) named: Vec<(Rc<str>, Set)>,
    /// Some member with one of these keys has a value in their set.
    pub(super) others: Vec<Class>,
    /// This key is absent.
    pub(super) absent: Vec<Rc<str>>,
}

impl ObjectSet {
    /// Every object; `keys` is every text.
    pub(super) fn any(keys: Language) -> Self {
        Self {
            named: Vec::new(),
            classes: vec![Class { keys, set: Set::ANY }],
            min: 0,
            max: None,
            some: Vec::new(),
            requests: Vec::new(),
            sources: Sources::default(),
        }
    }

    /// Is the empty object in it?
    pub(super) fn holds_empty(&self) -> bool {
        self.min == 0
            && self.required() == 0
            && self.some.is_empty()
            && self.requests.iter().all(|request| !request.absent.is_empty())
    }

    /// How many of the named keys are required.
    pub(super) fn required(&self) -> usize {
        self.named.iter().filter(|named| named.required).count()
    }
}

impl Sets<'_> {
    /// The set that a key without a name of its own belongs to.
    pub(super) fn class_of(&mut self, classes: &[Class], key: &str) -> Result<Set> {
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
    pub(super) fn object_intersection(
        &mut self,
        a: &ObjectSet,
        b: &ObjectSet,
    ) -> Result<Option<ObjectSet>> {
        let mut others: FxHashMap<&str, &Named> =
            b.named.iter().map(|named| (&*named.key, named)).collect();
        let mut named = Vec::with_capacity(a.named.len().max(b.named.len()));
        for ours in &a.named {
            let theirs = others.remove(&*ours.key);
            let set = match theirs {
                Some(theirs) => theirs.set,
                None => self.class_of(&b.classes, &ours.key)?,
            };
            let required = ours.required || theirs.is_some_and(|named| named.required);
            named.push(Named { key: ours.key.clone(), set: self.and([ours.set, set]), required });
        }
        for theirs in &b.named {
            if others.contains_key(&*theirs.key) {
                let set = self.class_of(&a.classes, &theirs.key)?;
                named.push(Named { set: self.and([theirs.set, set]), ..theirs.clone() });
            }
        }
        for named in &named {
            if named.required && self.plainly_empty(named.set)? {
                return Ok(None);
            }
        }
        let mut classes = Vec::new();
        for x in &a.classes {
            for y in &b.classes {
                let keys = self.languages.intersect([x.keys, y.keys]);
                if x.keys == y.keys || self.languages.is_live(keys)? {
                    classes.push(Class { keys, set: self.and([x.set, y.set]) });
                }
            }
        }
        let mut some = a.some.clone();
        some.extend(b.some.iter().filter(|s| !a.some.contains(s)));
        let mut requests = a.requests.clone();
        requests.extend(b.requests.iter().filter(|r| !a.requests.contains(r)).cloned());
        let both = ObjectSet {
            named,
            classes,
            some,
            requests,
            min: a.min.max(b.min),
            max: smaller(a.max, b.max),
            sources: a.sources.merged(&b.sources),
        };
        self.settle_requests(both)
    }

    /// Drops what is granted already and what cannot be granted; a request of which one thing is
    /// left becomes a part of the object. `None` if nothing is left of one.
    fn settle_requests(&mut self, mut object: ObjectSet) -> Result<Option<ObjectSet>> {
        let mut open = std::mem::take(&mut object.requests);
        loop {
            let mut kept = Vec::new();
            let mut changed = false;
            'next: for mut request in open {
                let mut absent = Vec::new();
                for key in std::mem::take(&mut request.absent) {
                    let named = object.named.iter().find(|named| named.key == key);
                    match named {
                        Some(named) if named.set == Set::NEVER && !named.required => continue 'next,
                        Some(named) if named.required => {}
                        _ => absent.push(key),
                    }
                }
                request.absent = absent;
                let mut left = Vec::new();
                for (key, set) in std::mem::take(&mut request.named) {
                    let known = object.named.iter().find(|named| named.key == key);
                    let Some((known, required)) = known.map(|n| (n.set, n.required)) else {
                        left.push((key, set));
                        continue;
                    };
                    if required && self.is_plainly_within(known, set) {
                        continue 'next;
                    }
                    let both = self.and([known, set]);
                    if !self.plainly_empty(both)? {
                        left.push((key, set));
                    }
                }
                request.named = left;
                match (&request.named[..], &request.absent[..], &request.others[..]) {
                    ([], [], []) => return Ok(None),
                    ([], [key], []) => {
                        for named in object.named.iter_mut().filter(|named| named.key == *key) {
                            named.set = Set::NEVER;
                        }
                        changed = true;
                    }
                    ([(key, set)], [], []) => {
                        for named in object.named.iter_mut().filter(|named| named.key == *key) {
                            (named.set, named.required) = (self.and([named.set, *set]), true);
                        }
                        changed = true;
                    }
                    _ => kept.push(request),
                }
            }
            open = kept;
            if !changed {
                break;
            }
        }
        object.requests = open;
        Ok(Some(object))
    }

    /// Objects that are not in `a`, as one object set, if they can be said as one.
    pub(super) fn object_request(&mut self, a: &ObjectSet) -> Result<Option<ObjectSet>> {
        if a.min > a.required() as u32 || a.max.is_some() || !a.some.is_empty() {
            return Ok(None);
        }
        if !a.requests.is_empty() {
            return Ok(None);
        }
        let mut request = Request { named: Vec::new(), others: Vec::new(), absent: Vec::new() };
        for named in &a.named {
            if named.required {
                request.absent.push(named.key.clone());
            }
            let not = self.not(named.set);
            if not != Set::NEVER {
                request.named.push((named.key.clone(), not));
            }
        }
        let names = a.named.iter().map(|named| &*named.key);
        let names = self.strings.texts(&mut self.languages, names);
        for class in &a.classes {
            let set = self.not(class.set);
            let keys = self.languages.difference(class.keys, names);
            if set != Set::NEVER && self.languages.is_live(keys)? {
                request.others.push(Class { keys, set });
            }
        }
        let named = a.named.iter();
        let named = named.map(|n| Named { set: Set::ANY, required: false, key: n.key.clone() });
        let object = ObjectSet {
            named: named.collect(),
            requests: vec![request],
            sources: a.sources.clone(),
            ..ObjectSet::any(self.strings.any)
        };
        Ok(Some(object))
    }

    /// Is a set of scalars, listed or constrained without references, empty? Never unfolds what
    /// might be unfolding already, and says no where it would have to.
    pub(super) fn plainly_empty(&mut self, set: Set) -> Result<bool> {
        match self.expr(set) {
            Expr::Never => return Ok(true),
            Expr::And(parts) => {
                let flat = parts.iter().all(|&part| match self.expr(part) {
                    Expr::Schema(at, _) => self.is_flat(*at),
                    Expr::Own(at, _) => self.document.get(*at, "propertyNames").is_none(),
                    Expr::Value(_) => true,
                    _ => false,
                });
                if !flat {
                    return Ok(false);
                }
            }
            _ => return Ok(false),
        }
        let shape = self.shape(set)?;
        Ok(shape.arrays.is_empty() && shape.objects.is_empty() && self.scalarless(&shape)?)
    }

    /// Objects that are not in it: with a required key missing, a value that does not fit, or too
    /// few or too many members.
    pub(super) fn object_complement(&mut self, a: &ObjectSet) -> Result<Vec<ObjectSet>> {
        let free = ObjectSet { sources: a.sources.clone(), ..ObjectSet::any(self.strings.any) };
        let mut result = Vec::new();
        let one = |named: Named| ObjectSet { named: vec![named], ..free.clone() };
        for named in &a.named {
            let key = named.key.clone();
            if named.required {
                result.push(one(Named { key: key.clone(), set: Set::NEVER, required: false }));
            }
            let not = self.not(named.set);
            if not != Set::NEVER {
                result.push(one(Named { key, set: not, required: true }));
            }
        }
        if let Some(max) = a.min.checked_sub(1) {
            result.push(ObjectSet { max: Some(max), ..free.clone() });
        }
        if let Some(min) = a.max.and_then(|max| max.checked_add(1)) {
            result.push(ObjectSet { min, ..free.clone() });
        }
        let names = a.named.iter().map(|named| &*named.key);
        let names = self.strings.texts(&mut self.languages, names);
        for class in &a.classes {
            let set = self.not(class.set);
            let keys = self.languages.difference(class.keys, names);
            if set != Set::NEVER && self.languages.is_live(keys)? {
                result.push(ObjectSet { some: vec![Class { keys, set }], ..free.clone() });
            }
        }
        for some in &a.some {
            let others = self.languages.difference(self.strings.any, some.keys);
            let classes = vec![
                Class { keys: some.keys, set: self.not(some.set) },
                Class { keys: others, set: Set::ANY },
            ];
            result.push(ObjectSet { classes, ..free.clone() });
        }
        for request in &a.requests {
            let mut not = free.clone();
            for (key, set) in &request.named {
                not.named.push(Named { key: key.clone(), set: self.not(*set), required: false });
            }
            for key in &request.absent {
                match not.named.iter_mut().find(|named| named.key == *key) {
                    Some(named) => named.required = true,
                    None => {
                        not.named.push(Named { key: key.clone(), set: Set::ANY, required: true })
                    }
                }
            }
            let mut objects = vec![not];
            for class in &request.others {
                // Keys of the class that are named are told apart by their own set.
                let others = self.languages.difference(self.strings.any, class.keys);
                let classes = vec![
                    Class { keys: class.keys, set: self.not(class.set) },
                    Class { keys: others, set: Set::ANY },
                ];
                let only = ObjectSet { classes, ..free.clone() };
                let mut both = Vec::new();
                for object in &objects {
                    both.extend(self.object_intersection(object, &only)?);
                }
                objects = both;
            }
            result.extend(objects);
        }
        Ok(result)
    }

    /// Is every text of objects in `a` also one of objects in `b`? Says no where it would have to
    /// look into sets.
    pub(super) fn object_is_within(&mut self, a: &ObjectSet, b: &ObjectSet) -> Result<bool> {
        if a.min < b.min
            || !b.requests.iter().all(|request| a.requests.contains(request))
            || b.max.is_some_and(|max| a.max.is_none_or(|ours| ours > max))
            || !b.some.iter().all(|some| a.some.contains(some))
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
        let any = matches!(b.classes[..], [Class { set: Set::ANY, .. }]);
        let none = a.classes.iter().all(|class| class.set == Set::NEVER);
        Ok(any || none || a.classes == b.classes)
    }

    /// Drops what others hold already, the first of equals excepted.
    pub(super) fn without_contained(&mut self, objects: &mut Vec<ObjectSet>) -> Result<()> {
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
