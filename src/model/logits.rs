//! The logits of one step, on the device that computed them.

use std::sync::{Arc, Mutex, PoisonError};

use candle_core::{Storage, Tensor};

use super::candle_error::candle_error;
use super::host_copy::HostCopy;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::TokenMask;

/// One logit for each token id, `f32`, on the model's device.
#[derive(Clone, Debug)]
pub struct Logits {
    tensor: Tensor,
    /// The batch of which it is a row, on devices other than the CPU.
    batch: Option<(Arc<Batch>, usize)>,
}

/// The logits of one forward pass. What the host reads is copied once for all rows: candle copies all that
/// is in a tensor's memory, also for a row of it.
#[derive(Debug)]
struct Batch {
    /// (rows, width).
    tensor: Tensor,
    /// The same in the host's memory, once a row of it was read.
    host: Mutex<Option<Arc<HostCopy>>>,
}

impl Batch {
    fn on_host(&self) -> candle_core::Result<Arc<HostCopy>> {
        let mut host = self.host.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(copy) = &*host {
            return Ok(Arc::clone(copy));
        }
        let copy = Arc::new(HostCopy::of(&self.tensor)?);
        *host = Some(Arc::clone(&copy));
        Ok(copy)
    }
}

impl Logits {
    /// The rows of a tensor (rows, width).
    pub(super) fn rows(tensor: Tensor) -> candle_core::Result<Vec<Self>> {
        let batch = (!tensor.device().is_cpu())
            .then(|| Arc::new(Batch { tensor: tensor.clone(), host: Mutex::default() }));
        let row = |row| {
            let batch = batch.as_ref().map(|batch| (Arc::clone(batch), row));
            Ok(Self { tensor: tensor.get(row)?, batch })
        };
        (0..tensor.dim(0)?).map(row).collect()
    }

    /// The tensor: (width of the logits), `f32`.
    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }

    /// The number of token ids.
    pub fn width(&self) -> usize {
        self.tensor.elem_count()
    }

    /// The same logits with −∞ at every token that the mask forbids, computed on the device.
    ///
    /// ```no_run
    /// use maskwright::TokenMask;
    /// use maskwright::model::{Model, ModelOptions};
    /// let model = Model::load(&ModelOptions::default())?;
    /// let logits = model.forward(&[1], &mut model.new_cache()?)?;
    /// let mut mask = TokenMask::new(logits.width());
    /// mask.allow(7);
    /// assert_eq!(logits.masked(&mask)?.to_vec()?[8], f32::NEG_INFINITY);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    ///
    /// Errors if the mask is not as wide as the logits.
    pub fn masked(&self, mask: &TokenMask) -> Result<Self> {
        let width = self.width();
        if mask.len() != width {
            let message = format!("a mask of {} tokens does not fit {width} logits", mask.len());
            return Err(Error::new(ErrorKind::Model, message)
                .with_help("compile the constraint for this model's vocabulary"));
        }
        let masked = || {
            let device = self.tensor.device();
            let allowed = Tensor::from_vec(bytes(mask), width, device)?;
            let forbidden = Tensor::new(f32::NEG_INFINITY, device)?.broadcast_as(width)?;
            allowed.where_cond(&self.tensor, &forbidden)
        };
        masked().map(|tensor| Self { tensor, batch: None }).map_err(candle_error)
    }

    /// Copies the logits to the host's memory: one `f32` for each token id. From a GPU the first call copies
    /// those of all sequences of its forward pass.
    pub fn to_vec(&self) -> Result<Vec<f32>> {
        self.read(<[f32]>::to_vec)
    }

    /// The result of `read` for the logits, one `f32` for each token id. On the CPU it reads them where they are. From
    /// a GPU the first call copies those of all sequences of the forward pass.
    ///
    /// Errors if the copy fails.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&[f32]) -> T) -> Result<T> {
        let numbers = || match &self.batch {
            None => {
                let (storage, layout) = self.tensor.storage_and_layout();
                if let (Storage::Cpu(storage), Some((from, to))) =
                    (&*storage, layout.contiguous_offsets())
                {
                    return Ok(read(&storage.as_slice()?[from..to]));
                }
                drop(storage);
                Ok(read(&self.tensor.to_vec1()?))
            }
            Some((batch, row)) => {
                let (width, copy) = (self.width(), batch.on_host()?);
                Ok(read(&copy.numbers()?[row * width..(row + 1) * width]))
            }
        };
        numbers().map_err(candle_error)
    }
}

/// One byte for each token, 1 where the mask allows it: the form in which candle selects.
fn bytes(mask: &TokenMask) -> Vec<u8> {
    let bit = |id: usize| (mask.words()[id / 32] >> (id % 32) & 1) as u8;
    (0..mask.len()).map(bit).collect()
}
