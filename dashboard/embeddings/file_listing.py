"""Matrices in files: weights in the log directory, and files provided by the user."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import BinaryIO, Final, Literal

from stepscope.dashboard.embeddings.assembly import EmbeddingUnavailableError, NothingToShowError
from stepscope.dashboard.embeddings.file_source import FileAbout, matrices_of_file
from stepscope.dashboard.embeddings.source import EmbeddingSource, FileOrigin, Learned, ProjectFile
from stepscope.summary.checkpoint_files import FileSeries, file_series
from stepscope.summary.checkpoints.base import TensorInfo
from stepscope.summary.checkpoints.dispatch import CHECKPOINT_PATTERNS
from stepscope.summary.contents import Companion
from stepscope.summary.projector import ProjectorRun, open_asset
from stepscope.summary.proto.projector_pb2 import ProjectorConfig
from stepscope.summary.snapshot import Snapshot
from stepscope.summary.source import readable

EMBEDDING_PATTERNS: Final = CHECKPOINT_PATTERNS
"""File names that a log directory must list as companions for their matrices to be shown."""
MOST_SERIES: Final = 64
"""Maximum number of checkpoint series opened for a listing: the most recently written ones."""
MOST_MATRICES: Final = 500
"""Maximum number of matrices listed per file, embeddings first."""
_MOST_TRIED: Final = 3
"""Number of files of a series to try, from its end."""


_EMBEDDING: Final = re.compile(r"(?i)emb|wte|lookup|vocab|token|words?\b")
_OPTIMIZER: Final = re.compile(
    r"(?i)(^|[./_])(optim\w*|adam\w*|momentum|rmsprop|exp_avg\w*|.optimizer_slot|_CHECKPOINTABLE)"
)


def is_checkpoint(companion: Companion) -> bool:
    """Return whether a file is named like a weights file."""
    return any(companion.relative_path.match(pattern) for pattern in EMBEDDING_PATTERNS)


def file_sources(snapshot: Snapshot, learned: Learned) -> Iterator[EmbeddingSource]:
    """Yield the embeddings of files provided by the user, then those of weights files in the log directory, by name."""
    given = [c for c in snapshot.companions if isinstance(c, ProjectFile)]
    for companion in given:
        yield from sources_of_file(companion, "file", companion.about, learned)
    for one in sorted(_listed_series(snapshot)[:MOST_SERIES], key=lambda s: s.pattern):
        yield from _of_series(one, learned)


def unlisted_series(snapshot: Snapshot) -> int:
    """Return the number of checkpoint series whose matrices are not listed because there are too many series."""
    return max(0, len(_listed_series(snapshot)) - MOST_SERIES)


def _listed_series(snapshot: Snapshot) -> list[FileSeries]:
    """Return the series, the most recently written first."""
    series = file_series(c for c in snapshot.companions if not isinstance(c, ProjectFile) and is_checkpoint(c))
    return sorted(series, key=lambda s: max(file.companion.modified_ns for file in s.files), reverse=True)


def _of_series(series: FileSeries, learned: Learned) -> Iterator[EmbeddingSource]:
    """Yield the matrices of the last readable file, as the newest may still be being written.

    If no file is readable, yield a source with the problem.
    """
    path = readable(PurePosixPath(series.pattern))
    found: _Matrices = _Matrices((), "")
    for file in series.files[::-1][:_MOST_TRIED]:
        found = _matrices(file.companion, learned, FileAbout())
        if found.tensors or found.nothing:
            break
    if found.nothing:
        return
    tensors = found.tensors or (TensorInfo("", (), ""),)
    for tensor in tensors:
        yield EmbeddingSource(
            id=f"{series.run}|file|{path}|{tensor.name}",
            run=series.run,
            label=_label(tensor, PurePosixPath(path).name, len(tensors)),
            kind="checkpoint",
            steps=tuple(sorted({f.step for f in series.files if f.step is not None})),
            shape=_shape(tensor),
            version=tuple((f.companion.modified_ns, f.companion.size) for f in series.files),
            origin=FileOrigin(tuple((f.step, f.companion) for f in series.files), tensor.name),
            problem="" if found.tensors else found.problem,
        )


def sources_of_file(
    companion: Companion, kind: Literal["file", "dropped"], about: FileAbout, learned: Learned
) -> Iterator[EmbeddingSource]:
    """Yield the embeddings of one file provided by the user."""
    found = _matrices(companion, learned, about)
    name = readable(PurePosixPath(companion.relative_path.name))
    stem = f"|dropped|{name}" if kind == "dropped" else f"{companion.run}|file|{name}"
    tensors = found.tensors or (TensorInfo(name, (), ""),)
    for tensor in tensors:
        alone = len(tensors) == 1
        yield EmbeddingSource(
            id=stem if alone and kind == "dropped" else f"{stem}|{tensor.name}",
            run=companion.run,
            label=_label(tensor, name, len(tensors)),
            kind=kind,
            steps=(),
            shape=_shape(tensor),
            version=(companion.modified_ns, companion.size, about),
            origin=FileOrigin(((None, companion),), tensor.name, about),
            problem="" if found.tensors else found.problem,
        )


def _label(tensor: TensorInfo, file: str, count: int) -> str:
    name = tensor.label or tensor.name
    return file if count == 1 and name in (file, "tensor", "") else f"{name} ({file})"


def _shape(tensor: TensorInfo) -> tuple[int, int] | None:
    return (tensor.shape[0], tensor.shape[1]) if len(tensor.shape) == 2 else None


@dataclass(frozen=True)
class _Matrices:
    """The matrices of a file, embeddings first and optimizer state last; or the reason why there are none."""

    tensors: tuple[TensorInfo, ...]
    problem: str
    nothing: bool = False
    """The file has none, although nothing is wrong with it."""


def _matrices(companion: Companion, learned: Learned, about: FileAbout) -> _Matrices:
    def read() -> _Matrices:
        try:
            tensors = matrices_of_file(opener(companion), companion.relative_path.name, about)
        except EmbeddingUnavailableError as error:
            return _Matrices((), str(error), isinstance(error, NothingToShowError))
        return _Matrices(tuple(sorted(tensors, key=_likeliness)[:MOST_MATRICES]), "")

    key = (companion.path, companion.modified_ns, companion.size, about.shape)
    found: _Matrices = learned.get(key, read)
    return found


def _likeliness(tensor: TensorInfo) -> tuple[bool, bool]:
    return _OPTIMIZER.search(tensor.name) is not None, _EMBEDDING.search(f"{tensor.name} {tensor.label}") is None


def opener(companion: Companion) -> Callable[[str], BinaryIO]:
    """Return a function that opens a listed file and others in its folder; no link may point outside the log directory.

    A file that the user named or dropped may be a link to anywhere.
    """
    folder = companion.path[: -len(companion.relative_path.name)].rstrip("/\\") or "/"
    if isinstance(companion, ProjectFile) or not companion.root:
        return lambda name: open(f"{folder}/{PurePosixPath(name).name}", "rb")
    run = ProjectorRun(companion.run, ProjectorConfig(), folder, companion.root)
    return lambda name: open_asset(run, PurePosixPath(name).name, largest=1 << 62)
