"""From a page's request to the plan of a job: the points, the method, and the key of the result."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any, Final

import msgspec
import numpy as np
from fastapi import HTTPException
from numpy.typing import NDArray

from stepscope.dashboard.embeddings import inline_jobs
from stepscope.dashboard.embeddings.dataset import Dataset
from stepscope.dashboard.embeddings.job import JobError, Plan, PlannedPicture, Prepared
from stepscope.dashboard.embeddings.listing import EmbeddingSource, EmbeddingUnavailableError
from stepscope.dashboard.embeddings.methods import (
    ITERATIVE,
    MOST_PAIRS,
    MOST_POINTS,
    CustomSettings,
    PcaSettings,
    Projection,
    RandomSettings,
    Settings,
    SettingsError,
    pairs_of,
    settings_of,
)
from stepscope.dashboard.embeddings.point_files import PointFiles, mapped, points_name
from stepscope.dashboard.embeddings.requests import LONGEST, EmbeddingRequests, Where
from stepscope.dashboard.embeddings.results import key_of
from stepscope.dashboard.embeddings.selections import Rows, key_of_rows
from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.preparation import sphered
from stepscope.summary.memory_budget import NoMemoryError

FORMAT: Final = 3
"""Increased when the same settings produce different pictures than before."""
MOST_STEPS: Final = 200
MOST_AXES: Final = 3


class Axis(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A direction from some points to others."""

    left: Where
    right: Where


class ProjectOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A projection requested by a page."""

    id: Annotated[str, msgspec.Meta(max_length=LONGEST)]
    projection: Projection
    step: int | None = None
    steps: Annotated[list[int], msgspec.Meta(max_length=MOST_STEPS)] | None = None
    settings: dict[str, Any] = {}
    sphere: bool = False
    supervise: Annotated[str, msgspec.Meta(max_length=LONGEST)] | None = None
    rows: Annotated[str, msgspec.Meta(max_length=64)] | None = None
    axes: Annotated[list[Axis], msgspec.Meta(max_length=MOST_AXES)] = []
    only_if_known: bool = False
    """Do not start a projection that was not started before."""


@dataclass(frozen=True)
class PicturePoints:
    """The points that one picture shows."""

    step: int | None
    name: str
    """Equal for the same points."""
    count: int
    dimensions: int
    rows: Rows | None
    """Indices in the dataset; None for all."""
    file_rows: NDArray[np.int64]
    labels: NDArray[np.int32] | None


def library_version(name: str) -> str:
    """Return the version of an installed library; empty if it is not installed."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def plan_projection(requested: EmbeddingRequests, order: ProjectOrder) -> Plan:
    """Return the plan of a projection.

    Raises:
        HTTPException: 404 or 422 with a sentence, if something does not exist or cannot be done.
    """
    try:
        settings = settings_of(order.projection, order.settings)
    except SettingsError as error:
        raise HTTPException(422, str(error)) from error
    source = requested.source(order.id)
    base = requested.opened(source, order.step if order.steps is None else max(order.steps, default=None))
    wanted, notes = _points_of_pictures(requested, source, base, order)
    _check(order, settings, wanted)
    axes = _axes(requested, base, order)
    opened = [_opener(requested, source, each, sphere=order.sphere) for each in wanted]
    values = asdict(settings)
    facts = {
        "kind": "project",
        "id": order.id,
        "projection": order.projection,
        "settings": values,
        "seed": values.get("seed"),
        "sphere": order.sphere,
        "supervise": order.supervise,
        "rows": order.rows,
        "count": wanted[-1].count,
        "dimensions": _dimensions(settings, len(axes)),
    }
    key = key_of(
        "project",
        FORMAT,
        {name: value for name, value in facts.items() if name != "rows"},
        [[each.step, each.name, None if each.labels is None else hash_of(each.labels)] for each in wanted],
        [[hash_of(left), hash_of(right)] for left, right in axes],
    )
    base_step = order.step if order.steps is None else max(order.steps)

    def points_of_base() -> Points:
        points = dataset_for_job(requested, source, base_step).points
        return sphered(points) if order.sphere else points

    def prepare(holder: str, files: PointFiles) -> Prepared:
        match settings:
            case PcaSettings():
                pictures, found, reported = inline_jobs.pca_pictures(opened, settings.components)
                return Prepared(None, {}, pictures, found, reported)
            case RandomSettings():
                return Prepared(None, {}, inline_jobs.random_pictures(opened, settings.dimensions, settings.seed))
            case CustomSettings():
                pictures = inline_jobs.custom_pictures(opened, points_of_base(), axes)
                return Prepared(None, {}, pictures)
            case _:
                return _for_worker(order, wanted, opened, facts, holder, files)

    planned = tuple(PlannedPicture(each.step, each.count, each.rows) for each in wanted)
    return Plan(key, facts, planned, prepare, notes=notes)


def _for_worker(
    order: ProjectOrder,
    wanted: Sequence[PicturePoints],
    opened: Sequence[Callable[[], Points]],
    facts: dict[str, Any],
    holder: str,
    files: PointFiles,
) -> Prepared:
    """Write the points for a worker, the last step first, and compute the picture to show in the meantime."""
    sequence = list(range(len(wanted) - 1, -1, -1))
    # Sphered by the server, which needs them for the first picture anyway.
    paths = {
        index: files.hold(holder, points_name(wanted[index].name, sphere=order.sphere), opened[index])
        for index in sequence
    }
    arrays: dict[str, NDArray[Any]] = {f"rows.{index}": wanted[index].file_rows for index in sequence}
    for index, each in enumerate(wanted):
        if each.labels is not None:
            arrays[f"labels.{index}"] = each.labels
    reported = {
        "do": "project",
        "method": order.projection,
        "settings": facts["settings"],
        "pictures": [{"index": index, "points": paths[index]} for index in sequence],
    }
    first = inline_jobs.first_picture(mapped(paths[sequence[0]]), facts["dimensions"])
    return Prepared(reported, arrays, {sequence[0]: first})


def _points_of_pictures(
    requested: EmbeddingRequests, source: EmbeddingSource, base: Dataset, order: ProjectOrder
) -> tuple[list[PicturePoints], tuple[str, ...]]:
    """Return the points of every picture, matched by their rows in the files, and notes about them."""
    chosen = requested.rows(base, order.rows)
    if order.steps is None:
        return [_points_of_picture(requested, base, order, base.step, chosen)], ()
    kept = None if chosen is None else base.rows[chosen]
    wanted = []
    for step in sorted(set(order.steps)):
        dataset = requested.opened(source, step)
        rows: Rows | None = None
        if kept is not None:
            rows = np.flatnonzero(np.isin(dataset.rows, kept)).astype(np.uint32)
        wanted.append(_points_of_picture(requested, dataset, order, step, rows))
    if not wanted:
        raise HTTPException(422, "No step is given. List those to show, or leave out 'steps'.")
    counts = {each.count for each in wanted}
    if len(counts) > 1:
        reported = (
            f"The steps have from {min(counts):,} to {max(counts):,} points; they are matched by their row numbers."
        )
        return wanted, (reported,)
    return wanted, ()


def _points_of_picture(
    requested: EmbeddingRequests, dataset: Dataset, order: ProjectOrder, step: int | None, rows: Rows | None
) -> PicturePoints:
    if rows is not None and len(rows) == len(dataset.points):
        rows = None
    labels = None
    if order.supervise is not None:
        codes = requested.column(dataset, order.supervise).codes
        if codes is None:
            raise HTTPException(
                422, f"The column {order.supervise!r} has too many different values to supervise a projection."
            )
        labels = codes if rows is None else codes[rows]
    name = dataset.digest if rows is None else f"{dataset.digest} {key_of_rows(rows)}"
    file_rows = dataset.rows if rows is None else dataset.rows[rows]
    dimensions = dataset.points.shape[1]
    return PicturePoints(step, name, len(file_rows), dimensions, rows, file_rows, labels)


def _check(order: ProjectOrder, settings: Settings, wanted: Sequence[PicturePoints]) -> None:
    empty = next((each for each in wanted if not each.count), None)
    if empty is not None:
        where = "" if empty.step is None else f" at step {empty.step}"
        raise HTTPException(422, f"There are no points to project{where}. Choose other points.")
    for method in ITERATIVE:
        most = max(each.count for each in wanted)
        if order.projection == method and most > MOST_POINTS[method]:
            raise HTTPException(
                422,
                f"There are {most:,} points; this projection takes at most {MOST_POINTS[method]:,}. "
                "Choose some of them, or use PCA.",
            )
    pairs = max(pairs_of(settings, each.count) for each in wanted)
    if pairs > MOST_PAIRS:
        smaller = "perplexity" if order.projection == "tsne" else "number of neighbors"
        raise HTTPException(
            422,
            f"These points have {pairs:,} neighbors in all with these settings; at most {MOST_PAIRS:,} are held. "
            f"Choose fewer points, or a smaller {smaller}.",
        )
    widths = sorted({each.dimensions for each in wanted})
    if len(widths) > 1 and order.projection not in ITERATIVE:
        raise HTTPException(
            422,
            f"The points of the steps have {widths[0]} to {widths[-1]} dimensions. "
            "Choose steps with the same number of dimensions.",
        )


def _axes(
    requested: EmbeddingRequests, base: Dataset, order: ProjectOrder
) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    if order.projection != "custom":
        return []
    if not order.axes:
        raise HTTPException(422, "No axis is defined. Define the points at both ends of at least one axis.")
    return [
        (requested.found(base, axis.left).astype(np.int64), requested.found(base, axis.right).astype(np.int64))
        for axis in order.axes
    ]


def _opener(
    requested: EmbeddingRequests, source: EmbeddingSource, wanted: PicturePoints, *, sphere: bool
) -> Callable[[], Points]:
    def points() -> Points:
        dataset = dataset_for_job(requested, source, wanted.step)
        chosen = dataset.points if wanted.rows is None else np.ascontiguousarray(dataset.points[wanted.rows])
        if len(chosen) != wanted.count:
            raise JobError("The points have changed. Start the projection again.")
        return sphered(chosen) if sphere else chosen

    return points


def dataset_for_job(requested: EmbeddingRequests, source: EmbeddingSource, step: int | None) -> Dataset:
    """Return the points and columns of a source at a step; raises JobError if they can no longer be shown."""
    try:
        return requested.cache.get(source, step)
    except (EmbeddingUnavailableError, NoMemoryError) as error:
        raise JobError(str(error)) from error


def _dimensions(settings: Settings, axes: int) -> int:
    if isinstance(settings, PcaSettings):
        return settings.components
    # A second axis is added to a single one.
    return max(axes, 2) if isinstance(settings, CustomSettings) else settings.dimensions


def hash_of(array: NDArray[Any]) -> str:
    """Return a hash of the values of an array."""
    return hashlib.sha256(f"{array.dtype.str} {array.shape} ".encode() + array.tobytes()).hexdigest()[:32]
