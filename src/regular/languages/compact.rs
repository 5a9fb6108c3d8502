//! Compaction: languages that are read again and again become DFAs.
//!
//! Derivatives are made on demand, which is right for what is read once. A format, a pattern or the
//! numbers between two bounds are read often, and intersections and complements make each step
//! dear: they are determinised whole, minimised, and shared by all arenas.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::computed_parts::has_stepwise_automaton;
use super::determinize::determinized;
use super::dfa::Dfa;
use super::every_prefix::accepts_every_prefix;
use super::expression::{Expression, Language, UNBOUNDED};
use super::product::product;
use super::store::Languages;
use super::structure::has_unit_counter_above;
use super::subexpressions::subexpressions;
use crate::error::Result;

/// States of an automaton before minimisation; larger ones stay lazy.
const MAX_STATES: usize = 3_000;

/// States of a part of a language that is too large as a whole.
const MAX_PART_STATES: usize = 200;

/// Work units after which a whole automaton is given up.
pub(super) const MAX_WORK: usize = 12_000;

/// Work units after which the automaton of a part is given up.
const MAX_PART_WORK: usize = 4_000;

/// Nested parts that are compacted.
const MAX_DEPTH: usize = 20;

/// Bounds on units up to which they are part of an automaton; larger ones stay counters beside it.
const MAX_INLINE_BOUND: u32 = 20;

/// Automata of the process by name.
static NAMED: Mutex<BTreeMap<Box<str>, Arc<Dfa>>> = Mutex::new(BTreeMap::new());

/// The same language with a DFA in place of what is dear to step. `unit` is the unit of texts,
/// whose large bounds on length stay apart.
pub(crate) fn compacted(
    languages: &mut Languages,
    x: Language,
    unit: Option<Language>,
) -> Result<Language> {
    // A language that accepts every prefix mostly excludes a few texts only: its lazy states are
    // cheap.
    let accepts_every_prefix =
        |unit| accepts_every_prefix(languages, x, unit, &mut FxHashMap::default());
    let is_cheap =
        !languages.arena.properties(x).has_boolean || unit.is_some_and(accepts_every_prefix);
    if is_cheap || has_stepwise_automaton(languages, x) || is_compacted(languages, x) {
        return Ok(x);
    }
    if let Some(unit) = unit
        && let Expression::Intersect(parts) = languages.arena.expr(x)
    {
        let (bounds, others): (Vec<_>, Vec<_>) =
            parts.iter().partition(|part| match *languages.arena.expr(**part) {
                Expression::Repeat(part, min, max) => {
                    part == unit
                        && (max != UNBOUNDED && max > MAX_INLINE_BOUND || min > MAX_INLINE_BOUND)
                }
                _ => false,
            });
        // A counter over multi-byte units needs (states of the unit) × (count) states: do not
        // determinise, try the product with a counter beside it.
        if others.iter().any(|&part| has_unit_counter_above(languages, part, MAX_INLINE_BOUND / 4))
        {
            return Ok(product(languages, x, unit)?.unwrap_or(x));
        }
        if !bounds.is_empty() {
            let text = languages.repeat(unit, 0, None);
            let others = languages.intersect(others.into_iter().chain([text]));
            let others = compacted(languages, others, Some(unit))?;
            return Ok(languages.intersect(bounds.into_iter().chain([others])));
        }
    }
    let fingerprint = languages.fingerprint(x) ^ u128::from(unit.is_some());
    let known = languages.shared.as_ref().and_then(|shared| shared.dfa(fingerprint));
    let dfa = match known {
        Some(dfa) => dfa,
        None => {
            let dfa = determinized(languages, x, unit, MAX_STATES, MAX_WORK)?.map(Arc::new);
            if let Some(shared) = &languages.shared {
                shared.note_dfa(fingerprint, dfa.clone());
            }
            dfa
        }
    };
    Ok(match dfa {
        Some(dfa) => {
            let compacted = languages.dfa_language(&dfa);
            if let Some(unit) = unit {
                let text = languages.repeat(unit, 0, None);
                languages.note_within(compacted, text);
            }
            compacted
        }
        None => match unit.map_or(Ok(None), |unit| product(languages, x, unit))? {
            Some(multiplied) => multiplied,
            None => with_compacted_parts(languages, x, unit, 0)?,
        },
    })
}

/// The same language with each part compacted, where it is too large as a whole.
fn with_compacted_parts(
    languages: &mut Languages,
    x: Language,
    unit: Option<Language>,
    depth: usize,
) -> Result<Language> {
    let (parts, all) = match languages.arena.expr(x) {
        _ if depth == MAX_DEPTH => return Ok(x),
        Expression::Intersect(parts) => (parts.clone(), true),
        Expression::Union(parts) if languages.arena.properties(x).has_boolean => {
            (parts.clone(), false)
        }
        &Expression::Complement(inner) if x != Language::ALL => {
            let inner = compacted_part(languages, inner, unit, depth + 1)?;
            return Ok(languages.complement(inner));
        }
        _ => return Ok(x),
    };
    let parts = parts.iter().map(|&part| compacted_part(languages, part, unit, depth + 1));
    let parts = parts.collect::<Result<Vec<_>>>()?;
    Ok(if all { languages.intersect(parts) } else { languages.union(parts) })
}

/// A part as a DFA if it is small enough, otherwise with its own parts compacted.
fn compacted_part(
    languages: &mut Languages,
    x: Language,
    unit: Option<Language>,
    depth: usize,
) -> Result<Language> {
    let repeats =
        |unit| matches!(*languages.arena.expr(x), Expression::Repeat(part, ..) if part == unit);
    let plain = matches!(languages.arena.expr(x), Expression::Set(_) | Expression::DfaState(..));
    if plain || unit.is_some_and(repeats) {
        return Ok(x);
    }
    let x = with_compacted_parts(languages, x, unit, depth)?;
    Ok(match determinized(languages, x, None, MAX_PART_STATES, MAX_PART_WORK)? {
        Some(dfa) => languages.dfa_language(&Arc::new(dfa)),
        None => x,
    })
}

/// The same language as a minimal DFA, so that equal states are one; `None` if it has more than `most` states
/// before it is minimised, or accepts nothing.
pub(crate) fn minimal(
    languages: &mut Languages,
    x: Language,
    most: usize,
) -> Result<Option<Language>> {
    let dfa = determinized(languages, x, None, most, usize::MAX)?;
    Ok(dfa.map(|dfa| languages.dfa_language(&Arc::new(dfa))))
}

/// Whether it consists of DFAs, with nothing but bounds on lengths beside them.
fn is_compacted(languages: &Languages, x: Language) -> bool {
    let simple = |&part: &Language| {
        !languages.arena.properties(part).has_boolean
            || matches!(languages.arena.expr(part), Expression::DfaState(..))
    };
    let mut any = false;
    subexpressions(languages, x, |_| false).iter().all(|&part| match languages.arena.expr(part) {
        Expression::DfaState(..) => {
            any = true;
            true
        }
        Expression::Intersect(parts) => parts.iter().all(simple),
        Expression::Complement(_)
        | Expression::Variable(_)
        | Expression::Computed(_)
        | Expression::Unescaped(_) => false,
        Expression::Set(_)
        | Expression::Concat(..)
        | Expression::Union(_)
        | Expression::Repeat(..) => true,
    }) && any
}

/// The DFA to which any arena of this process has given a name.
pub(crate) fn named_dfa(languages: &mut Languages, name: &str) -> Option<Language> {
    let dfa = NAMED.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()?;
    Some(languages.dfa_language(&dfa))
}

/// The same language as a DFA with a name for all arenas, unless it is too large. Callers choose
/// few names.
pub(crate) fn compile_named_dfa(
    languages: &mut Languages,
    name: &str,
    x: Language,
    unit: Language,
) -> Result<Language> {
    let Some(dfa) = determinized(languages, x, Some(unit), MAX_STATES, usize::MAX)?.map(Arc::new)
    else {
        return Ok(x);
    };
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    named.insert(name.into(), Arc::clone(&dfa));
    drop(named);
    Ok(languages.dfa_language(&dfa))
}
