"""PCA to three components, time and peak memory, beside scikit-learn's and SciPy's.

The points are normal, with scales that fall from column to column, in float32. Times are of the processor, which hardly
depend on what else it does: the shortest of several calls, in turn with the others'. scikit-learn's PCA is the default
one: from the products of columns where there are few, else from random projections, both in single precision. SciPy's
is the singular values of a centered copy, by Lanczos iteration (`scipy.sparse.linalg.svds`). Memory is the peak of a
fresh process over what it held with the points and the libraries loaded, as a multiple of the points, without these.
The error is the largest relative one of the three variances, against eigenvectors of products in float64.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigvalsh
from scipy.sparse.linalg import svds
from sklearn.decomposition import PCA

from benchmarks._report import Figure, print_figures
from stepscope.dashboard.projections.pca import pca

SIZES: Final = ((10_000, 50), (50_000, 200), (2_000, 2_000))
COMPONENTS: Final = 3
TIMES: Final = 7
Tool = Literal["Stepscope", "scikit-learn", "SciPy"]

_MEMORY: Final = """
import sys
from benchmarks.projector_pca import TOOLS, points_of

def resident(what):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(what)) * 1024

work, count, width = TOOLS[sys.argv[1]], int(sys.argv[2]), int(sys.argv[3])
work(points_of(300, min(width, 200)))
points = points_of(count, width)
before = resident("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
work(points)
print((resident("VmHWM") - before) / points.nbytes)
"""


def ours(points: NDArray[np.float32]) -> NDArray[np.float64]:
    """The variances along the components; the coordinates are worked out too, here and below."""
    return pca(points, COMPONENTS).variances


def of_scikit_learn(points: NDArray[np.float32]) -> NDArray[np.float64]:
    found = PCA(COMPONENTS, random_state=0)
    found.fit_transform(points)
    return np.asarray(found.explained_variance_, np.float64)


def of_scipy(points: NDArray[np.float32]) -> NDArray[np.float64]:
    rows, values, _ = svds(points - points.mean(axis=0), k=COMPONENTS, random_state=0)
    rows *= values
    return np.sort(values.astype(np.float64))[::-1] ** 2 / (len(points) - 1)


TOOLS: Final[dict[Tool, Callable[[NDArray[np.float32]], NDArray[np.float64]]]] = {
    "Stepscope": ours,
    "scikit-learn": of_scikit_learn,
    "SciPy": of_scipy,
}


def points_of(count: int, width: int) -> NDArray[np.float32]:
    """Points whose columns vary less and less, with a middle that is not 0."""
    scales = np.linspace(2, 0.5, width, dtype=np.float32)
    return np.random.default_rng(0).standard_normal((count, width), np.float32) * scales + 1


def true_variances(points: NDArray[np.float32]) -> NDArray[np.float64]:
    centered = points - points.mean(axis=0, dtype=np.float64)
    products = centered.T @ centered / (len(points) - 1)
    found: NDArray[np.float64] = eigvalsh(products)[: -COMPONENTS - 1 : -1]
    return found


def times_of(points: NDArray[np.float32], times: int) -> dict[Tool, float]:
    """Seconds of the processor for each tool, the shortest of several calls in turn."""
    taken: dict[Tool, list[float]] = {tool: [] for tool in TOOLS}
    for _ in range(1 + times):
        for tool, work in TOOLS.items():
            begin = time.process_time()
            work(points)
            taken[tool].append(time.process_time() - begin)
    return {tool: min(each[1:]) for tool, each in taken.items()}


def memory_of(tool: Tool, count: int, width: int) -> float:
    """Peak over the points, as a multiple of them."""
    command = [sys.executable, "-c", _MEMORY, tool, str(count), str(width)]
    return float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def run(*, quick: bool = False) -> list[Figure]:
    figures: list[Figure] = []
    for count, width in SIZES:
        points = points_of(count, width)
        truth = true_variances(points)
        seconds = times_of(points, 2 if quick else TIMES)
        memory = {tool: memory_of(tool, count, width) for tool in TOOLS}
        errors = {tool: float(np.max(np.abs(work(points) / truth - 1))) for tool, work in TOOLS.items()}
        title = f"PCA of {count:,} x {width:,} to {COMPONENTS}"
        for tool in TOOLS:
            if tool == "Stepscope":
                continue
            for what, unit, found in ((f"{title}: processor", "s", seconds), (f"{title}: memory", "x data", memory)):
                figures.append(Figure(what, found["Stepscope"], found[tool], tool, unit, higher_is_better=False))
            print(f"{title}: error {errors['Stepscope']:.1g}, of {tool} {errors[tool]:.1g}", file=sys.stderr)
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer calls")
    print_figures(run(quick=parser.parse_args().quick))


if __name__ == "__main__":
    main()
