"""Bitmasks of NumPy."""

from __future__ import annotations

import numpy as np

from ._batch import (
    consume_token_par,
    fill_next_token_bitmask,
    fill_next_token_bitmask_par,
    fill_next_token_bitmask_par_with_draft_tokens,
    get_bitmask_shape,
)

__all__ = [
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "consume_token_par",
    "fill_next_token_bitmask",
    "fill_next_token_bitmask_par",
    "fill_next_token_bitmask_par_with_draft_tokens",
    "get_bitmask_shape",
]


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> np.ndarray:
    """A bitmask that allows everything."""
    return np.full(get_bitmask_shape(batch_size, vocab_size), -1, dtype=np.int32)


def apply_token_bitmask_inplace(logits: np.ndarray, mask: np.ndarray) -> None:
    """Sets the logits of tokens that are not allowed to minus infinity."""
    logits, mask = np.atleast_2d(logits), np.atleast_2d(mask)
    if len(logits) != len(mask):
        raise AssertionError("Batch size mismatch")
    if mask.dtype != np.int32:
        raise AssertionError("Mask must be int32")
    bits = np.unpackbits(np.ascontiguousarray(mask).view(np.uint8), axis=1, bitorder="little")
    width = min(logits.shape[1], bits.shape[1])
    logits[:, :width][bits[:, :width] == 0] = -np.inf
    logits[:, width:] = -np.inf
