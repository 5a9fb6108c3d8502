//! The query context: the arena of sets over one document, and all that unfolding them needs.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::arena::{Set, SetArena, SetExpr};
use super::base::BaseLanguages;
use super::budget::{STEPS_PER_NAME, STEPS_PER_WORK_UNIT, StepBudget};
use super::member_formula::MemberFormulas;
use super::memo::SetMemo;
use super::object_set::ObjectSet;
use super::shape::Shape;
use crate::error::LimitName;
use crate::error::{Error, ErrorKind, Result};
use crate::json_schema::document::references::{DynamicScope, References};
use crate::json_schema::document::{Document, Value, ValueId, hints};
use crate::json_schema::layout::Layout;
use crate::json_schema::number::{NumberSet, Numbers};
use crate::json_schema::options::{DIGITS, OBJECTS_URI, Options};
use crate::json_schema::punctuation::Punctuation;
use crate::json_schema::set::written_items::WrittenItems;
use crate::json_schema::string::StringSets;
use crate::regular::{Language, Languages};

/// The sets over one document, with everything that answers questions about them.
///
/// It is what `TyCtxt` is to rustc: one value that every query takes. The questions that other
/// queries, the emitter and `lint` ask are methods, each defined in the file of its algorithm
/// (`shape` in `unfold`, `is_empty` in `satisfiability::emptiness`, …), since unfolding and
/// emptiness call each other; everything else is a function of its own file that takes the context.
/// Each field is one concern with its own methods, which is why there are more than a dozen.
///
/// More than 12 fields, since the tables grow together. More than 40 methods: queries that call
/// each other, as unfolding and emptiness do.
pub(crate) struct Sets<'d> {
    pub(crate) document: &'d Document,
    pub(crate) options: &'d Options,
    pub(crate) references: References,
    pub(crate) languages: Languages,
    pub(crate) numbers: Numbers,
    pub(crate) strings: StringSets,
    /// The punctuation of some layouts, made in advance; gaps are flexible.
    pub(crate) punctuation: Arc<FxHashMap<Layout, Punctuation>>,
    /// A gap of flexible whitespace.
    pub(crate) flexible_gap: Language,
    /// Keywords that are left out, while a contradiction is diagnosed.
    pub(crate) ignored: Arc<FxHashSet<ValueId>>,
    pub(crate) formulas: MemberFormulas,
    pub(crate) written: WrittenItems,
    pub(crate) memo: SetMemo,
    pub(crate) unfolding: Unfolding,
    pub(crate) budget: StepBudget,
    arena: SetArena,
}

/// The shapes computed so far, and the ones being computed.
#[derive(Debug, Default)]
pub(crate) struct Unfolding {
    /// By set.
    shapes: Vec<Option<Arc<Shape>>>,
    /// The sets whose shape is being computed, outermost first.
    pub(crate) open: Vec<Set>,
    /// Times that the shape of an open set was needed.
    pub(crate) cycles: usize,
    /// The dynamic scope of the schema that is being read.
    scope: DynamicScope,
}

impl Unfolding {
    /// The shape of a set, if it was computed.
    pub(crate) fn shape(&self, set: Set) -> Option<&Arc<Shape>> {
        self.shapes.get(set.index())?.as_ref()
    }

    pub(crate) fn store(&mut self, set: Set, shape: Arc<Shape>, sets: usize) {
        if self.shapes.len() <= set.index() {
            self.shapes.resize(sets, None);
        }
        self.shapes[set.index()] = Some(shape);
    }
}

impl<'d> Sets<'d> {
    pub(crate) fn new(document: &'d Document, options: &'d Options) -> Self {
        Self::from_base(document, options, BaseLanguages::new(options.spelling))
    }

    /// Sets that begin with the languages of all schemas of a spelling.
    pub(crate) fn from_base(
        document: &'d Document,
        options: &'d Options,
        base: BaseLanguages,
    ) -> Self {
        let BaseLanguages { languages, mut numbers, strings, punctuation, flexible_gap } = base;
        if options.digits != DIGITS {
            numbers.forget_literals();
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
            formulas: MemberFormulas::default(),
            written: WrittenItems::default(),
            memo: SetMemo::default(),
            unfolding: Unfolding::default(),
            budget: StepBudget::default(),
            arena: SetArena::new(),
        };
        this.languages.budget.set_max_work(options.work / STEPS_PER_WORK_UNIT);
        this
    }

    /// The language of the literals of a set of numbers.
    pub(crate) fn number_text(&mut self, set: NumberSet) -> Result<Language> {
        self.numbers.literal_language(&mut self.languages, set, self.options.digits)
    }

    /// The language of the keys that an object names.
    pub(crate) fn names(&mut self, object: &ObjectSet) -> Language {
        let keys: Box<[Arc<str>]> = object.named.iter().map(|named| named.key.clone()).collect();
        self.strings.key_list(&mut self.languages, keys)
    }

    /// The dynamic scope of the schema that is being read.
    pub(crate) fn scope(&self) -> DynamicScope {
        self.unfolding.scope
    }

    /// Runs `f` in another dynamic scope.
    pub(crate) fn in_scope<T>(&mut self, scope: DynamicScope, f: impl FnOnce(&mut Self) -> T) -> T {
        let outside = std::mem::replace(&mut self.unfolding.scope, scope);
        let result = f(self);
        self.unfolding.scope = outside;
        result
    }

    /// Begins a new budget if the languages have begun a new task.
    pub(crate) fn begin_task_budget(&mut self) {
        if self.budget.begin_task(self.languages.budget.tasks()) {
            self.formulas.work = 0;
        }
    }

    /// Adds steps to those of the present task; [`check_work`](Self::check_work) compares them.
    pub(crate) fn add_steps(&mut self, steps: usize) {
        self.budget.steps += steps;
    }

    /// Steps of the present task so far.
    pub(crate) fn worked(&self) -> usize {
        self.budget.steps + self.formulas.work + self.languages.budget.work() * STEPS_PER_WORK_UNIT
    }

    /// Errors if the present task has taken too many steps, at the set that is being unfolded, or
    /// at `set` if none is.
    pub(crate) fn check_work(&mut self, set: Set) -> Result<()> {
        let most = self.options.work;
        if self.budget.steps + self.formulas.work <= most
            && self.languages.budget.work() * STEPS_PER_WORK_UNIT <= most
        {
            return Ok(());
        }
        let message = format!(
            "what the schema's keywords mean together takes more than {} steps to find out (the \
             limit `work`)",
            self.options.work
        );
        // A query that takes errors for "perhaps" hides the first error: its place is kept.
        let open = self.unfolding.open.last().copied();
        let at = *self.budget.exceeded_at.get_or_insert(open.unwrap_or(set));
        let help = "let fewer alternatives hold at the same time, or raise the limit";
        let error = self.error(ErrorKind::Limit, at, message).with_help(help);
        Err(error.with_limit(LimitName::Work))
    }

    /// Errors if a set has more alternatives of one type than the option `alternatives`.
    pub(crate) fn check_alternatives(&self, alternatives: usize) -> Result<()> {
        let most = self.options.alternatives;
        if alternatives <= most {
            return Ok(());
        }
        let message = format!(
            "the schema combines into more than {most} alternatives (the limit `alternatives`)"
        );
        let at = self.unfolding.open.last().copied().unwrap_or(Set::ANY);
        let help = "let fewer alternatives hold at the same time, or raise the limit";
        let error = self.error(ErrorKind::Limit, at, message).with_help(help);
        Err(error.with_limit(LimitName::Alternatives))
    }

    /// The place of a set, given to an error about a limit that has none.
    pub(crate) fn with_place(&self, error: Error, set: Set) -> Error {
        self.document.with_place(error, self.place(set))
    }

    /// An error at the place that a set comes from.
    pub(crate) fn error(&self, kind: ErrorKind, set: Set, message: impl Into<String>) -> Error {
        match self.place(set) {
            Some(at) => self.document.error(kind, at, message),
            None => Error::new(kind, message),
        }
    }

    /// The error for a value of the wrong kind, with a hint at the right one.
    pub(crate) fn malformed(&self, at: ValueId, message: impl Into<String>) -> Error {
        let error = self.document.error(ErrorKind::Schema, at, message);
        match hints::instead(self.document, at) {
            Some(help) => error.with_help(help),
            None => error,
        }
    }

    pub(crate) fn expr(&self, set: Set) -> &SetExpr {
        self.arena.expr(set)
    }

    pub(crate) fn arena(&self) -> &SetArena {
        &self.arena
    }

    /// The place in the document that a set comes from, if there is one.
    pub(crate) fn place(&self, set: Set) -> Option<ValueId> {
        self.arena.place(set)
    }

    fn intern(&mut self, expr: SetExpr) -> Set {
        let before = self.arena.len();
        let set = self.arena.intern(expr);
        self.budget.steps += STEPS_PER_NAME * (self.arena.len() - before);
        set
    }

    /// Values that a schema's keywords accept, in-place applicators aside, in the current scope.
    pub(crate) fn own(&mut self, schema: ValueId) -> Set {
        let scope = self.scope();
        self.intern(SetExpr::Own(schema, scope))
    }

    /// Objects with a key.
    pub(crate) fn has(&mut self, key: &str) -> Set {
        self.intern(SetExpr::Has(key.into()))
    }

    /// Non-objects, and objects whose members with these keys are in a set.
    pub(crate) fn members(&mut self, keys: Language, set: Set, at: ValueId) -> Set {
        let all = set == Set::ANY || keys == Language::EMPTY;
        if all { Set::ANY } else { self.intern(SetExpr::Members(keys, set, at)) }
    }

    /// Non-arrays, and arrays whose items from an index on are in a set.
    pub(crate) fn items(&mut self, from: u32, set: Set, at: ValueId) -> Set {
        if set == Set::ANY { Set::ANY } else { self.intern(SetExpr::Items(from, set, at)) }
    }

    /// Values that a schema of the document accepts, entered from the current scope.
    pub(crate) fn schema(&mut self, schema: ValueId) -> Result<Set> {
        match self.document.value(schema) {
            Value::Bool(true) => Ok(Set::ANY),
            Value::Bool(false) => Ok(Set::NEVER),
            Value::Object(members) if members.len() == 0 => Ok(Set::ANY),
            Value::Object(_) => {
                let scope = self.references.enter(self.document, self.scope(), schema);
                Ok(self.intern(SetExpr::Schema(schema, scope)))
            }
            _ => self.check_schema(schema).map(|()| Set::NEVER),
        }
    }

    /// The values that the document's schema accepts; of these, those of which the options let all
    /// texts be written, and the arguments that their style can spell.
    pub(crate) fn root(&mut self) -> Result<Set> {
        let mut all = vec![self.schema(self.document.root())?];
        let bound = match self.options.style.notation() {
            Some(style) => Some(style.uri()),
            None if self.options.objects_only => Some(OBJECTS_URI.into()),
            None => None,
        };
        if let Some(uri) = bound {
            let schema = self.document.supplied().find(|(known, _)| *known == uri);
            if let Some((_, schema)) = schema {
                all.push(self.schema(schema)?);
            }
        }
        if self.options.restricts_texts() {
            all.push(self.intern(SetExpr::Writable));
        }
        Ok(self.and(all))
    }

    /// Errors if the value is neither an object nor a boolean.
    pub(crate) fn check_schema(&self, at: ValueId) -> Result<()> {
        match self.document.value(at) {
            Value::Bool(_) | Value::Object(_) => Ok(()),
            _ => Err(self.malformed(at, "a schema must be an object or a boolean")),
        }
    }

    /// Values that the target of a reference accepts; `keyword` says how the reference is resolved.
    pub(crate) fn reference(&mut self, at: ValueId, keyword: &str) -> Result<Set> {
        let (document, scope) = (self.document, self.scope());
        let target = match keyword {
            "$dynamicRef" => self.references.resolve_dynamic(document, at, scope),
            "$recursiveRef" => self.references.resolve_recursive(document, at, scope),
            _ => self.references.resolve(document, at),
        };
        self.schema(target?)
    }

    /// Exactly one value of the document.
    pub(crate) fn listed(&mut self, value: ValueId) -> Set {
        self.intern(SetExpr::Value(value))
    }

    /// Exactly the value of a canonical text.
    pub(crate) fn text(&mut self, text: &str) -> Set {
        self.intern(SetExpr::Text(text.into()))
    }

    /// The intersection of sets.
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
        self.budget.steps += flat.len();
        flat.sort_unstable();
        flat.dedup();
        if self.arena.has_opposites(&flat) {
            return Set::NEVER;
        }
        match flat[..] {
            [] => Set::ANY,
            [one] => one,
            _ => self.intern(SetExpr::And(flat.into())),
        }
    }

    /// The union of sets.
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
        self.budget.steps += flat.len();
        flat.sort_unstable();
        flat.dedup();
        if self.arena.has_opposites(&flat) {
            return Set::ANY;
        }
        match flat[..] {
            [] => Set::NEVER,
            [one] => one,
            _ => self.intern(SetExpr::Or(flat.into())),
        }
    }

    /// The complement of a set.
    pub(crate) fn not(&mut self, set: Set) -> Set {
        match *self.expr(set) {
            SetExpr::Any => Set::NEVER,
            SetExpr::Never => Set::ANY,
            SetExpr::Not(inner) => inner,
            _ => self.intern(SetExpr::Not(set)),
        }
    }
}
