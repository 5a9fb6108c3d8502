//! Copies of a device's numbers in the host's memory.

#[cfg(feature = "cuda")]
mod page_locked;

use candle_core::{Result, Tensor};

/// The numbers of a tensor, in order, in the host's memory.
#[derive(Debug)]
pub(super) enum HostCopy {
    /// In memory of the system.
    Plain(Vec<f32>),
    /// In memory that a GPU writes to.
    #[cfg(feature = "cuda")]
    PageLocked(page_locked::PageLocked),
}

impl HostCopy {
    /// Copies an `f32` tensor.
    pub(super) fn of(tensor: &Tensor) -> Result<Self> {
        #[cfg(feature = "cuda")]
        if let candle_core::Device::Cuda(device) = tensor.device() {
            return page_locked::PageLocked::of(tensor, device).map(Self::PageLocked);
        }
        tensor.flatten_all()?.to_vec1().map(Self::Plain)
    }

    pub(super) fn numbers(&self) -> Result<&[f32]> {
        match self {
            Self::Plain(numbers) => Ok(numbers),
            #[cfg(feature = "cuda")]
            Self::PageLocked(copy) => copy.numbers(),
        }
    }
}
