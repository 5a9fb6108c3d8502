//! Quantised weight matrices: blocks of small integers with a scale, as ggml defines them.
//!
//! A block of 32 or 256 weights of a row holds for each weight a *code* of 2 to 8 bits, and a scale and
//! perhaps an offset for each group of 16 or 32 of them: weight = code · scale + offset.
//! [`BlockFormat`] reads the blocks of files; [`QuantisedPanels`] holds the same numbers with 16 columns
//! side by side, in as many bits. Products are those of integers: a row of activations is
//! [quantised](quantise_rows) to 16 bits once for all matrices, and [`QuantisedTask`] multiplies codes with
//! it.

mod block_format;
mod codes;
mod integer_products;
mod panels;
mod product;
mod quantised_rows;
mod unpacked;

pub use block_format::BlockFormat;
pub(crate) use panels::QuantisedPanels;
pub(crate) use product::QuantisedTask;
pub(crate) use quantised_rows::{QuantisedActivations, UNIT, quantise_rows};
