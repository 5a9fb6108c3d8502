//! Shared parts of the benchmarks beside llguidance.

pub mod engines;
pub mod measure;
