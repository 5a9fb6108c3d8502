//! Tokens of a vocabulary in which text may depend on a captured text that ends in the same token.
//!
//! Members of an object and items of an array that must differ are captured. A walk over tokens
//! captures nothing, so it may allow `a","a"` where items must differ; such tokens are read byte by
//! byte, and these masks tell which they can be.

use crate::mask::json_captures::{CaptureEnd, depends_on_capture};
use crate::vocabulary::{IndexReader, IndexWriter, TokenMask, Vocabulary};

/// Tokens in which a second text may depend on a captured one.
#[derive(Clone, Debug)]
pub(crate) struct CaptureTokens {
    /// Those in which one captured text may end and another one, too: keys of an object or items of
    /// an array, with a comma between them.
    pub(crate) pairs: TokenMask,
    /// All tokens with a comma.
    pub(crate) commas: TokenMask,
    /// All tokens with a comma or the end of an array or object.
    pub(crate) ends: TokenMask,
    /// By [`CaptureEnd`], those with a comma after which something depends on a captured text.
    pub(crate) depending: [TokenMask; CaptureEnd::ALL.len()],
}

impl CaptureTokens {
    pub(crate) fn new(vocabulary: &Vocabulary) -> Self {
        let mut pairs = TokenMask::new(vocabulary.len());
        let mut commas = TokenMask::new(vocabulary.len());
        let mut ends = TokenMask::new(vocabulary.len());
        let mut depending = CaptureEnd::ALL.map(|_| TokenMask::new(vocabulary.len()));
        for &id in vocabulary.trie().ids() {
            let bytes = vocabulary.token_bytes(id).unwrap_or_default();
            if bytes.contains(&b',') {
                commas.allow(id);
                for (depending, ends) in depending.iter_mut().zip(CaptureEnd::ALL) {
                    if depends_on_capture(bytes, ends) {
                        depending.allow(id);
                    }
                }
            }
            if bytes.iter().any(|byte| matches!(byte, b',' | b']' | b'}')) {
                ends.allow(id);
            }
            let mut all = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b',');
            if all.any(|(comma, _)| parts_captures(bytes, comma)) {
                pairs.allow(id);
            }
        }
        Self { pairs, commas, ends, depending }
    }

    pub(crate) fn encode(&self, to: &mut IndexWriter) {
        let Self { pairs, commas, ends, depending } = self;
        for mask in [pairs, commas, ends].into_iter().chain(depending) {
            to.list(mask.words().iter().copied());
        }
    }

    pub(crate) fn decode(from: &mut IndexReader<'_>, vocabulary: &Vocabulary) -> Option<Self> {
        let mut mask = || -> Option<TokenMask> {
            let mut mask = TokenMask::new(vocabulary.len());
            let (words, to) = (from.list::<u32>()?, mask.words_mut());
            if words.len() != to.len() {
                return None;
            }
            to.iter_mut().zip(words).for_each(|(to, from)| *to = from);
            Some(mask)
        };
        let (pairs, commas, ends) = (mask()?, mask()?, mask()?);
        let depending: Option<Vec<TokenMask>> = CaptureEnd::ALL.iter().map(|_| mask()).collect();
        Some(Self { pairs, commas, ends, depending: depending?.try_into().ok()? })
    }
}

/// Whether a captured text may end before a comma of a token, and another one after it or, whole,
/// before it.
fn parts_captures(token: &[u8], comma: usize) -> bool {
    let (left, right) = (&token[..comma], &token[comma + 1..]);
    ends_before(left) && ends_after(right) || holds_whole_capture(left)
}

/// Whether a captured text may end at the end of `left`.
fn ends_before(left: &[u8]) -> bool {
    left.trim_ascii_end().last().is_some_and(|byte| !b",[{:".contains(byte))
}

/// Whether a captured text that begins in `right` may end there: a number with any of its digits, a
/// string with its second quote.
fn ends_after(right: &[u8]) -> bool {
    match right.trim_ascii_start().first() {
        Some(b'"') => right.iter().filter(|&&byte| byte == b'"').count() > 1,
        Some(byte) => byte.is_ascii_alphanumeric() || *byte == b'-',
        None => false,
    }
}

/// Whether a captured text may begin and end in `left`: a key, or the first item of an array.
fn holds_whole_capture(left: &[u8]) -> bool {
    let last = left.rsplit(|&byte| byte == b'"').next();
    let key = left.rsplitn(3, |&byte| byte == b'"').count() == 3
        && last.is_some_and(|text| text.contains(&b':'));
    let item = |at: usize| {
        let first = left[at + 1..].trim_ascii_start().first();
        left[at] == b'[' && first.is_some_and(|&byte| byte != b']')
    };
    key || (0..left.len()).any(item)
}
