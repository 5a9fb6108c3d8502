//! Random numbers that are the same on every platform.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

/// A stream of ChaCha8 numbers.
#[derive(Clone, Debug)]
pub(super) struct RandomStream(ChaCha8Rng);

impl RandomStream {
    /// A stream of the key whose first eight bytes are the seed, little-endian, and whose others
    /// are zero.
    pub(super) fn new(seed: u64, stream: u64) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        let mut cipher = ChaCha8Rng::from_seed(key);
        cipher.set_stream(stream);
        Self(cipher)
    }

    /// The beginning of another stream of the same seed.
    pub(super) fn restart(&mut self, stream: u64) {
        self.0.set_stream(stream);
        self.0.set_word_pos(0);
    }

    /// The next number, from 0 and below 1: the upper 53 of 64 bits, as many as an `f64` there
    /// holds evenly spaced.
    pub(super) fn fraction(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }
}
