"""XGrammar 0.2.8's interface: `import maskwright.compat.xgrammar as xgr`.

Needs torch for `allocate_token_bitmask` and `apply_token_bitmask_inplace`, and transformers and mlx-lm for their logits
processors (`contrib.hf`, `contrib.mlxlm`), alone.

What means something else here:

| XGrammar | here |
|---|---|
| a schema whose keywords it does not know is compiled without them | enforced, or an error, which is a `RuntimeError`, as there, and a `maskwright.Error` |
| `any_whitespace=True`: any number of blanks | the five usual styles of whitespace (`whitespace="tidy"`), which a model cannot fill with blanks for ever |
| a number or a string under a schema in any spelling (`1e5`, `"\\u0041"`) | in one (`100000`, `"A"`), but for the builtin grammar of JSON |
| a special token in text is the text of its name | it is no text |
| `any_order=False`: properties in the order of the schema, later ones may follow unnamed ones | in the order of the schema |
| `Grammar` is a tree of rules with a text of its own (`str(grammar)`) | the source that it was made from |
| `serialize_json` is compiled data | the source and its settings, compiled again when read |
| after the stop token `fill_next_token_bitmask` and `find_jump_forward_string` raise | the mask allows the stop tokens, and nothing is forced |
| `TokenizerInfo.decoded_vocab` is as long as the vocabulary that was given | as long as `vocab_size` |

Not here: `Grammar.concat`; `Grammar.union` of structural tags and of grammars with settings that their formula cannot tell;
`compile_lark(named_grammars=…)` of anything but Lark and JSON Schemas; `from_huggingface` of tokenizers without a
`tokenizer.json` (slow ones of SentencePiece and tiktoken); the classes of `structural_tag` (formats are `dict`s,
or XGrammar's own objects; `StructuralTag` holds one); `get_captures(deduplicate=False)`; `max_recursion_depth` and relatives (nesting has no depth that
crashes); `testing`, `get_serialization_version`; `get_model_structural_tag` and relatives (tools: `maskwright.Compiler.tools`).
"""

from __future__ import annotations

import functools
import importlib
import json
import sys
from typing import Any, Dict, FrozenSet, List, Optional, Sequence, Tuple, Union

from ... import fill_masks
from ... import _compiler
from ..._errors import Error, error
from ..._schemas import json_text, schema_text
from ..._tokenizer import Tokenizer
from . import exception
from .exception import (
    WRONG_USE,
    DeserializeFormatError,
    DeserializeVersionError,
    InvalidJSONError,
    InvalidStructuralTagError,
    XGrammarError,
    as_error,
    raising,
)
from .tokenizer_info import TokenizerInfo, VocabType, parsed, read_json, token_ids

__all__ = [
    "BatchGrammarMatcher",
    "CompiledGrammar",
    "DeserializeFormatError",
    "DeserializeVersionError",
    "Grammar",
    "GrammarCompiler",
    "GrammarMatcher",
    "InvalidJSONError",
    "InvalidStructuralTagError",
    "StructuralTag",
    "StructuralTagItem",
    "TokenizerInfo",
    "VocabType",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "bitmask_dtype",
    "exception",
    "get_bitmask_shape",
    "reset_token_bitmask",
]

def __getattr__(name: str) -> Any:
    if name == "bitmask_dtype":
        import torch

        return torch.int32
    if name in ("contrib", "hf"):
        # They import transformers, which the rest does without.
        hf = importlib.import_module(f"{__name__}.contrib.hf")
        return hf if name == "hf" else sys.modules[f"{__name__}.contrib"]
    raise AttributeError(f"maskwright.compat.xgrammar has no `{name}`")


class StructuralTag:
    """A structural tag: `format` is a `dict` or an object of pydantic's."""

    def __init__(self, format: Any, type: str = "structural_tag") -> None:
        self.type, self.format = type, _plain(format)

    @staticmethod
    def from_json(json_str: Union[str, dict]) -> "StructuralTag":
        with raising(InvalidStructuralTagError):
            text = json_str if isinstance(json_str, str) else json_text(json_str, "the structural tag")
            found = read_json(text, ("format",))
        return StructuralTag(found["format"], found.get("type", "structural_tag"))

    @staticmethod
    def from_legacy_structural_tag(tags: Sequence[Any], triggers: Sequence[str]) -> "StructuralTag":
        """The tag that means what the older items and their triggers do."""
        items = [_legacy_item(tag) for tag in tags]
        content = [
            {"type": "tag", "begin": begin, "content": {"type": "json_schema", "json_schema": schema}, "end": end}
            for begin, schema, end in items
        ]
        return StructuralTag({"type": "triggered_tags", "triggers": list(triggers), "tags": content})

    def model_dump(self) -> dict:
        return {"type": self.type, "format": self.format}

    def model_dump_json(self) -> str:
        return json_text(self.model_dump(), "the structural tag")


class StructuralTagItem:
    """An item of the older structural tags."""

    def __init__(self, begin: str, schema: Any, end: str) -> None:
        self.begin, self.schema, self.end = begin, schema, end

    def model_dump(self) -> dict:
        return {"begin": self.begin, "schema": json.loads(schema_text(self.schema)), "end": self.end}

    def model_dump_json(self) -> str:
        return json_text(self.model_dump(), "the item of a structural tag")


#: The kinds of grammars, which are methods of `maskwright.Compiler`.
_KINDS = ("json_schema", "regex", "gbnf", "lark", "structural_tag", "formula", "choice")


class Grammar:
    """The source of a grammar: a kind of constraint, its text and settings."""

    def __init__(self, kind: str, source: Any, settings: Optional[dict] = None) -> None:
        self._kind, self._source, self._settings = kind, source, settings or {}

    def _constraint(self, compiler: _compiler.Compiler) -> Any:
        kinds = {"json_schema": InvalidJSONError, "structural_tag": InvalidStructuralTagError}
        with raising(kinds.get(self._kind, XGrammarError)):
            return getattr(compiler, self._kind)(self._source, **self._settings)

    def _checked(self) -> "Grammar":
        """The same, after errors of its source were raised: all but those of tokens that it names, which are looked up
        when it is compiled."""
        try:
            self._constraint(_bytes_compiler())
        except XGrammarError as failure:
            if not failure.message.startswith("the vocabulary has no token"):
                raise
        return self

    @staticmethod
    def from_ebnf(ebnf_string: str, *, root_rule_name: str = "root") -> "Grammar":
        return _from_ebnf(ebnf_string, root_rule_name)._checked()

    @staticmethod
    def from_json_schema(schema: Any, **options: Any) -> "Grammar":
        return _from_json_schema(schema, **options)._checked()

    @staticmethod
    def from_regex(regex_string: str, *, print_converted_ebnf: bool = False) -> "Grammar":
        return _from_regex(regex_string)._checked()

    @staticmethod
    def from_lark(lark_string: str, *, named_grammars: Any = None, tokenizer_info: Any = None) -> "Grammar":
        return _from_lark(lark_string, named_grammars)._checked()

    @staticmethod
    def from_structural_tag(*arguments: Any, **named: Any) -> "Grammar":
        return _from_structural_tag(*arguments, **named)._checked()

    @staticmethod
    def builtin_json_grammar() -> "Grammar":
        return Grammar("json_schema", '{"type": ["object", "array"]}', {"spelling": "any"})

    @staticmethod
    def union(*grammars: "Grammar") -> "Grammar":
        with raising(XGrammarError):
            parts = [grammar._formula() for grammar in grammars]
            return Grammar("formula", {"anyOf": parts}, _common_settings(grammars))

    def _formula(self) -> dict:
        names = {"json_schema": "schema", "gbnf": "gbnf", "lark": "lark", "regex": "regex", "choice": "choice"}
        if self._kind == "formula":
            return self._source
        name = names.get(self._kind)
        if name is None:
            raise error(f"a {self._kind} is no part of a union", "write one grammar with both parts")
        source = json.loads(self._source) if name == "schema" else self._source
        inner = {name: source}
        for option in ("start", "regex_dialect"):
            if option in self._settings:
                inner[option] = self._settings[option]
        return inner

    def serialize_json(self) -> str:
        return json.dumps([self._kind, self._source, self._settings])

    @staticmethod
    def deserialize_json(json_string: str) -> "Grammar":
        with raising(InvalidJSONError):
            found = parsed(json_string)
        is_known = isinstance(found, list) and len(found) == 3 and found[0] in _KINDS and isinstance(found[2], dict)
        with raising(DeserializeFormatError):
            if not is_known:
                raise error("the JSON is no grammar", "give what `Grammar.serialize_json` has written here, as it is")
        return Grammar(*found)

    def __str__(self) -> str:
        return self._source if isinstance(self._source, str) else json.dumps(self._source)


@functools.lru_cache(maxsize=None)
def _bytes_compiler() -> _compiler.Compiler:
    """The compiler that checks sources of which no tokenizer is known yet."""
    return _compiler.Compiler(Tokenizer.of_bytes(), cache_bytes=0, precompute=0)


def _from_ebnf(ebnf_string: str, root_rule_name: str) -> Grammar:
    return Grammar("gbnf", ebnf_string, {"start": root_rule_name})


def _from_json_schema(schema: Any, *, print_converted_ebnf: bool = False, **options: Any) -> Grammar:
    with raising(InvalidJSONError):
        return Grammar("json_schema", schema_text(schema), _json_settings(**options))


def _from_regex(regex_string: str) -> Grammar:
    if "." not in regex_string:
        return Grammar("regex", regex_string, {"regex_dialect": "ecma"})
    # The pattern alone says whether it is one, and the places of its errors.
    Grammar("regex", regex_string, {"regex_dialect": "ecma"})._checked()
    # To XGrammar a dot is any character, a line break too.
    return Grammar("regex", f"(?s:{regex_string})", {"regex_dialect": "ecma"})


def _from_lark(lark_string: str, named_grammars: Any) -> Grammar:
    if not named_grammars:
        return Grammar("lark", lark_string)
    grammars, settings = [{"lark_grammar": lark_string}], None
    for name, given in named_grammars.items():
        grammar = Grammar("lark", given) if isinstance(given, str) else given
        if grammar._kind == "json_schema":
            grammars.append({"name": name, "json_schema": json.loads(grammar._source)})
            if settings not in (None, grammar._settings):
                with raising(XGrammarError):
                    raise error(f"the schema `{name}` has other options than one before it", "give all the same options")
            settings = grammar._settings
        elif grammar._kind == "lark":
            grammars.append({"name": name, "lark_grammar": grammar._source})
        else:
            with raising(XGrammarError):
                raise error(f"the named grammar `{name}` is a {grammar._kind}", "give Lark or a JSON Schema")
    return Grammar("lark", json.dumps({"grammars": grammars}), settings)


def _from_structural_tag(*arguments: Any, **named: Any) -> Grammar:
    return Grammar("structural_tag", _structural_tag(*arguments, **named), {"strict": True})


#: Sets of stop tokens for which a grammar keeps a constraint: each has a vocabulary of its own, and programs have one or
#: two.
_MAX_STOP_SETS = 4


class CompiledGrammar:
    """A compiled constraint."""

    def __init__(self, constraint: Any, info: TokenizerInfo, grammar: Grammar, compiler: _compiler.Compiler) -> None:
        self.constraint, self._info, self._grammar, self._compiler = constraint, info, grammar, compiler
        self._by_stop_tokens: Dict[FrozenSet[int], Any] = {}

    def _ending_with(self, stop: Sequence[int]) -> Any:
        """The constraint with these stop tokens, compiled once for each set of them."""
        wanted = frozenset(stop)
        if wanted == frozenset(self.constraint.stop_token_ids):
            return self.constraint
        found = self._by_stop_tokens.get(wanted)
        if found is None:
            found = self._compiler.load(self.constraint.spec, stop_token_ids=stop)
            # A new table instead of a changed one: other threads may look something up meanwhile.
            self._by_stop_tokens = dict([*self._by_stop_tokens.items(), (wanted, found)][-_MAX_STOP_SETS:])
        return found

    @property
    def grammar(self) -> Grammar:
        return self._grammar

    @property
    def tokenizer_info(self) -> TokenizerInfo:
        return self._info

    @property
    def memory_size_bytes(self) -> int:
        return self.constraint.memory_bytes

    def serialize_json(self) -> str:
        return self._grammar.serialize_json()

    @staticmethod
    def deserialize_json(json_str: str, tokenizer_info: TokenizerInfo) -> "CompiledGrammar":
        return GrammarCompiler(tokenizer_info).compile_grammar(Grammar.deserialize_json(json_str))


def _common_settings(grammars: Sequence[Grammar]) -> dict:
    """The settings of JSON that all parts of a union have, which are those of the whole."""
    # A union without settings has no JSON in it.
    parts = [part for part in grammars if part._kind == "json_schema" or (part._kind == "formula" and part._settings)]
    all_settings = [
        {name: value for name, value in part._settings.items() if name not in ("start", "regex_dialect")} for part in parts
    ]
    if any(settings != all_settings[0] for settings in all_settings):
        raise error("the parts of a union have different settings", "make them with the same options, or one grammar")
    return all_settings[0] if all_settings else {}


class GrammarCompiler:
    """A compiler. Threads are the caller's: any number of them may compile."""

    def __init__(
        self,
        tokenizer_info: TokenizerInfo,
        *,
        max_threads: int = 8,
        cache_enabled: bool = True,
        cache_limit_bytes: int = -1,
    ) -> None:
        if not isinstance(tokenizer_info, TokenizerInfo):
            raise ValueError("Please convert the tokenizer to TokenizerInfo before passing it to GrammarCompiler.")
        self._info, self._limit = tokenizer_info, cache_limit_bytes
        cache_bytes = 0 if not cache_enabled else 1 << 40 if cache_limit_bytes < 0 else cache_limit_bytes
        self._compiler = _compiler.Compiler(tokenizer_info.tokenizer, cache_bytes=cache_bytes)

    def compile_grammar(self, grammar: Union[Grammar, str], *, root_rule_name: str = "root") -> CompiledGrammar:
        if isinstance(grammar, str):
            grammar = _from_ebnf(grammar, root_rule_name)
        return CompiledGrammar(grammar._constraint(self._compiler), self._info, grammar, self._compiler)

    def compile_json_schema(self, schema: Any, **options: Any) -> CompiledGrammar:
        return self.compile_grammar(_from_json_schema(schema, **options))

    def compile_builtin_json_grammar(self) -> CompiledGrammar:
        return self.compile_grammar(Grammar.builtin_json_grammar())

    def compile_regex(self, regex: str) -> CompiledGrammar:
        return self.compile_grammar(_from_regex(regex))

    def compile_lark(self, lark_string: str, *, named_grammars: Any = None) -> CompiledGrammar:
        return self.compile_grammar(_from_lark(lark_string, named_grammars))

    def compile_structural_tag(self, *arguments: Any, **named: Any) -> CompiledGrammar:
        return self.compile_grammar(_from_structural_tag(*arguments, **named))

    def clear_cache(self) -> None:
        self._compiler.clear_cache()

    def get_cache_size_bytes(self) -> int:
        return self._compiler.cache_info[1]

    @property
    def cache_limit_bytes(self) -> int:
        return self._limit


class GrammarMatcher:
    """One text."""

    def __init__(
        self,
        compiled_grammar: CompiledGrammar,
        *,
        override_stop_tokens: Union[int, Sequence[int], None] = None,
        terminate_without_stop_token: bool = False,
        max_rollback_tokens: int = -1,
        default_temperature: Optional[float] = None,
    ) -> None:
        if not isinstance(compiled_grammar, CompiledGrammar):
            raise ValueError("The grammar should be compiled before passing it to GrammarMatcher.")
        constraint = compiled_grammar.constraint
        stop = token_ids(override_stop_tokens)
        if stop is not None:
            if not stop:
                raise XGrammarError("The override_stop_tokens should not be empty")
            with raising(XGrammarError):
                constraint = compiled_grammar._ending_with(stop)
        self._matcher = constraint.matcher()
        self._without_stop = terminate_without_stop_token
        self._default_temperature = default_temperature

    def accept_token(self, token_id: int, *, debug_print: bool = False) -> bool:
        if token_id < 0 or self._ends_at(token_id):
            return False
        try:
            return self._matcher.accept(token_id)
        except WRONG_USE as failure:
            raise as_error(XGrammarError, failure) from None

    def _ends_at(self, token_id: int) -> bool:
        """Whether no token, or not this one, may come: stop tokens may not where a text ends without them."""
        stops = self._without_stop and token_id in self._matcher.stop_token_ids
        return stops or self._matcher.is_terminated

    def accept_string(self, input_str: Union[str, bytes], *, debug_print: bool = False) -> bool:
        text = input_str.encode() if isinstance(input_str, str) else input_str
        try:
            return not self._matcher.is_terminated and self._matcher.accept_bytes(text)
        except WRONG_USE as failure:
            raise as_error(XGrammarError, failure) from None

    def fill_next_token_bitmask(self, bitmask: Any, index: int = 0, *, debug_print: bool = False) -> bool:
        try:
            return self._matcher.fill(bitmask, index)
        except WRONG_USE as failure:
            raise as_error(XGrammarError, failure) from None

    def traverse_draft_tree(
        self,
        retrieve_next_token: Any,
        retrieve_next_sibling: Any,
        draft_tokens: Any,
        token_bitmask: Any,
        time_threshold: float = -1.0,
        temperatures: Any = None,
    ) -> bool:
        """The masks of a tree whose node 0 is the text so far. The row of a node that is not allowed is empty,
        those below it stay as they are. There is no limit on time but the compiler's."""
        child, sibling = retrieve_next_token.tolist(), retrieve_next_sibling.tolist()
        draft = draft_tokens.tolist()
        if not len(child) == len(sibling) == len(draft) <= len(token_bitmask):
            raise ValueError("the arrays of the tree and the rows of the bitmask differ in length")
        order, parents, open_nodes = [], [], [(child[0], -1)]
        while open_nodes:
            node, parent = open_nodes.pop()
            if node < 0:
                continue
            if node >= len(draft) or len(order) == len(draft):
                raise ValueError(f"node {node} of the draft is reached twice or is not there: it is no tree")
            open_nodes.append((sibling[node], parent))
            open_nodes.append((child[node], len(order)))
            order.append(node)
            parents.append(parent)
        rows = token_bitmask.new_zeros((len(order) + 1, token_bitmask.shape[1]))
        with raising(XGrammarError):
            self._matcher.fill_tree([draft[node] for node in order], parents, rows)
        # After tokens that are allowed a mask is never empty.
        is_allowed = rows.any(dim=1).tolist()
        visited = [row for row in range(len(rows)) if row == 0 or is_allowed[parents[row - 1] + 1]]
        token_bitmask[[order[row - 1] if row else 0 for row in visited]] = rows[visited]
        if temperatures is not None:
            self._fill_temperatures([draft[node] for node in order], parents, [0, *(node for node in order)], temperatures)
        return True

    def _fill_temperatures(
        self, tokens: Sequence[int], parents: Sequence[int], nodes: Sequence[int], temperatures: Any
    ) -> None:
        """The temperature after each node of a tree in depth-first order; -1 where there is none, and after a
        token that is refused."""
        matcher, path = self.fork(), [-1]
        temperatures[nodes[0]] = -1.0 if matcher.temperature is None else matcher.temperature
        for index, (token, parent, node) in enumerate(zip(tokens, parents, nodes[1:])):
            depth = path.index(parent) if parent in path else None
            if depth is None:
                # Its parent was refused.
                temperatures[node] = -1.0
                continue
            matcher.rollback(len(path) - 1 - depth)
            del path[depth + 1 :]
            found = None
            if matcher.accept_token(token):
                path.append(index)
                found = matcher.temperature
            temperatures[node] = -1.0 if found is None else found

    def find_jump_forward_string(self) -> str:
        with raising(XGrammarError):
            forced = self._matcher.forced_bytes()
        try:
            return forced.decode()
        except UnicodeDecodeError as failure:
            # A character that the text has begun, or that only tokens may end.
            return forced[: failure.start].decode()

    def rollback(self, num_tokens: int = 1) -> None:
        with raising(XGrammarError):
            self._matcher.rollback(num_tokens)

    def get_captures(self, *, deduplicate: bool = True) -> List[Tuple[str, bytes]]:
        if not deduplicate:
            with raising(XGrammarError):
                raise error("candidates of captures are not kept (`deduplicate=False`)", "leave out `deduplicate`")
        return [(name, text) for name, text, _, _ in self._matcher.captures()]

    def is_terminated(self) -> bool:
        return self._matcher.is_terminated or (self._without_stop and self._matcher.is_accepting)

    def is_completed(self) -> bool:
        return self._matcher.is_accepting

    def reset(self) -> None:
        self._matcher.reset()

    def fork(self) -> "GrammarMatcher":
        made = object.__new__(GrammarMatcher)
        made.__dict__.update(self.__dict__)
        made._matcher = self._matcher.fork()
        return made

    @property
    def max_rollback_tokens(self) -> int:
        return -1

    @property
    def temperature(self) -> Optional[float]:
        found = self._matcher.temperature
        return self._default_temperature if found is None else found

    @property
    def stop_token_ids(self) -> List[int]:
        return self._matcher.stop_token_ids


class BatchGrammarMatcher:
    """Texts of a batch, by all cores."""

    def __init__(self, max_threads: Union[int, str] = "auto") -> None:
        pass

    def batch_fill_next_token_bitmask(
        self,
        matchers: Sequence[GrammarMatcher],
        bitmask: Any,
        indices: Optional[Sequence[int]] = None,
        debug_print: bool = False,
    ) -> None:
        rows = list(range(len(matchers))) if indices is None else list(indices)
        _same_length(matchers, rows)
        if len({id(matcher) for matcher in matchers}) == len(matchers):
            try:
                return fill_masks([matcher._matcher for matcher in matchers], bitmask, rows)
            except WRONG_USE as failure:
                raise as_error(XGrammarError, failure) from None
        for row, matcher in zip(rows, matchers):
            matcher.fill_next_token_bitmask(bitmask, row)

    @staticmethod
    def batch_fill_temperature(
        matchers: Sequence[GrammarMatcher], temperatures: Any, indices: Optional[Sequence[int]] = None
    ) -> None:
        for index, matcher in zip(range(len(matchers)) if indices is None else indices, matchers):
            found = matcher.temperature
            temperatures[index] = -1.0 if found is None else found

    @staticmethod
    def batch_accept_token(
        matchers: Sequence[GrammarMatcher], tokens: Sequence[int], debug_print: bool = False
    ) -> List[bool]:
        _same_length(matchers, tokens)
        return [matcher.accept_token(token) for matcher, token in zip(matchers, tokens)]

    @staticmethod
    def batch_accept_string(
        matchers: Sequence[GrammarMatcher], strings: Sequence[Union[str, bytes]], debug_print: bool = False
    ) -> List[bool]:
        _same_length(matchers, strings)
        return [matcher.accept_string(text) for matcher, text in zip(matchers, strings)]

    @staticmethod
    def batch_rollback(matchers: Sequence[GrammarMatcher], num_tokens: Union[Sequence[int], int] = 1) -> None:
        counts = [num_tokens] * len(matchers) if isinstance(num_tokens, int) else num_tokens
        _same_length(matchers, counts)
        for matcher, count in zip(matchers, counts):
            matcher.rollback(count)


def get_bitmask_shape(batch_size: int, vocab_size: int) -> Tuple[int, int]:
    """Rows, and words of a row."""
    return batch_size, (vocab_size + 31) // 32


def allocate_token_bitmask(batch_size: int, vocab_size: int) -> Any:
    """A bitmask of torch that allows everything."""
    import torch

    return torch.full(get_bitmask_shape(batch_size, vocab_size), -1, dtype=torch.int32)


def reset_token_bitmask(bitmask: Any) -> None:
    """Allows everything."""
    bitmask.fill_(-1)


def apply_token_bitmask_inplace(
    logits: Any,
    bitmask: Any,
    *,
    vocab_size: Optional[int] = None,
    indices: Optional[Sequence[int]] = None,
    backend: str = "auto",
) -> None:
    """Sets the logits of tokens that are not allowed to minus infinity. Every `backend` is torch's own operations.
    Logits beyond the bitmask stay as they are."""
    from ..._torch import allowed_bits

    if backend not in _BACKENDS:
        raise ValueError(f"{backend!r} is no backend; write one of {', '.join(_BACKENDS)}")
    if bitmask.device != logits.device:
        raise ValueError("logits and bitmask should be on the same device")
    flat = logits[None] if logits.dim() == 1 else logits
    mask = bitmask[None] if bitmask.dim() == 1 else bitmask
    if flat.dim() != 2 or mask.dim() != 2:
        raise ValueError(f"logits of {tuple(logits.shape)} with a bitmask of {tuple(bitmask.shape)}: one or two dimensions")
    if indices is None and len(flat) != len(mask):
        raise RuntimeError(f"{len(flat)} rows of logits with {len(mask)} of the bitmask")
    rows = list(range(len(flat))) if indices is None else [int(index) for index in indices]
    if any(not 0 <= index < min(len(flat), len(mask)) for index in rows):
        raise RuntimeError(f"indices {rows} of {len(flat)} rows of logits and {len(mask)} of the bitmask")
    width = min(flat.shape[-1], mask.shape[-1] * 32) if vocab_size is None else vocab_size
    if width > min(flat.shape[-1], mask.shape[-1] * 32):
        raise ValueError(f"a vocabulary of {width} with logits of {flat.shape[-1]} and a bitmask of {mask.shape[-1]} words")
    part = flat[rows, :width]
    flat[rows, :width] = part.masked_fill(~allowed_bits(mask[rows], width), float("-inf"))


#: XGrammar's ways to apply a bitmask.
_BACKENDS = ("auto", "cpu", "cuda", "triton", "torch_compile", "torch_native", "metal")


def _json_settings(
    *,
    any_whitespace: bool = True,
    indent: Optional[int] = None,
    separators: Optional[Tuple[str, str]] = None,
    strict_mode: bool = True,
    max_whitespace_cnt: Optional[int] = None,
    any_order: bool = False,
) -> dict:
    settings: dict = {"strict": strict_mode, "property_order": "any" if any_order else "schema"}
    if any_whitespace:
        if max_whitespace_cnt is not None:
            settings["max_whitespace"] = max_whitespace_cnt
        return settings
    if separators is None:
        separators = (", ", ": ") if indent is None else (",", ": ")
    return {**settings, "separators": tuple(separators), "indent": indent}


def _structural_tag(*arguments: Any, **named: Any) -> str:
    tags = named.get("tags", arguments[0] if len(arguments) == 2 else None)
    if tags is not None:
        triggers = named.get("triggers", arguments[1] if len(arguments) == 2 else None)
        items = [dict(zip(("begin", "schema", "end"), _legacy_item(tag))) for tag in tags]
        return json.dumps({"structures": items, "triggers": list(triggers)})
    tag = named.get("structural_tag", arguments[0] if arguments else None)
    dump = getattr(tag, "model_dump_json", None)
    return dump() if callable(dump) else tag if isinstance(tag, str) else json_text(tag, "the structural tag")


def _legacy_item(tag: Any) -> Tuple[str, Any, str]:
    """Begin, schema and end of an older item: ours, XGrammar's or a `dict`."""
    if isinstance(tag, dict):
        return tag["begin"], json.loads(schema_text(tag["schema"])), tag["end"]
    schema = tag.schema if isinstance(tag, StructuralTagItem) else tag.schema_
    return tag.begin, json.loads(schema_text(schema)), tag.end


def _plain(tag: Any) -> Any:
    """An item of pydantic's as JSON."""
    dump = getattr(tag, "model_dump", None)
    return dump() if callable(dump) else tag


def _same_length(one: Sequence[Any], other: Sequence[Any]) -> None:
    if len(one) != len(other):
        raise RuntimeError(f"{len(one)} matchers with {len(other)} values")
