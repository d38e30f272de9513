"""A process that computes projections for the server: one task at a time, received over its standard input.

It ends when its input is closed, that is, when the server is gone for whatever reason.
"""

import ctypes
import gc
import os
import sys
import traceback
from collections import deque
from collections.abc import Callable
from typing import Final

from stepscope.dashboard.embeddings.channel import Channel, StoppedError

NICENESS: Final = 10
"""Added to the niceness of the program that starts the worker."""


def serve(channel: Channel) -> None:
    """Do tasks one after the other; returns only through an error of the pipe."""
    from stepscope.dashboard.embeddings import tasks

    channel.tell("ready")
    warm = deque(tasks.WARMERS)
    while True:
        found = channel.next_task(0.0 if warm else None)
        if found is None:
            _warm(warm.popleft())
            continue
        message, arrays = found
        try:
            tasks.run(channel, message, arrays)
        except StoppedError:
            channel.tell("stopped")
        except MemoryError:
            channel.tell("failed", {"reason": "memory", "message": ""})
        except ValueError as error:
            traceback.print_exc()
            channel.tell("failed", {"reason": "value", "message": str(error)})
        except Exception as error:
            traceback.print_exc()
            channel.tell("failed", {"reason": "error", "message": f"{type(error).__name__}: {error}"})
        del found, message, arrays
        _give_memory_back()


def _give_memory_back() -> None:
    """Release all memory of a task before the worker waits for the next one."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if sys.platform == "linux" else None
    if trim is not None:
        trim(0)


def _warm(warmer: Callable[[], None]) -> None:
    try:
        warmer()
    except Exception:
        # Any problem is reported when a task runs into it.
        traceback.print_exc()


def lower_priority() -> None:
    """Lower the priority below the server and everything else on this machine."""
    import psutil

    try:
        if sys.platform == "win32":
            psutil.Process().nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
        else:
            os.nice(NICENESS)
    except (psutil.Error, OSError):
        # Not allowed here; the work is the same.
        return


def main() -> None:
    """Run a worker until it ends."""
    # Output printed by libraries must not get between the messages: it goes to standard error.
    target = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    source = os.fdopen(os.dup(0), "rb")
    lower_priority()
    channel = Channel(source, target)
    channel.start()
    try:
        serve(channel)
    except BrokenPipeError:
        os._exit(0)
