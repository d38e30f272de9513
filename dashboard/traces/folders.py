"""Which files are traces, which of them are the same recording, and the traces in a folder on the command line."""

import os
from collections.abc import Iterable, Set
from pathlib import Path, PurePath, PurePosixPath
from typing import Final, TypeVar

from stepscope.profiler.traces.registry import begins_as_trace, formats_in_words, trace_endings, trace_suffixes
from stepscope.summary.contents import Companion
from stepscope.summary.errors import UserError, reason_of
from stepscope.summary.recognition import BEGINNING, Recognizer
from stepscope.summary.source import readable
from stepscope.summary.storage import is_address

TRACE_SUFFIXES: Final = trace_suffixes()
TRACE_PATTERNS: Final = tuple(f"*{suffix}" for suffix in TRACE_SUFFIXES)
TRACE_RECOGNIZER: Final = Recognizer("trace", trace_endings(), begins_as_trace)
"""Recognizes traces with other names, such as ``rank0.json.gz``."""
_XPLANE: Final = ".xplane.pb"
_CONVERTED: Final = (".trace.json.gz", ".trace.json")
_FOR_PERFETTO: Final = ("perfetto_trace.json.gz", "perfetto_trace.json")
_MOST_LOOKED_AT: Final = 100_000
"""Maximum entries examined below a folder."""
_MOST_NAMED: Final = 5
MOST_OF_A_FOLDER: Final = 64
"""Maximum traces below a folder that are taken together."""
AnyPath = TypeVar("AnyPath", bound=PurePath)


class DroppedTrace(Companion):
    """A trace that a user dropped on the page; it belongs to no run."""

    @property
    def bytes(self) -> int:
        """Size on disk."""
        return self.size

    @property
    def paths(self) -> Set[str]:
        """Paths of all its files."""
        return {self.path}


def is_trace_name(name: str) -> bool:
    """Return whether a file with this name is listed as a trace."""
    return name.lower().endswith(TRACE_SUFFIXES)


def is_trace(companion: Companion) -> bool:
    """Return whether a file of the log directory is listed as a trace: by its name or its first bytes."""
    if isinstance(companion, DroppedTrace):
        return True
    return companion.recognized == TRACE_RECOGNIZER.name or is_trace_name(companion.relative_path.name)


def is_trace_file(path: Path) -> bool:
    """Return whether a local file is a trace: by its name or, whatever its name, by its first bytes.

    Raises:
        OSError: it cannot be read.
    """
    if is_trace_name(path.name):
        return True
    with path.open("rb") as stream:
        return begins_as_trace(stream.read(BEGINNING))


def same_recording(paths: Iterable[AnyPath]) -> dict[AnyPath, AnyPath]:
    """Return the richer file of the same recording, by file, for files that have one.

    JAX and TensorFlow write ``HOST.xplane.pb`` and derive ``HOST.trace.json.gz`` from it, which lacks steps and
    arguments and has a million events at most; JAX also writes ``perfetto_trace.json.gz``, derived from the only
    host's.
    """
    known = {path.parent / path.name.lower(): path for path in paths}
    xplanes: dict[PurePath, list[AnyPath]] = {}
    for low, path in known.items():
        if low.name.endswith(_XPLANE):
            xplanes.setdefault(low.parent, []).append(path)
    found = {}
    for low, path in known.items():
        beside = xplanes.get(low.parent, [])
        if low.name in _FOR_PERFETTO and len(beside) == 1:
            found[path] = beside[0]
        for suffix in _CONVERTED:
            richer = known.get(low.with_name(low.name.removesuffix(suffix) + _XPLANE))
            if low.name.endswith(suffix) and richer is not None:
                found[path] = richer
    return found


def traces_at(given: str, most: int = MOST_OF_A_FOLDER) -> list[str]:
    """Return the trace at a path or address; for a folder, the traces in it or else below it, each recording once.

    ``most`` is their maximum number.

    Raises:
        UserError: it is a folder without traces, with very many, or one that cannot be listed.
    """
    if is_address(given) or not os.path.isdir(given):
        return [given]
    shown = readable(PurePosixPath(given))
    try:
        found = _traces_in(Path(given), os.listdir(given)) or _traces_below(Path(given), most)
    except OSError as error:
        raise UserError(
            f"{shown} cannot be listed: {reason_of(error)}. Expected a folder that may be read, or a trace file."
        ) from error
    if not found:
        raise UserError(f"{shown} is a folder without traces. Expected one with {formats_in_words()}")
    if len(found) > most:
        folders = sorted({readable(PurePosixPath(path.parent)) for path in found})
        raise UserError(
            f"Below {shown} there are more than {most:,} traces. Name one of their folders, such as "
            f"{', '.join(folders[:_MOST_NAMED])}."
        )
    return [str(path) for path in found]


def remote_traces(address: str) -> list[str]:
    """Return the trace at an address; for a folder, all traces below it, recognized by their names.

    Raises:
        UserError: it cannot be listed, or has no traces.
    """
    if address.lower().endswith((*TRACE_SUFFIXES, *TRACE_RECOGNIZER.endings)):
        return [address]
    try:
        from fsspec.core import url_to_fs

        file_system, path = url_to_fs(address)
        found = file_system.find(path) if file_system.isdir(path) else None
    # File systems of fsspec raise whatever their underlying libraries raise.
    except Exception as error:
        reason = reason_of(error)
        raise UserError(f"{address} cannot be listed: {reason}. Expected a trace, or a folder of traces.") from error
    if found is None:
        return [address]
    endings = (*TRACE_SUFFIXES, *TRACE_RECOGNIZER.endings)
    paths = [PurePosixPath(each) for each in sorted(found) if each.lower().endswith(endings)]
    twice = same_recording(paths)
    if not paths:
        raise UserError(f"{address} is a folder without traces. Expected one with {formats_in_words()}")
    return [str(file_system.unstrip_protocol(str(path))) for path in paths if path not in twice]


def _traces_in(folder: Path, names: Iterable[str]) -> list[Path]:
    inside = [
        folder / name
        for name in sorted(names)
        if is_trace_name(name) or name.lower().endswith(TRACE_RECOGNIZER.endings)
    ]
    inside = [path for path in inside if path.is_file() and _may_be_read_as_trace(path)]
    twice = same_recording(inside)
    return [path for path in inside if path not in twice]


def _may_be_read_as_trace(path: Path) -> bool:
    try:
        return is_trace_file(path)
    except OSError:
        return False


def _traces_below(folder: Path, most: int) -> list[Path]:
    """Return the traces below a folder, or enough of them to show that there are too many."""
    found: list[Path] = []
    looked = 0
    for place, folders, names in os.walk(folder):
        folders.sort()
        looked += len(names) + 1
        found += _traces_in(Path(place), names)
        if looked > _MOST_LOOKED_AT or len(found) > most:
            break
    return found
