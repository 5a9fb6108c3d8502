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

/// A constraint on the text after the healed bytes, and what the text has room for.
pub(crate) struct HealedText<'a> {
    pub(crate) matcher: &'a mut Matcher,
    /// The number of tokens within which the text must be completed, if it must.
    pub(crate) room: Option<u32>,
}

impl HealedText<'_> {
    /// Whether the text can be completed after so many tokens more. As for other masks, a limit of the search is
    /// no refusal.
    fn fits_after(&mut self, tokens: Option<u32>) -> bool {
        let Some(room) = self.room else { return true };
        let Some(left) = tokens.and_then(|tokens| room.checked_sub(tokens)) else { return false };
        let checked = self.matcher.check_budget(left);
        !checked.is_err_and(|error| error.kind() == ErrorKind::Request)
    }
}

/// Fills the mask with the tokens that continue the healed bytes `rest`, which are not empty:
/// proper prefixes of `rest`, and tokens that begin with it and then continue as the constraint
/// allows. With a budget, only tokens after which the text can be completed within it. A token inside `rest` is
/// counted as if the tokens after it ended exactly where `rest` does, and the text began with a token of its own.
///
/// Errors when the constraint reaches a limit.
pub(crate) fn allow(
    vocabulary: &Vocabulary,
    rest: &[u8],
    text: Option<HealedText<'_>>,
    mask: &mut TokenMask,
) -> Result<()> {
    mask.clear();
    let (trie, mut node) = (vocabulary.trie(), 0);
    let Some(mut text) = text else {
        for &byte in rest {
            let Some(child) = trie.child(node, byte) else { return Ok(()) };
            node = child;
            trie.tokens(node).iter().for_each(|&token| mask.allow(token));
        }
        trie.subtree_tokens(node).iter().for_each(|&token| mask.allow(token));
        return Ok(());
    };
    let spelled = tokens_to_spell(vocabulary, rest);
    for (at, &byte) in rest.iter().enumerate() {
        let Some(child) = trie.child(node, byte) else { return Ok(()) };
        node = child;
        let tokens = trie.tokens(node);
        if !tokens.is_empty() && text.fits_after(spelled[at + 1].map(|rest| rest + 1)) {
            tokens.iter().for_each(|&token| mask.allow(token));
        }
    }
    let (nodes, before) = (trie.nodes(), text.matcher.steps());
    let (mut at, end) = (node + 1, nodes[node].subtree_end as usize);
    while at < end {
        // One step of the matcher for each byte beyond `rest`.
        let depth = usize::from(nodes[at].depth - nodes[node].depth);
        text.matcher.rollback(text.matcher.steps() - before - (depth - 1))?;
        match text.matcher.accept_bytes(&[nodes[at].byte]) {
            Ok(()) => {
                let tokens = trie.tokens(at);
                if !tokens.is_empty() && text.fits_after(Some(1)) {
                    tokens.iter().for_each(|&token| mask.allow(token));
                }
                at += 1;
            }
            Err(error) if error.kind() == ErrorKind::Rejected => {
                at = nodes[at].subtree_end as usize;
            }
            Err(error) => return Err(error),
        }
    }
    text.matcher.rollback(text.matcher.steps() - before)
}

/// By position in some bytes: the fewest tokens that spell the bytes after it; `None` where none do.
pub(crate) fn tokens_to_spell(vocabulary: &Vocabulary, bytes: &[u8]) -> Vec<Option<u32>> {
    let trie = vocabulary.trie();
    let mut fewest: Vec<Option<u32>> = vec![None; bytes.len()];
    fewest.push(Some(0));
    for from in (0..bytes.len()).rev() {
        let mut node = 0;
        for (at, &byte) in bytes.iter().enumerate().skip(from) {
            let Some(child) = trie.child(node, byte) else { break };
            node = child;
            if let Some(after) = fewest[at + 1].filter(|_| !trie.tokens(node).is_empty()) {
                let tokens = after + 1;
                fewest[from] = Some(fewest[from].map_or(tokens, |known| known.min(tokens)));
            }
        }
    }
    fewest
}
