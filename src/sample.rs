//! Random texts of a constraint, which a parser must accept, and texts one edit outside of it,
//! which it must reject.
//!
//! [`Texts`] draws them: by a seed, so that the same seed gives the same texts on every machine;
//! between bounds in bytes and in depth; and spread over the constraint: walks head for parts that
//! no text has reached, by the shortest path (after Purdom, "A sentence generator for testing
//! parsers", BIT 12, 1972), and [`Coverage`] says how much was reached.
//!
//! ```
//! use maskwright::ebnf::Dialect;
//! use maskwright::sample::{Bounds, Texts};
//! use maskwright::{Compiler, Vocabulary};
//!
//! let tokens = (0..=255).map(|byte| Some(vec![byte])).collect();
//! let compiler = Compiler::new(Vocabulary::from_tokens(tokens, &[], &[])?);
//! let grammar = r#"
//!     root ::= "[" (item ("," item)*)? "]"
//!     item ::= [0-9]+ | "-" item | root
//! "#;
//! let constraint = compiler.grammar_by_rules(grammar, Dialect::Gbnf)?;
//! let mut texts = Texts::new(&constraint, 7)?.within(Bounds { max_bytes: 40, ..Bounds::default() });
//! for _ in 0..100 {
//!     let text = texts.draw()?;
//!     assert!(text.len() <= 40 && text.first() == Some(&b'['));
//!     let miss = texts.near_miss(&text)?;
//!     let mut matcher = constraint.matcher();
//!     assert!(matcher.accept_bytes(&miss.unwrap()).is_err() || !matcher.is_accepting());
//! }
//! let coverage = texts.coverage();
//! assert!(coverage.rules.is_complete() && coverage.alternatives.is_complete());
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! | module | concept |
//! |---|---|
//! | `program_view` | the compiled program as a graph of points |
//! | `distances` | bytes and calls from each point to the end, and to something new |
//! | `walk` | writes one text, steered by distances and bounds |
//! | `choices` | decisions by a seed, recorded so that `strategy` can shrink them |
//! | `visits`, `coverage` | the parts of the program that texts have reached, and their count |
//! | `near_miss` | one edit of a text |

mod bounds;
mod choices;
mod coverage;
mod distances;
mod near_miss;
mod program_view;
mod visits;
mod walk;

#[cfg(feature = "proptest")]
pub mod strategy;

pub use bounds::Bounds;
pub use coverage::{Coverage, Reached};

use crate::constraint::Constraint;
use crate::deadline;
use crate::error::{Error, ErrorKind, LimitName, Result};
use choices::Choices;
use distances::{Distances, INFINITE};
use program_view::ProgramView;
use visits::Visits;
use walk::{LengthEstimate, TextWalk, WalkFailure, WalkMode};

/// Attempts at a text between the bounds before drawing is an error.
const MAX_TRIES: usize = 400;
/// Attempts, from the first, that may head for something new. Later ones do not, since it may be out of
/// reach within the bounds.
const MAX_SEEKING_TRIES: usize = 20;

/// Random texts of a constraint.
#[derive(Debug)]
pub struct Texts {
    constraint: Constraint,
    program: ProgramView,
    bounds: Bounds,
    distances: Distances,
    visits: Visits,
    choices: Choices,
    /// The measure of alternatives: the cheap one until a text has come to a dead end.
    estimate: LengthEstimate,
    /// Walks towards something new that reached nothing, since the last that did.
    failed_seeks: u32,
}

impl Texts {
    /// Texts of a constraint, by a seed, within the default [`Bounds`].
    ///
    /// Special tokens are no text: alternatives that need one are not taken.
    ///
    /// Errors if every text has a special token in it.
    pub fn new(constraint: &Constraint, seed: u64) -> Result<Self> {
        let program = ProgramView::new(constraint)?;
        let mut distances = Distances::default();
        let start = program.start()?;
        distances.update(&program, None)?;
        if distances.least(start) == INFINITE {
            let message = "every text of the constraint has a special token in it";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("draw texts of the part of the constraint that is text"));
        }
        Ok(Self {
            constraint: constraint.clone(),
            program,
            bounds: Bounds::default(),
            distances,
            visits: Visits::default(),
            choices: Choices::by_seed(seed),
            estimate: LengthEstimate::LowerBound,
            failed_seeks: 0,
        })
    }

    /// The same texts, of another size.
    #[must_use]
    pub fn within(self, bounds: Bounds) -> Self {
        Self { bounds, ..self }
    }

    /// The constraint whose texts they are.
    pub fn constraint(&self) -> &Constraint {
        &self.constraint
    }

    /// Another text.
    ///
    /// Errors if no text within the bounds is found, or if a limit of the constraint is reached; a text
    /// may take as long as compiling may (`time_per_constraint`).
    pub fn draw(&mut self) -> Result<Vec<u8>> {
        let limits = self.constraint.limits().clone();
        limits.compiling(|| self.draw_in_time())
    }

    /// Draws a text within the limit on time.
    fn draw_in_time(&mut self) -> Result<Vec<u8>> {
        self.bound_memory()?;
        // Seeking gets rarer while it brings nothing; it never ends, since bounds may change.
        let seeks_new = self.choices.one_in(2 + self.failed_seeks);
        if seeks_new {
            let visits = &self.visits;
            self.distances.find_goals(&self.program, visits)?;
        }
        let before = self.visits.count();
        let text = self.attempt(seeks_new)?;
        if seeks_new && self.visits.count() == before {
            self.failed_seeks += 1;
        } else if seeks_new {
            self.failed_seeks = 0;
        }
        Ok(text)
    }

    /// The text that a list of choices leads to, for every list: where it ends, the first and
    /// simplest alternative is chosen.
    #[cfg(feature = "proptest")]
    fn replay(&mut self, tape: &[u32]) -> Result<Vec<u8>> {
        self.bound_memory()?;
        self.choices.replay(tape);
        let limits = self.constraint.limits().clone();
        let text = limits.compiling(|| self.attempt(false));
        self.choices.stop_replay();
        text
    }

    /// Begins with an empty view when the memory limit is reached; visits are kept.
    fn bound_memory(&mut self) -> Result<()> {
        if self.program.is_outgrown() {
            self.visits.forget_points(&self.program);
            self.program = ProgramView::new(&self.constraint)?;
            self.distances = Distances::default();
        }
        Ok(())
    }

    /// A text within the bounds, perhaps after some failed walks.
    fn attempt(&mut self, seeks_new: bool) -> Result<Vec<u8>> {
        let Bounds { min_bytes, max_bytes, .. } = self.bounds;
        if min_bytes > max_bytes {
            return Err(self.unfit("the least number of bytes exceeds the greatest"));
        }
        let start = self.program.start()?;
        let mut too_deep = None;
        for tries in 0..MAX_TRIES {
            let seeks_new = seeks_new && tries < MAX_SEEKING_TRIES;
            self.distances.update(&self.program, seeks_new.then_some(&self.visits))?;
            let least = self.distances.least(start);
            if least as usize > self.bounds.max_bytes {
                return Err(self.unfit(&format!("every text has {least} bytes or more")));
            }
            let most = self.distances.most(start);
            if most != INFINITE && (most as usize) < min_bytes {
                return Err(self.unfit(&format!("no text has more than {most} bytes")));
            }
            let depth = self.distances.depth(start);
            if self.bounds.max_depth.is_some_and(|most| (depth as usize) > most) {
                return Err(self.unfit(&format!("each text is {depth} calls deep or more")));
            }
            let walk = TextWalk::new(
                &self.program,
                &mut self.distances,
                &mut self.visits,
                &mut self.choices,
                self.bounds,
                WalkMode { seeks_new, estimate: self.estimate, tries },
            );
            let text = match walk.run(start) {
                Ok(text) => text,
                Err(WalkFailure::DeadEnd) => {
                    if !seeks_new {
                        self.estimate = LengthEstimate::ShortestFound;
                    }
                    continue;
                }
                Err(WalkFailure::Error(error)) => return Err(error),
            };
            if text.len() < self.bounds.min_bytes {
                continue;
            }
            // A text may nest deeper than a matcher follows; others of its length may not.
            match self.accepts(&text) {
                Ok(true) => return Ok(text),
                // Never seen to happen; a text that the matcher refuses is not returned.
                Ok(false) => {
                    let text = String::from_utf8_lossy(&text);
                    let message = format!("the matcher refuses {text:?}");
                    return Err(Error::new(ErrorKind::Rejected, message));
                }
                Err(error) if error.kind() == ErrorKind::Limit && !deadline::is_over() => {
                    too_deep = Some(error);
                }
                Err(error) => return Err(error),
            }
        }
        if let Some(error) = too_deep {
            return Err(error);
        }
        let message = match self.program.shortest_bytes(start) {
            Some(bytes) if bytes as usize > self.bounds.max_bytes => {
                // Lengths saturate there.
                let more = if bytes == u32::MAX { "at least " } else { "" };
                format!("the shortest text that was found has {more}{bytes} bytes")
            }
            _ => format!("no text was found in {MAX_TRIES} tries"),
        };
        Err(self.unfit(&message))
    }

    /// The error that no text keeps the bounds.
    fn unfit(&self, message: &str) -> Error {
        let Bounds { min_bytes, max_bytes, max_depth } = self.bounds;
        let depth = max_depth.map(|depth| format!(" and {depth} calls deep")).unwrap_or_default();
        Error::new(
            ErrorKind::Request,
            format!("{message}, asked for were {min_bytes} to {max_bytes} bytes{depth}"),
        )
        .with_help("give other bounds")
    }

    /// Whether a matcher accepts a whole text.
    fn accepts(&self, text: &[u8]) -> Result<bool> {
        let mut matcher = self.constraint.matcher();
        match matcher.accept_bytes(text) {
            Ok(()) => Ok(matcher.is_accepting()),
            Err(error) if error.kind() == ErrorKind::Rejected => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// A text that the constraint does not accept, one edit away from one that it does: a
    /// character or byte put in, taken out, changed, or two neighbours swapped. The matcher has
    /// refused it. UTF-8 stays UTF-8. `None` if the constraint accepts every edit that was tried; an edit that nests
    /// beyond [`Limits::depth`](crate::Limits::depth) is passed over, and an error if there was no other.
    pub fn near_miss(&mut self, text: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut too_deep = None;
        for _ in 0..near_miss::MAX_TRIES {
            let edited = near_miss::edit(text, &mut self.choices);
            if edited == text {
                continue;
            }
            match self.accepts(&edited) {
                Ok(true) => {}
                Ok(false) => return Ok(Some(edited)),
                Err(error) if error.limit() == Some(LimitName::Depth) => too_deep = Some(error),
                Err(error) => return Err(error),
            }
        }
        too_deep.map_or(Ok(None), Err)
    }

    /// The part of the constraint that the texts so far have reached.
    pub fn coverage(&self) -> Coverage {
        coverage::measure(&self.visits, &self.program, &self.distances)
    }
}
