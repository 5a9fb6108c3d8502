//! Strings of terminals, byte by byte.

use super::remainder::{Remainder, WalkCandidate};
use super::terminal_steps::{draw_byte, simplest_first};
use super::{TextWalk, WalkFailure};
use crate::regular::Language;
use crate::sample::distances::{INFINITE, plus};

impl TextWalk<'_> {
    /// Writes a string of a language; `rest` follows it.
    pub(super) fn read(&mut self, language: Language, rest: Remainder) -> Result<(), WalkFailure> {
        let mut state = language;
        let below = Remainder { goal: INFINITE, ..rest };
        loop {
            self.steps.learn(self.program, self.distances, state)?;
            let steps = self.steps.of(state);
            let can_end = self.program.languages(|languages| languages.is_nullable(state));
            if steps.is_empty() {
                return if can_end { Ok(()) } else { Err(WalkFailure::DeadEnd) };
            }
            if can_end {
                let least = steps.iter().map(|step| step.least).min().unwrap_or(INFINITE);
                let most = steps.iter().map(|step| step.most).max().unwrap_or(0);
                let is_new = steps.iter().any(|step| self.visits.is_new_step(state, step.to));
                let depth = self.stack.len();
                let stop = WalkCandidate { rest: below, depth, is_new: false };
                let on = below.after(plus(least, 1), plus(most, 1));
                // A goal is never a step of a terminal.
                let on = WalkCandidate { rest: on, depth, is_new: is_new && !self.seeks_new };
                let candidates = [stop, on];
                let goes_on = if self.retries == 0 && !self.choices.is_replaying() {
                    self.chooses_longer(&candidates)?
                } else {
                    self.choose(&candidates)? == 1
                };
                if !goes_on {
                    return Ok(());
                }
            }
            state = self.write_byte(state, rest)?;
        }
    }

    /// Whether a string that may end here goes on (the second candidate). It mostly does: strings
    /// of a few characters are more useful than those of one, and where nothing else can make the text as
    /// long as it is meant to be, it does so for longer.
    fn chooses_longer(&mut self, candidates: &[WalkCandidate; 2]) -> Result<bool, WalkFailure> {
        let is_free = candidates.iter().all(|candidate| self.fits(candidate))
            && self.text.len() + candidates[0].rest.most as usize >= self.bounds.min_bytes;
        let heads_for_end =
            self.text.len() + candidates[0].rest.least as usize >= self.target_length;
        if !is_free || heads_for_end || self.seeks_new || candidates[1].is_new {
            return Ok(self.choose(candidates)? == 1);
        }
        let ends_one_in = if self.may_reach_target(&candidates[0]) { 4 } else { 16 };
        let goes_on = !self.choices.one_in(ends_one_in);
        self.choices.record(usize::from(goes_on));
        Ok(goes_on)
    }

    /// Writes one byte of a terminal; the state after it.
    fn write_byte(&mut self, state: Language, rest: Remainder) -> Result<Language, WalkFailure> {
        let steps = self.steps.of(state);
        let written = self.text.len() + 1;
        let mut open: Vec<usize> = (0..steps.len())
            .filter(|&i| {
                let least = plus(steps[i].least, rest.least);
                least != INFINITE && written + least as usize <= self.bounds.max_bytes
            })
            .collect();
        let may_be_long =
            |&i: &usize| written + plus(steps[i].most, rest.most) as usize >= self.bounds.min_bytes;
        if open.iter().any(may_be_long) {
            open.retain(may_be_long);
        }
        open.sort_by_key(|&i| steps[i].least);
        // All bytes, the simplest first.
        let all: Vec<(usize, u8)> = open
            .iter()
            .flat_map(|&i| simplest_first(&steps[i].bytes).map(move |b| (i, b)))
            .collect();
        if all.is_empty() {
            return Err(WalkFailure::DeadEnd);
        }
        let told = if self.retries == 0 && all.len() > 1 {
            self.choices.replayed(all.len())
        } else {
            None
        };
        let at = match told {
            Some(at) => at,
            None if all.len() == 1 => 0,
            None => {
                let mut among = open;
                let least = steps[among[0]].least;
                let heads_for_end =
                    written + plus(least, rest.least) as usize >= self.target_length;
                if heads_for_end && self.retries == 0 {
                    among.retain(|&i| steps[i].least == least);
                }
                let is_new = |&i: &usize| self.visits.is_new_step(state, steps[i].to);
                let is_ascii = |&i: &usize| steps[i].bytes.iter().any(|b| b.is_ascii());
                if among.iter().any(is_new) && self.choices.one_in(2) {
                    among.retain(is_new);
                } else if among.iter().any(is_ascii) && !self.choices.one_in(8) {
                    among.retain(is_ascii);
                }
                let step = among[self.choices.below(among.len() as u32) as usize];
                let byte = draw_byte(&steps[step].bytes, self.choices);
                all.iter().position(|&found| found == (step, byte)).unwrap_or(0)
            }
        };
        if all.len() > 1 {
            self.choices.record(at);
        }
        let (step, byte) = all[at];
        let to = steps[step].to;
        self.text.push(byte);
        if !self.choices.is_replaying() {
            self.visits.record_state(state, steps.len());
            self.visits.record_step(state, to);
        }
        Ok(to)
    }
}
