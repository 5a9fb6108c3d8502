"""Compilers by tokenizer, one for each in a process."""

from __future__ import annotations

import json
import os
import threading
from typing import Any, List, Tuple

from .._compiler import Compiler
from .._tokenizer import Tokenizer

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
