"""The event file to which a writer appends, and its successor if it cannot be continued."""

import contextlib
import errno
import os
import socket
from collections import deque
from collections.abc import Callable, Iterable
from pathlib import PurePath
from typing import Final

from stepscope.summary.backlog import Backlog, Piece
from stepscope.summary.counts import counted
from stepscope.summary.errors import reason_of
from stepscope.summary.proto.event_pb2 import Event, SourceMetadata
from stepscope.summary.records import frame
from stepscope.summary.storage import AppendFile, Folder

FILE_VERSION: Final = "brain.Event:2"
WRITER: Final = "stepscope.summary"

_MOST_REMOVALS: Final = 8
"""Number of files removed during one write after which it fails."""


class Output:
    """Appends records to its own file in a folder; for use by one thread at a time.

    Records that the file refuses are kept, and each `write` tries again. If the file is removed, a new file gets all
    records that were not written yet; ``notices`` reports the records that were lost.

    Args:
        folder: the folder; created if absent.
        suffix: end of the name ``events.out.tfevents.<seconds>.<host>.<process>.<n><suffix>``.
        clock: returns the wall time of a file's first event.
    """

    def __init__(self, folder: Folder, suffix: str, clock: Callable[[], float]) -> None:
        self._folder: Final = folder
        self._suffix: Final = suffix
        self._clock: Final = clock
        self._backlog: Final = Backlog()
        self._file: AppendFile | None = None
        self._count = 0
        """Number of records in the file, without the version event."""
        self.file_names: Final[list[str]] = []
        """All files so far that still exist."""
        self.notices: Final[deque[str]] = deque()
        """Messages to report to the user."""

    @property
    def name(self) -> str | None:
        """Path or address of the open file."""
        return None if self._file is None else self._file.name

    @property
    def waiting(self) -> int:
        """Number of bytes not yet in the file."""
        return self._backlog.size

    def add(self, pieces: Iterable[Piece], count: int) -> None:
        """Add ``count`` whole records for the next `write`."""
        self._backlog.extend(pieces, count)

    def open(self) -> None:
        """Open a file, if none is open; its version event is written immediately, so that readers see the run.

        Raises:
            OSError: the file cannot be created.
        """
        if self._file is not None:
            return
        now = self._clock()
        file = _create_file(self._folder, self._suffix, now)
        version = Event(wall_time=now, file_version=FILE_VERSION, source_metadata=SourceMetadata(writer=WRITER))
        record = memoryview(frame(version.SerializeToString()))
        try:
            while record:
                record = record[file.write(record) :]
            file.flush(to_disk=False)
        except OSError:
            file.close()
            file.remove()
            raise
        self._file, self._count = file, 0
        self.file_names.append(PurePath(file.name).name)

    def write(self, *, to_disk: bool) -> None:
        """Write everything that was added, and wait until readers can see it or, with ``to_disk``, a disk holds it.

        Raises:
            OSError: the file refuses records; those not in it are kept.
        """
        for _ in range(_MOST_REMOVALS):
            if self._file is not None and self._file.full and self._backlog.size:
                self.close()
            if self._backlog.size:
                self.open()
            if self._file is None:
                return
            try:
                self._backlog.write_to(self._file, to_disk=to_disk)
                gone = self._file.gone()
            except OSError as error:
                if error.errno != errno.ESTALE:
                    raise
                gone = True
            if not gone:
                self._count += self._backlog.count
                self._backlog.clear()
                return
            self._leave_removed()
        raise OSError(errno.ENOENT, "each new file is removed at once", self._folder.address)

    def close(self) -> None:
        """Close the file; records that it refused are kept."""
        file, self._file = self._file, None
        if file is not None:
            file.close()

    def explained(self, error: Exception) -> Exception:
        """Return an OSError that reports how much is waiting, if anything is; return any other error unchanged."""
        if not isinstance(error, OSError) or not self._backlog.size:
            return error
        reason = reason_of(error)
        reported = OSError(
            error.errno or errno.EIO,
            f"{reason}; not in the file yet: {self._backlog.unseen(self._file)}; the next call will retry",
            self.name,
        )
        reported.__cause__ = error
        return reported

    def _leave_removed(self) -> None:
        assert self._file is not None
        removed = self._file.name
        with contextlib.suppress(OSError):
            self._file.close()
        self._file = None
        self._backlog.rewind()
        self.file_names.remove(PurePath(removed).name)
        if self._count:
            events = counted(self._count, "event in it is", "events in it are")
            self.notices.append(
                f"{removed} was removed while it was written to, and the {events} gone; later events go to a new file"
            )


def _create_file(folder: Folder, suffix: str, now: float) -> AppendFile:
    """Create an empty file that no other writer uses."""
    folder.make()
    stem = f"events.out.tfevents.{int(now):010d}.{socket.gethostname()}.{os.getpid()}"
    number = 0
    while True:
        try:
            return folder.create(f"{stem}.{number}{suffix}")
        except FileExistsError:
            number += 1
