//! Scratch memory of draws.

use crate::sampling::fast::{LaneMaxima, TopPScratch};
use crate::sampling::steps::Candidate;

/// Memory that is kept from one draw to the next.
#[derive(Debug, Default)]
pub(super) struct SamplerScratch {
    /// The mask, less the lists and the changed candidates.
    pub(super) words: Vec<u32>,
    /// The maxima of the row's blocks.
    pub(super) maxima: Vec<LaneMaxima>,
    /// The list of candidates, where there is one.
    pub(super) candidates: Vec<Candidate>,
    pub(super) top_p: TopPScratch,
}

/// No draw reads what another one left, so a clone is empty: beams and drafts clone often.
impl Clone for SamplerScratch {
    fn clone(&self) -> Self {
        Self::default()
    }
}
