"""A trace as one compact file of columns, which opens without parsing: ``*.sstrace``.

Layout, little-endian: the magic; the uint32 length and uint32 CRC-32C of the header; the header (msgpack, compressed
with Zstandard); then the parts, each compressed and with its own CRC in the header. Columns of integers are stored as
the differences between neighbors, which are small. Arguments are stored in blocks of `BLOCK` slices, unpacked on
request: the uint32 length of each slice's arguments, then all of them as consecutive msgpack messages.
"""

import struct
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Annotated, Any, Final, TypeAlias

import msgspec
import numpy as np
from numpy.typing import NDArray

from stepscope.profiler.collectors.host import plain_text
from stepscope.profiler.trace import Counter, Flows, Lane, LaneKind, Losses, Step, Trace
from stepscope.profiler.traces.checks import are_in_rows
from stepscope.profiler.traces.compression import unpacked, zstd_compress
from stepscope.profiler.traces.error import TraceError
from stepscope.profiler.traces.limits import Limits, limits_of_memory
from stepscope.profiler.traces.losses import merged
from stepscope.profiler.traces.reader import TraceReader
from stepscope.profiler.traces.texts import BoundedTexts
from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.records import crc32c

MAGIC: Final = b"stepscope trace 1\n"
BLOCK: Final = 4096
"""Number of slices whose arguments are packed together."""
_HEAD: Final = struct.Struct("<II")
_MOST_BYTES: Final = 512 << 20
"""Maximum unpacked size of the header or of a block of arguments."""
_KEPT_BYTES: Final = 64 << 20
"""Maximum total size of the unpacked blocks that are kept."""


_Int64: TypeAlias = Annotated[int, msgspec.Meta(ge=-(1 << 63), le=(1 << 63) - 1)]


class _Part(msgspec.Struct, array_like=True, frozen=True):
    """Position of a part, relative to the end of the header."""

    start: int
    length: int
    crc: int


class _Column(msgspec.Struct, array_like=True, frozen=True):
    name: str
    dtype: str
    count: int
    part: _Part


class _StoredLane(msgspec.Struct, array_like=True, frozen=True):
    process: str
    name: str
    pid: int | str
    tid: int | str
    kind: LaneKind
    depths: _Int64


class _StoredStep(msgspec.Struct, array_like=True, frozen=True):
    number: _Int64
    name: str
    start_ns: _Int64
    duration_ns: _Int64


class _Header(msgspec.Struct, array_like=True, frozen=True):
    names: list[str]
    categories: list[str]
    lanes: list[_StoredLane]
    steps: list[_StoredStep]
    counters: list[tuple[str, str, str]]
    counts: dict[str, int]
    notes: list[str]
    examples: dict[str, str]
    metadata: dict[str, Any]
    epoch_ns: _Int64 | None
    columns: list[_Column]
    arguments: list[_Part]


_DECODER: Final = msgspec.msgpack.Decoder(_Header)
_ARGUMENTS_DECODER: Final = msgspec.msgpack.Decoder(dict[str, Any])
_SLICE_COLUMNS: Final = {
    "start_ns": "<i8", "duration_ns": "<i8", "lane": "<i4", "depth": "<i4", "name_id": "<i4", "category_id": "<i4",
}  # fmt: skip
_FLOW_COLUMNS: Final = {"source": "<i8", "target": "<i8", "category_id": "<i4"}
_COUNTER_COLUMNS: Final = {"times": "<i8", "values": "<f8"}


def encode_cache(trace: Trace) -> bytes:
    """Return a trace as the bytes of a cache file. All of it is kept; values that cannot be encoded become text."""
    parts: list[bytes] = []
    size = 0

    def stored(content: bytes) -> _Part:
        nonlocal size
        packed = zstd_compress(content)
        parts.append(packed)
        size += len(packed)
        return _Part(size - len(packed), len(packed), crc32c(packed))

    dtypes = _dtypes(len(trace.counters))

    def column(name: str, values: NDArray[Any]) -> _Column:
        plain = np.ascontiguousarray(values, dtypes[name])
        content = plain.tobytes() if plain.dtype.kind == "f" else np.diff(plain, prepend=plain.dtype.type(0)).tobytes()
        return _Column(name, plain.dtype.str, len(plain), stored(content))

    columns = [column(name, getattr(trace, name)) for name in _SLICE_COLUMNS]
    columns += [column(f"flow {name}", getattr(trace.flows, name)) for name in _FLOW_COLUMNS]
    for index, counter in enumerate(trace.counters):
        columns += [column(f"times {index}", counter.times_ns), column(f"values {index}", counter.values)]
    blocks = [
        stored(_block([_packed(dict(trace.arguments[i])) for i in range(start, min(start + BLOCK, len(trace)))]))
        for start in range(0, len(trace), BLOCK)
    ]
    header = _Header(
        names=[plain_text(name) for name in trace.names],
        categories=[plain_text(category) for category in trace.categories],
        lanes=[
            _StoredLane(plain_text(e.process), plain_text(e.name), _place(e.pid), _place(e.tid), e.kind, e.depths)
            for e in trace.lanes
        ],
        steps=[_StoredStep(e.number, plain_text(e.name), e.start_ns, e.duration_ns) for e in trace.steps],
        counters=[(plain_text(e.process), plain_text(e.name), plain_text(e.series)) for e in trace.counters],
        counts={plain_text(reason): count for reason, count in trace.losses.counts.items()},
        notes=[plain_text(note) for note in trace.losses.notes],
        examples={plain_text(reason): plain_text(example) for reason, example in trace.losses.examples.items()},
        metadata=_writable(dict(trace.metadata), 0),
        epoch_ns=trace.epoch_ns,
        columns=columns,
        arguments=blocks,
    )
    packed = zstd_compress(msgspec.msgpack.encode(header))
    return b"".join([MAGIC, _HEAD.pack(len(packed), crc32c(packed)), packed, *parts])


def _dtypes(counters: int) -> dict[str, str]:
    """Return the names and types of the columns of a trace with a number of counters."""
    of_flows = {f"flow {name}": dtype for name, dtype in _FLOW_COLUMNS.items()}
    of_counters = {f"{name} {index}": dtype for index in range(counters) for name, dtype in _COUNTER_COLUMNS.items()}
    return _SLICE_COLUMNS | of_flows | of_counters


def _block(packed: list[bytes]) -> bytes:
    return b"".join([np.array([len(each) for each in packed], "<u4").tobytes(), *packed])


def _packed(arguments: dict[str, Any]) -> bytes:
    if not arguments:
        return b""
    try:
        return msgspec.msgpack.encode(arguments)
    except (TypeError, ValueError, OverflowError, RecursionError, UnicodeEncodeError):
        return msgspec.msgpack.encode(_writable(arguments, 0))


def _place(identifier: int | str) -> int | str:
    return plain_text(identifier) if isinstance(identifier, str) else identifier


def _writable(value: Any, depth: int) -> Any:
    """Return the value with text in place of what msgpack cannot hold."""
    if isinstance(value, str):
        return plain_text(value)
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return value
    if isinstance(value, int):
        return value if -(1 << 63) <= value < 1 << 64 else str(value)
    if isinstance(value, Mapping) and depth < 100:
        return {plain_text(str(key)): _writable(entry, depth + 1) for key, entry in value.items()}
    if isinstance(value, list | tuple) and depth < 100:
        return [_writable(entry, depth + 1) for entry in value]
    return plain_text(str(value)[:10_000])


def read_cache(data: bytes, *, name: str) -> Trace:
    """Read a cache file written by `encode_cache`; ``name`` is used in messages.

    Damaged arguments are left out when they are requested.

    Raises:
        TraceError: the file is damaged or cut off in the part that holds the slices.
    """
    header, first = _header_of(data, name)
    found: dict[str, NDArray[Any]] = {}
    dtypes = _dtypes(len(header.counters))
    for column in header.columns:
        check_cancelled()
        content = _part(data, first, column.part, limits_of_memory().file_bytes)
        values = _values(column, dtypes.get(column.name), content)
        if values is None:
            raise TraceError(f"{name} is damaged: its column “{column.name}” cannot be read. Convert the trace again.")
        found[column.name] = values
    _check(found, header, name)
    texts = BoundedTexts()
    lanes = tuple(texts.lane(Lane(e.process, e.name, e.pid, e.tid, e.kind, e.depths)) for e in header.lanes)
    losses = Losses(header.counts, tuple(header.notes), header.examples)
    return Trace(
        **{key: found[key] for key in _SLICE_COLUMNS},
        names=texts.all_of(tuple(header.names)),
        categories=texts.all_of(tuple(header.categories)),
        lanes=lanes,
        arguments=CachedArguments(data, first, header.arguments, len(found["start_ns"])),
        flows=Flows(found["flow source"], found["flow target"], found["flow category_id"]),
        counters=tuple(
            texts.counter(Counter(process, name, series, found[f"times {index}"], found[f"values {index}"]))
            for index, (process, name, series) in enumerate(header.counters)
        ),
        steps=tuple(texts.step(Step(e.number, e.name, e.start_ns, e.duration_ns)) for e in header.steps),
        losses=merged(losses, texts.losses()),
        metadata=header.metadata,
        epoch_ns=header.epoch_ns,
    )


def _unpacked(packed: bytes, name: str, most: int) -> tuple[bytes, tuple[str, ...]]:
    """Call `unpacked` for up to ``most`` bytes; repetitive data, such as columns, may be packed to a ten-thousandth."""
    return unpacked(packed, name, Limits(most, 0, 0, always_unpacked=most))


def _header_of(data: bytes, name: str) -> tuple[_Header, int]:
    first = len(MAGIC) + _HEAD.size
    if len(data) < first:
        raise TraceError(f"{name} ends in its header. Convert the trace again.")
    length, crc = _HEAD.unpack_from(data, len(MAGIC))
    packed = data[first : first + length]
    if len(packed) < length or crc32c(packed) != crc:
        raise TraceError(f"{name} is damaged: the header is not as it was written. Convert the trace again.")
    try:
        return _DECODER.decode(_unpacked(packed, name, _MOST_BYTES)[0]), first + length
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise TraceError(
            f"{name} is from a different version of Stepscope: {error}. Convert the trace again."
        ) from None


def _part(data: bytes, first: int, part: _Part, most: int = _MOST_BYTES) -> bytes | None:
    packed = data[first + part.start : first + part.start + part.length]
    if min(part.start, part.length) < 0 or len(packed) < part.length or crc32c(packed) != part.crc:
        return None
    try:
        content, notes = _unpacked(packed, "", most)
    except TraceError:
        return None
    return None if notes else content


def _values(column: _Column, dtype: str | None, content: bytes | None) -> NDArray[Any] | None:
    if content is None or column.dtype != dtype or len(content) != column.count * np.dtype(dtype).itemsize:
        return None
    values = np.frombuffer(content, dtype)
    return values.copy() if values.dtype.kind == "f" else np.cumsum(values, dtype=values.dtype)


def _check(found: Mapping[str, NDArray[Any]], header: _Header, name: str) -> None:
    """Check that all columns exist, have the same length, and point into their tables."""
    size = len(found.get("start_ns", ()))
    wanted = _dtypes(len(header.counters))
    good = found.keys() == wanted.keys() and len({len(found[key]) for key in _SLICE_COLUMNS}) == 1
    limits = {"lane": len(header.lanes), "name_id": len(header.names), "category_id": len(header.categories)}
    limits |= {"flow source": size, "flow target": size, "flow category_id": len(header.categories)}
    good = good and all(
        not len(found[key]) or (int(found[key].min()) >= 0 and int(found[key].max()) < limit)
        for key, limit in limits.items()
    )
    good = good and len(header.arguments) == -(-size // BLOCK)
    depths = [lane.depths for lane in header.lanes]
    if not good or not are_in_rows(found["start_ns"], found["duration_ns"], found["lane"], found["depth"], depths):
        raise TraceError(f"{name} is damaged: its columns do not fit together. Convert the trace again.")


class _Block:
    """Arguments of consecutive slices, as msgpack."""

    def __init__(self, content: bytes, slices: int) -> None:
        lengths = np.frombuffer(content, "<u4", count=slices)
        self.offsets: Final = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)]) + lengths.nbytes
        self.content: Final = content


class CachedArguments:
    """Arguments of slices in packed blocks; the most recently used blocks stay unpacked. Thread-safe."""

    def __init__(self, data: bytes, first: int, blocks: list[_Part], slices: int) -> None:
        self._data = data
        self._first = first
        self._blocks = blocks
        self._slices = slices
        self._unpacked: OrderedDict[int, _Block | None] = OrderedDict()
        self._bytes = 0
        self._lock = Lock()

    def __getitem__(self, slice_index: int) -> Mapping[str, Any]:
        number, index = divmod(int(slice_index), BLOCK)
        block = self._block(number)
        if block is not None:
            start, end = int(block.offsets[index]), int(block.offsets[index + 1])
            try:
                return _ARGUMENTS_DECODER.decode(block.content[start:end]) if end > start else {}
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass
        return {"damaged": "the arguments of this slice cannot be read"}

    def _block(self, number: int) -> _Block | None:
        with self._lock:
            if number in self._unpacked:
                self._unpacked.move_to_end(number)
                return self._unpacked[number]
        content = _part(self._data, self._first, self._blocks[number])
        slices = min(BLOCK, self._slices - number * BLOCK)
        block = None if content is None or len(content) < 4 * slices else _Block(content, slices)
        with self._lock:
            if number not in self._unpacked:
                self._unpacked[number] = block
                self._bytes += 0 if block is None else len(block.content)
            while self._bytes > _KEPT_BYTES and len(self._unpacked) > 1:
                _, oldest = self._unpacked.popitem(last=False)
                self._bytes -= 0 if oldest is None else len(oldest.content)
        return block


READER: Final = TraceReader(
    name="cache",
    about="a Stepscope cache (.sstrace)",
    sniff=lambda beginning: beginning.startswith(MAGIC),
    read=lambda data, name, _notes, _limits: read_cache(data, name=name),
    suffixes=(".sstrace",),
)
