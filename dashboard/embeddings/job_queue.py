"""Long computations: started, found again, followed, and controlled here, and carried out by `WorkerPool`."""

import asyncio
import contextlib
import logging
import threading
import time
from dataclasses import dataclass
from typing import Any, Final, Literal, assert_never

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.job import UNFINISHED, Job, JobError, JobState, Plan, kept, planned
from stepscope.dashboard.embeddings.processes import WorkerProcess
from stepscope.dashboard.embeddings.worker_pool import MOST_RUNNING, WorkerPool
from stepscope.dashboard.embeddings.worker_protocol import Arrays
from stepscope.summary.counts import counted

Action = Literal["pause", "resume", "perturb", "cancel", "extend"]

MOST_UNFINISHED: Final = 60
PERTURBED_ITERATIONS: Final = 200
"""Iterations added when a finished projection is perturbed."""
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Picture:
    """The current picture of a job."""

    job: str
    facts: dict[str, Any]
    coordinates: NDArray[np.float32]
    rows: NDArray[np.uint32] | None
    """Rows of the dataset; None for all."""
    step: int | None
    version: int


class Jobs(WorkerPool):
    """All jobs of one log directory; thread-safe."""

    def submit(self, plan: Plan) -> tuple[Job, bool]:
        """Return the job of a plan, started if necessary, and whether its result already existed.

        Raises:
            JobError: too many jobs are waiting.
        """
        with self._lock:
            job = self._known(plan)
        job = job or self._from_files(plan.key, plan)
        with self._lock:
            # Another caller may have asked for the same meanwhile.
            job = self._known(plan) or job
            done = job is not None and job.state == "done"
            if job is None:
                if sum(each.state in UNFINISHED for each in self._jobs.values()) >= MOST_UNFINISHED:
                    raise JobError("Too many computations are waiting. Cancel some, or wait until they are done.")
                job = planned(plan)
                self._prepare(job)
            self._jobs[plan.key] = job
            self._forget()
        if done and plan.finish is not None:
            # Another result may have taken the place of what this one made.
            answer = plan.finish(job.arrays)
            with self._lock:
                job.answer |= answer
        return job, done

    def is_known(self, plan: Plan) -> bool:
        """Return whether a plan is done or in progress, so that its job need not be started."""
        with self._lock:
            job = self._jobs.get(plan.key)
        job = job or self._from_files(plan.key, plan)
        return job is not None and (job.state == "done" or job.state in UNFINISHED)

    def find(self, key: str) -> Job:
        """Return a job by its key; raises JobError if it no longer exists."""
        with self._lock:
            job = self._jobs.get(key)
        job = job or self._from_files(key, None)
        if job is None:
            raise JobError("This computation no longer exists. Start it again.")
        with self._lock:
            job = self._jobs.setdefault(key, job)
            job.requested = time.monotonic()
            self._jobs.move_to_end(key)
        return job

    def reported(
        self, key: str, index: int | None = None
    ) -> tuple[dict[str, Any], NDArray[np.float32] | None, int, NDArray[np.uint32] | None]:
        """Return the job as sent to a page, one of its pictures (the last if None), its version, and the rows it shows.

        Raises:
            JobError: there is no such job or picture.
        """
        job = self.find(key)
        with self._lock:
            if index is not None and not 0 <= index < len(job.pictures):
                if not job.pictures:
                    raise JobError("The computation has no view yet. Request it again later.")
                raise JobError(
                    f"The computation has {counted(len(job.pictures), 'view')}; expected a number from 0 to "
                    f"{len(job.pictures) - 1}, got {index}."
                )
            place = len(job.pictures) - 1 if index is None else index
            header = job.reported(place)
            if job.state == "queued" and job in self._queue:
                header["phase"] = "waiting"
                header["message"] = _waits_behind(self._queue.index(job) + self._running())
            if not job.pictures:
                return header, None, 0, None
            shown = job.pictures[place]
            return header, shown.coordinates, shown.version, shown.rows

    def result(self, key: str) -> tuple[dict[str, Any], Arrays]:
        """Return a job without pictures as sent to a page, and its arrays if it is done.

        Raises JobError.
        """
        job = self.find(key)
        with self._lock:
            return job.reported(0), dict(job.arrays) if job.state == "done" else {}

    def picture(self, key: str, index: int | None = None) -> Picture:
        """Return the current picture of a job; raises JobError if there is none yet."""
        header, coordinates, version, rows = self.reported(key, index)
        if coordinates is None:
            raise JobError("The projection has no view yet. Request it again later.")
        return Picture(key, header, coordinates, rows, header["step"], version)

    async def wait_beyond(self, key: str, version: int, timeout: float) -> None:
        """Wait until a job is beyond ``version``, for at most ``timeout`` seconds, without blocking a thread."""
        event = asyncio.Event()
        entry = (key, asyncio.get_running_loop(), event)
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.version > version or self._closed:
                return
            self._waiting.add(entry)
        try:
            await asyncio.wait_for(event.wait(), timeout)
        except TimeoutError:
            pass
        finally:
            with self._lock:
                self._waiting.discard(entry)

    def act(self, key: str, action: Action, iterations: int = 0) -> JobState:
        """Apply an action to a job and return its new state; actions without effect are ignored.

        Raises:
            JobError: there is no such job, or the action does not apply to it.
        """
        job = self.find(key)
        with self._lock:
            match action:
                case "pause":
                    self._pause(job, unwatched=False)
                case "resume":
                    self._resume(job)
                case "cancel":
                    self._cancel(job)
                case "perturb":
                    self._change(job, perturb=True)
                case "extend":
                    self._change(job, iterations=iterations)
                case _:
                    assert_never(action)
            return job.state

    # Under the lock.

    def _known(self, plan: Plan) -> Job | None:
        job = self._jobs.get(plan.key)
        if job is None or job.state in ("failed", "cancelled"):
            return None
        job.plan = plan
        job.requested = time.monotonic()
        self._jobs.move_to_end(plan.key)
        if job.state == "paused" and job.unwatched:
            self._resume(job)
        return job

    def _from_files(self, key: str, plan: Plan | None) -> Job | None:
        result = self._files.load(key)
        try:
            return None if result is None else kept(key, result, plan)
        except (KeyError, ValueError, TypeError) as error:
            _log.warning("the kept result %s is not used: %s", key, error)
            return None

    def _resume(self, job: Job) -> None:
        if job.state != "paused":
            return
        job.requested = time.monotonic()
        job.unwatched = False
        if job.worker is None:
            self._again(job)
        elif self._running() < MOST_RUNNING:
            self._say(job, "resume")
            job.times.clear()
            self._set(job, "running")
        else:
            # The job waits like any other once its worker has suspended it.
            self._say(job, "suspend")
            self._set(job, "queued")

    def _cancel(self, job: Job) -> None:
        if job.state not in UNFINISHED:
            return
        with contextlib.suppress(ValueError):
            self._queue.remove(job)
        self._say(job, "cancel")
        self._set(job, "cancelled", "Canceled.")
        worker, task = job.worker, job.task
        if worker is not None:
            timer = threading.Timer(self._timeouts.cancelled, self._end_stubborn, (worker, task))
            timer.daemon = True
            timer.start()
        else:
            self._points.release(job.holder)

    def _end_stubborn(self, worker: WorkerProcess, task: int) -> None:
        with self._lock:
            entry = self._workers.get(worker)
            if entry is not None and entry.job is not None and entry.job.task == task:
                worker.kill()

    def _change(self, job: Job, *, perturb: bool = False, iterations: int = 0) -> None:
        """Perturb or extend a projection in any state."""
        if not job.pictures or "seed" not in job.facts or job.facts.get("projection") not in ("tsne", "umap"):
            raise JobError("Only t-SNE and UMAP projections can be perturbed or extended.")
        if job.state in ("failed", "cancelled"):
            raise JobError(
                f"The computation {'was canceled' if job.state == 'cancelled' else 'failed'}. Start it again."
            )
        if job.worker is not None:
            self._say(job, "perturb") if perturb else self._say(job, "extend", iterations=iterations)
            return
        job.perturb |= perturb
        job.more_iterations += iterations
        if job.state == "done":
            job.more_iterations = job.more_iterations or PERTURBED_ITERATIONS
            self._again(job)


def _waits_behind(count: int) -> str:
    return f"Waiting for {count} other computation{'' if count == 1 else 's'}."
