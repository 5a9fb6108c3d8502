"""Masks of batches, for the helpers of NumPy and torch."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from ... import fill_masks
from . import LLExecutor, LLMatcher


def get_bitmask_shape(batch_size: int, vocab_size: int) -> Tuple[int, int]:
    """Rows, and words of a row."""
    return batch_size, (vocab_size + 31) // 32


def fill_next_token_bitmask(interp: LLMatcher, bitmask: Any, index: int = 0) -> None:
    """Writes the mask of a text into a row."""
    interp._mask().fill(bitmask, index)


def fill_next_token_bitmask_par(executor: LLExecutor, matchers: Sequence[Tuple[LLMatcher, int]], bitmask: Any) -> None:
    """Writes the masks of texts into their rows."""
    fill_masks([matcher._mask() for matcher, _ in matchers], bitmask, [row for _, row in matchers])


def fill_next_token_bitmask_par_with_draft_tokens(
    executor: LLExecutor, matchers: Sequence[Tuple[LLMatcher, int, List[int]]], bitmask: Any
) -> None:
    """The same, and behind each row those along a draft, as far as it is allowed."""
    for matcher, row, draft in matchers:
        native = matcher._mask()
        draft = draft[: native.validate(draft)]
        native.fill_tree(draft, list(range(-1, len(draft) - 1)), bitmask, row)


def consume_token_par(executor: LLExecutor, matchers: List[Tuple[LLMatcher, int]]) -> List[bool]:
    """Takes one token of each text."""
    return executor.consume_token_par(matchers)
