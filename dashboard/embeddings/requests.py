"""Shared code of the routes about embeddings: parameters, and finding datasets, columns, points, and jobs."""

from dataclasses import replace
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from fastapi import HTTPException, Query

from stepscope.dashboard.embeddings.dataset import Column, Dataset
from stepscope.dashboard.embeddings.derived import DerivedColumns
from stepscope.dashboard.embeddings.file_listing import unlisted_series
from stepscope.dashboard.embeddings.job_queue import Jobs
from stepscope.dashboard.embeddings.listing import (
    EmbeddingCache,
    EmbeddingSource,
    EmbeddingUnavailableError,
    open_dataset,
)
from stepscope.dashboard.embeddings.point_files import PointFiles, points_name
from stepscope.dashboard.embeddings.results import ResultFiles
from stepscope.dashboard.embeddings.search import EVERYWHERE, Match, search
from stepscope.dashboard.embeddings.selections import Rows, RowsError, RowSets, no_such_point
from stepscope.dashboard.embeddings.uploads import Uploads
from stepscope.dashboard.server.live import Live
from stepscope.summary.distinct import distinct_values
from stepscope.summary.memory_budget import MemoryBudget, NoMemoryError
from stepscope.summary.safe_regex import LONGEST_PATTERN, PatternError

LONGEST: Final = 16_384
"""Maximum number of characters in a name or an id."""

EmbeddingId = Annotated[str, Query(alias="id", max_length=LONGEST, description="An id of the listing.")]
Step = Annotated[int | None, Query(ge=-(1 << 63), lt=1 << 63, description="One of its steps; the last if not given.")]
ColumnName = Annotated[str, Query(alias="name", max_length=LONGEST)]
RowsKey = Annotated[str | None, Query(max_length=64, description="A set of points that was kept by POST rows.")]
JobKey = Annotated[str, Query(alias="job", max_length=64)]
SomeJobKey = Annotated[str | None, Query(alias="job", max_length=64)]
PictureIndex = Annotated[
    int | None, Query(alias="frame", ge=0, le=1 << 20, description="Which of the job's views; the last if not given.")
]
Components = Annotated[
    str | None, Query(max_length=64, description="Columns of the view that are shown, such as 0,1,2.")
]


class Where(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Points given by their indices or by a search; all points if neither is given."""

    rows: list[int] | None = None
    q: Annotated[str, msgspec.Meta(max_length=LONGEST_PATTERN)] | None = None
    match: Match = "text"
    within: Annotated[str, msgspec.Meta(max_length=LONGEST)] = msgspec.field(default=EVERYWHERE, name="in")


class EmbeddingRequests:
    """Looks up the objects named in requests, limited to the content of the log directory."""

    def __init__(self, live: Live) -> None:
        self._live: Final = live
        points = live.shared(PointFiles)

        def open_shared(source: EmbeddingSource, step: int | None) -> Dataset:
            dataset = open_dataset(source, step)
            return replace(dataset, points=points.shared(points_name(dataset.digest), dataset.points))

        budget = live.shared(MemoryBudget)
        self.cache: Final = live.shared(EmbeddingCache, lambda: EmbeddingCache(open_one=open_shared, budget=budget))
        self.derived: Final = live.shared(DerivedColumns)
        self.row_sets: Final = live.shared(RowSets)
        self.uploads: Final = live.shared(Uploads, lambda: Uploads(budget=budget))
        files = live.shared(ResultFiles)
        self.jobs: Final = live.shared(Jobs, lambda: Jobs(files, points, is_over=lambda: live.closed))

    def sources(self) -> tuple[EmbeddingSource, ...]:
        """Return all embeddings: those dropped on the page, then those of the log directory."""
        return self.cache.sources(self._live.snapshot(), self.uploads.sources())

    def unlisted(self) -> int:
        """Return the number of checkpoint series whose matrices are not listed because there are too many series."""
        return unlisted_series(self._live.snapshot())

    def source(self, embedding_id: str) -> EmbeddingSource:
        """Return the listed embedding; raises `HTTPException` 404 if there is none with this id."""
        try:
            return self.cache.find(self._live.snapshot(), embedding_id, self.uploads.sources())
        except EmbeddingUnavailableError as error:
            raise HTTPException(404, str(error)) from error

    def dataset(self, embedding_id: str, step: int | None = None) -> Dataset:
        """Return the points and columns of an embedding, read now if necessary.

        Raises:
            HTTPException: 404 or 422 if they cannot be shown, 503 if others use the memory that they need.
        """
        return self.opened(self.source(embedding_id), step)

    def opened(self, source: EmbeddingSource, step: int | None) -> Dataset:
        """Return the points and columns of a source at a step, the last if None; raises as `dataset` does."""
        if step is not None and step not in source.steps:
            raise HTTPException(404, f"{source.label!r} has no step {step}; choose one from the list.")
        try:
            return self.cache.get(source, step)
        except EmbeddingUnavailableError as error:
            raise HTTPException(422, str(error)) from error
        except NoMemoryError as error:
            raise HTTPException(503, f"{source.label} cannot be opened now. {error}") from error

    def column(self, dataset: Dataset, name: str) -> Column:
        """Return a column of a dataset, computed ones included; raises `HTTPException` 404 if there is none."""
        for column in self.derived.all_of(dataset):
            if column.name == name:
                return column
        raise HTTPException(404, f"{dataset.label!r} has no column {name[:200]!r}; choose one from the list.")

    def columns_in(self, dataset: Dataset, within: str) -> tuple[Column, ...]:
        """Return all columns for "*", otherwise the one with this name."""
        columns = self.derived.all_of(dataset)
        if within == EVERYWHERE and EVERYWHERE not in [column.name for column in columns]:
            return columns
        return (self.column(dataset, within),)

    def rows(self, dataset: Dataset, key: str | None) -> Rows | None:
        """Return the points of a stored set; None for all.

        Raises:
            HTTPException: 404 if there is no such set, 422 if it has points that the dataset does not have.
        """
        if key is None:
            return None
        try:
            rows = self.row_sets.get(key)
        except RowsError as error:
            raise HTTPException(404, str(error)) from error
        if len(rows) and rows[-1] >= len(dataset.points):
            raise HTTPException(422, "The selection belongs to another embedding. Select the points again.")
        return rows

    def found(self, dataset: Dataset, where: Where) -> Rows:
        """Return the points named by a page, all if it names none; raises `HTTPException` 422 if no point is found."""
        if where.rows is not None:
            wrong = next((row for row in where.rows if not 0 <= row < len(dataset.points)), None)
            if wrong is not None:
                raise HTTPException(422, no_such_point(wrong, len(dataset.points)))
            rows = distinct_values(np.array(where.rows, np.uint32))
        elif where.q:
            try:
                columns = self.columns_in(dataset, where.within)
                rows = search(columns, where.q, where.match, len(dataset.points))
            except PatternError as error:
                raise HTTPException(422, f"{where.q!r} cannot be searched for: {error}.") from error
        else:
            rows = np.arange(len(dataset.points), dtype=np.uint32)
        if not len(rows):
            what = f"{where.q!r} finds no point." if where.q else "No point is given."
            raise HTTPException(422, f"{what} Give at least one for each end of an axis.")
        return rows


def check_row(dataset: Dataset, row: int) -> None:
    """Raise `HTTPException` 404 if there is no such point."""
    if not 0 <= row < len(dataset.points):
        raise HTTPException(404, no_such_point(row, len(dataset.points)))


def finite(value: Any) -> float | None:
    """Return a number for JSON; None if it is NaN or infinite."""
    number = float(value)
    return number if np.isfinite(number) else None
