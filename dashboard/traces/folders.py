"""Traces in folders: those of one recording twice, and those of a folder that the command line names."""

import os
from collections.abc import Iterable
from pathlib import Path, PurePath, PurePosixPath
from typing import Final, TypeVar

from summary.errors import UserError
from summary.source import readable
from summary.storage import is_address

TRACE_SUFFIXES: Final = (".trace.json", ".trace.json.gz", ".trace.json.zst", ".xplane.pb", ".sstrace")
TRACE_PATTERNS: Final = tuple(f"*{suffix}" for suffix in TRACE_SUFFIXES)
"""Also matches what PyTorch's profiler writes, ``*.pt.trace.json[.gz]``."""
_XPLANE: Final = ".xplane.pb"
_CONVERTED: Final = (".trace.json.gz", ".trace.json")
_MOST_LOOKED_AT: Final = 100_000
"""Entries below a folder that are looked at for what to name in a message."""
_MOST_NAMED: Final = 5
AnyPath = TypeVar("AnyPath", bound=PurePath)


def is_trace_name(name: str) -> bool:
    """Whether a file of this name is listed as a trace."""
    return name.lower().endswith(TRACE_SUFFIXES)


def same_recording(paths: Iterable[AnyPath]) -> dict[AnyPath, AnyPath]:
    """By file the richer one of the same recording, for those that have such.

    JAX and TensorFlow write ``HOST.xplane.pb`` and, made of it, ``HOST.trace.json.gz``, which lacks steps and
    arguments and has a million events at most.
    """
    known = {path.parent / path.name.lower(): path for path in paths}
    found = {}
    for low, path in known.items():
        for suffix in _CONVERTED:
            richer = known.get(low.with_name(low.name.removesuffix(suffix) + _XPLANE))
            if low.name.endswith(suffix) and richer is not None:
                found[path] = richer
    return found


def traces_at(given: str) -> list[str]:
    """The trace at a path or an address; of a folder those that lie in it, each recording once, in order of names.

    Raises:
        UserError: it is a folder without traces, or one that cannot be listed.
    """
    if is_address(given) or not os.path.isdir(given):
        return [given]
    try:
        inside = [path for path in sorted(Path(given).iterdir()) if is_trace_name(path.name) and path.is_file()]
    except OSError as error:
        raise UserError(
            f"{readable(PurePosixPath(given))} cannot be listed: {error.strerror or error}. "
            "Expected a folder that may be read, or the file of a trace."
        ) from error
    twice = same_recording(inside)
    found = [str(path) for path in inside if path not in twice]
    if not found:
        raise UserError(
            f"{readable(PurePosixPath(given))} is a folder without traces. Expected one with files such as "
            f"*.pt.trace.json, *.trace.json.gz or *.xplane.pb{_elsewhere(given)}"
        )
    return found


def _elsewhere(folder: str) -> str:
    """Which folders below one have traces, as the end of a sentence."""
    found: list[str] = []
    looked = 0
    for place, _, names in os.walk(folder):
        looked += len(names) + 1
        number = sum(map(is_trace_name, names))
        if number:
            found.append(f"{readable(PurePosixPath(place))} ({number})")
        if looked > _MOST_LOOKED_AT or len(found) >= _MOST_NAMED:
            break
    return f", as there are in {', '.join(found)}." if found else ", or name a file."
