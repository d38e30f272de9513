"""What a format of traces is."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from stepscope.profiler.trace import Trace
from stepscope.profiler.traces.limits import Limits

ReadTrace: TypeAlias = Callable[[bytes, str, tuple[str, ...], Limits], Trace | None]
"""From an unpacked file, its name for messages, notes for the trace's losses, and how much may be read."""


@dataclass(frozen=True)
class TraceReader:
    """One format of traces: how a file of it is told from others, and how it is read.

    Files that are compressed by gzip or Zstandard are unpacked before a reader sees them.
    """

    name: str
    """What the format is called, such as "chrome"; no two readers have the same name."""
    about: str
    """What a file of the format is, with its article, as in "Expected a Chrome trace (JSON), or ..."."""
    sniff: Callable[[bytes], bool]
    """Whether a file is of this format, by its first 64 KiB or all of it. It is asked of files that nobody said are
    traces, so it should go by what only this format has."""
    read: ReadTrace
    """Reads a file: its bytes, its name for messages, notes to put before those of the trace's losses, and the limits
    of what is read. Damaged files are read as far as they go, and `Trace.losses` says what was lost. It raises
    `TraceError` where nothing can be read, and returns None where the file turns out to be of another format, whose
    reader is then asked."""
    suffixes: tuple[str, ...] = ()
    """Endings of names, in lower case, by which a file is listed as a trace without a look into it, such as
    ".trace.json"; also ".trace.json.gz" where such files are compressed."""
    endings: tuple[str, ...] = ()
    """Endings of names, in lower case, of files that `sniff` is asked about, such as ".json"; `suffixes` are among them
    without being named again."""
    accepts: Callable[[bytes], bool] | None = None
    """Whether a file that somebody says is a trace may be of this format, by its bytes, 64 KiB of them or more. It is
    asked where no reader's `sniff` knows the file, and may be generous; None asks `sniff` again."""
    reads_beginning: bool = False
    """Whether the beginning of a file can be read without its end, where all of it needs more memory than there is."""

    def may_read(self, data: bytes) -> bool:
        """Return whether a file that somebody says is a trace may be of this format."""
        return self.sniff(data) if self.accepts is None else self.accepts(data)
