//! Matchers: one sequence under a constraint each.

use std::ffi::c_char;

use maskwright::{DraftToken, ErrorKind, Result};

use crate::border::{border, quietly};
use crate::compiler::Constraint;
use crate::error::Error;
use crate::pointer::{array, array_mut, free, handle, object, object_mut, text};

/// One sequence under a constraint.
pub struct Matcher(maskwright::Matcher);

/// A matcher at the start of a text. Cheap: one per sequence. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_new(constraint: *const Constraint) -> *mut Matcher {
    quietly(std::ptr::null_mut(), || {
        // SAFETY: as the crate requires.
        Ok(handle(Matcher(unsafe { object(constraint, "constraint") }?.0.matcher())))
    })
}

/// A matcher that goes on from the same text by itself. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_fork(matcher: *const Matcher) -> *mut Matcher {
    quietly(std::ptr::null_mut(), || {
        // SAFETY: as the crate requires.
        Ok(handle(Matcher(unsafe { object(matcher, "matcher") }?.0.clone())))
    })
}

/// Takes one token; an end token finishes the text.
///
/// Returns false with an error if it is not allowed here; the matcher stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_accept(
    matcher: *mut Matcher,
    token: u32,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        unsafe { object_mut(matcher, "matcher") }?.0.accept(token)?;
        Ok(true)
    })
}

/// Takes `len` bytes of text, whatever tokens they may be made of: one step.
///
/// Returns false with an error that names the byte which is not allowed; the matcher stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_accept_text(
    matcher: *mut Matcher,
    text: *const c_char,
    len: usize,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        let (matcher, text) =
            unsafe { (object_mut(matcher, "matcher")?, array(text.cast::<u8>(), len, "text")?) };
        matcher.0.accept_bytes(text)?;
        Ok(true)
    })
}

/// Returns how many of `count` tokens, from the first on, could be taken one after the other. The matcher
/// stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_validate(
    matcher: *mut Matcher,
    tokens: *const u32,
    count: usize,
    error: *mut *mut Error,
) -> usize {
    border(0, error, || {
        // SAFETY: as the crate requires.
        let (matcher, tokens) =
            unsafe { (object_mut(matcher, "matcher")?, array(tokens, count, "tokens")?) };
        let mut valid = 0;
        let mut stopped = Ok(());
        for &token in tokens {
            match matcher.0.accept(token) {
                Ok(()) => valid += 1,
                Err(error) if error.kind() == ErrorKind::Rejected => break,
                Err(error) => {
                    stopped = Err(error);
                    break;
                }
            }
        }
        matcher.0.rollback(valid)?;
        stopped.map(|()| valid)
    })
}

/// Takes back the last `steps` steps.
///
/// Returns false with an error if there were fewer; the matcher stays as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_rollback(
    matcher: *mut Matcher,
    steps: usize,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        unsafe { object_mut(matcher, "matcher") }?.0.rollback(steps)?;
        Ok(true)
    })
}

/// The number of steps taken. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_steps(matcher: *const Matcher) -> usize {
    // SAFETY: as the crate requires.
    quietly(0, || Ok(unsafe { object(matcher, "matcher") }?.0.steps()))
}

/// Whether the text so far is complete. False for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_is_accepting(matcher: *const Matcher) -> bool {
    // SAFETY: as the crate requires.
    quietly(false, || Ok(unsafe { object(matcher, "matcher") }?.0.is_accepting()))
}

/// Whether an end token was accepted. False for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_is_finished(matcher: *const Matcher) -> bool {
    // SAFETY: as the crate requires.
    quietly(false, || Ok(unsafe { object(matcher, "matcher") }?.0.is_finished()))
}

/// Writes the mask of the next token into a row of `words` words: end tokens are in it where the text is
/// complete, and after an end token it is empty.
///
/// Returns false with an error if the row has another length, or when a limit is reached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_fill_mask(
    matcher: *mut Matcher,
    row: *mut u32,
    words: usize,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        let (matcher, row) =
            unsafe { (object_mut(matcher, "matcher")?, array_mut(row, words, "row")?) };
        matcher.0.fill_mask(row)?;
        Ok(true)
    })
}

/// The same with those tokens alone after which the text can be completed within `tokens` tokens, the next
/// one counted and the end token not.
///
/// Returns false with an error if more are needed from here, and says how many.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_fill_mask_within(
    matcher: *mut Matcher,
    tokens: u32,
    row: *mut u32,
    words: usize,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        let (matcher, row) =
            unsafe { (object_mut(matcher, "matcher")?, array_mut(row, words, "row")?) };
        matcher.0.fill_mask_within(row, tokens)?;
        Ok(true)
    })
}

/// Sets the logits of the tokens that are not allowed to minus infinity. `count` is the size of the
/// vocabulary.
///
/// Returns false with an error if there are more or fewer logits, or when a limit is reached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_mask_logits(
    matcher: *mut Matcher,
    logits: *mut f32,
    count: usize,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        let (matcher, logits) =
            unsafe { (object_mut(matcher, "matcher")?, array_mut(logits, count, "logits")?) };
        let mask = matcher.0.mask()?;
        if mask.len() != count {
            let message = format!("{count} logits for a vocabulary of {} tokens", mask.len());
            return Err(maskwright::Error::new(ErrorKind::Request, message)
                .with_help("adapt the vocabulary to the width of the logits"));
        }
        for (logits, word) in logits.chunks_mut(32).zip(mask.words()) {
            for (bit, logit) in logits.iter_mut().enumerate() {
                if word >> bit & 1 == 0 {
                    *logit = f32::NEG_INFINITY;
                }
            }
        }
        Ok(true)
    })
}

/// Writes the masks along a tree of `count` draft tokens: the first row is the mask here, row `i + 1` that
/// after token `i`. `parents[i]` is the index of the token before token `i`, below `i`, or -1 where the draft
/// begins; NULL: each token follows the one before it. `rows` has `words` words: `count + 1` rows. The matcher
/// stays as it was; rows to which the constraint does not allow the way are 0.
///
/// Returns false with an error if `words` is another number, or a parent is below -1 or does not come before
/// its child.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_fill_tree(
    matcher: *mut Matcher,
    tokens: *const u32,
    parents: *const i32,
    count: usize,
    rows: *mut u32,
    words: usize,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        let (matcher, tokens, rows) = unsafe {
            let matcher = object_mut(matcher, "matcher")?;
            (matcher, array(tokens, count, "tokens")?, array_mut(rows, words, "rows")?)
        };
        let parents = if parents.is_null() {
            None
        } else {
            // SAFETY: as the crate requires.
            Some(unsafe { array(parents, count, "parents") }?)
        };
        let draft: Vec<DraftToken> = tokens
            .iter()
            .enumerate()
            .map(|(index, &token)| {
                let parent = match parents.map(|parents| parents[index]) {
                    None => index.checked_sub(1),
                    Some(-1) => None,
                    Some(parent) => Some(usize::try_from(parent).map_err(|_| {
                        maskwright::Error::new(ErrorKind::Request, format!("a parent of {parent}"))
                            .with_help("give the index of an earlier token, or -1")
                    })?),
                };
                Ok(DraftToken { token, parent })
            })
            .collect::<Result<_>>()?;
        matcher.0.fill_tree(&draft, rows)?;
        Ok(true)
    })
}

/// Writes the masks of `count` matchers, each into its row of `words` words; the machine's cores share what
/// is not known yet. No matcher may be given twice, and rows may not overlap.
///
/// Returns false with the first error; other rows may be written then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_fill_masks(
    matchers: *const *mut Matcher,
    rows: *const *mut u32,
    count: usize,
    words: usize,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        let (matchers, rows) =
            unsafe { (array(matchers, count, "matchers")?, array(rows, count, "rows")?) };
        distinct(matchers, "matchers")?;
        distinct(rows, "rows")?;
        let mut batch = Vec::with_capacity(count);
        for (&matcher, &row) in matchers.iter().zip(rows) {
            // SAFETY: as the crate requires; no two are the same.
            let (matcher, row) =
                unsafe { (object_mut(matcher, "matchers")?, array_mut(row, words, "rows")?) };
            batch.push((&mut matcher.0, row));
        }
        maskwright::fill_masks(&mut batch)?;
        Ok(true)
    })
}

fn distinct<T>(pointers: &[*mut T], name: &str) -> Result<()> {
    let mut sorted = pointers.to_vec();
    sorted.sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = format!("`{name}` holds one pointer twice");
        return Err(
            maskwright::Error::new(ErrorKind::Request, message).with_help("fork the matcher")
        );
    }
    Ok(())
}

/// Puts an upper bound on the tokens that complete the text, the end token not counted, into `tokens`.
///
/// Returns false with an error when a limit is reached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_tokens_to_finish(
    matcher: *mut Matcher,
    tokens: *mut u32,
    error: *mut *mut Error,
) -> bool {
    border(false, error, || {
        // SAFETY: as the crate requires.
        let (matcher, tokens) =
            unsafe { (object_mut(matcher, "matcher")?, object_mut(tokens, "tokens")?) };
        *tokens = matcher.0.tokens_to_finish()?.tokens;
        Ok(true)
    })
}

/// The bytes that every continuation begins with, at most `limit` of them, written to `bytes`, which has room
/// for as many. Returns their number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_forced_bytes(
    matcher: *mut Matcher,
    bytes: *mut u8,
    limit: usize,
    error: *mut *mut Error,
) -> usize {
    border(0, error, || {
        // SAFETY: as the crate requires.
        let (matcher, bytes) =
            unsafe { (object_mut(matcher, "matcher")?, array_mut(bytes, limit, "bytes")?) };
        let forced = matcher.0.forced_bytes(limit)?;
        bytes.iter_mut().zip(&forced).for_each(|(to, &from)| *to = from);
        Ok(forced.len().min(limit))
    })
}

/// Says why a token is allowed here or not, on one line. The caller frees the text with `mw_string_free`.
///
/// Returns NULL with an error when a limit is reached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_explain(
    matcher: *mut Matcher,
    token: u32,
    error: *mut *mut Error,
) -> *mut c_char {
    border(std::ptr::null_mut(), error, || {
        // SAFETY: as the crate requires.
        let matcher = unsafe { object_mut(matcher, "matcher") }?;
        Ok(text(&matcher.0.explain(token)?.to_string()))
    })
}

/// Says what may come next, on one line. The caller frees the text with `mw_string_free`.
///
/// Returns NULL with an error when a limit is reached.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_expected(
    matcher: *mut Matcher,
    error: *mut *mut Error,
) -> *mut c_char {
    border(std::ptr::null_mut(), error, || {
        // SAFETY: as the crate requires.
        let matcher = unsafe { object_mut(matcher, "matcher") }?;
        Ok(text(&matcher.0.expected()?.describe()))
    })
}

/// Frees a matcher. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_matcher_free(matcher: *mut Matcher) {
    // SAFETY: as the crate requires.
    unsafe { free(matcher) };
}
