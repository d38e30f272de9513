"""How much of a trace is read: bounds that keep what is odd or meant to hurt from taking all memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_UNKNOWN_MEMORY: Final = 32 << 30
_MEMORY_PER_BYTE: Final = 4
"""Bytes of memory that reading a byte of ordinary Chrome JSON takes at most, itself included."""
_MEMORY_PER_EVENT: Final = 400
_MEMORY_PER_BYTE_OF_MESSAGES: Final = 80
"""A message of no fields has two bytes in a file, and some 150 in memory."""
_ALWAYS_READ: Final = 64 << 20
"""Bytes that are read however little memory seems free."""


@dataclass(frozen=True)
class Limits:
    """What is read at most."""

    file_bytes: int
    """Of an unpacked file."""
    events: int
    """Of a Chrome trace or an XSpace."""
    message_bytes: int
    """Of a StepStats message."""
    unpacked_ratio: int = 200
    """How many times its size a compressed file may unpack to; real traces do to 10 to 50 times."""
    always_unpacked: int = 256 << 20
    """Bytes that are unpacked whatever the ratio."""
    nodes: int = 2_000_000
    """Of a StepStats message."""
    text_bytes: int = 16 << 20
    """Of a StepStats message as text, of which a megabyte takes a second."""


def limits_of_memory() -> Limits:
    """Return bounds for the memory that is free now."""
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
    """Return a size as notes name it."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 100 << 20 else f"{size / (1 << 20):.1f} MiB"
