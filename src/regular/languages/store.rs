//! The arena of languages: interning, and what is remembered of languages.
//!
//! Construction (`construct`), exact derivatives (`exact_derivative`) and emptiness (`emptiness`) are
//! methods of [`Languages`] in files of their own; analyses are functions over it.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::arena::{Arena, Checkpoint};
use super::budget::StateBudget;
use super::dfa::Dfa;
use super::expression::{Expression, Language, UNBOUNDED, VariableDefinition};
use super::memo::Memo;
use super::properties::Properties;
use super::shared_results::SharedResults;
use crate::regular::ByteSet;
use crate::regular::automaton::{Automaton, AutomatonState, RunningAutomaton};

/// The arena of languages: makes them, compares them by identity of structure, and steps them.
///
/// ```
/// use maskwright::regular::{Language, Languages};
/// let mut l = Languages::new();
/// let digit = l.byte_range(b'0', b'9');
/// let digits = l.repeat(digit, 1, Some(3));
/// let zero = l.literal(b"0");
/// let not_zero = l.complement(zero);
/// let both = l.intersect([digits, not_zero]);
/// assert!(l.matches(both, b"10")?);
/// assert!(!l.matches(both, b"0")? && !l.matches(both, b"1000")?);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Languages {
    pub(super) arena: Arena,
    /// Variables with their bodies, by index.
    pub(super) definitions: Vec<VariableDefinition>,
    /// Settled variables, and languages made of them, by fingerprint.
    pub(super) settled: FxHashMap<u128, Language>,
    /// DFAs by index.
    pub(super) dfas: Vec<Arc<Dfa>>,
    /// Index of each DFA by its address, which stays its own as long as `dfas` keeps it.
    dfa_indices: FxHashMap<usize, u32>,
    /// Results that several arenas share, if this one takes part.
    pub(super) shared: Option<Arc<SharedResults>>,
    /// A language `y*` that is known to contain the key; see [`Languages::note_within`].
    pub(super) supersets: FxHashMap<Language, Language>,
    /// By name of an automaton: a language `y*` that contains what its between-character states accept.
    pub(super) texts_by_automaton: FxHashMap<Box<str>, Language>,
    /// Whether any automaton was added that is [read step by step](Automaton::is_stepwise).
    pub(super) has_stepwise_automata: bool,
    /// Scratch space of `derivative::combine`.
    pub(super) row_buffer: Vec<Language>,
    pub(super) memo: Memo,
    pub(crate) budget: StateBudget,
}

impl Default for Languages {
    fn default() -> Self {
        Self::new()
    }
}

impl Languages {
    /// States an arena may hold unless [`Languages::set_limit`] says otherwise.
    pub const DEFAULT_LIMIT: usize = 1 << 20;

    /// An arena that holds only the constants.
    pub fn new() -> Self {
        let mut this = Self {
            arena: Arena::default(),
            definitions: Vec::new(),
            settled: FxHashMap::default(),
            dfas: Vec::new(),
            dfa_indices: FxHashMap::default(),
            shared: None,
            supersets: FxHashMap::default(),
            texts_by_automaton: FxHashMap::default(),
            has_stepwise_automata: false,
            row_buffer: Vec::new(),
            memo: Memo::default(),
            budget: StateBudget::new(Self::DEFAULT_LIMIT),
        };
        let empty = this.intern(Expression::Set(ByteSet::EMPTY));
        // The empty string is the empty set repeated any number of times.
        let epsilon = this.intern(Expression::Repeat(empty, 0, UNBOUNDED));
        let all = this.intern(Expression::Complement(empty));
        debug_assert!((empty, epsilon, all) == (Language::EMPTY, Language::EPSILON, Language::ALL));
        this.arena.set_live(all, true);
        this
    }

    /// Bounds the number of states; a step past it is an error.
    pub fn set_limit(&mut self, states: usize) {
        self.budget.max_states = states;
    }

    /// The number of states made so far.
    pub fn len(&self) -> usize {
        self.arena.len()
    }

    /// Always false: the constants are always there.
    pub fn is_empty(&self) -> bool {
        self.arena.len() == 0
    }

    /// Approximate memory in bytes.
    pub fn memory_bytes(&self) -> usize {
        self.arena.memory_bytes()
            + self.memo.common_successors.capacity() * BYTES_PER_COMMON_SUCCESSOR
    }

    /// The id of an expression, which is new or was interned before.
    pub(super) fn intern(&mut self, expr: Expression) -> Language {
        let Self { arena, definitions, dfas, .. } = self;
        arena.intern(expr, |arena, expr| {
            Properties::of(expr, definitions, dfas, |x| arena.properties(x))
        })
    }

    /// Makes all present languages shared by the arenas that are cloned from this one.
    pub(crate) fn freeze(&mut self) {
        for x in (0..self.arena.len() as u32).map(Language) {
            self.fingerprint(x);
        }
        self.arena.freeze();
    }

    /// The present size, to which [`release`](Self::release) goes back.
    pub(crate) fn mark(&self) -> Checkpoint {
        self.arena.mark()
    }

    /// Drops the languages made since a mark; none of them may be used any more.
    pub(crate) fn release(&mut self, mark: Checkpoint) {
        let before = self.len();
        let left = self.arena.release(mark);
        if left < before {
            let is_kept = |x: Language| x.index() < left;
            self.memo.retain(is_kept);
            self.supersets.retain(|x, wide| is_kept(*x) && is_kept(*wide));
            self.texts_by_automaton.retain(|_, wide| is_kept(*wide));
            self.settled.retain(|_, x| is_kept(*x));
        }
    }

    /// The strings that an automaton accepts from a state.
    pub(crate) fn automaton(
        &mut self,
        automaton: Arc<dyn Automaton>,
        state: AutomatonState,
    ) -> Language {
        self.has_stepwise_automata |= automaton.is_stepwise();
        self.intern(Expression::Computed(RunningAutomaton { automaton, state }))
    }

    /// Whether the empty string is in it.
    pub fn is_nullable(&self, x: Language) -> bool {
        self.arena.properties(x).nullable
    }

    /// Uses results of other arenas, and gives them those of this one.
    pub(crate) fn share(&mut self, tables: &Arc<SharedResults>) {
        self.shared = Some(Arc::clone(tables));
    }

    /// The language of a DFA.
    pub(crate) fn dfa_language(&mut self, dfa: &Arc<Dfa>) -> Language {
        let index = self.dfa_index(dfa);
        self.dfa_state(index, 0)
    }

    /// The index of a DFA in this arena, to which it is added if it is new.
    pub(crate) fn dfa_index(&mut self, dfa: &Arc<Dfa>) -> u32 {
        let next = self.dfas.len() as u32;
        let index = *self.dfa_indices.entry(Arc::as_ptr(dfa) as usize).or_insert(next);
        if index == next {
            self.dfas.push(Arc::clone(dfa));
        }
        index
    }

    /// The strings that a DFA accepts from a state. The empty string alone is always
    /// [`Language::EPSILON`].
    pub(crate) fn dfa_state(&mut self, dfa: u32, state: u32) -> Language {
        let at = &self.dfas[dfa as usize];
        if at.accepts(state) && at.first(state).is_empty() {
            return Language::EPSILON;
        }
        self.intern(Expression::DfaState(dfa, state))
    }
}

/// Approximate memory of one remembered common successor.
const BYTES_PER_COMMON_SUCCESSOR: usize = 32;

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]
mod tests {
    use super::*;
    use crate::regular::languages::arena::MAX_ROWS;

    /// Languages made since a mark are gone, and the older ones are unchanged.
    #[test]
    fn released_states_are_made_anew() {
        let mut l = Languages::new();
        let digits = l.byte_range(b'0', b'9');
        let number = l.repeat(digits, 2, Some(5));
        let other = l.literal(b"666");
        let other = l.complement(other);
        let both = l.intersect([number, other]);
        let before = l.len();
        for many in [10, MAX_ROWS] {
            let mark = l.mark();
            // Rows of states from before, too, which lead to new ones.
            let row = l.row(both).unwrap().map(|next| next != Language::EMPTY);
            let text = l.shortest(both).unwrap();
            for n in 0..many {
                let text = l.literal(format!("{n:06}").as_bytes());
                l.row(text).unwrap();
            }
            l.release(mark);
            assert_eq!(l.len(), before);
            assert!(l.known_row(both).is_none() && l.arena.first(both).is_none());
            // On what was made before, nothing rests that is made then.
            let again = l.mark();
            let letter = l.literal(b"x");
            assert!(!l.matches(letter, b"6").unwrap() && l.matches(letter, b"x").unwrap());
            l.release(again);
            let mark = l.mark();
            let again = l.row(both).unwrap().map(|next| next != Language::EMPTY);
            assert_eq!((row, text), (again, l.shortest(both).unwrap()));
            assert!(l.matches(both, b"6666").unwrap() && !l.matches(both, b"666").unwrap());
            l.release(mark);
        }
    }

    /// More rows than are kept: what was forgotten is found again as it was.
    #[test]
    fn forgotten_rows_come_back() {
        let mut l = Languages::new();
        let digits = l.byte_range(b'0', b'9');
        let number = l.repeat(digits, 2, Some(5));
        let six = l.literal(b"666");
        let other = l.complement(six);
        let both = l.intersect([number, other]);
        let expected = *l.row(both).unwrap();
        for n in 0..MAX_ROWS {
            let text = l.literal(format!("{n:06}").as_bytes());
            l.row(text).unwrap();
        }
        assert!(l.known_row(both).is_none());
        assert_eq!(*l.row(both).unwrap(), expected);
        assert!(l.matches(both, b"6666").unwrap() && !l.matches(both, b"666").unwrap());
        assert!(l.memory_bytes() < 3 << 24);
    }
}
