import dataclasses
import gc
import multiprocessing
import multiprocessing.popen_fork
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from torch.utils.data import DataLoader

from stepscope import profiler
from stepscope.profiler.collectors.base import HOST_DEVICE, Collected, Lane, Record, RecordingClock
from stepscope.profiler.collectors.subprocesses import SubprocessCollector
from stepscope.profiler.process import _process
from stepscope.profiler.session import Session
from stepscope.profiler.traces import load_trace
from stepscope.summary.foreign_tables import end_readers

FORK = multiprocessing.get_context("fork")
ECHO = [sys.executable, "-c", "input()"]
"""A process that lasts until it is told to end."""


class Recorded:
    """What a collector, and the children's scopes, record inside the ``with`` block.

    Processes that already existed are left out, such as the one with which multiprocessing tracks its resources.
    """

    def __init__(self, tmp_path: Path, **options: float) -> None:
        self.collector = SubprocessCollector(**options)  # type: ignore[arg-type]
        self.tmp_path = tmp_path
        self.others = {child.pid for child in psutil.Process().children(recursive=True)}

    def __enter__(self) -> "Recorded":
        self.began = time.time_ns()
        session = Session(self.tmp_path)
        _process.session, _process.host = session, session.host
        self.collector.start(RecordingClock(time))
        return self

    def __exit__(self, *error: object) -> None:
        _process.session = _process.host = None
        collected = self.collector.stop()
        records = [record for record in collected.records if record.args.get("pid") not in self.others]
        devices = {f"/process:{pid}" for pid in self.others}
        counters = [counter for counter in collected.counters if counter.device not in devices]
        self.collected: Collected = dataclasses.replace(collected, records=records, counters=counters)
        self.ended = time.time_ns()

    def look(self, until: Callable[[], object]) -> None:
        """Makes the collector look at the processes until something is seen."""
        give_up = time.monotonic() + 60
        while not until():
            assert time.monotonic() < give_up
            self.collector._look(0)

    @property
    def live(self) -> dict[int, Any]:
        """What is known about each running process."""
        return {pid: known for pid, known in self.collector._live.items() if pid not in self.others}

    @property
    def processes(self) -> dict[int, Record]:
        return {int(str(r.args["pid"])): r for r in self.collected.records if r.category == "subprocess"}

    @property
    def scopes(self) -> list[Record]:
        return [record for record in self.collected.records if record.category == "annotation"]


@pytest.fixture
def recorded(tmp_path: Path) -> Recorded:
    # The collector looks only at the start, at the end, and when it is told to.
    return Recorded(tmp_path, interval=3600)


@pytest.fixture(autouse=True)
def nothing_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Not in ``tmp_path``, which is long: sockets are made here, and their paths hold little more than 100 characters.
    folder = Path(tempfile.mkdtemp(prefix="stays-"))
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    # Readers left by earlier tests end on their own after a while, which may be during this test.
    end_readers()
    classes = (subprocess.Popen, multiprocessing.popen_fork.Popen)
    before = [dict(vars(each)) for each in classes]
    threads = set(threading.enumerate())
    yield
    left = list(folder.iterdir())
    shutil.rmtree(folder)
    assert left == []
    assert [dict(vars(each)) for each in classes] == before
    assert set(threading.enumerate()) <= threads


def work(number: int) -> None:
    with profiler.annotate("outer", number=number), profiler.annotate("inner"):
        pass
    thread = threading.Thread(target=work_in_thread, name="loader")
    thread.start()
    thread.join()


def work_in_thread() -> None:
    with profiler.annotate("in thread"):
        pass


def test_a_process_that_is_over_before_anybody_looks(recorded: Recorded) -> None:
    with recorded:
        before = time.perf_counter_ns()
        done = subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])
        assert done.wait() == 3
        after = time.perf_counter_ns()
    (record,) = recorded.collected.records
    command = f"{sys.executable} -c raise SystemExit(3)"
    offset = recorded.collector._clock.wall_offset_ns
    assert record._replace(start_ns=0, duration_ns=0) == Record(
        name=command,
        category="subprocess",
        lane=Lane(HOST_DEVICE, done.pid, f"process {done.pid}: {command}"),
        start_ns=0,
        duration_ns=0,
        args={"pid": done.pid, "parent": os.getpid(), "command": command, "exit_code": 3},
    )
    assert before <= record.start_ns - offset < record.start_ns + record.duration_ns - offset <= after
    assert recorded.collected.counters == []
    assert recorded.collected.notes == ()


def test_a_process_that_is_killed_has_the_signal_as_its_exit_code(recorded: Recorded) -> None:
    with recorded:
        killed = subprocess.Popen(ECHO, stdin=subprocess.PIPE)
        killed.kill()
        killed.communicate()
    assert recorded.processes[killed.pid].args["exit_code"] == -signal.SIGKILL


def test_children_of_children_are_found_with_their_memory_and_processor_time(recorded: Recorded) -> None:
    code = f"import subprocess, sys; subprocess.run({ECHO!r}, stdin=sys.stdin)"
    parent = psutil.Process()
    with recorded:
        child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE)
        recorded.look(until=lambda: len(recorded.live) == 2)
        (grandchild,) = psutil.Process(child.pid).children()
        # Between fork and exec, the grandchild has its parent's command.
        while grandchild.cmdline() != ECHO:
            os.sched_yield()
        recorded.look(until=lambda: recorded.live[grandchild.pid].looks > 2)
        assert {each.pid for each in parent.children(recursive=True)} - recorded.others == {child.pid, grandchild.pid}
        child.communicate(b"\n")
        recorded.look(until=lambda: not recorded.live)
    records = recorded.processes
    assert [records[pid].args["parent"] for pid in (child.pid, grandchild.pid)] == [os.getpid(), child.pid]
    assert records[child.pid].start_ns <= records[grandchild.pid].start_ns
    assert recorded.began - 1_000_000 <= records[child.pid].start_ns
    assert records[grandchild.pid].args == {
        "pid": grandchild.pid,
        "parent": child.pid,
        "command": " ".join(ECHO),
    }
    device = f"/process:{grandchild.pid}"
    found = {(each.name, each.series): each for each in recorded.collected.counters if each.device == device}
    assert set(found) == {("memory (bytes)", "RSS"), ("CPU (%)", "process")}
    memory = found["memory (bytes)", "RSS"]
    assert 1_000_000 < max(memory.values) < 1_000_000_000
    assert records[grandchild.pid].start_ns <= memory.times_ns[0] <= memory.times_ns[-1] <= recorded.ended


def test_a_process_that_ran_before_begins_with_the_recording_and_says_so(recorded: Recorded) -> None:
    older = subprocess.Popen(ECHO, stdin=subprocess.PIPE)
    with recorded:
        pass
    older.communicate(b"\n")
    record = recorded.processes[older.pid]
    assert record.args == {
        "pid": older.pid,
        "parent": os.getpid(),
        "command": " ".join(ECHO),
        "began_earlier": True,
        "unfinished": True,
    }
    assert recorded.began - 1_000_000 <= record.start_ns
    assert record.start_ns + record.duration_ns <= recorded.ended + 1_000_000


def test_the_start_of_a_process_that_is_only_seen_is_right(recorded: Recorded) -> None:
    # The wall time that the system reports is up to a second off, since it knows its own boot time only to the second.
    with recorded:
        before = time.time_ns()
        pid = os.posix_spawn("/bin/sleep", ["sleep", "600"], os.environ)
        after = time.time_ns()
        recorded.look(until=lambda: pid in recorded.live and bool(recorded.live[pid].command))
        os.kill(pid, signal.SIGTERM)
        recorded.look(until=lambda: pid not in recorded.live)
        os.waitpid(pid, 0)
    record = recorded.processes[pid]
    tick = 10_000_000
    assert before - 2 * tick <= record.start_ns <= after + tick
    # The process was seen dead before anybody waited for it.
    assert record.args == {
        "pid": pid,
        "parent": os.getpid(),
        "command": "sleep 600",
        "exit_code": -signal.SIGTERM,
    }


def test_processes_that_ended_before_the_recording_are_not_in_it(recorded: Recorded) -> None:
    pid = os.posix_spawn("/bin/true", ["true"], os.environ)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with recorded:
        recorded.collector._look(0)
    os.waitpid(pid, 0)
    assert recorded.collected.records == []


def test_scopes_of_a_forked_child_are_on_its_lane_and_those_of_its_threads_on_theirs(recorded: Recorded) -> None:
    with recorded:
        child = FORK.Process(target=work, args=(7,), name="worker")
        child.start()
        child.join()
    assert child.pid is not None
    process = recorded.processes[child.pid]
    assert process.name == "worker"
    assert process.args["exit_code"] == 0
    inner, outer, in_thread = recorded.scopes
    assert (inner.name, inner.args, inner.lane) == ("inner", {}, process.lane)
    assert (outer.name, outer.args, outer.lane) == ("outer", {"number": 7}, process.lane)
    assert (in_thread.name, in_thread.lane.thread_name) == ("in thread", f"worker {child.pid} loader")
    assert in_thread.lane.thread_id != process.lane.thread_id
    ends = [each.start_ns + each.duration_ns for each in (inner, outer, in_thread, process)]
    starts = [each.start_ns for each in (process, outer, inner, in_thread)]
    assert [*starts[:3], *ends[:2], starts[3], *ends[2:]] == sorted([*starts, *ends])


def test_a_child_of_a_plain_fork_that_is_killed_keeps_what_had_ended(recorded: Recorded) -> None:
    with recorded:
        pid = os.fork()
        if pid == 0:
            with profiler.annotate("open"):
                work(1)
                os.kill(os.getpid(), signal.SIGKILL)
        os.waitpid(pid, 0)
    assert [scope.name for scope in recorded.scopes] == ["inner", "outer", "in thread"]
    assert {scope.lane.device for scope in recorded.scopes} == {HOST_DEVICE}
    assert recorded.collected.notes == ()


def test_children_of_forked_children_are_recorded_too(recorded: Recorded) -> None:
    def fork_again() -> None:
        child = FORK.Process(target=work, args=(2,))
        child.start()
        child.join()

    with recorded:
        child = FORK.Process(target=fork_again)
        child.start()
        child.join()
    assert [scope.name for scope in recorded.scopes] == ["inner", "outer", "in thread"]


def test_a_forked_child_does_not_end_the_recording_of_its_parent(tmp_path: Path) -> None:
    # The child's copy of the recording was once stopped and written again when the child left the block by its exit.
    with profiler.Profile(tmp_path, collectors=[SubprocessCollector(interval=3600)]) as profile:
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                profiler.step()
                profile.__exit__(None, None, None)
                status = 0 if profile.recordings == [] else 2
            finally:
                os._exit(status)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert [path.name for path in tmp_path.glob("plugins/profile/*/*")] == [
        Path(profile.recordings[0].trace_path).name,
    ]


def test_garbage_collections_of_a_forked_child_are_not_kept(tmp_path: Path) -> None:
    before = gc.callbacks.copy()
    with profiler.Profile(tmp_path, collectors=[]):
        pid = os.fork()
        if pid == 0:
            os._exit(0 if gc.callbacks == before else 1)
        _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_a_child_that_outlives_the_recording_stops_to_record(recorded: Recorded) -> None:
    receive, send = os.pipe()
    results, report = os.pipe()
    with recorded:
        pid = os.fork()
        if pid == 0:
            try:
                work(1)
                os.write(report, b"1")
                os.read(receive, 1)
                work(2)
                work(3)
                os.write(report, b"1" if _process.host is None else b"0")
            finally:
                os._exit(0)
        os.read(results, 1)
    os.write(send, b"1")
    assert os.read(results, 1) == b"1"
    os.waitpid(pid, 0)
    for end in (receive, send, results, report):
        os.close(end)
    assert [scope.name for scope in recorded.scopes] == ["inner", "outer", "in thread"]


def test_a_child_that_closes_its_files_writes_into_no_other(recorded: Recorded, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with recorded:
        pid = os.fork()
        if pid == 0:
            try:
                work(1)
                os.closerange(3, 256)
                files = [other.open("wb", buffering=0) for _ in range(64)]
                work(2)
                os._exit(len(files) - 64)
            finally:
                os._exit(1)
        _, status = os.waitpid(pid, 0)
    assert status == 0
    assert other.read_bytes() == b""
    assert [scope.name for scope in recorded.scopes] == ["inner", "outer", "in thread"]


def test_names_that_no_file_can_hold_are_written_all_the_same(recorded: Recorded) -> None:
    def odd() -> None:
        with profiler.annotate("lone \ud800", **{"\ud801": "\ud802", "nothing": None, "huge": 2**64}):
            pass

    with recorded:
        child = FORK.Process(target=odd)
        child.start()
        child.join()
    (scope,) = recorded.scopes
    assert (scope.name, scope.args) == (
        "lone \\ud800",
        {"\\ud801": "\\ud802", "nothing": None, "huge": str(2**64)},
    )


def test_what_is_beyond_the_limits_is_counted(tmp_path: Path) -> None:
    most = len(psutil.Process().children(recursive=True)) + 1
    recorded = Recorded(tmp_path, interval=3600, max_processes=most, max_scopes=1)
    with recorded:
        child = FORK.Process(target=work, args=(1,))
        child.start()
        child.join()
        for _ in range(2):
            subprocess.run(["true"], check=True)
    assert list(recorded.processes) == [child.pid]
    assert [scope.name for scope in recorded.scopes] == ["inner"]
    assert recorded.collected.notes == (
        f"2 scopes of process {child.pid} were dropped beyond the limit of 1",
        f"2 processes were dropped beyond the limit of {most}",
    )


def test_one_collector_serves_one_recording_after_another(recorded: Recorded) -> None:
    for _ in range(2):
        with recorded:
            subprocess.run(["true"], check=True)
        assert [record.name for record in recorded.collected.records] == ["true"]


class Numbers:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        with profiler.annotate("load", index=index):
            return index


def test_workers_of_pytorch_are_in_the_trace(tmp_path: Path) -> None:
    with profiler.Profile(tmp_path, collectors=["subprocesses"]) as profile:
        loader = DataLoader(Numbers(), num_workers=2, multiprocessing_context=FORK)
        assert [batch.tolist() for batch in loader] == [[0], [1], [2], [3]]
    assert profile.recording is not None
    assert profile.recording.notes == ()
    trace = load_trace(str(profile.recording.trace_path))
    found = [
        (trace.lanes[trace.lane[i]].name, trace.depth[i], trace.names[trace.name_id[i]], dict(trace.arguments[i]))
        for i in range(len(trace))
        if trace.categories[trace.category_id[i]] in {"subprocess", "user_annotation"}
    ]
    workers = sorted({thread for thread, _, name, _ in found if name == "load"})
    assert len(workers) == 2
    assert sorted((depth, args["index"]) for _, depth, name, args in found if name == "load") == [
        (1, 0),
        (1, 1),
        (1, 2),
        (1, 3),
    ]
    assert [(depth, args["exit_code"]) for thread, depth, _, args in found if thread in workers and depth == 0] == [
        (0, 0),
        (0, 0),
    ]


def test_the_exit_code_of_a_process_that_ends_in_the_midst_of_a_look(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: Callable[[psutil.Process], list[str]] = psutil.Process.cmdline

    def end_then_read(process: psutil.Process) -> list[str]:
        os.kill(process.pid, signal.SIGTERM)
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        return read(process)

    with recorded:
        pid = os.posix_spawn("/bin/sleep", ["sleep", "600"], os.environ)
        recorded.look(until=lambda: pid in recorded.live)
        monkeypatch.setattr(psutil.Process, "cmdline", end_then_read)
        recorded.look(until=lambda: pid not in recorded.live)
        os.waitpid(pid, 0)
    assert recorded.processes[pid].args["exit_code"] == -signal.SIGTERM
