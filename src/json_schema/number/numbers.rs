//! Sets of numbers and their algebra.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::decimal::{Decimal, FIXED_ONLY, FIXED_POWER};
use super::number_list::ListSpellings;
use super::side::BoundSide;
use crate::error::Result;
use crate::json_schema::number::multiple_of::grid::{Literals, MultipleGrid};
use crate::json_schema::number::scientific::{NumberFormula, NumberFormulas};
use crate::json_schema::options::Spelling;
use crate::regular::{Language, Languages};

/// A set of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NumberSet {
    /// Canonical literals.
    pub(crate) language: Language,
    /// Canonical literals of listed values, to which no bound on digits applies.
    pub(crate) listed: Language,
    /// Whether an integer may be written with `.0`; it may not if the schema says `integer`.
    pub(crate) may_have_point: bool,
    /// Whether `language` tells which literals in exponent form belong to it.
    pub(crate) exponents: ExponentForms,
    /// The set as a formula, for exponent forms where every spelling counts.
    pub(crate) formula: NumberFormula,
    /// The set as a grid, if it is all multiples of one number between bounds.
    pub(crate) grid: Option<GridId>,
}

/// The knowledge that a language of numbers has of literals in exponent form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ExponentForms {
    /// Those that it has may not belong to the set.
    Unknown,
    /// Those that it has belong to the set, others may, too: no integer has one here.
    Partial,
    /// Just those that it has belong to the set.
    Exact,
}

/// The index of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct GridId(pub(super) u32);

impl NumberSet {
    pub(crate) const NONE: Self = Self {
        language: Language::EMPTY,
        listed: Language::EMPTY,
        may_have_point: false,
        exponents: ExponentForms::Exact,
        formula: NumberFormula::NONE,
        grid: None,
    };

    /// All canonical literals.
    pub(super) fn all_literals(&self, l: &mut Languages) -> Language {
        l.union([self.language, self.listed])
    }
}

/// The languages that all number sets are made of.
///
/// More than 12 fields: a memo table for each operation on sets of numbers.
#[derive(Clone, Debug)]
pub(crate) struct Numbers {
    pub(super) digit: Language,
    pub(super) nonzero: Language,
    pub(super) digits: Language,
    /// `0` and `-?[1-9][0-9]*`.
    pub(super) plain: Language,
    /// Without sign and exponent.
    pub(super) unsigned: Language,
    /// Without exponent.
    pub(super) fixed: Language,
    /// `-0`, and integers with `.0`.
    pub(super) pointed_integers: Language,
    /// Every canonical literal of an integer without exponent.
    pub(super) integers: Language,
    pub(super) exponent: Language,
    pub(super) all: Language,
    /// The formulas, where every spelling counts.
    pub(super) formulas: Option<NumberFormulas>,
    /// All grids; the first is every number.
    pub(super) grids: Vec<MultipleGrid>,
    pub(super) grid_ids: FxHashMap<MultipleGrid, GridId>,
    pub(super) bounds: FxHashMap<(Decimal, BoundSide, bool), NumberSet>,
    /// The literals to write for a set, by the bound on digits in force.
    pub(super) literals: FxHashMap<NumberSet, Language>,
    /// Long lists, by their canonical literals.
    pub(super) lists: FxHashMap<Language, ListSpellings>,
}

impl Numbers {
    pub(crate) fn new(l: &mut Languages, spelling: Spelling) -> Self {
        let digit = l.byte_range(b'0', b'9');
        let nonzero = l.byte_range(b'1', b'9');
        let digits = l.repeat(digit, 0, None);
        let [zero, point, minus] = [b"0", b".", b"-"].map(|b: &[u8; 1]| l.literal(b));
        let sign = l.union([Language::EPSILON, minus]);
        let natural = l.concat([nonzero, digits]);
        let whole = l.union([zero, natural]);
        let signed = l.concat([sign, natural]);
        let plain = l.union([zero, signed]);
        let dot_zero = l.literal(b".0");
        let with_zero = l.concat([whole, dot_zero]);
        let fraction = l.concat([whole, point, digits, nonzero]);
        let unsigned = l.union([whole, with_zero, fraction]);
        let fixed = l.concat([sign, unsigned]);
        let signed_zero = l.literal(b"-0");
        let signed_pointed = l.concat([sign, with_zero]);
        let pointed_integers = l.union([signed_zero, signed_pointed]);
        let integers = l.union([plain, pointed_integers]);
        let mut this = Self {
            digit,
            nonzero,
            digits,
            plain,
            unsigned,
            fixed,
            pointed_integers,
            integers,
            exponent: Language::EMPTY,
            all: fixed,
            formulas: (spelling == Spelling::Any).then(NumberFormulas::new),
            grids: Vec::new(),
            grid_ids: FxHashMap::default(),
            bounds: FxHashMap::default(),
            literals: FxHashMap::default(),
            lists: FxHashMap::default(),
        };
        this.grid(MultipleGrid::all());
        let mantissa = this.mantissa(l);
        let powers = this.powers(l, None, BoundSide::Above);
        let e = l.literal(b"e");
        this.exponent = l.concat([sign, mantissa, e, powers]);
        this.all = l.union([fixed, this.exponent]);
        this
    }

    /// The language of the literals to write for a set, with at most `digits` digits on each side
    /// of the point; `digits` is the same at every call.
    pub(crate) fn literal_language(
        &mut self,
        l: &mut Languages,
        set: NumberSet,
        digits: u32,
    ) -> Result<Language> {
        if set == NumberSet::NONE {
            return Ok(Language::EMPTY);
        }
        if let Some(&known) = self.literals.get(&set) {
            return Ok(known);
        }
        let text = self.written_as(l, set, digits)?;
        self.literals.insert(set, text);
        Ok(text)
    }

    /// Forgets the literals of all sets, before another bound on digits comes into force.
    pub(crate) fn forget_literals(&mut self) {
        self.literals.clear();
    }

    /// Makes a formula, where every spelling counts.
    pub(crate) fn formula(
        &mut self,
        make: impl FnOnce(&mut NumberFormulas) -> NumberFormula,
    ) -> NumberFormula {
        self.formulas.as_mut().map_or(NumberFormula::NONE, make)
    }

    pub(crate) fn grid(&mut self, grid: MultipleGrid) -> GridId {
        let next = GridId(self.grids.len() as u32);
        *self.grid_ids.entry(grid).or_insert_with_key(|grid| {
            self.grids.push(grid.clone());
            next
        })
    }

    /// The literals of a grid that is decided by digit arithmetic; `None` for others.
    pub(super) fn arithmetic_literals(
        &mut self,
        l: &mut Languages,
        grid: GridId,
    ) -> Option<Language> {
        let grid = &self.grids[grid.0 as usize];
        if !grid.uses_digit_arithmetic() {
            return None;
        }
        let literals = grid.literals(None, grid.plain);
        Some(l.automaton(Arc::new(literals), Literals::start()))
    }

    /// All numbers.
    pub(crate) fn all(&self) -> NumberSet {
        let (language, listed) = (self.all, Language::EMPTY);
        let (formula, grid) = (NumberFormula::ALL, Some(GridId(0)));
        NumberSet {
            language,
            listed,
            may_have_point: true,
            exponents: ExponentForms::Exact,
            formula,
            grid,
        }
    }

    /// All integers; in draft 4, `1.0` is none, but `-0` is.
    pub(crate) fn integers(&mut self, l: &mut Languages, pointed_too: bool) -> NumberSet {
        let further = if pointed_too { self.pointed_integers } else { l.literal(b"-0") };
        let language = l.union([self.plain, further]);
        let grid = MultipleGrid::integers(!pointed_too);
        let formula = if pointed_too {
            self.formula(|formulas| formulas.multiple(&grid))
        } else {
            NumberFormula::NONE
        };
        let grid = Some(self.grid(grid));
        let listed = Language::EMPTY;
        NumberSet {
            language,
            listed,
            may_have_point: false,
            exponents: ExponentForms::Partial,
            formula,
            grid,
        }
    }

    /// A value that the schema lists; `literal` is how it is written there.
    pub(crate) fn listed(
        &mut self,
        l: &mut Languages,
        value: &Decimal,
        literal: &str,
    ) -> NumberSet {
        let literals = Self::literals(value);
        let listed = l.literals(literals.iter().map(String::as_bytes));
        let may_have_point = literal.contains(['.', 'e', 'E']);
        let formula = self.formula(|formulas| formulas.value(value));
        let language = Language::EMPTY;
        NumberSet {
            language,
            listed,
            may_have_point,
            exponents: ExponentForms::Exact,
            formula,
            grid: None,
        }
    }

    /// The canonical literals of a number.
    pub(crate) fn literals(value: &Decimal) -> Vec<String> {
        let mut literals = Vec::new();
        let (_, power) = value.scientific();
        if power.abs() <= FIXED_POWER {
            literals.push(value.to_fixed());
            if value.is_integer() {
                literals.push(value.to_fixed() + ".0");
            }
        }
        if !value.is_zero() && !FIXED_ONLY.contains(&power) {
            literals.push(value.to_scientific());
        }
        if value.is_zero() {
            literals.extend(["-0".into(), "-0.0".into()]);
        }
        literals
    }

    /// The literals that are no integers in their plain spelling, of which each integer has one.
    pub(crate) fn spelled_otherwise(&self, l: &mut Languages, literals: Language) -> Language {
        l.difference(literals, self.plain)
    }

    /// The numbers of a language of literals without exponent, of which those count that are
    /// canonical.
    pub(crate) fn written(&self, l: &mut Languages, literals: Language) -> NumberSet {
        let language = l.intersect([literals, self.fixed]);
        NumberSet {
            language,
            may_have_point: true,
            exponents: ExponentForms::Partial,
            ..NumberSet::NONE
        }
    }

    pub(crate) fn and(&mut self, l: &mut Languages, a: NumberSet, b: NumberSet) -> NumberSet {
        let from_a = self.listed_within(l, a.listed, b);
        let from_b = self.listed_within(l, b.listed, a);
        let grid = match (a.grid, b.grid) {
            (Some(GridId(0)), other) | (other, Some(GridId(0))) => other,
            (Some(one), Some(other)) if one != other => {
                let both = self.grids[one.0 as usize].and(&self.grids[other.0 as usize]);
                both.map(|both| self.grid(both))
            }
            (one, _) => one.and(b.grid),
        };
        let arithmetic = grid.and_then(|grid| self.arithmetic_literals(l, grid));
        NumberSet {
            language: arithmetic.unwrap_or_else(|| l.intersect([a.language, b.language])),
            grid,
            listed: l.union([from_a, from_b]),
            may_have_point: a.may_have_point && b.may_have_point,
            exponents: a.exponents.min(b.exponents),
            formula: self.formula(|formulas| formulas.and(a.formula, b.formula)),
        }
    }

    pub(crate) fn or(&mut self, l: &mut Languages, a: NumberSet, b: NumberSet) -> NumberSet {
        let full = a.language == self.all || b.language == self.all;
        let grid = match (a.language, b.language) {
            (Language::EMPTY, _) => b.grid,
            (_, Language::EMPTY) => a.grid,
            (one, other) if one == other => a.grid,
            _ if full => Some(GridId(0)),
            _ => a.grid.zip(b.grid).and_then(|(one, other)| {
                let either = self.grids[one.0 as usize].or(&self.grids[other.0 as usize])?;
                Some(self.grid(either))
            }),
        };
        // Grids of few remainders are united as languages.
        let arithmetic =
            if full { None } else { grid.and_then(|grid| self.arithmetic_literals(l, grid)) };
        NumberSet {
            language: match arithmetic {
                Some(arithmetic) => arithmetic,
                None if full => self.all,
                None => l.union([a.language, b.language]),
            },
            grid,
            listed: l.union([a.listed, b.listed]),
            may_have_point: a.may_have_point || b.may_have_point,
            exponents: if full { ExponentForms::Exact } else { a.exponents.min(b.exponents) },
            formula: self.formula(|formulas| formulas.or(a.formula, b.formula)),
        }
    }

    pub(crate) fn not(&mut self, l: &mut Languages, a: NumberSet) -> NumberSet {
        let literals = a.all_literals(l);
        let language = l.difference(self.all, literals);
        let listed = Language::EMPTY;
        let formula = self.formula(|formulas| formulas.not(a.formula));
        let exponents = match a.exponents {
            ExponentForms::Exact => ExponentForms::Exact,
            ExponentForms::Partial | ExponentForms::Unknown => ExponentForms::Unknown,
        };
        let grid = a.grid.filter(|_| a.listed == Language::EMPTY);
        let grid = grid.and_then(|grid| self.grids[grid.0 as usize].not());
        let grid = grid.map(|grid| self.grid(grid));
        NumberSet { language, listed, may_have_point: true, exponents, formula, grid }
    }

    /// One literal of each number of a set.
    pub(crate) fn one_each(&self, l: &mut Languages, set: NumberSet) -> Language {
        let literals = set.all_literals(l);
        let one = l.difference(self.fixed, self.pointed_integers);
        l.intersect([literals, one])
    }

    /// Whether the set holds the value.
    pub(crate) fn contains(
        &self,
        l: &mut Languages,
        set: NumberSet,
        value: &Decimal,
        literal: &str,
    ) -> crate::Result<bool> {
        // Draft 4 distinguishes `1.0` from `1`, so the way it is written matters.
        let pointed = value.is_integer() && literal.contains('.');
        let canonical = match value.scientific() {
            (_, power) if power.abs() > FIXED_POWER => value.to_scientific(),
            _ => value.to_fixed() + if pointed { ".0" } else { "" },
        };
        let literals = set.all_literals(l);
        l.matches(literals, canonical.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_interval_without_integers_is_empty_for_integers() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        let one = Decimal::parse("1").unwrap();
        let two = Decimal::parse("2.0").unwrap();
        let above = numbers.bound(&mut l, &one, BoundSide::Above, false);
        let below = numbers.bound(&mut l, &two, BoundSide::Below, false);
        let integers = numbers.integers(&mut l, true);
        let between = numbers.and(&mut l, above, below);
        assert!(l.is_live(between.language).unwrap());
        let none = numbers.and(&mut l, between, integers);
        assert!(!l.is_live(none.language).unwrap());
    }
}
