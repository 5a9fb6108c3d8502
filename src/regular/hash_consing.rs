//! Hashes for hash consing: tables of 32-bit hashes and ids, whose values lie elsewhere.
//!
//! [`Languages`](super::Languages) and the recognizer's configurations keep their values in a list of
//! their own, and in a `hashbrown::HashTable` a hash and an id for each. Since the hash is stored, a
//! table grows without looking at the values; with 32 bits of it an entry takes eight bytes.

use std::hash::{BuildHasher as _, BuildHasherDefault, Hash};

use rustc_hash::FxHasher;

/// The hash of a value, as a table stores it.
#[inline]
pub(crate) fn short_hash(value: impl Hash) -> u32 {
    let hash = BuildHasherDefault::<FxHasher>::default().hash_one(value);
    (hash ^ hash >> 32) as u32
}

/// 64 bits from the 32 of a stored hash. A table uses both ends of them: the low bits choose a
/// bucket, the high ones tell its entries apart.
#[inline]
pub(crate) fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
