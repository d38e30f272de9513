"""Recording a stretch of a running program: `start`, `step`, `annotate`, `stop`.

    import profiler

    with profiler.Profile("runs/first"):
        for batch in batches:
            with profiler.annotate("forward"):
                ...
            profiler.step()

Training code may keep its `annotate` and `step` calls: without a recording they cost next to nothing.
"""

import gzip
import inspect
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from types import TracebackType
from typing import Any, Final, ParamSpec, Protocol, Self, TypeVar, cast

import orjson

from profiler.chrome_trace import chrome_trace_from_records
from profiler.collectors.base import ArgumentValue, Clock, Collector, Record
from profiler.collectors.host import END, OPEN, HostCollector, Scopes, checked_step_number, plain_arguments
from profiler.step_stats import split_steps, step_stats_from_records
from summary.errors import UserError
from summary.proto.run_metadata_pb2 import RunMetadata
from summary.writer import SummaryWriter

P = ParamSpec("P")
R = TypeVar("R")


class AlreadyStartedError(UserError):
    """A recording was started while one runs; a process has one at a time."""


class NotStartedError(UserError):
    """A recording was stopped while none runs."""


@dataclass(frozen=True)
class Recording:
    """What a finished recording holds and where it is."""

    trace_path: Path
    """The Chrome trace; the event file with the steps' StepStats is in the log directory."""
    steps: tuple[int, ...]
    records: int
    unfinished: int
    """Scopes and steps that were still open at the end; they end there and say so in their arguments."""


class RunMetadataWriter(Protocol):
    """What a recording needs of `summary.SummaryWriter`."""

    def add_run_metadata(
        self,
        run_metadata: RunMetadata,
        tag: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None: ...

    def close(self) -> None: ...


class Session:
    """One recording, from `start` to `stop`; `profiler.start` runs one for the whole process.

    Args:
        logdir: the run's log directory, made if absent.
        first_step: number of the step that begins with the recording.
        collectors: what to record beside the host's scopes, steps and garbage collections.
        clock: the module `time`, or a fake one.
        make_writer: opens the event file.
        host_name: names the trace file, and the host in it.

    Raises:
        TypeError, ValueError: ``first_step`` is no whole number of 64 bits.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        first_step: int = 0,
        collectors: Sequence[Collector] = (),
        clock: Clock = time,
        make_writer: Callable[[str], RunMetadataWriter] = SummaryWriter,
        host_name: str | None = None,
    ) -> None:
        self.host: Final = HostCollector(clock)
        self._logdir: Final = Path(logdir)
        self._first_step: Final = checked_step_number(first_step)
        self._collectors: Final = (self.host, *collectors)
        self._make_writer: Final = make_writer
        self._host_name: Final = host_name or socket.gethostname()

    def start(self) -> None:
        """Starts all collectors, and the first step.

        Raises:
            UserError: the log directory cannot be made.
        """
        try:
            self._logdir.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(
                f"nothing can be recorded into {self._logdir}: {error.strerror}. Expected a directory, or a "
                "place where one can be made."
            ) from error
        started: list[Collector] = []
        try:
            for collector in self._collectors:
                collector.start()
                started.append(collector)
        except BaseException:
            for collector in started:
                collector.stop()
            raise
        self.host.begin_step(self._first_step)

    def step(self, next_step: int | None = None) -> None:
        """Ends the running step and begins the next, numbered one more unless ``next_step`` is given."""
        self.host.begin_step(next_step)

    def stop(self) -> Recording:
        """Stops all collectors, writes what they recorded, and returns what was written where."""
        records = [record for collector in self._collectors for record in collector.stop()]
        parts = split_steps(records)
        trace_path = self._write_trace(records, parts[0][0].start_ns)
        self._write_step_stats(parts)
        return Recording(
            trace_path=trace_path,
            steps=tuple(int(step.args["step"] or 0) for step, _ in parts),
            records=len(records),
            unfinished=sum(bool(record.args.get("unfinished")) for record in records),
        )

    def _write_trace(self, records: Sequence[Record], base_ns: int) -> Path:
        """Writes ``plugins/profile/<date>/<host>.trace.json.gz``, as TensorFlow and JAX do."""
        document = chrome_trace_from_records(records, base_ns=base_ns, host_name=self._host_name, host_pid=os.getpid())
        date = datetime.fromtimestamp(base_ns / 1e9).strftime("%Y_%m_%d_%H_%M_%S")
        folder = self._logdir / "plugins" / "profile" / date
        folder.mkdir(parents=True, exist_ok=True)
        content = gzip.compress(orjson.dumps(document), compresslevel=6)
        return _write_new(folder, self._host_name, ".trace.json.gz", content)

    def _write_step_stats(self, parts: Sequence[tuple[Record, Sequence[Record]]]) -> None:
        """Writes the StepStats of every step under the tag that TensorFlow's ``ProfilerHook`` gives them."""
        writer = self._make_writer(str(self._logdir))
        try:
            for step, records in parts:
                number = int(step.args["step"] or 0)
                run_metadata = RunMetadata(step_stats=step_stats_from_records(records))
                wall_time = (step.start_ns + step.duration_ns) / 1e9
                writer.add_run_metadata(run_metadata, f"step_{number}", number, wall_time)
        finally:
            writer.close()


class _Process:
    """The recording that runs in this process, if one does.

    There is one because `annotate` is called from code that knows of no session, and from any thread.
    """

    __slots__ = ("host", "lock", "session")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.session: Session | None = None
        self.host: HostCollector | None = None


_process: Final = _Process()


def start(logdir: str | os.PathLike[str], *, first_step: int = 0) -> None:
    """Starts recording this process: steps, scopes of all threads, and garbage collections.

    Args:
        logdir: the run's log directory; give the one that the run's summaries go to, to see both together.
        first_step: number of the training step that begins now.

    Raises:
        AlreadyStartedError: a recording runs.
        UserError: the log directory cannot be made.
    """
    with _process.lock:
        if _process.session is not None:
            raise AlreadyStartedError(
                "a recording runs already, and a process has one at a time: call profiler.stop() before the "
                "next profiler.start() or profiler.Profile(...)"
            )
        session = Session(logdir, first_step=first_step)
        session.start()
        _process.session, _process.host = session, session.host


def stop() -> Recording:
    """Stops recording and writes what was recorded into the log directory.

    It writes StepStats per step into an event file (tag ``step_<number>``), and one Chrome trace of all of
    it as ``plugins/profile/<date>/<host>.trace.json.gz``.

    Raises:
        NotStartedError: no recording runs.
        OSError: the files cannot be written; the recording is over all the same.
    """
    with _process.lock:
        session = _process.session
        if session is None:
            raise NotStartedError("no recording runs that could be stopped: call profiler.start(logdir) first")
        _process.session = _process.host = None
        return session.stop()


def step(next_step: int | None = None) -> None:
    """Ends the running training step and begins the next; does nothing without a recording.

    Args:
        next_step: number of the step that begins; one more than the last if absent.
    """
    session = _process.session
    if session is not None:
        session.step(next_step)


class annotate:  # noqa: N801 - used like a function, as a context manager or a decorator
    """Names what runs inside: ``with annotate("forward"):``, or ``@annotate("forward")`` above a function.

    Scopes may be nested, and may be used in any thread. Keyword arguments are shown with the scope: numbers
    and strings as they are, anything else as its `str`. Enter one object in one place at a time.
    """

    __slots__ = ("_args", "_host", "_index", "_name", "_scopes")

    def __init__(self, name: str, /, **args: object) -> None:
        self._name = name
        self._args = args
        self._host: HostCollector | None = None

    def __enter__(self) -> Self:
        host = _process.host
        if host is not None:
            self._host = host
            args: Mapping[str, ArgumentValue] = plain_arguments(self._args)
            self._scopes: Scopes = host.scopes()
            self._index = len(self._scopes)
            self._scopes += (self._name, args, host.now(), OPEN)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        host = self._host
        if host is not None:
            self._scopes[self._index + END] = host.now()
            self._host = None

    def __call__(self, function: Callable[P, R]) -> Callable[P, R]:
        name, args = self._name, self._args
        if inspect.iscoroutinefunction(function):
            # The call itself only makes the coroutine; what it does happens when that is awaited.
            @wraps(function)
            async def awaited(*positional: P.args, **named: P.kwargs) -> Any:
                with annotate(name, **args):
                    return await function(*positional, **named)

            return cast(Callable[P, R], awaited)

        @wraps(function)
        def annotated(*positional: P.args, **named: P.kwargs) -> R:
            with annotate(name, **args):
                return function(*positional, **named)

        return annotated


class Profile:
    """Records what runs inside ``with Profile(logdir):``; arguments and errors are those of `start`."""

    def __init__(self, logdir: str | os.PathLike[str], *, first_step: int = 0) -> None:
        self._logdir: Final = logdir
        self._first_step: Final = first_step
        self.recording: Recording | None = None
        """What was recorded, after the end."""

    def __enter__(self) -> Self:
        start(self._logdir, first_step=self._first_step)
        return self

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.recording = stop()

    def step(self, next_step: int | None = None) -> None:
        """Ends the running training step and begins the next."""
        step(next_step)


def _write_new(folder: Path, stem: str, suffix: str, content: bytes) -> Path:
    """Writes a file that is never half written and replaces none, under the stem or the stem and a number."""
    hidden = folder / f".{stem}.{os.getpid()}.tmp"
    try:
        hidden.write_bytes(content)
        return hidden.replace(_reserve_name(folder, stem, suffix))
    finally:
        hidden.unlink(missing_ok=True)


def _reserve_name(folder: Path, stem: str, suffix: str) -> Path:
    """An empty file of a free name: the ranks of one host stop in the same second, each looking for one."""
    number = 1
    path = folder / f"{stem}{suffix}"
    while True:
        try:
            path.touch(exist_ok=False)
            return path
        except FileExistsError:
            number += 1
            path = folder / f"{stem}.{number}{suffix}"
