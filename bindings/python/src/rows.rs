//! [`Rows`]: mask rows in memory that Python owns.
//!
//! Rows come as a tensor with DLPack's table of functions (see [`dlpack`]), a NumPy array
//! (`__array_struct__`, a C structure behind a capsule), a tensor of an older torch (`data_ptr`), or anything with
//! a writable buffer (by way of `memoryview` and `ctypes`, in `maskwright/_buffers.py`). Handing over a pointer
//! instead of copying a row of 128k tokens saves 16 kB of copying and an allocation a mask, which takes longer than
//! the mask itself when it is known.

use std::ffi::{c_char, c_int, c_void};

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::ffi::PyCapsule_GetPointer;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::dlpack;
use crate::shape::Shape;

/// NumPy's `PyArrayInterface`, version 3 of the array interface.
#[repr(C)]
struct ArrayInterface {
    two: c_int,
    dimensions: c_int,
    kind: c_char,
    item_bytes: c_int,
    flags: c_int,
    shape: *const isize,
    strides: *const isize,
    data: *mut c_void,
    description: *mut c_void,
}

/// Aligned, in the machine's byte order, writable (`NPY_ARRAY_BEHAVED_NS`).
const BEHAVED: c_int = 0x100 | 0x200 | 0x400;

/// Rows of words of 32 bits.
pub(crate) struct Rows {
    base: *mut u32,
    rows: usize,
    words: usize,
    /// The distance between two rows, in words.
    stride: usize,
    /// The owner of the memory, alive as long as the rows are.
    _owner: Py<PyAny>,
}

// SAFETY: `base` is memory of `_owner`, which may be moved between threads and dropped in any; nothing else
// of this type refers to a thread.
#[allow(unsafe_code)]
unsafe impl Send for Rows {}

impl Rows {
    /// The rows of an object that holds one or two dimensions of words of 32 bits.
    ///
    /// Errors if it has other items, is not writable, is not on the CPU, or if its rows are not contiguous
    /// or hold another number of words.
    pub(crate) fn of(object: &Bound<'_, PyAny>, words: usize) -> PyResult<Self> {
        let py = object.py();
        if let Some(shape) = dlpack::shape(object)? {
            return Self::new(&shape, words, object.clone().unbind());
        }
        let (shape, owner) = match object.getattr_opt(intern!(py, "__array_struct__"))? {
            Some(capsule) => (of_numpy(&capsule)?, capsule),
            None => match object.getattr_opt(intern!(py, "data_ptr"))? {
                Some(data_ptr) => (of_torch(object, &data_ptr)?, object.clone()),
                None => of_buffer(object)?,
            },
        };
        Self::new(&shape, words, owner.unbind())
    }

    fn new(shape: &Shape, words: usize, owner: Py<PyAny>) -> PyResult<Self> {
        let &Shape { address, rows, words: given, row_bytes, word_bytes } = shape;
        if given != words {
            return Err(PyValueError::new_err(format!(
                "the bitmask has rows of {given} words where {words} fit; make it with \
                 maskwright.allocate_bitmask, or give the tokenizer the width of the model's logits"
            )));
        }
        let are_apart = usize::try_from(row_bytes).is_ok_and(|bytes| bytes >= words * 4);
        if word_bytes != 4 || row_bytes % 4 != 0 || rows > 1 && !are_apart {
            return Err(PyValueError::new_err(
                "the rows of the bitmask are not contiguous; make a contiguous array",
            ));
        }
        if address % 4 != 0 || address == 0 && rows * words > 0 {
            return Err(PyValueError::new_err("the memory of the bitmask is not aligned"));
        }
        let stride = usize::try_from(row_bytes / 4).unwrap_or(words);
        Ok(Self { base: address as *mut u32, rows, words, stride, _owner: owner })
    }

    /// One row at an address.
    ///
    /// # Safety
    ///
    /// There are `words` words at the address, writable until the rows are dropped.
    #[allow(unsafe_code)]
    pub(crate) unsafe fn at(address: usize, words: usize, py: Python<'_>) -> PyResult<Self> {
        let row_bytes = words as isize * 4;
        let shape = Shape { address, rows: 1, words, row_bytes, word_bytes: 4 };
        Self::new(&shape, words, py.None())
    }

    /// Checks that there is such a row.
    pub(crate) fn check(&self, index: usize) -> PyResult<()> {
        if index >= self.rows {
            let message = format!("row {index} of a bitmask of {} rows", self.rows);
            return Err(pyo3::exceptions::PyIndexError::new_err(message));
        }
        Ok(())
    }

    /// A row.
    #[allow(unsafe_code)]
    pub(crate) fn row(&mut self, index: usize) -> &mut [u32] {
        assert!(index < self.rows, "rows are checked before they are written");
        // SAFETY: the owner says that `rows` rows of `words` words lie `stride >= words` words apart from
        // `base`, aligned and writable, and it is kept. The slice borrows `self`, so that there is one at a
        // time. Python code that writes to the same memory meanwhile is a race that NumPy's own functions
        // have, too; words have no invalid values.
        unsafe { std::slice::from_raw_parts_mut(self.base.add(index * self.stride), self.words) }
    }

    /// The rows of these indices, which ascend.
    ///
    /// Errors if an index is too large or given twice.
    #[allow(unsafe_code)]
    pub(crate) fn select(&mut self, ascending: &[usize]) -> PyResult<Vec<&mut [u32]>> {
        for (position, &index) in ascending.iter().enumerate() {
            self.check(index)?;
            if position > 0 && ascending[position - 1] >= index {
                return Err(PyValueError::new_err(format!("row {index} is given twice")));
            }
        }
        // SAFETY: as in `row`; the indices differ, and rows do not overlap, so neither do the slices, which
        // borrow `self` together.
        let row = |&index: &usize| unsafe {
            std::slice::from_raw_parts_mut(self.base.add(index * self.stride), self.words)
        };
        Ok(ascending.iter().map(row).collect())
    }
}

/// The array behind the capsule of `__array_struct__`.
#[allow(unsafe_code)]
fn of_numpy(capsule: &Bound<'_, PyAny>) -> PyResult<Shape> {
    // SAFETY: a capsule without a name is what the array interface prescribes; for any other object the call
    // sets a Python error and returns null.
    let pointer = unsafe { PyCapsule_GetPointer(capsule.as_ptr(), std::ptr::null()) };
    if pointer.is_null() {
        return Err(PyErr::fetch(capsule.py()));
    }
    // SAFETY: version 3 of the array interface says that the capsule holds this structure, alive as long as
    // the capsule; `two` tells that it is one.
    let array = unsafe { &*pointer.cast::<ArrayInterface>() };
    let is_integer = matches!(array.kind as u8, b'i' | b'u');
    if array.two != 2 || !is_integer || array.item_bytes != 4 {
        return Err(PyTypeError::new_err("the bitmask is no array of int32"));
    }
    if array.flags & BEHAVED != BEHAVED {
        return Err(PyValueError::new_err("the bitmask is not aligned and writable"));
    }
    let dimensions = usize::try_from(array.dimensions).unwrap_or(0);
    if !matches!(dimensions, 1 | 2) {
        return Err(PyValueError::new_err("a bitmask has one dimension or two"));
    }
    // SAFETY: the interface has as many entries in both as there are dimensions.
    let (shape, strides) = unsafe {
        (
            std::slice::from_raw_parts(array.shape, dimensions),
            std::slice::from_raw_parts(array.strides, dimensions),
        )
    };
    let words = shape[dimensions - 1] as usize;
    let (rows, row_bytes) = match dimensions {
        1 => (1, words as isize * 4),
        _ => (shape[0] as usize, strides[0]),
    };
    let word_bytes = strides[dimensions - 1];
    Ok(Shape { address: array.data as usize, rows, words, row_bytes, word_bytes })
}

/// A tensor of a torch without DLPack's table, by its own methods.
fn of_torch(tensor: &Bound<'_, PyAny>, data_ptr: &Bound<'_, PyAny>) -> PyResult<Shape> {
    let py = tensor.py();
    let is_cpu: bool = tensor.getattr(intern!(py, "is_cpu"))?.extract()?;
    if !is_cpu {
        return Err(PyValueError::new_err("the bitmask is not in the memory of the CPU"));
    }
    let item_bytes: usize = tensor.getattr(intern!(py, "itemsize"))?.extract()?;
    let is_float: bool = tensor.call_method0(intern!(py, "is_floating_point"))?.extract()?;
    if item_bytes != 4 || is_float {
        return Err(PyTypeError::new_err("the bitmask is no tensor of int32"));
    }
    let shape: Vec<usize> = tensor.getattr(intern!(py, "shape"))?.extract()?;
    let strides: Vec<isize> = tensor.call_method0(intern!(py, "stride"))?.extract()?;
    let address = data_ptr.call0()?.extract()?;
    match (&shape[..], &strides[..]) {
        (&[words], &[word]) => {
            let row_bytes = words as isize * 4;
            Ok(Shape { address, rows: 1, words, row_bytes, word_bytes: word * 4 })
        }
        (&[rows, words], &[row, word]) => {
            Ok(Shape { address, rows, words, row_bytes: row * 4, word_bytes: word * 4 })
        }
        _ => Err(PyValueError::new_err("a bitmask has one dimension or two")),
    }
}

/// Anything with a buffer: address, rows, words, and what keeps the memory in place.
fn of_buffer<'py>(object: &Bound<'py, PyAny>) -> PyResult<(Shape, Bound<'py, PyAny>)> {
    static VIEW: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = object.py();
    let view = VIEW.import(py, "maskwright._buffers", "view")?;
    let (address, rows, words, owner): (usize, usize, usize, Bound<'py, PyAny>) =
        view.call1((object,))?.extract()?;
    let row_bytes = words as isize * 4;
    Ok((Shape { address, rows, words, row_bytes, word_bytes: 4 }, owner))
}
