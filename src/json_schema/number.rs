//! Sets of numbers, as regular languages of number literals.
//!
//! Every decimal has few canonical literals: without exponent and trailing zeros (`-1.5`; an
//! integer also with `.0`), and, where it is very large or very small, in the exponent form that
//! `json.dumps` writes (`8.854e-12`). A set of numbers is the language of its members' canonical
//! literals, so and, or and not are exact, and a bound is an automaton that compares digit by
//! digit. Only [`Numbers::spelling`] allows further zeros at the end and bounds the digits.
//!
//! Where every spelling counts, literals in exponent form are kept apart, as a formula
//! (`scientific`); those without one are written as ever.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::decimal::Decimal;
use super::grid::{Grid, Literals};
use super::multiple::Divisor;
use super::options::Spelling;
use super::scientific::{Formula, Formulas};
use crate::error::Result;
use crate::regex::{Language, Languages};

/// Powers of ten that `json.dumps` writes without an exponent.
const FIXED_ONLY: std::ops::Range<i64> = -4..16;

/// Beyond this power of ten a listed value is written in exponent form only.
const FIXED_POWER: i64 = 400;

/// `d.ddde+XX`, as `json.dumps` writes it.
fn scientific_text(value: &Decimal) -> String {
    let (digits, power) = value.scientific();
    let sign = if value.is_negative() { "-" } else { "" };
    let digits: String = digits.iter().copied().map(char::from).collect();
    let point = if digits.len() > 1 { "." } else { "" };
    let (first, rest) = digits.split_at(1.min(digits.len()));
    format!("{sign}{first}{point}{rest}e{power:+03}")
}

/// A set of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct NumberSet {
    /// Canonical literals.
    pub(super) language: Language,
    /// Canonical literals of listed values, to which no bound on digits applies.
    pub(super) listed: Language,
    /// May an integer be written with `.0`? Not if the schema says `integer`.
    pub(super) pointed: bool,
    /// Does `language` say exactly which literals in exponent form belong to it?
    pub(super) exponents: bool,
    /// The set once more, for exponent forms where every spelling counts.
    pub(super) formula: Formula,
    /// What `language` holds, if it is all multiples of one number between bounds.
    pub(super) grid: Option<GridId>,
}

/// A grid, as an index into those made so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct GridId(u32);

impl NumberSet {
    pub(super) const NONE: Self = Self {
        language: Language::EMPTY,
        listed: Language::EMPTY,
        pointed: false,
        exponents: true,
        formula: Formula::NONE,
        grid: None,
    };

    /// All of its literals.
    fn whole(&self, l: &mut Languages) -> Language {
        l.union([self.language, self.listed])
    }
}

/// Which side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Side {
    Above,
    Below,
}

/// The languages that all number sets are made of.
#[derive(Clone, Debug)]
pub(super) struct Numbers {
    digit: Language,
    nonzero: Language,
    digits: Language,
    /// `0` and `-?[1-9][0-9]*`.
    plain: Language,
    /// Without sign and exponent.
    unsigned: Language,
    /// Without exponent.
    fixed: Language,
    /// `-0`, and integers with `.0`.
    pointed: Language,
    exponent: Language,
    all: Language,
    /// Where every spelling counts.
    formulas: Option<Formulas>,
    /// The first is every number.
    grids: Vec<Grid>,
    grid_ids: FxHashMap<Grid, GridId>,
    bounds: FxHashMap<(Decimal, Side, bool), NumberSet>,
}

impl Numbers {
    pub(super) fn new(l: &mut Languages, spelling: Spelling) -> Self {
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
        let pointed = l.union([signed_zero, signed_pointed]);
        let mut this = Self {
            digit,
            nonzero,
            digits,
            plain,
            unsigned,
            fixed,
            pointed,
            exponent: Language::EMPTY,
            all: fixed,
            formulas: (spelling == Spelling::Any).then(Formulas::new),
            grids: Vec::new(),
            grid_ids: FxHashMap::default(),
            bounds: FxHashMap::default(),
        };
        this.grid(Grid::all());
        let mantissa = this.mantissa(l);
        let powers = this.powers(l, None, Side::Above);
        let e = l.literal(b"e");
        this.exponent = l.concat([sign, mantissa, e, powers]);
        this.all = l.union([fixed, this.exponent]);
        this
    }

    /// A formula, where they are kept.
    pub(super) fn formula(&mut self, make: impl FnOnce(&mut Formulas) -> Formula) -> Formula {
        self.formulas.as_mut().map_or(Formula::NONE, make)
    }

    /// Does every spelling count?
    pub(super) fn knows_formulas(&self) -> bool {
        self.formulas.is_some()
    }

    pub(super) fn grid(&mut self, grid: Grid) -> GridId {
        let next = GridId(self.grids.len() as u32);
        *self.grid_ids.entry(grid).or_insert_with_key(|grid| {
            self.grids.push(grid.clone());
            next
        })
    }

    /// The literals of a grid that is too fine for an automaton of remainders.
    fn fine(&mut self, l: &mut Languages, grid: GridId) -> Option<Language> {
        let grid = &self.grids[grid.0 as usize];
        if !grid.is_fine() {
            return None;
        }
        let literals = grid.literals(None, grid.plain);
        Some(l.automaton(Arc::new(literals), Literals::start()))
    }

    /// All numbers.
    pub(super) fn all(&self) -> NumberSet {
        let (language, listed) = (self.all, Language::EMPTY);
        let (formula, grid) = (Formula::ALL, Some(GridId(0)));
        NumberSet { language, listed, pointed: true, exponents: true, formula, grid }
    }

    /// All integers; in draft 4, `1.0` is none, but `-0` is.
    pub(super) fn integers(&mut self, l: &mut Languages, pointed_too: bool) -> NumberSet {
        let further = if pointed_too { self.pointed } else { l.literal(b"-0") };
        let language = l.union([self.plain, further]);
        let formula = match Divisor::new(&Decimal::one()).filter(|_| pointed_too) {
            Some(one) => self.formula(|formulas| formulas.multiple(&one)),
            None => Formula::NONE,
        };
        let grid = Some(self.grid(Grid::integers(!pointed_too)));
        let listed = Language::EMPTY;
        NumberSet { language, listed, pointed: false, exponents: false, formula, grid }
    }

    /// A value that the schema lists; `literal` is how it is written there.
    pub(super) fn listed(
        &mut self,
        l: &mut Languages,
        value: &Decimal,
        literal: &str,
    ) -> NumberSet {
        let mut literals = Vec::new();
        let (_, power) = value.scientific();
        if power.abs() <= FIXED_POWER {
            literals.push(value.to_fixed());
            if value.is_integer() {
                literals.push(value.to_fixed() + ".0");
            }
        }
        if !value.is_zero() && !FIXED_ONLY.contains(&power) {
            literals.push(scientific_text(value));
        }
        if value.is_zero() {
            literals.extend(["-0".into(), "-0.0".into()]);
        }
        let listed = l.literals(literals.iter().map(String::as_bytes));
        let pointed = literal.contains(['.', 'e', 'E']);
        let formula = self.formula(|formulas| formulas.value(value));
        let language = Language::EMPTY;
        NumberSet { language, listed, pointed, exponents: true, formula, grid: None }
    }

    /// Everything on one side of a bound, and the bound itself if `inclusive`.
    pub(super) fn bound(
        &mut self,
        l: &mut Languages,
        value: &Decimal,
        side: Side,
        inclusive: bool,
    ) -> NumberSet {
        let key = (value.clone(), side, inclusive);
        if let Some(&known) = self.bounds.get(&key) {
            return known;
        }
        let set = self.beyond(l, value, side, inclusive);
        self.bounds.insert(key, set);
        set
    }

    fn beyond(
        &mut self,
        l: &mut Languages,
        value: &Decimal,
        side: Side,
        inclusive: bool,
    ) -> NumberSet {
        let size = value.magnitude();
        let minus = l.literal(b"-");
        // The bound cuts on its own side of zero; on the other, all belongs or nothing.
        let outward = value.is_zero() || (side == Side::Below) == value.is_negative();
        let toward = if outward { Side::Above } else { Side::Below };
        let cut_fixed = self.compare(l, &size, toward, inclusive);
        let cut_exponent = self.compare_exponent(l, &size, toward, inclusive);
        let cut = l.union([cut_fixed, cut_exponent]);
        let mantissa = self.mantissa(l);
        let e = l.literal(b"e");
        let powers = self.powers(l, None, Side::Above);
        let unsigned_exponent = l.concat([mantissa, e, powers]);
        let unsigned = l.union([self.unsigned, unsigned_exponent]);
        let (positive, negative) = if value.is_zero() {
            let zeros = match inclusive {
                true => l.literals([&b"0"[..], b"0.0"]),
                false => Language::EMPTY,
            };
            match side {
                Side::Above => (cut, zeros),
                Side::Below => (zeros, cut),
            }
        } else {
            match (side, value.is_negative()) {
                (Side::Above, false) => (cut, Language::EMPTY),
                (Side::Below, true) => (Language::EMPTY, cut),
                (Side::Above, true) => (unsigned, cut),
                (Side::Below, false) => (cut, unsigned),
            }
        };
        let negative = l.concat([minus, negative]);
        let language = l.union([positive, negative]);
        let formula = self.formula(|formulas| formulas.bound(value, side, inclusive));
        let grid = Some(self.grid(Grid::bound(value, side, inclusive)));
        let listed = Language::EMPTY;
        NumberSet { language, listed, pointed: true, exponents: true, formula, grid }
    }

    /// Unsigned literals without exponent on one side of `b`, which is not negative.
    fn compare(&self, l: &mut Languages, b: &Decimal, side: Side, inclusive: bool) -> Language {
        let fraction = b.fraction_digits();
        let equal = self.compare_fraction(l, fraction.as_bytes(), side, inclusive, true);
        let free = self.fraction(l, true);
        self.compare_whole(l, b.whole_digits().as_bytes(), side, equal, free)
    }

    /// What may follow the whole part: nothing, or a fraction.
    fn fraction(&self, l: &mut Languages, dot_zero: bool) -> Language {
        let point = l.literal(b".");
        let fraction = l.concat([point, self.digits, self.nonzero]);
        let zero = if dot_zero { l.literal(b".0") } else { Language::EMPTY };
        l.union([Language::EPSILON, fraction, zero])
    }

    /// Whole parts without leading zeros on one side of `whole`, followed by `free`; and `whole`
    /// itself, followed by `equal`.
    fn compare_whole(
        &self,
        l: &mut Languages,
        whole: &[u8],
        side: Side,
        equal: Language,
        free: Language,
    ) -> Language {
        let n = whole.len();
        let mut same_length = equal;
        for (i, &d) in whole.iter().enumerate().rev() {
            let least = if i == 0 && n > 1 { b'1' } else { b'0' };
            let other = match side {
                Side::Above => l.byte_range(d + 1, b'9'),
                Side::Below => l.byte_range(least, d - 1),
            };
            let rest = l.repeat(self.digit, (n - 1 - i) as u32, Some((n - 1 - i) as u32));
            let other = l.concat([other, rest, free]);
            let this = l.literal(&[d]);
            let this = l.concat([this, same_length]);
            same_length = l.union([this, other]);
        }
        let lengths = match side {
            Side::Above => l.repeat(self.digit, n as u32, None),
            Side::Below if n > 1 => l.repeat(self.digit, 0, Some(n as u32 - 2)),
            Side::Below => Language::EMPTY,
        };
        let mut other_length = l.concat([self.nonzero, lengths, free]);
        if side == Side::Below && n > 1 {
            let zero = l.literal(b"0");
            let zero = l.concat([zero, free]);
            other_length = l.union([other_length, zero]);
        }
        l.union([same_length, other_length])
    }

    /// Fractions (with their point, or empty) on one side of `.digits`.
    fn compare_fraction(
        &self,
        l: &mut Languages,
        digits: &[u8],
        side: Side,
        inclusive: bool,
        dot_zero: bool,
    ) -> Language {
        let point = l.literal(b".");
        let zero = if dot_zero { l.literal(b".0") } else { Language::EMPTY };
        let longer = l.concat([self.digits, self.nonzero]);
        let any = l.union([Language::EPSILON, longer]);
        let end = if inclusive { Language::EPSILON } else { Language::EMPTY };
        if digits.is_empty() {
            let equal =
                if inclusive { l.union([Language::EPSILON, zero]) } else { Language::EMPTY };
            let more = l.concat([point, longer]);
            return match side {
                Side::Above => l.union([equal, more]),
                Side::Below => equal,
            };
        }
        let mut rest = match side {
            Side::Above => l.union([end, longer]),
            Side::Below => end,
        };
        for (i, &d) in digits.iter().enumerate().rev() {
            let this = l.literal(&[d]);
            let this = l.concat([this, rest]);
            rest = match side {
                Side::Above => {
                    let more = l.byte_range(d + 1, b'9');
                    let more = l.concat([more, any]);
                    l.union([this, more])
                }
                Side::Below => {
                    let less = l.byte_range(b'1', d - 1);
                    let less = l.concat([less, any]);
                    let with_zero = if d > b'0' {
                        let zero = l.literal(b"0");
                        l.concat([zero, longer])
                    } else {
                        Language::EMPTY
                    };
                    // A proper prefix is smaller; it may end here if it does not end in zero.
                    let stops = i > 0 && digits[i - 1] != b'0';
                    let stop = if stops { Language::EPSILON } else { Language::EMPTY };
                    l.union([this, less, with_zero, stop])
                }
            };
        }
        let fraction = l.concat([point, rest]);
        match side {
            Side::Above => fraction,
            Side::Below => l.union([Language::EPSILON, zero, fraction]),
        }
    }

    /// `[1-9](.[0-9]*[1-9])?`
    fn mantissa(&self, l: &mut Languages) -> Language {
        let fraction = self.fraction(l, false);
        l.concat([self.nonzero, fraction])
    }

    /// Unsigned literals in exponent form on one side of `b`, which is not negative.
    fn compare_exponent(
        &self,
        l: &mut Languages,
        b: &Decimal,
        side: Side,
        inclusive: bool,
    ) -> Language {
        let e = l.literal(b"e");
        let mantissa = self.mantissa(l);
        if b.is_zero() {
            let powers = match side {
                Side::Above => self.powers(l, None, side),
                Side::Below => Language::EMPTY,
            };
            return l.concat([mantissa, e, powers]);
        }
        let (digits, power) = b.scientific();
        let powers = self.powers(l, Some(power), side);
        let other = l.concat([mantissa, e, powers]);
        if FIXED_ONLY.contains(&power) {
            return other;
        }
        let equal = self.compare_fraction(l, &digits[1..], side, inclusive, false);
        let free = self.fraction(l, false);
        let first = match side {
            Side::Above => l.byte_range(digits[0] + 1, b'9'),
            Side::Below => l.byte_range(b'1', digits[0] - 1),
        };
        let first = l.concat([first, free]);
        let same = l.literal(&digits[..1]);
        let same = l.concat([same, equal]);
        let mantissa = l.union([first, same]);
        let power = l.literal(format!("e{power:+03}").as_bytes());
        let same_power = l.concat([mantissa, power]);
        l.union([other, same_power])
    }

    /// Exponents that `json.dumps` writes (at least +16, at most -05) and that lie strictly on
    /// one side of `than`; all of them if there is no `than`.
    fn powers(&self, l: &mut Languages, than: Option<i64>, side: Side) -> Language {
        let [plus, minus] = [b"+", b"-"].map(|b: &[u8; 1]| l.literal(b));
        let (above, below) = match (than, side) {
            (None, _) => ((Some(15), None), (Some(4), None)),
            (Some(p), Side::Above) => ((Some(p.max(15)), None), (Some(4), Some(-p))),
            (Some(p), Side::Below) => ((Some(15), Some(p)), (Some((-p).max(4)), None)),
        };
        let above = self.between(l, above);
        let below = self.between(l, below);
        let above = l.concat([plus, above]);
        let below = l.concat([minus, below]);
        l.union([above, below])
    }

    /// Natural numbers of at least two digits, `0` before a single one, strictly between.
    fn between(&self, l: &mut Languages, range: (Option<i64>, Option<i64>)) -> Language {
        let zero = l.literal(b"0");
        let single = l.concat([zero, self.nonzero]);
        let several = l.repeat(self.digit, 1, None);
        let several = l.concat([self.nonzero, several]);
        let mut result = l.union([single, several]);
        for (bound, side) in [(range.0, Side::Above), (range.1, Side::Below)] {
            let Some(bound) = bound else { continue };
            if bound <= 0 {
                if side == Side::Below {
                    return Language::EMPTY;
                }
                continue;
            }
            let digits = bound.to_string();
            let (none, free) = (Language::EMPTY, Language::EPSILON);
            let natural = self.compare_whole(l, digits.as_bytes(), side, none, free);
            let two = l.intersect([natural, several]);
            let nine = l.intersect([natural, self.nonzero]);
            let nine = l.concat([zero, nine]);
            let side = l.union([two, nine]);
            result = l.intersect([result, side]);
        }
        result
    }

    /// The numbers of a language of literals without exponent, whichever of them are canonical.
    pub(super) fn written(&self, l: &mut Languages, literals: Language) -> NumberSet {
        let language = l.intersect([literals, self.fixed]);
        NumberSet { language, pointed: true, exponents: false, ..NumberSet::NONE }
    }

    pub(super) fn and(&mut self, l: &mut Languages, a: NumberSet, b: NumberSet) -> NumberSet {
        let (whole_a, whole_b) = (a.whole(l), b.whole(l));
        let from_a = l.intersect([a.listed, whole_b]);
        let from_b = l.intersect([b.listed, whole_a]);
        let grid = match (a.grid, b.grid) {
            (Some(GridId(0)), other) | (other, Some(GridId(0))) => other,
            (Some(one), Some(other)) if one != other => {
                let both = self.grids[one.0 as usize].and(&self.grids[other.0 as usize]);
                both.map(|both| self.grid(both))
            }
            (one, _) => one.and(b.grid),
        };
        let fine = grid.and_then(|grid| self.fine(l, grid));
        NumberSet {
            language: fine.unwrap_or_else(|| l.intersect([a.language, b.language])),
            grid,
            listed: l.union([from_a, from_b]),
            pointed: a.pointed && b.pointed,
            exponents: a.exponents && b.exponents,
            formula: self.formula(|formulas| formulas.and(a.formula, b.formula)),
        }
    }

    pub(super) fn or(&mut self, l: &mut Languages, a: NumberSet, b: NumberSet) -> NumberSet {
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
        // Where their remainders are few they are searched all the same.
        let fine = if full { None } else { grid.and_then(|grid| self.fine(l, grid)) };
        NumberSet {
            language: match fine {
                Some(fine) => fine,
                None if full => self.all,
                None => l.union([a.language, b.language]),
            },
            grid,
            listed: l.union([a.listed, b.listed]),
            pointed: a.pointed || b.pointed,
            exponents: full || a.exponents && b.exponents,
            formula: self.formula(|formulas| formulas.or(a.formula, b.formula)),
        }
    }

    pub(super) fn not(&mut self, l: &mut Languages, a: NumberSet) -> NumberSet {
        let whole = a.whole(l);
        let language = l.difference(self.all, whole);
        let listed = Language::EMPTY;
        let formula = self.formula(|formulas| formulas.not(a.formula));
        let exponents = a.exponents;
        let grid = a.grid.filter(|_| a.listed == Language::EMPTY);
        let grid = grid.and_then(|grid| self.grids[grid.0 as usize].not());
        let grid = grid.map(|grid| self.grid(grid));
        NumberSet { language, listed, pointed: true, exponents, formula, grid }
    }

    /// One literal of each number of a set.
    pub(super) fn one_each(&self, l: &mut Languages, set: NumberSet) -> Language {
        let whole = set.whole(l);
        let one = l.difference(self.fixed, self.pointed);
        l.intersect([whole, one])
    }

    /// Is the value in the set?
    pub(super) fn contains(
        &self,
        l: &mut Languages,
        set: NumberSet,
        value: &Decimal,
        literal: &str,
    ) -> crate::Result<bool> {
        // Draft 4 tells `1.0` from `1`, so the way it is written matters.
        let pointed = value.is_integer() && literal.contains('.');
        let canonical = match value.scientific() {
            (_, power) if power.abs() > FIXED_POWER => scientific_text(value),
            _ => value.to_fixed() + if pointed { ".0" } else { "" },
        };
        let whole = set.whole(l);
        l.matches(whole, canonical.as_bytes())
    }

    /// The literals to write, those of listed values apart: any number of zeros at the end of a
    /// fraction, at most `digits` digits on each side of the point.
    pub(super) fn spelling(
        &self,
        l: &mut Languages,
        set: NumberSet,
        digits: u32,
    ) -> (Language, Language) {
        let fine = self.fine_spelling(l, set, digits);
        if let Some(formulas) = &self.formulas {
            let language = l.intersect([set.language, self.fixed]);
            let free = fine.unwrap_or_else(|| self.pad(l, language, self.fixed));
            let listed = l.intersect([set.listed, self.fixed]);
            let listed = self.pad(l, listed, self.fixed);
            let limit = self.limit(l, digits);
            // Digits of a fine grid are bounded already.
            let free = if fine.is_some() { free } else { l.intersect([free, limit]) };
            let exponents = formulas.language(l, set.formula, digits);
            // Listed values have no other exponent forms than their set.
            return match set.language {
                Language::EMPTY => (free, l.union([listed, exponents])),
                _ => (l.union([free, exponents]), listed),
            };
        }
        let mut usable = if set.exponents { self.all } else { self.fixed };
        if !set.pointed {
            usable = l.difference(usable, self.pointed);
        }
        let listed = self.pad(l, set.listed, usable);
        if let Some(fine) = fine {
            return (fine, listed);
        }
        let free = self.pad(l, set.language, usable);
        let limit = self.limit(l, digits);
        let bounded = l.intersect([free, limit]);
        (bounded, listed)
    }

    /// All literals to write, as an automaton that is cheap to step.
    pub(super) fn written_as(
        &self,
        l: &mut Languages,
        set: NumberSet,
        digits: u32,
    ) -> Result<Language> {
        let (free, listed) = self.spelling(l, set, digits);
        let text = l.union([free, listed]);
        // What computes its states has too many for a table.
        match set.grid.is_some_and(|grid| self.grids[grid.0 as usize].is_fine()) {
            true => Ok(text),
            false => l.compact(text, None),
        }
    }

    /// The same for a grid that is too fine for an automaton of remainders.
    fn fine_spelling(&self, l: &mut Languages, set: NumberSet, digits: u32) -> Option<Language> {
        let grid =
            set.grid.map(|grid| &self.grids[grid.0 as usize]).filter(|grid| grid.is_fine())?;
        // Where every spelling counts, `1.0` is an integer.
        let plain = grid.plain || !set.pointed && self.formulas.is_none();
        let literals = grid.literals(Some(digits.max(1)), plain);
        Some(l.automaton(Arc::new(literals), Literals::start()))
    }

    fn pad(&self, l: &mut Languages, language: Language, usable: Language) -> Language {
        if language == Language::EMPTY {
            return language;
        }
        if language == self.plain {
            return language;
        }
        let used = if language == usable { language } else { l.intersect([language, usable]) };
        let point = l.literal(b".");
        let integer = l.repeat(self.digit, 1, None);
        let minus = l.literal(b"-");
        let sign = l.union([Language::EPSILON, minus]);
        let dotted = l.concat([sign, integer, point, integer]);
        let zero = l.literal(b"0");
        let zeros = l.repeat(zero, 0, None);
        if language == self.all && used == self.all {
            // Said directly: the commonest of all sets deserves the smallest automaton.
            let natural = l.concat([self.nonzero, self.digits]);
            let whole = l.union([zero, natural]);
            let fraction = l.concat([point, integer]);
            let fraction = l.union([Language::EPSILON, fraction]);
            let fixed = l.concat([sign, whole, fraction]);
            return l.union([fixed, self.exponent]);
        }
        let fractions = l.intersect([used, dotted]);
        let padded = l.concat([fractions, zeros]);
        l.union([used, padded])
    }

    fn limit(&self, l: &mut Languages, digits: u32) -> Language {
        let digits = digits.max(1);
        let minus = l.literal(b"-");
        let sign = l.union([Language::EPSILON, minus]);
        let whole = l.repeat(self.digit, 1, Some(digits));
        let point = l.literal(b".");
        let fraction = l.concat([point, whole]);
        let fraction = l.union([Language::EPSILON, fraction]);
        let e = l.literal(b"e");
        let [plus, minus] = [b"+", b"-"].map(|b: &[u8; 1]| l.literal(b));
        // The range of doubles: `json.dumps` writes nothing beyond.
        let large = self.between(l, (None, Some(309)));
        let small = self.between(l, (None, Some(325)));
        let large = l.concat([plus, large]);
        let small = l.concat([minus, small]);
        let power = l.union([large, small]);
        let power = l.concat([e, power]);
        let power = l.union([Language::EPSILON, power]);
        l.concat([sign, whole, fraction, power])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const VALUES: &[&str] = &[
        "0",
        "0.0",
        "-0",
        "-0.0",
        "1",
        "-1",
        "9",
        "10",
        "99",
        "100",
        "101",
        "-100",
        "1.5",
        "0.1",
        "0.05",
        "0.10",
        "0.15",
        "0.3",
        "0.30000000000000004",
        "0.2999",
        "-0.1",
        "-0.3",
        "12.5",
        "12.50",
        "12.05",
        "0.001",
        "1e+16",
        "1.5e+16",
        "9e-05",
        "-2.5e-07",
        "1e+308",
        "1.7e+308",
        "-1e+308",
        "9.9e+307",
        "10000000000000000",
        "0.0001",
        "0.00009",
        "1.00",
    ];

    const BOUNDS: &[&str] = &[
        "0",
        "1",
        "-1",
        "10",
        "99",
        "100",
        "0.1",
        "0.3",
        "0.05",
        "-0.1",
        "12.5",
        "1e16",
        "1.5e16",
        "9e-5",
        "8e-6",
        "-2.5e-7",
        "1e308",
        "0.001",
        "5e-5",
        "-1e308",
        "123456789.000000001",
    ];

    #[test]
    fn bounds_compare_as_values_do() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        for bound in BOUNDS {
            let b = Decimal::parse(bound).unwrap();
            for (side, inclusive) in [
                (Side::Above, true),
                (Side::Above, false),
                (Side::Below, true),
                (Side::Below, false),
            ] {
                let set = numbers.bound(&mut l, &b, side, inclusive);
                let opposite = numbers.not(&mut l, set);
                let (spelled, _) = numbers.spelling(&mut l, set, 20);
                let (outside, _) = numbers.spelling(&mut l, opposite, 20);
                for literal in VALUES {
                    let v = Decimal::parse(literal).unwrap();
                    let expected = match side {
                        Side::Above => v > b || inclusive && v == b,
                        Side::Below => v < b || inclusive && v == b,
                    };
                    let (s, o) = (
                        l.matches(spelled, literal.as_bytes()).unwrap(),
                        l.matches(outside, literal.as_bytes()).unwrap(),
                    );
                    assert_eq!(s, expected, "{literal} {side:?} {inclusive} {bound}");
                    assert_eq!(o, !expected, "{literal} not {side:?} {inclusive} {bound}");
                    assert_eq!(numbers.contains(&mut l, set, &v, literal).unwrap(), expected);
                }
            }
        }
    }

    #[test]
    fn an_open_interval_without_integers_is_empty_for_integers() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        let one = Decimal::parse("1").unwrap();
        let two = Decimal::parse("2.0").unwrap();
        let above = numbers.bound(&mut l, &one, Side::Above, false);
        let below = numbers.bound(&mut l, &two, Side::Below, false);
        let integers = numbers.integers(&mut l, true);
        let between = numbers.and(&mut l, above, below);
        assert!(l.is_live(between.language).unwrap());
        let none = numbers.and(&mut l, between, integers);
        assert!(!l.is_live(none.language).unwrap());
    }

    #[test]
    fn integers_have_one_spelling() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        let set = numbers.integers(&mut l, true);
        let (spelled, _) = numbers.spelling(&mut l, set, 20);
        for (literal, ok) in [
            ("0", true),
            ("-0", false),
            ("1.0", false),
            ("1e+16", false),
            ("01", false),
            ("-7", true),
        ] {
            assert_eq!(l.matches(spelled, literal.as_bytes()).unwrap(), ok, "{literal}");
        }
        assert!(l.matches(spelled, &[b'1'; 20]).unwrap());
        assert!(!l.matches(spelled, &[b'1'; 21]).unwrap());
    }

    #[test]
    fn listed_values_escape_the_bound_on_digits() {
        let mut l = Languages::new();
        let mut numbers = Numbers::new(&mut l, Spelling::Canonical);
        let literal = "123456789012345678901234567890";
        let value = Decimal::parse(literal).unwrap();
        let set = numbers.listed(&mut l, &value, literal);
        let set = numbers.and(&mut l, set, numbers.all());
        let (free, listed) = numbers.spelling(&mut l, set, 20);
        assert!(!l.is_live(free).unwrap());
        assert!(l.matches(listed, literal.as_bytes()).unwrap());
        let other = Decimal::parse("1e400").unwrap();
        let set = numbers.listed(&mut l, &other, "1e400");
        let (_, listed) = numbers.spelling(&mut l, set, 20);
        assert!(l.matches(listed, b"1e+400").unwrap());
    }
}
