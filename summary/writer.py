"""`SummaryWriter`: what training code calls."""

import math
import os
import socket
import threading
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Final, Self

from summary.arguments import checked_number, checked_step, checked_tag, checked_wall_time
from summary.event_file_writer import FILE_VERSION, EventFileWriter
from summary.kinds.run_metadata import tagged_run_metadata
from summary.kinds.scalar import ScalarForm, scalar
from summary.proto.custom_scalars_pb2 import Layout
from summary.proto.event_pb2 import Event, SessionLog
from summary.proto.run_metadata_pb2 import RunMetadata
from summary.proto.summary_pb2 import Summary
from summary.writer_base import Message, optional_wall_time
from summary.writer_media import MediaMethods
from summary.writer_statistics import StatisticsMethods

_LONGEST_LINGER: Final = 1.0
_INT64_LIMIT: Final = 2**63


class SummaryWriter(MediaMethods, StatisticsMethods):
    """Writes summaries to an event file in ``log_dir``; a drop-in for PyTorch's class of the same name.

    Calls check their arguments before anything is written and return at once; a thread writes, at most a
    second later, and never drops an event (`summary.event_file_writer.EventFileWriter` says what happens when the disk
    refuses). It may be used from several threads. After `close`, the next call opens a new file.

    Values may be Python or NumPy numbers and arrays, or tensors of PyTorch, JAX, TensorFlow or CuPy. NaN and
    infinities are numbers. A step is an int64; without one it is 0. Wall times are seconds since the epoch;
    without one it is now.

    Args:
        log_dir: the run's folder, made if absent; by default ``runs/<date>_<host><comment>``.
        comment: end of the default folder's name.
        purge_step: readers are told that a restart at this step supersedes what the run had from there on.
        max_queue: accepted for PyTorch's sake; the queue has no such limit.
        flush_secs: seconds until an event is in the file, if that is below one.
        filename_suffix: end of the event file's name.
        logdir: ``log_dir`` as tensorboardX calls it.

    Raises:
        TypeError, ValueError: an argument is not what it must be; the message says what was expected.
        OSError: the folder or the file cannot be made or written.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        *,
        logdir: str | os.PathLike[str] | None = None,
    ) -> None:
        if log_dir and logdir:
            raise TypeError(f"log_dir and logdir are two names of one argument, got {log_dir!r} and {logdir!r}")
        log_dir = log_dir or logdir
        if checked_number(max_queue, "max_queue") < 0:
            raise ValueError(f"max_queue must not be negative, got {max_queue}")
        if not checked_number(flush_secs, "flush_secs") >= 0:
            raise ValueError(f"flush_secs must not be negative, got {flush_secs}")
        purge = None if purge_step is None else checked_step(purge_step)
        self.log_dir = str(log_dir) if log_dir else _default_log_dir(comment)
        self._layout = Layout()
        self._merge_lock = threading.Lock()
        self._linger: Final = min(float(flush_secs), _LONGEST_LINGER)
        self._filename_suffix: Final = filename_suffix
        self._main: Final = self._file_writer(Path(self.log_dir))
        self._scalars_writers: Final[dict[str, EventFileWriter]] = {}
        self._scalars_lock: Final = threading.Lock()
        if purge is not None:
            # Older readers heed a restart only in a file that states its version at that step.
            self._main.add_event(Event(step=purge, file_version=FILE_VERSION))
            self._main.add_event(Event(step=purge, session_log=SessionLog(status=SessionLog.START)))

    def get_logdir(self) -> str:
        """The run's folder."""
        return self.log_dir

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
        *,
        display_name: str = "",
        summary_description: str = "",
    ) -> None:
        """Adds a number: float32, unless ``double_precision``, which implies ``new_style``.

        Args:
            tag: the series.
            scalar_value: one real number, or an array or tensor of one element.
            global_step: the point's step.
            walltime: the point's time.
            new_style: store a tensor, as TensorFlow 2 does, instead of the shorter field.
            double_precision: store float64; TensorBoard's default reader does not show it.
            display_name: the tag's name in panels, as in tensorboardX.
            summary_description: Markdown that says what the tag is, as in tensorboardX.
        """
        form: ScalarForm = "simple_value"
        if double_precision:
            form = "float64"
        elif new_style:
            form = "float32"
        # Every caller pays for this line: what needs no check must not reach one.
        if type(tag) is not str or not tag or not tag.isascii():
            checked_tag(tag)
        if type(scalar_value) is not float:
            scalar_value = checked_number(scalar_value, f"the scalar {tag!r}")
        if type(global_step) is not int or not -_INT64_LIMIT <= global_step < _INT64_LIMIT:
            global_step = checked_step(global_step)
        if walltime is not None and not (type(walltime) is float and math.isfinite(walltime)):
            walltime = checked_wall_time(walltime)
        if display_name or summary_description:
            value = scalar(tag, scalar_value, form)
            value.metadata.display_name = display_name
            value.metadata.summary_description = summary_description
            self._main.add_event(Event(step=global_step, summary=Summary(value=[value])), walltime)
            return
        self._main.add_scalar(tag, scalar_value, global_step, walltime, form)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Adds one number per key, each to a run of its own, so that one chart shows them all.

        The run's folder is ``<log_dir>/<main_tag>_<key>`` with "/" in ``main_tag`` as "_"; its tag is
        ``main_tag``.
        """
        step, wall_time = checked_step(global_step), optional_wall_time(walltime)
        numbers = {
            _subfolder(checked_tag(main_tag), key): checked_number(value, f"the scalar {key!r}")
            for key, value in tag_scalar_dict.items()
        }
        for folder, number in numbers.items():
            with self._scalars_lock:
                if folder not in self._scalars_writers:
                    self._scalars_writers[folder] = self._file_writer(Path(self.log_dir) / folder)
            self._scalars_writers[folder].add_scalar(main_tag, number, step, wall_time)

    def add_run_metadata(
        self, run_metadata: RunMetadata, tag: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Adds what a profiler recorded of a step."""
        event = Event(
            step=checked_step(global_step),
            tagged_run_metadata=tagged_run_metadata(checked_tag(tag), run_metadata),
        )
        self._main.add_event(event, optional_wall_time(walltime))

    def add_summary(self, summary: Message, global_step: Any = None, walltime: float | None = None) -> None:
        """Adds a ``Summary`` message: ours, TensorFlow's or TensorBoard's."""
        own = summary if isinstance(summary, Summary) else Summary.FromString(summary.SerializeToString())
        event = Event(step=checked_step(global_step), summary=own)
        self._main.add_event(event, optional_wall_time(walltime))

    def flush(self) -> None:
        """Returns when all that was added is in the files."""
        for writer in self._writers():
            writer.flush()

    def close(self) -> None:
        """Writes all that was added and closes the files."""
        for writer in self._writers():
            writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _writers(self) -> list[EventFileWriter]:
        return [self._main, *self._scalars_writers.values()]

    def _file_writer(self, folder: Path) -> EventFileWriter:
        return EventFileWriter(folder, linger=self._linger, filename_suffix=self._filename_suffix)


def _default_log_dir(comment: str) -> str:
    started = datetime.now().strftime("%b%d_%H-%M-%S")
    return str(Path("runs") / f"{started}_{socket.gethostname()}{comment}")


def _subfolder(main_tag: str, key: str) -> str:
    folder = main_tag.replace("/", "_") + "_" + checked_tag(key)
    if ".." in PurePath(folder).parts or "\0" in folder:
        raise ValueError(f"a key of add_scalars names a folder below the log directory, got {key!r}")
    return folder
