"""`Compiler`: from schemas, types, patterns, grammars, choices and tools to constraints."""

from __future__ import annotations

import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from . import _native
from ._errors import error
from ._native import Constraint
from ._schemas import schema_text
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


class Compiler:
    """Compiles constraints for one tokenizer; any number of threads may use one.

    Equal constraints are compiled once, also when many threads ask at the same time, and kept within
    `cache_bytes`. Settings are for all constraints; each method takes the same for one:

    | name | value |
    |---|---|
    | `whitespace` | `tidy`, `plain`, `compact`, `indent-2`, `indent-4`, `indent-tab`, `flexible`, `any`, or a pattern |
    | `max_whitespace` | the greatest number of blanks and line breaks in a gap |
    | `separators`, `indent` | as `json.dumps` takes them |
    | `spelling` | `canonical`, `escapes`, `any` |
    | `property_order` | `schema`, `any` |
    | `style` | the notation of values, such as `json` or `qwen_xml` |
    | `strict` | whether objects are closed unless the schema says otherwise |
    | `one_of` | `exactly`, `at-least` |
    | `excludes`, `escapes`, `digits`, `formats`, `draft`, `resources` | as in the library |
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

    def __init__(self, tokenizer: Any, *, cache_bytes: int = 512 << 20, **settings: Any) -> None:
        self.tokenizer = tokenizer if isinstance(tokenizer, Tokenizer) else Tokenizer(tokenizer)
        self._native = _native.Compiler(self.tokenizer._native, cache_bytes)
        self._defaults = settings
        known, _ = _split(settings)
        self._native._check_settings(json.dumps(known))

    def json_schema(self, schema: Any, **options: Any) -> Constraint:
        """JSON of a schema: a `dict` or text, a pydantic model, a dataclass, a TypedDict, or another type."""
        return self._compile("json_schema", schema_text(schema), options)

    def json_object(self, **options: Any) -> Constraint:
        """Any JSON object."""
        return self._compile("json_object", "", options)

    def regex(self, pattern: str, **options: Any) -> Constraint:
        """Text that matches a pattern, whole, in the syntax of Rust's `regex` (or `regex_dialect`)."""
        return self._compile("regex", pattern, options)

    def regex_search(self, pattern: str, **options: Any) -> Constraint:
        """Text some part of which matches a pattern."""
        return self._compile("regex_search", pattern, options)

    def choice(self, choices: Iterable[str], **options: Any) -> Constraint:
        """One of these texts."""
        return self._compile("choice", "", options, choices=list(choices))

    def grammar(self, grammar: str, notation: str, **options: Any) -> Constraint:
        """Text of a grammar in `gbnf`, `lark`, `ebnf` (the W3C's), `iso-ebnf` or `abnf`; `start` is its start
        rule."""
        kind = _NOTATIONS.get(notation)
        if kind is None:
            raise error(f"`{notation}` is no notation of grammars", f"write one of {', '.join(_NOTATIONS)}")
        return self._compile(kind, grammar, options)

    def lark(self, grammar: str, **options: Any) -> Constraint:
        """Text of a grammar in Lark's notation."""
        return self._compile("lark", grammar, options)

    def gbnf(self, grammar: str, **options: Any) -> Constraint:
        """Text of a grammar in llama.cpp's notation."""
        return self._compile("gbnf", grammar, options)

    def named_grammar(self, name: str, **options: Any) -> Constraint:
        """Text of a grammar that comes with the package: `maskwright.GRAMMARS`."""
        return self._compile("named_grammar", name, options)

    def quotation(self, text: str, **options: Any) -> Constraint:
        """A run of one or more words of a text."""
        return self._compile("quotation", text, options)

    def formula(self, formula: Mapping[str, Any], **options: Any) -> Constraint:
        """Constraints combined: `{"allOf": [{"regex": …}, {"not": {"choice": […]}}]}`."""
        return self._compile("formula", json.dumps(formula, ensure_ascii=False), options)

    def structural_tag(self, tag: Any, **options: Any) -> Constraint:
        """A structural tag of XGrammar, vLLM and SGLang: a `dict`, its text, or an object of pydantic's."""
        dump = getattr(tag, "model_dump_json", None)
        text = dump() if callable(dump) else tag if isinstance(tag, str) else json.dumps(tag, ensure_ascii=False)
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
        (`maskwright.TOOL_FORMATS`). `choice` is `auto`, `none`, `required` or `{"name": …}`."""
        calls: Dict[str, Any] = {"format": format, "parallel": parallel}
        if isinstance(choice, str):
            calls["choice"] = choice
        else:
            function = choice.get("function", choice)
            calls["named"] = function.get("name")
        if allowed is not None:
            calls["allowed"] = list(allowed)
        if answer_schema is not None:
            calls["answer_schema"] = json.loads(schema_text(answer_schema))
        text = tools if isinstance(tools, str) else json.dumps(list(tools), ensure_ascii=False)
        return self._compile("tools", text, options, calls=calls)

    def load(self, spec: str, *, stop_token_ids: Optional[Iterable[int]] = None) -> Constraint:
        """The constraint of what `Constraint.spec` tells: its source and settings, compiled again.

        >>> import maskwright
        >>> compiler = maskwright.Compiler(maskwright.Tokenizer.of_bytes())
        >>> compiler.load(compiler.regex("a+").spec).kind
        'regex'
        """
        stop = None if stop_token_ids is None else list(stop_token_ids)
        return self._native._compile(spec, stop)

    @property
    def cache_info(self) -> Tuple[int, int, int, int]:
        """Constraints and refusals in the cache, their bytes, hits and misses."""
        return self._native.cache_info

    def clear_cache(self) -> None:
        """Empties the cache."""
        self._native.clear_cache()

    def _compile(self, kind: str, text: str, options: Mapping[str, Any], **parts: Any) -> Constraint:
        spec, stop = spec_of(kind, text, {**self._defaults, **options}, **parts)
        return self._native._compile(spec, stop)


def spec_of(kind: str, text: str, options: Mapping[str, Any], **parts: Any) -> Tuple[str, Optional[List[int]]]:
    """What a constraint is compiled from, as text, and the tokens that end it."""
    settings, other = _split(options)
    spec: Dict[str, Any] = {"kind": kind}
    if text:
        spec["text"] = text
    spec.update(parts)
    if settings:
        spec["settings"] = settings
    stop = other.pop("stop_token_ids", None)
    separators, indent = other.pop("separators", None), other.pop("indent", None)
    if separators is not None or indent is not None:
        item, key = separators or ((",", ": ") if indent is not None else (", ", ": "))
        spec["separators"] = {"item": item, "key": key, "indent": indent}
    reasoning = other.pop("reasoning", None)
    if reasoning is not None:
        name, start = (reasoning, "message") if isinstance(reasoning, str) else reasoning
        spec["reasoning"] = {"format": name, "start": start}
    spec.update({name: value for name, value in other.items() if value is not None})
    return json.dumps(spec, ensure_ascii=False), None if stop is None else list(stop)


def _split(options: Mapping[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """Settings of the compiler, which reads them by name, and the rest."""
    settings = {name: value for name, value in options.items() if name not in _OTHER}
    other = {name: value for name, value in options.items() if name in _OTHER}
    limit = other.pop("time_limit", None)
    if limit is not None:
        settings["limits"] = {**settings.get("limits", {}), "time_per_constraint": limit}
    return settings, other
