"""Guards kinds of other distributions: any error in one becomes a `PayloadError` that names it."""

import operator
import reprlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final, TypeVar

from numpy.typing import NDArray

from stepscope.plugins import ERRORS_OF_OTHERS, Plugin, PluginFailure
from stepscope.summary.arguments import as_array
from stepscope.summary.cancellation import Cancelled
from stepscope.summary.kinds.base import ColumnType, Kind, PayloadError, PayloadFile, Table
from stepscope.summary.proto.summary_pb2 import Summary

_MOST_ARRAY_BYTES: Final = 1 << 31
_Result = TypeVar("_Result")
_Fail = Callable[[Plugin, BaseException, str], PluginFailure]


def guarded(kind: Kind, plugin: Plugin, fail: _Fail) -> Kind:
    """Return a kind whose functions raise only `PayloadError`, and whose rows match its columns.

    Args:
        kind: a kind of another distribution.
        plugin: the plug-in that it comes from.
        fail: called with any error; see `stepscope.plugins.Extensions.fail`.
    """

    def safe(function: Callable[[Any], _Result], doing: str) -> Callable[[Any], _Result]:
        def call(argument: Any) -> _Result:
            try:
                return function(argument)
            except (PayloadError, Cancelled):
                raise
            except ERRORS_OF_OTHERS as error:
                raise PayloadError(str(fail(plugin, error, doing))) from error

        return call

    array, files, legacy_form = kind.array, kind.files, kind.legacy_form
    return replace(
        kind,
        decode=safe(kind.decode, "decode"),
        table=kind.table and _guarded_table(kind.table, safe),
        array=array and safe(lambda payload: _array(array(payload)), "array"),
        files=files and safe(lambda payload: [_file(file) for file in files(payload)], "files"),
        legacy_form=legacy_form and safe(lambda value: _value(legacy_form(value)), "legacy_form"),
    )


def _guarded_table(
    table: Table, safe: Callable[[Callable[[Any], list[tuple[Any, ...]]], str], Callable[[Any], list[tuple[Any, ...]]]]
) -> Table:
    return Table(table.columns, safe(lambda payload: [_row(table.columns, row) for row in table.rows(payload)], "rows"))


def _row(columns: Mapping[str, ColumnType], row: Sequence[Any]) -> tuple[Any, ...]:
    if len(row) != len(columns):
        raise ValueError(f"expected rows of {len(columns)} elements ({', '.join(columns)}), got {len(row)}")
    return tuple(
        None if element is None else _CONVERSIONS[column](element)
        for column, element in zip(columns.values(), row, strict=True)
    )


def _array(values: Any) -> NDArray[Any]:
    array = as_array(values, "the array", allow_complex=True)
    # Views may be larger than any memory.
    if array.nbytes > _MOST_ARRAY_BYTES:
        raise ValueError(f"the array has {array.nbytes:,} bytes, expected at most {_MOST_ARRAY_BYTES:,}")
    return array


def _value(value: Any) -> Summary.Value:
    if not isinstance(value, Summary.Value):
        raise TypeError(f"expected a Summary.Value, got {reprlib.repr(value)}")
    return value


def _file(file: Any) -> PayloadFile:
    if not isinstance(file, tuple) or len(file) != 2 or not isinstance(file[0], (bytes, bytearray, memoryview)):
        raise TypeError(f"expected PayloadFile(bytes, ending), got {reprlib.repr(file)}")
    content, ending = file
    # The ending becomes part of a path.
    if not isinstance(ending, str) or not ending.removeprefix(".").replace(".", "").isalnum():
        raise ValueError(f'expected the ending of a file, such as ".png", got {ending!r}')
    return PayloadFile(bytes(content), f".{ending.removeprefix('.')}")


def _whole(value: Any) -> int:
    number = operator.index(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"expected a 64-bit integer, got {number}")
    return number


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a string, got {type(value).__name__} {value!r}")
    # Text that no file can hold would end the whole export.
    return value.encode(errors="replace").decode()


def _list_of(convert: Callable[[Any], _Result]) -> Callable[[Iterable[Any]], list[_Result]]:
    return lambda values: [convert(value) for value in values]


_CONVERSIONS: Final[Mapping[ColumnType, Callable[[Any], Any]]] = MappingProxyType(
    {
        "bool": bool,
        "int": _whole,
        "float": float,
        "str": _text,
        "name": _text,
        "bytes": bytes,
        "list[int]": _list_of(_whole),
        "list[float]": _list_of(float),
        "list[str]": _list_of(_text),
    }
)
