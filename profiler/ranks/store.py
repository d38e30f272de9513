"""Facts of traces, kept as Parquet, so that a second question need not read the traces again.

A *segment* is the facts of some traces of one folder: a Parquet file per table, with a column ``trace`` that numbers
the traces, and a JSON file, written last, that lists the traces with their versions, and the length and CRC-32C of each
file. Anything that does not match, or is from another version of Stepscope or of a trace, is not trusted but made
again. All of it may be deleted at any time.
"""

import contextlib
import hashlib
import logging
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from stepscope.profiler.analysis.rank_facts import FACT_TABLES, VERSION, FactTable, RankFacts
from stepscope.profiler.ranks.files import TraceFile, common_folder
from stepscope.summary.cache_folder import cache_folder
from stepscope.summary.errors import reason_of
from stepscope.summary.records import crc32c
from stepscope.summary.storage import Folder, LocalFolder, RemoteFolder, folder_at

if TYPE_CHECKING:
    import polars as pl

_ABOUT: Final = ".facts.json"
_UNUSED_SECONDS: Final = 30 * 86400
_MOST_BYTES: Final = 4 << 30
"""Total size of the segments in the user's cache, beyond which the least recently used folders are deleted."""
_log: Final = logging.getLogger(__name__)


class _File(msgspec.Struct, frozen=True):
    size: int
    crc: int


class _Trace(msgspec.Struct, frozen=True):
    address: str
    size: int
    version: str


class _About(msgspec.Struct, frozen=True):
    version: int
    traces: list[_Trace]
    files: dict[str, _File]


@dataclass(frozen=True)
class Segment:
    """Facts of some traces, in files, or in memory if they could not be kept."""

    traces: tuple[TraceFile, ...]
    tables: Mapping[FactTable, "str | pl.DataFrame"]
    """The path of each table, or the table itself; with the column ``trace``, the position in `traces`."""

    def scan(self, table: FactTable) -> "pl.LazyFrame":
        """Return a table, with the column ``trace``."""
        import polars as pl

        found = self.tables[table]
        return pl.scan_parquet(found) if isinstance(found, str) else found.lazy()


def default_store() -> str:
    """Return the folder in the user's cache in which facts are kept."""
    return str(cache_folder("rank_facts"))


class FactStore:
    """A folder of segments, at any path or address; if it cannot be written, facts are kept in memory.

    Raises:
        ValueError: the protocol of the address is unknown.
        ImportError: the protocol needs a package that is not installed.
    """

    def __init__(self, address: str | None = None) -> None:
        self.address: Final = address or default_store()
        self.problem = ""
        """Why nothing is kept; empty if all is well."""
        self._root: Final = folder_at(self.address)

    def load(self, files: Sequence[TraceFile]) -> list[Segment]:
        """Return the segments that have facts of some of these traces, in the given versions.

        A segment may also have facts of other traces, and two segments may have the same. Damaged segments are deleted.
        """
        if not files:
            return []
        wanted = {(file.address, file.size, file.version) for file in files}
        folder = self._folder(files)
        found = []
        for name in _names(folder):
            about = self._about(folder, name)
            if about is None or not any((each.address, each.size, each.version) in wanted for each in about.traces):
                continue
            segment = self._segment(folder, name, about)
            if segment is None:
                _log.warning("facts in %s are damaged; their traces are read again", folder.address)
                _delete(folder, name)
            else:
                found.append(segment)
        if isinstance(folder, LocalFolder) and found:
            with contextlib.suppress(OSError):
                (folder.path / "used").touch()
        return found

    def add(self, facts: Sequence[tuple[TraceFile, RankFacts]], job: Sequence[TraceFile]) -> Segment:
        """Keep facts, and return them as a segment.

        Args:
            facts: at least one.
            job: all traces that are viewed together; their folder is where the facts are found again.
        """
        tables = {table: _joined(table, [each for _, each in facts]) for table in FACT_TABLES}
        traces = tuple(file for file, _ in facts)
        if self.problem:
            return Segment(traces, tables)
        folder, name = self._folder(job), uuid.uuid4().hex
        try:
            folder.make()
            packed = {table: _packed(frame) for table, frame in tables.items()}
            for table, content in packed.items():
                folder.replace(f"{name}.{table}.parquet", content)
            about = _About(
                VERSION,
                [_Trace(file.address, file.size, file.version) for file in traces],
                {table: _File(len(content), crc32c(content)) for table, content in packed.items()},
            )
            folder.replace(f"{name}{_ABOUT}", msgspec.json.encode(about))
        # File systems of fsspec raise whatever their underlying libraries raise.
        except Exception as error:
            self.problem = f"{self.address} cannot be written: {reason_of(error)}"
            _log.warning("facts of traces are not kept, as %s", self.problem)
            _delete(folder, name)
            return Segment(traces, tables)
        if isinstance(folder, LocalFolder):
            return Segment(traces, {table: _path(folder, name, table) for table in FACT_TABLES})
        return Segment(traces, tables)

    def _folder(self, job: Sequence[TraceFile]) -> Folder:
        key = hashlib.blake2b(common_folder(list(job)).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
        return self._root.child(f"v{VERSION}/{key}")

    def _about(self, folder: Folder, name: str) -> _About | None:
        try:
            about = msgspec.json.decode(folder.read(f"{name}{_ABOUT}"), type=_About)
        except (OSError, msgspec.DecodeError):
            return None
        return about if about.version == VERSION and set(about.files) == set(FACT_TABLES) else None

    def _segment(self, folder: Folder, name: str, about: _About) -> Segment | None:
        """Return a segment whose files are as they were written; None if one is not."""
        import polars as pl

        traces = tuple(TraceFile(each.address, each.size, each.version) for each in about.traces)
        tables: dict[FactTable, str | pl.DataFrame] = {}
        for table in FACT_TABLES:
            expected = about.files[table]
            try:
                content = folder.read(f"{name}.{table}.parquet")
            except OSError:
                return None
            if len(content) != expected.size or crc32c(content) != expected.crc:
                return None
            if isinstance(folder, LocalFolder):
                tables[table] = _path(folder, name, table)
            else:
                tables[table] = pl.read_parquet(BytesIO(content))
        return Segment(traces, tables)

    def prune(self) -> None:
        """Delete anything long unused, and the oldest beyond a size limit; only in folders on this machine."""
        if not isinstance(self._root, LocalFolder):
            return
        with contextlib.suppress(OSError):
            folders = [path for path in self._root.path.glob("v*/*") if path.is_dir()]
            aged = sorted(((_used(path), path) for path in folders), reverse=True, key=lambda pair: pair[0])
            total = 0
            for used, path in aged:
                total += sum(file.stat().st_size for file in path.iterdir())
                if total > _MOST_BYTES or time.time() - used > _UNUSED_SECONDS:
                    shutil.rmtree(path, ignore_errors=True)


def _joined(table: FactTable, facts: Sequence[RankFacts]) -> "pl.DataFrame":
    import polars as pl

    frames = [each.tables[table].with_columns(trace=pl.lit(place, pl.Int64)) for place, each in enumerate(facts)]
    return pl.concat(frames)


def _packed(frame: "pl.DataFrame") -> bytes:
    stream = BytesIO()
    # With few ranks, statistics would be an eighth of the facts, and readers of tables read nearly all of their rows.
    frame.write_parquet(stream, compression="zstd", compression_level=3, statistics=False)
    return stream.getvalue()


def _path(folder: LocalFolder, name: str, table: FactTable) -> str:
    return str(folder.path / f"{name}.{table}.parquet")


def _names(folder: Folder) -> list[str]:
    """Return the names of the segments in a folder, in no particular order."""
    try:
        if isinstance(folder, LocalFolder):
            found = [path.name for path in folder.path.iterdir()]
        else:
            assert isinstance(folder, RemoteFolder)
            file_system, path = folder.file_system_and_path()
            found = [str(entry).rpartition("/")[2] for entry in file_system.ls(path, detail=False)]
    except Exception:
        # The folder does not exist yet, or the store cannot be queried: then nothing is known.
        return []
    return sorted(name.removesuffix(_ABOUT) for name in found if name.endswith(_ABOUT))


def _delete(folder: Folder, name: str) -> None:
    names = [f"{name}{_ABOUT}", *(f"{name}.{table}.parquet" for table in FACT_TABLES)]
    for each in names:
        with contextlib.suppress(OSError):
            if isinstance(folder, LocalFolder):
                (folder.path / each).unlink(missing_ok=True)
            elif isinstance(folder, RemoteFolder):
                folder.remove(each)


def _used(path: Path) -> float:
    mark = path / "used"
    return (mark if mark.exists() else path).stat().st_mtime
