"""Descriptions of embeddings before they are opened, and what the listing remembers."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final, Literal

from stepscope.dashboard.embeddings.file_source import FileAbout
from stepscope.summary.contents import Companion
from stepscope.summary.projector import ProjectorRun
from stepscope.summary.proto.projector_pb2 import EmbeddingInfo
from stepscope.summary.series import Series

EmbeddingKind = Literal["config", "checkpoint", "tensor", "file", "dropped"]
"""An entry of a projector configuration; a matrix of a weights file in the log directory; a tensor summary; a file that
the user named; a file dropped on the page."""
_MOST_LEARNED: Final = 4_096


@dataclass(frozen=True)
class ProjectFile(Companion):
    """The file shown by ``stepscope project``, with the other options of the command line."""

    about: FileAbout = field(default_factory=FileAbout)


@dataclass(frozen=True)
class ConfigOrigin:
    """An embedding of a configuration: its entries by step, or one entry with checkpoints by step."""

    run: ProjectorRun
    entries: tuple[tuple[int | None, EmbeddingInfo], ...]
    place: int = 0
    """Index of the entry among those of the same name."""


@dataclass(frozen=True)
class FileOrigin:
    """A matrix in files of the log directory or from the user."""

    files: tuple[tuple[int | None, Companion], ...]
    tensor: str
    about: FileAbout = field(default_factory=FileAbout)


Origin = ConfigOrigin | FileOrigin | Series


@dataclass(frozen=True)
class EmbeddingSource:
    """One embedding of a snapshot, not yet opened."""

    id: str
    """``<run>|config|<tensor name>``, ``<run>|tensor|<tag>``, ``<run>|file|<relative path>|<tensor name>``, with "*" in
    place of the step in the path, or ``|dropped|<name>``."""
    run: str
    label: str
    kind: EmbeddingKind
    steps: tuple[int, ...]
    """In ascending order; () if it has none."""
    shape: tuple[int, int] | None
    """Shape at the last step, as far as it is known without reading everything."""
    version: Hashable
    """Equal for the same content: a cached embedding of another version is read again."""
    origin: Origin = field(repr=False, compare=False)
    problem: str = ""
    """Why the embedding cannot be shown, if already known."""


class Learned:
    """What the listing has learned by reading files and tensors, by their version; bounded and thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, read: Callable[[], Any]) -> Any:
        """Return the value stored under the key, obtained from ``read`` if necessary."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key]
        found = read()
        with self._lock:
            self._known[key] = found
            if len(self._known) > _MOST_LEARNED:
                self._known.popitem(last=False)
        return found
