"""A digest of event files, in the text format of ``tensorboard --inspect``.

The counts and the layout follow TensorBoard's ``backend/event_processing/event_file_inspector.py``: events with a
graph, events with session logs, and summary values by the field that holds them. Files of one directory are read in
order of their names. Unlike in TensorBoard, reading continues after damage, as everywhere in Stepscope.
"""

import contextlib
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Final

import numpy as np
from google.protobuf.message import DecodeError

from stepscope.summary.bounded_messages import parse
from stepscope.summary.contents import FileHealth
from stepscope.summary.kinds.registry import KINDS
from stepscope.summary.local_source import LocalSource
from stepscope.summary.logdir import Logdir
from stepscope.summary.logdir_source import source_of
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.records import HEADER_BYTES
from stepscope.summary.scan import ROW, Outcome, Scanner
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.source import FoundFile, Source, read_up_to, readable
from stepscope.summary.storage import is_address

RULE: Final = "=" * 70 + "\n"
VALUE_FIELDS: Final[Mapping[str, str]] = {
    **{kind.legacy_field: name for name, kind in KINDS.items() if kind.legacy_field is not None},
    "tensor": "tensor",
}
"""Names of the fields of ``Summary.Value`` in the digest."""
_SESSION_FIELDS: Final[Mapping[int, str]] = {
    SessionLog.START: "sessionlog:start",
    SessionLog.STOP: "sessionlog:stop",
    SessionLog.CHECKPOINT: "sessionlog:checkpoint",
}
_LISTED_FIELDS: Final = ("sessionlog:start", "sessionlog:stop")
"""Fields whose steps are all listed; other fields have too many."""
FIELDS: Final = ("graph", *_SESSION_FIELDS.values(), *VALUE_FIELDS.values())

_WINDOW_BYTES: Final = 8 << 20
_WINDOW_ROWS: Final = 1 << 16

Statistics = dict[str, Any]


@dataclass
class Observations:
    """The contents of one directory's event files: the steps of each field in the order of the events, and its tags."""

    steps: dict[str, list[int]] = field(default_factory=lambda: {name: [] for name in FIELDS})
    tags: dict[str, set[str]] = field(default_factory=lambda: {name: set() for name in VALUE_FIELDS.values()})

    def add_event(self, event: Event, only_tag: str) -> None:
        """Count an event; if ``only_tag`` is not empty, count only that tag."""
        match event.WhichOneof("what"):
            case "summary":
                for value in event.summary.value:
                    name = VALUE_FIELDS.get(value.WhichOneof("value") or "")
                    if name is not None and (not only_tag or value.tag == only_tag):
                        self.steps[name].append(event.step)
                        self.tags[name].add(value.tag)
            case "graph_def" if not only_tag:
                self.steps["graph"].append(event.step)
            case "session_log" if not only_tag and event.session_log.status in _SESSION_FIELDS:
                self.steps[_SESSION_FIELDS[event.session_log.status]].append(event.step)
            case _:
                pass

    def add_file(self, path: PurePosixPath, open_at: Callable[[PurePosixPath, int], BinaryIO], only_tag: str) -> None:
        """Count the events of a file; raises OSError."""
        for event in read_events(path, open_at):
            self.add_event(event, only_tag)

    def statistics(self) -> dict[str, Statistics | None]:
        """Return, by field, the statistics that `text_of_statistics` prints; None if no event has the field."""
        return {
            name: None if not steps else _all_steps(steps) if name in _LISTED_FIELDS else _digest(steps)
            for name, steps in sorted(self.steps.items())
        }

    def sorted_tags(self) -> dict[str, list[str]]:
        """Return the tags of each field, sorted."""
        return {name: sorted(tags) for name, tags in sorted(self.tags.items())}


def read_events(path: PurePosixPath, open_at: Callable[[PurePosixPath, int], BinaryIO]) -> Iterator[Event]:
    """Yield every event of a file that has valid CRCs and is not empty, in order; raises OSError."""
    scanner = Scanner()
    rows = np.empty(_WINDOW_ROWS, ROW)
    position, window = 0, _WINDOW_BYTES
    with open_at(path, 0) as stream:
        while True:
            stream.seek(position)
            content = read_up_to(stream, window)
            buffer = np.frombuffer(content, np.uint8)
            at, outcome = 0, Outcome.ROWS_FULL
            while outcome is Outcome.ROWS_FULL:
                begin = at
                outcome, at, count = scanner.scan(buffer, begin, position, rows)
                scanner.damages.clear()
                yield from _events_of_rows(rows[:count], content, position)
                if outcome is Outcome.ROWS_FULL and at == begin:
                    # One record has more values than there are rows.
                    rows = np.empty(2 * len(rows), ROW)
            if len(content) < window:
                return
            # A header may lie across the end of the window.
            position += at if outcome is not Outcome.LOST else len(content) - HEADER_BYTES + 1
            if scanner.needed > stream.seek(0, os.SEEK_END) - position:
                return
            window = max(_WINDOW_BYTES, scanner.needed)


def _events_of_rows(rows: np.ndarray[Any, np.dtype[np.void]], content: bytes, base: int) -> Iterator[Event]:
    # A summary has a row per value; rows of one record are consecutive.
    first_of_record = np.ones(len(rows), np.bool_)
    first_of_record[1:] = rows["offset"][1:] != rows["offset"][:-1]
    records = rows[first_of_record]
    for offset, length in zip(records["offset"].tolist(), records["length"].tolist(), strict=True):
        try:
            yield parse(Event, content[offset - base : offset - base + length])
        except DecodeError:
            continue


def text_of_statistics(statistics: Mapping[str, Statistics | None], *, show_missing: bool) -> str:
    """Return the lines about each field, in order of names."""
    lines: list[str] = []
    for name, digest in sorted(statistics.items()):
        if digest is not None:
            lines.append(name)
            lines += (f"   {key:<20} {value}" for key, value in sorted(digest.items()))
        elif show_missing:
            lines.append(f"{name} -")
    return "".join(line + "\n" for line in lines)


def text_of_tags(tags: Mapping[str, list[str]]) -> str:
    """Return the lines about the tags of each field, in order of names."""
    lines: list[str] = []
    for name, names in sorted(tags.items()):
        lines += [name, *(f"   {tag}" for tag in names)] if names else [f"{name} -"]
    return "".join(line + "\n" for line in lines)


def steps_that_go_back(steps: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of adjacent steps whose second step is below the first."""
    return [(before, after) for before, after in pairwise(steps) if after < before]


def _digest(steps: list[int]) -> Statistics:
    return {
        "first_step": steps[0],
        "last_step": steps[-1],
        "max_step": max(steps),
        "min_step": min(steps),
        "num_steps": len(set(steps)),
        "outoforder_steps": steps_that_go_back(steps),
    }


def _all_steps(steps: list[int]) -> Statistics:
    return {"outoforder_steps": steps_that_go_back(steps), "steps": steps}


class SingleFile:
    """One event file of any name, as a log directory's `stepscope.summary.source.Source`.

    Args:
        given: its path, or its address such as ``s3://bucket/run/events.out.tfevents.1``.

    Raises:
        ValueError, ImportError: the address cannot be used; see `stepscope.summary.logdir_source.source_of`.
    """

    PATH: Final = PurePosixPath("events.out.tfevents")
    """Name of the file here, so that it counts as an event file."""

    def __init__(self, given: str) -> None:
        path = given if is_address(given) else str(Path(given).expanduser().absolute())
        folder, _, name = path.rpartition("/")
        self._given = given
        self._name = PurePosixPath(name)
        # A folder name that contains wildcards is taken literally.
        self._folder: Source = source_of(folder) if is_address(given) else LocalSource(Path(folder or "/"))

    @property
    def address(self) -> str:
        return self._given

    @property
    def watchable_folders(self) -> Sequence[Path]:
        return ()

    def folders_to_watch(self, most: int) -> Sequence[str]:
        return ()

    def list(self, changed: Collection[str] | None = None) -> Iterator[FoundFile]:
        try:
            with self.open(self.PATH, 0) as stream:
                yield FoundFile(self.PATH, stream.seek(0, os.SEEK_END), 0, (0, 0))
        except OSError:
            return

    @property
    def unlisted(self) -> Mapping[PurePosixPath, str]:
        return {}

    def open(self, path: PurePosixPath, offset: int) -> BinaryIO:
        return self._folder.open(self._name, offset)

    def locate(self, path: PurePosixPath) -> str:
        return self._given


@dataclass(frozen=True)
class Inspected:
    """The event files of one directory, as `text_of` and ``stepscope inspect`` show them."""

    name: str
    observations: Observations
    files: tuple[FileHealth, ...]
    superseded: int
    """Points, of the requested tag or of all tags, that a restart overwrote."""


def inspect(source: Source, *, only_tag: str = "") -> list[Inspected]:
    """Read every event file of a log directory; return one object per directory, in the order of a walk by name.

    Args:
        source: the log directory, or a `SingleFile`.
        only_tag: count this tag only.
    """
    by_folder: dict[PurePosixPath, list[PurePosixPath]] = {}
    for found in sorted(source.list(), key=lambda found: found.path.parts):
        if "tfevents" in found.path.name:
            by_folder.setdefault(found.path.parent, []).append(found.path)
    for path in source.unlisted:
        by_folder.setdefault(path, [])
    snapshot = Logdir(source).update()
    return [
        _inspected(source, snapshot, folder, by_folder[folder], only_tag)
        for folder in sorted(by_folder, key=lambda folder: folder.parts)
    ]


def _inspected(
    source: Source, snapshot: Snapshot, folder: PurePosixPath, paths: Sequence[PurePosixPath], only_tag: str
) -> Inspected:
    observations = Observations()
    for path in paths:
        # The snapshot reports files that cannot be opened.
        with contextlib.suppress(OSError):
            observations.add_file(path, source.open, only_tag)
    single = isinstance(source, SingleFile)
    run = snapshot.runs.get(readable(folder))
    hidden = [s.superseded for s in run.series.values() if not only_tag or s.tag == only_tag] if run else []
    files = tuple(file for file in snapshot.health if file.run == readable(folder))
    return Inspected(
        source.address if single else os.path.dirname(source.locate(folder / "file")),
        observations,
        tuple(replace(file, path=source.address) for file in files) if single else files,
        sum(hidden),
    )


def text_of(inspected: Sequence[Inspected], logdir: str, *, only_tag: str = "") -> str:
    """Return what ``tensorboard --inspect`` prints.

    Args:
        inspected: the result of `inspect`.
        logdir: the log directory as the user named it; "" if one file was inspected.
        only_tag: the requested tag.
    """
    text = f"{RULE}Processing event files... (this can take a few minutes)\n{RULE}\n"
    if logdir and inspected:
        text += "Found event files in:\n" + "".join(f"{found.name}\n" for found in inspected) + "\n"
    elif logdir:
        text += f"No event files found within logdir {logdir}\n"
    for found in inspected:
        if only_tag:
            text += f"Event statistics for tag {only_tag} in {found.name}:\n"
        else:
            text += f"These tags are in {found.name}:\n{text_of_tags(found.observations.sorted_tags())}{RULE}\n"
            text += f"Event statistics for {found.name}:\n"
        text += text_of_statistics(found.observations.statistics(), show_missing=not only_tag) + f"{RULE}\n"
    return text


def text_of_files(inspected: Sequence[Inspected], *, only_tag: str = "") -> str:
    """Return, as text, what was read from each file, and what was not: where, and why.

    With ``only_tag``, include the number of its points that a restart overwrote.
    """
    lines: list[str] = []
    for found in inspected:
        lines += [f"Event files in {found.name}:", *(line for file in found.files for line in _file_lines(file))]
        if only_tag:
            lines.append(f"Superseded points of tag {only_tag}: {found.superseded}")
        lines.append(RULE)
    return "".join(line + "\n" for line in lines)


def _file_lines(file: FileHealth) -> Iterator[str]:
    yield file.path
    if file.error:
        yield f"   {'error':<20} {file.error}"
    if file.is_folder:
        return
    yield f"   {'bytes_read':<20} {file.bytes_read} of {file.size}"
    yield f"   {'records':<20} {file.records}"
    yield f"   {'skipped':<20} {file.damage_count}"
    if file.damage_count:
        yield f"   {'skipped_bytes':<20} {file.skipped_bytes}"
    for damage in file.damages:
        yield f"      at byte {damage.offset}, {damage.length} bytes: {damage.reason}"
    unlisted = file.damage_count - len(file.damages)
    if unlisted > 0:
        yield f"      and {unlisted} more"
    yield f"   {'superseded':<20} {file.superseded}"
    if file.writers > 1:
        yield f"   {'writers':<20} {file.writers} writers at once: every point is shown"
    if file.waiting:
        rest = file.size - file.bytes_read
        yield f"   {'truncated_tail':<20} at byte {file.bytes_read}, {rest} bytes: the file ends inside a record"
    else:
        yield f"   {'truncated_tail':<20} -"
