"""The watched tensors by number, the stacks that made them, and the source of the program, each written once."""

import linecache
import sys
import sysconfig
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from types import FrameType
from typing import Final

from stepscope.summary.debugger.model import Frame, WatchedTensor
from stepscope.summary.debugger.own_frames import is_library
from stepscope.summary.proto.debug_pb2 import DebugCatalog, DebugFrame, DebugSource, DebugStack, DebugTensor

MOST_TENSORS: Final = 100_000
"""Maximum number of tensors; further ones are counted and not watched."""
MOST_FRAMES: Final = 64
"""Maximum number of frames of a stack, counted from the innermost."""
MOST_SOURCE_BYTES: Final = 1 << 18
"""Maximum size of a file."""
MOST_SOURCES_BYTES: Final = 1 << 22
"""Maximum size of all files together."""
_OWN_FOLDER: Final = str(Path(__file__).resolve().parent)

Lines = tuple[tuple[str, int, str], ...]
"""A stack as paths, lines and functions, outermost call first."""


@dataclass(frozen=True)
class Place:
    """A value that a compiled program measures."""

    name: str
    phase: str
    module: str = ""
    op_type: str = ""
    slot: int = 0
    dtype: str = ""
    shape: tuple[int, ...] | None = None
    inputs: tuple[int, ...] = ()
    """Indices into the list of all places."""
    lines: Lines = ()


class Catalog:
    """Numbers the watched tensors; new entries wait until they are taken to be written.

    Args:
        recording: distinguishes this recording's numbers from those of others in the run.
        source: what records, in words.
        every_file: whether to keep frames of libraries too, not only those of the user's program.
    """

    def __init__(self, recording: int, source: str, *, every_file: bool = False) -> None:
        self.recording: Final = recording
        self.tensors: Final[list[WatchedTensor]] = []
        self.left_out = 0
        """Number of tensors beyond `MOST_TENSORS`."""
        self._every_file: Final = every_file
        self._numbers: Final[dict[Hashable, int | None]] = {}
        self._names: Final[dict[tuple[str, str], int]] = {}
        self._stacks: Final[dict[Lines, int]] = {}
        self._stack_frames: Final[list[tuple[Frame, ...]]] = []
        self._frames: Final[dict[tuple[str, int, str], int]] = {}
        self._paths: Final[dict[str, str]] = {}
        self._source_bytes = 0
        self._notes: Final[dict[str, None]] = {}
        self._new = DebugCatalog(recording=recording, source=source)

    def number(self, key: Hashable, describe: Callable[[], tuple[WatchedTensor, Lines]]) -> int | None:
        """Return a tensor's number, or None if there are too many.

        Args:
            key: distinguishes it from others.
            describe: called the first time. If another tensor has the same name, a suffix is added.
        """
        if key in self._numbers:
            return self._numbers[key]
        if len(self.tensors) >= MOST_TENSORS:
            self.left_out += 1
            self.note(f"There are more than {MOST_TENSORS:,} tensors; only the first are watched.")
            self._numbers[key] = None
            return None
        described, lines = describe()
        number = self._numbers[key] = len(self.tensors)
        self._add(number, described, lines)
        return number

    def numbers(self, places: Sequence[Place], device_of: Callable[[int], str]) -> list[int | None]:
        """Return the numbers of all tensors that a program measures; a program for other shapes has the same tensors.

        Args:
            places: what it measures, each after its inputs.
            device_of: returns the device of a value by the index of its place; empty if not known.
        """
        numbers: list[int | None] = []
        counts: Counter[Hashable] = Counter()

        def describe(at: int, place: Place) -> tuple[WatchedTensor, Lines]:
            tensor = described(
                place.name,
                place.phase,
                module=place.module,
                op_type=place.op_type,
                slot=place.slot,
                dtype=place.dtype,
                shape=place.shape,
                device=device_of(at),
                inputs=[numbers[source] for source in place.inputs],
            )
            return tensor, place.lines

        for at, place in enumerate(places):
            key = place.phase, place.name, place.lines
            counts[key] += 1
            numbers.append(self.number((key, counts[key]), partial(describe, at, place)))
        return numbers

    def note(self, text: str) -> None:
        """Record, once, what cannot be seen or was left out."""
        if text not in self._notes:
            self._notes[text] = None
            self._new.notes.append(text)

    def take_new(self) -> DebugCatalog | None:
        """Return what was added since the last call."""
        new = self._new
        if not (new.tensors or new.notes or new.source):
            return None
        self._new = DebugCatalog(recording=self.recording)
        return new

    def stack(self, frame: FrameType | None) -> Lines:
        """Return the lines of the program that led to a frame."""
        found: list[tuple[str, int, str]] = []
        while frame is not None and len(found) < MOST_FRAMES:
            code = frame.f_code
            if self._every_file or is_of_program(code.co_filename):
                found.append((code.co_filename, frame.f_lineno, code.co_qualname))
            frame = frame.f_back
        return tuple(reversed(found))

    def frames(self, stack: int) -> tuple[Frame, ...]:
        """Return the lines of a stack by its number, outermost call first."""
        return self._stack_frames[stack]

    def _add(self, number: int, described: WatchedTensor, lines: Lines) -> None:
        key = (described.name, described.phase)
        count = self._names[key] = self._names.get(key, 0) + 1
        name = described.name
        while count > 1 and (f"{name}#{count}", described.phase) in self._names:
            count += 1
        if count > 1:
            name = f"{name}#{count}"
            self._names[name, described.phase] = 1
        stack = self._stack_number(lines) if lines else described.stack
        tensor = replace(described, name=name, stack=stack)
        self.tensors.append(tensor)
        self._new.tensors.append(
            DebugTensor(
                number=number,
                name=name,
                phase=tensor.phase,
                module=tensor.module,
                op_type=tensor.op_type,
                slot=tensor.slot,
                dtype=tensor.dtype,
                shape=tensor.shape,
                has_shape=tensor.shape is not None,
                stack=stack,
                inputs=tensor.inputs,
                device=tensor.device,
            )
        )

    def _stack_number(self, lines: Lines) -> int:
        if lines not in self._stacks:
            number = self._stacks[lines] = len(self._stacks)
            self._stack_frames.append(tuple(self._frame(line) for line in lines))
            self._new.stacks.append(DebugStack(number=number, frames=[self._frame_number(line) for line in lines]))
        return self._stacks[lines]

    def _frame(self, line: tuple[str, int, str]) -> Frame:
        path, at, function = line
        return Frame(self._shown_path(path), at, function, linecache.getline(path, at).rstrip("\n"))

    def _frame_number(self, line: tuple[str, int, str]) -> int:
        if line not in self._frames:
            number = self._frames[line] = len(self._frames)
            frame = self._frame(line)
            self._new.frames.append(
                DebugFrame(number=number, path=frame.path, line=frame.line, function=frame.function, code=frame.code)
            )
        return self._frames[line]

    def _shown_path(self, path: str) -> str:
        """Return the path as it is written, and make sure that the file's text is written with it."""
        if path not in self._paths:
            shown = self._paths[path] = _relative(path)
            text = "".join(linecache.getlines(path))
            size = len(text.encode(errors="replace"))
            if size > MOST_SOURCE_BYTES or self._source_bytes + size > MOST_SOURCES_BYTES:
                self.note(f"The text of {shown} is not kept: it is {size:,} bytes.")
            elif text:
                self._source_bytes += size
                self._new.sources.append(DebugSource(path=shown, text=text))
        return self._paths[path]


def described(
    name: str,
    phase: str,
    *,
    module: str = "",
    op_type: str = "",
    slot: int = 0,
    dtype: str = "",
    shape: Sequence[int] | None = None,
    device: str = "",
    inputs: Sequence[int | None] = (),
    stack: int | None = None,
) -> WatchedTensor:
    """Return a tensor without a number; inputs that are not watched are left out."""
    known = tuple(number for number in inputs if number is not None)
    return WatchedTensor(
        name=name,
        phase=phase,  # type: ignore[arg-type]
        module=module,
        op_type=op_type,
        slot=slot,
        dtype=dtype,
        shape=None if shape is None else tuple(shape),
        device=device,
        inputs=known,
        stack=stack,
    )


@cache
def is_of_program(path: str) -> bool:
    """Return whether a file is the user's: neither a library's nor Stepscope's own."""
    if path.startswith("<"):
        # Cells of notebooks are compiled under names like this one.
        return path.startswith("<ipython-input")
    resolved = str(Path(path).resolve())
    return not is_library(resolved) and not any(resolved.startswith(folder) for folder in _libraries())


@cache
def _libraries() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {str(Path(sysconfig.get_path(name)).resolve()) for name in names}
    return (*sorted(folders), str(Path(sys.base_prefix, "lib").resolve()), _OWN_FOLDER)


def _relative(path: str) -> str:
    try:
        return Path(path).resolve().relative_to(Path.cwd()).as_posix()
    except (ValueError, OSError):
        return path
