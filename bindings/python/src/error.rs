//! Errors of the library as `maskwright.Error`.

use maskwright::{Error, ErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// An error of the library on its way to Python.
#[derive(Debug)]
pub(crate) struct NativeError(pub(crate) Error);

impl From<Error> for NativeError {
    fn from(error: Error) -> Self {
        Self(error)
    }
}

impl From<NativeError> for PyErr {
    fn from(NativeError(error): NativeError) -> Self {
        Python::attach(|py| raised(py, &error).unwrap_or_else(|failure| failure))
    }
}

/// The exception of an error: its text, and its parts as attributes.
fn raised(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, "maskwright._errors", "Error")?;
    let exception = class.call1((error.to_string(),))?;
    let place = error.place();
    let (line, column) = place.line_column.unzip();
    exception.setattr("kind", kind(error.kind()))?;
    exception.setattr("message", error.message())?;
    exception.setattr("help", error.help())?;
    exception.setattr("limit", error.limit().map(|limit| limit.as_str()))?;
    exception.setattr("file", place.file.as_ref().map(|file| file.display().to_string()))?;
    exception.setattr("line", line)?;
    exception.setattr("column", column)?;
    exception.setattr("pointer", place.pointer.as_deref())?;
    exception.setattr("byte", place.byte)?;
    exception.setattr("rule", place.rule.as_deref())?;
    exception.setattr("excerpt", error.excerpt())?;
    Ok(PyErr::from_value(exception))
}

fn kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Vocabulary => "vocabulary",
        ErrorKind::Regex => "regex",
        ErrorKind::Grammar => "grammar",
        ErrorKind::Schema => "schema",
        ErrorKind::Unsatisfiable => "unsatisfiable",
        ErrorKind::Limit => "limit",
        ErrorKind::Rejected => "rejected",
        ErrorKind::Sampling => "sampling",
        ErrorKind::Model => "model",
        ErrorKind::Request => "request",
        ErrorKind::Context => "context",
        ErrorKind::Io => "io",
        _ => "other",
    }
}

/// The error of arguments that do not fit together.
pub(crate) fn request(message: impl Into<String>, help: &str) -> NativeError {
    NativeError(Error::new(ErrorKind::Request, message).with_help(help))
}

/// The error of a lock whose holder panicked.
pub(crate) fn poisoned() -> PyErr {
    PyRuntimeError::new_err("a call on this object failed inside of the library; make a new one")
}
