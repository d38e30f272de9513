"""Signal handlers that raise anywhere in a writer's callers: no call hangs afterwards, and nothing is lost."""

import itertools
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from stepscope.summary import SummaryWriter, open_logdir
from stepscope.summary.locks import ForkSafeLock

pytestmark = pytest.mark.long

REPOSITORY = Path(__file__).resolve().parents[2]
PATIENCE = 60

traces_instructions = pytest.mark.skipif(
    sys.version_info[:2] == (3, 12),
    reason="once instructions are traced, Python 3.12.1 stays slow and crashes when it ends",
)


class Interruption(BaseException):
    """The exception that a signal handler raises."""


def interrupted(call: Callable[[], object], count: int, module: str = "") -> bool:
    """Raises before the ``count``-th instruction of a call's code in the module; returns whether it has that many."""
    left = count

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal left
        frame.f_trace_opcodes = True
        if event == "opcode" and frame.f_code.co_filename.endswith(module):
            left -= 1
            if left == -1:
                raise Interruption
        return trace

    before = sys.gettrace()
    # Since Python 3.12, instructions are traced only if a frame has requested it before.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(trace)
    try:
        call()
    except Interruption:
        return True
    finally:
        sys.settrace(before)
    return False


def in_time(call: Callable[[], object]) -> None:
    """Makes a call that must not hang."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "the call hangs"


@traces_instructions
@pytest.mark.parametrize(
    "call",
    [SummaryWriter.flush, SummaryWriter.close, lambda writer: writer.add_scalar("new", 1.0, 0)],
    ids=["flush", "close", "add_scalar"],
)
def test_an_interruption_at_any_instruction_of_a_call(tmp_path: Path, call: Callable[[SummaryWriter], None]) -> None:
    for step in itertools.count():
        folder = tmp_path / str(step)
        writer = SummaryWriter(folder)
        writer.add_scalar("before", 1.0, 0)
        was_interrupted = interrupted(partial(call, writer), step)
        writer.add_scalar("after", 1.0, 1)
        in_time(writer.flush)
        in_time(writer.close)
        # There is neither a second thread nor one that nobody ends.
        worker = writer._main._working
        assert worker.acquire(timeout=PATIENCE)
        worker.release()
        series = open_logdir(folder).runs["."].series
        assert {"before", "after"} <= set(series)
        assert all(len(found.steps) == 1 for found in series.values())
        if not was_interrupted:
            break
    assert step > 30


@traces_instructions
def test_an_interruption_while_a_lock_is_taken_or_freed() -> None:
    def hold(lock: ForkSafeLock) -> None:
        with lock:
            pass

    for step in itertools.count():
        lock = ForkSafeLock()
        was_interrupted = interrupted(partial(hold, lock), step, "locks.py")
        in_time(partial(hold, lock))
        if not was_interrupted:
            break
    assert step > 5


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such timer")
def test_signals_that_raise_amid_flushes(tmp_path: Path) -> None:
    # An Event's lock once stayed locked after some thousand of them: `close` hung, with two threads writing.
    script = (
        "import _thread, signal, sys, time; from stepscope.summary import SummaryWriter\n"
        "class Interruption(Exception): pass\n"
        "def interrupt(*_): raise Interruption\n"
        "signal.signal(signal.SIGALRM, interrupt)\n"
        "writer = SummaryWriter(sys.argv[1]); interruptions = step = 0\n"
        "while interruptions < 1500:\n"
        "    try:\n"
        "        signal.setitimer(signal.ITIMER_REAL, 0.0003 + interruptions % 17 * 0.0001)\n"
        "        while True: writer.add_scalar('t', step, step); step += 1; writer.flush()\n"
        "    except Interruption: interruptions += 1\n"
        "threads = _thread._count(); writer.close(); print(threads)\n"
    )
    command = [sys.executable, "-c", script, str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
    steps = open_logdir(tmp_path).runs["."].series["t"].steps.tolist()
    assert steps == sorted(steps)
    assert len(set(steps)) == steps[-1] + 1
