"""`FileWriter` in the style of TensorFlow 1, and a cache of writers by folder."""

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
from stepscope.summary.storage import folder_at
from stepscope.summary.tensorflow_compat import (
    checked_log_dir,
    checked_suffix,
    graph_def_of,
    longest_wait,
    whole_number,
)
from stepscope.summary.writer_base import Message


class FileWriter:
    """Writes summaries, graphs and run metadata to an event file in ``logdir``, which is created immediately.

    Calls check their arguments and return; a thread writes, at most one second later, and loses nothing (see
    `stepscope.summary.event_file_writer.EventFileWriter`). A writer may be used from several threads. Calls after
    `close`, whose data TensorFlow drops, open a new file with a warning.

    Messages may be of Stepscope's, TensorFlow's or TensorBoard's classes, or serialized; they are never changed.

    Args:
        logdir: the run's folder, created if missing.
        graph: a graph as for `add_graph`; also written as a meta graph.
        max_queue: accepted for compatibility with TensorFlow; the queue has no such limit.
        flush_secs: maximum seconds until an event is in the file, if shorter than the usual wait.
        graph_def: an older name for ``graph``.
        filename_suffix: suffix of the event file's name.
        session: must be None; writing from within a TensorFlow session requires TensorFlow.

    Raises:
        TypeError, ValueError: an argument has the wrong type or value.
        OSError: the folder or the file cannot be created or written.
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
        self._folder: Final = folder_at(self._logdir)
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
        """Add a Summary, with its values' metadata every time, so that each file can be read on its own.

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
        """Add an Event unchanged, except that a missing wall time becomes the current time.

        Raises:
            TypeError: it is not an Event.
            ValueError: the bytes are not an Event, or its wall time is NaN or infinite.
        """
        own = own_message(Event, event, "an event")
        self._add(own, checked_wall_time(own.wall_time) if own.wall_time else None)

    def add_graph(self, graph: Any, global_step: Any = None, graph_def: Any = None) -> None:
        """Add a graph: a GraphDef, its bytes, a ``tf.Graph``, or a model for `stepscope.summary.graphs.graph_of`.

        Args:
            graph: the graph.
            global_step: the step.
            graph_def: an older name for ``graph``.

        Raises:
            TypeError: the graph is none of these.
            ValueError: both ``graph`` and ``graph_def`` are given, or the bytes are not a GraphDef.
        """
        definition = _graph_def(graph, graph_def)
        self._add(Event(step=checked_step(global_step), graph_def=definition.SerializeToString()))

    def add_meta_graph(self, meta_graph_def: Message | bytes, global_step: Any = None) -> None:
        """Add a MetaGraphDef; TensorBoard shows its graph only alongside an event of `add_graph`.

        Raises:
            TypeError: it is not a MetaGraphDef.
            ValueError: the bytes are not a MetaGraphDef.
        """
        own = own_message(MetaGraphDef, meta_graph_def, "meta_graph_def")
        self._add(Event(step=checked_step(global_step), meta_graph_def=own.SerializeToString()))

    def add_run_metadata(self, run_metadata: Message | bytes, tag: str, global_step: Any = None) -> None:
        """Add a profiler's record of a step.

        Raises:
            TypeError: it is not a RunMetadata, or the tag is not a string.
            ValueError: the tag was already used, or the bytes are not a RunMetadata.
        """
        own = own_message(RunMetadata, run_metadata, "run_metadata")
        event = Event(step=checked_step(global_step), tagged_run_metadata=tagged_run_metadata(checked_name(tag), own))
        with self._lock:
            if tag in self._run_tags:
                raise ValueError(f"a tag of run metadata must be used once, got {tag!r} again")
            self._add(event)
            self._run_tags.add(tag)

    def add_session_log(self, session_log: Message | bytes, global_step: Any = None) -> None:
        """Add a SessionLog; START tells readers that the run's earlier data from that step onward is superseded.

        Raises:
            TypeError: it is not a SessionLog.
            ValueError: the bytes are not a SessionLog.
        """
        own = own_message(SessionLog, session_log, "session_log")
        self._add(Event(step=checked_step(global_step), session_log=own))

    def flush(self) -> None:
        """Return when everything added so far is in the file."""
        self._file.flush()

    def close(self) -> None:
        """Write everything added so far and close the file."""
        with self._lock:
            self._file.close()
            self._closed = True

    def reopen(self) -> None:
        """Open a new file in the same folder, if the writer is closed."""
        with self._lock:
            if self._closed:
                self._file = EventFileWriter(self._folder, linger=self._linger, filename_suffix=self._suffix)
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
        """Return the folder's writer, which is created at the first call."""
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
