//! Page-locked memory of the host, to which a GPU writes at the speed of the bus, since the system does not move it.
//! (Into pageable memory the driver copies through a buffer: 33 MB of logits take several milliseconds instead of one.)

use std::sync::{Mutex, PoisonError};

use candle_core::cuda_backend::WrapErr;
use candle_core::cuda_backend::cudarc::driver::PinnedHostSlice;
use candle_core::{CudaDevice, Result, Storage, Tensor, bail};

/// Copies whose memory is kept for the next one: the logits of a step that is drawn, and of the next.
const MAX_SPARE: usize = 4;

/// Memory that no copy uses; to lock it takes milliseconds.
static SPARE: Mutex<Vec<PinnedHostSlice<f32>>> = Mutex::new(Vec::new());

/// Numbers of a tensor. Its memory is used again afterwards.
#[derive(Debug)]
pub(in crate::model) struct PageLocked {
    /// There until the end.
    memory: Option<PinnedHostSlice<f32>>,
    len: usize,
}

impl PageLocked {
    pub(super) fn of(tensor: &Tensor, device: &CudaDevice) -> Result<Self> {
        let tensor = tensor.contiguous()?;
        let (storage, layout) = tensor.storage_and_layout();
        let (Storage::Cuda(numbers), Some((from, to))) = (&*storage, layout.contiguous_offsets())
        else {
            bail!("the tensor is on another device");
        };
        let numbers = numbers.as_cuda_slice::<f32>()?.slice(from..to);
        let stream = device.cuda_stream();
        let len = to - from;
        let mut memory = memory(device, len)?;
        // As long as the numbers: it is the length of the target that is copied.
        stream.memcpy_dtoh(&numbers, &mut memory.as_mut_slice().w()?[..len]).w()?;
        stream.synchronize().w()?;
        Ok(Self { memory: Some(memory), len })
    }

    pub(super) fn numbers(&self) -> Result<&[f32]> {
        match &self.memory {
            Some(memory) => Ok(&memory.as_slice().w()?[..self.len]),
            None => bail!("the copy has ended"),
        }
    }
}

impl Drop for PageLocked {
    fn drop(&mut self) {
        let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
        if spare.len() < MAX_SPARE {
            spare.extend(self.memory.take());
        }
    }
}

/// Memory for at least so many numbers.
#[allow(unsafe_code)]
fn memory(device: &CudaDevice, len: usize) -> Result<PinnedHostSlice<f32>> {
    let mut spare = SPARE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(at) = spare.iter().position(|memory| memory.len() >= len) {
        return Ok(spare.swap_remove(at));
    }
    // All are too small: one is freed to make room for a larger one.
    spare.pop();
    drop(spare);
    let stream = device.cuda_stream();
    // SAFETY: the memory is uninitialised, and every pattern of bits is an `f32`. It is read only up
    // to the length that was written (`PageLocked::numbers`). No flag: the host reads it.
    unsafe { stream.context().alloc_pinned_with_flags(len.next_power_of_two(), 0) }.w()
}
