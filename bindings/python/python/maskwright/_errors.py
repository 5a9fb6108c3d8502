"""`Error`: what was wrong, where, and what would be accepted."""

from __future__ import annotations

from typing import Optional


class Error(ValueError):
    """An error of the library. Its text names the place and the cure on one line; programs branch on the
    attributes.

    >>> import maskwright
    >>> try:
    ...     maskwright.Compiler(maskwright.Tokenizer.of_bytes()).json_schema('{"type": "strin"}')
    ... except maskwright.Error as error:
    ...     print(error.kind, error.pointer)
    schema /type
    """

    #: `schema`, `regex`, `grammar`, `vocabulary`, `unsatisfiable`, `limit`, `request`, `io`, …
    kind: str = "request"
    #: The text without place and cure.
    message: str = ""
    #: The cure, where one is known.
    help: Optional[str] = None
    #: The limit that was reached, where it is one that can be raised.
    limit: Optional[str] = None
    file: Optional[str] = None
    #: From 1, as is `column`.
    line: Optional[int] = None
    column: Optional[int] = None
    #: JSON pointer of the keyword or setting.
    pointer: Optional[str] = None
    #: Offset in bytes.
    byte: Optional[int] = None
    #: The rule of the grammar.
    rule: Optional[str] = None
    #: The line that is wrong, and a caret below the place.
    excerpt: Optional[str] = None


def error(message: str, help: str, kind: str = "request") -> Error:
    """An error of this half of the package."""
    made = Error(f"{message}; {help}")
    made.kind, made.message, made.help = kind, message, help
    return made
