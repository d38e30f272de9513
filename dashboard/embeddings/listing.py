"""Sources of embeddings: a listing of those in a snapshot, and a bounded cache of opened ones.

There are four kinds of sources: entries of ``projector_config.pbtxt``, tensor summaries, files of weights in the log
directory, and single files provided by the user (`ProjectFile`, `stepscope.dashboard.embeddings.uploads`). A request
names an embedding by the readable id of the listing and is answered only if the listing has it; no part of an id is
ever used as a path.

The listing opens only the last checkpoint of each series (``ckpt-10.index``, ``ckpt-20.index``, ...) to find out which
matrices it has, and remembers the result (`Learned`).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import Final

import numpy as np

from stepscope.dashboard.embeddings.assembly import EmbeddingUnavailableError, ReadPoints, all_rows, dataset_of
from stepscope.dashboard.embeddings.config_listing import config_sources, entry_at, local_version
from stepscope.dashboard.embeddings.config_source import read_config_embedding
from stepscope.dashboard.embeddings.dataset import Dataset
from stepscope.dashboard.embeddings.file_listing import EMBEDDING_PATTERNS, file_sources, is_checkpoint, opener
from stepscope.dashboard.embeddings.file_source import read_file_points
from stepscope.dashboard.embeddings.source import (
    ConfigOrigin,
    EmbeddingKind,
    EmbeddingSource,
    FileOrigin,
    Learned,
    ProjectFile,
)
from stepscope.dashboard.server.opened_cache import OpenedCache
from stepscope.summary.distinct import distinct_values
from stepscope.summary.kinds.base import PayloadError
from stepscope.summary.kinds.tensor import PLUGIN_NAME as TENSORS
from stepscope.summary.memory_budget import MemoryBudget, TooLargeError
from stepscope.summary.projector import CONFIG_PATTERN
from stepscope.summary.series import Series
from stepscope.summary.snapshot import Snapshot

__all__ = [
    "EMBEDDING_PATTERNS",
    "EmbeddingCache",
    "EmbeddingKind",
    "EmbeddingSource",
    "EmbeddingUnavailableError",
    "Learned",
    "ProjectFile",
    "embedding_sources",
    "find_embedding_source",
    "has_embeddings",
    "open_dataset",
]


def has_embeddings(snapshot: Snapshot) -> bool:
    """Return whether the snapshot may have an embedding, without reading any file."""
    # Keras writes an empty configuration if no embedding was specified.
    return TENSORS in snapshot.kinds or any(
        isinstance(c, ProjectFile) or (c.relative_path.name == CONFIG_PATTERN and c.size) or is_checkpoint(c)
        for c in snapshot.companions
    )


def embedding_sources(snapshot: Snapshot, learned: Learned | None = None) -> tuple[EmbeddingSource, ...]:
    """Return all embeddings of the snapshot: by run in the snapshot's order, configurations first, then tensors, then
    files.

    Args:
        snapshot: snapshot of a log directory that lists `EMBEDDING_PATTERNS` and `CONFIG_PATTERN`.
        learned: results of earlier calls; without them, files are opened again.
    """
    learned = learned or Learned()
    found = [*config_sources(snapshot, learned), *_of_tensors(snapshot, learned), *file_sources(snapshot, learned)]
    order = {name: position for position, name in enumerate(snapshot.runs)}
    found.sort(key=lambda source: (order.get(source.run, len(order)), source.run))
    return tuple(found)


def find_embedding_source(snapshot: Snapshot, embedding_id: str, learned: Learned | None = None) -> EmbeddingSource:
    """Return the listed embedding with this id.

    Raises:
        EmbeddingUnavailableError: the snapshot lists no such embedding.
    """
    return _found(embedding_sources(snapshot, learned), embedding_id)


def _found(sources: Iterable[EmbeddingSource], embedding_id: str) -> EmbeddingSource:
    for source in sources:
        if source.id == embedding_id:
            return source
    raise EmbeddingUnavailableError(
        f"There is no embedding {embedding_id[:200]!r} in the log directory; it may have been moved or deleted. "
        "Choose another one from the list."
    )


def _of_tensors(snapshot: Snapshot, learned: Learned) -> Iterator[EmbeddingSource]:
    for name, run in snapshot.runs.items():
        if TENSORS not in run.kinds:
            continue
        for series in run.of_kind(TENSORS):
            if not len(series):
                continue
            first = (int(series.steps[0]), series.epoch)
            shape = learned.get(("tensor", name, series.tag, first), partial(_shape_of, series))
            if shape is not None:
                yield EmbeddingSource(
                    id=f"{name}|tensor|{series.tag}",
                    run=name,
                    label=series.display_name or series.tag,
                    kind="tensor",
                    steps=tuple(distinct_values(series.steps).tolist()),
                    shape=shape,
                    version=(series.version, first),
                    origin=series,
                )


def _shape_of(series: Series) -> tuple[int, int] | None:
    """Return the shape of the first readable tensor, if it is a matrix of numbers."""
    for index in range(min(len(series), 3)):
        try:
            array = series.read(index).array
        except (PayloadError, OSError):
            continue
        is_matrix = array.ndim == 2 and array.size > 1 and array.dtype.kind in "fiub"
        return array.shape if is_matrix else None
    return None


def open_dataset(source: EmbeddingSource, step: int | None = None) -> Dataset:
    """Read an embedding.

    Args:
        source: the embedding.
        step: one of its steps; the last if None.

    Raises:
        EmbeddingUnavailableError: it no longer exists, is damaged, or has no points or no such step.
        NoMemoryError: others use the memory that it needs; see `stepscope.summary.memory_budget`.
    """
    if step is not None and step not in source.steps:
        raise EmbeddingUnavailableError(f"The embedding {source.label!r} has no step {step}.")
    if source.problem:
        raise EmbeddingUnavailableError(source.problem)
    if step is None and source.steps:
        step = source.steps[-1]
    try:
        match source.origin:
            case ConfigOrigin(run, _, place) as origin:
                read = read_config_embedding(run, entry_at(origin, step), step, place)
            case FileOrigin(files, tensor, about):
                companion = next(c for s, c in reversed(files) if s == step)
                read = read_file_points(opener(companion), companion.relative_path.name, tensor, about)
            case Series() as series:
                read = _tensor_points(series, step)
    except TooLargeError as error:
        raise EmbeddingUnavailableError(f"{source.label} cannot be opened. {error}") from error
    return dataset_of(read, source_id=source.id, run=source.run, label=source.label, step=step)


def _tensor_points(series: Series, step: int | None) -> ReadPoints:
    index = int(np.flatnonzero(series.steps == step)[-1]) if step is not None else len(series) - 1
    try:
        array = series.read(index).array
    except (PayloadError, OSError, IndexError) as error:
        raise EmbeddingUnavailableError(f"The tensor {series.tag!r} cannot be read: {error}.") from error
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise EmbeddingUnavailableError(
            f"The tensor {series.tag!r} has the shape {list(array.shape)} of {array.dtype} at step {step}; expected "
            "a row of real numbers for each point."
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return all_rows(array.astype(np.float32))


@dataclass(frozen=True)
class _AtStep:
    """A source at one of its steps, as the cache's key."""

    source: EmbeddingSource
    step: int | None
    version: Hashable

    @property
    def id(self) -> str:
        return f"{self.step}|{self.source.id}"


def _at_step(source: EmbeddingSource, step: int | None) -> _AtStep:
    """Return the source at a step, the last if None, with the current version of its files."""
    if step is None and source.steps:
        step = source.steps[-1]
    version: Hashable = source.version
    if isinstance(source.origin, ConfigOrigin) and not source.problem:
        version = (version, local_version(source.origin, step))
    return _AtStep(source, step, version)


class EmbeddingCache:
    """The most recently opened datasets, and what is known about the listed files; thread-safe."""

    def __init__(
        self,
        *,
        max_datasets: int = 16,
        max_bytes: int = 2 << 30,
        open_one: Callable[[EmbeddingSource, int | None], Dataset] = open_dataset,
        budget: MemoryBudget | None = None,
    ) -> None:
        self._budget: Final = budget or MemoryBudget()
        self._open_one: Final = open_one
        self._opened: OpenedCache[_AtStep, Dataset] = OpenedCache(
            self._open, EmbeddingUnavailableError, most=max_datasets, max_bytes=max_bytes
        )
        self._learned: Final = Learned()
        self._lock = Lock()
        self._listed: tuple[Snapshot, tuple[EmbeddingSource, ...]] | None = None

    def _open(self, at: _AtStep) -> Dataset:
        with self._budget.reading():
            return self._open_one(at.source, at.step)

    def sources(self, snapshot: Snapshot, dropped: Iterable[EmbeddingSource] = ()) -> tuple[EmbeddingSource, ...]:
        """Return the files dropped on the page, then `embedding_sources`; unchanged files are not opened again."""
        with self._lock:
            listed = self._listed
        if listed is None or listed[0] is not snapshot:
            listed = snapshot, embedding_sources(snapshot, self._learned)
            with self._lock:
                self._listed = listed
        return (*dropped, *listed[1])

    def find(self, snapshot: Snapshot, embedding_id: str, dropped: Iterable[EmbeddingSource] = ()) -> EmbeddingSource:
        """Return an embedding as `find_embedding_source` does, also from the files dropped on the page."""
        return _found(self.sources(snapshot, dropped), embedding_id)

    def get(self, source: EmbeddingSource, step: int | None = None) -> Dataset:
        """Return the dataset, read now if necessary; raises as `open_dataset` does."""
        return self._opened.get(_at_step(source, step))

    def peek(self, source: EmbeddingSource, step: int | None = None) -> Dataset | None:
        """Return the dataset if it is open."""
        return self._opened.peek(_at_step(source, step))
