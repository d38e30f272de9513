"""UMAP that can be watched, stopped, and resumed, epoch by epoch.

McInnes, Healy, Melville 2018, "UMAP: Uniform Manifold Approximation and Projection", with umap-learn's defaults.
"""

import time
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stepscope.dashboard.projections.base import Points, Progress
from stepscope.dashboard.projections.parallel import Workers
from stepscope.dashboard.projections.pca import pca
from stepscope.dashboard.projections.umap_graph import Prepared, Steps, Wanted, preparation_steps
from stepscope.dashboard.projections.umap_layout import Curve, Edges, loss, run_epoch
from stepscope.dashboard.projections.umap_settings import UmapSettings

_FEW: Final = 10_000
"""Number of points up to which the default is 500 epochs, as in umap-learn; 200 above."""
_EXTENT: Final = 10.0
_NOISE: Final = 1e-4
_PERTURBED: Final = 0.05
"""Fraction of the picture's spread."""
_LOSS_SAMPLE: Final = 20_000


def start(
    points: Points,
    settings: UmapSettings,
    *,
    labels: NDArray[np.int32] | None = None,
    init: NDArray[np.float32] | None = None,
    state: dict[str, NDArray[Any]] | None = None,
) -> "UmapRun":
    """Start UMAP, or resume it from a state.

    Args:
        points: float32[n, d].
        settings: the settings.
        labels: int32[n], -1 where unknown; used if ``settings.supervision`` is above 0.
        init: float32[n, dimensions], initial positions; by default the principal components.
        state: result of `UmapRun.state` for the same points and settings; an empty one starts over. The run continues
            as if it had not been stopped; edges missing from the state are computed again.

    Raises:
        ValueError: ``labels``, ``init`` or ``state`` do not belong to these points.
    """
    shape = (len(points), settings.dimensions)
    if labels is not None and labels.shape != shape[:1]:
        raise ValueError(f"labels have shape {labels.shape}; expected ({shape[0]},)")
    for name, places in (("init", init), ("state", (state or {}).get("coordinates"))):
        if places is not None and places.shape != shape:
            raise ValueError(f"{name} has shape {places.shape}; expected {shape}")
    return UmapRun(points, settings, labels, init, state or None)


class UmapRun:
    """A UMAP in progress (`stepscope.dashboard.projections.base.Run`); it stays at its start until it has a graph."""

    notes: tuple[str, ...] = ()
    """Sentences for the user on deviations from the settings; known when the graph is ready."""

    def __init__(
        self,
        points: Points,
        settings: UmapSettings,
        labels: NDArray[np.int32] | None,
        init: NDArray[np.float32] | None,
        state: dict[str, NDArray[Any]] | None,
    ) -> None:
        self._settings = settings
        self._iteration = 0
        self._total = epochs = settings.epochs or (500 if len(points) <= _FEW else 200)
        self._random: NDArray[np.int64] | None = None
        self._ready: Prepared | None = None
        self._preparation: Steps | None = None
        self._phase = "neighbors"
        self._loss_sample: _LossSample | None = None
        if state is not None:
            self._resume(state)
        elif len(points) < 2:
            self._places = np.zeros((len(points), settings.dimensions), np.float32)
            self._iteration = self._total
        else:
            self._places = _beginning(points, settings, init)
        if self._ready is None and len(points) >= 2:
            self._preparation = preparation_steps(
                points, _wanted(settings, epochs), labels, Workers(), epoch=self._iteration, random=self._random
            )

    def advance(self, seconds: float) -> Progress:
        """Work for about ``seconds``: at least one epoch, or one piece of the graph."""
        until = time.perf_counter() + seconds
        while self._preparation is not None:
            try:
                name, done, total = next(self._preparation)
            except StopIteration as end:
                self._take(end.value)
                break
            self._phase = f"{name} ({done / total:.0%})"
            if time.perf_counter() >= until:
                return self._progress(self._phase)
        while self._iteration < self._total and self._ready is not None:
            run_epoch(
                self._places,
                self._ready.edges,
                self._ready.curve,
                epoch=self._iteration,
                step=self._settings.learning_rate * (1 - self._iteration / self._total),
                repulsions=self._settings.negative_samples,
            )
            self._iteration += 1
            if time.perf_counter() >= until:
                break
        return self._progress("iterations" if self._iteration < self._total else "done")

    def perturb(self) -> None:
        """Move every point by about a twentieth of the picture's spread, in a random direction."""
        if len(self._places) < 2:
            return
        generator = np.random.default_rng((self._settings.seed, self._iteration))
        spread = _PERTURBED * float(self._places.std())
        self._places += generator.normal(0, spread, self._places.shape).astype(np.float32)

    def extend(self, iterations: int) -> None:
        """Add epochs; the learning rate falls to 0 at the new end."""
        if len(self._places) >= 2:
            self._total += max(iterations, 0)

    def state(self, most_bytes: int | None = None) -> dict[str, NDArray[Any]]:
        """Return the data that `start` needs to resume from here; empty before the first epoch can run.

        The edges are left out if they exceed ``most_bytes``.
        """
        if self._random is None:
            return {}
        state: dict[str, NDArray[Any]] = {
            "coordinates": self._places.copy(),
            "iterations": np.array([self._iteration, self._total], np.int64),
            "random": self._random.copy(),
        }
        if self._ready is None:
            return state
        edges, curve = self._ready.edges, self._ready.curve
        if most_bytes is not None and sum(values.nbytes for values in vars(edges).values()) > most_bytes:
            return state
        return state | {
            "curve": np.array([curve.a, curve.b]),
            "notes": np.frombuffer("\n".join(self.notes).encode(), np.uint8).copy(),
            **{name: values.copy() for name, values in vars(edges).items()},
        }

    def _resume(self, state: dict[str, NDArray[Any]]) -> None:
        arrays = {name: np.array(values) for name, values in state.items()}
        self._places = np.ascontiguousarray(arrays.pop("coordinates"), np.float32)
        self._iteration, self._total = arrays.pop("iterations").tolist()
        self._random = arrays["random"]
        if "heads" in arrays:
            curve = Curve(*arrays.pop("curve").tolist())
            notes = tuple(arrays.pop("notes").tobytes().decode().splitlines())
            self._take(Prepared(Edges(**arrays), curve, notes))

    def _take(self, ready: Prepared) -> None:
        self._preparation = None
        self._ready = ready
        # Changed in place by every epoch.
        self._random = ready.edges.random
        self.notes = ready.notes
        self._loss_sample = _LossSample.of(ready.edges, len(self._places), self._settings.seed)

    def _progress(self, phase: str) -> Progress:
        found = None
        if self._ready is not None and self._loss_sample is not None:
            sample = self._loss_sample
            found = loss(
                self._places,
                self._ready.curve,
                sample.drawn,
                sample.strengths,
                sample.apart,
                self._settings.negative_samples,
            )
        done = self._ready is not None or len(self._places) < 2
        return Progress(
            self._iteration, self._total, phase, self._places.copy(), found, done and self._iteration >= self._total
        )


def _wanted(settings: UmapSettings, epochs: int) -> Wanted:
    return Wanted(
        settings.neighbors,
        settings.metric,
        settings.minimum_distance,
        settings.spread,
        epochs,
        settings.supervision,
        settings.negative_samples,
        settings.seed,
    )


def _beginning(points: Points, settings: UmapSettings, init: NDArray[np.float32] | None) -> NDArray[np.float32]:
    """Return the initial positions: never two at the same place, where forces have no direction."""
    if init is None:
        places = pca(points, settings.dimensions, seed=settings.seed).coordinates.astype(np.float64)
        extents = np.ptp(places, axis=0)
        # All axes are equally long, as in umap-learn.
        places = (places - places.min(axis=0)) * np.divide(
            _EXTENT, extents, out=np.zeros_like(extents), where=extents > 0
        )
    else:
        places = init.astype(np.float64)
        extent = float(np.ptp(places, axis=0).max())
        # The picture of a preceding step keeps its size; one from elsewhere gets the size of UMAP's pictures.
        if extent > 0 and not _EXTENT / 10 <= extent <= _EXTENT * 10:
            places = (places - places.mean(axis=0)) * (_EXTENT / extent)
    noise = np.random.default_rng(settings.seed).normal(0, _NOISE, places.shape)
    return np.ascontiguousarray(places + noise, np.float32)


@dataclass(frozen=True)
class _LossSample:
    """The fixed sample of edges and pairs for estimating the loss."""

    drawn: tuple[NDArray[np.int32], NDArray[np.int32]]
    strengths: NDArray[np.float64]
    apart: tuple[NDArray[np.int32], NDArray[np.int32]]

    @staticmethod
    def of(edges: Edges, count: int, seed: int) -> "_LossSample | None":
        if not len(edges.heads):
            return None
        generator = np.random.default_rng(seed)
        chosen = np.arange(len(edges.heads))
        if len(chosen) > _LOSS_SAMPLE:
            chosen = np.sort(generator.choice(len(chosen), _LOSS_SAMPLE, replace=False))
        heads = generator.integers(0, count, _LOSS_SAMPLE, dtype=np.int32)
        others = (heads + generator.integers(1, count, _LOSS_SAMPLE, dtype=np.int32)) % count
        return _LossSample(
            (edges.heads[chosen], edges.tails[chosen]), 1 / edges.every[chosen], (heads, others.astype(np.int32))
        )
