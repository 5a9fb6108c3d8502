"""Addresses of writable buffers, for objects that are neither NumPy's nor torch's."""

from __future__ import annotations

import ctypes
from typing import Any, Tuple


def view(buffer: Any) -> Tuple[int, int, int, Any]:
    """Address, rows, words of a row, and the object that keeps the memory in place."""
    words = memoryview(buffer)
    if words.readonly:
        raise ValueError("the bitmask is not writable")
    if not words.c_contiguous:
        raise ValueError("the rows of the bitmask are not contiguous; make a contiguous array")
    if words.itemsize == 4 and words.format.lstrip("@=<") in ("i", "I", "l", "L"):
        shape = words.shape or ()
    elif words.itemsize == 1 and words.ndim == 1 and words.nbytes % 4 == 0:
        shape = (words.nbytes // 4,)
    else:
        raise TypeError("the bitmask is no buffer of int32 or of bytes")
    if len(shape) not in (1, 2):
        raise ValueError("a bitmask has one dimension or two")
    rows, length = shape if len(shape) == 2 else (1, shape[0])
    if words.nbytes == 0:
        return 0, rows, length, words
    owner = (ctypes.c_char * words.nbytes).from_buffer(words)
    return ctypes.addressof(owner), rows, length, owner
