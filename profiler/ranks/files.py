"""The traces of ranks as files: what is known of each without reading it, and the facts from reading it."""

import os
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, Final

from stepscope.profiler.analysis.rank_facts import RankFacts, rank_facts
from stepscope.profiler.traces import TraceError, load_trace
from stepscope.summary.errors import reason_of
from stepscope.summary.storage import is_address

_TAGS: Final = ("ETag", "etag", "md5Hash", "crc32c", "mtime", "LastModified", "last_modified", "updated", "created")
"""Keys by which file systems of `fsspec` report the version of a file, the best first."""


@dataclass(frozen=True)
class TraceFile:
    """A trace at a path or an address, in one version."""

    address: str
    """Its absolute path, or its address."""
    size: int
    version: str
    """Differs if the content may differ: the time of the last change, or what an object store reports."""

    @property
    def name(self) -> str:
        """The name of its file."""
        return self.address.rpartition("/")[2]


def trace_file(address: str) -> TraceFile:
    """Return the trace at a path or an address as it is now.

    Raises:
        TraceError: it does not exist, or cannot be queried.
    """
    try:
        if not is_address(address):
            status = os.stat(address)
            return TraceFile(os.path.abspath(address), status.st_size, f"{status.st_mtime_ns}")
        from fsspec.core import url_to_fs

        file_system, path = url_to_fs(address)
        return remote_trace_file(address, file_system.info(path))
    except TraceError:
        raise
    # File systems of fsspec raise whatever their underlying libraries raise.
    except Exception as error:
        reason = reason_of(error)
        raise TraceError(f"{address} cannot be read: {reason}. Expected a trace file.") from error


def remote_trace_file(address: str, information: dict[str, Any]) -> TraceFile:
    """Return a trace from the information that `fsspec` reports about its file."""
    tag = next((f"{key} {information[key]}" for key in _TAGS if information.get(key)), "")
    return TraceFile(address, int(information.get("size") or 0), tag)


def facts_of_file(file: TraceFile) -> RankFacts:
    """Read a trace and return its facts; runs in workers, which read the store themselves.

    Raises:
        TraceError: it cannot be read, is not a trace, or has changed since it was listed.
    """
    facts = rank_facts(load_trace(file.address))
    now = trace_file(file.address)
    if now != file:
        raise TraceError(f"{file.address} was changed while it was read. Analyze it again when it is complete.")
    return facts


def common_folder(files: "list[TraceFile] | tuple[TraceFile, ...]") -> str:
    """Return the folder below which all files lie, as a path or an address; "" if they have none in common."""
    folders = [PurePosixPath(file.address.replace("://", ":/", 1)).parent for file in files]
    common = folders[0].parts
    for folder in folders[1:]:
        parts = folder.parts
        same = next(
            (n for n, (a, b) in enumerate(zip(common, parts, strict=False)) if a != b), min(len(common), len(parts))
        )
        common = common[:same]
    return "/".join(common)


def spread(count: int) -> list[int]:
    """Return the numbers below ``count`` in an order of which every beginning is spread over all, by reversing bits."""
    bits = max(1, (count - 1).bit_length())
    return [n for n in (int(f"{each:0{bits}b}"[::-1], 2) for each in range(1 << bits)) if n < count]
