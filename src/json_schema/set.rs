//! Sets of JSON values: hash-consed names, and the shape that a name unfolds to.
//!
//! A [`Set`] is a name: a schema of the document, a listed value, or and, or, not of names. Names
//! are compared, never bodies, so a recursive schema is a finite graph, and the intersection of
//! two recursive schemas is the name of their product. A name unfolds, once and on demand, to its
//! [`Shape`]: what it holds of each JSON type, where the children of arrays and objects are names
//! again. Nothing is unfolded before it is needed.

pub(crate) mod array_set;
pub(crate) mod base;
pub(crate) mod member_formula;
pub(crate) mod object_set;
pub(crate) mod shape;

use std::collections::hash_map::Entry;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::document::{Document, Value, ValueId};
use super::layout::Layout;
use super::number::{NumberSet, Numbers};
use super::options::{DIGITS, Options, Spelling};
use super::punctuation::Punctuation;
use super::string::Strings;
use super::written::{Text, WrittenItems};
use crate::deadline;
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::references::{References, Scope};
use crate::json_schema::satisfiability::reference_free::Reach;
use crate::json_schema::set::array_set::ArraySet;
use crate::json_schema::set::member_formula::{Cells, MemberFormulas, Cuts};
use crate::json_schema::set::object_set::{KeyClass, NamedKey, ObjectSet};
use crate::regular::{Anchoring, Language, Languages};
pub(crate) use base::Base;
pub(crate) use base::Shared;
pub(crate) use shape::{HALVED, Shape, Sources};

/// How many sets may unfold into each other without a value between them.
const NESTING: usize = 128;

/// Steps that a new name counts for.
const STEPS_A_NAME: usize = 10;

/// Steps that a part of a row of a regular language's successors counts for.
const ROW: usize = 25;

/// The name of a set of JSON values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Set(u32);

impl Set {
    /// Every value.
    pub(crate) const ANY: Self = Self(0);
    /// No value.
    pub(crate) const NEVER: Self = Self(1);
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum SetExpr {
    Any,
    Never,
    /// A schema of the document, in the dynamic scope in which it is read.
    Schema(ValueId, Scope),
    /// A schema's keywords without those that apply other schemas to the same value.
    Own(ValueId, Scope),
    /// Exactly this value of the document.
    Value(ValueId),
    /// The value that a canonical text stands for.
    Text(Arc<str>),
    /// Objects with this key.
    Has(Arc<str>),
    /// Whatever is no object, and objects whose members with these keys are in a set; the keyword
    /// that says so.
    Members(Language, Set, ValueId),
    /// Whatever is no array, and arrays whose items from an index on are in a set; the keyword
    /// that says so.
    Items(u32, Set, ValueId),
    /// Sorted, without duplicates, at least two.
    And(Box<[Set]>),
    /// Sorted, without duplicates, at least two.
    Or(Box<[Set]>),
    Not(Set),
}

/// The arena of sets over one document, and everything that unfolding them needs.
pub(crate) struct Sets<'d> {
    pub(crate) document: &'d Document,
    pub(crate) options: &'d Options,
    pub(crate) references: References,
    pub(crate) languages: Languages,
    pub(crate) numbers: Numbers,
    pub(crate) strings: Strings,
    /// The punctuation of some layouts, made in advance; gaps are flexible.
    pub(crate) punctuation: Arc<FxHashMap<Layout, Punctuation>>,
    /// A gap of flexible whitespace.
    pub(crate) flexible_gap: Language,
    /// Keywords that do not count: those that a diagnosis leaves out.
    pub(crate) ignored: Arc<FxHashSet<ValueId>>,
    pub(crate) conditions: MemberFormulas,
    /// For sets that were asked for them, the first that says the same.
    pub(crate) likes: FxHashMap<Set, Set>,
    /// How much schemas lead to, where that was asked.
    pub(crate) reaches: FxHashMap<ValueId, Reach>,
    /// The same of sets that are made of others.
    pub(crate) reaches_of_sets: FxHashMap<Set, Reach>,
    /// The first set of each schema that was written down.
    pub(crate) texts: FxHashMap<String, Set>,
    /// The languages of lists of names.
    listed_names: FxHashMap<Box<[Arc<str>]>, Language>,
    /// Patterns read so far.
    pub(crate) patterns: FxHashMap<(Anchoring, String), Language>,
    /// The texts of formats met so far.
    pub(crate) formats: FxHashMap<Box<str>, Language>,
    exprs: Vec<SetExpr>,
    ids: FxHashMap<SetExpr, Set>,
    shapes: Vec<Option<Arc<Shape>>>,
    /// The dynamic scope of the schema that is being read.
    scope: Scope,
    /// Sets whose shape is being computed.
    pub(crate) open: Vec<Set>,
    /// How often one of them was needed while it was open.
    cycles: usize,
    /// Intersections known to be plainly empty or not.
    pub(crate) plainly_empty: FxHashMap<Set, bool>,
    /// Intersections known to be evidently empty or not.
    pub(crate) evidently_empty: FxHashMap<Set, bool>,
    /// Is every value of the first plainly one of the second?
    pub(crate) plainly_within: FxHashMap<(Set, Set), bool>,
    /// The parts into which what is asked of a member cuts its values.
    pub(crate) cells: FxHashMap<Cuts, Option<Cells>>,
    /// Sets known to be empty or not.
    pub(crate) emptiness: FxHashMap<Set, bool>,
    /// What sets of numbers are written as, once made.
    spelled: FxHashMap<NumberSet, Language>,
    /// The values of sets that were asked for them, if they are fewer than so many.
    pub(crate) few: FxHashMap<Set, FewValues>,
    pub(crate) written: WrittenItems,
    /// Steps since the present task began.
    work: usize,
    /// Where it took too many.
    broken: Option<Set>,
    /// How often it could not be found out in the present task whether a set is surely empty.
    pub(crate) undecided: usize,
    task: usize,
}

/// A number, and the values of a set as canonical texts if they are fewer.
type FewValues = (usize, Option<Arc<[Text]>>);

impl<'d> Sets<'d> {
    pub(crate) fn new(document: &'d Document, options: &'d Options) -> Self {
        Self::from_base(document, options, Base::new(options.spelling))
    }

    /// The same from what all schemas of a spelling begin with.
    pub(crate) fn from_base(document: &'d Document, options: &'d Options, base: Base) -> Self {
        let Base { languages, numbers, strings, mut spelled, punctuation, flexible_gap } = base;
        if options.digits != DIGITS {
            spelled.clear();
        }
        let mut this = Self {
            document,
            options,
            references: References::new(options.draft),
            languages,
            numbers,
            strings,
            punctuation,
            flexible_gap,
            ignored: Arc::default(),
            conditions: MemberFormulas::default(),
            likes: FxHashMap::default(),
            reaches: FxHashMap::default(),
            reaches_of_sets: FxHashMap::default(),
            texts: FxHashMap::default(),
            plainly_empty: FxHashMap::default(),
            evidently_empty: FxHashMap::default(),
            plainly_within: FxHashMap::default(),
            cells: FxHashMap::default(),
            listed_names: FxHashMap::default(),
            patterns: FxHashMap::default(),
            formats: FxHashMap::default(),
            exprs: Vec::new(),
            ids: FxHashMap::default(),
            shapes: Vec::new(),
            scope: Scope::EMPTY,
            open: Vec::new(),
            cycles: 0,
            emptiness: FxHashMap::default(),
            spelled,
            few: FxHashMap::default(),
            written: WrittenItems::default(),
            work: 0,
            broken: None,
            undecided: 0,
            task: 0,
        };
        this.languages.set_work(options.work / ROW);
        let constants = (this.intern(SetExpr::Any), this.intern(SetExpr::Never));
        debug_assert_eq!(constants, (Set::ANY, Set::NEVER));
        this
    }

    /// What the numbers of a set are written as.
    pub(crate) fn number_text(&mut self, set: NumberSet) -> Result<Language> {
        if set == NumberSet::NONE {
            return Ok(Language::EMPTY);
        }
        if let Some(&known) = self.spelled.get(&set) {
            return Ok(known);
        }
        let text = self.numbers.written_as(&mut self.languages, set, self.options.digits)?;
        self.spelled.insert(set, text);
        Ok(text)
    }

    /// The dynamic scope of the schema that is being read.
    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    /// Does something in another dynamic scope.
    pub(crate) fn in_scope<T>(&mut self, scope: Scope, f: impl FnOnce(&mut Self) -> T) -> T {
        let outside = std::mem::replace(&mut self.scope, scope);
        let result = f(self);
        self.scope = outside;
        result
    }

    /// What was worked before the present task does not count; tasks are begun where languages are
    /// stepped.
    pub(crate) fn go_on(&mut self) {
        if self.task != self.languages.tasks() {
            self.task = self.languages.tasks();
            self.work = 0;
            self.conditions.work = 0;
            (self.broken, self.undecided) = (None, 0);
        }
    }

    /// Counts steps of the present task; they are looked at where there may be an error.
    pub(crate) fn spend(&mut self, steps: usize) {
        self.work += steps;
    }

    /// Steps of the present task so far.
    pub(crate) fn worked(&self) -> usize {
        self.work + self.conditions.work + self.languages.work() * ROW
    }

    /// Errors if the present task has taken too many steps, at the place of the set that is being
    /// unfolded, or at one that is given.
    pub(crate) fn check_work(&mut self, set: Set) -> Result<()> {
        let most = self.options.work;
        if self.work + self.conditions.work <= most && self.languages.work() * ROW <= most {
            return Ok(());
        }
        let message = format!(
            "what the schema's keywords mean together takes more than {} steps to find out (the \
             limit `work`)",
            self.options.work
        );
        // Whoever asks whether something is plain takes an error for a no.
        let at = *self.broken.get_or_insert(self.open.last().copied().unwrap_or(set));
        let help = "let fewer alternatives hold at the same time, or raise the limit";
        Err(self.error(ErrorKind::Limit, at, message).with_help(help))
    }

    /// A limit that was reached without a place was reached in a set.
    pub(crate) fn placed(&self, error: Error, set: Set) -> Error {
        self.document.placed(error, self.place(set))
    }

    fn intern(&mut self, expr: SetExpr) -> Set {
        match self.ids.entry(expr) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(place) => {
                let set = Set(self.exprs.len() as u32);
                self.work += STEPS_A_NAME;
                self.exprs.push(place.key().clone());
                self.shapes.push(None);
                place.insert(set);
                set
            }
        }
    }

    /// The keys that an object names.
    pub(crate) fn names(&mut self, object: &ObjectSet) -> Language {
        let names: Box<[Arc<str>]> = object.named.iter().map(|named| named.key.clone()).collect();
        let Self { languages, strings, listed_names, .. } = self;
        *listed_names
            .entry(names)
            .or_insert_with_key(|names| strings.names(languages, names.iter().map(|name| &**name)))
    }

    pub(crate) fn expr(&self, set: Set) -> &SetExpr {
        &self.exprs[set.0 as usize]
    }

    /// What a schema's own keywords accept, in the scope of the schema that is being read.
    pub(crate) fn own(&mut self, schema: ValueId) -> Set {
        let scope = self.scope;
        self.intern(SetExpr::Own(schema, scope))
    }

    /// Objects with a key.
    pub(crate) fn has(&mut self, key: &str) -> Set {
        self.intern(SetExpr::Has(key.into()))
    }

    /// Whatever is no object, and objects whose members with these keys are in a set.
    pub(crate) fn members(&mut self, keys: Language, set: Set, at: ValueId) -> Set {
        let all = set == Set::ANY || keys == Language::EMPTY;
        if all { Set::ANY } else { self.intern(SetExpr::Members(keys, set, at)) }
    }

    /// Whatever is no array, and arrays whose items from an index on are in a set.
    pub(crate) fn items(&mut self, from: u32, set: Set, at: ValueId) -> Set {
        if set == Set::ANY { Set::ANY } else { self.intern(SetExpr::Items(from, set, at)) }
    }

    /// The values that a schema of the document accepts, if it is reached from the schema that is
    /// being read.
    pub(crate) fn schema(&mut self, schema: ValueId) -> Result<Set> {
        match self.document.value(schema) {
            Value::Bool(true) => Ok(Set::ANY),
            Value::Bool(false) => Ok(Set::NEVER),
            Value::Object(members) if members.len() == 0 => Ok(Set::ANY),
            Value::Object(_) => {
                let scope = self.references.enter(self.document, self.scope, schema);
                Ok(self.intern(SetExpr::Schema(schema, scope)))
            }
            _ => self.check_schema(schema).map(|()| Set::NEVER),
        }
    }

    /// Errors if it is no schema at all.
    pub(crate) fn check_schema(&self, at: ValueId) -> Result<()> {
        match self.document.value(at) {
            Value::Bool(_) | Value::Object(_) => Ok(()),
            _ => Err(self.malformed(at, "a schema must be an object or a boolean")),
        }
    }

    /// Exactly one value of the document.
    pub(crate) fn listed(&mut self, value: ValueId) -> Set {
        self.intern(SetExpr::Value(value))
    }

    /// The value that a canonical text stands for.
    pub(crate) fn text(&mut self, text: &str) -> Set {
        self.intern(SetExpr::Text(text.into()))
    }

    /// Values in all of them.
    pub(crate) fn and(&mut self, parts: impl IntoIterator<Item = Set>) -> Set {
        let mut flat = Vec::new();
        for part in parts {
            match self.expr(part) {
                SetExpr::And(parts) => flat.extend_from_slice(parts),
                SetExpr::Any => {}
                SetExpr::Never => return Set::NEVER,
                _ => flat.push(part),
            }
        }
        self.work += flat.len();
        flat.sort_unstable();
        flat.dedup();
        if self.has_opposites(&flat) {
            return Set::NEVER;
        }
        match flat[..] {
            [] => Set::ANY,
            [one] => one,
            _ => self.intern(SetExpr::And(flat.into())),
        }
    }

    /// Is one of these (sorted) sets the complement of another?
    fn has_opposites(&self, sets: &[Set]) -> bool {
        sets.iter().any(|&set| match self.expr(set) {
            SetExpr::Not(inner) => sets.binary_search(inner).is_ok(),
            _ => false,
        })
    }

    /// Values in any of them.
    pub(crate) fn or(&mut self, parts: impl IntoIterator<Item = Set>) -> Set {
        let mut flat = Vec::new();
        for part in parts {
            match self.expr(part) {
                SetExpr::Or(parts) => flat.extend_from_slice(parts),
                SetExpr::Never => {}
                SetExpr::Any => return Set::ANY,
                _ => flat.push(part),
            }
        }
        self.work += flat.len();
        flat.sort_unstable();
        flat.dedup();
        if self.has_opposites(&flat) {
            return Set::ANY;
        }
        match flat[..] {
            [] => Set::NEVER,
            [one] => one,
            _ => self.intern(SetExpr::Or(flat.into())),
        }
    }

    /// Values not in it.
    pub(crate) fn not(&mut self, set: Set) -> Set {
        match *self.expr(set) {
            SetExpr::Any => Set::NEVER,
            SetExpr::Never => Set::ANY,
            SetExpr::Not(inner) => inner,
            _ => self.intern(SetExpr::Not(set)),
        }
    }

    /// Do the names alone tell that every value of `a` is one of `b`?
    pub(crate) fn is_plainly_within(&self, a: Set, b: Set) -> bool {
        if a == b || a == Set::NEVER || b == Set::ANY {
            return true;
        }
        let one = [b];
        let needed = match self.expr(b) {
            SetExpr::And(parts) => parts,
            SetExpr::Or(parts) if parts.binary_search(&a).is_ok() => return true,
            _ => &one[..],
        };
        match self.expr(a) {
            SetExpr::And(parts) => needed.iter().all(|part| parts.binary_search(part).is_ok()),
            _ => false,
        }
    }

    /// Where a set comes from, if it is a part of the document.
    pub(crate) fn place(&self, set: Set) -> Option<ValueId> {
        match self.expr(set) {
            SetExpr::Schema(at, _)
            | SetExpr::Own(at, _)
            | SetExpr::Value(at)
            | SetExpr::Members(.., at)
            | SetExpr::Items(.., at) => Some(*at),
            SetExpr::And(parts) | SetExpr::Or(parts) => parts.iter().find_map(|&part| self.place(part)),
            SetExpr::Not(inner) => self.place(*inner),
            SetExpr::Any | SetExpr::Never | SetExpr::Has(_) | SetExpr::Text(_) => None,
        }
    }

    /// What a set unfolds to.
    pub(crate) fn shape(&mut self, set: Set) -> Result<Arc<Shape>> {
        if let Some(shape) = &self.shapes[set.0 as usize] {
            return Ok(shape.clone());
        }
        if let Some(start) = self.open.iter().position(|&open| open == set) {
            self.cycles += 1;
            return Err(self.cycle(start));
        }
        if self.open.len() >= NESTING {
            let message = format!("more than {NESTING} schemas apply to one value by reference");
            let help = "let references lead there in fewer steps";
            return Err(self.error(ErrorKind::Limit, set, message).with_help(help));
        }
        self.check_work(set)?;
        self.spend(5 * STEPS_A_NAME);
        let open = self.open.len();
        self.open.push(set);
        let shape = self.unfold(set);
        // An error may have left others behind.
        self.open.truncate(open);
        let shape = Arc::new(shape.map_err(|error| self.placed(error, set))?);
        // Some of it may rest on what could not be found out in time.
        deadline::check()?;
        self.check_work(set)?;
        self.shapes[set.0 as usize] = Some(shape.clone());
        Ok(shape)
    }

    /// Unfolds a set, once.
    fn unfold(&mut self, set: Set) -> Result<Shape> {
        Ok(match self.expr(set).clone() {
            SetExpr::Any => self.any(),
            SetExpr::Never => Shape::never(),
            SetExpr::Schema(schema, scope) => {
                self.in_scope(scope, |this| this.schema_shape(schema))?
            }
            SetExpr::Own(schema, scope) => {
                self.in_scope(scope, |this| this.own_keywords_shape(schema))?
            }
            SetExpr::Text(text) => self.text_shape(&text)?,
            SetExpr::Has(key) => {
                let object = ObjectSet {
                    named: vec![NamedKey { key, set: Set::ANY, required: true }],
                    ..ObjectSet::any(self.strings.any)
                };
                Shape { objects: vec![object], ..Shape::never() }
            }
            SetExpr::Members(keys, set, at) => {
                let others = self.languages.difference(self.strings.any, keys);
                let classes = vec![KeyClass { keys, set }, KeyClass { keys: others, set: Set::ANY }];
                let sources = Sources(smallvec::smallvec![at]);
                let object = ObjectSet { classes, sources, ..ObjectSet::any(self.strings.any) };
                Shape { objects: vec![object], ..self.any() }
            }
            SetExpr::Items(from, set, at) => {
                let prefix = vec![Set::ANY; from as usize];
                let sources = Sources(smallvec::smallvec![at]);
                let array = ArraySet { prefix, rest: set, sources, ..ArraySet::any() };
                Shape { arrays: vec![array], ..self.any() }
            }
            SetExpr::Value(value) => self.value_shape(value)?,
            SetExpr::And(parts) => match self.known_but_one(&parts, SetExpr::And) {
                Some((others, last)) => {
                    let last = self.shape(last)?;
                    self.intersection(&others, &last)?
                }
                None => self.all_of(&parts)?,
            },
            SetExpr::Or(parts) => match self.known_but_one(&parts, SetExpr::Or) {
                Some((others, last)) => {
                    let last = self.shape(last)?;
                    self.union(&others, &last)?
                }
                None => self.any_of(&parts)?,
            },
            SetExpr::Not(inner) => {
                let shape = self.shape(inner)?;
                self.complement(&shape)?
            }
        })
    }

    /// What all parts but the last come to, if that has been unfolded: sets grow part by part.
    fn known_but_one(
        &self,
        parts: &[Set],
        made_of: fn(Box<[Set]>) -> SetExpr,
    ) -> Option<(Arc<Shape>, Set)> {
        let (&last, others) = parts.split_last()?;
        if others.len() < 2 || parts.len() > HALVED {
            return None;
        }
        let others = self.ids.get(&made_of(others.into()))?;
        Some((self.shapes[others.0 as usize].clone()?, last))
    }

    pub(crate) fn cycle(&self, start: usize) -> Error {
        let places = self.open[start..].iter().filter_map(|&set| match self.expr(set) {
            SetExpr::Schema(at, _) => Some(*at),
            _ => None,
        });
        let mut path: Vec<String> =
            places.clone().map(|at| self.document.reference_to(at)).collect();
        path.extend(path.first().cloned());
        let message = format!("the schema is defined as itself: {}", path.join(" → "));
        let error = match places.clone().next() {
            Some(at) => self.document.error(ErrorKind::Schema, at, message),
            None => Error::new(ErrorKind::Schema, message),
        };
        error.with_help("recursion must pass through a property or an item")
    }

    /// An error at the place that a set comes from.
    pub(crate) fn error(&self, kind: ErrorKind, set: Set, message: impl Into<String>) -> Error {
        match self.place(set) {
            Some(at) => self.document.error(kind, at, message),
            None => Error::new(kind, message),
        }
    }
}
