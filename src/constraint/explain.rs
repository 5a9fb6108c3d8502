//! Explanations: why a token is allowed or not.

use std::fmt;
use std::sync::Arc;

use super::expected::{Expected, expected, show};
use super::matcher::Matcher;
use super::memory::Memory;
use crate::error::{ConstraintPart, Result};

/// The reason why a token is allowed or not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// The token's id.
    pub token: u32,
    /// Its name, as [`Vocabulary::token_name`](crate::Vocabulary::token_name) writes it.
    pub name: String,
    /// Whether it is allowed.
    pub allowed: bool,
    /// The number of bytes of its text that fit.
    pub fits: usize,
    /// The first byte that does not fit, if one does not.
    pub failed: Option<u8>,
    /// The continuations accepted instead of that byte; of an allowed token, after it.
    pub expected: Expected,
}

impl Explanation {
    /// The rules of the grammar, or the keywords of the schema, that decide: those that are being
    /// read where the first byte fails, or, of an allowed token, after it.
    pub fn decided_by(&self) -> &[ConstraintPart] {
        &self.expected.sources
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { token, name, allowed, fits, failed, expected } = self;
        write!(f, "token {token} ({name}) ")?;
        match (allowed, failed) {
            (true, _) => write!(f, "is allowed; after it ")?,
            (false, Some(byte)) if *fits > 0 => write!(
                f,
                "is not allowed: its first {fits} bytes fit, {} after them does not; instead ",
                show(*byte)
            )?,
            (false, Some(byte)) => {
                write!(f, "is not allowed: it begins with {}; instead ", show(*byte))?;
            }
            (false, None) if *fits > 0 => {
                write!(
                    f,
                    "is not allowed: its text fits, but no tokens could complete what follows; "
                )?;
            }
            (false, None) => write!(f, "is not allowed: the constraint does not name it here; ")?,
        }
        match expected.describe() {
            nothing if nothing.is_empty() => write!(f, "nothing may come")?,
            what => write!(f, "{what} may come")?,
        }
        if let Some((last, others)) = expected.sources.split_last() {
            write!(f, ", by ")?;
            for source in others {
                write!(f, "{source}, ")?;
            }
            write!(f, "{last}")?;
        }
        Ok(())
    }
}

impl Matcher {
    /// Explains why a token is allowed here or not: by the first byte of it that does not fit, what is
    /// accepted instead, and the rules or schema keywords that decide.
    ///
    /// Errors when a limit is reached.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// # let mut tokens: Vec<_> = (0..=255).map(|b| Some(vec![b])).collect();
    /// tokens.push(Some(b"25".to_vec())); // 256
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let schema = serde_json::json!({"type": "integer", "maximum": 19, "minimum": 0});
    /// let mut matcher = Compiler::new(vocabulary).json_schema(&schema)?.matcher();
    /// let why = matcher.explain(256)?;
    /// assert_eq!((why.allowed, why.fits, why.failed), (false, 1, Some(b'5')));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn explain(&mut self, token: u32) -> Result<Explanation> {
        let memories = Arc::clone(&self.constraint.memories);
        memories.timed(|| self.explain_token(token))
    }

    fn explain_token(&mut self, token: u32) -> Result<Explanation> {
        let vocabulary = self.constraint.vocabulary();
        let mut why = Explanation {
            token,
            name: vocabulary.token_name(token).into_owned(),
            allowed: false,
            fits: 0,
            failed: None,
            expected: Expected::default(),
        };
        if self.finished {
            return Ok(why);
        }
        let ends = vocabulary.end_tokens().contains(&token);
        let text = if ends { &[] } else { vocabulary.token_bytes(token).unwrap_or_default() };
        let mut memory = self.memory.lock();
        let Memory { recognizer, .. } = &mut *memory;
        let here = self.current();
        if ends && recognizer.is_accepting(here) {
            why.allowed = true;
            return Ok(why);
        }
        let after = match recognizer.read_token(vocabulary, here, token)? {
            Ok(next) => {
                why.allowed = true;
                why.fits = text.len();
                next
            }
            Err(_) => match recognizer.read(here, text)? {
                Ok(next) => {
                    why.fits = text.len();
                    next
                }
                Err(fits) => {
                    why.fits = fits;
                    why.failed = text.get(fits).copied();
                    recognizer.read(here, &text[..fits])?.unwrap_or(here)
                }
            },
        };
        why.expected = expected(recognizer, after)?;
        Ok(why)
    }
}
