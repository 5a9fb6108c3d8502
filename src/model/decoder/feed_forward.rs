//! Feed-forward parts on the CPU.

use candle_core::Result;
use maskwright_kernels as kernels;

use super::beside_experts::GatedBesideExperts;
use super::experts::Experts;
use super::gated::Gated;
use super::layer::Mlp;
use super::operations::{norm, products, split};

/// The buffers inside a feed-forward part.
#[derive(Default)]
pub(super) struct Inner {
    pub(super) fused: Vec<f32>,
    pub(super) gate: Vec<f32>,
    pub(super) up: Vec<f32>,
}

/// The output `y` of a feed-forward part for rows of the stream, of which `x` is the norm.
pub(super) fn feed_forward(
    mlp: &Mlp,
    stream: &[f32],
    x: &[f32],
    inner: &mut Inner,
    y: &mut Vec<f32>,
) -> Result<()> {
    match mlp {
        Mlp::Gated(mlp) => gated(mlp, x, inner, y),
        Mlp::Plain { up, down, activation } => {
            products(x, &mut [(up, &mut inner.up)])?;
            kernels::activate(&mut inner.up, *activation);
            products(&inner.up, &mut [(down, y)])
        }
        Mlp::Experts(mlp) => mixture(mlp, x, x, inner, y),
        Mlp::GatedBesideExperts(both) => beside_experts(both, stream, x, inner, y),
    }
}

/// down(activation(gate · x) * (up · x)) of some rows.
fn gated(mlp: &Gated, x: &[f32], inner: &mut Inner, y: &mut Vec<f32>) -> Result<()> {
    let Inner { fused, gate, up } = inner;
    match mlp.inputs.as_slice() {
        [first, second] => products(x, &mut [(first, gate), (second, up)])?,
        all => {
            for linear in all {
                products(x, &mut [(linear, fused)])?;
            }
            split(fused, &mut [(mlp.config.inner, gate), (mlp.config.inner, up)]);
        }
    }
    kernels::gate(gate, up, mlp.config.activation);
    products(gate, &mut [(&mlp.down, y)])
}

/// The weighted sum of the chosen experts of each row of `x`, which the router chooses by `routed`.
fn mixture(
    mlp: &Experts,
    routed: &[f32],
    x: &[f32],
    inner: &mut Inner,
    y: &mut Vec<f32>,
) -> Result<()> {
    let mut scores = Vec::new();
    products(routed, &mut [(&mlp.router, &mut scores)])?;
    let rows = scores.len() / mlp.config.count;
    let hidden = x.len().checked_div(rows).unwrap_or(0);
    let chosen: Vec<Vec<(usize, f32)>> =
        scores.chunks_exact(mlp.config.count).map(|scores| mlp.choose(scores)).collect();
    y.clear();
    y.resize(x.len(), 0.0);
    let (mut some, mut result) = (Vec::new(), Vec::new());
    for (index, expert) in mlp.experts.iter().enumerate() {
        let weight = |(row, chosen): (usize, &Vec<(usize, f32)>)| {
            chosen.iter().find(|(expert, _)| *expert == index).map(|(_, weight)| (row, *weight))
        };
        let users: Vec<(usize, f32)> = chosen.iter().enumerate().filter_map(weight).collect();
        if users.is_empty() {
            continue;
        }
        some.clear();
        for (row, _) in &users {
            some.extend_from_slice(&x[row * hidden..(row + 1) * hidden]);
        }
        gated(expert, &some, inner, &mut result)?;
        for ((row, weight), part) in users.into_iter().zip(result.chunks_exact(hidden)) {
            kernels::add_scaled(&mut y[row * hidden..(row + 1) * hidden], part, weight);
        }
    }
    let Some((expert, gate)) = &mlp.shared else { return Ok(()) };
    gated(expert, x, inner, &mut result)?;
    match gate {
        None => kernels::add(y, &result),
        Some(gate) => {
            products(x, &mut [(gate, &mut scores)])?;
            let rows = y.chunks_exact_mut(hidden).zip(result.chunks_exact(hidden));
            for ((y, part), score) in rows.zip(&scores) {
                kernels::add_scaled(y, part, 1.0 / (1.0 + (-score).exp()));
            }
        }
    }
    Ok(())
}

/// A gated part of `x` and a mixture of the stream, each with its norms.
fn beside_experts(
    both: &GatedBesideExperts,
    stream: &[f32],
    x: &[f32],
    inner: &mut Inner,
    y: &mut Vec<f32>,
) -> Result<()> {
    let mut raw = Vec::new();
    gated(&both.gated, x, inner, &mut raw)?;
    y.resize(raw.len(), 0.0);
    norm(&both.after_gated, &raw, y)?;
    let (mut routed, mut read) = (vec![0.0; stream.len()], vec![0.0; stream.len()]);
    norm(&both.before_router, stream, &mut routed)?;
    norm(&both.before_experts, stream, &mut read)?;
    mixture(&both.experts, &routed, &read, inner, &mut raw)?;
    norm(&both.after_experts, &raw, &mut read)?;
    kernels::add(y, &read);
    Ok(())
}
