"""Plans of jobs on existing points and pictures: the quality of a projection, and clusters."""

from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec
import numpy as np
from fastapi import HTTPException
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.dataset import Dataset
from stepscope.dashboard.embeddings.derived import column_of_clusters
from stepscope.dashboard.embeddings.job import JobError, Plan, Prepared
from stepscope.dashboard.embeddings.job_queue import Picture
from stepscope.dashboard.embeddings.methods import MOST_PAIRS, SettingsError, read_settings
from stepscope.dashboard.embeddings.plans import FORMAT, dataset_for_job, hash_of, library_version
from stepscope.dashboard.embeddings.point_files import PointFiles, points_name
from stepscope.dashboard.embeddings.requests import LONGEST, EmbeddingRequests
from stepscope.dashboard.embeddings.results import key_of
from stepscope.dashboard.embeddings.selections import Rows, key_of_rows
from stepscope.dashboard.embeddings.worker_protocol import Arrays
from stepscope.dashboard.projections.base import Points
from stepscope.dashboard.projections.clusters import DENSITY_POINTS, check_installed
from stepscope.dashboard.projections.clusters import notes as cluster_notes
from stepscope.dashboard.projections.preparation import sphered
from stepscope.summary.full_install import NotInstalledError

POINTS: Final = "points"
MOST_SHOWN: Final = 3
"""Maximum number of components of a picture shown at once."""
_NAMES: Final = {"pca": "PCA", "tsne": "t-SNE", "umap": "UMAP", "random": "random axes", "custom": "custom axes"}
MOST_CLUSTERED: Final = 5_000_000


@dataclass(frozen=True)
class KmeansSettings:
    """Settings of k-means."""

    count: int = 8
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.count <= 1_000:
            raise ValueError(f"count is {self.count}; expected 1 to 1000")
        if not 0 <= self.seed < 1 << 32:
            raise ValueError(f"seed is {self.seed}; expected 0 to {(1 << 32) - 1}")


@dataclass(frozen=True)
class HdbscanSettings:
    """Settings of HDBSCAN."""

    minimum_size: int = 15
    """Minimum number of points in a cluster."""
    minimum_samples: int | None = None
    """Number of neighbors that make a point dense; None: the same as ``minimum_size``."""

    def __post_init__(self) -> None:
        if not 2 <= self.minimum_size <= 1_000_000:
            raise ValueError(f"minimum_size is {self.minimum_size}; expected 2 to 1000000")
        if self.minimum_samples is not None and not 1 <= self.minimum_samples <= 100_000:
            raise ValueError(f"minimum_samples is {self.minimum_samples}; expected 1 to 100000")


ClusterSettings: TypeAlias = KmeansSettings | HdbscanSettings


class ClusterOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Clusters requested by a page."""

    id: Annotated[str, msgspec.Meta(max_length=LONGEST)]
    method: Literal["kmeans", "hdbscan"]
    step: int | None = None
    settings: dict[str, Any] = {}
    on: Annotated[str, msgspec.Meta(max_length=64)] = POINTS
    """Either the points themselves, or the key of a job whose picture is clustered."""
    frame: int | None = None
    components: Annotated[list[int], msgspec.Meta(max_length=3)] | None = None


def picture_of(
    requested: EmbeddingRequests, job: str, index: int | None = None, components: list[int] | None = None
) -> Picture:
    """Return the picture of a job with the columns that are shown: ``components``, or the first three by default.

    Raises:
        HTTPException: 404 if there is no such picture; 422 if it has no such columns.
    """
    try:
        picture = requested.jobs.picture(job, index)
    except JobError as error:
        raise HTTPException(404, str(error)) from error
    width = picture.coordinates.shape[1]
    chosen = list(range(min(width, MOST_SHOWN))) if components is None else components
    wrong = next((place for place in chosen if not 0 <= place < width), None)
    if wrong is not None or not 1 <= len(chosen) <= MOST_SHOWN:
        raise HTTPException(422, f"The picture has the components 0 to {width - 1}; name one to three of them.")
    if chosen == list(range(width)):
        return picture
    return replace(picture, coordinates=np.ascontiguousarray(picture.coordinates[:, chosen]))


def listed(components: str | None) -> list[int] | None:
    """Return the numbers of a comma-separated list; raises `HTTPException` 422 if it is not one."""
    if components is None:
        return None
    try:
        return [int(part) for part in components.split(",")]
    except ValueError as error:
        raise HTTPException(
            422, f"Parameter 'components' must be a list such as 0,1,2, but is {components!r}."
        ) from error


def check_picture(dataset: Dataset, picture: Picture) -> None:
    """Raise `HTTPException` 422 if a picture does not belong to the current points of a dataset."""
    if picture.facts.get("id") != dataset.id or picture.step != dataset.step:
        raise HTTPException(422, "The view belongs to another embedding. Choose the embedding that it shows.")
    if len(picture.coordinates) != (len(dataset.points) if picture.rows is None else len(picture.rows)):
        raise HTTPException(422, "The points have changed since they were projected. Start the projection again.")


def chosen_points(points: Points, rows: Rows | None, *, sphere: bool) -> Points:
    """Return some of the points, prepared as for the projection."""
    chosen = points if rows is None else np.ascontiguousarray(points[rows])
    return sphered(chosen) if sphere else chosen


def plan_quality(requested: EmbeddingRequests, picture: Picture, count: int, column: str | None) -> Plan:
    """Return the plan to measure how well the picture of a job preserves the neighbors of its points.

    Raises HTTPException.
    """
    job = picture.job
    facts = picture.facts
    if facts.get("kind") != "project":
        raise HTTPException(422, "Only projections can be measured.")
    source = requested.source(facts["id"])
    dataset = requested.opened(source, picture.step)
    check_picture(dataset, picture)
    labels = None if column is None else requested.column(dataset, column).codes
    if column is not None and labels is None:
        raise HTTPException(422, f"The column {column!r} has too many different values to measure by.")
    if labels is not None and picture.rows is not None:
        labels = labels[picture.rows]
    metric = facts["settings"].get("metric", "euclidean")
    sphere = bool(facts["sphere"])
    reported = {"do": "quality", "count": count, "metric": metric}
    arrays: Arrays = {"coordinates": picture.coordinates} | ({} if labels is None else {"labels": labels})
    key = key_of(
        reported,
        FORMAT,
        job,
        picture.step,
        {name: hash_of(array) for name, array in arrays.items()},
        dataset.digest,
    )
    name = dataset.digest if picture.rows is None else f"{dataset.digest} {key_of_rows(picture.rows)}"

    def prepare(holder: str, files: PointFiles) -> Prepared:
        def points() -> Points:
            return chosen_points(dataset_for_job(requested, source, picture.step).points, picture.rows, sphere=sphere)

        return Prepared(reported | {"points": files.hold(holder, points_name(name, sphere=sphere), points)}, arrays)

    return Plan(key, {"kind": "quality", "of": job, "column": column, "metric": metric}, (), prepare)


def plan_clusters(requested: EmbeddingRequests, order: ClusterOrder) -> Plan:
    """Return the plan to find clusters, which become a column of the dataset; raises HTTPException."""
    try:
        check_installed()
        settings: ClusterSettings = read_settings(
            KmeansSettings if order.method == "kmeans" else HdbscanSettings, order.settings
        )
    except (SettingsError, NotInstalledError) as error:
        raise HTTPException(422, str(error)) from error
    source = requested.source(order.id)
    step = order.step
    rows: Rows | None = None
    coordinates: NDArray[np.float32] | None = None
    name = (
        f"k-means ({settings.count})" if isinstance(settings, KmeansSettings) else f"HDBSCAN ({settings.minimum_size})"
    )
    if order.on != POINTS:
        picture = picture_of(requested, order.on, order.frame, order.components)
        check_picture(requested.opened(source, picture.step), picture)
        step, rows, coordinates = picture.step, picture.rows, picture.coordinates
        name += f" of {_NAMES[picture.facts['projection']]}"
    dataset = requested.opened(source, step)
    count = len(dataset.points)
    clustered = count if coordinates is None else len(coordinates)
    if not 1 <= clustered <= MOST_CLUSTERED:
        raise HTTPException(
            422, f"{clustered:,} points cannot be clustered this way; expected 1 to {MOST_CLUSTERED:,}."
        )
    if isinstance(settings, HdbscanSettings):
        dense = min(clustered, DENSITY_POINTS)
        pairs = dense * min(settings.minimum_samples or settings.minimum_size, dense)
        if pairs > MOST_PAIRS:
            raise HTTPException(
                422,
                f"{dense:,} points have {pairs:,} neighbors in all with these settings; at most {MOST_PAIRS:,} are "
                f"held. Set minimum_samples to {MOST_PAIRS // dense:,} or less.",
            )
    reported = {"do": "clusters", "method": order.method, "settings": asdict(settings)}
    arrays: Arrays = {} if coordinates is None else {"coordinates": np.ascontiguousarray(coordinates)}
    of_picture = {} if coordinates is None else {"rows": None if rows is None else key_of_rows(rows)}
    of_picture |= {key: hash_of(array) for key, array in arrays.items()}
    digest = dataset.digest
    notes = cluster_notes(order.method, clustered, dataset.points.shape[1] if coordinates is None else 3)
    key = key_of(reported, FORMAT, order.id, step, digest, of_picture, library_version("scikit-learn"))

    def prepare(holder: str, files: PointFiles) -> Prepared:
        if coordinates is not None:
            return Prepared(reported, arrays)
        path = files.hold(holder, points_name(digest), lambda: dataset_for_job(requested, source, step).points)
        return Prepared(reported | {"points": path}, {})

    def finish(found: Arrays) -> dict[str, Any]:
        labels = found["labels"]
        column = column_of_clusters(name, labels, rows, count)
        named = requested.derived.add(dataset_for_job(requested, source, step), column)
        return {"column": named, "clusters": int(labels.max(initial=-1)) + 1, "noise": int((labels < 0).sum())}

    facts = {"kind": "clusters", "id": order.id, "method": order.method, "settings": asdict(settings), "on": order.on}
    return Plan(key, {**facts, "seed": getattr(settings, "seed", None)}, (), prepare, finish, notes)
