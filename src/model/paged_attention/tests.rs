//! The plain computation beside attention over keys and values in one piece.

#![allow(clippy::unwrap_used, reason = "a test stops at what it does not expect")]

use candle_core::{D, DType, Device, Tensor};
use maskwright_kernels::BLOCK_POSITIONS;

use super::{AttentionParams, PagedRows, rows_by_head, store};

/// Numbers from −1 to 1.
fn numbers(shape: &[usize], seed: u64, device: &Device) -> Tensor {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    let numbers: Vec<f32> = (0..shape.iter().product()).map(|_| next()).collect();
    Tensor::from_vec(numbers, shape, device).unwrap()
}

/// Attention of one query (heads · width) over (positions, kv_heads · width).
fn expected(query: &Tensor, keys: &Tensor, values: &Tensor, params: AttentionParams) -> Tensor {
    let (positions, width) = (keys.dim(0).unwrap(), keys.dim(1).unwrap() / params.kv_heads);
    let from = params.window.map_or(0, |window| positions.saturating_sub(window));
    let group = params.heads / params.kv_heads;
    let heads = |x: &Tensor| {
        let x = x.narrow(0, from, positions - from).unwrap();
        let x = x.reshape((positions - from, params.kv_heads, 1, width)).unwrap();
        let x = x.broadcast_as((positions - from, params.kv_heads, group, width)).unwrap();
        let x = x.reshape((positions - from, params.heads, width)).unwrap();
        x.transpose(0, 1).unwrap().contiguous().unwrap()
    };
    let query = query.reshape((params.heads, 1, width)).unwrap();
    let products = query.matmul(&heads(keys).t().unwrap()).unwrap();
    let mut products = (products * params.scale).unwrap();
    if let Some(cap) = params.soft_cap {
        products = ((products / cap).unwrap().tanh().unwrap() * cap).unwrap();
    }
    let weights = candle_nn::ops::softmax(&products, D::Minus1).unwrap();
    weights.matmul(&heads(values)).unwrap().flatten_all().unwrap()
}

/// The greatest difference of a number over sequences whose blocks lie between each other, the last first.
fn worst(params: AttentionParams, width: usize, lengths: &[usize], device: &Device) -> f32 {
    let most = lengths.iter().max().unwrap().div_ceil(BLOCK_POSITIONS);
    let (blocks, kv_heads) = (most * lengths.len(), params.kv_heads);
    let shape = (blocks * kv_heads * BLOCK_POSITIONS, width);
    let cache = || Tensor::zeros(shape, DType::F32, device).unwrap();
    let (cached_keys, cached_values) = (cache(), cache());
    let mut tables = vec![vec![0_u32; most]; lengths.len()];
    for (index, table) in tables.iter_mut().enumerate() {
        for (block, place) in table.iter_mut().enumerate() {
            *place = (blocks - 1 - (block * lengths.len() + index)) as u32;
        }
    }
    let mut rows = Vec::new();
    for (index, (&length, table)) in lengths.iter().zip(&tables).enumerate() {
        let seed = index as u64 * 3;
        let [keys, values] =
            [0, 1].map(|kind| numbers(&[length, kv_heads * width], seed + kind, device));
        let slots: Vec<u32> = (0..length)
            .map(|position| {
                let at = (position % BLOCK_POSITIONS) as u32;
                table[position / BLOCK_POSITIONS] * BLOCK_POSITIONS as u32 + at
            })
            .collect();
        let stored = Tensor::new(&slots[..], device).unwrap();
        store(&cached_keys, &keys, &stored, kv_heads).unwrap();
        store(&cached_values, &values, &stored, kv_heads).unwrap();
        // Read back in both orders.
        let by_head = rows_by_head(&slots, kv_heads);
        let by_head = Tensor::new(&by_head[..], device).unwrap();
        let read = cached_keys.index_select(&by_head, 0).unwrap();
        let read = read.reshape((kv_heads, length, width)).unwrap().transpose(0, 1).unwrap();
        let read = read.reshape((length, kv_heads * width)).unwrap();
        assert!(read.to_vec2::<f32>().unwrap() == keys.to_vec2::<f32>().unwrap());
        let query = numbers(&[params.heads * width], seed + 2, device);
        rows.push((query, keys, values));
    }
    let queries: Vec<&Tensor> = rows.iter().map(|(query, ..)| query).collect();
    let queries = Tensor::stack(&queries, 0).unwrap();
    let longest = *lengths.iter().max().unwrap();
    let lengths: Vec<u32> = lengths.iter().map(|&length| length as u32).collect();
    let lengths = Tensor::new(&lengths[..], device).unwrap();
    let tables = Tensor::new(tables, device).unwrap();
    let paged = PagedRows { tables, lengths, longest };
    let output = paged.attend(&queries, &cached_keys, &cached_values, params).unwrap();
    let mut worst = 0.0_f32;
    for (index, (query, keys, values)) in rows.iter().enumerate() {
        let difference = (output.get(index).unwrap() - expected(query, keys, values, params))
            .unwrap()
            .abs()
            .unwrap();
        worst = worst.max(difference.max(0).unwrap().to_scalar::<f32>().unwrap());
    }
    worst
}

fn check(device: &Device) {
    let plain = AttentionParams { heads: 6, kv_heads: 2, scale: 0.3, soft_cap: None, window: None };
    let cases = [
        ("plain", plain, 24, vec![1, 16, 17, 100]),
        ("one head for each", AttentionParams { kv_heads: 6, ..plain }, 64, vec![40, 3]),
        ("caps", AttentionParams { soft_cap: Some(2.0), ..plain }, 128, vec![33, 64]),
        ("windows", AttentionParams { window: Some(20), ..plain }, 80, vec![5, 20, 21, 300]),
        ("long", plain, 256, vec![513, 1, 1500]),
        ("long windows", AttentionParams { window: Some(100), ..plain }, 32, vec![600, 1024, 1100]),
    ];
    for (name, params, width, lengths) in cases {
        let worst = worst(params, width, &lengths, device);
        assert!(worst < 2e-6, "{name}: {worst:e}");
    }
}

#[test]
fn pages_hold_what_one_piece_holds() {
    check(&Device::Cpu);
}

#[cfg(feature = "cuda")]
#[test]
#[allow(clippy::print_stderr)]
fn kernels_compute_what_tensors_compute() {
    match crate::model::Device::Cuda(0).open() {
        Ok(device) => check(&device),
        Err(error) => eprintln!("skipped: {error}"),
    }
}

#[test]
fn shapes_that_do_not_fit_are_refused() {
    let device = &Device::Cpu;
    let cache = Tensor::zeros((2 * 16, 4), DType::F32, device).unwrap();
    let slots = Tensor::new(&[0_u32, 1], device).unwrap();
    let rows = |shape: (usize, usize), dtype| Tensor::zeros(shape, dtype, device).unwrap();
    assert!(store(&cache, &rows((2, 8), DType::F32), &slots, 2).is_ok());
    assert!(store(&cache, &rows((2, 4), DType::F32), &slots, 2).is_err());
    assert!(store(&cache, &rows((3, 8), DType::F32), &slots, 2).is_err());
    assert!(store(&cache, &rows((2, 8), DType::BF16), &slots, 2).is_err());
}
