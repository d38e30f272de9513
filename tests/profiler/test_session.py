import asyncio
import gc
import gzip
import json
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepscope import profiler
from stepscope.profiler.collectors.asyncio_tasks import AsyncioTaskCollector
from stepscope.profiler.collectors.base import (
    HOST_DEVICE,
    Collected,
    Collector,
    CounterSeries,
    Lane,
    Record,
    RecordingClock,
    stream_lane,
)
from stepscope.profiler.collectors.host import GC_LANE, STEPS_LANE
from stepscope.profiler.collectors.subprocesses import SubprocessCollector
from stepscope.profiler.process import AlreadyStartedError, NotStartedError, annotate
from stepscope.profiler.process import _process as running
from stepscope.profiler.session import Recording, Session
from stepscope.profiler.trace_files import write_new
from stepscope.summary.errors import UserError
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata

START = 1_700_000_000_000_000_000
"""Wall time at which the fake clock begins, in nanoseconds: 2023-11-14 22:13:20 UTC."""


class FakeClock:
    """Every reading of the counter is 1.5 microseconds after the previous one."""

    def __init__(self) -> None:
        self.counter = 500

    def perf_counter_ns(self) -> int:
        self.counter += 1500
        return self.counter

    def time_ns(self) -> int:
        return START + self.counter + 1500


class FakeWriter:
    def __init__(self) -> None:
        self.added: list[tuple[str, int | None, float | None, RunMetadata]] = []
        self.closed = False

    def add_run_metadata(
        self,
        run_metadata: RunMetadata,
        tag: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        self.added.append((tag, global_step, walltime, run_metadata))

    def close(self) -> None:
        self.closed = True


class Recorded:
    """A session on a fake clock that receives `annotate` calls, and its output."""

    def __init__(self, logdir: Path, *collectors: Collector) -> None:
        self.writer = FakeWriter()
        self.session = Session(
            logdir,
            first_step=7,
            collectors=collectors,
            clock=FakeClock(),
            make_writer=lambda _: self.writer,
            host_name="box",
        )

    def start(self) -> None:
        self.session.start()
        running.session, running.host = self.session, self.session.host

    def stop(self) -> tuple[Recording, dict[str, Any]]:
        running.session = running.host = None
        recording = self.session.stop()
        return recording, json.loads(gzip.decompress(Path(recording.trace_path).read_bytes()))


@pytest.fixture(autouse=True)
def without_collections() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def recorded(tmp_path: Path, in_utc: None) -> Recorded:
    return Recorded(tmp_path)


def slices(trace: dict[str, Any]) -> list[tuple[str, float, float, dict[str, Any]]]:
    return [(e["name"], e["ts"], e["dur"], e["args"]) for e in trace["traceEvents"] if e["ph"] == "X"]


def test_whole_recording(recorded: Recorded, tmp_path: Path) -> None:
    recorded.start()
    with annotate("forward", batch=32, shape=(2, 3)), annotate("conv"):
        pass
    profiler.step()
    with annotate("eval"):
        pass
    profiler.step()
    recording, trace = recorded.stop()

    assert recording == Recording(
        trace_path=tmp_path / "plugins/profile/2023_11_14_22_13_20/box.trace.json.gz",
        steps=(7, 8),
        records=5,
        unfinished=0,
    )
    host = trace["traceEvents"][0]["pid"]
    thread = threading.get_native_id()
    in_steps = {"pid": host, "tid": STEPS_LANE.thread_id}
    in_thread = {"pid": host, "tid": thread}
    user = {"ph": "X", "cat": "user_annotation"}
    forward_args = {"batch": 32, "shape": "(2, 3)"}
    assert trace == {
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": START + 3500,
        "otherData": {"producer": "stepscope", "host": "box"},
        "traceEvents": [
            {"ph": "M", "name": "process_name", "pid": host, "args": {"name": f"box (process {host})"}},
            {"ph": "M", "name": "process_sort_index", "pid": host, "args": {"sort_index": 0}},
            {"ph": "M", "name": "thread_name", **in_steps, "args": {"name": "steps"}},
            {"ph": "M", "name": "thread_sort_index", **in_steps, "args": {"sort_index": 0}},
            {"ph": "M", "name": "thread_name", **in_thread, "args": {"name": "MainThread"}},
            {"ph": "M", "name": "thread_sort_index", **in_thread, "args": {"sort_index": 1}},
            {**user, "name": "ProfilerStep#7", **in_steps, "ts": 0.0, "dur": 7.5, "args": {"step": 7}},
            {**user, "name": "ProfilerStep#8", **in_steps, "ts": 7.5, "dur": 4.5, "args": {"step": 8}},
            {**user, "name": "forward", **in_thread, "ts": 1.5, "dur": 4.5, "args": forward_args},
            {**user, "name": "conv", **in_thread, "ts": 3.0, "dur": 1.5, "args": {}},
            {**user, "name": "eval", **in_thread, "ts": 9.0, "dur": 1.5, "args": {}},
        ],
    }
    assert recorded.writer.closed
    assert [
        (tag, step, wall_time, [(n.node_name, n.all_start_nanos, n.all_end_rel_nanos) for n in nodes])
        for tag, step, wall_time, run_metadata in recorded.writer.added
        for nodes in [run_metadata.step_stats.dev_stats[0].node_stats]
    ] == [
        (
            "step_7",
            7,
            (START + 11_000) / 1e9,
            [
                ("ProfilerStep#7", START + 3500, 7500),
                ("forward", START + 5000, 4500),
                ("conv", START + 6500, 1500),
            ],
        ),
        (
            "step_8",
            8,
            (START + 15_500) / 1e9,
            [("ProfilerStep#8", START + 11_000, 4500), ("eval", START + 12_500, 1500)],
        ),
    ]


def test_what_is_open_at_the_end_is_closed_and_marked(recorded: Recorded) -> None:
    recorded.start()
    scope = annotate("forward", batch=1)
    with scope:
        recording, trace = recorded.stop()
    assert recording.unfinished == 2
    assert slices(trace) == [
        ("ProfilerStep#7", 0.0, 3.0, {"step": 7, "unfinished": True}),
        ("forward", 1.5, 1.5, {"batch": 1, "unfinished": True}),
    ]


def test_a_scope_that_outlives_a_recording_does_not_enter_the_next(tmp_path: Path, in_utc: None) -> None:
    first, second = Recorded(tmp_path), Recorded(tmp_path)
    first.start()
    with annotate("outer"):
        first.stop()
        second.start()
        with annotate("inner"):
            pass
    _, trace = second.stop()
    assert [name for name, *_ in slices(trace)] == ["ProfilerStep#7", "inner"]


def test_a_recording_without_steps_or_scopes_is_one_step(recorded: Recorded) -> None:
    recorded.start()
    recording, trace = recorded.stop()
    assert recording.steps == (7,)
    assert slices(trace) == [("ProfilerStep#7", 0.0, 1.5, {"step": 7, "unfinished": True})]


def test_steps_may_be_numbered_by_the_program(recorded: Recorded) -> None:
    recorded.start()
    profiler.step(100)
    profiler.step()
    with annotate("x"):
        pass
    # NumPy numbers once could not be written as JSON when the recording stopped, and all of it was lost.
    profiler.step(np.int64(200))  # type: ignore[arg-type]
    with annotate("x"):
        pass
    with pytest.raises(TypeError, match="'str' object cannot be interpreted as an integer"):
        profiler.step("7")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="a step must fit a signed 64-bit integer"):
        profiler.step(2**63)
    assert recorded.stop()[0].steps == (7, 100, 101, 200)


@pytest.mark.parametrize(
    ("first_step", "numbers", "steps"),
    [
        (None, [0, 1, 2], (0, 1, 2)),
        (None, [1, 2], (1, 2)),
        (None, [1000, None], (1000, 1001)),
        (7, [7, 8], (7, 8)),
        (7, [8, 9], (7, 8)),
        (7, [None, None], (7, 8)),
        (None, [None, None], (0, 1)),
    ],
)
def test_a_first_call_with_a_number_begins_the_first_step(
    tmp_path: Path, first_step: int | None, numbers: list[int | None], steps: tuple[int, ...]
) -> None:
    # Nothing is annotated: what a step does is often unknown to the recording.
    with profiler.Profile(tmp_path, first_step=first_step, collectors=[]) as profile:
        for number in numbers:
            profiler.step(number)
    assert profile.recording is not None
    assert profile.recording.steps == steps


def test_what_came_before_the_first_step_is_part_of_none(tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, collectors=[]) as profile:
        with annotate("compile"):
            pass
        for number in (3, 4):
            profiler.step(number)
            with annotate(f"train {number}"):
                pass
    assert profile.recording is not None
    assert profile.recording.steps == (3, 4)
    trace = slices(json.loads(gzip.decompress(Path(profile.recording.trace_path).read_bytes())))
    in_order = sorted((start, name) for name, start, *_ in trace)
    assert [name for _, name in in_order] == ["compile", "ProfilerStep#3", "train 3", "ProfilerStep#4", "train 4"]


def test_functions_may_be_annotated_before_a_recording_starts(recorded: Recorded) -> None:
    @annotate("square", power=2)
    def square(x: int) -> int:
        return x * x

    assert square(3) == 9
    recorded.start()
    assert square(4) == 16
    _, trace = recorded.stop()
    assert slices(trace)[1:] == [("square", 1.5, 1.5, {"power": 2})]
    assert square.__name__ == "square"


def test_annotated_coroutine_functions_last_until_they_are_awaited(recorded: Recorded) -> None:
    # The scope once ended when the coroutine was created, before anything in it ran.
    @annotate("outer")
    async def outer() -> int:
        with annotate("inner"):
            return 4

    recorded.start()
    assert asyncio.run(outer()) == 4
    _, trace = recorded.stop()
    assert slices(trace)[1:] == [("outer", 1.5, 4.5, {}), ("inner", 3.0, 1.5, {})]


def test_each_resumption_of_an_annotated_generator_is_a_slice(recorded: Recorded) -> None:
    # The scope once ended when the generator was created, before anything in it ran.
    @annotate("load", shard=1)
    def load() -> Generator[str, int, str]:
        with annotate("read"):
            pass
        try:
            sent = yield "first"
        except KeyError:
            sent = yield "after the error"
        return f"sent {sent}"

    recorded.start()
    batches = load()
    assert next(batches) == "first"
    with annotate("train"):
        pass
    assert batches.throw(KeyError()) == "after the error"
    with pytest.raises(StopIteration, match="sent 3"):
        batches.send(3)
    _, trace = recorded.stop()
    assert [name for name, *_ in slices(trace)[1:]] == ["load", "read", "train", "load", "load"]
    assert slices(trace)[1] == ("load", 1.5, 4.5, {"shard": 1})


def test_each_resumption_of_an_annotated_asynchronous_generator_is_a_slice(recorded: Recorded) -> None:
    ended = []

    @annotate("load")
    async def load() -> AsyncGenerator[str, int]:
        try:
            sent = yield "first"
            try:
                yield f"sent {sent}"
            except KeyError:
                yield "after the error"
        finally:
            ended.append(True)

    async def train() -> list[str]:
        batches = load()
        items = [await anext(batches), await batches.asend(3), await batches.athrow(KeyError())]
        await batches.aclose()
        return [*items, *[item async for item in load() if item == "first"]]

    recorded.start()
    assert asyncio.run(train()) == ["first", "sent 3", "after the error", "first"]
    _, trace = recorded.stop()
    assert ended == [True, True]
    assert [name for name, *_ in slices(trace)[1:]] == 7 * ["load"]


def test_an_annotated_generator_that_is_closed_cleans_up_in_a_slice(recorded: Recorded) -> None:
    @annotate("load")
    def load() -> Iterator[int]:
        try:
            yield 1
        finally:
            with annotate("clean up"):
                pass

    recorded.start()
    batches = load()
    next(batches)
    batches.close()  # type: ignore[attr-defined]
    _, trace = recorded.stop()
    assert [name for name, *_ in slices(trace)[1:]] == ["load", "load", "clean up"]


def test_a_scope_ends_when_an_exception_leaves_it(recorded: Recorded) -> None:
    recorded.start()
    with pytest.raises(KeyError), annotate("broken"):
        raise KeyError("x")
    _, trace = recorded.stop()
    assert slices(trace)[1:] == [("broken", 1.5, 1.5, {})]


def test_threads_have_lanes_of_their_own_even_if_they_outlive_the_recording(recorded: Recorded) -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with annotate("load"):
            inside.set()
            leave.wait()

    recorded.start()
    thread = threading.Thread(target=work, name="loader")
    thread.start()
    inside.wait()
    recording, trace = recorded.stop()
    leave.set()
    thread.join()
    lanes = [e["args"]["name"] for e in trace["traceEvents"] if e["name"] == "thread_name"]
    assert lanes == ["steps", "loader"]
    assert recording.unfinished == 2


def test_no_scope_of_many_threads_is_lost(recorded: Recorded) -> None:
    def work() -> None:
        for _ in range(1000):
            with annotate("outer"), annotate("inner"):
                pass

    recorded.start()
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    recording, _ = recorded.stop()
    assert recording.records == 4 * 2000 + 1


def test_garbage_collections_are_a_lane(recorded: Recorded) -> None:
    recorded.start()
    gc.collect(1)
    callbacks = len(gc.callbacks)
    _, trace = recorded.stop()
    assert len(gc.callbacks) == callbacks - 1
    found = [e for e in trace["traceEvents"] if e.get("cat") == "gc"]
    assert [(e["name"], e["tid"], e["dur"]) for e in found] == [("gc generation 1", GC_LANE.thread_id, 1.5)]
    assert set(found[0]["args"]) == {"generation", "collected", "uncollectable"}


def test_any_name_and_argument_can_be_written(recorded: Recorded) -> None:
    recorded.start()
    # A NumPy float64 inherits from float, but could not be written as JSON: the recording was once lost.
    third = np.float64(0.25)
    with annotate("lone \ud800", huge=2**64, nothing=None, half=0.5, third=third, flag=True, text="\udfff"):
        pass
    _, trace = recorded.stop()
    assert slices(trace)[1] == (
        "lone \\ud800",
        1.5,
        1.5,
        {"huge": str(2**64), "nothing": None, "half": 0.5, "third": 0.25, "flag": True, "text": "\\udfff"},
    )


def test_no_trace_replaces_another(tmp_path: Path, in_utc: None) -> None:
    names = []
    for _ in range(3):
        recorded = Recorded(tmp_path)
        recorded.start()
        names.append(Path(recorded.stop()[0].trace_path).name)
    assert names == ["box.trace.json.gz", "box.2.trace.json.gz", "box.3.trace.json.gz"]
    assert sorted(p.name for p in (tmp_path / "plugins/profile/2023_11_14_22_13_20").iterdir()) == sorted(names)


def test_a_name_that_another_process_takes_meanwhile_is_left_to_it(tmp_path: Path, monkeypatch: Any) -> None:
    # Ranks of one host stop in the same second. Each once saw that a name was free, and the last took it from the rest.
    monkeypatch.setattr(Path, "exists", lambda _: False)
    paths = [Path(write_new(tmp_path, "box", ".json", [content])) for content in (b"a", b"b")]
    assert [(path.name, path.read_bytes()) for path in paths] == [("box.json", b"a"), ("box.2.json", b"b")]


def test_threads_write_files_of_one_name_at_once(tmp_path: Path) -> None:
    # They once shared one hidden file, which the first to finish took away from the other.
    both = threading.Barrier(2)

    def pieces(content: bytes) -> Iterator[bytes]:
        both.wait()
        yield content
        both.wait()

    with ThreadPoolExecutor(2) as pool:
        paths = list(pool.map(lambda content: Path(write_new(tmp_path, "box", ".json", pieces(content))), (b"a", b"b")))
    assert sorted(path.read_bytes() for path in paths) == [b"a", b"b"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["box.2.json", "box.json"]


class CountingCollector:
    """Reports a counter at the start, before and after the step, and at its stop, long after the host's."""

    def start(self, clock: RecordingClock) -> None:
        self.offset = clock.wall_offset_ns

    def stop(self) -> Collected:
        times = [START, START + 3500, START + 5000, START + 1_000_000]
        return Collected(counters=[CounterSeries(HOST_DEVICE, "memory (bytes)", "RSS", times, [1.0, 2.0, 3.0, 4.0])])


def test_counters_end_with_the_recording_and_begin_with_what_they_told_last(tmp_path: Path, in_utc: None) -> None:
    def counters(forget: bool) -> list[tuple[float, float]]:
        recorded = Recorded(tmp_path, CountingCollector())
        recorded.start()
        if forget:
            recorded.session.forget()
        _, trace = recorded.stop()
        base = trace["baseTimeNanoseconds"] - START
        return [(e["ts"] * 1000 + base, e["args"]["RSS"]) for e in trace["traceEvents"] if e["ph"] == "C"]

    assert counters(forget=False) == [(0, 1), (3500, 2), (5000, 3)]
    assert counters(forget=True) == [(5000, 3)]


class NamedCollector:
    """Reports what it was told to."""

    def start(self, clock: RecordingClock) -> None:
        self.clock = clock
        self.records: list[Record] = []

    def add(self, name: str, category: str, lane: Lane) -> None:
        with self.adding(name, category, lane):
            pass

    @contextmanager
    def adding(self, name: str, category: str, lane: Lane) -> Iterator[None]:
        start = self.clock.now()
        yield
        self.records.append(Record(name, category, lane, start + self.clock.wall_offset_ns, self.clock.now() - start))

    def stop(self) -> Collected:
        return Collected(self.records)


THREAD = Lane(HOST_DEVICE, 1, "thread")


@pytest.mark.parametrize(
    ("name", "category", "lane", "steps"),
    [
        ("aten::add", "cpu_op", THREAD, (7, 8)),
        ("data loading", "data_loading", THREAD, (7, 8)),
        ("data loading (end)", "data_loading", THREAD, (7,)),
        ("enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "cpu_op", THREAD, (7,)),
        ("train.batches", "python_function", THREAD, (7,)),
        ("train", "asyncio_task", THREAD, (7,)),
        ("python", "subprocess", THREAD, (7,)),
        ("augment", "annotation", Lane(HOST_DEVICE, 1, "worker 1 main"), (7,)),
        ("gc generation 2", "gc", GC_LANE, (7,)),
        ("[memory]", "cpu_instant_event", THREAD, (7,)),
        ("add_kernel", "kernel", stream_lane(0, 7), (7,)),
    ],
)
def test_the_last_step_is_one_if_the_program_did_something_in_it(
    tmp_path: Path, in_utc: None, name: str, category: str, lane: Lane, steps: tuple[int, ...]
) -> None:
    collector = NamedCollector()
    recorded = Recorded(tmp_path, collector)
    recorded.start()
    profiler.step()
    collector.add(name, category, lane)
    recording, _ = recorded.stop()
    assert recording.steps == steps


def test_a_step_of_child_processes_alone_is_one(tmp_path: Path, in_utc: None) -> None:
    recorded = Recorded(tmp_path, SubprocessCollector())
    recorded.start()
    profiler.step()
    subprocess.run([sys.executable, "-c", ""], check=True)
    recording, _ = recorded.stop()
    assert recording.steps == (7, 8)


@pytest.mark.parametrize(("tasks", "steps"), [(0, (7,)), (1, (7,)), (2, (7, 8))])
def test_a_step_of_tasks_alone_is_one(tmp_path: Path, in_utc: None, tasks: int, steps: tuple[int, ...]) -> None:
    """A single task may be one that waits for the data of which there is no more."""

    async def shutdown_nothing() -> None:
        pass

    async def train() -> None:
        await asyncio.sleep(0)
        profiler.step()
        await asyncio.gather(*(shutdown_nothing() for _ in range(tasks)))
        await asyncio.sleep(0)

    recorded = Recorded(tmp_path, AsyncioTaskCollector())
    recorded.start()
    asyncio.run(train())
    recording, _ = recorded.stop()
    assert recording.steps == steps


def test_a_loop_that_waits_for_the_end_of_its_data_has_no_step_more(recorded: Recorded) -> None:
    recorded.start()
    for _ in profiler.data_loading("ab"):
        profiler.step()
    recording, _ = recorded.stop()
    assert (recording.steps, recording.unfinished) == ((7, 8), 0)


def test_what_the_loading_thread_does_at_the_end_of_its_data_makes_no_step(recorded: Recorded) -> None:
    def letters() -> Iterator[str]:
        yield "a"
        with annotate("end of file"):
            list(profiler.data_loading("b"))

    recorded.start()
    for _ in profiler.data_loading(letters()):
        profiler.step()
    recording, _ = recorded.stop()
    assert recording.steps == (7,)


def test_the_end_of_a_wait_that_began_before_the_last_step_makes_no_step(recorded: Recorded) -> None:
    def letters() -> Iterator[str]:
        yield "a"
        waiting.set()
        stepped.wait()
        with annotate("end of file"):
            pass

    waiting, stepped = threading.Event(), threading.Event()
    recorded.start()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: list(profiler.data_loading(letters())))
        waiting.wait()
        profiler.step()
        stepped.set()
    recording, _ = recorded.stop()
    assert recording.steps == (7,)


def test_work_while_another_thread_waits_for_the_end_of_its_data_is_a_step(recorded: Recorded) -> None:
    def letters() -> Iterator[str]:
        waiting.set()
        worked.wait()
        yield from ()

    waiting, worked = threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        recorded.start()
        profiler.step()
        pool.submit(lambda: list(profiler.data_loading(letters())))
        waiting.wait()
        with annotate("train"):
            pass
        worked.set()
    recording, _ = recorded.stop()
    assert recording.steps == (7, 8)


def test_operators_while_another_thread_waits_for_a_loader_of_pytorch_are_a_step(tmp_path: Path, in_utc: None) -> None:
    collector = NamedCollector()
    recorded = Recorded(tmp_path, collector)
    recorded.start()
    profiler.step()
    with collector.adding("enumerate(DataLoader)#_Iter.__next__", "user_annotation", Lane(HOST_DEVICE, 2, "prefetch")):
        collector.add("aten::add", "cpu_op", THREAD)
    recording, _ = recorded.stop()
    assert recording.steps == (7, 8)


class FailingCollector:
    def __init__(self, error: Exception) -> None:
        self.error = error

    def start(self, clock: RecordingClock) -> None:
        raise self.error

    def stop(self) -> Collected:
        raise AssertionError("it never started")


def test_a_collector_that_cannot_start_stops_the_others(tmp_path: Path) -> None:
    callbacks = gc.callbacks.copy()
    with pytest.raises(UserError, match="no device"):
        Session(tmp_path, collectors=[FailingCollector(UserError("no device"))]).start()
    assert gc.callbacks == callbacks
    with pytest.raises(ImportError, match="no library"):
        Session(tmp_path, optional_collectors=[FailingCollector(ImportError("no library"))]).start()
    assert gc.callbacks == callbacks


class StoppingCollector:
    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error
        self.runs = False

    def start(self, clock: RecordingClock) -> None:
        self.runs = True

    def stop(self) -> Collected:
        self.runs = False
        if self.error is not None:
            raise self.error
        return Collected()


def test_all_collectors_stop_though_the_user_interrupts_one(tmp_path: Path) -> None:
    collectors = [StoppingCollector(), StoppingCollector(KeyboardInterrupt()), StoppingCollector()]
    session = Session(tmp_path, collectors=collectors)
    session.start()
    with pytest.raises(KeyboardInterrupt):
        session.stop()
    assert [collector.runs for collector in collectors] == [False, False, False]


def test_starting_twice_says_what_to_do(tmp_path: Path) -> None:
    profiler.start(tmp_path)
    try:
        with pytest.raises(AlreadyStartedError, match=r"call profiler\.stop\(\) before"):
            profiler.start(tmp_path)
    finally:
        profiler.stop()


def test_stopping_without_a_recording_says_what_to_do() -> None:
    with pytest.raises(NotStartedError, match=r"call profiler\.start\(logdir\) first"):
        profiler.stop()


@pytest.mark.parametrize("begin", [profiler.start, profiler.Profile])
def test_one_collector_is_given_in_a_list_too(tmp_path: Path, begin: Any) -> None:
    with pytest.raises(ValueError, match=r"^collectors must be a list, such as \['torch'\], got 'torch'$"):
        begin(tmp_path / "run", collectors="torch")
    assert list(tmp_path.iterdir()) == []


def test_a_log_directory_that_is_a_file_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="nothing can be recorded into"):
        profiler.start(tmp_path / "file")
    with pytest.raises(NotStartedError):
        profiler.stop()


def test_steps_and_scopes_without_a_recording_do_nothing() -> None:
    profiler.step()
    with annotate("forward"):
        pass
    assert running.session is None


def test_profile_writes_an_event_file_beside_the_trace(tmp_path: Path) -> None:
    from stepscope.summary.proto.event_pb2 import Event

    profile = profiler.Profile(tmp_path, first_step=3)

    def train() -> None:
        with profile:
            with annotate("forward"):
                pass
            profile.step()
            raise RuntimeError("training broke")

    with pytest.raises(RuntimeError, match="training broke"):
        train()
    assert profile.recording is not None
    assert profile.recording.steps == (3,)
    (event_file,) = tmp_path.glob("*.tfevents.*")
    content, offset, tagged = event_file.read_bytes(), 0, []
    while offset < len(content):
        length = int.from_bytes(content[offset : offset + 8], "little")
        event = Event.FromString(content[offset + 12 : offset + 12 + length])
        offset += length + 16
        if event.HasField("tagged_run_metadata"):
            tagged.append((event.step, event.tagged_run_metadata.tag, event.tagged_run_metadata.run_metadata))
    ((step, tag, run_metadata),) = tagged
    assert (step, tag) == (3, "step_3")
    (device,) = RunMetadata.FromString(run_metadata).step_stats.dev_stats
    assert [node.node_name for node in device.node_stats] == ["ProfilerStep#3", "forward"]


def test_importing_the_profiler_is_light() -> None:
    code = "import sys, profiler; print({'numba', 'dash', 'plotly'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
