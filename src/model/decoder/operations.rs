//! Operations on rows of `f32` on the CPU: norms, products with biases, splitting.

use candle_core::Result;
use maskwright_kernels::{self as kernels, Product};

use super::linear::Linear;
use super::norm::Norm;
use crate::model::config::decoder::NormKind;

/// Norms each row of `x`.
pub(super) fn norm(norm: &Norm, x: &[f32], y: &mut [f32]) -> Result<()> {
    let weight = norm.weight.numbers()?;
    match norm.kind {
        NormKind::Rms | NormKind::RmsPlusOne => kernels::rms_norm(x, weight, norm.eps, y),
        NormKind::Layer | NormKind::LayerWithBias => kernels::layer_norm(x, weight, norm.eps, y),
    }
    if let Some(bias) = &norm.bias {
        kernels::add_bias(y, bias.numbers()?);
    }
    Ok(())
}

/// The outputs of several layers for the rows of `x`.
pub(super) fn products(x: &[f32], layers: &mut [(&Linear, &mut Vec<f32>)]) -> Result<()> {
    let mut products = Vec::with_capacity(layers.len());
    for (layer, y) in layers.iter_mut() {
        products.push(Product { weights: layer.weight.packed()?, y });
    }
    kernels::linear_into(x, &mut products);
    for (layer, y) in layers {
        if let Some(bias) = &layer.bias {
            kernels::add_bias(y, bias.numbers()?);
        }
    }
    Ok(())
}

/// Splits rows into parts of these widths.
pub(super) fn split(x: &[f32], parts: &mut [(usize, &mut Vec<f32>)]) {
    let width: usize = parts.iter().map(|(width, _)| width).sum();
    parts.iter_mut().for_each(|(_, part)| part.clear());
    for row in x.chunks_exact(width.max(1)) {
        let mut from = 0;
        for (width, part) in parts.iter_mut() {
            part.extend_from_slice(&row[from..from + *width]);
            from += *width;
        }
    }
}
