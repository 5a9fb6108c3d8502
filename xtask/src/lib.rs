//! Shared parts of the programs of this crate: the texts that the embedded model learns from, and
//! the
//! operations of its network with their derivatives.
//!
//! | program | what it does |
//! |---|---|
//! | `mask_fingerprints` | hashes every mask row of a corpus, to show that a change changes none |
//! | `flat_memory` | memory under load: a million documents, thousands of constraints |
//! | `train_tiny` | trains the embedded model (feature `model`) |
//! | `eval_tiny` | measures the embedded model (feature `model`) |

pub mod tiny_data;
#[cfg(feature = "model")]
pub mod tiny_ops;
