"""What the traces of a job show together, read in the background while the page shows what is known."""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Final

from stepscope.dashboard.server.fingerprint import fingerprint
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.sources import TraceSource
from stepscope.profiler.ranks.collection import CollectedRanks, gather
from stepscope.profiler.ranks.store import FactStore
from stepscope.summary.cancellation import Cancellation, Cancelled, cancellable
from stepscope.summary.contents import Companion
from stepscope.summary.engine import Progress

MOST_JOBS: Final = 3
"""Maximum jobs whose facts are kept; those of a thousand ranks are read again from the user's cache in a second."""
FIRST_SECONDS: Final = 2.0
"""How long a page waits for a first result before it shows that there is none yet."""
NOTICEABLY_MORE: Final = 1.25
"""Factor by which the ranks grow before the page, whose tables have a row for each, is rebuilt."""
_log: Final = logging.getLogger(__name__)


class GatheredRanks:
    """The ranks of one job, growing while they are read; safe to use from many threads.

    Args:
        sources: files, in the order of their ranks.
        store: where facts are kept.
        closed: whether the dashboard has ended.
    """

    def __init__(
        self,
        sources: Sequence[TraceSource],
        store: FactStore,
        closed: Callable[[], bool],
    ) -> None:
        self.id: Final = fingerprint(key_of(sources))
        self.sources: Final = tuple(sources)
        self.progress: Final = Progress(len(sources), 0)
        self.problem = ""
        """Why reading ended early; empty if it did not."""
        self._store: Final = store
        self._wanted: Final = _WhileWanted(closed)
        self._version = 0
        self._ranks: CollectedRanks | None = None
        self._first: Final = threading.Event()
        self._ended: Final = threading.Event()
        threading.Thread(target=self._gather, name="ranks", daemon=True).start()

    @property
    def version(self) -> str:
        """Changes whenever noticeably more is known, and at the end."""
        return f"{self.id} {self._version}"

    @property
    def running(self) -> bool:
        """Whether more is coming."""
        return not self._ended.is_set()

    def now(self, *, wait: float = 0.0) -> CollectedRanks | None:
        """Return what is known, after waiting up to ``wait`` seconds for a first result; None if there is none yet."""
        self._first.wait(wait)
        return self._ranks

    def stop(self) -> None:
        """Stop reading; what was read stays in the store."""
        self._wanted.cancel()

    def join(self, seconds: float) -> bool:
        """Wait at most ``seconds`` until reading has ended; return whether it has."""
        return self._ended.wait(seconds)

    def _gather(self) -> None:
        try:
            with cancellable(self._wanted):
                told = 0
                for ranks in gather(_addresses(self.sources), self._store, progress=self.progress):
                    self._ranks = ranks
                    if ranks.ranks:
                        self._first.set()
                    if len(ranks.ranks) > told * NOTICEABLY_MORE:
                        told = len(ranks.ranks)
                        self._version += 1
                    self._wanted.check()
        except Cancelled:
            self.problem = "It was stopped before all ranks were read."
        except Exception as error:
            # A separate thread has nobody else to report this to.
            _log.exception("the traces of a job could not be read")
            self.problem = f"The ranks cannot be read: {error}."
        finally:
            self._ended.set()
            self._version += 1
            self._first.set()


class JobsOfRanks:
    """The most recently viewed jobs; safe to use from many threads.

    Args:
        closed: whether the dashboard has ended.
        store: creates the place where facts are kept.
    """

    def __init__(self, closed: Callable[[], bool], store: Callable[[], FactStore] = FactStore) -> None:
        self._closed = closed
        self._make_store = store
        self._lock = threading.Lock()
        self._jobs: OrderedDict[str, GatheredRanks] = OrderedDict()

    def get(self, sources: Sequence[TraceSource]) -> GatheredRanks:
        """Return the job of these files, starting to read them if need be."""
        key = fingerprint(key_of(sources))
        with self._lock:
            job = self._jobs.get(key)
            if job is None:
                job = self._jobs[key] = GatheredRanks(sources, self._make_store(), self._closed)
            self._jobs.move_to_end(key)
            gone = [self._jobs.popitem(last=False)[1] for _ in range(len(self._jobs) - MOST_JOBS)]
        for each in gone:
            each.stop()
        return job

    def known(self, job_id: str) -> GatheredRanks | None:
        """Return a job by its id, which counts as a view of it; None if it is no longer kept."""
        with self._lock:
            if job_id in self._jobs:
                self._jobs.move_to_end(job_id)
            return self._jobs.get(job_id)


class _WhileWanted(Cancellation):
    """Ends work with the dashboard too."""

    def __init__(self, closed: Callable[[], bool]) -> None:
        super().__init__()
        self._closed = closed

    def check(self) -> None:
        super().check()
        if self._closed():
            raise Cancelled("The dashboard was stopped.")


def key_of(sources: Sequence[TraceSource]) -> list[tuple[str, tuple[int, ...]]]:
    """Return a key that is equal for equal traces."""
    return [(source.id, source.version) for source in sources]


def are_files(sources: Sequence[TraceSource]) -> bool:
    """Return whether all of these traces are files, whose facts can be kept."""
    return all(isinstance(source.origin, Companion) for source in sources)


def _addresses(sources: Sequence[TraceSource]) -> list[str]:
    return [source.origin.path for source in sources if isinstance(source.origin, Companion)]


def jobs_of_ranks(live: Live) -> JobsOfRanks:
    """Return the jobs that callbacks share."""
    return live.shared(JobsOfRanks, lambda: JobsOfRanks(lambda: live.closed))
