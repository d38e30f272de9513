"""The interface of writers in the style of TensorFlow 2."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from typing import Any


class SummaryWriter(ABC):
    """Returned by `stepscope.summary.v2.create_file_writer` and `stepscope.summary.v2.create_noop_writer`."""

    @abstractmethod
    def as_default(self, step: Any = None) -> AbstractContextManager["SummaryWriter"]:
        """Make this the default writer in a ``with`` block, and ``step``, unless it is None, the default step.

        At the end of the block, everything written is in the file, and the previous defaults are restored.

        Raises:
            RuntimeError: the writer is closed.
            TypeError, ValueError: ``step`` is not a whole number.
        """

    @abstractmethod
    def set_as_default(self, step: Any = None) -> None:
        """Make this the default writer from now on, and ``step``, unless it is None, the default step.

        Raises:
            RuntimeError: the writer is closed.
            TypeError, ValueError: ``step`` is not a whole number.
        """

    @abstractmethod
    def init(self) -> None:
        """Do nothing, because the file already exists; raise RuntimeError if the writer is closed."""

    @abstractmethod
    def flush(self) -> None:
        """Return when everything written so far is in the file."""

    @abstractmethod
    def close(self) -> None:
        """Write everything queued and close the file permanently."""
