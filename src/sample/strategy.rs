//! Texts of a constraint as a strategy of the `proptest` crate. Needs the feature `proptest`.
//!
//! A failing text shrinks within the language. Not the text is made smaller but the list of choices
//! that has led to it (after MacIver and Donaldson, "Test-case reduction via test-case
//! generation", ECOOP 2020): a list that is cut, or in which a choice is replaced by a simpler one,
//! leads to another text of the language, and is kept if that text is shorter, or as long and of
//! simpler choices.
//!
//! ```
//! use maskwright::ebnf::Dialect;
//! use maskwright::sample::{Bounds, strategy};
//! use maskwright::{Compiler, Vocabulary};
//! use proptest::test_runner::{TestError, TestRunner};
//!
//! let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
//! let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
//! let list = r#"root ::= "[" (item ("," item)*)? "]"
//!               item ::= [0-9]+ | root"#;
//! let lists = strategy::strings(&compiler.grammar(list, Dialect::Gbnf)?, Bounds::default())?;
//! // In a test file: proptest! { #[test] fn reads(text in lists()) { … } }
//! let ran = TestRunner::deterministic().run(&lists, |text| {
//!     // A parser that cannot read a list in a list.
//!     assert!(!text[1..].contains('['), "{text}");
//!     Ok(())
//! });
//! assert!(matches!(ran, Err(TestError::Fail(_, text)) if text == "[[]]"));
//! # Ok::<(), maskwright::Error>(())
//! ```

use proptest::arbitrary::any;
use proptest::strategy::{NewTree, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use super::{Bounds, Texts};
use crate::constraint::Constraint;
use crate::error::{Error, Result};

/// Texts of a constraint, as bytes.
///
/// Errors as [`Texts::new`].
pub fn texts(constraint: &Constraint, bounds: Bounds) -> Result<TextStrategy> {
    Texts::new(constraint, 0)?;
    Ok(TextStrategy { constraint: constraint.clone(), bounds })
}

/// Texts of a constraint whose texts are UTF-8; invalid bytes become U+FFFD.
///
/// Errors as [`Texts::new`].
pub fn strings(
    constraint: &Constraint,
    bounds: Bounds,
) -> Result<impl Strategy<Value = String> + use<>> {
    let texts = texts(constraint, bounds)?;
    Ok(texts.prop_map(|text| String::from_utf8_lossy(&text).into_owned()))
}

/// See [`texts`]. Each text depends on the runner's seed alone, so that one that has failed is
/// found again; it is begun without knowledge of those before.
#[derive(Clone, Debug)]
pub struct TextStrategy {
    constraint: Constraint,
    bounds: Bounds,
}

impl Strategy for TextStrategy {
    type Tree = TextTree;
    type Value = Vec<u8>;

    fn new_tree(&self, runner: &mut TestRunner) -> NewTree<Self> {
        let seed = any::<u64>().new_tree(runner)?.current();
        let draw = || {
            let mut texts = Texts::new(&self.constraint, seed)?.within(self.bounds);
            let text = texts.draw()?;
            let best = DrawnText { text, tape: texts.choices.tape().to_vec() };
            Ok(TextTree { texts, tried: best.clone(), best, next: 0 })
        };
        draw().map_err(|error: Error| error.to_string().into())
    }
}

/// A text with the choices that lead to it.
#[derive(Clone, Debug)]
struct DrawnText {
    text: Vec<u8>,
    tape: Vec<u32>,
}

impl DrawnText {
    /// Whether it is another text that is shorter, or as long and of simpler choices.
    fn is_simpler(&self, other: &Self) -> bool {
        let size = |found: &Self| found.text.len();
        self.text != other.text && (size(self), &self.tape) < (size(other), &other.tape)
    }
}

/// A text and the simpler ones that it shrinks to.
#[derive(Debug)]
pub struct TextTree {
    texts: Texts,
    /// The simplest text that has failed.
    best: DrawnText,
    /// The one that is being tried.
    tried: DrawnText,
    /// The first change of `best` that was not tried.
    next: usize,
}

impl TextTree {
    /// Makes the next change of the best text's choices that leads to a simpler text; whether there
    /// is one.
    fn change(&mut self) -> bool {
        while let Some(tape) = changed(&self.best.tape, self.next) {
            self.next += 1;
            // A list may lead to no text within the limits.
            if let Ok(text) = self.texts.replay(&tape) {
                let found = DrawnText { text, tape: self.texts.choices.tape().to_vec() };
                if found.is_simpler(&self.best) {
                    self.tried = found;
                    return true;
                }
            }
        }
        self.tried = self.best.clone();
        false
    }
}

impl ValueTree for TextTree {
    type Value = Vec<u8>;

    fn current(&self) -> Vec<u8> {
        self.tried.text.clone()
    }

    /// The text that was tried fails: it is the simplest now.
    fn simplify(&mut self) -> bool {
        if self.tried.is_simpler(&self.best) {
            self.best = self.tried.clone();
            self.next = 0;
        }
        self.change()
    }

    /// It does not fail: another change of the simplest that does.
    fn complicate(&mut self) -> bool {
        self.change()
    }
}

/// The list with the change of this number: first parts are left out, long ones before short ones,
/// then choices are made simpler. `None` if there are no more changes.
fn changed(tape: &[u32], mut number: usize) -> Option<Vec<u32>> {
    let mut length = tape.len();
    while length > 0 {
        // At every place for short parts, at every few for long ones.
        let stride = length.div_ceil(4);
        let places = (tape.len() - length) / stride + 1;
        if number < places {
            let at = number * stride;
            return Some([&tape[..at], &tape[at + length..]].concat());
        }
        number -= places;
        length = length * 2 / 3;
    }
    let simpler = |choice: u32| [0, choice / 2, choice.saturating_sub(1)];
    let (at, which) = (number / 3, number % 3);
    let mut changed = tape.to_vec();
    let choice = changed.get_mut(at)?;
    *choice = simpler(*choice)[which];
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_changes_come_to_an_end_and_make_lists_simpler() {
        let tape = [3, 0, 7, 1, 1, 9, 2, 0, 4, 4];
        let changes: Vec<Vec<u32>> = (0..).map_while(|number| changed(&tape, number)).collect();
        assert!(changes[0].is_empty());
        assert!(changes.iter().all(|change| change.len() < tape.len() || change[..] <= tape[..]));
        for at in 0..tape.len() {
            let mut without = tape.to_vec();
            without.remove(at);
            assert!(changes.contains(&without), "without {at}");
        }
    }
}
