"""The projector's other numbers: PCA, UMAP, and how good a picture is, beside scikit-learn's and umap-learn's.

The points are those of the t-SNE benchmark: clusters on sheets with noise. Every time is the median of several runs in
a process that has run the same before. scikit-learn's PCA is the default one, which gives the same components. The
quality of a picture is four numbers and four arrays; scikit-learn has one number, and the two are compared on the same
picture. UMAP is compared where umap-learn is installed: both begin at the principal components with the same seed, and
umap-learn uses one thread, as it does for any seed. Memory is the peak of a fresh process over what it held with the
points and the libraries loaded, as a multiple of the points; the mark is 3, the points included.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Final

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import trustworthiness

from benchmarks._report import Figure, print_figures
from benchmarks.projector_tsne import points_of
from benchmarks.traces import seconds
from stepscope.dashboard.projections import umap
from stepscope.dashboard.projections.pca import pca
from stepscope.dashboard.projections.quality import quality
from stepscope.dashboard.projections.umap_settings import UmapSettings

POINTS: Final = 100_000
WIDTH: Final = 256
COMPONENTS: Final = 10
RATED: Final = 5_000
LAID_OUT: Final = 10_000
LAID_OUT_WIDTH: Final = 64
NEIGHBORS: Final = 12
TIMES: Final = 5
MARK_PCA_SECONDS: Final = 1.0
MARK_MEMORY: Final = 3.0
SCIKIT_LEARN: Final = "scikit-learn"
UMAP_LEARN: Final = "umap-learn"

_MEMORY: Final = """
import sys
import numpy as np
import warnings
warnings.filterwarnings("ignore")

def resident(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what)) * 1024

from stepscope.dashboard.projections.clusters import kmeans
from stepscope.dashboard.projections.pca import pca
from stepscope.dashboard.projections.quality import quality
from stepscope.dashboard.projections.umap import start
from stepscope.dashboard.projections.umap_settings import UmapSettings
from sklearn.decomposition import PCA

def laid_out(points):
    run = start(points, UmapSettings(epochs=3))
    while not run.advance(10).done:
        pass

what, count, width = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
work = {
    "PCA": pca,
    "their PCA": lambda points: PCA(10).fit_transform(points),
    "quality": lambda points: quality(points, np.ascontiguousarray(points[:, :2]), sample=500),
    "k-means": kmeans,
    "UMAP": laid_out,
}[what]
# Compiled and loaded.
work(np.random.default_rng(0).normal(size=(300, width)).astype(np.float32))
points = np.random.default_rng(0).standard_normal((count, width), np.float32)
before = resident("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
work(points)
print((resident("VmHWM") - before) / points.nbytes)
"""


def pca_figures(points: NDArray[np.float32]) -> list[Figure]:
    """Of 10 components, which are to be scikit-learn's."""
    ours, theirs = pca(points, COMPONENTS), PCA(COMPONENTS).fit(points)
    np.testing.assert_allclose(ours.variances, theirs.explained_variance_, rtol=1e-3)
    np.testing.assert_allclose(np.abs(np.sum(ours.axes * theirs.components_, axis=1)), 1, atol=1e-3)
    title = f"PCA of {len(points):,} x {points.shape[1]} to {COMPONENTS}"
    taken = seconds(lambda: pca(points, COMPONENTS), times=TIMES)
    their_time = seconds(lambda: PCA(COMPONENTS).fit_transform(points), times=TIMES)
    return [
        Figure(title, taken, MARK_PCA_SECONDS, "the mark", "s", higher_is_better=False),
        Figure(title, taken, their_time, SCIKIT_LEARN, "s", higher_is_better=False),
    ]


def quality_figures(points: NDArray[np.float32]) -> list[Figure]:
    """Of a picture by two components."""
    picture = pca(points, 2).coordinates
    ours, theirs = quality(points, picture, NEIGHBORS), trustworthiness(points, picture, n_neighbors=NEIGHBORS)
    assert abs(ours.trustworthiness - theirs) < 1e-6, (ours.trustworthiness, theirs)
    taken = seconds(lambda: quality(points, picture, NEIGHBORS), times=3)
    their_time = seconds(lambda: trustworthiness(points, picture, n_neighbors=NEIGHBORS), times=3)
    title = f"quality of a picture of {len(points):,} x {points.shape[1]}, ours also continuity and neighbors kept"
    return [Figure(title, taken, their_time, SCIKIT_LEARN, "s", higher_is_better=False)]


def umap_figures(points: NDArray[np.float32]) -> list[Figure]:
    """Of a whole layout and of its trustworthiness; none without umap-learn."""
    if find_spec("umap") is None:
        print("umap-learn is not installed: UMAP is left out", file=sys.stderr)
        return []
    method = import_module("umap").UMAP

    def theirs(points: NDArray[np.float32]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = method(init="pca", random_state=0, n_jobs=1).fit_transform(points)
        return found

    taken, picture = timed(laid_out, points)
    their_time, their_picture = timed(theirs, points)
    rated, their_rated = (quality(points, found).trustworthiness for found in (picture, their_picture))
    title = f"UMAP of {len(points):,} x {points.shape[1]}"
    return [
        Figure(title, taken, their_time, UMAP_LEARN, "s", higher_is_better=False),
        Figure(f"trustworthiness of {title}", rated, their_rated, UMAP_LEARN, ""),
    ]


def timed(
    work: Callable[[NDArray[np.float32]], NDArray[np.float32]], points: NDArray[np.float32]
) -> tuple[float, NDArray[np.float32]]:
    """Seconds and the picture of the second run."""
    work(points)
    begin = time.perf_counter()
    picture = work(points)
    return time.perf_counter() - begin, picture


def laid_out(points: NDArray[np.float32]) -> NDArray[np.float32]:
    """The picture at the end of a UMAP."""
    run = umap.start(points, UmapSettings())
    while not (progress := run.advance(1.0)).done:
        pass
    assert progress.coordinates is not None
    return progress.coordinates


def memory(what: str, count: int) -> float:
    """Peak of some work over the points, as a multiple of them."""
    command = [sys.executable, "-c", _MEMORY, what, str(count), str(WIDTH)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def memory_figures(count: int) -> list[Figure]:
    """Of all the work on the largest points, the points included."""
    size = f"{count:,} x {WIDTH}"
    ours = memory("PCA", count)
    figures = [
        Figure(
            f"memory of PCA of {size}", 1 + ours, 1 + memory("their PCA", count), SCIKIT_LEARN, "x data",
            higher_is_better=False,
        )
    ]  # fmt: skip
    for what in ("PCA", "quality", "k-means", "UMAP"):
        found = 1 + (ours if what == "PCA" else memory(what, count))
        title = f"memory of {what} of {size}"
        figures.append(Figure(title, found, MARK_MEMORY, "the mark", "x data", higher_is_better=False))
    return figures


def run(*, quick: bool = False) -> list[Figure]:
    scale = 10 if quick else 1
    begin = time.perf_counter()
    figures = [
        *pca_figures(points_of(POINTS // scale, WIDTH)),
        *quality_figures(points_of(RATED // scale, WIDTH)),
        *umap_figures(points_of(LAID_OUT // scale, LAID_OUT_WIDTH)),
        *memory_figures(POINTS // scale),
    ]
    print(f"the projector's numbers took {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the points")
    print_figures(run(quick=parser.parse_args().quick))


if __name__ == "__main__":
    main()
