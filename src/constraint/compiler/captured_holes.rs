//! Reads parts whose rules are made while a text is read (JSON Schemas, rules with a parameter) where
//! captures are looked for: each as a constraint of its own, compiled when it is read first.
//!
//! Example: of `args[capture]: %json {"type": "object"}` the schema is such a part; on `{}</call>` it
//! ends at 2 and may not go on.

use std::sync::{Arc, OnceLock};

use super::Compiler;
use crate::constraint::captures::{HoleReader, Run, Symbol};
use crate::constraint::compiled::Constraint;
use crate::error::{ErrorKind, Result};
use crate::grammar::hole::Hole;
use crate::grammar::{Grammar, GrammarBuilder};

/// A part, with the constraint that it is by itself once that is needed.
struct HolePart {
    hole: Arc<dyn Hole>,
    constraint: OnceLock<Constraint>,
}

/// The parts of one grammar.
pub(super) struct CapturedHoles {
    parts: Vec<HolePart>,
    /// A compiler without a prefix.
    compiler: Compiler,
}

impl CapturedHoles {
    /// The parts of a grammar.
    pub(super) fn new(grammar: &Grammar, compiler: Compiler) -> Self {
        let part = |hole| HolePart { hole: Arc::clone(hole), constraint: OnceLock::new() };
        Self { parts: grammar.holes().iter().map(part).collect(), compiler }
    }

    fn constraint(&self, index: u32) -> Result<&Constraint> {
        let part = &self.parts[index as usize];
        if let Some(known) = part.constraint.get() {
            return Ok(known);
        }
        let mut builder = GrammarBuilder::new();
        let body = builder.hole(Arc::clone(&part.hole));
        let start = builder.rule("part", body);
        let constraint = self.compiler.compile(builder.finish(start)?)?;
        Ok(part.constraint.get_or_init(|| constraint))
    }
}

impl HoleReader for CapturedHoles {
    fn read(&self, hole: u32, symbols: &[Symbol]) -> Result<Run> {
        let mut run = Run::default();
        let mut matcher = self.constraint(hole)?.matcher();
        for (end, &symbol) in (1..).zip(symbols) {
            let accepted = match symbol {
                Symbol::Byte(byte) => matcher.accept_bytes(&[byte]),
                Symbol::Special(token) => matcher.accept(token),
            };
            match accepted {
                Err(error) if error.kind() == ErrorKind::Rejected => return Ok(run),
                other => other?,
            }
            // The end token comes after the hole's text, not in it.
            if matcher.is_finished() {
                return Ok(run);
            }
            if matcher.is_accepting() {
                run.ends.push(end);
            }
        }
        run.is_open = matcher.can_go_on();
        Ok(run)
    }
}
