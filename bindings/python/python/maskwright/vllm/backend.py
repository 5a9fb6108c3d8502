"""The backend: grammars by request."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar, Iterable, List, Optional, Set, Tuple, Type

import torch
from vllm.exceptions import VLLMValidationError
from vllm.logger import init_logger
from vllm.sampling_params import check_json_nesting
from vllm.v1.structured_output.backend_types import (
    StructuredOutputBackend,
    StructuredOutputGrammar,
    StructuredOutputOptions,
)
from vllm.v1.structured_output.request import get_structured_output_key

from .._compiler import Compiler, notation_of
from .._errors import Error
from .._native import Constraint
from . import NAME, OPTION
from .compilers import compiler_of

_logger = init_logger("vllm.maskwright")


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
        return compiler.grammar(spec, notation_of(spec), **stop)
    if kind == options.STRUCTURAL_TAG:
        return compiler.structural_tag(spec, **stop)
    raise Error(f"maskwright knows no structured output {kind}")


def _is_ours(processor: Any) -> bool:
    """Whether a logits processor, by its class or its name, is maskwright's."""
    name = processor if isinstance(processor, str) else processor.__qualname__
    return name.replace(":", ".").rpartition(".")[2] == "MaskwrightLogitsProcessor"


def check_options(params: Any, model_config: Any, speculative_config: Any, tokenizer: Any) -> None:
    """Compiles the option of the logits processor, so that its errors are of the request, and refuses it where vLLM
    drops logits processors without a word."""
    option = (params.extra_args or {}).get(OPTION)
    if option is None:
        return
    if speculative_config is not None:
        raise VLLMValidationError(
            f"the option `{OPTION}` needs a logits processor, and vLLM has none with speculative decoding; "
            f"use `structured_outputs` with the backend `{NAME}`"
        )
    if tokenizer is None:
        raise VLLMValidationError(f"the option `{OPTION}` needs a tokenizer; leave out skip_tokenizer_init")
    if not any(_is_ours(processor) for processor in model_config.logits_processors or ()):
        raise VLLMValidationError(
            f"the option `{OPTION}` needs an engine with `--logits-processors "
            f"maskwright.vllm.logits_processor:MaskwrightLogitsProcessor`, or `structured_outputs` with the backend `{NAME}`"
        )
    from .logits_processor import compile_option, read_option

    try:
        compiler = compiler_of(tokenizer, model_config.get_vocab_size())
        compile_option(compiler, read_option(option), params.all_stop_token_ids)
    except (Error, ValueError, TypeError) as error:
        raise VLLMValidationError(str(error), parameter="extra_args") from error


def check_request(params: Any, model_config: Any, tokenizer: Any) -> None:
    """Compiles the constraint of a request, so that its errors are of the request."""
    wanted = params.structured_outputs
    if model_config.is_diffusion:
        raise VLLMValidationError("vLLM has no structured outputs for diffusion models")
    if tokenizer is None:
        raise VLLMValidationError("structured outputs need a tokenizer; leave out skip_tokenizer_init")
    if wanted._backend not in (None, NAME):
        raise VLLMValidationError(f"the request asks for the backend `{wanted._backend}`, the engine has `{NAME}`")
    check_fields(wanted)
    wanted._backend = NAME
    try:
        compiler = compiler_of(tokenizer, model_config.get_vocab_size())
        kind, spec = get_structured_output_key(wanted)
        compile_request(compiler, kind, spec, params.all_stop_token_ids)
    except (Error, ValueError, TypeError) as error:
        raise VLLMValidationError(str(error), parameter="structured_outputs") from error


def check_fields(wanted: Any) -> None:
    """Refuses what the engine would not heed, or not read."""
    # One kind of constraint alone: the engine's process reads them so, and would end on two.
    wanted.__post_init__()
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


class ScheduledGrammar(MaskwrightGrammar):
    """The text of one request in the scheduler, where an exception would end the engine and every other request.

    A limit that is reached (`time_per_mask`) ends this request with an error instead: its row allows everything, and
    whatever is sampled then is refused, which the host answers so.
    """

    def __init__(self, constraint: Constraint) -> None:
        super().__init__(constraint)
        self._has_failed = False

    def _fail(self, failure: Error) -> None:
        _logger.error("maskwright ends a request: %s", failure)
        self._has_failed = True

    def accept_tokens(self, request_id: str, tokens: List[int]) -> bool:
        if not self._has_failed:
            try:
                return super().accept_tokens(request_id, tokens)
            except Error as failure:
                self._fail(failure)
        return False

    def validate_tokens(self, tokens: List[int]) -> List[int]:
        if not self._has_failed:
            try:
                return super().validate_tokens(tokens)
            except Error as failure:
                self._fail(failure)
        return []

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        if not self._has_failed:
            try:
                return super().fill_bitmask(bitmask, batch_index)
            except Error as failure:
                self._fail(failure)
        bitmask[batch_index].fill_(-1)

    def is_terminated(self) -> bool:
        # After it, the host steps over drafts without asking for their tokens.
        return self._has_failed or super().is_terminated()

    def reset(self) -> None:
        super().reset()
        self._has_failed = False


@dataclass
class MaskwrightBackend(StructuredOutputBackend):
    """The backend of one engine."""

    #: What its grammars are.
    grammar: ClassVar[Type[MaskwrightGrammar]] = ScheduledGrammar

    def __post_init__(self) -> None:
        # Such an engine has a scheduler in each rank.
        launcher = self.vllm_config.parallel_config.distributed_executor_backend
        self._compiler = compiler_of(self.tokenizer, self.vocab_size, launcher == "external_launcher")

    def compile_grammar(
        self, request_type: StructuredOutputOptions, grammar_spec: str, stop_token_ids: Optional[Set[int]] = None
    ) -> MaskwrightGrammar:
        return self.grammar(compile_request(self._compiler, request_type, grammar_spec, stop_token_ids))

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        # Not pinned: that would make a context on the device, and the host copies the rows before they go there.
        return torch.full((max_num_seqs, self._compiler.tokenizer.words), -1, dtype=torch.int32)

    def destroy(self) -> None:
        self._compiler.clear_cache()


class BeamBackend(MaskwrightBackend):
    """The backend of a beam search, which runs in the program: failures are its exceptions."""

    grammar = MaskwrightGrammar
