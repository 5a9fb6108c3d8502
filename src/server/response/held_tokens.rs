//! Reports of tokens that wait until their text is sent.

use std::collections::VecDeque;

/// Reports of the tokens of one text, each held until its token's text can be shown: before that it may turn
/// out to be the beginning of a stop string, which is cut off, and its tokens with it.
#[derive(Debug)]
pub(crate) struct HeldTokens<T> {
    /// Reports of tokens whose text was not shown, each with the place in the text where its token begins, in bytes.
    held: VecDeque<(usize, T)>,
    /// Reports of tokens whose text was shown, with the same.
    shown: Vec<(usize, T)>,
    /// Length of the text that was shown, in bytes.
    shown_text: usize,
    /// Number of reports that were taken.
    taken: usize,
}

impl<T> Default for HeldTokens<T> {
    fn default() -> Self {
        Self { held: VecDeque::new(), shown: Vec::new(), shown_text: 0, taken: 0 }
    }
}

impl<T> HeldTokens<T> {
    /// Adds the report of a token that begins at byte `start` of the text.
    pub(crate) fn push(&mut self, start: usize, report: T) {
        self.held.push_back((start, report));
    }

    /// Takes note of more text that is shown.
    pub(crate) fn show(&mut self, text: &str) {
        self.shown_text += text.len();
        while self.held.front().is_some_and(|&(start, _)| start < self.shown_text) {
            self.shown.extend(self.held.pop_front());
        }
    }

    /// Takes note that nothing so far can be cut off any longer.
    pub(crate) fn show_all(&mut self) {
        self.shown.extend(self.held.drain(..));
    }

    /// Drops the reports of shown tokens that end before the last `bytes` bytes of the text that was shown.
    pub(crate) fn keep_last(&mut self, bytes: usize) {
        let start = self.shown_text.saturating_sub(bytes);
        let ended = self.shown.windows(2).take_while(|two| two[1].0 <= start).count();
        self.shown.drain(..ended);
        self.taken += ended;
    }

    /// The reports of tokens whose text was shown, less those that were taken before.
    pub(crate) fn take(&mut self) -> Vec<T> {
        self.taken += self.shown.len();
        self.shown.drain(..).map(|(_, report)| report).collect()
    }

    /// Takes note that the text has ended, and that its first `tokens` tokens are of it.
    pub(crate) fn end(&mut self, tokens: usize) {
        self.show_all();
        self.shown.truncate(tokens.saturating_sub(self.taken));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_held_until_its_text_is_shown() {
        let mut tokens = HeldTokens::default();
        for (start, token) in ["a", "aa", "ab", ""].iter().enumerate() {
            tokens.push(start, *token);
        }
        assert!(tokens.take().is_empty());
        tokens.show("aa");
        assert_eq!(tokens.take(), ["a", "aa"]);
        tokens.show("a");
        assert_eq!(tokens.take(), ["ab"]);
        tokens.show_all();
        assert_eq!(tokens.take(), [""]);
        tokens.push(4, "b");
        tokens.push(5, "c");
        tokens.end(5);
        assert_eq!(tokens.take(), ["b"]);
    }

    #[test]
    fn tokens_that_ended_before_a_text_are_dropped() {
        let mut tokens = HeldTokens::default();
        for (start, token) in [(0, "</t>"), (4, ""), (4, "\n"), (5, "ab"), (7, "c")] {
            tokens.push(start, token);
        }
        tokens.show("</t>\nab");
        tokens.keep_last(3);
        assert_eq!(tokens.take(), ["\n", "ab"]);
        tokens.show("c");
        // A token that has a part of the text is one of it.
        tokens.push(8, "d");
        tokens.push(9, "ef");
        tokens.show("def");
        tokens.keep_last(1);
        assert_eq!(tokens.take(), ["ef"]);
    }
}
