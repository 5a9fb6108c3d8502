"""Compilers by tokenizer, one for each in a process."""

from __future__ import annotations

import threading
from typing import Any, List, Tuple

from .._compiler import Compiler
from .._process_settings import bytes_of_process, settings_of_process
from .._tokenizer import Tokenizer

#: Bytes of compiled constraints in one process, unless `MASKWRIGHT_CACHE_BYTES` says otherwise.
_CACHE_BYTES = 512 << 20

#: Seconds that a request's constraint may take to compile, unless the settings say otherwise.
_SECONDS_TO_COMPILE = 5.0

_compilers: List[Tuple[Any, Tuple[int, bool], Compiler]] = []
_lock = threading.Lock()


def compiler_of(tokenizer: Any, width: int, is_replicated: bool = False) -> Compiler:
    """The compiler of a tokenizer in this process; one without limits of time if other processes compile the same for
    the same text."""
    kind = (width, is_replicated)
    with _lock:
        for known, known_kind, compiler in _compilers:
            if known is tokenizer and known_kind == kind:
                return compiler
        settings = settings_of_process("MASKWRIGHT_SETTINGS", _SECONDS_TO_COMPILE, is_replicated)
        cache_bytes = bytes_of_process("MASKWRIGHT_CACHE_BYTES", _CACHE_BYTES)
        compiler = Compiler(Tokenizer(tokenizer, width=width), cache_bytes=cache_bytes, **settings)
        _compilers.append((tokenizer, kind, compiler))
        del _compilers[:-4]  # an engine has one or two
        return compiler
