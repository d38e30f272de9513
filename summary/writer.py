"""`SummaryWriter`, the class that training code calls."""

import contextlib
import json
import math
import os
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePath
from types import MappingProxyType, TracebackType
from typing import Any, Final, Self

import numpy as np

from stepscope.summary.arguments import (
    as_array,
    checked_folder,
    checked_number,
    checked_scalar,
    checked_step,
    checked_steps,
    checked_tag,
    checked_wall_time,
)
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.foreign_protos import own_message
from stepscope.summary.kinds.base import Prepared
from stepscope.summary.kinds.histogram import tensorflow_table
from stepscope.summary.kinds.scalar import ScalarForm, scalar
from stepscope.summary.locks import ForkSafeLock
from stepscope.summary.output import FILE_VERSION
from stepscope.summary.proto.custom_scalars_pb2 import Layout
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.storage import Folder, Nowhere, folder_at
from stepscope.summary.writer_base import Message, optional_wall_time
from stepscope.summary.writer_graphs import GraphMethods
from stepscope.summary.writer_media import MediaMethods
from stepscope.summary.writer_statistics import StatisticsMethods

_INT64_LIMIT: Final = 2**63


@dataclass
class _Defaults:
    """Defaults for calls without a step or a time; empty once the block that they are for is over."""

    global_step: Any = None
    walltime: float | None = None

    def completed(self, global_step: Any, walltime: float | None) -> tuple[Any, float | None]:
        """Return the arguments of a call, with the defaults for what it does not give."""
        return (
            self.global_step if global_step is None else global_step,
            self.walltime if walltime is None else walltime,
        )


class SummaryWriter(GraphMethods, MediaMethods, StatisticsMethods):
    """Writes summaries to an event file in ``log_dir``; a drop-in replacement for PyTorch's class of the same name.

    Calls check their arguments before anything is written and return immediately. A thread writes, at most one second
    later (ten for an address), and never drops an event; for what happens when the disk refuses a write, see
    `stepscope.summary.event_file_writer.EventFileWriter`. A writer may be used from several threads. After `close`, the
    next call opens a new file.

    Values may be Python or NumPy numbers and arrays, or tensors of PyTorch, JAX, TensorFlow or CuPy. NaN and infinity
    are valid numbers. Steps are int64 and 0 by default. Wall times are seconds since the epoch and the current time by
    default.

    Args:
        log_dir: the run's folder, created if missing, or its `fsspec` address, such as ``s3://bucket/run``; by
            default ``runs/<date>_<host><comment>``.
        comment: suffix of the default folder's name.
        purge_step: tells readers that a restart supersedes the run's earlier data from this step onward.
        max_queue: accepted for compatibility with PyTorch; the queue has no such limit.
        flush_secs: maximum seconds until an event is written; values above 1 (10 for an address) have no effect.
        filename_suffix: suffix of the event file's name.
        write_to_disk: if False, check all arguments but write nothing, as in tensorboardX.
        logdir: tensorboardX's name for ``log_dir``.
        fsync: if True, `flush` and `close` return only when the disk has the bytes, not just the operating system.
        legacy: if True, store histograms, images and audio as PyTorch does, in dedicated fields, instead of in
            TensorFlow 2's form. TensorBoard's ``EventAccumulator.Histograms``, ``Images`` and ``Audio``, and tbparse,
            look for these fields. Several images of a step become one grid.
        comet_config: tensorboardX's settings for the copy to Comet, which must be disabled.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value; the message states what was expected.
        OSError: the folder or the file cannot be created or written.
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        *,
        logdir: str | os.PathLike[str] | None = None,
        fsync: bool = False,
        legacy: bool = False,
        comet_config: Mapping[str, Any] | None = MappingProxyType({"disabled": True}),
    ) -> None:
        for folder in (log_dir, logdir):
            if folder is not None and not isinstance(folder, str | os.PathLike):
                raise TypeError(f"log_dir must be a path or an address, got {type(folder).__name__} {folder!r}")
        if log_dir and logdir:
            raise TypeError(f"log_dir and logdir are two names of one argument, got {log_dir!r} and {logdir!r}")
        log_dir = log_dir or logdir
        if checked_number(max_queue, "max_queue") < 0:
            raise ValueError(f"max_queue must not be negative, got {max_queue}")
        if not checked_number(flush_secs, "flush_secs") >= 0:
            raise ValueError(f"flush_secs must not be negative, got {flush_secs}")
        if not isinstance(filename_suffix, str) or "/" in filename_suffix or "\0" in filename_suffix:
            raise ValueError(f"filename_suffix must be the end of a file's name, got {filename_suffix!r}")
        if comet_config and not comet_config.get("disabled", False):
            raise ValueError(f"nothing is sent to Comet; comet_config must be {{'disabled': True}}, got {comet_config}")
        purge = None if purge_step is None else checked_step(purge_step)
        self.log_dir = str(log_dir) if log_dir else default_log_dir(comment)
        self._folder = folder_at(log_dir or self.log_dir) if write_to_disk else Nowhere(self.log_dir)
        self._layout = Layout()
        self._merge_lock = ForkSafeLock()
        self._linger: Final = float(flush_secs)
        self._filename_suffix: Final = filename_suffix
        self._fsync: Final = fsync
        self._legacy = legacy
        self._in_form: Final = _form(legacy)
        self._defaults: Final[ContextVar[_Defaults | None]] = ContextVar("defaults", default=None)
        self._main: Final = self._file_writer(self._folder)
        self._scalars_writers: Final[dict[str, EventFileWriter]] = {}
        self._scalars_lock: Final = ForkSafeLock()
        if purge is not None:
            # Older readers heed a restart only in a file that states its version at that step.
            self._main.add_event(Event(step=purge, file_version=FILE_VERSION))
            self._main.add_event(Event(step=purge, session_log=SessionLog(status=SessionLog.START)))

    def get_logdir(self) -> str:
        """Return the run's folder."""
        return self.log_dir

    @property
    def logdir(self) -> str:
        """The run's folder, under tensorboardX's name."""
        return self.log_dir

    @property
    def folder(self) -> Folder:
        """The run's folder; it stays the same when the program changes its working directory."""
        return self._folder

    @property
    def file_writer(self) -> Any:
        """The writer itself, for programs that use PyTorch's inner writer, as for ``add_summary``; None when closed."""
        return None if self._main.path is None else self

    @property
    def all_writers(self) -> dict[str, Any] | None:
        """The writer itself and the writers of `add_scalars`, by folder, as in PyTorch; None when closed."""
        if self._main.path is None:
            return None
        return {**self._writers(), self.log_dir: self}

    @property
    def default_bins(self) -> list[float]:
        """The finite default edges of histograms, as in PyTorch."""
        edges: list[float] = tensorflow_table().edges[1:-1].tolist()
        return edges

    def _get_file_writer(self) -> Self:
        return self

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
        """Add a number, stored as float32 unless ``double_precision`` is set, which implies ``new_style``.

        Args:
            tag: the tag of the series.
            scalar_value: one real number, or an array or tensor of one element.
            global_step: the point's step.
            walltime: the point's wall time.
            new_style: store a tensor, as TensorFlow 2 does, instead of the shorter field ``simple_value``.
            double_precision: store float64; TensorBoard's default reader does not show it.
            display_name: the tag's name in panels, as in tensorboardX.
            summary_description: a Markdown description of the tag, as in tensorboardX.
        """
        form: ScalarForm = "simple_value"
        if new_style or double_precision:
            form = _scalar_form(new_style, double_precision)
        # Every call pays for this: values that need no check must not reach one.
        if type(tag) is not str or not tag.isascii():
            checked_tag(tag)
        if type(scalar_value) is not float:
            scalar_value = checked_scalar(scalar_value, f"the scalar {tag!r}")
        if (defaults := self._defaults.get()) is not None:
            global_step, walltime = defaults.completed(global_step, walltime)
        if type(global_step) is not int or not -_INT64_LIMIT <= global_step < _INT64_LIMIT:
            global_step = checked_step(global_step)
        if walltime is not None and not (type(walltime) is float and math.isfinite(walltime)):
            walltime = checked_wall_time(walltime)
        if display_name or summary_description:
            value = scalar(tag, scalar_value, form)
            value.metadata.display_name = display_name
            value.metadata.summary_description = summary_description
            self.add_value(value, global_step, walltime)
            return
        self._main.add_scalar(tag, scalar_value, global_step, walltime, form)

    def add_scalar_batch(
        self,
        tag: str,
        scalar_values: Any,
        global_steps: Any,
        walltimes: Any = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Add many points of one series at once, for logs written after the fact.

        Args:
            tag: the tag of the series.
            scalar_values: real numbers, shape [n].
            global_steps: whole numbers, shape [n]; readers treat a step that goes back as a restart.
            walltimes: seconds since the epoch, shape [n]; by default the current time for all points.
            new_style: as in `add_scalar`.
            double_precision: as in `add_scalar`.

        Raises:
            TypeError, ValueError: an array has the wrong type or values, or the arrays differ in length.
        """
        numbers = as_array(scalar_values, f"the scalars {tag!r}").astype(np.float64, copy=False)
        steps = checked_steps(global_steps)
        defaults = self._defaults.get()
        if walltimes is None and defaults is not None and defaults.walltime is not None:
            walltimes = np.full(steps.shape, defaults.walltime)
        times = None if walltimes is None else as_array(walltimes, "wall times").astype(np.float64, copy=False)
        lengths = [array.shape for array in (numbers, steps, times) if array is not None]
        if numbers.ndim != 1 or len(set(lengths)) > 1:
            shown = ", ".join(str(list(shape)) for shape in lengths)
            raise ValueError(f"values, steps and wall times of {tag!r} must have the same length, got shapes {shown}")
        if times is not None and not np.isfinite(times).all():
            raise ValueError(f"wall times must be finite, got {times[~np.isfinite(times)][0]}")
        self._main.add_series(checked_tag(tag), numbers, steps, times, _scalar_form(new_style, double_precision))

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Add one number per key, each to its own run, so that one chart shows them all.

        A run's folder is ``<log_dir>/<main_tag>_<key>``, with "/" in ``main_tag`` replaced by "_"; its tag is
        ``main_tag``. If any value is invalid, none is written and the call raises an error.

        Raises:
            TypeError: ``tag_scalar_dict`` is not a mapping, or a value is not a real number.
            ValueError: a value has no element, or several.
        """
        step, wall_time = self._checked(global_step, walltime)
        if not isinstance(tag_scalar_dict, Mapping):
            raise TypeError(f"add_scalars takes numbers by name, got {type(tag_scalar_dict).__name__}")
        numbers = {
            _subfolder(checked_tag(main_tag), key): checked_scalar(value, f"the scalar {key!r}")
            for key, value in tag_scalar_dict.items()
        }
        writers: list[EventFileWriter] = []
        for folder in numbers:
            with self._scalars_lock:
                if folder not in self._scalars_writers:
                    self._scalars_writers[folder] = self._file_writer(self._folder.child(folder))
            writers.append(self._scalars_writers[folder])
        # Checks that can fail come first: a call that raises takes no numbers.
        for writer in writers:
            writer.check_ready()
        for writer, number in zip(writers, numbers.values(), strict=True):
            writer.add_ready_scalar(main_tag, number, step, wall_time)

    def add_run_metadata(
        self, run_metadata: Message | bytes, tag: str, global_step: Any = None, walltime: float | None = None
    ) -> None:
        """Add a profiler's record of a step."""
        from stepscope.summary.kinds.run_metadata import tagged_run_metadata
        from stepscope.summary.proto.run_metadata_pb2 import RunMetadata

        own = own_message(RunMetadata, run_metadata, "run_metadata")
        event = Event(tagged_run_metadata=tagged_run_metadata(checked_tag(tag), own))
        self._add_event(event, global_step, walltime)

    def add_value(self, value: Message | bytes, global_step: Any = None, walltime: float | None = None) -> None:
        """Add one value of any kind, including kinds of other distributions.

        The modules of `stepscope.summary.kinds` have functions that create values of Stepscope's own kinds.

        Args:
            value: a ``Summary.Value`` message of Stepscope's, TensorFlow's or TensorBoard's class, or its bytes. It
                contains its tag; the plugin name in its metadata identifies its kind.
            global_step: the point's step.
            walltime: the point's wall time.
        """
        own = value if isinstance(value, Summary.Value) else own_message(Summary.Value, value, "a value")
        self._add_event(Event(summary=Summary(value=[self._in_form(own)])), global_step, walltime)

    def add_summary(self, summary: Message | bytes, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a ``Summary`` message of Stepscope's, TensorFlow's or TensorBoard's class, or its bytes."""
        own = own_message(Summary, summary, "a summary")
        self._add_event(Event(summary=own), global_step, walltime)

    def add_event(self, event: Message | bytes, step: Any = None, walltime: float | None = None) -> None:
        """Add an ``Event`` message of Stepscope's, TensorFlow's or TensorBoard's class, or its bytes.

        The event is written at ``step``, or at its own step by default.
        """
        own = own_message(Event, event, "an event")
        self._add_event(own, own.step if step is None else step, walltime)

    @contextlib.contextmanager
    def use_metadata(self, *, global_step: Any = None, walltime: float | None = None) -> Iterator[Self]:
        """Set the step and the wall time of calls in the ``with`` block that pass none, as in tensorboardX.

        Calls of other threads, and of asynchronous tasks that were not begun in the block, are unaffected. Calls
        through `asyncio.to_thread` count as calls of the awaiting task.

        Raises:
            ValueError: neither is given, or the block is nested in another.
        """
        if global_step is None and walltime is None:
            raise ValueError("use_metadata needs a global_step or a walltime, got neither")
        if self._defaults.get() not in (None, _Defaults()):
            raise ValueError("use_metadata blocks cannot be nested")
        step = None if global_step is None else checked_step(global_step)
        defaults = _Defaults(step, optional_wall_time(walltime))
        self._defaults.set(defaults)
        try:
            yield self
        finally:
            # The context may be another by now, as when an asynchronous generator is closed that its caller abandoned.
            defaults.global_step = defaults.walltime = None

    def export_scalars_to_json(self, path: str | os.PathLike[str]) -> None:
        """Write all scalars that this writer has written as ``{"<folder>/<tag>": [[wall time, step, value], ...]}``.

        The file has tensorboardX's format; the scalars are read back from the event files.
        """
        from stepscope.summary.scalar_export import scalars_of

        self.flush()
        exported: dict[str, list[list[float]]] = {}
        for folder, writer in self._writers().items():
            for tag, points in scalars_of(writer.folder, writer.file_names).items():
                exported.setdefault(f"{folder}/{tag}", []).extend(points)
        Path(path).write_text(json.dumps(exported))

    def flush(self) -> None:
        """Return when everything added so far is in the files."""
        _all(writer.flush for writer in self._writers().values())

    def close(self) -> None:
        """Write everything added so far and close the files."""
        _all(writer.close for writer in self._writers().values())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _writers(self) -> dict[str, EventFileWriter]:
        """Return the writers by folder."""
        below = {f"{self.log_dir}/{folder}": writer for folder, writer in self._scalars_writers.copy().items()}
        return {self.log_dir: self._main, **below}

    def _file_writer(self, folder: Folder) -> EventFileWriter:
        return EventFileWriter(folder, linger=self._linger, filename_suffix=self._filename_suffix, fsync=self._fsync)

    def _add_event(self, event: Event, global_step: Any, walltime: float | None) -> None:
        event.step, wall_time = self._checked(global_step, walltime)
        self._main.add_event(event, wall_time)

    def _add_prepared(self, prepared: Prepared, global_step: Any, walltime: float | None) -> None:
        if self._legacy:
            encode = prepared.encode
            prepared = Prepared(lambda: self._in_form(encode()), prepared.held_bytes)
        self._main.add_prepared(prepared, *self._checked(global_step, walltime))

    def _checked(self, global_step: Any, walltime: float | None) -> tuple[int, float | None]:
        if (defaults := self._defaults.get()) is not None:
            global_step, walltime = defaults.completed(global_step, walltime)
        return checked_step(global_step), optional_wall_time(walltime)


def _all(operations: Iterable[Callable[[], None]]) -> None:
    """Run them all, then raise the first error."""
    failures: list[OSError] = []
    for operation in operations:
        try:
            operation()
        except OSError as error:
            failures.append(error)
    if failures:
        raise failures[0]


def _form(legacy: bool) -> Callable[[Summary.Value], Summary.Value]:
    """Return the function that turns values into the form in which a writer stores them."""
    if not legacy:
        return lambda value: value
    # Not imported where used: a fork while the writer's thread imports it would leave the child waiting for it.
    from stepscope.summary.kinds.registry import legacy_form

    return legacy_form


def _scalar_form(new_style: bool, double_precision: bool) -> ScalarForm:
    if double_precision:
        return "float64"
    return "float32" if new_style else "simple_value"


def default_log_dir(comment: str = "") -> str:
    """Return ``runs/<date>_<host><comment>``, by PyTorch's rule."""
    started = datetime.now().strftime("%b%d_%H-%M-%S")
    return str(Path("runs") / f"{started}_{socket.gethostname()}{comment}")


def _subfolder(main_tag: str, key: str) -> str:
    folder = main_tag.replace("/", "_") + "_" + checked_tag(key)
    checked_folder(folder, "tags and keys of add_scalars")
    if ".." in PurePath(folder).parts or "\0" in folder:
        raise ValueError(f"a key of add_scalars must name a folder below the log directory, got {key!r}")
    return folder
