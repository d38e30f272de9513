"""Scopes of forked children, such as the workers of PyTorch's ``DataLoader``, written to files that the parent reads.

A forked child has a copy of everything, including the running recording, but nothing written to the copy would ever be
seen. The child therefore gets its own host collector, which writes each scope to a file when the scope ends; a child
that is killed loses only the scopes that it was in. Parent and child read the same monotonic clock.

A file has the number of scopes dropped beyond the limit, 8 bytes, little endian; then one line of JSON per scope.
"""

import os
import shutil
import tempfile
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, SupportsIndex

import msgspec

from stepscope.profiler import process
from stepscope.profiler.collectors.base import ArgumentValue
from stepscope.profiler.collectors.host import END, FIELDS_PER_SCOPE, HostCollector, Scopes, plain_text
from stepscope.summary.counts import counted

_COUNT_BYTES: Final = 8
_SUFFIX: Final = ".scopes"


class ForkedScope(NamedTuple):
    """A scope of a child; times are monotonic."""

    pid: int
    thread_id: int
    thread_name: str
    name: str
    args: dict[str, ArgumentValue]
    start_ns: int
    end_ns: int


class ForkedScopes:
    """Collects the scopes of the children that are forked between `start` and `stop`.

    Args:
        max_scopes: maximum number of scopes per child; the rest are counted.
    """

    def __init__(self, max_scopes: int) -> None:
        self.max_scopes: Final = max_scopes

    def start(self, now: Callable[[], int]) -> None:
        """Create the folder that children write to.

        Args:
            now: the monotonic clock of the recording, in nanoseconds.

        Raises:
            OSError: the folder cannot be created.
        """
        self.now = now
        self.folder = Path(tempfile.mkdtemp(prefix="stepscope-"))
        # If nobody calls `stop`: remove the folder when this process exits, not a child, which inherits this finalizer.
        self._remove = weakref.finalize(self, _remove_in, os.getpid(), self.folder)
        _forks.register()
        _forks.running = self

    def stop(self) -> tuple[list[ForkedScope], tuple[str, ...]]:
        """Return the scopes of all children, and what is missing; children that are still alive no longer record."""
        if _forks.running is self:
            _forks.running = None
        try:
            return _read(self.folder, self.max_scopes)
        finally:
            self._remove()


class _Forks:
    """The collection running in this process. Callbacks of forks cannot be unregistered, so a single one looks here."""

    __slots__ = ("recorded", "registered", "running")

    def __init__(self) -> None:
        self.registered = False
        self.running: ForkedScopes | None = None
        self.recorded = False
        """Whether scopes were recorded when the fork began."""

    def register(self) -> None:
        if not self.registered and hasattr(os, "register_at_fork"):
            os.register_at_fork(before=self.before, after_in_child=self.in_child)
            self.registered = True

    def before(self) -> None:
        self.recorded = process._process.host is not None

    def in_child(self) -> None:
        if self.running is None:
            return
        # The recording is the parent's; the child must not stop and write it. Another thread may have held the lock.
        process._process.lock = threading.Lock()
        process._process.session = process._process.profile = None
        process._process.host = ForkedHost(self.running) if self.recorded else None


_forks: Final = _Forks()


class ForkedHost(HostCollector):
    """Receives the scopes of a forked child, in which nothing stops a recording."""

    def __init__(self, running: ForkedScopes) -> None:
        super().__init__(running.now)
        self._spool: Final = _Spool(running.folder, running.max_scopes)
        self._spooled: Final = threading.local()

    def scopes(self) -> Scopes:
        """Return the list that receives the scopes of the calling thread."""
        if self._spool.over and process._process.host is self:
            process._process.host = None
        try:
            found: Scopes = self._spooled.scopes
        except AttributeError:
            found = self._spooled.scopes = _SpooledScopes(self._spool)
        return found

    def add_slice(self, *args: Any, **named: Any) -> None:
        """Keep nothing: only scopes reach the parent."""


class _SpooledScopes(Scopes):
    """The scopes that a thread is in, each written out when it ends."""

    def __init__(self, spool: "_Spool") -> None:
        super().__init__()
        self._spool = spool
        self._open = 0
        self._thread = (threading.get_native_id() & 0xFFFF_FFFF, plain_text(threading.current_thread().name))

    def __iadd__(self, scope: Any) -> Self:  # type: ignore[misc] # takes what a list takes
        self._open += 1
        super().__iadd__(scope)
        return self

    def __setitem__(self, index: SupportsIndex | slice, value: Any) -> None:
        super().__setitem__(index, value)
        first = int(index) - END  # type: ignore[arg-type] # of a slice, which nobody uses
        name, args, start, end = self[first : first + FIELDS_PER_SCOPE]
        plain = {plain_text(key): argument for key, argument in args.items()}
        self._spool.write((*self._thread, plain_text(name), plain, start, end))
        self._open -= 1
        if not self._open:
            # Nobody holds an index into it any longer.
            self.clear()


class _Spool:
    """The file of one child, created with its first scope."""

    def __init__(self, folder: Path, max_scopes: int) -> None:
        self.over = False
        self._folder = folder
        self._left = max_scopes
        self._dropped = 0
        self._file: tuple[int, tuple[int, int]] | None = None
        """Its descriptor, and the identity of the file."""
        self._lock = threading.Lock()

    def write(self, scope: tuple[Any, ...]) -> None:
        with self._lock:
            if self.over:
                return
            try:
                file = self._opened()
                if self._left > 0:
                    self._left -= 1
                    os.write(file, msgspec.json.encode(scope) + b"\n")
                else:
                    self._dropped += 1
                    os.pwrite(file, self._dropped.to_bytes(_COUNT_BYTES, "little"), 0)
            except OSError:
                # The recording is over, or the disk is full. The program must not fail because of that.
                self.over = True

    def _opened(self) -> int:
        if self._file is None:
            path = self._folder / f"{os.getpid()}-{time.time_ns()}{_SUFFIX}"
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            self._file = file, _identity(os.fstat(file))
            os.write(file, bytes(_COUNT_BYTES))
            return file
        file, identity = self._file
        status = os.fstat(file)
        # Daemons close all files that they inherit or open, and the number may now belong to another file.
        if _identity(status) != identity:
            raise FileNotFoundError
        # The parent has removed the folder: without this check, a child that lives on would fill the disk.
        if status.st_nlink == 0:
            os.close(file)
            raise FileNotFoundError
        return file


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _read(folder: Path, max_scopes: int) -> tuple[list[ForkedScope], tuple[str, ...]]:
    scopes: list[ForkedScope] = []
    notes = []
    for path in sorted(folder.glob(f"*{_SUFFIX}")):
        pid = int(path.name.partition("-")[0])
        content = path.read_bytes()
        dropped = int.from_bytes(content[:_COUNT_BYTES], "little")
        damaged = 0
        for line in content[_COUNT_BYTES:].splitlines():
            try:
                scopes.append(ForkedScope(pid, *msgspec.json.decode(line)))
            except (msgspec.DecodeError, TypeError):
                damaged += 1
        if dropped:
            scopes_were = counted(dropped, f"scope of process {pid} was", f"scopes of process {pid} were")
            notes.append(f"{scopes_were} dropped beyond the limit of {max_scopes:,}")
        if damaged:
            scopes_are = counted(damaged, f"scope of process {pid} is", f"scopes of process {pid} are")
            notes.append(f"{scopes_are} lost: the process was still writing, or was killed")
    return scopes, tuple(notes)


def _remove_in(pid: int, folder: Path) -> None:
    if os.getpid() == pid:
        shutil.rmtree(folder, ignore_errors=True)
