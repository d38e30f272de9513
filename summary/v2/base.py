"""What every writer in TensorFlow 2's manner can do."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any


class SummaryWriter(ABC):
    """What `stepscope.summary.v2.create_file_writer` and `stepscope.summary.v2.create_noop_writer` return."""

    @abstractmethod
    def as_default(self, step: Any = None) -> AbstractContextManager["SummaryWriter"]:
        """Make this the default writer inside a block, and ``step``, unless it is None, the default step.

        At the block's end, what was written is in the file, and the former defaults are back.

        Raises:
            RuntimeError: the writer is closed.
            TypeError, ValueError: ``step`` is not a whole number.
        """

    @abstractmethod
    def set_as_default(self, step: Any = None) -> None:
        """Make this the default writer from here on, and ``step``, unless it is None, the default step.

        Raises:
            RuntimeError: the writer is closed.
            TypeError, ValueError: ``step`` is not a whole number.
        """

    @abstractmethod
    def init(self) -> None:
        """Do nothing, as the file is there already; RuntimeError where the writer is closed."""

    @abstractmethod
    def flush(self) -> None:
        """Return when all that was written is in the file."""

    @abstractmethod
    def close(self) -> None:
        """Write what is queued and close the file, for good."""
