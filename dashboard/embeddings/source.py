"""What a listing says of an embedding before it is opened, and what the listing remembers."""

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
"""Named by a projector configuration; a matrix of a file of weights in the log directory; a tensor summary; a file that
the user named; one that was dropped on the page."""
_MOST_LEARNED: Final = 4_096


@dataclass(frozen=True)
class ProjectFile(Companion):
    """The file that ``stepscope project`` shows, with what else its command line named."""

    about: FileAbout = field(default_factory=FileAbout)


@dataclass(frozen=True)
class ConfigOrigin:
    """An embedding of a configuration: its entries by step, or one entry with checkpoints by step."""

    run: ProjectorRun
    entries: tuple[tuple[int | None, EmbeddingInfo], ...]
    place: int = 0
    """Which one of the entries of the same name it is."""


@dataclass(frozen=True)
class FileOrigin:
    """A matrix of files that the log directory lists, or that the user gave."""

    files: tuple[tuple[int | None, Companion], ...]
    tensor: str
    about: FileAbout = field(default_factory=FileAbout)


Origin = ConfigOrigin | FileOrigin | Series


@dataclass(frozen=True)
class EmbeddingSource:
    """One embedding of a snapshot, not yet opened."""

    id: str
    """``<run>|config|<tensor name>``, ``<run>|tensor|<tag>``, ``<run>|file|<relative path>|<tensor name>``, in whose
    path "*" stands for the step, or ``|dropped|<name>``."""
    run: str
    label: str
    kind: EmbeddingKind
    steps: tuple[int, ...]
    """In order; () where it has none."""
    shape: tuple[int, int] | None
    """Of the last step, as far as it is known without reading all of it."""
    version: Hashable
    """Equal for equal content: a cached embedding of another version is read again."""
    origin: Origin = field(repr=False, compare=False)
    problem: str = ""
    """Why it cannot be shown, where that is known already."""


class Learned:
    """What the listing found out about files and tensors by reading them, by their version; bounded, thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: OrderedDict[Hashable, Any] = OrderedDict()

    def get(self, key: Hashable, read: Callable[[], Any]) -> Any:
        """Return what is known under the key, which ``read`` finds out if need be."""
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
