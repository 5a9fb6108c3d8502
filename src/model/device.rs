//! The device that a model runs on, and the dtype of its weights.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// The device that a model runs on, written `cpu`, `cuda` or `cuda:1`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Device {
    /// The processor.
    #[default]
    Cpu,
    /// The NVIDIA GPU of this number, from 0.
    Cuda(usize),
}

impl Device {
    /// Opens the device. Errors if this build or this machine has none.
    pub(crate) fn open(self) -> Result<candle_core::Device> {
        let index = match self {
            Self::Cpu => return Ok(candle_core::Device::Cpu),
            Self::Cuda(index) => index,
        };
        if !candle_core::utils::cuda_is_available() {
            let message = "this build has no CUDA";
            let help = "use `--device cpu`, or build with `--features cuda`";
            return Err(Error::new(ErrorKind::Model, message).with_help(help));
        }
        open_cuda(index).map_err(|error| {
            // The driver's words without the backtrace that candle adds in debug builds.
            let reason = error.to_string();
            let reason = reason.lines().next().unwrap_or_default();
            Error::new(ErrorKind::Model, format!("no CUDA device {index}: {reason}"))
                .with_help("use `--device cpu`, or a device that `nvidia-smi` lists")
        })
    }
}

/// CUDA devices that are open, by their numbers.
static OPEN: Mutex<Vec<(usize, candle_core::Device)>> = Mutex::new(Vec::new());

/// The CUDA device of a number, opened once in a process.
///
/// All its work is queued on one stream, whichever thread queues it: a model is loaded on one
/// thread and runs on another. (The stream of `Device::new_cuda` is another one for each thread,
/// and nothing orders what one thread wrote before what another one reads.)
fn open_cuda(index: usize) -> candle_core::Result<candle_core::Device> {
    let mut open = OPEN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, device)) = open.iter().find(|(known, _)| *known == index) {
        return Ok(device.clone());
    }
    let device = candle_core::Device::new_cuda_with_stream(index)?;
    #[cfg(feature = "cuda")]
    order_by_the_stream_alone(&device)?;
    open.push((index, device.clone()));
    Ok(device)
}

/// Switches off the events that order several streams, each of which costs a call of the driver for
/// every argument of every kernel. To be called before anything is allocated.
#[cfg(feature = "cuda")]
#[allow(unsafe_code)]
fn order_by_the_stream_alone(device: &candle_core::Device) -> candle_core::Result<()> {
    let device = device.as_cuda_device()?;
    // SAFETY: events order what is done on one stream after what was done on another. Nothing here
    // makes a second stream of this device: `open_cuda` opens it once, its lock is held, and every
    // tensor is made with the device that it returns.
    unsafe { device.disable_event_tracking() };
    Ok(())
}

/// The bytes that are free on a device; `None` on the CPU.
pub(super) fn free_memory(device: &candle_core::Device) -> Option<usize> {
    #[cfg(feature = "cuda")]
    if let Ok(device) = device.as_cuda_device() {
        return device.cuda_stream().context().mem_get_info().ok().map(|(free, _)| free);
    }
    let _ = device;
    None
}

impl FromStr for Device {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let cuda = match text {
            "cpu" => return Ok(Self::Cpu),
            "cuda" => Some("0"),
            _ => text.strip_prefix("cuda:"),
        };
        cuda.and_then(|index| index.parse().ok()).map(Self::Cuda).ok_or_else(|| {
            Error::new(ErrorKind::Request, format!("`{text}` is no device"))
                .with_help("write `cpu`, `cuda` or `cuda:N` with N from 0")
        })
    }
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu => f.write_str("cpu"),
            Self::Cuda(index) => write!(f, "cuda:{index}"),
        }
    }
}

/// The dtype of weights and activations, written `f32`, `bf16` or `f16`. Checkpoints in another one
/// are converted. On the CPU the narrow ones save memory and cost time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DType {
    /// 32 bits.
    #[default]
    F32,
    /// 16 bits with the range of `f32`.
    BF16,
    /// 16 bits with a finer grain and a range up to 65504.
    F16,
}

impl From<DType> for candle_core::DType {
    fn from(dtype: DType) -> Self {
        match dtype {
            DType::F32 => Self::F32,
            DType::BF16 => Self::BF16,
            DType::F16 => Self::F16,
        }
    }
}

impl FromStr for DType {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "f32" => Ok(Self::F32),
            "bf16" => Ok(Self::BF16),
            "f16" => Ok(Self::F16),
            _ => Err(Error::new(ErrorKind::Request, format!("`{text}` is no dtype"))
                .with_help("write `f32`, `bf16` or `f16`")),
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::F32 => "f32",
            Self::BF16 => "bf16",
            Self::F16 => "f16",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_dtypes_read_as_they_are_written() {
        for text in ["cpu", "cuda:0", "cuda:3"] {
            assert_eq!(text.parse::<Device>().map(|d| d.to_string()).as_deref(), Ok(text));
        }
        assert_eq!("cuda".parse(), Ok(Device::Cuda(0)));
        for text in ["f32", "bf16", "f16"] {
            assert_eq!(text.parse::<DType>().map(|d| d.to_string()).as_deref(), Ok(text));
        }
        for text in ["", "gpu", "cuda:", "cuda:-1", "cuda0"] {
            let error = text.parse::<Device>().map_err(|e| e.to_string());
            assert_eq!(
                error,
                Err(format!(
                    "`{text}` is no device; write `cpu`, `cuda` or `cuda:N` with N from 0"
                ))
            );
        }
        assert!("f64".parse::<DType>().is_err());
    }

    #[cfg(not(feature = "cuda"))]
    #[test]
    fn a_build_without_cuda_says_so() {
        let error = Device::Cuda(0).open().map(|_| ()).map_err(|e| e.to_string());
        let expected =
            "this build has no CUDA; use `--device cpu`, or build with `--features cuda`";
        assert_eq!(error, Err(expected.to_owned()));
    }
}
