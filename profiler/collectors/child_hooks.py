"""Reports which processes the standard library starts and waits for, when, and with which exit code.

Sampling alone would miss the short ones, and no exit code can be read once the parent has waited for its child.
"""

import multiprocessing.popen_fork
import os
import subprocess
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Protocol

from stepscope.profiler.collectors.patching import Patches


class ChildListener(Protocol):
    """Receives the reports, in the thread that starts or waits for the child."""

    def child_started(self, pid: int, before_ns: int, name: str, command: str | None) -> None:
        """Note that a child has been running since some time after ``before_ns``, a monotonic time."""
        ...

    def child_ended(self, pid: int, exit_code: int) -> None:
        """Note that a child has been waited for; a negative exit code is the signal that killed it."""
        ...


def listen(patches: Patches, listener: ChildListener, now: Callable[[], int]) -> None:
    """Report the children of `subprocess` and `multiprocessing` to ``listener``, until the patches are undone."""
    patches.replace(subprocess.Popen, "__init__", lambda original: _starting(original, listener, now, _popen_names))
    # Every way of waiting for a child ends up here. It exists only where processes are forked.
    patches.replace(subprocess.Popen, "_handle_exitstatus", lambda original: _ending(original, listener))
    # The classes for processes that are spawned, or forked by a server, derive from this one.
    popen = multiprocessing.popen_fork.Popen
    patches.replace(popen, "__init__", lambda original: _starting(original, listener, now, _process_names))
    patches.replace(popen, "poll", lambda original: _ending(original, listener))


def _starting(
    original: Callable[..., None],
    listener: ChildListener,
    now: Callable[[], int],
    names: Callable[[Any, Sequence[Any]], tuple[str, str | None]],
) -> Callable[..., None]:
    @wraps(original)
    def start(popen: Any, *args: Any, **named: Any) -> None:
        before = now()
        original(popen, *args, **named)
        pid = getattr(popen, "pid", None)
        if isinstance(pid, int):
            listener.child_started(pid, before, *names(popen, args))

    return start


def _ending(original: Callable[..., Any], listener: ChildListener) -> Callable[..., Any]:
    @wraps(original)
    def end(popen: Any, *args: Any, **named: Any) -> Any:
        before = popen.returncode
        result = original(popen, *args, **named)
        if before is None and popen.returncode is not None:
            listener.child_ended(popen.pid, popen.returncode)
        return result

    return end


def _popen_names(popen: Any, args: Sequence[Any]) -> tuple[str, str | None]:
    command = popen.args
    if isinstance(command, str | bytes | os.PathLike):
        text = os.fsdecode(command)
    else:
        text = " ".join(map(os.fsdecode, command))
    return text, text


def _process_names(popen: Any, args: Sequence[Any]) -> tuple[str, str | None]:
    # The command line of these processes is that of their parent, or of a helper.
    return str(args[0].name) if args else "multiprocessing", None
