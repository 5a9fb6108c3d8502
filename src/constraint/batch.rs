//! Masks of many sequences, and of many places of one.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::sync::Arc;
use std::thread;

use super::compiler::Memory;
use super::masks::Form;
use super::matcher::Matcher;
use crate::error::{Error, ErrorKind, Result};

/// A token of a draft, and the one before it in the same draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DraftToken {
    /// The token's id.
    pub token: u32,
    /// Its predecessor, as an index into the draft; `None` where the draft begins.
    pub parent: Option<usize>,
}

impl Matcher {
    /// The masks along a tree of draft tokens: the first row is the mask here, row `i + 1` that
    /// after `draft[i]`. A row is `ceil(V / 32)` words, all zero where the constraint does not
    /// allow the way there. The matcher stays as it was.
    ///
    /// Errors if the rows have another length, or a parent does not come before its children.
    ///
    /// ```
    /// # use maskwright::{Compiler, DraftToken, Vocabulary};
    /// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let mut matcher = Compiler::new(vocabulary).regex("ab|ac")?.matcher();
    /// let token = |byte: u8, parent| DraftToken { token: byte.into(), parent };
    /// let draft = [token(b'a', None), token(b'b', Some(0)), token(b'x', Some(0))];
    /// let mut rows = vec![0; 4 * 8];
    /// matcher.fill_tree(&draft, &mut rows)?;
    /// assert_eq!(rows[8 + 3], 1 << (b'b' - 96) | 1 << (b'c' - 96)); // after `a`
    /// assert!(rows[16..].iter().all(|&word| word == 0)); // after `ab` the end; `ax` is not allowed
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn fill_tree(&mut self, draft: &[DraftToken], rows: &mut [u32]) -> Result<()> {
        let vocabulary = self.constraint.vocabulary();
        let words = vocabulary.len().div_ceil(32);
        if rows.len() != words * (draft.len() + 1) {
            let message = format!(
                "{} words for the masks of a draft where {} fit",
                rows.len(),
                words * (draft.len() + 1)
            );
            return Err(Error::new(ErrorKind::Request, message)
                .with_help("give ceil(V / 32) words for the start and for each token"));
        }
        let mut memory = self.cell.lock();
        let Memory { program, machine } = &mut *memory;
        let start = (!self.finished).then(|| self.here());
        let mut places = vec![start];
        for (index, &DraftToken { token, parent }) in draft.iter().enumerate() {
            let from = match parent {
                None => start,
                Some(parent) if parent < index => places[parent + 1],
                Some(parent) => {
                    let message = format!("token {index} of the draft follows token {parent}");
                    return Err(Error::new(ErrorKind::Request, message)
                        .with_help("put parents before their children"));
                }
            };
            places.push(match from {
                Some(from) => machine.read_token(program, vocabulary, from, token)?.ok(),
                None => None,
            });
        }
        for (place, row) in places.into_iter().zip(rows.chunks_exact_mut(words)) {
            match place {
                Some(place) => machine.form(program, vocabulary, place)?.write(row),
                None => row.fill(0),
            }
        }
        Ok(())
    }
}

/// The masks of many sequences, each written into its row as [`Matcher::fill_mask`] does.
/// What is known already is written at once; the rest is computed on the machine's cores, the
/// matchers of one constraint on one core, since they learn together.
///
/// Errors as [`Matcher::fill_mask`] does, with the first error; rows of other matchers may be
/// written then.
///
/// ```
/// # use maskwright::{Compiler, Vocabulary, fill_masks};
/// # let tokens = (0..=255).map(|b| Some(vec![b])).collect();
/// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
/// let compiler = Compiler::new(vocabulary);
/// let (mut one, mut two) = (compiler.regex("a")?.matcher(), compiler.regex("b")?.matcher());
/// let (mut first, mut second) = ([0; 8], [0; 8]);
/// fill_masks(&mut [(&mut one, &mut first), (&mut two, &mut second)])?;
/// assert_eq!((first[3], second[3]), (1 << 1, 1 << 2));
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn fill_masks(batch: &mut [(&mut Matcher, &mut [u32])]) -> Result<()> {
    let mut unknown: BTreeMap<*const (), Vec<&mut (&mut Matcher, &mut [u32])>> = BTreeMap::new();
    for pair in batch {
        let (matcher, row) = pair;
        matcher.check_row(row)?;
        match matcher.known_form() {
            Some(form) => form.write(row),
            None => unknown.entry(matcher.cell.address()).or_default().push(pair),
        }
    }
    let mut groups: Vec<_> = unknown.into_values().collect();
    let threads = thread::available_parallelism().map_or(1, NonZero::get).min(groups.len());
    let fill = |group: Vec<&mut (&mut Matcher, &mut [u32])>| {
        group.into_iter().try_for_each(|(matcher, row)| matcher.fill_mask(row))
    };
    if threads < 2 {
        return groups.into_iter().try_for_each(fill);
    }
    // The largest first, each to the thread that has the fewest.
    groups.sort_by_key(|group| std::cmp::Reverse(group.len()));
    let mut shares: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    for group in groups {
        if let Some(share) =
            shares.iter_mut().min_by_key(|share| share.iter().map(Vec::len).sum::<usize>())
        {
            share.push(group);
        }
    }
    thread::scope(|scope| {
        let mut shares = shares.into_iter();
        // This thread has a share, too.
        let own = shares.next().unwrap_or_default();
        let others: Vec<_> =
            shares.map(|share| scope.spawn(move || share.into_iter().try_for_each(fill))).collect();
        let mut done = own.into_iter().try_for_each(fill);
        for other in others {
            let other = other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            done = done.and(other);
        }
        done
    })
}

impl Matcher {
    /// The mask's form, if it was asked for before.
    fn known_form(&self) -> Option<Arc<Form>> {
        match self.finished {
            true => Some(Arc::default()),
            false => self.cell.lock().machine.masks.known(self.here()),
        }
    }
}
