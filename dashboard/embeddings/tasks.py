"""The tasks of a worker process: projections in slices of time, their quality, and clusters."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.embeddings.channel import Channel, StoppedError
from stepscope.dashboard.embeddings.methods import Iterative, begin, for_next_step
from stepscope.dashboard.embeddings.point_files import mapped
from stepscope.dashboard.embeddings.worker_protocol import Arrays
from stepscope.dashboard.projections.alignment import aligned
from stepscope.dashboard.projections.base import Progress, Run
from stepscope.dashboard.projections.repulsion import EXACT_POINTS

SLICE_SECONDS: Final = 0.12
"""Seconds between checks for messages from the server, and between pictures."""
LARGEST_STATE: Final = 32 << 20
"""Bytes; from a larger state, only what cannot be recomputed is stored."""
_WARMED: Final = 1_100
"""Number of points for warming up, enough for approximate neighbors."""


def run(channel: Channel, message: dict[str, Any], arrays: Arrays) -> None:
    """Do one task and send "done" with its result; errors are raised."""
    _TASKS[message["do"]](channel, message, arrays)


def project(channel: Channel, message: dict[str, Any], arrays: Arrays) -> None:
    """Make the pictures one after the other, each starting from the previous one.

    ``message`` has "method", "settings", "pictures" (index and file of points of each, in the order of computation) and
    "at", the number of finished pictures. ``arrays`` has the row numbers of each ("rows.<index>"), their labels
    ("labels.<index>") for supervision, the last picture ("fixed") if some are done, and a state to resume from
    ("state.<name>").
    """
    wanted = message["pictures"]
    begin_at = message["at"]
    fixed = arrays.get("fixed")
    state = {name.removeprefix("state."): a.copy() for name, a in arrays.items() if name.startswith("state.")}
    for place in range(begin_at, len(wanted)):
        index = wanted[place]["index"]
        rows = arrays[f"rows.{index}"]
        init = None
        if fixed is not None:
            before = wanted[max(place - 1, 0)]["index"]
            init = placed(fixed, arrays[f"rows.{before}"], rows)
        run = begin(
            message["method"],
            mapped(wanted[place]["points"]),
            message["settings"] if place == 0 else for_next_step(message["method"], message["settings"]),
            labels=arrays.get(f"labels.{index}"),
            init=init,
            state=state if place == begin_at and state else None,
        )
        if place == begin_at:
            if message.get("extend"):
                run.extend(message["extend"])
            if message.get("perturb"):
                run.perturb()
        anchor = None if place == 0 or init is None else init
        fixed = _work(channel, run, place, index, anchor).coordinates
    channel.tell("done", {}, _state_of(run) if begin_at < len(wanted) else {})


def placed(coordinates: NDArray[np.float32], rows: NDArray[np.int64], wanted: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return the positions of the ``wanted`` rows in a picture of ``rows``; missing rows are placed at its center."""
    found = np.empty((len(wanted), coordinates.shape[1]), np.float32)
    found[:] = coordinates.mean(axis=0) if len(coordinates) else 0
    _, ours, theirs = np.intersect1d(rows, wanted, assume_unique=True, return_indices=True)
    found[theirs] = coordinates[ours]
    missing = np.setdiff1d(np.arange(len(wanted)), theirs, assume_unique=True)
    # Not all at one point, where the forces between them would have no direction.
    spread = float(coordinates.std()) if len(coordinates) else 1.0
    noise = np.random.default_rng(0).normal(0, 1e-2 * spread + 1e-6, (len(missing), coordinates.shape[1]))
    found[missing] += noise.astype(np.float32)
    return found


def _work(channel: Channel, run: Run, place: int, index: int, anchor: NDArray[np.float32] | None) -> Progress:
    paused = False
    while True:
        for word in channel.words(wait=paused):
            match word["say"]:
                case "pause":
                    paused = True
                case "resume":
                    paused = False
                case "perturb":
                    run.perturb()
                case "extend":
                    run.extend(word["iterations"])
                case "suspend":
                    channel.tell("state", {"at": place}, _state_of(run))
                    raise StoppedError
                case "cancel":
                    raise StoppedError
        if paused:
            continue
        progress = run.advance(SLICE_SECONDS)
        picture = progress.coordinates
        if picture is not None and anchor is not None:
            picture = aligned(picture, anchor)
        reported = {
            "place": place,
            "picture": index,
            "iteration": progress.iteration,
            "total": progress.total,
            "phase": progress.phase,
            "loss": progress.loss,
            "notes": getattr(run, "notes", ()),
        }
        channel.tell("progress", reported, {} if picture is None else {"coordinates": picture})
        if progress.done:
            return Progress(progress.iteration, progress.total, progress.phase, picture, progress.loss, True)


def _state_of(run: Run) -> Arrays:
    return {f"state.{name}": array for name, array in run.state(LARGEST_STATE).items()}


def rate(channel: Channel, message: dict[str, Any], arrays: Arrays) -> None:
    """Measure how well a picture ("coordinates") preserves the neighbors of the points, with "labels" if they are
    known.
    """
    from stepscope.dashboard.projections.quality import quality

    found = quality(
        mapped(message["points"]),
        arrays["coordinates"],
        message["count"],
        metric=message["metric"],
        labels=arrays.get("labels"),
        reported=lambda done, total: channel.tell_count(done, total, "comparing neighbors"),
    )
    numbers = {name: getattr(found, name) for name in ("trustworthiness", "continuity", "hit", "neighbors_kept")}
    each = {
        "trustworthiness": found.trustworthiness_each,
        "continuity": found.continuity_each,
        "hit": found.hit_each,
        "neighbors_kept": found.neighbors_kept_each,
    }
    arrays_found = {name: array for name, array in each.items() if array is not None}
    channel.tell("done", {**numbers, "count": found.count, "sampled": found.sampled}, arrays_found)


def cluster(channel: Channel, message: dict[str, Any], arrays: Arrays) -> None:
    """Find the cluster of each point, in a file of points or in a picture ("coordinates")."""
    from stepscope.dashboard.projections.clusters import hdbscan, kmeans

    points = arrays["coordinates"] if "coordinates" in arrays else mapped(message["points"])
    settings = message["settings"]
    if message["method"] == "kmeans":
        labels = kmeans(points, settings["count"], settings["seed"])
    else:
        labels = hdbscan(points, settings["minimum_size"], settings["minimum_samples"])
    channel.tell("done", {}, {"labels": labels.astype(np.int32)})


def warm_tsne() -> None:
    """Load the dependencies of t-SNE, in particular its compiled loops."""
    _warm("tsne", {"iterations": 2, "exaggeration_iterations": 1, "approximate": True})


def warm_every_method() -> None:
    """Run every projection and quality measure once, so that all their loops are compiled."""
    short = {"iterations": 2, "exaggeration_iterations": 1}
    for dimensions in (2, 3):
        for size in (_WARMED, EXACT_POINTS + 1):
            _warm("tsne", {**short, "dimensions": dimensions, "approximate": size > _WARMED}, size)
        _warm("umap", {"epochs": 2, "dimensions": dimensions}, _WARMED)


def _warm(method: Iterative, settings: dict[str, Any], size: int = _WARMED) -> None:
    points = np.random.default_rng(0).normal(size=(size, 8)).astype(np.float32)
    run = begin(method, points, settings)
    while not run.advance(1.0).done:
        pass


_TASKS: Final[dict[str, Callable[[Channel, dict[str, Any], Arrays], None]]] = {
    "project": project,
    "quality": rate,
    "clusters": cluster,
}
WARMERS: Final[tuple[Callable[[], None], ...]] = (warm_tsne,)
"""Run while there is nothing else to do."""
