"""Reads Parquet and Arrow files in a child process.

A damaged page may declare any size, and Polars ends its process if there is not that much memory. When a child process
reads the files, its end is an error like any other.
"""

import atexit
import io
import os
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Final

from stepscope.summary.cancellation import check_cancelled
from stepscope.summary.child_process import python_command

if TYPE_CHECKING:
    import polars as pl

_CODE: Final = "from stepscope.summary.foreign_tables import serve; serve()"
_SPARE_BYTES: Final = 4 << 30
"""Address space of a reader besides what a table declares: libraries, threads and buffers."""
_LIMITS: Final = {"POLARS_MAX_THREADS": "2", "RUST_BACKTRACE": "0", "MALLOC_ARENA_MAX": "2"}
_LOOK_S: Final = 0.05
_READ: Final = b"\0"
_FAILED: Final = b"\1"


class ForeignTableError(ValueError):
    """A Parquet or Arrow file cannot be read; the message says why."""


def read_foreign_table(content: bytes, declared: int) -> "pl.DataFrame":
    """Return the table of a Parquet or Arrow file.

    Args:
        content: the file.
        declared: bytes of memory that the file says it needs; a file that takes much more is not read.

    Raises:
        ForeignTableError: the file cannot be read.
        Cancelled: the result is no longer wanted.
    """
    import polars as pl

    check_cancelled()
    with _a_reader() as reader:
        table = reader.ask(content, declared)
    return pl.read_ipc_stream(io.BytesIO(table))


class _Reader:
    """A child process that reads one file after another, and ends with its standard input."""

    def __init__(self) -> None:
        self._process: Final = subprocess.Popen(
            python_command(_CODE),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_LIMITS},
        )

    def ask(self, content: bytes, declared: int) -> bytes:
        """Return an Arrow stream of the table; raises as `read_foreign_table` does."""
        answer: Future[tuple[bytes, bytes] | None] = Future()
        threading.Thread(target=self._converse, args=(content, declared, answer), daemon=True).start()
        try:
            while not _is_done(answer):
                check_cancelled()
        except BaseException:
            self.end()
            raise
        found = answer.result()
        if found is None:
            self.end()
            raise ForeignTableError("it is damaged, or takes more memory than it says")
        status, reported = found
        if status == _FAILED:
            raise ForeignTableError(reported.decode("utf-8", "replace"))
        return reported

    def _converse(self, content: bytes, declared: int, answer: "Future[tuple[bytes, bytes] | None]") -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            self._process.stdin.write(struct.pack("<QQ", len(content), declared))
            self._process.stdin.write(content)
            self._process.stdin.flush()
            answer.set_result(_receive(self._process.stdout))
        except (OSError, ValueError, struct.error):
            # A damaged file may declare more than a uint64 can count.
            answer.set_result(None)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def end(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            with suppress(OSError, ValueError):
                assert stream is not None
                stream.close()


_idle: list[_Reader] = []
"""Readers that wait for a file; appending and popping need no lock."""


@contextmanager
def _a_reader() -> Iterator[_Reader]:
    reader = _idle.pop() if _idle else _Reader()
    try:
        yield reader
    finally:
        if not reader.ended:
            if _idle:
                reader.end()
            else:
                _idle.append(reader)


if hasattr(os, "register_at_fork"):
    # A reader's pipes belong to one process.
    os.register_at_fork(after_in_child=_idle.clear)


@atexit.register
def end_readers() -> None:
    """End the processes that wait for another file; the next file starts a new one."""
    while _idle:
        _idle.pop().end()


def _is_done(answer: "Future[tuple[bytes, bytes] | None]") -> bool:
    with suppress(TimeoutError):
        answer.result(_LOOK_S)
    return answer.done()


def _receive(stream: IO[bytes]) -> tuple[bytes, bytes] | None:
    head = stream.read(9)
    if len(head) < 9:
        return None
    (length,) = struct.unpack("<Q", head[1:])
    reported = stream.read(length)
    return (head[:1], reported) if len(reported) == length else None


def serve() -> None:
    """Run a reader until its input ends: per file two uint64, its size and what it declares, and then its content."""
    import polars as pl

    source = os.fdopen(os.dup(0), "rb")
    target = os.fdopen(os.dup(1), "wb")
    # Text that a library prints must not mix with the answers.
    os.dup2(2, 1)
    while len(head := source.read(16)) == 16:
        length, declared = struct.unpack("<QQ", head)
        content = source.read(length)
        _limit_memory(_SPARE_BYTES + 3 * (length + declared))
        try:
            status, reported = _READ, _as_stream(_read(content))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError, MemoryError) as error:
            status, reported = _FAILED, f"{error!s:.300}".encode()
        del content
        target.write(status + struct.pack("<Q", len(reported)) + reported)
        target.flush()
        del reported


def _limit_memory(most: int) -> None:
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def _read(content: bytes) -> "pl.DataFrame":
    import polars as pl

    if content.startswith(b"PAR1"):
        return pl.read_parquet(io.BytesIO(content))
    if content.startswith(b"ARROW1"):
        return pl.read_ipc(io.BytesIO(content))
    return pl.read_ipc_stream(io.BytesIO(content))


def _as_stream(frame: "pl.DataFrame") -> bytes:
    stream = io.BytesIO()
    frame.write_ipc_stream(stream)
    return stream.getvalue()
