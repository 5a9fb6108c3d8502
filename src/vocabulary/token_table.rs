//! Token bytes by id: one buffer of bytes and a span in it for each id.

use super::index::{IndexReader, IndexWriter};
use crate::error::{Error, ErrorKind, Result};

/// Upper bound of ids, exclusive: a file of a few bytes must not make us reserve gigabytes. The
/// largest public vocabularies have under 300,000 tokens.
pub(crate) const MAX_IDS: u32 = 1 << 24;

/// The kind of a token, before end tokens are set aside. The numbers are stored in the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// No token has this id.
    Missing = 0,
    /// Its bytes are text.
    Text = 1,
    /// It matches no text.
    Special = 2,
}

/// The span of a token's bytes.
#[derive(Clone, Copy, Debug)]
struct TokenBytesSpan {
    start: u32,
    len: u16,
    kind: TokenKind,
}

/// Token bytes and kinds by id. Loaders set ids in any order.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenTable {
    bytes: Vec<u8>,
    spans: Vec<TokenBytesSpan>,
}

impl TokenTable {
    /// The number of ids: one more than the highest that was set.
    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    /// Gives an id its bytes, replacing earlier ones. Errors on an id or a length beyond the
    /// limits.
    pub(crate) fn set(&mut self, id: u32, bytes: &[u8], kind: TokenKind) -> Result<()> {
        self.grow(id)?;
        let start = self.bytes.len();
        let (Ok(len), true) = (u16::try_from(bytes.len()), start < u32::MAX as usize - 0xFFFF)
        else {
            let message = format!("token {id} is {} bytes long", bytes.len());
            let help = format!("a token may have {} bytes, all together 4 GiB", u16::MAX);
            return Err(Error::new(ErrorKind::Vocabulary, message).with_help(help));
        };
        self.bytes.extend_from_slice(bytes);
        self.spans[id as usize] = TokenBytesSpan { start: start as u32, len, kind };
        Ok(())
    }

    /// Makes room for an id, which stays missing until it is set.
    pub(crate) fn grow(&mut self, id: u32) -> Result<()> {
        if id >= MAX_IDS {
            let message = format!("token id {id} is too large");
            let help = format!("ids must be below {MAX_IDS}");
            return Err(Error::new(ErrorKind::Vocabulary, message).with_help(help));
        }
        if id as usize >= self.spans.len() {
            let missing = TokenBytesSpan { start: 0, len: 0, kind: TokenKind::Missing };
            self.spans.resize(id as usize + 1, missing);
        }
        Ok(())
    }

    /// The kind of an id.
    pub(crate) fn kind(&self, id: u32) -> TokenKind {
        self.spans.get(id as usize).map_or(TokenKind::Missing, |span| span.kind)
    }

    /// The bytes of a text token.
    pub(crate) fn text(&self, id: u32) -> Option<&[u8]> {
        let span = self.spans.get(id as usize)?;
        let start = span.start as usize;
        (span.kind == TokenKind::Text).then(|| &self.bytes[start..start + usize::from(span.len)])
    }

    /// Writes the table into an index: the bytes, then starts, lengths and kinds of all ids.
    pub(crate) fn encode(&self, to: &mut IndexWriter) {
        to.bytes(&self.bytes);
        to.list(self.spans.iter().map(|span| span.start));
        to.list(self.spans.iter().map(|span| span.len));
        to.list(self.spans.iter().map(|span| span.kind as u8));
    }

    /// Reads a table from an index; `None` if the data is not valid.
    pub(crate) fn decode(from: &mut IndexReader<'_>) -> Option<Self> {
        let bytes = from.bytes()?.to_vec();
        let (starts, lens) = (from.list::<u32>()?, from.list::<u16>()?);
        let kinds = from.list::<u8>()?;
        if lens.len() != starts.len() || kinds.len() != starts.len() {
            return None;
        }
        let span = |((start, len), kind): ((u32, u16), u8)| {
            let kind = match kind {
                0 => TokenKind::Missing,
                1 => TokenKind::Text,
                2 => TokenKind::Special,
                _ => return None,
            };
            let fits = start as usize + usize::from(len) <= bytes.len();
            fits.then_some(TokenBytesSpan { start, len, kind })
        };
        let spans: Option<Vec<TokenBytesSpan>> = starts.zip(lens).zip(kinds).map(span).collect();
        Some(Self { spans: spans.filter(|spans| spans.len() <= MAX_IDS as usize)?, bytes })
    }

    /// The highest id that is text.
    pub(crate) fn highest_text(&self) -> Option<u32> {
        self.spans.iter().rposition(|span| span.kind == TokenKind::Text).map(|id| id as u32)
    }

    /// Leaves out ids from `len` on.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.spans.truncate(len);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_in_any_order_and_may_be_replaced() {
        let mut table = TokenTable::default();
        table.set(4, b"four", TokenKind::Text).unwrap();
        table.set(1, b"one", TokenKind::Text).unwrap();
        table.set(1, b"uno", TokenKind::Text).unwrap();
        table.set(2, b"", TokenKind::Special).unwrap();
        table.set(5, b"", TokenKind::Special).unwrap();
        let texts: Vec<_> = (0..6).map(|id| table.text(id)).collect();
        assert_eq!(texts, [None, Some(&b"uno"[..]), None, None, Some(b"four"), None]);
        assert_eq!((table.len(), table.highest_text()), (6, Some(4)));
        table.grow(9).unwrap();
        assert_eq!((table.len(), table.highest_text()), (10, Some(4)));
        table.truncate(3);
        assert_eq!((table.len(), table.highest_text()), (3, Some(1)));
    }

    #[test]
    fn absurd_ids_and_lengths_are_errors() {
        let mut table = TokenTable::default();
        assert!(table.set(u32::MAX, b"", TokenKind::Text).is_err());
        assert!(table.set(0, &vec![0; 70_000], TokenKind::Text).is_err());
        table.set(0, &vec![0; 65_535], TokenKind::Text).unwrap();
    }
}
