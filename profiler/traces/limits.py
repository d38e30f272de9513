"""Limits on how much of a trace is read, so that odd or malicious files do not take all memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_UNKNOWN_MEMORY: Final = 32 << 30
_MEMORY_PER_BYTE: Final = 4
"""Maximum memory in bytes for reading one byte of ordinary Chrome JSON, including the byte itself."""
_MEMORY_PER_EVENT: Final = 400
_MEMORY_PER_BYTE_OF_MESSAGES: Final = 80
"""An empty message takes two bytes in a file, and about 150 in memory."""
_ALWAYS_READ: Final = 64 << 20
"""Number of bytes that are read however little memory seems free."""


@dataclass(frozen=True)
class Limits:
    """Limits on what is read."""

    file_bytes: int
    """Maximum size of an unpacked file."""
    events: int
    """Maximum number of events of a Chrome trace or an XSpace."""
    message_bytes: int
    """Maximum size of a StepStats message."""
    unpacked_ratio: int = 200
    """Maximum ratio of unpacked to compressed size; real traces reach 10 to 50."""
    always_unpacked: int = 256 << 20
    """Number of bytes that are unpacked whatever the ratio."""
    nodes: int = 2_000_000
    """Maximum number of nodes of a StepStats message."""
    text_bytes: int = 16 << 20
    """Maximum size of a StepStats message as text, which takes a second per megabyte to read."""


def limits_of_memory() -> Limits:
    """Return limits for the memory that is free now."""
    free = _free_bytes()
    return Limits(
        file_bytes=min(8 << 30, max(free // _MEMORY_PER_BYTE, _ALWAYS_READ)),
        events=max(free // _MEMORY_PER_EVENT, 1_000_000),
        message_bytes=min(1 << 30, max(free // _MEMORY_PER_BYTE_OF_MESSAGES, _ALWAYS_READ)),
    )


def _free_bytes() -> int:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration, IndexError):
        return _UNKNOWN_MEMORY


def size_text(size: int) -> str:
    """Format a size for notes."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 100 << 20 else f"{size / (1 << 20):.1f} MiB"
