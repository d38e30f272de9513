"""The code of a dump: its source files and the stack frames that refer to them."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple

from stepscope.summary.bounded_messages import parse
from stepscope.summary.debugger.columns import Numbered
from stepscope.summary.debugger.own_frames import is_library
from stepscope.summary.debugger.record_file import OpenAt, read_records
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.proto.debug_event_pb2 import DebugEvent, SourceFile, StackFrameWithId

MOST_FILES: Final = 100_000
MOST_FRAMES: Final = 200_000
MOST_STACKS: Final = 200_000
MOST_BYTES: Final = 200 << 20
"""Estimated memory limit for the names of files, frames and stacks."""
LONGEST_STACK: Final = 1_000
"""Maximum number of frames kept per stack, the innermost ones."""
_FILES_KEPT: Final = 64
_DEBUGGERS_OWN: Final = "tensorflow/python/debug/"


class RawFrame(NamedTuple):
    """A frame as stored in the dump."""

    file: int
    """The number of the source file."""
    line: int
    function: str
    code: str


class CodeFiles:
    """The code known so far, which only grows. One thread adds; any thread may read.

    Args:
        name: the name of the file that contains the source files.
        open_at: opens that file.
    """

    def __init__(self, name: str, open_at: OpenAt) -> None:
        self._name: Final = name
        self._open_at: Final = open_at
        self.files: Final[list[tuple[str, str]]] = []
        """Host and path of each source file. A file written twice counts once, as in TensorFlow's reader."""
        self._places: list[tuple[int, int]] = []
        self._by_path: dict[tuple[str, str], int] = {}
        self._frames: dict[str, RawFrame] = {}
        self.frame_ids: Final[Numbered[str]] = Numbered()
        """The ids of all frames that any stack refers to, including missing frames."""
        self.stacks: Final[Numbered[tuple[int, ...]]] = Numbered()
        """Stacks as the numbers of their frames, outermost first."""
        self.bytes = 0
        """Estimated memory use in bytes."""
        self._lines = lru_cache(_FILES_KEPT)(self._read_lines)

    def add_source_file(self, offset: int, length: int, file: SourceFile) -> str | None:
        """Add a source file stored at an offset; return what is wrong with it, if anything."""
        path = file.host_name, file.file_path
        known = self._by_path.get(path)
        if known is not None:
            self._places[known] = offset, length
            return None
        if len(self.files) >= MOST_FILES or self.bytes >= MOST_BYTES:
            return f"there are more than {MOST_FILES:,} source files, or their names are too long"
        self.bytes += 300 + len(file.host_name) + len(file.file_path)
        self._by_path[path] = len(self.files)
        self._places.append((offset, length))
        self.files.append(path)
        return None

    def add_frame(self, frame: StackFrameWithId) -> str | None:
        """Add a frame; return what is wrong with it, if anything."""
        where = frame.file_line_col
        if len(self._frames) >= MOST_FRAMES or self.bytes >= MOST_BYTES:
            return f"there are more than {MOST_FRAMES:,} frames of stacks, or their texts are too long"
        self.bytes += 500 + len(frame.id) + len(where.func) + len(where.code)
        self._frames[frame.id] = RawFrame(where.file_index, where.line, where.func, where.code)
        return None

    def frame(self, frame_id: str) -> tuple[str, str, RawFrame] | None:
        """Return the host, path and frame; None if the frame or its file is missing."""
        found = self._frames.get(frame_id)
        if found is None or not 0 <= found.file < len(self.files):
            return None
        return (*self.files[found.file], found)

    def stack_number(self, frame_ids: Iterable[str]) -> int:
        """Return the number of a stack, adding it if it is new; if there are too many, the number of an empty stack."""
        if len(self.stacks) >= MOST_STACKS or self.bytes >= MOST_BYTES:
            return self.stacks.number(())
        before = len(self.frame_ids), len(self.stacks)
        innermost = list(frame_ids)[-LONGEST_STACK:]
        found = self.stacks.number(tuple(map(self.frame_ids.number, innermost)))
        self.bytes += sum(300 + len(frame_id) for frame_id in self.frame_ids.values[before[0] :])
        self.bytes += (200 + 8 * len(innermost)) * (len(self.stacks) - before[1])
        return found

    def ids_of_stack(self, number: int) -> list[str]:
        """Return the ids of the frames of a stack, outermost first, including missing frames."""
        return [self.frame_ids.values[frame] for frame in self.stacks.values[number]]

    def stack(self, number: int) -> list[tuple[str, str, RawFrame]]:
        """Return the available frames of a stack, outermost first."""
        frames = map(self.frame, self.ids_of_stack(number))
        return [frame for frame in frames if frame is not None]

    def missing_frames(self) -> int:
        """Return the number of missing frames that stacks refer to."""
        return sum(self.frame(frame_id) is None for frame_id in list(self.frame_ids.values))

    def lines(self, number: int) -> tuple[str, ...]:
        """Return the lines of a source file.

        Raises:
            PayloadError: the lines can no longer be read.
        """
        return self._lines(number, *self._places[number])

    def _read_lines(self, _: int, offset: int, length: int) -> tuple[str, ...]:
        (data,) = read_records(self._open_at, self._name, [offset], [length])
        if data is None:
            raise PayloadError(f"the record at offset {offset} of {self._name} has changed since it was first read")
        return tuple(parse(DebugEvent, data).source_file.lines)


def own_frame(stack: list[tuple[str, str, RawFrame]]) -> tuple[str, str, RawFrame] | None:
    """Return the innermost frame of the program's own code; if all is installed, the innermost outside the debugger.

    The innermost frame of all is the same for every operation: the debugger's, where it captures the stack.
    """
    own = (frame for frame in reversed(stack) if not is_library(frame[1]))
    outside = (frame for frame in reversed(stack) if _DEBUGGERS_OWN not in frame[1])
    return next(own, None) or next(outside, None) or (stack[-1] if stack else None)
