//! Automata that compute their states, for languages that no expression says as shortly: the
//! multiples of a number, what is written in exponent form.

use std::fmt::Debug;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use regex_syntax::hir::ClassUnicode;

use super::ByteSet;

/// A state, as its automaton writes it.
pub(crate) type AutomatonState = Box<[i64]>;

/// Characters that say little, so that texts of them are known of a vocabulary.
#[derive(Clone, Debug)]
pub(crate) struct OrdinaryChars {
    /// Those of ASCII.
    pub(crate) bytes: ByteSet,
    /// Those of them that must not come first.
    pub(crate) later: ByteSet,
    /// Beyond ASCII: all characters, or the first ones and the later ones of a text.
    pub(crate) beyond: Option<[&'static ClassUnicode; 2]>,
    /// Where a text of two or more ends, its last one alone matters: it leads where it leads from
    /// this state. `None`: the whole text matters.
    pub(crate) base: Option<AutomatonState>,
}

/// How long the rest of a text can become: after another text without a backslash, this many bytes
/// and some for each of its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slack {
    pub(crate) base: usize,
    pub(crate) by_byte: usize,
}

/// A deterministic automaton over bytes, asked for one state at a time.
pub(crate) trait Automaton: Debug + Send + Sync {
    /// Tells automata apart: those with equal names step alike.
    fn name(&self) -> &str;

    /// Is the empty string accepted from here?
    fn accepts(&self, state: &[i64]) -> bool;

    /// The state after a byte; `None` if no string follows.
    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState>;

    /// The bytes that lead on from here to where strings are accepted; `None` if that takes as long
    /// as a step with each.
    fn first(&self, _state: &[i64]) -> Option<ByteSet> {
        None
    }

    /// The characters that are ordinary here, if the automaton reads characters and most are.
    fn ordinary(&self, _state: &[i64]) -> Option<OrdinaryChars> {
        None
    }

    /// Is any string accepted from here? `None`: that is to be searched for.
    fn is_live(&self, state: &[i64]) -> Option<bool>;

    /// Is it known that finitely many strings are accepted?
    fn is_finite(&self) -> bool {
        false
    }

    /// Are its states without end, so that no table of them is worth a try?
    fn is_endless(&self) -> bool {
        false
    }

    /// Are all of its strings texts, and does this state stand between two of their characters?
    fn is_between(&self, _state: &[i64]) -> bool {
        false
    }

    /// A text from here to the end that is short, if it takes no search.
    fn rest(&self, _state: &[i64]) -> Option<Vec<u8>> {
        None
    }

    /// How long the shortest rest can become, if that is known.
    fn slack(&self, _state: &[i64]) -> Option<Slack> {
        None
    }

    /// About how many bytes lead from here to the end, where this is not one: nothing rests on it
    /// but where a search looks first.
    fn effort(&self, _state: &[i64]) -> u32 {
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
