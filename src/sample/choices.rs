//! [`Choices`]: the decisions of a walk, drawn by a seed and recorded, or replayed from a list.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

/// A recorded list of decisions, drawn or replayed.
#[derive(Debug)]
pub(super) struct Choices {
    random: ChaCha8Rng,
    /// The choices of the current text: each the index of an alternative, the simplest being 0.
    tape: Vec<u32>,
    /// The choices to make instead, and the number of those that were made.
    replay: Option<(Vec<u32>, usize)>,
}

impl Choices {
    /// Choices by a seed; the same on every machine.
    pub(super) fn by_seed(seed: u64) -> Self {
        Self { random: ChaCha8Rng::seed_from_u64(seed), tape: Vec::new(), replay: None }
    }

    /// A number below `n`, which is not 0, each as likely as the others up to 2⁻³².
    pub(super) fn below(&mut self, n: u32) -> u32 {
        ((u64::from(self.random.next_u32()) * u64::from(n)) >> 32) as u32
    }

    /// True once in `n` times on average.
    pub(super) fn one_in(&mut self, n: u32) -> bool {
        self.below(n) == 0
    }

    /// Begins a new text.
    pub(super) fn begin(&mut self) {
        self.tape.clear();
        if let Some((_, at)) = &mut self.replay {
            *at = 0;
        }
    }

    /// The number of choices so far.
    pub(super) fn len(&self) -> usize {
        self.tape.len()
    }

    /// Forgets all but the first `len` choices.
    pub(super) fn truncate(&mut self, len: usize) {
        self.tape.truncate(len);
    }

    /// Records a choice.
    pub(super) fn record(&mut self, choice: usize) {
        self.tape.push(choice as u32);
    }

    /// The replayed choice among `n`; `None` if choices are drawn by the seed.
    pub(super) fn replayed(&mut self, n: usize) -> Option<usize> {
        let (list, at) = self.replay.as_mut()?;
        let told = list.get(*at).copied().unwrap_or(0) as usize;
        *at += 1;
        Some(told.min(n - 1))
    }

    /// Whether choices are replayed from a list.
    pub(super) fn is_replaying(&self) -> bool {
        self.replay.is_some()
    }
}

#[cfg(feature = "proptest")]
impl Choices {
    /// Replays a list of choices from now on.
    pub(super) fn replay(&mut self, tape: &[u32]) {
        // Retries of captured texts draw by a seed, which is the same for each replay.
        self.random = ChaCha8Rng::seed_from_u64(0);
        self.replay = Some((tape.to_vec(), 0));
    }

    /// Draws by the seed again.
    pub(super) fn stop_replay(&mut self) {
        self.replay = None;
    }

    /// The recorded choices.
    pub(super) fn tape(&self) -> &[u32] {
        &self.tape
    }
}
