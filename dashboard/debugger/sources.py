"""The recordings and dumps of a log directory, and a bounded cache of opened ones.

A request names a recording by its id in the listing and is answered only if the current snapshot lists it; no part of
an id is ever used as a path.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from threading import Lock
from typing import Final, Literal
from weakref import WeakValueDictionary

from stepscope.dashboard.debugger.matrices import MatrixCache
from stepscope.dashboard.debugger.opened import OpenedDebug
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.server.opened_cache import OpenedCache
from stepscope.dashboard.tensorboard.dumps import DumpCache, DumpUnavailableError
from stepscope.summary.debugger.listing import DumpSource, dump_sources, has_dumps
from stepscope.summary.debugger.model import DebugData
from stepscope.summary.debugger.recordings import RecordedData, has_recording, may_have_recording, read_recording
from stepscope.summary.errors import reason_of
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.series import Run
from stepscope.summary.snapshot import Snapshot

MOST_OPENED: Final = 3
MOST_BYTES: Final = 60_000_000
"""Maximum memory of opened recordings, besides the cache of `stepscope.dashboard.debugger.matrices`."""


class DebugUnavailableError(Exception):
    """A recording cannot be shown; the message tells the user why."""


@dataclass(frozen=True)
class DebugSource:
    """A recording or dump of a snapshot, not yet opened."""

    id: str
    """``<run>|recording`` or ``<run>|tfdbg``."""
    run: str
    title: str
    """Name of the run."""
    label: str
    kind: Literal["recording", "tfdbg"]
    modified: float
    """Seconds since the epoch."""
    version: Hashable
    """Equal for equal content."""
    origin: Run | DumpSource = field(compare=False, repr=False)


def has_debug_data(snapshot: Snapshot) -> bool:
    """Return whether a log directory has any recording or dump."""
    # Either of these shows that some run has a recording, without a look at each run for every view.
    return has_dumps(snapshot) or may_have_recording(snapshot.kinds, snapshot.tags)


def debug_sources(snapshot: Snapshot) -> tuple[DebugSource, ...]:
    """Return all recordings and dumps of a snapshot, in the order of its runs."""
    return tuple(_listed(snapshot))


def find_debug_source(snapshot: Snapshot, source_id: str) -> DebugSource:
    """Return the recording or dump with an id; the newest if the id is empty.

    Raises:
        DebugUnavailableError: the snapshot lists no such recording.
    """
    sources = debug_sources(snapshot)
    if not source_id and sources:
        return max(sources, key=lambda source: source.modified)
    for source in sources:
        if source.id == source_id:
            return source
    raise DebugUnavailableError(
        f"There is no recording {source_id!r} in the log directory; it may have been moved or deleted. "
        "Choose another one from the list."
    )


def _listed(snapshot: Snapshot) -> Iterator[DebugSource]:
    for run in snapshot.runs.values():
        if has_recording(run):
            title = snapshot.run_title(run.name)
            version = tuple(sorted((tag, series.version) for tag, series in run.series.items()))
            yield DebugSource(f"{run.name}|recording", run.name, title, title, "recording", _newest(run), version, run)
    for dump in dump_sources(snapshot):
        label = f"{dump.title} (TensorFlow)"
        yield DebugSource(dump.id, dump.run, dump.title, label, "tfdbg", dump.modified, dump.version, dump)


def _newest(run: Run) -> float:
    return max((float(series.wall_times[-1]) for series in run.series.values() if len(series)), default=0.0)


class DebugCache(OpenedCache[DebugSource, OpenedDebug]):
    """A cache of the most recently opened recordings; one that has grown continues from earlier results.

    Args:
        dumps: dumps of TensorFlow's debugger that are already open.
        most: maximum number of open recordings.
        max_bytes: maximum memory of all open recordings together.
    """

    def __init__(self, dumps: DumpCache | None = None, *, most: int = MOST_OPENED, max_bytes: int = MOST_BYTES) -> None:
        super().__init__(self._read, DebugUnavailableError, most=most, max_bytes=max_bytes)
        self._dumps: Final = DumpCache() if dumps is None else dumps
        # Entries that the cache forgets are not held here.
        self._latest: Final[WeakValueDictionary[str, OpenedDebug]] = WeakValueDictionary()
        self._latest_lock: Final = Lock()
        self._matrices: Final = MatrixCache()

    @classmethod
    def of(cls, live: Live) -> "DebugCache":
        """Return the cache of a log directory."""
        dumps = live.shared(DumpCache)
        return live.shared(cls, lambda: cls(dumps))

    def _read(self, source: DebugSource) -> OpenedDebug:
        with self._latest_lock:
            before = self._latest.get(source.id)
        try:
            opened = OpenedDebug(self._data(source, before), before, self._matrices)
        except DumpUnavailableError as error:
            raise DebugUnavailableError(str(error)) from error
        except (OSError, PayloadError) as error:
            reason = reason_of(error)
            raise DebugUnavailableError(f"{source.label} cannot be read: {reason}.") from error
        with self._latest_lock:
            self._latest[source.id] = opened
        return opened

    def _data(self, source: DebugSource, before: OpenedDebug | None) -> DebugData:
        if isinstance(source.origin, DumpSource):
            return self._dumps.get(source.origin).data()
        known = before.data if before is not None and isinstance(before.data, RecordedData) else None
        return read_recording(source.origin, known)
