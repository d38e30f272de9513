"""Event files of any kind, bytes that resemble one, and the damage that may happen to them."""

import io
import itertools
import math
import struct
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from random import Random
from typing import Any, BinaryIO, Final

from stepscope.summary.proto import types_pb2
from stepscope.summary.proto.event_pb2 import Event, LogMessage, SessionLog, TaggedRunMetadata
from stepscope.summary.proto.summary_pb2 import HistogramProto, Summary
from stepscope.summary.proto.tensor_pb2 import TensorProto
from stepscope.summary.records import frame, header
from stepscope.summary.series import SCALARS
from stepscope.summary.source import FoundFile

_SCALAR_TAGS: Final = ("loss", "acc/ü", "")


class MemorySource:
    """Files held as bytes; a file that replaces another has a different identity or time of change."""

    address = "memory"
    watchable_folders: Sequence[Path] = ()

    def __init__(self) -> None:
        self._files: dict[PurePosixPath, tuple[FoundFile, bytes]] = {}
        self._changes = itertools.count(1)

    def content(self, path: str) -> bytes:
        """Return the content of a file, empty if there is none."""
        found = self._files.get(PurePosixPath(path))
        return found[1] if found is not None else b""

    def put(self, path: str, content: bytes, *, other_file: bool = False) -> None:
        place, change = PurePosixPath(path), next(self._changes)
        identity = (0, change) if other_file or place not in self._files else self._files[place][0].identity
        self._files[place] = FoundFile(place, len(content), change, identity), content

    def delete(self, path: str) -> None:
        self._files.pop(PurePosixPath(path), None)

    def folders_to_watch(self, most: int) -> Sequence[str]:
        return ()

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        return iter([found for found, _ in self._files.values()])

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        return {}

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        if path not in self._files:
            raise FileNotFoundError(2, "No such file or directory", str(path))
        stream = io.BytesIO(self._files[path][1])
        stream.seek(offset)
        return stream

    def locate(self, path: PurePosixPath) -> str:
        return f"memory/{path}"


class Unreliable(io.BytesIO):
    """A stream that returns few bytes at a time, and sometimes raises an error instead."""

    def __init__(self, content: bytes, random: Random, error_share: float) -> None:
        super().__init__(content)
        self._random = random
        self._error_share = error_share

    def read(self, size: int | None = -1) -> bytes:
        self._fail_at_times()
        return super().read(self._random.randint(1, size) if size is not None and size > 1 else size)

    def seek(self, offset: int, whence: int = 0) -> int:
        self._fail_at_times()
        return super().seek(offset, whence)

    def _fail_at_times(self) -> None:
        if self._random.random() < self._error_share:
            raise OSError(5, "Input/output error")


def random_event(random: Random, begin: float) -> Event:
    """Return an event that some writer might write, of any kind and form, usually within a second of a time."""
    time = random.choice([0.0, 1.5, 1.7e9, -1.0, math.nan]) if random.random() < 0.03 else begin
    event = Event(wall_time=time + random.random(), step=_random_step(random))
    match random.choice(["values"] * 8 + ["start", "version", "log", "graph", "run metadata"]):
        case "values":
            event.summary.value.extend(random_value(random) for _ in range(random.choice([1, 1, 1, 2, 3, 40])))
        case "start":
            event.session_log.status = SessionLog.START
        case "version":
            event.file_version = "brain.Event:2"
        case "log":
            event.log_message.CopyFrom(LogMessage(message="hello"))
        case "graph":
            event.graph_def = b""
        case _:
            event.tagged_run_metadata.CopyFrom(TaggedRunMetadata(tag="trace", run_metadata=b""))
    return event


def _random_step(random: Random) -> int:
    return random.choice([random.randint(0, 9), random.randint(0, 1000), 2**31, 2**63 - 1, -1, -(2**63)])


def random_value(random: Random) -> Summary.Value:
    number = random.choice([0.0, 1.5, -2.0, float("nan"), float("inf"), random.random()])
    tag = random.choice(_SCALAR_TAGS)
    # Sometimes a tag that other files use differently.
    any_tag = random.choice([*_SCALAR_TAGS, "t", "note"]) if random.random() < 0.1 else ""
    int64 = TensorProto(dtype=types_pb2.DT_INT64, int64_val=[7])
    match random.randint(0, 13):
        case 0 | 1 | 2:
            return Summary.Value(tag=tag, simple_value=number)
        case 3:
            return with_kind(SCALARS, tag, TensorProto(dtype=types_pb2.DT_FLOAT, float_val=[number]))
        case 4:
            content = struct.pack("<d", number)
            return with_kind(SCALARS, tag, TensorProto(dtype=types_pb2.DT_DOUBLE, tensor_content=content))
        case 5:
            int64.tensor_shape.dim.add(size=1)
            return with_kind(SCALARS, any_tag or tag, int64)
        case 6:
            return with_kind(SCALARS, tag, TensorProto(dtype=types_pb2.DT_STRING, string_val=[b"no number"]))
        case 7:
            return Summary.Value(node_name="older", simple_value=number)
        case 8:
            text = b"# hello" * random.randint(0, 30)
            return with_kind("text", any_tag or "note", TensorProto(dtype=types_pb2.DT_STRING, string_val=[text]))
        case 9:
            content = bytes(4 * random.randint(0, 3))
            return with_kind("tensor", any_tag or "t", TensorProto(dtype=types_pb2.DT_INT32, tensor_content=content))
        case 10:
            image = Summary.Image(width=1, height=1, encoded_image_string=bytes(random.randint(0, 99)))
            return Summary.Value(tag=any_tag or "image", image=image)
        case 11:
            return Summary.Value(tag="histo", histo=HistogramProto(bucket_limit=[1.0, 2.0], bucket=[3.0, number]))
        case 12:
            return Summary.Value(tag=any_tag or "bare", tensor=int64)
        case _:
            return Summary.Value(tag="audio", audio=Summary.Audio(encoded_audio_string=b"RIFF"))


def with_kind(kind: str, tag: str, tensor: TensorProto) -> Summary.Value:
    value = Summary.Value(tag=tag, tensor=tensor)
    value.metadata.plugin_data.plugin_name = kind
    return value


def random_file(random: Random, most: int = 12) -> bytes:
    # Files follow each other, or are written at the same time.
    begin = float(random.randint(0, 3))
    return b"".join(frame(random_event(random, begin).SerializeToString()) for _ in range(random.randint(0, most)))


def damaged(content: bytes, random: Random) -> bytes:
    """Return the bytes after one mishap."""
    at = random.randint(0, len(content))
    length = random.randint(0, 40)
    match random.randint(0, 6):
        case 0 | 1 if content:
            at = min(at, len(content) - 1)
            return content[:at] + bytes([content[at] ^ 1 << random.randint(0, 7)]) + content[at + 1 :]
        case 2:
            return content[:at]
        case 3:
            return content[:at] + content[at + length :]
        case 4:
            return content[:at] + random.randbytes(length) + content[at:]
        case 5:
            return content[:at] + bytes(length) + content[at + length :]
        case _:
            return content[:at] + header(random.choice([0, 1, 50, 5000, 2**31, 2**31 + 1, 2**63])) + content[at:]


@dataclass
class Wire:
    """Messages in Protobuf's wire format, made of any fields in any order."""

    random: Random
    groups: int = 0
    """Number of groups among the fields; no event has any, so the scan treats the record as damaged."""
    payloads: int = 0
    """Number of fields set of which an event should have only one; more than one is damage too."""

    def message(self, fields: Mapping[int, str], depth: int = 0) -> bytes:
        return b"".join(self._field(fields, depth) for _ in range(self.random.choice([0, 1, 2, 3, 5])))

    def _field(self, fields: Mapping[int, str], depth: int) -> bytes:
        random = self.random
        number = (
            random.choice(list(fields) or [1]) if random.random() < 0.8 else random.choice([1, 2, 5, 15, 2**29 - 1])
        )
        name = fields.get(number, "")
        match random.randint(0, 19):
            case 0:
                self.groups += 1
                return _varint(number << 3 | 3) + _varint(number << 3 | 4)
            case 1:
                return _varint(number << 3 | 5) + random.randbytes(4)
            case 2:
                return _varint(number << 3 | 1) + random.randbytes(8)
            case 3:
                return _varint(number << 3) + _varint(random.choice([0, 1, 2, 300, 2**28, 2**56, 2**64 - 1]))
            case _:
                return self._own_field(number, name, depth)

    def _own_field(self, number: int, name: str, depth: int) -> bytes:
        random = self.random
        self.payloads += depth == 0 and 3 <= number <= 9
        if name == "double":
            return _varint(number << 3 | 1) + struct.pack("<d", random.choice([0.0, 1.5, 1e300]))
        if name == "float":
            return _varint(number << 3 | 5) + struct.pack("<f", random.choice([0.0, 1.5, -3e38]))
        if name == "varint":
            return _varint(number << 3) + _varint(random.choice([0, 1, 1, 2, 2, 7, 9, 2**32 + 1, 2**64 - 1]))
        if name in FIELDS and depth < 6:
            content = self.message(FIELDS[name], depth + 1)
        elif name == "packed floats":
            content = struct.pack("<f", 0.25) * random.choice([0, 1, 1, 2]) + bytes(random.choice([0, 0, 0, 1]))
        elif name == "packed doubles":
            content = struct.pack("<d", 0.5) * random.choice([0, 1, 1, 2])
        else:
            content = random.choice([b"", b"a", b"bc", b"scalars", b"\xff", bytes(4), bytes(8)])
        return _varint(number << 3 | 2) + _varint(len(content)) + content


FIELDS: Final[Mapping[str, Mapping[int, str]]] = {
    "event": {1: "double", 2: "varint", 3: "bytes", 5: "summary"},
    "summary": {1: "value"},
    "value": {1: "bytes", 2: "float", 4: "bytes", 7: "bytes", 8: "tensor", 9: "metadata"},
    "metadata": {1: "plugin data", 2: "bytes", 3: "bytes"},
    "plugin data": {1: "bytes", 2: "bytes"},
    "tensor": {1: "varint", 2: "shape", 4: "bytes", 5: "packed floats", 6: "packed doubles", 10: "varint"},
    "shape": {2: "dim", 3: "varint"},
    "dim": {1: "varint", 2: "bytes"},
}


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def random_tensor(random: Random) -> TensorProto:
    sizes = [0, 1, 1, 2, 3, 6, -1, 2**24, 2**31, 2**58, 2**59, 2**62, 2**63 - 1]
    unknown: Any = random.choice([77, 2**31 - 1])
    tensor = TensorProto(dtype=random.choice([*types_pb2.DataType.values(), unknown]))
    for _ in range(random.choice([0, 1, 2, 3, 40])):
        tensor.tensor_shape.dim.add(size=random.choice(sizes))
    tensor.tensor_shape.unknown_rank = random.random() < 0.05
    count = random.choice([0, 1, 2, 3, 6, 18])
    match random.randint(0, 5):
        case 0:
            tensor.tensor_content = random.randbytes(count)
        case 1:
            tensor.string_val.extend([random.choice([b"", b"1", b"\xff", b"{}", b"[" * 2000])] * count)
        case 2:
            tensor.float_val.extend([float("nan")] * count)
        case 3:
            tensor.half_val.extend([random.choice([0, -1, 2**31 - 1])] * count)
        case 4:
            tensor.scomplex_val.extend([1.0] * count)
        case _:
            tensor.uint64_val.extend([2**64 - 1] * count)
    return tensor
