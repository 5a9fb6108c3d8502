"""JSON Schemas of Python types: pydantic's own, and those of dataclasses, TypedDicts and plain types."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import typing
import uuid
from collections import abc
from typing import Any, Dict, List, Literal, Tuple, Union

from ._errors import error

_PLAIN: Dict[Any, Dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.date: {"type": "string", "format": "date"},
    datetime.time: {"type": "string", "format": "time"},
    uuid.UUID: {"type": "string", "format": "uuid"},
}

#: Keywords of bounds in annotations (those of `annotated_types` and of pydantic), by the attribute that holds
#: the bound and the type of the values.
_BOUNDS = {
    "ge": {"number": "minimum"},
    "gt": {"number": "exclusiveMinimum"},
    "le": {"number": "maximum"},
    "lt": {"number": "exclusiveMaximum"},
    "multiple_of": {"number": "multipleOf"},
    "min_length": {"string": "minLength", "array": "minItems", "object": "minProperties"},
    "max_length": {"string": "maxLength", "array": "maxItems", "object": "maxProperties"},
    "pattern": {"string": "pattern"},
}


def schema_text(schema: Any) -> str:
    """The JSON Schema of what a caller gives for one, as text.

    A text is taken as it is (so that errors name its lines), a `dict` or `bool` as the schema itself, a
    pydantic model (or `TypeAdapter`) by its own schema, a dataclass, a TypedDict or another type by its
    annotations: members without a default are required, and no others are allowed.
    """
    if isinstance(schema, bytes):
        try:
            return schema.decode()
        except UnicodeDecodeError as failure:
            raise error(f"the schema is no UTF-8: {failure}", "give its text", "schema") from None
    if isinstance(schema, str):
        return schema
    if schema is None:
        raise error("there is no schema", 'write `{"type": "null"}` for the schema of null', "schema")
    if isinstance(schema, (dict, bool)):
        return json_text(schema, "the schema")
    # A pydantic model; a TypeAdapter. A class may have a method `json_schema` of its own.
    for name in ("model_json_schema",) if isinstance(schema, type) else ("model_json_schema", "json_schema"):
        method = getattr(schema, name, None)
        if callable(method):
            return json_text(_with_tags(method()), "the schema")
    return json_text(type_schema(schema), "the schema")


def json_text(value: Any, name: str) -> str:
    """The value as JSON, or an error that says what of it JSON has not."""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as reason:
        raise error(f"{name} is no JSON: {reason}", "write dicts with str keys, lists, str, numbers, booleans and None") from None


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
            return dict(_PLAIN[of])
        if getattr(origin, "_name", None) in ("Required", "NotRequired", "ReadOnly"):
            return self.schema(arguments[0])
        if hasattr(of, "__metadata__"):  # Annotated
            return _bounded(self.schema(of.__origin__), of)
        if isinstance(of, dataclasses.InitVar):
            return self.schema(of.type)
        if origin is Literal:
            return {"enum": [_json_value(argument, of) for argument in arguments]}
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
            return {"type": "array"} if of in (tuple, Tuple) else self._tuple(arguments)
        if base in (dict, abc.Mapping, abc.MutableMapping):
            if arguments and arguments[0] is not str:
                raise error(f"the keys of {of} are not texts", "use str keys", "schema")
            values = self.schema(arguments[1]) if arguments else {}
            return {"type": "object", "additionalProperties": values}
        if isinstance(of, type):
            if issubclass(of, enum.Enum):
                return {"enum": [_json_value(member, of) for member in of]}
            # Models, dataclasses and types of pydantic.
            if hasattr(of, "__pydantic_core_schema__") or hasattr(of, "__get_pydantic_core_schema__"):
                return self._by_pydantic(of)
            if dataclasses.is_dataclass(of):
                # Also those that `__init__` takes and the object does not keep (`InitVar`).
                kept = {field.name: field for field in dataclasses.fields(of)}
                parameters = of.__dataclass_fields__.values()
                init_only = [field for field in parameters if field.name not in kept and field._field_type is _INIT_ONLY]
                fields = [field for field in [*kept.values(), *init_only] if field.init]
                missing = dataclasses.MISSING
                required = [
                    field.name
                    for field in fields
                    if field.default is missing and field.default_factory is missing
                ]
                return self._object(of, [field.name for field in fields], required)
            if hasattr(of, "__required_keys__"):  # TypedDict
                hints = _hints(of)
                # Where annotations are texts, `__required_keys__` knows nothing of those that say it themselves.
                required = [name for name in hints if _is_required(hints[name], name in of.__required_keys__)]
                return self._object(of, list(hints), required)
        raise error(
            f"{of!r} has no JSON Schema here",
            "give a JSON Schema, a pydantic model, a dataclass, a TypedDict, or plain types",
            "schema",
        )

    def _by_pydantic(self, of: type) -> Dict[str, Any]:
        """The schema that pydantic has of one of its types. Its definitions get names of their own where others have
        theirs."""
        from pydantic import TypeAdapter

        adapter, prefix = TypeAdapter(of), ""
        while True:
            schema = dict(_with_tags(adapter.json_schema(ref_template=f"#/$defs/{prefix}{{model}}")))
            definitions = {prefix + name: found for name, found in schema.pop("$defs", {}).items()}
            if all(self.definitions.get(name, found) == found for name, found in definitions.items()):
                self.definitions.update(definitions)
                return schema
            prefix += f"{of.__name__}_"

    def _tuple(self, arguments: Tuple[Any, ...]) -> Dict[str, Any]:
        if arguments in ((), ((),)):  # Tuple[()]
            return {"type": "array", "maxItems": 0}
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
            hints = _hints(of)
            self.definitions[name] = {
                "type": "object",
                "properties": {member: self.schema(hints[member]) for member in members},
                "required": required,
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}


def _hints(of: type) -> Dict[str, Any]:
    """The annotations of a class, which may name it even where it is defined in a function."""
    try:
        return typing.get_type_hints(of, localns={of.__name__: of}, include_extras=True)
    except NameError as failure:
        raise error(
            f"an annotation of `{of.__name__}` cannot be read: {failure}",
            "define what it names in the module, or leave out `from __future__ import annotations`",
            "schema",
        ) from None


def _is_required(hint: Any, unless_said: bool) -> bool:
    """Whether a member of a TypedDict is required, by what stands around its type."""
    while True:
        name = getattr(typing.get_origin(hint), "_name", None)
        if name in ("Required", "NotRequired"):
            return name == "Required"
        if name != "ReadOnly" and not hasattr(hint, "__metadata__"):
            return unless_said
        hint = hint.__origin__ if hasattr(hint, "__metadata__") else typing.get_args(hint)[0]


def _with_tags(schema: Any) -> Any:
    """The schema of pydantic with what it demands and does not say: the tag in each branch of a discriminated union."""
    if isinstance(schema, list):
        return [_with_tags(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {key: _with_tags(part) for key, part in schema.items()}
    tag = schema.get("discriminator")
    name = tag.get("propertyName") if isinstance(tag, dict) else None
    branches = schema.get("oneOf")
    if isinstance(name, str) and isinstance(branches, list):
        schema["oneOf"] = [
            {**branch, "required": sorted({*branch.get("required", ()), name})} if isinstance(branch, dict) else branch
            for branch in branches
        ]
    return schema


#: The kind of the fields of a dataclass that are `InitVar`s.
_INIT_ONLY = dataclasses._FIELD_INITVAR  # type: ignore[attr-defined]


def _json_value(value: Any, of: Any) -> Any:
    """The value of a literal or of a member of an `Enum`."""
    plain = value.value if isinstance(value, enum.Enum) else value
    try:
        json.dumps(plain)
    except (TypeError, ValueError):
        raise error(f"{value!r} of {of!r} is no JSON", "use str, numbers, booleans and None", "schema") from None
    return plain


def _bounded(schema: Dict[str, Any], of: Any) -> Dict[str, Any]:
    """The schema with the bounds that stand in the metadata of an `Annotated` type; an error names what is none."""
    schema = dict(schema)
    kind = "number" if schema.get("type") == "integer" else schema.get("type")
    for entry in _annotations(of.__metadata__):
        is_dataclass = dataclasses.is_dataclass(entry)
        names = [field.name for field in dataclasses.fields(entry)] if is_dataclass else list(getattr(entry, "__dict__", ()))
        # `strict` forbids conversions, which JSON has none of.
        bounds = {name: getattr(entry, name) for name in names if name != "strict" and getattr(entry, name) is not None}
        keywords = {name: _BOUNDS.get(name, {}).get(kind) for name in bounds}
        if not names or None in keywords.values():
            raise error(
                f"{entry!r} of {of!r} is no bound that is known of {schema.get('type', 'such a type')}",
                "give a pydantic model or a JSON Schema, which say more",
                "schema",
            )
        for name, value in bounds.items():
            keyword, value = keywords[name], _json_value(getattr(value, "pattern", value), of)
            if keyword in schema:
                # Both hold.
                schema.setdefault("allOf", []).append({keyword: value})
            else:
                schema[keyword] = value
    return schema


def _annotations(metadata: Any) -> List[Any]:
    """What is more than documentation: texts and `Doc` say nothing of values, and pydantic's `Field` holds others."""
    found: List[Any] = []
    for entry in metadata:
        # pydantic's `conint` and the like leave `None`.
        if entry is None or isinstance(entry, str) or type(entry).__name__ == "Doc":
            continue
        if type(entry).__name__ != "FieldInfo":
            found.append(entry)
            continue
        changed = [name for name in ("alias", "validation_alias", "discriminator") if getattr(entry, name, None)]
        if changed:
            raise error(f"`{changed[0]}` of {entry!r} is not read here", "give a pydantic model", "schema")
        found.extend(entry.metadata)
    return found
