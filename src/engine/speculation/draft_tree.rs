//! A tree of guessed tokens.

use crate::constraint::Matcher;
use crate::engine::sequence::GuessedToken;
use crate::error::Result;

/// The tokens that one forward pass reads: the last token of the text (node 0) and a tree of
/// guesses after it.
#[derive(Debug, Default)]
pub(crate) struct DraftTree {
    tokens: Vec<u32>,
    /// The parent of each node but the root, an earlier node.
    parents: Vec<usize>,
    /// Tokens that a draft model drew one after the other, with their distributions. The last one
    /// may be an end token, which is no node, since nothing comes after it, but is accepted or
    /// replaced by the same rule as the others; otherwise end tokens would be drawn too seldom.
    pub(super) drawn: Vec<(u32, Vec<(u32, f64)>)>,
}

impl DraftTree {
    /// A tree of the text's last token alone.
    pub(crate) fn new(last: u32) -> Self {
        Self { tokens: vec![last], ..Self::default() }
    }

    /// The tokens of all nodes.
    pub(crate) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The parent of each node but the root.
    pub(crate) fn parents(&self) -> &[usize] {
        &self.parents
    }

    /// The child of a node with this token.
    pub(crate) fn child(&self, node: usize, token: u32) -> Option<usize> {
        (1..self.tokens.len()).find(|&i| self.parents[i - 1] == node && self.tokens[i] == token)
    }

    /// The token that the draft model drew to follow this node.
    pub(crate) fn guess(&self, node: usize) -> Option<GuessedToken<'_>> {
        self.drawn.get(node).map(|(token, from)| (*token, from.as_slice()))
    }

    /// Adds a child, unless it is there, and returns it; `None` if there are `most` guesses
    /// already.
    pub(super) fn add(&mut self, node: usize, token: u32, most: usize) -> Option<usize> {
        if let Some(child) = self.child(node, token) {
            return Some(child);
        }
        if self.tokens.len() > most {
            return None;
        }
        self.tokens.push(token);
        self.parents.push(node);
        Some(self.tokens.len() - 1)
    }

    /// Adds a chain of tokens below a node, as far as the constraint allows them and there is room.
    /// Returns the last node, and whether all tokens were added.
    pub(super) fn add_chain(
        &mut self,
        mut node: usize,
        tokens: &[u32],
        mut matcher: Option<&mut Matcher>,
        most: usize,
    ) -> Result<(usize, bool)> {
        for &token in tokens {
            if let Some(matcher) = &mut matcher {
                if !matcher.mask()?.contains(token) {
                    return Ok((node, false));
                }
                matcher.accept(token)?;
            }
            match self.add(node, token, most) {
                Some(child) => node = child,
                None => return Ok((node, false)),
            }
        }
        Ok((node, true))
    }
}
