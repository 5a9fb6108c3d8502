//! Products of patterns beside a counter of units.
//!
//! Counting in the product itself would multiply its states by the number of units. Instead it is
//! tabulated, backwards from acceptance, from which states exactly `n` units lead there; a step
//! asks whether some `n` that the bounds allow is left.

use std::hash::Hash;
use std::sync::Arc;

use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::dfa::Dfa;
use super::keyed_hash::keyed_hash;
use crate::deadline;
use crate::error::Result;
use crate::regular::automaton::{Automaton, AutomatonState};

/// The result of multiplying patterns.
#[derive(Clone, Debug)]
pub(crate) enum Product {
    /// No text meets all of them.
    Empty,
    /// An automaton, where no number of units is asked for.
    Dfa(Arc<Dfa>),
    /// An automaton beside a counter of units.
    Counted(Arc<CountedProduct>),
}

/// The place where a byte cannot continue a unit.
pub(super) const NO_PLACE: u8 = u8::MAX;

/// Transitions by one unit, times numbers of units, up to which acceptance is tabulated.
pub(super) const MAX_COUNT_STEPS: usize = 20_000_000;

/// The texts of an automaton with a bounded number of units. A state is a state of the automaton, a
/// place within a unit, and the number of units that were completed.
#[derive(Debug)]
pub(crate) struct CountedProduct {
    name: String,
    dfa: Arc<Dfa>,
    /// Automaton of one unit: successors by place and byte; place 0 is between two units.
    places: Box<[[u8; 256]]>,
    min: u32,
    max: u32,
    /// By number of units: the states from which exactly that many units lead to acceptance, as bits.
    /// Numbers beyond the last are like the last.
    accepting_after: Vec<Box<[u64]>>,
    /// By state and place within a unit: the states in which the unit may end.
    ends: FxHashMap<(u32, u8), Box<[u32]>>,
}

impl CountedProduct {
    /// `None` if tabulating takes more than [`MAX_COUNT_STEPS`].
    pub(super) fn new(
        dfa: Arc<Dfa>,
        places: Box<[[u8; 256]]>,
        (min, max): (u32, u32),
    ) -> Result<Option<Self>> {
        let name = format!(
            "texts {:032x}",
            keyed_hash(|hasher| (dfa.identity, &places, min, max).hash(hasher))
        );
        let mut this = Self {
            name,
            dfa,
            places,
            min,
            max,
            accepting_after: Vec::new(),
            ends: FxHashMap::default(),
        };
        let states = this.dfa.len() as u32;
        let mut steps = 0;
        for state in 0..states {
            deadline::check()?;
            let ends = this.find_ends(state, 0);
            steps += ends.len();
            this.ends.insert((state, 0), ends);
        }
        let words = states.div_ceil(64) as usize;
        let mut last = vec![0u64; words];
        (0..states).filter(|&s| this.dfa.accepts(s)).for_each(|s| set(&mut last, s));
        this.accepting_after.push(last.into());
        for _ in 0..max {
            deadline::check()?;
            let Some(last) = this.accepting_after.last() else { return Ok(None) };
            let mut next = vec![0u64; words];
            for state in 0..states {
                if this.ends[&(state, 0)].iter().any(|&end| has(last, end)) {
                    set(&mut next, state);
                }
            }
            if **last == *next {
                break;
            }
            this.accepting_after.push(next.into());
            if steps * this.accepting_after.len() > MAX_COUNT_STEPS {
                return Ok(None);
            }
        }
        Ok(Some(this))
    }

    /// The states in which the unit that is begun may end. Those of states within the unit are
    /// stored.
    fn find_ends(&mut self, state: u32, place: u8) -> Box<[u32]> {
        let mut nexts: SmallVec<[(u32, u8); 16]> = SmallVec::new();
        for byte in 0..=u8::MAX {
            let place = self.places[usize::from(place)][usize::from(byte)];
            if place == NO_PLACE {
                continue;
            }
            if let Some(state) = self.dfa.step(state, byte)
                && !nexts.contains(&(state, place))
            {
                nexts.push((state, place));
            }
        }
        let mut ends = Vec::new();
        for (state, place) in nexts {
            if place == 0 {
                ends.push(state);
                continue;
            }
            if !self.ends.contains_key(&(state, place)) {
                let found = self.find_ends(state, place);
                self.ends.insert((state, place), found);
            }
            ends.extend_from_slice(&self.ends[&(state, place)]);
        }
        ends.sort_unstable();
        ends.dedup();
        ends.into()
    }

    /// The least number of units from a state between two units to acceptance, after `count` were
    /// completed.
    fn units_left(&self, state: u32, count: u32) -> Option<u32> {
        let last = self.accepting_after.len() as u32 - 1;
        let (from, to) = (self.min.saturating_sub(count), self.max.checked_sub(count)?);
        // Beyond the last all are alike.
        (from..=to.min(last.max(from)))
            .find(|&n| has(&self.accepting_after[n.min(last) as usize], state))
    }

    /// Whether acceptance can be reached.
    pub(super) fn is_live_at(&self, state: u32, place: u8, count: u32) -> bool {
        match place {
            0 => self.units_left(state, count).is_some(),
            _ => {
                let ends = self.ends.get(&(state, place));
                ends.is_some_and(|ends| {
                    ends.iter().any(|&end| self.units_left(end, count + 1).is_some())
                })
            }
        }
    }
}

/// Whether a bit is set.
fn has(states: &[u64], state: u32) -> bool {
    states[state as usize / 64] >> (state % 64) & 1 == 1
}

/// Sets a bit.
pub(super) fn set(states: &mut [u64], state: u32) {
    states[state as usize / 64] |= 1 << (state % 64);
}

/// State, place and count of an encoded state.
pub(super) fn read(state: &[i64]) -> (u32, u8, u32) {
    match *state {
        [state, place, count] => (state as u32, place as u8, count as u32),
        // Only this file encodes states of this automaton, so no other length occurs.
        _ => (0, 0, 0),
    }
}

impl Automaton for CountedProduct {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        let (state, place, count) = read(state);
        place == 0 && count >= self.min && count <= self.max && self.dfa.accepts(state)
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        let (state, place, count) = read(state);
        let state = self.dfa.step(state, byte)?;
        let place = self.places[usize::from(place)][usize::from(byte)];
        let count = count + u32::from(place == 0);
        let live = place != NO_PLACE && self.is_live_at(state, place, count);
        live.then(|| [state.into(), place.into(), count.into()].into())
    }

    fn is_live(&self, state: &[i64]) -> Option<bool> {
        let (state, place, count) = read(state);
        Some(self.is_live_at(state, place, count))
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        let (state, place, count) = read(state);
        match place {
            0 => self.units_left(state, count).unwrap_or(u32::MAX),
            _ => self.dfa.shortest_length(state),
        }
    }
}
