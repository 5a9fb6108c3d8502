"""A logits processor of vLLM, for engines whose structured outputs have another backend.

An engine has it where it is named: `--logits-processors maskwright.vllm.logits_processor:MaskwrightLogitsProcessor`, or
`LLM(…, logits_processors=[…])`. It is no entry point, since vLLM's newer model runner (the default with Triton, as on GPUs)
takes another interface and would not start with it, whatever its backend.

A request brings its constraint in `SamplingParams(extra_args={"maskwright": {"json_schema": {…}}})`, over HTTP in
`vllm_xargs` as JSON text: one member (`json_schema`, `regex`, `choice`, `lark`, `gbnf`, `structural_tag`), and settings of
the compiler beside it, but for limits. vLLM has no logits processors under speculative decoding; such requests are
refused. A limit that is reached while a text is written ends that text: its row allows the stop tokens alone.
"""

from __future__ import annotations

import json
import logging
from typing import Any, Dict, List, Optional

import torch
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor, MoveDirectionality

from .. import fill_masks
from .._compiler import Compiler
from .._errors import Error, error
from .._history import Follower
from .._native import Constraint
from .._torch import apply_bitmask
from . import OPTION
from .compilers import compiler_of

_KINDS = ("json_schema", "regex", "choice", "lark", "gbnf", "structural_tag")
#: Settings that are the operator's.
_LIMITS = ("limits", "time_limit")

_logger = logging.getLogger("vllm.maskwright")


def read_option(option: Any) -> Dict[str, Any]:
    """The option of a request as an object with one kind of constraint."""
    try:
        value = json.loads(option) if isinstance(option, str) else option
    except RecursionError:
        raise ValueError(f"`{OPTION}` is nested too deeply") from None
    kinds = [name for name in _KINDS if isinstance(value, dict) and name in value]
    if len(kinds) != 1:
        raise ValueError(f"`{OPTION}` is an object with one of {', '.join(_KINDS)}")
    for name in _LIMITS:
        if name in value:
            raise ValueError(f"`{name}` is not for a request; set MASKWRIGHT_SETTINGS for all requests")
    return value


def compile_option(compiler: Compiler, value: Dict[str, Any], stop_token_ids: Any) -> Constraint:
    options = dict(value)
    kind = next(name for name in _KINDS if name in value)
    source = options.pop(kind)
    stop = {"stop_token_ids": sorted(stop_token_ids)} if stop_token_ids else {}
    return getattr(compiler, kind)(source, **options, **stop)


class _Row:
    """The text of one request. Without a follower it has failed, and may only end."""

    def __init__(self, follower: Optional[Follower], output: List[int], stop_token_ids: Any, width: int) -> None:
        self.follower, self.output = follower, output
        # Of others there are no logits.
        self.stop_token_ids = [token for token in stop_token_ids or () if 0 <= token < width]

    def fail(self, failure: Exception) -> None:
        # An exception would end the engine, and with it every other request.
        _logger.error("maskwright ends a text: %s", failure)
        self.follower = None

    def fill_stop_tokens(self, row: torch.Tensor) -> None:
        """The stop tokens alone; all tokens where the request has none."""
        row.fill_(0 if self.stop_token_ids else -1)
        words = row.numpy().view("uint32")
        for token in self.stop_token_ids:
            words[token // 32] |= 1 << token % 32


class MaskwrightLogitsProcessor(LogitsProcessor):
    """Masks the rows of requests that bring a constraint."""

    @classmethod
    def validate_params(cls, sampling_params: Any) -> None:
        option = (sampling_params.extra_args or {}).get(OPTION)
        if option is not None:
            # Where the backend is registered, the constraint is compiled before, with the tokenizer.
            read_option(option)

    def __init__(self, vllm_config: Any, device: torch.device, is_pin_memory: bool) -> None:
        self._config = vllm_config.model_config
        self._width = self._config.get_vocab_size()
        # Each rank masks and samples for itself.
        self._is_replicated = vllm_config.parallel_config.world_size > 1
        self._words = (self._width + 31) // 32
        self._rows: Dict[int, _Row] = {}
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
                self._rows[row] = self._row(option, output, params.all_stop_token_ids)
        for one, other, direction in batch_update.moved:
            moved, replaced = self._rows.pop(one, None), self._rows.pop(other, None)
            if moved is not None:
                self._rows[other] = moved
            if replaced is not None and direction == MoveDirectionality.SWAP:
                self._rows[one] = replaced

    def _row(self, option: Any, output: List[int], stop_token_ids: Any) -> _Row:
        made = _Row(None, output, stop_token_ids, self._width)
        try:
            constraint = compile_option(self._compiler(), read_option(option), stop_token_ids)
            made.follower = Follower(constraint.matcher())
        except (Error, ValueError, TypeError) as failure:
            made.fail(failure)
        return made

    def _compiler(self) -> Compiler:
        from vllm.tokenizers import cached_tokenizer_from_config

        return compiler_of(cached_tokenizer_from_config(self._config), self._width, self._is_replicated)

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        rows, live = [], []
        for row, text in self._rows.items():
            try:
                # Placeholders of tokens that are not sampled yet are negative.
                output = [token for token in text.output if token >= 0]
                if text.follower is not None and not text.follower.move_to(output):
                    text.fail(error("a token was drawn that the constraint forbids", "see min_tokens, bad_words and logit_bias"))
            except Error as failure:
                text.fail(failure)
            rows.append(row)
            live.append(text)
        if not rows:
            return logits
        if self._bitmask is None or len(self._bitmask) < len(rows):
            self._bitmask = torch.empty((len(rows), self._words), dtype=torch.int32)
        bitmask = self._bitmask[: len(rows)]
        self._fill(live, bitmask)
        masked = logits[rows]
        apply_bitmask(masked, bitmask)
        logits[rows] = masked
        return logits

    @staticmethod
    def _fill(texts: List[_Row], bitmask: torch.Tensor) -> None:
        """The masks of all texts; of those that reach a limit the stop tokens."""
        going = [index for index, text in enumerate(texts) if text.follower is not None]
        try:
            fill_masks([texts[index].follower.matcher for index in going], bitmask, going)
        except Error:
            # One of them; which one is found row by row.
            for index in going:
                try:
                    texts[index].follower.matcher.fill(bitmask, index)
                except Error as failure:
                    texts[index].fail(failure)
        for index, text in enumerate(texts):
            if text.follower is None:
                text.fill_stop_tokens(bitmask[index])
