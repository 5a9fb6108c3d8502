//! Fast-forward: text and tokens about which the constraint leaves no choice.

use std::sync::Arc;

use super::expected::expected;
use super::matcher::Matcher;
use super::memory::Memory;
use crate::error::Result;

impl Matcher {
    /// The bytes about which the constraint leaves no choice, from here on; at most `limit`.
    /// Empty where the text may end.
    ///
    /// Errors when a limit is reached.
    pub fn forced_bytes(&mut self, limit: usize) -> Result<Vec<u8>> {
        let memories = Arc::clone(&self.constraint.memories);
        memories.timed(|| self.forced(limit))
    }

    fn forced(&mut self, limit: usize) -> Result<Vec<u8>> {
        let mut forced = Vec::new();
        if self.finished {
            return Ok(forced);
        }
        let mut memory = self.memory.lock();
        let Memory { recognizer, .. } = &mut *memory;
        let mut at = self.current();
        while forced.len() < limit {
            let expected = expected(recognizer, at)?;
            let has_tokens = !expected.special_tokens.is_empty() || expected.other_tokens;
            if expected.end || has_tokens || expected.bytes.len() != 1 {
                break;
            }
            let Some(byte) = expected.bytes.iter().next() else { break };
            let Ok(next) = recognizer.read(at, &[byte])? else { break };
            forced.push(byte);
            at = next;
        }
        Ok(forced)
    }

    /// The tokens that a model would have written for the forced text, of at most `limit` bytes, by
    /// its own `encode` of it; they are not accepted yet.
    ///
    /// No token is split across the boundary of forced and free text: where a token of the vocabulary
    /// could begin in the forced text and go on in what may follow, the tokens stop before it, and
    /// the choice is the model's. Text that was accepted already is never written anew. The tokens
    /// of `encode` are used as far as they spell the forced text, and no further.
    ///
    /// Errors when a limit is reached.
    ///
    /// ```
    /// # use maskwright::{Compiler, Vocabulary};
    /// # let mut tokens: Vec<_> = (0..=255).map(|b| Some(vec![b])).collect();
    /// tokens.push(Some(b"na".to_vec())); // 256
    /// tokens.push(Some(b"me=".to_vec())); // 257
    /// tokens.push(Some(b"=A".to_vec())); // 258
    /// # let vocabulary = Vocabulary::from_tokens(tokens, &[], &[])?;
    /// let encode = |_: &[u8]| vec![256, 257];
    /// let compiler = Compiler::new(vocabulary);
    /// let mut matcher = compiler.regex("name=[0-9]")?.matcher();
    /// assert_eq!(matcher.forced_tokens(64, encode)?, [256, 257]);
    /// // `=A` may come, too: where the equals sign belongs is the model's choice.
    /// let mut matcher = compiler.regex("name=[0-9A]")?.matcher();
    /// assert_eq!(matcher.forced_tokens(64, encode)?, [256]);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn forced_tokens(
        &mut self,
        limit: usize,
        encode: impl FnOnce(&[u8]) -> Vec<u32>,
    ) -> Result<Vec<u32>> {
        let forced = self.forced_bytes(limit)?;
        if forced.is_empty() {
            return Ok(Vec::new());
        }
        let open_from = self.constraint.memories.timed(|| self.first_open_offset(&forced))?;
        let vocabulary = self.constraint.vocabulary();
        let mut at = 0;
        let mut tokens = encode(&forced);
        let whole = tokens.iter().take_while(|&&token| {
            let Some(text) = vocabulary.token_bytes(token) else { return false };
            at += text.len();
            !text.is_empty() && at <= open_from && forced[..at].ends_with(text)
        });
        let whole = whole.count();
        tokens.truncate(whole);
        tokens.truncate(self.count_allowed(&tokens)?);
        Ok(tokens)
    }

    /// The number of tokens, from the first, that budgets let be read one after the other.
    fn count_allowed(&self, tokens: &[u32]) -> Result<usize> {
        let mut memory = self.memory.lock();
        let Memory { recognizer, .. } = &mut *memory;
        if !recognizer.program.has_budgets() {
            return Ok(tokens.len());
        }
        let mut at = self.current();
        for (read, &token) in tokens.iter().enumerate() {
            match recognizer.read_token(self.constraint.vocabulary(), at, token)? {
                Ok(next) => at = next,
                Err(_) => return Ok(read),
            }
        }
        Ok(tokens.len())
    }

    /// The first offset in forced text at which a token may begin that goes on after it.
    fn first_open_offset(&self, forced: &[u8]) -> Result<usize> {
        let mut memory = self.memory.lock();
        let Memory { recognizer, .. } = &mut *memory;
        // Forced text can be read.
        let Ok(end) = recognizer.read(self.current(), forced)? else { return Ok(0) };
        let follows = recognizer.next_bytes(end)?;
        let trie = self.constraint.vocabulary().trie();
        let nodes = trie.nodes();
        Ok((0..forced.len())
            .find(|&from| {
                let Some(node) = trie.find(&forced[from..]) else { return false };
                let mut child = node + 1;
                while child < nodes[node].subtree_end as usize {
                    if follows.contains(nodes[child].byte) {
                        return true;
                    }
                    child = nodes[child].subtree_end as usize;
                }
                false
            })
            .unwrap_or(forced.len()))
    }
}
