"""Writers in the style of TensorFlow 2."""

import os
from contextlib import AbstractContextManager, ExitStack
from types import TracebackType
from typing import Any, Final

from stepscope.summary.arguments import checked_number
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.tensorflow_compat import checked_log_dir, checked_suffix, longest_wait, whole_number
from stepscope.summary.v2.base import SummaryWriter
from stepscope.summary.v2.state import DEFAULT_STEP, DEFAULT_WRITER, set_step, step_of


class FileSummaryWriter(SummaryWriter):
    """A writer with its own event file; see `create_file_writer`."""

    def __init__(self, file: EventFileWriter) -> None:
        self._file: Final = file
        self._closed = False

    def as_default(self, step: Any = None) -> AbstractContextManager[SummaryWriter]:
        self.open_file()
        return _Defaults(self, step)

    def set_as_default(self, step: Any = None) -> None:
        self.open_file()
        if step is not None:
            set_step(step)
        DEFAULT_WRITER.set(self)

    def init(self) -> None:
        self.open_file()

    def flush(self) -> None:
        if not self._closed:
            self._file.flush()

    def close(self) -> None:
        if not self._closed:
            self._file.close()
            self._closed = True

    def open_file(self) -> EventFileWriter:
        """Return the file to write to.

        Raises:
            RuntimeError: the writer is closed.
        """
        if self._closed:
            raise RuntimeError("the summary writer is already closed; make another with create_file_writer")
        return self._file


class _NoopWriter(SummaryWriter):
    def as_default(self, step: Any = None) -> AbstractContextManager[SummaryWriter]:
        return _Unchanged(self)

    def set_as_default(self, step: Any = None) -> None:
        pass

    def init(self) -> None:
        pass

    def flush(self) -> None:
        pass

    def close(self) -> None:
        pass


def create_file_writer(
    logdir: str | os.PathLike[str],
    max_queue: int | None = None,
    flush_millis: float | None = None,
    filename_suffix: str | None = None,
    name: str | None = None,
    experimental_trackable: bool = False,
    experimental_mesh: None = None,
) -> SummaryWriter:
    """Return a writer with an event file in ``logdir``, which is created immediately.

    A thread writes, at most one second after a call, and loses nothing (see
    `stepscope.summary.event_file_writer.EventFileWriter`). A writer may be used from several threads.

    Args:
        logdir: the run's folder, created if missing.
        max_queue: accepted for compatibility with TensorFlow; the queue has no such limit.
        flush_millis: maximum milliseconds until a summary is in the file, if shorter than the usual wait.
        filename_suffix: suffix of the event file's name; by default ``.v2``.
        name: no effect.
        experimental_trackable: no effect.
        experimental_mesh: must be None.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value.
        OSError: the folder or the file cannot be created.
    """
    path = checked_log_dir(logdir)
    if max_queue is not None:
        whole_number(max_queue, "max_queue", least=0)
    if experimental_mesh is not None:
        raise ValueError("experimental_mesh must be None: only TensorFlow itself can write for its device meshes")
    milliseconds = 120_000.0 if flush_millis is None else checked_number(flush_millis, "flush_millis")
    linger = longest_wait(milliseconds / 1000, "flush_millis", path)
    return FileSummaryWriter(
        EventFileWriter(path, linger=linger, filename_suffix=checked_suffix(filename_suffix, ".v2"))
    )


def create_noop_writer() -> SummaryWriter:
    """Return a writer that does nothing; making it the default leaves the default writer unchanged."""
    return _NoopWriter()


def flush(writer: SummaryWriter | None = None, name: str | None = None) -> None:
    """Return when everything written so far is in the file.

    Args:
        writer: the writer; by default the default writer, if there is one.
        name: no effect.

    Raises:
        TypeError: ``writer`` is not a `SummaryWriter`.
    """
    if writer is None:
        writer = DEFAULT_WRITER.get()
    if not isinstance(writer, SummaryWriter | None):
        raise TypeError(f"flush takes a SummaryWriter or None, got {type(writer).__name__}")
    if writer is not None:
        writer.flush()


class _Defaults(AbstractContextManager[SummaryWriter]):
    def __init__(self, writer: SummaryWriter, step: Any) -> None:
        self._writer: Final = writer
        self._step: Final = step
        self._blocks: Final[list[ExitStack]] = []

    def __enter__(self) -> SummaryWriter:
        block = ExitStack()
        if self._step is not None:
            step_of(self._step)
            block.enter_context(DEFAULT_STEP.within(self._step))
        block.enter_context(DEFAULT_WRITER.within(self._writer))
        self._blocks.append(block)
        return self._writer

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._blocks.pop().close()
        self._writer.flush()


class _Unchanged(AbstractContextManager[SummaryWriter]):
    def __init__(self, writer: SummaryWriter) -> None:
        self._writer: Final = writer

    def __enter__(self) -> SummaryWriter:
        return self._writer

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        pass
