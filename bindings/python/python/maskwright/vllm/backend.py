"""The backend: compilers by tokenizer, grammars by request."""

from __future__ import annotations

import json
import os
import threading
from dataclasses import dataclass
from typing import Any, Iterable, List, Optional, Set, Tuple

import torch
from vllm.exceptions import VLLMValidationError
from vllm.sampling_params import check_json_nesting
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import get_structured_output_key

from .._compiler import Compiler
from .._errors import Error
from .._native import Constraint
from .._tokenizer import Tokenizer
from . import NAME, OPTION

#: Bytes of compiled constraints in one process, unless `MASKWRIGHT_CACHE_BYTES` says otherwise.
_CACHE_BYTES = 512 << 20

#: Seconds that a request's constraint may take to compile, unless the settings say otherwise.
_SECONDS_TO_COMPILE = 5.0

_compilers: List[Tuple[Any, int, Compiler]] = []
_lock = threading.Lock()


def compiler_of(tokenizer: Any, width: int) -> Compiler:
    """The compiler of a tokenizer in this process."""
    with _lock:
        for known, known_width, compiler in _compilers:
            if known is tokenizer and known_width == width:
                return compiler
        # Patterns mean what they mean in JSON Schema, as in the library's own server.
        settings = {"time_limit": _SECONDS_TO_COMPILE, "regex_dialect": "ecma"}
        settings.update(json.loads(os.environ.get("MASKWRIGHT_SETTINGS", "{}")))
        cache_bytes = int(os.environ.get("MASKWRIGHT_CACHE_BYTES", _CACHE_BYTES))
        compiler = Compiler(Tokenizer(tokenizer, width=width), cache_bytes=cache_bytes, **settings)
        _compilers.append((tokenizer, width, compiler))
        del _compilers[:-4]  # an engine has one or two
        return compiler


def compile_request(
    compiler: Compiler, kind: StructuredOutputOptions, spec: str, stop_token_ids: Optional[Iterable[int]]
) -> Constraint:
    """The constraint of a request. A request without stop tokens (`ignore_eos`) ends with the tokenizer's own."""
    options = StructuredOutputOptions
    stop = {"stop_token_ids": sorted(stop_token_ids)} if stop_token_ids else {}
    if kind == options.JSON:
        return compiler.json_schema(spec, **stop)
    if kind == options.JSON_OBJECT:
        return compiler.json_object(**stop)
    if kind == options.REGEX:
        return compiler.regex(spec, **stop)
    if kind == options.CHOICE:
        return compiler.choice(json.loads(spec), **stop)
    if kind == options.GRAMMAR:
        return compiler.grammar(spec, "gbnf" if "::=" in spec else "lark", **stop)
    if kind == options.STRUCTURAL_TAG:
        return compiler.structural_tag(spec, **stop)
    raise Error(f"maskwright knows no structured output {kind}")


def check_options(params: Any, speculative_config: Any) -> None:
    """Refuses the option of the logits processor where vLLM drops logits processors without a word."""
    if speculative_config is not None and OPTION in (params.extra_args or {}):
        raise VLLMValidationError(
            f"the option `{OPTION}` needs a logits processor, and vLLM has none with speculative decoding; "
            f"use `structured_outputs` with the backend `{NAME}`"
        )


def check_request(params: Any, model_config: Any, tokenizer: Any) -> None:
    """Compiles the constraint of a request, so that its errors are of the request."""
    wanted = params.structured_outputs
    if tokenizer is None:
        raise VLLMValidationError("structured outputs need a tokenizer; leave out skip_tokenizer_init")
    if wanted._backend not in (None, NAME):
        raise VLLMValidationError(f"the request asks for the backend `{wanted._backend}`, the engine has `{NAME}`")
    if wanted.json_object is False:
        raise VLLMValidationError("json_object is true or left out")
    for name in ("whitespace_pattern", "disable_any_whitespace", "disable_additional_properties"):
        if getattr(wanted, name, None):
            raise VLLMValidationError(
                f"`{name}` is not for the backend `{NAME}`; write `x-guidance` into the schema, or set "
                "MASKWRIGHT_SETTINGS for all requests",
                parameter=name,
            )
    check_json_nesting(wanted.json)
    check_json_nesting(wanted.structural_tag, structural_tag=True)
    wanted._backend = NAME
    compiler = compiler_of(tokenizer, model_config.get_vocab_size())
    try:
        kind, spec = get_structured_output_key(wanted)
        compile_request(compiler, kind, spec, params.all_stop_token_ids)
    except (Error, ValueError, TypeError) as error:
        raise VLLMValidationError(str(error), parameter="structured_outputs") from error


@dataclass
class MaskwrightBackend(StructuredOutputBackend):
    """The backend of one engine."""

    def __post_init__(self) -> None:
        self._compiler = compiler_of(self.tokenizer, self.vocab_size)

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: Optional[Set[int]] = None
    ) -> "MaskwrightGrammar":
        return MaskwrightGrammar(compile_request(self._compiler, request_type, grammar_spec, stop_token_ids))

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        pinned = torch.cuda.is_available()
        return torch.full((max_num_seqs, self._compiler.tokenizer.words), -1, dtype=torch.int32, pin_memory=pinned)

    def destroy(self) -> None:
        self._compiler.clear_cache()


class MaskwrightGrammar(StructuredOutputGrammar):
    """The text of one request."""

    def __init__(self, constraint: Constraint) -> None:
        self._matcher = constraint.matcher()

    def accept_tokens(self, request_id: str, tokens: List[int]) -> bool:
        if self._matcher.is_terminated:
            return True
        return self._matcher.accept_tokens(tokens)

    def validate_tokens(self, tokens: List[int]) -> List[int]:
        return tokens[: self._matcher.validate(tokens)]

    def rollback(self, num_tokens: int) -> None:
        self._matcher.rollback(num_tokens)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        self._matcher.fill(bitmask, batch_index)

    def is_terminated(self) -> bool:
        return self._matcher.is_terminated

    def reset(self) -> None:
        self._matcher.reset()
