//! The derivatives that the training of the embedded model is built on, against differences.

#![allow(missing_docs, unreachable_pub, dead_code, clippy::unwrap_used)]

use std::sync::Arc;

use candle_core::{Device, Tensor, Var};
use xtask::tiny_ops::{Attention, CrossEntropy, HEAD, RmsNorm, Sequences, SwiGlu, orthogonal};

/// Numbers that look random and are the same in each run.
fn numbers(count: usize) -> Vec<f32> {
    (0..count).map(|at| ((at as f32 * 12.9898).sin() * 43758.547).fract()).collect()
}

fn var(rows: usize, columns: usize) -> Var {
    Var::from_vec(numbers(rows * columns), (rows, columns), &Device::Cpu).unwrap()
}

/// Compares the gradient of `function`'s weighted sum with differences, at a few places of `x`.
fn check(x: &Var, function: impl Fn(&Tensor) -> Tensor) {
    let sum = |x: &Tensor| {
        let out = function(x);
        let weights = Tensor::from_vec(numbers(out.elem_count()), out.shape(), &Device::Cpu);
        (out * weights.unwrap()).unwrap().sum_all().unwrap()
    };
    let grads = sum(x.as_tensor()).backward().unwrap();
    let grad: Vec<f32> = grads.get(x).unwrap().flatten_all().unwrap().to_vec1().unwrap();
    let at_rest: Vec<f32> = x.flatten_all().unwrap().to_vec1().unwrap();
    for at in (0..grad.len()).step_by(grad.len() / 40 + 1) {
        let moved = |by: f32| {
            let mut numbers = at_rest.clone();
            numbers[at] += by;
            let moved = Tensor::from_vec(numbers, x.shape(), &Device::Cpu).unwrap();
            sum(&moved).to_scalar::<f32>().unwrap()
        };
        let difference = (moved(1e-2) - moved(-1e-2)) / 2e-2;
        let allowed = 2e-2 * (1.0 + difference.abs());
        assert!((grad[at] - difference).abs() < allowed, "{at}: {} {difference}", grad[at]);
    }
}

#[test]
fn rms_norm() {
    let weight = Var::from_vec(numbers(24), 24, &Device::Cpu).unwrap();
    check(&var(5, 24), |x| x.apply_op2(&weight, RmsNorm).unwrap());
    let x = var(5, 24);
    check(&weight, |weight| x.apply_op2(weight, RmsNorm).unwrap());
}

#[test]
fn swiglu() {
    check(&var(5, 24), |x| x.apply_op1(SwiGlu).unwrap());
}

#[test]
fn attention_of_two_sequences() {
    let sequences = Arc::new(Sequences::new(vec![0, 3, 8]));
    check(&var(8, 8 * HEAD), |x| {
        x.apply_op1(Attention { sequences: sequences.clone(), heads: 4, key_heads: 2 }).unwrap()
    });
}

#[test]
fn a_sequence_does_not_see_the_one_before_it() {
    let (whole, columns) = (var(8, 3 * HEAD), 3 * HEAD);
    let attend = |x: &Tensor, bounds: Vec<usize>| -> Vec<f32> {
        let sequences = Arc::new(Sequences::new(bounds));
        let attention = Attention { sequences, heads: 1, key_heads: 1 };
        x.apply_op1(attention).unwrap().flatten_all().unwrap().to_vec1().unwrap()
    };
    let both = attend(&whole, vec![0, 3, 8]);
    let alone = attend(&whole.narrow(0, 3, 5).unwrap().contiguous().unwrap(), vec![0, 5]);
    assert_eq!(columns * 5, alone.len() * 3);
    assert_eq!(both[3 * HEAD..], alone);
}

#[test]
fn cross_entropy() {
    let targets = vec![3, 0, 11];
    let weights = vec![1.0, 0.3, 2.0];
    check(&var(3, 12), |x| {
        let loss = CrossEntropy { targets: targets.clone(), weights: weights.clone() };
        x.apply_op1(loss).unwrap()
    });
}

/// The product of a matrix with its transpose: the unit matrix where its rows are orthonormal.
fn gram(matrix: &Tensor) -> Vec<Vec<f32>> {
    matrix.matmul(&matrix.t().unwrap()).unwrap().to_vec2().unwrap()
}

#[test]
fn orthogonal_moves_singular_values_near_one() {
    let matrix = var(12, 40).as_tensor().clone();
    let direction = orthogonal(&matrix).unwrap();
    // Five steps leave singular values between 0.7 and 1.2.
    for (at, row) in gram(&direction).iter().enumerate() {
        for (other, product) in row.iter().enumerate() {
            let expected = if at == other { 1.0 } else { 0.0 };
            assert!((product - expected).abs() < 0.55, "{at} {other}: {product}");
        }
    }
    // Singular vectors stay: the direction times the matrix, transposed, is symmetric.
    let both: Vec<Vec<f32>> = direction.matmul(&matrix.t().unwrap()).unwrap().to_vec2().unwrap();
    for (at, row) in both.iter().enumerate() {
        assert!(row[at] > 0.0);
        for (other, product) in row.iter().enumerate() {
            assert!((product - both[other][at]).abs() < 1e-3, "{at} {other}");
        }
    }
    let tall = orthogonal(&matrix.t().unwrap().contiguous().unwrap()).unwrap();
    let difference = (tall.t().unwrap() - direction).unwrap().abs().unwrap().max_all().unwrap();
    assert!(difference.to_scalar::<f32>().unwrap() < 1e-5);
}
