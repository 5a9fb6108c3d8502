//! Conditions on the members of an object that none of them decides alone.
//!
//! What is said of each key by itself stands in an object set's names and classes. Everything
//! else, such as one of several object sets that would be too many to follow one by one, is a
//! formula over a few statements about members, without negation. A member that is written makes
//! some statements true and others false; what is left of the formula then is the condition on the
//! members that still come (Brzozowski's derivative, of conditions instead of expressions). So
//! formulas are the states of an object, they grow as the sum of their parts does, and nothing is
//! multiplied out.

use std::cmp::Reverse;
use std::sync::Arc as Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::object::{Class, Named, ObjectSet};
use super::options::PropertyOrder;
use super::plain::Reach;
use super::set::{Set, Sets};
use crate::deadline;
use crate::error::{ErrorKind, Result};
use crate::regex::Language;

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
pub(super) struct Condition(u32);

impl Condition {
    /// Always.
    pub(super) const HOLDS: Self = Self(0);
    /// Never.
    pub(super) const FAILS: Self = Self(1);
}

/// What a condition says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Holds,
    Fails,
    /// The member with this key is there, and has a value in this set.
    Present(Rc<str>, Set),
    Absent(Rc<str>),
    /// Some member with one of these keys has a value in their set.
    Some(Class),
    /// Every member with one of these keys has a value in their set.
    All(Class),
    /// There are so many members.
    AtLeast(u32),
    AtMost(u32),
    /// Sorted, without duplicates, at least two.
    And(Rc<[Condition]>),
    /// Sorted, without duplicates, at least two.
    Or(Rc<[Condition]>),
}

/// All conditions made so far.
#[derive(Debug)]
pub(super) struct Conditions {
    parts: Vec<Part>,
    /// Is each met if no further member comes? Formulas share parts, so it is found once for each.
    ends: Vec<bool>,
    ids: FxHashMap<Part, Condition>,
    /// The statements of conditions that were asked for them.
    statements: FxHashMap<Condition, Rc<[Condition]>>,
    /// The size of conditions whose statements were asked for.
    sizes: FxHashMap<Condition, usize>,
    opposites: FxHashMap<Condition, Condition>,
    /// Parts looked at since the present task began.
    pub(super) work: usize,
}

impl Default for Conditions {
    fn default() -> Self {
        let (parts, ends, ids, statements, sizes, opposites) = Default::default();
        let mut this = Self { parts, ends, ids, statements, sizes, opposites, work: 0 };
        let constants = (this.of(Part::Holds), this.of(Part::Fails));
        debug_assert_eq!(constants, (Condition::HOLDS, Condition::FAILS));
        this
    }
}

impl Conditions {
    /// A condition that is one statement.
    pub(super) fn of(&mut self, part: Part) -> Condition {
        if let Some(&known) = self.ids.get(&part) {
            return known;
        }
        let id = Condition(self.parts.len() as u32);
        self.ends.push(match &part {
            Part::Holds | Part::Absent(_) | Part::All(_) | Part::AtMost(_) => true,
            Part::Fails | Part::Present(..) | Part::Some(_) | Part::AtLeast(_) => false,
            Part::And(parts) => parts.iter().all(|&part| self.at_end(part)),
            Part::Or(parts) => parts.iter().any(|&part| self.at_end(part)),
        });
        self.parts.push(part.clone());
        self.ids.insert(part, id);
        id
    }

    pub(super) fn part(&self, condition: Condition) -> &Part {
        &self.parts[condition.0 as usize]
    }

    pub(super) fn and(&mut self, parts: impl IntoIterator<Item = Condition>) -> Condition {
        let mut flat = Vec::new();
        for part in parts {
            match self.part(part) {
                Part::And(parts) => flat.extend_from_slice(parts),
                Part::Holds => {}
                Part::Fails => return part,
                _ => flat.push(part),
            }
        }
        self.work += 4 * flat.len();
        flat.sort_unstable();
        flat.dedup();
        // An alternative that holds makes its choice superfluous.
        let superfluous = |&part: &Condition| match self.part(part) {
            Part::Or(choice) => choice.iter().any(|c| flat.binary_search(c).is_ok()),
            _ => false,
        };
        let kept: Vec<Condition> = flat.iter().copied().filter(|c| !superfluous(c)).collect();
        match kept[..] {
            [] => Condition::HOLDS,
            [one] => one,
            _ => self.of(Part::And(kept.into())),
        }
    }

    pub(super) fn or(&mut self, parts: impl IntoIterator<Item = Condition>) -> Condition {
        let mut flat = Vec::new();
        for part in parts {
            match self.part(part) {
                Part::Or(parts) => flat.extend_from_slice(parts),
                Part::Fails => {}
                Part::Holds => return part,
                _ => flat.push(part),
            }
        }
        self.work += 4 * flat.len();
        flat.sort_unstable();
        flat.dedup();
        let superfluous = |&part: &Condition| match self.part(part) {
            Part::And(all) => all.iter().any(|c| flat.binary_search(c).is_ok()),
            _ => false,
        };
        let kept: Vec<Condition> = flat.iter().copied().filter(|c| !superfluous(c)).collect();
        match kept[..] {
            [] => Condition::FAILS,
            [one] => one,
            _ => self.of(Part::Or(kept.into())),
        }
    }

    /// What must hold together.
    pub(super) fn conjuncts(&self, condition: Condition) -> Vec<Condition> {
        match self.part(condition) {
            Part::Holds => Vec::new(),
            Part::And(parts) => parts.to_vec(),
            _ => vec![condition],
        }
    }

    /// Does `a` say all that `b` says, to the letter?
    pub(super) fn says(&self, a: Condition, b: Condition) -> bool {
        let all = self.conjuncts(a);
        self.conjuncts(b).iter().all(|part| all.contains(part))
    }

    /// The statements of a condition, each once.
    pub(super) fn statements(&mut self, condition: Condition) -> Rc<[Condition]> {
        if let Some(known) = self.statements.get(&condition) {
            return known.clone();
        }
        let (mut seen, mut open) = (FxHashSet::default(), vec![condition]);
        let (mut found, mut size) = (Vec::new(), 1);
        while let Some(next) = open.pop() {
            if !seen.insert(next) {
                continue;
            }
            match self.part(next) {
                Part::Holds | Part::Fails => {}
                Part::And(parts) | Part::Or(parts) => {
                    size += parts.len();
                    open.extend(parts.iter().rev());
                }
                _ => found.push(next),
            }
        }
        self.work += 4 * size;
        let found: Rc<[Condition]> = found.into();
        self.statements.insert(condition, found.clone());
        self.sizes.insert(condition, size);
        found
    }

    /// The number of parts of its different parts.
    fn size(&mut self, condition: Condition) -> usize {
        self.statements(condition);
        self.sizes.get(&condition).copied().unwrap_or(0)
    }

    /// The condition with some of its statements replaced.
    pub(super) fn replace(
        &mut self,
        condition: Condition,
        by: &FxHashMap<Condition, Condition>,
    ) -> Condition {
        if by.is_empty() {
            return condition;
        }
        self.replaced(condition, by, &mut FxHashMap::default())
    }

    fn replaced(
        &mut self,
        condition: Condition,
        by: &FxHashMap<Condition, Condition>,
        known: &mut FxHashMap<Condition, Condition>,
    ) -> Condition {
        let (parts, all) = match self.part(condition) {
            Part::And(parts) => (parts.clone(), true),
            Part::Or(parts) => (parts.clone(), false),
            _ => return by.get(&condition).copied().unwrap_or(condition),
        };
        if let Some(&known) = known.get(&condition) {
            return known;
        }
        let parts: Vec<Condition> =
            parts.iter().map(|&part| self.replaced(part, by, known)).collect();
        let new = if all { self.and(parts) } else { self.or(parts) };
        known.insert(condition, new);
        new
    }

    /// Replaces statements one by one; `None` keeps one.
    fn map(&mut self, condition: Condition, f: impl Fn(&Part) -> Option<Condition>) -> Condition {
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

    /// What is left if the member with this key does not come any more.
    pub(super) fn without(&mut self, condition: Condition, key: &str) -> Condition {
        self.map(condition, |part| match part {
            Part::Present(k, _) if **k == *key => Some(Condition::FAILS),
            Part::Absent(k) if **k == *key => Some(Condition::HOLDS),
            _ => None,
        })
    }

    /// What is left once so many members are there.
    pub(super) fn counted(&mut self, condition: Condition, count: u32) -> Condition {
        self.map(condition, |part| match *part {
            Part::AtLeast(n) if count >= n => Some(Condition::HOLDS),
            Part::AtMost(n) if count > n => Some(Condition::FAILS),
            _ => None,
        })
    }

    /// The condition on the members that come after so many others.
    pub(super) fn after(&mut self, condition: Condition, count: u32) -> Condition {
        let mut by = FxHashMap::default();
        for &statement in self.statements(condition).iter() {
            let new = match *self.part(statement) {
                Part::AtLeast(n) if n <= count => Condition::HOLDS,
                Part::AtLeast(n) => self.of(Part::AtLeast(n - count)),
                Part::AtMost(n) if n < count => Condition::FAILS,
                Part::AtMost(n) => self.of(Part::AtMost(n - count)),
                _ => continue,
            };
            by.insert(statement, new);
        }
        self.replace(condition, &by)
    }

    /// The most that counts matter.
    pub(super) fn count_cap(&mut self, condition: Condition) -> u32 {
        let statements = self.statements(condition);
        let counts = statements.iter().map(|&statement| match *self.part(statement) {
            Part::AtLeast(n) => n,
            Part::AtMost(n) => n.saturating_add(1),
            _ => 0,
        });
        counts.max().unwrap_or(0)
    }

    /// Is it met if no further member comes?
    pub(super) fn at_end(&self, condition: Condition) -> bool {
        self.ends[condition.0 as usize]
    }
}

/// The key of a member that is looked at.
#[derive(Clone, Copy, Debug)]
pub(super) enum Key<'a> {
    /// A key with a name, and its spelling.
    Named(&'a str, &'a [u8]),
    /// Any of some keys without a name: the sets of keys in conditions that hold them.
    Other(&'a [Language]),
}

/// Keys without a name that no condition tells apart.
#[derive(Clone, Debug)]
pub(super) struct Other {
    pub(super) keys: Language,
    pub(super) set: Set,
    /// The sets of keys in conditions that hold them all; others hold none of them.
    pub(super) inside: Rc<[Language]>,
}

impl Sets<'_> {
    /// The condition that does not hold where this one does, and the other way round.
    pub(super) fn opposite(&mut self, condition: Condition) -> Condition {
        if let Some(&known) = self.conditions.opposites.get(&condition) {
            return known;
        }
        let opposite = self.new_opposite(condition);
        self.conditions.opposites.insert(condition, opposite);
        opposite
    }

    fn new_opposite(&mut self, condition: Condition) -> Condition {
        let part = self.conditions.part(condition).clone();
        let new = match part {
            Part::Holds => return Condition::FAILS,
            Part::Fails => return Condition::HOLDS,
            Part::Absent(key) => Part::Present(key, Set::ANY),
            Part::Present(key, set) => {
                let absent = self.conditions.of(Part::Absent(key.clone()));
                return match self.not(set) {
                    Set::NEVER => absent,
                    not => {
                        let other = self.conditions.of(Part::Present(key, not));
                        self.conditions.or([absent, other])
                    }
                };
            }
            Part::Some(Class { keys, set }) => Part::All(Class { keys, set: self.not(set) }),
            Part::All(Class { keys, set }) => Part::Some(Class { keys, set: self.not(set) }),
            Part::AtLeast(0) => return Condition::FAILS,
            Part::AtLeast(n) => Part::AtMost(n - 1),
            Part::AtMost(u32::MAX) => return Condition::FAILS,
            Part::AtMost(n) => Part::AtLeast(n + 1),
            Part::And(parts) => {
                let parts: Vec<_> = parts.iter().map(|&part| self.opposite(part)).collect();
                return self.conditions.or(parts);
            }
            Part::Or(parts) => {
                let parts: Vec<_> = parts.iter().map(|&part| self.opposite(part)).collect();
                return self.conditions.and(parts);
            }
        };
        self.conditions.of(new)
    }

    /// The keys that a condition names.
    pub(super) fn keys_of(&mut self, condition: Condition) -> Vec<Rc<str>> {
        let mut keys: Vec<Rc<str>> = Vec::new();
        for &statement in self.conditions.statements(condition).iter() {
            if let Part::Present(key, _) | Part::Absent(key) = self.conditions.part(statement)
                && !keys.contains(key)
            {
                keys.push(key.clone());
            }
        }
        keys
    }

    /// Is every value of `a` plainly one of `b`?
    pub(super) fn plainly_within(&mut self, a: Set, b: Set) -> bool {
        let (a, b) = (self.alike(a), self.alike(b));
        if self.is_plainly_within(a, b) {
            return true;
        }
        let not = self.not(b);
        let outside = self.and([a, not]);
        self.is_plainly_empty(outside)
    }

    /// The same as `plainly_empty`, where what cannot be decided is no error.
    pub(super) fn is_plainly_empty(&mut self, set: Set) -> bool {
        self.plainly_empty(set).unwrap_or(false)
    }

    /// What a statement asks of the value of a member with this key.
    fn asks(&mut self, statement: Condition, key: Key<'_>) -> Result<Option<Set>> {
        let class = match (self.conditions.part(statement), key) {
            (Part::Present(k, set), Key::Named(name, _)) if **k == *name => return Ok(Some(*set)),
            (&(Part::Some(class) | Part::All(class)), _) => class,
            _ => return Ok(None),
        };
        let inside = match key {
            Key::Named(_, spelled) => self.languages.matches(class.keys, spelled)?,
            Key::Other(inside) => inside.contains(&class.keys),
        };
        Ok(inside.then_some(class.set))
    }

    /// The sets that the value of a member may be in, each with the condition that is left then.
    /// Counts are not looked at. A value in several of them may be taken for any: where it says
    /// less than it could, what is left asks for more.
    pub(super) fn ways(
        &mut self,
        condition: Condition,
        key: Key<'_>,
        set: Set,
    ) -> Result<Vec<(Set, Condition)>> {
        if condition == Condition::HOLDS {
            return Ok(vec![(set, condition)]);
        }
        let mut start = condition;
        if let Key::Named(name, _) = key {
            start = self.conditions.map(condition, |part| match part {
                Part::Absent(k) if **k == *name => Some(Condition::FAILS),
                _ => None,
            });
        }
        let mut asked: Vec<(Condition, Set)> = Vec::new();
        for &statement in self.conditions.statements(start).iter() {
            if let Some(set) = self.asks(statement, key)? {
                asked.push((statement, set));
            }
        }
        let mut found: Vec<(Set, Condition)> = Vec::new();
        let mut open = vec![(set, start, 0)];
        let mut steps = 0;
        'next: while let Some((cell, condition, from)) = open.pop() {
            if condition == Condition::FAILS || cell == Set::NEVER {
                continue;
            }
            steps += 1;
            self.check_steps(steps)?;
            self.spend(10 + 4 * asked.len());
            self.check_work(cell)?;
            let left = self.conditions.statements(condition);
            for at in from..asked.len() {
                let set = asked[at].1;
                // Statements about the same set, or its complement, are decided together.
                let not = self.not(set);
                let left = |&&(statement, other): &&(Condition, Set)| {
                    (other == set || other == not) && left.contains(&statement)
                };
                if asked[..at].iter().any(|&(_, other)| other == set || other == not) {
                    continue;
                }
                let alike: Vec<(Condition, Set)> =
                    asked[at..].iter().filter(left).copied().collect();
                if alike.is_empty() {
                    continue;
                }
                let both = alike.iter().any(|&(_, other)| other != alike[0].1);
                let (mut inside, mut outside) = (FxHashMap::default(), FxHashMap::default());
                for (statement, other) in alike {
                    let (yes, no) = match other == set {
                        true => (&mut inside, &mut outside),
                        false => (&mut outside, &mut inside),
                    };
                    let part = self.conditions.part(statement);
                    if !matches!(part, Part::All(_)) {
                        yes.insert(statement, Condition::HOLDS);
                    }
                    if !matches!(part, Part::Some(_)) {
                        no.insert(statement, Condition::FAILS);
                    }
                }
                let yes = self.conditions.replace(condition, &inside);
                let no = self.conditions.replace(condition, &outside);
                if yes == no {
                    open.push((cell, yes, at + 1));
                    continue 'next;
                }
                if self.plainly_within(cell, set) {
                    open.push((cell, yes, at + 1));
                    continue 'next;
                }
                let inside = self.and([cell, set]);
                let apart = both || (self.reach(set) == Reach::Simple);
                let outside = if apart { self.and([cell, not]) } else { cell };
                if !self.is_plainly_empty(outside) {
                    open.push((outside, no, at + 1));
                }
                if !self.is_plainly_empty(inside) {
                    open.push((inside, yes, at + 1));
                }
                continue 'next;
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

    pub(super) fn check_steps(&self, steps: usize) -> Result<()> {
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
    pub(super) fn other_keys(&mut self, object: &ObjectSet) -> Result<Vec<Other>> {
        let classes = object.classes.iter().filter(|class| class.set != Set::NEVER);
        if classes.clone().next().is_none() {
            return Ok(Vec::new());
        }
        let names = self.names(object);
        let mut groups: Vec<Language> = Vec::new();
        for &statement in self.conditions.statements(object.condition).iter() {
            if let Part::Some(class) | Part::All(class) = self.conditions.part(statement)
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
        Ok(others.map(|(keys, set, inside)| Other { keys, set, inside: inside.into() }).collect())
    }

    /// The same objects in fewer sets: those whose conditions let many of them hold at the same
    /// time are followed as one, if their names come in the same order.
    pub(super) fn gather(&mut self, objects: &[ObjectSet]) -> Result<Vec<ObjectSet>> {
        let on_condition = |object: &&ObjectSet| object.condition != Condition::HOLDS;
        if objects.iter().filter(on_condition).count() <= FEW {
            return Ok(objects.to_vec());
        }
        let any_order = self.options.property_order == PropertyOrder::Any;
        let mut groups: Vec<Vec<ObjectSet>> = Vec::new();
        for object in objects {
            let alike = |group: &&mut Vec<ObjectSet>| {
                let keys = |object: &ObjectSet| {
                    object.named.iter().map(|named| named.key.clone()).collect::<Vec<_>>()
                };
                on_condition(&object)
                    && on_condition(&&group[0])
                    && (any_order || keys(&group[0]) == keys(object))
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.push(object.clone()),
                None => groups.push(vec![object.clone()]),
            }
        }
        let mut gathered = Vec::with_capacity(groups.len());
        for mut group in groups {
            match group.len() > FEW {
                true => {
                    let folded = self.fold(&group)?;
                    gathered.extend(self.settle(folded)?);
                }
                false => gathered.append(&mut group),
            }
        }
        Ok(gathered)
    }

    /// What is said of one key, as a condition.
    fn on_key(&mut self, key: &Rc<str>, set: Set, required: bool) -> Condition {
        let set = self.alike(set);
        let present = self.conditions.of(Part::Present(key.clone(), set));
        let absent = self.conditions.of(Part::Absent(key.clone()));
        match (required, set) {
            (true, Set::NEVER) => Condition::FAILS,
            (true, _) => present,
            (false, Set::ANY) => Condition::HOLDS,
            (false, Set::NEVER) => absent,
            (false, _) => self.conditions.or([absent, present]),
        }
    }

    /// The objects that are not in the set, as one object set with a condition.
    pub(super) fn fold_complement(&mut self, object: &ObjectSet) -> Result<Option<ObjectSet>> {
        let mut all = vec![object.condition];
        for named in &object.named {
            all.push(self.on_key(&named.key, named.set, named.required));
        }
        let names = self.names(object);
        for class in object.classes.iter().filter(|class| class.set != Set::ANY) {
            let keys = self.languages.difference(class.keys, names);
            if self.languages.is_live(keys)? {
                let set = self.alike(class.set);
                all.push(self.conditions.of(Part::All(Class { keys, set })));
            }
        }
        if object.min > object.required() as u32 {
            all.push(self.conditions.of(Part::AtLeast(object.min)));
        }
        if let Some(max) = object.max {
            all.push(self.conditions.of(Part::AtMost(max)));
        }
        let all = self.conditions.and(all);
        let named = object.named.iter();
        let named = named.map(|n| Named { set: Set::ANY, required: false, key: n.key.clone() });
        let folded = ObjectSet {
            named: named.collect(),
            condition: self.opposite(all),
            sources: object.sources.clone(),
            ..ObjectSet::any(self.strings.any)
        };
        self.settle(folded)
    }

    /// Any of the object sets, as one with a condition.
    pub(super) fn fold(&mut self, objects: &[ObjectSet]) -> Result<ObjectSet> {
        let mut keys: Vec<Rc<str>> = Vec::new();
        let mut seen = FxHashSet::default();
        for named in objects.iter().flat_map(|object| &object.named) {
            if seen.insert(named.key.clone()) {
                keys.push(named.key.clone());
            }
        }
        let names = keys.iter().map(|key| &**key);
        let names = self.strings.texts(&mut self.languages, names);
        // By key, what each object set says of it.
        let mut said = vec![Vec::with_capacity(objects.len()); keys.len()];
        for object in objects {
            let own: FxHashMap<&str, &Named> =
                object.named.iter().map(|named| (&*named.key, named)).collect();
            for (key, row) in keys.iter().zip(&mut said) {
                row.push(match own.get(&**key) {
                    Some(own) => (own.set, own.required),
                    None => (self.class_of(&object.classes, key)?, false),
                });
            }
        }
        let common = |row: &[(Set, bool)]| row.windows(2).all(|pair| pair[0] == pair[1]);
        let mut folded = ObjectSet::any(self.strings.any);
        for (key, row) in keys.iter().zip(&said) {
            let (set, required) = if common(row) { row[0] } else { (Set::ANY, false) };
            folded.named.push(Named { key: key.clone(), set, required });
        }
        let same_classes = objects.windows(2).all(|pair| pair[0].classes == pair[1].classes);
        let mut alternatives = Vec::with_capacity(objects.len());
        for (i, object) in objects.iter().enumerate() {
            folded.sources = folded.sources.merged(&object.sources);
            let mut all = vec![object.condition];
            for (key, row) in keys.iter().zip(&said) {
                if common(row) {
                    continue;
                }
                let (set, required) = row[i];
                all.push(self.on_key(key, set, required));
            }
            for class in object.classes.iter().filter(|class| class.set != Set::ANY) {
                let keys = self.languages.difference(class.keys, names);
                if !same_classes && self.languages.is_live(keys)? {
                    let set = self.alike(class.set);
                    all.push(self.conditions.of(Part::All(Class { keys, set })));
                }
            }
            if object.min > object.required() as u32 {
                all.push(self.conditions.of(Part::AtLeast(object.min)));
            }
            if let Some(max) = object.max {
                all.push(self.conditions.of(Part::AtMost(max)));
            }
            alternatives.push(self.conditions.and(all));
        }
        if let (true, Some(first)) = (same_classes, objects.first()) {
            folded.classes = first.classes.clone();
        }
        folded.condition = self.conditions.or(alternatives);
        Ok(folded)
    }

    /// Makes of a condition what can be said of single keys, and drops what is granted already.
    /// `None` if it is plain to see that nothing meets it.
    pub(super) fn settle(&mut self, mut object: ObjectSet) -> Result<Option<ObjectSet>> {
        loop {
            match object.condition {
                Condition::HOLDS => return Ok(Some(object)),
                Condition::FAILS => return Ok(None),
                _ => {}
            }
            self.spend(object.named.len());
            self.check_work(Set::ANY)?;
            let statements = self.conditions.statements(object.condition);
            if self.conditions.size(object.condition) > SIZE
                || self.conditions.parts.len() > CONDITIONS
            {
                let message = format!(
                    "what is asked of the members of an object takes more than {SIZE} conditions, \
                     or more than {CONDITIONS} in the whole schema"
                );
                let at = self.open.last().copied().unwrap_or(Set::ANY);
                return Err(self.error(ErrorKind::Limit, at, message));
            }
            let keys = object.named.iter().enumerate();
            let keys: FxHashMap<Rc<str>, usize> =
                keys.map(|(i, named)| (named.key.clone(), i)).collect();
            let mut by = FxHashMap::default();
            for &statement in statements.iter() {
                if let Some(new) = self.granted(&object, &keys, statement)? {
                    by.insert(statement, new);
                }
            }
            let condition = self.conditions.replace(object.condition, &by);
            let mut left = Vec::new();
            for part in self.conditions.conjuncts(condition) {
                match self.conditions.part(part).clone() {
                    Part::Present(key, set) => {
                        if let Some(&at) = keys.get(&key) {
                            let named = &mut object.named[at];
                            (named.set, named.required) = (self.and([named.set, set]), true);
                        }
                    }
                    Part::Absent(key) => {
                        if let Some(&at) = keys.get(&key) {
                            object.named[at].set = Set::NEVER;
                        }
                    }
                    Part::All(class) => self.restrict(&mut object, class)?,
                    Part::AtLeast(min) => object.min = object.min.max(min),
                    Part::AtMost(max) => {
                        object.max = Some(object.max.map_or(max, |known| known.min(max)));
                    }
                    _ => left.push(part),
                }
            }
            let left = self.conditions.and(left);
            let settled = left == object.condition;
            object.condition = left;
            for named in &object.named {
                if named.required && self.is_plainly_empty(named.set) {
                    return Ok(None);
                }
            }
            if settled {
                return Ok(Some(object));
            }
        }
    }

    /// Restricts the values of some keys.
    fn restrict(&mut self, object: &mut ObjectSet, class: Class) -> Result<()> {
        for named in &mut object.named {
            let spelled = self.strings.spell(&named.key);
            if self.languages.matches(class.keys, &spelled)? {
                named.set = self.and([named.set, class.set]);
            }
        }
        let mut classes = Vec::new();
        for old in &object.classes {
            let inside = self.languages.intersect([old.keys, class.keys]);
            let outside = self.languages.difference(old.keys, class.keys);
            if self.languages.is_live(inside)? {
                classes.push(Class { keys: inside, set: self.and([old.set, class.set]) });
            }
            if self.languages.is_live(outside)? {
                classes.push(Class { keys: outside, set: old.set });
            }
        }
        object.classes = classes;
        Ok(())
    }

    /// What a statement comes to, given what an object set says of single keys.
    fn granted(
        &mut self,
        object: &ObjectSet,
        keys: &FxHashMap<Rc<str>, usize>,
        statement: Condition,
    ) -> Result<Option<Condition>> {
        let (holds, fails) = (Some(Condition::HOLDS), Some(Condition::FAILS));
        let named = |key: &Rc<str>| {
            keys.get(key).map(|&at| (object.named[at].set, object.named[at].required))
        };
        Ok(match self.conditions.part(statement).clone() {
            Part::Present(key, set) => {
                let Some((known, required)) = named(&key) else { return Ok(None) };
                let both = self.and([known, set]);
                if set == Set::NEVER || self.is_plainly_empty(both) {
                    fails
                } else if self.plainly_within(known, set) {
                    match (required, set) {
                        (true, _) => holds,
                        (false, Set::ANY) => None,
                        (false, _) => Some(self.conditions.of(Part::Present(key, Set::ANY))),
                    }
                } else {
                    None
                }
            }
            Part::Absent(key) => match named(&key) {
                Some((_, true)) => fails,
                Some((Set::NEVER, false)) => holds,
                _ => None,
            },
            Part::All(class) => match class.set == Set::ANY || self.grants_all(object, class)? {
                true => holds,
                false => None,
            },
            Part::Some(Class { set: Set::NEVER, .. }) => fails,
            Part::Some(_) => None,
            Part::AtLeast(n) if n <= object.min.max(object.required() as u32) => holds,
            Part::AtLeast(n) if object.max.is_some_and(|max| max < n) => fails,
            Part::AtMost(n) if n < object.min.max(object.required() as u32) => fails,
            Part::AtMost(n) if object.max.is_some_and(|max| max <= n) => holds,
            _ => None,
        })
    }

    /// Are the values of these keys in this set anyway?
    fn grants_all(&mut self, object: &ObjectSet, class: Class) -> Result<bool> {
        for named in &object.named {
            let spelled = self.strings.spell(&named.key);
            if self.languages.matches(class.keys, &spelled)?
                && !self.plainly_within(named.set, class.set)
            {
                return Ok(false);
            }
        }
        for own in &object.classes {
            let both = self.languages.intersect([own.keys, class.keys]);
            if !self.plainly_within(own.set, class.set) && self.languages.is_live(both)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// A member that a condition speaks of.
#[derive(Clone, Debug)]
struct Relevant {
    key: Rc<str>,
    spelled: Vec<u8>,
    set: Set,
    required: bool,
}

/// Has a set a value?
pub(super) type HasValue<'f, 'd> = dyn FnMut(&mut Sets<'d>, Set) -> Result<bool> + 'f;

/// The search for members that meet a condition.
#[derive(Clone, Debug)]
pub(super) struct Search {
    members: Vec<Relevant>,
    others: Rc<[Other]>,
    max: Option<u32>,
    /// Do counts matter? If not, all are 0.
    counts: bool,
    /// Members that are worth being written for their number alone.
    cap: u32,
}

/// The members before `at` are decided, the condition is what is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Place {
    at: u32,
    condition: Condition,
    count: u32,
}

impl<'d> Sets<'d> {
    /// A search among members that may still come, from a condition and a number of members.
    pub(super) fn search<'a>(
        &mut self,
        condition: Condition,
        count: u32,
        max: Option<u32>,
        members: impl Iterator<Item = (&'a Rc<str>, Set, bool)>,
        others: Rc<[Other]>,
    ) -> Result<(Search, Place)> {
        let statements = self.conditions.statements(condition);
        let part = |this: &Self, statement| this.conditions.part(statement).clone();
        let least = statements.iter().any(|&s| matches!(part(self, s), Part::AtLeast(_)));
        let counts = max.is_some() || self.conditions.count_cap(condition) > 0;
        // By key, how many statements are about it, and how many of these are simple; others are
        // about any key of some.
        let mut about: FxHashMap<Rc<str>, (usize, usize)> = FxHashMap::default();
        let mut classes = Vec::new();
        for &statement in statements.iter() {
            let (key, simple) = match part(self, statement) {
                Part::Absent(key) => (key, false),
                Part::Present(key, set) => (key, self.reach(set) == Reach::Simple),
                Part::Some(_) | Part::All(_) => {
                    classes.push(statement);
                    continue;
                }
                _ => continue,
            };
            let counts = about.entry(key).or_default();
            *counts = (counts.0 + usize::from(simple), counts.1 + 1);
        }
        let (mut relevant, mut passed) = (Vec::new(), 0);
        for (key, set, required) in members {
            let spelled = self.strings.spell(key);
            let (mut simple, mut asked) = about.get(key).copied().unwrap_or_default();
            asked += usize::from(least);
            for &statement in &classes {
                if let Some(set) = self.asks(statement, Key::Named(key, &spelled))? {
                    asked += 1;
                    simple += usize::from(self.reach(set) == Reach::Simple);
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
        let start = Place { at: 0, condition, count };
        let cap = if least { self.conditions.count_cap(condition) } else { 0 };
        Ok((Search { members: relevant, others, max, counts, cap }, start))
    }

    /// Are there members that meet the condition, of sets of which it is asked whether they have a
    /// value? The first that are found will do; `None` if they are not found soon.
    pub(super) fn finds(
        &mut self,
        search: &Search,
        start: Place,
        has_value: &mut HasValue<'_, 'd>,
    ) -> Result<Option<bool>> {
        let (mut seen, mut open) = (FxHashSet::from_iter([start]), vec![start]);
        let mut work = 0;
        while let Some(place) = open.pop() {
            self.spend(10);
            self.check_work(Set::ANY)?;
            if self.is_met(search, place) {
                return Ok(Some(true));
            }
            for (set, to) in self.next_steps(search, place)? {
                if !seen.contains(&to) && set.map_or(Ok(true), |set| has_value(self, set))? {
                    seen.insert(to);
                    open.push(to);
                }
            }
            work += 1 + self.conditions.size(place.condition);
            if work > SOON {
                return Ok(None);
            }
        }
        Ok(Some(false))
    }

    /// The same for all members of an object set, however long it takes: alternatives are tried
    /// one by one, and each makes others superfluous or impossible (Davis, Logemann, Loveland).
    pub(super) fn finds_any(
        &mut self,
        object: ObjectSet,
        has_value: &mut HasValue<'_, 'd>,
        steps: &mut usize,
    ) -> Result<bool> {
        *steps += 1 + self.conditions.size(object.condition) / 256;
        self.check_steps(*steps)?;
        let Some(object) = self.settle(object)? else { return Ok(false) };
        let conjuncts = self.conditions.conjuncts(object.condition);
        let width = |&&part: &&Condition| match self.conditions.part(part) {
            Part::Or(parts) => parts.len(),
            _ => usize::MAX,
        };
        let narrowest = conjuncts.iter().min_by_key(width).copied();
        let choice = narrowest.map(|part| (part, self.conditions.part(part).clone()));
        if let Some((choice, Part::Or(parts))) = choice {
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
        let others = self.other_keys(&object)?.into();
        let members = object.named.iter().map(|n| (&n.key, n.set, n.required));
        let (search, start) = self.search(object.condition, 0, object.max, members, others)?;
        match self.finds(&search, start, has_value)? {
            Some(found) => Ok(found),
            None => self.check_steps(usize::MAX).map(|()| false),
        }
    }

    /// Is nothing more needed from here?
    pub(super) fn is_met(&self, search: &Search, place: Place) -> bool {
        let left = &search.members[place.at as usize..];
        place.condition == Condition::HOLDS && search.max.is_none()
            || left.iter().all(|member| !member.required)
                && self.conditions.at_end(place.condition)
                && search.max.is_none_or(|max| place.count <= max)
    }

    /// The next steps: a set of which a value is needed, if one is, and where that leads.
    pub(super) fn next_steps(
        &mut self,
        search: &Search,
        place: Place,
    ) -> Result<Vec<(Option<Set>, Place)>> {
        let mut steps = Vec::new();
        let count = place.count + u32::from(search.counts);
        let full = search.max.is_some_and(|max| count > max);
        let Some(member) = search.members.get(place.at as usize) else {
            for other in search.others.iter().filter(|_| !full) {
                let ways = self.ways(place.condition, Key::Other(&other.inside), other.set)?;
                for (set, condition) in ways {
                    let condition = self.conditions.counted(condition, count);
                    // What changes nothing is not worth a member.
                    let changes = condition != place.condition || count <= search.cap;
                    if changes && condition != Condition::FAILS {
                        steps.push((Some(set), Place { condition, count, ..place }));
                    }
                }
            }
            return Ok(steps);
        };
        let at = place.at + 1;
        if !member.required {
            let condition = self.conditions.without(place.condition, &member.key);
            if condition != Condition::FAILS {
                steps.push((None, Place { at, condition, ..place }));
            }
        }
        if !full {
            let key = Key::Named(&member.key, &member.spelled);
            for (set, condition) in self.ways(place.condition, key, member.set)? {
                let mut condition = condition;
                if search.counts {
                    condition = self.conditions.counted(condition, count);
                }
                if condition != Condition::FAILS {
                    steps.push((Some(set), Place { at, condition, count }));
                }
            }
        }
        Ok(steps)
    }
}
