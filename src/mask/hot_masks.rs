//! Written masks of the configurations that are asked for again and again, lent to matchers as they
//! are.
//!
//! A packed mask is written into a row in less than a microsecond, most of which goes into moving
//! 25 kB. Where a configuration comes back many times, a row of its own saves that; for one that
//! comes back a few times, making the row would cost more than it saves.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::packed_mask::PackedMask;
use crate::recognizer::ConfigId;
use crate::vocabulary::TokenMask;

/// Requests for a mask before its row is kept.
const REQUESTS_TO_KEEP: u8 = 8;

/// Rows of masks that are kept.
#[derive(Debug, Default)]
pub(crate) struct HotMasks {
    masks: FxHashMap<ConfigId, Arc<TokenMask>>,
    requests: FxHashMap<ConfigId, u8>,
    bytes: usize,
}

impl HotMasks {
    /// The mask of a configuration, if it is kept.
    #[inline]
    pub(crate) fn get(&self, id: ConfigId) -> Option<&Arc<TokenMask>> {
        self.masks.get(&id)
    }

    /// Counts a request for a mask of `len` tokens. Once it was asked for often, its row is kept if all
    /// rows together stay within `max_bytes`.
    pub(crate) fn request(
        &mut self,
        id: ConfigId,
        packed: &PackedMask,
        len: usize,
        max_bytes: usize,
    ) -> Option<&Arc<TokenMask>> {
        let requests = self.requests.entry(id).or_default();
        *requests = requests.saturating_add(1);
        let bytes = len.div_ceil(8) + 64;
        if *requests < REQUESTS_TO_KEEP || self.bytes + bytes > max_bytes {
            return None;
        }
        self.bytes += bytes;
        let mut mask = TokenMask::new(len);
        packed.write(mask.words_mut());
        Some(self.masks.entry(id).or_insert(Arc::new(mask)))
    }

    /// Starts again with no rows.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.bytes + self.requests.len() * 16
    }
}
