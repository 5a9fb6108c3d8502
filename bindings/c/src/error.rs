//! Errors as handles.

use std::ffi::{CStr, CString, c_char};

use crate::pointer::{free, handle};

/// An error: its kind, and a message with the place and the cure.
pub struct Error {
    kind: ErrorKind,
    message: CString,
}

/// The input or the stage that an error is about.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A kind that this version of the header does not know.
    Other = 0,
    /// A tokenizer or vocabulary file cannot be used for exact masks.
    Vocabulary = 1,
    /// A regular expression does not parse, or has no regular meaning.
    Regex = 2,
    /// A grammar does not parse, or refers to what it does not define.
    Grammar = 3,
    /// A JSON Schema is malformed, or uses a keyword that cannot be enforced.
    Schema = 4,
    /// A constraint that no text satisfies.
    Unsatisfiable = 5,
    /// A limit was reached.
    Limit = 6,
    /// A token or byte that the constraint does not allow here.
    Rejected = 7,
    /// An argument that is out of range or not supported.
    Argument = 8,
    /// A file that cannot be read.
    Io = 9,
}

impl From<maskwright::ErrorKind> for ErrorKind {
    fn from(kind: maskwright::ErrorKind) -> Self {
        use maskwright::ErrorKind as Kind;
        match kind {
            Kind::Vocabulary => Self::Vocabulary,
            Kind::Regex => Self::Regex,
            Kind::Grammar => Self::Grammar,
            Kind::Schema => Self::Schema,
            Kind::Unsatisfiable => Self::Unsatisfiable,
            Kind::Limit => Self::Limit,
            Kind::Rejected => Self::Rejected,
            // A vocabulary that does not fit the width of the logits is an argument here.
            Kind::Request | Kind::Model => Self::Argument,
            Kind::Io => Self::Io,
            _ => Self::Other,
        }
    }
}

/// Puts an error where the caller wants it.
pub(crate) fn put(to: *mut *mut Error, error: maskwright::Error) {
    if !to.is_null() {
        let message = CString::new(error.to_string().replace('\0', "\u{fffd}")).unwrap_or_default();
        // SAFETY: the caller's pointer is NULL or leads to a pointer of its own.
        unsafe { *to = handle(Error { kind: error.kind().into(), message }) };
    }
}

/// The kind of an error; `MW_ERROR_KIND_OTHER` for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_get_kind(error: *const Error) -> ErrorKind {
    // SAFETY: NULL or a handle, as the crate requires.
    unsafe { error.as_ref() }.map_or(ErrorKind::Other, |error| error.kind)
}

/// The message of an error on one line: place, what is wrong, what would be accepted. It lives as long as
/// the error. Empty for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_message(error: *const Error) -> *const c_char {
    // SAFETY: NULL or a handle, as the crate requires.
    unsafe { error.as_ref() }
        .map_or(c"", |error| {
            CStr::from_bytes_with_nul(error.message.as_bytes_with_nul()).unwrap_or(c"")
        })
        .as_ptr()
}

/// Frees an error. NULL is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_free(error: *mut Error) {
    // SAFETY: NULL or a handle, as the crate requires.
    unsafe { free(error) };
}
