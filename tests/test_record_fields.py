"""What is said of records whose fields are not what they are declared to be."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple, Protocol

import pytest

from stepscope.record_fields import check_fields, check_methods, check_place


class Part(NamedTuple):
    name: str
    unit: Literal["ns", "bytes"]


@dataclass(frozen=True)
class Whole:
    kind: ClassVar[str] = "whole"
    name: str = ""
    parts: tuple[Part, ...] = ()
    pair: tuple[int, float] = (1, 2)
    act: Callable[[int], int] | None = None
    columns: Mapping[str, Literal["int", "str"]] | None = None
    some: Sequence[int | str] = ()
    anything: Any = None
    later: "NotImported | None" = None  # type: ignore[name-defined]  # noqa: F821


def said_of(record: object) -> str:
    with pytest.raises(TypeError) as refused:
        check_fields(record, Whole)
    return str(refused.value)


def test_records_whose_fields_are_as_declared() -> None:
    for record in (
        Whole(),
        Whole("a", (Part("b", "ns"),), (1, 2.5), abs, {"c": "int"}, [1, "two"], object(), 7),
        Whole(some=(1, True)),
    ):
        check_fields(record, Whole)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"name": 7}, "name is 7, expected str"),
        ({"parts": "ab"}, "parts is 'ab', expected a tuple of Part"),
        ({"parts": [Part("b", "ns")]}, "parts is [Part(name='b', unit='ns')], expected a tuple of Part"),
        ({"parts": (Part("a", "ns"), "b")}, "parts[1] is 'b', expected Part"),
        ({"parts": (Part("a", "seconds"),)}, "parts[0].unit is 'seconds', expected one of 'ns', 'bytes'"),  # type: ignore[arg-type]
        ({"pair": (1, "2")}, "pair[1] is '2', expected float"),
        ({"pair": (1, 2, 3)}, "pair is (1, 2, 3), expected a tuple of int, float"),
        ({"act": "abs"}, "act is 'abs', expected a function or None"),
        ({"columns": {"x": "float"}}, "columns['x'] is 'float', expected one of 'int', 'str'"),
        ({"columns": {3: "int"}}, "a key of columns is 3, expected str"),
        ({"columns": "int"}, "columns is 'int', expected a mapping of str to one of 'int', 'str' or None"),
        ({"some": [1, 2.5]}, "some[1] is 2.5, expected int or str"),
        ({"some": "12"}, "some is '12', expected a sequence of int or str"),
        ({"name": ["x" * 100]}, f"name is ['{'x' * 75}..., expected str"),
    ],
)
def test_a_field_that_is_not_as_declared_is_named(fields: dict[str, Any], said: str) -> None:
    assert said_of(replace(Whole(), **fields)) == said


def test_a_field_that_is_missing_is_named() -> None:
    class Empty:
        kind = "whole"

    assert said_of(Empty()) == "name is missing, expected str"


def test_methods_of_a_protocol() -> None:
    class Runs(Protocol):
        def run(self) -> int: ...

    class Stops:
        def stop(self) -> int:
            return 0

    check_methods(type("Good", (), {"run": len})(), Runs)
    with pytest.raises(TypeError, match=r"^Stops has no method 'run'$"):
        check_methods(Stops(), Runs)


def test_places_of_classes() -> None:
    check_place("package.module:Class")
    with pytest.raises(ValueError, match=r"^path is 'package\.Class', expected 'package\.module:Class'$"):
        check_place("package.Class")
