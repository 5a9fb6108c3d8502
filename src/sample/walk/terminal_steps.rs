//! Steps of terminals' automata, grouped by the state that they lead to.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::regular::{ByteSet, Language};
use crate::sample::choices::Choices;
use crate::sample::distances::Distances;
use crate::sample::program_view::ProgramView;

/// The bytes that lead from one state of a terminal to another.
pub(super) struct TerminalStep {
    pub(super) to: Language,
    pub(super) bytes: ByteSet,
    /// The bytes of the shortest string from `to` on.
    pub(super) least: u32,
    /// An upper bound on the bytes of a string from `to` on.
    pub(super) most: u32,
}

/// By state, its steps, once they were needed.
#[derive(Default)]
pub(super) struct TerminalSteps(FxHashMap<Language, Vec<TerminalStep>>);

impl TerminalSteps {
    /// Computes the steps from a state, unless they are known.
    pub(super) fn learn(
        &mut self,
        program: &ProgramView,
        distances: &mut Distances,
        state: Language,
    ) -> Result<()> {
        if self.0.contains_key(&state) {
            return Ok(());
        }
        let row = program.languages(|languages| languages.row(state).copied())?;
        let mut steps: Vec<TerminalStep> = Vec::new();
        for (byte, to) in (0..=u8::MAX).zip(row) {
            if to == Language::EMPTY {
                continue;
            }
            match steps.iter_mut().find(|step| step.to == to) {
                Some(step) => step.bytes.insert(byte),
                None => {
                    let bytes = ByteSet::from_iter([byte]);
                    let least = distances.least_length(program, to)?;
                    let most = distances.most_length(program, to);
                    steps.push(TerminalStep { to, bytes, least, most });
                }
            }
        }
        self.0.insert(state, steps);
        Ok(())
    }

    /// The steps from a state, which were learned before.
    pub(super) fn of(&self, state: Language) -> &[TerminalStep] {
        &self.0[&state]
    }
}

/// The bytes in the order in which a reader finds them simple: letters, digits, other printable
/// ones, the rest.
pub(super) fn simplest_first(bytes: &ByteSet) -> impl Iterator<Item = u8> + use<> {
    let rank = |b: u8| match b {
        b'a'..=b'z' => 0,
        b'0'..=b'9' => 1,
        b'A'..=b'Z' => 2,
        b' '..=b'~' => 3,
        _ => 4,
    };
    let mut sorted: Vec<u8> = bytes.iter().collect();
    sorted.sort_by_key(|&b| (rank(b), b));
    sorted.into_iter()
}

/// One of the bytes at random: mostly a printable one, often a letter or digit.
pub(super) fn draw_byte(bytes: &ByteSet, choices: &mut Choices) -> u8 {
    let mut among: Vec<u8> = bytes.iter().collect();
    let mut prefer = |wanted: fn(&u8) -> bool, unless_one_in: u32| {
        if among.iter().any(wanted) && !choices.one_in(unless_one_in) {
            among.retain(wanted);
        }
    };
    prefer(|b| matches!(b, b' '..=b'~'), 16);
    prefer(u8::is_ascii_alphanumeric, 2);
    // A step is made of one byte at least.
    among.get(choices.below(among.len().max(1) as u32) as usize).copied().unwrap_or_default()
}
