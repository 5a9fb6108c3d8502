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

use super::limits::{MAX_PAIRS, bytes_beside_marks, too_many_cases};
use crate::deadline;
use crate::error::Result;
use crate::regular::marked_text::{MarkNumber, is_of_mark, successors};
use crate::regular::{Language, Languages, Utf8, any_text, variables};

/// Memo tables of residuals and paths.
pub(super) struct Monitors {
    /// The monitor at the beginning of a text.
    pub(super) idle: Language,
    /// By terminal and monitor: the monitors that the terminal's strings lead to, ascending.
    residuals: FxHashMap<(Language, Language), Vec<Language>>,
    /// By monitor and residual: the strings that lead from the one to the other.
    paths: FxHashMap<(Language, Language), Language>,
    /// Monitors, each with whether every text leads back to it.
    inert: FxHashMap<Language, bool>,
}

/// The strings of a terminal, which may be written between marks.
#[derive(Clone, Copy)]
pub(super) struct TerminalStrings {
    pub(super) strings: Language,
    pub(super) marks: Option<MarkNumber>,
}

impl TerminalStrings {
    /// The monitor after the mark that stands before the strings.
    fn begin(self, languages: &mut Languages, monitor: Language) -> Result<Language> {
        self.marks.map_or(Ok(monitor), |marks| marks.begin(languages, monitor))
    }

    /// The monitor after the mark that follows the strings.
    fn end(self, languages: &mut Languages, monitor: Language) -> Result<Language> {
        self.marks.map_or(Ok(monitor), |marks| marks.end(languages, monitor))
    }
}

impl Monitors {
    pub(super) fn new(idle: Language) -> Self {
        let (residuals, paths, inert) = Default::default();
        Self { idle, residuals, paths, inert }
    }

    /// Whether every text without marks leads from a monitor to itself.
    pub(super) fn is_inert(
        &mut self,
        languages: &mut Languages,
        monitor: Language,
    ) -> Result<bool> {
        if monitor == Language::ALL {
            return Ok(true);
        }
        if let Some(&known) = self.inert.get(&monitor) {
            return Ok(known);
        }
        let text = any_text(languages, &Utf8);
        let text = languages.without_epsilon(text);
        let is_inert = self.plain_residuals(languages, text, monitor)? == [monitor];
        self.inert.insert(monitor, is_inert);
        Ok(is_inert)
    }

    /// The monitors that a terminal leads to, ascending.
    pub(super) fn residuals(
        &mut self,
        languages: &mut Languages,
        terminal: TerminalStrings,
        monitor: Language,
    ) -> Result<Vec<Language>> {
        let inside = terminal.begin(languages, monitor)?;
        let mut found = self.plain_residuals(languages, terminal.strings, inside)?;
        if terminal.marks.is_some() {
            for residual in &mut found {
                *residual = terminal.end(languages, *residual)?;
            }
            found.retain(|&residual| residual != Language::EMPTY);
            found.sort_unstable();
            found.dedup();
        }
        Ok(found)
    }

    /// The strings of a terminal that lead to a monitor, or to any that the empty rest satisfies where
    /// nothing follows (`None`). `None` if there are none.
    pub(super) fn strings(
        &mut self,
        languages: &mut Languages,
        terminal: TerminalStrings,
        monitor: Language,
        target: Option<Language>,
    ) -> Result<Option<Language>> {
        let inside = terminal.begin(languages, monitor)?;
        let residuals = self.plain_residuals(languages, terminal.strings, inside)?;
        let mut leading = Vec::new();
        for &residual in &residuals {
            let after = terminal.end(languages, residual)?;
            let leads = match target {
                Some(target) => after == target,
                None => languages.is_nullable(after),
            };
            if leads && after != Language::EMPTY {
                leading.push(residual);
            }
        }
        if leading.is_empty() {
            return Ok(None);
        }
        let is_all = leading.len() == residuals.len();
        if is_all && self.is_inert(languages, inside)? {
            return Ok(Some(terminal.strings));
        }
        // All strings that the monitor lets live: those in it, where all of their rests may be empty.
        let allowed = if is_all && leading.iter().all(|&x| languages.is_nullable(x)) {
            inside
        } else {
            let paths: Result<Vec<Language>> =
                leading.iter().map(|&residual| self.path(languages, inside, residual)).collect();
            languages.union(paths?)
        };
        Ok(Some(languages.intersect([terminal.strings, allowed])))
    }

    /// The monitors that strings without marks lead to: a search of the product of the two automata.
    fn plain_residuals(
        &mut self,
        languages: &mut Languages,
        strings: Language,
        monitor: Language,
    ) -> Result<Vec<Language>> {
        if let Some(known) = self.residuals.get(&(strings, monitor)) {
            return Ok(known.clone());
        }
        let mut found = FxHashSet::default();
        if monitor == Language::ALL && self.idle == Language::ALL {
            if languages.is_live(strings)? {
                found.insert(monitor);
            }
        } else if monitor != Language::EMPTY {
            let has_marks = self.idle != Language::ALL;
            let mut seen = FxHashSet::from_iter([(strings, monitor)]);
            let mut todo = vec![(strings, monitor)];
            while let Some((x, m)) = todo.pop() {
                deadline::check()?;
                let row = *languages.row(x)?;
                let monitors = *languages.row(m)?;
                for (byte, (x, m)) in (0..=u8::MAX).zip(row.into_iter().zip(monitors)) {
                    if has_marks && x != Language::EMPTY && is_of_mark(byte) {
                        return Err(bytes_beside_marks());
                    }
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
    fn path(
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
            for (mut bytes, next) in successors(languages, m)? {
                if self.idle != Language::ALL {
                    (0..=u8::MAX)
                        .filter(|&byte| is_of_mark(byte))
                        .for_each(|byte| bytes.remove(byte));
                }
                if bytes.is_empty() {
                    continue;
                }
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
