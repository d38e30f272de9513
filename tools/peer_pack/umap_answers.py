"""What umap-learn makes of a few points: its graph, one run of its layout, and its pictures, in ``umap/answers.npz``.

    python umap_answers.py FOLDER

Needs umap-learn, which takes a minute to compile its loops. Tests take what it was given from here.
"""

import sys
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

ANSWERS: Final = "umap/answers.npz"
METRICS: Final = ("euclidean", "cosine")
EPOCHS: Final = 200
NEIGHBORS: Final = 10
FAR: Final = 5
CURVE: Final = (1.577, 0.895)
SPREADS: Final = ((1.0, 0.1), (2.0, 0.1))
"""With the least distance of each."""
DIMENSIONS: Final = (2, 3)
LAYOUT_EPOCHS: Final = 8
REPULSIONS: Final = 5
# Small steps: large ones turn a rounding difference into another picture.
RATE: Final = 0.1


def digits(count: int = 500) -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return points and what they show."""
    data = load_digits()
    return data.data[:count].astype(np.float32), data.target[:count].astype(np.int32)


def uneven_digits() -> tuple[NDArray[np.float32], NDArray[np.int32]]:
    """Return 200 points and what they show.

    Of whole numbers many are equally far from a point, and any of them may be its tenth neighbor.
    """
    points, labels = digits(200)
    return points + np.random.default_rng(37).uniform(0, 1, points.shape).astype(np.float32), labels


def nearest(points: NDArray[np.float32]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the distances and rows of each point's neighbors, itself the first, and of one more."""
    distances, rows = NearestNeighbors(n_neighbors=NEIGHBORS + 1).fit(points).kneighbors(points.astype(np.float64))
    return distances, rows


def edges(points: int, degree: int, seed: int = 0) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return heads, tails and epochs from one attraction to the next; the strongest edge is due in each."""
    generator = np.random.default_rng(seed)
    heads = np.repeat(np.arange(points, dtype=np.int32), degree)
    tails = ((heads + generator.integers(1, points, len(heads))) % points).astype(np.int32)
    every = 1 / generator.uniform(0.2, 1, len(heads))
    return heads, tails, every / every.min()


class LayoutInput(NamedTuple):
    """Where 80 points begin, what joins them, and the state of the random numbers."""

    begin: NDArray[np.float32]
    heads: NDArray[np.int32]
    tails: NDArray[np.int32]
    every: NDArray[np.float64]
    state: NDArray[np.int64]


def layout_input(dimensions: int) -> LayoutInput:
    """Return what a layout is worked out from."""
    begin = np.random.default_rng(1).uniform(0, 10, (80, dimensions)).astype(np.float32)
    return LayoutInput(begin, *edges(80, 6), np.array([123456789, 987654321, 555555555], np.int64))


def _picture(metric: str) -> Any:
    import umap

    points, _ = digits()
    run = umap.UMAP(metric=metric, n_epochs=EPOCHS, init="pca", random_state=0, n_jobs=1)
    return run.fit_transform(points).astype(np.float32)


def _graph() -> Any:
    from umap import umap_

    points, labels = uneven_digits()
    distances, rows = nearest(points)
    distances, rows = distances[:, :NEIGHBORS], rows[:, :NEIGHBORS]
    # A point's distance to itself: it is computed with an error, and the library takes the nearest above 0.
    distances[:, 0] = 0
    graph, _, _ = umap_.fuzzy_simplicial_set(
        points, NEIGHBORS, None, "euclidean", knn_indices=rows, knn_dists=distances.astype(np.float32)
    )
    graph = umap_.discrete_metric_simplicial_set_intersection(graph, labels, far_dist=float(FAR)).tocoo()
    return np.array([graph.row, graph.col, graph.data])


def _layout(dimensions: int) -> Any:
    from umap import layouts

    given = layout_input(dimensions)
    places = given.begin.copy()
    layouts.optimize_layout_euclidean(
        places,
        places,
        given.heads,
        given.tails,
        LAYOUT_EPOCHS,
        80,
        given.every,
        *CURVE,
        given.state,
        initial_alpha=RATE,
        negative_sample_rate=float(REPULSIONS),
        move_other=True,
    )
    return places


def main(folder: Path) -> None:
    """Write the answers."""
    from umap.umap_ import find_ab_params

    target = folder / ANSWERS
    target.parent.mkdir(exist_ok=True)
    np.savez_compressed(
        target,
        graph=_graph(),
        curves=np.array([find_ab_params(*each) for each in SPREADS]),
        **{f"picture_{metric}": _picture(metric) for metric in METRICS},
        **{f"layout_{dimensions}": _layout(dimensions) for dimensions in DIMENSIONS},
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
