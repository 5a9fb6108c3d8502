//! Long lists of numbers, as one automaton over the literals of their values.
//!
//! As a trie of expressions, a million listed numbers would be millions of expressions. Here their
//! literals are a [`ChoiceList`], a minimal acyclic automaton, and [`NumberListAutomaton`] reads it.
//! The literals that every integer or fraction has besides are not stored: the automaton adds the `.0`
//! of integers and the zeros at the end of fractions while it reads.
//!
//! ```text
//! [1, 12, 1.5]    stored: 1   1.5   12
//!     canonical:          1   1.0   1.5   12   12.0
//!     written, if a listed value has a point:      1.00…  1.50…  12.00… too
//!     written, if none has one (`[1, 12]`):        1   12
//! ```
//!
//! The canonical literals are what the algebra of number sets computes with. What is written for a
//! list that stands alone is read from the same list in another spelling; for a list within bounds or
//! other conditions it is derived from the canonical literals, as for every set of numbers.
//!
//! *Invariant:* a stored literal is the canonical one of a listed number other than 0, whose further
//! literals are `-0` and `-0.0`, and which is therefore kept apart.

use std::borrow::Cow;
use std::sync::Arc;

use super::decimal::{Decimal, FIXED_ONLY, FIXED_POWER};
use crate::regular::automaton::{Automaton, AutomatonState};
use crate::regular::{ByteSet, ChoiceList, Language, Languages};

/// Values up to which a trie of expressions is made sooner than an automaton.
pub(crate) const MAX_TRIE_NUMBERS: usize = 1_000;

/// The values of a long list, as literals.
#[derive(Debug, Default)]
pub(crate) struct NumberLiterals<'t> {
    pub(super) literals: Vec<Cow<'t, str>>,
    pub(super) kinds: ListedKinds,
}

/// The numbers and literals that a list holds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ListedKinds {
    pub(super) zero: bool,
    fractions: bool,
    /// Whether literals in exponent form are canonical for a value.
    exponents: bool,
    /// Whether the list writes a number with a point or an exponent.
    pub(super) pointed: bool,
}

impl<'t> NumberLiterals<'t> {
    pub(crate) fn with_capacity(values: usize) -> Self {
        Self { literals: Vec::with_capacity(values), kinds: ListedKinds::default() }
    }

    /// Adds a number as it is written, if it is an integer whose one stored literal is this text;
    /// whether it is.
    pub(crate) fn add_integer(&mut self, literal: &'t str) -> bool {
        let digits = literal.strip_prefix('-').unwrap_or(literal);
        let is_short = digits.len() <= FIXED_ONLY.end as usize;
        let is_plain = is_short
            && matches!(digits.as_bytes(), [b'1'..=b'9', rest @ ..] if rest.iter().all(u8::is_ascii_digit));
        if is_plain {
            self.literals.push(Cow::Borrowed(literal));
        }
        is_plain
    }

    /// Adds a number; `literal` is how it is written.
    pub(crate) fn add(&mut self, value: &Decimal, literal: &str) {
        self.kinds.pointed |= literal.contains(['.', 'e', 'E']);
        if value.is_zero() {
            self.kinds.zero = true;
            return;
        }
        self.kinds.fractions |= !value.is_integer();
        let (_, power) = value.scientific();
        if power.abs() <= FIXED_POWER {
            self.literals.push(Cow::Owned(value.to_fixed()));
        }
        if !FIXED_ONLY.contains(&power) {
            self.kinds.exponents = true;
            self.literals.push(Cow::Owned(value.to_scientific()));
        }
    }
}

/// A list whose numbers are not 0, by its canonical literals.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListSpellings {
    kinds: ListedKinds,
    /// The literals to write, where an integer may have no point, and where it may.
    written: [Language; 2],
}

impl ListSpellings {
    /// The canonical literals of a list, and what is written for it.
    pub(super) fn new(
        l: &mut Languages,
        list: &ChoiceList,
        kinds: ListedKinds,
    ) -> (Language, Self) {
        let (literals, start) = list.automaton();
        let start = LiteralPart::Whole.state(Ending::None, Some(&start));
        let mut read_as = |spelling| {
            let automaton = NumberListAutomaton::new(Arc::clone(&literals), spelling);
            l.automaton(Arc::new(automaton), start.clone())
        };
        let canonical = read_as(ListSpelling::Canonical);
        let written = [false, true].map(|pointed| read_as(ListSpelling::Written { pointed }));
        (canonical, Self { kinds, written })
    }

    /// Whether every literal of the list is that of an integer without exponent.
    pub(super) fn are_fixed_integers(&self) -> bool {
        !self.kinds.fractions && !self.kinds.exponents
    }

    /// The literals to write, where integers may have a point or not, and canonical literals an
    /// exponent or not; `None` if they are not known.
    pub(super) fn written(&self, pointed: bool, exponents: bool) -> Option<Language> {
        (exponents || !self.kinds.exponents).then_some(self.written[usize::from(pointed)])
    }
}

/// The literals of the numbers in a list that an automaton accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ListSpelling {
    /// With the `.0` of integers, and without further zeros.
    Canonical,
    /// With any number of zeros at the end of a fraction; `.0` is one if integers may have a point.
    Written { pointed: bool },
}

/// The literals of the numbers in a list. A state is the part of a literal that is being read, how it
/// may end besides as a stored literal, and the state in the stored ones if one of them may follow.
#[derive(Debug)]
struct NumberListAutomaton {
    name: String,
    literals: Arc<dyn Automaton>,
    spelling: ListSpelling,
}

/// The part of a literal in which the next byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LiteralPart {
    Whole = 0,
    Fraction = 1,
    Exponent = 2,
}

/// The state of a literal that is not stored: an integer with a point, or a fraction with zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    /// The literal is none of these.
    None = 0,
    /// A point was read after an integer of the list.
    Point = 1,
    /// Zeros were read after a point or a fraction of the list; the literal may end.
    Zeros = 2,
}

impl LiteralPart {
    fn state(self, ending: Ending, stored: Option<&[i64]>) -> AutomatonState {
        let stored = stored.unwrap_or_default();
        [self as i64, ending as i64].into_iter().chain(stored.iter().copied()).collect()
    }
}

/// A state in parts. The last is the state in the stored literals.
fn read_state(state: &[i64]) -> Option<(LiteralPart, Ending, Option<&[i64]>)> {
    let &[part, ending, ref stored @ ..] = state else { return None };
    let part = match part {
        0 => LiteralPart::Whole,
        1 => LiteralPart::Fraction,
        _ => LiteralPart::Exponent,
    };
    let ending = match ending {
        0 => Ending::None,
        1 => Ending::Point,
        _ => Ending::Zeros,
    };
    Some((part, ending, (!stored.is_empty()).then_some(stored)))
}

impl NumberListAutomaton {
    fn new(literals: Arc<dyn Automaton>, spelling: ListSpelling) -> Self {
        let name = format!("numbers {spelling:?} of {}", literals.name());
        Self { name, literals, spelling }
    }

    /// The state after a byte of a literal that is not stored.
    fn ending_after(
        &self,
        byte: u8,
        (part, ending, stored): (LiteralPart, Ending, Option<&[i64]>),
    ) -> Ending {
        let ends = || stored.is_some_and(|stored| self.literals.accepts(stored));
        let has_point = self.spelling != ListSpelling::Written { pointed: false };
        let has_zeros = self.spelling != ListSpelling::Canonical;
        match (byte, part, ending) {
            (b'.', LiteralPart::Whole, _) if has_point && ends() => Ending::Point,
            (b'0', LiteralPart::Fraction, Ending::Point) => Ending::Zeros,
            (b'0', LiteralPart::Fraction, Ending::Zeros) if has_zeros => Ending::Zeros,
            (b'0', LiteralPart::Fraction, Ending::None) if has_zeros && ends() => Ending::Zeros,
            _ => Ending::None,
        }
    }
}

impl Automaton for NumberListAutomaton {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        read_state(state).is_some_and(|(_, ending, stored)| {
            ending == Ending::Zeros || stored.is_some_and(|stored| self.literals.accepts(stored))
        })
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let (part, _, stored) = read_state(state)?;
        let ending = self.ending_after(byte, read_state(state)?);
        let next = stored.and_then(|stored| self.literals.step(stored, byte));
        let part = match byte {
            b'.' => LiteralPart::Fraction,
            b'e' => LiteralPart::Exponent,
            _ => part,
        };
        (ending != Ending::None || next.is_some()).then(|| part.state(ending, next.as_deref()))
    }

    fn first_bytes(&self, state: &[i64]) -> Option<ByteSet> {
        let read = read_state(state)?;
        let mut first = match read.2 {
            Some(stored) => self.literals.first_bytes(stored)?,
            None => ByteSet::EMPTY,
        };
        for byte in *b".0" {
            if self.ending_after(byte, read) != Ending::None {
                first.insert(byte);
            }
        }
        Some(first)
    }

    fn is_live(&self, _: &[i64]) -> Option<bool> {
        // No other state is entered.
        Some(true)
    }

    fn is_finite(&self) -> bool {
        self.spelling == ListSpelling::Canonical && self.literals.is_finite()
    }

    fn is_stepwise(&self) -> bool {
        self.literals.is_stepwise()
    }

    fn completion(&self, state: &[i64]) -> Option<Vec<u8>> {
        let (_, ending, stored) = read_state(state)?;
        match (ending, stored) {
            (Ending::Zeros, _) => Some(Vec::new()),
            // No stored literal ends with its point.
            (Ending::Point, _) => Some(b"0".to_vec()),
            (Ending::None, stored) => self.literals.completion(stored?),
        }
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        u32::from(!self.accepts(state))
    }
}
