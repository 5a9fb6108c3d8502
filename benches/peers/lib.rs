//! Shared parts of the benchmarks beside llguidance.

pub mod engines;
pub mod figure;
pub mod measure;
