"""Answers: verdicts about texts, explanations of tokens, findings about schemas."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import List, Optional


@dataclass(frozen=True)
class Verdict:
    """Whether a text is accepted, and if not, where and why. True if it is."""

    accepted: bool
    #: Offset of the first byte that is not accepted; the length of a text that ends too early.
    byte: Optional[int] = None
    line: Optional[int] = None
    column: Optional[int] = None
    message: Optional[str] = None
    #: What is accepted there, in words.
    expected: Optional[str] = None
    #: Keywords of the schema (JSON pointers) or rules of the grammar that are being read there.
    decided_by: List[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return self.accepted


@dataclass(frozen=True)
class Explanation:
    """Why a token is allowed at a place or not. Its text says so in words."""

    token: int
    name: str
    allowed: bool
    #: The number of bytes of the token that fit.
    fits: int
    #: The first byte that does not fit.
    failed: Optional[int]
    #: What is accepted instead of that byte; of an allowed token, after it.
    expected: str
    decided_by: List[str]
    message: str

    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class Finding:
    """One thing worth knowing about a place in a schema."""

    pointer: str
    line: Optional[int]
    column: Optional[int]
    #: `enforced`, `annotation`, `ignored`, `order`, `hint`, `cost` or `error`.
    kind: str
    message: str


@dataclass(frozen=True)
class Lint:
    """All findings about a schema, and the sizes of its texts in bytes, where they have a bound."""

    findings: List[Finding]
    least_bytes: Optional[int]
    most_bytes: Optional[int]
