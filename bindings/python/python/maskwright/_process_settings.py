"""Settings of the compiler of a serving process, which its operator gives in an environment variable."""

from __future__ import annotations

import json
import os
from typing import Any, Dict

from ._errors import error

#: The limits that a clock decides.
TIME_LIMITS = ("time_per_constraint", "time_per_mask")


def _json_object(variable: str) -> Dict[str, Any]:
    """The object in a variable; an empty one where the variable is empty or not set."""
    try:
        settings = json.loads(os.environ.get(variable) or "{}")
    except (ValueError, RecursionError) as reason:
        raise error(f"{variable} is no JSON: {reason}", "write an object, or leave it out") from None
    if not isinstance(settings, dict):
        raise error(f"{variable} is no object of JSON", 'write one such as {"whitespace": "compact"}')
    return settings


def bytes_of_process(variable: str, default: int) -> int:
    """The number of bytes in a variable, or the default where the variable is empty or not set."""
    text = os.environ.get(variable) or str(default)
    if not text.strip().isdecimal():
        raise error(f"{variable} is {text!r}", "write a number of bytes, or leave it out")
    return int(text)


def settings_of_process(variable: str, time_limit: float, is_replicated: bool) -> Dict[str, Any]:
    """The settings for `Compiler`: those of the environment variable over the defaults of a server.

    Several processes that each compile the same constraint for the same text (`is_replicated`) may reach a limit of
    time in one of them and not in the others, which would then wait for it; these have no such limit.
    """
    settings = _json_object(variable)
    # Patterns mean what they mean in JSON Schema, as in the library's own server.
    settings.setdefault("regex_dialect", "ecma")
    limits = settings.get("limits") or {}
    given = {**limits, "time_limit": settings.get("time_limit")}
    named = [name for name in ("time_limit", *TIME_LIMITS) if given.get(name) is not None]
    if not is_replicated:
        return settings if "time_limit" in settings or TIME_LIMITS[0] in limits else {"time_limit": time_limit, **settings}
    if named:
        raise error(
            f"`{named[0]}` in {variable} would part the ranks of this engine, each of which compiles for itself",
            "leave it out where several ranks run one model",
        )
    settings.pop("time_limit", None)
    return {**settings, "limits": {**limits, **dict.fromkeys(TIME_LIMITS)}}
