"""XGrammar's exceptions: each is a `RuntimeError`, as there, and a `maskwright.Error`."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator

from ..._errors import Error


class XGrammarError(Error, RuntimeError):
    """An error as XGrammar's users catch it."""


class InvalidJSONError(XGrammarError):
    """A text that is no JSON, or no JSON Schema."""


class InvalidStructuralTagError(XGrammarError):
    """A structural tag that cannot be used."""


class DeserializeFormatError(XGrammarError):
    """JSON that `serialize_json` has not written."""


class DeserializeVersionError(XGrammarError):
    """JSON that another version's `serialize_json` has written."""


#: Errors of arguments that a matcher cannot use, such as a bitmask of another width.
WRONG_USE = (ValueError, IndexError, TypeError, OverflowError)


def as_error(kind: Any, failure: Exception) -> XGrammarError:
    """An error as one of this class; XGrammar's own stay as they are."""
    if isinstance(failure, XGrammarError):
        return failure
    made = kind(*failure.args)
    made.__dict__.update(failure.__dict__)
    return made


@contextlib.contextmanager
def raising(kind: Any) -> Iterator[None]:
    """Raises errors of what runs within as errors of this class."""
    try:
        yield
    except Error as failure:
        raise as_error(kind, failure) from None
