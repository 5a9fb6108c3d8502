//! Minimal deterministic automata as tables.

mod required_classes;

use super::dfa::required_classes::Transitions;
use crate::regular::ByteSet;
use std::sync::OnceLock;

/// No successor.
pub(super) const NO_STATE: u32 = u32::MAX;

/// A minimal automaton without dead states; the first state is where it starts.
#[derive(Debug)]
pub(crate) struct Dfa {
    /// The class of each byte; bytes of one class are treated alike everywhere.
    pub(super) classes: [u8; 256],
    pub(super) width: usize,
    /// By state, then by class: the next state.
    pub(super) next: Box<[u32]>,
    pub(super) accepts: Box<[bool]>,
    pub(super) first: Box<[ByteSet]>,
    /// By state: can every string of the unit that it was made with be continued to the end?
    pub(super) total: Box<[bool]>,
    /// By state: the least bytes that it needs to accept.
    pub(super) rest: Box<[u32]>,
    /// By state, once asked for: the classes on any way to the end, and on every one.
    pub(super) any: OnceLock<Box<[ByteSet]>>,
    pub(super) every: OnceLock<Box<[ByteSet]>>,
    pub(crate) identity: u128,
}

impl Dfa {
    pub(crate) fn step(&self, state: u32, byte: u8) -> Option<u32> {
        Some(self.next[state as usize * self.width + self.class(byte)])
            .filter(|&next| next != NO_STATE)
    }

    /// The class of a byte.
    pub(crate) fn class(&self, byte: u8) -> usize {
        usize::from(self.classes[usize::from(byte)])
    }

    /// Where a state leads, by class.
    pub(crate) fn successors(&self, state: u32) -> impl Iterator<Item = Option<u32>> + '_ {
        let row = &self.next[state as usize * self.width..][..self.width];
        row.iter().map(|&next| (next != NO_STATE).then_some(next))
    }

    pub(crate) fn accepts(&self, state: u32) -> bool {
        self.accepts[state as usize]
    }

    pub(crate) fn first(&self, state: u32) -> ByteSet {
        self.first[state as usize]
    }

    pub(crate) fn is_total(&self, state: u32) -> bool {
        self.total[state as usize]
    }

    /// The length of the shortest string that is accepted from a state.
    pub(crate) fn least_rest(&self, state: u32) -> u32 {
        self.rest[state as usize]
    }

    /// The bytes that strings accepted from a state are made of.
    pub(crate) fn bytes(&self, state: u32) -> ByteSet {
        let any = self.any.get_or_init(|| self.ways().any());
        let classes = any[state as usize];
        (0..=u8::MAX).filter(|&byte| classes.contains(self.classes[usize::from(byte)])).collect()
    }

    /// Sets of which each string that is accepted from a state has a byte.
    pub(crate) fn needed(&self, state: u32) -> impl Iterator<Item = ByteSet> + '_ {
        let every = self.every.get_or_init(|| {
            match self.next.len() * self.width <= MAX_REQUIRED_BYTE_STEPS {
                true => self.ways().every(&self.accepts),
                false => vec![ByteSet::EMPTY; self.len()].into(),
            }
        });
        every[state as usize].iter().map(|class| {
            (0..=u8::MAX).filter(|&byte| self.classes[usize::from(byte)] == class).collect()
        })
    }

    fn ways(&self) -> Transitions<'_> {
        Transitions { next: &self.next, width: self.width }
    }

    /// The number of states.
    pub(crate) fn len(&self) -> usize {
        self.accepts.len()
    }

    /// The most bytes that a state needs to accept.
    pub(crate) fn longest_rest(&self) -> usize {
        self.rest.iter().copied().max().unwrap_or(0) as usize
    }
}

/// Steps from state to state that are worth finding out which of them every string takes.
pub(super) const MAX_REQUIRED_BYTE_STEPS: usize = 50_000;
