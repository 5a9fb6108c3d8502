//! Viable prefixes: whether digits begin a number of the set.
//!
//! The exponent is free, so digits `D`, of which `left` more may follow, begin the numbers `(D + i
//! / 10^left) · 10^j`, `i` from 0 to `10^left - 1` and `j` any integer. Bounds and values split those
//! of one `j` into a few runs.
//!
//! Within a run, bounds and values are constant and only divisibility varies. For each assignment of
//! true or false to the divisors: those that must divide, and the power `10^(j - left)`, make the
//! number a multiple of their least common multiple `L`. Write the number as `L · t`; `t` ranges over
//! consecutive integers. The other `k` divisors must not divide, so `t` must avoid the multiples of
//! `k` integers greater than 1. Any `2^k` consecutive integers hold such a `t` (H.-J. Kanold, "Über
//! eine zahlentheoretische Funktion von Jacobsthal", 1967), so testing the first `2^k` suffices.
//!
//! Of the many digits only their remainder by the common multiple of all divisors need be known: a
//! number whose last digit other than 0 stands after the places of a divisor is no multiple of it,
//! and before that, a multiple of the modulus can be taken from `D`.

use num_bigint::BigInt;

use super::super::{FormulaStep, NumberAtom, tens};
use super::{Exponents, GREATER, LESS, Mantissa, START};
use crate::deadline;
use crate::error::Result;
use crate::json_schema::number::BoundSide;
use crate::json_schema::number::multiple_of::arithmetic::{lcm, ten};
use crate::json_schema::number::multiple_of::grid::floor;

/// Numbers `low`, `low + 1`, … `high`, times ten to some power.
struct NumberRun<'a> {
    low: BigInt,
    high: BigInt,
    /// One for each atom: the divisor times ten to that power, if it may divide.
    divisors: &'a [Option<BigInt>],
}

/// The parts into which cuts split the places from 0 to `end`, both ends included: each cut, and
/// what is between two of them.
fn runs(cuts: &[BigInt], end: BigInt) -> Vec<(BigInt, BigInt)> {
    let mut splits: Vec<&BigInt> =
        cuts.iter().filter(|&cut| (&BigInt::ZERO..=&end).contains(&cut)).collect();
    splits.sort_unstable();
    splits.dedup();
    let mut runs = Vec::with_capacity(2 * splits.len() + 1);
    let mut from = BigInt::ZERO;
    for split in splits {
        runs.push((from, split - 1));
        runs.push((split.clone(), split.clone()));
        from = split + 1;
    }
    runs.push((from, end));
    runs
}

impl Exponents {
    /// Whether the digits begin a number other than 0 that is in the set. At most `left` follow.
    pub(crate) fn is_viable(&self, m: &Mantissa, left: u32) -> Result<bool> {
        let Some(length) = m.length() else {
            // The first digit other than 0 is still to come; the sign, too, if nothing is read.
            let Some(left) = left.checked_sub(1) else { return Ok(false) };
            let signs: &[bool] = match m.phase {
                START => &[false, true],
                _ => &[m.negative],
            };
            for (&negative, digit) in
                signs.iter().flat_map(|sign| (b'1'..=b'9').map(move |d| (sign, d)))
            {
                let mut m =
                    Mantissa { negative, power: Some(1), whole: 1, fraction: 0, ..m.clone() };
                m.digit(digit, &self.atoms, &self.modulus);
                if self.is_viable(&m, left)? {
                    return Ok(true);
                }
            }
            return Ok(false);
        };
        let (powers, enough) = self.powers(m, length + m.zeros + i64::from(left));
        for power in powers {
            if self.is_viable_at(m, left, power, enough)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The powers of ten to try, for numbers 0.ddd times ten to the power with `digits` digits in
    /// all, the most promising first; and the power from which on divisors make no difference.
    fn powers(&self, m: &Mantissa, digits: i64) -> (Vec<i64>, i64) {
        let mut powers = Vec::new();
        let mut ends: Option<(i64, i64)> = None;
        for atom in &self.atoms {
            match atom {
                NumberAtom::Multiple(divisor) => {
                    // Up to the first no number is a multiple; from the second on, the last digit
                    // that can be written makes up for 2 and 5.
                    let (low, high) =
                        (-divisor.places, digits + tens(&divisor.step).0 - divisor.places);
                    ends = Some(ends.map_or((low, high), |(a, b)| (a.min(low), b.max(high))));
                }
                NumberAtom::Bound { value, .. } | NumberAtom::Value(value) => {
                    if !value.is_zero() && value.is_negative() == m.negative {
                        let power = value.scientific().1 + 1;
                        powers.extend([power - 1, power, power + 1]);
                    }
                }
            }
        }
        let (low, high) = ends.unwrap_or_default();
        ([high, low].into_iter().chain(powers).chain(low + 1..high).collect(), high)
    }

    /// As [`is_viable`](Self::is_viable), for numbers of the form 0.ddd times ten to this power.
    fn is_viable_at(&self, m: &Mantissa, left: u32, power: i64, enough: i64) -> Result<bool> {
        // Where the last digit that is not 0 stands, and the last that may be written.
        let known = power.min(enough) - m.length().unwrap_or(0);
        let last = known - m.zeros - i64::from(left);
        let places = self.atoms.iter().map(|atom| match atom {
            NumberAtom::Multiple(divisor) => divisor.places,
            _ => 0,
        });
        let scale = places.max().unwrap_or(0).max(-last);
        let shift = |number: &BigInt, power: i64| number * ten(power as u32);
        let divisors: Vec<Option<BigInt>> = self
            .atoms
            .iter()
            .map(|atom| match atom {
                NumberAtom::Multiple(divisor) if known + divisor.places >= 0 => {
                    Some(shift(&divisor.step, scale - divisor.places))
                }
                _ => None,
            })
            .collect();
        // No less than the last one.
        let first = shift(&m.remainder, known + scale);
        let unit = ten((last + scale) as u32);
        // Positions on a line: candidate `i` at `2·i`, the gap between `i` and `i + 1` at `2·i + 1`. A
        // bound or a value is cut at the position of its number.
        let end = ten(left) * 2 - 2;
        let cuts: Vec<BigInt> =
            (0..self.atoms.len()).map(|atom| self.cut(m, atom, left, power, &end)).collect();
        for (from, to) in runs(&cuts, end) {
            let (low, high) = ((&from + 1u8) / 2, floor(&to, &2.into()));
            if low > high {
                continue;
            }
            let mut truths: Vec<Option<bool>> = self
                .atoms
                .iter()
                .enumerate()
                .map(|(i, atom)| {
                    // As sizes; the larger one is the smaller number below zero.
                    let (mut below, mut above) = (to < cuts[i], cuts[i] < from);
                    if m.negative {
                        (below, above) = (above, below);
                    }
                    match atom {
                        NumberAtom::Multiple(_) => divisors[i].is_none().then_some(false),
                        NumberAtom::Value(_) => Some(!below && !above),
                        NumberAtom::Bound { side, inclusive, .. } => Some(match side {
                            BoundSide::Above => above || !below && *inclusive,
                            BoundSide::Below => below || !above && *inclusive,
                        }),
                    }
                })
                .collect();
            let (low, high) = (&first + low * &unit, &first + high * &unit);
            let run = NumberRun { low, high, divisors: &divisors };
            if self.holds_within(&run, &unit, &mut truths)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The place of an atom's value among the numbers of a run: before it and after it, if the
    /// numbers are all larger and all smaller.
    fn cut(&self, m: &Mantissa, atom: usize, left: u32, power: i64, end: &BigInt) -> BigInt {
        let (NumberAtom::Bound { value, .. } | NumberAtom::Value(value)) = &self.atoms[atom] else {
            return BigInt::from(-1);
        };
        let (before, after) = (BigInt::from(-1), end + 1);
        let (digits, point) = value.scientific();
        if value.is_zero() || value.is_negative() != m.negative || power > point + 1 {
            return before;
        }
        if power < point + 1 {
            return after;
        }
        let equal = match m.orders[atom] {
            LESS => return after,
            GREATER => return before,
            equal => equal as usize,
        };
        let (zeros, rest) = {
            let rest = &digits[equal..];
            rest.split_at(rest.len().min(m.zeros as usize))
        };
        if zeros.iter().any(|&digit| digit != b'0') {
            return after;
        }
        let (written, beyond) = rest.split_at(rest.len().min(left as usize));
        let filled = written.iter().copied().chain(std::iter::repeat(b'0')).take(left as usize);
        let place = filled.fold(BigInt::ZERO, |place, digit| place * 10 + (digit - b'0'));
        place * 2 + u8::from(!beyond.is_empty())
    }

    /// Whether a multiple of `step` within a run is in the set, where so much is known of the
    /// atoms.
    fn holds_within(
        &self,
        run: &NumberRun<'_>,
        step: &BigInt,
        truths: &mut [Option<bool>],
    ) -> Result<bool> {
        // There may be as many choices as divisors have subsets.
        deadline::check()?;
        let (first, last) = (floor(&(&run.low - 1), step) + 1, floor(&run.high, step));
        // For each divisor that must not divide: the multiples of `step` that it divides are
        // `step` times the multiples of this factor.
        let others = truths.iter().zip(run.divisors).filter_map(|(truth, divisor)| match truth {
            Some(false) => divisor.as_ref().map(|divisor| lcm(step, divisor) / step),
            _ => None,
        });
        let others: Vec<BigInt> = others.collect();
        if first > last || others.contains(&BigInt::from(1)) {
            return Ok(false);
        }
        let values = self.values(truths);
        match values.last() {
            Some(Some(true)) => {
                let few = BigInt::from(1) << others.len().min(64);
                let tried = last.min(&first + few);
                let mut number = first;
                while number <= tried {
                    if others.iter().all(|other| &number % other != BigInt::ZERO) {
                        return Ok(true);
                    }
                    number += 1;
                }
                Ok(false)
            }
            Some(None) => {
                let Some((atom, divisor)) = self
                    .open_atom(&values)
                    .and_then(|atom| Some((atom, run.divisors[atom].as_ref()?)))
                else {
                    return Ok(false);
                };
                for (truth, step) in [(true, lcm(step, divisor)), (false, step.clone())] {
                    truths[atom] = Some(truth);
                    let holds = self.holds_within(run, &step, truths);
                    truths[atom] = None;
                    if holds? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => Ok(false),
        }
    }

    /// The values of the steps, as far as the atoms are known.
    fn values(&self, truths: &[Option<bool>]) -> Vec<Option<bool>> {
        let mut values: Vec<Option<bool>> = Vec::with_capacity(self.steps.len());
        for step in &self.steps {
            values.push(match *step {
                FormulaStep::None => Some(false),
                FormulaStep::All => Some(true),
                FormulaStep::NumberAtom(i) => truths[i],
                FormulaStep::And(a, b) => match (values[a], values[b]) {
                    (Some(false), _) | (_, Some(false)) => Some(false),
                    (Some(true), other) | (other, Some(true)) => other,
                    _ => None,
                },
                FormulaStep::Or(a, b) => match (values[a], values[b]) {
                    (Some(true), _) | (_, Some(true)) => Some(true),
                    (Some(false), other) | (other, Some(false)) => other,
                    _ => None,
                },
                FormulaStep::Not(a) => values[a].map(|value| !value),
            });
        }
        values
    }

    /// An atom on which it depends what the last step comes to.
    fn open_atom(&self, values: &[Option<bool>]) -> Option<usize> {
        let mut step = self.steps.len().checked_sub(1)?;
        loop {
            step = match self.steps[step] {
                FormulaStep::NumberAtom(atom) => return Some(atom),
                FormulaStep::And(a, b) | FormulaStep::Or(a, b) => {
                    if values[a].is_none() {
                        a
                    } else {
                        b
                    }
                }
                FormulaStep::Not(a) => a,
                FormulaStep::None | FormulaStep::All => return None,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::{NumberFormula, NumberFormulas};
    use super::*;
    use crate::json_schema::number::decimal::Decimal;
    use crate::json_schema::number::multiple_of::grid::MultipleGrid;
    use crate::regular::automaton::Automaton;

    /// All that may be written before the `e` with so many digits on each side of the point.
    fn mantissas(digits: u32) -> Vec<String> {
        let whole = 10u32.pow(digits);
        let mut fractions = vec![String::new()];
        for places in 1..=digits as usize {
            fractions.extend((0..10u32.pow(places as u32)).map(|n| format!(".{n:0places$}")));
        }
        let all =
            ["", "-"].into_iter().flat_map(|sign| (0..whole).map(move |n| format!("{sign}{n}")));
        all.flat_map(|whole| fractions.iter().map(move |fraction| format!("{whole}{fraction}")))
            .collect()
    }

    /// `divisors`: many of them, and small.
    fn formula(
        f: &mut NumberFormulas,
        random: &mut impl FnMut(u32) -> u32,
        depth: u32,
        divisors: bool,
    ) -> NumberFormula {
        let number = |random: &mut dyn FnMut(u32) -> u32| {
            let digits = [1, 10, 100, 1000][random(4) as usize];
            let text = format!("{}e{}", 1 + random(digits), random(5) as i32 - 3);
            Decimal::parse(&text).unwrap()
        };
        let mut choice = random(if depth == 0 { 5 } else { 12 });
        if divisors && (2..5).contains(&choice) && random(4) > 0 {
            choice = 0;
        }
        match choice {
            0 | 1 if divisors => {
                let divisor = format!("{}e{}", 1 + random(12), random(3) as i32 - 1);
                f.multiple(&MultipleGrid::multiples(&Decimal::parse(&divisor).unwrap()).unwrap())
            }
            0 | 1 => f.multiple(&MultipleGrid::multiples(&number(random)).unwrap()),
            2 | 3 => {
                let sign = ["", "-"][random(2) as usize];
                let value = format!("{sign}{}", number(random).to_fixed());
                let side = [BoundSide::Above, BoundSide::Below][random(2) as usize];
                f.bound(&Decimal::parse(&value).unwrap(), side, random(2) == 0)
            }
            4 => f.value(&number(random)),
            5 | 6 => {
                let one = formula(f, random, depth - 1, divisors);
                f.not(one)
            }
            kind => {
                let [a, b] = [(); 2].map(|()| formula(f, random, depth - 1, divisors));
                if kind < 9 { f.or(a, b) } else { f.and(a, b) }
            }
        }
    }

    #[test]
    fn viable_is_what_something_written_begins_with() {
        let digits = 2;
        let mantissas = mantissas(digits);
        let mut seed = 1u64;
        let mut random = |n: u32| {
            seed = seed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((seed >> 33) % u64::from(n)) as u32
        };
        let mut dead = 0;
        for round in 0..120 {
            let mut f = NumberFormulas::new();
            let set = formula(&mut f, &mut random, 3 + round % 2, round % 2 == 1);
            let (atoms, steps) = f.parts(set);
            let (automaton, start) = Exponents::new(atoms, steps, digits);
            let mut viable = std::collections::BTreeSet::new();
            let end = |text: &str| {
                text.bytes().fold(Mantissa::new(&automaton.atoms), |mut m, byte| {
                    automaton.take(&mut m, byte).unwrap();
                    m
                })
            };
            for text in &mantissas {
                if !automaton.exponents(&end(text)).is_empty() {
                    viable.extend((0..=text.len()).map(|n| text[..n].to_owned()));
                }
            }
            assert_eq!(
                automaton.is_live(&start),
                Some(viable.contains("")),
                "{round} {set:?} {f:?}"
            );
            let mut open = vec![(String::new(), start)];
            while let Some((text, state)) = open.pop() {
                for byte in *b"-.0123456789" {
                    let text = format!("{text}{}", char::from(byte));
                    let next = automaton.step(&state, byte);
                    assert_eq!(next.is_some(), viable.contains(&text), "{round} {text} {f:?}");
                    dead += usize::from(next.is_none());
                    open.extend(next.map(|next| (text, next)));
                }
            }
        }
        assert!(dead > 1000, "{dead}");
    }
}
