//! The sampling chain: small pure functions of logits.
