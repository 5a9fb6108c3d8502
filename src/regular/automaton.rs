//! [`Automaton`]: languages whose automaton is computed state by state, because an expression for them
//! would be too large or does not exist: multiples of a number, numbers with exponents, the texts that
//! are regular expressions.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use regex_syntax::hir::ClassUnicode;

use super::ByteSet;

/// A state, encoded as numbers by its automaton.
pub(crate) type AutomatonState = Box<[i64]>;

/// Characters that hardly change the state, so that tokens of them are known for a whole
/// vocabulary.
#[derive(Clone, Debug)]
pub(crate) struct OrdinaryChars {
    /// Those of ASCII.
    pub(crate) bytes: ByteSet,
    /// Those of ASCII that must not come first.
    pub(crate) later: ByteSet,
    /// Beyond ASCII: `None` for all characters, otherwise the first and the later ones of a text.
    pub(crate) beyond: Option<[&'static ClassUnicode; 2]>,
    /// The state in which a text is read whose last character alone matters: a text of two or more
    /// leads where its last character leads from here. `None` where the whole text matters.
    pub(crate) base: Option<AutomatonState>,
}

/// A bound on the growth of the shortest completion: after another text without a backslash it has at
/// most `base` bytes, and `per_byte` more for each byte of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CompletionGrowth {
    pub(crate) base: usize,
    pub(crate) per_byte: usize,
}

/// A deterministic automaton over bytes that computes its states.
pub(crate) trait Automaton: Debug + Send + Sync {
    /// The identity of the automaton: automata with equal names step alike.
    fn name(&self) -> &str;

    /// Whether the empty string is accepted from a state.
    fn accepts(&self, state: &[i64]) -> bool;

    /// The state after a byte; `None` if no string follows.
    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState>;

    /// The bytes with a successor from which strings are accepted; `None` if that takes as long as
    /// a step with each byte.
    fn first_bytes(&self, _state: &[i64]) -> Option<ByteSet> {
        None
    }

    /// The ordinary characters in a state, if the automaton reads characters and most are ordinary.
    fn ordinary(&self, _state: &[i64]) -> Option<OrdinaryChars> {
        None
    }

    /// Whether any string is accepted from a state; `None` where a search must decide.
    fn is_live(&self, state: &[i64]) -> Option<bool>;

    /// Whether it is known that finitely many strings are accepted.
    fn is_finite(&self) -> bool {
        false
    }

    /// Whether it has infinitely many states, so that determinisation is not tried.
    fn is_infinite_state(&self) -> bool {
        false
    }

    /// Whether rows of 256 successors do not pay: the automaton has many states, of each of which few
    /// successors are used.
    fn is_stepwise(&self) -> bool {
        self.is_infinite_state()
    }

    /// Whether the state is between two characters, in an automaton over characters.
    fn is_at_character_boundary(&self, _state: &[i64]) -> bool {
        false
    }

    /// A short string that completes a state, if it takes no search.
    fn completion(&self, _state: &[i64]) -> Option<Vec<u8>> {
        None
    }

    /// A bound on how much longer the shortest completion gets while a text is read, if one is known.
    fn completion_growth(&self, _state: &[i64]) -> Option<CompletionGrowth> {
        None
    }

    /// Estimated length of a shortest completion. It only orders searches.
    fn completion_estimate(&self, _state: &[i64]) -> u32 {
        1
    }
}

/// An automaton in one of its states.
#[derive(Clone, Debug)]
pub(crate) struct RunningAutomaton {
    pub(crate) automaton: Arc<dyn Automaton>,
    pub(crate) state: AutomatonState,
}

impl PartialEq for RunningAutomaton {
    fn eq(&self, other: &Self) -> bool {
        self.state == other.state && self.automaton.name() == other.automaton.name()
    }
}

impl Eq for RunningAutomaton {}

impl Hash for RunningAutomaton {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.automaton.name().hash(hasher);
        self.state.hash(hasher);
    }
}
