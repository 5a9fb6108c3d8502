//! Shapes of tensors by DLPack's exchange table (`__dlpack_c_exchange_api__`, DLPack 1.3), which torch 2.13 has and
//! older releases may lack.
//!
//! A tensor's own methods tell address, shape, strides, item type and device in seven calls of Python, which take
//! longer than writing a known mask of 128k tokens. The table has one C function that fills a structure with all
//! of them. Nothing is kept between calls, so a tensor whose memory was exchanged is seen as it is.
//!
//! Source: `dlpack.h` of DLPack 1.3, `DLPackExchangeAPI`.

use std::ffi::{CStr, c_int, c_void};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::{PyCapsule_GetPointer, PyObject};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

use crate::shape::Shape;

/// The capsule's name.
const NAME: &CStr = c"dlpack_exchange_api";

/// The version of the structures below; others are left alone.
const MAJOR: u32 = 1;

/// Memory that the CPU reads and writes: its own (`kDLCPU`), and that pinned for CUDA and ROCm (`kDLCUDAHost`,
/// `kDLROCMHost`).
const CPU_DEVICES: [c_int; 3] = [1, 3, 11];

/// `kDLInt` and `kDLUInt`.
const INTEGER_CODES: [u8; 2] = [0, 1];

/// `DLPackExchangeAPI`.
#[repr(C)]
struct ExchangeTable {
    major: u32,
    minor: u32,
    previous: *const c_void,
    allocate: *const c_void,
    managed_from_object: *const c_void,
    object_from_managed: *const c_void,
    tensor_from_object: Option<unsafe extern "C" fn(*mut PyObject, *mut Tensor) -> c_int>,
}

/// `DLTensor`.
#[repr(C)]
struct Tensor {
    data: *mut c_void,
    device_type: c_int,
    device_id: i32,
    dimensions: i32,
    code: u8,
    bits: u8,
    lanes: u16,
    shape: *const i64,
    strides: *const i64,
    byte_offset: u64,
}

/// The shape of an object whose type has an exchange table with a function for it.
#[allow(unsafe_code)]
pub(crate) fn shape(object: &Bound<'_, PyAny>) -> PyResult<Option<Shape>> {
    // The first type that was found to have no table (NumPy's arrays): the look-up of an attribute that is missing
    // takes 0.2 us.
    static WITHOUT: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let py = object.py();
    let kind = object.get_type();
    if WITHOUT.get(py).is_some_and(|without| without.is(&kind)) {
        return Ok(None);
    }
    let Some(capsule) = kind.getattr_opt(intern!(py, "__dlpack_c_exchange_api__"))? else {
        // Another type may be there already; then this one is looked up again.
        _ = WITHOUT.set(py, kind.unbind());
        return Ok(None);
    };
    // SAFETY: for an object that is no capsule of this name the call sets a Python error and returns null.
    let pointer = unsafe { PyCapsule_GetPointer(capsule.as_ptr(), NAME.as_ptr()) };
    if pointer.is_null() {
        return Err(PyErr::fetch(py));
    }
    // SAFETY: DLPack says that a capsule of this name holds such a table, which lives as long as the process. Its
    // first two words are its version; of another major version no more than them is read.
    let from_object = unsafe {
        match *pointer.cast::<u32>() {
            MAJOR => (*pointer.cast::<ExchangeTable>()).tensor_from_object,
            _ => None,
        }
    };
    let Some(from_object) = from_object else { return Ok(None) };
    let mut tensor = Tensor {
        data: std::ptr::null_mut(),
        device_type: 0,
        device_id: 0,
        dimensions: 0,
        code: 0,
        bits: 0,
        lanes: 0,
        shape: std::ptr::null(),
        strides: std::ptr::null(),
        byte_offset: 0,
    };
    // SAFETY: the object has the type whose table this is, and the structure is writable.
    if unsafe { from_object(object.as_ptr(), &raw mut tensor) } != 0 {
        // What DLPack cannot describe, the object's own methods do, and tell what is wrong with it.
        drop(PyErr::take(py));
        return Ok(None);
    }
    tensor.shape_of_words().map(Some)
}

impl Tensor {
    #[allow(unsafe_code)]
    fn shape_of_words(&self) -> PyResult<Shape> {
        if !CPU_DEVICES.contains(&self.device_type) {
            return Err(PyValueError::new_err("the bitmask is not in the memory of the CPU"));
        }
        if !INTEGER_CODES.contains(&self.code) || self.bits != 32 || self.lanes != 1 {
            return Err(PyTypeError::new_err("the bitmask is no tensor of int32"));
        }
        let dimensions = usize::try_from(self.dimensions).unwrap_or(0);
        if !matches!(dimensions, 1 | 2) || self.shape.is_null() || self.strides.is_null() {
            return Err(PyValueError::new_err("a bitmask has one dimension or two"));
        }
        // SAFETY: both have one entry a dimension, and live until control goes back to Python.
        let (shape, strides) = unsafe {
            (
                std::slice::from_raw_parts(self.shape, dimensions),
                std::slice::from_raw_parts(self.strides, dimensions),
            )
        };
        let words = shape[dimensions - 1] as usize;
        let (rows, row_bytes) = match dimensions {
            1 => (1, words as isize * 4),
            _ => (shape[0] as usize, strides[0] as isize * 4),
        };
        let word_bytes = strides[dimensions - 1] as isize * 4;
        let address = self.data as usize + self.byte_offset as usize;
        Ok(Shape { address, rows, words, row_bytes, word_bytes })
    }
}
