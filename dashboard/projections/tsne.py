"""t-SNE that can be watched, stopped, and resumed: gradient descent as in scikit-learn, in slices of time.

Van der Maaten and Hinton (2008), with the learning rate and initialization of Kobak and Berens (2019) as in
scikit-learn. The kernel has one degree of freedom also in three dimensions, as in TensorBoard.
"""

import math
import time
from collections.abc import Generator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.affinities import Affinities, affinity_steps, supervise
from stepscope.dashboard.projections.base import Points, Progress
from stepscope.dashboard.projections.blocks import bounded
from stepscope.dashboard.projections.neighbor_graph import neighbor_steps
from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.pca import pca
from stepscope.dashboard.projections.repulsion import EXACT_POINTS, AllPairs, Picture, Repulsion
from stepscope.dashboard.projections.repulsion_grid import Grid
from stepscope.dashboard.projections.repulsion_tree import Tree
from stepscope.dashboard.projections.tsne_loops import attract_2d, attract_3d, step, weighted_logs
from stepscope.dashboard.projections.tsne_settings import TsneSettings, neighbors_for

LOSS_EVERY: Final = 50
"""Iterations between computations of the KL divergence."""
_SPREAD: Final = 1e-4
"""Standard deviation of the first picture's first dimension."""
_LEAST_RATE: Final = 50.0
_PERTURBATION: Final = 0.05
_FEW: Final = 250
"""Number of points up to which all pairs are fastest and approximations are inexact."""


def start(
    points: Points,
    settings: TsneSettings | None = None,
    *,
    labels: NDArray[np.int32] | None = None,
    init: NDArray[np.float32] | None = None,
    state: Mapping[str, NDArray[Any]] | None = None,
) -> "TsneRun":
    """Start or resume t-SNE for some points. The work is done by the run's `advance`.

    Args:
        points: float32 ``[n, d]``.
        settings: the settings; defaults if None.
        labels: int32 ``[n]``, -1 where unknown; for supervision.
        init: float32 ``[n, dimensions]``, initial positions, used unchanged; by default the first principal components,
            scaled down. Exaggeration contracts a finished picture again, so it should have no iterations in that case.
        state: state of a run of the same points, settings and labels. The run continues as if it had not been stopped;
            affinities missing from the state are computed again.
    """
    return TsneRun(points, settings or TsneSettings(), labels, init, state)


class TsneRun:
    """A t-SNE in progress, see `stepscope.dashboard.projections.base.Run`."""

    def __init__(
        self,
        points: Points,
        settings: TsneSettings,
        labels: NDArray[np.int32] | None,
        init: NDArray[np.float32] | None,
        state: Mapping[str, NDArray[Any]] | None,
    ) -> None:
        n = len(points)
        _check_shape("labels", labels, (n,))
        _check_shape("initialization", init, (n, settings.dimensions))
        self._points, self._settings, self._labels, self._init = points, settings, labels, init
        self._n = n
        self._workers = Workers()
        self._perplexity = max(1.0, min(settings.perplexity, (n - 1) / 3))
        self._rate = settings.learning_rate or max(n / settings.exaggeration / 4, _LEAST_RATE)
        self._iteration, self._total, self._perturbations = 0, settings.iterations, 0
        self._loss: float | None = None
        self._phase = "initialization"
        self._picture: Picture | None = None
        self._velocity = np.zeros((settings.dimensions, n), np.float32)
        self._gains = np.ones_like(self._velocity)
        self._attraction, self._forces = np.empty_like(self._velocity), np.empty_like(self._velocity)
        self._affinities: Affinities | None = None
        self._entropy = 0.0
        self._recall: float | None = None
        self._repulsion = self._chosen_repulsion()
        if state is not None:
            self._restore(state)
        self._preparation: Generator[None, None, None] | None = self._prepare()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user on how the picture is computed, one sentence each."""
        notes = []
        if self._perplexity < self._settings.perplexity:
            notes.append(
                f"The perplexity is {self._perplexity:.4g} instead of {self._settings.perplexity:.4g}: it can be at "
                f"most a third of the {max(self._n - 1, 0):,} other points."
            )
        if self._recall is not None:
            notes.append(f"Neighbors are approximate: {self._recall:.1%} of them are found, measured on a sample.")
        if isinstance(self._repulsion, Grid):
            notes.append("Repulsion is interpolated on a grid.")
        elif isinstance(self._repulsion, Tree):
            notes.append("Repulsion from distant points is approximated box by box (Barnes-Hut).")
        return tuple(notes)

    def advance(self, seconds: float) -> Progress:
        """Work for about ``seconds``, at least one piece of the preparation or one iteration; return the progress."""
        end = time.perf_counter() + seconds
        while self._preparation is not None:
            if next(self._preparation, self) is self:
                self._preparation = None
            elif time.perf_counter() >= end:
                return self._progress()
        while self._iteration < self._total:
            self._iterate()
            if time.perf_counter() >= end:
                break
        return self._progress()

    def perturb(self) -> None:
        """Move every point by up to a twentieth of the picture's radius in each dimension, but not out of the circle.

        As in TensorBoard. Before the first picture, it does nothing.
        """
        picture = self._picture
        if picture is None:
            return
        generator = np.random.default_rng((self._settings.seed, self._perturbations))
        self._perturbations += 1
        squares = (picture.astype(np.float64) ** 2).sum(axis=0)
        radius = math.sqrt(float(squares.max(initial=0)))
        moved = picture.copy()
        left = np.arange(self._n)
        # Half of all directions lead inward, so hardly any point is left after so many tries; such a point stays.
        for _ in range(50):
            offsets = generator.uniform(-_PERTURBATION, _PERTURBATION, (len(picture), len(left))) * radius
            tried = picture[:, left] + offsets
            inside = (tried**2).sum(axis=0) < radius**2
            moved[:, left[inside]] = tried[:, inside]
            left = left[~inside]
            if not len(left):
                break
        self._picture = _centered(moved)

    def extend(self, iterations: int) -> None:
        """Add iterations at the end.

        Raises:
            ValueError: their number is negative.
        """
        if iterations < 0:
            raise ValueError(f"t-SNE can be extended by 0 iterations or more, not by {iterations}.")
        self._total += iterations

    def state(self, most_bytes: int | None = None) -> dict[str, NDArray[Any]]:
        """Return copies of the data that `start` needs to resume, with the affinities once they are known.

        The affinities are left out if they exceed ``most_bytes``.
        """
        state: dict[str, NDArray[Any]] = {
            "counters": np.array([self._iteration, self._total, self._perturbations], np.int64),
            "loss": np.array(math.nan if self._loss is None else self._loss),
            "recall": np.array(math.nan if self._recall is None else self._recall),
            "velocity": self._velocity.copy(),
            "gains": self._gains.copy(),
        }
        if self._picture is not None:
            state["picture"] = self._picture.copy()
        affinities = {} if self._affinities is None else vars(self._affinities)
        if most_bytes is None or sum(array.nbytes for array in affinities.values()) <= most_bytes:
            state |= affinities
        return state

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        _check_shape("state", state["velocity"], self._velocity.shape)
        self._iteration, self._total, self._perturbations = (int(counter) for counter in state["counters"])
        self._loss, self._recall = _known(state["loss"]), _known(state["recall"])
        # Copies: the stored state may be a mapped file that must not be written to.
        self._velocity, self._gains = np.array(state["velocity"]), np.array(state["gains"])
        if "picture" in state:
            self._picture = np.array(state["picture"])
        if "weights" in state:
            self._affinities = Affinities(state["starts"], state["columns"], state["weights"])
            self._entropy = self._affinities.entropy

    def _chosen_repulsion(self) -> Repulsion:
        approximate = self._settings.approximate
        if approximate is None:
            approximate = self._n > EXACT_POINTS
        if not approximate or self._n <= _FEW:
            return AllPairs(self._workers)
        return Grid(self._workers) if self._settings.dimensions == 2 else Tree(self._workers)

    def _prepare(self) -> Generator[None, None, None]:
        """Compute the first picture, the neighbors, and their weights, in pieces."""
        if self._picture is None:
            self._picture = _centered(first_picture(self._points, self._settings, self._init))
            yield
        if self._affinities is not None:
            return
        if self._n < 2:
            none = np.empty(0, np.float32)
            self._affinities = Affinities(np.zeros(self._n + 1, np.int64), none.astype(np.int32), none)
            return
        self._phase = "neighbors"
        settings = self._settings
        graph = yield from self._told(
            neighbor_steps(
                bounded(self._points),
                neighbors_for(self._perplexity, self._n),
                settings.metric,
                approximate=settings.approximate,
                seed=settings.seed,
                workers=self._workers,
            )
        )
        # A mapped file that is no longer read need not stay in memory.
        self._points = np.empty((0, 0), np.float32)
        self._recall = graph.recall
        self._phase = "perplexity"
        affinities = yield from self._told(
            affinity_steps(graph, self._perplexity, self._workers, cosine=settings.metric == "cosine")
        )
        if settings.supervision > 0 and self._labels is not None:
            affinities = supervise(affinities, self._labels, settings.supervision)
        self._affinities, self._entropy = affinities, affinities.entropy

    def _told(self, steps: Generator[tuple[int, int], None, Any]) -> Generator[None, None, Any]:
        """Yield the same steps, and show their progress in the phase."""
        name = self._phase
        while True:
            try:
                done, total = next(steps)
            except StopIteration as end:
                return end.value
            self._phase = f"{name} ({done / total:.0%})"
            yield

    def _iterate(self) -> None:
        picture, affinities = self._picture, self._affinities
        assert picture is not None
        assert affinities is not None
        settings = self._settings
        if self._n < 2:
            self._iteration, self._loss = self._iteration + 1, 0.0
            return
        early = self._iteration < settings.exaggeration_iterations
        attract = attract_2d if settings.dimensions == 2 else attract_3d
        span = float((picture.max(axis=1) - picture.min(axis=1)).max())
        # No two points are farther apart than the corners: the approximate sum is held to that.
        least = self._n * (self._n - 1) / (1 + settings.dimensions * span**2)
        z = max(self._repulsion(picture, self._forces), least)
        sparse = (affinities.starts, affinities.columns, affinities.weights)
        self._workers.over(self._n, partial(attract, picture, *sparse, self._attraction))
        self._iteration += 1
        if self._iteration % LOSS_EVERY == 0 or self._iteration == self._total:
            logs = sum(self._workers.over(self._n, partial(weighted_logs, picture, *sparse)))
            self._loss = self._entropy + logs + math.log(z)
        step(
            picture,
            self._attraction,
            self._forces,
            self._velocity,
            self._gains,
            np.float32(4 * (settings.exaggeration if early else 1.0)),
            np.float32(4 / z),
            np.float32(self._rate),
            np.float32(0.5 if early else 0.8),
        )

    def _progress(self) -> Progress:
        done = self._preparation is None and self._iteration >= self._total
        phase = self._phase
        if done:
            phase = "done"
        elif self._preparation is None:
            early = self._iteration < self._settings.exaggeration_iterations
            phase = "early exaggeration" if early else "iterations"
        coordinates = None if self._picture is None else np.ascontiguousarray(self._picture.T)
        if coordinates is not None and np.shares_memory(coordinates, self._picture):
            coordinates = coordinates.copy()
        return Progress(self._iteration, self._total, phase, coordinates, self._loss, done)


def first_picture(points: Points, settings: TsneSettings, init: NDArray[np.float32] | None = None) -> Picture:
    """Return the initial positions: ``init``, or the first principal components with a standard deviation of 1e-4 in
    the first.

    Dimensions missing from the data are filled at random, since no force acts along them.
    """
    if init is not None:
        return np.ascontiguousarray(init.T, dtype=np.float32)
    n = len(points)
    picture = np.zeros((settings.dimensions, n), np.float32)
    if n > 1:
        components = pca(points, components=min(settings.dimensions, *points.shape)).coordinates
        spread = float(components[:, 0].std(dtype=np.float64)) if components.shape[1] else 0.0
        if spread > 0:
            picture[: components.shape[1]] = components[:, : settings.dimensions].T * (_SPREAD / spread)
        generator = np.random.default_rng(settings.seed)
        for line in picture:
            if not line.std() > 1e-6 * _SPREAD:
                line[:] = generator.standard_normal(n, np.float32) * _SPREAD
    return picture


def _centered(picture: Picture) -> Picture:
    if not picture.size:
        return picture
    centered: Picture = picture - picture.mean(axis=1, dtype=np.float64, keepdims=True).astype(np.float32)
    return centered


def _known(value: NDArray[Any]) -> float | None:
    return None if math.isnan(value) else float(value)


def _check_shape(name: str, array: NDArray[Any] | None, shape: tuple[int, ...]) -> None:
    if array is not None and array.shape != shape:
        raise ValueError(f"The {name} of t-SNE must have the shape {shape}, not {array.shape}.")
