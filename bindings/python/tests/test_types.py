"""JSON Schemas of Python types, beside what pydantic accepts."""

import dataclasses
import datetime
import enum
import typing
import uuid

import pytest

from maskwright import Error, check, type_schema

pydantic = pytest.importorskip("pydantic")
annotated_types = pytest.importorskip("annotated_types")
typing_extensions = pytest.importorskip("typing_extensions")
Annotated = getattr(typing, "Annotated", None) or pytest.importorskip("typing_extensions").Annotated


def model_of_an_item(kind):
    class Item(pydantic.BaseModel):
        value: kind

    class Holder(pydantic.BaseModel):
        item: Item

    return Holder


def test_models_of_one_name_stay_apart():
    both = typing.Tuple[model_of_an_item(int), model_of_an_item(bool)]
    assert check(both, '[{"item": {"value": 1}}, {"item": {"value": true}}]')
    assert not check(both, '[{"item": {"value": true}}, {"item": {"value": true}}]')
    same = model_of_an_item(int)
    assert list(type_schema(typing.Tuple[same, same])["$defs"]) == ["Item"]

    @dataclasses.dataclass
    class Item:
        name: str

    mixed = typing.Tuple[Item, same]
    assert check(mixed, '[{"name": "a"}, {"item": {"value": 1}}]')
    assert not check(mixed, '[{"value": 1}, {"item": {"value": 1}}]')


def test_dataclasses_of_pydantic():
    @pydantic.dataclasses.dataclass
    class Point:
        x: int = pydantic.Field(ge=0)
        name: str = pydantic.Field(default="a", pattern="^a+$")

    assert check(Point, '{"x": 3}') and check(Point, '{"x": 3, "name": "aa"}')
    for wrong in ("{}", '{"x": -3}', '{"x": 3, "name": "b"}'):
        assert not check(Point, wrong), wrong


def test_bounds_in_annotations():
    @dataclasses.dataclass
    class Person:
        age: Annotated[int, pydantic.Field(ge=0, le=150)]
        seed: dataclasses.InitVar[int]
        tags: Annotated[typing.List[str], pydantic.Field(max_length=1)] = ()
        name: Annotated[str, "as the passport has it"] = ""

    assert check(Person, '{"age": 5, "seed": 1}') and check(Person, '{"age": 5, "tags": ["a"], "name": "b", "seed": 1}')
    for wrong in ('{"age": -5, "seed": 1}', '{"age": 5}', '{"age": 5, "tags": ["a", "b"], "seed": 1}'):
        assert not check(Person, wrong), wrong
    assert type_schema(typing.List[pydantic.PositiveInt])["items"] == {"type": "integer", "exclusiveMinimum": 0}
    # Of two bounds of one kind both hold.
    assert check(Annotated[Annotated[int, annotated_types.Ge(5)], annotated_types.Ge(0)], "5")
    assert not check(Annotated[Annotated[int, annotated_types.Ge(5)], annotated_types.Ge(0)], "4")
    multiple = Annotated[int, annotated_types.MultipleOf(2), annotated_types.MultipleOf(3)]
    assert check(multiple, "6") and not check(multiple, "3") and not check(multiple, "2")
    assert type_schema(pydantic.constr(pattern="^a", max_length=3)) == {"type": "string", "maxLength": 3, "pattern": "^a"}


def test_values_of_enumerations_and_of_the_standard_library():
    class Color(enum.Enum):
        RED = "red"
        TWO = 2

    assert type_schema(Color) == {"enum": ["red", 2]} and type_schema(typing.Literal[Color.RED, 3]) == {"enum": ["red", 3]}
    assert type_schema(typing.Tuple[()]) == {"type": "array", "maxItems": 0}
    assert type_schema(typing.Tuple) == type_schema(tuple) == {"type": "array"}
    assert check(datetime.date, '"2026-11-28"') and not check(datetime.date, '"2026-11-31"')
    assert check(uuid.UUID, '"a9f0e61a-137d-86aa-9db5-3465512a9ed9"')


@pytest.mark.parametrize("of, named", [
    (Annotated[typing.Optional[int], pydantic.Field(ge=1)], "Ge"),
    (Annotated[int, pydantic.Field(min_length=1)], "MinLen"),
    (pydantic.constr(to_upper=True), "to_upper"),
    (Annotated[int, pydantic.Field(alias="b")], "alias"),
    (typing.Literal[b"x"], "b'x'"),
    (None, "no schema"),
    ({"const": {1, 2}}, "no JSON"),
], ids=str)
def test_what_a_schema_cannot_tell_is_refused(of, named):
    with pytest.raises(Error, match=named):
        check(of, "1")


def test_members_of_typed_dicts_whose_annotations_are_texts():
    """As `from __future__ import annotations` makes them."""
    made = typing.TypedDict("Made", {"a": "typing_extensions.Required[int]", "b": "str"}, total=False)
    kept = typing.TypedDict("Kept", {"a": "int", "b": "typing_extensions.NotRequired[typing.List[int]]"})
    for of in (made, kept):
        schema = type_schema(of)["$defs"][of.__name__]
        assert schema["required"] == ["a"] and set(schema["properties"]) == {"a", "b"}


def test_tags_of_unions_are_required():
    class Cat(pydantic.BaseModel):
        kind: typing.Literal["cat"] = "cat"

    class Dog(pydantic.BaseModel):
        kind: typing.Literal["dog"] = "dog"
        age: int

    class Owner(pydantic.BaseModel):
        pet: typing.Union[Cat, Dog] = pydantic.Field(discriminator="kind")

    for text, expected in [('{"pet": {"kind": "cat"}}', True), ('{"pet": {}}', False), ('{"pet": {"age": 1}}', False)]:
        assert check(Owner, text).accepted == expected
        assert (_valid(Owner, text)) == expected


def _valid(model, text):
    try:
        model.model_validate_json(text)
    except pydantic.ValidationError:
        return False
    return True


def test_classes_of_a_function_whose_annotations_are_texts():
    @dataclasses.dataclass
    class Node:
        next: "typing.Optional[Node]" = None

    assert check(Node, '{"next": {"next": null}}') and not check(Node, '{"next": 1}')

    class Place(typing.TypedDict):
        city: "Town"  # noqa: F821

    with pytest.raises(Error, match="an annotation of `Place` cannot be read: name 'Town' is not defined"):
        type_schema(Place)
