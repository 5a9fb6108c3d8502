//! Monitors: regular languages that the rest of a text must be in, and how terminals change them.
//!
//! Reading a string turns a monitor into its derivative by that string. A terminal has many
//! strings, so it leads from one monitor to several *residuals*. With the terminal `a|b` and the
//! monitor `~(a x .*)`:
//!
//! ```text
//! residuals                   {~(x .*), .*}
//! path to ~(x .*)             the strings `a`
//! terminal that leads there   (a|b) & a
//! ```

use rustc_hash::{FxHashMap, FxHashSet};

use super::limits::{MAX_PAIRS, too_many_cases};
use crate::deadline;
use crate::error::Result;
use crate::regular::{ByteSet, Language, Languages, variables};

/// Memo tables of residuals and paths.
#[derive(Default)]
pub(super) struct Monitors {
    /// By terminal and monitor: the monitors that the terminal's strings lead to, ascending.
    residuals: FxHashMap<(Language, Language), Vec<Language>>,
    /// By monitor and residual: the strings that lead from the one to the other.
    paths: FxHashMap<(Language, Language), Language>,
}

impl Monitors {
    /// The monitors that the strings of a terminal lead to: a search of the product of the two
    /// automata.
    pub(super) fn residuals(
        &mut self,
        languages: &mut Languages,
        strings: Language,
        monitor: Language,
    ) -> Result<Vec<Language>> {
        if let Some(known) = self.residuals.get(&(strings, monitor)) {
            return Ok(known.clone());
        }
        let mut found = FxHashSet::default();
        if monitor == Language::ALL {
            if languages.is_live(strings)? {
                found.insert(monitor);
            }
        } else {
            let mut seen = FxHashSet::from_iter([(strings, monitor)]);
            let mut todo = vec![(strings, monitor)];
            while let Some((x, m)) = todo.pop() {
                deadline::check()?;
                let row = *languages.row(x)?;
                let monitors = *languages.row(m)?;
                for (x, m) in row.into_iter().zip(monitors) {
                    if x == Language::EMPTY || m == Language::EMPTY || !seen.insert((x, m)) {
                        continue;
                    }
                    if seen.len() > MAX_PAIRS {
                        return Err(too_many_cases());
                    }
                    if languages.is_nullable(x) {
                        found.insert(m);
                    }
                    todo.push((x, m));
                }
            }
        }
        let mut found: Vec<Language> = found.into_iter().collect();
        found.sort_unstable();
        self.residuals.insert((strings, monitor), found.clone());
        Ok(found)
    }

    /// The strings that lead from a monitor to one of its residuals: the monitor's automaton with
    /// the residual as its only accepting state, solved as a system of equations.
    pub(super) fn path(
        &mut self,
        languages: &mut Languages,
        monitor: Language,
        residual: Language,
    ) -> Result<Language> {
        if let Some(&known) = self.paths.get(&(monitor, residual)) {
            return Ok(known);
        }
        let mut variables = FxHashMap::default();
        let first = variables::new_variable(languages, monitor == residual);
        variables.insert(monitor, first);
        let (mut order, mut todo) = (vec![first], vec![monitor]);
        while let Some(m) = todo.pop() {
            deadline::check()?;
            let mut parts = Vec::new();
            for (next, bytes) in successors(languages, m)? {
                let variable = match variables.get(&next) {
                    Some(&variable) => variable,
                    None => {
                        if variables.len() > MAX_PAIRS {
                            return Err(too_many_cases());
                        }
                        let variable = variables::new_variable(languages, next == residual);
                        variables.insert(next, variable);
                        order.push(variable);
                        todo.push(next);
                        variable
                    }
                };
                let bytes = languages.byte_set(bytes);
                parts.push(languages.concat([bytes, variable]));
            }
            if m == residual {
                parts.push(Language::EPSILON);
            }
            let body = languages.union(parts);
            variables::define(languages, variables[&m], body);
        }
        let path = variables::settle(languages, &order, first);
        self.paths.insert((monitor, residual), path);
        Ok(path)
    }
}

/// The live successors of a state, each with the bytes that lead to it.
fn successors(languages: &mut Languages, state: Language) -> Result<Vec<(Language, ByteSet)>> {
    let row = *languages.row(state)?;
    let mut found: Vec<(Language, ByteSet)> = Vec::new();
    for (byte, next) in (0..=u8::MAX).zip(row) {
        if next == Language::EMPTY {
            continue;
        }
        match found.iter_mut().find(|(known, _)| *known == next) {
            Some((_, bytes)) => bytes.insert(byte),
            None => found.push((next, ByteSet::single(byte))),
        }
    }
    Ok(found)
}
