//! Numbers for tests.

/// Knuth's linear congruential generator (MMIX), from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// Some numbers from −0.5 to 0.5.
    pub(crate) fn numbers(&mut self, n: usize) -> Vec<f32> {
        let mut next = || {
            self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (self.0 >> 40) as f32 / (1 << 24) as f32 - 0.5
        };
        (0..n).map(|_| next()).collect()
    }

    /// Some bytes.
    pub(crate) fn bytes(&mut self, n: usize) -> Vec<u8> {
        self.numbers(n).into_iter().map(|number| ((number + 0.5) * 256.0) as u8).collect()
    }
}
