//! Vocabularies: the bytes of each token, end tokens, the width of the logits.

use std::ffi::c_char;
use std::sync::Arc;

use maskwright::Result;

use crate::border::{border, quietly};
use crate::error::Error;
use crate::pointer::{array, array_mut, free, handle, object, text_of};

/// The tokens of a model.
pub struct Vocabulary(pub(crate) Arc<maskwright::Vocabulary>);

/// One token of a vocabulary that is given token by token.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Token {
    /// The bytes of its text, or the name of a special token. NULL where an id has no token.
    pub bytes: *const u8,
    /// The number of bytes.
    pub len: usize,
    /// Whether it is special: it stands for itself, not for its bytes.
    pub special: bool,
}

/// Reads a vocabulary file: `tokenizer.json` of Hugging Face, a tiktoken file, or GGUF.
///
/// Returns NULL with an error if the file cannot be read, or if exact masks cannot be made from it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocabulary_from_file(
    path: *const c_char,
    error: *mut *mut Error,
) -> *mut Vocabulary {
    border(std::ptr::null_mut(), error, || {
        // SAFETY: as the crate requires.
        let path = unsafe { text_of(path, "path") }?;
        Ok(shared(maskwright::Vocabulary::from_file(path)?))
    })
}

/// Makes a vocabulary from the text of a `tokenizer.json`, `len` bytes of UTF-8: for hosts without files.
///
/// Returns NULL with an error if the tokenizer cannot be used for exact masks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocabulary_from_json(
    text: *const c_char,
    len: usize,
    error: *mut *mut Error,
) -> *mut Vocabulary {
    border(std::ptr::null_mut(), error, || {
        // SAFETY: as the crate requires.
        let text = unsafe { array(text.cast::<u8>(), len, "text") }?;
        Ok(shared(maskwright::Vocabulary::from_tokenizer_json(text)?))
    })
}

/// Makes a vocabulary of `count` tokens; token `i` has id `i`. `end_tokens` are the ids that end a text.
///
/// Returns NULL with an error if a special token's name is not UTF-8, or an end token has no place.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocabulary_from_tokens(
    tokens: *const Token,
    count: usize,
    end_tokens: *const u32,
    end_count: usize,
    error: *mut *mut Error,
) -> *mut Vocabulary {
    border(std::ptr::null_mut(), error, || {
        // SAFETY: as the crate requires.
        let (tokens, end) = unsafe {
            (array(tokens, count, "tokens")?, array(end_tokens, end_count, "end_tokens")?)
        };
        refuse_beyond(end, count)?;
        let mut texts = Vec::with_capacity(count);
        let mut special = Vec::new();
        for (id, token) in (0_u32..).zip(tokens) {
            // SAFETY: as the crate requires.
            let bytes = unsafe { array(token.bytes, token.len, "bytes") }?;
            let is_text = !token.special && !token.bytes.is_null();
            texts.push(is_text.then(|| bytes.to_vec()));
            if token.special {
                special.push((id, name(id, bytes)?));
            }
        }
        Ok(shared(maskwright::Vocabulary::from_tokens(texts, &special, end)?))
    })
}

/// Errors on an end token beyond so many tokens: it would make the masks wider than the logits.
fn refuse_beyond(end: &[u32], count: usize) -> Result<()> {
    let Some(id) = end.iter().find(|&&id| id as usize >= count) else { return Ok(()) };
    let message = format!("end token {id} is beyond the {count} tokens of the vocabulary");
    Err(maskwright::Error::new(maskwright::ErrorKind::Request, message)
        .with_help("give the width of the model's logits, or the end token of this vocabulary"))
}

fn name(id: u32, bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|_| {
        let message = format!("the name of special token {id} is not UTF-8");
        maskwright::Error::new(maskwright::ErrorKind::Request, message)
    })
}

fn shared(vocabulary: maskwright::Vocabulary) -> *mut Vocabulary {
    handle(Vocabulary(Arc::new(vocabulary)))
}

/// The same vocabulary for a model whose logits are wider than the tokenizer's ids (0: as it is), and with
/// other end tokens (`end_tokens` NULL: as they are).
///
/// Special tokens beyond the logits are left out. Returns NULL with an error if a text token or an end
/// token is beyond them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocabulary_adapted(
    vocabulary: *const Vocabulary,
    logits_width: usize,
    end_tokens: *const u32,
    end_count: usize,
    error: *mut *mut Error,
) -> *mut Vocabulary {
    border(std::ptr::null_mut(), error, || {
        // SAFETY: as the crate requires.
        let (vocabulary, end) = unsafe {
            (object(vocabulary, "vocabulary")?, array(end_tokens, end_count, "end_tokens")?)
        };
        let mut adapted = (*vocabulary.0).clone();
        // First, since the tokenizer's own end tokens may lie beyond the logits.
        if !end_tokens.is_null() {
            if logits_width == 0 {
                refuse_beyond(end, adapted.len())?;
            }
            adapted = adapted.with_end_tokens(end)?;
        }
        if logits_width > 0 {
            adapted = adapted.with_logits_width(logits_width)?;
        }
        Ok(shared(adapted))
    })
}

/// The number of tokens, which is the width of the logits. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocabulary_size(vocabulary: *const Vocabulary) -> usize {
    // SAFETY: as the crate requires.
    quietly(0, || Ok(unsafe { object(vocabulary, "vocabulary") }?.0.len()))
}

/// The number of 32-bit words of a mask row. 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocabulary_mask_words(vocabulary: *const Vocabulary) -> usize {
    // SAFETY: as the crate requires.
    quietly(0, || Ok(unsafe { object(vocabulary, "vocabulary") }?.0.len().div_ceil(32)))
}

/// Writes the ids of the end tokens, at most `capacity` of them, and returns how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocabulary_end_tokens(
    vocabulary: *const Vocabulary,
    ids: *mut u32,
    capacity: usize,
) -> usize {
    quietly(0, || {
        // SAFETY: as the crate requires.
        let (vocabulary, ids) =
            unsafe { (object(vocabulary, "vocabulary")?, array_mut(ids, capacity, "ids")?) };
        let end = vocabulary.0.end_tokens();
        ids.iter_mut().zip(end).for_each(|(id, &end)| *id = end);
        Ok(end.len())
    })
}

/// Frees a vocabulary. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_vocabulary_free(vocabulary: *mut Vocabulary) {
    // SAFETY: as the crate requires.
    unsafe { free(vocabulary) };
}
