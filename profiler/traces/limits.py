"""Limits on how much of a trace is read, so that odd or malicious files do not take all memory."""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

_MEMORY_PER_BYTE: Final = 4
"""Maximum memory in bytes for reading one byte of ordinary Chrome JSON, including the byte itself."""
_MEMORY_PER_EVENT: Final = 400
_MEMORY_PER_BYTE_OF_MESSAGES: Final = 80
"""An empty message takes two bytes in a file, and about 150 in memory."""
_IDLE_FILES: Final = re.compile(r"^(?:total_)?inactive_file (\d+)$", re.MULTILINE)
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


def limits_of_memory(root: Path = Path("/")) -> Limits:
    """Return limits for the memory that is free now; ``root`` is the root of the file system."""
    free = min([psutil.virtual_memory().available, *_left_in_groups(root)])
    return Limits(
        file_bytes=min(8 << 30, max(free // _MEMORY_PER_BYTE, _ALWAYS_READ)),
        events=max(free // _MEMORY_PER_EVENT, 1_000_000),
        message_bytes=min(1 << 30, max(free // _MEMORY_PER_BYTE_OF_MESSAGES, _ALWAYS_READ)),
    )


def _left_in_groups(root: Path) -> Iterator[int]:
    """Yield the bytes that limited control groups, such as those of containers, leave to this process."""
    with suppress(OSError, ValueError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                mount, most, used = root / "sys/fs/cgroup", "memory.max", "memory.current"
            elif "memory" in controllers.split(","):
                mount, most, used = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"
            else:
                continue
            # Limits of the groups around it hold too. A container may see only its own group, as the outermost.
            group = mount / path.strip("/")
            for each in (group, *group.parents[: len(group.parts) - len(mount.parts)]):
                with suppress(OSError, ValueError):
                    left = int((each / most).read_text()) - int((each / used).read_text())
                    # The system drops files from memory first; version 1 also counts those of the groups inside.
                    files = _IDLE_FILES.findall((each / "memory.stat").read_text())
                    yield left + int(files[-1] if files else 0)


def size_text(size: int) -> str:
    """Format a size for notes."""
    return f"{size / (1 << 30):.1f} GiB" if size >= 100 << 20 else f"{size / (1 << 20):.1f} MiB"
