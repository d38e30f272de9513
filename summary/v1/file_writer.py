"""`FileWriter` in TensorFlow 1's manner, and the cache of them by folder."""

import os
import warnings
from types import TracebackType
from typing import Any, ClassVar, Final, Self

from stepscope.summary.arguments import checked_name, checked_number, checked_step, checked_wall_time
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.foreign_protos import own_message
from stepscope.summary.kinds.run_metadata import tagged_run_metadata
from stepscope.summary.locks import ForkSafeLock
from stepscope.summary.proto.event_pb2 import Event, SessionLog
from stepscope.summary.proto.graph_pb2 import GraphDef
from stepscope.summary.proto.meta_graph_pb2 import MetaGraphDef
from stepscope.summary.proto.run_metadata_pb2 import RunMetadata
from stepscope.summary.proto.summary_pb2 import Summary
from stepscope.summary.tensorflow_compat import (
    checked_log_dir,
    checked_suffix,
    graph_def_of,
    longest_wait,
    whole_number,
)
from stepscope.summary.writer_base import Message


class FileWriter:
    """Writes summaries, graphs and run metadata to an event file in ``logdir``; made at once.

    Calls check their arguments and return; a thread writes, at most a second later, and loses nothing
    (`stepscope.summary.event_file_writer.EventFileWriter`). It may be used from several threads. After `close`, where
    TensorFlow drops what is added, a new file is opened with a warning.

    Messages may be of our classes, TensorFlow's or TensorBoard's, or serialized; what is passed is never changed.

    Args:
        logdir: the run's folder, created if absent.
        graph: what `add_graph` takes; also written as a meta graph.
        max_queue: accepted for TensorFlow's sake; the queue has no such limit.
        flush_secs: seconds until an event is in the file, if that is sooner than it would be anyway.
        graph_def: an older name of ``graph``.
        filename_suffix: end of the event file's name.
        session: must be None: to write from within a TensorFlow session takes TensorFlow.

    Raises:
        TypeError, ValueError: an argument is not what it must be.
        OSError: the folder or the file cannot be made or written.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        graph: Any = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        graph_def: Any = None,
        filename_suffix: str | None = None,
        session: None = None,
    ) -> None:
        if session is not None:
            raise ValueError("session must be None: only TensorFlow itself can write from within a session")
        whole_number(max_queue, "max_queue", least=0)
        self._logdir: Final = checked_log_dir(logdir)
        self._linger: Final = longest_wait(checked_number(flush_secs, "flush_secs"), "flush_secs", self._logdir)
        self._suffix: Final = checked_suffix(filename_suffix, "")
        definition = None if graph is None and graph_def is None else _graph_def(graph, graph_def)
        self._lock: Final = ForkSafeLock()
        self._run_tags: Final[set[str]] = set()
        self._file: EventFileWriter
        self._closed = True
        self.reopen()
        if definition is not None:
            self.add_graph(definition)
            self.add_meta_graph(MetaGraphDef(graph_def=definition))

    def get_logdir(self) -> str:
        """Return the run's folder."""
        return self._logdir

    def add_summary(self, summary: Message | bytes, global_step: Any = None) -> None:
        """Add a Summary, with the metadata of its values as often as it comes, so that each file can be read alone.

        Raises:
            TypeError: it is not a Summary.
            ValueError: the bytes are not a Summary, or a value has no tag.
        """
        own = own_message(Summary, summary, "a summary")
        step = checked_step(global_step)
        for value in own.value:
            # Older writers name the node instead.
            if not value.node_name:
                checked_name(value.tag)
        self._add(Event(step=step, summary=own))

    def add_event(self, event: Message | bytes) -> None:
        """Add an Event as it is; where it has no wall time, the present one.

        Raises:
            TypeError: it is no Event.
            ValueError: the bytes are no Event, or its wall time is NaN or infinite.
        """
        own = own_message(Event, event, "an event")
        self._add(own, checked_wall_time(own.wall_time) if own.wall_time else None)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Add a graph: a GraphDef, its bytes, a ``tf.Graph``, or a model for `stepscope.summary.graphs.graph_of`.

        Args:
            graph: the graph.
            global_step: the step.
            graph_def: an older name of ``graph``.

        Raises:
            TypeError: it is none of these.
            ValueError: both ``graph`` and ``graph_def`` are given, or the bytes are not a GraphDef.
        """
        definition = _graph_def(graph, graph_def)
        self._add(Event(step=checked_step(global_step), graph_def=definition.SerializeToString()))

    def add_meta_graph(self, meta_graph_def: Message | bytes, global_step: Any = None) -> None:
        """Add a MetaGraphDef; TensorBoard shows the graph in it only beside an event of `add_graph`.

        Raises:
            TypeError: it is not a MetaGraphDef.
            ValueError: the bytes are not a MetaGraphDef.
        """
        own = own_message(MetaGraphDef, meta_graph_def, "meta_graph_def")
        self._add(Event(step=checked_step(global_step), meta_graph_def=own.SerializeToString()))

    def add_run_metadata(self, run_metadata: Message | bytes, tag: str, global_step: Any = None) -> None:
        """Add what a profiler recorded of a step.

        Raises:
            TypeError: it is not RunMetadata, or the tag is not a string.
            ValueError: the tag was used before, or the bytes are not a RunMetadata.
        """
        own = own_message(RunMetadata, run_metadata, "run_metadata")
        event = Event(step=checked_step(global_step), tagged_run_metadata=tagged_run_metadata(checked_name(tag), own))
        with self._lock:
            if tag in self._run_tags:
                raise ValueError(f"a tag of run metadata must be used once, got {tag!r} again")
            self._add(event)
            self._run_tags.add(tag)

    def add_session_log(self, session_log: Message | bytes, global_step: Any = None) -> None:
        """Add a SessionLog; its START tells readers that what the run had from that step on is superseded.

        Raises:
            TypeError: it is no SessionLog.
            ValueError: the bytes are no SessionLog.
        """
        own = own_message(SessionLog, session_log, "session_log")
        self._add(Event(step=checked_step(global_step), session_log=own))

    def flush(self) -> None:
        """Return when all that was added is in the file."""
        self._file.flush()

    def close(self) -> None:
        """Write all that was added and close the file."""
        with self._lock:
            self._file.close()
            self._closed = True

    def reopen(self) -> None:
        """Open a new file in the same folder, if the writer is closed."""
        with self._lock:
            if self._closed:
                self._file = EventFileWriter(self._logdir, linger=self._linger, filename_suffix=self._suffix)
                self._closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def _add(self, event: Event, wall_time: float | None = None) -> None:
        with self._lock:
            self._open_if_closed(stacklevel=4)
            self._file.add_event(event, wall_time)

    def _open_if_closed(self, stacklevel: int) -> None:
        if self._closed:
            message = f"the FileWriter of {self._logdir!r} was closed; it continues in a new file"
            warnings.warn(message, stacklevel=stacklevel)
            self.reopen()


class FileWriterCache:
    """One `FileWriter` per folder, for all callers in the process."""

    _lock: ClassVar[ForkSafeLock] = ForkSafeLock()
    _cache: ClassVar[dict[str, FileWriter]] = {}

    @staticmethod
    def get(logdir: str | os.PathLike[str]) -> FileWriter:
        """Return the folder's writer; made at the first call."""
        path = checked_log_dir(logdir)
        with FileWriterCache._lock:
            if path not in FileWriterCache._cache:
                FileWriterCache._cache[path] = FileWriter(path)
            return FileWriterCache._cache[path]

    @staticmethod
    def clear() -> None:
        """Close all cached writers and forget them."""
        with FileWriterCache._lock:
            while FileWriterCache._cache:
                _, writer = FileWriterCache._cache.popitem()
                writer.close()


def _graph_def(graph: Any, graph_def: Any) -> GraphDef:
    if graph is not None and graph_def is not None:
        raise ValueError("graph and graph_def are two names of one argument, got both")
    if graph is None and graph_def is None:
        raise TypeError("a graph must be a GraphDef, a tf.Graph or a model, got None")
    return graph_def_of(graph_def if graph is None else graph)
