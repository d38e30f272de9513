"""One job: what it is to do, how far it is, and what came of it."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

from dashboard.embeddings.point_files import PointFiles
from dashboard.embeddings.processes import WorkerProcess
from dashboard.embeddings.results import Result
from dashboard.embeddings.wire import KINDS, Arrays

JobState = Literal["queued", "running", "paused", "done", "cancelled", "failed"]
UNFINISHED: Final = frozenset({"queued", "running", "paused"})
KEPT_STATES: Final = frozenset({"paused", "done"})
_TIMES: Final = 24
"""Updates from which the speed is told."""


class JobError(Exception):
    """A job cannot be done or found; the message is a sentence for a person."""


@dataclass(frozen=True)
class Prepared:
    """What has to be there before a worker begins, or the whole result where that needs none."""

    order: Mapping[str, Any] | None
    """What the worker is told; None where everything is done."""
    arrays: Arrays = field(default_factory=dict)
    """What it is told with it."""
    pictures: Mapping[int, NDArray[np.float32]] = field(default_factory=dict)
    """By frame: the picture to show first, or the result."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class FramePlan:
    """One picture of a job."""

    step: int | None
    points: int
    """How many it has."""
    rows: NDArray[np.uint32] | None
    """Which points of the dataset; None for all."""


@dataclass(frozen=True)
class Plan:
    """What a job is to do."""

    key: str
    """Equal for equal data, method and settings."""
    facts: Mapping[str, Any]
    """What a page is told as it is: plain data."""
    frames: tuple[FramePlan, ...]
    """In the order of their steps; none where the job makes no picture."""
    prepare: Callable[[str, PointFiles], Prepared]
    """Makes ready for a worker, given the name to hold files under; run by a thread that may take its time. Raises
    JobError and others."""
    finish: Callable[[Arrays], dict[str, Any]] | None = None
    """Called with the result; what it gives is told to the page."""
    notes: tuple[str, ...] = ()


@dataclass
class Frame:
    """A picture as far as it is."""

    step: int | None
    rows: NDArray[np.uint32] | None
    coordinates: NDArray[np.float32] | None = None
    version: int = 0
    """The job's, when the picture last changed."""


@dataclass
class Job:
    """A job under way or finished. Only `dashboard.embeddings.jobs.Jobs` changes it, under its lock."""

    plan: Plan | None
    """None where the job is known from its kept result only."""
    key: str
    frames: list[Frame]
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
    """Numbers of the result."""
    arrays: Arrays = field(default_factory=dict)
    """Of the result, where it is no picture."""
    saved: Arrays = field(default_factory=dict)
    """The state to go on from."""
    place: int = 0
    """How many frames are done."""
    more_iterations: int = 0
    """To add when a worker takes it up."""
    perturb: bool = False
    """Whether to perturb then."""
    unwatched: bool = False
    """Whether it was paused because nobody looked."""
    prepared: Prepared | None = None
    holder: str = field(default_factory=lambda: uuid4().hex)
    """Under which it holds files of points."""
    turn: int = 0
    """How often it was made ready; an earlier one that is still under way is of no use."""
    worker: WorkerProcess | None = None
    task: int = 0
    asked: float = field(default_factory=time.monotonic)
    """When somebody last asked for it."""
    paused_at: float = 0.0
    times: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=_TIMES))
    """When updates came, and at which iteration."""

    @property
    def bytes(self) -> int:
        """Estimate of the memory it holds."""
        pictures = sum(f.coordinates.nbytes for f in self.frames if f.coordinates is not None)
        return pictures + sum(a.nbytes for a in (*self.arrays.values(), *self.saved.values())) + 4_096

    def show(self, index: int, coordinates: NDArray[np.float32]) -> None:
        """Takes a new picture of a frame; the version is to be raised before."""
        self.frames[index].coordinates = coordinates
        self.frames[index].version = self.version

    def told(self, index: int) -> dict[str, Any]:
        """What a page is told of it, as plain data."""
        frame = self.frames[index] if self.frames else None
        steps = [entry.step for entry in self.frames]
        speed, left = self._speed()
        return {
            **self.facts,
            **self.answer,
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
            "step": frame.step if frame else None,
            "frame": index if frame else None,
            "frames": steps if len(steps) > 1 else None,
            "frames_done": sum(entry.coordinates is not None for entry in self.frames),
        }

    def _progress(self) -> float | None:
        """The share that is done of all frames, where that is known."""
        if self.state == "done":
            return 1.0
        share = min(self.iteration / self.total, 1.0) if self.total else None
        if len(self.frames) < 2 or share is None:
            return share
        return (self.place + share) / len(self.frames)

    def _speed(self) -> tuple[float | None, float | None]:
        """Updates a second, and seconds that are left."""
        if self.state != "running" or len(self.times) < 2:
            return None, None
        (first, from_iteration), (last, to_iteration) = self.times[0], self.times[-1]
        if last <= first:
            return None, None
        speed = (len(self.times) - 1) / (last - first)
        done = (to_iteration - from_iteration) / (last - first)
        left = (self.total - self.iteration) / done if done > 0 and self.total else None
        return round(speed, 2), None if left is None else round(max(left, 0.0), 1)

    def result(self) -> Result:
        """What is kept of it."""
        arrays: Arrays = {f"answer.{name}": array for name, array in self.arrays.items()}
        arrays.update(self.saved)
        for index, frame in enumerate(self.frames):
            if frame.coordinates is not None:
                arrays[f"frame.{index}"] = frame.coordinates
            if frame.rows is not None:
                arrays[f"rows.{index}"] = frame.rows
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
            "steps": [frame.step for frame in self.frames],
        }
        return Result(facts, {name: array for name, array in arrays.items() if array.dtype.kind in KINDS})


def planned(plan: Plan) -> Job:
    """A job that nothing was done of yet."""
    frames = [Frame(frame.step, frame.rows) for frame in plan.frames]
    return Job(plan, plan.key, frames, dict(plan.facts), list(plan.notes))


def kept(key: str, result: Result, plan: Plan | None) -> Job:
    """A job as its kept result has it.

    Raises:
        KeyError: the result misses something.
        ValueError: it does not fit the plan.
    """
    facts, arrays = result.facts, result.arrays
    if facts["state"] not in KEPT_STATES:
        raise ValueError(f"its state is {facts['state']!r}")
    frames = [
        Frame(step, arrays.get(f"rows.{index}"), arrays.get(f"frame.{index}"), 1)
        for index, step in enumerate(facts["steps"])
    ]
    if plan is not None and not _fits(frames, plan.frames):
        raise ValueError("it has other points")
    job = Job(plan, key, frames, dict(facts["facts"]), list(facts["notes"]))
    job.state = facts["state"]
    job.phase, job.iteration, job.total = facts["phase"], facts["iteration"], facts["total"]
    job.loss, job.place, job.answer = facts["loss"], facts["place"], dict(facts["answer"])
    job.arrays = {name.removeprefix("answer."): a for name, a in arrays.items() if name.startswith("answer.")}
    job.saved = {name: a for name, a in arrays.items() if name.startswith("state.")}
    return job


def _fits(frames: Sequence[Frame], planned_frames: Sequence[FramePlan]) -> bool:
    return len(frames) == len(planned_frames) and all(
        frame.coordinates is None or len(frame.coordinates) == wanted.points
        for frame, wanted in zip(frames, planned_frames, strict=True)
    )
