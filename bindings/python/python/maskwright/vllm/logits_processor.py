"""A logits processor of vLLM, for engines whose structured outputs have another backend.

A request brings its constraint in `SamplingParams(extra_args={"maskwright": {"json_schema": {…}}})`, over HTTP in
`vllm_xargs` as JSON text: one member (`json_schema`, `regex`, `choice`, `lark`, `gbnf`, `structural_tag`), and settings of
the compiler beside it. vLLM drops logits processors under speculative decoding; such requests are refused.
"""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional

import torch
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor, MoveDirectionality

from .. import fill_masks
from .._compiler import Compiler
from .._history import Follower
from .._native import Constraint
from .._tokenizer import Tokenizer
from .._torch import apply_bitmask
from . import OPTION
from .compilers import compiler_of

_KINDS = ("json_schema", "regex", "choice", "lark", "gbnf", "structural_tag")


def read_option(option: Any) -> Dict[str, Any]:
    """The option of a request as an object with one kind of constraint."""
    value = json.loads(option) if isinstance(option, str) else option
    kinds = [name for name in _KINDS if isinstance(value, dict) and name in value]
    if len(kinds) != 1:
        raise ValueError(f"`{OPTION}` is an object with one of {', '.join(_KINDS)}")
    return value


def compile_option(compiler: Compiler, value: Dict[str, Any], stop_token_ids: Any) -> Constraint:
    options = dict(value)
    kind = next(name for name in _KINDS if name in value)
    source = options.pop(kind)
    stop = {"stop_token_ids": sorted(stop_token_ids)} if stop_token_ids else {}
    return getattr(compiler, kind)(source, **options, **stop)


class MaskwrightLogitsProcessor(LogitsProcessor):
    """Masks the rows of requests that bring a constraint."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        option = (sampling_params.extra_args or {}).get(OPTION)
        if option is not None:
            # Without the tokenizer; where the backend is registered, it is checked with the tokenizer before.
            compile_option(_check_compiler(), read_option(option), None)

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self._config = vllm_config.model_config
        self._width = self._config.get_vocab_size()
        self._rows: Dict[int, tuple] = {}
        self._bitmask: Optional[torch.Tensor] = None

    def is_argmax_invariant(self) -> bool:
        return False

    def update_state(self, batch_update: Optional[BatchUpdate]) -> None:
        if batch_update is None:
            return
        for row in batch_update.removed:
            self._rows.pop(row, None)
        for row, params, _, output in batch_update.added:
            self._rows.pop(row, None)
            option = (params.extra_args or {}).get(OPTION)
            if option is not None:
                constraint = compile_option(self._compiler(), read_option(option), params.all_stop_token_ids)
                self._rows[row] = (Follower(constraint.matcher()), output)
        for one, other, direction in batch_update.moved:
            moved, replaced = self._rows.pop(one, None), self._rows.pop(other, None)
            if moved is not None:
                self._rows[other] = moved
            if replaced is not None and direction == MoveDirectionality.SWAP:
                self._rows[one] = replaced

    def _compiler(self) -> Compiler:
        from vllm.tokenizers import cached_tokenizer_from_config

        return compiler_of(cached_tokenizer_from_config(self._config), self._width)

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        rows: List[int] = []
        matchers = []
        for row, (follower, output) in self._rows.items():
            # Placeholders of tokens that are not sampled yet are negative.
            if follower.move_to([token for token in output if token >= 0]):
                rows.append(row)
                matchers.append(follower.matcher)
        if not rows:
            return logits
        words = matchers[0].words
        if self._bitmask is None or len(self._bitmask) < len(rows):
            self._bitmask = torch.empty((len(rows), words), dtype=torch.int32)
        bitmask = self._bitmask[: len(rows)]
        fill_masks(matchers, bitmask)
        masked = logits[rows]
        apply_bitmask(masked, bitmask)
        logits[rows] = masked
        return logits


_checks: Optional[Compiler] = None


def _check_compiler() -> Compiler:
    """A compiler of bytes: errors of schemas and grammars do not depend on the tokens."""
    global _checks
    if _checks is None:
        _checks = Compiler(Tokenizer.of_bytes(), time_limit=5.0)
    return _checks
