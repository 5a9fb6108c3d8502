//! What the benchmarks beside llguidance share.

pub mod engines;
pub mod measure;
