//! Minimal unsatisfiable core: a smallest set of keywords that contradict each other, for the
//! message about a schema that has no value.
//!
//! Keywords are left out and emptiness is decided again, which QuickXplain does about `k log n`
//! times for a core of `k` of `n` keywords.

use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::error::{Error, ErrorKind};
use crate::json_schema::document::draft::{SubschemaPosition, subschema_position};
use crate::json_schema::document::{Document, Value, ValueId};
use crate::json_schema::options::Options;
use crate::json_schema::set::{BaseLanguages, Set, Sets};

/// Keywords in a schema up to which it is diagnosed.
const MAX_KEYWORDS: usize = 5_000;

/// Emptiness checks that a diagnosis may take.
const MAX_CHECKS: u32 = 200;

/// The error for the schema of a document that has no value.
pub(crate) fn unsatisfiable(document: &Document, options: &Options) -> Error {
    let message = "no value satisfies the schema";
    let root = document.root();
    match contradiction(document, options, root) {
        Some((at, because)) => {
            document.error(ErrorKind::Unsatisfiable, at, format!("{message}: {because}"))
        }
        None => document.error(ErrorKind::Unsatisfiable, root, message),
    }
}

/// The core of a schema that has no value: the most telling keyword, and all of them in words.
/// `None` if that takes too long to find.
pub(crate) fn contradiction(
    document: &Document,
    options: &Options,
    root: ValueId,
) -> Option<(ValueId, String)> {
    let keywords = keywords(document, root);
    let base = BaseLanguages::new(options.spelling);
    let (checks, work) = (MAX_CHECKS, options.work);
    let diagnosis = CoreSearch { document, options, base, root, all: keywords, checks, work };
    let core = diagnosis.core().filter(|core| !core.is_empty())?;
    let pointers: Vec<String> = core.iter().map(|&at| document.pointer(at)).collect();
    // Those that only lead to the others go without saying.
    let leads = |(at, pointer): &(ValueId, &String)| {
        let below = |other: &String| {
            other.strip_prefix(pointer.as_str()).is_some_and(|rest| rest.starts_with('/'))
        };
        match pointer.rsplit('/').next() {
            Some("$ref") => !is_within_its_target(document, *at),
            Some("oneOf" | "not" | "if") => false,
            _ => pointers.iter().any(below),
        }
    };
    let all = || core.iter().copied().zip(&pointers);
    let mut telling: Vec<(ValueId, &String)> = all().filter(|keyword| !leads(keyword)).collect();
    if telling.is_empty() {
        telling = all().collect();
    }
    telling.sort_by_key(|&(at, pointer)| (document.start(at), pointer));
    // A type alone is seldom what is wrong.
    let place = telling.iter().find(|(_, pointer)| !pointer.ends_with("/type"));
    let (at, _) = *place.unwrap_or(&telling[0]);
    let named: Vec<String> = telling.iter().map(|(_, pointer)| format!("`{pointer}`")).collect();
    let because = match &named[..] {
        [most @ .., last] if !most.is_empty() => {
            format!("{} and {last} cannot hold together", most.join(", "))
        }
        one => format!("{} rules out every value", one.concat()),
    };
    Some((at, because))
}

/// Whether a reference by JSON pointer leads to a schema that it stands in.
fn is_within_its_target(document: &Document, at: ValueId) -> bool {
    let fragment = document.string(at).and_then(|reference| reference.strip_prefix('#'));
    let target = fragment.and_then(|pointer| document.at_pointer(document.root(), pointer));
    let mut around = Some(at);
    while let Some(at) = around {
        if Some(at) == target {
            return true;
        }
        around = document.parent(at);
    }
    false
}

/// The keywords of all schemas from `root` on, in the order of the document.
fn keywords(document: &Document, root: ValueId) -> Vec<ValueId> {
    let members = schemas(document, root).into_iter().filter_map(|at| document.members(at));
    let mut found: Vec<ValueId> =
        members.flat_map(|members| members.iter().map(|(_, value)| value)).collect();
    found.sort_unstable();
    found
}

/// `root` and all schemas inside it.
pub(crate) fn schemas(document: &Document, root: ValueId) -> Vec<ValueId> {
    let (mut found, mut next) = (vec![root], 0);
    while let Some(&schema) = found.get(next) {
        next += 1;
        let Some(members) = document.members(schema) else { continue };
        for (keyword, value) in members.iter() {
            match (subschema_position(keyword), document.value(value)) {
                (Some(SubschemaPosition::Map), Value::Object(map)) => {
                    found.extend(map.iter().map(|(_, child)| child));
                }
                (
                    Some(SubschemaPosition::List | SubschemaPosition::SchemaOrList),
                    Value::Array(items),
                ) => {
                    found.extend(items.iter().copied());
                }
                (Some(SubschemaPosition::Schema | SubschemaPosition::SchemaOrList), _) => {
                    found.push(value)
                }
                _ => {}
            }
        }
    }
    found
}

/// A search for a core by Junker's QuickXplain ("QuickXplain: preferred explanations and
/// relaxations for over-constrained problems", AAAI 2004).
struct CoreSearch<'d> {
    document: &'d Document,
    options: &'d Options,
    /// The languages that each check begins with.
    base: BaseLanguages,
    root: ValueId,
    all: Vec<ValueId>,
    checks: u32,
    /// Steps that are left.
    work: usize,
}

impl CoreSearch<'_> {
    fn core(mut self) -> Option<Vec<ValueId>> {
        if self.all.len() > MAX_KEYWORDS || self.is_empty(&[]) != Some(false) {
            return None;
        }
        let all = self.all.clone();
        let mut core = self.explain(&[], false, &all)?;
        core.sort_unstable();
        Some(core)
    }

    /// A smallest part of `candidates` that leaves no value, together with `background`; `grown`
    /// says whether the background grew since it was last known to leave some.
    fn explain(
        &mut self,
        background: &[ValueId],
        grown: bool,
        candidates: &[ValueId],
    ) -> Option<Vec<ValueId>> {
        if grown && self.is_empty(background)? {
            return Some(Vec::new());
        }
        if let [_] = candidates {
            return Some(candidates.to_vec());
        }
        let (first, second) = candidates.split_at(candidates.len() / 2);
        let with_first = [background, first].concat();
        let of_second = self.explain(&with_first, !first.is_empty(), second)?;
        let with_second = [background, &of_second].concat();
        let of_first = self.explain(&with_second, !of_second.is_empty(), first)?;
        Some([of_first, of_second].concat())
    }

    /// Whether the schema has no value if only these keywords count. `None` if that takes too long.
    fn is_empty(&mut self, active: &[ValueId]) -> Option<bool> {
        self.checks = self.checks.checked_sub(1)?;
        let mut ignored: FxHashSet<ValueId> = self.all.iter().copied().collect();
        active.iter().for_each(|at| {
            ignored.remove(at);
        });
        let mut sets = Sets::from_base(self.document, self.options, self.base.clone());
        sets.ignored = Arc::new(ignored);
        let root: Set = sets.schema(self.root).ok()?;
        let empty = sets.is_empty(root).ok();
        self.work = self.work.checked_sub(sets.worked() + self.all.len())?;
        empty
    }
}
