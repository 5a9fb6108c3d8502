//! A budget for the reasoning that a model writes before it answers.
//!
//! The constraint already requires the tags and what follows them. Here the tokens between the tags
//! are counted, and once the budget is spent, the mask keeps only tokens that lead to the closing
//! tag. After the text `so <` with the tag `</think>`, these are `/`, `/think` and `/think>`, but
//! not `</`.
//!
//! It is a filter like bans: where it would empty the mask, as within a character, it waits.

use crate::tools::Marker;
use crate::vocabulary::{TokenMask, Vocabulary};

/// The tags around a model's reasoning, and its budget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thinking {
    /// The tags and texts with which a message that has reasoning begins; none if the prompt ends in them.
    pub begin: Vec<Marker>,
    /// The tag that ends it.
    pub end: Marker,
    /// Greatest number of tokens between the tags; `None` for no bound.
    pub budget: Option<usize>,
}

/// The position of a text relative to the tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ReasoningPhase {
    Before,
    Inside,
    After,
}

/// The progress of one text's reasoning.
#[derive(Clone, Debug)]
pub(crate) struct ReasoningProgress {
    thinking: Thinking,
    phase: ReasoningPhase,
    /// Number of the markers of the beginning that were read.
    begun: usize,
    /// Tokens since the opening tag.
    spent: usize,
    /// Tokens until the closing tag, both tags included.
    written: usize,
    /// The last bytes of the text, in which the next tag may have begun.
    tail: Vec<u8>,
}

impl ReasoningProgress {
    pub(crate) fn new(thinking: &Thinking) -> Self {
        let phase =
            if thinking.begin.is_empty() { ReasoningPhase::Inside } else { ReasoningPhase::Before };
        let (thinking, tail) = (thinking.clone(), Vec::new());
        Self { thinking, phase, begun: 0, spent: 0, written: 0, tail }
    }

    /// The number of tokens of the reasoning so far, with its tags.
    pub(crate) fn tokens(&self) -> usize {
        match self.phase {
            ReasoningPhase::Before => 0,
            ReasoningPhase::Inside | ReasoningPhase::After => self.written,
        }
    }

    /// Advances by a token of the text.
    pub(crate) fn add(&mut self, token: u32, bytes: &[u8]) {
        self.spent += usize::from(self.phase == ReasoningPhase::Inside);
        self.written += usize::from(self.phase != ReasoningPhase::After);
        self.tail.extend_from_slice(bytes);
        if self.phase == ReasoningPhase::Before && self.begun == 0 {
            // Formats let line breaks stand before the tag.
            let breaks = self.tail.iter().take_while(|&&byte| byte == b'\n').count();
            self.tail.drain(..breaks);
            if breaks > 0 && self.tail.is_empty() {
                self.written = 0;
                return;
            }
        }
        match self.phase {
            ReasoningPhase::Before => self.read_begin(token),
            ReasoningPhase::Inside => self.find_end(token),
            ReasoningPhase::After => {}
        }
    }

    /// Reads the markers of the beginning, of which the last bytes of the text are the next.
    fn read_begin(&mut self, token: u32) {
        let is_read = match &self.thinking.begin[self.begun] {
            Marker::Token(id) => *id == token,
            Marker::Bytes(text) if self.tail.len() < text.len() && text.starts_with(&self.tail) => {
                return;
            }
            Marker::Bytes(text) if self.tail.starts_with(text) => {
                self.tail.drain(..text.len());
                true
            }
            Marker::Bytes(_) => false,
        };
        self.begun += usize::from(is_read);
        if !is_read {
            (self.phase, self.written) = (ReasoningPhase::After, 0);
        } else if self.begun == self.thinking.begin.len() {
            self.phase = ReasoningPhase::Inside;
        }
    }

    /// Looks for the closing tag in the last bytes of the text.
    fn find_end(&mut self, token: u32) {
        let is_end = match &self.thinking.end {
            Marker::Token(id) => {
                self.tail.clear();
                *id == token
            }
            Marker::Bytes(tag) => {
                let is_end = self.tail.windows(tag.len()).any(|part| part == tag);
                let kept = tag.len().saturating_sub(1);
                self.tail.drain(..self.tail.len().saturating_sub(kept));
                is_end
            }
        };
        if is_end {
            self.phase = ReasoningPhase::After;
        }
    }

    /// Once the budget is spent, keeps only the tokens of a mask that lead to the closing tag,
    /// unless there are none.
    pub(crate) fn keep_way_to_end(&self, vocabulary: &Vocabulary, mask: &mut TokenMask) {
        let spent = self.thinking.budget.is_some_and(|budget| self.spent >= budget);
        if self.phase != ReasoningPhase::Inside || !spent {
            return;
        }
        let kept: Vec<u32> = match &self.thinking.end {
            Marker::Token(id) => mask.contains(*id).then_some(*id).into_iter().collect(),
            Marker::Bytes(tag) => {
                let begun = (0..tag.len()).rev().find(|&n| self.tail.ends_with(&tag[..n]));
                let rest = &tag[begun.unwrap_or(0)..];
                let leads = |&id: &u32| {
                    let bytes = vocabulary.token_bytes(id).unwrap_or_default();
                    !bytes.is_empty() && (rest.starts_with(bytes) || bytes.starts_with(rest))
                };
                mask.iter().filter(leads).collect()
            }
        };
        if !kept.is_empty() {
            mask.clear();
            kept.into_iter().for_each(|id| mask.allow(id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary() -> Vocabulary {
        let words = ["a", "<", "/", "t", ">", "</t", ">b", "<t>", "\u{20ac}"];
        let tokens = words.iter().map(|word| Some(word.as_bytes().to_vec()));
        let tokens = tokens.chain([None, None, Some(b"\n".to_vec())]).collect();
        Vocabulary::from_tokens(tokens, &[(9, "[END]"), (10, "</s>")], &[10]).unwrap()
    }

    /// The tokens of a full mask that are left after these tokens.
    fn left(thinking: &Thinking, tokens: &[u32]) -> Vec<u32> {
        let vocabulary = vocabulary();
        let mut progress = ReasoningProgress::new(thinking);
        for &token in tokens {
            progress.add(token, vocabulary.token_bytes(token).unwrap_or_default());
        }
        let mut mask = TokenMask::all(vocabulary.len());
        progress.keep_way_to_end(&vocabulary, &mut mask);
        mask.iter().collect()
    }

    #[test]
    fn a_budget_leaves_the_way_to_the_tag() {
        let all: Vec<u32> = (0..12).collect();
        let text = |tag: &str| Marker::Bytes(tag.as_bytes().to_vec());
        let tagged = Thinking { begin: vec![text("<t>")], end: text("</t>"), budget: Some(2) };
        for (tokens, expected) in [
            (&[][..], &all[..]),
            (&[7], &all),
            (&[7, 0], &all),
            // Two tokens since the tag, which may be spelled in several ways.
            (&[7, 0, 0], &[1, 5]),
            // A line break may come first.
            (&[11, 7, 0, 0], &[1, 5]),
            (&[1, 3, 4, 0, 0], &[1, 5]),
            (&[7, 0, 1], &[2]),
            (&[7, 0, 5], &[4, 6]),
            (&[7, 0, 0, 1, 2, 3], &[4, 6]),
            // After it nothing is pressed, whatever comes.
            (&[7, 0, 0, 5, 4], &all),
            (&[7, 5, 4, 7, 0, 0, 0], &all),
            (&[7, 5, 6, 0, 0], &all),
        ] {
            assert_eq!(left(&tagged, tokens), expected, "{tokens:?}");
        }
        let opened = Thinking { begin: Vec::new(), end: Marker::Token(9), budget: Some(1) };
        for (tokens, expected) in
            [(&[][..], &all[..]), (&[0], &[9]), (&[0, 9], &all), (&[9, 0], &all)]
        {
            assert_eq!(left(&opened, tokens), expected, "{tokens:?}");
        }
    }

    #[test]
    fn tokens_are_counted_with_the_tags() {
        let text = |tag: &str| Marker::Bytes(tag.as_bytes().to_vec());
        let written = Thinking { begin: vec![text("<t>")], end: text("</t>"), budget: None };
        let opened = Thinking { begin: Vec::new(), ..written.clone() };
        let markers = vec![Marker::Token(9), text("a"), Marker::Token(10)];
        let named = Thinking { begin: markers, ..written.clone() };
        for (thinking, tokens, expected) in [
            (&written, &[][..], 0),
            (&written, &[0, 0], 0),
            (&written, &[7, 0], 2),
            (&written, &[7, 0, 5, 4], 4),
            (&written, &[1, 3, 4, 0, 5, 6, 0, 7], 6),
            // A tag after the beginning of a message is text.
            (&written, &[0, 7, 0], 0),
            (&written, &[1, 0, 7, 0], 0),
            (&named, &[9, 0, 10, 0], 4),
            (&named, &[9, 3, 10, 0], 0),
            (&named, &[9, 10], 0),
            (&opened, &[0], 1),
            (&opened, &[0, 5, 4, 0], 3),
        ] {
            let vocabulary = vocabulary();
            let mut progress = ReasoningProgress::new(thinking);
            for &token in tokens {
                progress.add(token, vocabulary.token_bytes(token).unwrap_or_default());
            }
            assert_eq!(progress.tokens(), expected, "{tokens:?}");
        }
    }

    #[test]
    fn where_the_mask_has_no_way_to_the_tag_the_budget_waits() {
        let vocabulary = vocabulary();
        let end = Marker::Bytes(b"</t>".to_vec());
        let progress =
            ReasoningProgress::new(&Thinking { begin: Vec::new(), end, budget: Some(0) });
        let mut mask = TokenMask::new(vocabulary.len());
        mask.allow(8);
        progress.keep_way_to_end(&vocabulary, &mut mask);
        assert_eq!(mask.iter().collect::<Vec<_>>(), [8]);
    }
}
