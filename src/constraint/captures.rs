//! Captures: the parts of a text that a grammar names, found by a parse of the text so far.
//!
//! Masks need no parse: the recognizer follows all parses at once and forgets how it came to where it
//! is. So a matcher whose grammar has captures keeps its tokens, and only when it is asked for
//! captures is the text parsed, by an Earley parser over the grammar as it was written (Earley, "An
//! Efficient Context-Free Parsing Algorithm", 1970). A constraint without captures pays nothing.
//!
//! | module | concept |
//! |---|---|
//! | `input` | the text as symbols: bytes and special tokens |
//! | `network` | the grammar as recursive transition network |
//! | `chart` | the facts of the parse: the places where each rule begins and ends |
//! | `derivation` | the one parse that counts, and its captures |
//!
//! Example: `start: key "=" value`, `key[capture]: /[a-z]+/`, `value[capture]: /.*/`
//!
//! ```text
//! text     captures
//! ab       none: the key may go on
//! ab=      key 0..2
//! ab=c     key 0..2, value 3..4: the text is complete, so it is parsed as a whole
//! ```
//!
//! *Which parse counts.* From left to right each part of a sequence, and each iteration of a repeat, is
//! the longest that lets the rest be read; of the alternatives that read such a part the first counts
//! (POSIX's rule for subexpressions). Adjacent parts that are regular and hold no capture are one part.
//! A text that is not complete is parsed as the beginning of a text: a part that may still go on has not
//! ended, and is not reported.

mod chart;
mod derivation;
mod input;
mod network;

use std::fmt;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::error::Result;
use crate::grammar::Grammar;
use crate::regular::{Checkpoint, Languages};
use crate::vocabulary::Vocabulary;
use chart::Chart;
pub(super) use chart::{HoleReader, Run};
use derivation::Derivation;
use input::Input;
pub(super) use input::{StepText, Symbol};
use network::Network;

/// A part of a text that the grammar names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The name that the grammar gives it.
    pub name: Arc<str>,
    /// Its place in the text: offsets in bytes. A special token takes no byte.
    pub range: Range<usize>,
    /// Its text.
    pub bytes: Vec<u8>,
}

impl Capture {
    /// Name, text (bytes that are no UTF-8 as U+FFFD), and the offsets in bytes at which it begins and
    /// ends, as JSON: `{"name": "key", "text": "ab", "start": 0, "end": 2}`.
    pub fn to_json(&self) -> Value {
        json!({
            "name": &*self.name,
            "text": String::from_utf8_lossy(&self.bytes),
            "start": self.range.start,
            "end": self.range.end,
        })
    }
}

/// The parser of a grammar with captures.
pub(super) struct CaptureParser {
    network: Network,
    /// The arena of the network's terminals.
    languages: Mutex<Languages>,
    /// The size of the arena before any text was read.
    initial: Checkpoint,
    holes: Box<dyn HoleReader>,
    /// The most bytes that one parse may take, about.
    max_bytes: usize,
}

impl fmt::Debug for CaptureParser {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaptureParser").finish_non_exhaustive()
    }
}

impl CaptureParser {
    /// The parser of a grammar whose sets of tokens are given by ids.
    pub(super) fn new(
        grammar: Grammar,
        holes: Box<dyn HoleReader>,
        max_bytes: usize,
    ) -> Result<Self> {
        let (network, languages) = Network::new(grammar)?;
        let initial = languages.mark();
        Ok(Self { network, languages: Mutex::new(languages), initial, holes, max_bytes })
    }

    /// The captures of a text, by where they end; one within another that ends at the same place
    /// comes first.
    ///
    /// Errors when a limit is reached.
    pub(super) fn captures(
        &self,
        vocabulary: &Vocabulary,
        steps: &[StepText],
    ) -> Result<Vec<Capture>> {
        let input = Input::new(vocabulary, steps);
        // A step of a terminal leaves its arena consistent.
        let mut languages = self.languages.lock().unwrap_or_else(PoisonError::into_inner);
        languages.budget.begin_task();
        let found =
            Chart::parse(&self.network, &mut languages, &*self.holes, self.max_bytes, &input)
                .and_then(|chart| Derivation::new(&self.network, &chart).captures());
        if languages.len() > languages.budget.max_states() / 2 {
            // The states of texts so far; the next text makes its own.
            languages.release(self.initial);
        }
        let capture = |(name, range): (Arc<str>, Range<u32>)| Capture {
            name,
            range: input.offset(range.start)..input.offset(range.end),
            bytes: input.bytes(range),
        };
        Ok(found?.into_iter().map(capture).collect())
    }
}
