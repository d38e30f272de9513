import asyncio
import cProfile
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stepscope import profiler
from stepscope.profiler.collectors.base import Clock, Collected, Record, RecordingClock
from stepscope.profiler.collectors.python_calls import PythonCallCollector
from stepscope.profiler.traces import load_trace
from stepscope.summary.errors import UserError

MONITORING: Any = getattr(sys, "monitoring", None)
ONLY_SETPROFILE = pytest.mark.skipif(MONITORING is not None, reason="this Python has sys.monitoring")
ONLY_MONITORING = pytest.mark.skipif(MONITORING is None, reason="this Python has no sys.monitoring")

HERE = __name__
"""The module of the functions below."""


class FakeClock:
    """Every reading is 10 ns after the previous one; the recording begins at 1000.

    A real clock may return the same time twice, which hides what a call ran within. No Python function reads this one,
    as that function would be recorded.
    """

    def __init__(self) -> None:
        self.perf_counter_ns = itertools.count(0, 10).__next__

    def time_ns(self) -> int:
        return 1000


def leaf() -> None:
    pass


def parent() -> None:
    leaf()
    leaf()


def broken() -> None:
    leaf()
    raise ValueError("broken")


def catching() -> None:
    try:
        broken()
    except ValueError:
        leaf()


def numbers() -> Iterator[int]:
    leaf()
    yield 1
    yield 2


def own_notes(notes: Iterable[str]) -> list[str]:
    """Without the note on threads, which earlier tests may have left running."""
    return [note for note in notes if "that started before the recording" not in note]


def record(function: Callable[[], object], clock: Clock | None = None, **options: Any) -> Collected:
    options.setdefault("include", [HERE])
    collector = PythonCallCollector(**options)
    collector.start(RecordingClock(clock or FakeClock()))
    try:
        function()
    finally:
        collected = collector.stop()
    return collected


def tree(records: list[Record] | Any) -> list[str]:
    """A line per call, indented by what it ran within; fails if calls on one lane overlap only in part."""
    lines: list[str] = []
    running: list[int] = []
    for each in sorted(records, key=lambda each: each.start_ns):
        while running and running[-1] <= each.start_ns:
            running.pop()
        end = each.start_ns + each.duration_ns
        assert not running or end <= running[-1], each
        lines.append("  " * len(running) + each.name.removeprefix(f"{HERE}."))
        running.append(end)
    return lines


def test_calls_nest_and_know_where_they_are() -> None:
    collector = PythonCallCollector(include=[HERE])
    collector.start(RecordingClock(FakeClock()))
    parent()
    collected = collector.stop()
    name, line = f"{HERE}.parent", parent.__code__.co_firstlineno
    assert [each.name.removeprefix(f"{HERE}.") for each in collected.records] == ["parent", "leaf", "leaf"]
    first = collected.records[0]
    assert (first.name, first.category, dict(first.args)) == (name, "python_function", {"file": __file__, "line": line})
    assert collected.records[1].args is collected.records[2].args
    assert first.lane.thread_id == threading.get_native_id()
    assert first.lane.thread_name == threading.current_thread().name
    assert tree(collected.records) == ["parent", "  leaf", "  leaf"]
    assert own_notes(collected.notes) == []


def test_times_are_wall_times() -> None:
    before = time.time_ns()
    collected = record(leaf, time)
    after = time.time_ns()
    (only,) = collected.records
    assert before - 1_000_000 <= only.start_ns <= only.start_ns + only.duration_ns <= after + 1_000_000


def test_an_exception_closes_the_calls_that_it_leaves() -> None:
    assert tree(record(catching).records) == ["catching", "  broken", "    leaf", "  leaf"]


def test_a_generator_is_a_slice_per_resumption() -> None:
    def consume() -> None:
        for _ in numbers():
            leaf()

    name = "test_a_generator_is_a_slice_per_resumption.consume"
    assert tree(record(consume).records) == [
        name,
        "  numbers",
        "    leaf",
        "  leaf",
        "  numbers",
        "  leaf",
        "  numbers",
    ]


def test_throwing_into_a_generator_and_closing_it() -> None:
    def patient() -> Iterator[int]:
        try:
            yield 1
        except KeyError:
            yield 2
        finally:
            leaf()

    generator = patient()

    def run() -> None:
        next(generator)
        generator.throw(KeyError("x"))  # type: ignore[attr-defined]
        generator.close()  # type: ignore[attr-defined]
        leaf()

    lines = [line.replace("test_throwing_into_a_generator_and_closing_it.", "") for line in tree(record(run).records)]
    assert lines == ["run", "  patient", "  patient", "  patient", "    leaf", "  leaf"]


def test_a_generator_that_lets_an_exception_pass() -> None:
    generator = numbers()
    next(generator)

    def run() -> None:
        with pytest.raises(KeyError):
            generator.throw(KeyError("x"))  # type: ignore[attr-defined]
        leaf()

    lines = tree(record(run).records)
    assert lines == ["test_a_generator_that_lets_an_exception_pass.run", "  numbers", "  leaf"]


def test_a_coroutine_is_a_slice_per_resumption() -> None:
    async def inner() -> None:
        leaf()
        await asyncio.sleep(0)
        leaf()

    async def outer() -> None:
        await inner()

    collected = record(lambda: asyncio.run(outer()), include=[HERE])
    prefix = "test_a_coroutine_is_a_slice_per_resumption."
    lines = [line.replace(prefix, "") for line in tree(collected.records)]
    assert lines == ["<lambda>", "  outer", "    inner", "      leaf", "  outer", "    inner", "      leaf"]


def test_recursion() -> None:
    def down(levels: int) -> None:
        if levels:
            down(levels - 1)

    assert [line.count("  ") for line in tree(record(lambda: down(3)).records)] == [0, 1, 2, 3, 4]


def test_calls_that_run_at_the_stop_are_marked_and_end_there() -> None:
    collector = PythonCallCollector(include=[HERE])
    found: list[Collected] = []

    def stops() -> None:
        leaf()
        found.append(collector.stop())

    collector.start(RecordingClock(FakeClock()))
    stops()
    records = found[0].records
    name = "test_calls_that_run_at_the_stop_are_marked_and_end_there.stops"
    assert tree(records) == [name, "  leaf"]
    assert [each.args.get("unfinished") for each in records] == [True, None]


def test_returns_of_calls_that_ran_at_the_start_are_ignored() -> None:
    collector = PythonCallCollector(include=[HERE])

    def starts(levels: int) -> None:
        if levels:
            starts(levels - 1)
        else:
            collector.start(RecordingClock(FakeClock()))
            leaf()

    starts(2)
    leaf()
    assert tree(collector.stop().records) == ["leaf", "leaf"]


def test_threads_have_lanes_of_their_own() -> None:
    def run() -> None:
        threads = [threading.Thread(target=parent, name=name) for name in ("loader", "writer")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    collected = record(run)
    lanes = {each.lane for each in collected.records}
    assert {lane.thread_name for lane in lanes} == {"loader", "writer", threading.current_thread().name}
    for lane in lanes:
        if lane.thread_name in ("loader", "writer"):
            calls = [each for each in collected.records if each.lane == lane]
            assert tree(calls) == ["parent", "  leaf", "  leaf"]


def test_what_every_thread_does_to_begin_is_left_out() -> None:
    def run() -> None:
        thread = threading.Thread(target=leaf, name="worker")
        thread.start()
        thread.join()

    collected = record(run, include=[])
    calls = [each for each in collected.records if each.lane.thread_name == "worker"]
    assert tree(calls) == ["threading.Thread.run", "  leaf"]


def test_a_thread_that_threading_does_not_know() -> None:
    import _thread

    done = threading.Lock()
    done.acquire()

    def work() -> None:
        leaf()
        done.release()

    def run() -> None:
        _thread.start_new_thread(work, ())
        done.acquire()

    active = threading.active_count()
    collected = record(run)
    lanes = {each.lane for each in collected.records if each.name == f"{HERE}.leaf"}
    assert [lane.thread_name for lane in lanes] == [f"thread {lane.thread_id}" for lane in lanes]
    assert threading.active_count() == active


@pytest.fixture
def waiting() -> Iterator[Callable[[], None]]:
    """Makes a thread that is already running call `parent`."""
    begin, done = threading.Event(), threading.Event()

    def work() -> None:
        begin.wait()
        parent()
        done.set()

    thread = threading.Thread(target=work, name="early")
    thread.start()

    def go() -> None:
        begin.set()
        done.wait()

    yield go
    begin.set()
    thread.join()


@ONLY_MONITORING
def test_threads_that_run_already_are_recorded(waiting: Callable[[], None]) -> None:
    collected = record(waiting)
    assert tree(each for each in collected.records if each.lane.thread_name == "early") == [
        "parent",
        "  leaf",
        "  leaf",
    ]
    assert collected.notes == ()


@ONLY_SETPROFILE
def test_threads_that_run_already_are_noted(waiting: Callable[[], None]) -> None:
    collected = record(waiting)
    assert not [each for each in collected.records if each.lane.thread_name == "early"]
    (note,) = collected.notes
    assert "are not recorded in" in note
    assert "that started before the recording" in note


def test_a_thread_that_outlives_the_recording_is_left_alone() -> None:
    inside, leave, hooks = threading.Event(), threading.Event(), []

    def work() -> None:
        inside.set()
        leave.wait()
        leaf()
        hooks.append(sys.getprofile())

    thread = threading.Thread(target=work, name="late")

    def run() -> None:
        thread.start()
        inside.wait()

    collected = record(run)
    leave.set()
    thread.join()
    late = [each for each in collected.records if each.lane.thread_name == "late"]
    assert [each.args.get("unfinished") for each in late] == [True]
    assert hooks == [None]


def test_modules_are_chosen_by_name() -> None:
    import json

    def run() -> None:
        leaf()
        json.dumps({"a": [1]}, indent=1)

    def modules(**options: Any) -> set[str]:
        return {each.name.split(".")[0] for each in record(run, **options).records}

    here = HERE.split(".")[0]
    assert modules(include=["json"]) == {"json"}
    assert modules(include=["json.encoder"]) == {"json"}
    assert modules(include=["js"]) == set()
    assert modules(include="json") == {"json"}
    assert modules(include=["json", HERE], exclude=["json"]) == {here}
    assert {"json", here} <= modules(include=[])
    # Modules that were left out are checked again when other options are given.
    assert modules(include=["json"]) == {"json"}


def test_short_calls_are_left_out() -> None:
    def slow() -> None:
        begin = time.perf_counter_ns()
        leaf()
        while time.perf_counter_ns() - begin < 5_000_000:
            leaf()
        leaf()

    def run() -> None:
        parent()
        slow()
        parent()

    made = record(run, time).records
    kept = record(run, time, min_duration_ns=5_000_000).records
    # A short call lasts as long as its thread waits for a processor, so only the times tell which calls are left out.
    assert {"run", "slow"} <= {each.name.rpartition(".")[2] for each in kept}
    assert min(each.duration_ns for each in kept) >= 5_000_000
    assert len(kept) < len(made)


def test_no_more_calls_are_kept_than_allowed_and_the_rest_is_counted() -> None:
    def run() -> None:
        for _ in range(300):
            parent()

    collected = record(run, max_calls=250)
    assert len(collected.records) == 250
    assert len(tree(collected.records)) == 250
    assert own_notes(collected.notes) == [
        "651 Python function calls were not recorded, because at most 250 are kept: record fewer steps, or set "
        "include, exclude, min_duration_ns or max_calls of PythonCallCollector",
    ]
    assert [each.name for each in collected.records if each.args.get("unfinished")] == []
    assert len(record(run, max_calls=0).records) == 0


def test_limits_are_checked() -> None:
    with pytest.raises(ValueError, match="max_calls=-1"):
        PythonCallCollector(max_calls=-1)
    with pytest.raises(ValueError, match="min_duration_ns=-5"):
        PythonCallCollector(min_duration_ns=-5)


def test_functions_in_c_on_demand() -> None:
    def run() -> None:
        sorted([2, 1], key=lambda x: -x)
        try:
            [0].index(1)
        except ValueError:
            leaf()
        time.perf_counter()

    assert [line for line in tree(record(run).records) if "sorted" in line] == []
    collected = record(run, c_calls=True)
    prefix = "test_functions_in_c_on_demand."
    assert [line.replace(prefix, "") for line in tree(collected.records)] == [
        "run",
        "  sorted",
        "    run.<lambda>",
        "    run.<lambda>",
        "  list.index",
        "  leaf",
        "  time.perf_counter",
    ]
    assert [dict(each.args) for each in collected.records if each.name == "sorted"] == [{"c_function": True}]


def test_functions_in_c_within_the_limit() -> None:
    def run() -> None:
        for _ in range(20):
            sorted([1], key=abs)

    collected = record(run, c_calls=True, max_calls=10)
    assert len(tree(collected.records)) == 10
    assert [each.name for each in collected.records if each.args.get("unfinished")] == []


def test_what_a_function_in_c_held_is_not_kept_alive() -> None:
    class Held:
        pass

    gone: list[object] = []

    def run() -> None:
        held = Held()
        weakref.finalize(held, gone.append, True)
        [held].append(held)

    collector = PythonCallCollector(include=[HERE], c_calls=True)
    collector.start(RecordingClock(FakeClock()))
    run()
    assert gone == [True]
    assert [each.name for each in collector.stop().records if "append" in each.name] == ["list.append"]


def test_any_name_can_be_written() -> None:
    namespace: dict[str, Any] = {"__name__": None}
    exec(compile("def odd(): pass", "dir/odd \ud800.py", "exec"), namespace)
    (only,) = record(namespace["odd"], include=["odd \ud800"]).records
    assert (only.name, only.args["file"]) == ("odd \\ud800.odd", "dir/odd \\ud800.py")


def test_a_collector_serves_one_recording_after_another() -> None:
    collector = PythonCallCollector(include=[HERE])
    for _ in range(3):
        collector.start(RecordingClock(FakeClock()))
        parent()
        assert tree(collector.stop().records) == ["parent", "  leaf", "  leaf"]
    assert collector.stop() == Collected()


def test_greenlets_and_the_like_do_not_break_it() -> None:
    # Code that switches stacks ends calls that are not the innermost.
    collector = PythonCallCollector(include=["test_python_calls"])
    collector.start(RecordingClock(FakeClock()))
    calls: Any = collector._calls
    for function in (parent, leaf, catching):
        calls.begin(function.__code__)
    for function in (leaf, catching, parent, parent):
        calls.end(function.__code__)
    lines = [line.replace("test_python_calls.", "") for line in tree(collector.stop().records)]
    assert lines == ["parent", "  leaf", "    catching"]


def recordings_of_a_child(collector: PythonCallCollector) -> int:
    """The number of calls that the collector has in a forked process."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        for _ in range(5000):
            leaf()
        os.write(write, str(len(collector.stop().records)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as stream:
        return int(stream.read())


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_stops_recording() -> None:
    collector = PythonCallCollector(include=[HERE])
    collector.start(RecordingClock(FakeClock()))
    assert recordings_of_a_child(collector) < 200
    leaf()
    assert tree(collector.stop().records)[-1] == "leaf"


@ONLY_SETPROFILE
def test_a_profile_function_of_somebody_else_goes_on() -> None:
    heard: list[str] = []

    def theirs(frame: FrameType, event: str, value: object) -> None:
        if event == "call":
            heard.append(frame.f_code.co_name)

    sys.setprofile(theirs)
    threading.setprofile(theirs)
    try:
        lines = tree(record(parent).records)
        after, after_in_threads = sys.getprofile(), threading.getprofile()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert lines == ["parent", "  leaf", "  leaf"]
    assert [name for name in heard if name in ("parent", "leaf")] == ["parent", "leaf", "leaf"]
    assert (after, after_in_threads) == (theirs, theirs)


@ONLY_SETPROFILE
def test_a_profile_function_that_is_set_meanwhile_stays() -> None:
    def theirs(frame: FrameType, event: str, value: object) -> None:
        pass

    try:
        record(lambda: sys.setprofile(theirs))
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(None)


@ONLY_SETPROFILE
def test_a_profiler_that_cannot_be_kept_is_an_error() -> None:
    with cProfile.Profile() as other, pytest.raises(UserError, match="a Profile profiles this thread"):
        PythonCallCollector().start(RecordingClock(FakeClock()))
    assert other is not None
    assert sys.getprofile() is None


@ONLY_MONITORING
def test_other_profilers_go_on() -> None:
    other = cProfile.Profile()
    heard: list[str] = []
    tool = MONITORING.COVERAGE_ID
    MONITORING.use_tool_id(tool, "other")
    starts = MONITORING.events.PY_START
    MONITORING.register_callback(tool, starts, lambda code, offset: heard.append(code.co_name))
    MONITORING.set_events(tool, starts)
    try:
        with other:
            assert tree(record(parent).records) == ["parent", "  leaf", "  leaf"]
    finally:
        MONITORING.set_events(tool, 0)
        MONITORING.free_tool_id(tool)
    assert [name for name in heard if name in ("parent", "leaf")] == ["parent", "leaf", "leaf"]
    assert "leaf" in {function.co_name for function, *_ in other.getstats() if not isinstance(function, str)}


@ONLY_MONITORING
def test_all_places_taken_is_an_error_that_leaves_nothing_behind() -> None:
    taken = [tool for tool in range(6) if MONITORING.get_tool(tool) is None]
    for tool in taken:
        MONITORING.use_tool_id(tool, f"other {tool}")
    try:
        with pytest.raises(UserError, match=r"all tool IDs of sys\.monitoring are in use, by .*other 5"):
            PythonCallCollector().start(RecordingClock(FakeClock()))
    finally:
        for tool in taken:
            MONITORING.free_tool_id(tool)
    assert tree(record(parent).records) == ["parent", "  leaf", "  leaf"]


def nothing_is_left() -> bool:
    tools = [] if MONITORING is None else [MONITORING.get_tool(tool) for tool in range(6)]
    return "stepscope" not in tools and sys.getprofile() is None and threading.getprofile() is None


def test_nothing_is_left_behind() -> None:
    record(parent)
    assert nothing_is_left()


class Neighbor:
    """A collector of this package's kind that runs a thread, and calls Python functions when it starts and stops."""

    def start(self, clock: RecordingClock) -> None:
        parent()

    def stop(self) -> Collected:
        parent()
        return Collected()


def test_whole_recording_without_what_records_it(tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, collectors=[Neighbor(), PythonCallCollector(), Neighbor()]) as profile:
        with profiler.annotate("scope"):
            parent()
        profiler.step()
        catching()
    assert profile.recording is not None
    assert own_notes(profile.recording.notes) == []
    trace = load_trace(str(profile.recording.trace_path))
    assert nothing_is_left()
    names = [trace.names[i] for _, i in sorted(zip(trace.start_ns.tolist(), trace.name_id.tolist(), strict=True))]
    assert [name.removeprefix(f"{HERE}.") for name in names if not name.startswith(("gc ", "ProfilerStep"))] == [
        "scope",
        "parent",
        "leaf",
        "leaf",
        "catching",
        "broken",
        "leaf",
        "leaf",
    ]
