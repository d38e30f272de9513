"""A process beside the server that compiles the loops that no earlier start has compiled."""

import logging
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from stepscope.dashboard.server.warm_up import GROUPS
from stepscope.summary.child_process import IGNORE_INTERRUPTS, python_command
from stepscope.summary.kernels import Group

_LEAST_SHARE: Final = 0.5
"""Share of a processor's time; a process that gets less is held up by other work on the machine."""
_COMPILE: Final = "from stepscope.dashboard.server import warm_up; warm_up.compile_for_a_server(sys.argv[1:])"
# Priority is lowered first: even the imports would hold up a user who waits for the first page.
_COMPILE_LAST: Final = f"from stepscope.dashboard.embeddings.worker import lower_priority; lower_priority(); {_COMPILE}"
_log: Final = logging.getLogger(__name__)


def hold_back(
    groups: Iterable[Group] = tuple(GROUPS.values()), look: Callable[[], object] | None = None
) -> dict[Group, threading.Event]:
    """Let nobody wait for groups before `compile_beside` has found which of them are compiled; return their events.

    With ``look``, which calls `compile_beside` once, the first caller that asks for a group does wait for that.
    """
    held = {group: threading.Event() for group in groups}
    for group, done in held.items():
        group.compiled_elsewhere(done, look)
    return held


def compile_beside(held: Mapping[Group, threading.Event]) -> tuple[Group, ...]:
    """Have another process compile the missing groups, continue without them meanwhile, and return them."""
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
    """Compiles groups in turn, at a priority below all other work on the machine while nobody waits for them.

    If training keeps all processors busy, that would mean never. A process cannot raise its priority again, so another
    one takes its place and finds the loops that the first has compiled.

    Args:
        done: events by group name, in the order of compilation; each is set once its group is compiled.
    """

    def __init__(self, done: Mapping[str, threading.Event]) -> None:
        self._done: Final = done
        self._changing: Final = threading.Lock()
        self._hurried = False
        self._process: subprocess.Popen[bytes] | None = None
        self._began = 0.0

    def start(self) -> bool:
        """Start, and have a thread listen for finished groups; return whether that was possible."""
        if not self._begin(_COMPILE_LAST):
            return False
        threading.Thread(target=self._listen, name="compiler", daemon=True).start()
        return True

    def hurry(self) -> None:
        """Note that somebody waits: if the process is held up, one with the server's own priority takes over."""
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
        """Start a process for the unfinished groups; return whether that was possible, and give up if it was not."""
        names = [name for name, event in self._done.items() if not event.is_set()]
        self._began = time.monotonic()
        try:
            self._process = subprocess.Popen(
                python_command(IGNORE_INTERRUPTS + code, *names), stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
        except OSError as error:
            _log.warning("Code is compiled only when it is needed: no process could be started for it (%s).", error)
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
        # Also after a failure: the loops are then compiled here, and report what is wrong.
        for event in self._done.values():
            event.set()
