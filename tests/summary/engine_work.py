"""Parts of work for tests of the engine, in a module of their own that workers import."""

import os
import signal
import threading
import time
from pathlib import Path

_STARTED = threading.Lock()


def doubled(number: int) -> int:
    return 2 * number


def doubled_but_seven(number: int) -> int:
    if number == 7:
        raise ValueError("seven is refused")
    return 2 * number


def process(_number: int) -> int:
    """Return which process does this."""
    return os.getpid()


class OddError(Exception):
    """Cannot be pickled: it does not have a single argument."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__("odd")
        self.lock = threading.Lock()


def raises_what_cannot_be_pickled(number: int) -> int:
    raise OddError(number, number)


def noted(path: Path) -> str:
    """Record that this part began."""
    with _STARTED:
        path.touch()
    return path.name


def ends_its_worker_once(path: Path) -> str:
    """End the process that runs this part the first time, if the part is called "fatal"."""
    if path.name.startswith("fatal") and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def ends_its_worker(path: Path) -> str:
    """End the process that runs this part each time, if the part is called "fatal"."""
    if path.name == "fatal":
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def waits_to_be_killed(path: Path) -> str:
    """Write the process ID and wait to be killed with the process, the first time and if the part is "waits"."""
    if path.name == "waits" and not path.exists():
        half = path.with_name("half")
        half.write_text(str(os.getpid()))
        half.replace(path)
        while True:
            time.sleep(60)
    return path.name
