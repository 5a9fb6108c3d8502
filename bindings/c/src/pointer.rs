//! Reading and making the pointers that cross the border.

use std::ffi::{CStr, CString, c_char};

use maskwright::{Error, ErrorKind, Result};

fn request(message: String) -> Error {
    Error::new(ErrorKind::Request, message)
}

/// The object of a handle.
///
/// # Safety
/// The handle is NULL, or was made by [`handle`] and not freed while the borrow lives.
pub(crate) unsafe fn object<'a, T>(handle: *const T, name: &str) -> Result<&'a T> {
    // SAFETY: by the caller's promise.
    unsafe { handle.as_ref() }.ok_or_else(|| request(format!("`{name}` is NULL")))
}

/// The object of a handle, to be changed.
///
/// # Safety
/// As for [`object`], and no other borrow of it lives.
pub(crate) unsafe fn object_mut<'a, T>(handle: *mut T, name: &str) -> Result<&'a mut T> {
    // SAFETY: by the caller's promise.
    unsafe { handle.as_mut() }.ok_or_else(|| request(format!("`{name}` is NULL")))
}

/// Whether any memory can hold so many elements; a slice of more is undefined.
fn fits_memory<T>(count: usize) -> bool {
    count.checked_mul(size_of::<T>()).is_some_and(|bytes| isize::try_from(bytes).is_ok())
}

fn too_many(count: usize, name: &str) -> Error {
    request(format!("`{name}` cannot have {count} elements"))
}

/// The elements of an array; NULL may stand for none.
///
/// # Safety
/// `first` is NULL or points to `count` elements that nobody changes while the borrow lives.
pub(crate) unsafe fn array<'a, T>(first: *const T, count: usize, name: &str) -> Result<&'a [T]> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&[]),
        (true, _) => Err(request(format!("`{name}` is NULL, and has {count} elements"))),
        _ if !fits_memory::<T>(count) => Err(too_many(count, name)),
        // SAFETY: by the caller's promise.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(first, count) }),
    }
}

/// The elements of an array, to be changed.
///
/// # Safety
/// As for [`array`], and nobody else reads them.
pub(crate) unsafe fn array_mut<'a, T>(
    first: *mut T,
    count: usize,
    name: &str,
) -> Result<&'a mut [T]> {
    match (first.is_null(), count) {
        (_, 0) => Ok(&mut []),
        (true, _) => Err(request(format!("`{name}` is NULL, and has {count} elements"))),
        _ if !fits_memory::<T>(count) => Err(too_many(count, name)),
        // SAFETY: by the caller's promise.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts_mut(first, count) }),
    }
}

/// The text at a pointer, up to its 0 byte.
///
/// # Safety
/// The pointer is NULL or leads to a text that ends with a 0 byte.
pub(crate) unsafe fn text_of<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    if text.is_null() {
        return Err(request(format!("`{name}` is NULL")));
    }
    // SAFETY: by the caller's promise.
    let text = unsafe { CStr::from_ptr(text) };
    text.to_str().map_err(|error| request(format!("`{name}` is not UTF-8: {error}")))
}

/// A handle, to be freed with [`free`].
pub(crate) fn handle<T>(object: T) -> *mut T {
    Box::into_raw(Box::new(object))
}

/// Frees a handle; NULL is ignored.
///
/// # Safety
/// The handle is NULL, or was made by [`handle`] and not freed.
pub(crate) unsafe fn free<T>(handle: *mut T) {
    if !handle.is_null() {
        // SAFETY: by the caller's promise.
        drop(unsafe { Box::from_raw(handle) });
    }
}

/// A text for the caller, who frees it with `mw_string_free`. A 0 byte within it becomes U+FFFD.
pub(crate) fn text(text: &str) -> *mut c_char {
    let text = CString::new(text.replace('\0', "\u{fffd}"));
    // Without 0 bytes it is a C string.
    text.map_or(std::ptr::null_mut(), CString::into_raw)
}
