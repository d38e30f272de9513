"""Child processes that run Stepscope code."""

import json
import os
import sys
from pathlib import Path
from typing import Final

import stepscope

_ROOT: Final = str(Path(stepscope.__file__).resolve().parents[1])
IGNORE_INTERRUPTS: Final = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "
"""The beginning of the code of a process that ends with its parent: Ctrl+C goes to all processes of a terminal."""
_PATH: Final = "import json, sys; sys.path[:] = json.loads(sys.argv.pop(1)); "


def python_command(code: str, *arguments: str) -> list[str]:
    """Return the command of a Python process that finds the same modules as this one and runs ``code``.

    It is a program of its own: `multiprocessing` would run the program that this process is a part of a second time.

    Args:
        code: statements on one line.
        arguments: ``sys.argv[1:]`` of the process.
    """
    path = [place for place in sys.path if place]
    if _ROOT not in path:
        path.append(_ROOT)
    return [sys.executable, "-P", "-c", _PATH + code, json.dumps(path), *arguments]


def end_with_input() -> None:
    """Wait, in a thread of a child process, until its standard input ends, which its parent holds; then end it.

    The child thus ends when its parent has ended for any reason.
    """
    # Bypass Python's buffers, whose lock a waiting thread would still hold when the process ends.
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(0)
