//! Shared parts of the programs of this crate: the texts that the embedded model learns from.
//!
//! | program | what it does |
//! |---|---|
//! | `mask_fingerprints` | hashes every mask row of a corpus, to show that a change changes none |
//! | `flat_memory` | memory under load: a million documents, thousands of constraints |
//! | `tiny_lessons` | writes the lessons of the embedded model, for `train_tiny.py` (feature `model`) |
//! | `eval_tiny` | measures the embedded model (feature `model`) |

pub mod tiny_data;
