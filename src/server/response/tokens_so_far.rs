//! The number of tokens of a text while it is streamed.

/// Counts the tokens of one text. The last one may only end it, which its usage does not count, so that each is counted
/// with what comes after it.
#[derive(Debug, Default)]
pub(crate) struct TokensSoFar {
    counted: usize,
    /// Whether a token came that is not counted.
    has_last: bool,
}

impl TokensSoFar {
    /// Takes note of a token. Returns the number of tokens that are counted now.
    pub(crate) fn draw(&mut self) -> usize {
        let newly = self.show();
        self.has_last = true;
        newly
    }

    /// Takes note of text of the last token. Returns the number of tokens that are counted now.
    pub(crate) fn show(&mut self) -> usize {
        let newly = usize::from(std::mem::take(&mut self.has_last));
        self.counted += newly;
        newly
    }

    /// The tokens of the whole text that were not counted.
    pub(crate) fn end(self, completion_tokens: usize) -> usize {
        completion_tokens.saturating_sub(self.counted)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_that_ends_the_text_is_not_counted() {
        let mut tokens = TokensSoFar::default();
        assert_eq!((tokens.draw(), tokens.show(), tokens.show()), (0, 1, 0));
        assert_eq!((tokens.draw(), tokens.draw()), (0, 1));
        assert_eq!(tokens.end(2), 0);
        let mut tokens = TokensSoFar::default();
        tokens.draw();
        assert_eq!(tokens.end(1), 1);
    }
}
