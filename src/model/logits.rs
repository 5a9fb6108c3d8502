//! The logits of one step, on the device that computed them.

use candle_core::Tensor;

use super::candle_error::candle_error;
use crate::error::{Error, ErrorKind, Result};
use crate::vocabulary::TokenMask;

/// One logit for each token id, `f32`, on the model's device.
#[derive(Clone, Debug)]
pub struct Logits(Tensor);

impl Logits {
    pub(super) fn new(tensor: Tensor) -> Self {
        Self(tensor)
    }

    /// The tensor: (width of the logits), `f32`.
    pub fn tensor(&self) -> &Tensor {
        &self.0
    }

    /// The number of token ids.
    pub fn width(&self) -> usize {
        self.0.elem_count()
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
            let device = self.0.device();
            let allowed = Tensor::from_vec(bytes(mask), width, device)?;
            let forbidden = Tensor::new(f32::NEG_INFINITY, device)?.broadcast_as(width)?;
            allowed.where_cond(&self.0, &forbidden)
        };
        masked().map(Self).map_err(candle_error)
    }

    /// Copies the logits to the host's memory: one `f32` for each token id.
    pub fn to_vec(&self) -> Result<Vec<f32>> {
        self.0.to_vec1().map_err(candle_error)
    }
}

/// One byte for each token, 1 where the mask allows it: the form in which candle selects.
fn bytes(mask: &TokenMask) -> Vec<u8> {
    let bit = |id: usize| (mask.words()[id / 32] >> (id % 32) & 1) as u8;
    (0..mask.len()).map(bit).collect()
}
