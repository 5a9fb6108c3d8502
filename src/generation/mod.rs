//! The decoding loop.
