"""Encodings of tiktoken."""

from __future__ import annotations

from typing import Any, List, Optional, Union

from . import LLTokenizer


def lltokenizer_from_encoding(
    encoding: Any,
    *,
    n_vocab: Optional[int] = None,
    eos_token: Union[int, List[int], None] = None,
    slices: Optional[List[str]] = None,
) -> LLTokenizer:
    """An encoding of tiktoken."""
    eos_token = encoding.eot_token if eos_token is None else eos_token
    return LLTokenizer(encoding, n_vocab=n_vocab, eos_token=eos_token)
