//! A regular language as an automaton of its own, apart from the arena that it was made in.
//!
//! Keywords that take texts from elsewhere (`x-choices-from`) read them through the interface
//! [`Automaton`], whatever JSON makes of their spelling. A list is such an automaton; a pattern or a grammar
//! becomes one here, by its minimal table:
//!
//! ```text
//! [ab]+ in an arena  ──►  table of 2 states  ──►  [ab]+ within a JSON string of another arena
//! ```

use std::sync::Arc;

use super::determinize::determinized;
use super::dfa::Dfa;
use super::expression::Language;
use super::store::Languages;
use crate::error::Result;
use crate::regular::ByteSet;
use crate::regular::automaton::{Automaton, AutomatonState};

/// The minimal automaton of a language; `None` if it has more than `most` states before it is
/// minimised, or accepts nothing.
pub(crate) fn table_automaton(
    languages: &mut Languages,
    x: Language,
    most: usize,
) -> Result<Option<Arc<dyn Automaton>>> {
    let table = determinized(languages, x, None, most, usize::MAX)?;
    Ok(table.map(|table| {
        let name = format!("table {:032x}", table.identity);
        let automaton: Arc<dyn Automaton> = Arc::new(TableAutomaton { name, table });
        automaton
    }))
}

/// The state in which a table begins.
pub(crate) fn table_start() -> AutomatonState {
    [0].into()
}

#[derive(Debug)]
struct TableAutomaton {
    name: String,
    table: Dfa,
}

/// The state of the table.
fn index(state: &[i64]) -> u32 {
    // Only this file encodes states of this automaton, so no other length occurs.
    state.first().map_or(0, |&state| state as u32)
}

impl Automaton for TableAutomaton {
    fn name(&self) -> &str {
        &self.name
    }

    fn accepts(&self, state: &[i64]) -> bool {
        self.table.accepts(index(state))
    }

    fn step(&self, state: &[i64], byte: u8) -> Option<AutomatonState> {
        Some([self.table.step(index(state), byte)?.into()].into())
    }

    fn first_bytes(&self, state: &[i64]) -> Option<ByteSet> {
        Some(self.table.first(index(state)))
    }

    fn is_live(&self, _: &[i64]) -> Option<bool> {
        // A table has no other states.
        Some(true)
    }

    fn completion_estimate(&self, state: &[i64]) -> u32 {
        self.table.shortest_length(index(state))
    }
}
