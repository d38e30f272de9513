"""The process beside a server that compiles the loops which no earlier start has left."""

import logging
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from stepscope.dashboard.server.warm_up import GROUPS
from stepscope.summary.child_process import python_command
from stepscope.summary.kernels import Group

_LEAST_SHARE: Final = 0.5
"""Of a processor's time: a process that gets less is held up by what runs beside it."""
_COMPILE: Final = (
    "import sys; from stepscope.dashboard.server import warm_up; warm_up.compile_for_a_server(sys.argv[1:])"
)
# First of all: already what is imported would hold up who waits for the first page.
_COMPILE_LAST: Final = f"from stepscope.dashboard.embeddings.worker import lower_priority; lower_priority(); {_COMPILE}"
_log: Final = logging.getLogger(__name__)


def hold_back(
    groups: Iterable[Group] = tuple(GROUPS.values()), look: Callable[[], object] | None = None
) -> dict[Group, threading.Event]:
    """Have nobody wait for groups before `compile_beside` has said which of them are compiled; return what tells it.

    With ``look``, which calls that once, the first who asks for a group does wait for that.
    """
    held = {group: threading.Event() for group in groups}
    for group, done in held.items():
        group.compiled_elsewhere(done, look)
    return held


def compile_beside(held: Mapping[Group, threading.Event]) -> tuple[Group, ...]:
    """Have another process compile what is not compiled yet, and go on without meanwhile; return those groups."""
    missing = {group: done for group, done in held.items() if not group.compiled}
    for group, done in held.items():
        if group not in missing:
            done.set()
    if missing:
        compiler = CompilerProcess({group.name: done for group, done in missing.items()})
        for group in missing:
            group.hurried_by(compiler.hurry)
        if not compiler.start():
            return ()
    return tuple(missing)


class CompilerProcess:
    """Compiles groups in turn, after everything else that runs on the machine while nobody waits for it.

    Where training keeps all processors busy that would be never. A process cannot take its priority back, so another
    one goes on in its place, and finds the loops that the first has compiled.

    Args:
        done: what to set once a group is compiled, by its name, in the order in which they are compiled.
    """

    def __init__(self, done: Mapping[str, threading.Event]) -> None:
        self._done: Final = done
        self._changing: Final = threading.Lock()
        self._hurried = False
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0

    def start(self) -> bool:
        """Begin, and have a thread listen to what is done; return whether that was possible."""
        if not self._begin(_COMPILE_LAST):
            return False
        threading.Thread(target=self._listen, name="compiler", daemon=True).start()
        return True

    def hurry(self) -> None:
        """Take note that somebody waits: where the process is held up, one of the server's own priority goes on."""
        with self._changing:
            if not self._hurried and self._process is not None and self._is_held_up(self._process):
                self._hurried = True
                self._process.kill()

    def _is_held_up(self, process: "subprocess.Popen[bytes]") -> bool:
        import psutil

        try:
            used = psutil.Process(process.pid).cpu_times()
        except psutil.Error:
            return False
        return bool(used.user + used.system < _LEAST_SHARE * (time.monotonic() - self._began))

    def _begin(self, code: str) -> bool:
        """Start a process for what is not done; return whether that was possible, and give up where it was not."""
        names = [name for name, event in self._done.items() if not event.is_set()]
        self._began = time.monotonic()
        try:
            self._process = subprocess.Popen(
                python_command(code, *names), stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            _log.warning("Loops are compiled while they are needed: no process could be started for it (%s).", error)
            self._give_up()
            return False
        return True

    def _listen(self) -> None:
        assert self._process is not None
        self._hear(self._process)
        with self._changing:
            goes_on = self._hurried and self._begin(_COMPILE)
            self._hurried = True
        if goes_on:
            self._hear(self._process)
        self._give_up()

    def _hear(self, process: "subprocess.Popen[bytes]") -> None:
        with process:
            assert process.stdout is not None
            for line in process.stdout:
                event = self._done.get(line.decode().strip())
                if event is not None:
                    event.set()

    def _give_up(self) -> None:
        # Also where it failed: then the loops are compiled here, and say what is wrong.
        for event in self._done.values():
            event.set()
