"""One job: its plan, its progress, and its result."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypedDict
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.point_files import PointFiles
from stepscope.dashboard.embeddings.processes import WorkerProcess
from stepscope.dashboard.embeddings.results import Result
from stepscope.dashboard.embeddings.worker_protocol import KINDS, Arrays

JobState = Literal["queued", "running", "paused", "done", "cancelled", "failed"]
UNFINISHED: Final = frozenset({"queued", "running", "paused"})
KEPT_STATES: Final = frozenset({"paused", "done"})
_TIMES: Final = 24
"""Number of updates used to compute the speed."""


class JobTold(TypedDict):
    """How far a job is."""

    job: str
    version: int
    state: JobState
    phase: str
    iteration: int
    total: int
    """0 if unknown."""
    progress: float | None
    loss: float | None
    seconds_left: float | None
    updates_per_second: float | None
    message: str
    notes: list[str]
    step: int | None
    frame: int | None
    """Index of the reported picture."""
    frames: list[int | None] | None
    """Steps of the pictures, if there are several."""
    frames_done: int


class JobError(Exception):
    """A job cannot be done or found; the message is a sentence for the user."""


@dataclass(frozen=True)
class Prepared:
    """The input of a worker, or the whole result if no worker is needed."""

    order: Mapping[str, Any] | None
    """The message to the worker; None if everything is done."""
    arrays: Arrays = field(default_factory=dict)
    """The arrays sent with it."""
    pictures: Mapping[int, NDArray[np.float32]] = field(default_factory=dict)
    """By index: the picture to show first, or the result."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class PlannedPicture:
    """One picture of a job."""

    step: int | None
    points: int
    """Number of points."""
    rows: NDArray[np.uint32] | None
    """Rows of the dataset; None for all."""


@dataclass(frozen=True)
class Plan:
    """The plan of a job."""

    key: str
    """Equal for the same data, method, and settings."""
    facts: Mapping[str, Any]
    """Plain data sent to the page unchanged."""
    pictures: tuple[PlannedPicture, ...]
    """Ordered by step; empty if the job makes no picture."""
    prepare: Callable[[str, PointFiles], Prepared]
    """Prepares the input of a worker, given a holder name for files of points; called in a thread that may block.
    Raises JobError and others."""
    finish: Callable[[Arrays], dict[str, Any]] | None = None
    """Called with the result; its return value is sent to the page."""
    notes: tuple[str, ...] = ()


@dataclass
class JobPicture:
    """The current state of a picture."""

    step: int | None
    rows: NDArray[np.uint32] | None
    coordinates: NDArray[np.float32] | None = None
    version: int = 0
    """Version of the job when the picture last changed."""


@dataclass
class Job:
    """A running or finished job. Only `stepscope.dashboard.embeddings.job_queue.Jobs` changes it, holding its lock."""

    plan: Plan | None
    """None if the job is known only from its stored result."""
    key: str
    pictures: list[JobPicture]
    facts: dict[str, Any]
    notes: list[str]
    state: JobState = "queued"
    version: int = 1
    phase: str = "preparing"
    iteration: int = 0
    total: int = 0
    loss: float | None = None
    message: str = ""
    answer: dict[str, Any] = field(default_factory=dict)
    """Numbers in the result."""
    arrays: Arrays = field(default_factory=dict)
    """Arrays in the result, if it is not a picture."""
    saved: Arrays = field(default_factory=dict)
    """The state to resume from."""
    place: int = 0
    """Number of finished pictures."""
    more_iterations: int = 0
    """Iterations to add when a worker takes the job."""
    perturb: bool = False
    """Whether to perturb when a worker takes the job."""
    unwatched: bool = False
    """Whether it was paused because no page had it open."""
    prepared: Prepared | None = None
    holder: str = field(default_factory=lambda: uuid4().hex)
    """Name under which it holds files of points."""
    turn: int = 0
    """Number of times it was prepared; an earlier preparation that is still running is discarded."""
    worker: WorkerProcess | None = None
    task: int = 0
    requested: float = field(default_factory=time.monotonic)
    """Time of the last request for it."""
    paused_at: float = 0.0
    times: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_TIMES))
    """Time and iteration of each update."""

    @property
    def bytes(self) -> int:
        """Estimated memory use."""
        pictures = sum(f.coordinates.nbytes for f in self.pictures if f.coordinates is not None)
        return pictures + sum(a.nbytes for a in (*self.arrays.values(), *self.saved.values())) + 4_096

    def show(self, index: int, coordinates: NDArray[np.float32]) -> None:
        """Store the current picture; raise the version first."""
        self.pictures[index].coordinates = coordinates
        self.pictures[index].version = self.version

    def reported(self, index: int) -> dict[str, Any]:
        """Return the job as sent to a page, as plain data."""
        picture = self.pictures[index] if self.pictures else None
        steps = [each.step for each in self.pictures]
        speed, left = self._speed()
        reported: JobTold = {
            "job": self.key,
            "version": self.version,
            "state": self.state,
            "phase": self.phase,
            "iteration": self.iteration,
            "total": self.total,
            "progress": self._progress(),
            "loss": self.loss,
            "seconds_left": left,
            "updates_per_second": speed,
            "message": self.message,
            "notes": self.notes,
            "step": picture.step if picture else None,
            "frame": index if picture else None,
            "frames": steps if len(steps) > 1 else None,
            "frames_done": sum(each.coordinates is not None for each in self.pictures),
        }
        return {**self.facts, **self.answer, **reported}

    def _progress(self) -> float | None:
        """Return the completed fraction over all pictures, if known."""
        if self.state == "done":
            return 1.0
        share = min(self.iteration / self.total, 1.0) if self.total else None
        if len(self.pictures) < 2 or share is None:
            return share
        return (self.place + share) / len(self.pictures)

    def _speed(self) -> tuple[float | None, float | None]:
        """Return updates per second and the remaining seconds over all pictures."""
        if self.state != "running" or len(self.times) < 2:
            return None, None
        (first, from_iteration), (last, to_iteration) = self.times[0], self.times[-1]
        if last <= first:
            return None, None
        speed = (len(self.times) - 1) / (last - first)
        done = (to_iteration - from_iteration) / (last - first)
        unfinished = max(len(self.pictures) - self.place, 1)
        left = (unfinished * self.total - self.iteration) / done if done > 0 and self.total else None
        return round(speed, 2), None if left is None else round(max(left, 0.0), 1)

    def result(self) -> Result:
        """Return the result to store."""
        arrays: Arrays = {f"answer.{name}": array for name, array in self.arrays.items()}
        arrays.update(self.saved)
        for index, picture in enumerate(self.pictures):
            if picture.coordinates is not None:
                arrays[f"frame.{index}"] = picture.coordinates
            if picture.rows is not None:
                arrays[f"rows.{index}"] = picture.rows
        facts = {
            "state": self.state,
            "facts": self.facts,
            "notes": self.notes,
            "answer": self.answer,
            "phase": self.phase,
            "iteration": self.iteration,
            "total": self.total,
            "loss": self.loss,
            "place": self.place,
            "steps": [picture.step for picture in self.pictures],
        }
        return Result(facts, {name: array for name, array in arrays.items() if array.dtype.kind in KINDS})


def planned(plan: Plan) -> Job:
    """Return a job that has not started."""
    pictures = [JobPicture(picture.step, picture.rows) for picture in plan.pictures]
    return Job(plan, plan.key, pictures, dict(plan.facts), list(plan.notes))


def kept(key: str, result: Result, plan: Plan | None) -> Job:
    """Return a job from its stored result.

    Raises:
        KeyError: the result is incomplete.
        ValueError: the result does not fit the plan.
    """
    facts, arrays = result.facts, result.arrays
    if facts["state"] not in KEPT_STATES:
        raise ValueError(f"its state is {facts['state']!r}")
    pictures = [
        JobPicture(step, arrays.get(f"rows.{index}"), arrays.get(f"frame.{index}"), 1)
        for index, step in enumerate(facts["steps"])
    ]
    if plan is not None and not _fits(pictures, plan.pictures):
        raise ValueError("it has other points")
    job = Job(plan, key, pictures, dict(facts["facts"]), list(facts["notes"]))
    job.state = facts["state"]
    job.phase, job.iteration, job.total = facts["phase"], facts["iteration"], facts["total"]
    job.loss, job.place, job.answer = facts["loss"], facts["place"], dict(facts["answer"])
    job.arrays = {name.removeprefix("answer."): a for name, a in arrays.items() if name.startswith("answer.")}
    job.saved = {name: a for name, a in arrays.items() if name.startswith("state.")}
    return job


def _fits(pictures: Sequence[JobPicture], planned_pictures: Sequence[PlannedPicture]) -> bool:
    return len(pictures) == len(planned_pictures) and all(
        picture.coordinates is None or len(picture.coordinates) == wanted.points
        for picture, wanted in zip(pictures, planned_pictures, strict=True)
    )
