"""`Compiler`: from schemas, types, patterns, grammars, choices and tools to constraints."""

from __future__ import annotations

import json
import math
import operator
import re
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _native
from ._errors import error
from ._native import Constraint
from ._schemas import json_text, schema_text
from ._tokenizer import Tokenizer

#: Notations of grammars, by their names here and elsewhere.
_NOTATIONS = {
    "gbnf": "gbnf",
    "lark": "lark",
    "ebnf": "w3c_ebnf",
    "w3c_ebnf": "w3c_ebnf",
    "iso-ebnf": "iso_ebnf",
    "iso_ebnf": "iso_ebnf",
    "abnf": "abnf",
}

#: Options of a call that are no settings of the compiler.
_OTHER = ("stop_token_ids", "reasoning", "separators", "indent", "time_limit", "start", "regex_dialect")

#: Options that say the same thing in two ways: one of a call takes the place of the other's default.
_GAPS = ({"whitespace", "max_whitespace"}, {"separators", "indent"})

#: The head of a rule in the notations that write `::=`.
_GBNF_RULE = re.compile(r"^[ \t]*[\w-]+[ \t]*::=", re.MULTILINE)

#: The longest text of a level of `indent`.
_MAX_INDENT = 64


def notation_of(grammar: str) -> str:
    """The notation of a grammar whose host does not say: `gbnf` or `lark`."""
    return "gbnf" if _GBNF_RULE.search(grammar) else "lark"


class Compiler:
    """Compiles constraints for one tokenizer; any number of threads may use one.

    Equal constraints are compiled once, also when many threads ask at the same time, and kept within
    `cache_bytes`. `precompute` is the time in seconds for which a thread of the compiler at most computes masks of each
    new constraint before texts need them; 0 is for no such thread. Settings are for all constraints; each method takes
    the same for one:

    | name | value |
    |---|---|
    | `whitespace` | `tidy`, `plain`, `compact`, `indent-2`, `indent-4`, `indent-tab`, `flexible`, `any`, or a pattern |
    | `max_whitespace` | the greatest number of blanks and line breaks in a gap |
    | `separators`, `indent` | as `json.dumps` takes them; instead of `whitespace` |
    | `spelling` | `canonical`, `escapes`, `any` |
    | `property_order` | `schema`, `any` |
    | `style` | the notation of values, such as `json` or `qwen_xml` |
    | `strict` | whether objects are closed unless the schema says otherwise |
    | `one_of` | `exactly`, `at-least` |
    | `excludes` | texts that no string holds |
    | `escapes` | the characters that may follow a backslash in strings, such as `'"\\\\n'` |
    | `digits` | the digits that a number may have on each side of its point |
    | `formats` | whether `format` is enforced |
    | `draft` | the draft of schemas that name none, such as `2020-12` |
    | `resources` | schemas that references lead to, by their URIs |
    | `limits` | limits by name; `time_limit` in seconds is `limits={"time_per_constraint": …}` |
    | `regex_dialect` | `rust`, `ecma`, `python`, for patterns |
    | `reasoning` | the format of reasoning that stands before the text, or `(format, start)` |
    | `stop_token_ids` | the tokens that end the text, instead of the tokenizer's |

    >>> import maskwright
    >>> compiler = maskwright.Compiler(maskwright.Tokenizer.of_bytes(), whitespace="compact")
    >>> constraint = compiler.json_schema({"type": "array", "items": {"type": "integer"}})
    >>> bool(maskwright.check(constraint, "[1,2]")), bool(maskwright.check(constraint, "[1, 2]"))
    (True, False)
    """

    def __init__(
        self, tokenizer: Any, *, cache_bytes: int = 512 << 20, precompute: float = 0.01, **settings: Any
    ) -> None:
        self.tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
        self._native = _native.Compiler(self.tokenizer._native, cache_bytes, precompute)
        if "start" in settings:
            raise error("`start` is of one grammar", "give it to `Compiler.grammar`")
        if settings.get("stop_token_ids") is not None:
            # Read once: it may be an iterator.
            settings["stop_token_ids"] = _ids(settings["stop_token_ids"])
        self._defaults = settings
        self._native._check(spec_of("json_object", "", settings))

    def wait_for_masks(self) -> None:
        """Waits until the thread of `precompute` has done its part for all constraints compiled so far."""
        self._native.wait_for_masks()

    def json_schema(self, schema: Any, **options: Any) -> Constraint:
        """JSON of a schema: a `dict` or text, a pydantic model, a dataclass, a TypedDict, or another type."""
        return self._compile("json_schema", schema_text(schema), options)

    def json_object(self, **options: Any) -> Constraint:
        """Any JSON object."""
        return self._compile("json_object", "", options)

    def regex(self, pattern: str, **options: Any) -> Constraint:
        """Text that matches a pattern, whole, in the syntax of Rust's `regex` (or `regex_dialect`)."""
        return self._compile("regex", _text(pattern, "a pattern"), options)

    def regex_search(self, pattern: str, **options: Any) -> Constraint:
        """Text some part of which matches a pattern."""
        return self._compile("regex_search", _text(pattern, "a pattern"), options)

    def choice(self, choices: Iterable[str], **options: Any) -> Constraint:
        """One of these texts."""
        if isinstance(choices, (str, bytes)):
            raise error(f"{choices!r} is one text, not several", "give a list of texts")
        if not isinstance(choices, Iterable):
            raise error(f"{choices!r} is no list of texts", "give one")
        return self._compile("choice", "", options, choices=[_text(choice, "a choice") for choice in choices])

    def grammar(self, grammar: str, notation: str, **options: Any) -> Constraint:
        """Text of a grammar in `gbnf`, `lark`, `ebnf` (the W3C's), `iso-ebnf` or `abnf`; `start` is its start
        rule."""
        kind = _NOTATIONS.get(notation) if isinstance(notation, str) else None
        if kind is None:
            raise error(f"`{notation}` is no notation of grammars", f"write one of {', '.join(_NOTATIONS)}")
        return self._compile(kind, _text(grammar, "a grammar"), options)

    def lark(self, grammar: str, **options: Any) -> Constraint:
        """Text of a grammar in Lark's notation."""
        return self._compile("lark", _text(grammar, "a grammar"), options)

    def gbnf(self, grammar: str, **options: Any) -> Constraint:
        """Text of a grammar in llama.cpp's notation."""
        return self._compile("gbnf", _text(grammar, "a grammar"), options)

    def named_grammar(self, name: str, **options: Any) -> Constraint:
        """Text of a grammar that comes with the package: `maskwright.GRAMMARS`."""
        return self._compile("named_grammar", _text(name, "the name of a grammar"), options)

    def quotation(self, text: str, **options: Any) -> Constraint:
        """A part of a text that begins and ends at borders of its words; blanks between words count as words."""
        return self._compile("quotation", _text(text, "the text"), options)

    def formula(self, formula: Mapping[str, Any], **options: Any) -> Constraint:
        """Constraints combined: `{"allOf": [{"regex": …}, {"not": {"choice": […]}}]}`."""
        return self._compile("formula", json_text(formula, "the formula"), options)

    def structural_tag(self, tag: Any, **options: Any) -> Constraint:
        """A structural tag of XGrammar, vLLM and SGLang: a `dict`, its text, or an object of pydantic's."""
        dump = getattr(tag, "model_dump_json", None)
        text = dump() if callable(dump) else tag if isinstance(tag, str) else json_text(tag, "the structural tag")
        return self._compile("structural_tag", text, options)

    def tools(
        self,
        tools: Union[str, Sequence[Mapping[str, Any]]],
        format: str,
        *,
        choice: Union[str, Mapping[str, Any]] = "auto",
        parallel: bool = True,
        allowed: Optional[Sequence[str]] = None,
        answer_schema: Any = None,
        **options: Any,
    ) -> Constraint:
        """Messages that call tools (OpenAI's objects) in the format of a model family
        (`maskwright.TOOL_FORMATS`). `choice` is `auto`, `none`, `required`, `{"name": …}`, or OpenAI's object of a
        function, of a custom tool or of `allowed_tools`. `allowed` names the tools that may be called, where these are not
        all; `parallel` says whether a message may have several calls."""
        if not isinstance(tools, Iterable):
            raise error(f"{tools!r} is no list of tools", "give one, or its JSON text")
        text = tools if isinstance(tools, str) else json_text(list(tools), "the list of tools")
        if not isinstance(parallel, bool):
            raise error(f"`parallel` is {parallel!r}", "write True or False")
        calls: Dict[str, Any] = {"format": format, "parallel": parallel, **_tool_choice(choice, allowed)}
        if answer_schema is not None:
            calls["answer_schema"] = json.loads(schema_text(answer_schema))
        return self._compile("tools", text, options, calls=calls)

    def load(self, spec: str, *, stop_token_ids: Optional[Iterable[int]] = None) -> Constraint:
        """The constraint of what `Constraint.spec` returns: its source and settings, compiled again.

        >>> import maskwright
        >>> compiler = maskwright.Compiler(maskwright.Tokenizer.of_bytes())
        >>> compiler.load(compiler.regex("a+").spec).kind
        'regex'
        """
        if stop_token_ids is None:
            return self._compile_spec(spec)
        try:
            found = dict(json.loads(spec))
        except (TypeError, ValueError):
            raise error("the spec of a constraint is no JSON object", "take one from `Constraint.spec`") from None
        found["stop_token_ids"] = _ids(stop_token_ids)
        return self._compile_spec(json.dumps(found, ensure_ascii=False))

    @property
    def cache_info(self) -> Tuple[int, int, int, int]:
        """Constraints and refusals in the cache, their bytes, hits and misses."""
        return self._native.cache_info

    def clear_cache(self) -> None:
        """Empties the cache."""
        self._native.clear_cache()

    def _compile(self, kind: str, text: str, options: Mapping[str, Any], **parts: Any) -> Constraint:
        return self._compile_spec(spec_of(kind, text, _over(self._defaults, options), **parts))

    def _compile_spec(self, spec: str) -> Constraint:
        try:
            return self._native._compile(spec)
        except UnicodeEncodeError as failure:
            character = failure.object[failure.start]
            raise error(
                f"the source holds {character!r}, half of a character, which UTF-8 cannot write", "take it out"
            ) from None


def _text(given: Any, name: str) -> str:
    if not isinstance(given, str):
        raise error(f"{name} is a {type(given).__name__}", "give a str")
    return given


def _over(defaults: Mapping[str, Any], options: Mapping[str, Any]) -> Dict[str, Any]:
    """The options of a call, over those of the compiler."""
    defaults = dict(defaults)
    for one, other in (_GAPS, _GAPS[::-1]):
        if one & options.keys():
            defaults = {name: value for name, value in defaults.items() if name not in other}
    limits = options.get("limits")
    if not isinstance(limits, (Mapping, type(None))):
        raise error(f"`limits` is {limits!r}", "write an object of limits by their names")
    if isinstance(limits, Mapping):
        if "time_per_constraint" in limits:
            defaults.pop("time_limit", None)
        options = {**options, "limits": {**defaults.get("limits", {}), **limits}}
    elif options.get("time_limit") is not None and "limits" in defaults:
        others = {name: value for name, value in defaults["limits"].items() if name != "time_per_constraint"}
        defaults["limits"] = others
    return {**defaults, **options}


def _tool_choice(choice: Any, allowed: Optional[Sequence[str]]) -> Dict[str, Any]:
    """The members of a spec for the choice of tools, and for the names of those that may be called."""
    wanted = 'write "auto", "none", "required", {"name": …}, or OpenAI\'s object of a function or of allowed tools'
    if isinstance(allowed, str) or not isinstance(allowed, (Iterable, type(None))):
        raise error(f"`allowed` is {allowed!r}", "give a list of names")
    found: Dict[str, Any] = {} if allowed is None else {"allowed": [_text(name, "the name of a tool") for name in allowed]}
    if choice in ("auto", "none", "required"):
        return {**found, "choice": choice}
    if not isinstance(choice, Mapping):
        raise error(f"{choice!r} is no choice of tools", wanted)
    kind = choice.get("type", "function")
    inner = choice.get(kind, choice if "type" not in choice else None) if isinstance(kind, str) else None
    if kind == "allowed_tools" and isinstance(inner, Mapping):
        listed = inner.get("tools") or ()
        names = [_name_of(tool) for tool in listed] if isinstance(listed, (list, tuple)) else [None]
        if allowed is not None or inner.get("mode") not in ("auto", "required") or None in names:
            raise error(f"{dict(choice)!r} is no choice of tools", wanted)
        return {"choice": inner["mode"], "allowed": names}
    name = inner.get("name") if isinstance(inner, Mapping) and kind in ("function", "custom") else None
    if not isinstance(name, str):
        raise error(f"{dict(choice)!r} is no choice of tools", wanted)
    if name not in found.get("allowed", [name]):
        raise error(f"the chosen tool `{name}` is none of `allowed`", "leave one of the two out")
    return {**found, "named": name}


def _name_of(tool: Any) -> Optional[str]:
    """The name of a tool in the list of a choice; `None` if it has none."""
    kind = tool.get("type", "function") if isinstance(tool, Mapping) else None
    inner = tool.get(kind, tool) if isinstance(kind, str) else None
    name = inner.get("name") if isinstance(inner, Mapping) else None
    return name if isinstance(name, str) else None


def spec_of(kind: str, text: str, options: Mapping[str, Any], **parts: Any) -> str:
    """The source of a constraint and its settings, as JSON."""
    settings, other = _split(options)
    spec: Dict[str, Any] = {"kind": kind}
    if text:
        spec["text"] = text
    spec.update(parts)
    if settings:
        spec["settings"] = settings
    stop = other.pop("stop_token_ids", None)
    if stop is not None:
        spec["stop_token_ids"] = _ids(stop)
    separators, indent = other.pop("separators", None), other.pop("indent", None)
    if separators is not None or indent is not None:
        spec["separators"] = _separators(separators, indent)
    reasoning = other.pop("reasoning", None)
    if reasoning is not None:
        name, start = (reasoning, "message") if isinstance(reasoning, str) else _pair(reasoning, "reasoning", "(format, start)")
        spec["reasoning"] = {"format": name, "start": start}
    spec.update({name: _text(value, f"`{name}`") for name, value in other.items() if value is not None})
    return json_text(spec, "the settings")


def _ids(ids: Any) -> List[int]:
    wrong = error(f"`stop_token_ids` is {ids!r}", "give a list of token ids")
    if isinstance(ids, (str, bytes, int)):
        raise wrong
    try:
        found = [operator.index(token) for token in ids]
    except TypeError:
        raise wrong from None
    if not all(0 <= token < 2**32 for token in found):
        raise wrong
    return found


def _separators(separators: Any, indent: Any) -> Dict[str, Any]:
    """As `json.dumps` means them: `indent` is a number of blanks or the text of a level."""
    item, key = (",", ": ") if indent is not None else (", ", ": ")
    if separators is not None:
        item, key = _pair(separators, "separators", "(item_separator, key_separator)")
    is_number = isinstance(indent, int) and not isinstance(indent, bool)
    width = indent if is_number else 0 if indent is None else len(indent) if isinstance(indent, str) else -1
    if not 0 <= width <= _MAX_INDENT:
        wanted = f"write a number of blanks, or the text of a level, up to {_MAX_INDENT}"
        raise error(f"`indent` is {str(indent)[:80]!r}", wanted)
    indent = " " * indent if is_number else indent
    return {"item": item, "key": key, "indent": indent}


def _pair(given: Any, name: str, form: str) -> Tuple[str, str]:
    if not isinstance(given, (list, tuple)) or len(given) != 2 or not all(isinstance(part, str) for part in given):
        raise error(f"`{name}` is {given!r}", f"write {form}")
    return given[0], given[1]


def _split(options: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Settings of the compiler, which reads them by name, and the rest."""
    settings = {name: value for name, value in options.items() if name not in _OTHER}
    other = {name: value for name, value in options.items() if name in _OTHER}
    gaps, lines = ({name for name in group & options.keys() if options[name] is not None} for group in _GAPS)
    if gaps and lines:
        raise error(f"`{min(gaps)}` stands beside `{min(lines)}`", "both say what stands between values; leave one out")
    limit = other.pop("time_limit", None)
    if limit is not None:
        limits = settings.get("limits") or {}
        if "time_per_constraint" in limits:
            raise error("`time_limit` stands beside the limit `time_per_constraint`", "leave one out")
        if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 <= limit < math.inf:
            raise error(f"`time_limit` is {limit!r}", "write seconds")
        settings["limits"] = {**limits, "time_per_constraint": limit}
    return settings, other
