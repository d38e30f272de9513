"""A writer that counts steps, for all modules and worker processes of a program, as in tensorboardX."""

import multiprocessing.process
import os
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from multiprocessing.managers import BaseManager
from typing import Any, ClassVar, Final

from stepscope.summary.writer import SummaryWriter


class GlobalSummaryWriter:
    """A `SummaryWriter` that counts the steps of each tag across all processes that inherit it.

        writer = GlobalSummaryWriter.getSummaryWriter()
        writer.add_scalar("loss", loss)

    Arguments and errors are those of `SummaryWriter`, except that ``coalesce_process`` has no effect: each process
    writes its own file in the same folder.
    """

    _shared: ClassVar["GlobalSummaryWriter | None"] = None

    def __init__(
        self,
        logdir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        log_dir: str | os.PathLike[str] | None = None,
        coalesce_process: bool = True,
        **kwargs: Any,
    ) -> None:
        self.smw: SummaryWriter | None = SummaryWriter(
            log_dir, comment, purge_step, max_queue, flush_secs, filename_suffix, write_to_disk, logdir=logdir, **kwargs
        )
        self._manager: Final = _StepsManager()
        self._manager.start()
        self._steps: Final = self._manager.steps()
        if hasattr(os, "register_at_fork"):
            writer = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _in_child(writer()))

    @staticmethod
    def getSummaryWriter() -> "GlobalSummaryWriter":  # noqa: N802
        """Return the program's shared writer, created at the first call and again after a `close`."""
        shared = GlobalSummaryWriter._shared
        if shared is None or shared.smw is None:
            shared = GlobalSummaryWriter._shared = GlobalSummaryWriter()
        return shared

    def add_scalar(self, tag: str, scalar_value: Any, walltime: float | None = None) -> None:
        """Call `SummaryWriter.add_scalar` with the tag's next step."""
        self._writer().add_scalar(tag, scalar_value, self._next_step("scalar", tag), walltime)

    def add_image(self, tag: str, img_tensor: Any, walltime: float | None = None, dataformats: str = "CHW") -> None:
        """Call `SummaryWriter.add_image` with the tag's next step."""
        self._writer().add_image(tag, img_tensor, self._next_step("image", tag), walltime, dataformats)

    def add_text(self, tag: str, text_string: Any, walltime: float | None = None) -> None:
        """Call `SummaryWriter.add_text` with the tag's next step."""
        self._writer().add_text(tag, text_string, self._next_step("text", tag), walltime)

    def close(self) -> None:
        """Write everything added so far and close the file."""
        if self.smw is not None:
            self.smw.close()
            self.smw = None

    def _next_step(self, kind: str, tag: str) -> int:
        try:
            step: int = self._steps.take(kind, tag)
        except BaseException:
            # The answer may be yet to come: the thread's next call would take it for its own.
            self._disconnect()
            raise
        return step

    def _disconnect(self) -> None:
        """Have the thread's next call open a connection of its own."""
        proxy: Any = self._steps
        vars(proxy._tls).clear()

    def _writer(self) -> SummaryWriter:
        if self.smw is None:
            raise ValueError("the global writer is closed; GlobalSummaryWriter.getSummaryWriter() makes another")
        return self.smw


class _Steps:
    """Counts the steps of each tag of each kind, for all processes, which may be terminated at any moment."""

    def __init__(self) -> None:
        self._lock: Final = threading.Lock()
        self._counts: Final[Counter[tuple[str, str]]] = Counter()

    def take(self, kind: str, tag: str) -> int:
        with self._lock:
            self._counts[kind, tag] += 1
            return self._counts[kind, tag] - 1


def _in_child(writer: GlobalSummaryWriter | None) -> None:
    """Do in a child of `os.fork` what `multiprocessing` does in the children that it forks.

    On the connection of its parent, the processes would take each other's answers; and at its end, the child would wait
    for the process of the manager as for one of its own.
    """
    if writer is not None:
        writer._disconnect()
        multiprocessing.process._children.discard(writer._manager._process)  # type: ignore[attr-defined]


class _StepsManager(BaseManager):
    steps: Callable[[], _Steps]


_StepsManager.register("steps", _Steps)
