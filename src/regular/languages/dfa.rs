//! Minimal deterministic automata as tables.
//!
//! A table is immutable and shared by arenas (`Arc`). A step costs two loads: the class of the
//! byte, then the successor.

mod required_classes;

use std::sync::OnceLock;

use super::dfa::required_classes::Transitions;
use crate::regular::ByteSet;

/// The successor where there is none.
pub(super) const NO_STATE: u32 = u32::MAX;

/// A minimal automaton without dead states; state 0 is the start.
#[derive(Debug)]
pub(crate) struct Dfa {
    /// Equivalence class of each byte: no state distinguishes two bytes of one class.
    pub(super) classes: [u8; 256],
    /// Number of classes.
    pub(super) width: usize,
    /// Successors by state, then by class.
    pub(super) next: Box<[u32]>,
    pub(super) accepts: Box<[bool]>,
    /// By state: the bytes with a successor.
    pub(super) first_bytes: Box<[ByteSet]>,
    /// By state: whether every text over the unit given at compilation can be continued to
    /// acceptance.
    pub(super) accepts_every_prefix: Box<[bool]>,
    /// By state: the length of the shortest accepted string.
    pub(super) shortest_lengths: Box<[u32]>,
    /// By state, on demand: the classes on some path to acceptance.
    pub(super) classes_on_some_path: OnceLock<Box<[ByteSet]>>,
    /// By state, on demand: the classes on every path to acceptance.
    pub(super) classes_on_every_path: OnceLock<Box<[ByteSet]>>,
    /// Keyed hash of the table: the same for equal automata of one process.
    pub(crate) identity: u128,
}

impl Dfa {
    pub(crate) fn step(&self, state: u32, byte: u8) -> Option<u32> {
        Some(self.next[state as usize * self.width + self.class(byte)])
            .filter(|&next| next != NO_STATE)
    }

    /// The equivalence class of a byte.
    pub(crate) fn class(&self, byte: u8) -> usize {
        usize::from(self.classes[usize::from(byte)])
    }

    /// Successors of a state by class.
    pub(crate) fn successors(&self, state: u32) -> impl Iterator<Item = Option<u32>> + '_ {
        let row = &self.next[state as usize * self.width..][..self.width];
        row.iter().map(|&next| (next != NO_STATE).then_some(next))
    }

    pub(crate) fn accepts(&self, state: u32) -> bool {
        self.accepts[state as usize]
    }

    pub(crate) fn first(&self, state: u32) -> ByteSet {
        self.first_bytes[state as usize]
    }

    /// Whether every text over the unit given at compilation can be continued to acceptance.
    pub(crate) fn accepts_every_prefix(&self, state: u32) -> bool {
        self.accepts_every_prefix[state as usize]
    }

    /// The length of the shortest string accepted from a state.
    pub(crate) fn shortest_length(&self, state: u32) -> u32 {
        self.shortest_lengths[state as usize]
    }

    /// The bytes that occur in strings accepted from a state.
    pub(crate) fn possible_bytes(&self, state: u32) -> ByteSet {
        let any = self.classes_on_some_path.get_or_init(|| self.transitions().any());
        let classes = any[state as usize];
        (0..=u8::MAX).filter(|&byte| classes.contains(self.classes[usize::from(byte)])).collect()
    }

    /// Sets of which every string accepted from a state contains a byte: one for each class on
    /// every path.
    pub(crate) fn required_byte_sets(&self, state: u32) -> impl Iterator<Item = ByteSet> + '_ {
        let every = self.classes_on_every_path.get_or_init(|| {
            if self.next.len() * self.width <= MAX_REQUIRED_BYTE_STEPS {
                self.transitions().every(&self.accepts)
            } else {
                vec![ByteSet::EMPTY; self.len()].into()
            }
        });
        every[state as usize].iter().map(|class| {
            (0..=u8::MAX).filter(|&byte| self.classes[usize::from(byte)] == class).collect()
        })
    }

    fn transitions(&self) -> Transitions<'_> {
        Transitions { next: &self.next, width: self.width }
    }

    /// The number of states.
    pub(crate) fn len(&self) -> usize {
        self.accepts.len()
    }

    /// The greatest [`shortest_length`](Self::shortest_length) of all states.
    pub(crate) fn longest_shortest_length(&self) -> usize {
        self.shortest_lengths.iter().copied().max().unwrap_or(0) as usize
    }
}

/// Transitions times classes up to which the classes on every path are computed: one traversal for
/// each class.
pub(super) const MAX_REQUIRED_BYTE_STEPS: usize = 50_000;
