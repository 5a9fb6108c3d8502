"""Structured decoding: a language model writes only text that a constraint accepts.

>>> import maskwright
>>> tokenizer = maskwright.Tokenizer([b"yes", b"no", b"maybe", b"y", b"es", None], stop_token_ids=[5])
>>> matcher = maskwright.Compiler(tokenizer).choice(["yes", "no"]).matcher()
>>> matcher.allowed_tokens()
[0, 1, 3]
>>> matcher.accept(3), matcher.allowed_tokens()
(True, [4])
>>> bitmask = maskwright.allocate_bitmask(1, tokenizer)
>>> matcher.fill(bitmask, 0)
True
>>> bitmask.tolist()
[[16]]
>>> matcher.accept_tokens([4, 5]), matcher.is_terminated
(True, True)
"""

from __future__ import annotations

import operator
import os
from functools import partial
from typing import Any, List, Mapping, Optional, Sequence, Union

from . import _native
from ._compiler import Compiler, spec_of
from ._errors import Error, error
from ._native import Constraint, Matcher, __version__
from ._results import Explanation, Finding, Lint, Verdict
from ._schemas import schema_text, type_schema
from ._tokenizer import Tokenizer, text_bytes

__all__ = [
    "Compiler",
    "Constraint",
    "Error",
    "Explanation",
    "Finding",
    "GRAMMARS",
    "Lint",
    "Matcher",
    "TOOL_FORMATS",
    "Tokenizer",
    "Verdict",
    "allocate_bitmask",
    "check",
    "fill_masks",
    "lint",
    "sample",
    "type_schema",
]

#: Names of the formats of tool calls, and of the grammars that come with the package.
TOOL_FORMATS, GRAMMARS = _native._names()

if hasattr(os, "register_at_fork"):
    # A child process has the forking thread alone: no other may be at work on masks, and hold a lock, meanwhile.
    os.register_at_fork(
        before=_native._pause_for_fork,
        after_in_parent=partial(_native._resume_after_fork, False),
        after_in_child=partial(_native._resume_after_fork, True),
    )


def allocate_bitmask(rows: int, tokenizer: Union[Tokenizer, int]) -> Any:
    """A bitmask of `rows` rows that allow everything, for a tokenizer or a width of logits: an array of
    NumPy's, or where there is none, a `memoryview` of int32. torch takes both (`torch.as_tensor`,
    `torch.frombuffer`) without a copy."""
    width = tokenizer.width if isinstance(tokenizer, Tokenizer) else operator.index(tokenizer)
    words = (width + 31) // 32
    try:
        import numpy
    except ImportError:
        return memoryview(bytearray(b"\xff" * (rows * words * 4))).cast("i", (rows, words))
    return numpy.full((rows, words), -1, dtype=numpy.int32)


def fill_masks(matchers: Sequence[Matcher], bitmask: Any, indices: Optional[Sequence[int]] = None) -> None:
    """Writes the masks of many matchers, by all cores and without the interpreter's lock: matcher `i` into row
    `indices[i]`, or `i` without indices.

    >>> tokenizer = Tokenizer.of_bytes()
    >>> constraint = Compiler(tokenizer).regex("a|b")
    >>> bitmask = allocate_bitmask(3, tokenizer)
    >>> fill_masks([constraint.matcher(), constraint.matcher()], bitmask, [0, 2])
    >>> [row[3] for row in bitmask.tolist()]
    [6, -1, 6]
    """
    _native._fill_masks(matchers, bitmask, indices)


def check(constraint: Any, text: Union[str, bytes], **options: Any) -> Verdict:
    """Whether a text is accepted by a constraint, or by a JSON Schema or type; if not, where and why.

    >>> verdict = check({"type": "object", "required": ["a"]}, '{"b": 1}')
    >>> verdict.accepted, verdict.byte, verdict.expected
    (False, 2, '`a`')
    """
    return Verdict(**_constraint(constraint, options)._check(text_bytes(text)))


def sample(
    constraint: Any,
    count: int = 1,
    *,
    seed: int = 0,
    min_bytes: int = 0,
    max_bytes: int = 200,
    max_depth: Optional[int] = None,
    near_misses: bool = False,
    **options: Any,
) -> List[bytes]:
    """Random texts of a constraint, or of a JSON Schema or type: the same for the same seed, spread over all of
    it. With `near_misses` texts that are one edit outside of it.

    >>> sample({"type": "boolean"}, 4, seed=1)  # doctest: +ELLIPSIS
    [b'...]
    """
    bounds = (min_bytes, max_bytes, max_depth)
    return _constraint(constraint, options)._sample(count, seed, bounds, near_misses)


def lint(schema: Any, **options: Any) -> Lint:
    """Advice about a JSON Schema or type: what is enforced, what is not, and probable mistakes.

    >>> [finding.message for finding in lint({"type": "string", "maxLenght": 5}).findings if finding.kind == "hint"]
    ['`maxLenght` is a keyword of no draft, and has no effect: did you mean `maxLength`?']
    """
    if isinstance(schema, Constraint):
        _refuse(options)
        spec = schema.spec
    else:
        spec = spec_of("json_schema", schema_text(schema), options)
    findings, least, most = _native._lint(spec)
    return Lint([Finding(*finding) for finding in findings], least, most)


_bytes: Optional[Compiler] = None


def _constraint(given: Any, options: Mapping[str, Any]) -> Constraint:
    """A constraint, or that of a schema for texts of bytes."""
    if isinstance(given, Constraint):
        _refuse(options)
        return given
    return _byte_compiler().json_schema(given, **options)


def _refuse(options: Mapping[str, Any]) -> None:
    """Errors on options beside a constraint, which has its own."""
    for name in options:
        raise error(f"`{name}` stands beside a constraint", "give the option to the compiler, or a schema here")


def _byte_compiler() -> Compiler:
    """The compiler of checks that no model takes part in."""
    global _bytes
    if _bytes is None:
        _bytes = Compiler(Tokenizer.of_bytes(), precompute=0)
    return _bytes
