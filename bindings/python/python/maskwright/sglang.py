"""SGLang: the grammar backend `maskwright`.

```sh
pip install maskwright
python -m sglang.launch_server --model-path MODEL --grammar-backend maskwright
```

SGLang finds `register` by the entry point `sglang.srt.plugins` and has a registry of backends; nothing is patched. JSON
Schema, regular expressions, EBNF (GBNF, Lark), structural tags, speculative decoding and the thinking of reasoning
models work as with other backends, but for models whose answers stand in a frame of their own (Inkling), which are
refused. Equal requests that arrive together are compiled once. Settings of the compiler are the JSON of the environment
variable `MASKWRIGHT_SETTINGS`; limits of time hold where one process runs the model, since ranks that reach them at
different times would part.
"""

from __future__ import annotations

import logging
from typing import Any, Dict, Iterable, List, Optional, Tuple

import torch
from sglang.srt.constrained.base_grammar_backend import BaseGrammarBackend, BaseGrammarObject, InvalidGrammarObject

from . import fill_masks
from ._compiler import Compiler, notation_of
from ._errors import Error
from ._native import Constraint
from ._process_settings import TIME_LIMITS, settings_of_process
from ._tokenizer import Tokenizer
from ._torch import apply_bitmask

_logger = logging.getLogger(__name__)

#: The name of the backend.
NAME = "maskwright"

#: Seconds that a request's constraint may take to compile, unless the settings say otherwise.
_SECONDS_TO_COMPILE = 10.0

#: Grammars that the host keeps. Those it forgets are made again of what the compiler keeps, whose memory is bounded.
_KEPT_GRAMMARS = 64


def register() -> None:
    """Adds the backend to SGLang. May be called any number of times."""
    from sglang.srt.arg_groups.choices import GRAMMAR_BACKEND_CHOICES, add_grammar_backend_choices
    from sglang.srt.constrained.base_grammar_backend import register_grammar_backend

    if NAME not in GRAMMAR_BACKEND_CHOICES:
        add_grammar_backend_choices([NAME])
    register_grammar_backend(NAME, make_backend)


def make_backend(
    server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Optional[Iterable[int]]
) -> BaseGrammarBackend:
    """The backend of an engine. Reasoning models think before their text is constrained: the host wraps its own
    backends for this, and leaves it to those of the registry."""
    from sglang.srt.runtime_context import get_serving

    serving = get_serving()
    for name in ("whitespace_pattern", "disable_any_whitespace", "max_whitespace_cnt"):
        name = f"constrained_json_{name}"
        value = getattr(serving, name, None)
        if value is not None and value is not False:
            raise Error(
                f"maskwright does not read --{name.replace('_', '-')}; set MASKWRIGHT_SETTINGS instead, "
                """such as '{"whitespace": "compact"}'"""
            )
    ranks = server_args.tp_size * server_args.pp_size
    backend = MaskwrightBackend(tokenizer, vocab_size, eos_token_ids, ranks)
    if not serving.reasoning_parser:
        return backend
    if serving.enable_strict_thinking:
        raise Error("maskwright has no strict thinking; leave out --enable-strict-thinking")
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser

    parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
    if parser.detector.get_answer_frame() is not None:
        raise Error(
            f"maskwright does not write the frame around the answers of {serving.reasoning_parser}; "
            "choose --grammar-backend xgrammar for this model"
        )
    made = ReasonerGrammarBackend(backend, parser, tokenizer)
    made.cache = _RecentGrammars()
    return made


class _RecentGrammars(Dict[Tuple[str, str], BaseGrammarObject]):
    """The host's cache of grammars, which would keep all of them; this one keeps the last."""

    def __setitem__(self, key: Tuple[str, str], value: BaseGrammarObject) -> None:
        self.pop(key, None)
        super().__setitem__(key, value)
        while len(self) > _KEPT_GRAMMARS:
            del self[next(iter(self))]


def _allocate(rows: int, words: int) -> torch.Tensor:
    """A bitmask that allows everything, on the CPU, pinned where there is a device to copy it to."""
    return torch.full((rows, words), -1, dtype=torch.int32, pin_memory=torch.cuda.is_available())


def _failing_token(tokenizer: Tokenizer) -> int:
    """The only token that is allowed once a text has reached a limit, before it is ended with an error. It writes no
    text, so that no draft holds it; where the vocabulary has no such token, it is a stop token."""
    stop = tokenizer.stop_token_ids
    found = next((t for t in reversed(range(tokenizer.width)) if tokenizer.token_bytes(t) is None and t not in stop), None)
    return stop[0] if found is None else found


class MaskwrightGrammar(BaseGrammarObject):
    """The text of one request.

    An exception of a mask, or within a tree of drafts, would end the scheduler, and with it every other request. A limit
    that is reached (`time_per_mask`) is an error of this request instead: its row allows one token without text, which is
    refused, and the host answers this by ending the request with an error.
    """

    def __init__(self, constraint: Constraint, failing_token: int) -> None:
        super().__init__()
        self._constraint, self._failing_token = constraint, failing_token
        self._failure: Optional[Error] = None
        #: Whether the failure is of the last token, which the matcher has not taken.
        self._is_behind = False
        self.matcher = constraint.matcher()

    def _fail(self, failure: Error) -> None:
        _logger.error("maskwright ends a request: %s", failure)
        self._failure = failure

    def accept_token(self, token: int) -> None:
        if self._failure is not None:
            raise self._failure
        try:
            is_allowed = self.matcher.accept(token)
        except Error as failure:
            # The host takes it back where it is of a draft; in the text the token after it is refused.
            self._fail(failure)
            self._is_behind = is_allowed = True
        if not is_allowed:
            raise ValueError(f"token {token} is not accepted; {self.matcher.expected()} may come")
        self.current_token = token

    def rollback(self, k: int) -> None:
        if k == 0:
            return
        self.matcher.rollback(k - self._is_behind)
        self._failure, self._is_behind = None, False

    def is_terminated(self) -> bool:
        return self.matcher.is_terminated

    def copy(self) -> "MaskwrightGrammar":
        return MaskwrightGrammar(self._constraint, self._failing_token)

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        return _allocate(batch_size, self._constraint.words)

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        if self._failure is None:
            try:
                self.matcher.fill(vocab_mask, idx)
                return
            except Error as failure:
                self._fail(failure)
        row = vocab_mask.numpy()[idx].view("uint32")
        row[:] = 0
        row[self._failing_token // 32] |= 1 << self._failing_token % 32

    @staticmethod
    def fill_vocab_mask_batched(rows: List[Any], vocab_mask: torch.Tensor) -> None:
        """Rows of maskwright's grammars by all cores, others by themselves."""
        ours, others = [], []
        for row in rows:
            is_ours = isinstance(row.grammar, MaskwrightGrammar) and row.grammar._failure is None
            (ours if is_ours else others).append(row)
        try:
            fill_masks([row.grammar.matcher for row in ours], vocab_mask, [row.row for row in ours])
        except Error:
            # A limit of one text, which is found again, and ends this one alone.
            others = rows
        for row in others:
            row.grammar.fill_vocab_mask(vocab_mask, row.row)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        apply_bitmask(logits, vocab_mask)


class _LateGrammar(InvalidGrammarObject):
    """A grammar that was not compiled in time. The host keeps nothing of it, and compiles again when it is asked again."""

    def copy(self) -> None:
        return None


class MaskwrightBackend(BaseGrammarBackend):
    """The grammars of one engine. The host compiles in threads and keeps grammars that are ready; the compiler sees to
    those that are not yet."""

    def __init__(
        self, tokenizer: Any, vocab_size: int, eos_token_ids: Optional[Iterable[int]], ranks: int = 1
    ) -> None:
        super().__init__()
        self.cache = _RecentGrammars()
        settings = settings_of_process("MASKWRIGHT_SETTINGS", _SECONDS_TO_COMPILE, is_replicated=ranks > 1)
        stop = sorted(eos_token_ids) if eos_token_ids else None
        self.compiler = Compiler(Tokenizer(tokenizer, width=vocab_size, stop_token_ids=stop), **settings)
        self._failing_token = _failing_token(self.compiler.tokenizer)

    # The host's wrapper for reasoning models asks the backend, since thoughts have no grammar.
    move_vocab_mask = staticmethod(MaskwrightGrammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(MaskwrightGrammar.apply_vocab_mask)

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        return _allocate(batch_size, self.compiler.tokenizer.words)

    def _dispatch(self, kind: str, *arguments: Any) -> Any:
        try:
            return MaskwrightGrammar(getattr(self.compiler, kind)(*arguments), self._failing_token)
        except Error as error:
            is_late = error.limit in TIME_LIMITS
            return (_LateGrammar if is_late else InvalidGrammarObject)(str(error))
        except (TypeError, ValueError) as failure:
            # A client's text may be anything.
            return InvalidGrammarObject(str(failure))

    def dispatch_json(self, key_string: str) -> Any:
        # The host's name for any JSON.
        schema = "{}" if key_string == "$$ANY$$" else key_string
        return self._dispatch("json_schema", schema)

    def dispatch_regex(self, key_string: str) -> Any:
        return self._dispatch("regex", key_string)

    def dispatch_ebnf(self, key_string: str) -> Any:
        return self._dispatch("grammar", key_string, notation_of(key_string))

    def dispatch_structural_tag(self, key_string: str) -> Any:
        return self._dispatch("structural_tag", key_string)

    def reset(self) -> None:
        super().reset()
        self.compiler.clear_cache()
