//! Brzozowski derivatives: one byte at a time, and as rows of 256.
//!
//! The derivative of `x` by `b` contains the strings `s` with `b s` in `x`. By structure, with `∂`
//! for the derivative by `b`:
//!
//! ```text
//! ∂(x y)     = ∂x y | ∂y  (the latter if x contains ε)
//! ∂(x | y)   = ∂x | ∂y              ∂(x & y) = ∂x & ∂y
//! ∂(¬x)      = ¬∂x                  ∂(x{m,n}) = ∂x x{m-1,n-1}
//! ```
//!
//! A row is computed by runs of bytes, not byte by byte: its *run starts* are the bytes at which it
//! may change, and those of a whole are the union of those of its parts.

use std::sync::Arc;

use smallvec::SmallVec;

use super::expression::{Expression, Language, Row, UNBOUNDED};
use super::store::Languages;
use super::unescaped::{self, states_without_row};
use crate::deadline;
use crate::error::LimitName;
use crate::error::{Error, ErrorKind, Result};
use crate::regular::ByteSet;
use crate::regular::automaton::RunningAutomaton;
use crate::regular::encoding::spelled_byte;

/// Work units of a row of an automaton that computes its states.
const WORK_PER_COMPUTED_ROW: usize = 8;

/// Combined entries that count as one more work unit.
const ENTRIES_PER_WORK_UNIT: usize = 16;

/// Nested subexpressions that a single derivative follows by recursion; deeper ones get rows, which
/// are computed with an explicit stack.
const MAX_DEPTH: u32 = 200;

/// The derivative by one byte. It may be a language without strings other than [`Language::EMPTY`].
pub(super) fn derivative(
    languages: &mut Languages,
    x: Language,
    byte: u8,
    depth: u32,
) -> Result<Language> {
    if let Some(row) = languages.arena.row(x) {
        return Ok(row[usize::from(byte)]);
    }
    if languages.arena.len() > languages.budget.max_states {
        return Err(over_limit(languages));
    }
    if depth > MAX_DEPTH {
        fill_row(languages, x)?;
        return Ok(languages.arena.row(x).map_or(Language::EMPTY, |row| row[usize::from(byte)]));
    }
    let depth = depth + 1;
    Ok(match languages.arena.expr(x) {
        Expression::Set(set) => {
            if set.contains(byte) {
                Language::EPSILON
            } else {
                Language::EMPTY
            }
        }
        &Expression::Concat(a, b) => {
            let first = derivative(languages, a, byte, depth)?;
            let through = languages.concat2(first, b);
            if languages.is_nullable(a) {
                let second = derivative(languages, b, byte, depth)?;
                match (through, second) {
                    (Language::EMPTY, other) | (other, Language::EMPTY) => other,
                    both => languages.union([both.0, both.1]),
                }
            } else {
                through
            }
        }
        Expression::Union(xs) => {
            let xs = xs.clone();
            let mut next: SmallVec<[Language; 8]> = SmallVec::new();
            for &part in &xs {
                match derivative(languages, part, byte, depth)? {
                    Language::EMPTY => {}
                    part => next.push(part),
                }
            }
            match next[..] {
                [] => Language::EMPTY,
                [one] => one,
                _ => languages.union(next),
            }
        }
        Expression::Intersect(xs) => {
            let xs = xs.clone();
            let mut next: SmallVec<[Language; 8]> = SmallVec::new();
            for &part in &xs {
                match derivative(languages, part, byte, depth)? {
                    Language::EMPTY => return Ok(Language::EMPTY),
                    part => next.push(part),
                }
            }
            languages.intersect(next)
        }
        &Expression::Complement(inner) => {
            let inner = derivative(languages, inner, byte, depth)?;
            languages.complement(inner)
        }
        &Expression::Repeat(inner, min, max) => {
            let first = derivative(languages, inner, byte, depth)?;
            if first == Language::EMPTY {
                return Ok(Language::EMPTY);
            }
            let more = if max == UNBOUNDED { None } else { Some(max - 1) };
            let rest = languages.repeat(inner, min.saturating_sub(1), more);
            languages.concat2(first, rest)
        }
        &Expression::Variable(v) => {
            let body = languages.definitions[v as usize].body;
            derivative(languages, body, byte, depth)?
        }
        Expression::Computed(RunningAutomaton { automaton, state }) => {
            let automaton = Arc::clone(automaton);
            let after = automaton.step(state, byte);
            // An answer that was cut short is none.
            deadline::check()?;
            match after {
                Some(state) => languages.automaton(automaton, state),
                None => Language::EMPTY,
            }
        }
        &Expression::Unescaped(inner) => {
            let mut next = inner;
            for &byte in &spelled_byte(byte) {
                next = derivative(languages, next, byte, depth)?;
            }
            languages.unescaped(next)
        }
        &Expression::DfaState(dfa, state) => match languages.dfas[dfa as usize].step(state, byte) {
            Some(next) => languages.dfa_state(dfa, next),
            None => Language::EMPTY,
        },
    })
}

/// The error of an arena that is beyond its budget.
pub(super) fn over_limit(languages: &Languages) -> Error {
    if languages.budget.work > languages.budget.max_work {
        // The budget is in work units, but users count steps: the message gives no number.
        let message = "regular languages take more to decide than the limit `work` allows";
        let help = "simplify the patterns, or raise the limit";
        let error = Error::new(ErrorKind::Limit, message).with_help(help);
        return error.with_limit(LimitName::Work);
    }
    let message =
        format!("regular languages need more than {} states", languages.budget.max_states);
    let help = "simplify the patterns, lower the counts, or raise the limit `language_states`";
    Error::new(ErrorKind::Limit, message).with_help(help).with_limit(LimitName::LanguageStates)
}

/// The row of `x`, which is computed; otherwise an empty one.
pub(crate) fn known_derivatives(languages: &Languages, x: Language) -> Row {
    languages.arena.row(x).copied().unwrap_or([Language::EMPTY; 256])
}

/// Computes the row of derivatives of `x`, and of the subexpressions that it needs, without
/// deciding which of them are empty. The stack is explicit: expressions nest as deep as a literal
/// is long.
pub(crate) fn fill_row(languages: &mut Languages, x: Language) -> Result<()> {
    if languages.arena.row(x).is_some() {
        return Ok(());
    }
    languages.arena.evict_rows();
    let mut stack = vec![x];
    while let Some(&top) = stack.last() {
        deadline::check()?;
        if languages.arena.row(top).is_some() {
            stack.pop();
            continue;
        }
        if languages.arena.len() > languages.budget.max_states
            || languages.budget.work > languages.budget.max_work
        {
            return Err(over_limit(languages));
        }
        let before = stack.len();
        let missing = |this: &Languages, part: Language| this.arena.row(part).is_none();
        match languages.arena.expr(top) {
            Expression::Set(_) | Expression::DfaState(..) | Expression::Computed(_) => {}
            &Expression::Concat(a, b) => {
                if missing(languages, a) {
                    stack.push(a);
                }
                if languages.is_nullable(a) && missing(languages, b) {
                    stack.push(b);
                }
            }
            Expression::Union(xs) | Expression::Intersect(xs) => {
                stack.extend(xs.iter().copied().filter(|&part| missing(languages, part)));
            }
            &Expression::Complement(part) | &Expression::Repeat(part, ..) => {
                if missing(languages, part) {
                    stack.push(part);
                }
            }
            &Expression::Unescaped(inner) => stack.extend(states_without_row(languages, inner)),
            &Expression::Variable(v) => {
                let body = languages.definitions[v as usize].body;
                if missing(languages, body) {
                    stack.push(body);
                }
            }
        }
        if stack.len() == before {
            let parts = match languages.arena.expr(top) {
                Expression::Union(xs) | Expression::Intersect(xs) => 2 * xs.len(),
                Expression::Computed(_) => WORK_PER_COMPUTED_ROW,
                _ => 1,
            };
            languages.budget.work += parts;
            deadline::spend(parts);
            let (row, run_starts) = derive_row(languages, top);
            // What an automaton computed in a search that was cut short is not kept.
            deadline::check()?;
            languages.arena.set_row(top, row, run_starts, false);
            stack.pop();
        }
    }
    Ok(())
}

/// The row of `x`, whose subexpressions have theirs, and its run starts.
fn derive_row(languages: &mut Languages, x: Language) -> (Row, ByteSet) {
    let expr = languages.arena.expr(x).clone();
    match expr {
        Expression::Set(set) => {
            let row = |b| if set.contains(b) { Language::EPSILON } else { Language::EMPTY };
            (std::array::from_fn(|b| row(b as u8)), set.run_starts())
        }
        Expression::Concat(a, b) => {
            let both = [a, b];
            let read = if languages.is_nullable(a) { &both[..] } else { &both[..1] };
            combine(languages, read, |this, parts| {
                let through = this.concat2(parts[0], b);
                match parts.get(1) {
                    None | Some(&Language::EMPTY) => through,
                    Some(&second) => this.union([through, second]),
                }
            })
        }
        Expression::Union(xs) => combine(languages, &xs, |this, mut parts| {
            parts.retain(|part| *part != Language::EMPTY);
            match parts[..] {
                [] => Language::EMPTY,
                [one] => one,
                _ => this.union(parts),
            }
        }),
        Expression::Intersect(xs) => combine(languages, &xs, |this, parts| {
            if parts.contains(&Language::EMPTY) { Language::EMPTY } else { this.intersect(parts) }
        }),
        Expression::Complement(inner) => {
            combine(languages, &[inner], |this, parts| this.complement(parts[0]))
        }
        Expression::Repeat(inner, min, max) => {
            let more = if max == UNBOUNDED { None } else { Some(max - 1) };
            let rest = languages.repeat(inner, min.saturating_sub(1), more);
            combine(languages, &[inner], |this, parts| this.concat2(parts[0], rest))
        }
        Expression::Variable(v) => {
            let body = languages.definitions[v as usize].body;
            (known_derivatives(languages, body), languages.arena.run_starts(body))
        }
        Expression::Computed(RunningAutomaton { automaton, state }) => {
            let mut row = [Language::EMPTY; 256];
            for byte in automaton.first_bytes(&state).unwrap_or(ByteSet::ALL).iter() {
                if let Some(state) = automaton.step(&state, byte) {
                    row[usize::from(byte)] = languages.automaton(automaton.clone(), state);
                }
            }
            (row, run_starts(&row))
        }
        Expression::Unescaped(inner) => {
            let row = unescaped::row(languages, inner);
            (row, run_starts(&row))
        }
        Expression::DfaState(dfa, state) => {
            let at = Arc::clone(&languages.dfas[dfa as usize]);
            let next = at.successors(state).map(|next| match next {
                Some(next) => languages.dfa_state(dfa, next),
                None => Language::EMPTY,
            });
            let next: SmallVec<[Language; 16]> = next.collect();
            let row = std::array::from_fn(|byte| next[at.class(byte as u8)]);
            (row, run_starts(&row))
        }
    }
}

/// A row whose entries `f` computes from the entries of other rows, and its run starts. `f` is
/// called once for each run of bytes that none of the rows distinguishes.
fn combine(
    languages: &mut Languages,
    xs: &[Language],
    mut f: impl FnMut(&mut Languages, SmallVec<[Language; 4]>) -> Language,
) -> (Row, ByteSet) {
    let run_starts = xs.iter().map(|&x| languages.arena.run_starts(x));
    let run_starts = run_starts.fold(ByteSet::single(0), |all, starts| all.union(&starts));
    languages.budget.work += xs.len() * run_starts.len() / ENTRIES_PER_WORK_UNIT;
    // By run, then by part: the successors.
    let width = xs.len();
    let mut parts = std::mem::take(&mut languages.row_buffer);
    parts.clear();
    parts.resize(width * run_starts.len(), Language::EMPTY);
    for (i, x) in xs.iter().enumerate() {
        let Some(row) = languages.arena.row(*x) else { continue };
        let column = parts[i..].iter_mut().step_by(width);
        column.zip(run_starts.iter()).for_each(|(part, byte)| *part = row[usize::from(byte)]);
    }
    let mut row = [Language::EMPTY; 256];
    let mut kept = ByteSet::EMPTY;
    let mut last = Language::EMPTY;
    let mut from = 0;
    let mut same: (&[Language], Language) = (&[], Language::EMPTY);
    for (byte, parts) in run_starts.iter().zip(parts.chunks_exact(width)) {
        let at = usize::from(byte);
        row[from..at].fill(last);
        let next = if parts == same.0 { same.1 } else { f(languages, SmallVec::from_slice(parts)) };
        same = (parts, next);
        if next != last {
            kept.insert(byte);
        }
        (from, last) = (at, next);
    }
    languages.row_buffer = parts;
    row[from..].fill(last);
    (row, kept)
}

/// The bytes whose entries differ from the entry before.
pub(super) fn run_starts(row: &Row) -> ByteSet {
    (1..=u8::MAX).filter(|&b| row[usize::from(b)] != row[usize::from(b) - 1]).collect()
}
