//! Where choices come from: a seed, or a list of earlier ones.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// Choices by a seed, written down as they are made; or read from a list.
#[derive(Debug)]
pub(super) struct Choices {
    random: ChaCha8Rng,
    /// The choices of the text that is being drawn.
    tape: Vec<u32>,
    /// The choices to make instead, and how many were made.
    replay: Option<(Vec<u32>, usize)>,
}

impl Choices {
    pub(super) fn by_seed(seed: u64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), tape: Vec::new(), replay: None }
    }

    /// A number below `n`, which is not 0, each as likely as the others up to 2⁻³². Of 32 bits
    /// everywhere, so that machines agree.
    pub(super) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.random.next_u32()) * u64::from(n)) >> 32) as u32
    }

    pub(super) fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// A new text is begun.
    pub(super) fn begin(&mut self) {
        self.tape.clear();
        if let Some((_, at)) = &mut self.replay {
            *at = 0;
        }
    }

    /// The choices so far.
    pub(super) fn len(&self) -> usize {
        self.tape.len()
    }

    /// Unmakes the last choices.
    pub(super) fn truncate(&mut self, len: usize) {
        self.tape.truncate(len);
    }

    /// Writes down what was chosen.
    pub(super) fn note(&mut self, choice: usize) {
        self.tape.push(choice as u32);
    }

    /// The choice that the list makes among `n`; `None` if choices are by the seed.
    pub(super) fn told(&mut self, n: usize) -> Option<usize> {
        let (list, at) = self.replay.as_mut()?;
        let told = list.get(*at).copied().unwrap_or(0) as usize;
        *at += 1;
        Some(told.min(n - 1))
    }

    pub(super) fn is_told(&self) -> bool {
        self.replay.is_some()
    }
}

#[cfg(feature = "proptest")]
impl Choices {
    pub(super) fn replay(&mut self, tape: &[u32]) {
        // Where a list alone leads nowhere, the rest is by this seed: the same each time.
        self.random = ChaCha8Rng::seed_from_u64(0);
        self.replay = Some((tape.to_vec(), 0));
    }

    pub(super) fn stop_replay(&mut self) {
        self.replay = None;
    }

    pub(super) fn tape(&self) -> &[u32] {
        &self.tape
    }
}
