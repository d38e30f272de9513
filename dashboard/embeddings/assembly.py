"""Assembly of datasets from the points and columns of files; rows that cannot be shown are left out and reported."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.columns import unnamed_twice
from stepscope.dashboard.embeddings.dataset import Column, Dataset, Problem, Sprite
from stepscope.dashboard.server.numbers import count
from stepscope.summary.counts import counted
from stepscope.summary.distinct import distinct_values

_PIECE: Final = 1 << 20
"""Numbers checked at a time."""


class EmbeddingUnavailableError(Exception):
    """An embedding cannot be shown; the message explains why to the user."""


class NothingToShowError(EmbeddingUnavailableError):
    """A file has no points, although nothing is wrong with it."""


@dataclass(frozen=True)
class ReadPoints:
    """Points as stored in a file."""

    points: NDArray[np.float32]
    """float32 [n, d]."""
    rows: NDArray[np.int64]
    """int64 [n]: the row of each point in the file."""
    row_count: int
    """Number of rows in the file."""
    columns: tuple[Column, ...] = ()
    """Columns that the file itself has about the points."""
    problems: tuple[Problem, ...] = ()
    sprite: Sprite | None = None
    bookmarks: tuple[dict[str, Any], ...] = field(default=())


def all_rows(points: NDArray[np.float32], problems: Sequence[Problem] = ()) -> ReadPoints:
    """Return the points of a file in which every row is a point."""
    return ReadPoints(points, np.arange(len(points), dtype=np.int64), len(points), problems=tuple(problems))


def finite_points(read: ReadPoints, what: str) -> ReadPoints:
    """Return the points whose values are all finite.

    Raises:
        EmbeddingUnavailableError: no point has only finite values.
    """
    points = read.points
    if points.ndim != 2 or not points.size:
        shape = " x ".join(map(str, points.shape)) or "a single number"
        raise EmbeddingUnavailableError(f"{what} has no points: its shape is {shape}. Expected rows of numbers.")
    finite = np.empty(len(points), bool)
    step = max(1, _PIECE // points.shape[1])
    for begin in range(0, len(points), step):
        piece = points[begin : begin + step]
        finite[begin : begin + step] = np.isfinite(piece).all(axis=1)
    if finite.all():
        return read
    left = int(np.count_nonzero(finite))
    if not left:
        raise EmbeddingUnavailableError(f"{what} has no point to show: every row has NaN or infinity.")
    wrong = len(points) - left
    first = int(read.rows[np.argmin(finite)]) + 1
    said = "has NaN or infinity and is" if wrong == 1 else "have NaN or infinity and are"
    message = f"{counted(wrong, 'row')} {said} left out (the first is row {count(first)})."
    columns = tuple(_at(column, finite) for column in read.columns)
    problems = (*read.problems, Problem("not finite", message, wrong))
    return ReadPoints(points[finite], read.rows[finite], read.row_count, columns, problems, read.sprite, read.bookmarks)


def dataset_of(read: ReadPoints, *, source_id: str, run: str, label: str, step: int | None) -> Dataset:
    """Return the dataset; raises EmbeddingUnavailableError if it has no points."""
    read = finite_points(read, label)
    points = np.ascontiguousarray(read.points, np.float32)
    columns = tuple(unnamed_twice(read.columns))
    held = points.nbytes + read.rows.nbytes + sum(_bytes(column) for column in columns)
    if read.sprite is not None:
        held += len(read.sprite.content)
    return Dataset(
        id=source_id,
        run=run,
        label=label,
        step=step,
        points=points,
        rows=read.rows,
        columns=columns,
        sprite=read.sprite,
        bookmarks=read.bookmarks,
        problems=(*read.problems, *_remarkable(points)),
        digest=digest_of(points),
        bytes=held,
    )


def digest_of(points: NDArray[np.float32]) -> str:
    """Return a hash of the points and their shape."""
    digest = hashlib.blake2b(repr(points.shape).encode(), digest_size=16)
    digest.update(points.data)
    return digest.hexdigest()


def _remarkable(points: NDArray[np.float32]) -> list[Problem]:
    """Return problems for projections; no point is left out because of them."""
    problems: list[Problem] = []
    if len(points) < 3:
        message = f"There {'is' if len(points) == 1 else 'are'} only {counted(len(points), 'point')}."
        problems.append(Problem("few points", message, len(points)))
        return problems
    constant = int(np.count_nonzero(points.min(axis=0) == points.max(axis=0)))
    if constant:
        has, does = ("has", "does") if constant == 1 else ("have", "do")
        message = (
            f"{counted(constant, 'dimension')} {has} the same value in every row and {does} not distinguish points."
        )
        problems.append(Problem("constant columns", message, constant))
    duplicates = len(points) - len(distinct_values(row_hashes(points)))
    if duplicates:
        said = "1 row is" if duplicates == 1 else f"{count(duplicates)} rows are"
        message = f"{said} equal to an earlier row, so that their points coincide."
        problems.append(Problem("duplicates", message, duplicates))
    return problems


def row_hashes(points: NDArray[np.float32]) -> NDArray[np.uint64]:
    """Return a hash of each row, uint64 [n]: equal for equal rows, almost never equal for different ones."""
    # Multilinear hashing modulo 2**64 with random multipliers.
    multipliers = np.random.default_rng(0).integers(0, 1 << 64, points.shape[1], np.uint64, endpoint=False)
    hashes = np.empty(len(points), np.uint64)
    step = max(1, _PIECE // points.shape[1])
    for begin in range(0, len(points), step):
        # Adding 0 gives -0.0 the same bits as 0.0, to which it is equal.
        bits = (points[begin : begin + step] + np.float32(0)).view(np.uint32)
        hashes[begin : begin + step] = (bits * multipliers).sum(axis=1, dtype=np.uint64)
    return hashes


def _at(column: Column, kept: NDArray[np.bool_]) -> Column:
    texts = None
    if column.texts is not None:
        texts = tuple(text for text, is_kept in zip(column.texts, kept.tolist(), strict=True) if is_kept)
    numbers = None if column.numbers is None else column.numbers[kept]
    codes = None if column.codes is None else column.codes[kept]
    return Column(column.name, column.kind, texts, numbers, column.categories, codes)


def _bytes(column: Column) -> int:
    texts = 60 * len(column.texts) if column.texts is not None else 0
    return texts + sum(array.nbytes for array in (column.numbers, column.codes) if array is not None)
