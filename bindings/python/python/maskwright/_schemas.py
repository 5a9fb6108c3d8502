"""JSON Schemas of Python types: pydantic's own, and those of dataclasses, TypedDicts and plain types."""

from __future__ import annotations

import dataclasses
import enum
import json
import typing
from collections import abc
from typing import Any, Dict, List, Literal, Tuple, Union

from ._errors import error

_PLAIN = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def schema_text(schema: Any) -> str:
    """The JSON Schema of what a caller gives for one, as text.

    A text is taken as it is (so that errors name its lines), a `dict` or `bool` as the schema itself, a
    pydantic model (or `TypeAdapter`) by its own schema, a dataclass, a TypedDict or another type by its
    annotations: members without a default are required, and no others are allowed.
    """
    if isinstance(schema, (str, bytes)):
        return schema.decode() if isinstance(schema, bytes) else schema
    if isinstance(schema, (dict, bool)):
        return json.dumps(schema, ensure_ascii=False)
    for name in ("model_json_schema", "json_schema"):  # a pydantic model, a TypeAdapter
        method = getattr(schema, name, None)
        if callable(method):
            return json.dumps(method(), ensure_ascii=False)
    return json.dumps(type_schema(schema), ensure_ascii=False)


def type_schema(of: Any) -> Dict[str, Any]:
    """The JSON Schema of a type.

    >>> from typing import List, Optional
    >>> type_schema(Optional[List[int]])
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    writer = _Writer()
    schema = writer.schema(of)
    return {**schema, "$defs": writer.definitions} if writer.definitions else schema


class _Writer:
    """Schemas of types; those with members are defined once, so that types may hold themselves."""

    def __init__(self) -> None:
        self.definitions: Dict[str, Any] = {}
        self._names: Dict[type, str] = {}

    def schema(self, of: Any) -> Dict[str, Any]:
        origin, arguments = typing.get_origin(of), typing.get_args(of)
        if of is None:
            return {"type": "null"}
        if of is Any:
            return {}
        if isinstance(of, type) and of in _PLAIN:
            return {"type": _PLAIN[of]}
        if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly"):
            return self.schema(arguments[0])
        if hasattr(of, "__metadata__"):  # Annotated
            return self.schema(of.__origin__)
        if origin is Literal:
            return {"enum": list(arguments)}
        if origin is Union or type(of).__name__ == "UnionType":
            return {"anyOf": [self.schema(argument) for argument in arguments]}
        base = origin or of
        if base in (list, set, frozenset, abc.Sequence, abc.MutableSequence, abc.Iterable):
            schema: Dict[str, Any] = {"type": "array"}
            if arguments:
                schema["items"] = self.schema(arguments[0])
            if base in (set, frozenset):
                schema["uniqueItems"] = True
            return schema
        if base is tuple:
            return self._tuple(arguments)
        if base in (dict, abc.Mapping, abc.MutableMapping):
            if arguments and arguments[0] is not str:
                raise error(f"the keys of {of} are not texts", "use str keys", "schema")
            values = self.schema(arguments[1]) if arguments else {}
            return {"type": "object", "additionalProperties": values}
        if isinstance(of, type):
            if issubclass(of, enum.Enum):
                return {"enum": [member.value for member in of]}
            by_pydantic = getattr(of, "model_json_schema", None)
            if callable(by_pydantic):
                schema = by_pydantic(ref_template="#/$defs/{model}")
                self.definitions.update(schema.pop("$defs", {}))
                return dict(schema)
            if dataclasses.is_dataclass(of):
                fields = [field for field in dataclasses.fields(of) if field.init]
                missing = dataclasses.MISSING
                required = [
                    field.name
                    for field in fields
                    if field.default is missing and field.default_factory is missing
                ]
                return self._object(of, [field.name for field in fields], required)
            if hasattr(of, "__required_keys__"):  # TypedDict
                names = list(typing.get_type_hints(of))
                return self._object(of, names, [name for name in names if name in of.__required_keys__])
        raise error(
            f"{of!r} has no JSON Schema here",
            "give a JSON Schema, a pydantic model, a dataclass, a TypedDict, or plain types",
            "schema",
        )

    def _tuple(self, arguments: Tuple[Any, ...]) -> Dict[str, Any]:
        if not arguments:
            return {"type": "array"}
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return {"type": "array", "items": self.schema(arguments[0])}
        items = [self.schema(argument) for argument in arguments]
        return {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}

    def _object(self, of: type, members: List[str], required: List[str]) -> Dict[str, Any]:
        name = self._names.get(of)
        if name is None:
            name = of.__name__
            while name in self.definitions:
                name += "_"
            self._names[of] = name
            self.definitions[name] = {}  # known from here on, for types that hold themselves
            hints = typing.get_type_hints(of, include_extras=True)
            self.definitions[name] = {
                "type": "object",
                "properties": {member: self.schema(hints[member]) for member in members},
                "required": required,
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}
