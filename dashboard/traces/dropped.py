"""Traces dropped on the page: listed beside those of the log directory until the server ends."""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Final

from stepscope.dashboard.server.dropped_files import DroppedFiles, Upload, UploadError, discard
from stepscope.dashboard.server.live import Live
from stepscope.dashboard.traces.folders import DroppedTrace, is_trace_file
from stepscope.dashboard.traces.sources import dropped_id
from stepscope.profiler.traces.registry import formats_in_words
from stepscope.summary.contents import Companion


class TraceUploads(DroppedFiles[DroppedTrace]):
    """The dropped traces; safe to use from many threads.

    Args:
        listed: called with all of them whenever they change.
        limits: as for `DroppedFiles`.
    """

    def __init__(self, listed: Callable[[tuple[Companion, ...]], None], **limits: int) -> None:
        super().__init__(**limits)
        self._listed: Final = listed

    def begin(self, name: str) -> Upload[str]:
        """Begin the upload of a trace; finishing it returns the trace's id.

        Args:
            name: what the user calls the file; only its last part is used, and never as a path.

        Raises:
            NoRoomError: too many uploads are in progress.
            UploadError: there is no place for files.
        """
        return self._upload(name, self._add)

    def _add(self, upload: Upload[str], name: str) -> str:
        status = upload.path.stat()
        with self._named(upload, name) as (path, unused):
            if not status.st_size or not is_trace_file(path):
                discard(path)
                raise UploadError(f"{name} is not a trace. Drop {formats_in_words()}")
            trace = DroppedTrace("", PurePosixPath(unused), str(path), status.st_size, status.st_mtime_ns)
            if not self._keep(upload, unused, None, trace):
                discard(path)
                raise UploadError("The dashboard was stopped. Start it again.")
        return dropped_id(trace)

    def _make_room(self) -> None:
        super()._make_room()
        self._listed(tuple(self._dropped.values()))


def trace_uploads(live: Live) -> TraceUploads:
    """Return the dropped traces of a dashboard, which its snapshots list."""
    return live.shared(TraceUploads, lambda: TraceUploads(live.add_companions))
