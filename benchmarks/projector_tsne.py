"""t-SNE of 10,000 points and the neighbors of one among 100,000, beside scikit-learn's in the same run.

The points are made up: clusters on sheets with noise, like embeddings. Both t-SNEs have scikit-learn's defaults: 2
dimensions, perplexity 30, 1,000 iterations from the principal components. Their divergences are computed from the same
affinities over all pairs in double precision, so that neither is measured by its own approximation. Ours is compiled
before it is timed; what compiling takes without a cache is a figure of its own, from a fresh process. Updates are those
that a page could show: pictures told while the run advances a twentieth of a second at a time, without preparation.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE, trustworthiness
from sklearn.neighbors import NearestNeighbors

from benchmarks._report import Figure, print_figures
from benchmarks.traces import seconds
from stepscope.dashboard.projections.affinities import Affinities, affinity_steps
from stepscope.dashboard.projections.neighbors import neighbor_graph, neighbors_of
from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.tsne import start
from stepscope.dashboard.projections.tsne_settings import TsneSettings, neighbors_for

POINTS: Final = 10_000
QUICK_POINTS: Final = 2_000
WIDTH: Final = 64
MANY_POINTS: Final = 100_000
MANY_WIDTH: Final = 256
NEIGHBORS: Final = 100
SLICE_SECONDS: Final = 0.05
MARK_UPDATES: Final = 5.0
MARK_QUERY_MS: Final = 50.0
PEER: Final = "scikit-learn"
_COLD: Final = """
import numpy as np
from stepscope.dashboard.projections.tsne import start
from stepscope.dashboard.projections.tsne_settings import TsneSettings
points = np.random.default_rng(0).standard_normal((6000, 8)).astype(np.float32)
start(points[:300], TsneSettings(iterations=50, approximate=False)).advance(100)
start(points, TsneSettings(iterations=2)).advance(100)
"""


@dataclass(frozen=True)
class Shown:
    """A t-SNE as somebody who waits for it sees it."""

    picture: NDArray[np.float32]
    seconds: float
    first_picture: float
    updates: float


def points_of(count: int, width: int, clusters: int = 20) -> NDArray[np.float32]:
    """Points on six-dimensional sheets, one a cluster, with noise: float32 ``[count, width]``."""
    generator = np.random.default_rng(0)
    centers = 1.2 * generator.standard_normal((clusters, width))
    sheets = generator.standard_normal((clusters, 6, width)) / math.sqrt(width)
    points = np.empty((count, width), np.float32)
    for begin in range(0, count, 10_000):
        block = points[begin : begin + 10_000]
        labels = generator.integers(0, clusters, len(block))
        places = 3 * generator.standard_normal((len(block), 6))
        noise = 0.3 * generator.standard_normal((len(block), width))
        block[:] = centers[labels] + np.einsum("nk,nkd->nd", places, sheets[labels]) + noise
    return points


def ours(points: NDArray[np.float32]) -> Shown:
    begin = time.perf_counter()
    run = start(points)
    progress = run.advance(0)
    first = time.perf_counter() - begin
    while progress.iteration == 0:
        progress = run.advance(0)
    told, since = 0, time.perf_counter()
    while not progress.done:
        progress = run.advance(SLICE_SECONDS)
        told += 1
    end = time.perf_counter()
    assert progress.coordinates is not None
    return Shown(progress.coordinates, end - begin, first, told / (end - since))


def peers(points: NDArray[np.float32]) -> Shown:
    begin = time.perf_counter()
    picture = TSNE(random_state=0, n_jobs=2).fit_transform(points)
    taken = time.perf_counter() - begin
    return Shown(picture, taken, taken, 1 / taken)


def affinities_of(points: NDArray[np.float32], perplexity: float = 30.0) -> Affinities:
    steps = affinity_steps(neighbor_graph(points, neighbors_for(perplexity, len(points))), perplexity, Workers())
    while True:
        try:
            next(steps)
        except StopIteration as end:
            made: Affinities = end.value
            return made


def divergence(affinities: Affinities, picture: NDArray[np.float32]) -> float:
    """The Kullback-Leibler divergence over all pairs, in double precision."""
    places = picture.astype(np.float64)
    z = -float(len(places))
    for begin in range(0, len(places), 500):
        differences = places[begin : begin + 500, None] - places
        z += float((1 / (1 + np.einsum("ijk,ijk->ij", differences, differences))).sum())
    rows = np.repeat(np.arange(len(places)), np.diff(affinities.starts))
    squares = ((places[rows] - places[affinities.columns]) ** 2).sum(axis=1)
    weights = affinities.weights.astype(np.float64)
    return affinities.entropy + float((weights * np.log1p(squares)).sum()) + math.log(z)


def cold_seconds() -> tuple[float, float]:
    """Of a small run in a fresh process, without compiled code and with it."""
    with tempfile.TemporaryDirectory() as folder:
        taken = []
        for _ in range(2):
            begin = time.perf_counter()
            subprocess.run([sys.executable, "-c", _COLD], check=True, env=os.environ | {"NUMBA_CACHE_DIR": folder})
            taken.append(time.perf_counter() - begin)
    return taken[0], taken[1]


def tsne_figures(points: NDArray[np.float32]) -> list[Figure]:
    count = len(points)
    start(points, TsneSettings(iterations=50)).advance(1000)
    shown, other = ours(points), peers(points)
    affinities = affinities_of(points)
    name = f"t-SNE of {count:,} x {points.shape[1]}"
    ours_kl, other_kl = divergence(affinities, shown.picture), divergence(affinities, other.picture)
    sample = np.random.default_rng(0).choice(count, min(count, 5_000), replace=False)
    ours_trust, other_trust = (
        float(trustworthiness(points[sample], picture[sample], n_neighbors=12))
        for picture in (shown.picture, other.picture)
    )
    cold, warm = cold_seconds()
    return [
        Figure(name, shown.seconds, other.seconds, PEER, "s", False),
        Figure(f"{name}: divergence", ours_kl, other_kl, PEER, "nats", False),
        Figure(f"{name}: trustworthiness", ours_trust, other_trust, PEER, ""),
        Figure(f"{name}: first picture", 1e3 * shown.first_picture, 1e3 * other.first_picture, PEER, "ms", False),
        Figure(f"{name}: pictures a second", shown.updates, MARK_UPDATES, "mark", "1/s"),
        Figure("t-SNE, a small one in a fresh process, first ever", cold, warm, "compiled before", "s", False),
    ]


def neighbor_figures(count: int = MANY_POINTS, width: int = MANY_WIDTH) -> list[Figure]:
    points = points_of(count, width, clusters=50)
    peer = NearestNeighbors(n_neighbors=NEIGHBORS + 1, algorithm="brute", metric="cosine", n_jobs=2).fit(points)
    query = 1e3 * seconds(lambda: neighbors_of(points, 7, NEIGHBORS, "cosine"), times=9)
    other = 1e3 * seconds(lambda: peer.kneighbors(points[7:8]), times=5)
    name = f"{NEIGHBORS} neighbors of one among {count:,} x {width}"
    return [
        Figure(name, query, other, f"{PEER}, brute force", "ms", False),
        Figure(f"{name}, mark", query, MARK_QUERY_MS, "mark", "ms", False),
    ]


def run(*, quick: bool = False) -> list[Figure]:
    """The figures; with ``quick`` of fewer points."""
    points = points_of(QUICK_POINTS if quick else POINTS, WIDTH)
    return [*neighbor_figures(10_000 if quick else MANY_POINTS), *tsne_figures(points)]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer points")
    print_figures(run(quick=parser.parse_args().quick))


if __name__ == "__main__":
    main()
