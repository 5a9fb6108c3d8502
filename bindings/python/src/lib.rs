//! The native half of the Python package `maskwright`: tokenizers, compilers, constraints and matchers as
//! Python classes. Texts, types and schemas of Python are made into a [`spec`] by the half in Python.
//!
//! Every call that may compute releases the interpreter's lock, and none calls Python while it holds a lock
//! of its own: threads of a host can compile and fill side by side.

mod batch;
mod compiler;
mod constraint;
mod dlpack;
mod error;
mod matcher;
mod rows;
mod shape;
mod spec;
mod tokenizer;

use pyo3::prelude::*;

/// The module `maskwright._native`.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<tokenizer::Tokenizer>()?;
    module.add_class::<compiler::Compiler>()?;
    module.add_class::<constraint::Constraint>()?;
    module.add_class::<matcher::Matcher>()?;
    module.add_function(wrap_pyfunction!(batch::fill_masks, module)?)?;
    module.add_function(wrap_pyfunction!(compiler::pause_for_fork, module)?)?;
    module.add_function(wrap_pyfunction!(compiler::resume_after_fork, module)?)?;
    module.add_function(wrap_pyfunction!(constraint::lint, module)?)?;
    module.add_function(wrap_pyfunction!(spec::tool_formats, module)?)?;
    Ok(())
}
