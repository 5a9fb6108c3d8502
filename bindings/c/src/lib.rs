//! The C interface: [`maskwright`]'s vocabulary, compiler, constraint and matcher as opaque handles.
//!
//! `include/maskwright.h` is made from these files by cbindgen and is the documentation for users.
//!
//! # Safety
//!
//! The whole crate is a border at which pointers of a caller are believed. Each function states in its
//! description what it takes; all of them require that a handle is NULL or one that the library gave and
//! that was not freed, that texts end with a 0 byte or have the stated length, and that an array has the
//! stated number of elements. Pointers are read in [`pointer`] alone. A panic is turned into an error
//! ([`border`]), so none reaches the caller.

mod border;
mod compiler;
mod error;
mod matcher;
mod pointer;
mod vocabulary;

use std::ffi::c_char;

pub use compiler::{Compiler, Constraint, ConstraintKind};
pub use error::{Error, ErrorKind};
pub use matcher::Matcher;
pub use vocabulary::{Token, Vocabulary};

/// The version of the library, such as `0.1.0`. Static: not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn mw_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Frees a text that a function of this library returned. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_string_free(text: *mut c_char) {
    if !text.is_null() {
        // SAFETY: the text was made by `pointer::text`, from a `CString`.
        drop(unsafe { std::ffi::CString::from_raw(text) });
    }
}
