"""Tensors recorded by `stepscope.debug` during training: health by step, the catalog of tensors, and alerts."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np
from google.protobuf.message import DecodeError, Message
from numpy.typing import NDArray

from stepscope.summary.bounded_messages import parse
from stepscope.summary.debugger.model import FIGURES
from stepscope.summary.kinds.base import ColumnType, Kind, PayloadError, Table
from stepscope.summary.kinds.tensor_proto import plugin_metadata, strings, strings_tensor
from stepscope.summary.proto import summary_pb2
from stepscope.summary.proto.debug_pb2 import DebugAlerts, DebugCatalog, DebugStep
from stepscope.summary.proto.summary_pb2 import Summary

STEPS_PLUGIN: Final = "debug_steps"
CATALOG_PLUGIN: Final = "debug_catalog"
ALERTS_PLUGIN: Final = "debug_alerts"

STEPS_TAG: Final = "_debug_/steps"
"""Steps that were recorded as planned."""
RING_TAG: Final = "_debug_/ring"
"""Steps between them, written when something went wrong; under a separate tag, because they go back."""
CAUGHT_TAG: Final = "_debug_/caught"
"""Steps that were rerun in full detail."""
CATALOG_TAG: Final = "_debug_/catalog"
ALERTS_TAG: Final = "_debug_/alerts"
_VALUES_FOLDER: Final = "_debug_/values"

MOST_OBSERVATIONS: Final = 1 << 20
"""In one value; a step with more is split into several values."""
_COMPRESSION: Final = 1
_WIDEST_COLUMNS: Final = "BHIQfd"
_MOST_RATIO: Final = 1040
"""zlib expands one byte to at most this many."""

_Message = TypeVar("_Message", bound=Message)


@dataclass(frozen=True)
class HealthColumns:
    """The observations of one step, in order; decompressed on demand."""

    recording: int
    """The watcher that these numbers belong to."""
    count: int
    tensors: int
    """Above the highest tensor number."""
    decode: Callable[[], tuple[NDArray[np.int32], NDArray[np.float64]]]
    """Returns the tensors' numbers [count] and figures [count, len(FIGURES)]; NaN for figures that were not measured.

    Raises:
        PayloadError: the data is damaged.
    """


def debug_steps(
    tag: str, recording: int, tensors: NDArray[np.int32], figures: NDArray[np.float64]
) -> list[Summary.Value]:
    """Return values with the observations of one step.

    Args:
        tag: one of `STEPS_TAG`, `RING_TAG` and `CAUGHT_TAG`.
        recording: the recording's unsigned 64-bit number.
        tensors: the tensors' numbers in the catalog, shape [n].
        figures: float64, shape [n, len(FIGURES)].
    """
    return [
        _value(tag, STEPS_PLUGIN, encoded_step(recording, tensors[piece], figures[piece]))
        for piece in (slice(begin, begin + MOST_OBSERVATIONS) for begin in range(0, len(tensors), MOST_OBSERVATIONS))
    ]


def encoded_step(recording: int, tensors: NDArray[np.int32], figures: NDArray[np.float64]) -> DebugStep:
    """Return the observations as a message; each column has the smallest type that loses nothing of importance.

    Whole numbers stay exact. Others are rounded to float32, except in a column with numbers beyond its range.
    """
    columns = [_packed(tensors.astype(np.float64)), *(_packed(figures[:, column]) for column in range(len(FIGURES)))]
    content = zlib.compress(b"".join(data for _, data in columns), _COMPRESSION)
    return DebugStep(
        recording=recording,
        count=len(tensors),
        columns="".join(code for code, _ in columns),
        content=content,
        tensors=int(tensors.max(initial=-1)) + 1,
    )


def _packed(column: NDArray[np.float64]) -> tuple[str, bytes]:
    code = _smallest_type(column)
    if code == "-":
        return code, b""
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(column, f"<{code}")
    return code, rows.view(np.uint8).reshape(len(rows), -1).T.tobytes()


def _smallest_type(column: NDArray[np.float64]) -> str:
    if np.isnan(column).all():
        return "-"
    # All counts are below 2**53, so that a float64 holds them exactly.
    if (column >= 0).all() and (column <= 2**53).all() and (np.trunc(column) == column).all():
        highest = column.max()
        return next(code for code, bits in (("B", 8), ("H", 16), ("I", 32), ("Q", 64)) if highest < 2**bits)
    with np.errstate(over="ignore", under="ignore"):
        narrow = column.astype(np.float32)
    lost = (np.isinf(narrow) & ~np.isinf(column)) | ((np.abs(narrow) < np.finfo(np.float32).tiny) & (column != 0))
    whole = (np.trunc(column) == column) & (narrow != column) & ~np.isnan(column)
    return "d" if (lost | whole).any() else "f"


def decode_step(value: Summary.Value) -> HealthColumns:
    """Return the observations of a step, still compressed.

    Raises:
        PayloadError: the value holds no DebugStep message, or its columns are not the expected ones.
    """
    message = _message(value, DebugStep)
    codes = message.columns
    if len(codes) != 1 + len(FIGURES) or set(codes) - {*_WIDEST_COLUMNS, "-"} or codes.startswith("-"):
        raise PayloadError(f"expected {1 + len(FIGURES)} columns of the types {_WIDEST_COLUMNS}, got {codes[:40]!r}")
    if message.count > MOST_OBSERVATIONS:
        raise PayloadError(f"expected at most {MOST_OBSERVATIONS} observations in a value, got {message.count}")
    count, content = message.count, message.content
    size = count * sum(np.dtype(code).itemsize for code in codes if code != "-")
    if size > _MOST_RATIO * len(content):
        raise PayloadError(f"expected observations of {size} bytes, got {len(content)} compressed ones")
    tensors = message.tensors
    return HealthColumns(message.recording, count, tensors, lambda: _unpacked(codes, count, tensors, size, content))


def _unpacked(
    codes: str, count: int, tensors: int, size: int, content: bytes
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    decompressor = zlib.decompressobj()
    try:
        data = decompressor.decompress(content, size + 1)
    except zlib.error as error:
        raise PayloadError(f"expected observations compressed with zlib: {error}") from error
    if len(data) != size:
        raise PayloadError(f"expected observations of {size} bytes, got {len(data)}")
    table = np.full((count, 1 + len(FIGURES)), np.nan)
    begin = 0
    for place, code in enumerate(codes):
        if code == "-":
            continue
        width = np.dtype(code).itemsize
        planes = np.frombuffer(data, np.uint8, count * width, begin).reshape(width, count)
        table[:, place] = np.ascontiguousarray(planes.T).view(f"<{code}")[:, 0]
        begin += count * width
    numbers = table[:, 0]
    if count and not ((numbers >= 0) & (numbers < tensors) & (numbers < 2**31)).all():
        raise PayloadError(f"expected tensor numbers from 0 to {tensors - 1}, got others")
    figures = table[:, 1:]
    figures.flags.writeable = False
    return numbers.astype(np.int32), figures


def histogram_tag(phase: str, name: str) -> str:
    """Return the tag of a tensor's histograms, which are of the kind "histograms"."""
    return f"{phase}/{name}"


def value_tag(phase: str, name: str) -> str:
    """Return the tag of a tensor's whole values, which are of the kind "tensor"."""
    return f"{_VALUES_FOLDER}/{phase}/{name}"


def debug_catalog(message: DebugCatalog) -> Summary.Value:
    """Return a value with a catalog of entries seen for the first time."""
    return _value(CATALOG_TAG, CATALOG_PLUGIN, message)


def debug_alerts(message: DebugAlerts) -> Summary.Value:
    """Return a value with the findings of the rules."""
    return _value(ALERTS_TAG, ALERTS_PLUGIN, message)


def decode_catalog(value: Summary.Value) -> DebugCatalog:
    """Return the catalog of entries seen for the first time.

    Raises:
        PayloadError: the value holds no DebugCatalog message.
    """
    return _message(value, DebugCatalog)


def decode_alerts(value: Summary.Value) -> DebugAlerts:
    """Return the findings of the rules.

    Raises:
        PayloadError: the value holds no DebugAlerts message.
    """
    return _message(value, DebugAlerts)


def _value(tag: str, plugin: str, message: Message) -> Summary.Value:
    metadata = plugin_metadata(plugin, summary_pb2.DATA_CLASS_UNKNOWN)
    return Summary.Value(tag=tag, metadata=metadata, tensor=strings_tensor([message.SerializeToString()], ()))


def _message(value: Summary.Value, expected: type[_Message]) -> _Message:
    name = expected.DESCRIPTOR.name
    if value.WhichOneof("value") != "tensor":
        raise PayloadError(f"expected a {name} as a tensor, got {value.WhichOneof('value') or 'no value'}")
    parts = strings(value.tensor)
    if parts.size != 1:
        raise PayloadError(f"expected one string with a {name}, got shape {list(parts.shape)}")
    try:
        return parse(expected, parts.item())
    except DecodeError as error:
        raise PayloadError(f"expected a {name} message, got {parts.item()[:20]!r}...: {error}") from error


def _step_rows(columns: HealthColumns) -> list[tuple[Any, ...]]:
    tensors, figures = columns.decode()
    rows = zip(tensors.tolist(), figures.tolist(), strict=True)
    return [(_signed(columns.recording), tensor, *(None if f != f else f for f in row)) for tensor, row in rows]


def _catalog_rows(catalog: DebugCatalog) -> list[tuple[Any, ...]]:
    recording = _signed(catalog.recording)
    return [
        (
            recording,
            t.number,
            t.name,
            t.phase,
            t.module,
            t.op_type,
            t.slot,
            t.dtype,
            list(t.shape),
            list(t.inputs),
            t.device,
        )
        for t in catalog.tensors
    ]


def _alert_rows(alerts: DebugAlerts) -> list[tuple[Any, ...]]:
    recording = _signed(alerts.recording)
    return [
        (recording, alert.rule, alert.tensor if alert.HasField("tensor") else None, alert.message)
        for alert in alerts.alerts
    ]


def _signed(recording: int) -> int:
    return recording - (1 << 64) if recording >> 63 else recording


def _columns(**columns: ColumnType) -> Mapping[str, ColumnType]:
    return {"recording": "int", **columns}


STEPS_KIND: Final = Kind(
    plugin_name=STEPS_PLUGIN,
    decode=decode_step,
    about="the health of tensors in one step",
    is_kept=False,
    table=Table({"recording": "int", "tensor": "int", **dict.fromkeys(FIGURES, "float")}, _step_rows),
)
CATALOG_KIND: Final = Kind(
    plugin_name=CATALOG_PLUGIN,
    decode=decode_catalog,
    about="which tensors were watched, and where they were made",
    table=Table(
        _columns(
            tensor="int",
            name="name",
            phase="name",
            module="name",
            op_type="name",
            slot="int",
            dtype="name",
            shape="list[int]",
            inputs="list[int]",
            device="name",
        ),
        _catalog_rows,
    ),
)
ALERTS_KIND: Final = Kind(
    plugin_name=ALERTS_PLUGIN,
    decode=decode_alerts,
    about="what went wrong, by the rules of a recorder",
    table=Table(_columns(rule="name", tensor="int", message="str"), _alert_rows),
)
