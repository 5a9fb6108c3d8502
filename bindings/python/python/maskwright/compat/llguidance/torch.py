"""Bitmasks of torch."""

from __future__ import annotations

import torch

from ..._torch import apply_bitmask
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


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> torch.Tensor:
    """A bitmask that allows everything, pinned where there is a GPU."""
    shape = get_bitmask_shape(batch_size, vocab_size)
    if torch.cuda.is_available():
        try:
            return torch.full(shape, -1, dtype=torch.int32, pin_memory=True)
        except RuntimeError:
            pass  # no context on the device, or no memory to pin
    return torch.full(shape, -1, dtype=torch.int32)


def apply_token_bitmask_inplace(logits: torch.Tensor, mask: torch.Tensor) -> None:
    """Sets the logits of tokens that are not allowed to minus infinity."""
    logits = logits.unsqueeze(0) if logits.dim() == 1 else logits
    mask = mask.unsqueeze(0) if mask.dim() == 1 else mask
    if len(logits) != len(mask):
        raise AssertionError("Batch size mismatch")
    if mask.dtype != torch.int32:
        raise AssertionError("Mask must be int32")
    apply_bitmask(logits, mask)
