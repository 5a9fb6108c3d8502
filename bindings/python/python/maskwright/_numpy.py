"""Masks as booleans of NumPy."""

from __future__ import annotations

import numpy

from ._native import Matcher


def allowed_bits(matcher: Matcher, width: int) -> numpy.ndarray:
    """The mask as booleans, `width` wide; tokens beyond the vocabulary are not allowed."""
    row = numpy.empty(matcher.words, dtype=numpy.int32)
    matcher.fill(row)
    bits = numpy.unpackbits(row.view(numpy.uint8), bitorder="little", count=min(width, matcher.words * 32))
    return numpy.pad(bits, (0, width - len(bits))).astype(bool)
