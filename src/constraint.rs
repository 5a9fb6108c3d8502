//! Compiled constraints, and the matchers that follow one sequence each.
//!
//! [`Compiler`] turns a schema, regex, grammar or choice into a [`Constraint`] for one vocabulary.
//! A constraint is immutable and shared; a [`Matcher`] belongs to one sequence, is cheap to make
//! and to fork, and lends the mask of allowed tokens at each step.
//!
//! What is allowed is exact: after the tokens `s`, a token `t` is allowed if and only if the text
//! of `s` and `t` can still be completed by further tokens; an end token if and only if the text
//! of `s` is complete.
//!
//! ```
//! use maskwright::{Compiler, Vocabulary};
//! let tokens = ["a", "b", "ab", "c"].map(|t| Some(t.as_bytes().to_vec()));
//! let mut tokens = tokens.to_vec();
//! tokens.push(None);
//! let vocabulary = Vocabulary::from_tokens(tokens, &[(4, "</s>")], &[4])?;
//! let compiler = Compiler::new(vocabulary);
//! let constraint = compiler.choice(&["ab", "abc"])?;
//! let mut matcher = constraint.matcher();
//! assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [0, 2]); // "a" and "ab"
//! matcher.accept(2)?;
//! assert!(matcher.is_accepting());
//! assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [3, 4]); // "c" and the end
//! assert!(matcher.accept(0).is_err());
//! matcher.rollback(1)?;
//! assert!(!matcher.is_accepting());
//! # Ok::<(), maskwright::Error>(())
//! ```

mod batch;
#[cfg(test)]
mod cancellation;
mod captures;
mod compiled;
mod compiler;
mod constraint_cache;
mod context;
mod expected;
mod explain;
mod fast_forward;
mod formula;
mod grammar_options;
mod grammars;
mod matcher;
mod memory;
mod memory_pool;
mod named_grammars;
mod named_limit;
mod settings;

pub use batch::{DraftToken, fill_masks};
pub use captures::Capture;
pub use compiled::Constraint;
pub(crate) use compiled::WeakConstraint;
pub use compiler::Compiler;
pub use constraint_cache::{ConstraintCache, ConstraintCacheStats};
pub use expected::Expected;
pub use explain::Explanation;
pub use formula::Formula;
pub use grammar_options::{GrammarLayout, GrammarOptions};
pub use matcher::Matcher;
pub(crate) use memory::MemoryHandle;
pub use named_limit::{LimitValue, NamedLimit};

pub use crate::error::ConstraintPart;
