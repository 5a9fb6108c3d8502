//! Temperatures: which one is in force where a text stands.
//!
//! A part with a temperature is a frame without a bound of tokens
//! ([`Point::Budget`](super::point::Point::Budget)). Of the frames of one stack the innermost counts; of
//! several ways to go on the one with the greatest temperature.
//!
//! Example: `start: word number`, `word[temperature=0.9]: /[a-z]+/`, `number: /[0-9]+/`
//!
//! ```text
//! text    ways to go on                      temperature
//! ab      word, in its frame; number         0.9
//! ab1     number                             none of its own
//! ```

use rustc_hash::FxHashSet;

use super::budget_counter::tokens_left;
use super::gss::ReturnStacks;
use super::item::Item;
use super::program::Program;
use crate::grammar::Temperature;

/// The temperature in force at some items, if a part with one is open.
pub(crate) fn temperature(
    program: &Program,
    stacks: &ReturnStacks,
    items: &[Item],
) -> Option<Temperature> {
    if !program.has_temperatures() {
        return None;
    }
    let mut greatest: Option<Temperature> = None;
    let mut todo: Vec<_> = items.iter().map(|item| item.stack).collect();
    let mut seen = FxHashSet::default();
    while let Some(stack) = todo.pop() {
        if !seen.insert(stack) {
            continue;
        }
        for frame in stacks.frames(stack) {
            let is_inside = tokens_left(frame.count).is_some();
            match program.temperature(frame.point).filter(|_| is_inside) {
                Some(here) => {
                    if greatest.is_none_or(|known| known.get() < here.get()) {
                        greatest = Some(here);
                    }
                }
                None => todo.push(frame.below),
            }
        }
    }
    greatest
}
