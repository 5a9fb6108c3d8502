"""llguidance 1.9's interface: `import maskwright.compat.llguidance as llg`.

Helpers for arrays are in `numpy`, `torch`, `hf` and `tiktoken`, as there.

What means something else here:

| llguidance | here |
|---|---|
| a lexer that takes the longest match; `lexeme` boundaries matter | exact: every text of the grammar can be written |
| `whitespace_flexible` (on unless a schema says otherwise): any number of blanks | the five usual styles of whitespace; `x-guidance` and `overrides` mean what they mean there |
| keywords that it does not know are refused (`lenient` drops them) | enforced, or refused |
| `stop_reason` has nine values | `NotStopped`, `NoExtension`, `EndOfSentence`, `InternalError` |
| an end token after a text that nothing can follow is no step: `rollback(1)` takes back the token before it | a step as any other |
| `LLParserLimits` | accepted where all are left out; limits are settings of `maskwright.Compiler` |

A matcher never raises for a bad grammar, a refused token or a limit: it goes into an error state, as there, in which masks
allow the tokens that end a text. `consume_token` of a token that is not allowed is such an error; `try_consume_tokens` and
`validate_tokens` are not. Errors of a batch (a row that is not there, a matcher given twice, a wrong address) are exceptions
of the types that llguidance raises, before anything is written.

Not here: `LLInterpreter` and the deprecated compilers, slices (accepted, without an effect: masks are fast without),
`tokenize_partial`, `get_grammar_warnings` (always empty), `regex_to_lark`, `gbnf_to_lark` (GBNF is read as it is, but not as
a part of a list of grammars), `cli`, `mlx`, `llamacpp`, `LLTokenizer.from_tiktoken` and `from_llamacpp` (`LLTokenizer` takes
what they take), `LLMatcher.unsafe_compute_mask_ptr_with_draft_token`.

Of the 24 tests of llguidance 1.9.1 for matchers and bitmasks (`test_matcher.py`, `test_bitmask.py` without mlx and
CUDA) 18 pass. The others:

| test | wants |
|---|---|
| `test_json` | any number of blanks where the schema says nothing (`{ "foo" : 1 }`) |
| `test_regex_syntax` | the words "invalid regex" in the message |
| `test_slices` | slices that are not empty |
| `test_struct_tag_0` | `tokenize_partial`; the grammars of its tags mean the same |
| `test_parser_limits` | fuel of a lexer as a limit |
| `test_grammar_warnings` | warnings: a keyword that is not enforced is an error here |
"""

from __future__ import annotations

import ctypes
import functools
import json
import re
import threading
from typing import Any, Dict, List, Optional, Sequence, Tuple, Union

from ... import fill_masks
from ..._compiler import Compiler, notation_of
from ..._errors import Error, error
from ..._schemas import json_text
from ..._tokenizer import Tokenizer

__all__ = ["LLExecutor", "LLMatcher", "LLParserLimits", "LLTokenizer", "StructTag", "TokenizerWrapper", "grammar_from"]


#: Special tokens of the tokenizer of bytes, from 256.
_BYTE_SPECIALS = ("tool", "/tool", "user", "system", "assistant", "end")


class TokenizerWrapper:
    """A tokenizer by `tokens` (bytes), `special_token_ids`, `eos_token_id`, and a call from text to ids."""

    def __init__(self, gtokenizer: Any) -> None:
        self.eos_token_id, self.tokens = gtokenizer.eos_token_id, gtokenizer.tokens
        self.bos_token_id = getattr(gtokenizer, "bos_token_id", None)
        self.special_token_ids = getattr(gtokenizer, "special_token_ids", [])
        self._encode = gtokenizer

    def __call__(self, text: str) -> List[int]:
        try:
            return list(self._encode(text.encode()))
        except TypeError:
            return list(self._encode(text))


class LLTokenizer:
    """A tokenizer and its compiler."""

    def __init__(
        self,
        tokenizer: Any,
        n_vocab: Optional[int] = None,
        eos_token: Union[int, Sequence[int], None] = None,
        slices: Optional[List[str]] = None,
    ) -> None:
        stop = None if eos_token is None else [eos_token] if isinstance(eos_token, int) else list(eos_token)
        self._encode = None
        self._is_bytes = tokenizer == "byte"
        self._parses_special = hasattr(tokenizer, "backend_tokenizer") or hasattr(tokenizer, "to_str")
        if isinstance(tokenizer, TokenizerWrapper) or getattr(tokenizer, "is_tokenizer_wrapper", False):
            special = {
                tokenizer.tokens[token].decode(errors="replace") or f"<{token}>": token
                for token in tokenizer.special_token_ids
            }
            tokens = [None if token in special.values() else text for token, text in enumerate(tokenizer.tokens)]
            stop = [tokenizer.eos_token_id] if stop is None else stop
            self._encode = tokenizer
            self.tokenizer = Tokenizer(tokens, width=n_vocab, stop_token_ids=stop, special_tokens=special)
        elif self._is_bytes:
            # The name that llguidance has for the bytes, of which 255 is a marker, and six special tokens.
            tokens = [bytes([byte]) for byte in range(255)] + [None] * 7
            special = {"<[255]>": 255, **{f"<|{name}|>": token for token, name in enumerate(_BYTE_SPECIALS, 256)}}
            stop = [261] if stop is None else stop
            self.tokenizer = Tokenizer(tokens, width=n_vocab, stop_token_ids=stop, special_tokens=special)
        else:
            self.tokenizer = Tokenizer(tokenizer, width=n_vocab, stop_token_ids=stop)
        self._compiler: Optional[Compiler] = None
        self._lock = threading.Lock()

    @property
    def compiler(self) -> Compiler:
        """The compiler, made when it is needed."""
        with self._lock:
            if self._compiler is None:
                self._compiler = Compiler(self.tokenizer)
            return self._compiler

    @property
    def vocab_size(self) -> int:
        return self.tokenizer.width

    @property
    def eos_tokens(self) -> List[int]:
        return self.tokenizer.stop_token_ids

    @property
    def eos_token(self) -> int:
        return self.eos_tokens[0]

    @property
    def is_canonical(self) -> bool:
        return self._encode is not None or self.tokenizer._encode is not None

    def with_slices(self, slices: List[str]) -> "LLTokenizer":
        return self

    @staticmethod
    def general_slices() -> List[str]:
        return []

    @staticmethod
    def json_slices() -> List[str]:
        return []

    def greedy_tokenize(self, text: str) -> List[int]:
        return self.tokenizer._native.encode_greedily(text.encode())

    def tokenize_str(self, text: str, *, parse_special: bool = False) -> List[int]:
        """The tokens of a text. Names of special tokens in it are these tokens with `parse_special`, and always for a
        tokenizer of Hugging Face's."""
        encode = self.tokenizer.encode if self._encode is None else self._encode
        if not (parse_special or self._parses_special):
            return encode(text)
        specials = self._specials
        names = sorted(specials, key=len, reverse=True)
        parts = re.split(f"({'|'.join(map(re.escape, names))})", text) if names else [text]
        return [token for part in parts if part for token in ([specials[part]] if part in specials else encode(part))]

    @functools.cached_property
    def _specials(self) -> Dict[str, int]:
        """Special tokens by their names."""
        tokenizer = self.tokenizer
        names = {tokenizer.token_name(token): token for token in range(tokenizer.width) if tokenizer.is_special(token)}
        return {name: token for name, token in names.items() if tokenizer.special(name) == token}

    def tokenize_bytes(self, utf8bytes: bytes, *, parse_special: bool = False) -> List[int]:
        try:
            return self.tokenize_str(utf8bytes.decode(), parse_special=parse_special)
        except UnicodeDecodeError:
            # The tokenizer of bytes has no token for 255 to masks, but its number.
            return list(utf8bytes) if self._is_bytes else self.tokenizer._native.encode_greedily(utf8bytes)

    def decode_bytes(self, tokens: List[int]) -> bytes:
        """The bytes of tokens; those of special tokens are their names."""
        return b"".join(map(self._token_text, tokens))

    def _token_text(self, token: int) -> bytes:
        text = self.tokenizer.token_bytes(token)
        if text is None:
            name = self.tokenizer.token_name(token)
            text = name.encode() if self.tokenizer.special(name) == token else b""
        return text

    def decode_str(self, tokens: List[int]) -> str:
        return self.decode_bytes(tokens).decode(errors="replace")

    def dbg_tokens(self, tokens: List[int]) -> str:
        return json.dumps("\u2027".join(self.decode_str([token]) for token in tokens), ensure_ascii=False)

    def is_special_token(self, token: int) -> bool:
        return self.tokenizer.is_special(token)


class LLParserLimits:
    """Limits of a parser, which are limits of the compiler here."""

    def __init__(self, **limits: Any) -> None:
        given = [name for name, value in limits.items() if value is not None and name != "verbose_errors"]
        if given:
            raise error(f"`{given[0]}` is no limit here", "set the limits of a `maskwright.Compiler`")


def _compile(compiler: Compiler, grammar: Any) -> Any:
    """The constraint of a grammar as `grammar_from` writes it: Lark, GBNF, or a list of grammars."""
    grammar = grammar if isinstance(grammar, str) else json_text(grammar, "the grammar")
    if grammar.lstrip().startswith("{"):
        try:
            value = json.loads(grammar)
        except (ValueError, RecursionError) as reason:
            raise error(f"the list of grammars is no JSON: {reason}", "take one from `grammar_from`") from None
        grammars = value.get("grammars")
        is_list = isinstance(grammars, list) and all(isinstance(member, dict) for member in grammars)
        if not is_list:
            raise error("`grammars` is no list of objects", "take one from `grammar_from`")
        if len(grammars) == 1 and set(grammars[0]) <= {"json_schema", "name"}:
            schema = grammars[0].get("json_schema")
            return compiler.json_schema(schema if isinstance(schema, (dict, bool)) else json.dumps(schema))
    return compiler.grammar(grammar, notation_of(grammar))


class LLMatcher:
    """One text. Errors of grammars and tokens are a state, which `get_error` returns."""

    def __init__(
        self, tokenizer: LLTokenizer, grammar: str, *, log_level: int = 1, limits: Optional[LLParserLimits] = None
    ) -> None:
        self._tokenizer, self._error, self._matcher, self._ended = tokenizer, "", None, None
        try:
            self._matcher = _compile(tokenizer.compiler, grammar).matcher()
        except ValueError as failure:
            self._error = str(failure)

    @staticmethod
    def validate_grammar(grammar: str, tokenizer: Optional[LLTokenizer] = None, *, limits: Any = None) -> str:
        try:
            _compile(tokenizer.compiler if tokenizer is not None else _compiler_without_tokenizer(grammar), grammar)
        except ValueError as failure:
            return str(failure)
        return ""

    @staticmethod
    def validate_grammar_with_warnings(
        grammar: str, tokenizer: Optional[LLTokenizer] = None, *, limits: Any = None
    ) -> Tuple[bool, List[str]]:
        message = LLMatcher.validate_grammar(grammar, tokenizer)
        return bool(message), [message] if message else []

    @staticmethod
    def grammar_from_json_schema(
        schema: Union[str, Dict[str, Any]],
        defaults: Optional[Dict[str, Any]] = None,
        overrides: Optional[Dict[str, Any]] = None,
    ) -> str:
        try:
            value = json.loads(schema) if isinstance(schema, str) else schema
        except (ValueError, RecursionError):
            # Told where the grammar is compiled.
            return f'{{"grammars": [{{"json_schema": {schema}}}]}}'
        if defaults or overrides:
            if not isinstance(value, dict):
                value = {} if value else {"not": {}}
            value = {**value, "x-guidance": {**(defaults or {}), **value.get("x-guidance", {}), **(overrides or {})}}
        return json.dumps({"grammars": [{"json_schema": value}]})

    @staticmethod
    def grammar_from_lark(lark: str) -> str:
        return json.dumps({"grammars": [{"lark_grammar": lark}]})

    @staticmethod
    def grammar_from_regex(regex: str) -> str:
        # A pattern of Lark stands on one line.
        spelled = {"/": "\\/", "\n": "\\n", "\r": "\\r", "\\\n": "\\n", "\\\r": "\\r"}
        return LLMatcher.grammar_from_lark(f"start: /{''.join(spelled.get(part, part) for part in _escapes(regex))}/")

    def is_error(self) -> bool:
        return bool(self._error)

    def get_error(self) -> str:
        return self._error

    def get_grammar_warnings(self) -> List[str]:
        return []

    def deep_copy(self) -> "LLMatcher":
        made = object.__new__(LLMatcher)
        made._tokenizer, made._error, made._ended = self._tokenizer, self._error, None
        made._matcher = None if self._matcher is None else self._matcher.fork()
        return made

    def is_accepting(self) -> bool:
        return not self._error and self._matcher.is_accepting

    def is_stopped(self) -> bool:
        return self.stop_reason() != "NotStopped"

    def stop_reason(self) -> str:
        if self._error:
            return "InternalError"
        if self._matcher.is_terminated:
            return "EndOfSentence"
        try:
            is_at_end = self._matcher.is_accepting and self._matcher.expected() == "the end"
        except Error as failure:
            self._fail(failure)
            return "InternalError"
        return "NoExtension" if is_at_end else "NotStopped"

    def rollback(self, num_tokens: int) -> bool:
        if self._error:
            return False
        try:
            self._matcher.rollback(num_tokens)
        except Error as failure:
            self._error = str(failure)
        return not self._error

    def reset(self) -> bool:
        return not self._error and self.rollback(self._matcher.steps)

    def compute_ff_bytes(self) -> bytes:
        try:
            return b"" if self._error else self._matcher.forced_bytes()
        except Error as failure:
            self._fail(failure)
            return b""

    def compute_ff_tokens(self) -> List[int]:
        try:
            return [] if self._error else self._matcher.forced_tokens(self._tokenizer.tokenize_bytes)
        except Error as failure:
            self._fail(failure)
            return []

    def try_consume_tokens(self, tokens: List[int]) -> int:
        taken = self.validate_tokens(tokens)
        if taken and not self._matcher.accept_tokens(tokens[:taken]):
            raise RuntimeError("tokens that were validated are refused")
        return taken

    def consume_token(self, sampled_token: int) -> bool:
        return self.consume_tokens([sampled_token])

    def consume_tokens(self, sampled_tokens: List[int]) -> bool:
        wrong = self._out_of_range(sampled_tokens)
        if not self._error and wrong is not None:
            self._error = f"token id {wrong} out of range of {self._tokenizer.vocab_size}"
        if self._error:
            return False
        if self._matcher.is_terminated and all(token in self._tokenizer.eos_tokens for token in sampled_tokens):
            return True  # an end that is fed again
        taken = self.try_consume_tokens(sampled_tokens)
        if taken < len(sampled_tokens) and not self._error:
            token = sampled_tokens[taken]
            try:
                self._error = f"token {token} doesn't satisfy the grammar; {self._matcher.expected()} may come"
            except Error as failure:
                self._fail(failure)
        return not self._error

    def validate_tokens(self, tokens: List[int]) -> int:
        if self._error or self._out_of_range(tokens) is not None:
            return 0
        try:
            return self._matcher.validate(tokens)
        except Error as failure:
            self._fail(failure)
            return 0

    def _out_of_range(self, tokens: List[int]) -> Optional[int]:
        return next((token for token in tokens if not 0 <= token < self._tokenizer.vocab_size), None)

    def _fail(self, failure: Error) -> None:
        self._error, self._ended = str(failure), None

    def compute_bitmask(self) -> bytes:
        row = bytearray(4 * self._tokenizer.tokenizer.words)
        self._fill(row, 0)
        return bytes(row)

    def compute_logit_bias(self) -> bytes:
        bits = self.compute_bitmask()
        return bytes(200 if bits[token >> 3] >> (token & 7) & 1 else 0 for token in range(self._tokenizer.vocab_size))

    def unsafe_compute_mask_ptr(self, trg_pointer: int, trg_byte_size: int) -> None:
        self._fill(_memory([(self,)], trg_pointer, trg_byte_size, 1), 0)

    def _fill(self, bitmask: Any, row: int) -> None:
        """Writes the mask into a row: where there is an error, the tokens that end a text."""
        try:
            self._mask().fill(bitmask, row)
        except Error as failure:
            self._fail(failure)
            self._mask().fill(bitmask, row)

    def _mask(self) -> Any:
        """What fills rows: the text, or after an error one that is at its end."""
        if not self._error:
            return self._matcher
        if self._ended is None:
            self._ended = self._tokenizer.compiler.regex("").matcher()
        return self._ended

    def get_captures(self) -> List[Tuple[str, bytes]]:
        if self._error:
            return []
        try:
            return [(name, text) for name, text, _, _ in self._matcher.captures()]
        except Error as failure:
            self._fail(failure)
            return []

    def get_capture(self, name: str) -> Optional[bytes]:
        return dict(self.get_captures()).get(name)


class LLExecutor:
    """Texts of a batch, by all cores."""

    def __init__(self, num_threads: Optional[int] = None) -> None:
        pass

    def unsafe_compute_mask_ptr(
        self,
        interpreters: List[Tuple[LLMatcher, int]],
        trg_pointer: int,
        one_mask_bytes: int,
        trg_batch_size: int,
    ) -> None:
        fill_rows(interpreters, _memory(interpreters, trg_pointer, one_mask_bytes, trg_batch_size), trg_batch_size)

    def unsafe_compute_mask_ptr_with_draft_token(
        self,
        interpreters: List[Tuple[LLMatcher, int, List[int]]],
        trg_pointer: int,
        one_mask_bytes: int,
        trg_batch_size: int,
    ) -> None:
        fill_drafts(interpreters, _memory(interpreters, trg_pointer, one_mask_bytes, trg_batch_size), trg_batch_size)

    def consume_token_par(self, matchers: List[Tuple[LLMatcher, int]]) -> List[bool]:
        return [matcher.consume_token(token) for matcher, token in _members(matchers, (LLMatcher, int))]


def _members(members: Sequence[Any], kinds: Tuple[type, ...]) -> List[Any]:
    """The members of a batch, with llguidance's errors: each has these kinds, and no matcher is there twice."""
    if not members:
        raise ValueError("No matchers given")
    for member in members:
        if not isinstance(member, tuple):
            raise TypeError(f"'{type(member).__name__}' object is not an instance of 'tuple'")
        if len(member) != len(kinds):
            raise ValueError(f"Expecting ({', '.join(kind.__name__ for kind in kinds)}) tuple")
        for part, kind in zip(member, kinds):
            # Integers of NumPy are integers, too.
            if not (isinstance(part, kind) or kind is int and hasattr(part, "__index__")):
                raise TypeError(f"'{type(part).__name__}' object is not an instance of '{kind.__name__}'")
    if len({id(member[0]) for member in members}) < len(members):
        raise RuntimeError("Already borrowed: a matcher is given twice")
    return list(members)


def _check_row(row: int, rows: int) -> None:
    if not 0 <= row < rows:
        raise ValueError(f"Target index out of bounds: {row} of {rows}")


def fill_rows(matchers: Sequence[Tuple[LLMatcher, int]], bitmask: Any, rows: int) -> None:
    """Writes the masks of texts into their rows of a bitmask of so many rows."""
    members = _members(matchers, (LLMatcher, int))
    for _, row in members:
        _check_row(row, rows)
    try:
        fill_masks([matcher._mask() for matcher, _ in members], bitmask, [row for _, row in members])
    except Error:
        # A limit of one text, which is found again, and is a state of this one alone.
        for matcher, row in members:
            matcher._fill(bitmask, row)


def fill_drafts(matchers: Sequence[Tuple[LLMatcher, int, List[int]]], bitmask: Any, rows: int) -> None:
    """The same, and after each row those along a draft, as far as it is allowed."""
    for matcher, row, draft in _members(matchers, (LLMatcher, int, list)):
        _check_row(row, rows)
        _check_row(row + len(draft), rows)
        draft = draft[: matcher.validate_tokens(draft)]
        try:
            matcher._mask().fill_tree(draft, list(range(-1, len(draft) - 1)), bitmask, row)
        except Error as failure:
            matcher._fail(failure)
            matcher._fill(bitmask, row)


def _memory(interpreters: Sequence[Any], pointer: int, row_bytes: int, rows: int) -> Any:
    """Rows of words at an address, which the caller must own."""
    if pointer == 0:
        raise ValueError("Null pointer")
    if pointer % 4:
        raise ValueError("Pointer not aligned")
    matchers = [part for member in interpreters if isinstance(member, tuple) for part in member[:1]]
    words = [matcher._tokenizer.tokenizer.words for matcher in matchers if isinstance(matcher, LLMatcher)]
    if row_bytes % 4 or any(row_bytes != count * 4 for count in words):
        raise ValueError(f"Invalid buffer size: rows of {row_bytes} bytes where {words[0] * 4 if words else 0} fit")
    return (ctypes.c_int32 * (row_bytes // 4) * rows).from_address(pointer)


class StructTag:
    """A tag with constrained content within free text."""

    def __init__(self, *, trigger: str, begin: str, grammar: Union[str, Dict[str, Any]], end: str) -> None:
        if not trigger or not begin.startswith(trigger):
            raise AssertionError("begin must start with trigger, which must not be empty")
        self.trigger, self.begin, self.grammar, self.end = trigger, begin, grammar, end

    @staticmethod
    def to_grammar(tags: List["StructTag"], *, assume_special: bool = True, text_regex: str = r"(.|\n)*") -> str:
        if not tags:
            raise AssertionError("tags must not be empty")
        rules, others = [], []
        for index, tag in enumerate(tags):
            body = tag.grammar
            if isinstance(body, str) and not body.lstrip().startswith("{"):
                others.append({"name": f"tag_{index}_grammar", "lark_grammar": body})
                inner = f"@tag_{index}_grammar"
            else:
                inner = "%json " + (body if isinstance(body, str) else json.dumps(body))
            texts = [json.dumps(text) if text else "" for text in (tag.begin[len(tag.trigger) :], tag.end)]
            special = assume_special and tag.trigger.startswith("<") and tag.trigger.endswith(">")
            if special:
                rules.append(f"tag_{index}: TAG_TEXT {tag.trigger} {texts[0]} {inner} {texts[1]}")
            else:
                rules.append(f"tag_{index}_trigger[lazy]: TAG_TEXT {json.dumps(tag.trigger)}")
                rules.append(f"tag_{index}: tag_{index}_trigger {texts[0]} {inner} {texts[1]}")
        names = " | ".join(f"tag_{index}" for index in range(len(tags)))
        lark = "\n".join([f"start: ({names})* tag_end", "tag_end: TAG_TEXT", f"TAG_TEXT: /{text_regex}/", *rules])
        return json.dumps({"grammars": [{"lark_grammar": lark}, *others]})


def grammar_from(format: str, text: str) -> str:
    """A grammar from text in a format."""
    if format == "lark":
        return LLMatcher.grammar_from_lark(text)
    if format in ("json_schema", "json"):
        return LLMatcher.grammar_from_json_schema(text)
    if format == "regex":
        return LLMatcher.grammar_from_regex(text)
    if format == "choice":
        choices = json.loads(text) if isinstance(text, str) else text
        return LLMatcher.grammar_from_lark("start: " + " | ".join(json.dumps(choice) for choice in choices))
    if format == "llguidance":
        return text
    if format in ("gbnf", "ebnf", "cfg", "grammar"):
        return text if notation_of(text) == "gbnf" else LLMatcher.grammar_from_lark(text)
    raise ValueError(f"Unknown grammar type: {format}")


def _escapes(regex: str) -> List[str]:
    """The characters of a pattern, those after a backslash together with it."""
    parts, characters = [], iter(regex)
    for character in characters:
        parts.append(character + next(characters, "") if character == "\\" else character)
    return parts


def _compiler_without_tokenizer(grammar: Any) -> Compiler:
    """The compiler of a grammar that is checked without a tokenizer: of bytes, and of the special tokens that it names."""
    text = grammar if isinstance(grammar, str) else json_text(grammar, "the grammar")
    names = sorted(set(re.findall(r"<[^<>\[\]\s\"'\\/]+>|</[^<>\[\]\s\"'\\/]+>", text)))
    special = {name: token for token, name in enumerate(names, 257)}
    tokens = [bytes([byte]) for byte in range(256)] + [None] * (1 + len(names))
    numbers = [int(number) for ids in re.findall(r"<\[([0-9,\s-]+)\]>", text) for number in re.findall("[0-9]{1,7}", ids)]
    width = max([len(tokens), *(number + 1 for number in numbers)])
    return Compiler(Tokenizer(tokens, width=width, stop_token_ids=[256], special_tokens=special))
