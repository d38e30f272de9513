"""The server's end of the process that reads many small event files before the server itself can.

See `stepscope.summary.first_reader`. This module imports quickly, as the process is started before anything else.
"""

import logging
import os
import subprocess
from collections import deque
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from stepscope.summary.child_process import IGNORE_INTERRUPTS, python_command
from stepscope.summary.storage import is_address

if TYPE_CHECKING:
    from stepscope.summary.log_index import SegmentPlace

_LEAST_FOLDERS: Final = 1_000
"""Number of folders from which the process pays off; it has its own loops and libraries to load."""
_MOST_LISTED: Final = 64
"""Maximum folders that are listed to find out."""
_CODE: Final = f"{IGNORE_INTERRUPTS}from stepscope.summary.first_reader import main; main(*sys.argv[1:])"
_log: Final = logging.getLogger(__name__)


class FirstReading:
    """A process that reads the small event files in log directories into their index; the others are read later.

    Args:
        logdirs: log directories, as `stepscope.summary.logdir_source.sources_of` takes them.
        index: the folder of the index.

    Raises:
        OSError: the process cannot be started.
    """

    def __init__(self, logdirs: Sequence[str], index: str) -> None:
        self._process: Final = subprocess.Popen(
            python_command(_CODE, index, *logdirs), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def segments(self) -> Iterator[Sequence["SegmentPlace"]]:
        """Yield the segments written into the index, part by part, until all are or the process ends early."""
        import msgspec

        from stepscope.summary.log_index import SegmentPlace

        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                # The last line of a killed process may be incomplete.
                if line.endswith(b"\n"):
                    yield msgspec.json.decode(line, type=list[SegmentPlace])
        if self._process.wait() > 0:
            _log.warning("the process that was to read event files failed; they are read without it")

    def stop(self) -> None:
        """End the process, if it has not ended; callers of `segments` then no longer wait."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()


def read_ahead(logdirs: Sequence[str], folders: Sequence[Path], index: str) -> FirstReading | None:
    """Start to read ahead if log directories have no index yet and have very many folders; else return None.

    Args:
        logdirs: log directories, as `stepscope.summary.logdir_source.sources_of` takes them.
        folders: where they are on this machine.
        index: the address of the index.
    """
    if not logdirs or is_address(index) or os.path.exists(os.path.join(index, "manifest")):
        return None
    if not _are_many_below(folders):
        return None
    try:
        return FirstReading(logdirs, index)
    except OSError as error:
        _log.warning("event files are read by the server itself: no process could be started for it (%s)", error)
        return None


def _are_many_below(folders: Sequence[Path]) -> bool:
    """Return whether a short look finds very many folders."""
    found = 0
    to_list = deque(map(str, folders))
    for _ in range(_MOST_LISTED):
        if not to_list or found >= _LEAST_FOLDERS:
            break
        try:
            with os.scandir(to_list.popleft()) as entries:
                below = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        found += len(below)
        to_list += below
    return found >= _LEAST_FOLDERS
