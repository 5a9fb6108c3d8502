//! The bytes of every token id, in one allocation.

use super::index::{Reader, Writer};
use crate::error::{Error, ErrorKind, Result};

/// Ids must be below this: a file of a few bytes must not make us reserve gigabytes. The largest
/// public vocabularies have under 300,000 tokens.
pub(crate) const MAX_IDS: u32 = 1 << 24;

/// What an id stands for, before any end tokens are set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// No token has this id.
    Missing = 0,
    /// Its bytes are text.
    Text = 1,
    /// It matches no text.
    Special = 2,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    start: u32,
    len: u16,
    kind: Kind,
}

/// Token bytes by id. Ids come in any order, so each is a span of one shared buffer.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenTable {
    bytes: Vec<u8>,
    slots: Vec<Slot>,
}

impl TokenTable {
    /// The number of ids: one more than the highest that was set.
    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// Gives an id its bytes, replacing earlier ones. Errors on an id or a length beyond the limits.
    pub(crate) fn set(&mut self, id: u32, bytes: &[u8], kind: Kind) -> Result<()> {
        self.grow(id)?;
        let start = self.bytes.len();
        let (Ok(len), true) = (u16::try_from(bytes.len()), start < u32::MAX as usize - 0xFFFF)
        else {
            let message = format!("token {id} is {} bytes long", bytes.len());
            let help = format!("a token may have {} bytes, all together 4 GiB", u16::MAX);
            return Err(Error::new(ErrorKind::Vocabulary, message).with_help(help));
        };
        self.bytes.extend_from_slice(bytes);
        self.slots[id as usize] = Slot { start: start as u32, len, kind };
        Ok(())
    }

    /// Makes room for an id, which stays missing until it is set.
    pub(crate) fn grow(&mut self, id: u32) -> Result<()> {
        if id >= MAX_IDS {
            let message = format!("token id {id} is too large");
            let help = format!("ids must be below {MAX_IDS}");
            return Err(Error::new(ErrorKind::Vocabulary, message).with_help(help));
        }
        if id as usize >= self.slots.len() {
            let missing = Slot { start: 0, len: 0, kind: Kind::Missing };
            self.slots.resize(id as usize + 1, missing);
        }
        Ok(())
    }

    /// What an id stands for.
    pub(crate) fn kind(&self, id: u32) -> Kind {
        self.slots.get(id as usize).map_or(Kind::Missing, |slot| slot.kind)
    }

    /// The bytes of a text token.
    pub(crate) fn text(&self, id: u32) -> Option<&[u8]> {
        let slot = self.slots.get(id as usize)?;
        let start = slot.start as usize;
        (slot.kind == Kind::Text).then(|| &self.bytes[start..start + usize::from(slot.len)])
    }

    /// Writes it into an index.
    pub(crate) fn encode(&self, to: &mut Writer) {
        to.bytes(&self.bytes);
        to.list(self.slots.iter().map(|slot| slot.start));
        to.list(self.slots.iter().map(|slot| slot.len));
        to.list(self.slots.iter().map(|slot| slot.kind as u8));
    }

    /// Reads it from an index; `None` if that is no table.
    pub(crate) fn decode(from: &mut Reader<'_>) -> Option<Self> {
        let bytes = from.bytes()?.to_vec();
        let (starts, lens) = (from.list::<u32>()?, from.list::<u16>()?);
        let kinds = from.list::<u8>()?;
        if lens.len() != starts.len() || kinds.len() != starts.len() {
            return None;
        }
        let slot = |((start, len), kind): ((u32, u16), u8)| {
            let kind = match kind {
                0 => Kind::Missing,
                1 => Kind::Text,
                2 => Kind::Special,
                _ => return None,
            };
            let fits = start as usize + usize::from(len) <= bytes.len();
            fits.then_some(Slot { start, len, kind })
        };
        let slots: Option<Vec<Slot>> = starts.zip(lens).zip(kinds).map(slot).collect();
        Some(Self { slots: slots.filter(|slots| slots.len() <= MAX_IDS as usize)?, bytes })
    }

    /// The highest id that is not missing.
    pub(crate) fn highest(&self) -> Option<u32> {
        self.slots.iter().rposition(|slot| slot.kind != Kind::Missing).map(|id| id as u32)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_in_any_order_and_may_be_replaced() {
        let mut table = TokenTable::default();
        table.set(4, b"four", Kind::Text).unwrap();
        table.set(1, b"one", Kind::Text).unwrap();
        table.set(1, b"uno", Kind::Text).unwrap();
        table.set(2, b"", Kind::Special).unwrap();
        let texts: Vec<_> = (0..6).map(|id| table.text(id)).collect();
        assert_eq!(texts, [None, Some(&b"uno"[..]), None, None, Some(b"four"), None]);
        assert_eq!((table.len(), table.highest()), (5, Some(4)));
        table.grow(9).unwrap();
        assert_eq!((table.len(), table.highest()), (10, Some(4)));
    }

    #[test]
    fn absurd_ids_and_lengths_are_errors() {
        let mut table = TokenTable::default();
        assert!(table.set(u32::MAX, b"", Kind::Text).is_err());
        assert!(table.set(0, &vec![0; 70_000], Kind::Text).is_err());
        table.set(0, &vec![0; 65_535], Kind::Text).unwrap();
    }
}
