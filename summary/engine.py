"""Runs divisible work in threads or processes on this machine, or on a Dask or Ray cluster, through joblib.

`Engine.map` calls a pure, picklable function for each of many parts and yields the outcomes as they are ready. If a
part fails, it is named and the others go on. The parts of a lost worker are repeated. A caller that leaves ends the
work.
"""

import contextlib
import logging
import os
import re
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Generic, TypeVar

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.errors import UserError
from stepscope.summary.full_install import needs_full_install

Part = TypeVar("Part")
Result = TypeVar("Result")

MOST_LOSSES: Final = 2
"""Number of times that a part, run alone, may lose its worker before it fails."""
_AHEAD: Final = 2
"""Parts handed to each worker before it has done the first; few, so that few are lost with a worker."""
_WAIT_SECONDS: Final = 10
"""Time for a cluster to answer, and for it to have a worker."""
_RESTART_TIME: Final = "1h"
"""Time for a lost worker of this machine to restart: with Dask's default of 15 s, a busy machine loses it for good."""
_FORMS: Final = "threads, processes, dask, ray, dask://HOST:8786 or ray://HOST:10001"
_log: Final = logging.getLogger(__name__)


@dataclass(frozen=True)
class Outcome(Generic[Part, Result]):
    """The outcome of a part."""

    part: Part
    result: Result | None
    error: str = ""
    """Why there is no result; empty if there is one."""


@dataclass
class Progress:
    """The progress of some work."""

    parts: int
    bytes: int
    done: int = 0
    """Parts that succeeded."""
    done_bytes: int = 0
    failures: dict[str, str] = field(default_factory=dict)
    """Why parts failed, by part name."""
    began: float = field(default_factory=time.monotonic)

    @property
    def complete(self) -> bool:
        """Whether every part succeeded."""
        return self.done == self.parts

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do."""
        return self.done + len(self.failures) >= self.parts

    def seconds_left(self, now: float | None = None) -> float | None:
        """Estimate how long the rest takes at the rate so far; None before anything is done."""
        if not self.done_bytes:
            return None
        passed = (time.monotonic() if now is None else now) - self.began
        return passed * max(0, self.bytes - self.done_bytes) / self.done_bytes


class Engine:
    """Runs parts of work; use it as a context manager, which ends everything it has started.

    Args:
        spec: see `engine_at`.
        workers: number of parts to run at once on this machine; the number of cores if None.
    """

    def __init__(self, spec: str = "threads", workers: int | None = None) -> None:
        self.spec: Final = spec
        self._workers = workers or _cores()
        self._kind, _, self._place = spec.partition("://")
        self._open = contextlib.ExitStack()
        self._backend: dict[str, Any] | None = None

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()
        self._backend = None

    def map(
        self, function: Callable[[Part], Result], parts: Sequence[Part]
    ) -> Generator[Outcome[Part, Result], None, None]:
        """Yield the outcome of each part, in order of completion.

        Args:
            function: a pure, module-level function; an exception that it raises is the outcome of that part alone.
            parts: the arguments of the calls, each small: workers themselves read the data that a part names.

        Raises:
            UserError: the cluster cannot be reached or has no workers.
            Cancelled: the result is no longer wanted.
        """
        if not parts:
            return
        left = dict(enumerate(parts))
        alone: list[int] = []
        losses: dict[int, int] = {}
        while left:
            begun: list[int] = []
            try:
                chosen = alone[:1] or list(left)
                for outcome in self._call(function, parts, chosen, begun):
                    check_cancelled()
                    number, result, error = outcome
                    del left[number]
                    alone = [each for each in alone if each != number]
                    yield Outcome(parts[number], result, error)
            except Exception as error:
                if not _is_loss(error):
                    raise
                _log.warning("a worker was lost: %s", error)
                suspects = [number for number in begun if number in left]
                if alone:
                    (number,) = chosen
                    losses[number] = losses.get(number, 0) + 1
                    if losses[number] >= MOST_LOSSES:
                        del left[number]
                        alone.remove(number)
                        yield Outcome(
                            parts[number],
                            None,
                            "its worker was lost every time; it may have too little memory",
                        )
                else:
                    # Run each in a call of its own, to find out which of them ends its worker.
                    alone = suspects or list(left)

    def _call(
        self, function: Callable[[Any], Any], parts: Sequence[Any], chosen: Sequence[int], begun: list[int]
    ) -> Iterator[tuple[int, Any, str]]:
        with needs_full_install("Work on several cores"):
            import joblib

        backend = self._configured()
        with joblib.parallel_config(**backend):
            workers = self._workers if self._kind in ("threads", "processes") else -1
            # Ray's backend returns results only all at once.
            one_by_one = self._kind != "ray"
            parallel = joblib.Parallel(
                n_jobs=max(2, workers) if self._kind == "processes" else workers,
                batch_size=1,
                pre_dispatch=f"{_AHEAD}*n_jobs",
                return_as="generator_unordered" if one_by_one else "list",
            )

            def calls() -> Iterator[Any]:
                for number in chosen:
                    begun.append(number)
                    yield joblib.delayed(_attempt)(function, number, parts[number])

            if one_by_one:
                found = parallel(calls())
                try:
                    for outcome in found:  # noqa: UP028 - "yield from" would close it by itself
                        yield outcome
                finally:
                    with warnings.catch_warnings():
                        # close() warns of dropping calls sent ahead, which is what leaving means.
                        warnings.simplefilter("ignore", UserWarning)
                        found.close()
                return
            wave = _AHEAD * 4 * max(1, _cores())
            for start in range(0, len(chosen), wave):
                check_cancelled()
                numbers = chosen[start : start + wave]
                begun += numbers
                yield from parallel(joblib.delayed(_attempt)(function, each, parts[each]) for each in numbers)

    def _configured(self) -> dict[str, Any]:
        if self._backend is None:
            self._backend = self._connect()
        return self._backend

    def _connect(self) -> dict[str, Any]:
        match self._kind:
            case "threads":
                return {"backend": "threading"}
            case "processes":
                return {"backend": "loky"}
            case "dask":
                return self._connect_dask()
            case _:
                return self._connect_ray()

    def _connect_dask(self) -> dict[str, Any]:
        try:
            import dask
            from distributed import Client, LocalCluster
            from joblib._dask import DaskDistributedBackend
        except ImportError as error:
            raise UserError(
                f"--engine {self.spec} needs Dask: {error}. Install it with pip install 'stepscope[dask]'."
            ) from error
        try:
            if self._place:
                client = self._open.enter_context(
                    Client(f"tcp://{self._place}", timeout=_WAIT_SECONDS, set_as_default=False)
                )
            else:
                patience = {"distributed.deploy.lost-worker-timeout": _RESTART_TIME}
                self._open.enter_context(dask.config.set(patience))
                cluster = self._open.enter_context(
                    LocalCluster(
                        n_workers=self._workers,
                        threads_per_worker=1,
                        processes=True,
                        dashboard_address=None,
                        host="127.0.0.1",
                        silence_logs=logging.ERROR,
                    )
                )
                client = self._open.enter_context(Client(cluster, set_as_default=False))
            if not client.nthreads():
                client.wait_for_workers(1, timeout=_WAIT_SECONDS)
        except (OSError, TimeoutError, ValueError) as error:
            self._open.close()
            raise UserError(
                f"--engine {self.spec} cannot be used: {error or type(error).__name__}. Expected the address of a Dask "
                "scheduler that has workers; dask scheduler and dask worker start them."
            ) from error
        backend = DaskDistributedBackend(client=client)
        known = backend.effective_n_jobs
        # With one worker, joblib would work here, where it must not; a cluster may have one so far, or only one left.
        backend.effective_n_jobs = lambda n_jobs: max(2, known(n_jobs))
        return {"backend": backend}

    def _connect_ray(self) -> dict[str, Any]:
        try:
            import ray
            from ray.util.joblib import register_ray
        except ImportError as error:
            raise UserError(
                f"--engine {self.spec} needs Ray: {error}. Install it with pip install 'stepscope[ray]'."
            ) from error
        register_ray()
        if not self._place and ray.is_initialized():
            # Other code in this process started and ends it.
            return {"backend": "ray"}
        try:
            if self._place:
                ray.init(address=self.spec, log_to_driver=False)
            else:
                ray.init(num_cpus=self._workers, include_dashboard=False, log_to_driver=False)
        except Exception as error:
            raise UserError(
                f"--engine {self.spec} cannot be used: {error or type(error).__name__}. Expected the address of a Ray "
                "cluster's client server, which ray start --head starts at port 10001."
            ) from error
        self._open.callback(ray.shutdown)
        return {"backend": "ray"}


def engine_at(spec: str | None, *, parts: int = 0, workers: int | None = None) -> Engine:
    """Return the engine that a user names: "threads", "processes", "dask", "ray", or the address of a cluster.

    Without a name, the engine is "processes" for many parts, else "threads", as processes take seconds to start.

    Raises:
        UserError: ``spec`` does not name an engine.
    """
    if spec is None:
        spec = "processes" if parts >= MANY_PARTS and (workers or _cores()) > 1 else "threads"
    if not re.fullmatch(r"threads|processes|dask|ray|(dask|ray)://[^/\s]+:\d+", spec):
        raise UserError(f"--engine {spec}: there is no such engine. Expected {_FORMS}.")
    return Engine(spec, workers)


MANY_PARTS: Final = 48
"""Number of parts from which processes pay off."""


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _attempt(function: Callable[[Any], Any], number: int, part: Any) -> tuple[int, Any, str]:
    """Run a part in a worker; an error is returned as text, as not every error can be pickled."""
    try:
        return number, function(part), ""
    except Exception as error:
        return number, None, str(error) or type(error).__name__


def _is_loss(error: Exception) -> bool:
    """Return whether an error means that a worker is gone, by the names that loky, Dask and Ray give it."""
    return any(
        kind.__name__ in ("BrokenProcessPool", "KilledWorker", "WorkerCrashedError", "ActorDiedError", "RayActorError")
        for kind in type(error).__mro__
    )
