//! The blocks of a KV cache on a device other than the CPU: for each layer a tensor of all keys, and one of
//! all values.

use candle_core::{DType, Device, Result, Tensor};
use maskwright_kernels::{BLOCK_POSITIONS, BlockLayout};

use super::CacheShape;
use crate::model::paged_attention;

/// Blocks by which the tensors grow at least; beyond that they double.
const MIN_GROWTH: usize = 16;

/// The blocks of all sequences of a model.
#[derive(Debug)]
pub(in crate::model) struct DeviceBlocks {
    shape: CacheShape,
    dtype: DType,
    device: Device,
    /// Empty as long as there is no block.
    layers: Vec<DeviceLayer>,
    /// The blocks for which there is room.
    count: usize,
}

/// All keys and values of a layer: two tensors (blocks · heads · 16, width). What lies where:
/// [`paged_attention`].
#[derive(Debug)]
pub(in crate::model) struct DeviceLayer {
    pub(in crate::model) keys: Tensor,
    pub(in crate::model) values: Tensor,
    pub(in crate::model) kv_heads: usize,
}

impl DeviceBlocks {
    /// No block yet.
    pub(super) fn new(shape: &CacheShape, dtype: DType, device: &Device) -> Self {
        let (shape, device) = (shape.clone(), device.clone());
        Self { shape, dtype, device, layers: Vec::new(), count: 0 }
    }

    /// The layers that have keys and values of their own, in order.
    pub(in crate::model) fn layers(&self) -> &[DeviceLayer] {
        &self.layers
    }

    /// Makes room for so many blocks. Those that are there are copied, so that n blocks copy O(n) in all.
    pub(super) fn grow(&mut self, blocks: usize) -> Result<()> {
        if blocks <= self.count {
            return Ok(());
        }
        let count = blocks.max(self.count * 2).max(self.count + MIN_GROWTH);
        let Self { shape, dtype, device, layers, .. } = self;
        let rows = |layout: &BlockLayout| count * layout.kv_heads * BLOCK_POSITIONS;
        let zeros =
            |rows, layout: &BlockLayout| Tensor::zeros((rows, layout.width), *dtype, device);
        if layers.is_empty() {
            let layer = |layout: &BlockLayout| {
                let zeros = || zeros(rows(layout), layout);
                Ok(DeviceLayer { keys: zeros()?, values: zeros()?, kv_heads: layout.kv_heads })
            };
            *layers = shape.layers().iter().map(layer).collect::<Result<_>>()?;
        }
        // One tensor after the other, so that no more than one is in memory twice.
        for (layout, layer) in shape.layers().iter().zip(layers) {
            for tensor in [&mut layer.keys, &mut layer.values] {
                match rows(layout).saturating_sub(tensor.dim(0)?) {
                    0 => {}
                    missing => *tensor = Tensor::cat(&[&*tensor, &zeros(missing, layout)?], 0)?,
                }
            }
        }
        self.count = count;
        Ok(())
    }

    /// Copies positions to other ones, given by their slots, in all layers.
    pub(super) fn copy(&self, from: &[u32], to: &[u32]) -> Result<()> {
        if from.is_empty() {
            return Ok(());
        }
        for layer in &self.layers {
            let rows = paged_attention::rows_by_position(from, layer.kv_heads);
            let rows = Tensor::from_vec(rows, from.len() * layer.kv_heads, &self.device)?;
            let to = Tensor::new(to, &self.device)?;
            for tensor in [&layer.keys, &layer.values] {
                let numbers = tensor.index_select(&rows, 0)?;
                let numbers = numbers.reshape((from.len(), layer.kv_heads * tensor.dim(1)?))?;
                paged_attention::store(tensor, &numbers, &to, layer.kv_heads)?;
            }
        }
        Ok(())
    }
}
