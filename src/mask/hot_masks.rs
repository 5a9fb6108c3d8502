//! Whole masks of the configurations that are asked for again and again, to be lent as they are.
//!
//! A mask in few words is written into a buffer in less than a microsecond, most of which goes
//! into moving 25 kilobytes. Where a configuration comes back many times that is worth a buffer of
//! its own; for one that comes back a few times, making the buffer would cost more than it saves.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::mask::Form;
use crate::recognizer::stepping::ConfigId;
use crate::vocabulary::TokenMask;

/// How often a mask is asked for before it is kept whole.
const OFTEN: u8 = 8;

/// Masks kept whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lent {
    masks: FxHashMap<ConfigId, Arc<TokenMask>>,
    asked: FxHashMap<ConfigId, u8>,
    bytes: usize,
}

impl Lent {
    /// The mask of a configuration, if it is kept.
    #[inline]
    pub(crate) fn get(&self, id: ConfigId) -> Option<&Arc<TokenMask>> {
        self.masks.get(&id)
    }

    /// The mask is asked for once more; it is kept if that is often and all of them together stay
    /// within so many bytes.
    pub(crate) fn ask(
        &mut self,
        id: ConfigId,
        form: &Form,
        len: usize,
        most: usize,
    ) -> Option<&Arc<TokenMask>> {
        let asked = self.asked.entry(id).or_default();
        *asked = asked.saturating_add(1);
        let bytes = len.div_ceil(8) + 64;
        if *asked < OFTEN || self.bytes + bytes > most {
            return None;
        }
        self.bytes += bytes;
        let mut mask = TokenMask::new(len);
        form.write(mask.words_mut());
        Some(self.masks.entry(id).or_insert(Arc::new(mask)))
    }

    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }

    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.asked.len() * 16
    }
}
