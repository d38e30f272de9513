"""`StepscopeTracker`: a tracker for Hugging Face's Accelerate, with the folders and tags of its ``TensorBoardTracker``.

from accelerate import Accelerator
from stepscope.summary.integrations.accelerate import StepscopeTracker

accelerator = Accelerator(log_with=StepscopeTracker("first", "runs"))
accelerator.init_trackers("first", config={"lr": 0.1})
accelerator.log({"loss": loss}, step=step)
accelerator.end_training()
"""

import os
from collections.abc import Mapping
from typing import Any, Final

from stepscope.summary.integrations.sessions import begin_session, end_session
from stepscope.summary.writer import SummaryWriter

try:
    from accelerate.tracking import GeneralTracker, on_main_process
except ImportError as error:
    raise ImportError(
        f"stepscope.summary.integrations.accelerate needs Accelerate: pip install accelerate ({error})"
    ) from error


class StepscopeTracker(GeneralTracker):  # type: ignore[misc]
    """Writes values passed to ``Accelerator.log`` to ``<logging_dir>/<run_name>``, from the main process only.

    Args:
        run_name: the run's folder.
        logging_dir: the folder of all runs.
        **writer_arguments: further arguments of `SummaryWriter`.
    """

    name = "stepscope"
    requires_logging_directory = True

    def __init__(self, run_name: str, logging_dir: str | os.PathLike[str], **writer_arguments: Any) -> None:
        super().__init__()
        self._folder: Final = os.path.join(logging_dir, run_name)
        self._writer_arguments: Final = writer_arguments
        self._writer: SummaryWriter | None = None

    @property
    def tracker(self) -> SummaryWriter | None:
        """The writer; None in other processes and before `start`."""
        return self._writer

    @on_main_process  # type: ignore[untyped-decorator]
    def start(self) -> None:
        """Open the event file."""
        self._writer = SummaryWriter(self._folder, **self._writer_arguments)

    @on_main_process  # type: ignore[untyped-decorator]
    def store_init_configuration(self, values: Mapping[str, Any]) -> None:
        """Write the session's hyperparameters."""
        begin_session(self._open(), values)

    @on_main_process  # type: ignore[untyped-decorator]
    def log(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Write numbers as scalars, strings as text, and mappings of numbers as one chart of several runs."""
        writer = self._open()
        for tag, value in values.items():
            if isinstance(value, str):
                writer.add_text(tag, value, step, **kwargs)
            elif isinstance(value, Mapping):
                writer.add_scalars(tag, value, step, **kwargs)
            else:
                writer.add_scalar(tag, value, step, **kwargs)
        writer.flush()

    @on_main_process  # type: ignore[untyped-decorator]
    def log_images(self, values: Mapping[str, Any], step: int | None = None, **kwargs: Any) -> None:
        """Write batches of images; ``kwargs`` are passed to `SummaryWriter.add_images`."""
        for tag, pictures in values.items():
            self._open().add_images(tag, pictures, step, **kwargs)

    @on_main_process  # type: ignore[untyped-decorator]
    def finish(self) -> None:
        """Write the end of the session, and close the file."""
        end_session(self._open())
        self._open().close()

    def _open(self) -> SummaryWriter:
        if self._writer is None:
            raise RuntimeError("the tracker was not started: call Accelerator.init_trackers first")
        return self._writer
