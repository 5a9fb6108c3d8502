//! Token healing: the end of the prompt need not be a border between tokens.
//!
//! A prompt that ends in the middle of what the tokenizer would have written as one token (`http:`,
//! where `://` is a token) makes the model continue a tokenisation that it has never read. So
//! tokens at the prompt's end are taken back, and the text must begin with their bytes (Lundberg
//! 2023, "The Art of Prompt Design: Prompt Boundaries and Token Healing", and guidance's
//! implementation). The response's text begins after these bytes, and so does what the constraint
//! reads.

use crate::constraint::Matcher;
use crate::error::{ErrorKind, Result};
use crate::vocabulary::{TokenMask, Vocabulary};

/// Greatest number of bytes that are taken back; tokens of words and addresses are far shorter.
const MAX_HEALED_BYTES: usize = 256;

/// Takes the longest run of text tokens off the prompt's end whose bytes together are a proper
/// prefix of a token, and returns these bytes. One token of the prompt always stays.
pub(crate) fn take_back(vocabulary: &Vocabulary, prompt: &mut Vec<u32>) -> Vec<u8> {
    let trie = vocabulary.trie();
    let (mut bytes, mut taken) = (Vec::new(), (prompt.len(), Vec::new()));
    for at in (1..prompt.len()).rev() {
        let text = match vocabulary.token_bytes(prompt[at]) {
            Some(text) if text.len() + bytes.len() <= MAX_HEALED_BYTES => text,
            _ => break,
        };
        bytes.splice(..0, text.iter().copied());
        let goes_on = |node: usize| trie.nodes()[node].subtree_end as usize > node + 1;
        if trie.find(&bytes).is_some_and(goes_on) {
            taken = (at, bytes.clone());
        }
    }
    prompt.truncate(taken.0);
    taken.1
}

/// Fills the mask with the tokens that continue the healed bytes `rest`, which are not empty:
/// proper prefixes of `rest`, and tokens that begin with it and then continue as the constraint
/// allows.
///
/// Errors when the constraint reaches a limit.
pub(crate) fn allow(
    vocabulary: &Vocabulary,
    rest: &[u8],
    matcher: Option<&mut Matcher>,
    mask: &mut TokenMask,
) -> Result<()> {
    mask.clear();
    let (trie, mut node) = (vocabulary.trie(), 0);
    for &byte in rest {
        let Some(child) = trie.child(node, byte) else { return Ok(()) };
        node = child;
        trie.tokens(node).iter().for_each(|&token| mask.allow(token));
    }
    let Some(matcher) = matcher else {
        trie.subtree_tokens(node).iter().for_each(|&token| mask.allow(token));
        return Ok(());
    };
    let (nodes, before) = (trie.nodes(), matcher.steps());
    let (mut at, end) = (node + 1, nodes[node].subtree_end as usize);
    while at < end {
        // One step of the matcher for each byte beyond `rest`.
        let depth = usize::from(nodes[at].depth - nodes[node].depth);
        matcher.rollback(matcher.steps() - before - (depth - 1))?;
        match matcher.accept_bytes(&[nodes[at].byte]) {
            Ok(()) => {
                trie.tokens(at).iter().for_each(|&token| mask.allow(token));
                at += 1;
            }
            Err(error) if error.kind() == ErrorKind::Rejected => {
                at = nodes[at].subtree_end as usize;
            }
            Err(error) => return Err(error),
        }
    }
    matcher.rollback(matcher.steps() - before)
}
