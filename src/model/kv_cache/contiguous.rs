//! Keys and values in one piece of memory a layer: the storage on devices other than the CPU.
//!
//! Each layer has two tensors (heads, capacity, head width) that are written in place. A fork
//! shares them until one of the two is written to, which copies them first.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};
use maskwright_kernels::BlockLayout;

use super::CacheShape;

/// Least number of positions by which a cache grows; beyond that it doubles, so that a sequence of
/// n tokens copies O(n) in all.
const CHUNK: usize = 256;

/// Keys and values of one layer: two tensors (heads, capacity, head width), written in place unless
/// a fork shares them.
#[derive(Clone, Debug)]
pub(in crate::model) struct LayerCache {
    keys: Tensor,
    values: Tensor,
    capacity: usize,
    /// Counts the caches that share the tensors.
    holders: Arc<()>,
}

/// Empty caches, one for each layer.
pub(super) fn new_layers(
    shape: &CacheShape,
    dtype: DType,
    device: &Device,
) -> Result<Vec<LayerCache>> {
    let layer = |layout: &BlockLayout| {
        let empty = || Tensor::zeros((layout.kv_heads, 0, layout.width), dtype, device);
        let (keys, values) = (empty()?, empty()?);
        Ok(LayerCache { keys, values, capacity: 0, holders: Arc::default() })
    };
    shape.layers().iter().map(layer).collect()
}

impl LayerCache {
    /// Writes keys and values (heads, n, width) at positions `at` to `at + n`, and returns all up
    /// to there: (heads, at + n, width), views of the cache.
    pub(in crate::model) fn append(
        &mut self,
        at: usize,
        keys: &Tensor,
        values: &Tensor,
    ) -> Result<(Tensor, Tensor)> {
        let end = at + keys.dim(1)?;
        if end > self.capacity {
            let capacity = end.max(self.capacity * 2).next_multiple_of(CHUNK);
            self.replace(at, capacity)?;
        } else {
            self.own(at)?;
        }
        self.keys.slice_set(keys, 1, at)?;
        self.values.slice_set(values, 1, at)?;
        Ok((self.keys.narrow(1, 0, end)?, self.values.narrow(1, 0, end)?))
    }
}

impl LayerCache {
    /// Makes the tensors this cache's own: copies the first `len` positions if a fork shares them.
    fn own(&mut self, len: usize) -> Result<()> {
        match Arc::strong_count(&self.holders) {
            1 => Ok(()),
            _ => self.replace(len, self.capacity),
        }
    }

    fn replace(&mut self, len: usize, capacity: usize) -> Result<()> {
        self.keys = grown(&self.keys, len, capacity)?;
        self.values = grown(&self.values, len, capacity)?;
        (self.capacity, self.holders) = (capacity, Arc::default());
        Ok(())
    }

    /// Keeps only these of the positions from `from` on, moved together.
    pub(super) fn keep(&mut self, from: usize, positions: &[usize]) -> Result<()> {
        let moved = |(to, &position): (usize, &usize)| (to != position).then_some((to, position));
        let moves: Vec<(usize, usize)> = positions.iter().enumerate().filter_map(moved).collect();
        if let Some(last) = positions.last().filter(|_| !moves.is_empty()) {
            self.own(from + last + 1)?;
        }
        for (to, position) in moves {
            for tensor in [&self.keys, &self.values] {
                // A copy, for source and destination are one tensor.
                let row = tensor.narrow(1, from + position, 1)?.copy()?.contiguous()?;
                tensor.slice_set(&row, 1, from + to)?;
            }
        }
        Ok(())
    }
}

/// A tensor with room for `capacity` positions and the first `len` of another one.
fn grown(tensor: &Tensor, len: usize, capacity: usize) -> Result<Tensor> {
    let (heads, _, width) = tensor.dims3()?;
    let new = Tensor::zeros((heads, capacity, width), tensor.dtype(), tensor.device())?;
    if len > 0 {
        new.slice_set(&tensor.narrow(1, 0, len)?.contiguous()?, 1, 0)?;
    }
    Ok(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A layer, and how many of its positions are in use.
    struct Numbers(LayerCache, usize);

    impl Numbers {
        fn write(&mut self, numbers: &[f32]) -> Result<()> {
            let rows = Tensor::from_slice(numbers, (1, numbers.len(), 1), &Device::Cpu)?;
            self.0.append(self.1, &rows, &(&rows * 2.0)?)?;
            self.1 += numbers.len();
            Ok(())
        }

        fn read(&self) -> Result<Vec<f32>> {
            self.0.keys.narrow(1, 0, self.1)?.get(0)?.get_on_dim(1, 0)?.to_vec1()
        }
    }

    fn empty() -> Result<Numbers> {
        Ok(Numbers(new_layers(&CacheShape::new([(1, 1)]), DType::F32, &Device::Cpu)?.remove(0), 0))
    }

    #[test]
    fn what_is_appended_stays_through_growth_and_truncation() -> Result<()> {
        let (mut cache, mut expected): (_, Vec<f32>) = (empty()?, Vec::new());
        let mut next = 0.0;
        for (n, keep) in [(1, 1), (255, 256), (1, 200), (300, 500), (2, 0), (3, 3)] {
            let numbers: Vec<f32> = (0..n).map(|i| next + i as f32).collect();
            next += n as f32;
            cache.write(&numbers)?;
            expected.extend(numbers);
            assert_eq!(cache.read()?, expected);
            cache.1 = keep;
            expected.truncate(keep);
        }
        Ok(())
    }

    #[test]
    fn forks_do_not_see_each_other_and_branches_can_be_dropped() -> Result<()> {
        let mut cache = empty()?;
        cache.write(&[1.0, 2.0, 3.0])?;
        let mut fork = Numbers(cache.0.clone(), 2);
        cache.write(&[4.0])?;
        fork.write(&[5.0, 6.0, 7.0, 8.0])?;
        assert_eq!(cache.read()?, [1.0, 2.0, 3.0, 4.0]);
        let other = Numbers(fork.0.clone(), fork.1);
        fork.0.keep(2, &[0, 2, 3])?;
        fork.1 = 5;
        assert_eq!(fork.read()?, [1.0, 2.0, 5.0, 7.0, 8.0]);
        assert_eq!(other.read()?, [1.0, 2.0, 5.0, 6.0, 7.0, 8.0]);
        Ok(())
    }
}
