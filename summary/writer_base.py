"""The common base of `SummaryWriter`'s groups of methods."""

from abc import ABC, abstractmethod
from typing import Any, Protocol

from stepscope.summary.arguments import checked_wall_time
from stepscope.summary.event_file_writer import EventFileWriter
from stepscope.summary.kinds.base import Prepared
from stepscope.summary.locks import ForkSafeLock
from stepscope.summary.proto.event_pb2 import Event
from stepscope.summary.storage import Folder


class Message(Protocol):
    """A protobuf message of any package's class."""

    def SerializeToString(self) -> bytes: ...  # noqa: N802


class ValueWriter(ABC):
    """Accepts values; the methods that create them are in the subclasses, grouped by topic."""

    log_dir: str
    """The run's folder, as given."""
    _folder: Folder
    """The run's folder, to write into."""
    _legacy: bool
    """Whether histograms, images and audio are stored as PyTorch does."""
    _merge_lock: ForkSafeLock
    """Held while data that several calls add to is read, changed and written."""

    @abstractmethod
    def add_summary(self, summary: Message | bytes, global_step: Any = None, walltime: float | None = None) -> None:
        """Add a ``Summary`` message."""

    @abstractmethod
    def _file_writer(self, folder: Folder) -> EventFileWriter:
        """Open an event file in another folder, with this writer's settings."""

    @abstractmethod
    def _checked(self, global_step: Any, walltime: float | None) -> tuple[int, float | None]:
        """Return a call's step and wall time, from `SummaryWriter.use_metadata` if the call has none."""

    @abstractmethod
    def _add_event(self, event: Event, global_step: Any, walltime: float | None) -> None:
        """Set the step and the wall time of an event, and add it."""

    @abstractmethod
    def _add_prepared(self, prepared: Prepared, global_step: Any, walltime: float | None) -> None:
        """Add a value that is encoded later."""

    @abstractmethod
    def add_value(self, value: Message | bytes, global_step: Any = None, walltime: float | None = None) -> None:
        """Add one ``Summary.Value`` message."""


def optional_wall_time(walltime: float | None) -> float | None:
    """Return the checked wall time, or None for the current time."""
    return None if walltime is None else checked_wall_time(walltime)
