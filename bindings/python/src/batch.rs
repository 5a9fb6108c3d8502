//! `fill_masks`: the masks of a batch, by all cores and without the interpreter's lock.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::NativeError;
use crate::matcher::{Matcher, State, end_tokens};
use crate::rows::Rows;

/// Writes the masks of matchers into rows of a bitmask: matcher `i` into row `indices[i]`, or `i` without.
///
/// Errors if matchers are of different tokenizers, if one or a row is given twice, or when a limit is
/// reached; rows of other matchers may be written then.
#[pyfunction(name = "_fill_masks")]
#[pyo3(signature = (matchers, bitmask, indices=None))]
pub(crate) fn fill_masks(
    py: Python<'_>,
    matchers: Vec<Py<Matcher>>,
    bitmask: &Bound<'_, PyAny>,
    indices: Option<Vec<usize>>,
) -> PyResult<()> {
    let indices = indices.unwrap_or_else(|| (0..matchers.len()).collect());
    if indices.len() != matchers.len() {
        let message = format!("{} matchers with {} rows", matchers.len(), indices.len());
        return Err(PyValueError::new_err(message));
    }
    let Some(first) = matchers.first() else { return Ok(()) };
    // By address, so that two threads that fill overlapping batches lock in one order, and neither waits
    // for the other for ever.
    let mut by_address: Vec<(&Matcher, usize)> =
        matchers.iter().map(Py::get).zip(indices.iter().copied()).collect();
    by_address.sort_unstable_by_key(|(matcher, _)| std::ptr::from_ref(*matcher));
    let is_twice = by_address.windows(2).any(|pair| std::ptr::eq(pair[0].0, pair[1].0));
    if is_twice {
        return Err(PyValueError::new_err("a matcher is given twice; fork it, or copy its row"));
    }
    let words = first.get().words();
    if by_address.iter().any(|(matcher, _)| matcher.words() != words) {
        return Err(PyValueError::new_err("the matchers are of tokenizers of different widths"));
    }
    let mut rows = Rows::of(bitmask, words)?;
    // An error becomes an exception, which calls Python, after the locks are given back.
    let result = py.detach(|| -> PyResult<_> {
        let mut states = Vec::with_capacity(by_address.len());
        for (matcher, index) in &by_address {
            states.push((*index, matcher.lock()?));
        }
        states.sort_unstable_by_key(|(index, _)| *index);
        let ascending: Vec<usize> = states.iter().map(|(index, _)| *index).collect();
        let slices = rows.select(&ascending)?;
        let mut batch = Vec::with_capacity(slices.len());
        for ((_, state), row) in states.iter_mut().zip(slices) {
            let State { native, .. } = &mut **state;
            if native.is_finished() {
                end_tokens(native, row);
            } else {
                batch.push((native, row));
            }
        }
        Ok(maskwright::fill_masks(&mut batch))
    })?;
    Ok(result.map_err(NativeError)?)
}
