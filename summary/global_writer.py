"""One writer for all modules and worker processes of a program, which counts the steps, as tensorboardX has it."""

import multiprocessing
import os
from typing import Any, ClassVar, Final

from stepscope.summary.writer import SummaryWriter


class GlobalSummaryWriter:
    """A `SummaryWriter` whose steps are counted per tag, across the processes that inherit it.

    Args:
        logdir: as `SummaryWriter`.
        comment: as `SummaryWriter`.
        purge_step: as `SummaryWriter`.
        max_queue: as `SummaryWriter`.
        flush_secs: as `SummaryWriter`.
        filename_suffix: as `SummaryWriter`.
        write_to_disk: as `SummaryWriter`.
        log_dir: as `SummaryWriter`.
        coalesce_process: no effect; each process writes a file of its own into the one folder.
        kwargs: further arguments of `SummaryWriter`.

    It raises what `SummaryWriter` does.
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
        self._lock: Final = multiprocessing.Lock()
        self._manager: Final = multiprocessing.Manager()
        self._steps: Final = self._manager.dict()

    @staticmethod
    def getSummaryWriter() -> "GlobalSummaryWriter":  # noqa: N802
        """Return the one of this program, made at the first call and after a `close`."""
        shared = GlobalSummaryWriter._shared
        if shared is None or shared.smw is None:
            shared = GlobalSummaryWriter._shared = GlobalSummaryWriter()
        return shared

    def add_scalar(self, tag: str, scalar_value: Any, walltime: float | None = None) -> None:
        """`SummaryWriter.add_scalar` at the tag's next step."""
        self._writer().add_scalar(tag, scalar_value, self._next_step("scalar", tag), walltime)

    def add_image(self, tag: str, img_tensor: Any, walltime: float | None = None, dataformats: str = "CHW") -> None:
        """`SummaryWriter.add_image` at the tag's next step."""
        self._writer().add_image(tag, img_tensor, self._next_step("image", tag), walltime, dataformats)

    def add_text(self, tag: str, text_string: Any, walltime: float | None = None) -> None:
        """`SummaryWriter.add_text` at the tag's next step."""
        self._writer().add_text(tag, text_string, self._next_step("text", tag), walltime)

    def close(self) -> None:
        """Write all that was added and close the file."""
        if self.smw is not None:
            self.smw.close()
            self.smw = None

    def _writer(self) -> SummaryWriter:
        if self.smw is None:
            raise ValueError("the global writer is closed; GlobalSummaryWriter.getSummaryWriter() makes another")
        return self.smw

    def _next_step(self, kind: str, tag: str) -> int:
        with self._lock:
            step = int(self._steps.get((kind, tag), -1)) + 1
            self._steps[kind, tag] = step
            return step
