"""Bitmasks on logits of torch."""

from __future__ import annotations

from typing import Any, Dict

import torch

_tables: Dict[Any, torch.Tensor] = {}


def allowed_bits(bitmask: torch.Tensor, width: int) -> torch.Tensor:
    """The rows of a bitmask as booleans, `width` wide; tokens beyond the bitmask are not allowed."""
    if bitmask.dtype != torch.int32:
        raise TypeError(f"the bitmask is of {bitmask.dtype}, where int32 is read")
    table = _tables.get(bitmask.device)
    if table is None:
        bits = torch.arange(256)[:, None] >> torch.arange(8) & 1
        table = _tables[bitmask.device] = bits.bool().to(bitmask.device)
    bits = table[bitmask.contiguous().view(torch.uint8).long()].flatten(1)
    missing = width - bits.shape[1]
    return torch.nn.functional.pad(bits, (0, missing)) if missing > 0 else bits[:, :width]


def apply_bitmask(logits: torch.Tensor, bitmask: torch.Tensor) -> None:
    """Sets the logits of tokens that the bitmask does not allow to minus infinity, in place. Both have one row a
    text, or one dimension; the bitmask (int32) is copied to the device of the logits."""
    if logits.dim() == bitmask.dim() == 1:
        logits, bitmask = logits[None], bitmask[None]
    if logits.dim() != 2 or bitmask.dim() != 2 or len(logits) != len(bitmask):
        raise ValueError(f"logits of {tuple(logits.shape)} with a bitmask of {tuple(bitmask.shape)}; give each text a row")
    # The copy is awaited: the caller writes the next masks into the same memory, which may be pinned.
    bitmask = bitmask.to(logits.device)
    logits.masked_fill_(~allowed_bits(bitmask, logits.shape[-1]), float("-inf"))
