"""What the themes of `SummaryWriter`'s methods share."""

import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Protocol

from summary.arguments import checked_wall_time
from summary.event_file_writer import EventFileWriter
from summary.proto.summary_pb2 import Summary


class Message(Protocol):
    """A protobuf message of anybody's class."""

    def SerializeToString(self) -> bytes: ...  # noqa: N802


class ValueWriter(ABC):
    """Takes values; the methods that make them are in the subclasses, by theme."""

    log_dir: str
    """The run's folder."""
    _merge_lock: threading.Lock
    """Held while what several calls add to is read, changed and written."""

    @abstractmethod
    def add_summary(self, summary: Message, global_step: Any = None, walltime: float | None = None) -> None:
        """Adds a ``Summary`` message."""

    @abstractmethod
    def _file_writer(self, folder: Path) -> EventFileWriter:
        """Opens an event file in another folder, with this writer's settings."""

    def _add_value(self, value: Summary.Value, global_step: Any, walltime: float | None) -> None:
        self.add_summary(Summary(value=[value]), global_step, walltime)


def optional_wall_time(walltime: float | None) -> float | None:
    """A checked wall time, or None for the present."""
    return None if walltime is None else checked_wall_time(walltime)
