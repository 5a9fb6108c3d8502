//! Keyed hashes of 128 bits, for names of structure that are equal across the arenas of one process.

use std::hash::BuildHasher as _;
use std::hash::Hasher as _;
use std::hash::{DefaultHasher, RandomState};
use std::sync::OnceLock;

/// Keys of all fingerprints, drawn once a process.
static FINGERPRINT_KEYS: OnceLock<(RandomState, RandomState)> = OnceLock::new();

/// 128 bits of SipHash under the keys of this process, of what `feed` writes.
pub(crate) fn keyed_hash(feed: impl Fn(&mut DefaultHasher)) -> u128 {
    let (high, low) = FINGERPRINT_KEYS.get_or_init(Default::default);
    let half = |keys: &RandomState| {
        let mut hasher = keys.build_hasher();
        feed(&mut hasher);
        u128::from(hasher.finish())
    };
    half(high) << 64 | half(low)
}
