"""Reads many small event files at once: concatenates their bytes, and scans and packs them without per-record objects.

Only files of whole records of values that are alike for each tag are read here. All others are left to
`stepscope.summary.event_file.EventFile`, which gives the same results for the files read here.
"""

from collections.abc import Callable, Sequence
from io import FileIO
from typing import BinaryIO, Final, cast

import numpy as np
from google.protobuf.message import DecodeError
from numpy.typing import NDArray

from stepscope.summary import scan
from stepscope.summary.bounded_messages import parse
from stepscope.summary.event_file import HEAD_BYTES, TAIL_BYTES, FileState, name_of, texts_of
from stepscope.summary.kernels import Group
from stepscope.summary.kinds.registry import kind_of
from stepscope.summary.packed_points import BlockInMemory, PackedPoints, PackedTable, Packer
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.records import crc32c
from stepscope.summary.scan import ROW, Scanner
from stepscope.summary.series import SCALARS
from stepscope.summary.stored_points import NO_TEXTS, NONE_SAID, TagTable, TagTexts, Texts

KERNELS: Final = Group("small event files", ["stepscope.summary.pack_kernel"])
"""The compiled loops that pack points, in addition to those of the scan."""
_WORTH_READING: Final = 4
"""Minimum number of files; fewer are read just as fast one by one."""
_WORTH_WAITING: Final = 500
_PATIENCE_SECONDS: Final = 1.5
_WORTH_COMPILING: Final = 5_000
_LEAST_BYTES_OF_VALUE: Final = 7
"""Minimum size in bytes of a value in an event: an empty tag followed by only a number."""

FILES: Final = ("packed", "narrow", "first entry", "end of entries", "distinct steps", "begin of block", "end of block")
"""int64 columns that the kernel fills for each file; block positions are in bytes."""
TIMES: Final = ("first", "begun", "ended")
"""float64 columns: wall time of the first event, and the span of events with a time; NaN if there are none."""
ENTRIES: Final = ("tag", "points", "begin of steps", "first step", "last step", "goes back", "numbers")
"""int64 columns that the kernel fills for each tag of each file, in order of first appearance."""

Packed = tuple[FileState, PackedPoints]


def worth_it(files: int, *, begins: bool) -> bool:
    """Return whether to read this many files together, which requires compiled loops.

    Args:
        files: number of files.
        begins: whether none of them was read yet. After a start it takes a moment to determine whether the loops are
            compiled, which is worth waiting for if there are many files.
    """
    patience = _PATIENCE_SECONDS if begins and files >= _WORTH_WAITING else 0.0
    if files < (_WORTH_WAITING if scan.KERNELS.spared else _WORTH_READING) or not (
        scan.KERNELS.wait(patience) and KERNELS.wait(patience)
    ):
        return False
    return files >= _WORTH_COMPILING or KERNELS.compiled


def read_together(
    opened: Sequence[Callable[[], BinaryIO]], sizes: Sequence[int], packer: Packer
) -> list[Packed | None]:
    """Read files from their beginnings.

    Args:
        opened: functions that open each file, unbuffered.
        sizes: size in bytes of each file when it was listed.
        packer: packer that shares tables.

    Returns:
        The data of each file; None if the file must be read by itself, because it cannot be read, has changed in size,
        or has damage, an incomplete record, or an event other than summaries and a version.
    """
    # An extra byte shows that a file has grown.
    buffer = np.empty(sum(sizes) + 1, np.uint8)
    view = buffer.data
    ends: list[int] = []
    placed: list[int | None] = []
    at = 0
    for open_file, size in zip(opened, sizes, strict=True):
        if _read_into(open_file, view[at : at + size + 1]) == size:
            at += size
            placed.append(len(ends))
            ends.append(at)
        else:
            placed.append(None)
    if not ends:
        return [None] * len(sizes)
    packed = _packed(buffer[:at], np.array(ends, np.int64), packer)
    return [None if place is None else packed[place] for place in placed]


def _read_into(open_file: Callable[[], BinaryIO], room: memoryview) -> int:
    """Return the number of bytes read in one call, which is all of a local file; -1 if it cannot be read."""
    try:
        with open_file() as stream:
            return cast(FileIO, stream).readinto(room) or 0
    except OSError:
        return -1


def _packed(buffer: NDArray[np.uint8], ends: NDArray[np.int64], packer: Packer) -> list[Packed | None]:
    from stepscope.summary import pack_kernel

    scanner = Scanner()
    rows = np.empty(len(buffer) // _LEAST_BYTES_OF_VALUE, ROW)
    row_ends, records = scanner.scan_files(buffer, ends, rows)
    count = int(row_ends[-1])
    files, times = np.empty((len(ends), len(FILES)), np.int64), np.empty((len(ends), len(TIMES)))
    entries, firsts = np.empty((count, len(ENTRIES)), np.int64), np.empty(count, np.int64)
    block = np.empty(5 * count)
    pack_kernel.pack_files(
        buffer,
        ends,
        rows,
        row_ends,
        records,
        *scanner.names,
        len(scanner.tags),
        files,
        times,
        entries,
        firsts,
        block,
        block.view(np.float32),
    )
    together = _Together(buffer, rows, scanner.tags, entries, firsts, block.data.cast("B"), packer)
    return [
        together.packed(begin, end, numbers, wall_times, taken) if numbers[0] else None
        for begin, end, numbers, wall_times, taken in zip(
            [0, *ends[:-1].tolist()], ends.tolist(), files.tolist(), times.tolist(), records.tolist(), strict=True
        )
    ]


class _Together:
    """The kernel's results for some files."""

    def __init__(
        self,
        buffer: NDArray[np.uint8],
        rows: NDArray[np.void],
        tags: Sequence[bytes],
        entries: NDArray[np.int64],
        firsts: NDArray[np.int64],
        block: memoryview,
        packer: Packer,
    ) -> None:
        self._buffer: Final = buffer.data
        self._rows: Final = rows
        self._tags: Final = tags
        self._entries: Final = entries
        self._firsts: Final = firsts
        self._block: Final = block
        self._packer: Final = packer
        self._tables: Final[dict[tuple[bytes, tuple[str, ...], int, int], PackedTable | None]] = {}
        """Tables by the file's entries, which many files share."""

    def packed(
        self, begin: int, end: int, numbers: Sequence[int], times: Sequence[float], records: int
    ) -> Packed | None:
        """Return the data of a file, given its range of bytes; None if it must be read by itself."""
        _, narrow, first, stop, distinct, block_begin, block_end = numbers
        entries, firsts = self._entries[first:stop], self._firsts[first:stop]
        if (firsts < 0).all():
            kinds, texts = [SCALARS] * len(entries), NONE_SAID
        else:
            described = self._described(entries, firsts, begin)
            if described is None:
                return None
            kinds, texts = described
        key = entries.tobytes(), tuple(kinds), narrow, distinct
        if key not in self._tables:
            self._tables[key] = self._table(entries, kinds, distinct, narrow)
        table = self._tables[key]
        if table is None:
            return None
        content = self._buffer[begin:end]
        wall_time, begun, ended = times
        state = FileState(
            end - begin,
            bytes(content[:HEAD_BYTES]),
            b"",
            crc32c(content),
            False,
            records,
            wall_time,
            (begun, ended),
            (),
            0,
            0,
            (),
            bytes(content[-TAIL_BYTES:]),
        )
        return state, PackedPoints(table, BlockInMemory(bytes(self._block[block_begin:block_end]), texts))

    def _described(
        self, entries: NDArray[np.int64], firsts: NDArray[np.int64], begin: int
    ) -> tuple[list[str], Texts] | None:
        """Return the kind of each tag and the texts of its first value; None if other values may have no kind."""
        texts: dict[int, TagTexts] = {}
        kinds = [SCALARS] * len(entries)
        for place in np.flatnonzero(firsts >= 0).tolist():
            row = self._rows[firsts[place]]
            at = begin + int(row["offset"]) + int(row["value_at"])
            try:
                value = parse(Summary.Value, bytes(self._buffer[at : at + int(row["value_length"])]))
            except DecodeError:
                return None
            kind = kind_of(value)
            # Number forms that the scan skips are decoded, and values of no kind keep both number and location.
            if not kind or (kind == SCALARS) != entries[place, 6]:
                return None
            kinds[place] = kind
            found = texts_of(value)
            if found != NO_TEXTS:
                texts[place] = found
        return kinds, texts or NONE_SAID

    def _table(self, entries: NDArray[np.int64], kinds: list[str], distinct: int, narrow: int) -> PackedTable | None:
        numbers, counts, begins, first_steps, last_steps, going_back, _ = entries.T.tolist()
        names = [name_of(self._tags[number]) for number in numbers]
        if len(set(names)) < len(names):
            return None
        back = [place for place, goes_back in enumerate(going_back) if goes_back]
        table = TagTable(names, kinds, counts, first_steps, last_steps, back)
        return self._packer.shared(PackedTable(table, begins, distinct, bool(narrow)))
