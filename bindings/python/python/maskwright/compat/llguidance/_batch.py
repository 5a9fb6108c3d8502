"""Masks of batches, for the helpers of NumPy and torch."""

from __future__ import annotations

from typing import Any, List, Sequence, Tuple

from . import LLExecutor, LLMatcher, fill_drafts, fill_rows


def get_bitmask_shape(batch_size: int, vocab_size: int) -> Tuple[int, int]:
    """Rows, and words of a row."""
    return batch_size, (vocab_size + 31) // 32


def fill_next_token_bitmask(interp: LLMatcher, bitmask: Any, index: int = 0) -> None:
    """Writes the mask of a text into a row."""
    interp._fill(bitmask, index)


def fill_next_token_bitmask_par(executor: LLExecutor, matchers: Sequence[Tuple[LLMatcher, int]], bitmask: Any) -> None:
    """Writes the masks of texts into their rows."""
    fill_rows(matchers, bitmask, len(bitmask))


def fill_next_token_bitmask_par_with_draft_tokens(
    executor: LLExecutor, matchers: Sequence[Tuple[LLMatcher, int, List[int]]], bitmask: Any
) -> None:
    """The same, and after each row those along a draft, as far as it is allowed."""
    fill_drafts(matchers, bitmask, len(bitmask))


def consume_token_par(executor: LLExecutor, matchers: List[Tuple[LLMatcher, int]]) -> List[bool]:
    """Takes one token of each text."""
    return executor.consume_token_par(matchers)
