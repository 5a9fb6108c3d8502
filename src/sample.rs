//! Random texts of a constraint, for feeding parsers with what they must accept, and texts one edit
//! outside of it, for what they must reject.
//!
//! [`Texts`] draws them: by a seed, so that the same seed gives the same texts on every machine;
//! between bounds in bytes and in depth; and spread over the constraint: what no text has reached
//! yet is headed for, by the shortest way (after Purdom, "A sentence generator for testing
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

mod choices;
mod coverage;
mod distances;
mod near_miss;
mod plan;
mod walk;

#[cfg(feature = "proptest")]
pub mod strategy;

pub use coverage::{Coverage, Reached};

use crate::constraint::Constraint;
use crate::error::{Error, ErrorKind, Result};
use choices::Choices;
use coverage::Visits;
use distances::{Distances, FAR};
use plan::Plan;
use walk::{Manner, Stop, Walk};

/// How often a text is begun again where one cannot be brought between the bounds.
const TRIES: usize = 400;
/// How many of these head for what was not reached.
const HUNTS: usize = 20;

/// The size of texts.
///
/// A text that is drawn always keeps them. The upper bounds steer the walk by the least number of
/// bytes (of nested calls) that every alternative takes to the end. For grammars, patterns and
/// choices this number is exact, so that where any text keeps `max_bytes` one is found without a
/// second try. For schemas it is a lower bound that grows with what was seen of the schema; once a
/// text has come to a dead end, they are steered by the shortest text that is found instead. The
/// lower bound on bytes is steered by an estimate from above. So texts may be begun again, and
/// after 400 beginnings in vain drawing is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// No text is shorter.
    pub min_bytes: usize,
    /// No text is longer.
    pub max_bytes: usize,
    /// Rules that call each other: no more may be open at once, those left out whose call ends the
    /// caller. Without a bound if `None`.
    pub max_depth: Option<usize>,
}

impl Default for Bounds {
    /// Up to 200 bytes.
    fn default() -> Self {
        Self { min_bytes: 0, max_bytes: 200, max_depth: None }
    }
}

/// Random texts of a constraint.
#[derive(Debug)]
pub struct Texts {
    constraint: Constraint,
    plan: Plan,
    bounds: Bounds,
    distances: Distances,
    visits: Visits,
    choices: Choices,
    /// Has a text come to a dead end? Then all are measured by what is known to end them.
    careful: bool,
    /// Walks in vain towards what was not reached yet, since the last that reached something.
    vain: u32,
}

impl Texts {
    /// Texts of a constraint, by a seed, within the default [`Bounds`].
    ///
    /// Special tokens are no text: alternatives that need one are not taken.
    ///
    /// Errors if every text has a special token in it.
    pub fn new(constraint: &Constraint, seed: u64) -> Result<Self> {
        let plan = Plan::new(constraint)?;
        let mut distances = Distances::default();
        let start = plan.start()?;
        distances.learn(&plan, None)?;
        if distances.least(start) == FAR {
            let message = "every text of the constraint has a special token in it";
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("draw texts of the part of the constraint that is text"));
        }
        Ok(Self {
            constraint: constraint.clone(),
            plan,
            bounds: Bounds::default(),
            distances,
            visits: Visits::default(),
            choices: Choices::by_seed(seed),
            careful: false,
            vain: 0,
        })
    }

    /// The same, of another size.
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
    /// Errors if no text keeps the bounds, as far as is to be found out, or a limit of the
    /// constraint is reached; a text may take as long as compiling may (`time_per_constraint`).
    pub fn draw(&mut self) -> Result<Vec<u8>> {
        let limits = self.constraint.limits().clone();
        limits.compiling(|| self.another())
    }

    fn another(&mut self) -> Result<Vec<u8>> {
        self.relieve()?;
        // The less hunting has brought, the rarer it gets; it never ends, since bounds may change.
        let hunt = self.choices.one_in(2 + self.vain);
        if hunt {
            let visits = &self.visits;
            self.distances.aim(&self.plan, visits)?;
        }
        let before = self.visits.places();
        let text = self.attempt(hunt)?;
        if hunt && self.visits.places() == before {
            self.vain += 1;
        } else if hunt {
            self.vain = 0;
        }
        Ok(text)
    }

    /// The text that these choices lead to: the first is the simplest way on, also where the
    /// choices have come to their end. Every list of choices leads to a text.
    #[cfg(feature = "proptest")]
    fn replay(&mut self, tape: &[u32]) -> Result<Vec<u8>> {
        self.relieve()?;
        self.choices.replay(tape);
        let limits = self.constraint.limits().clone();
        let text = limits.compiling(|| self.attempt(false));
        self.choices.stop_replay();
        text
    }

    /// Forgets what was learned when it takes too much memory, but not what was reached.
    fn relieve(&mut self) -> Result<()> {
        if self.plan.is_outgrown() {
            self.visits.forget_points(&self.plan);
            self.plan = Plan::new(&self.constraint)?;
            self.distances = Distances::default();
        }
        Ok(())
    }

    fn attempt(&mut self, hunt: bool) -> Result<Vec<u8>> {
        let Bounds { min_bytes, max_bytes, .. } = self.bounds;
        if min_bytes > max_bytes {
            return Err(self.unfit("the least number of bytes exceeds the greatest"));
        }
        let start = self.plan.start()?;
        for tries in 0..TRIES {
            // What is headed for may be out of reach.
            let hunt = hunt && tries < HUNTS;
            self.distances.learn(&self.plan, hunt.then_some(&self.visits))?;
            let least = self.distances.least(start);
            if least as usize > self.bounds.max_bytes {
                return Err(self.unfit(&format!("the shortest text has {least} bytes")));
            }
            let walk = Walk::new(
                &self.plan,
                &mut self.distances,
                &mut self.visits,
                &mut self.choices,
                self.bounds,
                Manner { hunts: hunt, careful: self.careful, tries },
            );
            let text = match walk.run(start) {
                Ok(text) => text,
                Err(Stop::DeadEnd) => {
                    self.careful |= !hunt;
                    continue;
                }
                Err(Stop::Error(error)) => return Err(error),
            };
            if text.len() < self.bounds.min_bytes {
                continue;
            }
            return match self.accepts(&text)? {
                true => Ok(text),
                // Never seen; a text that the matcher refuses is not given out.
                false => Err(Error::new(
                    ErrorKind::Rejected,
                    format!("the matcher refuses {:?}", String::from_utf8_lossy(&text)),
                )),
            };
        }
        let message = match self.plan.shortest(start) {
            Some(bytes) if bytes as usize > self.bounds.max_bytes => {
                // Lengths are counted no further.
                let more = if bytes == u32::MAX { "at least " } else { "" };
                format!("the shortest text that was found has {more}{bytes} bytes")
            }
            _ => format!("no text was found in {TRIES} tries"),
        };
        Err(self.unfit(&message))
    }

    fn unfit(&self, message: &str) -> Error {
        let Bounds { min_bytes, max_bytes, max_depth } = self.bounds;
        let depth = max_depth.map(|depth| format!(" and {depth} calls deep")).unwrap_or_default();
        Error::new(
            ErrorKind::Request,
            format!("{message}, asked for were {min_bytes} to {max_bytes} bytes{depth}"),
        )
        .with_help("give other bounds")
    }

    /// What the matcher says.
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
    /// refused it. UTF-8 stays UTF-8. `None` if the constraint accepts every edit that was tried.
    pub fn near_miss(&mut self, text: &[u8]) -> Result<Option<Vec<u8>>> {
        for _ in 0..near_miss::TRIES {
            let edited = near_miss::edit(text, &mut self.choices);
            if edited != text && !self.accepts(&edited)? {
                return Ok(Some(edited));
            }
        }
        Ok(None)
    }

    /// What the texts so far have reached.
    pub fn coverage(&self) -> Coverage {
        self.visits.coverage(&self.plan, &self.distances)
    }
}
