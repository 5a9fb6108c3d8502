//! The steps of the network that candle has no fast derivative for, each forward and backward in
//! one pass over memory (rows are tokens; sequences stand one behind the other without padding), and
//! the direction of an optimizer step.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Storage, Tensor};

/// Width of an attention head: fixed, so that its loops are unrolled.
pub const HEAD: usize = 32;

/// Added to the mean square before its root is taken.
pub const EPSILON: f32 = 1e-5;

/// The base of the rotary frequencies.
pub const ROPE_THETA: f32 = 10_000.0;

fn slice<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let all = storage.as_slice::<f32>()?;
    match layout.contiguous_offsets() {
        Some((from, to)) => Ok(&all[from..to]),
        None => candle_core::bail!("the rows are not contiguous"),
    }
}

/// Calls `read` with the tensor's numbers, which must be contiguous and on the CPU.
pub fn with_slice<T>(tensor: &Tensor, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
    let (storage, layout) = tensor.storage_and_layout();
    match &*storage {
        Storage::Cpu(storage) => Ok(read(slice(storage, layout)?)),
        _ => candle_core::bail!("training is on the CPU"),
    }
}

fn like(tensor: &Tensor, data: Vec<f32>) -> Result<Tensor> {
    Tensor::from_vec(data, tensor.shape(), tensor.device())
}

/// The matrix with all its singular values moved near 1: five steps of Newton and Schulz's
/// iteration with Jordan's coefficients, which end between 0.7 and 1.2.
pub fn orthogonal(matrix: &Tensor) -> Result<Tensor> {
    const A: f64 = 3.4445;
    const B: f64 = -4.7750;
    const C: f64 = 2.0315;
    let (rows, columns) = matrix.dims2()?;
    // The products are square in the shorter side.
    let tall = rows > columns;
    let mut x = if tall { matrix.t()?.contiguous()? } else { matrix.clone() };
    let norm = f64::from(x.sqr()?.sum_all()?.sqrt()?.to_scalar::<f32>()?);
    x = (x / (norm + 1e-7))?;
    for _ in 0..5 {
        let square = x.matmul(&x.t()?)?;
        let step = ((&square * B)? + (square.matmul(&square)? * C)?)?;
        x = ((&x * A)? + step.matmul(&x)?)?;
    }
    if tall { x.t()?.contiguous() } else { Ok(x) }
}

/// `x / rms(x) * weight`, row by row (Zhang and Sennrich 2019).
pub struct RmsNorm;

fn inverse_rms(row: &[f32]) -> f32 {
    let square: f32 = row.iter().map(|x| x * x).sum();
    1.0 / (square / row.len() as f32 + EPSILON).sqrt()
}

impl CustomOp2 for RmsNorm {
    fn name(&self) -> &'static str {
        "rms-norm"
    }

    fn cpu_fwd(
        &self,
        x: &CpuStorage,
        x_layout: &Layout,
        weight: &CpuStorage,
        weight_layout: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let (x, weight) = (slice(x, x_layout)?, slice(weight, weight_layout)?);
        let mut out = Vec::with_capacity(x.len());
        for row in x.chunks_exact(weight.len()) {
            let scale = inverse_rms(row);
            out.extend(row.iter().zip(weight).map(|(x, w)| x * scale * w));
        }
        Ok((CpuStorage::F32(out), x_layout.shape().clone()))
    }

    fn bwd(
        &self,
        x: &Tensor,
        weight: &Tensor,
        _: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let width = weight.elem_count();
        let mut x_grad = vec![0.0; x.elem_count()];
        let mut weight_grad = vec![0.0; width];
        with_slice(x, |x_rows| {
            with_slice(weight, |weight| {
                with_slice(grad, |grads| {
                    let rows = x_rows.chunks_exact(width).zip(grads.chunks_exact(width));
                    for ((row, grad), out) in rows.zip(x_grad.chunks_exact_mut(width)) {
                        let scale = inverse_rms(row);
                        let mut dot = 0.0;
                        for i in 0..width {
                            dot += grad[i] * weight[i] * row[i];
                            weight_grad[i] += grad[i] * row[i] * scale;
                        }
                        let back = dot * scale * scale * scale / width as f32;
                        for i in 0..width {
                            out[i] = grad[i] * weight[i] * scale - row[i] * back;
                        }
                    }
                })
            })
        })???;
        Ok((Some(like(x, x_grad)?), Some(like(weight, weight_grad)?)))
    }
}

/// `silu(gate) * up` of rows that hold `gate` and `up` side by side (Shazeer 2020).
pub struct SwiGlu;

fn sigmoid(x: f32) -> f32 {
    1.0 / (1.0 + (-x).exp())
}

impl CustomOp1 for SwiGlu {
    fn name(&self) -> &'static str {
        "swiglu"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let (rows, width) = layout.shape().dims2()?;
        let half = width / 2;
        let mut out = Vec::with_capacity(rows * half);
        for row in slice(x, layout)?.chunks_exact(width) {
            let (gate, up) = row.split_at(half);
            out.extend(gate.iter().zip(up).map(|(g, u)| g * sigmoid(*g) * u));
        }
        Ok((CpuStorage::F32(out), (rows, half).into()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let width = x.dim(1)?;
        let half = width / 2;
        let mut x_grad = vec![0.0; x.elem_count()];
        with_slice(x, |x| {
            with_slice(grad, |grad| {
                let rows = x.chunks_exact(width).zip(grad.chunks_exact(half));
                for ((row, grad), out) in rows.zip(x_grad.chunks_exact_mut(width)) {
                    let (gate, up) = row.split_at(half);
                    let (gate_grad, up_grad) = out.split_at_mut(half);
                    for i in 0..half {
                        let s = sigmoid(gate[i]);
                        up_grad[i] = grad[i] * gate[i] * s;
                        gate_grad[i] = grad[i] * up[i] * s * (1.0 + gate[i] * (1.0 - s));
                    }
                }
            })
        })??;
        Ok(Some(like(x, x_grad)?))
    }
}

/// The rows of each sequence, and the rotation of each position.
pub struct Sequences {
    /// `[0, end of the first, end of the second, …]`
    pub bounds: Vec<usize>,
    cos: Vec<[f32; HEAD / 2]>,
    sin: Vec<[f32; HEAD / 2]>,
}

impl Sequences {
    pub fn new(bounds: Vec<usize>) -> Self {
        let longest = bounds.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
        let angle = |position: usize, pair: usize| {
            position as f32 * ROPE_THETA.powf(-2.0 * pair as f32 / HEAD as f32)
        };
        let table = |of: fn(f32) -> f32| {
            (0..longest).map(|at| std::array::from_fn(|pair| of(angle(at, pair)))).collect()
        };
        Self { bounds, cos: table(f32::cos), sin: table(f32::sin) }
    }

    /// Rotates a head's row to `position`, halves against each other; back if `sign` is -1.
    fn rotate(&self, row: &[f32], position: usize, sign: f32) -> [f32; HEAD] {
        let (cos, sin) = (&self.cos[position], &self.sin[position]);
        let (low, high) = row.split_at(HEAD / 2);
        let mut out = [0.0; HEAD];
        for i in 0..HEAD / 2 {
            out[i] = low[i] * cos[i] - sign * high[i] * sin[i];
            out[i + HEAD / 2] = high[i] * cos[i] + sign * low[i] * sin[i];
        }
        out
    }
}

/// Causal attention with rotary positions (Su et al. 2021) and shared key heads (Ainslie et al.
/// 2023), of rows that hold all query heads, then all key heads, then all value heads.
pub struct Attention {
    pub sequences: Arc<Sequences>,
    pub heads: usize,
    pub key_heads: usize,
}

/// One sequence's rows of one head, and the same turned on their side.
struct Head {
    rows: Vec<[f32; HEAD]>,
    columns: Vec<f32>,
}

impl Head {
    fn new(rows: Vec<[f32; HEAD]>) -> Self {
        let length = rows.len();
        let mut columns = vec![0.0; HEAD * length];
        for (at, row) in rows.iter().enumerate() {
            for (i, x) in row.iter().enumerate() {
                columns[i * length + at] = *x;
            }
        }
        Self { rows, columns }
    }

    /// `out[j] = row · rows[j]` for as many `j` as `out` has.
    fn products(&self, row: &[f32; HEAD], out: &mut [f32]) {
        out.fill(0.0);
        for (x, column) in row.iter().zip(self.columns.chunks_exact(self.rows.len())) {
            for (out, y) in out.iter_mut().zip(column) {
                *out += x * y;
            }
        }
    }
}

fn add_scaled(to: &mut [f32; HEAD], row: &[f32; HEAD], by: f32) {
    for (to, x) in to.iter_mut().zip(row) {
        *to += x * by;
    }
}

fn softmax(scores: &mut [f32], scale: f32) {
    let largest = scores.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
    let mut sum = 0.0;
    for score in scores.iter_mut() {
        *score = ((*score - largest) * scale).exp();
        sum += *score;
    }
    for score in scores.iter_mut() {
        *score /= sum;
    }
}

impl Attention {
    fn width(&self) -> usize {
        (self.heads + 2 * self.key_heads) * HEAD
    }

    /// A head's rows of the sequence that begins at row `from`, rotated or as they are.
    fn head(
        &self,
        x: &[f32],
        from: usize,
        to: usize,
        head: usize,
        rotated: bool,
    ) -> Vec<[f32; HEAD]> {
        (from..to)
            .map(|row| {
                let at = row * self.width() + head * HEAD;
                let row_of_head = &x[at..at + HEAD];
                if rotated {
                    return self.sequences.rotate(row_of_head, row - from, 1.0);
                }
                row_of_head.try_into().expect("a head's width")
            })
            .collect()
    }

    fn scale() -> f32 {
        1.0 / (HEAD as f32).sqrt()
    }
}

impl CustomOp1 for Attention {
    fn name(&self) -> &'static str {
        "attention"
    }

    fn cpu_fwd(&self, x: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = slice(x, layout)?;
        let rows = layout.shape().dims2()?.0;
        let width = self.heads * HEAD;
        let mut out = vec![0.0; rows * width];
        let mut scores = Vec::new();
        for bounds in self.sequences.bounds.windows(2) {
            let (from, to) = (bounds[0], bounds[1]);
            scores.resize(to - from, 0.0);
            for key_head in 0..self.key_heads {
                let keys = Head::new(self.head(x, from, to, self.heads + key_head, true));
                let values = self.head(x, from, to, self.heads + self.key_heads + key_head, false);
                let group = self.heads / self.key_heads;
                for head in key_head * group..(key_head + 1) * group {
                    for (at, query) in self.head(x, from, to, head, true).iter().enumerate() {
                        let scores = &mut scores[..=at];
                        keys.products(query, scores);
                        softmax(scores, Self::scale());
                        let mut sum = [0.0; HEAD];
                        for (value, p) in values.iter().zip(&*scores) {
                            add_scaled(&mut sum, value, *p);
                        }
                        let place = (from + at) * width + head * HEAD;
                        out[place..place + HEAD].copy_from_slice(&sum);
                    }
                }
            }
        }
        Ok((CpuStorage::F32(out), (rows, width).into()))
    }

    fn bwd(&self, x: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let mut x_grad = vec![0.0; x.elem_count()];
        with_slice(x, |x| {
            with_slice(grad, |grad| {
                for bounds in self.sequences.bounds.windows(2) {
                    for key_head in 0..self.key_heads {
                        self.backward(x, grad, &mut x_grad, (bounds[0], bounds[1]), key_head);
                    }
                }
            })
        })??;
        Ok(Some(like(x, x_grad)?))
    }
}

impl Attention {
    /// The gradients of one sequence's rows through one key head and the query heads that share it.
    fn backward(
        &self,
        x: &[f32],
        grad: &[f32],
        x_grad: &mut [f32],
        (from, to): (usize, usize),
        key_head: usize,
    ) {
        let length = to - from;
        let (key_place, value_place) =
            (self.heads + key_head, self.heads + self.key_heads + key_head);
        let keys = Head::new(self.head(x, from, to, key_place, true));
        let values = Head::new(self.head(x, from, to, value_place, false));
        let mut key_grads = vec![[0.0; HEAD]; length];
        let mut value_grads = vec![[0.0; HEAD]; length];
        let (mut shares, mut share_grads) = (vec![0.0; length], vec![0.0; length]);
        let group = self.heads / self.key_heads;
        for head in key_head * group..(key_head + 1) * group {
            for (at, query) in self.head(x, from, to, head, true).iter().enumerate() {
                let (shares, share_grads) = (&mut shares[..=at], &mut share_grads[..=at]);
                keys.products(query, shares);
                softmax(shares, Self::scale());
                let place = (from + at) * self.heads * HEAD + head * HEAD;
                let out_grad: &[f32; HEAD] =
                    grad[place..place + HEAD].try_into().expect("a head's width");
                values.products(out_grad, share_grads);
                let mean: f32 = shares.iter().zip(&*share_grads).map(|(p, g)| p * g).sum();
                let mut query_grad = [0.0; HEAD];
                for j in 0..=at {
                    add_scaled(&mut value_grads[j], out_grad, shares[j]);
                    let score_grad = shares[j] * (share_grads[j] - mean) * Self::scale();
                    add_scaled(&mut query_grad, &keys.rows[j], score_grad);
                    add_scaled(&mut key_grads[j], query, score_grad);
                }
                let query_grad = self.sequences.rotate(&query_grad, at, -1.0);
                let place = (from + at) * self.width() + head * HEAD;
                x_grad[place..place + HEAD].copy_from_slice(&query_grad);
            }
        }
        for at in 0..length {
            let row = (from + at) * self.width();
            let key_grad = self.sequences.rotate(&key_grads[at], at, -1.0);
            let place = row + key_place * HEAD;
            x_grad[place..place + HEAD].copy_from_slice(&key_grad);
            let place = row + value_place * HEAD;
            x_grad[place..place + HEAD].copy_from_slice(&value_grads[at]);
        }
    }
}

/// The weighted sum of the rows' cross entropies against their targets.
pub struct CrossEntropy {
    pub targets: Vec<u32>,
    pub weights: Vec<f32>,
}

impl CustomOp1 for CrossEntropy {
    fn name(&self) -> &'static str {
        "cross-entropy"
    }

    fn cpu_fwd(&self, logits: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let vocabulary = layout.shape().dims2()?.1;
        let rows = slice(logits, layout)?.chunks_exact(vocabulary);
        let mut loss = 0.0;
        for ((row, target), weight) in rows.zip(&self.targets).zip(&self.weights) {
            let largest = row.iter().fold(f32::NEG_INFINITY, |a, b| a.max(*b));
            let sum: f32 = row.iter().map(|x| (x - largest).exp()).sum();
            loss += weight * (largest + sum.ln() - row[*target as usize]);
        }
        Ok((CpuStorage::F32(vec![loss]), ().into()))
    }

    fn bwd(&self, logits: &Tensor, _: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let vocabulary = logits.dim(1)?;
        let by = grad.to_scalar::<f32>()?;
        let mut out = with_slice(logits, <[f32]>::to_vec)?;
        let rows = out.chunks_exact_mut(vocabulary);
        for ((row, target), weight) in rows.zip(&self.targets).zip(&self.weights) {
            softmax(row, 1.0);
            row[*target as usize] -= 1.0;
            for x in row {
                *x *= weight * by;
            }
        }
        Ok(Some(like(logits, out)?))
    }
}
