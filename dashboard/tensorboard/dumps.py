"""Dumps of TensorFlow's debugger, opened on request and kept."""

from collections import OrderedDict
from threading import Lock
from typing import Final

from stepscope.dashboard.server.opened_cache import OpenedCache
from stepscope.summary.debugger.listing import DumpSource
from stepscope.summary.debugger.tfdbg import Following, NoDumpError, TfdbgDump
from stepscope.summary.errors import reason_of

MOST_OPENED: Final = 3
MOST_BYTES: Final = 200_000_000


class DumpUnavailableError(Exception):
    """A dump cannot be read; the message is a human-readable reason."""


class DumpCache(OpenedCache[DumpSource, TfdbgDump]):
    """The dumps opened last, shared by all panels and routes; when one grows, only the new part is read."""

    def __init__(self) -> None:
        super().__init__(self._read, DumpUnavailableError, most=MOST_OPENED, max_bytes=MOST_BYTES)
        self._followed: Final[OrderedDict[str, tuple[tuple[float, int], Following]]] = OrderedDict()
        """The reader of each dump, by its folder, with the time and bytes of the files that were read last."""
        self._followed_lock: Final = Lock()

    def _read(self, source: DumpSource) -> TfdbgDump:
        # A file may grow twice within the resolution of the file system's clock.
        asked = source.modified, sum(source.sizes.values())
        with self._followed_lock:
            known = self._followed.get(source.folder)
            read, following = known if known is not None else (asked, source.following())
            self._followed[source.folder] = max(read, asked), following
            self._followed.move_to_end(source.folder)
        latest = following.latest
        if latest is not None and asked < read:
            # A late caller, with an older listing, gets what has been read by now: files that were shorter would be
            # taken for others.
            return latest
        try:
            return following.update(source.sizes)
        except (OSError, NoDumpError) as error:
            reason = reason_of(error)
            raise DumpUnavailableError(f"The dump of run {source.title!r} cannot be read: {reason}") from error
        finally:
            self._forget()

    def _forget(self) -> None:
        """Keep no more readers of dumps than dumps."""
        with self._followed_lock:
            latest = [following.latest for _, following in self._followed.values()]
            held = [0 if dump is None else dump.bytes for dump in latest]
            while len(held) > 1 and (len(held) > MOST_OPENED or sum(held) > MOST_BYTES):
                self._followed.popitem(last=False)
                del held[0]
