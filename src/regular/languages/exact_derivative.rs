//! Exact reading: successors that have strings, first bytes, membership.
//!
//! A derivative may be a language without strings. Here each successor is checked
//! ([`Languages::is_live`]), so that a dead one is always [`Language::EMPTY`].

use super::computed_parts::starts_with_stepwise_automaton;
use super::derivative::{derivative, fill_row, known_derivatives, over_limit};
use super::expression::{Expression, Language, Row};
use super::provably_live::{is_provably_live, unit_of_every_prefix};
use super::store::Languages;
use crate::error::Result;
use crate::regular::ByteSet;
use crate::regular::automaton::RunningAutomaton;

/// Steps from a state before its row of 256 successors pays: a literal, or a counter that is passed
/// once, needs one successor of each state.
const STEPS_BEFORE_ROW: u8 = 4;

/// Nested subexpressions that the first bytes are looked up in.
const MAX_DEPTH: u32 = 200;

impl Languages {
    /// The successors by byte; those without strings are [`Language::EMPTY`].
    ///
    /// Errors when the arena's limit on states is reached.
    pub fn row(&mut self, x: Language) -> Result<&Row> {
        if self.arena.clean_row(x).is_none() {
            fill_row(self, x)?;
            let (mut row, run_starts) = (known_derivatives(self, x), self.arena.run_starts(x));
            let (mut first, mut changed) = (ByteSet::EMPTY, false);
            let mut starts = run_starts.union(&ByteSet::single(0));
            while let Some(start) = starts.first() {
                starts.remove(start);
                let end = starts.first().map_or(u8::MAX, |next| next - 1);
                let next = row[usize::from(start)];
                if next == Language::EMPTY {
                } else if self.is_live(next)? {
                    first = first.union(&ByteSet::range(start, end));
                } else {
                    row[usize::from(start)..=usize::from(end)].fill(Language::EMPTY);
                    changed = true;
                }
            }
            self.arena.set_first(x, first);
            // Searches may have forgotten it.
            if changed || self.arena.row(x).is_none() {
                self.arena.set_row(x, row, run_starts, true);
            } else {
                self.arena.mark_clean(x);
            }
        }
        // Filled above, or when it was made clean.
        self.arena.row(x).ok_or_else(|| over_limit(self))
    }

    /// The derivatives by byte, not checked for emptiness: unlike in [`row`](Self::row), some may be
    /// languages without strings other than [`Language::EMPTY`]. Bytes whose derivatives are equal are
    /// equivalent.
    pub(crate) fn derivative_row(&mut self, x: Language) -> Result<&Row> {
        fill_row(self, x)?;
        // Filled.
        self.arena.row(x).ok_or_else(|| over_limit(self))
    }

    /// The row of successors, if it has been computed.
    #[inline]
    pub fn known_row(&self, x: Language) -> Option<&Row> {
        self.arena.clean_row(x)
    }

    /// The successor by one byte; [`Language::EMPTY`] if the byte may not come.
    ///
    /// A state gets a row of 256 successors once it has been stepped a few times.
    pub fn step(&mut self, x: Language, byte: u8) -> Result<Language> {
        if let Some(row) = self.arena.clean_row(x) {
            return Ok(row[usize::from(byte)]);
        }
        if self.arena.row(x).is_none()
            && !starts_with_stepwise_automaton(self, x)
            && self.arena.count_step(x) >= STEPS_BEFORE_ROW
        {
            fill_row(self, x)?;
        }
        let next = derivative(self, x, byte, 0)?;
        Ok(if self.is_live(next)? { next } else { Language::EMPTY })
    }

    /// The first bytes of its strings.
    pub fn first_bytes(&mut self, x: Language) -> Result<ByteSet> {
        if let Some(first) = self.arena.first(x) {
            return Ok(first);
        }
        let first = match structural_first_bytes(self, x, 0) {
            Some(first) => first,
            None => {
                self.row(x)?;
                return Ok(self.arena.first(x).unwrap_or(ByteSet::EMPTY));
            }
        };
        self.arena.set_first(x, first);
        Ok(first)
    }

    /// Whether the whole of `text` is in it.
    pub fn matches(&mut self, x: Language, text: &[u8]) -> Result<bool> {
        let end = text.iter().try_fold(x, |x, &b| self.step(x, b))?;
        Ok(self.is_nullable(end))
    }
}

/// The first bytes where structure proves them: all parts have strings, and there is neither
/// intersection nor complement.
fn structural_first_bytes(languages: &Languages, x: Language, depth: u32) -> Option<ByteSet> {
    if let Some(first) = languages.arena.first(x) {
        return Some(first);
    }
    if depth > MAX_DEPTH || languages.arena.properties(x).live == Some(false) {
        return None;
    }
    let depth = depth + 1;
    match languages.arena.expr(x) {
        Expression::Set(set) => Some(*set),
        &Expression::Concat(a, b) => {
            if !is_provably_live(languages, b, depth) {
                return None;
            }
            let first = structural_first_bytes(languages, a, depth)?;
            if languages.is_nullable(a) {
                Some(first.union(&structural_first_bytes(languages, b, depth)?))
            } else {
                Some(first)
            }
        }
        Expression::Union(xs) => xs.iter().try_fold(ByteSet::EMPTY, |all, &part| {
            Some(all.union(&structural_first_bytes(languages, part, depth)?))
        }),
        &Expression::Repeat(inner, ..) => structural_first_bytes(languages, inner, depth),
        &Expression::DfaState(dfa, state) => Some(languages.dfas[dfa as usize].first(state)),
        Expression::Intersect(_) => {
            structural_first_bytes(languages, unit_of_every_prefix(languages, x)?, depth)
        }
        Expression::Computed(RunningAutomaton { automaton, state }) => automaton.first_bytes(state),
        Expression::Complement(_) | Expression::Variable(_) | Expression::Unescaped(_) => None,
    }
}
