"""One recording: collectors run from its start to its stop, and their records go into the log directory."""

import os
import socket
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol

from stepscope.profiler.chrome_trace import chrome_trace_from_records
from stepscope.profiler.collectors.base import (
    END_OF_DATA,
    HOST_DEVICE,
    ArgumentValue,
    Clock,
    Collected,
    Collector,
    CounterSeries,
    Lane,
    Record,
    RecordingClock,
)
from stepscope.profiler.collectors.devices import origins_of_launches
from stepscope.profiler.collectors.host import HostCollector, checked_step_number
from stepscope.profiler.step_stats import split_steps, step_stats_from_records
from stepscope.profiler.trace_files import writable_folder, write_trace
from stepscope.summary.errors import UserError
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.writer import SummaryWriter

_WITHOUT_A_STEP: Final = frozenset({"gc", "python_function", "cpu_instant_event", "overhead"})
"""Categories of what also happens while a loop only ends: calls of the generator of batches, memory that is freed."""


@dataclass(frozen=True)
class Recording:
    """A finished recording: what it holds and where it is stored."""

    trace_path: Path | str
    """Path of the Chrome trace; an address if the log directory is one. The StepStats' event file is there too."""
    steps: tuple[int, ...]
    records: int
    unfinished: int
    """Number of scopes and steps still open at the end; they end there, and their arguments say so."""
    notes: tuple[str, ...] = ()
    """What was not recorded, and why."""
    run_metadata: Mapping[int, RunMetadata] = field(default_factory=dict, compare=False, repr=False)
    """The RunMetadata written to the event file, by step."""


class RunMetadataWriter(Protocol):
    """The part of `summary.SummaryWriter` that a recording needs."""

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
        logdir: the run's log directory, created if it does not exist, or its address, such as ``s3://bucket/run``.
        first_step: number of the step that begins with the recording; None: 0, unless the first call of `step` says.
        steps_begin_with_calls: whether the program calls `step` at the beginning of its steps, or at their end; None:
            its first call tells, see `begins_with_call`.
        collectors: what to record in addition to the host's scopes, steps and garbage collections.
        optional_collectors: the same, but those that cannot record are left out, with a note.
        delay_ns: anything that begins earlier than this after the start is discarded.
        clock: the module `time`, or a fake one.
        make_writer: opens the event file.
        host_name: name of the trace file, and of the host in it.

    Raises:
        TypeError, ValueError: ``first_step`` is not a 64-bit integer.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        *,
        first_step: int | None = None,
        steps_begin_with_calls: bool | None = None,
        collectors: Sequence[Collector] = (),
        optional_collectors: Sequence[Collector] = (),
        delay_ns: int = 0,
        clock: Clock = time,
        make_writer: Callable[[str], RunMetadataWriter] = SummaryWriter,
        host_name: str | None = None,
    ) -> None:
        self.host: Final = HostCollector(clock.perf_counter_ns)
        self._logdir: Final = logdir
        self._first_step: Final = None if first_step is None else checked_step_number(first_step)
        self._steps_begin_with_calls = steps_begin_with_calls
        self._collectors: Final = (self.host, *collectors)
        self._optional_collectors: Final = tuple(optional_collectors)
        self._delay_ns: Final = delay_ns
        self._clock: Final = clock
        self._make_writer: Final = make_writer
        self._host_name: Final = host_name or socket.gethostname()
        self._started: list[Collector] = []
        self._notes: list[str] = []
        self._kept_from_ns = 0

    def start(self) -> None:
        """Start all collectors, and the first step.

        Raises:
            UserError: the log directory cannot be created, or a collector cannot record here.
        """
        self._folder = writable_folder(self._logdir, "nothing can be recorded")
        clock = RecordingClock(self._clock)
        self._wall_offset_ns = clock.wall_offset_ns
        try:
            for collector in self._collectors:
                collector.start(clock)
                self._started.append(collector)
            for collector in self._optional_collectors:
                try:
                    collector.start(clock)
                except UserError as error:
                    self._notes.append(str(error))
                else:
                    self._started.append(collector)
            self.host.begin_step(self._first_step or 0)
        except BaseException:
            self._stop_collectors()
            raise
        if self._delay_ns:
            self._kept_from_ns = self._clock.perf_counter_ns() + self._wall_offset_ns + self._delay_ns

    def step(self, next_step: int | None = None) -> None:
        """End the running step and begin the next, numbered one more unless ``next_step`` is given."""
        # What came before the call that begins the first step is part of no step.
        self.host.begin_step(next_step, forget=self._begins_first_step(next_step))

    def _begins_first_step(self, next_step: int | None) -> bool:
        if self._steps_begin_with_calls is not None:
            return False
        self._steps_begin_with_calls = begins_with_call(next_step, self._first_step)
        return self._steps_begin_with_calls

    def end_step(self) -> None:
        """End the running step without beginning another: the recording is about to stop."""
        self.host.end_step()

    def forget(self, next_step: int | None = None) -> None:
        """Act as `step`, and discard everything that happened earlier."""
        self._begins_first_step(next_step)
        begin_ns = self.host.begin_step(next_step, forget=True) + self._wall_offset_ns
        self._kept_from_ns = max(self._kept_from_ns, begin_ns)

    def stop(self) -> Recording:
        """Stop all collectors, write what they recorded, and return the recording with its location."""
        collected = self._stop_collectors()
        records = [record for each in collected for record in each.records]
        own_threads = {record.lane for record in collected[0].records}
        unused = None if self._steps_begin_with_calls else _unused_step(records, own_threads)
        records = [record for record in records if record is not unused]
        # The other collectors stop after the host's, some of them much later, and keep counting until then.
        ended_ns = max(_end_ns(record) for record in collected[0].records if record is not unused)
        counters = [_between(self._kept_from_ns, ended_ns, series) for each in collected for series in each.counters]
        if self._kept_from_ns:
            records, none = _since(self._kept_from_ns, records)
            if none:
                self._notes.append("nothing is kept: the recording stopped before its delay was over")
        parts = split_steps(records)
        # A first sample, or a process that was already running, is earlier than the first step.
        firsts = [series.times_ns[0] for series in counters if len(series.times_ns)]
        arrows = [arrow for each in collected for arrow in each.arrows if arrow.source_ns >= self._kept_from_ns]
        pieces = chrome_trace_from_records(
            records,
            counters,
            arrows,
            base_ns=min([*(record.start_ns for record in records), *firsts]),
            host_name=self._host_name,
            host_pid=os.getpid(),
            metadata={key: value for each in collected for key, value in each.metadata.items()},
        )
        trace_path = write_trace(self._folder, parts[0][0].start_ns, self._host_name, pieces)
        return Recording(
            trace_path=trace_path,
            steps=tuple(int(step.args["step"]) for step, _ in parts),  # type: ignore[arg-type]
            records=len(records),
            unfinished=sum(bool(record.args.get("unfinished")) for record in records),
            notes=tuple(self._notes),
            run_metadata=self._write_step_stats(parts),
        )

    def discard(self) -> None:
        """Stop all collectors and write nothing."""
        self._stop_collectors()

    def _stop_collectors(self) -> Sequence[Collected]:
        """Return what the started collectors recorded; one that fails loses only its own records."""
        collected: list[Collected] = []
        while self._started:
            collector = self._started.pop(0)
            try:
                collected.append(collector.stop())
            except UserError as error:
                self._notes.append(f"records are lost: {error}")
            except Exception as error:
                self._notes.append(f"what {type(collector).__name__} recorded is lost: {error}")
            except BaseException:
                self._stop_collectors()
                raise
            else:
                self._notes += collected[-1].notes
        return collected

    def _write_step_stats(self, parts: Sequence[tuple[Record, Sequence[Record]]]) -> Mapping[int, RunMetadata]:
        """Write the StepStats of each step under the tag that TensorFlow's ``ProfilerHook`` gives them."""
        written: dict[int, RunMetadata] = {}
        # From all steps: a kernel may run in a later step than its launch.
        origins = origins_of_launches(record for _, records in parts for record in records)
        writer = self._make_writer(os.fspath(self._logdir))
        try:
            for step, records in parts:
                number = int(step.args["step"])  # type: ignore[arg-type]
                run_metadata = RunMetadata(step_stats=step_stats_from_records(records, origins))
                wall_time = (step.start_ns + step.duration_ns) / 1e9
                writer.add_run_metadata(run_metadata, f"step_{number}", number, wall_time)
                written[number] = run_metadata
        finally:
            writer.close()
        return written


def begins_with_call(next_step: int | None, first_step: int | None) -> bool:
    """Return whether the first call of `step` since the start begins the first step, rather than ending it.

    It does if it has a number, and that of the running step is the same, or was not given.
    """
    return next_step is not None and first_step in (None, checked_step_number(next_step))


def _end_ns(record: Record) -> int:
    return record.start_ns + record.duration_ns


def _unused_step(records: Sequence[Record], own_threads: Collection[Lane]) -> Record | None:
    """Return the last step if nothing was done in it: it began when the previous one ended, and then the loop ended.

    The wait for data of which there is no more is part of no step, and neither is what its thread does in it, nor
    anything that is not `_is_work`.
    """
    *others, last = sorted((record for record in records if record.category == "step"), key=lambda step: step.start_ns)
    if not others or not last.args.get("unfinished"):
        return None
    begun = [
        record
        for record in records
        if last.start_ns <= record.start_ns <= _end_ns(last)
        and record is not last
        and record.lane.device == HOST_DEVICE
        and _is_work(record, own_threads)
    ]
    tasks = [record for record in begun if record.category == "asyncio_task"]
    if len(tasks) == 1:
        # It may be that which waits for the data.
        begun.remove(tasks[0])
    waited_until_ns: dict[ArgumentValue, int] = defaultdict(int)
    for record in records:
        if record.start_ns < last.start_ns < _end_ns(record) and _may_be_end_of_data(record):
            thread = _thread(record)
            waited_until_ns[thread] = max(waited_until_ns[thread], _end_ns(record))
    for record in sorted(begun, key=lambda record: (record.start_ns, -record.duration_ns)):
        thread = _thread(record)
        if _may_be_end_of_data(record):
            waited_until_ns[thread] = max(waited_until_ns[thread], _end_ns(record))
        elif record.start_ns > waited_until_ns[thread]:
            return None
    return last


def _is_work(record: Record, own_threads: Collection[Lane]) -> bool:
    """Return whether a record that began in a step shows that the program did something in it."""
    match record.category:
        case "annotation":
            # Other processes go on while a loop ends.
            return record.lane in own_threads
        case "subprocess":
            return record.args.get("parent") == os.getpid() and not record.args.get("began_earlier")
        case "asyncio_task":
            # Runs of earlier tasks go on while a loop ends, and `asyncio.run` ends with tasks of its own.
            coroutine = str(record.args.get("coroutine", ""))
            return "resumptions" in record.args and not coroutine.startswith("BaseEventLoop.shutdown_")
        case category:
            return category not in _WITHOUT_A_STEP


def _thread(record: Record) -> ArgumentValue:
    # Waits of all threads are on one lane.
    of_lane = record.lane.thread_id
    return record.args.get("thread", of_lane) if record.category == "data_loading" else of_lane


def _may_be_end_of_data(record: Record) -> bool:
    # PyTorch's profiler names all waits for a DataLoader alike.
    is_last = record.category == "data_loading" and record.name.endswith(END_OF_DATA)
    return is_last or record.name.startswith("enumerate(DataLoader)")


def _between(begin_ns: int, end_ns: int, series: CounterSeries) -> CounterSeries:
    """Return a counter's points within a time span; at its beginning, the last earlier value, if there is one."""
    first, last = bisect_left(series.times_ns, begin_ns), bisect_right(series.times_ns, end_ns)
    times, values = list(series.times_ns[first:last]), list(series.values[first:last])
    if first > 0 and times[:1] != [begin_ns]:
        times.insert(0, begin_ns)
        values.insert(0, series.values[first - 1])
    return series._replace(times_ns=times, values=values)


def _since(begin_ns: int, records: Sequence[Record]) -> tuple[list[Record], bool]:
    """Return what began no earlier, and what continued from earlier, cut and marked; and whether all had ended by then.

    If so, the last step is kept as a moment at its end, so that there is a step.
    """
    last = max((record for record in records if record.category == "step"), key=lambda step: step.start_ns)
    last_end_ns = _end_ns(last)
    kept = []
    for record in records:
        end_ns = _end_ns(record)
        if record.start_ns >= begin_ns:
            kept.append(record)
        elif record is last and end_ns <= begin_ns:
            kept.append(record._replace(start_ns=end_ns, duration_ns=0))
        elif end_ns > begin_ns:
            args = {**record.args, "began_earlier": True}
            kept.append(record._replace(start_ns=begin_ns, duration_ns=end_ns - begin_ns, args=args))
    return kept, last_end_ns < begin_ns
