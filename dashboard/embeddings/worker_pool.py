"""Execution of jobs: worker processes, the queue in front of them, and their messages.

At most `MOST_RUNNING` jobs run at once; the others wait in order of arrival. An idle worker is kept for a while, as
starting one takes a second or two.
"""

import asyncio
import contextlib
import logging
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from stepscope.dashboard.embeddings.job import UNFINISHED, Job, JobError, JobState
from stepscope.dashboard.embeddings.point_files import PointFiles
from stepscope.dashboard.embeddings.processes import WorkerProcess
from stepscope.dashboard.embeddings.results import ResultFiles
from stepscope.dashboard.embeddings.worker_protocol import Arrays
from stepscope.summary.errors import reason_of

MOST_RUNNING: Final = 2
MOST_PREPARING: Final = 2
MOST_FINISHED: Final = 500
MOST_BYTES: Final = 512 << 20
"""Maximum bytes of finished jobs in memory."""
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Timeouts:
    """Timeouts, in seconds, for jobs and workers that are not needed."""

    unwatched: float = 120.0
    """After this, a job that is not requested is paused."""
    parked: float = 30.0
    """After this, a paused job releases its worker."""
    idle: float = 300.0
    """After this, an idle worker ends."""
    cancelled: float = 0.5
    """After this, a worker that continues a cancelled job is killed."""
    look: float = 0.5
    """Time between checks of the other timeouts."""


@dataclass
class _Worker:
    """A worker and its job."""

    worker: WorkerProcess
    job: Job | None = None
    idle_since: float = field(default_factory=time.monotonic)


class WorkerPool:
    """Runs jobs and reports their progress; other code uses `stepscope.dashboard.embeddings.job_queue.Jobs`.

    All changes to a job are made while holding one lock.

    Args:
        files: storage for results.
        points: source of points for workers.
        is_over: returns whether the dashboard has ended; all jobs then end as well.
        timeouts: how long unneeded jobs and workers are kept.
    """

    def __init__(
        self,
        files: ResultFiles | None = None,
        points: PointFiles | None = None,
        *,
        is_over: Callable[[], bool] = lambda: False,
        timeouts: Timeouts | None = None,
    ) -> None:
        self._files: Final = files or ResultFiles()
        self._is_over = is_over
        self._timeouts: Final = timeouts or Timeouts()
        self._points: Final = points or PointFiles()
        self._lock: Final = threading.RLock()
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._queue: deque[Job] = deque()
        self._workers: dict[WorkerProcess, _Worker] = {}
        self._preparing: Final = threading.Semaphore(MOST_PREPARING)
        self._waiting: set[tuple[str, asyncio.AbstractEventLoop, asyncio.Event]] = set()
        self._tasks = 0
        self._keeper: threading.Thread | None = None
        self._closed = False

    def warm(self) -> None:
        """Start a worker if there is none, so that one is ready when needed."""
        # If none can be started, the job that needs it says so.
        with self._lock, contextlib.suppress(OSError):
            if not self._workers and not self._closed and not self._is_over():
                self._start_worker()

    def workers(self) -> list[int]:
        """Return the process ids of all workers."""
        with self._lock:
            return [entry.worker.pid for entry in self._workers.values()]

    def close(self) -> None:
        """End all workers and wake all waiting callers."""
        with self._lock:
            self._closed = True
            workers = list(self._workers)
            for job in self._jobs.values():
                if job.state in UNFINISHED:
                    self._set(job, "cancelled", "The dashboard was stopped. Start it again.")
            self._queue.clear()
            self._wake(None)
        for worker in workers:
            worker.kill()
        for worker in workers:
            worker.wait(5)
        self._points.close()

    # Starting jobs, under the lock.

    def _prepare(self, job: Job) -> None:
        """Prepare the job in a thread; it then waits for a worker."""
        self._look_after()
        job.turn += 1
        threading.Thread(target=self._prepare_now, args=(job, job.turn), name="projector", daemon=True).start()

    def _prepare_now(self, job: Job, turn: int) -> None:
        plan = job.plan
        assert plan is not None
        with self._preparing:
            if not self._is_wanted(job) or job.turn != turn:
                return
            try:
                prepared = plan.prepare(job.holder, self._points)
                answer = plan.finish(prepared.arrays) if prepared.order is None and plan.finish else {}
            except Exception as error:
                message = _sentence_of(error)
                with self._lock:
                    if job.turn == turn:
                        self._points.release(job.holder)
                        if self._is_wanted(job):
                            self._set(job, "failed", message)
                return
        done = prepared.order is None
        with self._lock:
            if job.turn != turn:
                return
            if not self._is_wanted(job):
                self._points.release(job.holder)
                return
            job.facts |= prepared.facts
            job.notes = list(dict.fromkeys([*job.notes, *prepared.notes]))
            job.version += 1
            for index, picture in prepared.pictures.items():
                # Only what is new: a job that continues has its own picture.
                if done or job.pictures[index].coordinates is None:
                    job.show(index, picture)
            if done:
                job.arrays = prepared.arrays
                job.answer |= answer
                job.phase = "done"
                self._set(job, "done")
            else:
                job.prepared = prepared
                self._queue.append(job)
                self._wake(job.key)
                self._schedule()
        if done:
            self._files.store(job.key, job.result())
            self._points.release(job.holder)

    def _is_wanted(self, job: Job) -> bool:
        return job.state == "queued"

    def _running(self) -> int:
        return sum(entry.job is not None and entry.job.state != "paused" for entry in self._workers.values())

    def _schedule(self) -> None:
        """Assign waiting jobs to workers, up to the maximum that may run."""
        while self._queue and self._running() < MOST_RUNNING and not self._closed:
            entry = next((entry for entry in self._workers.values() if entry.job is None), None)
            if entry is None and len(self._workers) > MOST_RUNNING:
                parked = [h for h in self._workers.values() if h.job is not None and h.job.state == "paused"]
                # This is called again when the worker is free.
                for entry in sorted(parked, key=lambda h: h.job.paused_at if h.job else 0.0)[:1]:
                    self._say(entry.job, "suspend")
                return
            try:
                entry = entry or self._start_worker()
            except OSError as error:
                _log.exception("no worker of the projector can be started")
                for job in self._queue:
                    self._points.release(job.holder)
                    self._set(job, "failed", f"No process can be started for this ({error}). Try again later.")
                self._queue.clear()
                return
            self._assign(self._queue.popleft(), entry)

    def _start_worker(self) -> _Worker:
        entry = _Worker(WorkerProcess(self._hear, self._ended))
        self._workers[entry.worker] = entry
        self._look_after()
        return entry

    def _assign(self, job: Job, entry: _Worker) -> None:
        prepared = job.prepared
        assert prepared is not None
        assert prepared.order is not None
        self._tasks += 1
        entry.job, job.worker, job.task = job, entry.worker, self._tasks
        arrays = dict(prepared.arrays)
        if job.pictures and (job.saved or job.iteration or job.place):
            arrays |= job.saved
            before = job.place - 1 if job.place else (None if job.saved else 0)
            if before is not None:
                fixed = job.pictures[prepared.order["pictures"][before]["index"]].coordinates
                if fixed is not None:
                    arrays["fixed"] = fixed
        message = {**prepared.order, "say": "task", "task": job.task, "at": job.place}
        message |= {"extend": job.more_iterations, "perturb": job.perturb}
        job.more_iterations, job.perturb, job.unwatched = 0, False, False
        job.times.clear()
        job.phase = "starting"
        self._set(job, "running")
        entry.worker.tell(message, arrays)

    def _set(self, job: Job, state: JobState, message: str = "") -> None:
        job.state, job.message = state, message
        job.version += 1
        self._wake(job.key)

    def _wake(self, key: str | None) -> None:
        for wanted, loop, event in list(self._waiting):
            if key is None or wanted == key:
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(event.set)

    def _forget(self) -> None:
        """Drop the finished jobs that were requested longest ago, if there are too many."""
        loose = [job for job in self._jobs.values() if job.worker is None and job.state not in ("queued", "running")]
        held, count = sum(job.bytes for job in loose), len(loose)
        for job in loose[:-1]:
            if held <= MOST_BYTES and count <= MOST_FINISHED:
                return
            held -= job.bytes
            count -= 1
            del self._jobs[job.key]

    def _say(self, job: Job | None, word: str, **values: Any) -> None:
        if job is not None and job.worker is not None:
            job.worker.tell({"say": word, "task": job.task, **values})

    def _pause(self, job: Job, *, unwatched: bool) -> None:
        if job.state not in ("queued", "running"):
            return
        if job.worker is not None and not job.pictures:
            if unwatched:
                return
            raise JobError("This cannot be paused. Cancel it, or wait until it is done.")
        with contextlib.suppress(ValueError):
            self._queue.remove(job)
        self._say(job, "pause")
        job.paused_at = time.monotonic()
        job.unwatched = unwatched
        self._set(job, "paused", "Paused: no page has it open." if unwatched else "")
        self._schedule()

    def _again(self, job: Job) -> None:
        """Put a job without a worker back into the queue."""
        if job.plan is None:
            raise JobError("This result is from an earlier run. Start it again from its settings to continue.")
        self._set(job, "queued")
        job.phase = "preparing"
        self._prepare(job)

    # Messages from workers; called by their threads.

    def _hear(self, worker: WorkerProcess, message: dict[str, Any], arrays: Arrays) -> None:
        keep: Job | None = None
        with self._lock:
            entry = self._workers.get(worker)
            job = entry.job if entry is not None else None
            if entry is None or job is None or message["task"] != job.task:
                return
            match message["say"]:
                case "progress":
                    self._progress(job, message, arrays)
                case "state":
                    job.place, job.saved = message["at"], arrays
                case "stopped":
                    keep = job if job.state == "paused" else None
                    self._free(entry)
                    if job.state in ("queued", "running"):
                        # The job was resumed while it was being suspended.
                        self._again(job)
                case "failed":
                    if job.state != "cancelled":
                        self._set(job, "failed", _failure(message["reason"], message["message"]))
                    self._free(entry)
        if message["say"] == "done":
            keep = self._done(job, message, arrays)
            with self._lock:
                self._free(entry)
        if keep is not None:
            self._files.store(keep.key, keep.result())

    def _progress(self, job: Job, message: dict[str, Any], arrays: Arrays) -> None:
        if job.state == "cancelled":
            return
        if message["place"] != job.place:
            job.times.clear()
        job.place = message["place"]
        job.iteration, job.total, job.loss = message["iteration"], message["total"], message["loss"]
        job.phase = message["phase"]
        job.notes += [note for note in message["notes"] if note not in job.notes]
        if len(job.pictures) > 1:
            job.phase = f"step {job.place + 1} of {len(job.pictures)}: {job.phase}"
        job.times.append((time.monotonic(), job.iteration))
        job.version += 1
        if "coordinates" in arrays:
            job.show(message["picture"], arrays["coordinates"])
        self._wake(job.key)

    def _done(self, job: Job, message: dict[str, Any], arrays: Arrays) -> Job | None:
        """Store the result of a job; return the job if it is to be kept."""
        finish = job.plan.finish if job.plan is not None else None
        answer: dict[str, Any] = {k: v for k, v in message.items() if k not in ("say", "task")}
        try:
            answer |= finish(arrays) if finish is not None else {}
        except Exception as error:
            _log.exception("the result of a computation is of no use")
            with self._lock:
                self._set(job, "failed", _sentence_of(error))
            return None
        with self._lock:
            if job.state == "cancelled":
                return None
            job.saved = {name: array for name, array in arrays.items() if name.startswith("state.")}
            job.arrays = {name: array for name, array in arrays.items() if name not in job.saved}
            job.answer |= answer
            job.phase = "done"
            self._set(job, "done")
            return job

    def _free(self, entry: _Worker) -> None:
        job = entry.job
        if job is not None:
            job.worker = None
            job.prepared = None
            self._points.release(job.holder)
        entry.job = None
        entry.idle_since = time.monotonic()
        self._schedule()
        spare = [other for other in self._workers.values() if other.job is None]
        for other in spare[1:]:
            del self._workers[other.worker]
            other.worker.close()
        self._forget()

    def _ended(self, worker: WorkerProcess) -> None:
        with self._lock:
            entry = self._workers.pop(worker, None)
            if entry is None:
                return
            job = entry.job
            if job is not None:
                if job.state in UNFINISHED:
                    self._set(job, "failed", worker.why_ended())
                job.worker = None
                self._points.release(job.holder)
            self._schedule()

    # Cleanup of what nobody needs.

    def _look_after(self) -> None:
        if self._keeper is None and not self._closed:
            self._keeper = threading.Thread(target=self._look, name="projector keeper", daemon=True)
            self._keeper.start()

    def _look(self) -> None:
        while True:
            time.sleep(self._timeouts.look)
            if self._is_over():
                self.close()
            with self._lock:
                unfinished = [
                    job for job in self._jobs.values() if job.state in ("queued", "running") or job.worker is not None
                ]
                if self._closed or not (self._workers or unfinished):
                    self._keeper = None
                    return
                self._tidy(unfinished)

    def _tidy(self, unfinished: list[Job]) -> None:
        now, timeouts = time.monotonic(), self._timeouts
        for job in unfinished:
            forgotten = now - job.requested > timeouts.unwatched and not self._is_watched(job)
            if forgotten and job.state in ("queued", "running"):
                self._pause(job, unwatched=True)
            elif job.state == "paused" and job.worker is not None and now - job.paused_at > timeouts.parked:
                self._say(job, "suspend")
        for entry in list(self._workers.values()):
            if entry.job is None and now - entry.idle_since > timeouts.idle:
                del self._workers[entry.worker]
                entry.worker.close()

    def _is_watched(self, job: Job) -> bool:
        return any(key == job.key for key, _, _ in self._waiting)


def _failure(reason: str, message: str) -> str:
    match reason:
        case "memory":
            return "There is not enough memory for this. Choose fewer points, or close other programs."
        case "value":
            return f"This cannot be computed: {message.rstrip('.')}."
        case _:
            return f"This failed ({message.rstrip('.')[:500]}). See the server's log."


def _sentence_of(error: Exception) -> str:
    if isinstance(error, JobError):
        return str(error)
    if isinstance(error, MemoryError):
        return _failure("memory", "")
    if isinstance(error, ValueError):
        return _failure("value", str(error))
    if isinstance(error, OSError):
        return f"The points cannot be written to the temporary folder ({reason_of(error)}). Free some space there."
    _log.error("a computation of the projector failed", exc_info=error)
    return _failure("error", f"{type(error).__name__}: {error}")
