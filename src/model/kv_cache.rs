//! The KV cache: keys and values that attention keeps of a sequence.
//!
//! Each layer has two tensors (heads, capacity, head width) that are written in place. A fork
//! shares them until one of the two is written to, which copies them first; so beams and texts with
//! one prompt share its prefill.

use std::sync::Arc;

use candle_core::{DType, Device, Result, Tensor};

/// Least number of positions by which a cache grows; beyond that it doubles, so that a sequence of
/// n tokens copies O(n) in all.
const CHUNK: usize = 256;

/// Keys and values of one sequence in every layer. Positions are appended by the model's forward
/// pass and dropped from the end by [`truncate`](Self::truncate); memory is kept.
///
/// ```no_run
/// use maskwright::model::{Model, ModelOptions};
/// let model = Model::load(&ModelOptions::default())?;
/// let mut prompt = model.new_cache()?;
/// model.forward(&[1, 2, 3], &mut prompt)?;
/// // Two continuations that share the prompt's prefill.
/// let (mut one, mut other) = (prompt.fork(), prompt.fork());
/// model.forward(&[4], &mut one)?;
/// model.forward(&[5], &mut other)?;
/// assert_eq!((one.len(), other.len()), (4, 4));
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Debug)]
pub struct KvCache {
    layers: Vec<LayerCache>,
    len: usize,
}

/// Keys and values of one layer: two tensors (heads, capacity, head width), written in place unless
/// a fork shares them.
#[derive(Clone, Debug)]
pub(super) struct LayerCache {
    keys: Tensor,
    values: Tensor,
    capacity: usize,
    /// Counts the caches that share the tensors.
    holders: Arc<()>,
}

impl KvCache {
    pub(super) fn new(
        layers: usize,
        (heads, width): (usize, usize),
        dtype: DType,
        device: &Device,
    ) -> Result<Self> {
        let empty = || Tensor::zeros((heads, 0, width), dtype, device);
        let layer = || {
            let (keys, values) = (empty()?, empty()?);
            Ok(LayerCache { keys, values, capacity: 0, holders: Arc::default() })
        };
        Ok(Self { layers: (0..layers).map(|_| layer()).collect::<Result<_>>()?, len: 0 })
    }

    /// The number of positions (tokens) in the cache.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the cache is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Drops all positions from `len` on, if there are any. Keeps the memory.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The cache of another sequence with the same beginning. Copied on write: both share their
    /// memory until one of them reads on.
    #[must_use]
    pub fn fork(&self) -> Self {
        Self { layers: self.layers.clone(), len: self.len }
    }

    /// Keeps only these of the positions from `from` on (counted from there, ascending), moved
    /// together.
    pub(super) fn keep(&mut self, from: usize, positions: &[usize]) -> Result<()> {
        for layer in &mut self.layers {
            layer.keep(from, positions)?;
        }
        self.len = from + positions.len();
        Ok(())
    }

    pub(super) fn layers(&mut self) -> &mut [LayerCache] {
        &mut self.layers
    }

    /// Counts `n` more positions, after every layer has appended them.
    pub(super) fn advance(&mut self, n: usize) {
        self.len += n;
    }
}

impl LayerCache {
    /// Writes keys and values (heads, n, width) at positions `at` to `at + n`, and returns all up
    /// to there: (heads, at + n, width), views of the cache.
    pub(super) fn append(
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

    fn keep(&mut self, from: usize, positions: &[usize]) -> Result<()> {
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

    #[test]
    fn what_is_appended_stays_through_growth_and_truncation() -> Result<()> {
        let mut cache = KvCache::new(1, (2, 3), DType::F32, &Device::Cpu)?;
        let mut expected: Vec<f32> = Vec::new(); // one number for each position
        let mut next = 0.0;
        for (n, keep) in [(1, 1), (255, 256), (1, 200), (300, 500), (2, 0), (3, 3)] {
            let numbers: Vec<f32> = (0..n).map(|i| next + i as f32).collect();
            next += n as f32;
            let rows = Tensor::from_slice(&numbers, (1, n, 1), &Device::Cpu)?
                .broadcast_as((2, n, 3))?
                .contiguous()?;
            let at = cache.len();
            let (keys, values) = cache.layers()[0].append(at, &rows, &(&rows * 2.0)?)?;
            cache.advance(n);
            expected.extend(numbers);
            for head in 0..2 {
                let of = |t: &Tensor| t.get(head)?.get_on_dim(1, 2)?.to_vec1::<f32>();
                assert_eq!(of(&keys)?, expected);
                assert_eq!(of(&(&values / 2.0)?)?, expected);
            }
            cache.truncate(keep);
            expected.truncate(keep);
            assert_eq!((cache.len(), cache.is_empty()), (keep, keep == 0));
        }
        Ok(())
    }

    /// The number at each position.
    fn numbers(cache: &KvCache) -> Result<Vec<f32>> {
        cache.layers[0].keys.narrow(1, 0, cache.len)?.get(0)?.get_on_dim(1, 0)?.to_vec1()
    }

    fn write(cache: &mut KvCache, numbers: &[f32]) -> Result<()> {
        let rows = Tensor::from_slice(numbers, (1, numbers.len(), 1), &Device::Cpu)?;
        let at = cache.len();
        cache.layers()[0].append(at, &rows, &rows)?;
        cache.advance(numbers.len());
        Ok(())
    }

    #[test]
    fn forks_do_not_see_each_other_and_branches_can_be_dropped() -> Result<()> {
        let mut cache = KvCache::new(1, (1, 1), DType::F32, &Device::Cpu)?;
        write(&mut cache, &[1.0, 2.0, 3.0])?;
        let mut fork = cache.fork();
        write(&mut cache, &[4.0])?;
        fork.truncate(2);
        write(&mut fork, &[5.0, 6.0, 7.0, 8.0])?;
        assert_eq!((numbers(&cache)?, numbers(&fork)?.len()), (vec![1.0, 2.0, 3.0, 4.0], 6));
        let other = fork.fork();
        fork.keep(2, &[0, 2, 3])?;
        assert_eq!(numbers(&fork)?, [1.0, 2.0, 5.0, 7.0, 8.0]);
        assert_eq!(numbers(&other)?, [1.0, 2.0, 5.0, 6.0, 7.0, 8.0]);
        Ok(())
    }
}
