"""Standard output that may be closed, on a full disk, a pipe that nobody reads, or without all characters.

The server continues without what cannot be written.
"""

import os
import sys
from typing import Any, TextIO, cast

from rich.console import Console


class SteadyOutput:
    """Writes to a stream until that fails; later output is dropped. Characters that it lacks become escapes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding
            return self.write(text.encode(encoding, "backslashreplace").decode(encoding))
        except OSError:
            lead_nowhere(self._stream)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            lead_nowhere(self._stream)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def lead_nowhere(stream: TextIO) -> None:
    """Have a stream's file descriptor lead nowhere, so that what is in its buffer does not fail again at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def steady_console() -> Console:
    """Return the console of a program that must not end because nobody can read its output."""
    # If the standard output is closed, there is none, and Rich knows what to do.
    stream = None if sys.stdout is None else cast(TextIO, SteadyOutput(sys.stdout))
    return Console(file=stream, highlight=False, soft_wrap=True)
